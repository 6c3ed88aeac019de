"""Print the JSON Schema of kernels.yaml, for an editor's completion and checks.

  pydotcompute schema > kernels.schema.json
"""

from __future__ import annotations

import argparse
import json

from .arguments import add_common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    from ..declare import schema
    from ..targets.registry import pattern

    print(json.dumps(schema(pattern()), indent=2, ensure_ascii=False))
    return 0
