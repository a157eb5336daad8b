/*
 * The structures of a scene's dynamics, shared by scene_dynamics*.c, body_systems*.c,
 * free_bodies.c, unilateral_rows.c, joint_limits.c and edge_rows.c.
 */
#ifndef GW_SIM_SCENE_DYNAMICS_PRIVATE_H
#define GW_SIM_SCENE_DYNAMICS_PRIVATE_H

#include "rt/sim/scene_dynamics.h"
#include "rt/sim/operators.h"
#include "rt/contact/unilateral_row.h"
#include "rt/dynamics/guided.h"

/* A drag or push of a body by a person. */
typedef struct gw_free_body_hand {
    gw_drag drag;
    gw_wrench push;
    gw_wrench acting; /* both in the last step, at the origin, world axes */
    gw_pose start;    /* of that step */
} gw_free_body_hand;

/* A free body on the submanifold of its constraints. */
typedef struct gw_dynamic_free_body {
    char id[GW_MAX_ID + 1];
    uint64_t name;   /* its hash */
    int object;      /* and its number as a body */
    char branch[16]; /* id of its set; empty: no constraints */
    gw_guided_def def;
    gw_pose pose;
    gw_twist twist; /* of the origin */
    gw_begin begin;
    gw_free_body_hand hand;
    gw_transition transition; /* to the set that an edit gave it, displayed at its final pose */
    gw_pose landing;
    bool arrived; /* the transition ended in this tick */
    gw_guided body;
} gw_dynamic_free_body;

/* A moving ground of a system: a fixed object, or a mechanism's base. */
typedef struct gw_dynamic_ground {
    int object;               /* index in the scene; -1: a base */
    uint64_t name;            /* hash of its id, or the mechanism's */
    gw_pose start;            /* as laid out */
    gw_transition transition; /* of a base that an edit has moved */
} gw_dynamic_ground;

/* The point at which a joint's wrench is reported, at the step's start. */
typedef struct gw_joint_place {
    gw_vec3 at;  /* the origin of a's frame, in the world (m) */
    gw_vec3 arm; /* from there to the origin of the body whose wrench is known (m) */
} gw_joint_place;

/* The mobilizer of a body of a system, or of the massless half of a body split to close a loop. */
typedef struct gw_dynamic_mobilizer {
    int parent;    /* parent body, or a ground */
    uint64_t name; /* hash of the id of its joint in the scene, or of its link's name; 0: neither */
    gw_begin begin; /* initial state of its body after an edit; GW_BEGIN_GO_ON for a half */
    bool carried;   /* scratch: by an ancestor's joint that begins elsewhere */
} gw_dynamic_mobilizer;

/* A system of bodies. Its memory is owned. */
typedef struct gw_dynamic_system {
    const gw_scene_system *from; /* during creation only */
    bool mechanism;              /* the links of one mechanism only, without closures */
    gw_resisted_def resisted;    /* of the tool that holds it */
    double strain;               /* of its local model; above 1 the system is braked */
    double owed; /* energy added by new local models and not yet removed from the motion (J) */
    gw_system *system;
    int body_count, held; /* the body that the first tool holds; 0 if none does */
    int *numbers;         /* per body: its number in the scene, objects first, then links */
    uint64_t *names;      /* hashes of their ids */
    uint64_t *labels;     /* hashes of their names in commands: "mechanism.number" for links */
    gw_vec3 *coms;        /* in the bodies' frames (m) */
    double mass;          /* of all bodies (kg) */
    gw_dynamic_mobilizer *mobilizers; /* of bodies, then of halves */
    gw_joint_before *before;          /* scratch, one per mobilizer */
    bool has_closures;
    gw_free_body_hand *hands;
    gw_pose *poses; /* scratch, per body and ground */
    gw_twist *twists;
    gw_projection projected; /* gw_scene_system_projection() */
    int ground_count;
    gw_dynamic_ground *grounds;
    gw_transition joining; /* of the largest joint offset after an edit, along x */
    double apart;          /* that offset (m; rad if there is no translational one) */
    bool joined;           /* the transition ends in this tick */
    bool grounds_move;     /* a ground moves in this tick */
    double *work;          /* scratch, 7 entries per degree of freedom */
    gw_wrench hand;        /* of the first tool, at the start of the last step */
    int joint_count;
    gw_placed_joint *joints;
    int *coordinates;             /* per joint: index of its first coordinate in the scene */
    gw_joint_place *joint_places; /* of each joint */
    int contact_count;
    gw_placed_contact *contacts;
} gw_dynamic_system;

