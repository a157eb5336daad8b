/*
 * Data shared by the files of the contact world, and the functions that each offers to the others.
 *
 *   island    systems joined by collision pairs, directly or through others; islands cannot meet
 *             within a step and are stepped one after the other
 *   group     systems of an island that exchange contact forces; it has its own substeps, groups
 *             that meet are merged for the rest of the step
 *   substep   the part of a step between two collisions of a group
 *   trial     a substep that is integrated from saved models and may be repeated with a shorter one
 *   lockstep  joint integration of free bodies that touch: each stage of the
 *             integrator for all of them, then the contact forces on all of them
 *   waveform  the force of a contact between systems that are not in lockstep, as
 *             a function of time that acts on both of them
 *   load      contact force that is solved for, in place of a penalty spring; the contact is loaded
 *   hold      a loaded unilateral constraint, whose load acts all through the substep, holds
 *
 * Everything here belongs to the thread that steps the world; all functions are RT safe.
 */
#ifndef GW_CONTACT_WORLD_PRIVATE_H
#define GW_CONTACT_WORLD_PRIVATE_H

#include "rt/collision/free_form.h"
#include "rt/contact/impulse.h"
#include "rt/contact/kinematics.h"
#include "rt/contact/penalty_contact.h"
#include "rt/contact/unilateral_row.h"
#include "rt/contact/world.h"
#include "rt/dynamics/lockstep.h"

#define GW_CONTACT_CLOSED_GAP     1e-9 /* a contact is closed where its gap is at most this (m) */
#define GW_CONTACT_MATCH_DISTANCE 0.01 /* contacts of two bodies this near may be the same (m) */
#define GW_CONTACT_LOADED_DEPTH                                                                    \
    1e-4                           /* compression of a soft spring from which on it is loaded (m) */
#define GW_CONTACT_HELD_DEPTH 1e-7 /* to which contacts that hold may be passed (m) */
#define GW_CONTACT_HELD_SLACK                                                                      \
    1e-5                   /* and their loads leave them open, or to springs, at least (m) */
#define GW_ISLAND_SMALL 16 /* an island of at most so many systems is one group */
#define GW_WORLD_MAX_DOF                                                                           \
    (GW_MAX_JOINTS + 6 * (GW_MAX_TOOLS + GW_MAX_FREE)) /* of all systems of a scene */
#define GW_WORLD_REDETECTIONS_MAX 64                   /* narrow-phase queries in a step */
#define GW_PAIR_HASH_SLOTS        2048 /* a power of two, twice the number of pairs */
#define GW_TOI_TARGET_GAP         1e-5 /* conservative advancement ends at this gap (m) */

/* Poses are world_from_body, twists of the body's origin in world axes. */
typedef struct gw_body_state {
    int model, index;  /* its system, -1: static or moved from outside; which of its bodies */
    bool moving;       /* during a substep; others need no extrapolation */
    bool unchanged;    /* since the last step ended, */
    bool unmoved;      /* or at least where it was */
    bool rounded;      /* a collision of this step put it elsewhere, by rounding */
    gw_pose step_pose; /* at the start of the step, of one that belongs to no model */
    gw_pose start_pose, pose;
    gw_twist start_twist, twist; /* at the start of the substep, and now */
    gw_twist acceleration;       /* mean of the last substep */
    unsigned updated;            /* as the step of this number began, counted from 1; 0: never */
    unsigned listed[2];          /* of gw_world.listing: in the island or active part, boundary */
} gw_body_state;

/* Two geoms that may collide: an entry of the pair cache. Its contacts are detected again as the
 * geoms move against one another. */
typedef struct gw_collision_pair {
    int geom_a, geom_b, a, b;          /* geoms of the detector, and their bodies */
    int system_a, system_b;            /* -1: static or moved from outside */
    int first_contact, next_in_island; /* -1: none, the last */
    bool kept;                         /* by the update of the cache that is under way */
    bool can_redetect;                 /* the narrow phase may query it inside a step */
    int query_cost;                    /* in steps of a free body, */
    double effort;                     /* and what its last query took beyond that */
    bool unsure, frozen;               /* it may overlap, as a query was left out in this step, */
    bool waited;                       /* and was frozen for it, or in the last */
    double time_skipped;               /* since a query that was due was left out first (s) */
    bool has_detection;                /* the rest is of its last query: */
    gw_pose detected_pose_a, detected_pose_b;
    double gap;                   /* lower bound of the geoms' distance then (m) */
    bool only_sharp_features;     /* all candidates are of corners and edges */
    double breaking_distance;     /* the geoms touch nowhere else until they moved so far (m) */
    int detected, detected_count; /* in gw_world.detected; -1: not queried since the last step */
    gw_vec3 centre_a, centre_b;   /* bounding spheres in the bodies' frames (m) */
    double radius_a, radius_b;
} gw_collision_pair;

/* Loads that were tried in a substep for a contact that holds: the largest under which its gap
 * closed, the smallest under which it opened (N), and these gap rates (m/s). */
