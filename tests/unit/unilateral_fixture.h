/*
 * Scenes of bodies in unilateral contact with a floor or with one another.
 */
#ifndef GW_TESTS_UNILATERAL_FIXTURE_H
#define GW_TESTS_UNILATERAL_FIXTURE_H

#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/free_fixture.h"

#define G 9.81

static inline gw_object *add_solid(gw_scene *s, const char *id, gw_shape shape, gw_vec3 at,
                                   double mass)
{
    gw_object *o = add_box(s, id, at, mass == 0);
    o->shape = shape;
    o->free = mass > 0;
    o->body.source = mass > 0 ? GW_MASS_GIVEN : o->body.source;
    o->body.mass = mass;
    return o;
}

/* A floor whose top goes through the origin, turned by `slope` about y. */
static inline void add_floor(gw_scene *s, double slope)
{
    gw_object *o = add_box(s, "floor", gw_v3(0, 0, 0), true);
    o->shape.size = gw_v3(10, 10, 0.2);
    o->pose.q = gw_quat_axis(gw_v3(0, 1, 0), slope);
    o->pose.p = gw_rotate(o->pose.q, gw_v3(0, 0, -0.1));
}

/* The sum of the contacts' forces along their normals (N). */
static inline double force_of(const gw_snapshot *s)
{
    double sum = 0;
    for (int i = 0; i < s->contact_count; i++)
        sum += fabs(gw_dot(s->contacts[i].at.force, s->contacts[i].at.normal));
    return sum;
}

#endif
