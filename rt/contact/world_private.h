#ifndef GW_CONTACT_WORLD_PRIVATE_H
#define GW_CONTACT_WORLD_PRIVATE_H

/*
 * What the files of the world share: its bodies, its contacts, and the island that is stepped.
 *
 * Movers that may meet within a step make an island; islands do not disturb one another and are
 * stepped one after the other. Those of them that exchange forces make a group, which is cut at its
 * own collisions; groups that meet are one from then on. A piece is what lies between two cuts.
 */

#include "rt/contact/penalty_contact.h"
#include "rt/contact/kinematics.h"
#include "rt/contact/impulse.h"
#include "rt/contact/world.h"

#define GW_CONTACT_CLOSED_GAP 1e-9 /* gap at which a pair has met (m) */
#define GW_CONTACT_MATCH_DISTANCE                                                                  \
    0.01                   /* contacts of two bodies so near one another may be the same (m) */
#define GW_ISLAND_SMALL 16 /* an island of so many movers is one group */
#define GW_WORLD_MAX_DOF                                                                           \
    (GW_MAX_JOINTS + 6 * (GW_MAX_TOOLS + GW_MAX_FREE)) /* of all movers of a scene */

typedef struct gw_body_state {
    int model, index;
    bool moves;   /* during a piece; one that stands needs no extrapolation */
    gw_pose home; /* as the step begins, of one that belongs to no model */
    gw_pose start, pose;
    gw_twist start_twist, twist; /* at the piece's start, and now */
    gw_twist rate;               /* of the twist, in the last piece */
    unsigned seen;               /* the step that the rate is of */
} gw_body_state;

/* Two pieces that may meet: their near pairs belong to it, and are found again as they move. */
typedef struct gw_collision_pair {
    int geom_a, geom_b, a, b;   /* pieces and bodies */
    int mover_a, mover_b;       /* -1: stands, or is moved from outside */
    int first;                  /* of its touches, -1: none */
    int next;                   /* of its island, -1: the last */
    bool kept;                  /* while lists are made: it goes on */
    bool watched;               /* it can be looked at in a step, */
    int cost;                   /* of a look, in steps of a free body */
    double left_out;            /* should have been, but there were none left, for so long (s) */
    bool looked;                /* was so, */
    gw_pose at_a, at_b;         /* with its bodies there, */
    double gap;                 /* and was so far apart, at least (m) */
    bool sharp;                 /* only corners and edges were found */
    double holds;               /* what was found is all that touches while moved by less (m) */
    int found_count, found;     /* pairs then found: in `looked`; -1: none since the last step */
    gw_vec3 centre_a, centre_b; /* of balls about the pieces, in the bodies' frames (m) */
    double radius_a, radius_b;
} gw_collision_pair;

/* A near pair through its life; first what every pass over an island's touches asks. */
typedef struct gw_contact {
    int mover_a, mover_b; /* -1: stands, or is moved from outside */
    double rate;          /* of the gap (m/s) */
    double meets;         /* when it will collide, by a guess; INFINITY: not in this step */
    double slack;         /* depth from which the spring acts (m) */
    bool aside;           /* the solids do not touch where it says: no contact */
    bool continuous;      /* penalty and friction */
    bool damps;           /* it touched when the piece began */
    bool deferred;        /* there was no room for its collision in this step */
    bool slow;            /* it meets in this piece, too slowly to count as a collision */
    bool struck;          /* it hits although it is continuous: an impulse elsewhere drove it */
    /* It was pressed too deep when the step began: no damping, which would let it creep. */
    bool stopped;
    int stops;           /* how often, since it holds */
    bool immovable;      /* its movers cannot move along the normal */
    bool bottomed;       /* it was pressed through a soft surface: hence its slack */
    bool hit, again;     /* in this step; in the one before, and deep in since: no more bounce */
    bool awaited;        /* its collision is foreseen */
    bool kept, fresh;    /* while lists are made: it goes on; it is new */
    int next;            /* of its island, -1: the last */
    int couple, sibling; /* the next of its couple, -1: the last */
    gw_gap now, start;
    double start_rate;
    double from;  /* when `start` was (s into the step) */
    double level; /* it meets at this gap: below zero where it was so deep already (m) */
    gw_contact_candidate near;
    gw_vec3 mark_a, mark_b;    /* material points that touch, in the bodies' frames, at the start */
    gw_vec3 mark_from;         /* their distance then */
    double depth_last;         /* when the last step ended */
    double owes;               /* what its spring has that the motion is to pay (J) */
    double stiffness, damping; /* N/m, N s/m, as far as a step bears them */
    gw_friction_spring grip;
    double power;   /* of what is moved from outside (W), at the piece's start */
    double impulse; /* in this step (N s) */
} gw_contact;