typedef struct gw_load_bracket {
    double low, high, closing, opening;
    double best, least; /* the load with the smallest gap rate (N), and its magnitude (m/s) */
    int trials;
} gw_load_bracket;

/* Loads of a contact that holds in its last substeps: each a mean force (N) and the middle of its
 * substep (s after the start of the present one, below zero), the last one first. */
#define GW_LOADS_KNOWN 3

typedef struct gw_load_history {
    int known; /* of GW_LOADS_KNOWN */
    double load[GW_LOADS_KNOWN], middle[GW_LOADS_KNOWN];
    double slope; /* of the last one (N/s) */
} gw_load_history;

/* State of a coordinate at its limit within a substep (locked_coordinates.c). */
typedef enum gw_lock_state {
    GW_UNLOCKED,
    GW_LOCKED,
    GW_LOCK_RELEASED, /* because its reaction force would pull */
    GW_LOCK_KEPT      /* locked again, for the rest of the substep */
} gw_lock_state;

/* A contact candidate through its life. First the members that loops over an island's contacts
 * read. */
typedef struct gw_contact {
    int system_a, system_b;  /* -1: static or moved from outside */
    double gap_rate;         /* d(gap)/dt now (m/s) */
    double toi;              /* estimated time of impact (s into the step); INFINITY: none */
    double rest_penetration; /* penetration at which the spring has no force (m): below zero where
                                it began with one */
    bool spurious;           /* the geoms do not touch where the candidate says */
    bool continuous;         /* state: penalty force and friction act */
    bool damping_active;     /* it was closed at the start of the substep: damping and friction */
    bool deferred;           /* its collision was left to the next step */
    bool slow_impact;        /* its gap closes in this substep more slowly than rest_speed */
    bool reimpact;           /* continuous, but driven to approach by an impulse elsewhere */
    bool overcompressed;     /* at the start of the step: its damping is off, else it would creep */
    bool immovable;          /* closed, and no system can move along the normal */
    bool constrained;        /* state: rows of its system keep it closed */
    bool unconstrained;      /* these did not hold: it is continuous instead */
    bool loaded;             /* a force that is solved for stands for its spring */
    bool weighed;            /* the mass ratio that decides on `loaded` was evaluated */
    bool bottomed_out;       /* it passed a soft surface's range: hence its rest penetration */
    bool collided;           /* in this step */
    bool no_rebound;         /* collided in the step before and is still deep */
    bool queued;             /* in the queue of estimated times of impact */
    bool anchored;           /* the anchors are of the gap now */
    bool kept, fresh;        /* by the update of the cache that is under way; new in it */
    bool renewed;            /* has another candidate than when its gap was found last */
    int pair, next_in_pair, next_in_island; /* -1: the last */
    gw_gap now, start;                      /* gap now, and at start_time */
    double start_gap_rate;
    double gap_acceleration; /* mean, of the last substep (m/s^2) */
    double start_time; /* start of the interval in which its impact is sought (s into the step) */
    double turned;     /* of a turn: by whole turns from `near` (m) */
    double impact_gap; /* gap at which it collides: below zero where it overlapped at start (m) */
    gw_contact_candidate candidate;
    gw_vec3 anchor_a,
        anchor_b;            /* material points that touched at the substep's start, body frames */
    gw_vec3 anchor_offset;   /* x_a - x_b of them then, world axes */
    gw_vec3 start_slip_rate; /* of what may roll, at the substep's start (m/s) */
    double start_spin_rate;  /* about the normal (rad/s) */
    double last_depth;       /* penetration at the end of the last step (m) */
    double energy_to_repay;  /* put into its spring by redetection, to be taken from motion (J) */
    double stiffness, damping;      /* N/m, N s/m, within the step's stability limit */
    double load, stored;            /* of a loaded one, over the substep (N); its energy (J) */
    double loaded_for;              /* since it was loaded (s) */
    double load_before;             /* of one that holds: the load of the substep before (N) */
    double load_slope, load_middle; /* of one that holds: rate of change of its load (N/s); when it
                                       is `load` (s after the substep's start) */
    gw_load_history loads_before;
    double load_at_start; /* the force at the start of this step, along the normal */
    gw_gap gap_at_start;  /* that is here, where that begins */
    double tried;         /* of one that holds: what the last trial had (N s) */
    double expected_rate; /* of a loaded one: d(gap)/dt that its load is to bring (m/s) */
    gw_load_bracket bracket;
    bool yields; /* a unilateral constraint of which no load was found: a spring for a step */
    double lock; /* damper along the normal of one whose coordinate is locked (N s/m); 0: is not */
    double lock_rate;      /* d(gap)/dt that it brings (m/s) */
    double lock_load;      /* constant force beside it (N), */
    bool lock_is_relieved; /* and whether that is the reaction force of a trial of this substep */
    int locks;             /* the coordinate */
    gw_lock_state lock_state;
    gw_friction_spring friction_spring;
    double external_power; /* of bodies moved from outside, at the start of the substep (W) */
    double impulse;        /* along the normal in this step (N s) */
} gw_contact;

