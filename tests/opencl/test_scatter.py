"""Stores at which threads meet, on OpenCL."""

from borrowed import borrow

globals().update(borrow("test_scatter"))
