"""Sphinx configuration: `make docs` builds the site from these pages, the docstrings and the scripts of examples/."""

import inspect
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from sphinx import addnodes  # noqa: E402

import gramian  # noqa: E402

project = "gramian"
author = "The gramian developers"
project_copyright = author
release = version = gramian.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
templates_path = ["_templates"]

nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"gramian {release}"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["gramian.css"]
html_show_sourcelink = False
html_sidebars = dict.fromkeys(["start", "glossary", "troubleshooting", "built", "contributing"], [])
html_theme_options = {
    "header_links_before_dropdown": 7,
    "logo": {"text": "gramian"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

# The gallery: the scripts of examples/, run in full unless GRAMIAN_EXAMPLES_SMALL is set.
EXAMPLES = HERE.parent / "examples"
if any(EXAMPLES.glob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(EXAMPLES),
        "gallery_dirs": "gallery",
        "ignore_pattern": "__main__",
        "within_subsection_order": "FileNameSortKey",
        "download_all_examples": False,
        "show_memory": False,
        "abort_on_example_error": True,
        "doc_module": ("gramian",),
        "backreferences_dir": "gallery/backreferences",
    }


def skip_foreign(app, what, name, member, skip, options):
    """Leave out what classes inherit from other packages."""
    owner = getattr(member, "__objclass__", inspect.unwrap(member) if callable(member) else None)
    home = getattr(owner, "__module__", None) or "gramian"
    return None if home.startswith("gramian") else True


def keep_bars(app, what, name, obj, options, lines):
    """In these docstrings |x| is a length, never a substitution of reStructuredText."""
    lines[:] = [re.sub(r"(``.*?``)|\|", lambda bar: bar[1] or r"\|", line) for line in lines]


def example_first(app, what, name, obj, options, lines):
    """A page of a class opens with its sentence and its example; the long text comes after."""
    heads = [i for i, line in enumerate(lines) if line.strip() == ".. rubric:: Examples"]
    if what != "class" or not heads or "" not in lines:
        return
    first = next(i for i, line in enumerate(lines) if line.strip())
    begin, sentence = heads[-1], lines.index("", first)
    ends = [i for i in range(begin + 1, len(lines)) if lines[i].startswith((".. rubric::", ":", ".. only::"))]
    end = ends[0] if ends else len(lines)
    example = [*lines[begin + 1 : end], ""]
    lines[:] = [*lines[: sentence + 1], *example, *lines[sentence + 1 : begin], *lines[end:]]


def name_twice(app, doctree):
    """Give what is found under two names an anchor for each, since pages of source link back by either."""
    for node in doctree.findall(addnodes.desc_signature):
        if node.parent.get("domain") == "py" and node.get("fullname"):
            home = getattr(getattr(gramian, node["fullname"].split(".")[0], None), "__module__", None) or "gramian"
            parts = home.split(".")
            names = [".".join([*parts[:depth], node["fullname"]]) for depth in range(1, len(parts) + 1)]
            node["ids"] += [name for name in names if name not in node["ids"]]


def setup(app):
    app.connect("doctree-read", name_twice)
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("autodoc-process-docstring", example_first, priority=900)  # once numpydoc has put it last
    app.connect("autodoc-skip-member", skip_foreign)
