/*
 * Convex cells of a solid, by planes of its own faces (the tree of Thibault and Naylor 1987). Any
 * thread; not for use inside a tick.
 *
 * A region of space begins as all of it, with all polygons of the surface. A plane of a polygon
 * that has none in front of it is a wall of what is solid in the region; what lies on it has said
 * what it has to say. Where all have, the region within its walls is solid: a cell. Where each of
 * those left has something in front, the region is divided by one of their planes, whichever cuts
 * fewest others.
 */
#include "rt/geometry/convex_decomposition.h"

#include <stdlib.h>

enum {
    TRIANGLES = 1024, /* that are worth trying: time grows as their square */
    WALLS = 1024,     /* of a region */
    CORNERS = 64,     /* of a polygon */
    POINTS = 1024     /* of a cell, those of each wall by themselves */
};

static const double flat = 1e-6;   /* of the size: files keep seven digits */
static const double filled = 1e-5; /* of the volume: cells that miss more are wrong */

/* Solid is where n . x <= o. */
typedef struct plane {
    gw_vec3 n;
    double o;
} plane;

typedef struct polygon {
    plane plane;
    double area;
    int count;
    gw_vec3 p[CORNERS];
} polygon;

typedef struct cutting {
    const gw_mesh *mesh;
    double slack; /* what is nearer to a plane is on it (m) */
    int wall_count, count;
    plane walls[WALLS];
    gw_mesh **cells;
} cutting;

static double above(const plane *p, gw_vec3 x)
{
    return gw_dot(p->n, x) - p->o;
}

static plane turned(const plane *p)
{
    return (plane){gw_neg(p->n), -p->o};
}

/* ---- polygons ------------------------------------------------------------------------------ */

enum { IN_FRONT = 1, BEHIND = 2 };

/* On which sides of the plane it has corners. */
static int sides(const polygon *g, const plane *p, double slack)
{
    int on = 0;
    for (int i = 0; i < g->count; i++) {
        double h = above(p, g->p[i]);
        on |= h > slack ? IN_FRONT : h < -slack ? BEHIND : 0;
    }
    return on;
}

/* What is left of it behind the plane; false where nothing is, or it has too many corners. */
static bool clip(polygon *g, const plane *p, double slack)
{
    polygon all = *g;
    g->count = 0;
    for (int i = 0; i < all.count; i++) {
        gw_vec3 from = all.p[i], to = all.p[(i + 1) % all.count];
        double a = above(p, from), b = above(p, to);
        if (g->count + 2 > CORNERS)
            return false;
        if (a <= slack)
            g->p[g->count++] = from;
        if ((a > slack && b < -slack) || (a < -slack && b > slack))
            g->p[g->count++] = gw_mul_add(from, a / (a - b), gw_sub(to, from));
    }
    return g->count >= 3;
}

/* ---- cells --------------------------------------------------------------------------------- */

static bool add_wall(cutting *c, plane p)
{
    if (c->wall_count == WALLS)
        return false;
    c->walls[c->wall_count++] = p;
    return true;
}

/* The part of wall i that all others leave. */
static bool face_of(const cutting *c, int i, polygon *face)
{
    gw_aabb box = c->mesh->bounds;
    double half = gw_distance(box.low, box.high);
    const plane *w = &c->walls[i];
    gw_vec3 middle = gw_scale(0.5, gw_add(box.low, box.high));
    gw_vec3 x = gw_any_normal(w->n), y = gw_cross(w->n, x);
    middle = gw_mul_add(middle, -above(w, middle), w->n);
    face->count = 4;
    for (int k = 0; k < 4; k++)
        face->p[k] = gw_add(middle, gw_add(gw_scale(k == 0 || k == 3 ? half : -half, x),
                                           gw_scale(k < 2 ? half : -half, y)));
    for (int k = 0; k < c->wall_count; k++)
        if (k != i && !clip(face, &c->walls[k], 1e-3 * c->slack))
            return false;
    return true;
}

static bool known(const gw_vec3 *points, int count, gw_vec3 p, double slack)
{
    for (int i = 0; i < count; i++)
        if (gw_distance(points[i], p) < slack)
            return true;
    return false;
}

static int corners_of(const cutting *c, gw_vec3 points[POINTS])
{
    polygon face;
    int count = 0;
    for (int i = 0; i < c->wall_count; i++) {
        if (!face_of(c, i, &face))
            continue;
        for (int k = 0; k < face.count && count < POINTS; k++)
            if (!known(points, count, face.p[k], c->slack))
                points[count++] = face.p[k];
    }
    return count;
}

