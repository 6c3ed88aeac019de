"""The target `opencl:1.2`: OpenCL C, which the driver of a device compiles when a kernel is first loaded there."""
