"""The target `webgpu`: WGSL, which wgpu compiles when a kernel is first loaded on a device."""
