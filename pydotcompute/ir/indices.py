"""What an index of an access was before it became an int64."""

from .tree import Convert, Expr


def is_unsigned(index: Expr) -> bool:
    """Whether it is a uint64 that the access made an int64: what is negative then is 2**64 more. A conversion that the
    program writes stands at a place of its own, and what it gives is the index."""
    return isinstance(index, Convert) and index.operand.type == "uint64" and index.operand.at == index.at
