/* Mechanisms of joints between boxes, to be assembled: a four-bar, a Stewart platform, a chain. For
 * tests and benchmarks. */
#ifndef GW_TESTS_UNIT_ASSEMBLY_FIXTURE_H
#define GW_TESTS_UNIT_ASSEMBLY_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/geometry/nurbs.h"
#include "rt/scene/assembly.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/random.h"

static inline gw_pose place(gw_vec3 p)
{
    return (gw_pose){p, gw_quat_identity()};
}

/* A frame at p whose z is along `z`. */
static inline gw_pose place_along(gw_vec3 p, gw_vec3 z)
{
    return (gw_pose){p, gw_quat_between(gw_v3(0, 0, 1), gw_unit(z))};
}

static inline gw_scene *empty_scene(void)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    return s;
}

static inline gw_object *part(gw_scene *s, const char *id, bool fixed)
{
    gw_object *o = gw_scene_add_object(s, NULL);
    snprintf(o->id, sizeof o->id, "%s", id);
    o->shape = (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.2, 0.05, 0.05}};
    o->pose = gw_pose_identity();
    o->fixed = fixed;
    return o;
}

static inline gw_scene_joint *joint(gw_scene *s, gw_mobilizer type, const char *a, gw_pose at_a,
                                    const char *b, gw_pose at_b)
{
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    snprintf(j->id, sizeof j->id, "j%d", s->joint_count);
    snprintf(j->a.object, sizeof j->a.object, "%s", a);
    snprintf(j->b.object, sizeof j->b.object, "%s", b);
    j->type = type;
    j->a.at = at_a;
    j->b.at = at_b;
    j->enabled = true;
    return j;
}

/* Crank of 0.1 m, coupler of 0.3 m, rocker of 0.2 m on the ground's hinges 0.3 m apart, axes along
 * z. */
static inline gw_scene *four_bar_of_joints(void)
{
    gw_scene *s = empty_scene();
    part(s, "ground", true);
    part(s, "crank", false);
    part(s, "coupler", false);
    part(s, "rocker", false);
    gw_pose near = place(gw_v3(0, 0, 0));
    joint(s, GW_MOBILIZER_REVOLUTE, "crank", near, "ground", near);
    joint(s, GW_MOBILIZER_REVOLUTE, "coupler", near, "crank", place(gw_v3(0.1, 0, 0)));
    joint(s, GW_MOBILIZER_REVOLUTE, "rocker", near, "ground", place(gw_v3(0.3, 0, 0)));
    joint(s, GW_MOBILIZER_REVOLUTE, "coupler", place(gw_v3(0.3, 0, 0)), "rocker",
          place(gw_v3(0.2, 0, 0)));
    return s;
}

/* Six legs of a cylinder and a rod between two hexagons of 0.5 m and 0.3 m; universal joints below,
 * ball joints above. Lengths >= 0 state how far each rod is out of its cylinder. */
static inline gw_scene *stewart_platform(double length)
{
    gw_scene *s = empty_scene();
    part(s, "ground", true);
    part(s, "platform", false);
    for (int i = 0; i < 6; i++) {
        char cylinder[24], rod[24];
        double below = (i / 2) * 2 * GW_PI / 3 + (i % 2 ? 0.2 : -0.2);
        double above = (i / 2) * 2 * GW_PI / 3 + (i % 2 ? 1 : -1) * (GW_PI / 3 - 0.2);
        snprintf(cylinder, sizeof cylinder, "cylinder%d", i);
        snprintf(rod, sizeof rod, "rod%d", i);
        part(s, cylinder, false);
        part(s, rod, false);
        joint(s, GW_MOBILIZER_UNIVERSAL, cylinder, place(gw_v3(0, 0, 0)), "ground",
              place(gw_v3(0.5 * cos(below), 0.5 * sin(below), 0)));
        gw_scene_joint *j = joint(s, GW_MOBILIZER_PRISMATIC, rod, place(gw_v3(0, 0, 0)), cylinder,
                                  place(gw_v3(0, 0, 0)));
        j->has_position = length >= 0;
        j->position[0] = length;
        joint(s, GW_MOBILIZER_SPHERICAL, rod, place(gw_v3(0, 0, 0)), "platform",
              place(gw_v3(0.3 * cos(above), 0.3 * sin(above), 0)));
    }
    return s;
}

/* A chain of `count` bars of 0.1 m on ball joints, both ends on the ground. */
static inline gw_scene *hanging_chain(int count)
{
    gw_scene *s = empty_scene();
    char id[16], before[16] = "ground";
    part(s, "ground", true);
    for (int i = 0; i < count; i++) {
        snprintf(id, sizeof id, "bar%d", i);
        part(s, id, false)->pose.p = gw_v3(0.1 * i, 0.01 * (i % 3), 0);
        joint(s, GW_MOBILIZER_SPHERICAL, id, place(gw_v3(0, 0, 0)), before,
              place(gw_v3(i > 0 ? 0.1 : 0, 0, 0)));
        strcpy(before, id);
    }
    joint(s, GW_MOBILIZER_SPHERICAL, id, place(gw_v3(0.1, 0, 0)), "ground",
          place(gw_v3(0.08 * count, 0, 0)));
    return s;
}

/* `pairs` of free-form eggs, each of which touches the other one of its pair. */
static inline gw_scene *touching_eggs(int pairs)
{
    gw_scene *s = empty_scene();
    part(s, "ground", true);
    for (int i = 0; i < 2 * pairs; i++) {
        char id[16];
        snprintf(id, sizeof id, "egg%d", i);
        part(s, id, false)->shape =
            (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE,
                       .nurbs = gw_nurbs_ellipsoid(gw_v3(0.05, 0.04, 0.03), NULL)};
        if (i % 2 == 0)
            continue;
        gw_scene_constraint *c = gw_scene_add_constraint(s, NULL);
        c->kind = GW_SLIDING;
        c->enabled = true;
        snprintf(c->id, sizeof c->id, "c%d", i);
        snprintf(c->a.object, sizeof c->a.object, "%s", id);
        snprintf(c->b.object, sizeof c->b.object, "egg%d", i - 1);
        strcpy(c->a.feature, "surface");
        strcpy(c->b.feature, "surface");
    }
    return s;
}

/* Everything that is not fixed anywhere within 1 m, any way round. */
static inline void scatter_parts(gw_scene *s, unsigned long long *random)
{
    for (int i = 0; i < s->object_count; i++) {
        gw_object *o = &s->objects[i];
        if (o->fixed)
            continue;
        double x[3], r[4], square = 0;
        for (int k = 0; k < 3; k++)
            x[k] = random_uniform(random, -1, 1);
        while (!(square > 0.01 && square < 1)) {
            square = 0;
            for (int k = 0; k < 4; k++) {
                r[k] = random_uniform(random, -1, 1);
                square += r[k] * r[k];
            }
        }
        o->pose = (gw_pose){{x[0], x[1], x[2]}, gw_quat_unit((gw_quat){r[0], r[1], r[2], r[3]})};
    }
}

#endif
