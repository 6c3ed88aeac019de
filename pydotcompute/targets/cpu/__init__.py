"""x86-64 machine code: shared objects with a native entry point."""
