"""Settings of the whole suite, and the repository's own kernels."""

import compileall
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import settings

# A shared machine stops for longer than any deadline now and then; how fast things are is the benchmarks' matter.
settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")

# A shell starts what runs in the background with SIGINT ignored, and children inherit that; some tests interrupt them.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # what tests share is imported as `tests.…`, from wherever they are run

from tests import budget  # noqa: E402
from tests.cuda_project import project, skip_without_compilers  # noqa: E402, F401


def pytest_configure(config):
    """Each of the thousand processes of a test run reads bytecode, where the environment says that none may write it."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "pydotcompute", quiet=1)


def pytest_ignore_collect(collection_path, config):
    """What is slow as a whole is left out without being imported, which takes as long as many tests."""
    return True if config.option.markexpr == "not slow" and budget.is_slow(collection_path) else None


def pytest_collection_modifyitems(config, items):
    named = any("::" in argument for argument in config.args)  # a test that is named is made
    out = set() if budget.EVERYTHING or named else set(filter(budget.is_left_out, items))
    config.hook.pytest_deselected(items=[*out])
    items[:] = [item for item in items if item not in out]
    skip_without_compilers(items)
    budget.mark(items)


def pytest_terminal_summary(terminalreporter):
    budget.summarise(terminalreporter)


@pytest.fixture(scope="session")
def built():
    """The repository, its kernels built for CPUs as a user builds them; what needs PTX builds what it needs. Other
    workers of the test run wait for the first one, and then have nothing to build."""
    targets = [word for level in ("v2", "v3", "v4") for word in ("-t", f"cpu:x86-64-{level}")]
    build = [sys.executable, "-m", "pydotcompute", "build", "-k", "-C", str(ROOT), *targets]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return ROOT


@pytest.fixture(scope="session")
def standard_kernels(built):
    """`pydotcompute.kernels`, with whatever it has looked up before forgotten."""
    from pydotcompute import kernels, load

    before = dict(vars(kernels))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is stale right after a build
        kernels._library = load(built)
    yield kernels
    vars(kernels).clear()
    vars(kernels).update(before)
