"""What every room needs: atomic files, randomness, progress, memory, threads, optional libraries."""
