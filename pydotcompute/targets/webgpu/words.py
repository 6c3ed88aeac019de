"""Names that mean something in WGSL, so that no name of the user's may stand as it is."""

# Keywords, then what is reserved for later versions.
WORDS = frozenset(
    "alias break case const const_assert continue continuing default diagnostic discard else enable false fn for if "
    "let loop override requires return struct switch true var while NULL Self abstract active alignas alignof as asm "
    "asm_fragment async attribute auto await become binding_array cast catch class co_await co_return co_yield "
    "coherent column_major common compile compile_fragment concept const_cast consteval constexpr constinit crate "
    "debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export extends extern external "
    "fallthrough filter final finally friend from fxgroup get goto groupshared highp impl implements import inline "
    "instanceof interface layout lowp macro macro_rules match mediump meta mod module move mut mutable namespace new "
    "nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of operator package "
    "packoffset partition pass patch pixelfragment precise precision premerge priv protected pub public readonly ref "
    "regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm static "
    "static_assert static_cast std subroutine super target template this thread_local throw trait try type typedef "
    "typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with "
    "writeonly yield".split()
)
TYPES = frozenset(
    "bool f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 array atomic ptr sampler sampler_comparison "
    "acceleration_structure ray_query ray_intersection function private workgroup uniform storage handle read write "
    "read_write push_constant main position vertex_index instance_index".split()
)
FUNCTIONS = frozenset(
    "abs acos acosh all any arrayLength asin asinh atan atan2 atanh bitcast ceil clamp cos cosh countLeadingZeros "
    "countOneBits countTrailingZeros cross degrees determinant distance dot dpdx dpdxCoarse dpdxFine dpdy dpdyCoarse "
    "dpdyFine exp exp2 extractBits faceForward firstLeadingBit firstTrailingBit floor fma fract frexp fwidth "
    "fwidthCoarse fwidthFine insertBits inverse inverseSqrt ldexp length log log2 max min mix modf normalize "
    "outerProduct pow quantizeToF16 radians reflect refract reverseBits round saturate select sign sin sinh "
    "smoothstep sqrt step storageBarrier subgroupBarrier tan tanh textureBarrier transpose trunc workgroupBarrier "
    "workgroupUniformLoad dot4I8Packed dot4U8Packed float32_of exactly index_in_range".split()
)
PATTERN = (
    r"vec[234]([fiuh]|\w)?|mat[234]x[234][fh]?|texture_\w+|texture[A-Z]\w*|atomic[A-Z]\w*|pack\w+|unpack\w+"
    r"|subgroup\w+|quad\w+|ray\w+|dpd\w+"
)