#define GW_WORLD_REDETECTIONS_MAX 64   /* at pieces in a step */
#define GW_PAIR_HASH_SLOTS        2048 /* a power of two, twice the couples */

/* J of one contact along one direction: its two blocks. */
typedef struct gw_contact_jacobian_row {
    int mover[2]; /* -1: none; both the same for two links of a chain, which the first then holds */
    double entry[2][GW_MODEL_MAX_DOF];
    double offset; /* what bodies moved from outside add to the speed (m/s) */
    bool carried;  /* a mover's own, by what carries it */
} gw_contact_jacobian_row;

typedef struct gw_island {
    int mover_count, touch_count, couple_count;
    int movers[GW_MAX_MODELS], touches[GW_MAX_CONTACT_CANDIDATES],
        couples[GW_MAX_CONTACT_CANDIDATES];
} gw_island;

/* What each mover has: of[i], then next[i] from first[mover] on, -1: no more. */
typedef struct gw_incidence {
    int count, first[GW_MAX_MODELS];
    int of[4 * GW_MAX_CONTACT_CANDIDATES], next[4 * GW_MAX_CONTACT_CANDIDATES];
} gw_incidence;

/* Where a body of another mover will be at moments of a step, as its piece began: each of those
 * that it touches asks for the same few. */
#define GW_PREDICTED_TIMES 4
typedef struct gw_predicted_motion {
    unsigned era; /* of the piece that it is of: world's */
    int count, next;
    double t[GW_PREDICTED_TIMES];
    gw_body_motion sight[GW_PREDICTED_TIMES];
} gw_predicted_motion;

/* What a model's step asks for its contacts' forces with. */
typedef struct gw_contact_force_query {
    struct gw_world *world;
    int mover;
    int count; /* of world->pressing */
    double t;  /* bodies of others were last seen then; NAN: not yet */
} gw_contact_force_query;

struct gw_world {
    int mover_count, body_count;
    gw_contact_rules rules;
    double dt; /* of the step (s) */
    gw_body_state *places;

    int touch_count;
    gw_contact *touches; /* GW_MAX_CONTACT_CANDIDATES */
    int couple_count;
    gw_collision_pair *couples; /* 2 GW_MAX_CONTACT_CANDIDATES: new ones come before old ones go */
    int slot[GW_PAIR_HASH_SLOTS]; /* hash table of couples: index + 1 */
    int arrived_count;            /* -1: none since the last step */
    gw_contact_candidate *arrived;
    gw_narrow_phase looker;
    int looks_left, found_count; /* in this step, by their cost; of what was found in it */
    unsigned look_from;          /* the couple that was left out first */
    gw_contact_candidate found[GW_WORLD_REDETECTIONS_MAX * GW_PAIR_CANDIDATES];

