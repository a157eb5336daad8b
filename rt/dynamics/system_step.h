/*
 * Shared by the substeps of a system: explicit ones (system_step.c) and implicit ones
 * (system_implicit.c).
 */
#ifndef GW_DYNAMICS_SYSTEM_STEP_H
#define GW_DYNAMICS_SYSTEM_STEP_H

#include "rt/base/simd.h"
#include "rt/dynamics/system_private.h"

/* Distance from one stage's entries in `rates` and `accelerations` to the next: dof, rounded up to
 * whole SIMD vectors. */
static inline int gw_stage_stride(const gw_system *s)
{
    return (s->dof + GW_LANES - 1) / GW_LANES * GW_LANES;
}

/* sum += weight power */
static inline void gw_system_add_work(gw_system_work *sum, double weight,
                                      const gw_system_work *power)
{
    sum->hand += weight * power->hand;
    sum->contact += weight * power->contact;
    sum->pushed += weight * power->pushed;
    sum->second += weight * power->second;
    sum->motors += weight * power->motors;
    sum->base += weight * power->base;
    sum->energy_error += weight * power->energy_error;
    sum->dissipated += weight * power->dissipated;
}

/* y += weight x */
static inline void gw_system_add_scaled(int n, double weight, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += weight * x[i];
}

/* Sets every joint to its state at home displaced by s->by, with velocities u; and computes the
 * rates of `by` there. */
void gw_system_set_displacement(gw_system *system, const double *u);
void gw_system_rates(const gw_system *system, const double *by, const double *u, double *rates);

/* Levels of accuracy: number of substeps, and of extrapolation runs in each. For bodies that rotate
 * far in a substep a higher order gains more than shorter substeps. Above GW_MAX_IMPLICIT_LEVEL,
 * used within a step only, substeps become shorter: where bristles begin to slip a higher order
 * does not help. */
typedef struct gw_implicit_formula {
    int substeps, runs;
} gw_implicit_formula;

#define GW_MAX_IMPLICIT_LEVEL    5
#define GW_FINEST_IMPLICIT_LEVEL 15

gw_implicit_formula gw_implicit_formula_of(int level);

/* Integrates from home over h (s) by the formula of the integrator's level, t s into the step; adds
 * the work to `sum`. At the step's start (t = 0) it also keeps the joint wrenches and sets
 * `constraint`. */
void gw_system_integrate_implicitly(gw_system *system, const gw_forces *forces, double t, double h,
                                    gw_system_work *sum, gw_wrench *constraint);

#endif
