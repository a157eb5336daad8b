/*
 * A hand at a simulated impedance device, its control and a model: the loop's tick without the
 * loop, task space being device space. For tests and figures of rt/haptics.
 */
#ifndef GW_TESTS_UNIT_HELD_PLAY_H
#define GW_TESTS_UNIT_HELD_PLAY_H

#include <stdio.h>
#include <stdlib.h>

#include "drivers/driver.h"
#include "rt/haptics/impedance.h"

typedef struct held_play {
    gw_model *model;
    gw_driver_device *device;
    gw_impedance_control rendering;
    double dt;
    gw_wrench push; /* the hand's, held over a tick */
    gw_operational_state seen;
    gw_operational_step stepped;
    gw_impedance_device at;
    gw_impedance_out out;
    gw_step step;
    double jacobian[GW_MODEL_MAX_DOF][6];
    double hand_work; /* at the device, true (J) */
} held_play;

static inline gw_wrench held_constant(const void *context, double t, const gw_pose *held,
                                      const gw_twist *twist)
{
    (void)t, (void)held, (void)twist;
    return *(const gw_wrench *)context;
}

static inline bool held_open(held_play *p, gw_model *model, const char *profile,
                             const gw_named_value *settings, int count, double rate,
                             const gw_impedance_def *def)
{
    char why[160] = "";
    *p = (held_play){.model = model, .dt = 1 / rate};
    p->device =
        gw_driver_find("sim-impedance")->open(profile, settings, count, rate, why, sizeof why);
    if (!p->device) {
        fprintf(stderr, "%s\n", why);
        return false;
    }
    gw_impedance_init(&p->rendering, def);
    return true;
}

static inline void held_close(held_play *p)
{
    gw_driver_find("sim-impedance")->close(p->device);
}

/* The device at rest beside the model's held frame, off by `offset`. */
static inline void held_place(held_play *p, gw_twist offset)
{
    gw_pose pose;
    gw_twist twist;
    gw_model_held(p->model, &pose, &twist);
    pose = gw_pose_add(&pose, &offset);
    gw_driver_find("sim-impedance")
        ->place(p->device, (double[]){pose.p.x, pose.p.y, pose.p.z},
                (double[]){pose.q.w, pose.q.x, pose.q.y, pose.q.z});
}

static inline gw_pose held_truth(const held_play *p)
{
    gw_device_truth t;
    gw_driver_find("sim-impedance")->truth(p->device, &t);
    return (gw_pose){{t.p[0], t.p[1], t.p[2]}, {t.q[0], t.q[1], t.q[2], t.q[3]}};
}

static inline void held_read(held_play *p)
{
    gw_device_sample s;
    const gw_device_info *info = gw_driver_find("sim-impedance")->info(p->device);
    gw_driver_find("sim-impedance")
        ->exert(p->device, (double[]){p->push.f.x, p->push.f.y, p->push.f.z},
                (double[]){p->push.t.x, p->push.t.y, p->push.t.z});
    gw_driver_find("sim-impedance")->read(p->device, &s);
    p->at =
        (gw_impedance_device){.pose = {{s.p[0], s.p[1], s.p[2]}, {s.q[0], s.q[1], s.q[2], s.q[3]}},
                              .twist = {{s.v[0], s.v[1], s.v[2]}, {s.w[0], s.w[1], s.w[2]}},
                              .hand = {{s.f[0], s.f[1], s.f[2]}, {s.t[0], s.t[1], s.t[2]}},
                              .mass = info->mass,
                              .inertia = info->inertia,
                              .damping = info->damping,
                              .damping_angular = info->damping_angular,
                              .force_max = info->force_max,
                              .torque_max = info->torque_max,
                              .delay = info->delay,
                              .velocity_delay = info->velocity_delay,
                              .planar = info->planar};
}

/* The device moves under `u` and the hand; its work is counted. */
static inline void held_move(held_play *p, const gw_wrench *u)
{
    gw_pose before = held_truth(p);
    gw_device_command c = {
        .f = {u->f.x, u->f.y, u->f.z}, .t = {u->t.x, u->t.y, u->t.z}, .engaged = true};
    gw_driver_find("sim-impedance")->write(p->device, &c);
    gw_pose after = held_truth(p);
    gw_twist way = gw_pose_sub(&after, &before);
    p->hand_work += gw_dot(p->push.f, way.v) + gw_dot(p->push.t, way.w);
}

/* The first half of a tick: the model has stepped under what it feels. */
static inline void held_begin(held_play *p)
{
    held_read(p);
    gw_operational_state_of(p->model, p->jacobian, &p->seen);
    p->out = gw_impedance_pre_step(&p->rendering, &p->seen, &p->at, p->dt);
    gw_forces forces = {.at = held_constant, .context = &p->out.on_model};
    gw_model_step(p->model, &forces, p->dt, &p->step);
}

/* The second: `impulse` (generalised; NULL: none) hit it at the step's end. */
static inline void held_end(held_play *p, const double *impulse)
{
    gw_operational_step_of(p->model, impulse, &p->stepped);
    gw_impedance_post_step(&p->rendering, &p->stepped, &p->out);
    held_move(p, &p->out.command);
}

static inline void held_tick(held_play *p)
{
    held_begin(p);
    held_end(p, NULL);
}

/* Distance of device and held frame (m). */
static inline double held_apart(const held_play *p)
{
    gw_pose device = held_truth(p), held;
    gw_twist twist;
    gw_model_held(p->model, &held, &twist);
    return gw_distance(device.p, held.p);
}

#endif
