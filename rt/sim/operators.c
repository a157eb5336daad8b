/*
 * Scripted wrenches, the simulated hand (its model is in README.md), the drag. On the loop's
 * thread, RT safe, except for create and destroy.
 */
#include "rt/sim/operators.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HAND_MASS_KG           0.5
#define HAND_STIFFNESS         500.0 /* N/m */
#define HAND_DAMPING_RATIO     0.7
#define HAND_STIFFNESS_ANGULAR 5.0  /* N m/rad */
#define GRIP_RATIO             10.0 /* ratio of the stiffness of fingers and arm */
#define DRAG_STIFFNESS         500.0
#define DRAG_FORCE_MAX         30.0
/* A spring that is evaluated once a period is stable well below k dt^2/m = 1, d dt/m = 1. */
#define STIFFNESS_SHARE 0.05
#define DAMPING_SHARE   0.3

static double value_or_default(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}

double gw_inertia_lower_bound(const gw_mat3 *i)
{
    /* 1 / trace(I^-1) <= smallest eigenvalue <= 3 / trace(I^-1) */
    double(*m)[3] = (double(*)[3])i->m;
    double a = m[1][1] * m[2][2] - m[1][2] * m[1][2];
    double b = m[0][0] * m[2][2] - m[0][2] * m[0][2];
    double c = m[0][0] * m[1][1] - m[0][1] * m[0][1];
    double det = m[0][0] * a - m[0][1] * (m[0][1] * m[2][2] - m[1][2] * m[0][2]) +
                 m[0][2] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
    return a + b + c > 0 ? det / (a + b + c) : 0;
}

/* ---- programs ------------------------------------------------------------------------------- */

static void *copy_bytes(const void *from, size_t size)
{
    void *to = malloc(size ? size : 1);
    if (to && size)
        memcpy(to, from, size);
    return to;
}

gw_operator_program *gw_operator_program_create(const gw_operator *operator)
{
    assert(operator);
    size_t count = (size_t) operator->count;
    gw_operator_program *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->what = *operator;
    p->what.samples = NULL;
    p->what.path = NULL;
    if (operator->kind == GW_OPERATOR_WRENCH)
        p->what.samples = copy_bytes(operator->samples, count * sizeof *operator->samples);
    if (operator->kind == GW_OPERATOR_HAND)
        p->what.path = copy_bytes(operator->path, count * sizeof *operator->path);
    if (operator->kind != GW_OPERATOR_NONE && !p->what.samples && !p->what.path) {
        free(p);
        return NULL;
    }
    gw_operator_rewind(p);
    return p;
}

void gw_operator_program_destroy(gw_operator_program *program)
{
    if (!program)
        return;
    free(program->what.samples);
    free(program->what.path);
    free(program);
}

void gw_operator_rewind(gw_operator_program *program)
{
    program->at = -1;
    program->started = false;
}

/* Zero-order hold of the samples; zero before the first. */
static gw_wrench scripted_wrench(gw_operator_program *p, double t)
{
    const gw_operator *o = &p->what;
    while (p->at + 1 < o->count && o->samples[p->at + 1].t <= t)
        p->at++;
    return p->at >= 0 ? o->samples[p->at].wrench : (gw_wrench){{0, 0, 0}, {0, 0, 0}};
}

/* ---- the hand ------------------------------------------------------------------------------- */

static gw_hand_model hand_model_of(const gw_operator *what)
{
    double mass = value_or_default(what->mass, HAND_MASS_KG);
    double stiffness = value_or_default(what->stiffness, HAND_STIFFNESS);
    double critical = 2 * sqrt(stiffness * mass);
    return (gw_hand_model){stiffness,
                           value_or_default(what->damping, HAND_DAMPING_RATIO * critical), mass};
}

gw_hand_model gw_operator_hand(const gw_operator_program *program)
{
    if (!program || program->what.kind != GW_OPERATOR_HAND)
        return (gw_hand_model){0, 0, 0};
    return hand_model_of(&program->what);
}

/* Target on the path at t, and its velocity: linear between knots, constant outside. */
static gw_pose path_at(gw_operator_program *p, double t, gw_vec3 *velocity)
{
    const gw_operator *o = &p->what;
    *velocity = gw_v3(0, 0, 0);
    if (o->count == 0)
        return p->home;
    while (p->at + 1 < o->count && o->path[p->at + 1].t <= t)
        p->at++;
    if (p->at < 0)
        return o->path[0].pose;
    if (p->at + 1 >= o->count)
        return o->path[p->at].pose;
    const gw_hand_knot *a = &o->path[p->at], *b = a + 1;
    double span = b->t - a->t;
    double s = span > 0 ? (t - a->t) / span : 1;
    gw_twist displacement = gw_pose_sub(&b->pose, &a->pose);
    if (span > 0)
        *velocity = gw_scale(1 / span, displacement.v);
    displacement = (gw_twist){gw_scale(s, displacement.v), gw_scale(s, displacement.w)};
    return gw_pose_add(&a->pose, &displacement);
}

/*
 * The arm's spring and damper pull the hand's mass along the path; the fingers' spring and damper
 * couple it to the tool. Arm and fingers in series have the stated stiffness. The hand's motion is
 * integrated implicitly, which is stable for any mass.
 */
