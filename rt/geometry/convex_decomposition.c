/*
 * Convex decomposition of a solid by a binary space partition along planes of its own faces
 * (Thibault and Naylor 1987). Any thread; not for use inside a tick.
 *
 * The first region is all of space, with all polygons of the surface. A polygon's plane with no
 * polygon in front of it bounds the solid part of the region, and polygons in that plane are done.
 * If all are done, the region within its bounds is solid: a convex piece. Otherwise the region is
 * split by the plane of the polygon that cuts the fewest others.
 */
#include "rt/geometry/convex_decomposition.h"

#include <stdlib.h>

enum {
    MAX_TRIANGLES = 1024, /* of a mesh: time grows as their square */
    MAX_BOUNDS = 1024,    /* of a region */
    MAX_CORNERS = 64,     /* of a polygon */
    MAX_POINTS = 1024     /* vertices of a piece */
};

static const double flat = 1e-6;   /* of the mesh's size: files have seven digits */
static const double filled = 1e-5; /* of the volume: tolerance of the sum of the pieces */

/* Solid is where n . x <= o. */
typedef struct plane {
    gw_vec3 n;
    double o;
} plane;

typedef struct polygon {
    plane plane;
    double area;
    int count;
    gw_vec3 p[MAX_CORNERS];
} polygon;

typedef struct decomposition {
    const gw_mesh *mesh;
    double slack; /* points nearer to a plane than this are on it (m) */
    int bound_count, count;
    plane bounds[MAX_BOUNDS];
    gw_mesh **pieces;
} decomposition;

static double signed_distance(const plane *p, gw_vec3 x)
{
    return gw_dot(p->n, x) - p->o;
}

static plane opposite_plane(const plane *p)
{
    return (plane){gw_neg(p->n), -p->o};
}

/* ---- polygons ------------------------------------------------------------------------------- */

enum { IN_FRONT = 1, BEHIND = 2 };

/* The sides of the plane on which the polygon has corners, as bits. */
static int sides_of_plane(const polygon *g, const plane *p, double slack)
{
    int on = 0;
    for (int i = 0; i < g->count; i++) {
        double h = signed_distance(p, g->p[i]);
        on |= h > slack ? IN_FRONT : h < -slack ? BEHIND : 0;
    }
    return on;
}

/* Cuts off the part in front of the plane; false if nothing is left, or there are too many
 * corners. */
static bool clip_polygon(polygon *g, const plane *p, double slack)
{
    polygon all = *g;
    g->count = 0;
    for (int i = 0; i < all.count; i++) {
        gw_vec3 from = all.p[i], to = all.p[(i + 1) % all.count];
        double a = signed_distance(p, from), b = signed_distance(p, to);
        if (g->count + 2 > MAX_CORNERS)
            return false;
        if (a <= slack)
            g->p[g->count++] = from;
        if ((a > slack && b < -slack) || (a < -slack && b > slack))
            g->p[g->count++] = gw_mul_add(from, a / (a - b), gw_sub(to, from));
    }
    return g->count >= 3;
}

/* ---- pieces --------------------------------------------------------------------------------- */

static bool add_bound(decomposition *c, plane p)
{
    if (c->bound_count == MAX_BOUNDS)
        return false;
    c->bounds[c->bound_count++] = p;
    return true;
}

/* The face of the region in the plane of bound i; false if there is none. */
static bool face_of(const decomposition *c, int i, polygon *face)
{
    gw_aabb box = c->mesh->bounds;
    double half = gw_distance(box.low, box.high);
    const plane *w = &c->bounds[i];
    gw_vec3 middle = gw_scale(0.5, gw_add(box.low, box.high));
    gw_vec3 x = gw_any_normal(w->n), y = gw_cross(w->n, x);
    middle = gw_mul_add(middle, -signed_distance(w, middle), w->n);
    face->count = 4;
    for (int k = 0; k < 4; k++)
        face->p[k] = gw_add(middle, gw_add(gw_scale(k == 0 || k == 3 ? half : -half, x),
                                           gw_scale(k < 2 ? half : -half, y)));
    for (int k = 0; k < c->bound_count; k++)
        if (k != i && !clip_polygon(face, &c->bounds[k], 1e-3 * c->slack))
            return false;
    return true;
}

static bool contains_point(const gw_vec3 *points, int count, gw_vec3 p, double slack)
{
    for (int i = 0; i < count; i++)
        if (gw_distance(points[i], p) < slack)
            return true;
    return false;
}

static int vertices_of(const decomposition *c, gw_vec3 points[MAX_POINTS])
{
    polygon face;
    int count = 0;
    for (int i = 0; i < c->bound_count; i++) {
        if (!face_of(c, i, &face))
            continue;
        for (int k = 0; k < face.count && count < MAX_POINTS; k++)
            if (!contains_point(points, count, face.p[k], c->slack))
                points[count++] = face.p[k];
    }
    return count;
}

/* Adds the region within the bounds as a piece, unless it has no volume; false if there are too
 * many pieces or vertices, or memory is exhausted. */
static bool add_piece(decomposition *c)
{
    gw_vec3 *points = malloc(MAX_POINTS * sizeof *points);
    int count = points ? vertices_of(c, points) : MAX_POINTS;
    int(*triangles)[3] = malloc(2 * GW_MAX_HULL * sizeof *triangles);
    bool room = triangles && count < MAX_POINTS && c->count < GW_MAX_CONVEX_PIECES;
    int sides = room ? gw_convex_hull(count, points, GW_MAX_HULL, triangles) : -1;
    gw_mesh *piece = NULL;
    if (sides > 0)
        piece = gw_mesh_create(&(gw_mesh_def){.file = c->mesh->file,
                                              .vertex_count = count,
                                              .triangle_count = sides,
                                              .vertices = points,
                                              .triangles = (const int(*)[3])triangles},
                               NULL);
    free(points);
    free(triangles);
    if (!piece)
        return sides == 0;
    piece->convex = true;
    c->pieces[c->count++] = piece;
    return true;
}

