/*
 * The simulated robot: its way, its guards, its pull. On the loop's thread, RT safe.
 */
#include "rt/sim/motion_executor.h"

#include <string.h>

#include "rt/sim/operators.h"

#define ACCELERATION      1.0   /* m/s^2 of the tool frame, at most */
#define ACCELERATION_TURN 10.0  /* rad/s^2 */
#define FORCE             40.0  /* N that it pulls with, at most, unless a guard asks for more */
#define TORQUE            5.0   /* N m */
#define EFFORT_SHARE      0.5   /* of force and torque, for the ramps of heavy bodies */
#define STIFF             200.0 /* rad/s: natural frequency of the body on the robot's spring */
/* A spring that is evaluated once a period is stable well below k dt^2/m = 1, d dt/m = 1. */
#define STIFFNESS_SHARE 0.05
#define DAMPING_SHARE   0.3
#define REACHED_M       5e-5
#define REACHED_RAD     5e-4
#define REACHED_MPS     2e-3
#define REACHED_RADPS   5e-2
#define BLOCKED_S       0.5
#define DIFFERENCE      1e-4 /* of the way, on each side, for its direction */

static const gw_twist still = {{0, 0, 0}, {0, 0, 0}};

static void end_way(gw_motion_executor *robot, gw_motion_outcome outcome)
{
    robot->moving = robot->fresh = false;
    robot->rate = 0;
    robot->slide = robot->turn = robot->reference_twist = robot->acceleration = still;
    robot->outcome = outcome;
    robot->ended = true;
}

void gw_motion_start(gw_motion_executor *robot, const gw_command *command)
{
    if (robot->moving)
        end_way(robot, GW_MOTION_LOST);
    robot->guide = command->guide;
    robot->tag = command->tag;
    robot->outcome = GW_MOTION_NONE;
    robot->fresh = robot->guide.on;
    if (!robot->guide.on)
        gw_motion_release(robot);
    else
        robot->moving = true;
}

void gw_motion_release(gw_motion_executor *robot)
{
    if (robot->moving)
        end_way(robot, GW_MOTION_LOST);
    robot->active = robot->fresh = false;
}

void gw_motion_hold(gw_motion_executor *robot)
{
    if (robot->moving)
        end_way(robot, GW_MOTION_LOST);
    robot->loose = true;
}

/* ---- the way ------------------------------------------------------------------------------- */

static gw_pose tool_at(const gw_submanifold *set, const double *z, const gw_pose *body_from_tool)
{
    gw_pose body = gw_submanifold_pose(set, z);
    return gw_pose_mul(&body, body_from_tool);
}

/* The reference takes hold of the body where it is. */
static void take_hold(gw_motion_executor *robot, const gw_submanifold *set, const gw_pose *body,
                      const gw_pose *body_from_tool)
{
    robot->count = set->dof;
    gw_submanifold_parameters_at(set, body, robot->now);
    robot->reference = tool_at(set, robot->now, body_from_tool);
    robot->reference_twist = still;
    robot->loose = false;
}

/* A guard ended the way: what moved stays where it is, the rest where it was told to be. */
static void hold_here(gw_motion_executor *robot, const gw_motion_input *view)
{
    double here[6];
    gw_submanifold_parameters_at(view->set, &view->body, here);
    for (int i = 0; i < robot->count; i++)
        if (robot->way[i] != 0)
            robot->now[i] = here[i];
    robot->reference = tool_at(view->set, robot->now, &view->body_from_tool);
}

/* Where a parameter goes, from where it is. */
static double way_of(const gw_submanifold_parameter *is, double now, double to, double by)
{
    double way = isnan(by) ? 0 : by;
    if (!isnan(to))
        way = is->periodic ? remainder(to - now, 2 * GW_PI) : to - now;
    return is->periodic ? way : fmin(fmax(now + way, is->low), is->high) - now;
}

static bool same_kind(const gw_submanifold *a, const gw_submanifold *b)
{
    return a->dof == b->dof && !a->general && !b->general && a->rotation.kind == b->rotation.kind &&
           a->translation.locus.kind == b->translation.locus.kind;
}

