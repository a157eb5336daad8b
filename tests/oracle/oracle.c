/*
 * Constraints as equations, and their roots by brute force. The equations of directions along one
 * another are differences of vectors where the sense is said, and a cross product where it is open;
 * of points that meet, differences of coordinates: smooth at the root, whatever the starts.
 * Single-threaded; no allocation.
 */
#include "tests/oracle/oracle.h"
#include "tests/random.h"

#include <string.h>

#define MOST_EQUATIONS (6 * GW_MAX_PROBLEM)
#define ALONG          6e-8 /* angles so near 0 or pi are meant as these (rt/positioning README) */

/* ---- poses --------------------------------------------------------------------------------- */

/* q v q*, by the matrix of q. */
static gw_vec3 turned(gw_quat q, gw_vec3 v)
{
    double n = 2 / (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    double xx = n * q.x * q.x, yy = n * q.y * q.y, zz = n * q.z * q.z;
    double xy = n * q.x * q.y, xz = n * q.x * q.z, yz = n * q.y * q.z;
    double wx = n * q.w * q.x, wy = n * q.w * q.y, wz = n * q.w * q.z;
    return gw_v3((1 - yy - zz) * v.x + (xy - wz) * v.y + (xz + wy) * v.z,
                 (xy + wz) * v.x + (1 - xx - zz) * v.y + (yz - wx) * v.z,
                 (xz - wy) * v.x + (yz + wx) * v.y + (1 - xx - yy) * v.z);
}

static gw_quat product(gw_quat a, gw_quat b)
{
    gw_quat q = {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                 a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                 a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                 a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
    double n = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return (gw_quat){q.w / n, q.x / n, q.y / n, q.z / n};
}

/* x moved by s: three metres of the origin, three metres (turn times size) of world turn. */
static gw_pose moved(const gw_pose *x, const double s[6], double size)
{
    gw_vec3 half = {s[3] / (2 * size), s[4] / (2 * size), s[5] / (2 * size)};
    double h = gw_norm(half), k = h > 1e-9 ? sin(h) / h : 1;
    gw_quat turn = {cos(h), k * half.x, k * half.y, k * half.z};
    return (gw_pose){gw_add(x->p, gw_v3(s[0], s[1], s[2])), product(turn, x->q)};
}

static gw_element seen(const gw_pose *x, const gw_element *e)
{
    return (gw_element){
        .kind = e->kind, .p = gw_add(turned(x->q, e->p), x->p), .d = turned(x->q, e->d)};
}

double oracle_distance(const gw_pose *a, const gw_pose *b, double length)
{
    gw_quat d = product((gw_quat){a->q.w, -a->q.x, -a->q.y, -a->q.z}, b->q);
    double turn = 2 * atan2(sqrt(d.x * d.x + d.y * d.y + d.z * d.z), fabs(d.w));
    return hypot(gw_distance(a->p, b->p), length * turn);
}

double oracle_size(const gw_problem *p)
{
    double size = 1e-4 * p->length;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        if (c->kind != GW_DISTANCE && c->kind != GW_COINCIDENT)
            continue;
        size = fmax(size, fmax(gw_norm(c->mobile.p), gw_norm(c->fixed.p)));
        if (c->kind == GW_DISTANCE)
            size = fmax(size, fabs(c->value));
    }
    return size;
}

/* ---- what a constraint asks ------------------------------------------------------------------ */

/* How the directions of a constraint are related. */
typedef enum relation { UNRELATED, ALONG_EACH_OTHER, ACROSS, AT_ANGLE } relation;

/* The relation; the sense and the angle between the directions where these are asked for. */
static relation relation_of(const gw_constraint *c, gw_sense *sense, double *turn)
{
    bool alike = c->mobile.kind == c->fixed.kind;
    *sense = c->sense;
    *turn = 0;
    if (c->mobile.kind == GW_POINT || c->fixed.kind == GW_POINT)
        return UNRELATED;
    if (c->kind == GW_PERPENDICULAR)
        return alike ? ACROSS : ALONG_EACH_OTHER;
    if (c->kind != GW_ANGLE)
        return alike ? ALONG_EACH_OTHER : ACROSS;
    *turn = alike ? c->value : GW_PI / 2 - c->value;
    if (*turn > ALONG && *turn < GW_PI - ALONG)
        return AT_ANGLE;
    *sense = *turn < 1 ? GW_SAME : GW_OPPOSITE;
    return ALONG_EACH_OTHER;
}

/* From the element that has an extent (the fixed one first) to the other's point; its direction. */
static gw_vec3 gap_of(const gw_constraint *c, const gw_element *m, gw_vec3 *along,
                      gw_element_kind *kind)
{
    const gw_element *f = &c->fixed;
    bool from_fixed = f->kind > m->kind || (f->kind == m->kind && !c->reversed);
    const gw_element *a = from_fixed ? f : m, *b = from_fixed ? m : f;
    *along = a->d;
    *kind = a->kind;
    return gw_sub(b->p, a->p);
}

double oracle_error(const gw_constraint *c, const gw_pose *x, double size)
{
    gw_element m = seen(x, &c->mobile);
    gw_sense sense;
    double turn, off = 0, wanted = c->kind == GW_DISTANCE ? c->value : 0;
    relation r = relation_of(c, &sense, &turn);
    double between = gw_angle_between(m.d, c->fixed.d);
    if (r == ACROSS)
        off = fabs(between - GW_PI / 2);
    else if (r == AT_ANGLE)
        off = fabs(between - turn);
    else if (r == ALONG_EACH_OTHER)
        off = sense == GW_SAME       ? between
              : sense == GW_OPPOSITE ? GW_PI - between
                                     : fmin(between, GW_PI - between);
    double worst = size * off;
    if (c->kind == GW_DISTANCE || c->kind == GW_COINCIDENT) {
        gw_vec3 d;
        gw_element_kind kind;
        gw_vec3 gap = gap_of(c, &m, &d, &kind);
        double far = kind == GW_POINT  ? gw_norm(gap)
                     : kind == GW_LINE ? gw_norm(gw_cross(gap, d))
                                       : gw_dot(gap, d);
        worst = fmax(worst, fabs(far - wanted));
        if (isnan(far))
            return HUGE_VAL;
    }
    return isnan(worst) || isnan(off) ? HUGE_VAL : worst;
}

double oracle_worst(const gw_problem *p, unsigned long use, double size, const gw_pose *x,
                    int *worst)
{
    double most = 0;
    for (int i = 0; i < p->count; i++) {
        double e = use >> i & 1 ? oracle_error(&p->constraints[i], x, size) / size : 0;
        if (e > most) {
            most = e;
            if (worst)
                *worst = i;
        }
    }
    return most;
}

/* ---- as equations ---------------------------------------------------------------------------- */

static int put(double *out, gw_vec3 v, double scale)
{
    out[0] = scale * v.x, out[1] = scale * v.y, out[2] = scale * v.z;
    return 3;
}

static int direction_equations(const gw_constraint *c, const gw_element *m, double size,
                               double *out)
{
    gw_sense sense;
    double turn;
    switch (relation_of(c, &sense, &turn)) {
    case ACROSS:
        out[0] = size * gw_dot(m->d, c->fixed.d);
        return 1;
    case AT_ANGLE:
        out[0] = size * (gw_angle_between(m->d, c->fixed.d) - turn);
        return 1;
    case ALONG_EACH_OTHER:
        return sense == GW_EITHER ? put(out, gw_cross(m->d, c->fixed.d), size)
               : sense == GW_SAME ? put(out, gw_sub(m->d, c->fixed.d), size)
                                  : put(out, gw_add(m->d, c->fixed.d), size);
    default:
        return 0;
    }
}

/* A distance of no more than round-off is a coincidence: as such it is smooth at its root. */
static int place_equations(const gw_constraint *c, const gw_element *m, double size, double *out)
{
    if (c->kind != GW_DISTANCE && c->kind != GW_COINCIDENT)
        return 0;
    gw_vec3 d;
    gw_element_kind kind;
    gw_vec3 gap = gap_of(c, m, &d, &kind);
    double wanted = c->kind == GW_DISTANCE ? c->value : 0;
    if (kind == GW_PLANE) {
        out[0] = gw_dot(gap, d) - wanted;
        return 1;
    }
    if (kind == GW_LINE)
        gap = gw_reject(gap, d);
    if (wanted < 1e-12 * size)
        return put(out, gap, 1);
    out[0] = gw_norm(gap) - wanted;
    return 1;
}

/* All equations of `use` at a pose (m); how many. */
static int equations(const gw_problem *p, unsigned long use, double size, const gw_pose *x,
                     double *out)
{
    int n = 0;
    for (int i = 0; i < p->count; i++) {
        if (!(use >> i & 1))
            continue;
        gw_element m = seen(x, &p->constraints[i].mobile);
        n += direction_equations(&p->constraints[i], &m, size, out + n);
        n += place_equations(&p->constraints[i], &m, size, out + n);
    }
    return n;
}

typedef struct system {
    int count;
    double h[MOST_EQUATIONS], a[MOST_EQUATIONS][6];
    double sum; /* of squares of h */
} system_at;

/* Values at x, and where `slopes` is set, central differences of them. */
static void take(const gw_problem *p, unsigned long use, double size, const gw_pose *x, bool slopes,
                 system_at *s)
{
    const double step = 2e-5 * size;
    double ahead[MOST_EQUATIONS], behind[MOST_EQUATIONS];
    s->count = equations(p, use, size, x, s->h);
    s->sum = 0;
    for (int r = 0; r < s->count; r++)
        s->sum += s->h[r] * s->h[r];
    for (int k = 0; k < 6 && slopes; k++) {
        double d[6] = {0};
        d[k] = step;
        gw_pose y = moved(x, d, size);
        equations(p, use, size, &y, ahead);
        d[k] = -step;
        y = moved(x, d, size);
        equations(p, use, size, &y, behind);
        for (int r = 0; r < s->count; r++)
            s->a[r][k] = (ahead[r] - behind[r]) / (2 * step);
    }
}

/* N = A^T A, g = A^T h. */
static void normal_equations(const system_at *s, double n[6][6], double g[6])
{
    memset(n, 0, sizeof(double[6][6]));
    memset(g, 0, sizeof(double[6]));
    for (int r = 0; r < s->count; r++)
        for (int i = 0; i < 6; i++) {
            g[i] += s->a[r][i] * s->h[r];
            for (int j = 0; j < 6; j++)
                n[i][j] += s->a[r][i] * s->a[r][j];
        }
}

/* (N + raise I) x = g by elimination; false where that breaks down. */
static bool solved(double n[6][6], double raise, const double g[6], double x[6])
{
    double m[6][7];
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++)
            m[i][j] = n[i][j] + (i == j ? raise : 0);
        m[i][6] = g[i];
    }
    for (int k = 0; k < 6; k++) {
        if (!(m[k][k] > 0))
            return false;
        for (int i = k + 1; i < 6; i++)
            for (int j = 6; j >= k; j--)
                m[i][j] -= m[i][k] / m[k][k] * m[k][j];
    }
    for (int k = 5; k >= 0; k--) {
        x[k] = m[k][6];
        for (int j = k + 1; j < 6; j++)
            x[k] -= m[k][j] * x[j];
        x[k] /= m[k][k];
    }
    return true;
}

