/*
 * Reference answers to a positioning problem, without the solver: separate equations of the
 * constraints, their roots from many starts, and the dimension of the roots around a root. Nothing
 * here uses rt/ beyond vectors and the structs of a problem. Single-threaded; no allocation.
 */
#ifndef GW_TESTS_ORACLE_ORACLE_H
#define GW_TESTS_ORACLE_ORACLE_H

#include "rt/positioning/solve.h"

#define ORACLE_ROOT  1e-11 /* a pose whose residual is below this, times the size, is a root */
#define ORACLE_TRUTH 1e-9  /* the solver's bound of the residual of every pose, times the size */

/* The largest coordinate or value of the constraints on places (m), at least 1e-4 of the length;
 * all that follows is relative to it. */
double oracle_size(const gw_problem *problem);

/* The error of one constraint at a pose, the largest of its parts (m, or rad times size); infinite
 * if it is not a number. */
double oracle_error(const gw_constraint *c, const gw_pose *x, double size);

/* The worst of the constraints whose bit is in `use`, divided by size; `*worst` is its index. */
double oracle_worst(const gw_problem *problem, unsigned long use, double size, const gw_pose *x,
                    int *worst);

/* The Levenberg-Marquardt method from x on the equations of `use`, their Jacobian by central
 * differences. Moves x to the pose where it ends; returns the residual there (as oracle_worst). */
double oracle_settle(const gw_problem *problem, unsigned long use, double size, gw_pose *x);

/* 6 less the rank of the equations' Jacobian (by differences) at x: their freedoms there, to first
 * order. -1 at the pole of a shape, where it is not defined. */
int oracle_nullity(const gw_problem *problem, double size, const gw_pose *x);

/* The dimension of the roots within `reach` (times the size) of the root x: principal components of
 * roots found from starts around it. Also right where equations are tangent and the nullity is too
 * large. -1 if too few starts converge. */
int oracle_dimension(const gw_problem *problem, double size, double reach, const gw_pose *x,
                     unsigned long long *random);

/* Roots from `starts` random poses, those within 1e-5 of one another once; at most `most`. Returns
 * their number. */
int oracle_roots(const gw_problem *problem, unsigned long use, double size, int starts,
                 unsigned long long *random, gw_pose *roots, int most);

/* The distance of two poses (m): hypot(|a.p - b.p|, length * angle between them). */
double oracle_distance(const gw_pose *a, const gw_pose *b, double length);

#endif
