/*
 * Where every object of a scene may be: the constraints of the document gathered per moving
 * object, solved, a branch chosen, the object placed on it.
 *
 * Objects are solved outward from fixed ones (framework III-B): an object that is not fixed is
 * placed against fixed objects and those placed before it. An object held by a tool is placed
 * last, so that nothing else depends on where the hand takes it; a constraint that would make
 * another object follow a held one is refused by name.
 *
 * Built by the server's threads, then read only. Not for use inside a tick.
 */
#ifndef GW_SCENE_LAYOUT_H
#define GW_SCENE_LAYOUT_H

#include "rt/scene/scene.h"

/* The solved positioning problem of one moving object. Allocated only as far as its last branch:
 * never copied by value. */
typedef struct gw_placement {
    int object;              /* index in the scene */
    int tool;                /* index of the tool that holds it, -1: none */
    double length;           /* L of the metric: the body's radius of gyration (m) */
    gw_pose from;            /* the pose that nearest branches were measured from */
    int branch;              /* chosen branch, -1 where there is none */
    int count;               /* constraints, enabled ones only */
    int ids[GW_MAX_PROBLEM]; /* index of each in the scene */
    gw_constraint constraints[GW_MAX_PROBLEM];
    gw_solution solution;
} gw_placement;

typedef struct gw_layout {
    int count;
    gw_placement **placements; /* owned; one per object that is not fixed, scene order */
    gw_pose *poses;            /* owned; world_from_object of every object, placed */
    int joint_count;
    struct gw_joint *joints; /* owned; the enabled constraints by object and element */
} gw_layout;

/*
 * Solves the scene. `poses`, one per object, or NULL for the scene's own: where the objects are
 * now (nearest branches are measured from there). A tool's stated branch is taken where it exists.
 * NULL with GW_FAILED when memory is short, with GW_NOT_YET or GW_BAD_INPUT when an edit asks what
 * cannot be laid out. Incompatible or unhandled problems are an answer, not an error: see
 * gw_layout_problem().
 */
gw_layout *gw_layout_create(const gw_scene *scene, const gw_pose *poses, gw_error *error);
void gw_layout_destroy(gw_layout *layout);

/* The first placement that has no solution, NULL where all have one. */
const gw_placement *gw_layout_problem(const gw_layout *layout);

/* The placement of an object, NULL where it is fixed. */
const gw_placement *gw_layout_of(const gw_layout *layout, int object);

/* The largest residual of the scene's enabled constraints at these poses, one per object (m; angles
 * times the moving body's length): recomputed from the features, not from the branches. */
double gw_layout_residual(const gw_layout *layout, const gw_pose *poses);

#endif
