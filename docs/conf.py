"""Sphinx configuration; the build needs no network.

A hosted site has one folder per version. Its build sets ``WEIGHBRIDGE_DOCS_VERSIONS`` to 1, which
puts a menu of versions into the top bar; the menu reads ``switcher.json`` beside these folders,
which ``python docs/versions.py`` writes. Elsewhere the bar shows the version alone.
"""

import os
import re
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
exclude_patterns = ["_build", "_templates", "examples", "tutorials"]
html_theme = "pydata_sphinx_theme"
html_title = "weighbridge"
html_static_path = ["_static"]
html_css_files = ["site.css"]
with_versions = os.environ.get("WEIGHBRIDGE_DOCS_VERSIONS") == "1"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_persistent": ["search_field"],
    "navbar_end": ["version-switcher" if with_versions else "version", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo_dark.svg",
        "text": "weighbridge",
        "alt_text": "",  # the name stands beside it
    },
}
if with_versions:
    # the theme reads this from the root of the version that is shown, on every page
    html_theme_options["switcher"] = {
        "json_url": "../switcher.json",
        "version_match": "dev" if ".dev" in release else release,
    }
    html_theme_options["check_switcher"] = False
html_sidebars = {
    "**": ["sidebar-nav-bs"],
    **{page: [] for page in ("index", "api", "evidence", "search", "genindex")},
}
html_show_sourcelink = False
html_copy_source = False

sphinx_gallery_conf = {
    "examples_dirs": ["examples", "tutorials"],
    "gallery_dirs": ["gallery", "gallery/tutorials"],
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
        app.env.note_dependency(str(Path(__file__).with_name("findings_cases.toml")))
        source[0] += "\n" + documentation()


def _name_everything(app, pagename, templatename, context, doctree):
    """Give the theme's folding lists a name for screen readers, and empty corners none."""
    if "body" in context:
        context["body"] = re.sub(r"<th[^>]*>(<p></p>)?</th>", "<td></td>", context["body"])
    lists = context.get("generate_toctree_html")
    if lists is None:
        return

    def with_names(*args, **kwargs):
        soup = lists(*args, **kwargs)
        if not isinstance(soup, str):
            for summary in soup.select("li > details > summary"):
                link = summary.find_parent("li").find("a")
                if link is not None and not summary.get_text(strip=True):
                    summary["aria-label"] = f"Pages of {link.get_text(strip=True)}"
        return soup

    context["generate_toctree_html"] = with_names


def setup(app):
    """Connect the page of findings with its one source, and mend what the theme leaves unnamed."""
    app.connect("source-read", _append_codes)
    app.connect("html-page-context", _name_everything, priority=900)
