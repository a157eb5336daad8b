/*
 * Support functions, faces and features of convex cores. Any thread.
 *
 * A cone's side makes the angle alpha with its axis, tan(alpha) = r / h: its normals are the circle
 * z . n = sin(alpha), as those of a cylinder's side are the circle z . n = 0.
 */
#include "rt/collision/convex.h"

#include <assert.h>
#include <stddef.h>

static gw_vec3 axis_of(const gw_convex *s)
{
    return gw_v3(s->rotation.m[0][2], s->rotation.m[1][2], s->rotation.m[2][2]);
}

static gw_vec3 to_world(const gw_convex *s, gw_vec3 x)
{
    return gw_add(s->origin, gw_mat3_mul(&s->rotation, x));
}

static gw_vec3 axis_point(const gw_convex *s, double z)
{
    return gw_mul_add(s->origin, z, axis_of(s));
}

/* The point of the rim at height z that is farthest along d; any point of it if d is the axis. */
static gw_vec3 rim_point(const gw_convex *s, double z, gw_vec3 d)
{
    gw_vec3 local = gw_mat3_tmul(&s->rotation, d);
    double n = hypot(local.x, local.y), k = n > 0 ? s->radius / n : 0;
    return to_world(s, gw_v3(k * local.x, k * local.y, z));
}

gw_edge_point gw_convex_rim_at(const gw_convex *s, gw_vec3 x)
{
    gw_vec3 z = axis_of(s), out = gw_unit(gw_reject(gw_sub(x, s->origin), z));
    return (gw_edge_point){.x = x, .e = gw_cross(z, out), .k = gw_scale(-1 / s->radius, out)};
}

static double cone_sine(const gw_convex *s)
{
    return s->radius / hypot(s->radius, s->high - s->low);
}

/* The ball at height z' of a cone has the radius (high - z') sin(alpha), and touches the side above
 * at z' + radius sin(alpha). */
gw_edge_point gw_convex_side_at(const gw_convex *s, gw_vec3 x)
{
    double z = gw_dot(axis_of(s), gw_sub(x, s->origin)), sine = cone_sine(s);
    if (s->core != GW_CORE_CONE)
        return (gw_edge_point){.x = axis_point(s, z), .e = axis_of(s), .radius = s->radius};
    double radius = (s->high - z) * sine / (1 - sine * sine);
    return (gw_edge_point){
        .x = axis_point(s, z - radius * sine), .e = axis_of(s), .radius = radius, .taper = -sine};
}

/* ---- support --------------------------------------------------------------------------------- */

/* The index of the vertex farthest along the local direction. */
static int support_vertex(const gw_polytope *p, gw_vec3 local)
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
    if (s->core == GW_CORE_POLYTOPE) {
        const gw_polytope *p = s->polytope;
        return to_world(s, p->vertices[support_vertex(p, gw_mat3_tmul(&s->rotation, d))]);
    }
    double up = gw_dot(axis_of(s), d);
    if (s->core == GW_CORE_CYLINDER)
        return rim_point(s, up > 0 ? s->high : s->low, d);
    return up > cone_sine(s) ? axis_point(s, s->high) : rim_point(s, s->low, d);
}

void gw_convex_project(const gw_convex *s, gw_vec3 n, double *low, double *high)
{
    assert(s->core == GW_CORE_POLYTOPE);
    const gw_polytope *p = s->polytope;
    gw_vec3 local = gw_mat3_tmul(&s->rotation, n);
    *high = gw_dot(p->vertices[support_vertex(p, local)], local);
    *low = p->box ? -*high : gw_dot(p->vertices[support_vertex(p, gw_neg(local))], local);
}

/* ---- faces ----------------------------------------------------------------------------------- */

/* The index of the face whose normal is nearest to the local direction; -1 where there is none. */
static int nearest_face(const gw_polytope *p, gw_vec3 local, double cosine)
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

/* The vertices of a face, every n-th of one that has too many; returns how many. */
static int face_vertices(const gw_convex *s, const gw_polytope_face *face, gw_vec3 *p, int *id)
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

static bool polytope_reference_face(const gw_convex *s, gw_vec3 d, double cosine,
                                    gw_reference_face *face)
{
    int best = nearest_face(s->polytope, gw_mat3_tmul(&s->rotation, d), cosine);
    if (best < 0)
        return false;
    const gw_polytope_face *local = &s->polytope->faces[best];
    face->normal = gw_mat3_mul(&s->rotation, local->normal);
    face->offset = local->offset + gw_dot(face->normal, s->origin);
    face->id = best;
    face->count = face_vertices(s, local, face->p, NULL);
    for (int i = 0; i < face->count; i++) {
        gw_vec3 to = face->p[i + 1 < face->count ? i + 1 : 0];
        face->side[i] = gw_cross(gw_sub(to, face->p[i]), face->normal);
    }
    return true;
}

