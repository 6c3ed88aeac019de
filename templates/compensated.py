def add(total, rest, term):
    """What rounding takes from total + term is added to rest (Kahan, 1965): of a term that is the larger of the two,
    at most one rounding of it is lost."""
    s = total + term
    return s, rest + ((total - s) + term)


def whole(total, rest):
    """An infinite total leaves a NaN behind in its rest."""
    return total + rest if rest - rest == 0 else total