/* A row of a unilateral constraint of the scene, which may have several. */
typedef struct gw_scene_unilateral_row {
    gw_unilateral_row row;
    gw_contact_point start;                      /* of curved surfaces, at tick 0 */
    gw_distance_minimum minima[GW_BOUND_MINIMA]; /* of a bound, at tick 0 */
    uint64_t key;                                /* gw_contact_key(), of surfaces */
    int first, point_count; /* the rows of one contact, one per point; 0: no points */
    int support;            /* index of the rim's or line's supporting point; -1: none */
    bool line;              /* of the first row: supporting points are traced along a line; */
    bool closed;            /* it comes back to its beginning */
    double until_trace;     /* time until one is traced again (s) */
    bool part_of_solid;     /* it is the side or a cap of a solid cylinder */
    int sheet;              /* of an edge: the first row of its sheet's contact, else -1; */
    gw_pose seen, last;     /* of an edge's first row: a in b when its contact points were followed
                               last, and in     the last step; */
    double clear;           /* no contact point was nearer than that then (m) */
    bool exchanged;         /* a is the body with the edge, which is the constraint's b */
    gw_contact_point under; /* of the contact's first row: closest point of b to a's centre */
    int trial; /* of the first row: the next trial of the search for another contact point, */
    double until_search;        /* and the time until it (s); */
    gw_vec3 searched_at;        /* a's centre in b at the last one */
    double size;                /* gw_contact_size() */
    bool past;                  /* of the first row: the search has found penetrating surfaces */
    int constraint;             /* index in the scene */
    int body[2];                /* of the scene: objects, then links */
    gw_geometry_feature end[2]; /* of a bound */
    int anchor[2];              /* -1: none */
    int number[2]; /* index among the unilateral constraints of each object (gw_scene_unilateral()),
                     or -1 */
    gw_unilateral_state now; /* after the last step; gap INFINITY before the first step */
} gw_scene_unilateral_row;

/* A body of the contact world that represents a stated feature of a fixed object. */
typedef struct gw_unilateral_anchor {
    gw_geometry_feature end;
    gw_pose at, start; /* poses of the frame in which the element is constant: now, at tick 0 */
} gw_unilateral_anchor;

/* The search for contact points of a bound of the distance from a free-form shape (bound_minima.c).
 */
typedef struct gw_bound_search {
    int first, rows;         /* one has all contact points, or each row has one */
    int start_count, cursor; /* the next part of the shape to be tried */
    gw_distance_start starts[GW_DISTANCE_STARTS];
    double due[GW_DISTANCE_STARTS]; /* the distance moved (m) at which each is tried again */
    double moved;                   /* m, since the search began */
    double margin, flat;            /* m: gaps of minima and of supports that are kept */
    gw_element seen;                /* the other element from the shape at the last step */
    bool fresh;                     /* nothing has been searched yet */
} gw_bound_search;

/* Room for GW_MAX_WORLD_UNILATERALS rows, and twice as many anchors, where the scene has a
 * unilateral constraint; else for none. The memory is owned. */
typedef struct gw_scene_unilaterals {
    int count, anchor_count, first_anchor;
    gw_scene_unilateral_row *rows;
    gw_contact_candidate *candidates;
    gw_unilateral_anchor *anchors;
    int search_count;
    gw_bound_search *searches;
    gw_unilateral_state *states; /* scratch, GW_MAX_CONTACT_CANDIDATES */
} gw_scene_unilaterals;

#define GW_CONTACT_FOLLOWED 0.05 /* m: with a larger gap they are no candidates */

/* True if a row of the contact but `but` has this contact point; supporting points do not count. */
bool gw_contact_point_is_taken(const gw_scene_unilaterals *u, const gw_scene_unilateral_row *first,
                               int but, const gw_contact_point *point);

