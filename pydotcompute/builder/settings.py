"""Settings and where each value comes from: flag > environment > [tool.pydotcompute] > kernels.yaml > default."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any, Callable, Mapping, NamedTuple

from ..cache import trust
from ..cache.files import read_file


class SettingError(ValueError):
    """A setting has a value that it cannot have; the message says which, where, and what was expected."""


class Value(NamedTuple):
    value: Any
    origin: str  # "flag -j", "environment PYDOTCOMPUTE_JOBS", "pyproject.toml", "kernels.yaml", "default"


class Setting(NamedTuple):
    name: str
    flag: str  # empty: none
    variable: str
    in_pyproject: bool
    parse: Callable[[Any], Any]  # a text or a TOML value; raises ValueError with what was expected
    default: Callable[[], Any]
    doc: str


def _targets(value: Any) -> list[str]:
    from ..targets.registry import canonical, problem

    items = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(items, list) or not items or not all(isinstance(item, str) for item in items):
        raise ValueError("expected a list of targets")
    for item in items:
        if found := problem(item):
            raise ValueError(f"{found[0]}; {found[1]}" if found[1] else found[0])
    return [canonical(item) for item in items]


def _count(value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
        raise ValueError("expected a whole number from 1")
    return int(text)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    if "\0" in value:
        raise ValueError("expected a text without NUL characters")
    return value


def _command(value: Any) -> str:
    try:
        shlex.split(_text(value))
    except ValueError as error:
        raise ValueError(f"expected a command and its arguments ({error})") from None
    return str(value)


def _inside(value: Any) -> str:
    """A folder in the one of pyproject.toml, with forward slashes."""
    path = os.path.normpath(_text(value)).replace(os.sep, "/")
    if not value or os.path.isabs(path) or path.split("/")[0] == "..":
        raise ValueError("expected a folder below that of pyproject.toml, as a relative path")
    return path


def _size(value: Any) -> int:
    found = re.fullmatch(r"(\d{1,100}(?:\.\d+)?) ?(B|KB|MB|GB)?", value) if isinstance(value, str) else None
    if found:
        return int(float(found[1]) * 1000 ** ("B", "KB", "MB", "GB").index(found[2] or "B"))
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ValueError('expected a number of bytes, or a text such as "20 MB"')


def _yes_or_no(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "true", "0", "false"):  # of the environment
        return value in ("1", "true")
    raise ValueError("expected true or false")


def _fallback(value: Any) -> str:
    if value not in ("", "reference"):
        raise ValueError('expected "reference", or nothing')
    return str(value)


def _platform(value: Any) -> str:
    if not re.fullmatch(r"[a-z0-9_.]+", _text(value)):
        raise ValueError('expected the platform of a wheel\'s tag, such as "any" or "manylinux_2_28_x86_64"')
    return str(value)


def _folders(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part for part in value.split(os.pathsep) if part]
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError("expected a list of folders")
    return value


def _default_targets() -> list[str]:
    from ..targets.registry import default_targets

    return list(default_targets())


def _processors() -> int:
    from ..artifact.machine import processors

    return processors()


SETTINGS = (
    Setting("targets", "-t", "PYDOTCOMPUTE_TARGETS", True, _targets, _default_targets, "what is built"),
    Setting("jobs", "-j", "PYDOTCOMPUTE_JOBS", True, _count, _processors,
            "how many processes compile at once"),
    Setting("linker", "", "PYDOTCOMPUTE_LINKER", True, _command, lambda: "",
            "a system linker in the place of LLD from the ziglang wheel"),
    Setting("debug_info", "--debug-info", "PYDOTCOMPUTE_DEBUG_INFO", True, _yes_or_no, lambda: False,
            "whether artifacts have names and lines for debuggers and profilers"),
    Setting("cache_size", "", "PYDOTCOMPUTE_CACHE_SIZE", True, _size, lambda: 0,
            "the most bytes that a build leaves in the cache, as far as no artifact uses them; 0: any"),
    Setting("project", "", "", True, _inside, lambda: ".", "for packages: the folder of kernels.yaml"),
    Setting("bundle", "", "", True, _inside, lambda: "", "for packages: the folder that becomes a package of kernels"),
    Setting("size_budget", "", "", True, _size, lambda: 0, "for packages: the most bytes of machine code; 0: any"),
    Setting("fallback", "", "", True, _fallback, lambda: "",
            'for packages: "reference" runs the declared references where no machine code does'),
    Setting("platform", "", "", True, _platform, lambda: "",
            "for packages: of the wheel's tag, in the place of what the targets mean"),
    Setting("auto_build", "", "", True, _yes_or_no, lambda: False,
            "for packages: whether an editable install builds what changed, when it is imported"),
    Setting("trusted", "", trust.VARIABLE, True, _folders, list,
            "folders whose caches are used although others may write there"),
    # Read by programs that load kernels, which say what is a value (cli/arguments.py); no build depends on these.
    Setting("target", "", "PYDOTCOMPUTE_TARGET", False, _text, lambda: "", "the target that loading takes"),
    Setting("threads", "", "PYDOTCOMPUTE_THREADS", False, _text, _processors,
            "the most threads that a call uses"),
    Setting("nvtx", "", "PYDOTCOMPUTE_NVTX", False, _text, lambda: False,
            "whether calls on CUDA stand in NVTX ranges, for Nsight Systems"),
    Setting("jitdump", "", "PYDOTCOMPUTE_JITDUMP", False, _text, lambda: "",
            "the folder for a jitdump of loaded kernels, for perf"),
)  # fmt: skip


def resolve(
    root: str,
    flags: Mapping[str, Any] | None = None,
    declared_targets: Callable[[], list[str] | None] = lambda: None,
    environment: Mapping[str, str] = os.environ,
    called: str = "",
) -> dict[str, Value]:
    """Every setting with its origin. `flags`: name → value given on the command line (None: not given), or where it is
    `called` otherwise.

    `declared_targets` gives `targets:` of kernels.yaml, None if it is not written there; it is called only when
    nothing before it decides. Raises SettingError for a value that is none.
    """
    table = read_pyproject(root)
    result = {}
    for setting in SETTINGS:
        given = (flags or {}).get(setting.name)
        if given is not None:
            result[setting.name] = _parsed(setting, given, called or f"flag {setting.flag}")
        elif environment.get(setting.variable):
            result[setting.name] = _parsed(
                setting, environment[setting.variable], f"environment {setting.variable}"
            )
        elif setting.in_pyproject and setting.name in table:
            result[setting.name] = _parsed(setting, table[setting.name], "pyproject.toml")
        else:
            declared = declared_targets() if setting.name == "targets" else None
            result[setting.name] = Value(declared, "kernels.yaml") if declared else Value(setting.default(), "default")
    return result


def read_pyproject(root: str) -> dict[str, Any]:
    """[tool.pydotcompute] of the pyproject.toml in `root`; empty where there is none. SettingError for mistakes."""
    path = os.path.join(root, "pyproject.toml")
    try:
        data = read_file(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingError(f"{path}: cannot be read ({error.strerror})") from None
    if b"pydotcompute" not in data:
        return {}
    import tomllib

    try:
        tools = tomllib.loads(data.decode()).get("tool", {})
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path}: {error}") from None
    table = tools.get("pydotcompute", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise SettingError(f"{path}: [tool.pydotcompute] is {table!r}, and should be a table of settings")
    known = [setting.name for setting in SETTINGS if setting.in_pyproject]
    for name in table:
        if name not in known:
            from ..declare.names import near

            raise SettingError(f"{path}: [tool.pydotcompute] has no setting '{name}'; {near(name, known)}")
    return table


def _parsed(setting: Setting, value: Any, origin: str) -> Value:
    try:
        return Value(setting.parse(value), origin)
    except ValueError as error:
        shown = value if isinstance(value, str) else repr(value)
        raise SettingError(f"{setting.name} = {shown} ({origin}): {error}") from None
