/*
 * Random poses of a branch, and its parameters. Any thread, RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/random.h"
#include "rt/geometry/geodesic.h"
#include "rt/geometry/implicit_curve.h"
#include "rt/geometry/locus.h"
#include "rt/geometry/nurbs.h"
#include "rt/positioning/solver.h"

typedef unsigned long long random_state;

/* Uniform rotations: phi and theta uniform; on all of SO(3) sin(pitch) and the other angles
 * uniform.
 */
static void random_rotation(const gw_rotation_set *r, random_state *s, double *z)
{
    for (int i = 0; i < r->dof; i++)
        z[i] = gw_random_uniform(s, -GW_PI, GW_PI);
    if (r->kind == GW_ROTATION_FREE)
        z[1] = asin(gw_random_uniform(s, -1, 1));
}

/* Arc length on an ellipse is sqrt(a^2 sin^2 + b^2 cos^2) dz <= a dz: by rejection. */
static double random_ellipse(const gw_locus *l, random_state *s)
{
    double z, length;
    do {
        z = gw_random_uniform(s, -GW_PI, GW_PI);
        length = hypot(l->a * sin(z), l->b * cos(z));
    } while (gw_random_uniform(s, 0, l->a) > length);
    return z;
}

static void random_point(const gw_locus *l, double size, random_state *s, const double *about,
                         double *z)
{
    switch (l->kind) {
    case GW_LOCUS_SPHERE:
        z[0] = gw_random_uniform(s, -GW_PI, GW_PI);
        z[1] = acos(gw_random_uniform(s, -1, 1));
        break;
    case GW_LOCUS_CYLINDER:
        z[0] = about[0] + gw_random_uniform(s, -size, size);
        z[1] = gw_random_uniform(s, -GW_PI, GW_PI);
        break;
    case GW_LOCUS_CIRCLE:
        z[0] = gw_random_uniform(s, -GW_PI, GW_PI);
        break;
    case GW_LOCUS_ELLIPSE:
        z[0] = random_ellipse(l, s);
        break;
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE:
        for (int i = 0; i < gw_locus_dof(l->kind); i++) {
            const gw_nurbs_direction *d = &l->nurbs->direction[i];
            z[i] = gw_random_uniform(s, d->low, d->high);
        }
        break;
    case GW_LOCUS_FREE:
    case GW_LOCUS_PLANE:
    case GW_LOCUS_LINE:
    case GW_LOCUS_POINT:
    case GW_LOCUS_GENERAL:
        for (int i = 0; i < gw_locus_dof(l->kind); i++)
            z[i] = about[i] + gw_random_uniform(s, -size, size);
        break;
    }
}

/* Random lengths along a curve: a step of its trace with a probability proportional to its length,
 * and a uniform length within it. The steps are those of the whole curve if it is closed, else of
 * both directions, and within one size if it does not end, or is lost far away. */
static void sample_curve(const gw_submanifold *set, double size, random_state *s, int count,
                         double *lengths)
{
    double near[GW_MAX_SAMPLED] = {0}, length = 0, near_length = 0;
    bool gone = false, closed = false;
    for (int i = 0; i < count; i++)
        lengths[i] = 0;
    for (int way = 0; way < 2 && !closed; way++) {
        gw_submanifold followed = *set;
        gw_curve_walk w = gw_curve_walk_from_seed(&followed, way > 0);
        while (!closed && gw_curve_walk_step(&w)) {
            double step = w.to - w.from, sign = way ? -1 : 1;
            bool close = gw_distance(w.trace.x.p, set->seed.p) <= size;
            closed = w.status == GW_TRACE_CLOSED;
            length += step;
            near_length += close ? step : 0;
            for (int i = 0; i < count; i++) {
                if (gw_random_uniform(s, 0, length) < step)
                    lengths[i] = sign * gw_random_uniform(s, w.from, w.to);
                if (close && gw_random_uniform(s, 0, near_length) < step)
                    near[i] = sign * gw_random_uniform(s, w.from, w.to);
            }
        }
        gone |= w.status == GW_TRACE_UNBOUNDED ||
                (w.status == GW_TRACE_STUCK && gw_distance(w.trace.x.p, set->seed.p) > 10 * size);
    }
    if (gone)
        memcpy(lengths, near, (size_t)count * sizeof *lengths);
}

