/*
 * Curves and surfaces from points and curves. Not for use inside a tick.
 */
#include <assert.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#include "rt/geometry/nurbs_build.h"
#include "rt/geometry/nurbs_nearest.h"

static gw_nurbs *no_memory(gw_error *error)
{
    gw_fail(error, GW_FAILED, "", "no memory for a curve or surface");
    return NULL;
}

/* ---- least squares -------------------------------------------------------------------------- */

/* The degree + 1 basis functions of span `span` at u (Cox, de Boor). */
static void basis_at(const double *knots, int degree, int span, double u, double *values)
{
    double left[GW_MAX_NURBS_DEGREE + 1], right[GW_MAX_NURBS_DEGREE + 1];
    values[0] = 1;
    for (int d = 1; d <= degree; d++) {
        double saved = 0;
        left[d] = u - knots[span + 1 - d];
        right[d] = knots[span + d] - u;
        for (int r = 0; r < d; r++) {
            double share = values[r] / (right[r + 1] + left[d - r]);
            values[r] = saved + right[r + 1] * share;
            saved = left[d - r] * share;
        }
        values[d] = saved;
    }
}

/* Clamped knots on 0 .. 1, an even share of the parameters in each span, so that the support of
 * each basis function contains one (Schoenberg and Whitney). */
static void place_knots(int sampled, const double *parameters, int count, int degree, double *knots)
{
    for (int i = 0; i <= degree; i++)
        knots[i] = 0, knots[count + i] = 1;
    for (int j = 1; j < count - degree; j++) {
        if (sampled == count) { /* de Boor's averages */
            double sum = 0;
            for (int i = j; i < j + degree; i++)
                sum += parameters[i];
            knots[degree + j] = sum / degree;
            continue;
        }
        double at = (double)j * sampled / (count - degree);
        int i = (int)at;
        double share = at - i;
        knots[degree + j] = (1 - share) * parameters[i - 1] + share * parameters[i];
    }
}

/*
 * Fits several curves at once: `data` has `width` numbers of each sample, `points` as many of each
 * control point. The first and last points are those of the data; the others minimise |N P - Q|
 * (QR). False if memory is exhausted or the samples do not determine them.
 */
static bool fit_lines(int sampled, const double *parameters, int count, int degree,
                      const double *knots, int width, const double *data, double *points)
{
    int rows = sampled - 2, columns = count - 2, span = degree;
    memcpy(points, data, (size_t)width * sizeof *points);
    memcpy(points + (count - 1) * width, data + (sampled - 1) * width,
           (size_t)width * sizeof *points);
    if (columns == 0)
        return true;
    double *n = calloc((size_t)rows * (size_t)columns, sizeof *n);
    double *q = calloc((size_t)rows * (size_t)width, sizeof *q);
    bool done = n && q;
    for (int k = 0; done && k < rows; k++) {
        double u = parameters[k + 1], values[GW_MAX_NURBS_DEGREE + 1];
        while (span < count - 1 && u >= knots[span + 1])
            span++;
        basis_at(knots, degree, span, u, values);
        for (int c = 0; c < width; c++)
            q[c * rows + k] = data[(k + 1) * width + c];
        for (int i = 0; i <= degree; i++) {
            int at = span - degree + i;
            if (at > 0 && at < count - 1)
                n[(at - 1) * rows + k] = values[i];
            else
                for (int c = 0; c < width; c++)
                    q[c * rows + k] -= values[i] * points[at * width + c];
        }
    }
    done =
        done && LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', rows, columns, width, n, rows, q, rows) == 0;
    for (int i = 0; done && i < columns; i++)
        for (int c = 0; c < width; c++)
            points[(i + 1) * width + c] = q[c * rows + i];
    free(n);
    free(q);
    return done;
}

/* Parameters 0 .. 1 of the samples of one direction, the mean of all lines along it: steps as the
 * square roots of the chords. False: two neighbours coincide on every line. */
