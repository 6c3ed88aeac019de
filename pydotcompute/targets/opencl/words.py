"""Names that mean something in OpenCL C 1.2, so that no name of the user's may stand as it is."""

# C99's keywords, and what C++ and later versions of OpenCL add: some drivers read them all.
WORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "asm bool class catch delete explicit false friend mutable namespace new operator private protected public "
    "template this throw true try typeid typename using virtual wchar_t and or not xor bitand bitor compl alignas "
    "and_eq or_eq xor_eq not_eq export char8_t concept requires consteval constinit co_await co_return co_yield "
    "alignof constexpr decltype noexcept nullptr static_assert thread_local typeof complex imaginary kernel "
    "global local constant generic pipe read_only write_only read_write uniform half quad uchar ushort uint ulong "
    "size_t ptrdiff_t intptr_t uintptr_t image1d_t image1d_array_t image1d_buffer_t image2d_t image2d_array_t "
    "image3d_t sampler_t event_t queue_t ndrange_t clk_event_t reserve_id_t bitfield packed aligned endian main "
    "NULL NAN INFINITY HUGE_VAL HUGE_VALF MAXFLOAT EOF linux unix i386 sun".split()
)
FUNCTIONS = frozenset(
    "acos acosh acospi asin asinh asinpi atan atan2 atanh atanpi atan2pi cbrt ceil copysign cos cosh cospi erf "
    "erfc exp exp2 exp10 expm1 fabs fdim floor fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r "
    "log log2 log10 log1p logb mad maxmag minmag modf nan nextafter pow pown powr remainder remquo rint rootn "
    "round rsqrt sin sincos sinh sinpi sqrt tan tanh tanpi tgamma trunc abs abs_diff add_sat hadd rhadd clamp clz "
    "ctz mad_hi mad_sat max min mul_hi rotate sub_sat upsample popcount mad24 mul24 degrees mix radians step "
    "smoothstep sign cross dot distance length normalize fast_distance fast_length fast_normalize isequal "
    "isnotequal isgreater isgreaterequal isless islessequal islessgreater isfinite isinf isnan isnormal isordered "
    "isunordered signbit any all bitselect select barrier mem_fence read_mem_fence write_mem_fence prefetch "
    "wait_group_events shuffle shuffle2 printf vec_step get_work_dim get_global_size get_global_id get_local_size "
    "get_local_id get_num_groups get_group_id get_global_offset".split()
)
# Vector types, conversions, families of functions, macros.
PATTERN = (
    r"(bool|char|uchar|short|ushort|int|uint|long|ulong|half|float|double|quad)(2|3|4|8|16)"
    r"|(float|double)\d+x\d+"
    r"|(as|convert|native|half|atomic|atom|vload|vstore|vloada|vstorea|async|read|write|get|work_group|sub_group|"
    r"memory|intel|amd|nv|cl|ndrange|enqueue)_\w+"
    r"|(CL|CLK|FLT|DBL|HALF|LDBL|M|CHAR|SCHAR|UCHAR|SHRT|USHRT|INT|UINT|LONG|ULONG|FP|ATOMIC|OPENCL|NVIDIA|AMD)_\w+"
    r"|v(load|store)\d*"
)