/* steps of a random walk over a general set: half the size each, all orientations reached */
#define WALK_STEPS 24

/* The end of a random walk: steps in the tangent space, projected back onto the rows. */
static gw_pose random_walk(const gw_submanifold *stated, double size, random_state *s)
{
    gw_submanifold followed = *stated, *set = &followed;
    gw_pose x = set->seed;
    for (int k = 0; k < WALK_STEPS; k++) {
        double basis[6][6], step[6] = {0};
        gw_rows_start_at(set->rows, set->row_count, &x);
        gw_submanifold_tangent(set, &x, size, basis);
        for (int i = 0; i < set->dof; i++) {
            double c = gw_random_uniform(s, -0.5, 0.5) * size;
            for (int j = 0; j < 6; j++)
                step[j] += c * basis[i][j];
        }
        gw_twist d = {{step[0], step[1], step[2]}, {step[3], step[4], step[5]}};
        gw_pose next = gw_pose_add(&x, &d);
        double off = gw_rows_project(set->rows, set->row_count, 6 - set->dof, size, 40, &next);
        if (off < 1e-11 * size && gw_distance(next.p, set->seed.p) < 3 * size &&
            gw_submanifold_contains(set, &next))
            x = next;
    }
    return x;
}

/* The exponential map of a random tangent: uniform directions, lengths that reach all orientations,
 * shortened where the set ends earlier or exceeds three sizes. If the seed is singular and no
 * tangent can be followed, a pose without parameters. */
static gw_branch_point random_geodesic(const gw_submanifold *set, double size, random_state *s)
{
    gw_branch_point x = {.pose = set->seed, .parameterised = true};
    double z[6], norm, unit = gw_exponential_map_unit(set);
    do {
        norm = 0;
        for (int i = 0; i < set->dof; i++) {
            z[i] = gw_random_uniform(s, -1, 1);
            norm += z[i] * z[i];
        }
    } while (norm > 1 || norm == 0);
    for (int tries = 0; tries < 8; tries++) {
        double scale = GW_PI * unit;
        for (int i = 0; i < set->dof; i++)
            x.parameters[i] = scale * z[i];
        if (gw_exponential_map(set, x.parameters, &x.pose) &&
            gw_distance(x.pose.p, set->seed.p) < 3 * fmax(unit, size))
            return x;
        double shorter = gw_random_uniform(s, 0.3, 0.9);
        for (int i = 0; i < set->dof; i++)
            z[i] *= shorter;
    }
    return (gw_branch_point){.pose = random_walk(set, size, s)};
}

#define REDRAWN 64 /* poses off a surface that is offset, in a row */

/* A pose of a set whose factors separate; false where another part of an offset surface is nearer
 * there. */
static bool draw_pose(const gw_submanifold *set, const double *about, double size, random_state *s,
                      double *z, gw_pose *x)
{
    int n = set->rotation.dof;
    random_rotation(&set->rotation, s, z);
    random_point(&set->translation.locus, size, s, about + n, z + n);
    *x = gw_submanifold_pose(set, z);
    return gw_rows_over_surfaces(set->rows, set->row_count, x);
}

/* A sample of such a set, drawn again while it is invalid. */
static gw_pose sample_factors(const gw_branch *branch, double size, random_state *s)
{
    double about[6], z[6];
    gw_pose x;
    gw_submanifold_parameters_at(&branch->set, &branch->nearest, about);
    for (int k = 0; k < REDRAWN; k++)
        if (draw_pose(&branch->set, about, size, s, z, &x))
            return x;
    return branch->nearest;
}

/* ---- nearest where an offset surface is overlapped ------------------------------------------ */

