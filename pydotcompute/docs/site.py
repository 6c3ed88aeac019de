"""The pages as a static site, made by Sphinx, MyST and Furo: with a search, dark and light, nothing from the net."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any

from ..artifact.remedies import install
from .pages import TOPICS, Page

MARK = ".buildinfo"  # what Sphinx leaves in a site
INDEX = """# pydotcompute

Declare a numerical kernel once, in YAML and ordinary Python; a build step compiles it ahead of time for every CPU level
and GPU architecture that you name. Programs import the kernel and call it with arrays.

{listed}

```{{toctree}}
:hidden:
{topics}
```
"""


class SiteError(Exception):
    """No site can be made: what is missing, or in the way."""


def write(pages: Sequence[Page], folder: str) -> None:
    """Write every page to `folder`, which is made if need be. Raises SiteError; OSError."""
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(os.path.join(folder, MARK)):
        raise SiteError(f"{folder}: there are files that are of no such site; name another folder")
    try:
        import furo  # noqa: F401
        import myst_parser  # noqa: F401
        from sphinx.application import Sphinx
        from sphinx.errors import SphinxError
    except ModuleNotFoundError as error:
        name = {"myst_parser": "myst-parser"}.get(error.name or "", error.name or "")
        missing = f"a site needs {name}, which is not installed"
        raise SiteError(f"{missing}: {install('docs', 'sphinx', 'myst-parser', 'furo')}") from None
    with tempfile.TemporaryDirectory() as place:
        sources = os.path.join(place, "pages")
        os.mkdir(sources)
        for name, text in {"index": _index(), **{page.topic: page.text for page in pages}}.items():
            with open(os.path.join(sources, f"{name}.md"), "w", encoding="utf-8") as file:
                file.write(text)
        kept, made, wrong = os.path.join(place, "trees"), os.path.join(place, "site"), io.StringIO()
        try:
            Sphinx(sources, None, made, kept, "html", _settings(), status=None, warning=wrong).build()
        except SphinxError as error:
            raise SiteError(f"{folder}: {error}") from error
        if wrong.getvalue():
            raise SiteError(f"{folder}: the pages have faults:\n{wrong.getvalue().strip()}")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(made, MARK), folder)  # first: what is interrupted is begun anew
        shutil.copytree(made, folder, dirs_exist_ok=True)


def _index() -> str:
    listed = "\n".join(f"- [{topic}]({topic}.md): {summary}" for topic, summary in TOPICS.items())
    return INDEX.format(listed=listed, topics="\n".join(TOPICS))


def _settings() -> dict[str, Any]:
    """Sphinx's: nothing that a reader's browser would have to fetch from elsewhere."""
    return {
        "project": "pydotcompute", "extensions": ["myst_parser"], "html_theme": "furo", "html_title": "pydotcompute",
        "myst_heading_anchors": 4, "html_copy_source": False, "html_show_sphinx": False, "html_show_copyright": False,
    }  # fmt: skip
