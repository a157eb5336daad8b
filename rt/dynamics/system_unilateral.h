/*
 * Unilateral contacts among a system's closures (system_unilateral.c). Inside of rt/dynamics; RT
 * safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_UNILATERAL_H
#define GW_DYNAMICS_SYSTEM_UNILATERAL_H

#include "rt/dynamics/fixed_point.h"
#include "rt/dynamics/system_friction.h"
#include "rt/dynamics/system_traction.h"

#define GW_NO_SLIP 1e-12 /* m/s: a slip that counts as none */

/* The phase of a contact that rows hold. */
typedef enum gw_contact_phase {
    GW_CONTACT_OPEN,
    GW_CONTACT_STICKS, /* all its rows are active */
    GW_CONTACT_SLIPS   /* those along tangents are not: friction (system_friction.h) */
} gw_contact_phase;

/* How the rim of a contact on a plane touches it (system_rim.c). */
typedef enum gw_rim_posture {
    GW_RIM_TILTED, /* at its lowest point; of other contacts too */
    GW_RIM_PINNED, /* nearly flat: at a point fixed to the rim */
    GW_RIM_FLAT    /* with the whole circle */
} gw_rim_posture;

/* The part of a system's state that a contact has, of every closure. */
typedef struct gw_contact_mode {
    gw_contact_phase phase;
    gw_vec3 along; /* direction in which it began to slip (world, unit) */
    gw_rim_posture posture;
    gw_vec3 pin;  /* the point fixed to the rim (in a's frame); of a tilted one the direction across
                     its axis that was up at the substep's start (world) */
    bool at_fold; /* at rest where its branch ends (system_fold.c) */
} gw_contact_mode;

/* Functions that end a contact's phase where they become negative. Of several the first one does.
 */
typedef enum gw_contact_ending {
    GW_ENDS_AT_EDGE,  /* contact: the distance from an edge (m), */
    GW_ENDS_BY_FORCE, /* or the normal force (N) */
    GW_ENDS_FLAT,     /* flat rim: the normal force beyond that which tips it over an edge (N) */
    GW_ENDS_TILTED,   /* tilted or pinned rim: its posture (rad) */
    GW_ENDS_AT_FOLD,  /* contact of curved surfaces: the distance from a fold of its branch */
    GW_ENDS_STICKING, /* mu lambda less the traction (N) */
    GW_CONTACT_ENDINGS
} gw_contact_ending;

/* The unilateral contacts of a system; arrays have an entry per closure. */
typedef struct gw_unilateral_contacts {
    int count; /* of unilateral closures, and of rims on planes that are kept both ways, */
    int slipping;
    gw_contact_mode *mode;
    double (*begin)[GW_CONTACT_ENDINGS]; /* the values of an active one at the substep's start */
    gw_wrench *force;                    /* gw_system_contact_force() */
    double *normal_force;                /* GW_ENDS_BY_FORCE, */
    double *surplus;                     /* GW_ENDS_STICKING, */
    gw_vec3 *traction;                   /* and the traction (N, on a, world) */
    int *group;                          /* of redundant contacts that share tractions; -1: none */
    const double *multipliers;           /* of all rows, as s->solution, with these forces */
    gw_contact_friction *friction;
    int changes;    /* between sticking and slipping in this step */
    int falls;      /* of rims in this step */
    int passes;     /* from contact to contact over edges, in this step */
    int substeps;   /* of this step so far, repeated ones too */
    int *effort;    /* columns of responses found in this tick, by their size; */
    int own_effort; /* in this step */
    bool coarse;  /* from here to the step's end contacts do not begin to slip, and friction has the
                     directions of each substep's start */
    bool stopped; /* at a fold, in this step */
    bool begins;  /* the next substep is the first of the step */
    bool jammed;  /* friction is inconsistent with the slip (system_friction.c) */
    gw_traction_scratch redundant;
    gw_slip_group slip;
    gw_slip_response response;
    gw_fixed_point centres; /* of pressure of flat rims */
    double *pressures;      /* scratch of the same */
    bool *stops;            /* of the group's contacts */
    /* scratch, for the contacts that slip: */
    double *matrix, *normal;
} gw_unilateral_contacts;

/* Root finding for the time in a substep at which this value of a contact becomes zero: by trial
 * substeps, with the times in sixteenths of the step since the substep's start. */
typedef struct gw_lift_off {
    bool active;
    int closure, trials;
    gw_contact_ending which;
    double low, high;             /* it has not ended at `low`, and has at `high` */
    double value_low, value_high; /* the value there */
    double before, value_before;  /* of the trial before that at `low` */
    double met;                   /* the width of the next trial; INFINITY: none */
} gw_lift_off;

static inline unsigned gw_all_rows(const gw_closure_block *k)
{
    return (1u << k->rows) - 1;
}

/* The contacts' modes in a state: an entry per closure. */
static inline size_t gw_size_of_modes(const gw_system *s)
{
    return (size_t)s->closure_count * sizeof(gw_contact_mode);
}
gw_contact_mode *gw_system_contact_modes(const gw_system_state *model);

/* Allocation, with all contacts open; false if memory is short. */
bool gw_unilateral_init(gw_system *system);
void gw_unilateral_free(gw_system *system);

/* The least mu lambda with which a contact that sticks bears its traction (N), if it may slip. */
double gw_contact_traction_size(const gw_system *system, int closure, const double *multipliers);

/* Sets the active rows by the contacts' modes. */
void gw_unilateral_apply(gw_system *system);

/* Opens all contacts, and contact points are searched for; called before bodies are placed
 * elsewhere. */
void gw_unilateral_release(gw_system *system);

/* At the start of a step: forgets how often contacts changed between sticking and slipping.
 * `effort`: as gw_forces has it. */
void gw_unilateral_begin_step(gw_system *system, int *effort);

/* At the start of a substep, t s into the step: ends phases of contacts that have ended, and
 * records the values of the others. Adds what that dissipates to `work`. Returns the longest
 * substep that resolves the slip (s). */
double gw_unilateral_begin_substep(gw_system *system, const gw_forces *forces, double t,
                                   gw_system_work *work);

/* Called with the bodies at the end of a trial substep of `wide` sixteenths, t s into the step.
 * True: a contact's phase ended, and the substep is to be repeated, of search->met sixteenths; 0:
 * it ended at the substep's start. */
bool gw_unilateral_detect(gw_system *system, const gw_forces *forces, double t, double wide,
                          gw_lift_off *search);

/* After a substep of `wide` sixteenths was accepted: if a contact's phase ends there, it lifts off
 * or begins to slip, or a rim changes its posture; ends the search. Adds what that dissipates to
 * `work`. */
void gw_unilateral_lift_off(gw_system *system, double wide, gw_lift_off *search,
                            gw_system_work *work);

#endif