double oracle_settle(const gw_problem *p, unsigned long use, double size, gw_pose *x)
{
    static system_at at, there;
    double n[6][6], g[6], step[6], raise = 1e-2;
    take(p, use, size, x, true, &at);
    for (int k = 0; k < 120 && at.sum > 1e-30 * size * size && raise < 1e9; k++) {
        normal_equations(&at, n, g);
        if (solved(n, raise, g, step)) {
            for (int i = 0; i < 6; i++)
                step[i] = -step[i];
            gw_pose next = moved(x, step, size);
            take(p, use, size, &next, false, &there);
            if (there.sum < at.sum) {
                double gained = at.sum - there.sum;
                *x = next;
                if (gained < 1e-7 * at.sum && at.sum > 1e-12 * size * size)
                    break; /* a minimum that is no root */
                take(p, use, size, x, true, &at);
                raise = fmax(raise * 0.1, 1e-14);
                continue;
            }
        }
        raise *= 8;
    }
    return oracle_worst(p, use, size, x, NULL);
}

/* ---- rank and dimension ---------------------------------------------------------------------- */

/* Eigenvalues of a symmetric matrix by Jacobi's rotations. */
static void eigenvalues(double n[6][6], double values[6])
{
    for (int sweep = 0; sweep < 30; sweep++)
        for (int i = 0; i < 6; i++)
            for (int j = i + 1; j < 6; j++) {
                if (n[i][j] == 0)
                    continue;
                double t = (n[j][j] - n[i][i]) / (2 * n[i][j]);
                t = (t >= 0 ? 1 : -1) / (fabs(t) + sqrt(t * t + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 6; k++) {
                    double a = n[k][i], b = n[k][j];
                    n[k][i] = c * a - s * b, n[k][j] = s * a + c * b;
                }
                for (int k = 0; k < 6; k++) {
                    double a = n[i][k], b = n[j][k];
                    n[i][k] = c * a - s * b, n[j][k] = s * a + c * b;
                }
            }
    for (int i = 0; i < 6; i++)
        values[i] = n[i][i];
}

int oracle_nullity(const gw_problem *p, double size, const gw_pose *x)
{
    static system_at at;
    double n[6][6], g[6], values[6], most = 1;
    int rank = 0;
    take(p, ~0ul, size, x, true, &at);
    normal_equations(&at, n, g);
    eigenvalues(n, values);
    for (int i = 0; i < 6; i++)
        most = fmax(most, values[i]);
    for (int i = 0; i < 6; i++)
        rank += values[i] > 1e-10 * most;
    return 6 - rank;
}

int oracle_dimension(const gw_problem *p, double size, double reach, const gw_pose *x,
                     unsigned long long *random)
{
    enum { AROUND = 16 };
    double n[6][6] = {{0}}, values[6];
    int count = 0, dimension = 0;
    /* where x itself is as good as the solver's tolerance only, so is what is around it */
    double good = fmax(ORACLE_ROOT, 2 * oracle_worst(p, ~0ul, size, x, NULL));
    for (int k = 0; k < AROUND; k++) {
        double s[6];
        for (int i = 0; i < 6; i++)
            s[i] = random_uniform(random, -reach, reach) * size;
        gw_pose y = moved(x, s, size);
        if (oracle_settle(p, ~0ul, size, &y) > good ||
            oracle_distance(x, &y, size) > 6 * reach * size)
            continue;
        gw_vec3 dp = gw_sub(y.p, x->p);
        gw_quat t = product(y.q, (gw_quat){x->q.w, -x->q.x, -x->q.y, -x->q.z});
        double k2 = (t.w < 0 ? -2 : 2) / reach, k1 = 1 / (reach * size);
        double d[6] = {k1 * dp.x, k1 * dp.y, k1 * dp.z, k2 * t.x, k2 * t.y, k2 * t.z};
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                n[i][j] += d[i] * d[j];
        count++;
    }
    if (count < AROUND / 2)
        return -1;
    eigenvalues(n, values);
    for (int i = 0; i < 6; i++)
        dimension += values[i] > 4e-3 * count;
    return dimension;
}

/* ---- roots ----------------------------------------------------------------------------------- */

static gw_quat random_turn(unsigned long long *random)
{
    double a = random_uniform(random, 0, 1), b = random_uniform(random, 0, 2 * GW_PI),
           d = random_uniform(random, 0, 2 * GW_PI);
    return (gw_quat){sqrt(1 - a) * cos(b), sqrt(1 - a) * sin(b), sqrt(a) * cos(d),
                     sqrt(a) * sin(d)};
}

/* A pose that has some body point within a size of its counterpart. */
static gw_pose random_start(const gw_problem *p, double size, unsigned long long *random)
{
    gw_pose x = {{0, 0, 0}, random_turn(random)};
    int i = p->count ? (int)random_uniform(random, 0, p->count) : 0;
    gw_vec3 off = {random_uniform(random, -size, size), random_uniform(random, -size, size),
                   random_uniform(random, -size, size)};
    if (p->count) {
        const gw_constraint *c = &p->constraints[i];
        off = gw_add(off, gw_sub(c->fixed.p, turned(x.q, c->mobile.p)));
    }
    x.p = off;
    return x;
}

int oracle_roots(const gw_problem *p, unsigned long use, double size, int starts,
                 unsigned long long *random, gw_pose *roots, int most)
{
    int count = 0;
    for (int k = 0; k < starts && count < most; k++) {
        gw_pose x = random_start(p, size, random);
        if (oracle_settle(p, use, size, &x) > ORACLE_ROOT)
            continue;
        bool known = false;
        for (int i = 0; i < count && !known; i++)
            known = oracle_distance(&roots[i], &x, size) < 1e-5 * size;
        if (!known)
            roots[count++] = x;
    }
    return count;
}