/* The region within the walls is solid. One without a volume is no cell. */
static bool add_cell(cutting *c)
{
    gw_vec3 *points = malloc(POINTS * sizeof *points);
    int count = points ? corners_of(c, points) : POINTS;
    int(*triangles)[3] = malloc(2 * GW_MAX_HULL * sizeof *triangles);
    bool room = triangles && count < POINTS && c->count < GW_MAX_CONVEX_PIECES;
    int sides = room ? gw_convex_hull(count, points, GW_MAX_HULL, triangles) : -1;
    gw_mesh *cell = NULL;
    if (sides > 0)
        cell = gw_mesh_create(&(gw_mesh_def){.file = c->mesh->file,
                                             .vertex_count = count,
                                             .triangle_count = sides,
                                             .vertices = points,
                                             .triangles = (const int(*)[3])triangles},
                              NULL);
    free(points);
    free(triangles);
    if (!cell)
        return sides == 0;
    cell->convex = true;
    c->cells[c->count++] = cell;
    return true;
}

/* ---- regions ------------------------------------------------------------------------------- */

static bool divide(cutting *c, polygon *list, int count);

static bool nothing_in_front(const polygon *list, int count, const plane *p, double slack)
{
    for (int i = 0; i < count; i++)
        if (sides(&list[i], p, slack) & IN_FRONT)
            return false;
    return true;
}

/* Takes out what lies on the plane. */
static int take_out(polygon *list, int count, const plane *p, double slack)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (sides(&list[i], p, slack) != 0)
            list[kept++] = list[i];
    return kept;
}

/* Walls of the region with nothing in front: -1 where there are too many. */
static int wall_in(cutting *c, polygon *list, int count)
{
    for (int i = 0; i < count; i++) {
        plane p = list[i].plane;
        if (!nothing_in_front(list, count, &p, c->slack))
            continue;
        if (!add_wall(c, p))
            return -1;
        count = take_out(list, count, &p, c->slack);
        i = -1;
    }
    return count;
}

static int cut_by(const polygon *list, int count, const plane *p, double slack)
{
    int cut = 0;
    for (int i = 0; i < count; i++)
        cut += sides(&list[i], p, slack) == (IN_FRONT | BEHIND);
    return cut;
}

/* The plane that cuts fewest, the largest polygon's of those. */
static plane dividing(const cutting *c, const polygon *list, int count)
{
    int best = 0, least = count + 1;
    for (int i = 0; i < count; i++) {
        int cut = cut_by(list, count, &list[i].plane, c->slack);
        if (cut < least || (cut == least && list[i].area > list[best].area)) {
            least = cut;
            best = i;
        }
    }
    return list[best].plane;
}

/* One side of the dividing plane: behind it. */
static bool enter(cutting *c, const polygon *list, int count, plane p)
{
    polygon *part = malloc(((size_t)count + 1) * sizeof *part);
    int walls = c->wall_count, kept = 0;
    bool done = part && add_wall(c, p);
    for (int i = 0; done && i < count; i++) {
        if (!(sides(&list[i], &p, c->slack) & BEHIND))
            continue;
        part[kept] = list[i];
        kept += clip(&part[kept], &p, c->slack);
    }
    done = done && divide(c, part, kept);
    c->wall_count = walls;
    free(part);
    return done;
}

/* False where it is given up. */
static bool divide(cutting *c, polygon *list, int count)
{
    int walls = c->wall_count;
    count = wall_in(c, list, count);
    bool done = count == 0 && add_cell(c);
    if (count > 0) {
        plane p = dividing(c, list, count);
        done = enter(c, list, count, turned(&p)) && enter(c, list, count, p);
    }
    c->wall_count = walls;
    return done;
}

/* ---- all together -------------------------------------------------------------------------- */

static int larger(const void *a, const void *b)
{
    double x = ((const polygon *)a)->area, y = ((const polygon *)b)->area;
    return (x < y) - (x > y);
}

/* The surface, large triangles first: they say best where their planes are. */
static polygon *surface(const gw_mesh *m)
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
        qsort(list, (size_t)m->triangle_count, sizeof *list, larger);
    return list;
}

int gw_mesh_convex_decomposition(const gw_mesh *mesh, gw_mesh *cells[GW_MAX_CONVEX_PIECES])
{
    if (!mesh->closed || mesh->triangle_count > TRIANGLES)
        return 0;
    polygon *list = surface(mesh);
    cutting *c = malloc(sizeof *c);
    if (c)
        *c = (cutting){.mesh = mesh,
                       .slack = flat * gw_distance(mesh->bounds.low, mesh->bounds.high),
                       .cells = cells};
    bool done = list && c && divide(c, list, mesh->triangle_count);
    double volume = 0;
    int count = c ? c->count : 0;
    for (int i = 0; i < count; i++)
        volume += cells[i]->mass.mass;
    done = done && fabs(volume - mesh->mass.mass) < filled * mesh->mass.mass;
    for (int i = 0; !done && i < count; i++)
        gw_mesh_put(cells[i]);
    free(list);
    free(c);
    return done ? count : 0;
}