/* ---- regions -------------------------------------------------------------------------------- */

static bool split_recursively(decomposition *c, polygon *list, int count);

static bool is_convex_bound(const polygon *list, int count, const plane *p, double slack)
{
    for (int i = 0; i < count; i++)
        if (sides_of_plane(&list[i], p, slack) & IN_FRONT)
            return false;
    return true;
}

/* Removes the polygons in the plane; returns the number of those left. */
static int remove_coplanar(polygon *list, int count, const plane *p, double slack)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (sides_of_plane(&list[i], p, slack) != 0)
            list[kept++] = list[i];
    return kept;
}

/* Adds planes with no polygon in front as bounds of the region; -1 if there are too many. */
static int add_convex_bounds(decomposition *c, polygon *list, int count)
{
    for (int i = 0; i < count; i++) {
        plane p = list[i].plane;
        if (!is_convex_bound(list, count, &p, c->slack))
            continue;
        if (!add_bound(c, p))
            return -1;
        count = remove_coplanar(list, count, &p, c->slack);
        i = -1;
    }
    return count;
}

static int split_count(const polygon *list, int count, const plane *p, double slack)
{
    int cut = 0;
    for (int i = 0; i < count; i++)
        cut += sides_of_plane(&list[i], p, slack) == (IN_FRONT | BEHIND);
    return cut;
}

/* The plane of the polygon that cuts the fewest others; of several the largest polygon's. */
static plane splitting_plane(const decomposition *c, const polygon *list, int count)
{
    int best = 0, least = count + 1;
    for (int i = 0; i < count; i++) {
        int cut = split_count(list, count, &list[i].plane, c->slack);
        if (cut < least || (cut == least && list[i].area > list[best].area)) {
            least = cut;
            best = i;
        }
    }
    return list[best].plane;
}

/* Decomposes the part of the region behind plane p. */
static bool split_behind(decomposition *c, const polygon *list, int count, plane p)
{
    polygon *part = malloc(((size_t)count + 1) * sizeof *part);
    int bounds = c->bound_count, kept = 0;
    bool done = part && add_bound(c, p);
    for (int i = 0; done && i < count; i++) {
        if (!(sides_of_plane(&list[i], &p, c->slack) & BEHIND))
            continue;
        part[kept] = list[i];
        kept += clip_polygon(&part[kept], &p, c->slack);
    }
    done = done && split_recursively(c, part, kept);
    c->bound_count = bounds;
    free(part);
    return done;
}

/* Decomposes a region; false if it exceeds a limit. */
static bool split_recursively(decomposition *c, polygon *list, int count)
{
    int bounds = c->bound_count;
    count = add_convex_bounds(c, list, count);
    bool done = count == 0 && add_piece(c);
    if (count > 0) {
        plane p = splitting_plane(c, list, count);
        done = split_behind(c, list, count, opposite_plane(&p)) && split_behind(c, list, count, p);
    }
    c->bound_count = bounds;
    return done;
}

/* ---- all together --------------------------------------------------------------------------- */

static int compare_areas(const void *a, const void *b)
{
    double x = ((const polygon *)a)->area, y = ((const polygon *)b)->area;
    return (x < y) - (x > y);
}

/* The surface as polygons, large triangles first, whose planes are the most accurate. */
static polygon *surface_polygons(const gw_mesh *m)
{
    polygon *list = malloc((size_t)m->triangle_count * sizeof *list);
    for (int t = 0; list && t < m->triangle_count; t++) {
        polygon *g = &list[t];
        g->count = 3;
        for (int k = 0; k < 3; k++)
            g->p[k] = m->vertices[m->triangles[t][k]];
        gw_vec3 n = gw_cross(gw_sub(g->p[1], g->p[0]), gw_sub(g->p[2], g->p[0]));
        g->area = 0.5 * gw_norm(n);
        g->plane.n = gw_unit(n);
        g->plane.o = gw_dot(g->plane.n, g->p[0]);
    }
    if (list)
        qsort(list, (size_t)m->triangle_count, sizeof *list, compare_areas);
    return list;
}

int gw_mesh_convex_decomposition(const gw_mesh *mesh, gw_mesh *pieces[GW_MAX_CONVEX_PIECES])
{
    if (!mesh->closed || mesh->triangle_count > MAX_TRIANGLES)
        return 0;
    polygon *list = surface_polygons(mesh);
    decomposition *c = malloc(sizeof *c);
    if (c)
        *c = (decomposition){.mesh = mesh,
                             .slack = flat * gw_distance(mesh->bounds.low, mesh->bounds.high),
                             .pieces = pieces};
    bool done = list && c && split_recursively(c, list, mesh->triangle_count);
    double volume = 0;
    int count = c ? c->count : 0;
    for (int i = 0; i < count; i++)
        volume += pieces[i]->mass.mass;
    done = done && fabs(volume - mesh->mass.mass) < filled * mesh->mass.mass;
    for (int i = 0; !done && i < count; i++)
        gw_mesh_put(pieces[i]);
    free(list);
    free(c);
    return done ? count : 0;
}
