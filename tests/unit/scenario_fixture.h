/*
 * Sets, bodies and scenarios made by hand, for tests that need no solver.
 */
#ifndef GW_TESTS_UNIT_SCENARIO_FIXTURE_H
#define GW_TESTS_UNIT_SCENARIO_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "rt/geometry/nurbs.h"
#include "rt/haptics/admittance.h"
#include "rt/sim/scenario_private.h"
#include "rt/sim/simulation.h"
#include "rt/geometry/nurbs_primitive.h"

static inline gw_submanifold fixture_set(gw_rotation_kind rotation, gw_locus_kind locus,
                                         bool in_mobile)
{
    static const int turns[] = {3, 2, 1, 0}, slides[] = {3, 2, 2, 2, 1, 1, 1, 1, 2, 0};
    gw_submanifold set;
    memset(&set, 0, sizeof set);
    set.rotation.kind = rotation;
    set.rotation.dof = turns[rotation];
    set.rotation.zero = gw_quat_identity();
    set.rotation.axis = set.rotation.axis_body = gw_v3(0, 0, 1);
    if (rotation == GW_ROTATION_ANGLE) {
        set.rotation.angle = 0.7;
        set.rotation.zero = gw_quat_axis(gw_v3(1, 0, 0), 0.7);
    }
    gw_locus *l = &set.translation.locus;
    set.translation.dof = slides[locus];
    set.translation.in_mobile = in_mobile;
    *l = (gw_locus){.kind = locus, .a = 0.1, .b = 0.07};
    if (locus == GW_LOCUS_CURVE || locus == GW_LOCUS_SURFACE) {
        static gw_nurbs *curve, *surface;
        curve = curve ? curve : gw_nurbs_circle(0.1, NULL);
        surface = surface ? surface : gw_nurbs_ellipsoid(gw_v3(0.1, 0.08, 0.06), NULL);
        l->nurbs = locus == GW_LOCUS_CURVE ? curve : surface;
        l->a = locus == GW_LOCUS_CURVE ? 0 : 0.02;
    }
    l->e1 = gw_v3(1, 0, 0);
    l->e2 = gw_v3(0, 1, 0);
    l->e3 = gw_v3(0, 0, 1);
    set.dof = set.rotation.dof + set.translation.dof;
    set.seed = (gw_pose){{0.1, 0, 0}, set.rotation.zero};
    return set;
}

/* Turns about z, its frame's origin on a circle of 0.1 m, or on the plane z = 0. */
static inline gw_submanifold fixture_turning(gw_locus_kind locus)
{
    gw_submanifold set = fixture_set(GW_ROTATION_AXIS, locus, false);
    gw_vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
    set.rows[0] = (gw_row){.kind = GW_ROW_ANGLE, .m = z, .n = x};
    set.rows[1] = (gw_row){.kind = GW_ROW_ANGLE, .m = z, .n = y};
    set.rows[2] = (gw_row){.kind = GW_ROW_PLANE, .n = z};
    set.rows[3] = (gw_row){.kind = GW_ROW_CYLINDER, .n = z, .value = 0.1};
    set.row_count = locus == GW_LOCUS_CIRCLE ? 4 : 3;
    return set;
}

static inline gw_guided_def fixture_body(gw_submanifold set)
{
    gw_guided_def def;
    memset(&def, 0, sizeof def);
    def.set = set;
    def.mass.mass = 2;
    def.mass.inertia = (gw_mat3){{{2e-3, 0, 0}, {0, 2e-3, 0}, {0, 0, 1e-3}}};
    def.body_from_held = gw_pose_identity();
    def.length = 0.05;
    return def;
}

static inline gw_device_slot *fixture_device(const char *profile, const gw_operator *operator,
                                             int rate)
{
    gw_device device;
    memset(&device, 0, sizeof device);
    strcpy(device.id, "sim");
    strcpy(device.driver, "sim");
    strcpy(device.profile, profile);
    device.operator= * operator;
    return gw_device_slot_open(&device, rate, NULL);
}

/* Nothing that follows. */
static inline gw_kinematics *fixture_network(void)
{
    gw_scene scene = gw_scene_default();
    gw_layout layout = {0};
    return gw_kinematics_create(&scene, &layout, NULL);
}

/* A unilateral constraint of the held object: of a line or a point of it from something fixed. */
typedef struct fixture_wall {
    const char *id;
    gw_element own, other; /* in the body's frame, in the world */
    gw_bound bound;
    double value;
} fixture_wall;

static inline gw_element fixture_point(gw_vec3 p)
{
    return (gw_element){.kind = GW_POINT, .p = p};
}

static inline gw_element fixture_plane(gw_vec3 p, gw_vec3 normal)
{
    return (gw_element){.kind = GW_PLANE, .p = p, .d = normal};
}

static inline gw_element fixture_line(gw_vec3 p, gw_vec3 direction)
{
    return (gw_element){.kind = GW_LINE, .p = p, .d = direction};
}

