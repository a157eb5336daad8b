/*
 * What the files of the world share: its bodies, its contacts, and the island that is stepped.
 *
 * Movers that may meet within a step make an island; islands do not disturb one another and are
 * stepped one after the other. Those of them that exchange forces make a group, which is cut at its
 * own collisions; groups that meet are one from then on. A piece is what lies between two cuts.
 */
#ifndef GW_CONTACT_WORLD_PRIVATE_H
#define GW_CONTACT_WORLD_PRIVATE_H

#include "rt/contact/friction.h"
#include "rt/contact/gap.h"
#include "rt/contact/impulse.h"
#include "rt/contact/pressing.h"
#include "rt/contact/world.h"

#define GW_WORLD_MET   1e-9 /* gap at which a pair has met (m) */
#define GW_WORLD_SAME  0.01 /* contacts of two bodies so near one another may be the same (m) */
#define GW_WORLD_WHOLE 16   /* an island of so many movers is one group */
#define GW_WORLD_FREEDOMS                                                                          \
    (GW_MAX_JOINTS + 6 * (GW_MAX_TOOLS + GW_MAX_FREE)) /* of all movers of a scene */

typedef struct gw_place {
    int model, index;
    bool moves;   /* during a piece; one that stands needs no extrapolation */
    gw_pose home; /* as the step begins, of one that belongs to no model */
    gw_pose start, pose;
    gw_twist start_twist, twist; /* at the piece's start, and now */
    gw_twist rate;               /* of the twist, in the last piece */
    unsigned seen;               /* the step that the rate is of */
} gw_place;

/* Two pieces that may meet: their near pairs belong to it, and are found again as they move. */
typedef struct gw_couple {
    int piece_a, piece_b, a, b; /* pieces and bodies */
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
} gw_couple;

/* A near pair through its life; first what every pass over an island's touches asks. */
typedef struct gw_touch {
    int mover_a, mover_b; /* -1: stands, or is moved from outside */
    double rate;          /* of the gap (m/s) */
    double meets;         /* when it will collide, by a guess; INFINITY: not in this step */
    double slack;         /* depth from which the spring acts (m) */
    bool aside;           /* the solids do not touch where it says: no contact */
    bool continuous;      /* penalty and friction */
    bool damps;           /* it touched when the piece began */
    bool late;            /* there was no room for its collision in this step */
    bool slow;            /* it meets in this piece, too slowly to count as a collision */
    bool struck;          /* it hits although it is continuous: an impulse elsewhere drove it */
    /* It was pressed too deep when the step began: no damping, which would let it creep. */
    bool stopped;
    int stops;           /* how often, since it holds */
    bool jammed;         /* its movers cannot move along the normal */
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
    gw_near near;
    gw_vec3 mark_a, mark_b;    /* material points that touch, in the bodies' frames, at the start */
    gw_vec3 mark_from;         /* their distance then */
    double depth_last;         /* when the last step ended */
    double owes;               /* what its spring has that the motion is to pay (J) */
    double stiffness, damping; /* N/m, N s/m, as far as a step bears them */
    gw_grip grip;
    double power;   /* of what is moved from outside (W), at the piece's start */
    double impulse; /* in this step (N s) */
} gw_touch;

#define GW_WORLD_LOOKS_MOST 64   /* at pieces in a step */
#define GW_COUPLE_SLOTS     2048 /* a power of two, twice the couples */

/* J of one contact along one direction: its two blocks. */
typedef struct gw_contact_row {
    int mover[2]; /* -1: none; both the same for two links of a chain, which the first then holds */
    double entry[2][GW_MODEL_MAX_DOF];
    double offset; /* what bodies moved from outside add to the speed (m/s) */
    bool carried;  /* a mover's own, by what carries it */
} gw_contact_row;

typedef struct gw_island {
    int mover_count, touch_count, couple_count;
    int movers[GW_MAX_MOVERS], touches[GW_MAX_NEAR], couples[GW_MAX_NEAR];
} gw_island;

/* What each mover has: of[i], then next[i] from first[mover] on, -1: no more. */
typedef struct gw_listed {
    int count, first[GW_MAX_MOVERS];
    int of[4 * GW_MAX_NEAR], next[4 * GW_MAX_NEAR];
} gw_listed;

/* Where a body of another mover will be at moments of a step, as its piece began: each of those
 * that it touches asks for the same few. */
#define GW_AHEAD 4
typedef struct gw_ahead {
    unsigned era; /* of the piece that it is of: world's */
    int count, next;
    double t[GW_AHEAD];
    gw_sight sight[GW_AHEAD];
} gw_ahead;

/* What a model's step asks for its contacts' forces with. */
typedef struct gw_asking {
    struct gw_world *world;
    int mover;
    int count; /* of world->pressing */
    double t;  /* bodies of others were last seen then; NAN: not yet */
} gw_asking;

struct gw_world {
    int mover_count, body_count;
    gw_contact_rules rules;
    double dt; /* of the step (s) */
    gw_place *places;

