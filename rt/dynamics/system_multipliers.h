/*
 * Multipliers of dependent rows (system_multipliers.c). Inside of rt/dynamics; RT safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_MULTIPLIERS_H
#define GW_DYNAMICS_SYSTEM_MULTIPLIERS_H

#include "rt/dynamics/system_private.h"

/* The solution of least norm, where dependent rows share a load; s->solution gives all of it to the
 * independent ones. Valid until the next one is found. Overwrites s->right and s->rest. `many` are
 * wanted with the present factors: the first one takes longer, the others less; results differ by
 * rounding, but do not depend on what was asked for before. */
const double *gw_closures_least_multipliers(gw_system *system, bool many);

/* The number of dependent active rows; and the null vector of J^T with 1 at the n-th of them and 0
 * at the others, per active row as s->solution. */
int gw_closures_find_dependent(gw_system *system);
void gw_closures_null_vector(const gw_system *system, int n, double *x);

/* Substitution by the present factors (system_elimination.c): x of the independent rows := L_I^-1
 * z, and z of the dependent ones less L_D x; and x of the independent rows := L_I^-T (x - L_D^T x
 * of the dependent ones). */
void gw_closures_forward(const gw_system *system, double *z, double *x);
void gw_closures_backward(const gw_system *system, double *x);

#endif
