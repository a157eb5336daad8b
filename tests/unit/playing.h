/*
 * A small world to play in, for tests of the whole tick: a planar arm and loose things in an
 * enclosure, held at the arm or at a thing, a simulated hand at a simulated device.
 */
#ifndef GW_TESTS_UNIT_PLAYING_H
#define GW_TESTS_UNIT_PLAYING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/sim/detection.h"
#include "rt/sim/scenario.h"
#include "rt/sim/simulation.h"

static inline gw_shape box(double x, double y, double z)
{
    return (gw_shape){.kind = GW_SHAPE_BOX, .size = {x, y, z}};
}

static inline gw_object *put(gw_scene *s, const char *id, gw_shape shape, gw_vec3 at)
{
    gw_object *o = gw_scene_add_object(s, NULL);
    snprintf(o->id, sizeof o->id, "%s", id);
    snprintf(o->material, sizeof o->material, "stuff");
    o->shape = shape;
    o->pose = gw_pose_identity();
    o->pose.p = at;
    return o;
}

static inline void put_loose(gw_scene *s, const char *id, gw_shape shape, gw_vec3 at, double mass)
{
    gw_object *o = put(s, id, shape, at);
    o->free = true;
    o->body.source = GW_MASS_GIVEN;
    o->body.mass = mass;
}

/* Walls at x and y = +-size; where there is weight a floor, and a lid so that nothing is lost. */
static inline void put_enclosure(gw_scene *s, double size, bool floor)
{
    const double thick = 0.02, high = 0.24, out = size + thick / 2;
    put(s, "east", box(thick, 2 * size, high), gw_v3(out, 0, 0))->fixed = true;
    put(s, "west", box(thick, 2 * size, high), gw_v3(-out, 0, 0))->fixed = true;
    put(s, "north", box(2 * size, thick, high), gw_v3(0, out, 0))->fixed = true;
    put(s, "south", box(2 * size, thick, high), gw_v3(0, -out, 0))->fixed = true;
    if (!floor)
        return;
    put(s, "floor", box(2 * size, 2 * size, thick), gw_v3(0, 0, -0.03))->fixed = true;
    put(s, "lid", box(2 * size, 2 * size, thick), gw_v3(0, 0, 0.1))->fixed = true;
}

static inline void put_material(gw_scene *s, double restitution, double friction)
{
    gw_material *m = gw_scene_add_material(s, NULL);
    strcpy(m->id, "stuff");
    m->surface.restitution = restitution;
    m->surface.friction = friction;
}

/* The arm of mechanisms.txt, Table I, its links as boxes. */
static inline gw_mechanism *put_arm(gw_scene *s, const double q[3])
{
    static const double length[3] = {0.042, 0.042, 0.030}, mass[3] = {3, 3, 1};
    static const double inertia[3] = {0.015, 0.015, 0.005};
    gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
    strcpy(m->id, "arm");
    m->base = gw_pose_identity();
    gw_mechanism_resize(m, 3);
    for (int i = 0; i < 3; i++) {
        gw_link_def *l = &m->links[i];
        gw_link_geometry *geometry = &m->geometries[i];
        l->parent_from_joint.p.x = i ? length[i - 1] : 0;
        l->mass.mass = mass[i];
        l->mass.com = gw_v3(length[i] / 2, 0, 0);
        l->mass.inertia = (gw_mat3){{{inertia[i], 0, 0}, {0, inertia[i], 0}, {0, 0, inertia[i]}}};
        geometry->has_geometry = true;
        geometry->shape = box(length[i] - 0.004, 0.008, 0.008);
        geometry->pose.p.x = length[i] / 2;
        strcpy(geometry->material, "stuff");
        m->position[i] = q[i];
    }
    return m;
}

/* A device of the driver, and a tool at it that holds nothing yet. */
static inline gw_tool *put_tool(gw_scene *s, const char *driver)
{
    gw_device *d = gw_scene_add_device(s, NULL);
    gw_tool *t = gw_scene_add_tool(s, NULL);
    strcpy(d->id, "sim");
    snprintf(d->driver, sizeof d->driver, "%s", driver);
    *t = gw_tool_default();
    strcpy(t->device, "sim");
    return t;
}

static inline void set_device(gw_scene *s, const char *name, double value)
{
    gw_setting *set = &s->devices[0].settings[s->devices[0].setting_count++];
    snprintf(set->name, sizeof set->name, "%s", name);
    set->value = value;
}

/* A scene that runs: what it is made of, given back by stop_play(). */
typedef struct play {
    gw_scene *scene;
    gw_layout *layout;
    gw_device_slot *slot;
    gw_simulation *simulation;
    uint64_t tick;
    unsigned long long revision;
} play;

static inline gw_scenario *play_scenario(play *p, gw_error *error)
{
    gw_scenario_def def = {.scene = p->scene,
                           .layout = p->layout,
                           .slots = &p->slot,
                           .slot_count = p->slot ? 1 : 0,
                           .revision = ++p->revision};
    return gw_scenario_create(&def, error);
}

static inline void command_play(play *p, gw_command command)
{
    gw_command retired;
    gw_simulation_apply(p->simulation, &command, &retired);
    if (retired.kind == GW_COMMAND_SCENARIO)
        gw_scenario_destroy(retired.scenario);
    if (retired.kind == GW_COMMAND_OPERATOR)
        gw_operator_program_destroy(retired.operator.program);
}

/* Takes the scene over; running. */
static inline bool start_play(play *p, gw_scene *scene)
{
    gw_error error = {0};
    *p = (play){.scene = scene};
    bool made = gw_scene_check(scene, &error);
    p->layout = made ? gw_layout_create(scene, NULL, &error) : NULL;
    if (p->layout && scene->device_count)
        p->slot = gw_device_slot_open(&scene->devices[0], gw_scene_step_rate(scene), &error);
    gw_scenario *scenario = p->layout ? play_scenario(p, &error) : NULL;
    p->simulation = scenario ? gw_simulation_create(scenario, &error) : NULL;
    if (!p->simulation) {
        fprintf(stderr, "%s: %s\n", error.where, error.message);
        return false;
    }
    command_play(p, (gw_command){.kind = GW_COMMAND_STATE, .state = GW_RUNNING});
    return true;
}

/* The changed scene takes the place of what runs, from where everything is. */
static inline bool change_play(play *p, const gw_pose *poses)
{
    gw_layout *layout = gw_layout_create(p->scene, poses, NULL), *old = p->layout;
    if (!layout)
        return false;
    p->layout = layout;
    gw_scenario *scenario = play_scenario(p, NULL);
    if (scenario)
        command_play(p, (gw_command){.kind = GW_COMMAND_SCENARIO, .scenario = scenario});
    gw_layout_destroy(old);
    return scenario;
}

/* One tick, then the detection that it asks for. */
static inline const gw_snapshot *tick_play(play *p)
{
    gw_simulation_tick(p->simulation);
    gw_detection *detection = gw_simulation_detection(p->simulation);
    if (detection)
        gw_detection_run(detection);
    p->tick++;
    return gw_simulation_snapshot(p->simulation);
}

static inline void stop_play(play *p)
{
    gw_simulation_destroy(p->simulation);
    gw_device_slot_close(p->slot);
    gw_layout_destroy(p->layout);
    gw_scene_destroy(p->scene);
}

/* Energy (J) that the balance does not account for. */
static inline double energy_residual(const gw_energy *e)
{
    return e->kinetic + e->potential + e->dissipated - e->initial - e->work_in - e->motors -
           e->edits;
}

#endif
