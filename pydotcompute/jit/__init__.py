"""`Backend.compile_kernel`: plain Numba functions, compiled when a program asks, and kept on disk."""
