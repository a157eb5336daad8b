/*
 * Joint forces: motors, damping, friction by a bristle model, and springs at the limits; of one
 * coordinate. On the loop's thread, RT safe.
 */
#include "rt/dynamics/joint_forces.h"

#include <assert.h>

/* The limits' springs have a period of nine steps and half of critical damping. The damper comes in
 * over the first GW_LIMIT_RAMP (rad, m) beyond the limit: a jump in the force would break the order
 * of the integrator. */
#define LIMIT_PHASE   0.7
#define LIMIT_DAMPING 0.5

/* A motor's force fades out over the last tenth of its speed, or more where the step needs it. */
#define FADE_SHARE 0.1

/* The motor's force by its law, clamped to `max`. */
static double motor_force(const gw_motor *m, double q, double v)
{
    double force = m->torque + m->stiffness * (m->target - q) + m->damping * (m->rate - v);
    return m->max > 0 ? fmax(-m->max, fmin(m->max, force)) : force;
}

double gw_motor_fade_slope(const gw_motor *m, double q, double v)
{
    return m->speed > 0 ? fabs(motor_force(m, q, v)) / (FADE_SHARE * m->speed) : 0;
}

/* The factor, 0 to 1, of a force that drives the joint towards the motor's speed. */
static double motor_fade(const gw_joint_law *law, double force, double v)
{
    double speed = law->motor->speed;
    if (!(speed > 0 && force * v > 0))
        return 1;
    double width = fmax(FADE_SHARE * speed, fabs(force) / law->limit_damping);
    return fmax(0, fmin(1, (speed - fabs(v)) / width));
}

static double past_limit(const gw_joint_law *law, double q)
{
    if (!law->limited)
        return 0;
    return q > law->upper ? q - law->upper : q < law->lower ? q - law->lower : 0;
}

/* The force of a limit's spring and damper; it pushes back and never pulls. */
static double limit_force(const gw_joint_law *law, double past, double v)
{
    double damping = law->limit_damping * fmin(1, fabs(past) / GW_LIMIT_RAMP);
    double force = -law->limit_stiffness * past - damping * v;
    return force * past > 0 ? 0 : force;
}

/* ---- friction -------------------------------------------------------------------------------
 *
 * A bristle between the link and its joint's root r, of stiffness k at first:
 *
 *   w = (q - r) / span,   span = 15/8 F/k
 *   f = -F s(w),   s = (15 w - 10 w^3 + 3 w^5) / 8 up to |w| = 1, +-1 beyond
 *   U = F span (15/2 w^2 - 5/2 w^4 + 1/2 w^6) / 8, growing by F per distance beyond
 *
 * Within a substep it is a conservative spring; after the substep the root of a bristle deflected
 * beyond 1 is moved, and F times its displacement is dissipated. So friction never does positive
 * work in total, a joint at rest does not creep, and a sliding joint loses exactly F times its
 * displacement. A bristle below its span has the damping
 *
 *   c v (1 - s^2) / (1 + (c v / F)^2)
 *
 * like the spring of a limit; force and damping together never exceed F. When a sliding coordinate
 * comes to rest (gw_system_turn_bristles()) the bristle is deflected at once as the acting forces
 * require: to the other side with the same energy, or as far as equilibrium needs. */

#define SPAN (15.0 / 8)
#define FULL (11.0 / 16) /* U / (F span) at |w| = 1 */

#define BEND_STEPS 6

static double span_of(const gw_joint_law *law)
{
    return SPAN * law->friction / law->bristle_stiffness;
}

static double friction_force(const gw_joint_law *law, double q, double v, double *dissipated)
{
    double w = (q - law->bristle_root) / span_of(law), w2 = w * w;
    if (w2 >= 1)
        return copysign(law->friction, -w);
    double s = w * (15 - w2 * (10 - 3 * w2)) / 8;
    double c = law->bristle_damping, x = c * v / law->friction;
    double damping = c * (1 - s * s) / (1 + x * x);
    *dissipated += damping * v * v;
    return -law->friction * s - damping * v;
}

double gw_joint_bristle_capacity(const gw_joint_law *law)
{
    assert(law && law->friction > 0);
    return FULL * law->friction * span_of(law);
}

double gw_joint_friction_energy(const gw_joint_law *law, double q)
{
    double span = span_of(law), w = fabs(q - law->bristle_root) / span, w2 = w * w;
    double share = w < 1 ? w2 * (7.5 - w2 * (2.5 - 0.5 * w2)) / 8 : FULL + (w - 1);
    return law->friction * span * share;
}

double gw_joint_slip(const gw_joint_law *law, double q, double *root)
{
    assert(law && root);
    if (!(law->friction > 0))
        return 0;
    double deflected = q - *root, beyond = fabs(deflected) - span_of(law);
    if (!(beyond > 0))
        return 0;
    *root += copysign(beyond, deflected);
    return law->friction * beyond;
}

