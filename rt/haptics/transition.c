/*
 * The offset that is shown to the hand after a switch of set. On the loop's thread, RT safe.
 */
#include "rt/haptics/transition.h"

#include <assert.h>

#define SAME_M          1e-12 /* offsets below this need none */
#define SAME_MPS        1e-12
#define FADING_S        0.2 /* in which the forbidden part of a twist is brought to rest, */
#define FADING_M        0.1 /* and sooner where that would lead farther astray than this */
#define FADING_RAD      0.5
#define FADE_PEAK       (27.0 / 256) /* of g, in fading times its slope at the start */
#define RAMP_CANDIDATES 24
#define RAMP_FIRST_S    0.02
#define RAMP_GROWTH     1.2

/*
 * Peak speed that a ramp of length T allows a transition over `reach` m. In a ramp
 * v = V (1 - cos p)/2, a = V pi/(2 T) sin p, j = V pi^2/(2 T^2) cos p, so the hand's force rate
 * k v + d a + m j peaks at V (k/2 + sqrt((k/2 - m pi^2/(2 T^2))^2 + (d pi/(2 T))^2)).
 */
static double peak_speed(const gw_transition_limits *l, double turn_per_metre, double ramp)
{
    double v = l->speed > 0 ? l->speed : INFINITY;
    if (l->spin > 0 && turn_per_metre > 0)
        v = fmin(v, l->spin / turn_per_metre);
    if (l->acceleration > 0)
        v = fmin(v, l->acceleration * 2 * ramp / GW_PI);
    if (l->hand_stiffness > 0 && l->hand_force_rate > 0) {
        /* with the hand's mass and without: a light grip feels only spring and damper */
        double half = 0.5 * l->hand_stiffness;
        double inertial = fabs(half - l->hand_mass * GW_PI * GW_PI / (2 * ramp * ramp));
        double damped = l->hand_damping * GW_PI / (2 * ramp);
        v = fmin(v, l->hand_force_rate / (half + hypot(fmax(half, inertial), damped)));
    }
    return v;
}

/* The quickest trapezoid over `reach`, among ramps of growing length. */
static void plan_trapezoid(gw_transition *transition, double reach, double turn_per_metre,
                           const gw_transition_limits *limits)
{
    double ramp = RAMP_FIRST_S;
    transition->duration = INFINITY;
    for (int i = 0; i < RAMP_CANDIDATES; i++, ramp *= RAMP_GROWTH) {
        double v = fmin(peak_speed(limits, turn_per_metre, ramp), reach / ramp);
        double duration = reach / v + ramp;
        if (duration < transition->duration) {
            transition->duration = duration;
            transition->ramp = ramp;
        }
    }
}

static double fading_time(const gw_twist *forbidden)
{
    double v = fmax(gw_norm(forbidden->v), 1e-9), w = fmax(gw_norm(forbidden->w), 1e-9);
    return fmin(FADING_S, fmin(FADING_M / v, FADING_RAD / w) / FADE_PEAK);
}

void gw_transition_start(gw_transition *transition, const gw_pose *from, const gw_twist *twist,
                         const gw_pose *to, const gw_twist *to_twist,
                         const gw_transition_limits *limits)
{
    assert(transition && from && twist && to && to_twist && limits);
    *transition = (gw_transition){.offset0 = gw_pose_sub(from, to), .pace = 1};
    gw_vec3 r = transition->offset0.w;
    gw_vec3 carried = gw_rotate(gw_quat_exp(r), to_twist->w);
    transition->rate0 = (gw_twist){gw_sub(twist->v, to_twist->v),
                                   gw_so3_left_jacobian_inverse(r, gw_sub(twist->w, carried))};
    transition->fading = fading_time(&transition->rate0);
    double distance = gw_norm(transition->offset0.v), angle = gw_norm(r);
    /* a pure turn is planned as if its arm were a tenth of a metre */
    double reach = fmax(distance, 0.1 * angle);
    double speed = gw_norm(transition->rate0.v) + gw_norm(transition->rate0.w);
    transition->active = reach > SAME_M || speed > SAME_MPS;
    if (reach > SAME_M)
        plan_trapezoid(transition, reach, angle / reach, limits);
}

/* Fraction of the path and its rate at t, for a trapezoid with raised-cosine ramps. */
static double fraction_travelled(const gw_transition *transition, double t, double *rate)
{
    double ramp = transition->ramp, whole = transition->duration;
    double v = 1 / (whole - ramp);
    if (t >= whole) {
        *rate = 0;
        return 1;
    }
    double edge = fmin(t, whole - t);
    if (edge >= ramp) {
        *rate = v;
        return v * (t - 0.5 * ramp);
    }
    double share = 0.5 * v * (edge - ramp / GW_PI * sin(GW_PI * edge / ramp));
    *rate = 0.5 * v * (1 - cos(GW_PI * edge / ramp));
    return t < 0.5 * whole ? share : 1 - share;
}

/* g = t (1 - t/T)^3: starts with slope 1, ends at rest. */
static double fading_profile(double t, double whole, double *rate)
{
    double left = t < whole ? 1 - t / whole : 0;
    *rate = left * left * left - 3 * t / whole * left * left;
    return t * left * left * left;
}

bool gw_transition_advance(gw_transition *transition, double dt, double pace)
{
    assert(transition && dt >= 0 && pace >= 0);
    transition->pace = pace;
    transition->time += pace * dt;
    if (transition->time < fmax(transition->duration, transition->fading))
        return false;
    *transition = (gw_transition){.active = false};
    return true;
}

void gw_transition_apply(const gw_transition *transition, gw_pose *pose, gw_twist *twist)
{
    assert(transition && pose && twist);
    if (!transition->active)
        return;
    double s_rate = 0, g_rate;
    double s = transition->duration > 0
                   ? 1 - fraction_travelled(transition, transition->time, &s_rate)
                   : 0;
    double g = fading_profile(transition->time, transition->fading, &g_rate);
    s_rate *= transition->pace;
    g_rate *= transition->pace;
    gw_twist offset = {gw_mul_add(gw_scale(s, transition->offset0.v), g, transition->rate0.v),
                       gw_mul_add(gw_scale(s, transition->offset0.w), g, transition->rate0.w)};
    gw_twist rate = {
        gw_mul_add(gw_scale(-s_rate, transition->offset0.v), g_rate, transition->rate0.v),
        gw_mul_add(gw_scale(-s_rate, transition->offset0.w), g_rate, transition->rate0.w)};
    gw_quat turn = gw_quat_exp(offset.w);
    *pose = (gw_pose){gw_add(pose->p, offset.v), gw_quat_unit(gw_quat_mul(turn, pose->q))};
    *twist = (gw_twist){gw_add(twist->v, rate.v),
                        gw_add(gw_so3_left_jacobian(offset.w, rate.w), gw_rotate(turn, twist->w))};
}
