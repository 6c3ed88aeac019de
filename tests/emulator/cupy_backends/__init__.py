"""The part of CuPy's bindings that pydotcompute uses, for emulated devices: see the package cupy beside it."""
