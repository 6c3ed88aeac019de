"""Whose cache is run: this user's and root's own alone, unless a setting allows another; with a second user, really."""

import errno
import grp
import os
import pwd
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from support import X, manifest_of, object_of, write_saxpy

import pydotcompute
from pydotcompute.cache import files, trust
from pydotcompute.cache.writer import close_to_others
from pydotcompute.errors import UntrustedCacheError

OTHER = 65534  # nobody
CALL = """
import os, sys
import numpy as np, pydotcompute
x = np.ones(2, "f4")
pydotcompute.load(sys.argv[1]).saxpy(1.0, x, x)
user = int(sys.argv[3])
os.setgroups([]), os.setgid(user), os.setuid(user)
print(pydotcompute.load(sys.argv[2]).saxpy(1.0, x, x))
"""
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


def call(root):
    return pydotcompute.load(root).saxpy(1.0, X, X)


def refused(root) -> str:
    with pytest.raises(UntrustedCacheError) as caught:
        call(root)
    return str(caught.value)


@pytest.fixture
def project(tmp_path):
    return Path(write_saxpy(tmp_path / "project"))


PLACES = {
    "cache": lambda root: manifest_of(root).parent,
    "manifest": manifest_of,
    "objects": lambda root: manifest_of(root).parent / "objects",
    "two letters": lambda root: object_of(root).parent,
    "object": object_of,
}


@pytest.mark.parametrize("place", PLACES)
def test_what_every_user_may_write_to_is_not_run(project, place):
    path = PLACES[place](project)
    mode = path.stat().st_mode & 0o777
    path.chmod(mode | 0o002)
    cache = manifest_of(project).parent
    assert refused(project) == (
        f"{path}: every user may write there (mode {mode | 0o002:o}), and whoever can write there can put any code into "
        f"the kernels: they are not run; chmod -R go-w {cache}; or, if you trust all who can, set "
        f"PYDOTCOMPUTE_TRUSTED={project}, or in {project}/pyproject.toml, if only you can write that, "
        'trusted = ["."] under [tool.pydotcompute]'
    )
    subprocess.run(["chmod", "-R", "go-w", str(cache)], check=True)
    assert (call(project) == 2 * X).all()


@only_root
@pytest.mark.parametrize("place", PLACES)
def test_what_belongs_to_another_user_is_not_run(project, place):
    os.chown(PLACES[place](project), OTHER, OTHER)
    told = refused(project)
    assert f"{PLACES[place](project)}: it belongs to {pwd.getpwuid(OTHER).pw_name} (user {OTHER})" in told
    assert "build it as yourself" in told


