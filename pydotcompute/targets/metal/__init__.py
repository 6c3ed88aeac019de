"""The target `metal`: the Metal Shading Language, which Apple's driver compiles when a kernel is first loaded."""
