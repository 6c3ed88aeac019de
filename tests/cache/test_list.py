"""`cache list`: which artifacts, in which order, as text and as JSON; the same records from Python."""

import json

import pytest

import pydotcompute
from pydotcompute.cli import main
from tests.cache.made import PTX, V2, V3, age, made, object_file, write_cache

SIZES = {("axpy", V2): 3000, ("axpy", V3): 9000, ("axpy", PTX): 1000, ("sum", V2): 5000, ("sum", PTX): 2000}


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = write_cache(tmp_path / "project", SIZES, stale=[("sum", V2)])
    for days, (name, size) in enumerate(reversed(SIZES.items())):
        age(object_file(root, made(*name, size)), days)  # the first one is the oldest
    monkeypatch.chdir(root)
    return root


def listed(capsys, *arguments):
    """(kernel, target) of what is listed, in its order."""
    assert main(["cache", "list", "--json", *arguments]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["version"] == 1
    return [(artifact["kernel"], artifact["target"]) for artifact in data["artifacts"]]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ([], sorted(SIZES)),
        (["sum"], [("sum", V2), ("sum", PTX)]),
        (["-t", PTX], [("axpy", PTX), ("sum", PTX)]),
        (["axpy", "--target", PTX, "--target", V2], [("axpy", V2), ("axpy", PTX)]),
        (["--sort", "kernel"], sorted(SIZES)),
        (["--sort", "target"], sorted(SIZES, key=lambda name: (name[1], name[0]))),
        (["--sort", "size"], sorted(SIZES, key=lambda name: -SIZES[name])),
        (["--sort", "age"], list(SIZES)),
        (["--sort", "age", "--older-than", "36h"], list(SIZES)[:3]),
        (["--larger-than", "4.5K"], [("axpy", V3), ("sum", V2)]),
        (["--larger-than", "1M"], []),
    ],
)
def test_what_is_listed_and_in_which_order(project, capsys, arguments, expected):
    assert listed(capsys, *arguments) == expected


def test_the_table_has_size_age_and_state(project, capsys):
    object_file(project, made("axpy", V3, 9000)).unlink()
    assert main(["cache", "list"]) == 0
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    head, *cells = [[cell.strip() for cell in row if cell] for row in rows]
    assert head == ["kernel", "specialization", "target", "size", "made", "used", "object"]
    assert [row[:3] for row in cells] == [[name, "-", target] for name, target in sorted(SIZES)]
    by_name = {(row[0], row[2]): row[3:] for row in cells}
    assert by_name["axpy", V2][:3] == ["3.2 KB", "4 d", "-"] and len(by_name["axpy", V2]) == 4
    assert by_name["axpy", V3][1] == "-" and by_name["axpy", V3][4] == "object missing"
    assert by_name["sum", V2][4] == "stale"


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["axpi"], "pydotcompute: no kernel 'axpi' in ./build/cache; did you mean 'axpy'?"),
        (["-t", "cuda:compute_81"], "pydotcompute: no target 'cuda:compute_81' in ./build/cache; did you mean "),
        (["--sort", "colour"], "argument --sort: invalid choice: 'colour'"),
        (["--larger-than", "big"], "'big' is no size: write 500M, 1.5G, 64Ki or a number of bytes"),
        (["--larger-than", "9" * 400], "9' is no size: write 500M, 1.5G, 64Ki or a number of bytes"),
        (["--older-than", "30"], "'30' is no age: write 30d, 2w, 12h, 90min or 45s"),
    ],
)
def test_what_there_is_not(project, capsys, arguments, line):
    assert main(["cache", "list", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and line in captured.err.splitlines()[-1]


def test_the_records_of_python_are_what_is_printed(project, capsys):
    cache = pydotcompute.cache.Cache(project)
    records = cache.records()
    assert main(["cache", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["artifacts"] == json.loads(
        json.dumps([{**record._asdict(), "path": record.path.replace(str(project), ".")} for record in records])
    )
    assert {(r.kernel, r.target) for r in records if r.stale} == {("sum", V2)}
    assert cache.kernels == ["axpy", "sum"] and [r.kernel for r in cache.records(["sum"])] == ["sum", "sum"]


def test_a_damaged_manifest_is_said(project, capsys):
    path = project / "build" / "cache" / "manifest.json"
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    assert main(["cache", "list"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("./build/cache/manifest.json: damaged")
    assert "'pydotcompute build' makes it anew" in captured.err


def test_strange_files_among_the_objects_are_said_to_be_that(project, capsys):
    """They are not missing. No command removes what it did not write, so that verifying succeeds."""
    objects = project / "build" / "cache" / "objects"
    own = next(path for path in objects.rglob("*") if path.is_file())
    (objects / "zz").mkdir()
    for path in (objects / "notes.txt", objects / "zz" / "foo.so", objects / "zz" / own.name):
        path.write_bytes(own.read_bytes())
    main(["cache", "verify", "-C", str(project), "--json"])
    strange = "it is no object of a cache, and stays where it is"
    found = {row["what"]: (row["fault"], row["fatal"]) for row in json.loads(capsys.readouterr().out)["findings"]}
    for name in ("notes.txt", "zz/foo.so", f"zz/{own.name}"):
        assert found[f"objects/{name}"] == (strange, False)
