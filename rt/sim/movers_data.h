/*
 * Movers from the inside: what movers_build.c makes and movers.c steps.
 */
#ifndef GW_SIM_MOVERS_DATA_H
#define GW_SIM_MOVERS_DATA_H

#include "rt/sim/movers.h"
#include "rt/sim/operators.h"
#include "rt/sim/walls.h"
#include "rt/dynamics/guided.h"

typedef struct gw_moving_chain {
    char id[GW_MAX_ID + 1];
    gw_chain_def def; /* its base: where that is shown */
    gw_pose base;     /* the scene's */
    gw_travel travel; /* of the base, that an edit put there */
    double q0[GW_MAX_LINKS], v0[GW_MAX_LINKS];
    gw_chain chain;
    int body;                 /* of its link 0 in the world */
    gw_resisted_def resisted; /* of the tool that holds it */
    double strain;            /* of its local model, beyond 1: it is braked */
    double owed;              /* what looks brought and motion has not paid back yet (J) */
} gw_moving_chain;

/* One-sided distances of a free body. */
typedef struct gw_body_walls {
    gw_walls state;
    double before, spring; /* all its energy, and what of it springs held, before the step (J) */
    double power;          /* of what moves walls, then (W) */
    uint64_t met;          /* bit i: wall i was run into as the last step began */
    int count;
    gw_wall wall[GW_MAX_WALLS];
    double restitution[GW_MAX_WALLS]; /* of the two objects' materials */
} gw_body_walls;

/* A person's hand at a free body. */
typedef struct gw_body_hand {
    gw_drag drag;
    gw_wrench push;
    gw_wrench acting; /* both in the last step, at the origin, world axes */
    gw_pose start;    /* of that step */
} gw_body_hand;

/* A free body on the set that its constraints leave it. */
typedef struct gw_moving_body {
    char id[GW_MAX_ID + 1];
    int object;      /* and body */
    char branch[16]; /* id of its set; empty: nothing guides it */
    gw_guided_def def;
    gw_pose pose;
    gw_twist twist;       /* of the origin */
    bool placed;          /* by an edit: it does not go on from where it was */
    gw_body_walls *walls; /* owned; NULL where it has none */
    gw_body_hand hand;
    gw_travel travel; /* onto the set that an edit gave it, seen at the pose where it lands */
    gw_pose landing;
    bool settled; /* it arrived in this tick */
    gw_guided body;
} gw_moving_body;

typedef struct gw_stops gw_stops;

/* Bodies of the world: the scene's objects, then the links of all mechanisms. */
struct gw_movers {
    int tool_count, chain_count, free_count;
    int tool_mover[GW_MAX_TOOLS]; /* index of each tool's mover */
    int mover_count;              /* of held objects, then of chains, then of free bodies */
    int first_chain, first_free;
    gw_mover mover[GW_MAX_MOVERS];
    gw_moving_chain *chains;
    gw_moving_body *bodies;
    gw_stops *stops; /* owned; NULL where no body has walls */

    int object_count, body_count;
    int held[GW_MAX_TOOLS]; /* object of mover i, i < first_chain */
    gw_world *world;        /* NULL: nothing touches */
    gw_detection *detection;
    gw_locals *locals;         /* NULL: mechanisms run exactly */
    struct touching *touching; /* who may touch, and how: what the detector asks */
    uint64_t *names;           /* of each body: a hash of its id, to find it again after an edit */
    gw_pose *placed;           /* by body: where an object without model was placed last */
    gw_detected_body *moved;   /* bodies that no model moves, told of in this tick */
    int moved_count, moved_most;
    gw_detected_body *told; /* room for all that moves */

    /* sums since tick 0 or the last switch (J) */
    double work, dissipated, motors, edits; /* work: of hands at free bodies */
    gw_contact_figures contact;
    gw_world_step last;
    int touched_before; /* contacts that touched as the last step began */
    bool was_jammed, jammed;
    bool was_crowded, crowded;     /* collisions were put off, less than a second ago */
    double quiet;                  /* since the last that was (s) */
    double was_strained, strained; /* the most of all chains */
};

/* ---- mechanisms: movers_chains.c ------------------------------------------------------------- */

void gw_chains_reset(gw_movers *movers);
void gw_chains_carry(gw_movers *movers, const gw_movers *old, const gw_travel_limits *limits);

/* Bases that an edit put elsewhere go there. */
void gw_chains_move(gw_movers *movers, double dt);

/* ---- free bodies: movers_bodies.c ------------------------------------------------------------ */

/* One for each object that is free and not held; false: memory. Not RT safe. */
bool gw_bodies_create(gw_movers *movers, const gw_movers_def *def);
void gw_bodies_destroy(gw_movers *movers);

void gw_bodies_reset(gw_movers *movers);
void gw_bodies_carry(gw_movers *movers, const gw_movers *old, gw_network *network,
                     const gw_travel_limits *limits);

void gw_bodies_publish(const gw_movers *movers, gw_snapshot *snapshot);

/* Without what springs hold, and what they hold (J). */
double gw_body_energy(const gw_moving_body *body);
double gw_body_spring(const gw_moving_body *body);

/* ---- what acts on them: movers_load.c -------------------------------------------------------- */

/* Before and after a step: hands and walls. */
void gw_bodies_open(gw_movers *movers, double dt);
void gw_bodies_close(gw_movers *movers, double dt);

/* What their walls' springs hold (J). */
double gw_bodies_spring(const gw_movers *movers);

/* ---- their stops: movers_stops.c ------------------------------------------------------------- */

/* Not RT safe; to be freed. NULL: memory. */
gw_stops *gw_stops_create(void);

/* As a step begins: what runs into a wall bounces or arrives. `lay`: walls that it lay against. */
void gw_stops_meet(gw_movers *movers, gw_moving_body *body, uint64_t lay, double dt);

/* ---- the rest -------------------------------------------------------------------------------- */

/* Between two looks of the world's thread (s). */
double gw_movers_period(const gw_movers_def *def);

/* The world's contacts of these movers: detector, bodies, rules. Nothing where the scene's contacts
 * are off. */
bool gw_movers_build_contacts(gw_movers *movers, const gw_movers_def *def, gw_error *error);
void gw_movers_drop_contacts(gw_movers *movers);

#endif