/* The held object keeps one point at x = `at` at most. */
static inline fixture_wall fixture_wall_at_x(const char *id, double at)
{
    return (fixture_wall){.id = id,
                          .own = fixture_point(gw_v3(0, 0, 0)),
                          .other = fixture_plane(gw_v3(at, 0, 0), gw_v3(1, 0, 0)),
                          .bound = GW_BOUND_AT_MOST};
}

/* The scene of a scenario that is made by hand: names of the held object, and the
 * constraints that keep it to one side of what is fixed. */
static inline gw_scene *fixture_walls(const fixture_wall *walls, int count)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    strcpy(gw_scene_add_object(s, NULL)->id, "cone");
    gw_object *ground = gw_scene_add_object(s, NULL);
    strcpy(ground->id, "ground");
    ground->fixed = true;
    for (int i = 0; i < count; i++) {
        gw_scene_constraint *c = gw_scene_add_constraint(s, NULL);
        c->kind = GW_DISTANCE;
        c->bound = walls[i].bound;
        c->value = walls[i].value;
        strcpy(c->id, walls[i].id);
        for (int side = 0; side < 2; side++) {
            gw_feature_ref *ref = side ? &c->b : &c->a;
            gw_feature *f = gw_scene_add_feature(s, NULL);
            strcpy(f->object, side ? "ground" : "cone");
            strcpy(f->name, walls[i].id);
            f->element = side ? walls[i].other : walls[i].own;
            strcpy(ref->object, f->object);
            strcpy(ref->feature, f->name);
        }
    }
    return s;
}

/* The scenario's held object is kept by these. */
static inline void fixture_set_walls(gw_scenario *scenario, const fixture_wall *walls, int count)
{
    gw_scene *s = fixture_walls(walls, count);
    gw_scenario_tool *t = &scenario->tools[0];
    int held = 0, none = -1, system_of[2] = {-1, -1};
    gw_pose poses[2] = {t->pose, gw_pose_identity()};
    gw_layout layout = {.poses = poses, .system_of = system_of};
    gw_scene_dynamics_destroy(scenario->dynamics);
    scenario->dynamics = gw_scene_dynamics_create(&(gw_scene_dynamics_def){.scene = s,
                                                                           .layout = &layout,
                                                                           .tool_count = 1,
                                                                           .objects = &held,
                                                                           .systems = &none,
                                                                           .bodies = &none,
                                                                           .rate = scenario->rate},
                                                  NULL);
    t->unilateral_count = count;
    for (int i = 0; i < count; i++)
        t->unilaterals[i] = gw_name_hash(walls[i].id, 0);
    gw_scene_destroy(s);
}

/* `tools` held objects, and nothing that touches them. */
static inline gw_scene_dynamics *fixture_dynamics(int rate, int tools)
{
    gw_scene scene = gw_scene_default();
    gw_layout layout = {0};
    gw_object held[GW_MAX_TOOLS] = {{.id = "cone"}, {.id = "second"}}; /* named, but not built */
    scene.objects = held;
    int objects[GW_MAX_TOOLS] = {0, 1}, none[GW_MAX_TOOLS] = {-1, -1};
    return gw_scene_dynamics_create(&(gw_scene_dynamics_def){.scene = &scene,
                                                             .layout = &layout,
                                                             .tool_count = tools,
                                                             .objects = objects,
                                                             .systems = none,
                                                             .bodies = none,
                                                             .rate = rate},
                                    NULL);
}

/* One tool on the set, its body at (0.1, 0, 0) with the set's zero rotation. */
static inline gw_scenario *fixture_scenario(const gw_guided_def *body, gw_device_slot *slot,
                                            int rate)
{
    gw_scenario *s = calloc(1, sizeof *s);
    gw_scenario_tool *t = &s->tools[0];
    *s = (gw_scenario){.revision = 1,
                       .rate = rate,
                       .dt = 1.0 / rate,
                       .substeps = 1,
                       .transition_speed = 0.25,
                       .transition_spin = 1,
                       .tool_count = 1,
                       .slot_count = 1};
    s->kinematics = fixture_network();
    s->dynamics = fixture_dynamics(rate, 1);
    s->slots[0] = slot;
    t->name = gw_name_hash("cone", 0);
    t->mechanism = t->system = -1;
    t->start = gw_pose_identity();
    t->guided = *body;
    t->pose = (gw_pose){{0.1, 0, 0}, body->set.rotation.zero};
    t->slot = slot;
    t->gain_p = GW_PID_P;
    t->gain_i = GW_PID_I;
    t->gain_d = GW_PID_D;
    gw_workspace_fit fit = {.set = &t->guided.set,
                            .world_from_body = t->pose,
                            .body_from_tool = body->body_from_held,
                            .workspace_radius = gw_device_slot_info(slot)->workspace_radius,
                            .scene_diagonal = 0.4};
    t->map = gw_workspace_fitted(&fit);
    return s;
}

static inline void fixture_state(gw_simulation *s, gw_run_state state)
{
    gw_command retired, command = {.kind = GW_COMMAND_STATE, .state = state};
    gw_simulation_apply(s, &command, &retired);
}

#endif
