/*
 * Guided motion: reference, guards, the spring that pulls the tool after it. On the loop's thread,
 * RT safe.
 */
#include "rt/sim/motion_executor.h"

#include <assert.h>
#include <string.h>

#include "rt/sim/operators.h"

#define ACCELERATION      1.0   /* m/s^2 of the tool frame, at most */
#define ACCELERATION_TURN 10.0  /* rad/s^2 */
#define FORCE             40.0  /* N: largest force, unless a guard needs more */
#define TORQUE            5.0   /* N m */
#define EFFORT_SHARE      0.5   /* of force and torque: share for accelerating heavy bodies */
#define STIFF             200.0 /* rad/s: natural frequency of the body on the executor's spring */
/* A spring that is evaluated once a period is stable well below k dt^2/m = 1, d dt/m = 1. */
#define STIFFNESS_SHARE 0.05
#define DAMPING_SHARE   0.3
#define REACHED_M       5e-5
#define REACHED_RAD     5e-4
#define REACHED_MPS     2e-3
#define REACHED_RADPS   5e-2
#define BLOCKED_S       0.5
#define DIFFERENCE      1e-4 /* of the path: step of the central difference for its direction */

static const gw_twist still = {{0, 0, 0}, {0, 0, 0}};

static void end_motion(gw_motion_executor *motion, gw_motion_outcome outcome)
{
    motion->moving = motion->fresh = false;
    motion->rate = 0;
    motion->slide = motion->turn = motion->reference_twist = motion->acceleration = still;
    motion->outcome = outcome;
    motion->ended = true;
}

void gw_motion_start(gw_motion_executor *motion, const gw_command *command)
{
    assert(motion && command);
    if (motion->moving)
        end_motion(motion, GW_MOTION_LOST);
    motion->guide = command->guide;
    motion->tag = command->tag;
    motion->outcome = GW_MOTION_NONE;
    motion->fresh = motion->guide.on;
    if (!motion->guide.on)
        gw_motion_release(motion);
    else
        motion->moving = true;
}

void gw_motion_release(gw_motion_executor *motion)
{
    if (motion->moving)
        end_motion(motion, GW_MOTION_LOST);
    motion->active = motion->fresh = false;
}

void gw_motion_hold(gw_motion_executor *motion)
{
    if (motion->moving)
        end_motion(motion, GW_MOTION_LOST);
    motion->loose = true;
}

/* ---- the path ------------------------------------------------------------------------------ */

static gw_pose tool_at(const gw_submanifold *set, const double *z, const gw_pose *body_from_tool)
{
    gw_pose body = gw_submanifold_pose(set, z);
    return gw_pose_mul(&body, body_from_tool);
}

/* Starts holding: the reference is the body's present pose. */
static void start_holding(gw_motion_executor *motion, const gw_submanifold *set,
                          const gw_pose *body, const gw_pose *body_from_tool)
{
    motion->count = set->dof;
    gw_submanifold_parameters_at(set, body, motion->now);
    motion->reference = tool_at(set, motion->now, body_from_tool);
    motion->reference_twist = still;
    motion->loose = false;
}

/* After a guard: parameters that moved are held at their present values, the others at their
 * targets. */
static void hold_where_stopped(gw_motion_executor *motion, const gw_motion_input *in)
{
    double here[6];
    gw_submanifold_parameters_at(in->set, &in->body, here);
    for (int i = 0; i < motion->count; i++)
        if (motion->change[i] != 0)
            motion->now[i] = here[i];
    motion->reference = tool_at(in->set, motion->now, &in->body_from_tool);
}

/* The signed change of a parameter from its present value to its target. */
static double displacement_of(const gw_submanifold_parameter *is, double now, double to, double by)
{
    double change = isnan(by) ? 0 : by;
    if (!isnan(to))
        change = is->periodic ? remainder(to - now, is->high - is->low) : to - now;
    return is->periodic ? change : fmin(fmax(now + change, is->low), is->high) - now;
}

static bool same_kind(const gw_submanifold *a, const gw_submanifold *b)
{
    return a->dof == b->dof && !a->general && !b->general && a->rotation.kind == b->rotation.kind &&
           a->translation.locus.kind == b->translation.locus.kind;
}