double gw_joint_friction(const gw_joint_law *law, double q, double v)
{
    assert(law && law->friction > 0);
    double dissipated = 0;
    return friction_force(law, q, v, &dissipated);
}

#define AT_FULL  1e-9  /* of the span, and */
#define ROUNDING 1e-15 /* of the position: its rounding */

bool gw_joint_slides(const gw_joint_law *law, double q, double v)
{
    assert(law);
    double deflected = q - law->bristle_root;
    return law->friction > 0 && deflected * v > 0 &&
           fabs(deflected) >= (1 - AT_FULL) * span_of(law) - ROUNDING * fabs(q);
}

#define TURNING_STEPS 52

/* Solves s(w) = -force / F by bisection, as s is monotonic. */
double gw_joint_turn_bristle(const gw_joint_law *law, double q, double force, double *root)
{
    assert(law && law->friction > 0 && root);
    double share = fmin(1, fabs(force) / law->friction), low = 0, high = 1;
    for (int i = 0; i < TURNING_STEPS && share < 1; i++) {
        double w = 0.5 * (low + high), w2 = w * w;
        if (w * (15 - w2 * (10 - 3 * w2)) / 8 < share)
            low = w;
        else
            high = w;
    }
    double before = gw_joint_friction_energy(law, q);
    gw_joint_law turned = *law;
    turned.bristle_root = q + copysign(high * span_of(law), force);
    *root = turned.bristle_root;
    return before - gw_joint_friction_energy(&turned, q);
}

/* U / (F span) = e is solved for w^2 from 0 on: it is concave, so that Newton's method stays below
 * the solution. */
double gw_joint_deflect_bristle(const gw_joint_law *law, double energy, double *deflection)
{
    assert(law && deflection);
    double span = span_of(law), e = energy / (law->friction * span), w2 = 0;
    *deflection = span;
    if (e >= FULL)
        return energy - gw_joint_bristle_capacity(law);
    for (int i = 0; i < BEND_STEPS; i++)
        w2 += (8 * e - w2 * (7.5 - w2 * (2.5 - 0.5 * w2))) / (7.5 - w2 * (5 - 1.5 * w2));
    *deflection = span * sqrt(fmax(0, w2));
    return 0;
}

/* Of a ball U(|deflection|): as d|deflection|/dt = deflection . w / |deflection|, its torque is
 * along the deflection. */
gw_vec3 gw_ball_friction(const gw_joint_law *law, gw_vec3 deflection, gw_vec3 v, double *dissipated)
{
    double span = span_of(law), size = gw_norm(deflection), w = fmin(size / span, 1), w2 = w * w;
    double s = w * (15 - w2 * (10 - 3 * w2)) / 8;
    double c = law->bristle_damping, x = c * gw_norm(v) / law->friction;
    double damping = size < span ? c * (1 - s * s) / (1 + x * x) : 0;
    *dissipated += damping * gw_norm2(v);
    gw_vec3 torque = gw_scale(-damping, v);
    return size > 0 ? gw_mul_add(torque, -law->friction * s / size, deflection) : torque;
}

double gw_ball_friction_energy(const gw_joint_law *law, gw_vec3 deflection)
{
    gw_joint_law from_zero = *law;
    from_zero.bristle_root = 0;
    return gw_joint_friction_energy(&from_zero, gw_norm(deflection));
}

double gw_ball_slip(const gw_joint_law *law, gw_vec3 *deflection)
{
    double size = gw_norm(*deflection), beyond = size - span_of(law);
    if (!(law->friction > 0) || !(beyond > 0))
        return 0;
    *deflection = gw_scale(1 - beyond / size, *deflection);
    return law->friction * beyond;
}

/* ---- one coordinate ------------------------------------------------------------------------- */

double gw_joint_force(const gw_joint_law *law, double q, double v, double *motor_power,
                      double *dissipated_power)
{
    double motor = motor_force(law->motor, q, v), damping = law->damping;
    motor *= motor_fade(law, motor, v);
    double past = past_limit(law, q);
    double force = motor - damping * v;
    *motor_power += motor * v;
    *dissipated_power += damping * v * v;
    if (law->friction > 0)
        force += friction_force(law, q, v, dissipated_power);
    if (past != 0) {
        double limit = limit_force(law, past, v);
        force += limit;
        *dissipated_power -= (limit + law->limit_stiffness * past) * v;
    }
    return force;
}

/* Damping, friction and limits: force, and its slopes by v and q. */
static void passive_forces(const gw_joint_law *law, double q, double v, gw_joint_force_model *model)
{
    double past = past_limit(law, q), dissipated = 0;
    model->force = -law->damping * v;
    model->damping = law->damping;
    model->stiffness = model->bound_damping = 0;
    if (law->friction > 0) {
        double w = (q - law->bristle_root) / span_of(law), still = fmax(0, 1 - w * w);
        model->force += friction_force(law, q, v, &dissipated);
        model->stiffness += law->bristle_stiffness * still * still;
        if (v != 0)
            model->bound_damping += dissipated / (v * v);
    }
    if (past != 0) {
        double force = limit_force(law, past, v);
        model->force += force;
        model->stiffness += force != 0 ? law->limit_stiffness : 0;
        if (force != 0)
            model->bound_damping += law->limit_damping * fmin(1, fabs(past) / GW_LIMIT_RAMP);
    }
}

