/*
 * Roots as they come in: which are new, which are lost, which are poses. Any thread, RT safe.
 */
#include "rt/positioning/polynomial/harvest.h"

#define SAME        1e-6 /* roots closer than this are one */
#define REAL        1e-6 /* imaginary parts below this are round-off */
#define NEARLY      0.05 /* and below this the pose of a multiple root may be near */
#define AT_INFINITY 1e-8 /* of N over the square of e */

void gw_root_set_begin(gw_root_set *h, gw_completion *c, const gw_forms *f)
{
    h->c = c;
    h->forms = f;
    h->count = h->singular = h->lost = h->crossed = h->multiple = 0;
}

/* e scaled so that its largest entry is one. */
static void normalise(gw_complex_pose *x)
{
    int most = 0;
    for (int i = 1; i < 4; i++)
        most = cabs(x->e[i]) > cabs(x->e[most]) ? i : most;
    gw_complex scale = 1 / x->e[most];
    for (int i = 0; i < 4; i++)
        x->e[i] *= scale;
}

static double imaginary(const gw_complex_pose *x)
{
    double most = 0, size = 1;
    for (int i = 0; i < 4; i++)
        most = fmax(most, fabs(cimag(x->e[i])));
    for (int i = 0; i < 3; i++)
        size = fmax(size, cabs(x->t[i]));
    for (int i = 0; i < 3; i++)
        most = fmax(most, fabs(cimag(x->t[i])) / size);
    return most;
}

static double size2(gw_complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* True where a root is the same as another, or as its conjugate; the largest entries of e are
 * one. Most are told apart by the first number, and every one is compared with every other. */
static bool same(const gw_complex_pose *a, const gw_complex_pose *b, bool conjugate)
{
    double size = 1;
    int most = 0;
    for (int i = 0; i < 3; i++)
        size = fmax(size, size2(a->t[i]));
    for (int i = 0; i < 3; i++) {
        gw_complex z = conjugate ? conj(b->t[i]) : b->t[i];
        if (!(size2(a->t[i] - z) < SAME * SAME * size))
            return false;
    }
    for (int i = 1; i < 4; i++)
        most = size2(a->e[i]) > size2(a->e[most]) ? i : most;
    gw_complex scale = conjugate ? conj(b->e[most]) : b->e[most];
    for (int i = 0; i < 4; i++) {
        gw_complex z = conjugate ? conj(b->e[i]) : b->e[i];
        if (!(size2(scale * a->e[i] - z * a->e[most]) < SAME * SAME * size2(scale)))
            return false;
    }
    return true;
}

bool gw_at_infinity(const gw_complex_pose *x)
{
    gw_complex n = 0;
    double size = 0;
    for (int i = 0; i < 4; i++) {
        n += x->e[i] * x->e[i];
        size += creal(x->e[i] * conj(x->e[i]));
    }
    return cabs(n) < AT_INFINITY * size;
}

/* A root's real part, down to the rows. */
static void try_root(gw_root_set *h, const gw_complex_pose *x)
{
    gw_completion_try(h->c, gw_forms_pose(h->forms, x));
}

static int known(const gw_root_set *h, const gw_complex_pose *x)
{
    for (int i = 0; i < h->count; i++)
        if (same(&h->root[i], x, false))
            return i;
    return -1;
}

/* What is at a path's end, a simple root excepted. */
static void take_other(gw_root_set *h, const gw_complex_pose *x, gw_path_end end)
{
    if (end != GW_END_SINGULAR)
        return;
    h->singular++;
    if (imaginary(x) < NEARLY)
        try_root(h, x);
}

void gw_root_set_add(gw_root_set *h, gw_complex_pose x, gw_path_end end)
{
    normalise(&x);
    if (end == GW_END_INFINITY || gw_at_infinity(&x))
        return;
    if (end != GW_END_REGULAR)
        take_other(h, &x, end);
    else if (known(h, &x) >= 0)
        h->crossed++;
    else
        h->root[h->count++] = x;
}

void gw_root_set_add_endpoint(gw_root_set *h, int i, gw_complex_pose x, gw_path_end end)
{
    normalise(&x);
    int met = end == GW_END_REGULAR && !gw_at_infinity(&x) ? known(h, &x) : -1;
    if (end == GW_END_LOST || met >= 0)
        h->again[h->lost++] = i;
    if (met >= 0) {
        h->again[h->lost++] = h->from[met];
        h->root[met] = h->root[--h->count];
        h->from[met] = h->from[h->count];
        return;
    }
    int before = h->count;
    gw_root_set_add(h, x, end);
    if (h->count > before)
        h->from[before] = i;
}

/* True where the conjugate of a root is there too. */
static bool paired(const gw_root_set *h, int i)
{
    bool found = imaginary(&h->root[i]) < REAL;
    for (int k = 0; k < h->count && !found; k++)
        found = same(&h->root[i], &h->root[k], true);
    return found;
}

bool gw_root_set_degenerate(const gw_root_set *h, int paths)
{
    return paths >= 12 && 3 * h->singular > 2 * paths;
}

void gw_root_set_add_conjugates(gw_root_set *h)
{
    int alone[GW_MAX_PATHS], count = 0;
    for (int i = 0; i < h->count; i++)
        if (!paired(h, i))
            alone[count++] = i;
    if (count == h->lost && h->crossed == 0) {
        for (int i = 0; i < count; i++) {
            gw_complex_pose *x = &h->root[h->count++];
            *x = h->root[alone[i]];
            for (int k = 0; k < 4; k++)
                x->e[k] = conj(x->e[k]);
            for (int k = 0; k < 3; k++)
                x->t[k] = conj(x->t[k]);
        }
        h->lost = 0;
    } else if (h->lost == 0) {
        h->crossed += count;
    }
}

bool gw_root_set_complete(const gw_root_set *h)
{
    return h->lost == 0 && h->crossed == 0;
}

bool gw_root_set_satisfies(const gw_root_set *h, const gw_complex_pose *x, double tolerance)
{
    return gw_forms_residual(h->forms, x) < tolerance && gw_forms_same_sense(h->forms, x);
}

int gw_root_set_report(gw_root_set *h)
{
    int count = h->multiple;
    for (int i = 0; i < h->count; i++) {
        const gw_complex_pose *x = &h->root[i];
        double off = imaginary(x);
        if (!gw_root_set_satisfies(h, x, 1e-7))
            continue;
        count++;
        if (off < NEARLY)
            try_root(h, x);
    }
    return count;
}