/* True if both sets have the same poses at the reference and at the path's end. */
static bool same_set(const gw_submanifold *a, const gw_submanifold *b,
                     const gw_motion_executor *motion)
{
    double there[6];
    if (!same_kind(a, b))
        return false;
    for (int i = 0; i < a->dof; i++)
        there[i] = motion->from[i] + motion->change[i];
    gw_pose here_a = gw_submanifold_pose(a, motion->now);
    gw_pose here_b = gw_submanifold_pose(b, motion->now);
    gw_pose there_a = gw_submanifold_pose(a, there), there_b = gw_submanifold_pose(b, there);
    return gw_pose_distance(&here_a, &here_b, 1) < 1e-12 &&
           gw_pose_distance(&there_a, &there_b, 1) < 1e-12;
}

/* Continues the path from the body's pose on the new set: to the same parameters, or by the
 * remaining change. */
static void continue_path(gw_motion_executor *motion, const gw_submanifold *set,
                          const gw_pose *body, const gw_pose *body_from_tool)
{
    gw_submanifold_parameter parameters[6];
    double left = 1 - motion->progress;
    gw_submanifold_parameters(set, parameters);
    start_holding(motion, set, body, body_from_tool);
    for (int i = 0; i < motion->count; i++) {
        motion->from[i] = motion->now[i];
        motion->change[i] =
            displacement_of(&parameters[i], motion->now[i], motion->guide.to[i],
                            isnan(motion->guide.by[i]) ? NAN : left * motion->change[i]);
    }
    motion->progress = motion->rate = motion->stuck = 0;
}

void gw_motion_switch_set(gw_motion_executor *motion, const gw_submanifold *old,
                          const gw_submanifold *set, const gw_pose *body,
                          const gw_pose *body_from_tool)
{
    if (!motion->active || motion->fresh)
        return;
    if (same_set(old, set, motion)) {
        motion->reference = tool_at(set, motion->now, body_from_tool);
        return;
    }
    if (motion->moving && same_kind(old, set)) {
        continue_path(motion, set, body, body_from_tool);
        return;
    }
    if (motion->moving)
        end_motion(motion, GW_MOTION_LOST);
    start_holding(motion, set, body, body_from_tool);
}

static void begin_motion(gw_motion_executor *motion, const gw_motion_input *in)
{
    gw_submanifold_parameter parameters[6];
    bool anywhere = false;
    if (!motion->active || motion->loose)
        start_holding(motion, in->set, &in->body, &in->body_from_tool);
    motion->active = true;
    motion->fresh = false;
    gw_submanifold_parameters(in->set, parameters);
    for (int i = 0; i < motion->count; i++) {
        const gw_motion_target *g = &motion->guide;
        anywhere = anywhere || !isnan(g->to[i]) || !isnan(g->by[i]);
        motion->from[i] = motion->now[i];
        motion->change[i] = displacement_of(&parameters[i], motion->now[i], g->to[i], g->by[i]);
    }
    motion->progress = motion->rate = motion->stuck = 0;
    motion->touched = in->touching;
    if (anywhere)
        return;
    motion->moving = false; /* it only holds: there is no path to end */
    start_holding(motion, in->set, &in->body, &in->body_from_tool);
}

/* d(tool frame) / d(path) at the reference, of the parameters selected by `which`. */
static gw_twist path_direction(const gw_motion_executor *motion, const gw_motion_input *in,
                               const bool *which)
{
    double low[6], high[6];
    bool any = false;
    for (int i = 0; i < motion->count; i++) {
        double step = which[i] ? DIFFERENCE * motion->change[i] : 0;
        low[i] = motion->now[i] - step;
        high[i] = motion->now[i] + step;
        any = any || step != 0;
    }
    if (!any)
        return still;
    gw_pose a = tool_at(in->set, low, &in->body_from_tool);
    gw_pose b = tool_at(in->set, high, &in->body_from_tool);
    gw_twist d = gw_pose_sub(&b, &a);
    return (gw_twist){gw_scale(0.5 / DIFFERENCE, d.v), gw_scale(0.5 / DIFFERENCE, d.w)};
}

