"""Compiled kernels: rows, saxpy. `help(NAME)` describes one.

Written by 'pydotcompute build'; what is changed here is lost with the next one.
"""

from pydotcompute.runtime.module import bundle as _bundle

__getattr__, __dir__ = _bundle(__name__, globals())