    int touch_count;
    gw_touch *touches; /* GW_MAX_NEAR */
    int couple_count;
    gw_couple *couples;        /* 2 GW_MAX_NEAR: new ones come before old ones go */
    int slot[GW_COUPLE_SLOTS]; /* hash table of couples: index + 1 */
    int arrived_count;         /* -1: none since the last step */
    gw_near *arrived;
    gw_looker looker;
    int looks_left, found_count; /* in this step, by their cost; of what was found in it */
    unsigned look_from;          /* the couple that was left out first */
    gw_near found[GW_WORLD_LOOKS_MOST * GW_LOOKED];

    size_t stride;                     /* bytes of a model, rounded up */
    unsigned char *saved, *scratch[2]; /* models at the piece's start; for a pair's trials */
    gw_mover *movers;                  /* during a step */
    gw_step trial[GW_MAX_MOVERS];
    int crowd[GW_MAX_MOVERS];  /* continuous contacts of a mover */
    gw_pressing *pressing;     /* of the mover that steps */
    gw_ahead *ahead;           /* of each body */
    unsigned era;              /* grows as pieces begin */
    bool tried[GW_MAX_MOVERS]; /* its model went on from what is saved */
    bool felt[GW_MAX_MOVERS];  /* it had a contact in this step */
    int parent[GW_MAX_MOVERS]; /* union-find */
    int first[GW_MAX_MOVERS];  /* touch of the island with that root, -1: none */
    int first_couple[GW_MAX_MOVERS];
    gw_listed touches_of, couples_of; /* each mover of the island */
    gw_island whole;                  /* movers that may meet, and their books: */
    double moved;                     /* work of bodies moved from outside (J) */
    bool touched;                     /* there was a contact */
    gw_island island;                 /* those of them that are stepped now: a group, two, or all */
    gw_island outer;                  /* its touches and couples with movers of other groups */
    double since[GW_MAX_MOVERS], until[GW_MAX_MOVERS]; /* a mover's piece (s into the step) */
    int group[GW_MAX_MOVERS]; /* whom it exchanges forces with: a number for each group */
    int cuts[GW_MAX_MOVERS];  /* collisions of that group in this step */
    int awaited_count;        /* touches of the island that are foreseen to collide */
    int awaited[GW_MAX_NEAR];
    bool stands[GW_MAX_MOVERS]; /* there were too many: it waits for the step's end */

    gw_impulse_work work;
    double *rows, *v, *dv, *generalised; /* of a collision */
    gw_contact_row row[GW_MAX_COLLIDING];
    double owed;                      /* generated, too little to be taken out (J) */
    double drift[GW_MAX_MOVERS];      /* of a mover without contact (J) */
    double spring_last;               /* held when the last step ended (J) */
    int looking;                      /* what looks of this step cost */
    int effort, budget, late, unseen; /* of this step, see gw_world_step */
    unsigned turn;                    /* whose stiffness is looked at again */
};

/* Both its bodies move by themselves. */
static inline bool gw_both_move(const gw_touch *c)
{
    return c->mover_a >= 0 && c->mover_b >= 0;
}

/* The other mover of a touch or a couple of `mover`: -1 where it has none. */
static inline int gw_other(int mover, int a, int b)
{
    return a == mover ? b : a;
}

/* So deep that it must not go on; what a spring was found in at its beginning does not count. */
static inline bool gw_touch_deep(const gw_touch *c)
{
    return c->now.gap + (c->continuous ? c->slack : 0) < -GW_WORLD_LATE;
}

/* Where it comes to without its collision: too deep, or through. */
static inline bool gw_touch_too_far(const gw_touch *c)
{
    return gw_touch_deep(c) || c->now.gap > -GW_WORLD_MET;
}

static inline gw_model *gw_world_model(const gw_world *w, int mover)
{
    return w->movers[mover].model;
}

/* ---- couples: what is near, from step to step -------------------------------------------------
 */

void gw_couples_clear(gw_world *w);

/* The couple of a near pair's pieces, made where there is none. */
int gw_couple_of(gw_world *w, const gw_near *near);

/* The couple's touch that follows these features; NULL: none. */
gw_touch *gw_couple_touch(gw_world *w, const gw_couple *p, const gw_near *near);

/* A touch more, in no state; NULL where there is no room. */
gw_touch *gw_couple_add(gw_world *w, int couple, const gw_near *near);

/* What looks found, and what arrived, instead of what was near; true where there was anything. */
bool gw_couples_settle(gw_world *w);
bool gw_couples_arrive(gw_world *w);

/* ---- looks at couples in a step ---------------------------------------------------------------
 */

/* As a step begins, with bodies in their places: all that may meet in it and moved since. */
void gw_looks_open(gw_world *w);

/* As a trial ends: features that have come to touch on the way are followed as well, what is said
 * to collide where nothing touches is no contact. True where a gap closed that nobody followed. */
bool gw_looks_close(gw_world *w);

