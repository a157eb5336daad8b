/*
 * A chain: a serial mechanism of revolute and prismatic joints, fixed to the world at its base,
 * held at any point of any link (mechanisms eq. 1).
 *
 *   D(q) q'' + B(q, q') + G(q) = motors - damping - friction - limits + J_h^T F_h + sum J_i^T F_i
 *
 * Coordinates are the joints' positions (rad, m). The step is O(n): it never forms D. Link i moves
 * with joint i and has its frame: parent_from_link(q) is `parent_from_joint`, then the joint's
 * motion.
 *
 * A value without heap memory; it belongs to one thread at a time. RT safe throughout.
 */
#ifndef GW_DYNAMICS_CHAIN_H
#define GW_DYNAMICS_CHAIN_H

#include "rt/dynamics/link.h"
#include "rt/dynamics/joint_forces.h"
#include "rt/dynamics/model.h"
#include "rt/dynamics/sym3.h"
#include "rt/geometry/shape.h"

typedef struct gw_chain_def {
    int count; /* links, 1 .. GW_MAX_LINKS */
    gw_link_def links[GW_MAX_LINKS];
    gw_pose world_from_base;
    gw_vec3 gravity; /* m/s^2 */
    int held;        /* link with the held frame; -1: none is held, the last link's frame serves */
    gw_pose link_from_held;
    double dt; /* period that limits' springs must be stable at (s); 0: 1e-3 */
} gw_chain_def;

/* One link's state for the recursion: constants of the definition, then what depends on q and v.
 * Its axes are the link's frame turned so that z is the joint's axis. World vectors are from the
 * link's origin. For the chain's own files. */
typedef struct gw_chain_link_state {
    /* constants */
    gw_mat3 parent_from_axes; /* at q = 0 */
    gw_quat axes_from_link;
    gw_vec3 offset, com; /* origin at q = 0 in the parent's axes; centre of mass (m) */
    gw_sym3 inertia;     /* about the centre of mass */
    double mass;
    double limit_stiffness, limit_damping;
    double effective_inertia; /* 1 / (D^-1)_ii, the least over three postures (kg m^2, kg) */
    double bristle_root;      /* of the friction model (rad, m): follows a joint that slips */
    bool prismatic;
    bool aligned;  /* at q = 0 the axes are along the parent's */
    bool diagonal; /* the inertia has no products */
    /* of q */
    gw_mat3 world_from_axes;
    gw_vec3 origin, arm, world_com; /* world; from the parent's origin to it; centre of mass */
    gw_sym3 world_inertia;
    gw_wrench u;      /* U = I_A s, shifted to the parent's origin */
    double inverse_d; /* 1 / D = 1 / (s . U) */
    /* of v too */
    gw_twist twist; /* of the origin */
} gw_chain_link_state;

typedef struct gw_chain {
    gw_model model;
    const gw_chain_def *def; /* outlives the chain; motors and damping may change between steps */
    const struct gw_chain_local_model *local; /* its D and G replace those at q; NULL: exact */
    /* A wrench at each link's origin, world axes, that acts beside what the held frame feels until
     * it is another one; its work is gw_step.pushed. NULL: none. The caller's. */
    const gw_wrench *pushed;
    double kinetic, potential;
    int level, patience; /* accuracy of the last step (chain_step.c) */
    double implicit_dt;  /* period of the last step where that was implicit, else 0 */
    bool planar;         /* all joints turn about parallel axes */
    gw_mat3 world_from_plane;
    gw_quat axes_from_held;
    gw_vec3 held_point; /* in the held link's axes */
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    double hand_force[GW_MAX_LINKS];          /* J^T F at the end of an implicit step (N m, N) */
    gw_chain_link_state states[GW_MAX_LINKS]; /* ops->size leaves out what is never used */
} gw_chain;

/* At joint positions and velocities (def->count entries each; NULL: zero). */
void gw_chain_init(gw_chain *chain, const gw_chain_def *def, const double *q, const double *v);

/* Whether joints' springs and dampers may be too stiff for the explicit step of a local model: such
 * a chain is to use its exact model. */
bool gw_chain_is_stiff(const gw_chain *chain);

/* Takes over the state of the friction model from another chain of as many joints. */
void gw_chain_copy_friction(gw_chain *chain, const gw_chain *from);

/* After the definition's base has moved; joints keep their state, and the exact model is used until
 * a new local model is set. */
void gw_chain_update_base(gw_chain *chain);

/* World poses and twists (of the origins) of all links' frames. twists may be NULL. */
void gw_chain_link_poses(const gw_chain *chain, gw_pose *world_from_link, gw_twist *twists);

/* The mass matrix D(q), n x n, row-major with `stride` entries a row, by composite rigid bodies,
 * O(n^2): for local models, checks and tests. */
void gw_chain_mass_matrix(const gw_chain *chain, double *d, int stride);

/* Multiplies the velocity by `factor`; returns the kinetic energy taken (J). */
double gw_chain_scale_velocity(gw_chain *chain, double factor);

#endif
