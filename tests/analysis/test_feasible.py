"""Systems of linear inequalities: whether they contradict each other."""

from pydotcompute.analysis.feasible import contradictory


def system(*rows):
    """Inequalities by their coefficients, the constant last."""
    return [{(k,) if k < len(row) - 1 else (): c for k, c in enumerate(row) if c} for row in rows]


def test_a_constant_below_0():
    assert contradictory(system((1, 0), (-1, -1)))
    assert not contradictory(system((1, 0), (-1, 0)))
    assert not contradictory([])


def test_the_search_comes_to_an_end():
    # Were the first of several rows that may leave the basis taken, it would come back to the same basis for ever.
    rows = [
        (-40, 36, 5, -21, -5, -7, 0), (49, 15, 5, 3, 25, -41, 0), (-2, 36, 57, 40, -12, -7, 0),
        (22, -11, 48, -4, -22, -6, 0), (-36, -15, -31, -21, 1, -34, 0), (55, -9, 53, -33, 44, -22, 0),
        (-46, -47, 17, 22, -14, -32, -1), (58, -7, -26, -36, -2, 22, 0),
    ]  # fmt: skip
    assert contradictory(system(*rows)) is False
