#include "tests/oracle/nearest_campaign.h"

#include <math.h>
#include <stdlib.h>

#include "rt/geometry/nurbs_nearest.h"
#include "tests/unit/nurbs_fixture.h"

#define REFINED    3  /* samples that the exhaustive search refines */
#define NEWTON     20 /* steps of it */
#define PAIR_GRID  16 /* samples of each shape of a pair along each direction */
#define PAIR_CELLS 100000
#define ROUNDING   1e-12 /* of the size: distances that differ by less are equal */
#define SUBSTEPS   16    /* of a followed step, for the check */
#define STEP       5e-4  /* of the size: a followed step */
#define SAME_FOOT  1e-6  /* of the size: feet nearer to one another are equal */

/* ---- surfaces -------------------------------------------------------------------------------- */

static gw_nurbs *surface(unsigned long long *seed, int i)
{
    if (i % 2)
        return random_bicubic(seed, 3 + i % 8, 0.05 + 0.02 * (i % 7));
    return random_nurbs(seed, i + 1); /* odd numbers of it are surfaces */
}

static gw_vec3 random_vector(unsigned long long *seed, double r)
{
    double x = gw_random_uniform(seed, -r, r), y = gw_random_uniform(seed, -r, r),
           z = gw_random_uniform(seed, -r, r);
    return gw_v3(x, y, z);
}

/* ---- exhaustive search ----------------------------------------------------------------------- */

typedef struct samples {
    int n;          /* along each direction */
    gw_vec3 *point; /* n x n */
} samples;

static double parameter_of(const gw_nurbs *s, int k, int i, int n)
{
    const gw_nurbs_direction *d = &s->direction[k];
    return d->low + (d->high - d->low) * i / (n - 1);
}

static void take_samples(const gw_nurbs *s, samples *all)
{
    gw_nurbs_span span = {{0, 0}};
    for (int i = 0; i < all->n; i++)
        for (int j = 0; j < all->n; j++) {
            double x[2] = {parameter_of(s, 0, i, all->n), parameter_of(s, 1, j, all->n)};
            gw_nurbs_point at;
            gw_nurbs_evaluate(s, x, 0, &span, &at);
            all->point[i * all->n + j] = at.d[0][0];
        }
}

/* Gradient and Hessian of half the squared distance, which is returned. */
static double half_square(const gw_nurbs *s, gw_vec3 to, const double x[2], double g[2],
                          double h[3])
{
    gw_nurbs_point at;
    gw_nurbs_evaluate(s, x, 2, NULL, &at);
    gw_vec3 d = gw_sub(at.d[0][0], to), u = at.d[1][0], v = at.d[0][1];
    g[0] = gw_dot(d, u);
    g[1] = gw_dot(d, v);
    h[0] = gw_dot(u, u) + gw_dot(d, at.d[2][0]);
    h[1] = gw_dot(u, v) + gw_dot(d, at.d[1][1]);
    h[2] = s->dimension == 2 ? gw_dot(v, v) + gw_dot(d, at.d[0][2]) : 1;
    return 0.5 * gw_dot(d, d);
}

static double within(const gw_nurbs_direction *d, double x)
{
    return fmin(d->high, fmax(d->low, x));
}

/* The distance of a point of the surface near x that is closer, by Newton's method with halved
 * steps: each iterate is a point of the surface, even without convergence. */
static double refined(const gw_nurbs *s, gw_vec3 to, double x[2])
{
    double g[2], h[3], now = half_square(s, to, x, g, h);
    for (int i = 0; i < NEWTON; i++) {
        double det = h[0] * h[2] - h[1] * h[1], y[2] = {-g[0], -g[1]}, share = 1;
        if (det > 0 && h[0] > 0) {
            y[0] = (h[1] * g[1] - h[2] * g[0]) / det;
            y[1] = (h[1] * g[0] - h[0] * g[1]) / det;
        }
        for (int halved = 0; halved < 12; halved++, share *= 0.5) {
            double next[2], gn[2], hn[3];
            for (int k = 0; k < 2; k++)
                next[k] = within(&s->direction[k], x[k] + share * y[k]);
            double there = half_square(s, to, next, gn, hn);
            if (!(there < now))
                continue;
            x[0] = next[0], x[1] = next[1], now = there;
            g[0] = gn[0], g[1] = gn[1];
            h[0] = hn[0], h[1] = hn[1], h[2] = hn[2];
            break;
        }
        if (share < 1e-3)
            break;
    }
    return sqrt(2 * now);
}