/* ---- places: where bodies are --------------------------------------------------------------- */

/* The body `t` seconds into the piece, as it was moving when the piece began and as it gained speed
 * in the one before. */
gw_pose gw_place_ahead(const gw_place *place, double t, gw_twist *twist);

/* Bodies of the island's contacts from their models (those moved from outside: at t seconds into
 * the step), gaps and rates with them. */
void gw_world_look(gw_world *w, double t);

/* Where a body is on its way, t seconds into the step. */
gw_place gw_place_between(const gw_world *w, int body, double t);

/* Gap and rate with the bodies there; and where the pair's later piece began, or at `from` after
 * that (s into the step). */
gw_gap gw_gap_between(const gw_near *near, const gw_place *a, const gw_place *b, double *rate);
void gw_touch_open(const gw_world *w, gw_touch *c, double from);

/* Gap and rate of a contact with its bodies as they are now. */
void gw_touch_look(const gw_world *w, gw_touch *c);

/* ---- continuous contacts -------------------------------------------------------------------- */

/* Force on a (N): penalty and friction with the bodies there. */
gw_vec3 gw_touch_force(const gw_world *w, const gw_touch *c, const gw_pose *a,
                       const gw_twist *twist_a, const gw_pose *b, const gw_twist *twist_b);

/* With its bodies as the last look found them. */
gw_vec3 gw_touch_force_now(const gw_world *w, const gw_touch *c);

/* What the mover's step will ask for: its continuous contacts, side by side. */
void gw_touch_gather(gw_world *w, int mover, gw_asking *ask);

/* The touch function of gw_forces. */
void gw_touch_stage(const void *asking, double t, const gw_pose *pose, const gw_twist *twist,
                    gw_wrench *on);

/* A contact begins to be continuous: stiffness, slack as deep as it is; or it is jammed. */
void gw_touch_attach(gw_world *w, gw_touch *c);

/* Where it meets slowly it is continuous from now on. */
void gw_touch_rest(gw_world *w, gw_touch *c);

/* As a piece begins and ends. */
void gw_touch_begin(gw_world *w, gw_touch *c);
void gw_touch_end(gw_world *w, gw_touch *c, double h);

/* What its springs hold (J). */
double gw_touch_energy(const gw_touch *c);

/* How far its spring is pressed before it bottoms out, or stops what presses it (m). */
double gw_touch_bottom(const gw_touch *c);

/* Stiffness again, never more than before. */
void gw_touch_soften(gw_world *w, gw_touch *c);

/* ---- rows, collisions ----------------------------------------------------------------------- */

/* Along `direction` at the touching points: of a only, of b only, or of both. */
void gw_row_of(const gw_world *w, const gw_touch *c, gw_vec3 direction, bool a, bool b,
               gw_contact_row *row);

/* Largest entry: 0 where nothing moves along it. */
double gw_row_size(const gw_world *w, const gw_contact_row *row);

/* J D^-1 J^T of one row (1/kg). */
double gw_row_yield(const gw_world *w, const gw_contact_row *row);

typedef enum gw_collision {
    GW_BOUNCES,
    GW_PLASTIC, /* nothing bounces */
    GW_STOPS    /* springs that are pressed too deep yield no more */
} gw_collision;

/* Whether it collides now; whether something is pressed too deep. */
bool gw_sets_off(const gw_world *w, const gw_touch *c);
bool gw_pressed(const gw_world *w);

/* Resolves it. */
void gw_collide(gw_world *w, gw_collision kind);

/* ---- pieces --------------------------------------------------------------------------------- */

/* Steps a mover that nothing is near by the whole step. */
void gw_piece_alone(gw_world *w);

/* Steps the island's models from their pieces' starts to t seconds into the step. */
void gw_piece_try(gw_world *w, double t);

/* Steps a pair's models alone; the contact's gap and rate there. */
void gw_piece_try_pair(gw_world *w, const gw_touch *c, double t, double *gap, double *rate);

/* With both its bodies where they are at t: when it collides until then, by a guess. */
double gw_piece_foresee(gw_world *w, gw_touch *c, double t);

/* The island has been tried to t, and this contact of it collides until then: puts it back to the
 * moment of its first collision, which is returned; INFINITY where it meets too slowly. */
double gw_piece_meet(gw_world *w, gw_touch *c, double t);

/* A step of the whole island, collisions at their own times. */
void gw_groups_step(gw_world *w, gw_world_step *out);

/* ---- energy --------------------------------------------------------------------------------- */

/* Before the step (J). */
typedef struct gw_balance {
    double mover[GW_MAX_MOVERS]; /* of those of the island */
    double spring;
} gw_balance;

void gw_balance_open(const gw_world *w, gw_balance *open);

/* Steps the island's only mover, that nothing is near, with its books. */
void gw_balance_alone(gw_world *w, gw_world_step *out);

/* Books what contacts took; takes out what they brought. */
void gw_balance_close(gw_world *w, const gw_balance *open, gw_world_step *out);

#endif
