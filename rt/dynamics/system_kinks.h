/*
 * Kinks and bends of the free-form curves and surfaces in a system's closures (system_kinks.c).
 * Inside of rt/dynamics; RT safe, but for making.
 */
#ifndef GW_DYNAMICS_SYSTEM_KINKS_H
#define GW_DYNAMICS_SYSTEM_KINKS_H

#include "rt/dynamics/system_private.h"
#include "rt/geometry/nurbs.h"

/* Part of the system's state: the smooth part of a shape that a closure's point is on. */
typedef struct gw_kink_state {
    bool known;          /* `part` is valid; else rows use the whole shape */
    double part[2][2];   /* smooth part of the parameters under the point: low and high of each */
    double beyond[2][2]; /* the part on the other side of the kink that holds the point */
    int held;            /* parameter direction of that kink; -1: the point is not held; */
    bool up;             /* true: the part beyond is at larger parameters; its parameter there */
    double shift;        /* minus that on `part`; */
    bool pinned;         /* in a corner: held by a kink of the other direction as well, */
    bool corner_up;      /* with, for the part beyond that kink, `up`, `beyond` and `shift`: */
    double corner[2], corner_shift;
} gw_kink_state;

/* A closure whose free-form rows, which share one point, refer to a shape with kinks or bends. */
typedef struct gw_kinked_closure {
    int closure, first, last; /* the first and the last of its rows on the shape */
    int twin, twins;          /* first and number of its rows on parts beyond; twin -1: a curve */
    bool follows;             /* one of them follows the shape's direction */
    gw_nurbs view, beyond;
    double home[2]; /* parameters where the substep began */
    int crossings;  /* in this step; */
    double crossed; /* time of the last one (s into the step), */
    double over;    /* and its parameter */
    bool given_up;  /* too many crossings: rows use the whole shape until the step ends */
} gw_kinked_closure;

/* Root finding for the time in a substep at which a point first reaches an end of its part: by the
 * interpolation polynomial through all known values, and by trial substeps up to the estimate. */
#define GW_KINK_NODES 10

typedef struct gw_kink_search {
    bool active;
    int kink, direction; /* of s->kinks; of the parameter */
    bool up;             /* over the upper end */
    double bound;        /* the parameter there */
    int count, trials;
    double at[GW_KINK_NODES]; /* sixteenths of the step since the substep's start; a repeated node:
                                 its second value is the rate */
    double value[GW_KINK_NODES], coefficient[GW_KINK_NODES];
    double met; /* the present estimate; INFINITY: none */
} gw_kink_search;

/* Number of additional rows that a closure needs for its kinks. */
int gw_kinks_extra_rows(const gw_closure_def *closure);

/* Number of kinked closures among `count`; then allocation, which returns false if memory is
 * short. */
int gw_kinks_count(const gw_closure_def *closures, int count);
bool gw_kinks_init(gw_system *system);
void gw_kinks_free(gw_system *system);

/* Rows use the whole shapes and no point is held; called before bodies are placed elsewhere. */
void gw_kinks_release(gw_system *system);

/* Sets views and rows from s->kink_states. */
void gw_kinks_apply(gw_system *system);

/* At the start of a step: finds the part of each point. At the start of a substep, t s into the
 * step: releases held points that are not pressed from both sides, and records the parameters. */
void gw_kinks_begin_step(gw_system *system);
void gw_kinks_begin_substep(gw_system *system, const gw_forces *forces, double t);

/* gw_kinks_detect() is called with the bodies at the end of a trial substep of `wide` sixteenths;
 * records the point's parameter; true: the substep is to be repeated, of search->met sixteenths.
 * gw_kinks_locate() is called next, with the bodies back at the substep's start; estimates
 * search->met, the time at which the part ends; true: it ends at the start already. */
bool gw_kinks_detect(gw_system *system, double wide, double dt, gw_kink_search *search);
bool gw_kinks_locate(gw_system *system, double dt, gw_kink_search *search);

/* Takes the point over the kink found, t s into a step of dt, or holds it there; adds the energy
 * dissipated to `work`. Returns the error of the energy balance (J). */
double gw_kinks_cross(gw_system *system, const gw_kink_search *search, double t, double dt,
                      gw_system_work *work);

/* ---- points of rows: system_edges.c --------------------------------------------------------- */

/* The frame of a row's shape, and the point that the row constrains to it. */
typedef struct gw_row_point {
    const gw_body_frame *shape, *point;
    gw_vec3 x, over; /* the point in the world, and in the frame of the shape */
} gw_row_point;

gw_row_point gw_row_point_of(const gw_row *row, const gw_body_frame *a, const gw_body_frame *b);

/* The first free-form row of a closure; the others have the same point. NULL: none. */
const gw_row *gw_closure_free_form_row(const gw_closure_def *closure);

#endif
