"""Reductions over threads and grids on OpenCL."""

from borrowed import borrow

globals().update(borrow("test_reductions"))
