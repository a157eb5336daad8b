/*
 * The dynamics of a scene from the inside, shared by scene_dynamics.c, scene_dynamics_build.c and
 * free_bodies.c.
 */
#ifndef GW_SIM_SCENE_DYNAMICS_PRIVATE_H
#define GW_SIM_SCENE_DYNAMICS_PRIVATE_H

#include "rt/sim/scene_dynamics.h"
#include "rt/sim/operators.h"
#include "rt/contact/unilateral_row.h"
#include "rt/dynamics/guided.h"

/* A person's hand at a body. */
typedef struct gw_free_body_hand {
    gw_drag drag;
    gw_wrench push;
    gw_wrench acting; /* both in the last step, at the origin, world axes */
    gw_pose start;    /* of that step */
} gw_free_body_hand;

/* A free body on the set that its constraints leave it. */
typedef struct gw_dynamic_free_body {
    char id[GW_MAX_ID + 1];
    uint64_t name;   /* its hash */
    int object;      /* and body */
    char branch[16]; /* id of its set; empty: nothing guides it */
    gw_guided_def def;
    gw_pose pose;
    gw_twist twist; /* of the origin */
    gw_begin begin;
    gw_free_body_hand hand;
    gw_transition
        transition; /* onto the set that an edit gave it, seen at the pose where it lands */
    gw_pose landing;
    bool arrived; /* it arrived in this tick */
    gw_guided body;
} gw_dynamic_free_body;

/* A ground of a system that may move: a fixed object, or a mechanism's base. */
typedef struct gw_dynamic_ground {
    int object;               /* index in the scene; -1: a base */
    uint64_t name;            /* hash of its id, or the mechanism's */
    gw_pose start;            /* as laid out */
    gw_transition transition; /* of a base, that an edit put there */
} gw_dynamic_ground;

/* Where a joint's wrench is reported, as a step begins. */
typedef struct gw_joint_place {
    gw_vec3 at;  /* the origin of a's frame, in the world (m) */
    gw_vec3 arm; /* from there to the origin of the body whose wrench is known (m) */
} gw_joint_place;

/* The mobilizer of a body of a system, or of a half that a joint closes a loop with. */
typedef struct gw_dynamic_mobilizer {
    int parent;     /* the body that it hangs on, or a ground */
    uint64_t name;  /* hash of the scene's joint that it is, of a link's name; 0: neither */
    gw_begin begin; /* how its body begins after an edit; a half goes on */
    bool carried;   /* scratch: by a joint that begins elsewhere */
} gw_dynamic_mobilizer;

/* A system of bodies. Its memory is owned. */
typedef struct gw_dynamic_system {
    const gw_scene_system *from; /* while it is made */
    bool mechanism;              /* links of one mechanism and nothing else, without closures */
    gw_resisted_def resisted;    /* of the tool that holds it */
    double strain;               /* of its local model, beyond 1: it is braked */
    double owed; /* what local models brought and motion has not paid back yet (J) */
    gw_system *system;
    int body_count, held; /* the body that the first tool holds; 0 where none does */
    int *numbers;         /* of each body among the scene's: objects, then links */
    uint64_t *names;      /* hashes of their ids */
    uint64_t *labels;     /* and of what a command calls them: "mechanism.number" for links */
    gw_vec3 *coms;        /* in the bodies' frames (m) */
    double mass;          /* of all bodies (kg) */
    gw_dynamic_mobilizer *mobilizers; /* of bodies, then of halves */
    gw_joint_before *before;          /* scratch, as many */
    bool has_closures;
    gw_free_body_hand *hands;
    gw_pose *poses; /* scratch of bodies and grounds */
    gw_twist *twists;
    int projected_body; /* body of the scene that begins with another velocity than stated, -1 */
    int ground_count;
    gw_dynamic_ground *grounds;
    gw_transition joining; /* of the largest offset that an edit left between bodies, along x */
    double apart;          /* that offset: m, or where it is none, rad */
    bool joined;           /* it ends with this tick */
    bool grounds_move;     /* one of them moves in this tick */
    double *work;          /* 7 entries a degree of freedom */
    gw_wrench hand;        /* of the first tool, as the last step began */
    int joint_count;
    gw_placed_joint *joints;
    int *coordinates;       /* first one of each joint among the scene's */
    gw_joint_place *places; /* of each joint */
    int contact_count;
    gw_placed_contact *contacts;
} gw_dynamic_system;