static gw_vec3 hand_force(gw_operator_program *p, gw_vec3 target, gw_vec3 target_velocity,
                          const gw_operator_input *in)
{
    gw_hand_model own = hand_model_of(&p->what);
    double k = own.stiffness, d = own.damping, m = own.mass, dt = in->dt;
    double fingers = fmax(fmin(GRIP_RATIO * k, STIFFNESS_SHARE * in->mass / (dt * dt)), 1.5 * k);
    double arm = k * fingers / (fingers - k);
    double squeeze = fmin(2 * sqrt(fingers * m), DAMPING_SHARE * in->mass / dt);
    gw_vec3 x = p->hand, v = p->hand_velocity;
    gw_vec3 force =
        gw_mul_add(gw_scale(fingers, gw_sub(x, in->tool.p)), squeeze, gw_sub(v, in->twist.v));
    gw_vec3 pull = gw_scale(arm, gw_sub(target, x));
    pull = gw_mul_add(pull, d, target_velocity);
    pull = gw_mul_add(pull, fingers, gw_sub(in->tool.p, x));
    pull = gw_mul_add(pull, squeeze, in->twist.v);
    double heavy = m + dt * (d + squeeze) + dt * dt * (arm + fingers);
    p->hand_velocity = gw_scale(1 / heavy, gw_mul_add(gw_scale(m, v), dt, pull));
    p->hand = gw_mul_add(x, dt, p->hand_velocity);
    return force;
}

static gw_wrench hand_wrench(gw_operator_program *p, double t, const gw_operator_input *in)
{
    gw_vec3 velocity;
    if (!p->started) {
        p->started = true;
        p->home = in->tool;
        p->hand = path_at(p, t, &velocity).p;
        p->hand_velocity = gw_v3(0, 0, 0);
    }
    gw_pose target = path_at(p, t, &velocity);
    double dt = in->dt;
    double k = fmin(value_or_default(p->what.stiffness_angular, HAND_STIFFNESS_ANGULAR),
                    STIFFNESS_SHARE * in->inertia / (dt * dt));
    double d = fmin(
        value_or_default(p->what.damping_angular, 2 * HAND_DAMPING_RATIO * sqrt(k * in->inertia)),
        DAMPING_SHARE * in->inertia / dt);
    gw_vec3 turn = gw_pose_sub(&target, &in->tool).w;
    return (gw_wrench){hand_force(p, target.p, velocity, in),
                       gw_mul_add(gw_scale(k, turn), -d, in->twist.w)};
}

gw_wrench gw_operator_wrench(gw_operator_program *program, double t, const gw_operator_input *in)
{
    if (program && program->what.kind == GW_OPERATOR_WRENCH)
        return scripted_wrench(program, t);
    if (program && program->what.kind == GW_OPERATOR_HAND)
        return hand_wrench(program, t, in);
    return (gw_wrench){{0, 0, 0}, {0, 0, 0}};
}

/* ---- the drag ------------------------------------------------------------------------------- */

void gw_drag_start(gw_drag *drag, const gw_command *command, const gw_mass *mass, double dt)
{
    assert(drag && command && mass && dt > 0);
    gw_vec3 arm = gw_sub(command->drag.point, mass->com);
    double floor = gw_inertia_lower_bound(&mass->inertia);
    double felt =
        1 / (1 / mass->mass +
             gw_norm2(arm) / fmax(floor, 1e-12)); /* lower bound of the effective mass there */
    *drag = (gw_drag){.active = true,
                      .turn = command->drag.turn,
                      .point = command->drag.point,
                      .target = command->drag.target};
    drag->stiffness = fmin(value_or_default(command->drag.stiffness, DRAG_STIFFNESS),
                           STIFFNESS_SHARE * felt / (dt * dt));
    drag->damping =
        fmin(value_or_default(command->drag.damping, 2 * sqrt(drag->stiffness * mass->mass)),
             DAMPING_SHARE * felt / dt);
    drag->force_max = value_or_default(command->drag.force_max, DRAG_FORCE_MAX);
}

gw_wrench gw_drag_wrench(const gw_drag *drag, const gw_pose *world_from_object, gw_vec3 centre,
                         const gw_pose *world_from_tool, const gw_twist *twist)
{
    if (!drag->active)
        return (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    gw_vec3 point = gw_pose_point(world_from_object, drag->point);
    gw_vec3 arm = gw_sub(point, world_from_tool->p);
    gw_vec3 velocity = gw_add(twist->v, gw_cross(twist->w, arm));
    gw_vec3 force = gw_mul_add(gw_scale(drag->stiffness, gw_sub(drag->target, point)),
                               -drag->damping, velocity);
    double size = gw_norm(force);
    if (size > drag->force_max)
        force = gw_scale(drag->force_max / size, force);
    if (drag->turn) {
        gw_vec3 about = gw_pose_point(world_from_object, centre);
        return (gw_wrench){{0, 0, 0}, gw_cross(gw_sub(point, about), force)};
    }
    return (gw_wrench){force, gw_cross(arm, force)};
}