static void find_directions(gw_motion_executor *motion, const gw_motion_input *in)
{
    gw_submanifold_parameter parameters[6];
    bool turns[6], slides[6];
    gw_submanifold_parameters(in->set, parameters);
    for (int i = 0; i < motion->count; i++) {
        turns[i] = strcmp(parameters[i].part, "rotation") == 0;
        slides[i] = !turns[i];
    }
    motion->slide = path_direction(motion, in, slides);
    motion->turn = path_direction(motion, in, turns);
    /* a parameter of a general set slides and turns: the larger part decides */
    if (in->set->general && gw_norm(motion->slide.v) < in->length * gw_norm(motion->slide.w)) {
        motion->turn = motion->slide;
        motion->slide = still;
    }
}

/* ---- guards -------------------------------------------------------------------------------- */

static double force_against(const gw_wrench *contact, const gw_twist *tangent, double size)
{
    return size > 0 ? -(gw_dot(contact->f, tangent->v) + gw_dot(contact->t, tangent->w)) / size : 0;
}

static bool has_arrived(const gw_motion_executor *motion, const gw_motion_input *in)
{
    gw_twist left = gw_pose_sub(&motion->reference, &in->tool);
    return motion->progress >= 1 && gw_norm(left.v) < REACHED_M && gw_norm(left.w) < REACHED_RAD &&
           gw_norm(in->twist.v) < REACHED_MPS && gw_norm(in->twist.w) < REACHED_RADPS;
}

static gw_motion_outcome outcome_now(gw_motion_executor *motion, const gw_motion_input *in)
{
    const gw_motion_target *g = &motion->guide;
    double force = force_against(&in->contact, &motion->slide, gw_norm(motion->slide.v));
    double torque = force_against(&in->contact, &motion->turn, gw_norm(motion->turn.w));
    motion->reaction = gw_norm(motion->slide.v) > 0 ? force : torque;
    if (g->torque > 0 && torque >= g->torque)
        motion->reaction = torque;
    if ((g->force > 0 && force >= g->force) || (g->torque > 0 && torque >= g->torque))
        return GW_MOTION_REACTION;
    if (g->contact && (in->touching & ~motion->touched))
        return GW_MOTION_CONTACT;
    if (has_arrived(motion, in))
        return GW_MOTION_REACHED;
    return motion->stuck > BLOCKED_S ? GW_MOTION_BLOCKED : GW_MOTION_NONE;
}

/* ---- motion -------------------------------------------------------------------------------- */

static double limit_or_unlimited(double limit, double size)
{
    return size > 0 ? limit / size : INFINITY;
}

/* Advances the reference by a period with bounded acceleration, so that it stops at the end; it
 * waits while the spring's force is at its bound (`held`). */
static void advance_reference(gw_motion_executor *motion, const gw_motion_input *in, bool held)
{
    const gw_mass *mass = in->mass;
    double inertia = mass->inertia.m[0][0] + mass->inertia.m[1][1] + mass->inertia.m[2][2];
    double v = gw_norm(gw_add(motion->slide.v, motion->turn.v));
    double w = gw_norm(gw_add(motion->slide.w, motion->turn.w));
    double a =
        fmin(limit_or_unlimited(fmin(ACCELERATION, EFFORT_SHARE * FORCE / mass->mass), v),
             limit_or_unlimited(fmin(ACCELERATION_TURN, EFFORT_SHARE * TORQUE / inertia), w));
    double most =
        fmin(limit_or_unlimited(motion->guide.speed, v), limit_or_unlimited(motion->guide.spin, w));
    double left = 1 - motion->progress, dt = in->dt;
    double rate = held ? motion->rate - a * dt : motion->rate + a * dt;
    motion->rate = fmax(fmin(fmin(rate, most), sqrt(2 * a * left)), 0);
    motion->stuck = held || left <= 0 ? motion->stuck + dt : fmax(motion->stuck - dt, 0);
    bool end = !(v > 0 || w > 0) || (!held && motion->rate * dt >= left);
    motion->progress = end ? 1 : motion->progress + motion->rate * dt;
    for (int i = 0; i < motion->count; i++)
        motion->now[i] = motion->from[i] + motion->progress * motion->change[i];
    motion->reference = tool_at(in->set, motion->now, &in->body_from_tool);
    gw_twist before = motion->reference_twist;
    double rate_now = end ? 0 : motion->rate;
    motion->reference_twist =
        (gw_twist){gw_scale(rate_now, gw_add(motion->slide.v, motion->turn.v)),
                   gw_scale(rate_now, gw_add(motion->slide.w, motion->turn.w))};
    motion->acceleration =
        (gw_twist){gw_scale(1 / dt, gw_sub(motion->reference_twist.v, before.v)),
                   gw_scale(1 / dt, gw_sub(motion->reference_twist.w, before.w))};
}

