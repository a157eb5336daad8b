/*
 * Folds of contacts of curved surfaces and curves: where the branch of the common normal, or of the
 * common tangent of two curves, ends (system_fold.c). Inside of rt/dynamics; RT safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_FOLD_H
#define GW_DYNAMICS_SYSTEM_FOLD_H

#include "rt/dynamics/system_unilateral.h"

/* True for a contact whose branch may end. */
bool gw_fold_may_be_met(const gw_closure_def *closure);

/* GW_ENDS_AT_FOLD: (kappa / FOLD)^2 - 1; negative past the fold, and where no contact point is
 * found. */
double gw_fold_distance(const gw_system *system, int closure);

/* The longest substep that resolves the motion of a contact point near a fold (s). */
double gw_fold_longest_substep(const gw_system *system, int closure);

/* Stops the system at a fold; it rests until the step ends. Adds its kinetic energy to `work`. */
void gw_fold_stop(gw_system *system, int closure, gw_system_work *work);

/* At the start of a substep, t s into the step, which ends in h: true if the system is at rest at a
 * fold, to which its forces press it, or where it was stopped in this step. It is then taken to the
 * step's end. */
bool gw_folds_hold(gw_system *system, const gw_forces *forces, double t, double h,
                   gw_system_work *work);

/* True where a contact point was lost since the substep began. */
bool gw_any_contact_is_lost(const gw_system *system);

/* Places that were lost are followed again, from the substep's start. */
void gw_contacts_follow_again(gw_system *system);

#endif
