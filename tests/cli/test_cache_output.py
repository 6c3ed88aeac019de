"""What the commands for the cache print about a project that is built, and what they do to it."""

import json
import os
import re
import shutil

from .console import V2, V3, call, edit


def test_cache_list_and_show(project, capsys):
    code, out, err = call(capsys, "cache", "list")
    assert code == 0 and re.fullmatch(
        r"kernel  specialization  target +size +made  used  object\n"
        r"scale   T=float32       cpu:x86-64-v2  +\d+\.\d KB  +\d+ (s|min)     -  [0-9a-f]{12}\n"
        r"scale   T=float32       cpu:x86-64-v3  +\d+\.\d KB  +\d+ (s|min)     -  [0-9a-f]{12}\n",
        out,
    )
    assert re.fullmatch(r"2 artifacts, 2 objects, \d+\.\d KB\n", err)
    code, out, _ = call(capsys, "cache", "show", "scale", "T=float32", "cpu:x86-64-v3")
    shown = dict(re.findall(r"^  (\S+(?: \S+)*?)  +(.*)$", out, re.MULTILINE))
    assert code == 0 and shown["state"] == "current when last built"
    assert os.path.isfile(shown["object"]) and os.path.getsize(shown["object"]) == int(shown["size"].split()[0])
    assert shown["indices"] == "proved to be inside" and "features" not in shown
    assert shown["needs"].split(", ")[-8:] == ["avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe"]
    assert shown["key: flag fastmath"] == "[contract]" and float(shown["seconds"]) > 0
    code, out, _ = call(capsys, "cache", "show", "scale", "--json")
    data = json.loads(out)
    assert data["kernel"] == "scale" and len(data["artifacts"]) == 2
    assert [("avx2" in row["needs"], "popcnt" in row["needs"]) for row in data["artifacts"]] == [(False, True), (True, True)]
    code, out, err = call(capsys, "cache", "show", "scale", "T=float23")
    assert (code, out) == (2, "") and err.endswith("did you mean 'T=float32'?\n")


def test_cache_verify_and_repair(project, capsys):
    code, out, err = call(capsys, "cache", "verify")
    assert (code, out) == (0, "") and err.endswith("checked, 0 with a fault\n")
    path = next((project / "build" / "cache" / "objects").rglob("*.so"))
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    code, out, err = call(capsys, "cache", "verify")
    assert code == 1 and out in (f"{V2}: object damaged\n", f"{V3}: object damaged\n")
    assert err.endswith("1 with a fault; 'pydotcompute build' repairs it\n")
    code, out, _ = call(capsys, "cache", "verify", "--json")
    assert json.loads(out)["ok"] is False and len(json.loads(out)["findings"]) == 1
    assert "object damaged" in call(capsys, "cache", "list")[1]
    assert call(capsys, "build")[0] == 0
    assert path.read_bytes() == data and call(capsys, "cache", "verify")[0] == 0


def test_verify_forgets_a_damaged_object_that_a_build_has_replaced(project, capsys):
    objects = project / "build" / "cache" / "objects"
    before = set(objects.rglob("*.so"))
    for path in before:
        path.write_bytes(b"no code")
    file = project / "kernels.yaml"
    file.write_text(file.read_text().replace("x[i]", "x[i] + x[i]"))
    assert call(capsys, "build")[0] == 0
    assert call(capsys, "cache", "verify", "--json")[1].count('"what"') == 0
    assert not before & set(objects.rglob("*.so"))


def test_a_damaged_bundle_is_not_built_where_it_lies(project, capsys, tmp_path):
    folder = tmp_path / "site-packages" / "bundle"
    assert call(capsys, "build", "--bundle", str(folder))[0] == 0
    next(folder.rglob("*.so")).write_bytes(b"no code")
    code, out, err = call(capsys, "cache", "verify", "-C", str(folder))
    assert code == 1 and err.endswith(
        f"1 with a fault; no installed distribution owns {folder}: get it again from where it came\n"
    )


def test_cache_clear(project, capsys):
    code, out, err = call(capsys, "cache", "clear")
    assert code == 0 and re.fullmatch(r"./build/cache: removed \d+ files, \d+\.\d KB\n", err)
    left = [path.name for path in (project / "build").rglob("*") if path.is_file()]
    assert left == ["lock"]
    assert call(capsys, "build", "-n")[1] == f"{V2}\n{V3}\n"


def test_a_cache_that_is_taken_to_another_machine_needs_no_build(project, capsys, tmp_path):
    import numpy

    import pydotcompute

    there = tmp_path / "there"
    there.mkdir()
    shutil.copy("kernels.yaml", there)
    assert call(capsys, "cache", "export", "kernels.tar")[0] == 0
    assert call(capsys, "cache", "import", "kernels.tar", "-C", str(there))[0] == 0
    current = (0, "", "0 of 2 artifacts are out of date\n")  # though its history is not there yet
    assert call(capsys, "build", "--check", "-C", str(there)) == call(capsys, "build", "-n", "-C", str(there)) == current
    code, _, err = call(capsys, "build", "-C", str(there))
    assert code == 0 and err.splitlines()[-1].startswith("2 reused in")
    assert call(capsys, "build", "--check", "-C", str(there)) == current
    shutil.rmtree(there / "build" / "cache" / "keys")
    assert call(capsys, "build", "--check", "-C", str(there)) == current
    assert pydotcompute.load(there).scale(numpy.ones(3, "f4")).tolist() == [2, 2, 2]
    code, out, _ = call(capsys, "cache", "stats", "--json", "-C", str(project))
    data = json.loads(out)
    assert data["seconds"] > 0 and data["unknown"] == 0 and [k["artifacts"] for k in data["kernels"]] == [2]


def test_prune_takes_what_an_edit_has_left_behind(project, capsys):
    edit(project)
    assert call(capsys, "build")[0] == 0
    code, _, err = call(capsys, "cache", "prune", "--unused")
    assert code == 0 and err.startswith("./build/cache: removed 2 objects")
    assert call(capsys, "build", "--check")[0] == 0 and call(capsys, "cache", "verify")[0] == 0
    path = project / "kernels.yaml"
    path.write_text(path.read_text().replace("3 * x[i]", "2 * x[i]"))
    code, _, err = call(capsys, "build")
    assert code == 0 and err.splitlines()[-1].startswith("2 built in")
