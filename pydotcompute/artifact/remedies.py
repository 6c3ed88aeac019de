"""What a message tells its reader to do: which command builds, or which installed distribution is to be repaired.

No name of a distribution is assumed: whoever has installed something has its metadata, and that says what it is called
and where it came from. All of this is looked up when there is a message to write, never before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def build_again(folder: str, root: str, words: str = "") -> str:
    """How the artifacts in `folder` are made again. `words`: what a build command names, "saxpy -t cpu:native".

    folder, root: as manifest.find gives them; they are the same of a bundle.
    """
    if not _is_installed(root) and (folder != root or project_above(root)):
        if folder != root:
            return f"run: pydotcompute build {words + ' ' if words else ''}-C {root}"
        return f"make the bundle again: pydotcompute build --bundle {root} -C {project_above(root)}"
    if found := owner(root):
        command = _command(found, "", "--force-reinstall --no-deps ")
        return f"it belongs to {title(found)}; install that again: {command}"
    return f"no installed distribution owns {root}: get it again from where it came"


def build_more(folder: str, root: str, words: str, target: str) -> str:
    """How an artifact that was never made is got: by a build, or from those who make the bundle."""
    if folder != root or not _is_installed(root) and project_above(root):
        return build_again(folder, root, words)
    if found := owner(root):
        return f"{title(found)} brings nothing for {target}: ask for it there, or look for a newer version of it"
    return f"the bundle {root} has nothing for {target}: ask for it where it came from"


def install(extra: str, *packages: str) -> str:
    """How the packages of an extra of ours are installed: "pip install …". Where the distribution that has our module
    is not known, or has no such extra, these packages themselves."""
    found = ourselves()
    if found is not None and extra in (found.metadata.get_all("Provides-Extra") or ()):
        return _command(found, f"[{extra}]")
    checkout = os.path.dirname(PACKAGE)
    if found is None and os.path.exists(os.path.join(checkout, "pyproject.toml")):
        return f"pip install -e '{checkout}[{extra}]'"
    return f"pip install {' '.join(packages)}"


def not_installed(purpose: str, module: str, extra: str) -> str:
    """What is said where something needs a module that an extra of ours brings. purpose: "building"."""
    return f"{purpose} needs {module}, which is not installed: {install(extra, module)}"


def ourselves() -> Distribution | None:
    """The installed distribution that has this very package, whatever it is called."""
    return owner(os.path.join(PACKAGE, "__init__.py"))


def owner(path: str) -> Distribution | None:
    """The installed distribution that has this file, or files in this folder."""
    from importlib.metadata import distributions

    path = os.path.realpath(path)
    for found in distributions():
        place = os.path.realpath(str(found.locate_file("")))
        if path.startswith(place + os.sep):
            inside = os.path.relpath(path, place).replace(os.sep, "/")
            for file in found.files or ():
                if str(file) == inside or str(file).startswith(inside + "/"):
                    return found
        source, editable = _source(found)
        if editable and (path + os.sep).startswith(source + os.sep):
            return found
    return None


def title(found: Distribution) -> str:
    return f"{found.metadata['Name']} {found.version}"


def source_requirement(extra: str = "") -> str:
    """This very distribution with an extra, or none, as a requirement of another's: by the place where it came from, if
    that is no index, else by its version."""
    found, with_extra = ourselves(), f"[{extra}]" * bool(extra)
    if found is None:
        return f"pydotcompute{with_extra} @ {_url(os.path.dirname(PACKAGE))}"
    url = _direct_url(found).get("url")
    name = f"{found.metadata['Name']}{with_extra}"
    return f"{name} @ {url}" if url else f"{name}>={found.version}"


def _url(folder: str) -> str:
    from urllib.request import pathname2url

    return f"file://{pathname2url(os.path.abspath(folder))}"


def _command(found: Distribution, extra: str, options: str = "") -> str:
    """Install this very distribution again, from where it came."""
    source, editable = _source(found)
    name = found.metadata["Name"]
    if editable:
        return f"pip install {options}-e '{source}{extra}'"
    if os.path.isdir(source):
        return f"pip install {options}'{source}{extra}'"
    url = _direct_url(found).get("url")
    return f"pip install {options}'{name}{extra} @ {url}'" if url else (
        f"pip install {options}'{name}{extra}=={found.version}'"
    )


def _source(found: Distribution) -> tuple[str, bool]:
    """The folder on this machine that a distribution was installed from, or ""; and whether it still runs there."""
    from urllib.parse import unquote, urlsplit

    told = _direct_url(found)
    parts = urlsplit(told.get("url", ""))
    if parts.scheme != "file":
        return "", False
    return os.path.realpath(unquote(parts.path)), bool(told.get("dir_info", {}).get("editable"))


def _direct_url(found: Distribution) -> dict:
    """What an installer notes of a distribution that came from no index."""
    import json

    try:
        told = json.loads(found.read_text("direct_url.json") or "{}")
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def project_above(path: str) -> str:
    """The nearest folder above with a kernels.yaml, or "". What lies outside the repository is of another project."""
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.exists(os.path.join(folder, "kernels.yaml")):
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return ""
        folder = above
    return folder


def _is_installed(path: str) -> bool:
    """Whether this is a place that an installer fills, where nobody builds."""
    return not {"site-packages", "dist-packages"}.isdisjoint(os.path.abspath(path).split(os.sep))
