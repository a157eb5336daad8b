/*
 * Unilateral contacts among a system's closures (system_unilateral.c). Inside of rt/dynamics; RT
 * safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_UNILATERAL_H
#define GW_DYNAMICS_SYSTEM_UNILATERAL_H

#include "rt/dynamics/system_private.h"

/* What ends a contact: its normal force (N) or the distance from an edge (m) becomes negative. */
typedef enum gw_contact_ending { GW_ENDS_BY_FORCE, GW_ENDS_AT_EDGE } gw_contact_ending;

/* The unilateral contacts of a system; arrays have an entry per closure. */
typedef struct gw_unilateral_contacts {
    int count;          /* of unilateral closures */
    bool *active;       /* the closure is an active one, */
    double (*begin)[2]; /* with these values at the substep's start (gw_contact_ending) */
    gw_wrench *force;   /* gw_system_contact_force() */
} gw_unilateral_contacts;

/* Root finding for the time in a substep at which this value of a contact becomes zero: by trial
 * substeps, with the times in sixteenths of the step since the substep's start. */
typedef struct gw_lift_off {
    bool active;
    int closure, trials;
    gw_contact_ending which;
    double low, high;             /* it has not ended at `low`, and has at `high` */
    double value_low, value_high; /* the value there */
    double met;                   /* the width of the next trial; INFINITY: none */
} gw_lift_off;

/* Which contacts are active in a state: an entry per closure. */
bool *gw_system_active_contacts(const gw_system_state *model);

/* Allocation, with all contacts inactive; false if memory is short. */
bool gw_unilateral_init(gw_system *system);
void gw_unilateral_free(gw_system *system);

/* Sets the active rows from s->contact_active. */
void gw_unilateral_apply(gw_system *system);

/* Deactivates all contacts; called before bodies are placed elsewhere. */
void gw_unilateral_release(gw_system *system);

/* At the start of a substep, t s into the step: deactivates contacts that have ended, and records
 * the values of the others. */
void gw_unilateral_begin_substep(gw_system *system, const gw_forces *forces, double t);

/* Called with the bodies at the end of a trial substep of `wide` sixteenths, t s into the step.
 * True: a contact ended, and the substep is to be repeated, of search->met sixteenths; 0: it ended
 * at the substep's start. */
bool gw_unilateral_detect(gw_system *system, const gw_forces *forces, double t, double wide,
                          gw_lift_off *search);

/* After a substep of `wide` sixteenths was accepted: deactivates the contact if it ends there, and
 * ends the search. */
void gw_unilateral_lift_off(gw_system *system, double wide, gw_lift_off *search);

#endif
