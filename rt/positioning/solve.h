/*
 * Relational positioning: every pose of a mobile body that satisfies constraints between its
 * points, lines and planes and those of a fixed world, as branches, each a submanifold of SE(3).
 *
 * PMF of Rodriguez, Basanez and Celaya (relational-positioning): decomposition of the input into
 * fundamental constraints, combination by rules, synthesis of the rotational and translational
 * factor; what the rules leave goes to a numeric completion. Every branch is verified against the
 * input before it is returned. combine_*.c state the rules.
 *
 * No allocation, no global state: any thread; RT safe with the caller's memory.
 */
#ifndef GW_POSITIONING_SOLVE_H
#define GW_POSITIONING_SOLVE_H

#include <stddef.h>

#include "rt/base/error.h"
#include "rt/geometry/coordinate_curve.h"
#include "rt/geometry/element.h"
#include "rt/geometry/submanifold.h"
#include "rt/positioning/constraint_kinds.h"

typedef struct gw_constraint {
    gw_constraint_kind kind;
    gw_sense sense;
    double value;
    /* The signed distance of two planes runs along the fixed one's normal, n_f . (p_m - p_f); when
     * set, along the mobile one's, n_m . (p_f - p_m): the constraint was stated from the other
     * side. */
    bool reversed;
    gw_element mobile; /* in the body's frame */
    gw_element fixed;  /* in the world's frame */
} gw_constraint;

typedef struct gw_problem {
    gw_pose pose;  /* world_from_body now: nearest poses are measured from here */
    double length; /* L of the metric sqrt(|dp|^2 + (L theta)^2) (m), > 0 */
    int count;     /* at most GW_MAX_PROBLEM */
    const gw_constraint *constraints;
} gw_problem;

typedef enum gw_status { GW_SOLVED, GW_STATUS_INCOMPATIBLE, GW_STATUS_UNHANDLED } gw_status;
typedef enum gw_method { GW_CLOSED_FORM, GW_NUMERIC } gw_method;

/* A branch is named by its vector of choices among alternatives (signs, senses, roots), not by its
 * order in the result: "b" and the choices as text, "b0" if there was no choice; poses found
 * numerically are labelled by their position. Stable while the geometry moves. */
typedef struct gw_branch {
    char id[16];
    gw_submanifold set;
    gw_pose nearest; /* the allowed pose closest to problem.pose */
    double distance; /* of it, by the problem's metric (m) */
} gw_branch;

/* A constraint that follows from others. */
typedef struct gw_redundant {
    int index;             /* of the constraint */
    unsigned long because; /* bit i set: follows from constraint i */
    const char *rule;      /* static text */
} gw_redundant;

/* A rotation that translations imply. */
typedef struct gw_implied {
    unsigned long from; /* bits of constraints */
    const char *kind;   /* "angle" or "parallel" */
} gw_implied;

/* Why there is no pose: the inequality that fails, with its numbers. */
typedef struct gw_conflict {
    unsigned long constraints;   /* bits */
    unsigned long first, second; /* bits of the constraints that state p or alpha, and q or beta */
    double excess;               /* excess of the inequality: rad, or over the problem's size */
    const char *condition;       /* static text of the inequality, in the names below */
    int value_count;
    struct {
        const char *name; /* static */
        double value;
    } values[8];
    const char *sentence; /* static: explanation for people */
    const char *apart[2]; /* static: names, for people, of the elements that d_a and d_b are
                             between; or NULL */
} gw_conflict;

/* One step of rewriting. */
typedef struct gw_trace_step {
    const char *rule;   /* static text */
    unsigned long from; /* bits of constraints that it used */
} gw_trace_step;

/* Zero before the first call; about 150 kB: one per caller, not on a small stack. Only the counted
 * entries are written. */
typedef struct gw_solution {
    gw_status status;
    gw_method method;
    int dof;          /* the largest dimension of a branch */
    int branch_count; /* of `branches`, below */
    /* Of the isolated poses that were found numerically, where the method finds all: roots of the
     * polynomials, and how many of them are real; 0 where that is not known. */
    int complex_roots, real_roots;
    int redundant_count;
    gw_redundant redundant[GW_MAX_PROBLEM];
    int implied_count;
    gw_implied implied[GW_MAX_PROBLEM];
    gw_conflict conflict; /* where incompatible */
    unsigned long left;   /* bits of the constraints not handled, where unhandled */
    const char *reason;   /* static, where unhandled */
    double best_residual; /* where unhandled: the smallest found (m) */
    int trace_count;
    gw_trace_step trace[GW_MAX_TRACE];
    gw_branch branches[GW_MAX_BRANCHES]; /* nearest first; last, so that a copy may end early */
} gw_solution;

