"""The figures of Sutherland et al. 2017, one script each: a figure, and a JSON file with their numbers beside ours."""