/* One row of a contact Jacobian, as the blocks of its two systems. */
typedef struct gw_contact_jacobian_row {
    int system[2]; /* -1: none. Of two links of one system the first block has the sum. */
    double entry[2][GW_MODEL_MAX_DOF];
    double offset; /* speed along the row of bodies that are moved from outside (m/s) */
    bool carried;  /* a part of it is the base motion of a system */
} gw_contact_jacobian_row;

typedef struct gw_island {
    int system_count, contact_count, pair_count;
    int body_count; /* of its pairs */
    int systems[GW_MAX_MODELS], contacts[GW_MAX_CONTACT_CANDIDATES],
        pairs[GW_MAX_CONTACT_CANDIDATES];
    int bodies[2 * GW_MAX_CONTACT_CANDIDATES];
} gw_island;

/* Force of a contact's spring on a, and its moment about a point, at the start, in the middle and
 * at the end of a substep (contact_waveforms.c). */
#define GW_WAVEFORM_NODES 3
typedef struct gw_contact_waveform {
    double start, end; /* s into the step; the same: not set */
    gw_vec3 at;        /* world axes */
    gw_wrench node[GW_WAVEFORM_NODES];
} gw_contact_waveform;

/* Linked lists by system: elements of[i] for i = first[system], next[i], ... until -1. */
typedef struct gw_incidence {
    int count, first[GW_MAX_MODELS];
    int of[4 * GW_MAX_CONTACT_CANDIDATES], next[4 * GW_MAX_CONTACT_CANDIDATES];
} gw_incidence;

/* Cache of a body's extrapolated motion at the stage times of an integrator: all systems that it
 * touches ask for the same few. */
#define GW_PREDICTED_TIMES 4
typedef struct gw_predicted_motion {
    unsigned motion_epoch; /* gw_world.motion_epoch that it is valid for */
    int count, next;
    double t[GW_PREDICTED_TIMES];
    gw_body_motion motion[GW_PREDICTED_TIMES];
} gw_predicted_motion;

/* Context of the contact forces that a model's step asks for at every stage. */
typedef struct gw_contact_force_query {
    struct gw_world *world;
    int system;
    int count;     /* of world->penalty_batches */
    bool any_rows; /* unilateral constraints among its continuous contacts */
    bool any_waveforms;
    double t; /* time that the other bodies' motions are of; NAN: none yet */
} gw_contact_force_query;

/* The same of systems that step in lockstep. */
typedef struct gw_lockstep_query {
    struct gw_world *world;
    int count; /* of world->penalty_batches */
    bool any_waveforms;
    double start; /* of their substep (s into the step) */
} gw_lockstep_query;

/* Gaps followed over free-form surfaces that count as a step of a free body: with fewer, load
 * trials that contacts need are left out (some 5000 gaps in a tick, estimated at 5 ms). */
#define GW_ROW_WORK_PER_EFFORT 32

struct gw_world {
    unsigned char *memory; /* of all arrays; owned */
    int system_count, body_count;
    int dof_most; /* of all systems together */
    bool alone;   /* unilateral constraints are the only contacts */
    int most;     /* contacts and pairs: new ones come before old ones go */
    gw_contact_rules rules;
    double dt; /* of the step (s) */
    gw_body_state *bodies;
    gw_world_system *systems; /* during a step */

    /* pair cache: collision_pair.c */
    int contact_count;
    gw_contact *contacts; /* `most` */
    int pair_count;
    gw_collision_pair *pairs;          /* as many */
    int pair_hash[GW_PAIR_HASH_SLOTS]; /* index + 1 */
    int candidate_count;               /* set by the detector; -1: none since the last step */
    gw_contact_candidate *candidates;
    int unilateral_count;
    gw_contact_candidate *unilaterals;
    bool *followed;                 /* these are in the cache */
    bool follows_others;            /* than the cache has */
    int first_limit[GW_MAX_MODELS]; /* of those that limit a system's coordinates, -1: none */
    int *next_limit;

    /* narrow phase inside the step: time_of_impact.c */
    gw_narrow_phase narrow_phase;
    gw_near_lists *near;   /* for its queries; owned; NULL: alone */
    int redetections_left; /* in this step, by cost */
    double surface_effort_left;
    unsigned redetect_from; /* the first pair that was skipped in the last step */
    int detected_count;
    gw_contact_candidate detected[GW_WORLD_REDETECTIONS_MAX * GW_PAIR_CANDIDATES];

    /* islands and groups: islands.c */
    int parent[GW_MAX_MODELS];        /* union-find */
    int first_contact[GW_MAX_MODELS]; /* of the island with that root, -1: none */
    int first_pair[GW_MAX_MODELS];
    gw_incidence contacts_of, pairs_of; /* each system of the island */
    gw_island island;
    gw_island active;              /* the part of it that is stepped now: a group, two, or all */
    gw_island boundary;            /* contacts and pairs of the active part with other groups */
    unsigned listing;              /* grows as one of these is made */
    int group[GW_MAX_MODELS];      /* of a system: a number for each group */
    int collisions[GW_MAX_MODELS]; /* of that group in this step */
    bool frozen[GW_MAX_MODELS];    /* that group does not move until the end of the step */

