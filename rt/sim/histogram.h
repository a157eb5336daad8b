/*
 * Counts of durations in fixed bins, for percentiles without sorting: sixteen bins an octave, so a
 * percentile is right within 4.5 %. A value; one thread at a time, RT safe.
 */
#ifndef GW_SIM_HISTOGRAM_H
#define GW_SIM_HISTOGRAM_H

#include <math.h>
#include <stdint.h>

#define GW_HISTOGRAM_OCTAVE 16
#define GW_HISTOGRAM_BINS   (GW_HISTOGRAM_OCTAVE * 28) /* from 1/32 us to 8 s */
#define GW_HISTOGRAM_LEAST  (1.0 / 32)

typedef struct gw_histogram {
    uint32_t bins[GW_HISTOGRAM_BINS];
    uint64_t count;
    double max;
} gw_histogram;

static inline void gw_histogram_add(gw_histogram *h, double us)
{
    int exponent;
    double mantissa = frexp(us > GW_HISTOGRAM_LEAST ? us / GW_HISTOGRAM_LEAST : 1, &exponent);
    int bin =
        (exponent - 1) * GW_HISTOGRAM_OCTAVE + (int)((2 * mantissa - 1) * GW_HISTOGRAM_OCTAVE);
    h->bins[bin < GW_HISTOGRAM_BINS ? bin : GW_HISTOGRAM_BINS - 1]++;
    h->count++;
    h->max = us > h->max ? us : h->max;
}

/* The middle of bin number `bin` (us). */
static inline double gw_histogram_value(int bin)
{
    double part = (bin % GW_HISTOGRAM_OCTAVE + 0.5) / GW_HISTOGRAM_OCTAVE;
    return ldexp(GW_HISTOGRAM_LEAST * (1 + part), bin / GW_HISTOGRAM_OCTAVE);
}

/* Two percentiles in one pass (fractions ascending); 0 while empty. */
static inline void gw_histogram_percentiles(const gw_histogram *h, double first, double second,
                                            double *a, double *b)
{
    uint64_t sum = 0, at_a = (uint64_t)(first * (double)h->count),
             at_b = (uint64_t)(second * (double)h->count);
    *a = *b = 0;
    for (int i = 0; i < GW_HISTOGRAM_BINS && sum <= at_b && h->count; i++) {
        uint64_t next = sum + h->bins[i];
        if (sum <= at_a && at_a < next)
            *a = gw_histogram_value(i);
        if (at_b < next)
            *b = gw_histogram_value(i);
        sum = next;
    }
}

#endif