@only_root
def test_a_second_user_runs_what_root_built_and_not_what_a_third_one_did(project, tmp_path):
    """In a process that becomes that user once it has imported what it needs, which he may not read."""
    for folder in (project, *project.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    mine = write_saxpy(tmp_path / "warm")

    def run():
        command = [sys.executable, "-c", CALL, mine, str(project), str(OTHER)]
        return subprocess.run(command, capture_output=True, text=True)

    assert run().stdout == "[2. 2.]\n", run().stderr
    subprocess.run(["chown", "-R", "1234", str(project)], check=True)
    assert "UntrustedCacheError" in run().stderr and "it belongs to user 1234" in run().stderr
    subprocess.run(["chown", "-R", str(OTHER), str(project)], check=True)
    assert run().stdout == "[2. 2.]\n", run().stderr


@only_root
def test_a_group_may_write_only_if_it_is_the_owners_private_one(project):
    cache = manifest_of(project).parent
    shared = next(group for group in grp.getgrall() if group.gr_gid and group.gr_name not in ("root",))
    cache.chmod(0o775)
    os.chown(cache, 0, shared.gr_gid)
    assert f"{cache}: the group {shared.gr_name} may write there (mode 775)" in refused(project)
    os.chown(cache, 0, 54321)
    assert f"{cache}: the group 54321 may write there (mode 775)" in refused(project)
    os.chown(cache, 0, 0)  # root's own
    assert (call(project) == 2 * X).all()


@pytest.mark.parametrize("place", [place for place in PLACES if place != "cache"])
def test_a_link_out_of_the_cache_is_not_followed(project, place):
    path = PLACES[place](project)
    moved = project / "elsewhere"
    os.rename(path, moved)
    path.symlink_to(moved)
    told = refused(project)
    assert told.startswith(f"{path} is a symbolic link, and whoever can write")
    assert f"pydotcompute cache clear -C {project}" in told
    os.environ[trust.VARIABLE] = str(project)
    try:
        assert (call(project) == 2 * X).all()
    finally:
        del os.environ[trust.VARIABLE]


def allow(path, user, rights):
    """Add a user to the access list of a file, as `setfacl -m u:USER:RIGHTS` does."""
    mine, group, others = (path.stat().st_mode >> bits & 7 for bits in (6, 3, 0))
    entries = ((1, mine, -1), (2, rights, user), (4, group, -1), (16, group | rights, -1), (32, others, -1))
    data = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", data)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        pytest.skip("this file system has no access lists")


@pytest.mark.parametrize("place", PLACES)
def test_what_an_access_list_lets_another_user_write_to_is_not_run(project, place):
    path = PLACES[place](project)
    allow(path, OTHER, 4)
    assert trust.fault(path.stat(), str(path)) == "", "he may read"
    allow(path, OTHER, 6)
    assert f"{path}: an access list may let others write there: getfacl shows it (mode " in refused(project)
    subprocess.run(["chmod", "-R", "go-w", str(manifest_of(project).parent)], check=True)
    assert (call(project) == 2 * X).all(), "the remedy is one"


def test_a_build_closes_what_an_access_list_opens(project):
    cache = manifest_of(project).parent
    allow(cache, OTHER, 7)
    assert "an access list may let others write there" in close_to_others(str(cache))
    assert (call(project) == 2 * X).all()


def test_a_group_is_nobodys_own_if_it_is_the_primary_one_of_another(monkeypatch):
    user = pwd.getpwuid(os.geteuid())
    own = grp.struct_group((user.pw_name, "x", user.pw_gid, []))
    monkeypatch.setattr(grp, "getgrgid", lambda number: own)
    others = [user]
    monkeypatch.setattr(pwd, "getpwall", lambda: others)

    def private():
        return trust._is_private_group.__wrapped__(user.pw_gid, user.pw_uid)

    assert private()
    others.append(pwd.struct_passwd(("second", "x", user.pw_uid, user.pw_gid, "", "/", "")))
    assert private(), "the same user by another name"
    others.append(pwd.struct_passwd(("another", "x", user.pw_uid + 1, user.pw_gid, "", "/", "")))
    assert not private()


def test_the_cache_itself_may_be_a_link(project, tmp_path):
    """To a larger disk, say: it is the folder it leads to whose owner counts."""
    cache = manifest_of(project).parent
    os.rename(cache, tmp_path / "large")
    cache.symlink_to(tmp_path / "large")
    (tmp_path / "large").chmod(0o777)
    assert "every user may write there" in refused(project)
    (tmp_path / "large").chmod(0o755)
    assert (call(project) == 2 * X).all()


def test_a_setting_trusts_a_folder_and_what_is_in_it(project, tmp_path, monkeypatch):
    manifest_of(project).parent.chmod(0o777)
    for value in ("", "/nowhere", f"{project}x", f"{tmp_path}/proj"):
        monkeypatch.setenv(trust.VARIABLE, value)
        refused(project)
    for value in (str(project), f"/nowhere:{tmp_path}", f"{manifest_of(project).parent}/", "/"):
        monkeypatch.setenv(trust.VARIABLE, value)
        assert trust.is_trusted(str(manifest_of(project).parent), str(project))
    assert (call(project) == 2 * X).all()


def test_the_project_may_trust_where_only_its_user_can_say_so(project):
    manifest_of(project).parent.chmod(0o777)
    pyproject = project / "pyproject.toml"
    for text in (
        '[tool.pydotcompute]\ntrusted = ["/nowhere"]', "[tool.pydotcompute", "tool = 1 # pydotcompute",
        '[tool.pydotcompute]\ntrusted = "/nowhere"', "[tool.pydotcompute]\ntrusted = true",
    ):  # fmt: skip
        pyproject.write_text(text)
        refused(project)
    pyproject.write_text('[tool.pydotcompute]\ntrusted = ["build"]\n')
    for place in (pyproject, project):
        mode = place.stat().st_mode & 0o777
        place.chmod(mode | 0o002)
        refused(project)
        place.chmod(mode)
    assert (call(project) == 2 * X).all()


def test_a_bundle_is_as_trusted_as_its_package(project, tmp_path):
    bundle = tmp_path / "package" / "_kernels"
    bundle.parent.mkdir()
    os.rename(manifest_of(project).parent, bundle)
    bundle.chmod(0o777)
    assert (call(bundle) == 2 * X).all()


def test_no_descriptor_stays_open(project):
    for name in ("manifest.json", "nothing", "objects/nothing/x"):
        before = len(os.listdir("/proc/self/fd"))
        try:
            files.read(str(manifest_of(project).parent), name, files.MOST_MANIFEST, str(project))
        except FileNotFoundError:
            pass
        assert len(os.listdir("/proc/self/fd")) == before
    manifest_of(project).chmod(0o666)
    refused(project)
    assert len(os.listdir("/proc/self/fd")) == before
