/*
 * The world in a tick: several models that step together, what is near them, collisions resolved at
 * once, penalties and friction between collisions (impulsive-forces II to IV).
 *
 * States of a contact: none, colliding (it was met with approaching speed in this step: an
 * impulse), continuous (penalty and friction). Collisions are resolved at the moment when they
 * happen, inside the step: a step is cut there at most GW_WORLD_MAX_TOI_EVENTS times.
 *
 * All memory is taken at creation. One thread at a time; what is marked so is RT safe.
 */
#ifndef GW_CONTACT_WORLD_H
#define GW_CONTACT_WORLD_H

#include "rt/base/error.h"
#include "rt/collision/candidate.h"
#include "rt/dynamics/model.h"

/* Collisions in one step that are met at their own time. As many again are plastic; then what is in
 * it stands still for the rest of the step. */
#define GW_WORLD_MAX_TOI_EVENTS 8

/* Work that a second of steps bears, in steps of a free body; and a step at least. What would
 * collide beyond it meets up to GW_WORLD_DEFERRED_DEPTH deep and collides as the next step begins;
 * what would go deeper stands still for the step. */
#define GW_WORLD_EFFORT_PER_SECOND 160e3
#define GW_WORLD_EFFORT_MIN        160
#define GW_WORLD_DEFERRED_DEPTH    1e-3 /* m */

/* Beside it, looks at pieces within the step, by what they cost: so many in a second of steps, and
 * in a step at least. */
#define GW_WORLD_REDETECTIONS_PER_SECOND 40e3
#define GW_WORLD_REDETECTIONS_MIN        12

/* How simultaneous impulses are found (impulsive-forces eq. 15 as corrected). */
typedef enum gw_impulse_rule {
    GW_IMPULSE_PSEUDO_INVERSE, /* p = -(1+e) (J D^-1 J^T)^+ J v: may pull on some contacts */
    GW_IMPULSE_NON_ADHESIVE    /* min 1/2 p^T A p + (1+e) p^T J v over p >= 0 */
} gw_impulse_rule;

/* Who takes part in a collision: everything that touches and does not separate, or only pairs that
 * approach one another. */
typedef enum gw_colliding_rule {
    GW_COLLIDING_TOUCHING,
    GW_COLLIDING_APPROACHING
} gw_colliding_rule;

/* Friction below the threshold speed: F = mu F_n v/v_th (the paper's), or a spring that sticks. */
typedef enum gw_friction_rule { GW_FRICTION_CREEP, GW_FRICTION_STICK } gw_friction_rule;

typedef struct gw_contact_rules {
    gw_impulse_rule impulse;
    gw_colliding_rule colliding;
    gw_friction_rule friction;
    bool impact_friction; /* collisions have friction: impulses within the cone of mu p_n */
    bool self_each_link;  /* restitution of a self-contact asked of each link (eq. 12, 13) */
    double slip_speed;    /* v_th (m/s), more where a step does not bear it; 0: 1e-3 */
    double rest_speed;    /* approaching slower than this, nothing bounces (m/s); 0: 1e-3 */
} gw_contact_rules;

/* A body of the world: one of a model's, or one that stands (model -1) or is moved from outside. */
typedef struct gw_world_body {
    int model, index;
    gw_pose pose; /* of one that belongs to no model; else where it was last (RT: read) */
    gw_twist twist;
} gw_world_body;

typedef enum gw_contact_state {
    GW_CONTACT_NONE,
    GW_CONTACT_COLLIDING,
    GW_CONTACT_CONTINUOUS,
    GW_CONTACT_IMMOVABLE
} gw_contact_state;

/* A contact as it is shown. */
typedef struct gw_contact_point {
    int a, b; /* bodies */
    gw_contact_state state;
    gw_vec3 point, normal; /* world; normal from b towards a */
    gw_vec3 force;         /* on a: penalty and friction now (N) */
    double impulse;        /* along the normal in the last step (N s) */
    double gap;            /* m */
} gw_contact_point;

