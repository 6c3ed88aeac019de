"""The build hook for hatchling: `[tool.hatch.build.hooks.pydotcompute]`; settings in `[tool.pydotcompute]`.

A wheel gets the bundle, an sdist the declarations; an editable install builds nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from ..errors import CompilerNotInstalledError

if TYPE_CHECKING:
    from .wheel import Made


class KernelsHook(BuildHookInterface):
    PLUGIN_NAME = "pydotcompute"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            from . import wheel
        except CompilerNotInstalledError as error:  # nothing is built on this system
            self.app.abort(str(error))
        try:
            if self.target_name == "sdist":
                for path in wheel.sources(self.root):
                    build_data["artifacts"] += [f"/{path}", f"/{path}/**"]
            elif self.target_name == "wheel":
                editable = version == "editable"
                self._add(wheel.make_checkout(self.root) if editable else self.make(), build_data)
        except wheel.MISTAKES as error:
            self.app.abort(str(error))

    def make(self) -> Made:
        from . import wheel

        return wheel.make_bundle(self.root, self.app.display_info)

    def _add(self, made: Made, build_data: dict[str, Any]) -> None:
        build_data["artifacts"].append(f"/{made.bundle}/**")
        build_data["pure_python"] = made.platform == "any"
        build_data["tag"] = made.tag
        if made.requirement:
            build_data["dependencies"].append(made.requirement)


@hookimpl
def hatch_register_build_hook() -> type[BuildHookInterface]:
    return KernelsHook
