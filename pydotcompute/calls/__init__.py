"""A call checked and laid out: arguments, shapes, scalars, the words of an artifact. It knows no backend."""
