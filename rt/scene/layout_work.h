/*
 * Inside of the layout: what its parts share while it is being built. One server thread.
 */
#ifndef GW_SCENE_LAYOUT_WORK_H
#define GW_SCENE_LAYOUT_WORK_H

#include "rt/scene/layout.h"

typedef struct gw_layout_work {
    const gw_scene *scene;
    const gw_pose *from; /* where the objects are, NULL: where the scene has them */
    gw_layout *layout;

    /* per object */
    int *tool;       /* that holds it, -1 */
    bool *with_hand; /* joined to a held object, by way of objects that may move */
    int *first;      /* of its joints in `joint_of`; one more entry closes the list */
    int *joint_of;   /* indices of joints, object by object */

    /* per object, learnt from one round to the next */
    bool *ahead;  /* goes before what is held, since it cannot follow */
    int *cluster; /* that it is solved in, -1 */
    int cluster_count;

    /* per object, in a round */
    bool *placed;
    bool *loose;  /* could be elsewhere: it has freedoms or branches, or stands on what has */
    int *carrier; /* the object that it moves as one with, -1: it does not move */
    gw_body_jacobian *motions; /* with the freedoms of what is held; NULL without tools */
    int columns;
    bool again; /* something was learnt: begin anew */

    gw_solution *scratch;
    gw_placement *draft;
    gw_cluster_work *cluster_work;
} gw_layout_work;

/* ---- layout_order.c -------------------------------------------------------------------------- */

/* Fills with_hand and the lists of joints; false when memory is short. */
bool gw_layout_connect(gw_layout_work *w);

/* The other object of a joint of `object`. */
int gw_layout_other(const gw_layout_edge *joint, int object);

/* The next object to place, -1 when all are. */
int gw_layout_next(const gw_layout_work *w);

/* ---- layout_follow.c ------------------------------------------------------------------------- */

/* Places all objects of a cluster together; false where no common pose was found. */
bool gw_layout_solve_cluster(gw_layout_work *w, int cluster);

/* Freedoms of the cluster while all else stands. */
int gw_layout_cluster_dof(const gw_layout_work *w, int cluster);

/* Enters how the placed objects of `placements` (one, or a cluster's) move with the hands: `follow`
 * and `carrier`. False where they cannot follow whichever way those go. */
bool gw_layout_move_with(gw_layout_work *w, gw_placement *const *placements, int count);

/* An object that has no pose, or cannot follow: learns what to do otherwise, and asks for another
 * round; false where nothing is left to try. */
bool gw_layout_learn(gw_layout_work *w, const gw_placement *p);

#endif