bool gw_convex_reference_face(const gw_convex *s, gw_vec3 d, double cosine, gw_reference_face *face)
{
    if (s->core == GW_CORE_POLYTOPE)
        return polytope_reference_face(s, d, cosine, face);
    gw_vec3 z = axis_of(s);
    double up = gw_dot(z, d);
    bool top = s->core == GW_CORE_CYLINDER && up > 0;
    if ((top ? up : -up) <= cosine)
        return false;
    face->normal = top ? z : gw_neg(z);
    face->id = top ? GW_ID_TOP : GW_ID_BASE;
    face->count = 0;
    face->centre = axis_point(s, top ? s->high : s->low);
    face->radius = s->radius;
    face->offset = gw_dot(face->normal, face->centre);
    return true;
}

bool gw_convex_face_normal(const gw_convex *s, int i, gw_vec3 *normal)
{
    assert(i >= 0);
    if (s->core == GW_CORE_POLYTOPE) {
        if (i < s->polytope->face_count)
            *normal = gw_mat3_mul(&s->rotation, s->polytope->faces[i].normal);
        return i < s->polytope->face_count;
    }
    *normal = gw_scale(i == 0 ? -1 : 1, axis_of(s));
    return i < (s->core == GW_CORE_CYLINDER ? 2 : 1);
}

/* Distance of p, projected to the disc's plane, from the disc's centre (m). */
static double distance_from_centre(const gw_reference_face *disc, gw_vec3 p)
{
    return gw_norm(gw_reject(gw_sub(p, disc->centre), disc->normal));
}

double gw_reference_face_inset(const gw_reference_face *face, gw_vec3 p)
{
    double least = face->count == 0 ? face->radius - distance_from_centre(face, p) : INFINITY;
    for (int i = 0; i < face->count; i++) {
        gw_vec3 side = face->side[i];
        least = fmin(least, gw_dot(side, gw_sub(face->p[i], p)) / gw_norm(side));
    }
    return least;
}

bool gw_reference_face_contains(const gw_reference_face *face, gw_vec3 p, double slack)
{
    if (face->count == 0)
        return distance_from_centre(face, p) <= face->radius + slack;
    for (int i = 0; i < face->count; i++) {
        gw_vec3 side = face->side[i];
        double outside = gw_dot(side, gw_sub(p, face->p[i]));
        if (outside > 0 && outside > slack * gw_norm(side))
            return false;
    }
    return true;
}

/* ---- normal circles -------------------------------------------------------------------------- */

static bool has_circle(const gw_normal_circle *circles, int count, gw_vec3 d)
{
    for (int i = 0; i < count; i++)
        if (fabs(gw_dot(circles[i].d, d)) > 1 - 1e-12)
            return true;
    return false;
}

/* Normal circles of the edges that are orthogonal to d and as far along it as the support point. */
static int polytope_normal_circles(const gw_convex *s, gw_vec3 d, double slack,
                                   gw_normal_circle *circles, int capacity)
{
    const gw_polytope *p = s->polytope;
    gw_vec3 local = gw_mat3_tmul(&s->rotation, d);
    double top = gw_dot(p->vertices[support_vertex(p, local)], local);
    int count = 0;
    for (int i = 0; i < p->edge_count && count < capacity; i++) {
        gw_vec3 a = p->vertices[p->edges[i][0]], b = p->vertices[p->edges[i][1]];
        gw_vec3 along = gw_sub(b, a);
        double length = gw_norm(along), low = slack * length;
        if (fabs(gw_dot(along, local)) > low || gw_dot(a, local) < top - low)
            continue;
        along = gw_mat3_mul(&s->rotation, gw_scale(1 / length, along));
        if (!has_circle(circles, count, along))
            circles[count++] = (gw_normal_circle){along, 0};
    }
    return count;
}

int gw_convex_normal_circles(const gw_convex *s, gw_vec3 d, double slack, gw_normal_circle *circles,
                             int capacity)
{
    assert(slack >= 0 && capacity >= 0);
    if (s->core == GW_CORE_POLYTOPE)
        return polytope_normal_circles(s, d, slack, circles, capacity);
    double c = s->core == GW_CORE_CONE ? cone_sine(s) : 0;
    if (capacity < 1 || fabs(gw_dot(axis_of(s), d) - c) > slack)
        return 0;
    circles[0] = (gw_normal_circle){axis_of(s), c};
    return 1;
}

/* ---- features: points that contact may be at ------------------------------------------------- */

static void add_point(gw_support_feature *f, gw_vec3 p, double radius, int id)
{
    assert(f->count < GW_FEATURE_POINTS);
    f->p[f->count] = p;
    f->radius[f->count] = radius;
    f->id[f->count++] = id;
}

/*
 * A rim that rolls on a plane of normal -d: its present lowest point p is represented as the lowest
 * point of a ball of radius r sin(angle between axis and d). As the solid rotates about its axis p
 * moves, but the ball hardly does (by r cos^2).
 */
