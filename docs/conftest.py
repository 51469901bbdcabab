"""Pages are tested (their examples, by ``--doctest-glob``); what builds them is not a test."""

collect_ignore = ["conf.py"]
collect_ignore_glob = ["_ext/*", "_build/*", "auto_gallery/*", "gallery/*"]