static bool choose_parameters(const gw_nurbs_fit *f, int direction, double *parameters)
{
    int count = f->sampled[direction], lines = f->dimension == 2 ? f->sampled[1 - direction] : 1;
    int across = f->dimension == 2 ? f->sampled[1] : 1;
    memset(parameters, 0, (size_t)count * sizeof *parameters);
    for (int l = 0; l < lines; l++) {
        double whole = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int k = 1; k < count; k++) {
                int at = direction == 0 ? k * across + l : l * across + k;
                int before = direction == 0 ? at - across : at - 1;
                double chord = sqrt(gw_distance(f->points[at], f->points[before]));
                if (pass == 0)
                    whole += chord;
                else if (whole > 0)
                    parameters[k] += chord / whole;
            }
    }
    for (int k = 1; k < count; k++) {
        if (!(parameters[k] > 0))
            return false;
        parameters[k] += parameters[k - 1];
    }
    for (int k = 1; k < count; k++)
        parameters[k] /= parameters[count - 1];
    return true;
}

static bool check_fit(const gw_nurbs_fit *f, gw_error *error)
{
    for (int d = 0; d < f->dimension; d++) {
        const char *along = f->dimension == 1 ? "" : d == 0 ? " along u" : " along v";
        if (f->sampled[d] < 2)
            return gw_fail(error, GW_BAD_INPUT, "/points", "at least two points%s are wanted",
                           along);
        if (f->degree[d] < 1 || f->degree[d] > GW_MAX_NURBS_DEGREE || f->degree[d] >= f->sampled[d])
            return gw_fail(error, GW_BAD_INPUT, "/degree",
                           "%d%s must be 1 to %d, and less than the %d points there", f->degree[d],
                           along, GW_MAX_NURBS_DEGREE, f->sampled[d]);
        if (f->count[d] <= f->degree[d] || f->count[d] > f->sampled[d])
            return gw_fail(error, GW_BAD_INPUT, "/count",
                           "%d control points%s must be %d (the degree and one) to %d (the points)",
                           f->count[d], along, f->degree[d] + 1, f->sampled[d]);
    }
    return true;
}

gw_nurbs *gw_nurbs_fit_points(const gw_nurbs_fit *f, gw_error *error)
{
    int across = f->dimension == 2 ? f->sampled[1] : 1,
        columns = f->dimension == 2 ? f->count[1] : 1;
    gw_nurbs *shape = NULL;
    assert(f->dimension == 1 || f->dimension == 2);
    if (!check_fit(f, error))
        return NULL;
    double *parameters[2] = {NULL, NULL}, *knots[2] = {NULL, NULL};
    size_t half = (size_t)f->count[0] * (size_t)across * 3;
    double *along_u = malloc(half * sizeof *along_u);
    double *turned = malloc(half * sizeof *turned), *fitted = malloc(half * sizeof *fitted);
    bool done = along_u && turned && fitted, apart = true;
    for (int d = 0; done && d < f->dimension; d++) {
        parameters[d] = malloc((size_t)f->sampled[d] * sizeof *parameters[d]);
        knots[d] = malloc((size_t)(f->count[d] + f->degree[d] + 1) * sizeof *knots[d]);
        done = parameters[d] && knots[d];
        apart = done && apart && choose_parameters(f, d, parameters[d]);
        if (apart)
            place_knots(f->sampled[d], parameters[d], f->count[d], f->degree[d], knots[d]);
    }
    if (done && !apart)
        gw_fail(error, GW_BAD_INPUT, "/points", "neighbouring points coincide");
    done = done && apart;
    bool solved =
        done && fit_lines(f->sampled[0], parameters[0], f->count[0], f->degree[0], knots[0],
                          3 * across, (const double *)(const void *)f->points, along_u);
    if (solved && f->dimension == 2) { /* the same across, lines as columns */
        for (int i = 0; i < f->count[0]; i++)
            for (int j = 0; j < across; j++)
                memcpy(turned + 3 * (j * f->count[0] + i), along_u + 3 * (i * across + j),
                       3 * sizeof *turned);
        solved = fit_lines(across, parameters[1], columns, f->degree[1], knots[1], 3 * f->count[0],
                           turned, fitted);
        for (int i = 0; solved && i < f->count[0]; i++)
            for (int j = 0; j < columns; j++)
                memcpy(along_u + 3 * (i * columns + j), fitted + 3 * (j * f->count[0] + i),
                       3 * sizeof *along_u);
    }
    if (solved) {
        gw_nurbs_def def = {.dimension = f->dimension,
                            .points = (const gw_vec3 *)(const void *)along_u};
        for (int d = 0; d < f->dimension; d++) {
            def.degree[d] = f->degree[d], def.count[d] = f->count[d];
            def.knots[d] = knots[d], def.knot_count[d] = f->count[d] + f->degree[d] + 1;
        }
        shape = gw_nurbs_create(&def, error);
    } else if (apart) {
        no_memory(error);
    }
    for (int d = 0; d < 2; d++) {
        free(parameters[d]);
        free(knots[d]);
    }
    free(along_u);
    free(turned);
    free(fitted);
    return shape;
}