/* The distance, and the parameters of its point. */
static double exhaustive(const gw_nurbs *s, const samples *all, gw_vec3 to, double at[2])
{
    int best[REFINED], count = 0, total = all->n * all->n;
    double square[REFINED], least = HUGE_VAL;
    for (int i = 0; i < total; i++) {
        gw_vec3 d = gw_sub(all->point[i], to);
        double here = gw_dot(d, d);
        if (count == REFINED && here >= square[count - 1])
            continue;
        /* of neighbours only the closest */
        int near = -1;
        for (int k = 0; k < count; k++)
            if (abs(best[k] / all->n - i / all->n) + abs(best[k] % all->n - i % all->n) <= 4)
                near = k;
        if (near >= 0 && here >= square[near])
            continue;
        int to_place = near >= 0 ? near : count < REFINED ? count++ : count - 1;
        for (; to_place > 0 && square[to_place - 1] > here; to_place--)
            square[to_place] = square[to_place - 1], best[to_place] = best[to_place - 1];
        square[to_place] = here, best[to_place] = i;
    }
    for (int k = 0; k < count; k++) {
        double x[2] = {parameter_of(s, 0, best[k] / all->n, all->n),
                       parameter_of(s, 1, best[k] % all->n, all->n)};
        double here = refined(s, to, x);
        if (here < least)
            least = here, at[0] = x[0], at[1] = x[1];
    }
    return least;
}

