"""What the pages show works, word for word: each page's examples are done, in order, as a reader would."""

import pytest

from pydotcompute.docs.pages import TOPICS, source

from .examples import Reader, blocks

SHOWN = [topic for topic in TOPICS if any(block.language != "text" for block in blocks(source(topic)))]


@pytest.mark.slow
@pytest.mark.parametrize("topic", SHOWN)
def test_what_a_page_shows(topic, tmp_path):
    Reader(tmp_path).read(source(topic))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ false\n```",
        "```console\n$ echo one two\none …three\n```",
        "```pycon\n>>> 1 + 1\n3\n```",
        "```python\nassert 1 > 2\n```",
        "```rust\nfn main() {}\n```",
        "```yaml\nk:\n  signature: \"(x: float32[n]) -> (out: float32[n])\"\n  body: |\n    for i in grid(n):\n"
        "        out[i] = x[i] + 1\n  reference: x\n```",
    ],
)
def test_a_reader_notices(text, tmp_path):
    with pytest.raises(AssertionError):
        Reader(tmp_path).read(text + "\n")
