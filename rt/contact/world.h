/*
 * Contact dynamics of several mechanical systems in one simulation step: penalty forces and
 * friction while bodies touch, simultaneous impulses when they collide (impulsive-forces II to IV).
 *
 * A contact is in one of these states: none, colliding (its gap closed in this step with approach
 * speed: an impulse), continuous (penalty and friction). Collisions are resolved at their time of
 * impact: a step is split there into substeps.
 *
 * All memory is allocated at creation. One thread at a time; functions marked so are RT safe.
 */
#ifndef GW_CONTACT_WORLD_H
#define GW_CONTACT_WORLD_H

#include "rt/base/error.h"
#include "rt/collision/candidate.h"
#include "rt/dynamics/model.h"

/* Collisions of a contact group in one step that are resolved with restitution at their time of
 * impact. As many again are plastic; after these the group is frozen for the rest of the step. */
#define GW_WORLD_MAX_TOI_EVENTS 8

/* Budget of computing effort for a second of simulated time, and the least budget of a step, in
 * steps of a free body. Collisions beyond it are deferred to the next step where the overlap at the
 * end of this one is less than GW_WORLD_DEFERRED_DEPTH; systems that would overlap more are frozen
 * for the rest of the step, at the first impact at the earliest. */
#define GW_WORLD_EFFORT_PER_SECOND 160e3
#define GW_WORLD_EFFORT_MIN        160
#define GW_WORLD_DEFERRED_DEPTH    1e-3 /* m */

/* Budget of narrow-phase queries inside steps, besides the above: for a second of simulated time,
 * and the least of one step, in steps of a free body. */
#define GW_WORLD_REDETECTIONS_PER_SECOND 40e3
#define GW_WORLD_REDETECTIONS_MIN        12

/* Budget of those queries of triangles and surfaces, by what they took, besides the above. A pair
 * that is left out, and may overlap by more than GW_WORLD_DEFERRED_DEPTH or a twentieth of its size
 * for it, is frozen for the step; in the next it comes first. */
#define GW_WORLD_SURFACE_EFFORT_PER_SECOND 240e3
#define GW_WORLD_SURFACE_EFFORT_MIN        60

#define GW_WORLD_RECORDED_COLLISIONS                                                               \
    32 /* collision states of a step that are recorded, the first */

/* How simultaneous impulses are found (impulsive-forces eq. 15 as corrected). */
typedef enum gw_impulse_rule {
    GW_IMPULSE_PSEUDO_INVERSE, /* p = -(1+e) (J D^-1 J^T)^+ J v: may pull at some contacts */
    GW_IMPULSE_NON_ADHESIVE    /* min 1/2 p^T A p + (1+e) p^T J v over p >= 0 */
} gw_impulse_rule;

/* Contacts that take part in a collision: all closed ones that do not separate, or only those of
 * bodies that approach one another. */
typedef enum gw_colliding_rule {
    GW_COLLIDING_TOUCHING,
    GW_COLLIDING_APPROACHING
} gw_colliding_rule;

/* Friction at small sliding speed: a tangential spring that sticks, or regularised Coulomb friction
 * F = mu F_n v/v_th below the threshold speed v_th (the paper's rule), which creeps. */
typedef enum gw_friction_rule { GW_FRICTION_STICK, GW_FRICTION_CREEP } gw_friction_rule;

typedef struct gw_contact_rules {
    gw_impulse_rule impulse;
    gw_colliding_rule colliding;
    gw_friction_rule friction;
    bool impact_friction; /* collisions have friction: impulses within the cone of mu p_n */
    bool self_each_link;  /* restitution of a self-contact holds for each link (eq. 12, 13) */
    double slip_speed;    /* v_th (m/s), more where a step is not stable with it; 0: 1e-3 */
    double rest_speed;    /* bodies that approach more slowly do not rebound (m/s); 0: 1e-3 */
} gw_contact_rules;

