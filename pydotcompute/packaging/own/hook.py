"""The build hook of this repository's own wheel, which hatchling loads by its path: nothing of ours is installed then.

The bundle is written under build/, not into the package: a checkout goes on reading what `pydotcompute build` makes.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLE = "build/wheel/_bundle"


class OwnKernelsHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from pydotcompute.docs.pages import OUTSIDE
        from pydotcompute.packaging import wheel

        try:
            made = wheel.make_bundle(
                self.root, self.app.display_info, {"bundle": BUNDLE, "targets": self.config["targets"]}
            )
        except wheel.MISTAKES as error:
            self.app.abort(str(error))
            raise
        folder = os.path.join(self.root, made.bundle)
        build_data["force_include"] |= {
            folder: "pydotcompute/_bundle",
            os.path.join(folder, "__init__.pyi"): "pydotcompute/kernels.pyi",
            **{os.path.join(self.root, name): f"pydotcompute/docs/pages/{topic}.md" for topic, name in OUTSIDE.items()},
        }
        build_data["pure_python"] = made.platform == "any"
        build_data["tag"] = made.tag
