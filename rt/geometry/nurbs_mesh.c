/*
 * Triangulation of free-form surfaces on a grid of parameters. Not for use inside a tick.
 *
 * A cell of du times dv deviates from its two triangles by at most about
 *
 *   |S_uu| du^2 / 8 + |S_vv| dv^2 / 8 + |S_uv| du dv / 4
 *
 * Each knot span is cut into equal cells, so many that each of the three terms is within the
 * deviation; second derivatives are sampled on each pair of spans.
 */
#include "rt/geometry/nurbs_mesh.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEVIATION  3e-4  /* of the surface's size */
#define CELLS_MOST 48    /* along a direction, and one in each span */
#define SAMPLES    3     /* along each side of a pair of spans */
#define ROUNDING   1e-12 /* of the surface's size: points nearer than this coincide */

/* The knot spans along a direction, and into how many cells each is cut. */
typedef struct spans {
    int count;
    double *knots; /* count + 1 */
    double *bend;  /* by span: the largest second derivative times the span's length squared */
    int *cells;
} spans;

static void free_spans(spans *s)
{
    free(s->knots);
    free(s->bend);
    free(s->cells);
}

static bool find_spans(const gw_nurbs *surface, int k, spans *s)
{
    const gw_nurbs_direction *d = &surface->direction[k];
    s->count = gw_nurbs_spans(surface, k, NULL);
    size_t room = (size_t)s->count + 1;
    int *at = malloc(room * sizeof *at);
    s->knots = malloc(room * sizeof *s->knots);
    s->bend = calloc(room, sizeof *s->bend);
    s->cells = calloc(room, sizeof *s->cells);
    bool fine = at && s->knots && s->bend && s->cells;
    if (fine) {
        gw_nurbs_spans(surface, k, at);
        for (int i = 0; i < s->count; i++)
            s->knots[i] = fmax(d->knots[at[i]], d->low);
        s->knots[s->count] = d->high;
    }
    free(at);
    return fine;
}

/* Largest second derivatives, by both spans' lengths; returns that of S_uv over all pairs. */
static double sample_bends(const gw_nurbs *surface, spans s[2])
{
    double twist = 0;
    gw_nurbs_span hint = {{0, 0}};
    for (int i = 0; i < s[0].count; i++)
        for (int j = 0; j < s[1].count; j++)
            for (int k = 0; k < SAMPLES * SAMPLES; k++) {
                double du = s[0].knots[i + 1] - s[0].knots[i];
                double dv = s[1].knots[j + 1] - s[1].knots[j];
                /* inside of the spans: at their upper knots derivatives are those of the next
                 * span */
                const double at[2] = {s[0].knots[i] + du * (k / SAMPLES + 0.5) / SAMPLES,
                                      s[1].knots[j] + dv * (k % SAMPLES + 0.5) / SAMPLES};
                gw_nurbs_point p;
                gw_nurbs_evaluate(surface, at, 2, &hint, &p);
                s[0].bend[i] = fmax(s[0].bend[i], gw_norm(p.d[2][0]) * du * du);
                s[1].bend[j] = fmax(s[1].bend[j], gw_norm(p.d[0][2]) * dv * dv);
                twist = fmax(twist, gw_norm(p.d[1][1]) * du * dv);
            }
    return twist;
}

/* Sets the cells of each span for a deviation; returns their number. */
static int cut(spans *s, double twist, double deviation)
{
    int sum = 0;
    double least = sqrt(twist / (4 * deviation));
    for (int i = 0; i < s->count; i++) {
        double cells = fmax(sqrt(s->bend[i] / (8 * deviation)), least);
        s->cells[i] = (int)fmax(1, ceil(fmin(cells, CELLS_MOST)));
        sum += s->cells[i];
    }
    return sum;
}

/* Parameters of the grid's lines along a direction; NULL if memory is exhausted. */
static double *lines_of(const spans *s, int cells)
{
    double *lines = malloc(((size_t)cells + 1) * sizeof *lines);
    int n = 0;
    for (int i = 0; lines && i < s->count; i++)
        for (int k = 0; k < s->cells[i]; k++)
            lines[n++] = s->knots[i] + (s->knots[i + 1] - s->knots[i]) * k / s->cells[i];
    if (lines)
        lines[n] = s->knots[s->count];
    return lines;
}