    /* substeps: substep.c */
    size_t model_stride;              /* bytes of a model, rounded up */
    unsigned char *saved_models;      /* at the start of their substeps: what steps change */
    unsigned char *scratch_models[2]; /* for trials of two systems alone, */
    int scratch_of[2];                /* of which these are copies; -1: of none */
    gw_step trial[GW_MAX_MODELS];
    bool advanced[GW_MAX_MODELS]; /* the model differs from the saved one */
    double substep_start[GW_MAX_MODELS], substep_end[GW_MAX_MODELS]; /* s into the step */
    bool loaded[GW_MAX_MODELS]; /* contacts' loads drive the system in this substep, */
    double *load_rate;          /* by these accelerations, or the forces of one that takes_load:
                                   GW_MODEL_MAX_DOF of each system, */
    double *load_answer;        /* and what they are to change of its velocity */
    double load_excess[3];      /* of loads that hold, newest trial first: the largest rate that was
                                   left, in those that may be */
    double *locks;              /* of each system's coordinates (N m s/rad, N s/m) */
    bool locked[GW_MAX_MODELS]; /* or dampers in their place lock coordinates of the system */
    int toi_queue_count;
    int toi_queue[GW_MAX_CONTACT_CANDIDATES]; /* contacts with an estimated time of impact */

    /* penalty forces: penalty_contact.c */
    int continuous_count[GW_MAX_MODELS]; /* continuous contacts of a system */
    gw_penalty_batch *penalty_batches;   /* of the system that is stepped */
    gw_predicted_motion *predicted;      /* of each body */
    gw_contact_waveform *waveforms;      /* of each contact, in this substep */
    bool pressed[GW_MAX_MODELS];         /* forces of springs acted at a stage of its last trial */
    gw_lockstep *lockstep;               /* systems of an island that step together */
    int lockstep_of[GW_MAX_MODELS];      /* a system's index there in its last trial, -1: none */
    unsigned motion_epoch;               /* grows as substeps begin and end */

    /* collisions: collision_response.c */
    gw_impulse_work impulse_workspace;
    double *jacobian, *v, *dv, *generalised;
    double *sticking; /* rows of what sticks, twice so many numbers, and their parts */
    size_t sticking_numbers;
    gw_contact_jacobian_row rows[GW_MAX_SIMULTANEOUS_CONTACTS];
    int recorded_count; /* of this step */
    gw_world_collision recorded[GW_WORLD_RECORDED_COLLISIONS];

    /* energy audit: energy_audit.c */
    bool in_contact[GW_MAX_MODELS];     /* in this step */
    bool any_contact;                   /* in this step of the island */
    double external_work;               /* of bodies moved from outside, on the island (J) */
    double unremoved_energy;            /* generated, too little to be removed yet (J) */
    double energy_drift[GW_MAX_MODELS]; /* of a system without contact (J) */
    double last_spring_energy;          /* at the end of the last step (J) */

    int effort, budget, redetection_cost; /* of this step, in steps of a free body */
    int friction_effort;                  /* gw_forces.effort of this step */
    int row_work; /* gaps followed over free-form surfaces that are not in `effort` yet */
    int deferred, redetections_skipped; /* see gw_world_step_result */
    unsigned step_count;                /* also chooses the contact to be softened */
};

static inline gw_model *gw_world_model(const gw_world *w, int system)
{
    return w->systems[system].model;
}

/* State of a system's model at the start of its substep. */
static inline unsigned char *gw_world_saved(const gw_world *w, int system)
{
    return w->saved_models + (size_t)system * w->model_stride;
}

/* Copy number k of a system's model as its substep began. */
gw_model *gw_world_scratch_model(gw_world *w, int k, int system);

/* Both bodies belong to systems that are stepped. */
static inline bool gw_contact_both_dynamic(const gw_contact *c)
{
    return c->system_a >= 0 && c->system_b >= 0;
}

static inline int gw_contact_any_system(const gw_contact *c)
{
    return c->system_a >= 0 ? c->system_a : c->system_b;
}

/* ---- contacts that are constraints of their system: constrained_contacts.c --------------------
 */

/* True for a unilateral contact that its system may hold. */
bool gw_contact_may_be_constrained(const gw_world *w, const gw_contact *c);

/* True for a supporting point of surfaces that rest on a constrained contact point beside it: it
 * bears nothing. */
bool gw_contact_lies_beside_constrained(const gw_world *w, const gw_contact *c);

/* At the start of a substep: makes the resting ones of the active part constrained. Before a
 * collision, and where a contact is no longer followed: opens them. */
void gw_constrain_contacts(gw_world *w);
void gw_open_contacts(gw_world *w);
void gw_contact_open(gw_contact *c);

/* At the end of a substep: the contact may have lifted off, or continue another one that has passed
 * an edge. */
void gw_contact_end_constrained(gw_contact *c);