/* A row of the contact without a contact point; NULL: none. */
gw_scene_unilateral_row *gw_unplaced_row(gw_scene_unilaterals *u,
                                         const gw_scene_unilateral_row *first);

/* Finds supporting points along the line on which the surfaces nearly touch at a contact point
 * (line_supports.c); false: there is none. */
bool gw_line_trace(gw_scene_unilaterals *u, gw_scene_unilateral_row *first,
                   const gw_contact_point *near, const gw_pose *a, const gw_pose *b);
bool gw_line_is_traced(const gw_scene_unilaterals *u, const gw_scene_unilateral_row *first);

/* Traces the line near a contact point at which the surfaces bend nearly alike, if it is due, and
 * forgets its points where they do not or are far from one another. `gap` of the rows is updated.
 * Returns true if its supporting points may come into contact: the surfaces do not rest on a
 * contact point beside the line. */
bool gw_line_follow(gw_scene_unilaterals *u, gw_scene_unilateral_row *first, double dt,
                    const gw_pose *a, const gw_pose *b, double *gap);

/* Finds the lowest points of a line that no row has yet: near a supporting point lower than its
 * neighbours. */
void gw_line_find_lowest(gw_scene_unilaterals *u, const gw_scene_unilateral_row *first,
                         const gw_pose *a, const gw_pose *b, double *gap);

/* A limit of a coordinate of a system's joint. */
typedef struct gw_joint_limit {
    gw_unilateral_row row;
    int system, body,
        coordinate;          /* the joint's body in the system, and the coordinate of the joint */
    int at;                  /* index of the coordinate in the system */
    double rate;             /* its velocity in the step before */
    gw_unilateral_state now; /* after the last step */
} gw_joint_limit;

typedef struct gw_joint_limits {
    int count, most, first; /* first: among the world's unilateral constraints */
    gw_joint_limit *of;     /* owned, as the others */
    gw_contact_candidate *candidates;
    double *work;
    int followed; /* number of rows active in this step */
    bool fresh;   /* forces may have changed since the step before */
} gw_joint_limits;

/* An edge of a surface, or an end of a curve, in a closure of a system. */
typedef struct gw_edge_row {
    gw_unilateral_row row;
    int system;
    double before;           /* distance from the edge at the start of the step before (m) */
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
    double *still;                           /* initial coordinates as stated; owned */
    int tool_world_system[GW_MAX_TOOLS];     /* index of each tool's world system */
    gw_model *second[GW_MAX_TOOLS]; /* per tool: its view of the system if it is the second tool
                                       there, else NULL */
    gw_world_system
        second_world_system[GW_MAX_TOOLS]; /* world system that such a tool fills in and reads */
    int world_system_count; /* held objects, then free bodies, then systems of bodies */
    int first_free, first_system;
    gw_world_system *world_systems; /* owned */
    gw_dynamic_free_body *bodies;
    gw_dynamic_system *systems;
    gw_scene_unilaterals *unilaterals; /* owned */
    gw_joint_limits limits;
    gw_edge_rows edges;

    int object_count, body_count;
    int world_body_count;   /* bodies, then anchors of unilateral constraints, then the ground */
    int held[GW_MAX_TOOLS]; /* object of world system i, i < held_count */
    uint64_t held_names[GW_MAX_TOOLS]; /* hashes of their ids */
    gw_world *world;                   /* NULL: nothing touches */
    gw_detection *detection;
    gw_local_models *locals; /* NULL: all models are exact */
    struct pair_filter *
        pair_filter; /* the pairs that may touch, with their contact properties, for the detector */
    uint64_t *names; /* per body: hash of its id, to identify it after an edit */
    gw_pose *placed; /* per body: the last pose of an object without a model */
    gw_detection_body *moved; /* bodies without a model placed since the last publication */
    int *moved_at;            /* per object: 1 + its index in `moved`; 0: not there */
    int moved_count, moved_most;
    gw_detection_body *published; /* room for all moving bodies */

    /* sums since tick 0 or the last switch (J) */
    double work, dissipated, motors, edits; /* work: of hands at free bodies */
    gw_contact_statistics contact;
    gw_world_step_result last;
    bool was_jammed, immovable;
    bool was_crowded, crowded;     /* collisions were deferred less than a second ago */
    double quiet;                  /* time since the last deferred collision (s) */
    double was_strained, strained; /* the largest strain of all systems */
    gw_dynamics_findings found;    /* in the last step */
};

