"""Lets the tests here import `elementwise`, `minimax`, `samples` and `references`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
