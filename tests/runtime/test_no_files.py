"""What stands where a file should, and is none: a FIFO, a socket, a loop of links, a folder, a terabyte of holes."""

import os
import socket
import subprocess
import sys

import pytest
from support import manifest_of, object_of, write_saxpy


@pytest.mark.parametrize("what", ["manifest", "object"])
@pytest.mark.parametrize(
    "kind, told", [("FIFO", "a FIFO, not a file"), ("socket", "No such device"), ("loop", "symbolic link"),
                   ("folder", "Is a directory"), ("terabyte", "1099511627776 bytes, more than")]
)  # fmt: skip
def test_what_is_no_file_is_refused_at_once(tmp_path, monkeypatch, what, kind, told):
    """In a process that dies of a hang, and whose memory has an end."""
    write_saxpy(tmp_path)
    path = manifest_of(tmp_path) if what == "manifest" else object_of(tmp_path)
    path.unlink()
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        monkeypatch.chdir(path.parent)
        socket.socket(socket.AF_UNIX).bind(path.name[:20])
        os.rename(path.name[:20], path)
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "folder":
        path.mkdir()
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    program = (
        "import resource, signal, sys, numpy, pydotcompute\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)), signal.alarm(20)\n"
        "x = numpy.ones(3, 'f4')\n"
        "try: pydotcompute.load(sys.argv[1]).saxpy(1.0, x, x)\n"
        "except pydotcompute.KernelNotBuiltError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout and told in done.stdout
    build = subprocess.run(
        [sys.executable, "-m", "pydotcompute", "cache", "verify", "-C", str(tmp_path)],
        capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert build.returncode == 1 and "Traceback" not in build.stderr, build.stderr
