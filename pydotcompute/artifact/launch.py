"""How a compiled CUDA kernel is launched: what its artifact's metadata says, and the constants that its code and the
run half share. Both halves of the house read this page, and only this.

`launches`, in order: {"entry", "block": threads, "grid": {"kind", "counts"}}. `counts` are expressions over dimensions
and integer scalars, as data (artifact/dimensions.py), outermost first, or None where only the kernel can know
them; kinds:
    "grid"    a thread each, one to three counts; a grid-stride loop, so any grid computes the same. Where threads do
              several iterations (thread coarsening), the counts are those of threads
    "blocks"  a block each, the product of the counts; block-stride
    "tiles"   a block each along two or three counts, the last along x; block-stride along each
    "chunks"  a block for each chunk of a reduction over the grid: of CHUNK_TERMS iterations of each thread, or twice,
              four times … as many, so that there are at most MOST_CHUNKS; block-stride
    "one"     one block, also where nothing is counted
    "given"   the declaration's own grid: one to three numbers of blocks along x, y, z
With "most", a grid has so many blocks at most, whose threads do the rest in further turns: what a thread works out
before its first takes as long as several turns. With "team", so many threads each in place of a block, as many teams
beside each other along y as `block` has. A launch that has "when" is done where that expression is not 0: there are
several then, for shorter rows and for longer ones, or for sizes that take 32 bits and for any, or for few elements that
many iterations count in and for others.
A kernel of several phases has "arguments" in each launch, and beside `launches` a `program`, which the host follows;
its steps, in order, with expressions as above:
    ["launch", k]                             the k-th launch
    ["set", name, value], ["for", name, start, stop, step, steps]     integers, which launches get as ("symbol", name)
    ["while", condition, steps], ["if", condition, steps, steps], ["break"], ["continue"]
    ["read", name, dtype, k]                  wait for the launches before; the value in the k-th scratch array
`scratch` is memory that the kernels of a call share: bytes of each array, as such an expression.
`arguments` are those of every entry, in order: (kind, name, …), for each parameter
    scalar, not an output    ("scalar", name): its value; a complex one's two parts, ("scalar", name, "real" or "imag")
    array, layout C          ("data", name): its address
    array, strided           address, then with an ellipsis a view, then for each trailing dim ("stride", name, axis)
    array, broadcast         address, view
    output scalar            address of its one element
then ("symbol", name) for every dimension symbol and ("scratch", k) for each scratch array, in a kernel of several
phases also where scalars are that outlast a phase; ("start", 0) is the place in it; then, where indices are looked at
(the metadata has `sites`), ("fault", 0), the address of the device's slot, ("fault", 1), the number that the kernel has
there, and in kernels of several launches ("fault", 2), that of a word which is 0 when a call begins. A raw kernel has
("array", name, rank) for an array of numba.cuda's.

A view, ("view", name, k) for its k-th word, describes the leading dims of an array that is not contiguous, merged where
they can be: how many levels there are inside the outermost one (at most VIEW_LEVELS), the stride in bytes of the
outermost, then (size, stride in bytes) of each level, innermost first; what is not used is (1, 0). Then come, of the
FEW_LEVELS innermost levels, m | shift << 32 by which i // size is i * m >> shift for each i below 2**31: no division.
These are 0 where that does not do: of more levels, or where an index or a stride takes more than 32 bits.

The slot is where kernels tell of an index outside of its array, the first that comes: words of 64 bits. Whoever swaps
CLAIMED from 0 to 1 writes which kernel it is, which site, which call (as the fault words of artifact/abi.py), the
extent, the index, and then 1 into READY. A launch that has a word of its call's puts 1 there, and launches that find it
there do nothing that could last.
"""

from __future__ import annotations

VIEW_LEVELS = 7
VIEW_WORDS = 2 + 2 * VIEW_LEVELS
FEW_LEVELS = 2

CHUNK_TERMS = 8  # iterations of each thread, at least, before there are two chunks
WARP = 32  # threads
MOST_BLOCKS = 1 << 15  # of a grid whose threads work out much: a GPU has some hundred at a time
MOST_CHUNKS = 4096  # of a reduction over a grid: the slots of its scratch arrays

# What every GPU takes.
MOST_THREADS = 1024  # of a block
MOST_BLOCK = (1024, 1024, 64)
MOST_GRID = (2**31 - 1, 65535, 65535)

# Where a device's code counts in 32 bits, the most that a launch counts to, and the elements of an array: what a step
# of a loop adds to it still fits.
MOST_INDEX = 2**31 - 1 - 2**26

CLAIMED, KERNEL, SITE, CALL, EXTENT, INDEX, READY = range(7)
SLOT_WORDS = 8