typedef struct grid {
    int cells[2];
    double *lines[2];
    gw_vec3 *points;     /* cells[0] + 1 rows of cells[1] + 1 */
    int (*triangles)[3]; /* two a cell */
    gw_corner_parameters *parameters;
} grid;

/* Point (i, j) of the grid. In a closed direction the last line is the first one. */
static gw_vec3 *point_of(const gw_nurbs *surface, const grid *g, int i, int j)
{
    if (surface->direction[0].closed && i == g->cells[0])
        i = 0;
    if (surface->direction[1].closed && j == g->cells[1])
        j = 0;
    return &g->points[i * (g->cells[1] + 1) + j];
}

/* Makes the points (i, j) + k (di, dj) of a side of the grid equal if they coincide within
 * rounding, as at a pole. */
static void weld_pole(const gw_nurbs *surface, const grid *g, int i, int j, int di, int dj)
{
    int count = 1 + (di ? g->cells[0] : g->cells[1]);
    gw_vec3 *pole = point_of(surface, g, i, j);
    for (int k = 0; k < count; k++)
        if (gw_distance(*pole, *point_of(surface, g, i + k * di, j + k * dj)) >
            ROUNDING * surface->size)
            return;
    for (int k = 0; k < count; k++)
        *point_of(surface, g, i + k * di, j + k * dj) = *pole;
}

static void evaluate(const gw_nurbs *surface, grid *g)
{
    gw_nurbs_span hint = {{0, 0}};
    for (int i = 0; i <= g->cells[0]; i++)
        for (int j = 0; j <= g->cells[1]; j++) {
            const double at[2] = {g->lines[0][i], g->lines[1][j]};
            gw_nurbs_point p;
            gw_nurbs_evaluate(surface, at, 0, &hint, &p);
            g->points[i * (g->cells[1] + 1) + j] = p.d[0][0];
        }
    weld_pole(surface, g, 0, 0, 0, 1);
    weld_pole(surface, g, g->cells[0], 0, 0, 1);
    weld_pole(surface, g, 0, 0, 1, 0);
    weld_pole(surface, g, 0, g->cells[1], 1, 0);
}

/* Two triangles of each cell; those without area at a pole are left out by gw_mesh_create(). */
static void connect(const gw_nurbs *surface, grid *g)
{
    int n = 0;
    for (int i = 0; i < g->cells[0]; i++)
        for (int j = 0; j < g->cells[1]; j++) {
            int a = (int)(point_of(surface, g, i, j) - g->points);
            int b = (int)(point_of(surface, g, i + 1, j) - g->points);
            int c = (int)(point_of(surface, g, i + 1, j + 1) - g->points);
            int d = (int)(point_of(surface, g, i, j + 1) - g->points);
            const double u[2] = {g->lines[0][i], g->lines[0][i + 1]};
            const double v[2] = {g->lines[1][j], g->lines[1][j + 1]};
            const gw_corner_parameters lower = {{u[0], v[0]}, {u[1], v[0]}, {u[1], v[1]}};
            const gw_corner_parameters upper = {{u[0], v[0]}, {u[1], v[1]}, {u[0], v[1]}};
            memcpy(g->parameters[n], lower, sizeof lower);
            memcpy(g->parameters[n + 1], upper, sizeof upper);
            int *first = g->triangles[n++], *second = g->triangles[n++];
            first[0] = a, first[1] = b, first[2] = c;
            second[0] = a, second[1] = c, second[2] = d;
        }
}

static bool same(gw_vec3 a, gw_vec3 b)
{
    return gw_norm2(gw_sub(a, b)) == 0;
}

