"""The target `abacus:beads`: the typed tree, or a raw body that uses `abacus.`, as the text of a Python module."""

from time import perf_counter

from pydotcompute.analysis.races import check
from pydotcompute.errors import CompilationError
from pydotcompute.frontend.build import build_tree
from pydotcompute.ir import tree as t
from pydotcompute.targets.base import Answer, Artifact, Target


class AbacusTarget(Target):
    name = "abacus"
    default = "abacus:beads"
    pattern = "abacus:beads"
    examples = ("abacus:beads",)
    dtypes = frozenset(("float32", "float64", "int64"))
    raw = "abacus"
    comments = {".py": "#"}
    distributions = {"abacus": ("abacus",)}

    def missing(self):
        return ""

    def compile(self, job, clock):
        started = perf_counter()
        if job.rendered.raw:
            text, aliases = job.rendered.text, ()
        else:
            tree = check(build_tree(job.kernel, job.specialisation, job.rendered))
            text, aliases = printed(tree), tuple(sorted(tree.aliases))
        job.write(".abacus.py", text)
        parameters = [p.name for p in job.kernel.signature.parameters]
        symbols = [] if job.rendered.raw else list(job.kernel.signature.symbols)
        meta = {"arguments": parameters + symbols, "raw": bool(job.rendered.raw)}
        made = Artifact(text.encode(), ".py", meta, perf_counter() - started)
        return Answer(dict.fromkeys(job.targets, made), {}, aliases, clock.phases)


TARGET = AbacusTarget()


def printed(tree):
    """Loops over `grid`, stores and arithmetic: what this little device can do."""
    names = [p.name for p in tree.parameters] + [s for s in tree.symbols]
    lines = [f"def {tree.name}({', '.join(names)}):"]

    def expression(e):
        match e:
            case t.Const():
                return repr(e.value)
            case t.Var():
                return e.name
            case t.Load():
                return f"{e.array}[{', '.join(map(expression, e.indices)) or '()'}]"
            case t.Binary(op="+" | "-" | "*" | "/"):
                return f"np.{e.type}({expression(e.left)} {e.op} {expression(e.right)})"
            case t.Convert():
                return f"np.{e.type}({expression(e.operand)})"
        raise CompilationError(f"abacus has no beads for {type(e).__name__}")

    def statements(body, depth):
        for s in body:
            match s:
                case t.Assign():
                    lines.append(f"{'    ' * depth}{s.name} = {expression(s.value)}")
                case t.Store():
                    place = ", ".join(map(expression, s.indices)) or "()"
                    lines.append(f"{'    ' * depth}{s.array}[{place}] = {expression(s.value)}")
                case t.Parallel(kind="grid", reductions=()):
                    for k, (name, count) in enumerate(zip(s.names, s.counts)):
                        lines.append(f"{'    ' * (depth + k)}for {name} in range({expression(count)}):")
                    statements(s.body, depth + len(s.names))
                case _:
                    raise CompilationError(f"abacus has no beads for {type(s).__name__}")

    statements(tree.body, 1)
    return "\n".join(lines) + "\n"
