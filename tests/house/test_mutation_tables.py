"""The tables of tests/mutation say what is there: files, tests, and the text that each named mutant changes."""

from pathlib import Path

import pytest

from tests.mutation.__main__ import known_to_live
from tests.mutation.groups import GROUPS
from tests.mutation.named import NAMED

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_names_files_and_tests_that_exist(name):
    group = GROUPS[name]
    assert all(any((ROOT / "pydotcompute").glob(pattern)) for pattern in group.files)
    assert [test for test in (*group.quick, *group.slow) if not (ROOT / "tests" / test).exists()] == []


@pytest.mark.parametrize("name", NAMED)
def test_a_named_mutant_changes_one_place(name):
    mutant = NAMED[name]
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
    assert [test for test in mutant.tests if not (ROOT / "tests" / test).exists()] == []


def test_what_is_known_to_live_is_in_files_that_exist():
    assert {file for file, *_ in known_to_live() if not (ROOT / file).is_file()} == set()
