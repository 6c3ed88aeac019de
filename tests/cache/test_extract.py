"""`cache extract`: the object of one artifact as a file, only if it is what the cache says."""

import json
import os
import stat

import pytest

from pydotcompute.cache import Cache
from pydotcompute.cli import main
from pydotcompute.errors import KernelNotBuiltError, UntrustedCacheError
from tests.cache.made import PTX, V2, V3, made, object_file, write_cache

SIZES = {("axpy", V2): 3000, ("axpy", PTX): 1000, ("sum", V3): 500}
AXPY = made("axpy", PTX, 1000)


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = write_cache(tmp_path / "project", SIZES, stale=[("sum", V3)])
    monkeypatch.chdir(root)
    return root


def extract(capsys, *arguments):
    code = main(["cache", "extract", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_object_as_it_is_kept(project, capsys):
    assert extract(capsys, "axpy", "-t", PTX, "-o", "axpy.bin") == (0, "", f"axpy.bin: axpy - {PTX}, 1.2 KB\n")
    assert (project / "axpy.bin").read_bytes() == AXPY == Cache(project).read("axpy", "-", PTX)
    code, out, err = extract(capsys, "sum", "-", "--target", V3, "--output", "axpy.bin", "--json")
    assert code == 0 and err == f"sum - {V3} is out of date: source changed (body)\n"
    said = json.loads(out)
    assert (said["version"], said["file"], said["kernel"], said["target"]) == (1, "axpy.bin", "sum", V3)
    assert (project / "axpy.bin").read_bytes() == made("sum", V3, 500)


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["axpy"], f"one file takes one artifact; there are 2: axpy - -t {V2}, axpy - -t {PTX}"),
        (["axpi"], "no kernel 'axpi' in ./build/cache; did you mean 'axpy'?"),
        (["axpy", "-t", V3], "no target 'cpu:x86-64-v3' in the cache for axpy; did you mean 'cpu:x86-64-v2'?"),
        (["axpy", "T=f"], "no specialization 'T=f' in the cache for axpy; expected one of -"),
    ],
)
def test_an_artifact_that_there_is_not_or_more_than_one(project, capsys, arguments, line):
    code, out, err = extract(capsys, *arguments, "-o", "file")
    assert (code, out) == (2, "") and err == f"pydotcompute: {line}\n"
    assert not (project / "file").exists()


@pytest.mark.parametrize("damage", [AXPY[:-1], b"", AXPY[:-2] + b"0\n", made("sum", PTX, 1000)])
def test_a_damaged_object_is_not_extracted(project, capsys, damage):
    object_file(project, AXPY).write_bytes(damage)
    (project / "file").write_bytes(b"before")
    code, _, err = extract(capsys, "axpy", "-t", PTX, "-o", "file")
    assert code == 1 and "is damaged" in err and len(err.splitlines()) == 1
    assert (project / "file").read_bytes() == b"before"


def test_an_object_of_another_artifact_is_not_extracted(project, capsys, tmp_path):
    root = write_cache(tmp_path / "other", {("axpy", V2): 10})
    data = made("sum", V2, 10)
    from tests.runtime.support import edit_manifest

    def exchange(manifest):
        from pydotcompute.cache.files import sha256

        entry = manifest["kernels"]["axpy"]["specializations"]["-"]["artifacts"][V2]
        entry.update(object=sha256(data), size=len(data))

    object_file(root, data).parent.mkdir(exist_ok=True)
    object_file(root, data).write_bytes(data)
    edit_manifest(root, exchange)
    code, _, err = extract(capsys, "axpy", "-o", "file", "-C", str(root))
    assert code == 1 and f"is sum for {V2}" in err


def test_what_is_no_file_is_left_alone(project, capsys):
    os.mkfifo(project / "fifo")
    for path in ("fifo", "build", "/dev/null"):
        code, _, err = extract(capsys, "sum", "-o", path)
        assert code == 2 and "a file is to be written there, and it is something else" in err
    assert stat.S_ISFIFO((project / "fifo").stat().st_mode) and stat.S_ISCHR(os.stat("/dev/null").st_mode)
    (project / "real").write_bytes(b"")
    (project / "link").symlink_to("real")
    assert extract(capsys, "sum", "-o", "link")[0] == 0
    assert (project / "link").is_symlink() and (project / "real").read_bytes() == made("sum", V3, 500)
    code, _, err = extract(capsys, "sum", "-o", "nowhere/file")
    assert (code, err) == (1, f"{project}/nowhere/file: No such file or directory\n")


def test_from_python(project):
    with pytest.raises(KernelNotBuiltError, match="there is no axpy for cpu:x86-64-v4 in"):
        Cache(project).read("axpy", "-", "cpu:x86-64-v4")
    (project / "build" / "cache").chmod(0o777)
    with pytest.raises(UntrustedCacheError):
        Cache(project).read("axpy", "-", V2)