/* ---- unilateral_rows.c ---------------------------------------------------------------------- */

/* The unilateral constraints of the scene. NULL with an error. Not RT safe. */
gw_scene_unilaterals *gw_scene_unilaterals_create(const gw_scene_dynamics_def *def,
                                                  gw_error *error);
void gw_scene_unilaterals_destroy(gw_scene_unilaterals *unilaterals); /* NULL is allowed */

/* Numbers the anchors as bodies of the world, from `first_anchor` on. Not RT safe. */
void gw_scene_unilaterals_number(gw_scene_unilaterals *unilaterals, int first_anchor);

/* Connects rows of surfaces with the closures of the systems that may hold them. */
void gw_scene_unilaterals_find_closures(gw_scene_dynamics *dynamics,
                                        const gw_scene_dynamics_def *def);

/* The object of an anchor. */
int gw_scene_unilaterals_object(const gw_scene_unilaterals *unilaterals, int body);

/* Resets all rows and anchors; or moves anchors to the present geometry, `dt` after their last pose
 * (s; 0: at rest). */
void gw_scene_unilaterals_reset(gw_scene_unilaterals *unilaterals, gw_world *world);
void gw_scene_unilaterals_move(gw_scene_unilaterals *unilaterals, gw_world *world,
                               const gw_kinematics *kinematics, double dt);

/* Before a step, for curved surfaces: follows the known contact points, and makes some trials of
 * the search for others. */
void gw_scene_unilaterals_pre_step(gw_scene_dynamics *dynamics, double dt);

/* The first constraint whose surfaces penetrate at the step's start, too deeply or without a
 * contact point; -1: none. */
int gw_scene_unilaterals_degenerate(const gw_scene_unilaterals *unilaterals);

/* Takes over contact points from before an edit. */
void gw_scene_unilaterals_carry_over(gw_scene_unilaterals *unilaterals,
                                     const gw_scene_unilaterals *old);

/* After a step: takes over the world's state of these rows, and of joint limits and edges. */
void gw_scene_unilaterals_update(gw_scene_dynamics *dynamics);

/* The unilateral constraints at a body (of the scene: objects, then links); wrench about a point
 * (world). */
gw_unilaterals_at gw_scene_unilaterals_at(const gw_scene_unilaterals *unilaterals, int body,
                                          gw_vec3 point);

/* ---- bound_minima.c -------------------------------------------------------------------------- */

/* A search for the contact points of `rows` rows from `first` on. */
void gw_bound_search_init(gw_bound_search *search, const gw_scene_unilaterals *unilaterals,
                          int first, int rows);

/* Searches for all contact points with the bodies at these poses. */
void gw_bound_search_begin(gw_scene_unilaterals *unilaterals, gw_bound_search *search,
                           const gw_pose *a, const gw_pose *b);

/* Before a step: follows the contact points, and searches for others. */
void gw_bound_searches_pre_step(gw_scene_dynamics *dynamics);

/* ---- joint_limits.c -------------------------------------------------------------------------- */

/* Allocates the limits of all systems (false: no memory); then builds their rows, with `ground` the
 * fixed body of the world. Not RT safe. */
bool gw_joint_limits_create(gw_scene_dynamics *dynamics, const gw_scene_dynamics_def *def);
void gw_joint_limits_build(gw_scene_dynamics *dynamics, const gw_scene_dynamics_def *def,
                           int ground);
void gw_joint_limits_destroy(gw_joint_limits *limits);

/* Adds the wrench of a joint's limits on the side of M at the step's start, about a point (world).
 * Impulses of collisions are not included. */
void gw_joint_limits_add_wrench(const gw_scene_dynamics *dynamics, int system, int body,
                                gw_vec3 point, gw_wrench *wrench);

/* Before a step: selects the limits that may become active. */
void gw_joint_limits_pre_step(gw_scene_dynamics *dynamics, double dt);

/* ---- edge_rows.c ----------------------------------------------------------------------------- */

/* Allocates the edges of all systems (false: no memory); then builds their rows, which replace the
 * systems' edge springs. Not RT safe. */
