"""Sphinx: how `make docs` makes the site. Nothing on it comes from another host."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from extensions.figures import last_figure, parkade_style  # noqa: E402

import parkade  # noqa: E402

project = "parkade"
author = "The parkade developers"
copyright = "the parkade developers, MIT licence"  # noqa: A001 (Sphinx's name)
version = release = parkade.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "extensions.docstrings",
    "extensions.elsewhere",
    "extensions.formulas",
    "extensions.scenes",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["templates", "extensions", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["templates"]
default_role = "py:obj"  # `simulate` in a docstring is a link
suppress_warnings = ["config.cache"]  # functions in the settings of the gallery

myst_heading_anchors = 3  # links to headings are checked
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc shows the types that the docstrings name
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_xref_param_type = False
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": (last_figure,),
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "reset_modules": (parkade_style,),
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "download_all_examples": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "parkade"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_favicon = str(HERE.parent / "src/parkade/explorer/page/icon.svg")
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_sidebars = {"index": [], "start": [], "story": []}  # pages without others below them
toc_object_entries_show_parents = "hide"
html_copy_source = False
html_theme_options = {
    "logo": {"text": "parkade", "image_light": "static/logo.svg", "image_dark": "static/logo.svg"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