double gw_nurbs_deviation(const gw_nurbs *nurbs, int count, const gw_vec3 *points)
{
    assert(nurbs && count >= 0 && points);
    double worst = 0;
    for (int i = 0; i < count; i++) {
        gw_nurbs_nearest nearest;
        gw_nurbs_nearest_point(nurbs, points[i], &nearest);
        worst = fmax(worst, nearest.distance);
    }
    return worst;
}

/* ---- sections ------------------------------------------------------------------------------- */

/* The curve with parameters from 0 to 1, clamped and of this degree. */
static gw_nurbs *standard_curve(const gw_nurbs *curve, int degree, gw_error *error)
{
    const gw_nurbs_direction *d = &curve->direction[0];
    size_t knots = (size_t)(d->count + d->degree + 1);
    double *mapped = malloc(knots * sizeof *mapped);
    if (!mapped)
        return no_memory(error);
    for (size_t i = 0; i < knots; i++)
        mapped[i] = (d->knots[i] - d->low) / (d->high - d->low);
    gw_nurbs *now = gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                                    .degree = {d->degree},
                                                    .count = {d->count},
                                                    .knot_count = {(int)knots},
                                                    .knots = {mapped},
                                                    .points = curve->stated,
                                                    .weights = curve->weights,
                                                    .trimmed = {d->trimmed},
                                                    .trim = {{0, 1}}},
                                    error);
    free(mapped);
    /* inserting no knots clamps the curve */
    for (bool first = true; now && (first || now->direction[0].degree < degree); first = false) {
        gw_nurbs *next = first && now->direction[0].degree == degree
                             ? gw_nurbs_insert_knots(now, 0, 0, NULL, error)
                             : gw_nurbs_elevate(now, 0, error);
        gw_nurbs_put(now);
        now = next;
    }
    return now;
}

/* The multiplicity of an inner knot of a clamped curve. */
static int knot_multiplicity(const gw_nurbs_direction *d, double knot)
{
    int n = 0;
    for (int i = d->degree + 1; i < d->count; i++)
        n += fabs(d->knots[i] - knot) < 1e-12;
    return n;
}

/* The curve refined by all inner knots of `other` that it has with a lower multiplicity. */
static gw_nurbs *with_knots_of(gw_nurbs *curve, const gw_nurbs *other, gw_error *error)
{
    const gw_nurbs_direction *d = &other->direction[0];
    double *more = malloc((size_t)d->count * sizeof *more);
    int count = 0;
    for (int i = d->degree + 1; more && i < d->count; i++) {
        int given = 0;
        for (int k = 0; k < count; k++)
            given += fabs(more[k] - d->knots[i]) < 1e-12;
        if (given + knot_multiplicity(&curve->direction[0], d->knots[i]) <
            knot_multiplicity(d, d->knots[i]))
            more[count++] = d->knots[i];
    }
    gw_nurbs *refined =
        more ? gw_nurbs_insert_knots(curve, 0, count, more, error) : no_memory(error);
    free(more);
    return refined;
}

/* Parameters of the sections: the mean over control points, by the square roots of the chords. */
static bool choose_section_parameters(int count, gw_nurbs *const *sections, double *parameters)
{
    int n = sections[0]->direction[0].count;
    gw_vec3 *points = malloc((size_t)(count * n) * sizeof *points);
    if (!points)
        return false;
    for (int k = 0; k < count; k++)
        memcpy(points + k * n, sections[k]->stated, (size_t)n * sizeof *points);
    gw_nurbs_fit along = {.dimension = 2, .sampled = {count, n}, .points = points};
    bool apart = choose_parameters(&along, 0, parameters);
    free(points);
    return apart;
}

