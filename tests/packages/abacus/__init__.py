"""A package from outside: a target that prints kernels as Python with its own arrays, and the backend that runs it."""