#define NEAREST_DRAWS 64
#define NEAREST_STEPS 16   /* at random, before they are halved */
#define LEAST_STEP    1e-9 /* of the parameters' ranges */

/* Parameters of a set about which nearer poses are searched; of a general set those of its
 * exponential map. */
typedef struct near_parameters {
    const gw_submanifold *set;
    double about[6];
    double low[6], range[6]; /* those of a shape begin at low, others anywhere */
} near_parameters;

static void near_parameters_of(const gw_submanifold *set, const gw_pose *about, double size,
                               near_parameters *n)
{
    const gw_locus *l = &set->translation.locus;
    bool shape = !set->general && (l->kind == GW_LOCUS_CURVE || l->kind == GW_LOCUS_SURFACE);
    n->set = set;
    if (!set->general)
        gw_submanifold_parameters_at(set, about, n->about);
    for (int i = 0; i < set->dof; i++) {
        bool turns = i < set->rotation.dof;
        n->low[i] = -INFINITY;
        n->range[i] = set->general ? GW_PI * gw_exponential_map_unit(set) : turns ? GW_PI : size;
        if (turns || !shape)
            continue;
        const gw_nurbs_direction *d = &l->nurbs->direction[i - set->rotation.dof];
        n->low[i] = d->low;
        n->range[i] = d->high - d->low;
    }
}

static bool draw_near(const near_parameters *n, double size, random_state *s, double *z, gw_pose *x)
{
    if (!n->set->general)
        return draw_pose(n->set, n->about, size, s, z, x);
    for (int i = 0; i < n->set->dof; i++)
        z[i] = n->range[i] * gw_random_uniform(s, -1, 1);
    return gw_exponential_map(n->set, z, x);
}

static bool step_near(const near_parameters *n, const double *from, double step, random_state *s,
                      double *z, gw_pose *x)
{
    for (int i = 0; i < n->set->dof; i++) {
        z[i] = from[i] + step * n->range[i] * gw_random_uniform(s, -1, 1);
        if (isfinite(n->low[i]))
            z[i] = fmin(n->low[i] + n->range[i], fmax(n->low[i], z[i]));
    }
    return n->set->general ? gw_exponential_map(n->set, z, x)
                           : gw_submanifold_try_pose(n->set, z, x);
}

/* Exact check of a candidate; samples are compared by a search of few cells. */
static bool is_nearer(gw_solver *solver, const gw_pose *x, double least)
{
    const gw_problem *p = solver->problem;
    return gw_pose_distance(x, &p->pose, p->length) < least &&
           gw_solver_residual(solver, x) <= GW_VERIFIED;
}

