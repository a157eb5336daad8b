/*
 * Systems of bodies in a scene: which objects move together as one mechanical system, and the trees
 * and closures that make it one (rt/dynamics/system.h).
 *
 * Held objects, free objects, and all bodies that enabled constraints, joints or springs connect to
 * one of them, directly or through others, have mass; massless objects only follow. A held or free
 * object that is connected only to fixed ones, by constraints alone, is not a system of this kind:
 * it is a guided body on its own submanifold (rt/dynamics/guided.h); except for one whose set has
 * no closed form and depends on a free-form shape with bends, at which steps of a system end.
 *
 * Built by the server's threads, then read only. Not for use inside a tick.
 */
#ifndef GW_SCENE_SCENE_SYSTEM_H
#define GW_SCENE_SCENE_SYSTEM_H

#include "rt/dynamics/system.h"
#include "rt/positioning/cluster.h"
#include "rt/scene/contact_start.h"

/* One body of a system. */
typedef struct gw_system_member {
    int number;   /* of the scene's bodies: objects, then links */
    int joint;    /* joint of the scene that is its mobilizer; -1: none */
    int freedoms; /* of its motion at the assembled poses: rank of J_b on the rows' null space */
} gw_system_member;

/* A joint of the scene as part of a system. */
typedef struct gw_placed_joint {
    int joint; /* index in the scene */
    gw_mobilizer type;
    double pitch;
    int a, b;         /* bodies, or grounds */
    int body;         /* the body whose mobilizer it is; -1: it is a closure, */
    int closure;      /* of this number, of a's body, or of b's if a is a ground */
    gw_pose a_from_m; /* frames in the bodies, or in the world at the laid out poses */
    gw_pose b_from_f;
} gw_placed_joint;

/* A closure of two surfaces in permanent contact, on the scene's objects a and b, by a constraint
 * of the scene. */
typedef struct gw_placed_contact {
    int closure, a, b, constraint;
    uint64_t key;           /* gw_contact_key() */
    gw_contact_point first; /* contact point before the system was assembled, */
    gw_contact_point point; /* and after */
    bool continues;         /* followed from a given start, without a search */
} gw_placed_contact;

/* A closure for one contact point of a unilateral contact, by a constraint of the scene. */
typedef struct gw_placed_unilateral {
    int closure, constraint;
    int number; /* of the contact point, among those of gw_scene_unilateral_contacts() */
} gw_placed_unilateral;

/* A joint coordinate that the scene's poses, without a stated position, have beyond its limits. */
typedef struct gw_beyond_limits {
    int number; /* body of the scene whose mobilizer it is; -1: none is beyond */
    int joint;  /* of the scene; -1: that of the link */
    int coordinate;
    double was, now; /* at the scene's poses, and at the laid out poses (m, rad) */
    double lower, upper;
} gw_beyond_limits;

/* A stated motion that the relations do not allow, changed at tick 0. */
typedef struct gw_projection {
    int number;            /* body of the scene; -1: none */
    int joint;             /* of the scene, displaced from its stated position; -1: none */
    double stated, actual; /* of that joint's coordinate that differs most (m, rad) */
} gw_projection;

typedef struct gw_scene_system {
    int body_count; /* members first, then halves of members that a joint closes a loop with, and
                       fixed objects that roll or slide on members */
    int member_count, closure_count, joint_count, spring_count;
    gw_system_member *members;  /* owned; by body */
    gw_system_body_def *bodies; /* owned; where the system is assembled */
    gw_closure_def *closures;   /* owned */
    gw_placed_joint *joints;    /* owned */
    int contact_count;
    gw_placed_contact *contacts; /* owned */
    int unilateral_count;
    gw_placed_unilateral *unilaterals; /* owned */
    gw_system_spring_def *springs;     /* owned */
    int ground_count;
    int *grounds; /* owned: each ground that may move: the index of a fixed object, or the number of
                     objects plus the index of a mechanism whose base it is */
    gw_vec3 gravity;
    double length;           /* m: scales angles of rows */
    double dt;               /* of a step (s) */
    int mobility;            /* velocity freedoms at the assembled poses */
    gw_projection projected; /* gw_scene_system_projection() */
    gw_beyond_limits beyond; /* the largest excess; laid out at the limit if loops allow that */
} gw_scene_system;

