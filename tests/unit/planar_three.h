/*
 * A planar chain of three links in closed form, and the continuous system of mechanisms VI around
 * it: written for tests, from the equations alone, independent of rt/.
 *
 * Joints turn about z; centres of mass are at mid-link, inertias about them; no gravity.
 */
#ifndef GW_TESTS_UNIT_PLANAR_THREE_H
#define GW_TESTS_UNIT_PLANAR_THREE_H

#include <math.h>
#include <string.h>

typedef struct three {
    double length[3], mass[3], inertia[3];
    int held; /* link whose centre of mass is held */
} three;

/* Table I of mechanisms. */
static inline three three_of_table(int held)
{
    return (three){{0.042, 0.042, 0.030}, {3, 3, 1}, {0.015, 0.015, 0.005}, held};
}

/* How far link k's centre of mass goes along link j. */
static inline double three_arm(const three *c, int k, int j)
{
    return j < k ? c->length[j] : j == k ? 0.5 * c->length[j] : 0;
}

/* D and bias B of D q'' + B = Q, relative joint angles. */
static inline void three_dynamics(const three *c, const double q[3], const double v[3],
                                  double d[3][3], double b[3])
{
    double th[3] = {q[0], q[0] + q[1], q[0] + q[1] + q[2]};
    double w[3] = {v[0], v[0] + v[1], v[0] + v[1] + v[2]};
    double m[3][3], bias[3];
    for (int i = 0; i < 3; i++) {
        bias[i] = 0;
        for (int j = 0; j < 3; j++) {
            double s = 0;
            for (int k = 0; k < 3; k++)
                s += c->mass[k] * three_arm(c, k, i) * three_arm(c, k, j);
            m[i][j] = s * cos(th[i] - th[j]) + (i == j ? c->inertia[i] : 0);
            bias[i] += s * sin(th[i] - th[j]) * w[j] * w[j];
        }
    }
    for (int i = 0; i < 3; i++) {
        b[i] = 0;
        for (int a = i; a < 3; a++)
            b[i] += bias[a];
        for (int j = 0; j < 3; j++) {
            d[i][j] = 0;
            for (int a = i; a < 3; a++)
                for (int e = j; e < 3; e++)
                    d[i][j] += m[a][e];
        }
    }
}

/* Of the held point: x, y, angle; columns of J as rows j[joint][x y angle]; J-dot v. */
static inline void three_held(const three *c, const double q[3], const double v[3], double x[3],
                              double j[3][3], double drift[3])
{
    double th = 0, w = 0;
    memset(j, 0, 9 * sizeof(double));
    x[0] = x[1] = drift[0] = drift[1] = drift[2] = 0;
    for (int a = 0; a <= c->held; a++) {
        th += q[a];
        w += v[a];
        double r = three_arm(c, c->held, a), dx = r * cos(th), dy = r * sin(th);
        x[0] += dx;
        x[1] += dy;
        drift[0] -= dx * w * w;
        drift[1] -= dy * w * w;
        for (int e = 0; e <= a; e++) {
            j[e][0] -= dy;
            j[e][1] += dx;
        }
        j[a][2] = 1;
    }
    x[2] = th;
}

/* a x = b by elimination with pivots, 3 x 3; b becomes x. */
static inline void three_solve(const double a[3][3], double b[3])
{
    double m[3][3];
    memcpy(m, a, sizeof m);
    for (int k = 0; k < 3; k++) {
        int p = k;
        for (int i = k + 1; i < 3; i++)
            p = fabs(m[i][k]) > fabs(m[p][k]) ? i : p;
        for (int i = 0; i < 3; i++) {
            double t = m[k][i];
            m[k][i] = m[p][i];
            m[p][i] = t;
        }
        double t = b[k];
        b[k] = b[p];
        b[p] = t;
        for (int i = k + 1; i < 3; i++) {
            double f = m[i][k] / m[k][k];
            for (int e = k; e < 3; e++)
                m[i][e] -= f * m[k][e];
            b[i] -= f * b[k];
        }
    }
    for (int k = 2; k >= 0; k--) {
        for (int i = k + 1; i < 3; i++)
            b[k] -= m[k][i] * b[i];
        b[k] /= m[k][k];
    }
}