/* The surface through sections that share their knots. */
static gw_nurbs *through_sections(int count, gw_nurbs *const *sections, int degree, gw_error *error)
{
    const gw_nurbs_direction *d = &sections[0]->direction[0];
    int n = d->count;
    size_t all = (size_t)(n * count);
    double *parameters = malloc((size_t)count * sizeof *parameters);
    double *knots = malloc((size_t)(count + degree + 1) * sizeof *knots);
    double *data = malloc(all * 4 * sizeof *data), *net = malloc(all * 4 * sizeof *net);
    gw_vec3 *points = malloc(all * sizeof *points);
    double *weights = malloc(all * sizeof *weights);
    gw_nurbs *surface = NULL;
    if (!parameters || !knots || !data || !net || !points || !weights) {
        no_memory(error);
    } else if (!choose_section_parameters(count, sections, parameters)) {
        gw_fail(error, GW_BAD_INPUT, "/sections", "neighbouring sections coincide");
    } else {
        bool positive = true;
        for (int k = 0; k < count; k++)
            memcpy(data + (size_t)(k * n) * 4, sections[k]->points, (size_t)n * 4 * sizeof *data);
        place_knots(count, parameters, count, degree, knots);
        bool solved = fit_lines(count, parameters, count, degree, knots, 4 * n, data, net);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < count; k++) {
                const double *p = net + (size_t)(k * n + i) * 4;
                points[i * count + k] = gw_v3(p[0] / p[3], p[1] / p[3], p[2] / p[3]);
                weights[i * count + k] = p[3];
                positive = positive && p[3] > 0;
            }
        bool rational = false;
        for (int k = 0; k < count; k++)
            rational = rational || sections[k]->rational;
        if (!solved)
            no_memory(error);
        else if (!positive)
            gw_fail(error, GW_BAD_INPUT, "/sections",
                    "weights that differ so much between sections need a lower degree");
        else
            surface = gw_nurbs_create(
                &(gw_nurbs_def){.dimension = 2,
                                .degree = {d->degree, degree},
                                .count = {n, count},
                                .knot_count = {n + d->degree + 1, count + degree + 1},
                                .knots = {d->knots, knots},
                                .points = points,
                                .weights = rational ? weights : NULL},
                error);
    }
    free(parameters);
    free(knots);
    free(data);
    free(net);
    free(points);
    free(weights);
    return surface;
}

gw_nurbs *gw_nurbs_loft(int count, const gw_nurbs *const *sections, int degree, gw_error *error)
{
    assert(count > 0 && sections);
    int highest = 0;
    gw_nurbs *surface = NULL;
    if (count < 2 || count > GW_MAX_NURBS_POINTS) {
        gw_fail(error, GW_BAD_INPUT, "/sections", "%d sections, 2 to %d are wanted", count,
                GW_MAX_NURBS_POINTS);
        return NULL;
    }
    if (degree < 1 || degree >= count || degree > GW_MAX_NURBS_DEGREE) {
        gw_fail(error, GW_BAD_INPUT, "/degree", "%d must be 1 to %d, and less than the %d sections",
                degree, GW_MAX_NURBS_DEGREE, count);
        return NULL;
    }
    gw_nurbs **alike = calloc((size_t)count, sizeof *alike);
    if (!alike)
        return no_memory(error);
    for (int i = 0; i < count; i++)
        if (sections[i]->direction[0].degree > highest)
            highest = sections[i]->direction[0].degree;
    bool done = true;
    for (int i = 0; done && i < count; i++)
        done = (alike[i] = standard_curve(sections[i], highest, error)) != NULL;
    /* the first collects all knots, the others take them from it */
    for (int i = 1; done && i < 2 * count - 1; i++) {
        int to = i < count ? 0 : i - count + 1, from = i < count ? i : 0;
        gw_nurbs *refined = with_knots_of(alike[to], alike[from], error);
        done = refined != NULL;
        if (done) {
            gw_nurbs_put(alike[to]);
            alike[to] = refined;
        }
    }
    if (done)
        surface = through_sections(count, alike, degree, error);
    for (int i = 0; i < count; i++)
        gw_nurbs_put(alike[i]);
    free(alike);
    return surface;
}