/* A unilateral constraint of the scene, or one of several that it has. */
typedef struct gw_scene_unilateral_row {
    gw_unilateral_row row;
    gw_contact_place start;     /* of surfaces that bend freely, at tick 0 */
    uint64_t key;               /* gw_contact_key(), of surfaces */
    int first, place_count;     /* rows of one contact, each of a place of its own; 0: no places */
    int support;                /* which of the contact's supporting points it is; -1: none */
    bool part_of_solid;         /* the side or a cap of a cylinder */
    gw_contact_place under;     /* of the first row of these: below its middle */
    int trial;                  /* of the first row: where the search for another one goes on, */
    double until_search;        /* and when (s) */
    bool past;                  /* of it: the search has found the surfaces past one another */
    int constraint;             /* index in the scene */
    int body[2];                /* of the scene: objects, then links */
    gw_geometry_feature end[2]; /* of a bound */
    int anchor[2];              /* -1: none */
    int place[2];               /* among those of either object (gw_scene_unilateral()), or -1 */
    gw_unilateral_state now;    /* after the last step; its gap infinite before the first */
} gw_scene_unilateral_row;

/* The body of the world that stands for a stated feature of a fixed object. */
typedef struct gw_unilateral_anchor {
    gw_geometry_feature end;
    gw_pose at, start; /* in which the element is as it was built */
} gw_unilateral_anchor;

typedef struct gw_scene_unilaterals {
    int count, anchor_count, first_anchor;
    gw_scene_unilateral_row rows[GW_MAX_WORLD_UNILATERALS];
    gw_contact_candidate candidates[GW_MAX_WORLD_UNILATERALS];
    gw_unilateral_anchor anchors[2 * GW_MAX_WORLD_UNILATERALS];
    gw_unilateral_state states[GW_MAX_CONTACT_CANDIDATES]; /* scratch */
} gw_scene_unilaterals;

/* One end of a coordinate of a system's joint. */
typedef struct gw_joint_limit {
    gw_unilateral_row row;
    int system, body, coordinate; /* whose joint it is, in the system */
    int at;                       /* the coordinate among all of the system */
    double rate;                  /* its velocity a step before */
    gw_unilateral_state now;      /* after the last step */
} gw_joint_limit;

typedef struct gw_joint_limits {
    int count, most, first; /* first: among the world's unilateral constraints */
    gw_joint_limit *of;     /* owned, as the others */
    gw_contact_candidate *candidates;
    double *work;
    int followed; /* in this step */
    bool fresh;   /* other forces may act than in the step before */
} gw_joint_limits;

/* An edge of a surface, or an end of a curve, in a closure of a system. */
typedef struct gw_edge_row {
    gw_unilateral_row row;
    int system;
    double before;           /* how far within it the step before began (m) */
    gw_unilateral_state now; /* after the last step */
} gw_edge_row;

typedef struct gw_edge_rows {
    int count, most, first; /* first: among the world's unilateral constraints */
    gw_edge_row *of;        /* owned, as the candidates */
    gw_contact_candidate *candidates;
} gw_edge_rows;

/* Bodies of the world: the scene's objects, then the links of all mechanisms. */
struct gw_scene_dynamics {
    int tool_count, held_count, free_count, system_count;
    bool reports_links; /* wrenches of links are reported */
    int mechanism_count;
    int first_link[GW_MAX_MECHANISMS + 1];   /* body of its link 0 */
    gw_vec3 gravity;                         /* m/s^2 */
    int scene_joint_count, coordinate_count; /* of the scene's joints */
    double *still;                           /* as the scene states them; owned */
    int tool_world_system[GW_MAX_TOOLS];     /* index of each tool's world system */
    gw_model *second[GW_MAX_TOOLS]; /* of a tool that holds a system beside another one: its view */
    gw_world_system second_world_system[GW_MAX_TOOLS]; /* what such a tool fills in and reads */
    int world_system_count; /* of held objects, then of free bodies, systems of bodies */
    int first_free, first_system;
    gw_world_system world_systems[GW_MAX_MODELS];
    gw_dynamic_free_body *bodies;
    gw_dynamic_system *systems;
    gw_scene_unilaterals *unilaterals; /* owned */
    gw_joint_limits limits;
    gw_edge_rows edges;

