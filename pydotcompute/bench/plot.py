"""The figures of `bench --subject declared` as a picture: the roofline, and how long each case takes by peer."""

from __future__ import annotations

import os
from io import BytesIO
from typing import TYPE_CHECKING, Any, Sequence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg")
OURS, PEER = "µs", " µs"  # the column of ours, and how those of peers end
Rows = Sequence[dict[str, Any]]


def draw(rows: Rows, path: str) -> None:
    """Write the picture, whole or not at all, in the format that `path` ends with. Raises ModuleNotFoundError where
    matplotlib is not installed, OSError, ValueError where something else than a file is in the place."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ..cache.writer import replace_regular

    data = BytesIO()
    with rc_context({"svg.hashsalt": "pydotcompute", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9, 6 + 0.3 * len(rows)), layout="constrained")
        above, below = figure.subplots(2, 1, height_ratios=(5, 1 + 0.3 * len(rows)))
        roofline(above, rows)
        peers(below, rows)
        form = os.path.splitext(path)[1][1:]
        figure.savefig(data, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    replace_regular(path, data.getvalue())


def roofline(axes: Axes, rows: Rows) -> None:
    """Operations a second over operations a byte, a point a row that has both, with its share of the lower roof. The
    sloping roof is what a copy moves, at the size where it moves most; the level one what NumPy's matmul computes: both
    of the same run."""
    axes.set(title="roofline", xlabel="operations a byte", ylabel="Gop/s", xscale="log", yscale="log")
    points = [row for row in rows if row.get("Gop/s") and row.get("GB/s")]
    if not points:
        axes.text(0.5, 0.5, "no kernel declares its operations", ha="center", transform=axes.transAxes)
        return
    copy = max(row["GB/s"] / row["of a copy"] for row in points)
    matmul = max(row["Gop/s"] / row["of matmul"] for row in points)
    across = [row["Gop/s"] / row["GB/s"] for row in points]
    low, ridge, high = min(*across, matmul / copy) / 2, matmul / copy, max(*across, matmul / copy) * 4
    axes.plot([low, ridge, high], [copy * low, matmul, matmul], color="0.4")
    middle = (low * ridge) ** 0.5
    axes.annotate(f"a copy: {copy:.3g} GB/s", (middle, copy * middle), textcoords="offset points", xytext=(8, -8))
    axes.annotate(f"matmul: {matmul:.3g} Gop/s", (high, matmul), ha="right", textcoords="offset points", xytext=(0, 4))
    for x, row in zip(across, points):
        axes.plot([x], [row["Gop/s"]], "o", color="C0")
        said = f"{row['kernel']} {share(row):.0%}"
        axes.annotate(said, (x, row["Gop/s"]), textcoords="offset points", xytext=(6, -3))


def share(row: dict[str, Any]) -> float:
    """Of the roof that is lower for this row: of what a copy of as many bytes takes, or of what matmul computes."""
    return max(row.get("of a copy") or 0.0, row.get("of matmul") or 0.0)


def peers(axes: Axes, rows: Rows) -> None:
    """A group of bars for each row: how long ours takes, and every peer that there is a figure of."""
    names = dict.fromkeys(name for row in rows for name in row if name == OURS or name.endswith(PEER))
    high = 0.8 / max(len(names), 1)
    for k, name in enumerate(names):
        drawn = [(place + k * high, row[name]) for place, row in enumerate(rows) if row.get(name)]
        label = "ours" if name == OURS else name.removesuffix(PEER)
        axes.barh([at for at, _ in drawn], [value for _, value in drawn], high, color=f"C{k}", label=label)
    words = ("kernel", "specialization", "sizes", "target")
    told = [" ".join(str(row[word]) for word in words if row.get(word, "-") != "-") for row in rows]
    axes.set_yticks([place + high * (len(names) - 1) / 2 for place in range(len(rows))], told)
    axes.invert_yaxis()
    axes.set(title="how long a call takes", xlabel="µs", xscale="log")
    axes.legend()
