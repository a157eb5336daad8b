/*
 * Kinks and bends of the free-form curves and surfaces in a system's closures (system_kinks.c).
 * Inside of rt/dynamics; RT safe, but for making.
 */
#ifndef GW_DYNAMICS_SYSTEM_KINKS_H
#define GW_DYNAMICS_SYSTEM_KINKS_H

#include "rt/dynamics/system_private.h"
#include "rt/geometry/nurbs.h"

/* Of a point on a shape, as a state of the system keeps it. */
typedef struct gw_kink_state {
    bool known;          /* the part is; else rows see the whole shape */
    double part[2][2];   /* smooth part of the parameters under the point: low and high of each */
    double beyond[2][2]; /* the part on the other side of the kink that it is held at */
    int held;            /* the direction of that kink; -1: it is not held; */
    bool up;             /* whether the part beyond is above, and its parameter there */
    double shift;        /* less the own one; */
    bool pinned;         /* in a corner: by a kink of the other direction, too, */
    bool corner_up;      /* and the same of the part beyond that: */
    double corner[2], corner_shift;
} gw_kink_state;

/* A closure whose free-form rows, which share one point, are over a shape with kinks or bends. */
typedef struct gw_kinked_closure {
    int closure, first, last; /* the first and the last of its rows on the shape */
    int twin, twins;          /* its rows on parts beyond; -1: of a curve */
    gw_nurbs view, beyond;
    double home[2]; /* parameters where the substep began */
    int crossings;  /* of the step; */
    double crossed; /* when the last one was (s into it), */
    double over;    /* and at which parameter */
    bool given_up;  /* it crosses too often: until the step ends it sees the whole shape */
} gw_kinked_closure;

/* The search for when, in a substep, a point first meets an end of its part: by the polynomial
 * through all that is known, and by trials of the substep up to there. */
#define GW_KINK_NODES 10

typedef struct gw_kink_search {
    bool active;
    int kink, direction; /* of s->kinks; of the parameter */
    bool up;             /* over the upper end */
    double bound;        /* the parameter there */
    int count, trials;
    double at[GW_KINK_NODES]; /* sixteenths of the step since the substep's start; twice the same:
                                 with the rate */
    double value[GW_KINK_NODES], coefficient[GW_KINK_NODES];
    double met; /* the present estimate; INFINITY: none */
} gw_kink_search;

/* How many rows more a closure takes for its kinks. */
int gw_kinks_twins(const gw_closure_def *closure);

/* Their number, of these closures; their memory. False: no memory. */
int gw_kinks_count(const gw_closure_def *closures, int count);
bool gw_kinks_init(gw_system *system);
void gw_kinks_free(gw_system *system);

/* Rows see the whole shapes, and nothing is held: bodies are put elsewhere. */
void gw_kinks_release(gw_system *system);

/* Views and rows by the states in s->kink_states. */
void gw_kinks_apply(gw_system *system);

/* As a step begins: each point has its part. As a substep begins, t s into the step: what is held
 * and no more pressed from both sides goes on; parameters are taken down. */
void gw_kinks_begin_step(gw_system *system);
void gw_kinks_begin_substep(gw_system *system, const gw_forces *forces, double t);

/* Bodies are where a substep of `wide` sixteenths led. Takes that down, and whether it ended where
 * a point meets the end of its part; true where it is to be made again. Then, with the bodies back
 * where it begins, when the end is met, into search->met; true: there. */
bool gw_kinks_look(gw_system *system, double wide, double dt, gw_kink_search *search);
bool gw_kinks_place(gw_system *system, double dt, gw_kink_search *search);

/* Over the kink that was met, t s into a step of dt, or held at it; adds what is dissipated.
 * Returns by how much the energy is out (J). */
double gw_kinks_cross(gw_system *system, const gw_kink_search *search, double t, double dt,
                      gw_system_work *work);

/* ---- points of rows: system_edges.c --------------------------------------------------------- */

/* A row's shape, and the point over it, with the bodies in these frames. */
typedef struct gw_row_point {
    const gw_body_frame *shape, *point;
    gw_vec3 x, over; /* the point: world, and in the frame of the shape */
} gw_row_point;

gw_row_point gw_row_point_of(const gw_row *row, const gw_body_frame *a, const gw_body_frame *b);

/* The first free-form row of a closure, which the others share a point with; NULL: none. */
const gw_row *gw_closure_free_form_row(const gw_closure_def *closure);

#endif
