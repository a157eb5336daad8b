/*
 * Assembly: moves the objects of a scene from arbitrary poses to poses at which all positional
 * relations are satisfied together (surface-constraints 7).
 *
 *   minimise 1/2 |C(q)|^2,   C the rows of all relations, lengths over the size, angles in radians;
 *                            q the twists of all bodies that move, velocities over the size
 *
 * Relations are enabled two-sided constraints, joints with their stated positions, and the contacts
 * of sliding and rolling constraints. Mechanisms with links that a relation names move too. If
 * gw_assembly_def.limits is set, joint limits add one-sided residuals,
 *
 *   max(z - upper, 0) + min(z - lower, 0),   turns taken whole where that brings them within
 *
 * and gears add rows z_1 - r z_2 - constant, with the constant from the scene's poses where these
 * satisfy both joints; otherwise the constant follows from the assembled poses. Springs are not
 * relations.
 *
 * Made by a thread that may allocate, used by one thread at a time.
 */
#ifndef GW_SCENE_ASSEMBLY_H
#define GW_SCENE_ASSEMBLY_H

#include "rt/scene/scene.h"

typedef enum gw_assembly_method {
    GW_ASSEMBLY_AUTO,     /* Levenberg-Marquardt */
    GW_ASSEMBLY_GRADIENT, /* dq = -k C_q^T C, k = 0.1 and less where the sum would grow (eq. 15) */
    GW_ASSEMBLY_NEWTON,   /* C_q dq = -C, of least norm (eq. 14) */
    GW_ASSEMBLY_LM,       /* damped, with a line search */
    GW_ASSEMBLY_METHOD_COUNT
} gw_assembly_method;

/* Names on the wire, with NULL behind the last. */
extern const char *const gw_assembly_methods[GW_ASSEMBLY_METHOD_COUNT + 1];

#define GW_ASSEMBLY_STARTS 64   /* tried unless told otherwise, the poses given among them */
#define GW_ASSEMBLY_HELD   1e-9 /* of the size: a relation with smaller rows holds */

typedef struct gw_assembly gw_assembly;

typedef struct gw_assembly_def {
    const gw_scene *scene; /* outlives the assembly */
    const bool *ground;    /* per body of the scene: true if it is not moved; NULL: fixed objects */
    const gw_pose *poses;  /* initial poses of the scene's bodies; NULL: the scene's */
    bool felt_only;        /* without relations of massless objects, or between ground bodies */
    bool limits;           /* include joint limits and gears */
    int threads; /* that evaluate rows, where these take long; 0: the caller's. Results do not
                  * depend on it */
} gw_assembly_def;

/* Progress of a solution, from which another call continues; zeros: the beginning. */
typedef struct gw_assembly_progress {
    int start;      /* 0: from the poses given, then from random ones */
    int iteration;  /* that this start has made */
    double damping; /* lm: over the largest diagonal entry; gradient: k */
    int slow;       /* lm: iterations in a row that brought little */
} gw_assembly_progress;

typedef struct gw_assembly_options {
    gw_assembly_method method;
    unsigned long long seed;   /* of the random starts */
    int starts;                /* at most, those before `from` counted; 0: GW_ASSEMBLY_STARTS */
    int iterations;            /* of each start at most; 0: by method */
    int limit;                 /* iterations of this call at most; 0: no limit; below 0: none, the
                                * poses are only judged */
    gw_assembly_progress from; /* goes on from there */
    /* Called after each iteration (NULL: none); residual as below, step: the longest of a body (m,
     * or rad times the size). Returns false to stop. */
    bool (*watch)(void *context, int start, int iteration, double residual, double step);
    void *context;
} gw_assembly_options;

typedef enum gw_assembly_end {
    GW_ASSEMBLY_ALL_HOLD,
    GW_ASSEMBLY_NO_START_LEFT,
    GW_ASSEMBLY_STOPPED, /* by the limit or by watch() */
    GW_ASSEMBLY_END_COUNT
} gw_assembly_end;

/* Names on the wire, with NULL behind the last. */
extern const char *const gw_assembly_ends[GW_ASSEMBLY_END_COUNT + 1];

typedef struct gw_assembly_result {
    double residual;           /* the largest row (m; angles times the size) */
    int iterations;            /* of this call, all starts together */
    int starts;                /* 1: from the poses given */
    gw_assembly_method method; /* that was used */
    bool held;                 /* every relation, within GW_ASSEMBLY_HELD of the size */
    gw_assembly_end end;
    gw_assembly_progress progress;
} gw_assembly_result;

/* The relations of a scene, with bodies at its poses. NULL with an error: memory; nothing to move;
 * surfaces that cannot touch (at /constraints/index). */
gw_assembly *gw_assembly_create(const gw_assembly_def *def, gw_error *error);
void gw_assembly_destroy(gw_assembly *assembly); /* NULL is fine */

/* Poses of the scene's bodies (world_from_body); may be changed before a solution. */
gw_pose *gw_assembly_poses(gw_assembly *assembly);

/* Characteristic length that scales linear to angular quantities (m): the largest extent of the
 * parts and of the distances between ground bodies. */
double gw_assembly_size(const gw_assembly *assembly);

/* True if a body of the scene is moved: it is not ground, and a relation names it. */
bool gw_assembly_moves(const gw_assembly *assembly, int body);

/* Moves the bodies until all relations are satisfied: from their present poses, then from random
 * poses of the components with unsatisfied relations (determined by the seed and the number of the
 * start). If relations remain, the bodies end at the best poses of this call; if it was stopped, at
 * the last ones, and a call with `progress` continues with the same result as one call.
 *
 * No allocation: Newton's method with one start and one iteration per tick follows moving
 * ground. */
void gw_assembly_solve(gw_assembly *assembly, const gw_assembly_options *options,
                       gw_assembly_result *result);

/* Sets the poses to those with the least sum of squares among the ends of all starts of the last
 * solution; returns the residual there (m; angles times the size). */
double gw_assembly_take_best(gw_assembly *assembly);

/* The id of the n-th relation that the present poses violate, n from 0: constraints first, in the
 * order of the scene; for a mechanism's own joints the mechanism's id, once. NULL: no more. */
const char *gw_assembly_remaining(const gw_assembly *assembly, int n);

/* Fails with the relations that the present poses violate and the residual there, at the pointer of
 * the first one. */
bool gw_assembly_refuse(const gw_assembly *assembly, const gw_assembly_result *result,
                        gw_error *error);

/* Writes poses of all objects, positions of mechanisms, and stated positions of joints whose zero
 * follows the poses to a scene with the same parts. */
void gw_assembly_apply(const gw_assembly *assembly, gw_scene *scene);

#endif