    int object_count, body_count;
    int world_body_count;   /* those, then anchors of unilateral constraints, then the ground */
    int held[GW_MAX_TOOLS]; /* object of world system i, i < held_count */
    uint64_t held_names[GW_MAX_TOOLS]; /* hashes of their ids */
    gw_world *world;                   /* NULL: nothing touches */
    gw_detection *detection;
    gw_local_models *locals;   /* NULL: all runs exactly */
    struct touching *touching; /* who may touch, and how: what the detector asks */
    uint64_t *names;           /* of each body: a hash of its id, to find it again after an edit */
    gw_pose *placed;           /* by body: where an object without model was placed last */
    gw_detection_body *moved; /* bodies that no model moves, placed since the last were published */
    int *moved_at;            /* by object: 1 + its place among them; 0: not among them */
    int moved_count, moved_most;
    gw_detection_body *published; /* room for all that moves */

    /* sums since tick 0 or the last switch (J) */
    double work, dissipated, motors, edits; /* work: of hands at free bodies */
    gw_contact_statistics contact;
    gw_world_step_result last;
    bool was_jammed, immovable;
    bool was_crowded, crowded;     /* collisions were put off, less than a second ago */
    double quiet;                  /* since the last that was (s) */
    double was_strained, strained; /* the most of all systems */
    gw_dynamics_findings found;    /* in the last step */
};

/* ---- unilateral_rows.c ---------------------------------------------------------------------- */

/* Those of the scene. Not RT safe. */
gw_scene_unilaterals *gw_scene_unilaterals_create(const gw_scene_dynamics_def *def,
                                                  gw_error *error);

/* Numbers their bodies: anchors from `first_anchor` on. Not RT safe. */
void gw_scene_unilaterals_number(gw_scene_unilaterals *unilaterals, int first_anchor);

/* The object that an anchor is of. */
int gw_scene_unilaterals_object(const gw_scene_unilaterals *unilaterals, int body);

/* Everything as it was built; or where geometry is now, `dt` since it was given last (0: at rest).
 */
void gw_scene_unilaterals_reset(gw_scene_unilaterals *unilaterals, gw_world *world);
void gw_scene_unilaterals_move(gw_scene_unilaterals *unilaterals, gw_world *world,
                               const gw_kinematics *kinematics, double dt);

/* Surfaces that bend freely: places where they come close are followed as a step begins, others
 * looked for, all of them in time. */
void gw_scene_unilaterals_pre_step(gw_scene_dynamics *dynamics, double dt);

/* Whether surfaces are past one another as the step began, with no place that keeps them apart. */
int gw_scene_unilaterals_degenerate(const gw_scene_unilaterals *unilaterals);

/* Places that were followed before an edit are followed on. */
void gw_scene_unilaterals_carry_over(gw_scene_unilaterals *unilaterals,
                                     const gw_scene_unilaterals *old);

/* Takes over what the world has of them, and of joints' limits. */
void gw_scene_unilaterals_update(gw_scene_dynamics *dynamics);

/* Those of a body (of the scene: objects, then links); its wrench about a point of the world. */
gw_unilaterals_at gw_scene_unilaterals_at(const gw_scene_unilaterals *unilaterals, int body,
                                          gw_vec3 point);

/* ---- joint_limits.c -------------------------------------------------------------------------- */

/* Room for the limits of all systems; false: no memory. Then their rows, with `ground` the body of
 * the world that stands. Not RT safe. */
bool gw_joint_limits_create(gw_scene_dynamics *dynamics, const gw_scene_dynamics_def *def);
void gw_joint_limits_build(gw_scene_dynamics *dynamics, const gw_scene_dynamics_def *def,
                           int ground);
void gw_joint_limits_destroy(gw_joint_limits *limits);

/* Adds what limits of a system's joint exert on the side that M is on as the step begins, about a
 * point (world). What a hit exerts for no time at all is not in it. */
void gw_joint_limits_add_wrench(const gw_scene_dynamics *dynamics, int system, int body,
                                gw_vec3 point, gw_wrench *wrench);

/* Before a step: which are near. */
void gw_joint_limits_pre_step(gw_scene_dynamics *dynamics, double dt);

/* ---- edge_rows.c ----------------------------------------------------------------------------- */

/* Room for the edges of all systems; false: no memory. Then their rows, in place of the systems'
 * own springs. Not RT safe. */
