"""Show every setting, its value and where that comes from.

A flag wins over an environment variable, that over [tool.pydotcompute] in pyproject.toml, that over kernels.yaml,
that over the default. 'target', 'threads' and 'nvtx' are read by programs that load kernels, from the environment
alone.
"""

from __future__ import annotations

import argparse
import os

from .arguments import add_common, add_jobs, add_targets, of_loading, print_json, project_root
from .terminal import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common(parser)
    add_targets(parser, "as 'build' takes it")
    add_jobs(parser, "as 'build' takes it")


def run(options: argparse.Namespace) -> int:
    from ..builder.settings import SETTINGS, resolve

    root = project_root(options)
    values = resolve(root, {"targets": options.targets, "jobs": options.jobs}, _declared(root))
    values |= {name: values[name]._replace(value=value) for name, value in of_loading().items()}
    if options.json:
        told = {name: {"value": value.value, "origin": value.origin} for name, value in values.items()}
        print_json({"version": 1, "settings": told})
        return 0
    rows = []
    for setting in SETTINGS:
        value, origin = values[setting.name]
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        rows.append((setting.name, shown or "-", origin, setting.doc))
    print(table(rows))
    return 0


def _declared(root: str):
    """`targets:` of kernels.yaml, where there is such a file and it is written there."""

    def declared() -> list[str] | None:
        if not os.path.exists(os.path.join(root, "kernels.yaml")):
            return None
        from ..declare import load
        from ..targets.registry import checked

        declaration = load(root)
        return list(checked(declaration).targets) if declaration.targets else None

    return declared