/* Keeps the parameters of the triangles that the mesh has kept, in its order of their corners. */
static bool match_parameters(const gw_mesh *mesh, grid *g)
{
    int kept = 0, count = 2 * g->cells[0] * g->cells[1];
    for (int t = 0; t < count && kept < mesh->triangle_count; t++) {
        const int *from = g->triangles[t], *to = mesh->triangles[kept];
        gw_corner_parameters own;
        int found = 0;
        memcpy(own, g->parameters[t], sizeof own);
        if (same(g->points[from[0]], g->points[from[1]]) ||
            same(g->points[from[1]], g->points[from[2]]) ||
            same(g->points[from[2]], g->points[from[0]]))
            continue;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++)
                if (same(mesh->vertices[to[k]], g->points[from[i]])) {
                    memcpy(g->parameters[kept][k], own[i], sizeof own[i]);
                    found++;
                }
        if (found != 3)
            return false;
        kept++;
    }
    return kept == mesh->triangle_count;
}

static gw_mesh *mesh_of(const gw_nurbs *surface, const spans s[2], const int cells[2],
                        gw_corner_parameters **parameters, gw_error *error)
{
    grid g = {.cells = {cells[0], cells[1]},
              .lines = {lines_of(&s[0], cells[0]), lines_of(&s[1], cells[1])}};
    int points = (cells[0] + 1) * (cells[1] + 1), triangles = 2 * cells[0] * cells[1];
    g.points = malloc((size_t)points * sizeof *g.points);
    g.triangles = malloc((size_t)triangles * sizeof *g.triangles);
    g.parameters = malloc((size_t)triangles * sizeof *g.parameters);
    gw_mesh *mesh = NULL;
    if (g.lines[0] && g.lines[1] && g.points && g.triangles && g.parameters) {
        evaluate(surface, &g);
        connect(surface, &g);
        mesh = gw_mesh_create(&(gw_mesh_def){.vertex_count = points,
                                             .triangle_count = triangles,
                                             .vertices = g.points,
                                             .triangles = (const int(*)[3])g.triangles},
                              error);
        bool matched = !mesh || match_parameters(mesh, &g);
        assert(matched);
        (void)matched;
    } else {
        gw_fail(error, GW_FAILED, "", "no memory for a surface's triangles");
    }
    if (mesh && parameters)
        *parameters = g.parameters;
    else
        free(g.parameters);
    free(g.lines[0]);
    free(g.lines[1]);
    free(g.points);
    free(g.triangles);
    return mesh;
}

gw_mesh *gw_nurbs_mesh(const gw_nurbs *surface, gw_corner_parameters **parameters, gw_error *error)
{
    assert(surface && surface->dimension == 2);
    if (parameters)
        *parameters = NULL;
    spans s[2] = {{0}, {0}};
    gw_mesh *mesh = NULL;
    if (find_spans(surface, 0, &s[0]) && find_spans(surface, 1, &s[1])) {
        double twist = sample_bends(surface, s), deviation = DEVIATION * surface->size;
        int cells[2];
        for (;; deviation *= 2) {
            bool done = true;
            for (int k = 0; k < 2; k++) {
                cells[k] = cut(&s[k], twist, deviation);
                done = done && cells[k] <= CELLS_MOST + s[k].count;
            }
            if (done)
                break;
        }
        mesh = mesh_of(surface, s, cells, parameters, error);
    } else {
        gw_fail(error, GW_FAILED, "", "no memory for a surface's triangles");
    }
    free_spans(&s[0]);
    free_spans(&s[1]);
    return mesh;
}

void gw_nurbs_changed_part(const gw_nurbs *a, const gw_nurbs *b, double part[2][2])
{
    assert(gw_nurbs_same_spans(a, b));
    int across = a->direction[1].count, count = a->direction[0].count * across;
    for (int k = 0; k < 2; k++)
        part[k][0] = HUGE_VAL, part[k][1] = -HUGE_VAL;
    for (int i = 0; i < count; i++) {
        if (memcmp(&a->points[i], &b->points[i], sizeof a->points[i]) == 0)
            continue;
        const int at[2] = {i / across, i % across};
        for (int k = 0; k < 2; k++) {
            const gw_nurbs_direction *d = &a->direction[k];
            part[k][0] = fmin(part[k][0], d->knots[at[k]]);
            part[k][1] = fmax(part[k][1], d->knots[at[k] + d->degree + 1]);
        }
    }
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &a->direction[k];
        if (d->closed && part[k][0] <= part[k][1] &&
            (part[k][0] <= d->low || part[k][1] >= d->high))
            part[k][0] = -HUGE_VAL, part[k][1] = HUGE_VAL;
    }
}