/* A body of the world: of a model, or static or kinematic, i.e. moved from outside (model -1). */
typedef struct gw_world_body {
    int model, index; /* index of the system, and of the body among its model's bodies */
    gw_pose pose;     /* initial world_from_body of one that belongs to no model */
    gw_twist twist;   /* its twist (of the body's origin, world axes) */
} gw_world_body;

typedef enum gw_contact_status {
    GW_CONTACT_NONE,
    GW_CONTACT_COLLIDING,
    GW_CONTACT_CONTINUOUS,
    GW_CONTACT_IMMOVABLE /* closed, and no system can move along the normal */
} gw_contact_status;

/* A contact as reported by gw_world_contacts(). */
typedef struct gw_contact_data {
    int a, b; /* bodies */
    gw_contact_status state;
    gw_vec3 point, normal;               /* world; the normal points from b towards a */
    gw_vec3 force;                       /* on a: penalty and friction now (N) */
    double impulse;                      /* along the normal in the last step (N s) */
    double gap;                          /* m */
    const struct gw_unilateral_row *row; /* of a unilateral constraint, else NULL */
} gw_contact_data;

/* A collision state resolved in the last step: contacts that collide at once (impulsive-forces IV).
 * A self-contact counts once on each link under gw_contact_rules.self_each_link, as in the paper.
 */
typedef struct gw_world_collision {
    int contacts;                         /* resolved together */
    double kinetic_before, kinetic_after; /* energy of the systems that take part (J) */
    double impulse;                       /* sum of the magnitudes along the normals (N s) */
} gw_world_collision;

/* Present state of a unilateral constraint, as reported by gw_world_unilaterals(). */
typedef struct gw_unilateral_state {
    const struct gw_unilateral_row *row; /* the one of gw_world_def.unilaterals */
    bool touches;                        /* closed, or collided in the last step */
    double gap;                          /* m */
    gw_vec3 force, couple;               /* on a now (N, N m); the opposite acts on b */
    gw_vec3 at_a, at_b;                  /* where the force acts, world */
    /* of a constraint with a rigid contact force: the same at the start of the last step, for the
     * force up to the step's first collision */
    gw_vec3 start_force, start_couple, start_at_a;
} gw_unilateral_state;

/* One model in a step. */
typedef struct gw_world_system {
    gw_model *model;
    gw_forces hand; /* force at its held frame; `at` may be NULL; contact forces are the world's */
    bool still;     /* is not stepped: as heavy as the ground */
    gw_step step;   /* out */
    /* out: effect of collisions on the system in this step */
    double impulse[GW_MODEL_MAX_DOF]; /* sum of J_c^T p, generalised (N s, N m s) */
    bool collided;                    /* there was one */
} gw_world_system;

/* Result of a step. Energies (J) are of all systems together. */
typedef struct gw_world_step_result {
    double dissipated;        /* by contacts: damping, friction, restitution below one */
    double generated;         /* by numerical error, before it was removed again */
    double external_work;     /* work of bodies that are moved from outside */
    double spring;            /* potential energy of the contacts' springs now */
    int collisions;           /* resolved in this step */
    int effort;               /* computing effort, in steps of a free body */
    int deferred;             /* collisions deferred to the next step for lack of effort */
    int redetections_skipped; /* narrow-phase queries left out for the same reason */
    int touching;             /* contacts with a gap below zero now */
    bool immovable;           /* a contact is closed where no system can move along the normal */
} gw_world_step_result;

typedef struct gw_world_def {
    int system_count;   /* at most GW_MAX_MODELS */
    size_t model_bytes; /* of the largest model */
    int dof;            /* of all systems together, at most; 0: as many as a scene may have */
    int body_count;
    const gw_world_body *bodies; /* copied */
    /* Unilateral constraints: candidates with a `row` (which outlives the world) and keys of their
     * own, followed unless gw_world_follow() says that they are far. Copied. */
    int unilateral_count;
    const gw_contact_candidate *unilaterals;
    bool alone; /* no detector finds others: memory for these is enough */
    gw_contact_rules rules;
} gw_world_def;

