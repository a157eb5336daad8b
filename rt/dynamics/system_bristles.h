/*
 * Bristles of a system's joints with friction. RT safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_BRISTLES_H
#define GW_DYNAMICS_SYSTEM_BRISTLES_H

#include "rt/dynamics/system_private.h"

/* Moves the roots of bristles deflected beyond their span; returns the energy dissipated (J). */
double gw_system_slip(gw_system *system);

/* At a step's start: bends the bristles of coordinates that begin to slide at once; with `fits`
 * tunes bristles to the present inertias where these have changed much, each with its energy, up to
 * its capacity. Returns the energy dissipated, less what bent bristles took up (J). */
double gw_system_begin_bristles(gw_system *system, bool fits);

/* The fraction of the substep after which a sliding coordinate first comes to rest; 2: none
 * does. */
double gw_system_first_rest(const gw_system *system);

/* Deflects the bristles of coordinates that came to rest as the forces t s into a step require;
 * returns the energy dissipated (J). */
double gw_system_turn_bristles(gw_system *system, const gw_forces *forces, double t);

/* The same after an impulse, without outer forces; those of reversed coordinates bend to the other
 * side. */
void gw_system_turn_struck_bristles(gw_system *system);

/* Deflects the bristles of coordinates at rest, but those kept, so that nothing moves that friction
 * can hold; those of sliding coordinates bend in the next step. */
void gw_system_balance_bristles(gw_system *system);

/* The bristles of a joint exert the forces of another system's joint of the same type, where both
 * have friction, and are kept by gw_system_balance_bristles(). */
void gw_system_keep_bristles(gw_system *system, int body, const gw_system *from, int was);

#endif
