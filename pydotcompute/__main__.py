"""The program `pydotcompute`, also as `python -m pydotcompute`: Ctrl-C while it starts is as quiet as afterwards."""

import sys


def main() -> int:
    """Run the program; returns the exit code."""
    try:
        from .cli import main as run

        return run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        return 130


if __name__ == "__main__":
    sys.exit(main())
