"""`cache export` and `cache import`: whole or not at all, and only what the archive's manifest says."""

import io
import json
import os
import tarfile

import pytest

from pydotcompute.cache import Cache
from pydotcompute.cache.files import sha256
from pydotcompute.cache.layout import VERSION, object_path
from pydotcompute.cache.sealed import seal
from pydotcompute.cli import main
from pydotcompute.errors import ArchiveError, UntrustedCacheError
from tests.cache.made import PTX, V2, V3, files_of, made, object_file, write_cache
from tests.runtime.support import edit_manifest

SIZES = {("axpy", V2): 300, ("axpy", V3): 400, ("sum", V2): 500, ("sum", PTX): 600}


def run(capsys, *arguments):
    code = main(["cache", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def project(tmp_path):
    return write_cache(tmp_path / "project", SIZES, stale=[("axpy", V3)], older=(100,))


@pytest.fixture
def archive(project, tmp_path):
    Cache(project).export_to(tmp_path / "kernels.tar")
    return tmp_path / "kernels.tar"


def named(root):
    return {(r.kernel, r.target): r.stale for r in Cache(root).records() if not r.fault}


def test_there_and_back(project, tmp_path, capsys):
    file = tmp_path / "kernels.tar"
    assert run(capsys, "export", file, "-C", project) == (0, "", f"{file}: 3 artifacts, 10.2 KB\n")
    with tarfile.open(file) as tar:
        members = tar.getmembers()
    assert members[0].name == "manifest.json" and len(members) == 4
    assert {(m.mtime, m.uid, m.uname, m.mode) for m in members} == {(0, 0, "", 0o644)}
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    code, _, err = run(capsys, "import", file, "-C", fresh)
    assert code == 0 and err == (
        f"{fresh}/build/cache: took 3 artifacts; 'pydotcompute build' makes anew what is not what the sources say\n"
    )
    assert named(fresh) == {name: "" for name in SIZES if name != ("axpy", V3)}
    for kernel, target in named(fresh):
        assert Cache(fresh).read(kernel, "-", target) == Cache(project).read(kernel, "-", target)
    before = files_of(fresh)
    assert run(capsys, "import", file, "-C", fresh, "--json")[0] == 0 and files_of(fresh) == before
    again = tmp_path / "again.tar"
    Cache(fresh).export_to(again)
    assert again.read_bytes() == file.read_bytes()


def test_what_is_current_stays_and_what_is_not_is_taken(project, archive, tmp_path, capsys):
    sizes = {("axpy", V2): 301, ("axpy", V3): 401, ("sum", V2): 501, ("other", V2): 10}
    here = write_cache(tmp_path / "here", sizes, stale=[("sum", V2)])
    object_file(here, made("axpy", V2, 301)).unlink()

    def say_failed(data):
        data["kernels"]["sum"]["specializations"]["-"]["failed"] = {PTX: "no tool", V3: "no such luck"}

    edit_manifest(here, say_failed)
    code, out, _ = run(capsys, "import", archive, "-C", here, "--json")
    data = json.loads(out)
    assert code == 0 and data["version"] == 1 and data["kept"] == data["refused"] == []
    assert {(kernel, target) for kernel, _, target in data["taken"]} == set(named(project)) - {("axpy", V3)}
    assert named(here) == {name: "" for name in {**SIZES, **sizes}}
    assert Cache(here).read("axpy", "-", V2) == made("axpy", V2, 300)
    assert Cache(here).read("axpy", "-", V3) == made("axpy", V3, 401)
    assert Cache(here).manifest["kernels"]["sum"]["specializations"]["-"]["failed"] == {V3: "no such luck"}
    code, _, err = run(capsys, "import", archive, "-C", here)
    assert code == 0 and err.endswith("took 0 artifacts; 3 left out, which are current here\n")


def test_a_kernel_that_is_declared_otherwise_here_is_left_out(archive, tmp_path, capsys):
    here = write_cache(tmp_path / "here", {("sum", V3): 10})
    edit_manifest(here, lambda data: data["kernels"]["sum"].update(requires=[["<", "size", 100]]))
    before = Cache(here).manifest["kernels"]["sum"]
    code, _, err = run(capsys, "import", archive, "-C", here)
    assert code == 0 and f"left out: sum - {PTX}: the kernel is declared otherwise here\n" in err
    assert Cache(here).manifest["kernels"]["sum"] == before and ("axpy", V2) in named(here)


# ------------------------------------------------------------------------------- archives that are none


def members_of(archive):
    with tarfile.open(archive) as tar:
        return [(member.name, tar.extractfile(member).read()) for member in tar]


def written(archive, members):
    """members: (name, bytes), or a TarInfo in place of the name."""
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(data) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(data))


def of_type(kind, name="objects/ab/x"):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    return member


def manifest(change):
    """An archive whose manifest was changed, with a digest that fits."""

    def harm(members):
        data = json.loads(members[0][1])
        del data["digest"]
        change(data)
        return [("manifest.json", seal(json.dumps(data))), *members[1:]]

    return harm


def entry(data):
    return data["kernels"]["axpy"]["specializations"]["-"]["artifacts"][V2]


def renamed(new):
    return lambda members: [*members[:-1], (new, members[-1][1])]


def foreign(members):
    """The object of another kernel under a digest that fits."""
    data = made("sum", V2, 300)
    change = manifest(lambda manifest: entry(manifest).update(object=sha256(data), size=len(data)))
    old = object_path(sha256(made("axpy", V2, 300)), ".so")
    return [(object_path(sha256(data), ".so"), data) if m[0] == old else m for m in change(members)]


HARMS = {
    "no manifest": (lambda m: m[1:], "not a cache: the first file in it is not a manifest.json"),
    "nothing": (lambda m: [], "not a cache"),
    "an object is missing": (lambda m: m[:-1], "is missing"),
    "one is there twice": (lambda m: [*m, m[-1]], "or is there twice"),
    "the manifest is there twice": (lambda m: [*m, m[0]], "'manifest.json' in it is no object"),
    "a stranger": (lambda m: [*m, ("README", b"x")], "'README' in it is no object of its manifest.json"),
    "a way out": (renamed("../../../evil.so"), "'../../../evil.so' in it is no object"),
    "an absolute path": (renamed("/tmp/evil.so"), "'/tmp/evil.so' in it is no object"),
    "a link": (lambda m: [*m, (of_type(tarfile.SYMTYPE), b"")], "is not a plain file"),
    "a hard link": (lambda m: [*m, (of_type(tarfile.LNKTYPE), b"")], "is not a plain file"),
    "a FIFO": (lambda m: [*m, (of_type(tarfile.FIFOTYPE), b"")], "is not a plain file"),
    "a device": (lambda m: [*m, (of_type(tarfile.CHRTYPE), b"")], "is not a plain file"),
    "a folder": (lambda m: [*m, (of_type(tarfile.DIRTYPE), b"")], "is not a plain file"),
    "a bit": (lambda m: [*m[:-1], (m[-1][0], bytes([m[-1][1][0] ^ 1]) + m[-1][1][1:])], "is damaged"),
    "a byte less": (lambda m: [*m[:-1], (m[-1][0], m[-1][1][:-1])], "is damaged"),
    "a byte more": (lambda m: [*m[:-1], (m[-1][0], m[-1][1] + b"x")], "is damaged"),
    "a bit of the manifest": (lambda m: [(m[0][0], m[0][1].replace(b"size", b"sise", 1)), *m[1:]], "is damaged"),
    "no JSON": (lambda m: [("manifest.json", b"{"), *m[1:]], "its manifest.json is damaged"),
    "a list": (lambda m: [("manifest.json", b"[]"), *m[1:]], "its manifest.json is damaged"),
    "a version": (manifest(lambda d: d.update(version=2)), f"has format version 2, this program reads {VERSION}"),
    "a digest": (manifest(lambda d: entry(d).update(object="../../../../x")), "its manifest.json is damaged"),
    "a suffix": (manifest(lambda d: entry(d).update(suffix=".so/../x")), "its manifest.json is damaged"),
    "a size": (manifest(lambda d: entry(d).update(size=10**15)), "its manifest.json is damaged"),
    "a stale one": (manifest(lambda d: entry(d).update(stale="old")), "is not one that an export writes"),
    "a name": (manifest(lambda d: d["kernels"].update({"../x": d["kernels"].pop("axpy")})), "an export writes"),
    "another kernel's object": (foreign, f"axpy for {V2}: its object is sum for {V2}"),
}


@pytest.mark.parametrize("name", HARMS)
def test_a_bad_archive_leaves_everything_as_it_was(archive, tmp_path, capsys, name):
    harm, told = HARMS[name]
    written(archive, harm(members_of(archive)))
    here = write_cache(tmp_path / "here", {("axpy", V3): 10})
    before = files_of(here)
    code, out, err = run(capsys, "import", archive, "-C", here)
    assert (code, out) == (1, "") and told in err and err.endswith("; nothing of it was taken\n")
    assert err.startswith(f"{archive}: ") and len(err.splitlines()) == 1
    assert files_of(here) == before and not (tmp_path / "evil.so").exists()


def test_an_archive_that_was_cut_anywhere(archive, tmp_path):
    data = archive.read_bytes()
    here = tmp_path / "here"
    here.mkdir()
    end = data.rstrip(b"\0")
    for length in range(0, len(end), 307):
        archive.write_bytes(data[:length])
        with pytest.raises(ArchiveError, match="nothing of it was taken"):
            Cache(here).import_from(archive)
        assert os.listdir(here) == []


def test_an_archive_that_changes_while_it_is_read(archive, tmp_path, monkeypatch):
    """What was checked and what is kept are compared again: the manifest is not written."""
    from pydotcompute.cache import archive as module

    here = tmp_path / "here"
    here.mkdir()
    locked = module.locked

    def change(folder, say):
        members = members_of(archive)
        written(archive, [*members[:-1], (members[-1][0], b"x" * len(members[-1][1]))])
        return locked(folder, say)

    monkeypatch.setattr(module, "locked", change)
    with pytest.raises(ArchiveError, match="is damaged"):
        Cache(here).import_from(archive)
    assert named(here) == {} and "manifest.json" not in files_of(here)


def test_what_is_no_archive_and_where_none_goes(project, archive, tmp_path, capsys):
    os.mkfifo(tmp_path / "fifo")
    for path, told in (("fifo", "not a file"), ("project", "not a file"), ("nothing", "there is no such file")):
        code, _, err = run(capsys, "import", tmp_path / path, "-C", project)
        assert code == 1 and told in err and len(err.splitlines()) == 1
    code, _, err = run(capsys, "export", tmp_path / "fifo", "-C", project)
    assert code == 2 and "something else" in err
    object_file(project, made("sum", V2, 500)).write_bytes(b"x")
    before = archive.read_bytes()
    code, _, err = run(capsys, "export", archive, "-C", project)
    assert code == 1 and "is damaged" in err and archive.read_bytes() == before
    code, _, err = run(capsys, "export", tmp_path / "new.tar", "-C", tmp_path)
    assert code == 1 and "no kernels are built in" in err and not (tmp_path / "new.tar").exists()


def test_whose_cache(project, archive, tmp_path):
    said: list[str] = []
    (project / "build" / "cache").chmod(0o777)
    with pytest.raises(UntrustedCacheError):
        Cache(project).export_to(tmp_path / "new.tar")
    Cache(project).import_from(archive, said.append)
    assert len(said) == 1 and "every user may write there" in said[0] and "now only you may" in said[0]
    if os.geteuid() == 0:
        os.chown(project / "build" / "cache", 4711, -1)
        with pytest.raises(UntrustedCacheError, match="it belongs to user 4711"):
            Cache(project).import_from(archive)
        os.chown(project / "build" / "cache", 0, -1)
    os.rename(project / "build" / "cache", tmp_path / "bundle")
    with pytest.raises(ValueError, match="is a bundle: nothing is added to it"):
        Cache(tmp_path / "bundle").import_from(archive)
    before = archive.read_bytes()
    Cache(tmp_path / "bundle").export_to(archive)
    assert archive.read_bytes() == before
