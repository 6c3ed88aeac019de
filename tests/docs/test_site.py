"""The site, in a real browser without a network: it can be searched, is dark and light, and fits a phone."""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pydotcompute.cli import main
from pydotcompute.docs.pages import TOPICS

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE = 360  # CSS pixels
# Does in a frame what a reader does, and leaves what was seen as JSON.
READER = """<!doctype html>
<iframe id="frame" width="PHONE" height="700"></iframe><pre id="seen"></pre>
<script>
const frame = document.getElementById("frame")
function open(page) {
    return new Promise(done => { frame.onload = () => done(frame.contentDocument); frame.src = "site/" + page })
}
async function until(found) {
    for (let k = 0; k < 100 && !found(); k++) await new Promise(done => setTimeout(done, 100))
    return found()
}
function shade(page) {
    return frame.contentWindow.getComputedStyle(page.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)
}
async function read() {
    const seen = {widths: {}, titles: {}, elsewhere: [], shades: {}, tables: 0}
    for (const name of TOPICS) {
        const page = await open(name + ".html")
        seen.widths[name] = page.documentElement.scrollWidth
        seen.titles[name] = page.querySelector("h1").firstChild.textContent
        seen.tables += page.querySelectorAll("table").length
        for (const one of frame.contentWindow.performance.getEntriesByType("resource"))
            if (!one.name.startsWith(location.origin)) seen.elsewhere.push(one.name)
    }
    const page = await open("language.html")
    for (let k = 0; k < 3; k++) {
        seen.shades[page.body.dataset.theme] = shade(page)
        page.querySelector(".theme-toggle").click()
    }
    const search = await open("search.html?q=scatter")
    await until(() => /found/.test(search.querySelector(".search-summary")?.textContent))
    seen.results = [...search.querySelectorAll("#search-results li a")].map(a => a.getAttribute("href"))
    return seen
}
read().then(seen => document.getElementById("seen").textContent = JSON.stringify(seen),
            error => document.getElementById("seen").textContent = JSON.stringify({error: String(error)}))
</script>
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "pydotcompute", "docs", "--output", "site"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "site/index.html\n", "")
    return folder


@pytest.mark.slow
def test_every_page_is_there_and_nothing_comes_from_elsewhere(site):
    for name in ("index", "search", *TOPICS):
        text = (site / "site" / f"{name}.html").read_text()
        assert re.findall(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*\"", text) == []
    for path in (site / "site").rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//|@import", path.read_text()), path


@pytest.mark.slow
def test_writing_it_again_replaces_it_and_nothing_else(site, tmp_path):
    again = [sys.executable, "-m", "pydotcompute", "docs", "-o"]
    assert subprocess.run([*again, str(site / "site")], capture_output=True).returncode == 0
    (tmp_path / "mine").write_text("mine")
    done = subprocess.run([*again, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith(f"{tmp_path}: ") and os.listdir(tmp_path) == ["mine"]


@pytest.mark.slow
def test_an_interrupted_one_is_written_by_the_next(tmp_path, monkeypatch):
    def interrupted(source, target, **options):
        shutil.copy(Path(source, "index.html"), target)
        raise KeyboardInterrupt

    words = ["docs", "-o", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr("shutil.copytree", interrupted)
        assert main(words) == 130 and (tmp_path / "index.html").exists()
    again = [sys.executable, "-m", "pydotcompute", *words]  # Sphinx is not made for a second run in a process
    assert subprocess.run(again, capture_output=True).returncode == 0 and (tmp_path / "search.html").exists()


@pytest.fixture(scope="module")
def seen(site):
    """What a reader with a browser sees."""
    if BROWSER is None:
        pytest.skip("no browser: Debian's package chromium, which .ci/run installs")
    page = READER.replace("PHONE", str(PHONE)).replace("TOPICS", json.dumps(list(TOPICS)))
    (site / "reader.html").write_text(page)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    handler.log_message = lambda *arguments: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run(
            [
                BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                f"--user-data-dir={site / 'profile'}", "--virtual-time-budget=60000",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--dump-dom",
                f"http://127.0.0.1:{server.server_port}/reader.html",
            ],
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        server.shutdown()
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
    assert found and found[1], done.stderr[-2000:]
    data = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert "error" not in data, data
    return data


@pytest.mark.slow
def test_pages_fit_a_phone(seen):
    assert {name: width for name, width in seen["widths"].items() if width > PHONE} == {}
    assert set(seen["titles"]) == set(TOPICS) and all(seen["titles"].values()) and seen["tables"] > 30


@pytest.mark.slow
def test_it_is_dark_and_light(seen):
    shades = sorted(sum(shade) for shade in seen["shades"].values())
    assert {"light", "dark"} <= set(seen["shades"]) and shades[0] < 3 * 64 and shades[-1] > 3 * 192


@pytest.mark.slow
def test_it_is_searched(seen):
    assert any(result.startswith("language.html") for result in seen["results"]), seen["results"]


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(seen):
    assert seen["elsewhere"] == []
