"""Lets the tests here import `compiled`, `cuda_support`, `entries` and `support`."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "runtime"), str(TESTS / "cuda"), str(TESTS / "compile"), str(TESTS.parent)]