static void query(const gw_nurbs *s, const samples *all, unsigned long long *seed,
                  nearest_findings *found)
{
    gw_vec3 middle = gw_scale(0.5, gw_add(s->bounds.low, s->bounds.high));
    gw_vec3 to = gw_add(middle, random_vector(seed, 0.8 * s->size));
    gw_nurbs_nearest nearest;
    gw_nurbs_nearest_point(s, to, &nearest);
    double at[2], least = exhaustive(s, all, to, at), more = (nearest.distance - least) / s->size;
    found->queries++;
    found->farther += more > ROUNDING;
    found->worst = fmax(found->worst, more);
    found->untrue += nearest.bound > least + ROUNDING * s->size;
    found->uncertain += nearest.bound < nearest.distance - 1.01e-9 * s->size;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static gw_vec3 point_at(const gw_nurbs *s, const double x[2])
{
    gw_nurbs_point at;
    gw_nurbs_evaluate(s, x, 0, NULL, &at);
    return at.d[0][0];
}

/* The distance of a pair of points, as near as searches on one shape for the point of the other
 * get: from the sample of a with the closest point of b, in turn. */
static double exhaustive_pair(const gw_nurbs *a, const samples *of_a, const gw_nurbs *b,
                              const samples *of_b, const gw_pose *a_from_b)
{
    double x[2] = {0, 0}, y[2] = {0, 0}, least = HUGE_VAL;
    gw_pose b_from_a = gw_pose_inverse(a_from_b);
    for (int i = 0; i < of_a->n * of_a->n; i++) {
        double at[2] = {0, 0};
        double here = exhaustive(b, of_b, gw_pose_point(&b_from_a, of_a->point[i]), at);
        if (!(here < least))
            continue;
        least = here, y[0] = at[0], y[1] = at[1];
        x[0] = parameter_of(a, 0, i / of_a->n, of_a->n);
        x[1] = parameter_of(a, 1, i % of_a->n, of_a->n);
    }
    for (double before = HUGE_VAL; least < before - ROUNDING * a->size;) {
        before = least;
        least = fmin(least, refined(a, gw_pose_point(a_from_b, point_at(b, y)), x));
        least = fmin(least, refined(b, gw_pose_point(&b_from_a, point_at(a, x)), y));
    }
    return least;
}

/* Curves and surfaces in random poses, apart or through one another. */
static void query_pair(unsigned long long *seed, int i, samples *of_a, samples *of_b,
                       nearest_findings *found)
{
    gw_nurbs *a = random_nurbs(seed, i), *b = random_nurbs(seed, i / 2);
    gw_vec3 turn = random_vector(seed, 2),
            middle_a = gw_scale(0.5, gw_add(a->bounds.low, a->bounds.high)),
            middle_b = gw_scale(0.5, gw_add(b->bounds.low, b->bounds.high));
    gw_pose pose = {middle_a, gw_quat_exp(turn)};
    pose.p = gw_add(pose.p, random_vector(seed, 0.6 * (a->size + b->size)));
    pose.p = gw_sub(pose.p, gw_rotate(pose.q, middle_b));
    take_samples(a, of_a);
    take_samples(b, of_b);
    gw_nurbs_pair nearest;
    gw_nurbs_nearest_pair(a, b, &pose, PAIR_CELLS, &nearest);
    gw_vec3 from = point_at(a, nearest.parameter[0]);
    gw_vec3 to = gw_pose_point(&pose, point_at(b, nearest.parameter[1]));
    double size = fmin(a->size, b->size), least = exhaustive_pair(a, of_a, b, of_b, &pose);
    found->pairs++;
    found->pairs_farther += nearest.distance > least + 1e-4 * size + ROUNDING * a->size;
    found->pairs_untrue += nearest.bound > least + ROUNDING * (a->size + b->size) ||
                           fabs(gw_distance(from, to) - nearest.distance) > 1e-9 * size;
    gw_nurbs_put(a);
    gw_nurbs_put(b);
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Newton's method on the foot's conditions from x, without safeguards; false if it does not
 * converge. */
static bool plain_newton(const gw_nurbs *s, gw_vec3 to, double x[2])
{
    for (int i = 0; i < NEWTON; i++) {
        double g[2], h[3];
        half_square(s, to, x, g, h);
        double det = h[0] * h[2] - h[1] * h[1];
        if (!(det > 0))
            return false;
        double y[2] = {(h[1] * g[1] - h[2] * g[0]) / det, (h[1] * g[0] - h[0] * g[1]) / det};
        x[0] += y[0], x[1] += y[1];
        if (fabs(y[0]) + fabs(y[1]) < 1e-11)
            return true;
    }
    return false;
}

typedef enum agreement { SAME, OTHER, UNKNOWN } agreement;

/* Whether small steps from `from` to `to` end at the foot `end`. */
static agreement same_branch(const gw_nurbs *s, gw_vec3 from, gw_vec3 to, const double start[2],
                             const double end[2])
{
    double x[2] = {start[0], start[1]};
    for (int i = 1; i <= SUBSTEPS; i++) {
        gw_vec3 at = gw_add(from, gw_scale((double)i / SUBSTEPS, gw_sub(to, from)));
        if (!plain_newton(s, at, x))
            return UNKNOWN;
    }
    return gw_distance(point_at(s, x), point_at(s, end)) < SAME_FOOT * s->size ? SAME : OTHER;
}

static void walk(const gw_nurbs *s, long steps, unsigned long long *seed, nearest_findings *found)
{
    double x[2];
    random_parameter(seed, s, x);
    gw_nurbs_span span = {{0, 0}};
    gw_nurbs_point at;
    gw_nurbs_evaluate(s, x, 2, &span, &at);
    gw_vec3 middle = gw_scale(0.5, gw_add(s->bounds.low, s->bounds.high));
    gw_vec3 to = gw_mul_add(at.d[0][0], 0.02 * s->size, gw_nurbs_normal(s, x, &at));
    gw_vec3 heading = gw_unit(gw_add(random_vector(seed, 1), gw_v3(1e-3, 0, 0)));
    bool regular = gw_nurbs_follow(s, to, x, &span, &at) == GW_NURBS_REGULAR;
    for (long i = 0; i < steps; i++) {
        gw_vec3 back = gw_scale(1 / s->size, gw_sub(middle, to));
        heading = gw_unit(gw_add(heading, random_vector(seed, 0.3)));
        heading = gw_unit(gw_mul_add(heading, 0.3 * gw_norm2(back), back));
        gw_vec3 next = gw_mul_add(to, STEP * s->size, heading);
        double start[2] = {x[0], x[1]};
        bool stays = gw_nurbs_follow(s, next, x, &span, &at) == GW_NURBS_REGULAR;
        found->steps++;
        found->events += !stays;
        agreement with = regular && stays ? same_branch(s, to, next, start, x) : UNKNOWN;
        found->checked += with != UNKNOWN;
        found->lost += with == OTHER;
        to = next;
        regular = stays;
    }
}

/* ---- the campaign ---------------------------------------------------------------------------- */

nearest_findings nearest_campaign_run(const nearest_campaign *c)
{
    assert(c->surfaces > 0 && c->grid * c->grid >= 2 * PAIR_GRID * PAIR_GRID);
    nearest_findings found = {0};
    unsigned long long seed = c->seed;
    samples all = {c->grid, malloc(sizeof(gw_vec3) * (size_t)(c->grid * c->grid))};
    assert(all.point);
    for (int i = 0; i < c->surfaces; i++) {
        gw_nurbs *s = surface(&seed, i);
        assert(s && s->dimension == 2);
        take_samples(s, &all);
        for (long k = 0; k < c->queries / c->surfaces; k++)
            query(s, &all, &seed, &found);
        walk(s, c->steps / c->surfaces, &seed, &found);
        gw_nurbs_put(s);
    }
    samples of_a = {PAIR_GRID, all.point}, of_b = {PAIR_GRID, all.point + PAIR_GRID * PAIR_GRID};
    for (int i = 0; i < c->pairs; i++)
        query_pair(&seed, i, &of_a, &of_b, &found);
    free(all.point);
    return found;
}
