/*
 * Deterministic random numbers: splitmix64 (Steele, Lea and Flood 2014). The state is the caller's;
 * any thread, RT safe.
 */
#ifndef GW_POSITIONING_RANDOM_H
#define GW_POSITIONING_RANDOM_H

/* The mixing function of splitmix64. */
static inline unsigned long long gw_splitmix64_mix(unsigned long long z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Uniform in low .. high, from 53 bits; the state advances by one. */
static inline double gw_random_uniform(unsigned long long *state, double low, double high)
{
    unsigned long long z = gw_splitmix64_mix(*state += 0x9e3779b97f4a7c15ull);
    return low + (high - low) * (double)(z >> 11) / 9007199254740992.0;
}

#endif
