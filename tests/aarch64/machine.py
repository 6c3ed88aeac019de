"""An AArch64 machine: Debian's Python and NumPy's wheel for it, in a folder, executed by qemu-user."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGES = (
    "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libexpat1", "zlib1g", "libssl3",
    "libgcc-s1", "libstdc++6", "libffi8", "libbz2-1.0", "liblzma5", "libcrypt1", "libuuid1", "libsqlite3-0",
)  # fmt: skip
WHEELS = ("numpy", "pyyaml", "jinja2", "markupsafe", "diskcache")  # what `check` needs
ROOT = Path(__file__).resolve().parents[2]


class Missing(Exception):
    """Why there can be no such machine here."""


class Machine:
    """Made in an empty folder. Raises Missing."""

    def __init__(self, folder: Path):
        self.system, self.site, self.bytecode = folder / "system", folder / "site", folder / "bytecode"
        downloads = folder / "downloads"
        for path in (self.system, self.site, downloads):
            path.mkdir(mode=0o777, parents=True)
        _done(["apt-get", "-q", "download", *(f"{name}:arm64" for name in PACKAGES)], downloads)
        for package in downloads.glob("*.deb"):
            _done(["dpkg", "-x", package, self.system], downloads)
        platforms = [word for v in (17, 27, 28) for word in ("--platform", f"manylinux_2_{v}_aarch64")]
        _done(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", *platforms,
             "--python-version", "3.11", *WHEELS], downloads,
        )  # fmt: skip
        for wheel in downloads.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(self.site)

    def run(self, *words: str, processor: str = "max", **settings: str) -> subprocess.CompletedProcess[str]:
        """Python with these words on its command line. settings: environment variables."""
        emulator = ["qemu-aarch64", "-cpu", processor, "-L", self.system, self.system / "usr/bin/python3.11"]
        path = f"{ROOT}:{self.site}"
        return subprocess.run(
            [*emulator, *words], capture_output=True, text=True, timeout=900,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(self.bytecode), **settings},
        )  # fmt: skip


def _done(command: list, folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise Missing(f"needs {error.filename}") from None
    if done.returncode:
        last = (done.stderr.strip() or "nothing").splitlines()[-1]
        raise Missing(f"needs an AArch64 Python: {' '.join(map(str, command[:3]))} said {last}")
