"""What every room needs: atomic files, locks, signals, text, randomness, progress, memory, threads, optional libraries."""
