/*
 * Shapes as geoms. Not for use inside a tick, except for the functions that geom.h marks RT safe.
 */
#include "rt/collision/geom.h"

#include <assert.h>
#include <stdlib.h>

/* Takes over the polytope; NULL: memory was short. */
static bool set_polytope(gw_geom *g, gw_polytope *polytope, gw_error *error)
{
    g->polytope = polytope;
    g->convex.core = GW_CORE_POLYTOPE;
    g->convex.polytope = polytope;
    return polytope || gw_fail(error, GW_FAILED, "", "no memory for a solid's corners");
}

static bool set_surface(gw_geom *g, gw_nurbs *surface, gw_free_form *like, gw_error *error)
{
    g->free_form = gw_free_form_create(surface, like, error);
    g->trimesh = g->free_form ? gw_free_form_trimesh(g->free_form) : NULL;
    return g->free_form != NULL;
}

static bool init_core(gw_geom *g, const gw_shape *s, gw_free_form *like, gw_error *error)
{
    gw_convex *c = &g->convex;
    c->radius = s->radius;
    switch (s->kind) {
    case GW_SHAPE_BOX:
        return set_polytope(g, gw_polytope_box(s->size), error);
    case GW_SHAPE_SPHERE:
        c->rounding = s->radius;
        return set_polytope(g, gw_polytope_point(), error);
    case GW_SHAPE_CAPSULE:
        c->rounding = s->radius;
        return set_polytope(g, gw_polytope_segment(s->height), error);
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
            return set_polytope(g, gw_polytope_hull(s->mesh), error);
        g->trimesh = gw_trimesh_create(s->mesh, error);
        return g->trimesh != NULL;
    case GW_SHAPE_NURBS_SURFACE:
        return set_surface(g, s->nurbs, like, error);
    case GW_SHAPE_NURBS_CURVE:
    case GW_SHAPE_COMPOUND:
        break;
    }
    return gw_fail(error, GW_BAD_INPUT, "", "a %s is no primitive", gw_shape_kind_name(s->kind));
}

bool gw_geom_init(gw_geom *g, const gw_shape *shape, const gw_pose *body_from_geom,
                  gw_free_form *like, gw_error *error)
{
    assert(gw_finite3(body_from_geom->p));
    gw_aabb box = gw_shape_bounds(shape);
    *g = (gw_geom){.body_from_geom = *body_from_geom};
    g->centre = gw_scale(0.5, gw_add(box.low, box.high));
    g->half = gw_scale(0.5, gw_sub(box.high, box.low));
    g->radius = gw_norm(g->half);
    g->convex.size = g->radius + gw_norm(g->centre);
    return init_core(g, shape, like, error);
}

void gw_geom_finish(gw_geom *g)
{
    gw_polytope_destroy(g->polytope);
    if (!g->free_form)
        gw_trimesh_destroy(g->trimesh);
    gw_free_form_put(g->free_form);
    *g = (gw_geom){0};
}

void gw_geom_set_pose(gw_geom *g, const gw_pose *world_from_body, const gw_twist *twist)
{
    assert(g && world_from_body && twist);
    gw_pose pose = gw_pose_mul(world_from_body, &g->body_from_geom);
    g->convex.origin = pose.p;
    g->convex.rotation = gw_quat_to_mat3(gw_quat_unit(pose.q));
    g->world_centre = gw_add(pose.p, gw_mat3_mul(&g->convex.rotation, g->centre));
    g->twist.w = twist->w;
    g->twist.v = gw_add(twist->v, gw_cross(twist->w, gw_sub(g->world_centre, world_from_body->p)));
}

gw_vec3 gw_geom_half_extents(const gw_geom *g)
{
    const double(*m)[3] = g->convex.rotation.m;
    double h[3], half[3] = {g->half.x, g->half.y, g->half.z};
    for (int i = 0; i < 3; i++)
        h[i] = fabs(m[i][0]) * half[0] + fabs(m[i][1]) * half[1] + fabs(m[i][2]) * half[2];
    return gw_v3(h[0], h[1], h[2]);
}

gw_convex gw_geom_convex_at(const gw_geom *g, const gw_pose *world_from_body)
{
    assert(g && world_from_body);
    gw_pose pose = gw_pose_mul(world_from_body, &g->body_from_geom);
    return (gw_convex){.core = g->convex.core,
                       .polytope = g->convex.polytope,
                       .radius = g->convex.radius,
                       .low = g->convex.low,
                       .high = g->convex.high,
                       .rounding = g->convex.rounding,
                       .size = g->convex.size,
                       .origin = pose.p,
                       .rotation = gw_quat_to_mat3(gw_quat_unit(pose.q))};
}

/* Whether the point is in the geom's own bounding box, enlarged by `reach` to all sides. */
static bool in_box(const gw_geom *g, const gw_pose *world_from_body, gw_vec3 point, double reach)
{
    gw_vec3 x = gw_unrotate(world_from_body->q, gw_sub(point, world_from_body->p));
    x = gw_unrotate(g->body_from_geom.q, gw_sub(x, g->body_from_geom.p));
    x = gw_sub(x, g->centre);
    return fabs(x.x) <= g->half.x + reach && fabs(x.y) <= g->half.y + reach &&
           fabs(x.z) <= g->half.z + reach;
}

bool gw_geom_point_distance(const gw_geom *g, const gw_pose *world_from_body, gw_vec3 point,
                            double reach, gw_signed_distance *result)
{
    assert(g && world_from_body && reach >= 0 && result);
    static const gw_vec3 zero = {0, 0, 0};
    static const gw_polytope vertex = {.vertex_count = 1, .vertices = &zero};
    gw_convex at_point = {.core = GW_CORE_POLYTOPE,
                          .polytope = &vertex,
                          .origin = point,
                          .rotation = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}};
    if (g->trimesh || !in_box(g, world_from_body, point, reach))
        return false;
    gw_convex solid = gw_geom_convex_at(g, world_from_body);
    return gw_convex_distance(&at_point, &solid, reach, result);
}
