/*
 * Histogram of durations with sixteen bins an octave, for quantiles within 4.5 %, and counts per
 * octave for display. A value; one thread at a time, RT safe.
 */
#ifndef GW_SIM_HISTOGRAM_H
#define GW_SIM_HISTOGRAM_H

#include <math.h>
#include <stdint.h>

#define GW_HISTOGRAM_OCTAVE  16
#define GW_HISTOGRAM_OCTAVES 28 /* from 1/32 us to 8 s */
#define GW_HISTOGRAM_BINS    (GW_HISTOGRAM_OCTAVE * GW_HISTOGRAM_OCTAVES)
#define GW_HISTOGRAM_LEAST   (1.0 / 32)

typedef struct gw_histogram {
    uint32_t bins[GW_HISTOGRAM_BINS];
    uint64_t
        octaves[GW_HISTOGRAM_OCTAVES]; /* the same by factors of two; more than 8 s in the last */
    uint64_t count;
    double sum, max; /* us */
} gw_histogram;

static inline void gw_histogram_add(gw_histogram *h, double us)
{
    int exponent;
    double mantissa = frexp(us > GW_HISTOGRAM_LEAST ? us / GW_HISTOGRAM_LEAST : 1, &exponent);
    int bin =
        (exponent - 1) * GW_HISTOGRAM_OCTAVE + (int)((2 * mantissa - 1) * GW_HISTOGRAM_OCTAVE);
    bin = bin < GW_HISTOGRAM_BINS ? bin : GW_HISTOGRAM_BINS - 1;
    h->bins[bin]++;
    h->octaves[bin / GW_HISTOGRAM_OCTAVE]++;
    h->count++;
    h->sum += us;
    h->max = us > h->max ? us : h->max;
}

/* The middle of bin number `bin` (us). */
static inline double gw_histogram_value(int bin)
{
    double part = (bin % GW_HISTOGRAM_OCTAVE + 0.5) / GW_HISTOGRAM_OCTAVE;
    return ldexp(GW_HISTOGRAM_LEAST * (1 + part), bin / GW_HISTOGRAM_OCTAVE);
}

/* `count` quantiles in one pass (fractions ascending); 0 while empty. */
static inline void gw_histogram_quantiles(const gw_histogram *h, int count, const double *fractions,
                                          double *out)
{
    uint64_t sum = 0;
    int k = 0;
    for (int i = 0; i < GW_HISTOGRAM_BINS && k < count && h->count; i++) {
        sum += h->bins[i];
        for (; k < count && (uint64_t)(fractions[k] * (double)h->count) < sum; k++)
            out[k] = gw_histogram_value(i);
    }
    for (; k < count; k++)
        out[k] = h->count ? h->max : 0;
}

#endif