/* One model in a step. */
typedef struct gw_world_system {
    gw_model *model;
    gw_forces hand; /* what acts at its held frame; at NULL: nothing; touch is the world's */
    bool still;     /* does not step: stands where it is, as heavy as the world */
    gw_step step;   /* out */
    /* out: what contacts gave to it in this step */
    double impulse[GW_MODEL_MAX_DOF]; /* sum of J_c^T p, generalised (N s, N m s) */
    bool collided;                    /* there was one */
} gw_world_system;

/* What a step did (J): energies of all movers together. */
typedef struct gw_world_step_result {
    double dissipated;    /* by contacts: damping, friction, restitution below one */
    double generated;     /* numerically, before it was taken out again */
    double external_work; /* work of bodies that are moved from outside */
    double spring;        /* held by the contacts' springs now */
    int collisions;       /* collisions met */
    int effort;           /* what it cost: steps of models, or as much */
    int deferred;         /* collisions put off to the next step: there was no room for more work */
    int redetections_skipped; /* looks left out for the same reason: what was known goes on */
    int touching;             /* contacts with a gap below zero now */
    bool immovable;           /* a contact stands where its model cannot move along the normal */
} gw_world_step_result;

typedef struct gw_world_def {
    int system_count;   /* at most GW_MAX_MODELS */
    size_t model_bytes; /* of the largest model */
    int body_count;
    const gw_world_body *bodies; /* copied */
    gw_contact_rules rules;
} gw_world_def;

/* How two pieces are looked at again within a step: gw_detector_bounding_sphere(),
 * gw_detect_pair(). */
typedef struct gw_narrow_phase {
    const void *context;
    /* About a piece, in its body's frame; false: it is not looked at in a step. */
    bool (*ball)(const void *context, int piece, gw_vec3 *centre, double *radius);
    /* Pairs of points of two pieces; *gap: how far apart these are, at least. -1: never told. */
    int (*again)(const void *context, const gw_pair_query *again,
                 gw_contact_candidate near[GW_PAIR_CANDIDATES], double *gap);
    /* What a piece adds to the cost of a look, in steps of a free body. NULL: nothing. */
    int (*cost)(const void *context, int piece);
    /* The only pair then found: how far the pieces may move against one another (m) before they
     * touch elsewhere than it says; 0: not known. NULL: never known. */
    double (*holds)(const void *context, const gw_pair_query *again,
                    const gw_contact_candidate *near);
} gw_narrow_phase;

typedef struct gw_world gw_world;

gw_world *gw_world_create(const gw_world_def *def, gw_error *error);
void gw_world_destroy(gw_world *world); /* NULL is fine */

/* Pieces that are near are looked at again as they move: *looker is copied, what it points to
 * outlives the world. Without one, pairs of points are followed as they were told. */
void gw_world_set_narrow_phase(gw_world *world, const gw_narrow_phase *looker);

/* What is near from now on: copied. States are kept by key. RT safe. */
void gw_world_set_candidates(gw_world *world, const gw_contact_candidate *near, int count);

/* A body that belongs to no model is there now, moving so. RT safe. */
void gw_world_set_body(gw_world *world, int body, const gw_pose *pose, const gw_twist *twist);

/* Contacts that hold in `old` go on holding here: `body` names an old body's index in this world,
 * -1 where it is none. Before gw_world_set_candidates(). Returns what their springs hold (J). RT
 * safe. */
double gw_world_carry_over(gw_world *world, const gw_world *old,
                           int (*body)(const void *context, int old), const void *context);

/* All states forgotten. RT safe. */
void gw_world_reset(gw_world *world);

/* Steps all models by dt together. `movers` has mover_count entries. RT safe. */
void gw_world_step_all(gw_world *world, gw_world_system *movers, double dt,
                       gw_world_step_result *out);

/* J^T F of all contacts on mover m now, generalised: what the controllers feed forward (tau of
 * mechanisms eq. 12). RT safe. */
void gw_world_contact_force(const gw_world *world, const gw_world_system *movers, int m,
                            double *force);

/* The contacts that touch now or hit in the last step; returns how many, at most `capacity`. RT
 * safe. */
int gw_world_contacts(const gw_world *world, gw_contact_point *points, int capacity);

#endif
