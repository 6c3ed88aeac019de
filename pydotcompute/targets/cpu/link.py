"""Objects → shared object, by the linkers of the `ziglang` wheel: no compiler is needed, the same bytes everywhere.

For Linux and Windows that is LLD, for macOS Zig's own, which signs ad hoc what it links for Apple's processors. A
setting names another command for Linux (`ld`, `ld.lld`, `mold`), which takes GNU ld's options.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from ...artifact.cpu_levels import LINUX, MACOS, SUFFIXES, WINDOWS
from ...errors import CompilationError
from ..temporary import temporary_folder
from .import_library import import_library

# -Bsymbolic: nothing that the program exports by the name of `run` or `threads` may take their place
OPTIONS = (
    "-shared", "-Bsymbolic", "-nostdlib", "--build-id=none", "--hash-style=gnu",
    "-z", "noexecstack", "-z", "relro", "-z", "now",
)  # fmt: skip
SETTING = "PYDOTCOMPUTE_LINKER"
IMPORTS = "system.lib"
_ZIG_TARGETS = {"x86_64": "x86_64-macos.10.13", "arm64": "aarch64-macos.11.0"}  # by the beginning of a triple


def command(linker: str = "") -> list[str]:
    """The linker for Linux and its first arguments, that of the wheel where none is given; a CompilationError where
    there is none."""
    return shlex.split(linker) if linker else [_zig(), "ld.lld"]


def _zig() -> str:
    try:
        import ziglang
    except ImportError:
        raise CompilationError(
            f"no linker: install pydotcompute[build], which brings ziglang, or set {SETTING} to a command such as ld"
        ) from None
    return str(Path(ziglang.__file__).with_name("zig"))


def _command(platform: str, triple: str, linker: str, symbols: bool) -> list[str]:
    """All but the names of the objects."""
    made = f"kernel{SUFFIXES[platform]}"
    if platform == WINDOWS:
        kept = ["/debug:dwarf"] if symbols else []
        return [_zig(), "lld-link", "/nologo", "/dll", "/noentry", "/brepro", f"/out:{made}", *kept, IMPORTS]
    if platform == MACOS:
        target = _ZIG_TARGETS[triple.partition("-")[0]]
        return [
            _zig(), "build-lib", "-dynamic", "-target", target, "-lc", "-fno-compiler-rt", "-OReleaseFast",
            "--name", "kernel", "-install_name", f"@rpath/{made}", f"-femit-bin={made}",
            *([] if symbols else ["-fstrip"]),
        ]  # fmt: skip
    alone = [] if linker else ["--threads=1"]  # more would take longer to begin than to work
    return [*command(linker), *OPTIONS, *alone, *([] if symbols else ["-s"]), "-o", made]


def link(what: str, triple: str, *objects: bytes, linker: str = "", symbols: bool = False) -> bytes:
    """The shared object made of relocatable objects. what: what a message calls it. triple: what they are made for.
    linker: as for `command`. symbols: keep those that nobody links to, and what is for debuggers."""
    platform = WINDOWS if "-windows-" in triple else MACOS if "-macosx" in triple else LINUX
    with temporary_folder() as folder:
        names = [f"{number}.o" for number in range(len(objects))]
        for name, code in zip(names, objects):
            Path(folder, name).write_bytes(code)
        if platform == WINDOWS:
            Path(folder, IMPORTS).write_bytes(import_library())
        environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
        arguments = [*_command(platform, triple, linker, symbols), *names]
        own = linker if platform == LINUX else ""
        by = f": `{own}`, as the setting 'linker' says ({SETTING}, or pyproject.toml)" if own else ""
        try:
            done = subprocess.run(
                arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
        except OSError as error:
            if not own:
                raise
            hint = "set it to a command such as ld, or to nothing for the linker of ziglang"
            raise CompilationError(f"{what}: the linker cannot be run ({error.strerror}){by}\n{hint}") from None
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip() or f"it says nothing, and returns {done.returncode}"
            raise CompilationError(f"{what}: the linker failed{by}\n{said}")
        return Path(folder, f"kernel{SUFFIXES[platform]}").read_bytes()