/* Force and couple on a at the end of the step (N, N m, world axes). */
gw_vec3 gw_contact_constraint_force(const gw_world *w, const gw_contact *c, gw_vec3 *couple);

/* True where its load is a force that is solved for, for as long as the contact is continuous. */
bool gw_contact_has_solved_force(const gw_contact *c);

/* True for a rolling constraint: its material points do not slip, at impacts either. */
static inline bool gw_contact_rolls(const gw_contact *c)
{
    return c->candidate.row && c->candidate.row->traction != GW_TRACTION_NONE;
}

/* The system of a contact or pair (a, b) that is not `system`; -1: none. */
static inline int gw_other_system(int system, int a, int b)
{
    return a == system ? b : a;
}

/* True if it is deeper than a deferred collision may be, besides the spring's rest penetration. */
static inline bool gw_contact_too_deep(const gw_contact *c)
{
    return c->now.gap + (c->continuous ? c->rest_penetration : 0) < -GW_WORLD_DEFERRED_DEPTH;
}

/* True if without its collision it ends too deep or has passed through. */
static inline bool gw_contact_overshot(const gw_contact *c)
{
    return gw_contact_too_deep(c) || c->now.gap > -GW_CONTACT_CLOSED_GAP;
}

/* ---- pair cache: collision_pair.c ------------------------------------------------------------ */

void gw_pairs_clear(gw_world *w);

/* Index of the pair of a candidate's geoms, which is added if it is not in the cache. */
int gw_pair_of_candidate(gw_world *w, const gw_contact_candidate *candidate);

/* Adds the followed unilateral constraints that are not in the cache. */
void gw_pairs_add_unilaterals(gw_world *w);

/* Adds these, and removes the ones that are not followed. */
void gw_pairs_apply_followed(gw_world *w);

/* The pair's contact of the same features (key); NULL: none. */
gw_contact *gw_pair_find_contact(gw_world *w, const gw_collision_pair *p,
                                 const gw_contact_candidate *candidate);

/* Adds a contact in state none; NULL where there is no room. */
gw_contact *gw_pair_add_contact(gw_world *w, int pair, const gw_contact_candidate *candidate);

/* Replaces the contacts of pairs by those that queries inside the last step detected, or of all
 * pairs by the detector's candidates; false if there are none. */
bool gw_pairs_apply_redetected(gw_world *w);
bool gw_pairs_apply_candidates(gw_world *w);

/* ---- kinematics: kinematics.c ---------------------------------------------------------------- */

/* Pose and twist `t` seconds after the start of the substep, by its start twist and by the
 * acceleration of the substep before. */
gw_pose gw_body_state_extrapolate(const gw_body_state *state, double t, gw_twist *twist);

/* State at `t` seconds into the step, by the cubic through both ends of the body's substep. */
gw_body_state gw_body_state_interpolate(const gw_world *w, int body, double t);

/* Gap of a candidate with its bodies in states a and b; *rate: d(gap)/dt (m/s). */
gw_gap gw_gap_of_states(const gw_contact_candidate *candidate, const gw_body_state *a,
                        const gw_body_state *b, double *rate);

/* True for a joint limit or a bound, against which and away from which motors may drive a
 * coordinate within a step; false for surfaces. */
static inline bool gw_contact_bounds_coordinate(const gw_contact *c)
{
    return c->candidate.row && c->candidate.row->kind != GW_UNILATERAL_SURFACES;
}

/* Updates gap and rate from the present states of the bodies. */
void gw_contact_update_gap(const gw_world *w, gw_contact *c);

/* Updates the rate alone: the twists changed, and the poses are bitwise those of the gap. */
void gw_contact_update_rate(const gw_world *w, gw_contact *c);

/* Updates gap and rate after counting whole turns of the joint's coordinate. */
void gw_contact_update_turned_gap(const gw_world *w, gw_contact *c);

/* Gap (m) of the whole turns to add to `gap`, which poses give only modulo 2 pi, for the row of a
 * turn: counted by the joint's coordinate in this state of the model; 0 for other contacts. */
double gw_contact_whole_turns(const gw_contact *c, const gw_model *model, double gap);

/* Gap and rate at the start of both bodies' substeps, or at `from` where that is later (s into the
 * step). */
void gw_contact_set_start(const gw_world *w, gw_contact *c, double from);

/* Bodies of the active systems, and of those they may touch, from their models (bodies moved from
 * outside: at t seconds into the step), then gaps and rates. */
void gw_world_update_gaps(gw_world *w, double t);

/* ---- islands and groups: islands.c ----------------------------------------------------------- */

/* At the start of a step: finds the islands, and counts the continuous contacts of each system. */
void gw_islands_find(gw_world *w);

/* Sets w->island to the island whose root is system m; false if m is no root. */
bool gw_island_select(gw_world *w, int m);

/* Adds a contact to the island and its active part; NULL if the cache is full. */
gw_contact *gw_island_add_contact(gw_world *w, const gw_collision_pair *p,
                                  const gw_contact_candidate *candidate);