/* ---- the pull ------------------------------------------------------------------------------ */

static bool clamp_length(gw_vec3 *a, double most)
{
    double size = gw_norm(*a);
    if (size <= most)
        return false;
    *a = gw_scale(most / size, *a);
    return true;
}

/* Feedforward wrench at the tool frame: balances the body's weight and produces the reference's
 * acceleration. */
static gw_wrench feedforward_wrench(const gw_motion_executor *motion, const gw_motion_input *in)
{
    gw_vec3 arm = gw_sub(gw_pose_point(&in->body, in->mass->com), in->tool.p);
    gw_vec3 a = motion->acceleration.v, alpha = motion->acceleration.w;
    gw_vec3 f = gw_scale(in->mass->mass, gw_sub(gw_add(a, gw_cross(alpha, arm)), in->gravity));
    gw_vec3 turned = gw_mat3_mul(&in->mass->inertia, gw_unrotate(in->body.q, alpha));
    return (gw_wrench){f, gw_add(gw_rotate(in->body.q, turned), gw_cross(arm, f))};
}

/* The spring's wrench from tool to reference; true if it is at its bound. */
static bool spring_wrench_to_reference(const gw_motion_executor *motion, const gw_motion_input *in,
                                       gw_wrench *out)
{
    const gw_mass *mass = in->mass;
    gw_vec3 com = gw_pose_point(&in->body, mass->com);
    double arm2 = gw_norm2(gw_sub(com, in->tool.p)), dt = in->dt;
    double floor = fmax(gw_inertia_lower_bound(&mass->inertia), 1e-12);
    double felt = 1 / (1 / mass->mass +
                       arm2 / floor); /* lower bound of the effective mass at the tool frame */
    double k = fmin(STIFF * STIFF * mass->mass, STIFFNESS_SHARE * felt / (dt * dt));
    double d = fmin(2 * sqrt(k * mass->mass), DAMPING_SHARE * felt / dt);
    double inertia = floor + mass->mass * arm2;
    double kt = fmin(STIFF * STIFF * inertia, STIFFNESS_SHARE * floor / (dt * dt));
    double d_turn = fmin(2 * sqrt(kt * inertia), DAMPING_SHARE * floor / dt);
    gw_twist apart = gw_pose_sub(&motion->reference, &in->tool);
    gw_twist rate = {gw_sub(motion->reference_twist.v, in->twist.v),
                     gw_sub(motion->reference_twist.w, in->twist.w)};
    out->f = gw_mul_add(gw_scale(k, apart.v), d, rate.v);
    out->t = gw_mul_add(gw_scale(kt, apart.w), d_turn, rate.w);
    bool held = clamp_length(&out->f, fmax(FORCE, 2 * motion->guide.force));
    return clamp_length(&out->t, fmax(TORQUE, 2 * motion->guide.torque)) || held;
}

gw_wrench gw_motion_tick(gw_motion_executor *motion, const gw_motion_input *in)
{
    assert(motion && in);
    gw_wrench out = {{0, 0, 0}, {0, 0, 0}};
    if (motion->fresh)
        begin_motion(motion, in);
    if (!motion->active)
        return out;
    if (motion->count != in->set->dof)
        gw_motion_hold(motion);
    if (motion->loose)
        start_holding(motion, in->set, &in->body, &in->body_from_tool);
    else /* the set itself may move */
        motion->reference = tool_at(in->set, motion->now, &in->body_from_tool);
    bool held = spring_wrench_to_reference(motion, in, &out);
    if (motion->moving) {
        find_directions(motion, in);
        gw_motion_outcome outcome = outcome_now(motion, in);
        if (outcome == GW_MOTION_NONE) {
            advance_reference(motion, in, held);
        } else {
            end_motion(motion, outcome);
            if (outcome != GW_MOTION_REACHED)
                hold_where_stopped(motion, in);
            spring_wrench_to_reference(motion, in, &out);
        }
    }
    gw_wrench ahead = feedforward_wrench(motion, in);
    return gw_wrench_add(out, ahead);
}
