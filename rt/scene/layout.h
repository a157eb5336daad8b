/*
 * The layout of a scene: its constraint graph solved, object by object, with a branch chosen for
 * each and how it moves with the hands.
 *
 * Objects are solved outward from fixed ones (framework III-B): each is placed relative to fixed
 * objects and those placed before it. An object that is placed relative to a held one follows it.
 * Objects in a loop that cannot be placed one after the other are solved as one cluster. README.md
 * describes the order.
 *
 * Built by the server's threads, then read only. Not for use inside a tick.
 */
#ifndef GW_SCENE_LAYOUT_H
#define GW_SCENE_LAYOUT_H

#include "rt/scene/scene_system.h"

/* How an object moves while hands move. */
typedef enum gw_object_motion {
    GW_OBJECT_STATIC,  /* no neighbour moves */
    GW_OBJECT_HELD,    /* a tool moves it */
    GW_OBJECT_CARRIED, /* all its neighbours move as one rigid body: it moves with them */
    GW_OBJECT_SOLVED,  /* its constraints are solved again every tick */
    GW_OBJECT_FREE     /* a dynamic body, or a member of a system of bodies */
} gw_object_motion;

/* The solved positioning problem of one moving object. Allocated only as far as its last branch:
 * never copied by value. */
typedef struct gw_placement {
    int object;              /* index in the scene */
    int tool;                /* index of the tool that holds it, -1: none */
    int rank;                /* its position in the order of solving */
    gw_object_motion follow; /* how it moves while hands move */
    int carrier;             /* GW_OBJECT_CARRIED: the object that it moves with */
    int cluster;             /* number of the cluster that it was solved in, -1: none */
    int cluster_dof;         /* freedoms of that cluster with all other bodies at rest */
    double length;           /* L of the metric: the body's radius of gyration (m) */
    gw_pose from;            /* the pose that nearest branches were measured from */
    int branch;              /* chosen branch, -1 where there is none */
    bool reused;             /* the solution is that of gw_layout_update()'s known layout */
    int count;               /* constraints, enabled ones only */
    int ids[GW_MAX_PROBLEM]; /* index of each in the scene */
    gw_constraint constraints[GW_MAX_PROBLEM];
    gw_solution solution;
} gw_placement;

/* An edge of the constraint graph: an enabled constraint with its references resolved, between
 * bodies of the scene. */
typedef struct gw_layout_edge {
    int index; /* in the scene's constraints */
    gw_constraint_edge edge;
    double length;  /* of the one that moves (m) */
    int feature[2]; /* a's and b's stated feature in the scene, -1: derived from the shape */
} gw_layout_edge;

typedef struct gw_layout {
    int count;
    gw_placement **placements; /* owned; one per object that is not fixed, scene order */
    gw_pose *poses;        /* owned; of the scene's bodies: objects as placed, links as stated */
    int edge_count;        /* edges */
    gw_layout_edge *edges; /* owned; with the senses that the poses have */
    int system_count;      /* systems of bodies, assembled */
    gw_scene_system **systems; /* owned */
    int *system_of;            /* owned; of every body of the scene, -1: it is in none */
} gw_layout;

/*
 * Solves the scene. `poses`: present poses, one per object, from which the nearest branches are
 * measured; NULL: the scene's own. A tool's stated branch is chosen if it exists. NULL with
 * GW_FAILED if memory is exhausted, GW_NOT_YET or GW_BAD_INPUT if the scene cannot be laid out,
 * GW_UNHANDLED if a system of bodies cannot be assembled. Incompatible or unhandled positioning
 * problems are a result, not an error: see gw_layout_unsolved().
 */
gw_layout *gw_layout_create(const gw_scene *scene, const gw_pose *poses, gw_error *error);

/* Results of an earlier layout of a scene, for reuse. */
typedef struct gw_layout_known {
    const gw_layout *layout;  /* NULL: none. An object with the same problem (poses, constraints and
                                 length) as the object of its index there takes over its solution,
                                 which is bitwise the same */
    gw_contact_starts starts; /* present contact points: contacts remain on these branches */
} gw_layout_known;

/* The same, reusing earlier results (`known` NULL: none). */
gw_layout *gw_layout_update(const gw_scene *scene, const gw_pose *poses,
                            const gw_layout_known *known, gw_error *error);

/* The contact points of its systems at the bodies' poses before the layout; at most `room` of them.
 * Returns how many. */
int gw_layout_contacts(const gw_layout *layout, gw_contact_start *contacts, int room);
void gw_layout_destroy(gw_layout *layout);

/* The first placement that has no solution, NULL where all have one. */
const gw_placement *gw_layout_unsolved(const gw_layout *layout);

/* True if every group of bodies that nothing moves can hold together; else with the error that such
 * a system has (scene_system.h). Their poses stay as they are. */
bool gw_layout_standing_hold(const gw_scene *scene, const gw_layout *layout, gw_error *error);

/* The placement of an object, NULL where it is fixed. */
const gw_placement *gw_layout_placement(const gw_layout *layout, int object);

/* The system of a body of the scene, and its number there; NULL: it is in none, or the layout is
 * unsolved. */
const gw_scene_system *gw_layout_system(const gw_layout *layout, int number, int *body);

/* Number of velocity freedoms at the laid out poses: of systems, of held and free objects on their
 * own, and of mechanisms; massless followers do not count. */
int gw_layout_mobility(const gw_scene *scene, const gw_layout *layout);

/* Flags of the scene's constraints and joints, in the caller's arrays, all false at first. */
typedef struct gw_redundant_relations {
    bool *constraints, *joints;
} gw_redundant_relations;

/* Marks relations that can be removed together without changing the possible motions, later ones of
 * the scene first; relations of more than 120 bodies that are connected in loops are left out.
 * False if memory is exhausted. */
bool gw_layout_redundant(const gw_scene *scene, const gw_layout *layout,
                         gw_redundant_relations *out);

/* The largest residual of the scene's enabled constraints and joints at these poses, one per body
 * of the scene (m; angles times the moving body's length): recomputed from the features, not from
 * the branches. */
double gw_layout_residual(const gw_layout *layout, const gw_pose *poses);

#endif