/* The pair of a candidate between a body of system m of the active part and a static one. A new
 * pair is added to the cache, the island and its active part. */
gw_collision_pair *gw_island_add_pair(gw_world *w, int m, const gw_contact_candidate *candidate);

/* At the start of the island's step: joins systems that touch into groups. */
void gw_groups_find(gw_world *w);

/* Group `other` becomes part of `into`. */
void gw_groups_merge(gw_world *w, int into, int other);

/* Makes groups a and b (which may be the same), or all groups, the active part. */
void gw_groups_activate(gw_world *w, int a, int b);
void gw_groups_activate_all(gw_world *w);

/* ---- substeps: substep.c --------------------------------------------------------------------- */

/* True if the acceleration closes the gap again before a rebound counts as open. */
bool gw_contact_rebounds_low(const gw_contact *c);

/* Makes a contact continuous if it is closed and approaches more slowly than rest_speed. */
void gw_contact_rest_if_slow(gw_world *w, gw_contact *c);

/* Steps the island by the whole step, each collision at its time of impact. */
void gw_island_step(gw_world *w, gw_world_step_result *out);

/* Integrates the active systems from the starts of their substeps to t seconds into the step. */
void gw_substep_trial(gw_world *w, double t);

/* The latest start of the active systems' substeps: the trial cannot be shortened beyond it. */
double gw_substep_latest_start(const gw_world *w);

/* Integrates copies of one contact's systems to t (s into the step); *gap: gap there above
 * impact_gap (m), *rate: its rate (m/s). */
void gw_substep_trial_of_pair(gw_world *w, const gw_contact *c, double t, double *gap,
                              double *rate);

/* Steps the island's only system, which has no pairs, by the whole step. */
void gw_substep_without_contacts(gw_world *w);

/* ---- time of impact: time_of_impact.c -------------------------------------------------------- */

/* At the start of a step, with the bodies' states updated: queries pairs that moved since their
 * last query and may touch in the step. */
void gw_toi_redetect_before_step(gw_world *w);

/* At the end of a trial: queries the active pairs again, follows newly touching features and marks
 * contacts as spurious. True if a gap closed that was not followed. */
bool gw_toi_redetect_after_trial(gw_world *w);

/* Follows limits of coordinates that a trial passed and that were too far away to be followed:
 * impacts and loads move a coordinate farther within a step than its acceleration at the start
 * predicts. True if there was one. */
bool gw_toi_follow_passed_limits(gw_world *w);

/* With both bodies at t: estimated time of impact up to t (s into the step); INFINITY: none. */
double gw_toi_estimate(gw_world *w, gw_contact *c, double t);

/* After a trial of the active part to t in which contact c closes: a new trial to the earliest time
 * of impact of its contacts, which is returned (s into the step); INFINITY if they close too
 * slowly. */
double gw_toi_rewind(gw_world *w, gw_contact *c, double t);

/* ---- penalty forces: penalty_contact.c ------------------------------------------------------- */

/* Penalty and friction force on a now, and the couple of a rolling contact or of an angle (N, N m,
 * world axes). */
gw_vec3 gw_contact_force(const gw_world *w, const gw_contact *c, gw_vec3 *couple);

/* Collects the system's continuous contacts for the stages of its integrator. */
void gw_contact_gather_forces(gw_world *w, int system, gw_contact_force_query *query);

/* Collects the continuous contacts of the systems that step in lockstep; the wrenches on them at a
 * stage, t seconds after the start of their substep: the callback of gw_lockstep_step(). */
void gw_contact_gather_lockstep_forces(gw_world *w, gw_lockstep_query *query);
void gw_contact_lockstep_forces(void *query, double t);

/* Adds the contact wrenches at a stage to on[] of the system's bodies: the callback of gw_forces.
 */
void gw_contact_stage_forces(const void *query, double t, const gw_pose *pose,
                             const gw_twist *twist, gw_wrench *on);

/* Wrench of a contact's spring and friction on a, at its origin, for these motions of both bodies
 * in the substep. */
gw_wrench gw_contact_spring_wrench(const gw_world *w, const gw_contact *c, const gw_body_motion *a,
                                   const gw_body_motion *b);

/* Makes a contact continuous, with stiffness and damping within the step's present stability limit
 * and the present penetration as rest penetration; or immovable where no system moves. One that may
 * be constrained stays open: that is for the start of the next substep. */
void gw_contact_make_continuous(gw_world *w, gw_contact *c);

/* Stability limits of stiffness and damping for the step at the contact's present effective masses
 * (N/m, N s/m); zero where no system moves along the normal. */
void gw_contact_stable_stiffness(const gw_world *w, const gw_contact *c, double *stiffness,
                                 double *damping, gw_friction_spring *spring);

void gw_contact_begin_substep(gw_world *w, gw_contact *c);
void gw_contact_end_substep(gw_world *w, gw_contact *c, double h);

/* Potential energy of its normal and tangential spring (J). */
double gw_contact_spring_energy(const gw_contact *c);

