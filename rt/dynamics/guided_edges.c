/*
 * Edges of a free-form locus under a guided body: stops without rebound, at a corner two at once.
 * With w the speeds of the parameters out over the edges and A their inverse inertia, impulses p
 * along them satisfy
 *
 *   p >= 0,   w' = w - A p <= 0,   p . w' = 0
 *
 * which has one answer, since A is positive definite. One edge after the other is none where the
 * edges are not perpendicular in the metric of the inertia: each stop drives the body over the
 * other edge. On the loop's thread, RT safe.
 */
#include <assert.h>
#include <math.h>

#include "rt/dynamics/rigid_body.h"

void gw_guided_stop_outward(double (*inertia)[6], int n, const gw_edge_stops *stops, double *z_dot)
{
    assert(inertia && stops && z_dot && stops->count >= 0 && stops->count <= 2);
    double push[2][6] = {{0}}, a[2][2] = {{0}}, w[2] = {0, 0}, p[2] = {0, 0};
    for (int i = 0; i < stops->count; i++) {
        push[i][stops->k[i]] = stops->out[i];
        gw_ldl_solve(inertia, n, push[i]);
        w[i] = stops->out[i] * z_dot[stops->k[i]];
        for (int j = 0; j <= i; j++)
            a[i][j] = a[j][i] = stops->out[j] * push[i][stops->k[j]];
    }
    bool done = !(fmax(w[0], w[1]) > 0);
    for (int i = 0; i < stops->count && !done; i++) {
        bool alone = stops->count == 1;
        p[0] = p[1] = 0;
        p[i] = w[i] / a[i][i];
        done = w[i] > 0 && (alone || w[1 - i] - a[0][1] * p[i] <= 0);
    }
    if (!done) {
        double det = a[0][0] * a[1][1] - a[0][1] * a[0][1];
        p[0] = fmax(0, (a[1][1] * w[0] - a[0][1] * w[1]) / det);
        p[1] = fmax(0, (a[0][0] * w[1] - a[0][1] * w[0]) / det);
    }
    for (int i = 0; i < stops->count; i++)
        for (int j = 0; j < n; j++)
            z_dot[j] -= p[i] * push[i][j];
}
