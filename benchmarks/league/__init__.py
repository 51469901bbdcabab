"""The league table of two-sample tests: problems, methods and the page made of their results."""
