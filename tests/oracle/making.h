/*
 * Problems for tests of the solver: constraints of every kind, pair of elements and sense that hold
 * at a hidden pose. Single-threaded; no allocation.
 */
#ifndef GW_TESTS_ORACLE_MAKING_H
#define GW_TESTS_ORACLE_MAKING_H

#include <stdio.h>

#include "rt/positioning/solve.h"

/* One of the ways to state a constraint. */
typedef struct statement {
    gw_constraint_kind kind;
    gw_element_kind mobile, fixed;
    gw_sense sense;
    bool reversed;
} statement;

#define MOST_STATEMENTS 64

/* Fills the list with all statements between points, lines and planes, or with those on a free-form
 * curve or surface; returns their number. */
int making_statements(bool free_form, statement list[MOST_STATEMENTS]);

/* The source of random numbers. */
typedef enum numbers {
    GENERAL, /* anywhere in the unit cube, any direction */
    LATTICE, /* -1, 0, 1 and their directions: degenerate positions are frequent */
    MIXED    /* either, each time */
} numbers;

/* A pose of such numbers; rotations of the lattice are the 24 of the cube. */
gw_pose making_pose(numbers from, unsigned long long *random);

/* A constraint that holds at `x`; sometimes it shares an element with one of `earlier`. */
gw_constraint making_true(const statement *s, numbers from, const gw_pose *x,
                          const gw_constraint *earlier, int count, unsigned long long *random);

/* The same; most of its elements differ from one of `earlier` by 1e-12 to 1e-3. */
gw_constraint making_beside(const statement *s, numbers from, const gw_pose *x,
                            const gw_constraint *earlier, int count, unsigned long long *random);

/* Turns and moves the fixed element, or sets the value, so that the constraint holds at `x`. A
 * point lies anywhere on a free-form shape, or at the offset `value` where that part of the shape
 * is the nearest, else at a lesser one. */
void making_hold(gw_constraint *c, const gw_pose *x, unsigned long long *random);

/* All lengths of a problem times k. */
void making_scale(gw_problem *problem, gw_constraint *c, double k);

/* The problem as JSON for `guideway solve`, on one line. */
void making_print(FILE *to, const gw_problem *problem);

#endif