    size_t stride;                     /* bytes of a model, rounded up */
    unsigned char *saved, *scratch[2]; /* models at the piece's start; for a pair's trials */
    gw_world_system *movers;           /* during a step */
    gw_step trial[GW_MAX_MODELS];
    int crowd[GW_MAX_MODELS];   /* continuous contacts of a mover */
    gw_penalty_batch *pressing; /* of the mover that steps */
    gw_predicted_motion *ahead; /* of each body */
    unsigned era;               /* grows as pieces begin */
    bool tried[GW_MAX_MODELS];  /* its model went on from what is saved */
    bool felt[GW_MAX_MODELS];   /* it had a contact in this step */
    int parent[GW_MAX_MODELS];  /* union-find */
    int first[GW_MAX_MODELS];   /* touch of the island with that root, -1: none */
    int first_couple[GW_MAX_MODELS];
    gw_incidence touches_of, couples_of; /* each mover of the island */
    gw_island whole;                     /* movers that may meet, and their books: */
    double moved;                        /* work of bodies moved from outside (J) */
    bool touched;                        /* there was a contact */
    gw_island island; /* those of them that are stepped now: a group, two, or all */
    gw_island outer;  /* its touches and couples with movers of other groups */
    double since[GW_MAX_MODELS], until[GW_MAX_MODELS]; /* a mover's piece (s into the step) */
    int group[GW_MAX_MODELS];      /* whom it exchanges forces with: a number for each group */
    int collisions[GW_MAX_MODELS]; /* collisions of that group in this step */
    int awaited_count;             /* touches of the island that are foreseen to collide */
    int awaited[GW_MAX_CONTACT_CANDIDATES];
    bool stands[GW_MAX_MODELS]; /* there were too many: it waits for the step's end */

    gw_impulse_work work;
    double *rows, *v, *dv, *generalised; /* of a collision */
    gw_contact_jacobian_row row[GW_MAX_SIMULTANEOUS_CONTACTS];
    double owed;                 /* generated, too little to be taken out (J) */
    double drift[GW_MAX_MODELS]; /* of a mover without contact (J) */
    double spring_last;          /* held when the last step ended (J) */
    int looking;                 /* what looks of this step cost */
    int effort, budget, deferred, redetections_skipped; /* of this step, see gw_world_step_result */
    unsigned turn;                                      /* whose stiffness is looked at again */
};

/* Both its bodies move by themselves. */
static inline bool gw_contact_both_dynamic(const gw_contact *c)
{
    return c->mover_a >= 0 && c->mover_b >= 0;
}

/* The other mover of a touch or a couple of `mover`: -1 where it has none. */
static inline int gw_other_system(int mover, int a, int b)
{
    return a == mover ? b : a;
}

/* So deep that it must not go on; what a spring was found in at its beginning does not count. */
static inline bool gw_contact_too_deep(const gw_contact *c)
{
    return c->now.gap + (c->continuous ? c->slack : 0) < -GW_WORLD_DEFERRED_DEPTH;
}

/* Where it comes to without its collision: too deep, or through. */
static inline bool gw_contact_overshot(const gw_contact *c)
{
    return gw_contact_too_deep(c) || c->now.gap > -GW_CONTACT_CLOSED_GAP;
}

static inline gw_model *gw_world_model(const gw_world *w, int mover)
{
    return w->movers[mover].model;
}

/* ---- couples: what is near, from step to step -------------------------------------------------
 */

void gw_pairs_clear(gw_world *w);

/* The couple of a near pair's pieces, made where there is none. */
int gw_pair_of_candidate(gw_world *w, const gw_contact_candidate *near);

/* The couple's touch that follows these features; NULL: none. */
gw_contact *gw_pair_find_contact(gw_world *w, const gw_collision_pair *p,
                                 const gw_contact_candidate *near);

/* A touch more, in no state; NULL where there is no room. */
gw_contact *gw_pair_add_contact(gw_world *w, int couple, const gw_contact_candidate *near);

/* What looks found, and what arrived, instead of what was near; true where there was anything. */
bool gw_pairs_apply_redetected(gw_world *w);
bool gw_pairs_apply_candidates(gw_world *w);