bool gw_edge_rows_create(gw_scene_dynamics *dynamics);
void gw_edge_rows_build(gw_scene_dynamics *dynamics, int ground);
void gw_edge_rows_destroy(gw_edge_rows *edges);

/* Resets the rows with the systems; and before a step selects the edges that may become active. */
void gw_edge_rows_reset(gw_edge_rows *edges);
void gw_edge_rows_pre_step(gw_scene_dynamics *dynamics, double dt);

/* The first active edge after the step; -1: none. */
int gw_edge_rows_touching(const gw_edge_rows *edges);

/* ---- body_systems_carry.c ------------------------------------------------------------------- */

void gw_dynamic_system_rename(gw_dynamic_system *system, const gw_new_names *names);
void gw_body_systems_carry_over(gw_scene_dynamics *dynamics, const gw_scene_dynamics *old,
                                const gw_kinematics *kinematics,
                                const gw_transition_limits *limits);

/* True if the system is in a transition to the constraints of an edit, including its last tick. */
bool gw_dynamic_system_in_transition(const gw_dynamic_system *system);

/* Moves the systems' grounds over dt (s), with the geometry (NULL: none moves) and with transitions
 * of mechanism bases after an edit. */
void gw_body_systems_move_grounds(gw_scene_dynamics *dynamics, const gw_kinematics *kinematics,
                                  double dt);

/* ---- body_systems.c ------------------------------------------------------------------------- */

/* Creates a system for each one of the layout. False with an error. Not RT safe. */
bool gw_body_systems_create(gw_scene_dynamics *dynamics, const gw_scene_dynamics_def *def,
                            gw_error *error);
void gw_body_systems_destroy(gw_scene_dynamics *dynamics);

/* Switches the system to a local model of its present position, if the scene asks for local
 * models. */
void gw_body_systems_start_local(gw_scene_dynamics *dynamics, int index);

void gw_body_systems_reset(gw_scene_dynamics *dynamics);
/* Once a tick, for systems with local models: takes over the newest ones and publishes joint
 * positions. */
void gw_body_systems_exchange_locals(gw_scene_dynamics *dynamics, gw_detection_turn turn);

/* Brakes systems whose local model is too old or too far from their position. */
void gw_body_systems_brake(gw_scene_dynamics *dynamics, double dt);

/* Pose, twist and hand of the object with that name (a hash), if a system, a free body or a tool
 * moves it; else false. */
bool gw_scene_dynamics_find_body(const gw_scene_dynamics *dynamics, uint64_t name, gw_pose *pose,
                                 gw_twist *twist, gw_free_body_hand *hand);

/* System and body number of a link (counted over all mechanisms); false if it is in no system. */
bool gw_body_systems_find_link(const gw_scene_dynamics *dynamics, int link, int *system, int *body);

/* The same of the body whose joint a joint of the scene is. */
bool gw_body_systems_find_joint(const gw_scene_dynamics *dynamics, int joint, int *system,
                                int *body);

/* As gw_scene_dynamics_hand(); false if no system has that object. */
bool gw_body_systems_hand(gw_scene_dynamics *dynamics, const gw_command *command, double dt);

/* The largest error of a system's energy balance in the last step (J); 0 if below a millionth of
 * the system's energy. */
double gw_body_systems_energy_error(const gw_scene_dynamics *dynamics);

/* Before and after a step: applies the wrenches of persons' hands and of second tools, and sums
 * their work. */
void gw_body_systems_pre_step(gw_scene_dynamics *dynamics);
void gw_body_systems_post_step(gw_scene_dynamics *dynamics);

void gw_body_systems_publish(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);
void gw_body_systems_publish_step(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);

/* ---- scene_dynamics.c ------------------------------------------------------------------------ */

/* Applies a drag, release or push command to the hand at a body of that mass. */
void gw_free_body_hand_take(gw_free_body_hand *hand, const gw_command *command, const gw_mass *mass,
                            gw_vec3 gravity, double dt);

/* ---- free_bodies.c -------------------------------------------------------------------------- */

/* Creates a free body for each object that is free, not held and in no system of bodies. False with
 * an error. Not RT safe. */
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
