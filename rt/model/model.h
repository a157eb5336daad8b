/*
 * What the hand moves: one interface, whatever the system behind it.
 *
 * A model has n generalised velocities v, an inertia D(q), and a held frame with pose x(q),
 * velocity J v and acceleration J v-dot + drift. Control, safety, display and the recorder are
 * written against this table alone. Twists and wrenches are of the held frame's origin, in world
 * axes, ordered [v; w] and [f; t].
 *
 * A model belongs to one thread at a time. Every function here is RT safe.
 */
#ifndef GW_MODEL_MODEL_H
#define GW_MODEL_MODEL_H

#include "rt/base/space.h"

#define GW_MODEL_MAX_DOF 6

typedef struct gw_model gw_model;

/* What acts at the held frame, asked for at every stage of the integrator: at `t` seconds into the
 * step, with the frame there and moving so. */
typedef struct gw_forces {
    gw_wrench (*at)(const void *context, double t, const gw_pose *world_from_held,
                    const gw_twist *twist);
    const void *context;
} gw_forces;

/* What one step tells of itself. */
typedef struct gw_step {
    gw_wrench constraint; /* lambda at the step's start, as a wrench at the held frame (N, N m) */
    double work;          /* of the forces during the step (J) */
    double dissipated;    /* by the model's own damping (J) */
    double margin;        /* how far its rows are from dependent, 0 (at a singular point) to 1 */
    bool finite;          /* false: the step failed, the state is the one before it, at rest */
} gw_step;

typedef struct gw_model_ops {
    int (*dof)(const gw_model *model);
    void (*held)(const gw_model *model, gw_pose *world_from_held, gw_twist *twist);
    /* Columns of J (dof of them, 6 entries each) and the drift J-dot v. */
    void (*jacobian)(const gw_model *model, double (*columns)[6], double *drift);
    /* D^-1 P w: generalised acceleration (dof entries) by the generalised force w. */
    void (*apply_inverse)(const gw_model *model, const double *force, double *acceleration);
    /* Kinetic and potential energy now (J). */
    void (*energy)(const gw_model *model, double *kinetic, double *potential);
    /* Advances by dt seconds. */
    void (*step)(gw_model *model, const gw_forces *forces, double dt, gw_step *step);
} gw_model_ops;

/* First member of every model. */
struct gw_model {
    const gw_model_ops *ops;
};

static inline int gw_model_dof(const gw_model *m)
{
    return m->ops->dof(m);
}

static inline void gw_model_held(const gw_model *m, gw_pose *world_from_held, gw_twist *twist)
{
    m->ops->held(m, world_from_held, twist);
}

static inline void gw_model_jacobian(const gw_model *m, double (*columns)[6], double *drift)
{
    m->ops->jacobian(m, columns, drift);
}

static inline void gw_model_apply_inverse(const gw_model *m, const double *force,
                                          double *acceleration)
{
    m->ops->apply_inverse(m, force, acceleration);
}

static inline void gw_model_energy(const gw_model *m, double *kinetic, double *potential)
{
    m->ops->energy(m, kinetic, potential);
}

static inline void gw_model_step(gw_model *m, const gw_forces *forces, double dt, gw_step *step)
{
    m->ops->step(m, forces, dt, step);
}

#endif
