"""Objects → shared object, by LLD from the `ziglang` wheel: no compiler on the machine, the same bytes everywhere.

A setting names another command (`ld`, `ld.lld`, `mold`), which takes GNU ld's options.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from ...errors import CompilationError

# -Bsymbolic: nothing that the program exports by the name of `run` or `threads` may take their place
OPTIONS = (
    "-shared", "-Bsymbolic", "-nostdlib", "--build-id=none", "--hash-style=gnu",
    "-z", "noexecstack", "-z", "relro", "-z", "now",
)  # fmt: skip
SETTING = "PYDOTCOMPUTE_LINKER"


def command(linker: str = "") -> list[str]:
    """The linker and its first arguments, that of the wheel where none is given; a CompilationError where there is
    none."""
    if linker:
        return shlex.split(linker)
    try:
        import ziglang
    except ImportError:
        raise CompilationError(
            f"no linker: install pydotcompute[build], which brings ziglang, or set {SETTING} to a command such as ld"
        ) from None
    return [str(Path(ziglang.__file__).with_name("zig")), "ld.lld"]


def link(what: str, *objects: bytes, linker: str = "", symbols: bool = False) -> bytes:
    """The shared object made of relocatable objects. what: what a message calls it. linker: as for `command`.
    symbols: keep those that nobody links to, and what is for debuggers."""
    with tempfile.TemporaryDirectory(prefix="pydotcompute-") as folder:
        names = [f"{number}.o" for number in range(len(objects))]
        for name, code in zip(names, objects):
            Path(folder, name).write_bytes(code)
        alone = [] if linker else ["--threads=1"]  # more would take longer to begin than to work
        environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
        done = subprocess.run(
            [*command(linker), *OPTIONS, *alone, *([] if symbols else ["-s"]), *names, "-o", "kernel.so"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CompilationError(f"{what}: the linker failed\n{done.stderr.strip()}")
        return Path(folder, "kernel.so").read_bytes()
