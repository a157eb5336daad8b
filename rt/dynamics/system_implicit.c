/*
 * A substep of a system by linearly implicit Euler steps, extrapolated. RT safe.
 *
 *   (D + h C + h^2 K) a = f(q, u) - h K u,   u += h a,   by += h rates(by, u)
 *
 * Extrapolation of runs of 1 to k Euler steps, T = sum over j of prod over l != j of j / (j - l)
 * T_j, is of order k for any C and K (Deuflhard 1985), and motions with time constants below h
 * decay.
 */
#include <assert.h>
#include <string.h>

#include "rt/dynamics/system_step.h"

gw_implicit_formula gw_implicit_formula_of(int level)
{
    assert(level >= 0);
    static const gw_implicit_formula formulas[GW_MAX_IMPLICIT_LEVEL + 1] = {
        {2, 4}, {4, 4}, {8, 4}, {16, 4}, {8, 8}, {16, GW_SYSTEM_RUNS}};
    if (level > GW_MAX_IMPLICIT_LEVEL)
        return (gw_implicit_formula){16 << (level - GW_MAX_IMPLICIT_LEVEL), 4};
    return formulas[level];
}

static double extrapolation_weight(int run, int runs)
{
    double weight = 1;
    for (int l = 1; l <= runs; l++)
        weight *= l == run ? 1 : (double)run / (run - l);
    return weight;
}

/* One Euler step of run `run`, from its by and velocities. */
static void euler_step(gw_system *s, const gw_forces *forces, double t, double h, int run,
                       signed char *motor_states, gw_system_work *sum)
{
    double *by = s->run_by + run * s->dof, *u = s->run_velocity + run * s->dof;
    gw_system_work power = {0};
    memcpy(s->by, by, (size_t)s->dof * sizeof *by);
    gw_system_set_displacement(s, u);
    if (s->moving)
        gw_grounds_go_to(s, t);
    gw_tree_update_positions(s);
    gw_tree_update_velocities(s);
    if (s->row_count > 0)
        gw_closures_update_rows(s);
    gw_system_evaluate_forces(s, forces, t);
    gw_system_accelerate_implicitly(s, h, motor_states);
    sum->motors += gw_system_motor_work(s, h, motor_states);
    if (s->moving)
        sum->base += h * gw_grounds_power(s);
    gw_system_gather(s, s->scratch);
    gw_system_add_scaled(s->dof, h, s->scratch, u);
    for (int i = 0; i < s->body_count; i++)
        memcpy(s->bodies[i].joint.u, u + s->bodies[i].first, (size_t)s->bodies[i].dof * sizeof *u);
    gw_system_rates(s, by, u, s->scratch);
    gw_system_add_scaled(s->dof, h, s->scratch, by);
    /* work, at the new velocities */
    gw_tree_update_velocities(s);
    gw_system_outer_power(s, forces, &power);
    gw_system_add_work(sum, h, &power);
}

/* A motor that reaches its maximum within the substep causes a kink, over which extrapolation is
 * invalid: then only the finest run is used. */
void gw_system_integrate_implicitly(gw_system *s, const gw_forces *forces, double t, double h,
                                    gw_system_work *sum, gw_wrench *constraint)
{
    gw_system_work works[GW_SYSTEM_RUNS] = {{0}};
    int runs = gw_implicit_formula_of(s->integrator.implicit_level).runs;
    s->substep = h;
    size_t n = (size_t)s->dof;
    signed char *before = s->motor_states + GW_SYSTEM_RUNS * n;
    bool kink = false;
    memset(s->motor_states, 0, GW_SYSTEM_RUNS * n);
    memset(s->run_by, 0, GW_SYSTEM_RUNS * n * sizeof *s->run_by);
    for (int run = 0; run < runs; run++) {
        signed char *states = s->motor_states + (size_t)run * n;
        for (int i = 0; i < s->body_count; i++)
            memcpy(s->run_velocity + run * s->dof + s->bodies[i].first, s->home[i].u,
                   (size_t)s->bodies[i].dof * sizeof *s->run_velocity);
        for (int i = 0; i <= run; i++) {
            memcpy(before, states, n);
            euler_step(s, forces, t + i * h / (run + 1), h / (run + 1), run, states, &works[run]);
            kink = kink || (i > 0 && memcmp(before, states, n) != 0);
            if (i == 0 && t == 0 && run == 0)
                gw_keep_joint_wrenches(s, constraint);
        }
        kink = kink || memcmp(states, s->motor_states, n) != 0;
    }
    memcpy(s->last_motor_states, s->motor_states + (size_t)(runs - 1) * n, n);
    memset(s->by, 0, n * sizeof *s->by);
    memset(s->scratch, 0, n * sizeof *s->scratch);
    for (int run = 0; run < runs; run++) {
        double weight = kink ? run == runs - 1 : extrapolation_weight(run + 1, runs);
        gw_system_add_scaled(s->dof, weight, s->run_by + run * s->dof, s->by);
        gw_system_add_scaled(s->dof, weight, s->run_velocity + run * s->dof, s->scratch);
        gw_system_add_work(sum, weight, &works[run]);
    }
    s->integrator.implicit_on_held = s->on_held;
    gw_system_set_displacement(s, s->scratch);
    if (s->moving)
        gw_grounds_go_to(s, t + h);
}

static void free_acceleration(gw_system *s, double *a)
{
    gw_system_work power = {0};
    memset(s->on, 0, (size_t)s->body_count * sizeof *s->on);
    if (!(s->integrator.implicit_dt > 0)) {
        gw_system_accelerate(s, &power);
        gw_system_gather(s, a);
        return;
    }
    /* D^-1 (f - C u) is not the mean over the step, as stiff joints relax within it. Control adds
     * D^-1 J^T F of the hand; the sum has to be the mean over the coming step, with the hand's last
     * wrench F. */
    memset(s->motor_states, 0, (size_t)s->dof);
    s->on[s->held] = s->integrator.implicit_on_held;
    s->substep = s->integrator.implicit_dt;
    gw_system_accelerate_implicitly(s, s->integrator.implicit_dt, s->motor_states);
    gw_system_gather(s, a);
    gw_system_update(s);
    memset(s->generalised, 0, (size_t)s->dof * sizeof *s->generalised);
    gw_system_apply_inverse_inertia(s, true);
    gw_system_gather(s, s->scratch);
    gw_system_add_scaled(s->dof, -1, s->scratch, a);
}

/* Updates all that depends on velocities for `speed` times those of the state. */
static void scale_velocities(gw_system *s, const gw_system_state *state, double speed)
{
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] = speed * state->joints[i].u[j];
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
}

void gw_system_free_acceleration_at(gw_system *s, const gw_system_state *state, double speed,
                                    double *a)
{
    if (speed != 1)
        scale_velocities(s, state, speed);
    free_acceleration(s, a);
    if (speed != 1)
        scale_velocities(s, state, 1);
}

void gw_system_free_acceleration_over(gw_system *s, const gw_system_state *state, double h,
                                      double speed, double *a)
{
    if (speed != 1)
        scale_velocities(s, state, speed);
    memset(s->on, 0, (size_t)s->body_count * sizeof *s->on);
    memset(s->motor_states, 0, (size_t)s->dof);
    s->substep = h;
    gw_system_accelerate_implicitly(s, h, s->motor_states);
    gw_system_gather(s, a);
    gw_system_update(s);
    if (speed != 1)
        scale_velocities(s, state, 1);
}
