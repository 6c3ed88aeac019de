"""A built kernel as a program sees it: something to call, that knows its signature."""

from __future__ import annotations

from _weakref import ref
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ..artifact.signature import Parameter, default_value
from ..cache.manifest import KernelRecord
from ..errors import KernelNotBuiltError
from .dispatch import Dispatcher
from .origin import Origin

if TYPE_CHECKING:
    import inspect
    from typing import Self

    from .choice import Which

class Specialization(NamedTuple):
    """One choice of a kernel's types and params, and the targets that it is built for."""

    name: str
    types: dict[str, str]
    params: dict[str, Any]
    targets: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


# A subclass of partial because calling one costs 10 ns more than what it wraps; a __call__ in Python costs 60.
class Kernel(partial[Any]):
    """A kernel. Call it with its inputs, then, if you like, its outputs; it returns the outputs.

    Raises TypeError, ValueError, OverflowError for arguments that do not fit, KernelNotBuiltError where no artifact
    serves the call.
    """

    __name__: str
    __qualname__: str
    _record: KernelRecord
    _origin: Origin
    _digest: str
    _dispatcher: Dispatcher

    def __new__(cls, record: KernelRecord, origin: Origin, digest: str) -> Kernel:
        """digest: of what the manifest says about it."""
        dispatcher = Dispatcher(record, (origin.folder, origin.root), origin.pinned)
        self = super().__new__(cls, dispatcher.call)
        self._record, self._origin, self._digest, self._dispatcher = record, origin, digest, dispatcher
        self.__name__ = self.__qualname__ = record.name
        self.__doc__ = record.description
        this = ref(self)  # the dispatcher is held by the function that is put in front

        def prepend(function: Callable[..., Any]) -> None:
            if (kernel := this()) is not None:
                kernel._put_first(function)

        dispatcher.prepend = prepend
        return self

    def _put_first(self, function: Callable[..., Any]) -> None:
        from ..backends.cpu.native import take_vectors

        take_vectors(Kernel)
        self.__setstate__((function, (), {}, self.__dict__))  # type: ignore[attr-defined]  # the stubs lack it

    @property
    def signature(self) -> str:
        """The signature as it is declared."""
        return self._record.signature.text

    @property
    def doc(self) -> str:
        """What the kernel computes, in one line."""
        return self._record.doc

    @property
    def specializations(self) -> tuple[Specialization, ...]:
        """Every choice of types and params, in the order of the declaration."""
        return tuple(
            Specialization(s.name, dict(s.types), dict(s.params), tuple(a.target for a in s.artifacts))
            for s in self._record.specialisations.values()
        )

    def which(self, /, *args: Any, **kwargs: Any) -> Which:
        """The artifact that a call with these arguments would run, and why every other one would not."""
        return self._dispatcher.which(*args, **kwargs)

    def python(self, /, *args: Any, **kwargs: Any) -> Any:
        """Execute the kernel's own Python instead of machine code. Needs the build half and the project's sources.

        order: "forward", "reverse" or "random" (with `seed`, an int), the order of parallel iterations; not for a
        kernel that has an argument or param of that name, which gets the value then. Arguments and results as for a
        call. Raises IndexError, with the line, for an index out of bounds; CompilerNotInstalledError.
        """
        from .interpreted import execute

        record = self._record
        own = {*record.params, *(p.name for p in record.signature.parameters)}
        options = {name: kwargs.pop(name) for name in ("order", "seed") if name in kwargs and name not in own}
        return execute(record, self._origin.root, args, kwargs, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        import inspect

        kind, absent = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        signature, own = self._record.signature, self._record.by_size
        params = {name: ... if name in own else choices[0] for name, choices in self._record.params.items()}
        given = (*signature.inputs, *signature.outputs)
        listed = [inspect.Parameter(p.name, kind, default=_default(p, absent)) for p in given]
        listed += [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in params.items()]
        return inspect.Signature(listed)

    def __repr__(self) -> str:
        return f"<kernel {self._record.name}{self._record.signature.text}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._origin.reopen, self._origin.sent, self.__name__, self._digest)

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self

    def __get__(self, instance: Any, owner: Any = None) -> Self:
        return self  # as an attribute of a class it stays what it is, like any builtin function


def _default(p: Parameter, absent: Any) -> Any:
    if p.fill is not None and p.is_input:
        return default_value(p.fill, p.dtype)
    return absent if p.is_input else None


def _reopened(reopen: Callable[..., Any], sent: tuple[Any, ...], name: str, digest: str) -> Kernel:
    """The kernel of which another process tells. Raises KernelNotBuiltError where it is another one here."""
    kernel: Kernel = reopen(*sent)[name]
    if kernel._digest != digest:
        module, path, *_ = sent
        raise KernelNotBuiltError(
            f"the kernel '{name}' of {module or path} is not the one that was sent here: it was built again in the "
            "meantime, or another version of its package is installed; let all processes have the same"
        )
    return kernel