/* ---- looks at couples in a step ---------------------------------------------------------------
 */

/* As a step begins, with bodies in their places: all that may meet in it and moved since. */
void gw_toi_redetect_before_step(gw_world *w);

/* As a trial ends: features that have come to touch on the way are followed as well, what is said
 * to collide where nothing touches is no contact. True where a gap closed that nobody followed. */
bool gw_toi_redetect_after_trial(gw_world *w);

/* ---- places: where bodies are --------------------------------------------------------------- */

/* The body `t` seconds into the piece, as it was moving when the piece began and as it gained speed
 * in the one before. */
gw_pose gw_body_state_extrapolate(const gw_body_state *place, double t, gw_twist *twist);

/* Bodies of the island's contacts from their models (those moved from outside: at t seconds into
 * the step), gaps and rates with them. */
void gw_world_update_gaps(gw_world *w, double t);

/* Where a body is on its way, t seconds into the step. */
gw_body_state gw_body_state_interpolate(const gw_world *w, int body, double t);

/* Gap and rate with the bodies there; and where the pair's later piece began, or at `from` after
 * that (s into the step). */
gw_gap gw_gap_of_states(const gw_contact_candidate *near, const gw_body_state *a,
                        const gw_body_state *b, double *rate);
void gw_contact_set_start(const gw_world *w, gw_contact *c, double from);

/* Gap and rate of a contact with its bodies as they are now. */
void gw_contact_update_gap(const gw_world *w, gw_contact *c);

/* ---- continuous contacts -------------------------------------------------------------------- */

/* Force on a (N): penalty and friction with the bodies there. */
gw_vec3 gw_contact_force(const gw_world *w, const gw_contact *c, const gw_pose *a,
                         const gw_twist *twist_a, const gw_pose *b, const gw_twist *twist_b);

/* With its bodies as the last look found them. */
gw_vec3 gw_contact_force_now(const gw_world *w, const gw_contact *c);

/* What the mover's step will ask for: its continuous contacts, side by side. */
void gw_contact_gather_forces(gw_world *w, int mover, gw_contact_force_query *ask);

/* The touch function of gw_forces. */
void gw_contact_stage_forces(const void *asking, double t, const gw_pose *pose,
                             const gw_twist *twist, gw_wrench *on);

/* A contact begins to be continuous: stiffness, slack as deep as it is; or it is jammed. */
void gw_contact_make_continuous(gw_world *w, gw_contact *c);

/* Where it meets slowly it is continuous from now on. */
void gw_contact_rest_if_slow(gw_world *w, gw_contact *c);

/* As a piece begins and ends. */
void gw_contact_begin_substep(gw_world *w, gw_contact *c);
void gw_contact_end_substep(gw_world *w, gw_contact *c, double h);

/* What its springs hold (J). */
double gw_contact_spring_energy(const gw_contact *c);

/* How far its spring is pressed before it bottoms out, or stops what presses it (m). */
double gw_contact_max_compression(const gw_contact *c);

/* Stiffness again, never more than before. */
void gw_contact_soften(gw_world *w, gw_contact *c);

/* ---- rows, collisions ----------------------------------------------------------------------- */

/* Along `direction` at the touching points: of a only, of b only, or of both. */
void gw_contact_jacobian(const gw_world *w, const gw_contact *c, gw_vec3 direction, bool a, bool b,
                         gw_contact_jacobian_row *row);

/* Largest entry: 0 where nothing moves along it. */
double gw_jacobian_row_max(const gw_world *w, const gw_contact_jacobian_row *row);

/* J D^-1 J^T of one row (1/kg). */
double gw_jacobian_row_inverse_mass(const gw_world *w, const gw_contact_jacobian_row *row);

typedef enum gw_collision_kind {
    GW_COLLISION_RESTITUTION,
    GW_COLLISION_PLASTIC,       /* nothing bounces */
    GW_COLLISION_OVERCOMPRESSED /* springs that are pressed too deep yield no more */
} gw_collision_kind;

