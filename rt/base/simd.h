/*
 * Numbers side by side, so that what is done to one is done to all. Any thread, RT safe.
 */
#ifndef GW_BASE_SIMD_H
#define GW_BASE_SIMD_H

/* Functions have a version for wide vectors beside the plain one, chosen when the program starts:
 * the same operations in the same order, and so the same bits. Sanitizers do not bear such choices.
 * Where there is none, two numbers fit into a vector, and more would only be spilled. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define GW_TARGET_CLONES __attribute__((target_clones("avx2", "default")))
#define GW_LANES         4
#else
#define GW_TARGET_CLONES
#define GW_LANES 2
#endif

/* Written for the compiler's own vectors: it makes of them what the processor has. */
typedef double gw_lanes __attribute__((vector_size(GW_LANES * sizeof(double))));

/* All bits of a lane, or none. */
typedef long long gw_mask __attribute__((vector_size(GW_LANES * sizeof(double))));

#define GW_LANE_INLINE static inline __attribute__((always_inline))

#endif
