"""Statements, loops, arrays, helpers and layouts on OpenCL, against the interpreter."""

from borrowed import borrow

globals().update(borrow("test_language"))
