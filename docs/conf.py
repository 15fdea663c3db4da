"""Sphinx configuration; the build needs no network."""

import sys
from pathlib import Path

import weighbridge
from weighbridge import _findings

sys.path.insert(0, str(Path(__file__).parent))
from findings_page import documentation

project = "weighbridge"
author = "The weighbridge developers"
copyright = author
release = version = weighbridge.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "py:obj"
nitpicky = False
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "examples"]
html_theme = "pydata_sphinx_theme"
html_title = "weighbridge"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": "weighbridge",
    },
}
html_sidebars = {
    "**": ["sidebar-nav-bs"],
    **{
        page: []
        for page in ("index", "quickstart", "command_line", "findings", "json", "api", "changelog")
    },
}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "download_all_examples": False,
}


def _append_codes(app, docname, source):
    """Put what every code means below the opening of the page of findings."""
    if docname == "findings":
        app.env.note_dependency(str(Path(_findings.__file__).with_name("findings.toml")))
        source[0] += "\n" + documentation()


def setup(app):
    """Connect the page of findings with its one source."""
    app.connect("source-read", _append_codes)
