"""Names that mean something in the Metal Shading Language and not in OpenCL C, whose reserved names are taken too: with
C++'s keywords."""

WORDS = frozenset(
    "metal device threadgroup threadgroup_imageblock thread ray_data object_data kernel vertex fragment visible "
    "stitchable intersection patch sampler texture depth2d texture1d texture2d texture3d texturecube array "
    "array_ref vec matrix coord access address mag_filter min_filter mip_filter compare_func as_type precise fast "
    "mem_flags thread_scope memory_order memory_order_relaxed atomic final override alignof char16_t char32_t "
    "const_cast dynamic_cast reinterpret_cast static_cast decltype default_delete is_same enable_if conditional "
    "numeric_limits pair function patch_control_point command_buffer render_pipeline_state compute_pipeline_state "
    "indirect_command_buffer interpolant imageblock r8unorm rgba8unorm srgba8unorm ray intersector "
    "instance_acceleration_structure primitive_acceleration_structure constexpr_assert assert".split()
)
FUNCTIONS = frozenset(
    "saturate fmin3 fmax3 fmedian3 min3 max3 median3 absdiff addsat subsat mulhi madhi madsat extract_bits "
    "insert_bits reverse_bits ctz fma frexp ldexp divide sincos sinpi cospi tanpi powr exp10 distance_squared "
    "length_squared faceforward reflect refract determinant transpose discard_fragment get_num_samples dfdx dfdy "
    "fwidth threadgroup_barrier simdgroup_barrier simdgroup_load simdgroup_store simdgroup_multiply "
    "make_filled_simdgroup_matrix select isordered nan nextafter fdim".split()
)
PATTERN = (
    r"packed_\w+|simd_\w+|simdgroup_\w+|quad_\w+|atomic_\w+|texture\w+|depth\w+|(bfloat|size_t|ptrdiff)\w*"
    r"|(METAL|MTL|TARGET|M)_\w+|\w*__\w*|_[A-Z]\w*"
)
