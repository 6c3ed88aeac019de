"""Lets the tests here import `bert`. And a checkout in which nothing is built."""

import os
import sys

import pytest

import pydotcompute

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture
def unbuilt(tmp_path):
    os.symlink(os.path.dirname(pydotcompute.__file__), tmp_path / "pydotcompute")
    return tmp_path
