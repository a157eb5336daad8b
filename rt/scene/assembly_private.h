/*
 * Shared by the files of an assembly: its relations as terms between two bodies. assembly.c derives
 * the terms from a scene, assembly_solve.c minimises their residuals.
 */
#ifndef GW_SCENE_ASSEMBLY_PRIVATE_H
#define GW_SCENE_ASSEMBLY_PRIVATE_H

#include "rt/base/block_cholesky.h"
#include "rt/base/thread_pool.h"
#include "rt/dynamics/system.h"
#include "rt/positioning/cluster.h"
#include "rt/scene/assembly.h"

typedef enum gw_term_kind {
    GW_TERM_POINT, /* m on f */
    GW_TERM_ALONG, /* m at f along the axes of F along which the joint constrains it */
    GW_TERM_AXIS,  /* direction m along direction f */
    GW_TERM_SCREW, /* displacement of m along F's z = pitch times rotation about it */
    GW_TERM_TOUCH, /* two surfaces, at least one curved, along their common normal; or two curves */
    GW_TERM_RIM,   /* a rim with centre m on the plane across F's z through f */
    GW_TERM_ROW,   /* a row of b_from_a */
    GW_TERM_LIMIT, /* a joint's coordinate within its limits: no row while it is */
    GW_TERM_GEAR,  /* a joint's coordinate = the ratio times that of the next term + a constant */
    GW_TERM_GEARED /* that next one, without rows of its own */
} gw_term_kind;

typedef struct gw_term {
    gw_term_kind kind;
    int a, b;                /* bodies */
    gw_vec3 m, f;            /* in a and in b */
    gw_quat a_turn, turn;    /* of M in a (screw; rim: its z is the axis) and of F in b */
    double amount;           /* the screw's pitch (m/rad), the rim's radius (m), of a row what it is
                                to be (m or 1), the gear's ratio */
    gw_mobilizer joint;      /* M stands in F by it .. */
    int coordinate;          /* .. and, limit, gear, by this one of its coordinates (m, rad) */
    double lower, upper;     /* limit */
    double pitch;            /* of a screw's coordinate (m/rad) */
    double start, offset;    /* gear: the coordinate in the scene; the constant */
    int root;                /* gear: the term whose coordinate is turned first .. */
    double factor, constant; /* .. which this one is so many times, and that more */
    int searched;            /* of the rows whose closest points are searched for; -1: it is none */
    gw_row row;
    gw_closure_contact *contact; /* whose point moves along */
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
    bool limits;
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
    double *g, *step;              /* six entries an unknown */
    gw_thread_pool *pool;          /* NULL: the caller's thread alone */
    int searched_count, *searched; /* terms whose closest points are searched for, and .. */
    gw_pair_row *searched_rows;    /* .. their rows, GW_TERM_ROWS each */
    double searched_time;          /* that they took of late (us) */
};

/* assembly.c: adds a relation; adds to the newest relation a term for the frames, or a coordinate,
 * of a joint between M in a and F in b. */
gw_relation *gw_assembly_add_relation(gw_assembly *assembly, gw_relation_kind kind, int index);
gw_term *gw_assembly_add_joint_term(gw_assembly *assembly, gw_relation *relation, gw_term_kind kind,
                                    int a, const gw_pose *a_from_m, int b, const gw_pose *b_from_f,
                                    gw_mobilizer type, int coordinate);

/* The body of an end of a joint or a constraint, the world if it names none; the frame of a link's
 * joint in the link, whose z is the axis; a link's parent body, and F of the joint in it. */
int gw_assembly_body_named(const gw_assembly *assembly, const char *name);
gw_pose gw_assembly_axis_frame(const gw_link_def *link);
int gw_assembly_parent_frame(const gw_assembly *assembly, int mechanism, int link, gw_pose *f);

/* assembly_gears.c: adds the gears whose constant follows from the scene's poses, which the bodies
 * must have (false: memory); writes the whole turns of their coordinates to a scene's positions. */
bool gw_assembly_add_gears(gw_assembly *assembly);
void gw_assembly_apply_gears(const gw_assembly *assembly, gw_scene *scene);

/* assembly.c: sets the terms of a positional constraint for the sense of the present poses. */
void gw_assembly_resolve(gw_assembly *assembly, gw_relation *relation);

#define GW_TERM_ROWS 3 /* of a term at most */

/* assembly_solve.c: the rows of a term at the present poses; returns how many. For a gear the
 * gradients of the first joint, with the value of both. */
int gw_assembly_rows(const gw_assembly *assembly, const gw_term *term,
                     gw_pair_row rows[GW_TERM_ROWS]);

/* The coordinate of a joint (m, rad), angles within -pi .. pi. gw_assembly_within(): a coordinate
 * plus the whole turns that bring it within its limits, or nearest to them. */
double gw_assembly_coordinate(const gw_assembly *assembly, const gw_term *term);
double gw_assembly_within(double coordinate, double lower, double upper);

/* Both coordinates of a gear with their whole turns. Within a group of geared coordinates these
 * follow from one root coordinate: a slide, else the slowest coordinate, which is taken within half
 * a turn of its position in the scene. */
void gw_assembly_geared(const gw_assembly *assembly, const gw_term *gear, double coordinates[2]);

/* The largest row of a relation (m; angles times the size), and whether that is
 * within GW_ASSEMBLY_HELD. */
double gw_assembly_residual(const gw_assembly *assembly, const gw_relation *relation);
bool gw_assembly_holds(const gw_assembly *assembly, const gw_relation *relation);

#endif