/* Both sets have the same poses at the reference and at the way's end. */
static bool same_set(const gw_submanifold *a, const gw_submanifold *b,
                     const gw_motion_executor *robot)
{
    double there[6];
    if (!same_kind(a, b))
        return false;
    for (int i = 0; i < a->dof; i++)
        there[i] = robot->from[i] + robot->way[i];
    gw_pose here_a = gw_submanifold_pose(a, robot->now);
    gw_pose here_b = gw_submanifold_pose(b, robot->now);
    gw_pose there_a = gw_submanifold_pose(a, there), there_b = gw_submanifold_pose(b, there);
    return gw_pose_distance(&here_a, &here_b, 1) < 1e-12 &&
           gw_pose_distance(&there_a, &there_b, 1) < 1e-12;
}

/* The way goes on from where the body came to be on the set: to the same parameters, or by what is
 * left. */
static void go_on(gw_motion_executor *robot, const gw_submanifold *set, const gw_pose *body,
                  const gw_pose *body_from_tool)
{
    gw_submanifold_parameter parameters[6];
    double left = 1 - robot->gone;
    gw_submanifold_parameters(set, parameters);
    take_hold(robot, set, body, body_from_tool);
    for (int i = 0; i < robot->count; i++) {
        robot->from[i] = robot->now[i];
        robot->way[i] = way_of(&parameters[i], robot->now[i], robot->guide.to[i],
                               isnan(robot->guide.by[i]) ? NAN : left * robot->way[i]);
    }
    robot->gone = robot->rate = robot->stuck = 0;
}

void gw_motion_switch_set(gw_motion_executor *robot, const gw_submanifold *old,
                          const gw_submanifold *set, const gw_pose *body,
                          const gw_pose *body_from_tool)
{
    if (!robot->active || robot->fresh)
        return;
    if (same_set(old, set, robot)) {
        robot->reference = tool_at(set, robot->now, body_from_tool);
        return;
    }
    if (robot->moving && same_kind(old, set)) {
        go_on(robot, set, body, body_from_tool);
        return;
    }
    if (robot->moving)
        end_way(robot, GW_MOTION_LOST);
    take_hold(robot, set, body, body_from_tool);
}

static void begin(gw_motion_executor *robot, const gw_motion_input *view)
{
    gw_submanifold_parameter parameters[6];
    bool anywhere = false;
    if (!robot->active || robot->loose)
        take_hold(robot, view->set, &view->body, &view->body_from_tool);
    robot->active = true;
    robot->fresh = false;
    gw_submanifold_parameters(view->set, parameters);
    for (int i = 0; i < robot->count; i++) {
        const gw_motion_target *g = &robot->guide;
        anywhere = anywhere || !isnan(g->to[i]) || !isnan(g->by[i]);
        robot->from[i] = robot->now[i];
        robot->way[i] = way_of(&parameters[i], robot->now[i], g->to[i], g->by[i]);
    }
    robot->gone = robot->rate = robot->stuck = 0;
    robot->touched = view->touching;
    if (anywhere)
        return;
    robot->moving = false; /* it holds: no way, no end */
    take_hold(robot, view->set, &view->body, &view->body_from_tool);
}

/* d(tool frame) / d(way) of the parameters that `which` picks, about the reference. */
static gw_twist direction(const gw_motion_executor *robot, const gw_motion_input *view,
                          const bool *which)
{
    double low[6], high[6];
    bool any = false;
    for (int i = 0; i < robot->count; i++) {
        double step = which[i] ? DIFFERENCE * robot->way[i] : 0;
        low[i] = robot->now[i] - step;
        high[i] = robot->now[i] + step;
        any = any || step != 0;
    }
    if (!any)
        return still;
    gw_pose a = tool_at(view->set, low, &view->body_from_tool);
    gw_pose b = tool_at(view->set, high, &view->body_from_tool);
    gw_twist d = gw_pose_sub(&b, &a);
    return (gw_twist){gw_scale(0.5 / DIFFERENCE, d.v), gw_scale(0.5 / DIFFERENCE, d.w)};
}