bool gw_nearest_over_surfaces(gw_solver *solver, const gw_submanifold *set, gw_pose *nearest)
{
    assert(solver && set && nearest);
    const gw_problem *p = solver->problem;
    near_parameters n;
    double z[6], best[6] = {0}, least = INFINITY;
    random_state random = 1;
    gw_pose x = set->seed;
    near_parameters_of(set, nearest, solver->size, &n);
    if (set->general && is_nearer(solver, &x, least)) {
        least = gw_pose_distance(&x, &p->pose, p->length);
        *nearest = x;
    }
    for (int k = 0; k < NEAREST_DRAWS && solver->work > 0; k++) {
        if (!draw_near(&n, solver->size, &random, z, &x) || !is_nearer(solver, &x, least))
            continue;
        least = gw_pose_distance(&x, &p->pose, p->length);
        *nearest = x;
        memcpy(best, z, sizeof best);
    }
    for (double step = 0.25; isfinite(least) && step > LEAST_STEP && solver->work > 0;) {
        bool closer = false;
        for (int k = 0; k < NEAREST_STEPS && !closer; k++) {
            closer = step_near(&n, best, step, &random, z, &x) && is_nearer(solver, &x, least);
            if (!closer)
                continue;
            least = gw_pose_distance(&x, &p->pose, p->length);
            *nearest = x;
            memcpy(best, z, sizeof best);
        }
        step *= closer ? 1 : 0.5;
    }
    return isfinite(least);
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* A branch's set whose work on free-form shapes counts in *work; during a solution it counts in the
 * solver's. */
static gw_submanifold counted_set(const gw_branch *branch, long *work)
{
    gw_submanifold set = branch->set;
    bool counted = false;
    for (int i = 0; i < set.row_count; i++)
        counted |= set.rows[i].work != NULL;
    if (!counted)
        gw_submanifold_count_work(&set, work);
    return set;
}

static bool pose_at(const gw_submanifold *set, const double *z, gw_pose *pose)
{
    if (!set->general)
        return gw_submanifold_try_pose(set, z, pose) &&
               gw_rows_over_surfaces(set->rows, set->row_count, pose);
    return set->dof == 1 ? gw_implicit_curve_pose(set, z[0], pose)
                         : gw_exponential_map(set, z, pose);
}

bool gw_branch_pose(const gw_branch *branch, const double *z, gw_pose *pose)
{
    long work = GW_MAX_FREE_FORM_WORK;
    const gw_submanifold set = counted_set(branch, &work);
    return pose_at(&set, z, pose);
}

/* The parameters of a pose on a set that has factors, or one freedom. */
static gw_branch_point point_at(const gw_submanifold *set, const gw_pose *pose)
{
    gw_branch_point x = {.pose = *pose, .parameterised = true};
    gw_submanifold_parameters_at(set, pose, x.parameters);
    if (set->general && set->dof == 1)
        x.parameterised = gw_implicit_curve_length(set, pose, x.parameters);
    return x;
}

gw_branch_point gw_branch_nearest(const gw_branch *branch)
{
    long work = GW_MAX_FREE_FORM_WORK;
    const gw_submanifold set = counted_set(branch, &work);
    return point_at(&set, &branch->nearest);
}

double gw_branch_nearest_to(const gw_branch *branch, const gw_pose *near, double length,
                            gw_pose *pose)
{
    long work = GW_MAX_FREE_FORM_WORK;
    const gw_submanifold set = counted_set(branch, &work);
    return gw_submanifold_nearest(&set, near, length, pose);
}

void gw_branch_curve(const gw_branch *branch, const gw_pose *from, int freedom, double length,
                     double step, int most, gw_coordinate_curve *curve)
{
    assert(branch && branch->set.dof > 0);
    long work = GW_MAX_FREE_FORM_WORK / branch->set.dof; /* a share each */
    const gw_submanifold set = counted_set(branch, &work);
    gw_coordinate_curve_along(&set, from, freedom, length, step, most, curve);
}

/* ---- samples -------------------------------------------------------------------------------- */

void gw_branch_samples(const gw_branch *branch, double size, unsigned long long *random, int count,
                       gw_branch_point *points)
{
    assert(count >= 0 && count <= GW_MAX_SAMPLED && size > 0);
    long work = GW_MAX_FREE_FORM_WORK;
    const gw_submanifold counted = counted_set(branch, &work), *set = &counted;
    double lengths[GW_MAX_SAMPLED];
    bool curve = set->general && set->dof == 1;
    if (curve)
        sample_curve(set, size, random, count, lengths);
    for (int i = 0; i < count; i++) {
        if (curve) {
            points[i] = (gw_branch_point){.parameters = {lengths[i]}};
            points[i].parameterised = pose_at(set, points[i].parameters, &points[i].pose);
        } else if (set->general) {
            work = GW_MAX_FREE_FORM_WORK / count; /* a share each: none takes that of the others */
            points[i] = random_geodesic(set, size, random);
        } else {
            gw_pose x = sample_factors(branch, size, random);
            points[i] = point_at(set, &x);
        }
    }
}

gw_pose gw_branch_sample(const gw_branch *branch, double size, unsigned long long *random)
{
    assert(branch && size > 0 && random);
    gw_branch_point x;
    gw_branch_samples(branch, size, random, 1, &x);
    return x.pose;
}
