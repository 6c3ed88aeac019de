"""References beside the templates."""


def scaled(x, k):
    return x


def draw(rng, names):
    return {"index": rng.integers(0, 9, names["n"])}
