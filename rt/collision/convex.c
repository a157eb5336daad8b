/*
 * Supports, faces and lines of convex cores. Any thread.
 *
 * A cone's side makes the angle alpha with its axis, tan(alpha) = r / h: its normals are the circle
 * z . n = sin(alpha), as those of a cylinder's side are the circle z . n = 0.
 */
#include "rt/collision/convex.h"

#include <assert.h>
#include <stddef.h>

enum { ID_TOP = 0x10000, ID_BASE, ID_APEX, ID_RIM };

static gw_vec3 axis_of(const gw_convex *s)
{
    return gw_v3(s->turn.m[0][2], s->turn.m[1][2], s->turn.m[2][2]);
}

static gw_vec3 to_world(const gw_convex *s, gw_vec3 x)
{
    return gw_add(s->at, gw_mat3_mul(&s->turn, x));
}

static gw_vec3 axis_point(const gw_convex *s, double z)
{
    return gw_mul_add(s->at, z, axis_of(s));
}

/* The point of the rim at height z that is farthest along d; any one where d is the axis. */
static gw_vec3 rim_point(const gw_convex *s, double z, gw_vec3 d)
{
    gw_vec3 local = gw_mat3_tmul(&s->turn, d);
    double n = hypot(local.x, local.y), k = n > 0 ? s->r / n : 0;
    return to_world(s, gw_v3(k * local.x, k * local.y, z));
}

static double cone_sine(const gw_convex *s)
{
    return s->r / hypot(s->r, s->high - s->low);
}

/* ---- support ------------------------------------------------------------------------------- */

static int farthest(const gw_polytope *p, gw_vec3 local)
{
    if (p->box)
        return (local.x > 0) | (local.y > 0) << 1 | (local.z > 0) << 2;
    int best = 0;
    double most = gw_dot(p->vertices[0], local);
    for (int i = 1; i < p->vertex_count; i++) {
        double height = gw_dot(p->vertices[i], local);
        if (height > most) {
            most = height;
            best = i;
        }
    }
    return best;
}

gw_vec3 gw_convex_support(const gw_convex *s, gw_vec3 d)
{
    if (s->core == GW_CORE_POLYTOPE)
        return to_world(s, s->polytope->vertices[farthest(s->polytope, gw_mat3_tmul(&s->turn, d))]);
    double up = gw_dot(axis_of(s), d);
    if (s->core == GW_CORE_CYLINDER)
        return rim_point(s, up > 0 ? s->high : s->low, d);
    return up > cone_sine(s) ? axis_point(s, s->high) : rim_point(s, s->low, d);
}

void gw_convex_project(const gw_convex *s, gw_vec3 n, double *low, double *high)
{
    const gw_polytope *p = s->polytope;
    gw_vec3 local = gw_mat3_tmul(&s->turn, n);
    *high = gw_dot(p->vertices[farthest(p, local)], local);
    *low = p->box ? -*high : gw_dot(p->vertices[farthest(p, gw_neg(local))], local);
}

/* ---- faces --------------------------------------------------------------------------------- */

/* The face nearest to the local direction, -1 where there is none. */
static int facing(const gw_polytope *p, gw_vec3 local, double cosine)
{
    int best = -1;
    for (int i = 0; i < p->face_count; i++) {
        double c = gw_dot(p->faces[i].normal, local);
        if (c > cosine) {
            cosine = c;
            best = i;
        }
    }
    return best;
}

/* The corners of a face, every n-th of one that has too many. */
static int face_corners(const gw_convex *s, const gw_polytope_face *face, gw_vec3 *p, int *id)
{
    int step = (face->count + GW_FEATURE_POINTS - 1) / GW_FEATURE_POINTS, count = 0;
    for (int i = 0; i < face->count; i += step) {
        int vertex = s->polytope->loop[face->first + i];
        p[count] = to_world(s, s->polytope->vertices[vertex]);
        if (id)
            id[count] = vertex;
        count++;
    }
    return count;
}

static bool polytope_plate(const gw_convex *s, gw_vec3 d, double cosine, gw_reference_face *plate)
{
    int best = facing(s->polytope, gw_mat3_tmul(&s->turn, d), cosine);
    if (best < 0)
        return false;
    const gw_polytope_face *face = &s->polytope->faces[best];
    plate->normal = gw_mat3_mul(&s->turn, face->normal);
    plate->offset = face->offset + gw_dot(plate->normal, s->at);
    plate->id = best;
    plate->count = face_corners(s, face, plate->p, NULL);
    for (int i = 0; i < plate->count; i++) {
        gw_vec3 to = plate->p[i + 1 < plate->count ? i + 1 : 0];
        plate->out[i] = gw_cross(gw_sub(to, plate->p[i]), plate->normal);
    }
    return true;
}

