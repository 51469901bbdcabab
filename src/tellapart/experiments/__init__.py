"""The figures of Sutherland et al. 2017, one module each: a figure, and a JSON file with their numbers and ours."""
