"""Kernels with one mistake in the body each, made by rule of kernels of the repository and of some small ones: `check`
finds every one that is not equivalent to the kernel."""

import ast
import copy
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pydotcompute import declare
from pydotcompute.declare import document
from pydotcompute.check.run import check
from pydotcompute.check.verdict import grouped

ROOT = Path(__file__).parents[2]
TARGET = "cpu:x86-64-v2"
SMALL = """\
version: 1
targets: [cpu:x86-64-v2]
kernels:
  clamp:
    signature: "(low: T, high: T, x: T[n]) -> (out: T[n])"
    types: {T: [float32]}
    body: |
      for i in grid(n):
          out[i] = max(min(x[i], high), low)
    reference: np.maximum(np.minimum(x, high), low)
  quotients:
    signature: "(x: T[n], y: T[n]) -> (out: T[n], rest: T[n])"
    types: {T: [int32]}
    body: |
      for i in grid(n):
          out[i] = x[i] // y[i]
          rest[i] = x[i] % y[i]
    reference: [x // y, x % y]
    inputs: {y: {low: 1, high: 9}}
  count_between:
    signature: "(x: T[n], low: T, high: T) -> (count: int64)"
    types: {T: [float32]}
    body: |
      s = int64(0)
      for i in grid(n):
          if low <= x[i] and x[i] <= high:
              s += 1
      count[()] = s
    reference: np.sum((x >= low) & (x <= high))
  differences:
    signature: "(x: T[n]) -> (out: T[n - 1])"
    types: {T: [float64]}
    requires: [n > 0]
    body: |
      for i in grid(n - 1):
          out[i] = x[i + 1] - x[i]
    reference: np.diff(x)
  first_above:
    signature: "(x: T[m, n], level: T) -> (at: int64[m])"
    types: {T: [float32]}
    body: |
      for r in grid(m):
          k = n
          for c in range(n):
              if x[r, c] > level:
                  k = c
                  break
          at[r] = k
    reference: references.py:first_above
"""
REFERENCES = """\
import numpy as np


def first_above(x, level):
    above = np.concatenate([x > level, np.ones((x.shape[0], 1), bool)], axis=1)
    return above.argmax(axis=1)
"""
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
FUNCTIONS = {
    "min": "max", "max": "min", "sin": "cos", "cos": "sin", "exp": "expm1", "log": "log1p", "sqrt": "cbrt", "tanh": "sinh",
    "rsqrt": "sqrt", "erfc": "erf", "atan": "tanh", "sum": "max", "argmax": "argmin", "hypot": "max", "atan2": "hypot",
}  # fmt: skip


class Mutation(ast.NodeTransformer):
    """Makes the change with this number, of those that the rules allow; `told` says which."""

    def __init__(self, number, floats):
        """`floats`: the arrays and scalars that the kernel writes and that are floats."""
        self.left, self.told, self.floats = number, "", floats

    def here(self, what, node):
        """Whether it is this one."""
        self.left -= 1
        if self.left == -1:
            self.told = f"{what}: {ast.unparse(node).splitlines()[0]}"
        return self.left == -1

    def visit(self, node):
        for rule in (self.operator, self.function, self.order, self.count, self.constant, self.index, self.store, self.branch):
            for what, other in rule(node):
                if self.here(what, node):
                    return ast.copy_location(other, node)
        return self.generic_visit(node)

    def operator(self, node):
        if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in OPERATORS:
            yield "operator", changed(node, op=OPERATORS[type(node.op)]())
        if isinstance(node, ast.Compare):
            for k, op in enumerate(node.ops):
                yield f"comparison {k}", changed(node, ops=[*node.ops[:k], OPERATORS[type(op)](), *node.ops[k + 1 :]])
        if isinstance(node, ast.UnaryOp):
            yield "sign", node.operand

    def function(self, node):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in FUNCTIONS:
            yield "function", changed(node, func=ast.Name(FUNCTIONS[node.func.id]))

    def order(self, node):
        if isinstance(node, ast.BinOp) and type(node.op) in (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod):
            yield "order", changed(node, left=node.right, right=node.left)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("pow", "atan2"):
            yield "order", changed(node, args=node.args[::-1])

    def count(self, node):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("grid", "blocks", "threads", "range"):
            last = node.args[-1]
            yield "missed last", changed(node, args=[*node.args[:-1], ast.BinOp(last, ast.Sub(), ast.Constant(1))])

    def constant(self, node):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield "constant", ast.Constant(node.value + 1 if isinstance(node.value, int) else node.value * 1.01)

    def index(self, node):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Constant):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            beside = ast.BinOp(parts[-1], ast.Sub(), ast.Constant(1))
            yield "off by one", changed(node, slice=ast.Tuple([*parts[:-1], beside]) if parts[1:] else beside)

    def store(self, node):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            value = node.value
            yield "never set", ast.AugAssign(node.targets[0], ast.Add(), value)
            yield "dropped", ast.Pass()
            if node.targets[0].value.id in self.floats:
                yield "drops NaN", changed(node, value=call("where", call("isnan", value), ast.Constant(0), value))
                yield "type", changed(node, value=call("int32", value))
        if isinstance(node, ast.AugAssign):
            yield "dropped", ast.Pass()

    def branch(self, node):
        if isinstance(node, ast.If):
            yield "no condition", changed(node, test=ast.Compare(ast.Constant(0), [ast.Eq()], [ast.Constant(0)]))
        if isinstance(node, ast.IfExp):
            yield "condition", changed(node, body=node.orelse, orelse=node.body)