/* Compression from which on its spring bottoms out or is overcompressed (m). */
double gw_contact_max_compression(const gw_contact *c);

/* Lowers stiffness and damping to the step's present stability limit. */
void gw_contact_soften(gw_world *w, gw_contact *c);

/* ---- springs between systems not in lockstep: contact_waveforms.c ------------------------------
 */

/* Before a trial of the active part to t: true if its contacts have waveforms of a longer one of
 * this substep, which serve for this one too; else they have none any more. */
bool gw_waveforms_keep(gw_world *w, double t);

/* After a trial of the active part to t: sets the waveforms of its contacts. True if there are any,
 * so that the trial is to be repeated with them. */
bool gw_waveforms_set(gw_world *w, double t);

static inline bool gw_waveform_is_set(const gw_contact_waveform *f)
{
    return f->end > f->start;
}

/* Adds sign times the wrench, t s after the start of the substep, to *on at `origin`. */
void gw_waveform_add(const gw_contact_waveform *f, double t, double sign, gw_vec3 origin,
                     gw_wrench *on);

/* ---- collisions: collision_response.c -------------------------------------------------------- */

/* Row of the contact Jacobian along `direction` (world, unit) for a only, b only, or both. */
void gw_contact_jacobian(const gw_world *w, const gw_contact *c, gw_vec3 direction, bool a, bool b,
                         gw_contact_jacobian_row *row);

/* Largest absolute entry: 0 where no system moves along it. */
double gw_jacobian_row_max(const gw_world *w, const gw_contact_jacobian_row *row);

/* J D^-1 J^T of one row: a diagonal entry of the Delassus operator (1/kg); 0 where the closures of
 * its systems hold it, up to rounding. */
double gw_jacobian_row_inverse_mass(const gw_world *w, const gw_contact_jacobian_row *row);

typedef enum gw_collision_kind {
    GW_COLLISION_RESTITUTION,
    GW_COLLISION_PLASTIC,       /* all restitution is zero */
    GW_COLLISION_LOAD,          /* no collision: loads of loaded contacts */
    GW_COLLISION_OVERCOMPRESSED /* bodies that compress springs too far are returned elastically */
} gw_collision_kind;

/* The contact collides now. */
bool gw_contact_collides(const gw_world *w, const gw_contact *c);

/* A contact of the active part is overcompressed and approaches. */
bool gw_island_overcompressed(const gw_world *w);

/* Resolves the collision of the active part. */
void gw_resolve_collision(gw_world *w, gw_collision_kind kind);

/* ---- loads: loaded_contacts.c, rigid_contact_forces.c ------------------------------------------
 */

#define GW_FACE_NORMAL 0.99 /* cosine between normals of one face */

/* Makes contacts loaded whose spring, limited by the stability of a light body, a heavy body
 * compresses by more than GW_CONTACT_LOADED_DEPTH. True if the active part has loaded contacts. */
bool gw_island_make_rigid(gw_world *w);

/* True for a loaded unilateral constraint: its load acts all through the substep. */
static inline bool gw_contact_is_rigid(const gw_contact *c)
{
    return c->loaded && gw_contact_has_solved_force(c);
}

/* Force of a contact that holds, `since` s after the start of the substep (N): linear in time,
 * between zero and twice its mean. */
static inline double gw_contact_load_at(const gw_contact *c, double since)
{
    return fmin(fmax(0, c->load + c->load_slope * (since - c->load_middle)), 2 * c->load);
}

/* Extrapolates its load, mean and slope, from the loads before to a substep of h s; and keeps that
 * of a substep of h s that ended: times count from its end. */
void gw_contact_predict_load(const gw_world *w, gw_contact *c, double h);
void gw_contact_keep_load(const gw_world *w, gw_contact *c, double h);

/* Loads of the active part jump now: at a collision, and where a contact begins to hold. */
void gw_island_forget_loads(gw_world *w);

/* After a trial of h s: when the first load of the active part becomes zero (s after the start of
 * the substep; INFINITY: not before its end); whether a normal turned too far for one substep. */
#define GW_LEAST_PART 0.01 /* of the step: shorter substeps do not end at a lift-off */
double gw_first_lift_off(const gw_world *w, double h);
bool gw_any_load_turns_far(const gw_world *w);

/* Cost of an evaluation of its gap, as counted in gw_world.row_work. */
static inline int gw_contact_row_work(const gw_contact *c)
{
    const gw_unilateral_row *row = c->candidate.row;
    return row && ((row->kind == GW_UNILATERAL_SURFACES && row->surfaces.point.known) ||
                   ((row->kind == GW_UNILATERAL_DISTANCE || row->kind == GW_UNILATERAL_ANGLE) &&
                    (gw_is_free_form(row->a.kind) || gw_is_free_form(row->b.kind))));
}

/* True if joint forces that may saturate or jump (motors, friction) act beside its load. */
static inline bool gw_contact_is_driven(const gw_world *w, const gw_contact *c)
{
    return (c->system_a >= 0 && gw_model_is_driven(gw_world_model(w, c->system_a))) ||
           (c->system_b >= 0 && gw_model_is_driven(gw_world_model(w, c->system_b)));
}

