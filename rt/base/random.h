/*
 * Deterministic random numbers: splitmix64 (Steele, Lea and Flood 2014). The state is the caller's;
 * any thread, RT safe.
 */
#ifndef GW_BASE_RANDOM_H
#define GW_BASE_RANDOM_H

/* The increment of the state: 2^64 over the golden ratio, odd. */
#define GW_SPLITMIX64_STEP 0x9e3779b97f4a7c15ull

/* The mixing function of splitmix64, a permutation of the 64-bit numbers. */
static inline unsigned long long gw_splitmix64_mix(unsigned long long z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Uniform in low .. high, from 53 bits; the state advances by one. */
static inline double gw_random_uniform(unsigned long long *state, double low, double high)
{
    unsigned long long z = gw_splitmix64_mix(*state += GW_SPLITMIX64_STEP);
    return low + (high - low) * (double)(z >> 11) / 9007199254740992.0;
}

#endif