bool gw_convex_reference_face(const gw_convex *s, gw_vec3 d, double cosine,
                              gw_reference_face *plate)
{
    if (s->core == GW_CORE_POLYTOPE)
        return polytope_plate(s, d, cosine, plate);
    gw_vec3 z = axis_of(s);
    double up = gw_dot(z, d);
    bool top = s->core == GW_CORE_CYLINDER && up > 0;
    if ((top ? up : -up) <= cosine)
        return false;
    plate->normal = top ? z : gw_neg(z);
    plate->id = top ? ID_TOP : ID_BASE;
    plate->count = 0;
    plate->centre = axis_point(s, top ? s->high : s->low);
    plate->radius = s->r;
    plate->offset = gw_dot(plate->normal, plate->centre);
    return true;
}

bool gw_convex_face_normal(const gw_convex *s, int i, gw_vec3 *normal)
{
    if (s->core == GW_CORE_POLYTOPE) {
        if (i < s->polytope->face_count)
            *normal = gw_mat3_mul(&s->turn, s->polytope->faces[i].normal);
        return i < s->polytope->face_count;
    }
    *normal = gw_scale(i == 0 ? -1 : 1, axis_of(s));
    return i < (s->core == GW_CORE_CYLINDER ? 2 : 1);
}

static double from_centre(const gw_reference_face *plate, gw_vec3 p)
{
    return gw_norm(gw_reject(gw_sub(p, plate->centre), plate->normal));
}

double gw_reference_face_inset(const gw_reference_face *plate, gw_vec3 p)
{
    double least = plate->count == 0 ? plate->radius - from_centre(plate, p) : INFINITY;
    for (int i = 0; i < plate->count; i++) {
        gw_vec3 out = plate->out[i];
        least = fmin(least, gw_dot(out, gw_sub(plate->p[i], p)) / gw_norm(out));
    }
    return least;
}

