"""What every room needs: atomic files, locks, signals, text to show, randomness, progress, memory, threads, optional libraries."""
