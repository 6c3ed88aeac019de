"""Lets the tests here import `compiled` and `cuda_support`."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "compile"), str(TESTS / "cuda"), str(TESTS.parent)]