/* ---- exact surfaces ------------------------------------------------------------------------- */

enum { MOST_ARCS = 4, MOST_RING = 2 * MOST_ARCS + 1 };
#define AXIS_SAMPLES 4    /* of a span, by its degree: where a profile may meet the axis */
#define ON_AXIS      1e-9 /* of the profile's largest distance from the axis */
#define LEAST_ANGLE  1e-6 /* rad: less than that is no surface */

/* The vector x to a point p of the profile, at a right angle to the axis from there; returns x .
 * x', half the rate of its squared length. */
static double from_axis(const gw_nurbs *profile, double at, gw_vec3 point, gw_vec3 z, gw_vec3 *p,
                        gw_vec3 *x)
{
    gw_nurbs_point here;
    gw_nurbs_evaluate(profile, (double[2]){at, 0}, 1, NULL, &here);
    *p = here.d[0][0];
    gw_vec3 from = gw_sub(*p, point);
    *x = gw_sub(from, gw_scale(gw_dot(from, z), z));
    return gw_dot(*x, here.d[1][0]);
}

/* The point at which the distance from the axis has its minimum within [low, high], in which it
 * first falls and then rises: by bisection. Returns the distance. */
static double nearest_to_axis(const gw_nurbs *profile, double low, double high, gw_vec3 point,
                              gw_vec3 z, gw_vec3 *p)
{
    gw_vec3 x;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        *(from_axis(profile, middle, point, z, p, &x) < 0 ? &low : &high) = middle;
    }
    from_axis(profile, high, point, z, p, &x);
    return gw_norm(x);
}

/* True if the profile meets the axis between its ends, at *where: there the surface has a point
 * without a tangent plane, and beyond it covers itself or is a second sheet. */
static bool crosses_axis(const gw_nurbs *profile, gw_vec3 point, gw_vec3 z, gw_vec3 *where)
{
    const gw_nurbs_direction *d = &profile->direction[0];
    const double ends[2] = {d->low, d->high};
    gw_vec3 x, end[2];
    double size = 0, last = d->low;
    for (int i = 1; i >= 0; i--)
        from_axis(profile, ends[i], point, z, &end[i], &x);
    double before = from_axis(profile, d->low, point, z, where, &x);
    for (int j = 0; j < d->count; j++) {
        gw_vec3 from = gw_sub(profile->stated[j], point);
        size = fmax(size, gw_norm(gw_sub(from, gw_scale(gw_dot(from, z), z))));
    }
    for (int k = 0; k < d->count + d->degree; k++) {
        double from = fmax(d->knots[k], d->low), to = fmin(d->knots[k + 1], d->high);
        for (int i = 1, most = AXIS_SAMPLES * d->degree; from < to && i <= most; i++) {
            double next = i == most ? to : from + (to - from) * i / most;
            double after = from_axis(profile, next, point, z, where, &x);
            if (before < 0 && after >= 0 &&
                nearest_to_axis(profile, last, next, point, z, where) <= ON_AXIS * size &&
                gw_distance(*where, end[0]) > ON_AXIS * size &&
                gw_distance(*where, end[1]) > ON_AXIS * size)
                return true;
            last = next, before = after;
        }
    }
    return false;
}

