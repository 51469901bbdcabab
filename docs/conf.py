"""How Sphinx makes the site: ``make docs``."""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "tellapart"
author = "The tellapart authors"
copyright = "The tellapart authors"
release = version = installed_version("tellapart")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "command_help",
    "power_tables",
    "source_links",
]
exclude_patterns = ["_build", "gallery", "notebook.ipynb", "auto_gallery/*.ipynb", "sg_execution_times.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# A name in backquotes is a link where it is one of ours, and else emphasised.
default_role = "autolink"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_rtype = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "tellapart"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# No fonts or scripts from elsewhere: the site works without a network, its search too.
html_theme_options = {"sidebar_hide_name": False}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "min_reported_time": 1e6,
    "write_computation_times": False,
    "abort_on_example_error": True,
}


def escape_mathematics(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """In docstrings |x - y| is a norm and `nn.Module`s are several: reStructuredText takes them for its own."""
    example = False
    for k, line in enumerate(lines):
        example = (example or line.lstrip().startswith(">>>")) and bool(line.strip())
        if not example and not line.startswith("    " * 3):
            lines[k] = re.sub(r"(?<!`)(`[^`]+`)(\w)", r"\1\\ \2", line.replace("|", r"\|"))


def close_examples(_app: Any, _name: str, source: list[str]) -> None:
    """The empty line that ends an example, for doctest, is not shown."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def setup(app: Any) -> None:
    """Docstrings and pages are written for people and for doctest first."""
    app.connect("source-read", close_examples)
    app.connect("autodoc-process-docstring", escape_mathematics)
