"""What every room needs: atomic files, locks, signals, text to show, randomness, progress, memory, optional libraries."""
