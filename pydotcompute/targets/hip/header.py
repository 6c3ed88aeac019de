"""What the text of a kernel uses of OpenCL C's library, in terms of clang's builtins: it comes before the text where
that is compiled for AMD's GPUs. An OpenCL driver compiles the same text by itself.

Functions of values are those that are one instruction, or that LLVM rounds correctly. Atomics are relaxed and hold for
the device, as in OpenCL 1.2; a barrier orders what the threads of a block wrote to memory of either kind.
"""

from __future__ import annotations

HEADER = r"""
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef float float2 __attribute__((ext_vector_type(2)));
typedef double double2 __attribute__((ext_vector_type(2)));

#define true ((bool)1)
#define false ((bool)0)
#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define OVERLOADED static inline __attribute__((overloadable, always_inline))

#define as_int(x) __builtin_astype(x, int)
#define as_uint(x) __builtin_astype(x, uint)
#define as_long(x) __builtin_astype(x, long)
#define as_ulong(x) __builtin_astype(x, ulong)
#define as_float(x) __builtin_astype(x, float)
#define as_double(x) __builtin_astype(x, double)

#define floor(x) __builtin_elementwise_floor(x)
#define ceil(x) __builtin_elementwise_ceil(x)
#define trunc(x) __builtin_elementwise_trunc(x)
#define rint(x) __builtin_elementwise_rint(x)
#define fabs(x) __builtin_elementwise_abs(x)
#define sqrt(x) __builtin_elementwise_sqrt(x)
#define copysign(x, y) __builtin_elementwise_copysign(x, y)
#define fma(x, y, z) __builtin_elementwise_fma(x, y, z)
#define min(x, y) __builtin_elementwise_min(x, y)
#define max(x, y) __builtin_elementwise_max(x, y)

OVERLOADED int popcount(int x) { return __builtin_popcount(x); }
OVERLOADED long popcount(long x) { return __builtin_popcountl(x); }
OVERLOADED uint popcount(uint x) { return __builtin_popcount(x); }
OVERLOADED ulong popcount(ulong x) { return __builtin_popcountl(x); }
OVERLOADED uint clz(uint x) { return x ? __builtin_clz(x) : 32; }
OVERLOADED ulong clz(ulong x) { return x ? __builtin_clzl(x) : 64; }

OVERLOADED float vload_half(size_t at, const private half *p) { return __builtin_load_halff(p + at); }
OVERLOADED void vstore_half_rte(float x, size_t at, private half *p) { __builtin_store_halff(x, p + at); }

#define OF_SPACE(SPACE, T) \
    OVERLOADED T##2 vload2(size_t at, const SPACE T *p) { return (T##2)(p[2 * at], p[2 * at + 1]); } \
    OVERLOADED void vstore2(T##2 x, size_t at, SPACE T *p) { p[2 * at] = x.x; p[2 * at + 1] = x.y; }
#define RELAXED __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE
#define ATOMICS(SPACE, T, PREFIX) \
    OVERLOADED T PREFIX##_add(volatile SPACE T *p, T x) { return __scoped_atomic_fetch_add(p, x, RELAXED); } \
    OVERLOADED T PREFIX##_min(volatile SPACE T *p, T x) { return __scoped_atomic_fetch_min(p, x, RELAXED); } \
    OVERLOADED T PREFIX##_max(volatile SPACE T *p, T x) { return __scoped_atomic_fetch_max(p, x, RELAXED); } \
    OVERLOADED T PREFIX##_cmpxchg(volatile SPACE T *p, T seen, T next) \
    { \
        __scoped_atomic_compare_exchange_n(p, &seen, next, false, __ATOMIC_RELAXED, RELAXED); \
        return seen; \
    }
#define IN_SPACE(SPACE) \
    ATOMICS(SPACE, int, atomic) ATOMICS(SPACE, uint, atomic) ATOMICS(SPACE, long, atom) ATOMICS(SPACE, ulong, atom)
OF_SPACE(global, float) OF_SPACE(global, double) OF_SPACE(local, float) OF_SPACE(local, double)
OF_SPACE(private, float) OF_SPACE(private, double) IN_SPACE(global) IN_SPACE(local)

#define ALONG(NAME, X, Y, Z) OVERLOADED size_t NAME(uint k) { return k == 0 ? X() : k == 1 ? Y() : Z(); }
ALONG(get_local_id, __builtin_amdgcn_workitem_id_x, __builtin_amdgcn_workitem_id_y, __builtin_amdgcn_workitem_id_z)
ALONG(get_group_id, __builtin_amdgcn_workgroup_id_x, __builtin_amdgcn_workgroup_id_y, __builtin_amdgcn_workgroup_id_z)
ALONG(get_local_size, __builtin_amdgcn_workgroup_size_x, __builtin_amdgcn_workgroup_size_y, \
      __builtin_amdgcn_workgroup_size_z)
ALONG(get_global_size, __builtin_amdgcn_grid_size_x, __builtin_amdgcn_grid_size_y, __builtin_amdgcn_grid_size_z)
OVERLOADED size_t get_num_groups(uint k) { return (uint)get_global_size(k) / (uint)get_local_size(k); }

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
OVERLOADED __attribute__((convergent)) void barrier(int fence)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
""".lstrip()
