"""Sphinx configuration; the build needs no network."""

import weighbridge

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
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_sidebars = {
    "**": ["sidebar-nav-bs"],
    **{page: [] for page in ("index", "quickstart", "command_line", "api", "changelog")},
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
