"""A project with cubins that no driver loads: to the digest and the line that says what they are they are right, and in
their ELF headers they are another architecture's. It takes no compiler, so it can be made where none is."""

import re
import shutil
from pathlib import Path

from pydotcompute.cache.layout import object_path
from pydotcompute.cache.writer import read_manifest, write_manifest, write_object

FLAGS = slice(48, 52)  # e_flags: the number of the architecture is one of its bytes, or two, by the version of the ABI


def with_refused_cubins(project: str, copy: Path, kernel: str, architecture: int) -> str:
    """A copy of a built project in which all cubins of this kernel say that they are for this architecture: give one of
    another generation than the device's, whose code it does not run."""
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("keys", "rendered"))
    folder = str(copy / "build" / "cache")
    manifest, problem = read_manifest(folder)
    assert not problem, problem
    changed = 0
    for specialisation in manifest["kernels"][kernel]["specializations"].values():
        for target, artifact in specialisation["artifacts"].items():
            if artifact["suffix"] != ".cubin":
                continue
            code = bytearray(Path(folder, object_path(artifact["object"], ".cubin")).read_bytes())
            own = bytes([int(re.search(r"sm_(\d+)", target)[1])])
            assert code[:5] == b"\x7fELF\2" and own in code[FLAGS], (target, code[:64])
            code[FLAGS] = code[FLAGS].replace(own, bytes([architecture]))
            artifact["object"] = write_object(folder, bytes(code), ".cubin")
            changed += 1
    assert changed, f"no cubins of {kernel} in {project}"
    write_manifest(folder, manifest)
    return str(copy)