bool gw_reference_face_contains(const gw_reference_face *plate, gw_vec3 p, double slack)
{
    if (plate->count == 0)
        return from_centre(plate, p) <= plate->radius + slack;
    for (int i = 0; i < plate->count; i++) {
        gw_vec3 out = plate->out[i];
        double beside = gw_dot(out, gw_sub(p, plate->p[i]));
        if (beside > 0 && beside > slack * gw_norm(out))
            return false;
    }
    return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool known_flat(const gw_normal_circle *flats, int count, gw_vec3 d)
{
    for (int i = 0; i < count; i++)
        if (fabs(gw_dot(flats[i].d, d)) > 1 - 1e-12)
            return true;
    return false;
}

static int polytope_flats(const gw_convex *s, gw_vec3 d, double slack, gw_normal_circle *flats,
                          int room)
{
    const gw_polytope *p = s->polytope;
    gw_vec3 local = gw_mat3_tmul(&s->turn, d);
    double top = gw_dot(p->vertices[farthest(p, local)], local);
    int count = 0;
    for (int i = 0; i < p->edge_count && count < room; i++) {
        gw_vec3 a = p->vertices[p->edges[i][0]], b = p->vertices[p->edges[i][1]];
        gw_vec3 along = gw_sub(b, a);
        double length = gw_norm(along), low = slack * length;
        if (fabs(gw_dot(along, local)) > low || gw_dot(a, local) < top - low)
            continue;
        along = gw_mat3_mul(&s->turn, gw_scale(1 / length, along));
        if (!known_flat(flats, count, along))
            flats[count++] = (gw_normal_circle){along, 0};
    }
    return count;
}

int gw_convex_normal_circles(const gw_convex *s, gw_vec3 d, double slack, gw_normal_circle *flats,
                             int room)
{
    if (s->core == GW_CORE_POLYTOPE)
        return polytope_flats(s, d, slack, flats, room);
    double c = s->core == GW_CORE_CONE ? cone_sine(s) : 0;
    if (room < 1 || fabs(gw_dot(axis_of(s), d) - c) > slack)
        return 0;
    flats[0] = (gw_normal_circle){axis_of(s), c};
    return 1;
}

/* ---- corners ------------------------------------------------------------------------------- */

static void add_corner(gw_support_feature *c, gw_vec3 p, double radius, int id)
{
    assert(c->count < GW_FEATURE_POINTS);
    c->p[c->count] = p;
    c->radius[c->count] = radius;
    c->id[c->count++] = id;
}

/*
 * A rim that rolls on a plane of normal -d: the point that is lowest now, p, as a ball which
 * touches there, of radius r sin(angle of axis and d); turning about the axis moves p, but hardly
 * the ball (by r cos^2).
 */
static void add_rolling(gw_support_feature *c, const gw_convex *s, double z, gw_vec3 d, int id)
{
    double ball = s->r * gw_norm(gw_cross(axis_of(s), d));
    add_corner(c, gw_mul_add(rim_point(s, z, d), -ball, d), ball, id);
}

/* Four points of the rim, fixed in the body, and instead of the nearest of them the lowest of the
 * rim where that is told apart. */
static void add_rim(gw_support_feature *c, const gw_convex *s, double z, gw_vec3 d)
{
    gw_vec3 lowest = rim_point(s, z, d), rim[4];
    int nearest = 0;
    for (int i = 0; i < 4; i++) {
        rim[i] = to_world(s, gw_v3(i == 0   ? s->r
                                   : i == 2 ? -s->r
                                            : 0,
                                   i == 1   ? s->r
                                   : i == 3 ? -s->r
                                            : 0,
                                   z));
        if (gw_distance(rim[i], lowest) < gw_distance(rim[nearest], lowest))
            nearest = i;
    }
    bool told = gw_dot(d, gw_sub(lowest, rim[nearest])) > 1e-7;
    for (int i = 0; i < 4; i++) {
        if (i == nearest && told)
            add_rolling(c, s, z, d, ID_RIM + 4);
        else
            add_corner(c, rim[i], 0, ID_RIM + i);
    }
    c->closed = true;
}

static void polytope_corners(const gw_convex *s, gw_vec3 d, gw_support_feature *c)
{
    const gw_polytope *p = s->polytope;
    int face = facing(p, gw_mat3_tmul(&s->turn, d), -2);
    c->closed = face >= 0;
    if (face >= 0) {
        c->count = face_corners(s, &p->faces[face], c->p, c->id);
        for (int i = 0; i < c->count; i++)
            c->radius[i] = 0;
        return;
    }
    for (int i = 0; i < p->vertex_count; i++)
        add_corner(c, to_world(s, p->vertices[i]), 0, i);
}

void gw_convex_incident_feature(const gw_convex *s, gw_vec3 d, gw_support_feature *c)
{
    const double steep = 0.7; /* cosine from which the flat end leads, not the side */
    c->count = 0;
    c->closed = false;
    if (s->core == GW_CORE_POLYTOPE) {
        polytope_corners(s, d, c);
        return;
    }
    double up = gw_dot(axis_of(s), d);
    if (up < -steep || (up > steep && s->core == GW_CORE_CYLINDER)) {
        add_rim(c, s, up > 0 ? s->high : s->low, d);
        return;
    }
    add_rolling(c, s, s->low, d, ID_BASE);
    if (s->core == GW_CORE_CYLINDER)
        add_rolling(c, s, s->high, d, ID_TOP);
    else
        add_corner(c, axis_point(s, s->high), 0, ID_APEX);
}

/* ---- the top ------------------------------------------------------------------------------- */

static void polytope_top(const gw_convex *s, gw_vec3 d, double slack, gw_support_feature *top)
{
    const gw_polytope *p = s->polytope;
    gw_vec3 local = gw_mat3_tmul(&s->turn, d);
    double most = gw_dot(p->vertices[farthest(p, local)], local);
    for (int i = 0; i < p->vertex_count && top->count < GW_FEATURE_POINTS; i++)
        if (gw_dot(p->vertices[i], local) >= most - slack)
            add_corner(top, to_world(s, p->vertices[i]), 0, i);
    top->closed = top->count > 2;
}

void gw_convex_support_feature(const gw_convex *s, gw_vec3 d, double slack, gw_support_feature *top)
{
    top->count = 0;
    top->closed = false;
    if (s->core == GW_CORE_POLYTOPE) {
        polytope_top(s, d, slack, top);
        return;
    }
    bool cone = s->core == GW_CORE_CONE;
    double length = s->high - s->low, up = gw_dot(axis_of(s), d);
    double level = fabs(up - (cone ? cone_sine(s) : 0)) * length;
    if (s->r * gw_norm(gw_cross(axis_of(s), d)) < slack && !(cone && up > 0)) {
        add_rim(top, s, up > 0 ? s->high : s->low, d);
    } else if (level < slack && cone) {
        add_corner(top, rim_point(s, s->low, d), 0, ID_BASE);
        add_corner(top, axis_point(s, s->high), 0, ID_APEX);
    } else if (level < slack) {
        add_corner(top, axis_point(s, s->low), s->r, ID_BASE);
        add_corner(top, axis_point(s, s->high), s->r, ID_TOP);
    } else {
        int id = cone && up > 0 && up > cone_sine(s) ? ID_APEX : up > 0 ? ID_TOP : ID_BASE;
        add_corner(top, gw_convex_support(s, d), 0, id);
    }
}
