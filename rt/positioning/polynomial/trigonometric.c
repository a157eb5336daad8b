/*
 * Roots of trigonometric polynomials of degree four, from their samples. Any thread, RT safe.
 */
#include <complex.h>

#include "rt/positioning/polynomial/polynomial.h"

#define DEGREE    8 /* in exp(i phi) */
#define DFT       GW_TRIGONOMETRIC_SAMPLES
#define NEAR_UNIT 2e-2 /* round-off moves double roots off the unit circle by its square root */

double gw_trigonometric_cosine(int k)
{
    static const double quarter[] = {1, 0.92387953251128674, 0.70710678118654757,
                                     0.38268343236508977, 0};
    int i = k & (DFT - 1), folded = i > DFT / 2 ? DFT - i : i;
    return folded > DFT / 4 ? -quarter[DFT / 2 - folded] : quarter[folded];
}

static double squared_modulus(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* Coefficients of z^0 .. z^8 from samples; returns the largest modulus. */
static double interpolate_coefficients(const double sample[DFT], double complex c[DEGREE + 1])
{
    double most = 0;
    for (int n = 0; n <= DEGREE / 2; n++) { /* real polynomial: c[4 - n] = conj(c[4 + n]) */
        double even = 0, odd = 0;
        for (int k = 0; k < DFT; k++) {
            even += sample[k] * gw_trigonometric_cosine(k * n);
            odd += sample[k] * gw_trigonometric_cosine(k * n - DFT / 4);
        }
        c[DEGREE / 2 + n] = (even - I * odd) / DFT;
        c[DEGREE / 2 - n] = conj(c[DEGREE / 2 + n]);
        most = fmax(most, squared_modulus(c[DEGREE / 2 + n]));
    }
    return sqrt(most);
}

/* All roots at once (Weierstrass' iteration), lowest coefficient first; returns their number. They
 * are accurate to some digits only, as multiple roots are in any case; callers refine them. */
static int all_roots(const double complex *c, double complex z[DEGREE])
{
    int n = DEGREE, low = 0;
    double most = 0;
    for (int i = 0; i <= DEGREE; i++)
        most = fmax(most, squared_modulus(c[i]));
    while (n > 0 && squared_modulus(c[n]) < 1e-26 * most)
        n--;
    while (low < n && squared_modulus(c[low]) < 1e-26 * most)
        low++;
    int degree = n - low;
    double complex start = 1.03;
    for (int i = 0; i < degree; i++, start *= 0.4 + 0.9 * I)
        z[i] = start;
    for (int iteration = 0; iteration < 400; iteration++) {
        double moved = 0;
        for (int i = 0; i < degree; i++) {
            double complex value = c[n], others = c[n];
            for (int k = n - 1; k >= low; k--)
                value = value * z[i] + c[k];
            for (int k = 0; k < degree; k++)
                others *= k == i ? 1 : z[i] - z[k];
            double complex step = others != 0 ? value / others : 1e-8;
            z[i] -= step;
            moved = fmax(moved, squared_modulus(step) / (1 + squared_modulus(z[i])));
        }
        if (moved < 1e-18)
            break;
    }
    return degree;
}

int gw_trigonometric_roots(const double sample[DFT], double phi[DEGREE], double *most)
{
    double complex c[DEGREE + 1], z[DEGREE];
    int count = 0;
    *most = interpolate_coefficients(sample, c);
    if (!(*most > 0))
        return 0;
    int n = all_roots(c, z);
    for (int i = 0; i < n; i++)
        if (fabs(cabs(z[i]) - 1) < NEAR_UNIT)
            phi[count++] = carg(z[i]);
    return count;
}