bool gw_edge_rows_create(gw_scene_dynamics *dynamics);
void gw_edge_rows_build(gw_scene_dynamics *dynamics, int ground);
void gw_edge_rows_destroy(gw_edge_rows *edges);

/* As systems start anew; before a step: which are near. */
void gw_edge_rows_reset(gw_edge_rows *edges);
void gw_edge_rows_pre_step(gw_scene_dynamics *dynamics, double dt);

/* The first that something is at after the step, -1: none. */
int gw_edge_rows_touching(const gw_edge_rows *edges);

/* ---- body_systems_carry.c ------------------------------------------------------------------- */

void gw_dynamic_system_rename(gw_dynamic_system *system, const gw_new_names *names);
void gw_body_systems_carry_over(gw_scene_dynamics *dynamics, const gw_scene_dynamics *old,
                                const gw_kinematics *kinematics,
                                const gw_transition_limits *limits);

/* On its way onto what an edit asks of it, the tick in which it arrives included. */
bool gw_dynamic_system_travels(const gw_dynamic_system *system);

/* Their grounds go on by dt with the geometry (NULL: none moves), and with bases of mechanisms that
 * an edit put elsewhere. */
void gw_body_systems_move_grounds(gw_scene_dynamics *dynamics, const gw_kinematics *kinematics,
                                  double dt);

/* ---- body_systems.c ------------------------------------------------------------------------- */

/* One for each system of the layout. Not RT safe. */
bool gw_body_systems_create(gw_scene_dynamics *dynamics, const gw_scene_dynamics_def *def,
                            gw_error *error);
void gw_body_systems_destroy(gw_scene_dynamics *dynamics);

/* From now on by a local model of where it is, where the scene wants that. */
void gw_body_systems_start_local(gw_scene_dynamics *dynamics, int index);

void gw_body_systems_reset(gw_scene_dynamics *dynamics);
/* By local models: takes the newest ones and tells where joints are; once a tick. */
void gw_body_systems_exchange_locals(gw_scene_dynamics *dynamics, gw_detection_turn turn);

/* Those whose local model is too old, or too far from where they are, lose speed. */
void gw_body_systems_brake(gw_scene_dynamics *dynamics, double dt);

/* Where the object of that name (a hash) is that a system, a free body or a tool moves on its own,
 * and the hand at it; false: none does. */
bool gw_scene_dynamics_find_body(const gw_scene_dynamics *dynamics, uint64_t name, gw_pose *pose,
                                 gw_twist *twist, gw_free_body_hand *hand);

/* The system and its body of a link, counted over all mechanisms; false where it is in none. */
bool gw_body_systems_find_link(const gw_scene_dynamics *dynamics, int link, int *system, int *body);

/* As gw_scene_dynamics_hand(); false where no system has that object. */
bool gw_body_systems_hand(gw_scene_dynamics *dynamics, const gw_command *command, double dt);

/* Energy that the last step of a system could not account for (J); 0 where that is less than a
 * millionth of the system's. */
double gw_body_systems_energy_error(const gw_scene_dynamics *dynamics);

/* Before and after a step: hands, of persons and of second tools. */
void gw_body_systems_pre_step(gw_scene_dynamics *dynamics);
void gw_body_systems_post_step(gw_scene_dynamics *dynamics);

void gw_body_systems_publish(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);
void gw_body_systems_publish_step(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);

/* ---- scene_dynamics.c ------------------------------------------------------------------------ */

/* A hand at a body of that mass takes a command: drag, release or push. */
void gw_free_body_hand_take(gw_free_body_hand *hand, const gw_command *command, const gw_mass *mass,
                            gw_vec3 gravity, double dt);

/* ---- free_bodies.c -------------------------------------------------------------------------- */

/* One for each object that is free, not held and in no system of bodies. Not RT safe. */
bool gw_free_bodies_create(gw_scene_dynamics *dynamics, const gw_scene_dynamics_def *def,
                           gw_error *error);
void gw_free_bodies_destroy(gw_scene_dynamics *dynamics);

void gw_free_bodies_reset(gw_scene_dynamics *dynamics);
int gw_free_bodies_projected_body(const gw_scene_dynamics *dynamics); /* -1: none */
void gw_free_bodies_carry_over(gw_scene_dynamics *dynamics, const gw_scene_dynamics *old,
                               gw_kinematics *kinematics, const gw_transition_limits *limits);

void gw_free_bodies_publish(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);
void gw_free_bodies_publish_step(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);

#endif
