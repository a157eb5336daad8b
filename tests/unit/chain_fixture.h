/*
 * Serial mechanisms that tests share.
 */
#ifndef GW_TESTS_UNIT_CHAIN_FIXTURE_H
#define GW_TESTS_UNIT_CHAIN_FIXTURE_H

#include <math.h>
#include <string.h>

#include "rt/dynamics/link.h"

/* A serial mechanism of revolute and prismatic joints on the ground. */
typedef struct serial_def {
    int count; /* links */
    gw_link_def links[GW_MAX_LINKS];
    gw_pose world_from_base;
    gw_vec3 gravity; /* m/s^2 */
    int held;        /* link with the held frame; -1: the last link's frame serves */
    gw_pose link_from_held;
    double dt; /* s; 0: 1e-3 */
} serial_def;

static inline gw_mass fixture_rod_mass(double length, double mass, double inertia)
{
    return (gw_mass){
        mass, {length / 2, 0, 0}, {{{inertia, 0, 0}, {0, inertia, 0}, {0, 0, inertia}}}};
}

/* Rods along x that turn about z, each hinged at the last one's end; weight along -y. */
static inline serial_def fixture_rods(int count, double length, double mass, double inertia,
                                      double g)
{
    serial_def def = {.count = count,
                      .world_from_base = gw_pose_identity(),
                      .gravity = {0, -g, 0},
                      .held = -1,
                      .link_from_held = gw_pose_identity()};
    for (int i = 0; i < count; i++) {
        def.links[i] = (gw_link_def){.kind = GW_JOINT_REVOLUTE,
                                     .parent_from_joint = gw_pose_identity(),
                                     .axis = {0, 0, 1},
                                     .mass = fixture_rod_mass(length, mass, inertia)};
        def.links[i].parent_from_joint.p.x = i > 0 ? length : 0;
    }
    return def;
}

/* Mechanisms, Table I; centres of mass at mid-link, inertias about them. */
static inline serial_def fixture_table_one(double g)
{
    serial_def def = fixture_rods(3, 0.042, 3, 0.015, g);
    def.links[2].mass = fixture_rod_mass(0.03, 1, 0.005);
    return def;
}

/* Axes, offsets and inertias of no particular direction, every third joint a slide. */
static inline serial_def fixture_skew(int count)
{
    serial_def def = fixture_rods(count, 0.3, 1, 0.01, 0);
    def.world_from_base = (gw_pose){{0.1, -0.2, 0.3}, gw_quat_exp(gw_v3(0.3, -0.4, 0.2))};
    def.gravity = gw_v3(1, -2, -9);
    for (int i = 0; i < count; i++) {
        gw_link_def *link = &def.links[i];
        link->kind = i % 3 == 2 ? GW_JOINT_PRISMATIC : GW_JOINT_REVOLUTE;
        link->axis = gw_unit(gw_v3(cos(1.7 * i), sin(2.3 * i), 0.4));
        link->parent_from_joint.p = gw_v3(0.2, 0.1 * cos(i), 0.1 * sin(3 * i));
        link->parent_from_joint.q = gw_quat_exp(gw_v3(0.5 * sin(i), 0.3, -0.4 * cos(2 * i)));
        link->mass.com = gw_v3(0.1, 0.05 * sin(i), -0.04);
        link->mass.inertia =
            (gw_mat3){{{0.02, 0.002, -0.001}, {0.002, 0.03, 0.004}, {-0.001, 0.004, 0.025}}};
    }
    def.held = count - 1;
    def.link_from_held = (gw_pose){{0.1, 0.07, -0.03}, gw_quat_exp(gw_v3(0.1, 0.9, -0.3))};
    return def;
}

/* A state of no particular kind. */
static inline void fixture_joints(double *q, double *v)
{
    for (int i = 0; i < GW_MAX_LINKS; i++) {
        q[i] = 0.8 * sin(1.3 * i + 0.4);
        v[i] = 0.9 * cos(2.1 * i);
    }
}

#endif
