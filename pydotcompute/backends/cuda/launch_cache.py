"""Calls on CUDA like an earlier one: what was checked and worked out then is not done again.

Most calls of a program differ from an earlier one in nothing but addresses and the values of scalars. For those the
rules of a call (calls/arguments.py) come down to what depends on addresses: alignment and overlap. A form of call
that came twice gets a function of its own (launch_code.py). Whatever that does not serve goes back to the rules, which
have the texts and the last word.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ...artifact.dimensions import names as names_of
from ...cache.manifest import KernelRecord
from ...calls.arguments import Call
from .context import here
from .launch_code import NOTHING, CachedLaunch, Launched, launch_code
from .streams import is_tensor

MOST = 256  # forms of one kernel; a program whose calls differ more gains nothing from them
MOST_LAUNCHES = 16  # of a call that is remembered: one of more waits for them, and its code would be long
ARRAY = "type({0}), {0}.dtype, {0}.shape, {0}.strides"
# Of a tensor also what the rules ask it for.
TENSOR = "type({0}), {0}.dtype, {0}.shape, {0}.stride(), {0}.get_device(), {0}.requires_grad, {0}.is_neg()"


class Form(NamedTuple):
    """Calls in one device's primary context whose values are assigned in one way: so many by position, these by name.
    """

    read: Callable[..., tuple]  # the values → what a launch is found by
    launches: dict[tuple, CachedLaunch | None | bool]  # None after the first call; False: only the rules serve these


class LaunchCache:
    """Serves the calls of one kernel that are like earlier ones; gives NotImplemented for every other.

    of_tensors: whose arrays are torch's; else CuPy's, and those calls have a cache inside this one, once there are any.
    """

    def __init__(self, record: KernelRecord, of_tensors: bool = False):
        self.record, self.of_tensors = record, of_tensors
        self.tensors: LaunchCache | None = None
        self.parameters = {p.name: p for p in record.signature.parameters}
        self.names = list(self.parameters)
        required = (name for condition in record.requires for name in names_of(condition))
        # numbers that decide more than their own word
        self.known = {*record.signature.symbols, *record.params, *required}
        self.forms: dict[Any, Form] = {}

    def __call__(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        values = (*args, *kwargs.values()) if kwargs else args
        run = self._known(values, len(args), kwargs)
        if run:
            return run(*values)
        return NotImplemented if self.tensors is None else self.tensors(args, kwargs)

    def _known(self, values: tuple, positional: int, kwargs: Mapping[str, Any]) -> Any:
        """What is kept for calls like one; None where nothing is."""
        form = self.forms.get((here(), positional, *kwargs))
        try:
            return form and form.launches.get(form.read(*values))
        except (TypeError, AttributeError):  # a value that has no hash, or is no such array
            return None

    def wants(self, args: tuple, kwargs: Mapping[str, Any]) -> bool:
        """Whether the arrays of a call are all tensors, and it is to be remembered as such a one."""
        values = (*args, *kwargs.values())
        named = zip((*self.names[: len(args)], *kwargs), values)
        arrays = [v for name, v in named if (p := self.parameters.get(name)) and p.in_memory and v is not None]
        if not all(map(is_tensor, arrays)):
            return False
        return self.tensors is None or self.tensors._known(values, len(args), kwargs) is None

    def remember(
        self, args: tuple, kwargs: Mapping[str, Any], call: Call, backend: Any, launched: Launched = NOTHING,
        vendor: Callable | None = None, given: tuple[tuple, Mapping[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        """Keep what a call that the rules have passed worked out, if it came before and is plain.

        vendor: what serves the call in place of launches; given: the call's values as tensors, if its arrays are those
        of tensors. The context of the call is current.
        """
        if given is not None and not self.of_tensors:
            self.tensors = self.tensors or LaunchCache(self.record, of_tensors=True)
            self.tensors.remember(args, kwargs, call, backend, launched, vendor, given)
            return
        if not self.known.issuperset(launched.decided_by):
            self.known.update(launched.decided_by)
            self.forms.clear()
        names = [*self.names[: len(args)], *kwargs]
        if any(p.may_be_left_out and p.name not in names for p in self.parameters.values()):
            return  # the rules give it its default
        values = (*args, *kwargs.values())
        assigned = (here(), len(args), *kwargs)
        form = self.forms.get(assigned) or self.forms.setdefault(assigned, Form(self.reader(names), {}))
        try:
            key = form.read(*values if given is None else (*given[0], *given[1].values()))
            if form.launches.get(key) is not None:
                return  # it served others like this one, and will again
        except (TypeError, AttributeError):
            return
        if len(form.launches) >= MOST:
            form.launches.clear()
        seen = key in form.launches
        form.launches[key] = None
        if seen:
            made = launch_code(call, names, values, backend, launched, vendor, self.of_tensors)
            form.launches[key] = made or False

    def reader(self, names: Sequence[str]) -> Callable[..., tuple]:
        """A function of the values of these arguments: the layout of arrays, the types of numbers, all else whole."""
        parts, looked = [], TENSOR if self.of_tensors else ARRAY
        for k, name in enumerate(names):
            p = self.parameters.get(name)
            layout = looked.format(f"v{k}")
            if p is not None and p.role == "out":
                parts.append(f"v{k} is None or ({layout})")
            elif p is not None and p.is_array:
                parts.append(layout)
            else:
                parts.append(f"type(v{k}), v{k}" if name in self.known else f"type(v{k})")
        return eval(f"lambda {', '.join(f'v{k}' for k in range(len(names)))}: ({''.join(f'{p}, ' for p in parts)})")
