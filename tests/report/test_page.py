"""The page in a real browser: what a reader sees, finds and follows; on a desk, on a phone, in the dark; a thousand
kernels."""

import json
import random
import shutil
from pathlib import Path

import pytest

from pydotcompute.report.page import page
from tests.report.browser import seen
from tests.report.made import HOSTILE, call, write_project
from tests.report.test_report import unpacked

REPOSITORY = Path(__file__).resolve().parents[2]
PHONE = 360  # CSS pixels
SMALL, LARGE = 3_000_000, 1000  # bytes of fifty kernels; kernels of a large project

READ = """
    let page = await open(1400)
    seen.names = names(page)
    seen.marks = [...page.querySelectorAll(".mark")].map(one => [one.className, one.title])
    seen.title = page.title
    seen.doc = page.querySelectorAll(".matrix tbody tr")[NUMBER].querySelector(".doc").textContent.trim()
    type(page, "tw ic")
    seen.found = names(page)
    type(page, "")
    const filter = [...page.querySelectorAll(".filter")].find(one => one.textContent.includes("stale"))
    filter.click()
    seen.stale = names(page)
    filter.click()
    seen.again = names(page)
    seen.jobs = page.querySelectorAll(".job").length
    seen.critical = page.querySelectorAll(".job.on").length
    seen.bench = [...page.querySelectorAll("table.bench td")].map(one => one.textContent)
    const colour = () => frame.contentWindow.getComputedStyle(page.body).backgroundColor
    const shade = () => colour().match(/\\d+/g).slice(0, 3).map(Number)
    const chart = (page, name) => [...page.querySelectorAll(`svg[aria-label=${name}]`)]
    const number = (one, ...names) => names.map(name => Number(one.getAttribute(name)))
    const [roof] = chart(page, "roofline")
    seen.roofs = [...roof.querySelectorAll("line.roof")].map(one => number(one, "x1", "y1", "x2", "y2"))
    seen.dots = [...roof.querySelectorAll("circle")].map(one => [...number(one, "cx", "cy"), one.textContent])
    seen.said = [...roof.querySelectorAll("text.said")].map(one => one.textContent)
    seen.peers = chart(page, "peers").map(one => [...one.querySelectorAll("circle.peer title")].map(one => one.textContent))
    seen.shades = [shade()]
    page.querySelector(".theme").click()
    seen.shades.push(shade())
    page = await go("good")
    const shown = () => [...page.querySelectorAll(".column")].filter(one => one.offsetWidth)
    const of = (column, text) => [...column.querySelectorAll(".row")].find(one => one.textContent.includes(text))
    seen.columns = shown().map(one => one.dataset.stage)
    const declared = of(shown()[0], "2 * x[i]")
    declared.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}))
    seen.hits = shown().map(one => one.querySelectorAll(".hit").length)
    declared.click()
    seen.pins = shown().map(one => one.querySelectorAll(".pin").length)
    const assembly = shown().at(-1), pinned = assembly.querySelector(".pin").getBoundingClientRect()
    const box = assembly.querySelector(".text").getBoundingClientRect()
    seen.visible = pinned.top >= box.top && pinned.bottom <= box.bottom
    const other = [...assembly.querySelectorAll(".row[data-at]")].find(one => !one.classList.contains("pin"))
    other.click()
    seen.back = shown()[0].querySelectorAll(".pin").length
    page.querySelector("button.stage").click()
    seen.without = shown().map(one => one.dataset.stage)
    seen.own = chart(page, "roofline").length + chart(page, "peers").length
    seen.provenance = page.querySelector("details dl").textContent
    page = await go("wrong")
    seen.hostile = of(page, "out[i] = 2").textContent
    page = await go("")
    seen.hurt = frame.contentWindow.top.hurt
    page = await open(PHONE)
    seen.widths = [page.documentElement.scrollWidth]
    page = await go("good")
    seen.widths.push(page.documentElement.scrollWidth)
    seen.drawn = chart(page, "roofline")[0].getBoundingClientRect().height
    seen.reached = shown().map(one => one.dataset.stage)
"""


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    root = tmp_path_factory.mktemp("reported")
    write_project(root)
    assert call(root, "report", "--bench", "figures.json", "--bench", "roof.json").returncode == 0
    return root, (root / "report.html").read_text()


@pytest.fixture(scope="module")
def read(reported, tmp_path_factory):
    whole, _ = unpacked(reported[1])
    number = [kernel["name"] for kernel in whole["kernels"]].index("wrong")
    told = READ.replace("NUMBER", str(number)).replace("PHONE", str(PHONE))
    return seen(tmp_path_factory.mktemp("browser"), reported[1], told)


@pytest.mark.slow
def test_what_there_is_and_why(read):
    assert read["names"] == ["broken", "changed", "good", "later", "wrong"]
    assert {tuple(name.split()) for name, _ in read["marks"]} == {
        ("mark", state) for state in ("checked", "stale", "failed", "declared")
    }
    assert any(title.startswith("wrong - cpu:x86-64-v2\nfailed: the check failed: out[") for _, title in read["marks"])
    assert read["jobs"] > 0 and read["critical"] > 0


@pytest.mark.slow
def test_it_is_searched_and_filtered(read):
    assert (read["found"], read["stale"], read["again"]) == (["good"], ["changed"], read["names"])


