/*
 * A mechanical model: one table of operations for everything that has mass, a guided body or a
 * system of bodies.
 *
 * A model has n generalised velocities v, a mass matrix D(q), and a held frame with pose x(q),
 * twist J v and acceleration J v-dot + J-dot v. Control, contacts, display and the recorder use
 * this table alone. Twists and wrenches are of the held frame's origin, in world axes, ordered [v;
 * w] and [f; t].
 *
 * A model belongs to one thread at a time. Every function here is RT safe.
 */
#ifndef GW_DYNAMICS_MODEL_H
#define GW_DYNAMICS_MODEL_H

#include <stddef.h>

#include "rt/base/limits.h"
#include "rt/base/space.h"

#define GW_MODEL_MAX_DOF GW_MAX_SYSTEM_DOF /* a guided body has six at most */

typedef struct gw_model gw_model;
struct gw_mass;

/* Applied forces, evaluated at every stage of the integrator: `t` seconds into the step, for the
 * given poses and twists of the held frame or the bodies. */
typedef struct gw_forces {
    gw_wrench (*at)(const void *context, double t, const gw_pose *world_from_held,
                    const gw_twist *twist); /* at the held frame; its work is the operator's */
    const void *context;
    /* Contact wrenches on the model's bodies; NULL: none. Poses, twists (of the bodies' origins)
     * and the wrenches to be filled in (at the origins) are arrays over the bodies. */
    void (*contact_wrenches)(const void *contact_context, double t, const gw_pose *world_from_body,
                             const gw_twist *twist, gw_wrench *on);
    const void *contact_context;
    const double *load; /* a generalised force, constant during the step, for a model that
                           takes_load(); NULL: none */
    const double *lock; /* dampers of coordinates (dof entries; N m s/rad, N s/m) which make the
                           step implicit, for a model that takes_lock(); NULL: none */
    int *effort;        /* of the friction of contacts in this tick so far, to which the step adds;
                           NULL: none before */
    bool continues; /* the rest of a step after a collision: the joint wrenches reported are those
                       of the part before it */
} gw_forces;

/* The result of one step. */
typedef struct gw_step {
    gw_wrench
        constraint; /* lambda at the step's start, at the held frame (N, N m): the held body's rate
                       of momentum minus weight, damping, the hand's wrench and contact wrenches */
    double work;    /* of the wrench at the held frame during the step (J) */
    double dissipated; /* by the model's own damping (J) */
    double motors;     /* work of its own motors (J) */
    double base_work;  /* work of the moving base (J) */
    double
        pushed; /* work of wrenches pushed on bodies, other than the hand's at the held frame (J) */
    double second; /* work of a second hand (J) */
    double margin; /* distance of the constraint rows from linear dependence: 0 at a singular point,
                      at most 1 */
    double energy_error; /* error of the energy balance that refinement could not remove (J) */
    bool edge;           /* the body is held by the edge of a surface, or by the end of a curve */
    bool degenerate;     /* the relative curvature of a contact vanishes, or its branch has ended */
    bool finite;         /* false: the step failed; the state is that before the step, at rest */
} gw_step;

/* Adds the result of a substep. */
static inline void gw_step_add(gw_step *sum, const gw_step *part, bool first)
{
    if (first)
        sum->constraint = part->constraint;
    sum->work += part->work;
    sum->dissipated += part->dissipated;
    sum->motors += part->motors;
    sum->base_work += part->base_work;
    sum->pushed += part->pushed;
    sum->second += part->second;
    sum->energy_error += part->energy_error;
    sum->margin = fmin(sum->margin, part->margin);
    sum->edge = sum->edge || part->edge;
    sum->degenerate = sum->degenerate || part->degenerate;
    sum->finite = sum->finite && part->finite;
}

typedef struct gw_model_ops {
    int (*dof)(const gw_model *model);
    void (*held)(const gw_model *model, gw_pose *world_from_held, gw_twist *twist);
    /* Columns of J (dof of them, 6 entries each) and the bias acceleration J-dot v. */
    void (*jacobian)(const gw_model *model, double (*columns)[6], double *bias);
    /* D^-1 P w: generalised acceleration (dof entries) by the generalised force w. */
    void (*apply_inverse)(const gw_model *model, const double *force, double *acceleration);
    /* The mean over a step of h that the model takes implicitly (with `explicit` true: also
     * explicitly): (D + h C + h^2 K)^-1 P w, with damping C and stiffness K. NULL: the model has
     * neither. */
    void (*apply_inverse_over)(const gw_model *model, double h, bool explicit, const double *force,
                               double *acceleration);
    /* True where the model has dampers or springs of its own: contact impulses then act as a
     * constant load during its step (gw_forces.load). NULL: never. */
    bool (*takes_load)(const gw_model *model);
    /* True where its joint forces may saturate or jump within a step (motors, friction) or are
     * integrated implicitly. NULL: never. */
    bool (*is_driven)(const gw_model *model);
    /* True where the model accepts dampers of its coordinates (gw_forces.lock). NULL: it does
     * not. */
    bool (*takes_lock)(const gw_model *model);
    /* Kinetic and potential energy now (J). */
    void (*energy)(const gw_model *model, double *kinetic, double *potential);
    /* Advances by dt seconds. */
    void (*step)(gw_model *model, const gw_forces *forces, double dt, gw_step *step);
    /* Generalised velocities (dof entries), in the coordinates of jacobian(); kick() adds to them.
     * On a moving base they are relative to the motion of least kinetic energy. */
    void (*velocity)(const gw_model *model, double *v);
    void (*kick)(gw_model *model, const double *dv);
    /* Acceleration without the hand and contacts: D^-1 P (-B - G - damping + motors), generalised
     * (dof entries), at `speed` times the model's velocities. */
    void (*free_acceleration)(const gw_model *model, double speed, double *a);
    /* The same as the mean over a step of h that is taken implicitly, whether the model steps so or
     * not: (D + h C + h^2 K)^-1 P (f - h K v). NULL: the model has neither C nor K. */
    void (*free_acceleration_over)(const gw_model *model, double h, double speed, double *a);
    /* The bodies: their number, poses and twists (of the origins). */
    int (*bodies)(const gw_model *model);
    void (*body)(const gw_model *model, int index, gw_pose *world_from_body, gw_twist *twist);
    /* force += J_b^T wrench, of a wrench at the origin of body `index` (dof entries). */
    void (*pull_back)(const gw_model *model, int index, const gw_wrench *wrench, double *force);
    /* The twist of body `index` on a moving base at zero generalised velocity; NULL, or false:
     * none. */
    bool (*carried)(const gw_model *model, int index, gw_twist *twist);
    /* Mass of body `index` of a model that nothing joins to the ground; NULL, or a null pointer:
     * something does. */
    const struct gw_mass *(*floating)(const gw_model *model, int index);
    /* Columns of J where only position rows constrain the model, without velocity rows (rolling,
     * knife edges). NULL, or false: jacobian() gives the same. */
    bool (*positional)(const gw_model *model, double (*columns)[6]);
    /* Coordinate j of a body's joint (m, rad; angles continue beyond pi). NULL: there are no
     * joints. */
    double (*coordinate)(const gw_model *model, int body, int j);
    /* The model is a value of this many bytes, which may be copied and restored. */
    size_t size;
    /* Number of leading bytes that steps and kicks change. NULL: all of them. */
    size_t (*state_size)(const gw_model *model);
} gw_model_ops;

