"""The target `hip`: code objects for AMD's GPUs (`hip:gfx90a`), made without ROCm by the clang and LLD of a wheel."""
