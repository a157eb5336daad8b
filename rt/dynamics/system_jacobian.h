/*
 * The Jacobian of a frame held on a body of a system (system_jacobian.c). Inside of rt/dynamics;
 * RT safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_JACOBIAN_H
#define GW_DYNAMICS_SYSTEM_JACOBIAN_H

#include "rt/dynamics/system_private.h"

/* Columns of J (dof of them) and the bias acceleration of a frame held on a body; `slot` 0, 1:
 * which of the frames that are kept. */
void gw_system_jacobian_of(gw_system *system, int slot, int body, const gw_pose *body_from_held,
                           double (*columns)[6], double *drift);
/* Columns with position rows only, if there are velocity rows; else false. */
bool gw_system_positional_of(gw_system *system, int body, const gw_pose *body_from_held,
                             double (*columns)[6]);
/* The cache entry for D^-1 P w if w is a row of a Jacobian of this state (`kept`: it is filled);
 * else NULL. */
double *gw_system_answer_to(gw_system *system, const double *force, bool *kept);

#endif
