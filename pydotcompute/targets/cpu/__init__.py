"""Machine code of x86-64 and AArch64: shared objects with a native entry point."""
