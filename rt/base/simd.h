/*
 * SIMD lanes: vectors of numbers with one operation on all of them. Any thread, RT safe.
 */
#ifndef GW_BASE_SIMD_H
#define GW_BASE_SIMD_H

/* Marks functions with an additional version for wide vectors, selected when the program starts:
 * the same operations in the same order, hence the same bits. Sanitizers do not support this;
 * vectors then have two numbers, for wider ones would be spilled. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define GW_TARGET_CLONES __attribute__((target_clones("avx2", "default")))
/* The same with a third version for AVX-512. There gcc may fuse paired products in spite of
 * -ffp-contract=off: `make unit` checks that the program has no such instructions. */
#define GW_TARGET_CLONES_512 __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#define GW_LANES             4
#else
#define GW_TARGET_CLONES
#define GW_TARGET_CLONES_512
#define GW_LANES 2
#endif

/* The compiler's own vector type, mapped to what the processor has. */
typedef double gw_lanes __attribute__((vector_size(GW_LANES * sizeof(double))));

/* Mask of lanes: all bits of a lane set, or none. */
typedef long long gw_mask __attribute__((vector_size(GW_LANES * sizeof(double))));

/* A three-dimensional vector in each lane. */
typedef struct gw_lanes3 {
    gw_lanes x, y, z;
} gw_lanes3;

#define GW_LANE_INLINE static inline __attribute__((always_inline))

#endif
