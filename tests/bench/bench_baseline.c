/*
 * Rows of the surface-constraints paper's methods and those of rt/: the time of each, and below it
 * its error.
 */
#include <stdio.h>

#include "tests/bench/baseline.h"
#include "tests/bench/bench.h"

typedef struct method {
    const char *name, *cost, *loss;
    enum { JACOBIAN, ASSEMBLY, ORIENTATION } of;
    int which;
    double most_lost; /* limit of the loss; 0: no limit */
} method;

static const method methods[] = {
    {"contact-exact", "contact point's 6 derivatives, exact", "error, of 1", JACOBIAN,
     BASELINE_EXACT, 1e-12},
    {"contact-forward", "the same by forward differences", "error", JACOBIAN, BASELINE_FORWARD, 0},
    {"contact-central", "by central ones (eq. 7)", "error", JACOBIAN, BASELINE_CENTRAL, 0},
    {"contact-richardson", "and extrapolated (Richardson)", "error", JACOBIAN, BASELINE_RICHARDSON,
     0},
    {"four-bar-lm", "scattered four-bar, Levenberg-Marquardt", "left open, share", ASSEMBLY,
     BASELINE_LM, 0.2},
    {"four-bar-gradient", "the same by the gradient (eq. 15)", "left open, share", ASSEMBLY,
     BASELINE_GRADIENT, 0},
    {"four-bar-newton", "by Newton's method (eq. 14)", "left open, share", ASSEMBLY,
     BASELINE_NEWTON, 0},
    {"spin-manifold", "free body, a step; 10 s, turning over", "angle off", ORIENTATION,
     BASELINE_MANIFOLD, 1e-9},
    {"spin-quaternion", "the same in quaternions, normalised", "angle off", ORIENTATION,
     BASELINE_QUATERNION, 0},
    {"spin-euler", "in Euler angles", "angle off", ORIENTATION, BASELINE_EULER, 0},
};
enum { METHODS = sizeof methods / sizeof *methods };

static baseline_result run(const method *m)
{
    switch (m->of) {
    case JACOBIAN:
        return baseline_contact_jacobian((baseline_jacobian)m->which);
    case ASSEMBLY:
        return baseline_four_bar((baseline_assembly)m->which);
    case ORIENTATION:
        return baseline_spinning_body((baseline_orientation)m->which);
    }
    return (baseline_result){0};
}

static bool measure_cost(bench_row *r, int which)
{
    baseline_result x = run(&methods[which]);
    r->median = x.median;
    r->p99 = x.p99;
    return true;
}

static bool measure_loss(bench_row *r, int which)
{
    r->median = r->p99 = run(&methods[which]).loss;
    return true;
}

int bench_baseline_rows(bench *rows, int room)
{
    int count = 0;
    for (int i = 0; i < 2 * METHODS && count < room; i++) {
        const method *m = &methods[i / 2];
        bool cost = i % 2 == 0;
        bench *b = &rows[count++];
        *b = (bench){.row = {.unit = cost                   ? "us"
                                     : m->of == ORIENTATION ? "rad"
                                                            : "1",
                             .limit = cost ? 0 : m->most_lost,
                             .held = !cost && m->most_lost > 0},
                     .measure = cost ? measure_cost : measure_loss,
                     .which = i / 2};
        snprintf(b->row.name, sizeof b->row.name, "baseline-%s%s", m->name, cost ? "" : "-loss");
        snprintf(b->row.what, sizeof b->row.what, "%s", cost ? m->cost : m->loss);
    }
    return count;
}
