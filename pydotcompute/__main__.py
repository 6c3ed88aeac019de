"""`python -m pydotcompute` is the program `pydotcompute`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