/* Eigenvectors (columns of u) and values of a symmetric 3 x 3 matrix, by Jacobi's rotations. */
static inline void three_eigen(double a[3][3], double u[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            u[i][j] = i == j;
    for (int sweep = 0; sweep < 20; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (fabs(a[p][q]) < 1e-18)
                    continue;
                double z = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = (z >= 0 ? 1 : -1) / (fabs(z) + sqrt(1 + z * z));
                double c = 1 / sqrt(1 + t * t), s = c * t;
                for (int k = 0; k < 3; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                    x = u[k][p];
                    y = u[k][q];
                    u[k][p] = c * x - s * y;
                    u[k][q] = s * x + c * y;
                }
            }
}

/* ---- mechanisms VI, continuous ----------------------------------------------------------------
 */

typedef struct three_play {
    three chain;
    double push[3];          /* F_h: fx, fy, tz */
    double k[3], b[3];       /* K_pc, B_pc */
    double penalty, damping; /* k_j, b_j; 0: impedance control alone */
    double threshold;        /* of the largest singular value, J's rows as they are (L = 1 m) */
    int jdot;                /* 1: with J-dot v */
} three_play;

/* Joints, their rates, the device's x y angle, and rates. */
typedef struct three_state {
    double q[3], v[3], x[3], xd[3];
} three_state;

static inline void three_penalties(const three_play *p, const double j[3][3], const double e[3],
                                   const double ed[3], double a[3])
{
    double jj[3][3], u[3][3], most = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            jj[i][k] = 0;
            for (int n = 0; n < 3; n++)
                jj[i][k] += j[n][i] * j[n][k];
        }
    three_eigen(jj, u);
    for (int i = 0; i < 3; i++)
        most = fmax(most, jj[i][i]);
    for (int i = 0; i < 3; i++) {
        if (jj[i][i] > p->threshold * p->threshold * most)
            continue;
        double along = 0;
        for (int k = 0; k < 3; k++)
            along += u[k][i] * (p->penalty * e[k] + p->damping * ed[k]);
        for (int k = 0; k < 3; k++)
            a[k] += along * u[k][i];
    }
}

/* q'' = D^-1 (J^T (F_h - F_pc) - B),
 * x'' = J D^-1 (J^T (F_h + F_pc) - B) [+ J-dot v] + sum (k_j n n^T e + b_j n n^T e') */
static inline void three_rates(const three_play *p, const three_state *s, double qdd[3],
                               double xdd[3])
{
    double d[3][3], b[3], x[3], j[3][3], drift[3], e[3], ed[3], pc[3], shown[3];
    three_dynamics(&p->chain, s->q, s->v, d, b);
    three_held(&p->chain, s->q, s->v, x, j, drift);
    for (int i = 0; i < 3; i++) {
        e[i] = x[i] - s->x[i];
        ed[i] = -s->xd[i];
        for (int n = 0; n < 3; n++)
            ed[i] += j[n][i] * s->v[n];
        pc[i] = p->k[i] * e[i] + p->b[i] * ed[i];
    }
    for (int n = 0; n < 3; n++) {
        qdd[n] = shown[n] = -b[n];
        for (int i = 0; i < 3; i++) {
            qdd[n] += j[n][i] * (p->push[i] - pc[i]);
            shown[n] += j[n][i] * (p->push[i] + pc[i]);
        }
    }
    three_solve((const double(*)[3])d, qdd);
    three_solve((const double(*)[3])d, shown);
    for (int i = 0; i < 3; i++) {
        xdd[i] = p->jdot ? drift[i] : 0;
        for (int n = 0; n < 3; n++)
            xdd[i] += j[n][i] * shown[n];
    }
    three_penalties(p, (const double(*)[3])j, e, ed, xdd);
}

/* One step of the classical fourth-order Runge-Kutta formula. */
static inline void three_advance(const three_play *p, three_state *s, double h)
{
    static const double c[4] = {0, 0.5, 0.5, 1}, weight[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    double qdd[3] = {0}, xdd[3] = {0}, v[3] = {0}, xd[3] = {0};
    three_state sum = *s;
    for (int k = 0; k < 4; k++) {
        three_state at = *s;
        for (int i = 0; i < 3 && k > 0; i++) {
            at.q[i] += c[k] * h * v[i];
            at.x[i] += c[k] * h * xd[i];
            at.v[i] += c[k] * h * qdd[i];
            at.xd[i] += c[k] * h * xdd[i];
        }
        three_rates(p, &at, qdd, xdd);
        for (int i = 0; i < 3; i++) {
            v[i] = at.v[i];
            xd[i] = at.xd[i];
            sum.q[i] += weight[k] * h * v[i];
            sum.x[i] += weight[k] * h * xd[i];
            sum.v[i] += weight[k] * h * qdd[i];
            sum.xd[i] += weight[k] * h * xdd[i];
        }
    }
    *s = sum;
}

#endif