/* True if a contact's gap may change in a trial although its rate ends at zero: beside joint
 * forces. */
static inline bool gw_contact_moves_within(const gw_world *w, const gw_contact *c)
{
    return gw_contact_bounds_coordinate(c) && gw_contact_is_driven(w, c);
}

/* True if the load of a contact that holds is linear in a substep: of bounds, joint limits and
 * edges without joint forces that may jump; else it is constant. */
static inline bool gw_contact_has_linear_load(const gw_world *w, const gw_contact *c)
{
    return gw_contact_is_rigid(c) && gw_contact_bounds_coordinate(c) && !gw_contact_is_driven(w, c);
}

/* Largest gap at which a contact that holds keeps its load (m): 0.05 load / stiffness, with
 * stiffness 0.4 m / dt^2 and load m a it is the a dt^2 / 8 by which its bodies move in half a step.
 */
static inline double gw_contact_slack(const gw_world *w, const gw_contact *c)
{
    double closed = gw_contact_is_driven(w, c) ? 0 : 0.05 * c->load_before / c->stiffness;
    return fmin(GW_WORLD_DEFERRED_DEPTH, fmax(GW_CONTACT_HELD_SLACK, closed));
}

/* Replaces the load of a contact that holds by a spring with the same force at the start of the
 * substep; and the reverse, from the present force of that spring. */
void gw_contact_make_spring(gw_contact *c);
void gw_contact_make_rigid(gw_contact *c);

/* True if the trial violated a contact that holds by more than GW_CONTACT_HELD_DEPTH. */
static inline bool gw_contact_is_violated(const gw_contact *c)
{
    return c->continuous && gw_contact_is_rigid(c) &&
           c->now.gap < fmin(0, c->start.gap) - GW_CONTACT_HELD_DEPTH;
}

typedef enum gw_rigid_forces_result {
    GW_RIGID_FORCES_NEW,    /* new loads: a trial with them is needed */
    GW_RIGID_FORCES_BETTER, /* the same, and after it another solution */
    GW_RIGID_FORCES_NONE,   /* no constant load holds */
    GW_RIGID_FORCES_RIGHT   /* the loads of the last trial were right */
} gw_rigid_forces_result;

/* gw_rigid_forces_begin(): before the first trial of a substep of h s. gw_rigid_forces_end(): after
 * the last one, if no loads were found that hold. */
void gw_rigid_forces_begin(gw_world *w, double h);
bool gw_rigid_forces_are_bracketed(const gw_world *w); /* one of them, by the trials so far */
void gw_rigid_forces_end(gw_world *w);

/* After a trial of the active part for h seconds with the loads found so far (none before the
 * first): solves for the loads. */
gw_rigid_forces_result gw_rigid_forces_solve(gw_world *w, double h);

/* True if a trial shows that no constant load holds a gap: its mean
 * and end rate are opposite, and as both grow with the load, one that brings either to zero
 * increases the other. */
bool gw_no_load_holds(const gw_world *w, double h);

/* True if the gap rates at the end of a trial with the loads are those that they were solved for.
 */
bool gw_rigid_forces_reach_rates(const gw_world *w, double h);

/* ---- joint limits that no constant loads hold: locked_coordinates.c ----------------------------
 */

/* gw_lock_coordinates(): locks the coordinates at all pressed limits of the active part for a
 * substep of h; false if there are none. gw_release_locks(): after a trial, records the reaction
 * forces, releases locks that pull, adds a constant force beside those that creep and locks again
 * where a limit was passed; true if anything changed. gw_unlock_coordinates(): before the next
 * trial, unlocks all; true if locks held in the last one. gw_locks_may_hold(): true if all loaded
 * contacts of the active part are at limits of coordinates that can be locked. */
bool gw_lock_coordinates(gw_world *w, double h);
bool gw_release_locks(gw_world *w, double h);
bool gw_unlock_coordinates(gw_world *w);
bool gw_locks_may_hold(const gw_world *w);

/* ---- contacts that rest as a world begins: initial_forces.c ------------------------------------
 */

/* In the first step, after the substeps have begun: gives the springs of the active part's resting
 * contacts the forces of rigid contacts. */
void gw_contacts_begin_with_forces(gw_world *w);

/* ---- energy audit: energy_audit.c ------------------------------------------------------------ */

/* Energies of the island before its step (J). */
typedef struct gw_energy_audit {
    double system[GW_MAX_MODELS]; /* kinetic and potential */
    double spring;
} gw_energy_audit;

void gw_energy_audit_open(const gw_world *w, gw_energy_audit *open);

/* Adds the energy that contacts dissipated to *out, and removes the energy that they generated. */
void gw_energy_audit_close(gw_world *w, const gw_energy_audit *open, gw_world_step_result *out);

/* Steps the island's only system, which has no pairs, and audits it. */
void gw_energy_audit_without_contacts(gw_world *w, gw_world_step_result *out);

#endif