/* First member of every model. */
struct gw_model {
    const gw_model_ops *ops;
};

static inline size_t gw_model_state_size(const gw_model *model)
{
    return model->ops->state_size ? model->ops->state_size(model) : model->ops->size;
}

static inline int gw_model_dof(const gw_model *m)
{
    return m->ops->dof(m);
}

static inline void gw_model_held(const gw_model *m, gw_pose *world_from_held, gw_twist *twist)
{
    m->ops->held(m, world_from_held, twist);
}

static inline void gw_model_jacobian(const gw_model *m, double (*columns)[6], double *bias)
{
    m->ops->jacobian(m, columns, bias);
}

static inline void gw_model_apply_inverse(const gw_model *m, const double *force,
                                          double *acceleration)
{
    m->ops->apply_inverse(m, force, acceleration);
}

static inline void gw_model_apply_inverse_over(const gw_model *m, double h, bool explicit,
                                               const double *force, double *acceleration)
{
    if (m->ops->apply_inverse_over)
        m->ops->apply_inverse_over(m, h, explicit, force, acceleration);
    else
        m->ops->apply_inverse(m, force, acceleration);
}

static inline bool gw_model_takes_load(const gw_model *m)
{
    return m->ops->takes_load && m->ops->takes_load(m);
}

static inline bool gw_model_is_driven(const gw_model *m)
{
    return m->ops->is_driven && m->ops->is_driven(m);
}

static inline bool gw_model_takes_lock(const gw_model *m)
{
    return m->ops->takes_lock && m->ops->takes_lock(m);
}

static inline void gw_model_energy(const gw_model *m, double *kinetic, double *potential)
{
    m->ops->energy(m, kinetic, potential);
}

static inline void gw_model_velocity(const gw_model *m, double *v)
{
    m->ops->velocity(m, v);
}

static inline void gw_model_kick(gw_model *m, const double *dv)
{
    m->ops->kick(m, dv);
}

static inline void gw_model_free_acceleration(const gw_model *m, double *a)
{
    m->ops->free_acceleration(m, 1, a);
}

/* The same with the model's velocities multiplied by `speed`; 0: at rest. */
static inline void gw_model_free_acceleration_at(const gw_model *m, double speed, double *a)
{
    m->ops->free_acceleration(m, speed, a);
}

static inline void gw_model_free_acceleration_over(const gw_model *m, double h, double speed,
                                                   double *a)
{
    if (m->ops->free_acceleration_over)
        m->ops->free_acceleration_over(m, h, speed, a);
    else
        m->ops->free_acceleration(m, speed, a);
}

static inline int gw_model_bodies(const gw_model *m)
{
    return m->ops->bodies(m);
}

static inline void gw_model_body(const gw_model *m, int index, gw_pose *world_from_body,
                                 gw_twist *twist)
{
    m->ops->body(m, index, world_from_body, twist);
}

static inline void gw_model_pull_back(const gw_model *m, int index, const gw_wrench *wrench,
                                      double *force)
{
    m->ops->pull_back(m, index, wrench, force);
}

static inline bool gw_model_base_velocity(const gw_model *m, int index, gw_twist *twist)
{
    return m->ops->carried && m->ops->carried(m, index, twist);
}

/* Mass of a body of a model that nothing joins to the ground; NULL: something does. */
static inline const struct gw_mass *gw_model_floating(const gw_model *m, int index)
{
    return m->ops->floating ? m->ops->floating(m, index) : NULL;
}

static inline bool gw_model_positional_jacobian(const gw_model *m, double (*columns)[6])
{
    return m->ops->positional && m->ops->positional(m, columns);
}

static inline void gw_model_step(gw_model *m, const gw_forces *forces, double dt, gw_step *step)
{
    m->ops->step(m, forces, dt, step);
}

#endif
