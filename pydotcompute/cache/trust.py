"""Whether a project's cache is run: only where nobody but this user and root could have written what is in it.

A setting allows others: PYDOTCOMPUTE_TRUSTED, folders with ":" between them, or `trusted = [folder]` under
[tool.pydotcompute] of the project's pyproject.toml, if that and its folder are themselves nobody else's. Whatever lies
in such a folder is run. A bundle is not looked at: it is as trusted as the package that it is part of.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import cache
from typing import Any, Mapping

from ..errors import UntrustedCacheError

VARIABLE = "PYDOTCOMPUTE_TRUSTED"
MOST_SETTINGS = 1 << 20  # bytes of a pyproject.toml


def require(status: os.stat_result, path: str, folder: str, root: str, place: int | str) -> None:
    """Raise UntrustedCacheError if others could write what has this status, unless the cache `folder` of the project
    `root` is in a trusted folder. place: as `fault`."""
    if problem := fault(status, place):
        own = status.st_uid in (os.geteuid(), 0)
        refuse(f"{path}: {problem}", f"chmod -R go-w {folder}" if own else "build it as yourself", folder, root)


def require_folder(folder: str, root: str) -> None:
    """As `require`, of the cache itself, if it is there. Raises OSError."""
    try:
        status = os.stat(folder)
    except FileNotFoundError:
        return
    require(status, folder, folder, root, folder)


def refuse(problem: str, remedy: str, folder: str, root: str) -> None:
    """Raise UntrustedCacheError, unless the cache is in a trusted folder."""
    if not is_trusted(folder, root):
        raise UntrustedCacheError(
            f"{problem}, and whoever can write there can put any code into the kernels: they are not run; {remedy}; "
            f"or, if you trust all who can, set {VARIABLE}={root}, or in {root}/pyproject.toml, if only you can write "
            'that, trusted = ["."] under [tool.pydotcompute]'
        )


def fault(status: os.stat_result, place: int | str) -> str:
    """Who else could write what has this status; empty if nobody. place: its descriptor or path, to ask for an access
    list. On Windows other lists say all of that, which nobody reads here."""
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to {_user(status.st_uid)}"
    if status.st_mode & 0o002:
        return f"every user may write there (mode {status.st_mode & 0o7777:o})"
    if status.st_mode & 0o020 and _has_list(place):
        return f"an access list may let others write there: getfacl shows it (mode {status.st_mode & 0o7777:o})"
    if status.st_mode & 0o020 and not _is_private_group(status.st_gid, status.st_uid):
        return f"the group {_group(status.st_gid)} may write there (mode {status.st_mode & 0o7777:o})"
    return ""


def is_lasting(path: str) -> bool:
    """Whether nobody else can make this path, without links, lead to another file. Raises OSError."""
    while True:
        status = os.stat(path)
        sticky = status.st_mode & stat.S_ISVTX and status.st_uid in (os.geteuid(), 0)  # others' files stay there
        if fault(status, path) and not sticky:
            return False
        path, below = os.path.dirname(path), path
        if path == below:
            return True


def is_trusted(folder: str, root: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the settings name this folder, or one that it lies in."""
    place = os.path.realpath(folder)
    return any(
        (place + os.sep).startswith(os.path.join(os.path.realpath(path), ""))
        for path in (*from_environment(environment), *_from_pyproject(root))
    )


def from_environment(environment: Mapping[str, str]) -> list[str]:
    """The folders that the variable names."""
    return [path for path in environment.get(VARIABLE, "").split(os.pathsep) if path]


def _from_pyproject(root: str) -> list[str]:
    """Those that the project names: paths relative to it. None where others could have written them."""
    text = _own_text(root, "pyproject.toml")
    if "pydotcompute" not in text:
        return []
    import tomllib

    try:
        listed: Any = tomllib.loads(text).get("tool", {}).get("pydotcompute", {}).get("trusted", [])
    except (ValueError, AttributeError):
        return []  # a build says what is wrong with it
    listed = listed if isinstance(listed, list) else [listed]  # of a string the letters are no folders
    return [os.path.join(root, item) for item in listed if isinstance(item, str) and item]


def _own_text(folder: str, name: str) -> str:
    """What stands in a file; nothing where others may write to it or to its folder."""
    opened = []
    try:
        opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        opened.append(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=opened[0]))
        status = os.fstat(opened[1])
        if fault(os.fstat(opened[0]), opened[0]) or fault(status, opened[1]) or not stat.S_ISREG(status.st_mode):
            return ""
        return os.read(opened[1], MOST_SETTINGS).decode()
    except (OSError, ValueError):
        return ""
    finally:
        for handle in opened:
            os.close(handle)


def _has_list(place: int | str) -> bool:
    """Whether a POSIX access list stands there. Where one does, the bits of the group are the most that anybody whom it
    names may do; so it is asked for only where these say that somebody may write."""
    if not hasattr(os, "getxattr"):
        return False
    try:
        # What was opened by O_PATH has no attributes but by this name.
        os.getxattr(f"/proc/self/fd/{place}" if isinstance(place, int) else place, "system.posix_acl_access")
    except OSError as error:
        return error.errno not in (errno.ENODATA, errno.ENOTSUP)
    return True


@cache  # to go through all users may take long, and every file of a cache asks
def _is_private_group(group: int, owner: int) -> bool:
    """Whether a group is there for its one user: of the user's name, his primary one, and nobody else's."""
    import grp
    import pwd

    try:
        user, members = pwd.getpwuid(owner), grp.getgrgid(group)
    except KeyError:
        return False
    if user.pw_gid != group or members.gr_name != user.pw_name or not set(members.gr_mem) <= {user.pw_name}:
        return False
    return not any(other.pw_gid == group and other.pw_uid != owner for other in pwd.getpwall())


def _user(number: int) -> str:
    import pwd

    try:
        return f"{pwd.getpwuid(number).pw_name} (user {number})"
    except KeyError:
        return f"user {number}"


def _group(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
