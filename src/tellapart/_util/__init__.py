"""What every room needs: errors, atomic files, locks, signals, text, randomness, progress, memory, threads, extras."""
