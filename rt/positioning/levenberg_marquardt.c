/*
 * Levenberg-Marquardt method for one pose. Any thread, RT safe.
 */
#include "rt/positioning/levenberg_marquardt.h"

#include <assert.h>
#include <math.h>

#include "rt/base/small.h"

#define LEVEL 0.01 /* of the sum: near a root, a multiple one too, a step changes it by more */

void gw_scale_row(const gw_row *row, double size, double *h, double a[6])
{
    bool angle = row->kind == GW_ROW_ANGLE;
    *h *= angle ? size : 1;
    for (int j = 3; j < 6 && !angle; j++)
        a[j] /= size;
}

void gw_normal_equations_add(gw_normal_equations *to, double h, const double a[6])
{
    for (int i = 0; i < 6; i++) {
        to->g[i] += a[i] * h;
        for (int j = 0; j <= i; j++)
            to->n[i][j] += a[i] * a[j];
    }
    to->sum += h * h;
    to->worst = fmax(to->worst, fabs(h));
}

gw_pose gw_scaled_step(double size, const gw_pose *x, const double s[6], double factor)
{
    double turn = factor / size;
    gw_twist d = {{factor * s[0], factor * s[1], factor * s[2]},
                  {turn * s[3], turn * s[4], turn * s[5]}};
    return gw_pose_add(x, &d);
}

void gw_levenberg_marquardt_descend(const gw_levenberg_marquardt *m, gw_pose *x,
                                    gw_normal_equations *at)
{
    assert(m && m->evaluate && m->size > 0 && x && at);
    double damping = m->damping, step[6];
    gw_normal_equations there;
    m->evaluate(m->context, x, at);
    for (int k = 0; k < m->steps && at->sum > m->goal && damping < m->most; k++) {
        if (m->give_up && m->give_up(m->context, at))
            return;
        if (gw_small_cholesky_solve(6, (const double(*)[6])at->n, damping, at->g, step)) {
            gw_pose next = gw_scaled_step(m->size, x, step, -1);
            m->evaluate(m->context, &next, &there);
            bool level = at->sum < m->accepted && fabs(there.sum - at->sum) < LEVEL * at->sum;
            if (there.sum < at->sum) {
                *x = next, *at = there;
                if (level)
                    return;
                damping = fmax(0.05 * damping, m->least);
                continue;
            }
            if (level || at->sum < m->round_off)
                return;
        }
        damping = fmax(m->raise * damping, m->raise_to);
    }
}