static void find_directions(gw_motion_executor *robot, const gw_motion_input *view)
{
    gw_submanifold_parameter parameters[6];
    bool turns[6], slides[6];
    gw_submanifold_parameters(view->set, parameters);
    for (int i = 0; i < robot->count; i++) {
        turns[i] = strcmp(parameters[i].part, "rotation") == 0;
        slides[i] = !turns[i];
    }
    robot->slide = direction(robot, view, slides);
    robot->turn = direction(robot, view, turns);
    /* a general set's parameters do both: what is more of it counts */
    if (view->set->general && gw_norm(robot->slide.v) < view->length * gw_norm(robot->slide.w)) {
        robot->turn = robot->slide;
        robot->slide = still;
    }
}

/* ---- guards -------------------------------------------------------------------------------- */

static double against(const gw_wrench *contact, const gw_twist *way, double size)
{
    return size > 0 ? -(gw_dot(contact->f, way->v) + gw_dot(contact->t, way->w)) / size : 0;
}

static bool arrived(const gw_motion_executor *robot, const gw_motion_input *view)
{
    gw_twist left = gw_pose_sub(&robot->reference, &view->tool);
    return robot->gone >= 1 && gw_norm(left.v) < REACHED_M && gw_norm(left.w) < REACHED_RAD &&
           gw_norm(view->twist.v) < REACHED_MPS && gw_norm(view->twist.w) < REACHED_RADPS;
}

static gw_motion_outcome look(gw_motion_executor *robot, const gw_motion_input *view)
{
    const gw_motion_target *g = &robot->guide;
    double force = against(&view->contact, &robot->slide, gw_norm(robot->slide.v));
    double torque = against(&view->contact, &robot->turn, gw_norm(robot->turn.w));
    robot->reaction = gw_norm(robot->slide.v) > 0 ? force : torque;
    if (g->torque > 0 && torque >= g->torque)
        robot->reaction = torque;
    if ((g->force > 0 && force >= g->force) || (g->torque > 0 && torque >= g->torque))
        return GW_MOTION_REACTION;
    if (g->contact && (view->touching & ~robot->touched))
        return GW_MOTION_CONTACT;
    if (arrived(robot, view))
        return GW_MOTION_REACHED;
    return robot->stuck > BLOCKED_S ? GW_MOTION_BLOCKED : GW_MOTION_NONE;
}

/* ---- motion -------------------------------------------------------------------------------- */

static double at_most(double limit, double size)
{
    return size > 0 ? limit / size : INFINITY;
}

/* One period on: up to speed, and down from it so that it stands at the end; where the pull is at
 * its bound (`held`) it waits. */
static void advance(gw_motion_executor *robot, const gw_motion_input *view, bool held)
{
    const gw_mass *mass = view->mass;
    double inertia = mass->inertia.m[0][0] + mass->inertia.m[1][1] + mass->inertia.m[2][2];
    double v = gw_norm(gw_add(robot->slide.v, robot->turn.v));
    double w = gw_norm(gw_add(robot->slide.w, robot->turn.w));
    double a = fmin(at_most(fmin(ACCELERATION, EFFORT_SHARE * FORCE / mass->mass), v),
                    at_most(fmin(ACCELERATION_TURN, EFFORT_SHARE * TORQUE / inertia), w));
    double most = fmin(at_most(robot->guide.speed, v), at_most(robot->guide.spin, w));
    double left = 1 - robot->gone, dt = view->dt;
    double rate = held ? robot->rate - a * dt : robot->rate + a * dt;
    robot->rate = fmax(fmin(fmin(rate, most), sqrt(2 * a * left)), 0);
    robot->stuck = held || left <= 0 ? robot->stuck + dt : fmax(robot->stuck - dt, 0);
    bool end = !(v > 0 || w > 0) || (!held && robot->rate * dt >= left);
    robot->gone = end ? 1 : robot->gone + robot->rate * dt;
    for (int i = 0; i < robot->count; i++)
        robot->now[i] = robot->from[i] + robot->gone * robot->way[i];
    robot->reference = tool_at(view->set, robot->now, &view->body_from_tool);
    gw_twist before = robot->reference_twist;
    double rate_now = end ? 0 : robot->rate;
    robot->reference_twist = (gw_twist){gw_scale(rate_now, gw_add(robot->slide.v, robot->turn.v)),
                                        gw_scale(rate_now, gw_add(robot->slide.w, robot->turn.w))};
    robot->acceleration = (gw_twist){gw_scale(1 / dt, gw_sub(robot->reference_twist.v, before.v)),
                                     gw_scale(1 / dt, gw_sub(robot->reference_twist.w, before.w))};
}

