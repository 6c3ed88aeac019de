"""Dimensions of a call: what each symbol is, the one shape of all `...`, the shapes of outputs."""

from __future__ import annotations

from math import prod
from typing import Any, Mapping, Sequence

from ..artifact.abi import ELEMENTS
from ..artifact.dimensions import Tree, evaluate, shown, text
from ..artifact.signature import Parameter

Shape = tuple[int, ...]


def describe(p: Parameter, declared: str | None = None) -> str:
    """`T[..., n]`: a parameter as its signature writes it; `declared` is its dtype there."""
    sizes = [str(d) for d in p.dims or ()]
    if p.length:
        sizes[0] = f"<= {sizes[0]}: {p.length}"
    dims = ", ".join([*(["..."] if p.ellipsis else []), *sizes])
    return f"{declared or p.dtype}[{dims}]"


class Dimensions:
    """Collects what the arguments of one call say, in order; refuses the first contradiction with a ValueError."""

    def __init__(self, kernel: str, params: Mapping[str, Any]):
        self.kernel, self.params = kernel, params
        self.values: dict[str, Any] = {}
        self.leading: Shape | None = None  # the shape of all `...`
        self._origin: dict[str, str] = {}  # symbol → who said it first
        self._leading_origin = ""  # who said it; "" where none has it alone, and several are broadcast to it
        self._computed: list[tuple[Parameter, Tree, int, Shape]] = []  # dims of inputs, compared when all is bound

    def scalar(self, name: str, value: int) -> None:
        """An integer scalar that is a dimension of something."""
        if value < 0:
            raise ValueError(f"{self.kernel}: {name} = {value} is a dimension, and negative")
        self._bind(name, value, f"argument '{name}'", f"argument '{name}' is {value}")

    def array(self, p: Parameter, shape: Shape) -> None:
        """The rank of an input, and its trailing dims."""
        self.check_rank(p, shape)
        start = len(shape) - len(p.dims or ())
        for axis, dim in enumerate(p.dims or ()):
            size = shape[start + axis]
            if isinstance(dim, int):
                if size != dim:
                    raise ValueError(
                        f"{self.kernel}: '{p.name}' must have {dim} element{'s' * (dim != 1)} in dimension "
                        f"{start + axis} ({describe(p)}), got {size} (shape {shape})"
                    )
            elif not isinstance(dim, str) or dim in self.params:
                self._computed.append((p, dim, start + axis, shape))
            else:
                told = f"'{p.name}' has {dim} = {size} (shape {shape})"
                self._bind(dim, size, f"'{p.name}' (shape {shape})", told)

    def check_rank(self, p: Parameter, shape: Shape) -> None:
        """Refuse an array with too few or too many dimensions, or elements."""
        wanted, found = len(p.dims or ()), len(shape)
        if found < wanted or found > wanted and not p.ellipsis:
            least = "at least " if p.ellipsis else ""
            raise ValueError(
                f"{self.kernel}: '{p.name}' must have {least}{wanted} dimension{'s' * (wanted != 1)} "
                f"({describe(p)}), got {found} (shape {shape})"
            )
        self._check_size(p, shape)

    def join(self, arrays: Sequence[tuple[Parameter, Shape]]) -> None:
        """Find the shape of all `...` of the inputs: equal, or broadcast by NumPy's rule."""
        ellipses = [(p, shape[: len(shape) - len(p.dims or ())]) for p, shape in arrays if p.ellipsis]
        broadcast = any(p.layout == "broadcast" for p, _ in ellipses)
        for p, shape in ellipses:
            if self.leading is None:
                self.leading, self._leading_origin = shape, p.name
            elif broadcast:
                known, self.leading = self.leading, self._broadcast(self.leading, p, shape)
                if self.leading != known:
                    self._leading_origin = p.name if shape == self.leading else ""
            elif shape != self.leading:
                self._refuse_leading(p, shape)
        for p, shape in ellipses:
            if p.layout != "broadcast" and shape != self.leading:
                raise ValueError(
                    f"{self.kernel}: '{p.name}' has shape {shape} for '...', and cannot be broadcast to {self.leading}"
                )

    def agree(self, p: Parameter, shape: Shape) -> None:
        """A given output has the shape of all `...`, or decides it where no input does."""
        if not p.ellipsis:
            return
        leading = shape[: len(shape) - len(p.dims or ())]
        if self.leading is None:
            self.leading, self._leading_origin = leading, p.name
        elif leading != self.leading:
            self._refuse_leading(p, leading)

    def output(self, p: Parameter) -> Shape:
        """The shape of an output or scratch. Raises ValueError for a negative dimension, or an unknown one."""
        shape = [dim if isinstance(dim, int) else self._value(p, dim) for dim in p.dims or ()]
        if p.ellipsis and self.leading is None:
            raise ValueError(
                f"{self.kernel}: nothing says which shape output '{p.name}' ({describe(p)}) has; pass an array for it"
            )
        whole = (*(self.leading or ()), *shape) if p.ellipsis else tuple(shape)
        self._check_size(p, whole)
        return whole

    def require(self, symbols: Sequence[str], requires: Sequence[Tree], scalars: Mapping[str, Any]) -> None:
        """Every input and given output is there: give `size` and `rows` their value, compare the dimensions of inputs
        that are computed, and check the conditions. scalars: the value of each scalar argument, as Python's."""
        if self.leading is not None:
            product = 1
            for size in self.leading:
                product *= size
            for name in ("size", "rows"):
                if name in symbols:
                    self.values.setdefault(name, product)
        names = {**self.values, **self.params}
        for p, dim, axis, shape in self._computed:
            if (wanted := self._value(p, dim)) != shape[axis]:
                raise ValueError(
                    f"{self.kernel}: '{p.name}' must have {dim} = {wanted} element{'s' * (wanted != 1)} in dimension "
                    f"{axis} ({describe(p)}, {shown(dim, names)}), got {shape[axis]} (shape {shape})"
                )
        names |= scalars
        for condition in requires:
            if not self._evaluated(condition, names):
                raise ValueError(f"{self.kernel}: requires {text(condition)}, got {shown(condition, names)}")

    def _evaluated(self, tree: Tree, names: Mapping[str, Any]) -> Any:
        try:
            return evaluate(tree, names)
        except ValueError as error:
            raise ValueError(f"{self.kernel}: {error}") from None

    def _value(self, p: Parameter, dim: Tree) -> int:
        """A dimension that is computed."""
        names = {**self.values, **self.params}
        size = self._evaluated(dim, names)
        if not isinstance(size, int) or size < 0:
            said = f"{dim} = {size}" + ("" if isinstance(dim, str) else f" for {shown(dim, names)}")
            problem = "is negative" if isinstance(size, int) else "is not a whole number"
            what = "argument" if p.is_input else "output" if p.role == "out" else "scratch"
            raise ValueError(f"{self.kernel}: a dimension of {what} '{p.name}' {problem}: {said}")
        return int(size)  # a condition is a bool

    def _check_size(self, p: Parameter, shape: Shape) -> None:
        if prod(size or 1 for size in shape) >= ELEMENTS:
            most = f"fewer than 2**{ELEMENTS.bit_length() - 1} elements (sizes of 0 left out)"
            raise ValueError(f"{self.kernel}: '{p.name}' has shape {shape}; kernels take arrays of {most}")

    def _bind(self, symbol: str, value: int, origin: str, told: str) -> None:
        known = self.values.setdefault(symbol, value)
        if known != value:
            raise ValueError(f"{self.kernel}: {told}, but {self._origin[symbol]} has {symbol} = {known}")
        self._origin.setdefault(symbol, origin)

    def _broadcast(self, common: Shape, p: Parameter, shape: Shape) -> Shape:
        rank = max(len(common), len(shape))
        left, right = (1,) * (rank - len(common)) + common, (1,) * (rank - len(shape)) + shape
        if any(a != b and a != 1 and b != 1 for a, b in zip(left, right)):
            raise ValueError(
                f"{self.kernel}: '{p.name}' with shape {shape} cannot be broadcast together with {common}"
            )
        return tuple(b if a == 1 else a for a, b in zip(left, right))

    def _refuse_leading(self, p: Parameter, shape: Shape) -> None:
        has = f"'{self._leading_origin}' has" if self._leading_origin else "the arguments broadcast to"
        raise ValueError(f"{self.kernel}: '{p.name}' has shape {shape} for '...', but {has} {self.leading}")