/* Whether it collides now; whether something is pressed too deep. */
bool gw_contact_collides(const gw_world *w, const gw_contact *c);
bool gw_island_overcompressed(const gw_world *w);

/* Resolves it. */
void gw_resolve_collision(gw_world *w, gw_collision_kind kind);

/* ---- pieces --------------------------------------------------------------------------------- */

/* Steps a mover that nothing is near by the whole step. */
void gw_substep_without_contacts(gw_world *w);

/* Steps the island's models from their pieces' starts to t seconds into the step. */
void gw_substep_trial(gw_world *w, double t);

/* Steps a pair's models alone; the contact's gap and rate there. */
void gw_substep_trial_of_pair(gw_world *w, const gw_contact *c, double t, double *gap,
                              double *rate);

/* With both its bodies where they are at t: when it collides until then, by a guess. */
double gw_toi_estimate(gw_world *w, gw_contact *c, double t);

/* The island has been tried to t, and this contact of it collides until then: puts it back to the
 * moment of its first collision, which is returned; INFINITY where it meets too slowly. */
double gw_toi_rewind(gw_world *w, gw_contact *c, double t);

/* A step of the whole island, collisions at their own times. */
void gw_island_step(gw_world *w, gw_world_step_result *out);

/* ---- energy --------------------------------------------------------------------------------- */

/* Before the step (J). */
typedef struct gw_energy_audit {
    double mover[GW_MAX_MODELS]; /* of those of the island */
    double spring;
} gw_energy_audit;

void gw_energy_audit_open(const gw_world *w, gw_energy_audit *open);

/* Steps the island's only mover, that nothing is near, with its books. */
void gw_energy_audit_without_contacts(gw_world *w, gw_world_step_result *out);

/* Books what contacts took; takes out what they brought. */
void gw_energy_audit_close(gw_world *w, const gw_energy_audit *open, gw_world_step_result *out);

/*
 * What looks at couples within a step share. RT safe.
 */

#define GW_TOI_TARGET_GAP 1e-5 /* so much before they touch, a look tells what will (m) */

/* What its pieces may come nearer by in a second, as their bodies move there (m/s). */
double gw_pair_approach_bound(const gw_collision_pair *p, const gw_body_state *a,
                              const gw_body_state *b);

/* Looks at it with its bodies there; false where no more looks are to be had. */
bool gw_pair_redetect_at(gw_world *w, gw_collision_pair *p, const gw_body_state *a,
                         const gw_body_state *b);

/* When the piece of both its bodies began, and ends (s into the step). */
double gw_pair_substep_start(const gw_world *w, const gw_collision_pair *p);
double gw_pair_substep_end(const gw_world *w, const gw_collision_pair *p);

/* What the last look found, which was of `from`, is followed from then on; true where it meets. */
bool gw_pair_follow_redetected(gw_world *w, gw_collision_pair *p, double from);

/* How far its pieces may have come nearer in the piece of both (m); 0: its end says it all. */
double gw_pair_motion_bound(const gw_world *w, const gw_collision_pair *p);

/* What was found as the piece ends tells of no meeting, but `way` may be: it may have met and
 * parted, or met elsewhere. True where it has: what meets is followed. */
bool gw_pair_conservative_advancement(gw_world *w, gw_collision_pair *p, double way);

/*
 * Groups of movers that may meet within a step. RT safe.
 */

/* As a step begins: who moves, whose contacts they are, how many each mover has. */
void gw_islands_find(gw_world *w);

/* Makes the island whose root is mover m the one to be stepped; false where m is no root. */
bool gw_island_select(gw_world *w, int m);

/* A touch more of the island that is stepped; NULL where there is no room. */
gw_contact *gw_island_add_contact(gw_world *w, const gw_collision_pair *p,
                                  const gw_contact_candidate *near);

#endif