/* ---- the pull ------------------------------------------------------------------------------ */

static bool bound(gw_vec3 *a, double most)
{
    double size = gw_norm(*a);
    if (size <= most)
        return false;
    *a = gw_scale(most / size, *a);
    return true;
}

/* What carries the body's weight and gives it the reference's acceleration, at the tool frame. */
static gw_wrench carry(const gw_motion_executor *robot, const gw_motion_input *view)
{
    gw_vec3 arm = gw_sub(gw_pose_point(&view->body, view->mass->com), view->tool.p);
    gw_vec3 a = robot->acceleration.v, alpha = robot->acceleration.w;
    gw_vec3 f = gw_scale(view->mass->mass, gw_sub(gw_add(a, gw_cross(alpha, arm)), view->gravity));
    gw_vec3 turned = gw_mat3_mul(&view->mass->inertia, gw_unrotate(view->body.q, alpha));
    return (gw_wrench){f, gw_add(gw_rotate(view->body.q, turned), gw_cross(arm, f))};
}

/* The spring from tool to reference; true where it is at its bound. */
static bool pull(const gw_motion_executor *robot, const gw_motion_input *view, gw_wrench *out)
{
    const gw_mass *mass = view->mass;
    gw_vec3 com = gw_pose_point(&view->body, mass->com);
    double arm2 = gw_norm2(gw_sub(com, view->tool.p)), dt = view->dt;
    double floor = fmax(gw_inertia_lower_bound(&mass->inertia), 1e-12);
    double felt = 1 / (1 / mass->mass + arm2 / floor); /* least mass at the tool frame */
    double k = fmin(STIFF * STIFF * mass->mass, STIFFNESS_SHARE * felt / (dt * dt));
    double d = fmin(2 * sqrt(k * mass->mass), DAMPING_SHARE * felt / dt);
    double inertia = floor + mass->mass * arm2;
    double kt = fmin(STIFF * STIFF * inertia, STIFFNESS_SHARE * floor / (dt * dt));
    double d_turn = fmin(2 * sqrt(kt * inertia), DAMPING_SHARE * floor / dt);
    gw_twist apart = gw_pose_sub(&robot->reference, &view->tool);
    gw_twist rate = {gw_sub(robot->reference_twist.v, view->twist.v),
                     gw_sub(robot->reference_twist.w, view->twist.w)};
    out->f = gw_mul_add(gw_scale(k, apart.v), d, rate.v);
    out->t = gw_mul_add(gw_scale(kt, apart.w), d_turn, rate.w);
    bool held = bound(&out->f, fmax(FORCE, 2 * robot->guide.force));
    return bound(&out->t, fmax(TORQUE, 2 * robot->guide.torque)) || held;
}

gw_wrench gw_motion_tick(gw_motion_executor *robot, const gw_motion_input *view)
{
    gw_wrench out = {{0, 0, 0}, {0, 0, 0}};
    if (robot->fresh)
        begin(robot, view);
    if (!robot->active)
        return out;
    if (robot->count != view->set->dof)
        gw_motion_hold(robot);
    if (robot->loose)
        take_hold(robot, view->set, &view->body, &view->body_from_tool);
    else /* the set itself may move */
        robot->reference = tool_at(view->set, robot->now, &view->body_from_tool);
    bool held = pull(robot, view, &out);
    if (robot->moving) {
        find_directions(robot, view);
        gw_motion_outcome outcome = look(robot, view);
        if (outcome == GW_MOTION_NONE) {
            advance(robot, view, held);
        } else {
            end_way(robot, outcome);
            if (outcome != GW_MOTION_REACHED)
                hold_here(robot, view);
            pull(robot, view, &out);
        }
    }
    gw_wrench weight = carry(robot, view);
    return (gw_wrench){gw_add(out.f, weight.f), gw_add(out.t, weight.t)};
}
