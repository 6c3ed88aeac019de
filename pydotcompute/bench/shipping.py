"""What it costs to ship kernels: wheels of 20 kernels for two dtypes, for one platform and for all; a fresh environment
from its installation to its first call, against the same library with Numba; two commands from nothing to a wheel.

What is installed is fetched by pip first, in the versions that are here, so that no network is in the times. What Numba
compiles at its first call it keeps on the disk, for the next process.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, Iterator, NamedTuple, Sequence

from ..artifact.cpu_levels import ARCHITECTURES, NAMES as TARGETS
from ..artifact.remedies import install, source_requirement
from ..errors import CompilerNotInstalledError, KernelNotBuiltError
from .own import pydotcompute
from .shipping_library import DTYPES, FIRST_CALL, NAMES, kernels_yaml, numba_package

COLUMNS = (
    "what", "artifacts", "wheel MB", "download MB", "installed MB", "s", "first call s", "next s", "times", "note",
)  # fmt: skip
MB = 1e6
NEXT = 5  # processes that call after the first one of each environment
LEVELS = [f"cpu:{level}" for level in ARCHITECTURES["x86-64"]]
EVERYTHING = [target for target in TARGETS if target != "cpu:native"]


class Peer(NamedTuple):
    """A library of one way of compiling, and what an environment needs for it, in the versions that are here."""

    name: str
    library: str  # empty: none
    needs: tuple[str, ...]
    program: str
    ours: bool = False  # this package too, built of what is installed here


PEERS = (
    Peer("pydotcompute", "compiled", ("numpy",), FIRST_CALL.format(package="compiled"), ours=True),
    Peer("Numba", "looped", ("numpy", "numba", "llvmlite"), FIRST_CALL.format(package="looped")),
    Peer("import numpy", "", ("numpy",), "import numpy"),
)


def measure(rounds: int = 3, targets: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """targets: what the library is built for, in the place of the levels of x86-64 on Linux, and then of everything.

    Raises CompilerNotInstalledError where hatchling is missing, KernelNotBuiltError where a wheel cannot be made.
    """
    if find_spec("hatchling") is None:
        raise CompilerNotInstalledError(
            f"wheels are made by hatchling, which is not installed: {install('bench', 'hatchling')}"
        )
    asked = {"x86-64 on Linux": LEVELS, "every platform": EVERYTHING}
    if targets:
        asked = {"what is asked for": list(targets)}
    with tempfile.TemporaryDirectory() as folder:
        started = perf_counter()
        pydotcompute(["init", "--package", os.path.join(folder, "first")])
        wheel = build_wheel(Path(folder, "first"))
        yield {"what": "init, then build", "wheel MB": size(wheel) / MB, "s": perf_counter() - started}

        house = Path(folder, "house")
        house.mkdir()
        root = Path(folder, "compiled")
        pydotcompute(["init", "--package", str(root)])
        shutil.rmtree(root / "templates")
        (root / "kernels.yaml").write_text(kernels_yaml())
        for what, names in asked.items():
            wheel = build_wheel(root, names)
            artifacts = len(NAMES) * len(DTYPES) * len(names)
            yield {"what": f"{len(NAMES)} kernels, {what}", "artifacts": artifacts, "wheel MB": size(wheel) / MB}
            if not list(house.iterdir()):
                shutil.copy(wheel, house)
        numba_package(Path(folder, "looped"))
        shutil.copy(build_wheel(Path(folder, "looped")), house)
        yield from environments(folder, house, rounds)


def build_wheel(root: Path, targets: Sequence[str] = ()) -> Path:
    """The wheel of a package, as its front end has hatchling make it."""
    environment = {**os.environ, **({"PYDOTCOMPUTE_TARGETS": ",".join(targets)} if targets else {})}
    shutil.rmtree(root / "dist", ignore_errors=True)
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=root, env=environment)
    (wheel,) = (root / "dist").iterdir()
    return wheel


def environments(folder: str, house: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each peer; they take turns. What is missing here, or pip cannot get, is a row that says so."""
    samples: dict[Peer, list[list[float]]] = {}
    rows: dict[Peer, dict[str, Any]] = {peer: {"what": f"an environment: {peer.name}"} for peer in PEERS}
    for peer in PEERS:
        try:
            found = fetched(peer, house)
            rows[peer]["download MB"] = sum(map(size, found)) / MB
            samples[peer] = []
        except (KernelNotBuiltError, PackageNotFoundError) as error:
            rows[peer]["note"] = f"cannot be measured: {error}"
    for turn in range(rounds):
        for peer, taken in samples.items():
            place = Path(folder, f"{peer.library or 'floor'}{turn}")
            rows[peer]["installed MB"], *times = fresh(peer, place, house)
            taken.append(times)
            shutil.rmtree(place)
    middle = {peer: [statistics.median(column) for column in zip(*taken)] for peer, taken in samples.items()}
    for peer, row in rows.items():
        if peer in middle:
            row |= dict(zip(("s", "first call s", "next s"), middle[peer]))
            if PEERS[0] in middle:
                row["times"] = sum(middle[peer][:2]) / sum(middle[PEERS[0]][:2])
        yield row


def fetched(peer: Peer, house: Path) -> list[Path]:
    """The wheels in `house` that an environment of this peer is made of; what is not there comes by pip."""
    pip = [sys.executable, "-m", "pip"]
    run([*pip, "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(house),
         *(f"{name}=={version(name)}" for name in peer.needs)])  # fmt: skip
    wanted = [*peer.needs, peer.library]
    if peer.ours:
        ours, _, source = source_requirement().partition(" @ ")
        wanted.append(ours.partition(">=")[0])
        run([*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(house), source or ours])
    return [path for path in house.iterdir() if path.name.partition("-")[0].lower() in wanted]


def fresh(peer: Peer, place: Path, house: Path) -> tuple[float, float, float, float]:
    """Of a new environment: megabytes that are installed, seconds of pip, of the first process that calls, and of the
    next ones, the median."""
    run([sys.executable, "-m", "venv", "--without-pip", str(place)])
    python = place / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    pip = [sys.executable, "-m", "pip", "-q", "--python", str(python)]

    def seconds(command: list[str]) -> float:
        started = perf_counter()
        run(command, env=environment, cwd=place)
        return perf_counter() - started

    installed = seconds([*pip, "install", "--no-index", "--find-links", str(house), peer.library or peer.needs[0]])
    megabytes = sum(size(path) for path in place.rglob("site-packages/**/*") if path.is_file()) / MB
    first, *more = (seconds([str(python), "-c", peer.program]) for _ in range(1 + NEXT))
    return megabytes, installed, first, statistics.median(more)


def size(path: Path) -> int:
    return path.stat().st_size


def run(command: list[str], **options: Any) -> None:
    """Raises KernelNotBuiltError with the last thing that it says where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise KernelNotBuiltError(f"{' '.join(command[:4])} …: {said[-1] if said else done.returncode}")