/* Checks the preconditions of gw_solve(): kinds that fit their elements, ranges, finite numbers,
 * unit vectors. GW_BAD_INPUT with `where` such as "/constraints/2/value". */
bool gw_problem_check(const gw_problem *problem, gw_error *error);

/* Solves a checked problem; the result is in `solution`, whatever the status. */
void gw_solve(const gw_problem *problem, gw_solution *solution);

/*
 * Solves a problem again whose elements or values have moved, for the branch `before` alone, by its
 * id, nearest to problem->pose; without a closed form, by continuation from that pose (one descent,
 * no search). The id is kept, also where gw_solve() would label the poses differently. Bounded
 * (some microseconds; tens where the nearest pose of an angle set is searched for, 0.3 ms at
 * singular poses): RT safe, some 100 kB of stack. False if the branch has ceased to exist (`after`
 * is then unchanged); `after` may be `before`.
 */
bool gw_solve_branch(const gw_problem *problem, const gw_branch *before, gw_branch *after);

/* The residual of one input constraint at a pose, the largest of its parts (m; angles times
 * length). For the sense `either` the smaller one of both. For verification: independent of the
 * solver's rows. */
double gw_constraint_residual(const gw_constraint *constraint, const gw_pose *world_from_body,
                              double length);
/* The same for a branch that was followed by continuation: an offset from any part of a surface,
 * also if another part is closer. Slow if it is not the closest part. */
double gw_constraint_branch_residual(const gw_constraint *constraint,
                                     const gw_pose *world_from_body, double length);

/* A pose of a branch, with the parameters that gw_branch_pose() takes there. */
typedef struct gw_branch_point {
    gw_pose pose;
    double parameters[6];
    bool parameterised; /* false: too far to be followed, or the seed is singular */
} gw_branch_point;

/* A uniformly spread pose of a branch from 64-bit state (splitmix64, advanced by the call);
 * unbounded directions within one `size` (m) of the nearest pose. */
gw_pose gw_branch_sample(const gw_branch *branch, double size, unsigned long long *random);

/* Up to GW_MAX_SAMPLED samples; a curve is traced only once. */
void gw_branch_samples(const gw_branch *branch, double size, unsigned long long *random, int count,
                       gw_branch_point *points);

/* The pose at parameters: those of the submanifold or, where it is a general set, of its
 * exponential map (geodesic.h), of a curve the length along it (implicit_curve.h); both reach all
 * of it. False where the set has none there. */
bool gw_branch_pose(const gw_branch *branch, const double *parameters, gw_pose *pose);

/* The nearest pose with its parameters. */
gw_branch_point gw_branch_nearest(const gw_branch *branch);

/* The branch's pose nearest to a given pose, and its distance (m): gw_submanifold_nearest() with
 * the bound of gw_solve() on the work on free-form shapes. */
double gw_branch_nearest_to(const gw_branch *branch, const gw_pose *near, double length,
                            gw_pose *pose);

/* gw_coordinate_curve_along() of a branch; the same bound is shared equally by the curves of all
 * freedoms, and a curve ends where its share is used up. */
void gw_branch_curve(const gw_branch *branch, const gw_pose *from, int freedom, double length,
                     double step, int most, gw_coordinate_curve *curve);

/* "3 freedoms: slides in the plane (2), turns about its normal (1)". `shape`: the name of the
 * free-form curve or surface that the set follows, NULL: it has none. `text` of `size` bytes. */
void gw_submanifold_description(const gw_submanifold *set, const char *shape, char *text,
                                size_t size);

/* A sentence for people that describes a conflict, with `names` of the constraints (NULL: their
 * indices) and values in mm and degrees. `text` of `size` bytes. */
void gw_conflict_description(const gw_conflict *conflict, const char *const *names, char *text,
                             size_t size);

#endif