void gw_joint_linearise(const gw_joint_law *law, double q, double v, gw_joint_force_model *model)
{
    assert(law && model);
    const gw_motor *m = law->motor;
    passive_forces(law, q, v, model);
    model->motor = (gw_motor_force_model){.force = m->torque + m->stiffness * (m->target - q) +
                                                   m->damping * (m->rate - v),
                                          .damping = m->damping,
                                          .stiffness = m->stiffness,
                                          .most = m->max > 0 ? m->max : INFINITY,
                                          .speed = m->speed > 0 ? m->speed : INFINITY,
                                          .fade_slope = gw_motor_fade_slope(m, q, v)};
}

double gw_joint_energy(const gw_joint_law *law, double q)
{
    double past = past_limit(law, q);
    double sum = 0.5 * law->limit_stiffness * past * past;
    if (law->friction > 0)
        sum += gw_joint_friction_energy(law, q);
    return sum;
}

void gw_joint_limit_spring(double inertia, double dt, double *stiffness, double *damping)
{
    assert(inertia >= 0 && dt > 0 && stiffness && damping);
    double limit = LIMIT_PHASE * (1 / dt);
    *stiffness = limit * limit * inertia;
    *damping = 2 * LIMIT_DAMPING * limit * inertia;
}

/* ---- motors in an implicit step -------------------------------------------------------------- */

/* The force of the motor's linear law for the joint's acceleration a. */
static double motor_linear_force(const gw_motor_force_model *m, double h, double v, double a)
{
    return m->force - m->damping * h * a - m->stiffness * h * (v + h * a);
}

/* The motor's largest force in its direction at velocity v. */
static double motor_speed_force(const gw_motor_force_model *m, double v)
{
    return m->fade_slope * (copysign(m->speed, m->force) - v);
}

double gw_motor_force_in(const gw_motor_force_model *m, gw_motor_state state, double h, double v,
                         double a)
{
    switch (state) {
    case GW_MOTOR_LINEAR:
        return motor_linear_force(m, h, v, a);
    case GW_MOTOR_AT_SPEED:
        return motor_speed_force(m, v + h * a);
    case GW_MOTOR_BEYOND_SPEED:
        return 0;
    case GW_MOTOR_AT_MIN:
        return -m->most;
    case GW_MOTOR_AT_MAX:
        break;
    }
    assert(state == GW_MOTOR_AT_MAX);
    return m->most;
}

/* AT_SPEED is tried before BEYOND_SPEED, which only an external drive reaches. Between minimum and
 * maximum the state passes through the linear law: with a stiff law either bound would lead to the
 * other one, and neither is the solution. */
gw_motor_state gw_motor_state_at(const gw_motor_force_model *m, gw_motor_state state, double h,
                                 double v, double a)
{
    double force = motor_linear_force(m, h, v, a), to = v + h * a, ahead = copysign(1, m->force);
    double most = ahead * motor_speed_force(m, to);
    if (isfinite(m->speed) && ahead * force > 0 && most < fmin(fabs(force), m->most))
        return most > 0 || state != GW_MOTOR_AT_SPEED
                   ? (state == GW_MOTOR_BEYOND_SPEED && !(most > 0) ? GW_MOTOR_BEYOND_SPEED
                                                                    : GW_MOTOR_AT_SPEED)
                   : GW_MOTOR_BEYOND_SPEED;
    int bound = force > m->most    ? GW_MOTOR_AT_MAX
                : force < -m->most ? GW_MOTOR_AT_MIN
                                   : GW_MOTOR_LINEAR;
    return bound && state == -bound ? GW_MOTOR_LINEAR : bound;
}

double gw_motor_work_max(const gw_motor *m, double q0, double q1, double *size)
{
    assert(m && size);
    double displacement = q1 - q0, amid = m->target - 0.5 * (q0 + q1);
    double given = (m->torque + m->stiffness * amid + m->damping * m->rate) * displacement;
    *size += fabs(given);
    return m->max > 0 ? m->max * fabs(displacement) : given;
}

double gw_joint_passing_fraction(double a, double u_a, double b, double u_b, double level)
{
    double low = 0, high = 1, x = 0.5;
    if ((a - level) * (b - level) >= 0)
        return 2;
    for (int i = 0; i < 40; i++) {
        double y = 1 - x;
        double at = y * y * ((1 + 2 * x) * a + x * u_a) + x * x * ((1 + 2 * y) * b - y * u_b);
        if ((at - level) * (a - level) > 0)
            low = x;
        else
            high = x;
        x = 0.5 * (low + high);
    }
    return x;
}
