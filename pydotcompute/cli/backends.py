"""Show every backend: what it runs on and how much memory is free there, or why it is not available.

The last line names the backend that "auto" means on this machine."""

from __future__ import annotations

import argparse

from .arguments import add_common, print_json, project_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    from ..backends import best_available_backend, discover_backends, print_backend_summary

    project_root(options)
    if not options.json:
        print_backend_summary()
        return 0
    print_json({
        "version": 1,
        "backends": [
            {
                "name": info.name or None, "title": info.title, "kind": info.kind, "available": info.available,
                "error": info.error or None, "devices": [device._asdict() for device in info.devices],
            }
            for info in discover_backends()
        ],
        "recommended": best_available_backend(),
    })  # fmt: skip
    return 0