gw_nurbs *gw_nurbs_revolve(const gw_nurbs *profile, gw_vec3 point, gw_vec3 axis, double angle,
                           gw_error *error)
{
    assert(profile);
    const gw_nurbs_direction *d = &profile->direction[0];
    if (!(gw_norm(axis) > 0)) {
        gw_fail(error, GW_BAD_INPUT, "/axis", "must have a direction");
        return NULL;
    }
    if (!(angle >= LEAST_ANGLE && angle <= 2 * GW_PI * (1 + 1e-12))) {
        gw_fail(error, GW_BAD_INPUT, "/angle", "%g rad must be from %g to 2 pi", angle,
                LEAST_ANGLE);
        return NULL;
    }
    gw_vec3 z = gw_unit(axis), meets;
    if (crosses_axis(profile, point, z, &meets)) {
        gw_fail(error, GW_BAD_INPUT, "/profile",
                "meets the axis between its ends, at [%g, %g, %g] m: it must be beside the axis, "
                "where only its ends may lie on it",
                meets.x, meets.y, meets.z);
        return NULL;
    }
    int arcs = (int)fmin(MOST_ARCS, ceil(angle / (0.5 * GW_PI) - 1e-9)), ring = 2 * arcs + 1;
    double step = angle / arcs, corner = cos(0.5 * step), knots[MOST_RING + 3];
    for (int i = 0; i < 3; i++)
        knots[i] = 0, knots[ring + i] = arcs;
    for (int i = 1; i < arcs; i++)
        knots[2 * i + 1] = knots[2 * i + 2] = i;
    size_t all = (size_t)(ring * d->count);
    gw_vec3 *points = malloc(all * sizeof *points);
    double *weights = malloc(all * sizeof *weights);
    gw_nurbs *surface = NULL;
    for (int j = 0; points && weights && j < d->count; j++) {
        gw_vec3 from = gw_sub(profile->stated[j], point);
        gw_vec3 along = gw_scale(gw_dot(from, z), z), x = gw_sub(from, along), y = gw_cross(z, x);
        for (int i = 0; i < ring; i++) {
            /* odd points are where the tangents at both ends of an arc meet */
            double turn = 0.5 * step * i, far = i % 2 ? 1 / corner : 1;
            bool again = i == ring - 1 && angle > 2 * GW_PI * (1 - 1e-12);
            gw_vec3 out =
                again ? x : gw_add(gw_scale(far * cos(turn), x), gw_scale(far * sin(turn), y));
            points[i * d->count + j] = gw_add(point, gw_add(along, out));
            weights[i * d->count + j] =
                (i % 2 ? corner : 1) * (profile->weights ? profile->weights[j] : 1);
        }
    }
    gw_nurbs_def def = {.dimension = 2,
                        .degree = {2, d->degree},
                        .count = {ring, d->count},
                        .knot_count = {ring + 3, d->count + d->degree + 1},
                        .knots = {knots, d->knots},
                        .points = points,
                        .weights = weights};
    gw_nurbs_keep_trim(d, &def, 1);
    if (points && weights)
        surface = gw_nurbs_create(&def, error);
    else
        no_memory(error);
    free(points);
    free(weights);
    return surface;
}

gw_nurbs *gw_nurbs_sweep(const gw_nurbs *profile, const gw_nurbs *path, gw_error *error)
{
    assert(profile && path);
    const gw_nurbs_direction *u = &profile->direction[0], *v = &path->direction[0];
    size_t all = (size_t)u->count * (size_t)v->count;
    gw_vec3 *points = malloc(all * sizeof *points);
    double *weights = malloc(all * sizeof *weights);
    gw_nurbs_point start;
    gw_nurbs *surface = NULL;
    if (points && weights) {
        gw_nurbs_evaluate(path, (double[2]){v->low, 0}, 0, NULL, &start);
        for (int i = 0; i < u->count; i++)
            for (int j = 0; j < v->count; j++) {
                gw_vec3 way = gw_sub(path->stated[j], start.d[0][0]);
                points[i * v->count + j] = gw_add(profile->stated[i], way);
                weights[i * v->count + j] = (profile->weights ? profile->weights[i] : 1) *
                                            (path->weights ? path->weights[j] : 1);
            }
        gw_nurbs_def def = {.dimension = 2,
                            .degree = {u->degree, v->degree},
                            .count = {u->count, v->count},
                            .knot_count = {u->count + u->degree + 1, v->count + v->degree + 1},
                            .knots = {u->knots, v->knots},
                            .points = points,
                            .weights = profile->rational || path->rational ? weights : NULL};
        gw_nurbs_keep_trim(u, &def, 0);
        gw_nurbs_keep_trim(v, &def, 1);
        surface = gw_nurbs_create(&def, error);
    } else {
        no_memory(error);
    }
    free(points);
    free(weights);
    return surface;
}
