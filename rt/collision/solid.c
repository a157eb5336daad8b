/*
 * Shapes as convex pieces. Not for use inside a tick.
 */
#include "rt/collision/geom.h"

#include <stddef.h>

#include "rt/collision/gjk_epa.h"

static bool polytope_made(gw_geom *p, gw_polytope *polytope, gw_error *error)
{
    p->polytope = polytope;
    p->convex.core = GW_CORE_POLYTOPE;
    p->convex.polytope = polytope;
    return polytope || gw_fail(error, GW_FAILED, "", "no memory for a solid's corners");
}

static bool init_core(gw_geom *p, const gw_shape *s, gw_error *error)
{
    gw_convex *c = &p->convex;
    c->r = s->radius;
    switch (s->kind) {
    case GW_SHAPE_BOX:
        return polytope_made(p, gw_polytope_box(s->size), error);
    case GW_SHAPE_SPHERE:
        c->rounding = s->radius;
        return polytope_made(p, gw_polytope_point(), error);
    case GW_SHAPE_CAPSULE:
        c->rounding = s->radius;
        return polytope_made(p, gw_polytope_segment(s->height), error);
    case GW_SHAPE_CYLINDER:
        c->core = GW_CORE_CYLINDER;
        c->low = -s->height / 2;
        c->high = s->height / 2;
        return true;
    case GW_SHAPE_CONE:
        c->core = GW_CORE_CONE;
        c->high = s->height;
        return true;
    case GW_SHAPE_MESH:
        if (s->mesh->convex)
            return polytope_made(p, gw_polytope_hull(s->mesh), error);
        p->facets = gw_trimesh_create(s->mesh, error);
        return p->facets != NULL;
    default:
        return gw_fail(error, GW_BAD_INPUT, "", "a %s is no primitive",
                       gw_shape_kind_name(s->kind));
    }
}

bool gw_geom_init(gw_geom *p, const gw_shape *shape, const gw_pose *body_from, gw_error *error)
{
    gw_aabb box = gw_shape_bounds(shape);
    *p = (gw_geom){.body_from = *body_from};
    p->centre = gw_scale(0.5, gw_add(box.low, box.high));
    p->half = gw_scale(0.5, gw_sub(box.high, box.low));
    p->radius = gw_norm(p->half);
    p->convex.size = p->radius + gw_norm(p->centre);
    return init_core(p, shape, error);
}

void gw_geom_finish(gw_geom *piece)
{
    gw_polytope_destroy(piece->polytope);
    gw_trimesh_destroy(piece->facets);
    *piece = (gw_geom){0};
}

void gw_geom_set_pose(gw_geom *p, const gw_pose *world_from_body, const gw_twist *twist)
{
    gw_pose pose = gw_pose_mul(world_from_body, &p->body_from);
    p->convex.at = pose.p;
    p->convex.turn = gw_quat_to_mat3(gw_quat_unit(pose.q));
    p->at = gw_add(pose.p, gw_mat3_mul(&p->convex.turn, p->centre));
    p->twist.w = twist->w;
    p->twist.v = gw_add(twist->v, gw_cross(twist->w, gw_sub(p->at, world_from_body->p)));
}

gw_vec3 gw_geom_half_extents(const gw_geom *p)
{
    const double(*m)[3] = p->convex.turn.m;
    double h[3], half[3] = {p->half.x, p->half.y, p->half.z};
    for (int i = 0; i < 3; i++)
        h[i] = fabs(m[i][0]) * half[0] + fabs(m[i][1]) * half[1] + fabs(m[i][2]) * half[2];
    return gw_v3(h[0], h[1], h[2]);
}

gw_convex gw_geom_convex_at(const gw_geom *p, const gw_pose *world_from_body)
{
    gw_pose pose = gw_pose_mul(world_from_body, &p->body_from);
    return (gw_convex){.core = p->convex.core,
                       .polytope = p->convex.polytope,
                       .r = p->convex.r,
                       .low = p->convex.low,
                       .high = p->convex.high,
                       .rounding = p->convex.rounding,
                       .size = p->convex.size,
                       .at = pose.p,
                       .turn = gw_quat_to_mat3(gw_quat_unit(pose.q))};
}

/* Whether the point is in the piece's own box, or nearer to each of its sides than `reach`. */
static bool in_box(const gw_geom *p, const gw_pose *world_from_body, gw_vec3 point, double reach)
{
    gw_vec3 x = gw_unrotate(world_from_body->q, gw_sub(point, world_from_body->p));
    x = gw_unrotate(p->body_from.q, gw_sub(x, p->body_from.p));
    x = gw_sub(x, p->centre);
    return fabs(x.x) <= p->half.x + reach && fabs(x.y) <= p->half.y + reach &&
           fabs(x.z) <= p->half.z + reach;
}

bool gw_geom_point_distance(const gw_geom *p, const gw_pose *world_from_body, gw_vec3 point,
                            double reach, gw_signed_distance *way)
{
    static const gw_vec3 origin = {0, 0, 0};
    static const gw_polytope one = {.vertex_count = 1, .vertices = &origin};
    gw_convex there = {.core = GW_CORE_POLYTOPE,
                       .polytope = &one,
                       .at = point,
                       .turn = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}};
    if (p->facets || !in_box(p, world_from_body, point, reach))
        return false;
    gw_convex piece = gw_geom_convex_at(p, world_from_body);
    return gw_convex_distance(&there, &piece, reach, way);
}
