/*
 * Reference answers to a positioning problem, without the solver: the constraints as equations of
 * their own, roots of these from many starts, and the dimension of what is around a root. Nothing
 * here uses rt/ beyond vectors and the structs of a problem. Single-threaded; no allocation.
 */
#ifndef GW_TESTS_ORACLE_ORACLE_H
#define GW_TESTS_ORACLE_ORACLE_H

#include "rt/positioning/solve.h"

#define ORACLE_ROOT  1e-11 /* a pose whose residual is below this, times the size, is a root */
#define ORACLE_TRUTH 1e-9  /* what the solver promises of every pose, times the size */

/* The largest coordinate or value of the constraints on places (m), at least 1e-4 of the length;
 * all that follows is relative to it. */
double oracle_size(const gw_problem *problem);

/* How far a pose is from what one constraint asks, the worst of its parts (m, or rad times size);
 * infinite where it is not a number. */
double oracle_error(const gw_constraint *c, const gw_pose *x, double size);

/* The worst of the constraints whose bit is in `use`, divided by size; `*worst` names it. */
double oracle_worst(const gw_problem *problem, unsigned long use, double size, const gw_pose *x,
                    int *worst);

/* Levenberg and Marquardt's method from x on the equations of `use`, their Jacobian by central
 * differences; the residual (as oracle_worst) at the pose where it ends, which x becomes. */
double oracle_settle(const gw_problem *problem, unsigned long use, double size, gw_pose *x);

/* 6 less the rank of the equations' Jacobian (by differences) at x: their freedoms there, to first
 * order. -1 where that is not known: at the pole of a shape. */
int oracle_nullity(const gw_problem *problem, double size, const gw_pose *x);

/* The dimension of the roots within `reach` (times the size) of the root x: principal components of
 * roots settled from around it. Also right where the equations touch (nullity says too much). -1
 * where too few settle. */
int oracle_dimension(const gw_problem *problem, double size, double reach, const gw_pose *x,
                     unsigned long long *random);

/* Roots from `starts` random poses, those within 1e-5 of one another once; at most `most`. */
int oracle_roots(const gw_problem *problem, unsigned long use, double size, int starts,
                 unsigned long long *random, gw_pose *roots, int most);

/* The smallest residual that the last oracle_roots() without a root came to is of no proof, but of
 * interest: its value, as oracle_worst. */
double oracle_distance(const gw_pose *a, const gw_pose *b, double length);

#endif