/* The narrow phase inside a step: functions of the collision detector (rt/collision/detector.h). */
typedef struct gw_narrow_phase {
    const void *context;
    /* Bounding sphere of a geom, in its body's frame; false: not queried inside steps. */
    bool (*bounding_sphere)(const void *context, int geom, gw_vec3 *centre, double *radius);
    /* Contact candidates of two geoms; *gap: a lower bound of their distance (m). Returns their
     * number; -1: this pair is never queried inside steps. */
    int (*query)(const void *context, const gw_pair_query *query,
                 gw_contact_candidate candidates[GW_PAIR_CANDIDATES], double *gap);
    /* Cost of a query that a geom adds, in steps of a free body. NULL: none. */
    int (*query_cost)(const void *context, int geom);
    /* Lower bound of the relative motion of the geoms (m) before they touch elsewhere than at the
     * only candidate of the query; 0: unknown. NULL: never known. */
    double (*breaking_distance)(const void *context, const gw_pair_query *query,
                                const gw_contact_candidate *candidate);
} gw_narrow_phase;

typedef struct gw_world gw_world;

/* NULL with an error if memory is exhausted. */
gw_world *gw_world_create(const gw_world_def *def, gw_error *error);
void gw_world_destroy(gw_world *world); /* NULL is fine */

/* Pairs of geoms are queried again as they move inside a step. *narrow_phase is copied; its
 * context outlives the world. Without one, candidates are followed as set. */
void gw_world_set_narrow_phase(gw_world *world, const gw_narrow_phase *narrow_phase);

/* Sets the contact candidates of the steps to come (copied). A contact keeps its state where the
 * key of its candidate is the same. RT safe. */
void gw_world_set_candidates(gw_world *world, const gw_contact_candidate *candidates, int count);

/* Sets whether unilateral constraint `index` is followed in the steps to come; a constraint that
 * cannot become active in them need not be. Followed constraints and detected candidates together:
 * at most GW_MAX_CONTACT_CANDIDATES. RT safe. */
void gw_world_follow(gw_world *world, int index, bool follow);

/* Pose and twist (of its origin, world axes) of a body that belongs to no model, from now on; of
 * others it does nothing. RT safe. */
void gw_world_set_body(gw_world *world, int body, const gw_pose *pose, const gw_twist *twist);

/* Takes over the continuous contacts of `old` with their springs. `body` returns the index in this
 * world of a body of `old`, -1 if there is none. To be called before gw_world_set_candidates().
 * Returns the energy of the springs taken over (J). RT safe. */
double gw_world_carry_over(gw_world *world, const gw_world *old,
                           int (*body)(const void *context, int old), const void *context);

/* Pose of a body between steps (world_from_body); `systems` as for gw_world_step_all(). RT safe. */
gw_pose gw_world_pose(const gw_world *world, const gw_world_system *systems, int body);

/* Clears all contact states; gw_world_follow() remains in force. RT safe. */
void gw_world_reset(gw_world *world);

/* Steps all systems (system_count of them) by dt > 0 seconds. RT safe. */
void gw_world_step_all(gw_world *world, gw_world_system *systems, double dt,
                       gw_world_step_result *out);

/* The contacts that are closed now or collided in the last step; returns how many, at most
 * `capacity`. RT safe. */
int gw_world_contacts(const gw_world *world, gw_contact_data *points, int capacity);

/* The collision states of the last step, in their order; returns how many, at most `capacity` and
 * GW_WORLD_RECORDED_COLLISIONS. RT safe. */
int gw_world_collisions(const gw_world *world, gw_world_collision *collisions, int capacity);

/* All unilateral constraints, in no order; returns how many, at most `capacity`. RT safe. */
int gw_world_unilaterals(const gw_world *world, gw_unilateral_state *states, int capacity);

#endif
