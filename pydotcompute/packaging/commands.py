"""What is put in front of setuptools' commands where a package is to hold kernels: the bundle into the wheel, the
declarations into the sdist, what is required into the metadata. An editable install builds nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import Any, Iterator

from . import wheel


def extend(distribution: Any) -> None:
    """Put each of these in front of a command's class, whatever that is."""
    from setuptools.errors import ModuleError

    for name, extension in {
        "build_py": BuildPackage, "egg_info": Metadata, "install": Install, "bdist_wheel": Wheel,
    }.items():  # fmt: skip
        try:
            base = distribution.get_command_class(name)
        except ModuleError:  # bdist_wheel, where no package has brought it yet: then no wheel is made in this process
            continue
        distribution.cmdclass[name] = type(base.__name__, (extension, base), {})


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """A mistake of the author's as an error of setuptools', which it prints without a traceback."""
    from setuptools.errors import ExecError

    try:
        yield
    except wheel.MISTAKES as error:
        raise ExecError(str(error)) from error


class BuildPackage:
    def finalize_options(self: Any) -> None:
        super().finalize_options()  # type: ignore[misc]
        # setuptools finds the folders of an earlier bundle; what is in the next one is not known yet
        with _explained():
            made = self._inside(wheel.bundle(os.getcwd())).replace(os.sep, ".")
        self.packages = self.distribution.packages = [
            name for name in self.packages or () if not f"{name}.".startswith(f"{made}.")
        ]

    def _inside(self: Any, folder: str) -> str:
        """The path of a folder of packages in the wheel."""
        return os.path.relpath(folder, (self.distribution.package_dir or {}).get("") or ".")

    def run(self: Any) -> None:
        super().run()  # type: ignore[misc]
        root = os.getcwd()
        with _explained():
            if self.editable_mode:
                wheel.make_checkout(root)
                return
            made = wheel.make_bundle(root, self.announce)
        place = os.path.join(self.build_lib, self._inside(made.bundle))
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(os.path.join(root, made.bundle), place)

    def get_source_files(self: Any) -> list[str]:
        """What an sdist holds: the declarations too."""
        found: list[str] = super().get_source_files()  # type: ignore[misc]
        with _explained():
            paths = wheel.sources(os.getcwd())
        for path in paths:
            found += [path] if os.path.isfile(path) else []
            for folder, folders, names in os.walk(path):
                folders[:] = sorted(name for name in folders if name != "__pycache__")
                found += [os.path.join(folder, name) for name in sorted(names)]
        return found


class Metadata:
    def finalize_options(self: Any) -> None:
        super().finalize_options()  # type: ignore[misc]
        for holder in (self.distribution, self.distribution.metadata):
            required = list(getattr(holder, "install_requires", None) or [])
            if (needed := wheel.requirement()) and needed not in required:
                holder.install_requires = [*required, needed]


class Install:
    def finalize_options(self: Any) -> None:
        super().finalize_options()  # type: ignore[misc]
        if getattr(self.distribution, "platform_of_kernels", "any") != "any":
            self.install_lib = self.install_platlib


class Wheel:
    def run(self: Any) -> None:
        with _explained():
            platform = self.distribution.platform_of_kernels = wheel.platform(os.getcwd())
        self.root_is_pure = self.root_is_pure and platform == "any"
        super().run()  # type: ignore[misc]

    def get_tag(self: Any) -> tuple[str, str, str]:
        platform = getattr(self.distribution, "platform_of_kernels", "")
        if self.distribution.has_ext_modules() or not platform:
            found: tuple[str, str, str] = super().get_tag()  # type: ignore[misc]
            return found
        return "py3", "none", platform
