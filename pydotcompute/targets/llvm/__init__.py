"""What the targets behind LLVM share: operations as LLVM IR, and Numba as their front end."""
