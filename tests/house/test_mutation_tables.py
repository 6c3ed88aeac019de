"""The tables of tests/mutation say what is there: files, tests, and the text that each named mutant changes."""

from pathlib import Path

import pytest

from tests.mutation.__main__ import known_to_live
from tests.mutation.groups import GROUPS
from tests.mutation.named import NAMED

ROOT = Path(__file__).resolve().parents[2]


def missing(tests):
    """Those that are not there; what begins with `-` is an option of pytest's."""
    return [t for t in tests if not t.startswith("-") and not (ROOT / "tests" / t.partition("::")[0]).exists()]


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_names_files_and_tests_that_exist(name):
    group = GROUPS[name]
    patterns = (*group.files, *group.without)
    assert [pattern for pattern in patterns if not any((ROOT / "pydotcompute").glob(pattern))] == []
    assert missing([*group.quick, *group.slow]) == []


@pytest.mark.parametrize("name", NAMED)
def test_a_named_mutant_changes_one_place(name):
    mutant = NAMED[name]
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
    assert missing(mutant.tests) == []


def test_what_is_known_to_live_is_in_files_that_exist():
    assert {file for file, *_ in known_to_live() if not (ROOT / file).is_file()} == set()
