"""PTX and cubins for NVIDIA's GPUs, without a GPU, a driver or a toolkit."""
