"""A real browser without a network: it opens a page in a frame, does what a reader does, and says what it saw."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# What a program of READ has: a frame of a width, in which it opens a page and waits until it is shown.
READER = """<!doctype html>
<iframe id="frame" height="800"></iframe>
<script>
const frame = document.getElementById("frame")
const sleep = time => new Promise(done => setTimeout(done, time))
async function until(found) {
    for (let k = 0; k < 600 && !found(); k++) await sleep(20)
    if (!found()) throw new Error("not seen: " + found)
    return found()
}
async function open(width, hash = "") {
    frame.width = width
    await new Promise(done => { frame.onload = done; frame.src = "page.html?" + Math.random() + hash })
    await until(() => frame.contentDocument.documentElement.dataset.ready)
    await sleep(50)
    return frame.contentDocument
}
async function go(kernel) {
    const page = frame.contentDocument
    frame.contentWindow.location.hash = kernel && "kernel=" + kernel
    if (kernel) await until(() => page.querySelector("h1").textContent === kernel && page.querySelector(".columns"))
    else await until(() => page.querySelector(".matrix"))
    return page
}
const type = (page, text) => {
    const search = page.querySelector("input[type=search]")
    search.value = text
    search.dispatchEvent(new Event("input", {bubbles: true}))
}
const names = page => [...page.querySelectorAll(".matrix tbody tr td:first-child a")].map(one => one.textContent)
async function read() {
    const seen = {}
    READ
    return seen
}
const tell = seen => fetch("seen", {method: "POST", body: JSON.stringify(seen)})
read().then(tell, error => tell({error: String(error && error.stack || error)}))
</script>
"""


def seen(folder: Path, page: str, read: str) -> dict:
    """What `read`, the body of a JavaScript function that fills `seen`, saw of a page."""
    if BROWSER is None:
        pytest.skip("no browser: Debian's package chromium, which .ci/run installs")
    (folder / "page.html").write_text(page, encoding="utf-8")
    (folder / "reader.html").write_text(READER.replace("READ\n", f"{read}\n"), encoding="utf-8")
    told: list[dict] = []
    asked: list[str] = []
    arrived = threading.Event()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

        def do_GET(self):
            asked.append(self.path.partition("?")[0])
            super().do_GET()

        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            arrived.set()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = subprocess.Popen(
            [
                BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                f"--user-data-dir={folder / 'profile'}", "--window-size=1700,1000", "--remote-debugging-port=0",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                f"http://127.0.0.1:{server.server_port}/reader.html",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert arrived.wait(120), "the browser says nothing"
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
    (found,) = told
    assert "error" not in found, found["error"]
    return found | {"asked": set(asked) - {"/favicon.ico"}}