static void add_rolling_point(gw_support_feature *f, const gw_convex *s, double z, gw_vec3 d,
                              int id)
{
    double ball = s->radius * gw_norm(gw_cross(axis_of(s), d));
    add_point(f, gw_mul_add(rim_point(s, z, d), -ball, d), ball, id);
}

/* Four points of the rim, fixed in the body; the lowest point of the rim replaces the nearest of
 * them if it is lower. */
static void add_rim(gw_support_feature *f, const gw_convex *s, double z, gw_vec3 d)
{
    static const double x[4] = {1, 0, -1, 0}, y[4] = {0, 1, 0, -1};
    gw_vec3 lowest = rim_point(s, z, d), rim[4];
    int nearest = 0;
    for (int i = 0; i < 4; i++) {
        rim[i] = to_world(s, gw_v3(x[i] * s->radius, y[i] * s->radius, z));
        if (gw_distance(rim[i], lowest) < gw_distance(rim[nearest], lowest))
            nearest = i;
    }
    bool tilted = gw_dot(d, gw_sub(lowest, rim[nearest])) > 1e-7;
    for (int i = 0; i < 4; i++) {
        if (i == nearest && tilted)
            add_rolling_point(f, s, z, d, GW_ID_RIM + 4);
        else
            add_point(f, rim[i], 0, GW_ID_RIM + i);
    }
    f->closed = true;
}

static void polytope_incident_feature(const gw_convex *s, gw_vec3 d, gw_support_feature *f)
{
    const gw_polytope *p = s->polytope;
    int face = nearest_face(p, gw_mat3_tmul(&s->rotation, d), -2);
    f->closed = face >= 0;
    if (face >= 0) {
        f->count = face_vertices(s, &p->faces[face], f->p, f->id);
        for (int i = 0; i < f->count; i++)
            f->radius[i] = 0;
        return;
    }
    /* a point, a segment; or a pose that is not finite */
    for (int i = 0; i < p->vertex_count && i < GW_FEATURE_POINTS; i++)
        add_point(f, to_world(s, p->vertices[i]), 0, i);
}

void gw_convex_incident_feature(const gw_convex *s, gw_vec3 d, gw_support_feature *f)
{
    const double steep = 0.7; /* cosine from which the flat end is incident, not the side */
    f->count = 0;
    f->closed = false;
    if (s->core == GW_CORE_POLYTOPE) {
        polytope_incident_feature(s, d, f);
        return;
    }
    double up = gw_dot(axis_of(s), d);
    if (up < -steep || (up > steep && s->core == GW_CORE_CYLINDER)) {
        add_rim(f, s, up > 0 ? s->high : s->low, d);
        return;
    }
    add_rolling_point(f, s, s->low, d, GW_ID_BASE);
    if (s->core == GW_CORE_CYLINDER)
        add_rolling_point(f, s, s->high, d, GW_ID_TOP);
    else
        add_point(f, axis_point(s, s->high), 0, GW_ID_APEX);
}

/* ---- the support feature --------------------------------------------------------------------- */

static void polytope_support_feature(const gw_convex *s, gw_vec3 d, double slack,
                                     gw_support_feature *f)
{
    const gw_polytope *p = s->polytope;
    gw_vec3 local = gw_mat3_tmul(&s->rotation, d);
    double most = gw_dot(p->vertices[support_vertex(p, local)], local);
    for (int i = 0; i < p->vertex_count && f->count < GW_FEATURE_POINTS; i++)
        if (gw_dot(p->vertices[i], local) >= most - slack)
            add_point(f, to_world(s, p->vertices[i]), 0, i);
    f->closed = f->count > 2;
}

void gw_convex_support_feature(const gw_convex *s, gw_vec3 d, double slack, gw_support_feature *f)
{
    assert(slack >= 0);
    f->count = 0;
    f->closed = false;
    if (s->core == GW_CORE_POLYTOPE) {
        polytope_support_feature(s, d, slack, f);
        return;
    }
    bool cone = s->core == GW_CORE_CONE;
    double length = s->high - s->low, up = gw_dot(axis_of(s), d);
    double level = fabs(up - (cone ? cone_sine(s) : 0)) * length; /* of the side's ends */
    if (s->radius * gw_norm(gw_cross(axis_of(s), d)) < slack && !(cone && up > 0)) {
        add_rim(f, s, up > 0 ? s->high : s->low, d);
    } else if (level < slack && cone) {
        add_point(f, rim_point(s, s->low, d), 0, GW_ID_BASE);
        add_point(f, axis_point(s, s->high), 0, GW_ID_APEX);
    } else if (level < slack) {
        add_point(f, axis_point(s, s->low), s->radius, GW_ID_BASE);
        add_point(f, axis_point(s, s->high), s->radius, GW_ID_TOP);
    } else {
        int id = cone && up > 0 && up > cone_sine(s) ? GW_ID_APEX : up > 0 ? GW_ID_TOP : GW_ID_BASE;
        add_point(f, gw_convex_support(s, d), 0, id);
    }
}
