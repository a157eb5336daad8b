/*
 * Random numbers of tests, the same on every machine: splitmix64 (Steele, Lea and Flood 2014). The
 * state is the caller's.
 */
#ifndef GW_TESTS_RANDOM_H
#define GW_TESTS_RANDOM_H

/* The next 64 bits. */
static inline unsigned long long random_bits(unsigned long long *state)
{
    unsigned long long z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Uniform in low .. high. */
static inline double random_uniform(unsigned long long *state, double low, double high)
{
    return low + (high - low) * (double)(random_bits(state) >> 11) / 9007199254740992.0;
}

/* One of 0 .. n - 1. */
static inline int random_below(unsigned long long *state, int n)
{
    int i = (int)random_uniform(state, 0, n);
    return i < n ? i : n - 1;
}

#endif
