"""Every operation, conversion and simple function on OpenCL, against the interpreter."""

from borrowed import borrow

globals().update(borrow("test_arithmetic"))
