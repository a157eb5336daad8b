/*
 * What the files of an assembly share: its relations as terms between two bodies. Those of
 * assembly.c come out of a scene, assembly_solve.c moves the bodies.
 */
#ifndef GW_SCENE_ASSEMBLY_PRIVATE_H
#define GW_SCENE_ASSEMBLY_PRIVATE_H

#include "rt/base/block_cholesky.h"
#include "rt/dynamics/system.h"
#include "rt/positioning/cluster.h"
#include "rt/scene/assembly.h"

typedef enum gw_term_kind {
    GW_TERM_POINT, /* m on f */
    GW_TERM_LINE,  /* m on the line along F's z through f */
    GW_TERM_PLANE, /* m on the plane across F's z through f */
    GW_TERM_AXIS,  /* direction m along direction f */
    GW_TERM_SCREW, /* m's way along F's z = the pitch times the turn about it */
    GW_TERM_TOUCH, /* two surfaces, one of which bends, along their common normal */
    GW_TERM_RIM,   /* a rim with centre m on the plane across F's z through f */
    GW_TERM_ROW    /* a row of b_from_a */
} gw_term_kind;

typedef struct gw_term {
    gw_term_kind kind;
    int a, b;             /* bodies */
    gw_vec3 m, f;         /* in a and in b */
    gw_quat a_turn, turn; /* of M in a (screw; rim: its z is the axis) and of F in b */
    double amount;        /* the screw's pitch (m/rad), the rim's radius (m), of a row what it is
                             to be (m or 1) */
    gw_row row;
    gw_closure_contact *contact; /* whose place moves along */
    double *aa, *bb, *ab;        /* blocks of the normal equations, NULL: of a body that stands */
    bool transposed;             /* ab is of rows b and columns a */
} gw_term;

typedef enum gw_relation_kind {
    GW_RELATION_CONSTRAINT,
    GW_RELATION_JOINT,
    GW_RELATION_LINK
} gw_relation_kind;

typedef struct gw_relation {
    gw_relation_kind kind;
    int index; /* in the scene; of a link's joint, its mechanism */
    int first, count;
    int component;           /* of the bodies that it moves; -1: it moves none */
    gw_constraint_edge edge; /* of a positional constraint, between bodies */
} gw_relation;

/* A row's value, lengths over the size, and its gradients [u; on_a] and [-u; on_b] by the twists of
 * the bodies' origins in world axes, velocities over the size. */
typedef struct gw_pair_row {
    double h;
    gw_vec3 u, on_a, on_b;
} gw_pair_row;

struct gw_assembly {
    const gw_scene *scene;
    int body_count; /* objects, links, the world, which is the last one */
    int moving_count, term_count, relation_count;
    gw_pose *poses, *before, *best, *given; /* by body */
    int *unknown;                           /* by body: its number among those that move, or -1 */
    int *body_of;                           /* of each that moves */
    int *component;                         /* by unknown */
    int first_link[GW_MAX_MECHANISMS];      /* its body; -1: the mechanism stands */
    gw_term *terms;
    gw_closure_contact *contacts; /* of terms, as many as constraints at most */
    int contact_count;
    gw_relation *relations;
    double size;
    gw_block_matrix *matrix;
    double *g, *step; /* six entries an unknown */
};

/* assembly.c: writes the terms of a positional constraint for the sense that the bodies have. */
void gw_assembly_resolve(gw_assembly *assembly, gw_relation *relation);

/* assembly_solve.c: the rows of a term where the bodies are; returns how many, at most 3. */
int gw_assembly_rows(const gw_assembly *assembly, const gw_term *term, gw_pair_row rows[3]);

/* The largest row of a relation (m; angles times the size), and whether that is
 * within GW_ASSEMBLY_HELD. */
double gw_assembly_residual(const gw_assembly *assembly, const gw_relation *relation);
bool gw_assembly_holds(const gw_assembly *assembly, const gw_relation *relation);

#endif