def changed(node, **fields):
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def call(name, *arguments):
    return ast.Call(ast.Name(name), list(arguments), [])


def mutants(text, floats):
    """(what was changed, the text with that change), for every change that the rules allow."""
    for number in range(1000):
        mutation = Mutation(number, floats)
        tree = mutation.visit(ast.parse(text))
        if not mutation.told:
            return
        yield mutation.told, ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def swapped(text, inputs):
    """The same of every two arguments of one type, each taken for the other."""
    for p, q in itertools.combinations(inputs, 2):
        if (p.dtype, p.dims and len(p.dims), p.ellipsis) == (q.dtype, q.dims and len(q.dims), q.ellipsis):
            tree = ast.parse(text)
            for node in ast.walk(tree):
                if isinstance(node, ast.Name):
                    node.id = {p.name: q.name, q.name: p.name}.get(node.id, node.id)
            yield f"arguments: {p.name}, {q.name}", ast.unparse(tree) + "\n"


# What is no mistake, by kernel: the change as it is told, and why nothing can tell it from the kernel.
EQUIVALENT = {"softmax": {"drops NaN: out[r, c] = e": "the sum is NaN then, by which every element is divided"}}


def project_of(name, folder):
    """A project whose kernels m0, m1, … are the mutants of one kernel. What was changed in each."""
    if name in SMALL_KERNELS:
        source = folder / "of"
        (source / "templates").mkdir(parents=True)
        (source / "kernels.yaml").write_text(SMALL)
        (source / "templates/references.py").write_text(REFERENCES)
    else:
        source = ROOT
    kernel = declare.load(source).kernels[name]
    entries = document.plain(document.parse(document.read(str(source / "kernels.yaml"))))["kernels"]
    entry = next(e for n, e in entries.items() if n == name or name in e.get("family", ()))
    rendered = declare.render(kernel, kernel.specialisations[0], "cpu", source)
    drop = ("family", "template", "body", "vendor", "doc", "launch")
    shared = {key: value for key, value in entry.items() if key not in drop}
    shared |= {"types": {t: list(d[:1]) for t, d in kernel.types.items()}, "params": {p: v[0] for p, v in kernel.params.items()}}
    shared |= {"reference": kernel.reference if isinstance(kernel.reference, str) else list(kernel.reference)}
    shutil.copytree(source / "templates", folder / "templates", dirs_exist_ok=True)
    floats = {p.name for p in kernel.signature.parameters if kernel.types.get(p.dtype, (p.dtype,))[0].startswith("float")}
    changes = [("none", rendered.text), *mutants(rendered.text, floats), *swapped(rendered.text, kernel.signature.inputs)]
    wholes = [(what, text, shared["signature"]) for what, text in changes]
    for fill in re.findall(r"\w+: [^:]*?( = [^,)]+)", shared["signature"]):
        wholes.append(("no fill", rendered.text, shared["signature"].replace(fill, "", 1)))
    told, kernels = {}, {}
    for number, (what, text, signature) in enumerate(wholes):
        told[f"m{number}"] = what
        (folder / f"templates/m{number}.py.j2").write_text(text.replace(f"def {name}(", f"def m{number}("))
        kernels[f"m{number}"] = {**shared, "signature": signature, "template": f"m{number}.py.j2"}
    declaration = {"version": 1, "targets": [TARGET], "kernels": kernels}
    (folder / "kernels.yaml").write_text(json.dumps(declaration))
    return told


SMALL_KERNELS = list(yaml.safe_load(SMALL)["kernels"])
KERNELS = [*SMALL_KERNELS, "axpy", "sub", "relu", "histogram", "gather", "argmax", "argmax_last", "softmax", "apply_rope"]


@pytest.mark.parametrize("name", KERNELS)
def test_every_mutant_of_a_kernel_is_found(tmp_path, name):
    told = project_of(name, tmp_path)
    build = [sys.executable, "-m", "pydotcompute", "build", "-k", "-j", "1", "-C", str(tmp_path)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert "internal error" not in done.stderr and "Traceback" not in done.stderr
    built = [kernel for kernel in told if f"] built {kernel} " in done.stderr]  # the compiler refuses the others
    assert built[0] == "m0"
    for quick in (True, False):  # the interpreter is slow, and most are found without it
        verdicts = list(check(str(tmp_path), built, [TARGET], quick=quick))
        wrong = {finding.kernel for finding in grouped(verdicts)}
        built = [kernel for kernel in built if kernel not in wrong]
        assert built[0] == "m0"
    assert {told[kernel] for kernel in built[1:]} == set(EQUIVALENT.get(name, ()))
