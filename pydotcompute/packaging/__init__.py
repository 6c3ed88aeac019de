"""Kernels inside other people's packages: what a bundle's folder holds, type stubs, build hooks, first files."""