/* Converts an error at closure `open.where` to one that names the scene's constraint, if the
 * closure is a contact. Returns false. */
bool gw_scene_system_refuse(const gw_scene *scene, const gw_scene_system *system,
                            const gw_error *open, gw_error *error);

/* While a system is built: sets coordinates of a body's joint that are beyond its limits to the
 * limit, and records the largest excess in `beyond`. */
void gw_scene_system_keep_within_limits(gw_scene_system *system, int body);

/* Makes room for so many closures, and unilateral ones among them; false if memory is short. */
bool gw_scene_system_make_room(gw_scene_system *system, int closures, gw_error *error);

/* Replaces limits without play by closures that hold the coordinate; false if memory is short. */
bool gw_scene_system_lock_coordinates(gw_scene_system *system, gw_error *error);

/* After assembly: sets the initial pose of a body on a submanifold, relative to its parent, to that
 * of `model`; and records the contact points of `system`, with `points` also in the closures. */
void gw_scene_system_keep_start(gw_scene_system *s, const gw_model *model, int body);
void gw_scene_system_keep_contacts(gw_scene_system *s, const gw_system *system, bool points);

/* Records the largest excess beyond a limit of a joint in a loop, after assembly. */
void gw_scene_system_note_beyond_limits(gw_scene_system *system);

/* Numbers the systems of a scene: of_body[i] is the system of the scene's body i, -1 where it is in
 * none. Standing: instead those that would be systems if one of their bodies moved, and have
 * relations that the layout does not solve. Returns their number, or -1 when memory is short. */
int gw_scene_number_systems(const gw_scene *scene, bool standing, int *of_body);

/*
 * The system `number` of a scene, assembled: stated joint positions first, then where `poses` (one
 * per body) have the bodies, then the nearest pose in the mass metric where all closures hold.
 * `poses` of its bodies become those of the assembled system. `edges` are the scene's enabled
 * two-sided constraints, whose ends are numbers of the scene's bodies. Contacts that are among
 * `starts` (NULL: none) are followed from there; they are searched for where that ends, or leads to
 * no pose at which the system holds together. NULL with an error: memory,
 * too many bodies, surfaces that cannot touch (GW_BAD_INPUT), relations that are not held together
 * from any start (GW_UNHANDLED, with the pointer of the one that stays open farthest).
 */
gw_scene_system *gw_scene_system_create(const gw_scene *scene, const int *of_body, int number,
                                        const gw_constraint_edge *const *edges, int edge_count,
                                        const gw_contact_starts *starts, gw_pose *poses,
                                        gw_error *error);
void gw_scene_system_destroy(gw_scene_system *system); /* NULL is fine */

/* Moves the bodies of system `number` from arbitrary poses to poses that satisfy its relations;
 * false if some remain, which `error` names. */
bool gw_scene_system_assemble(const gw_scene *scene, const int *of_body, int number, gw_pose *poses,
                              gw_error *error);

/* The length that scales angles of the system's rows: extent of its bodies about their centre
 * (m). */
double gw_scene_system_length(const gw_scene *scene, const int *of_body, int number,
                              const gw_pose *poses);

/* Difference of a body's twist from the stated one, relative to that or to `least` (m/s plus rad/s)
 * where that is more; from GW_PROJECTED_SHARE on, its relations do not allow the stated twist. */
#define GW_PROJECTED_SHARE 1e-6
/* Largest difference from a joint's stated position that is not reported, for positions are rounded
 * in files (rad, or shares of the system's length). */
#define GW_DISPLACED 1e-3
double gw_projected_share(const gw_twist *stated, const gw_twist *now, double least);

/* The body of the scene whose stated velocity, or whose joint's stated velocity or position,
 * differs most from its initial one in `system`, which was just created from `s`. */
gw_projection gw_scene_system_projection(const gw_scene *scene, const gw_scene_system *s,
                                         gw_system *system);

/* Its definition, for gw_system_create(). */
gw_system_def gw_scene_system_def(const gw_scene_system *system);

/* Largest residual of its joints with the bodies at `poses` (m; angles times the length): the
 * distance of each joint's M from the nearest pose that its type allows. */
double gw_scene_system_residual(const gw_scene_system *system, const gw_pose *poses);

#endif