@pytest.mark.slow
def test_a_line_leads_to_what_becomes_of_it_and_back(read):
    assert read["columns"] == ["declared", "source", "lowered", "asm"]
    assert all(read["hits"]) and read["hits"] == read["pins"] and read["visible"] and read["back"] > 0
    assert read["without"] == ["source", "lowered", "asm"] and "flag fastmath" in read["provenance"]


@pytest.mark.slow
def test_what_users_write_is_text(read):
    assert read["doc"] == HOSTILE and HOSTILE in read["hostile"] and "hurt" not in read
    assert read["bench"][0] == HOSTILE and read["bench"][4:7] == ["all", "", ""]


@pytest.mark.slow
def test_the_roof_is_drawn_and_kernels_stand_under_it(read):
    """A point that is as fast as a copy is on the slope, one that is half as fast below it, by as much as log 2 takes."""
    (x1, y1, x2, y2), (_, level, _, other) = read["roofs"]
    dots = [(x, (y1 + (y2 - y1) * (x - x1) / (x2 - x1)) - y, y - level) for x, y, _ in read["dots"]]
    assert dots[0][1] == pytest.approx(0, abs=0.01) and dots[1][1] < -5 and level == other
    assert dots[2][0] > x2 and 0 < dots[2][2] < dots[0][2] < dots[1][2]
    assert dots[0][2] - dots[1][2] == pytest.approx(dots[1][1])  # of one intensity: half the speed is as far below
    assert read["said"] == ["a copy: 40 GB/s", "matmul of NumPy: 200 Gop/s"]
    assert [told.splitlines()[0] for _, _, told in read["dots"]] == ["good n=1", "good n=2", "good n=3"]
    assert read["dots"][1][2].endswith("\n50 % of a copy, 1 % of matmul")
    (hostile,), declared = (titles[1:] for titles in read["peers"])  # the first explains the mark
    assert hostile == f"{HOSTILE}\nNumPy: 4 times as long" and declared == [f"good n={n}\nreference: 3 times as long" for n in (1, 2, 3)]
    assert read["own"] == 2 and read["drawn"] > 100


@pytest.mark.slow
def test_it_is_dark_and_light_and_fits_a_phone(read):
    (first, second) = sorted(map(sum, read["shades"]))
    assert first < 3 * 64 and second > 3 * 192
    assert max(read["widths"]) <= PHONE and read["reached"] == ["declared", "asm"]


@pytest.mark.slow
def test_nothing_is_asked_of_anybody(read, reported):
    assert read["asked"] == {"/reader.html", "/page.html"}
    assert "http:" not in reported[1] and "https:" not in reported[1]


def many(text: str, number: int) -> str:
    """The page of so many kernels like those of a page, each with texts of its own."""
    whole, parts = unpacked(text)
    draw = random.Random(5)
    kinds = [kernel for kernel in whole["kernels"] if parts[kernel["name"]]["codes"]]
    kernels, known = [], {}
    for k in range(number):
        kernel = kinds[k % len(kinds)]
        name = f"{kernel['name']}_{k:04d}"
        part = json.loads(json.dumps(parts[kernel["name"]]).replace(kernel["name"], name))
        for one in part["artifacts"]:
            one["key"] = draw.randbytes(32).hex()
        kernels.append(kernel | {"name": name})
        known[name] = part
    return page(whole | {"kernels": kernels}, known)


@pytest.mark.slow
def test_fifty_kernels_are_three_megabytes_at_most(tmp_path):
    """Of each sort of kernels one, the largest that there is among them, on a CPU and on a GPU, again and again."""
    shutil.copytree(REPOSITORY / "templates", tmp_path / "templates")
    shutil.copy(REPOSITORY / "kernels.yaml", tmp_path)
    sorts = "attention softmax laplacian sum axpy gather".split()
    done = call(tmp_path, "report", *sorts, "-t", "cpu:x86-64-v3", "-t", "cuda:compute_80", "-q")
    assert done.returncode == 0, done.stderr
    text = many((tmp_path / "report.html").read_text(), 50)
    print(f"50 kernels: {len(text.encode()) / 1e6:.2f} MB")
    assert len(text.encode()) <= SMALL


@pytest.mark.slow
def test_a_thousand_kernels_do_not_freeze_it(reported, tmp_path):
    """Milliseconds on the browser's own clock, each with the layout that follows: the first is loading all of it."""
    timed = seen(tmp_path, many(reported[1], LARGE), """
        const started = performance.now()
        let page = await open(1400)
        seen.load = performance.now() - started
        const timed = what => {
            const at = performance.now()
            what()
            page.body.offsetHeight
            return performance.now() - at
        }
        seen.search = Math.max(...["g", "go", "good_09", "", "wrong_0999"].map(text => timed(() => type(page, text))))
        seen.found = names(page)
        seen.all = timed(() => type(page, ""))
        seen.first = names(page).length
        await until(() => { frame.contentWindow.scrollTo(0, 1e9); return names(page).length >= LARGE })
        seen.number = names(page).length
        const at = performance.now()
        page = await go("good_0502")
        page.body.offsetHeight
        seen.detail = performance.now() - at
    """.replace("LARGE", str(LARGE)))
    print({name: round(value) for name, value in timed.items() if isinstance(value, float)})
    assert len(timed["found"]) <= 1 and timed["first"] < timed["number"] == LARGE
    assert timed["load"] < 10_000 and timed["search"] < 500 and timed["detail"] < 2000
