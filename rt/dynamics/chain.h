/*
 * The chain: a serial linkage of revolute and prismatic joints, fixed to the world at its base,
 * held at any point of any link (mechanisms eq. 1).
 *
 *   D(q) q'' + B(q, q') + G(q) = motors - damping - friction - limits + J_h^T F_h + sum J_i^T F_i
 *
 * Coordinates are the joints' positions (rad, m). Forward dynamics are O(n): D is never formed in a
 * step. Link i moves with joint i; its frame is the joint's: parent_from_link(q) is `origin`, then
 * a turn about, or a shift along, `axis`.
 *
 * A value without heap memory; it belongs to one thread at a time. RT safe throughout.
 */
#ifndef GW_DYNAMICS_CHAIN_H
#define GW_DYNAMICS_CHAIN_H

#include "rt/geometry/shape.h"
#include "rt/dynamics/model.h"

typedef enum gw_joint_kind { GW_JOINT_REVOLUTE, GW_JOINT_PRISMATIC } gw_joint_kind;

/* A motor at the joint: torque + stiffness (target - q) + damping (rate - v), at most `max` either
 * way, and what would speed the joint up fades out towards `speed`. All zero: none. */
typedef struct gw_motor {
    double torque;            /* N m, N */
    double target, stiffness; /* rad, m; N m/rad, N/m */
    double rate, damping;     /* rad/s, m/s; N m s/rad, N s/m */
    double max;               /* N m, N; 0: unlimited */
    double speed;             /* rad/s, m/s: beyond, it drives no faster; 0: unlimited */
} gw_motor;

typedef struct gw_chain_link {
    gw_joint_kind kind;
    gw_pose parent_from_joint; /* of the link's frame at q = 0, in the parent link's frame */
    gw_vec3 axis;              /* unit vector in the link's frame */
    double damping;            /* N m s/rad, N s/m */
    double friction;           /* Coulomb's, holding and sliding alike (N m, N) */
    bool limited;
    double lower, upper; /* rad, m; springs with damping beyond, as stiff as the step bears */
    gw_motor motor;
    gw_mass mass; /* in the link's axes */
} gw_chain_link;

typedef struct gw_chain_def {
    int count; /* links, 1 .. GW_MAX_LINKS */
    gw_chain_link links[GW_MAX_LINKS];
    gw_pose world_from_base;
    gw_vec3 gravity; /* m/s^2 */
    int held;        /* link with the held frame; -1: none is held, the last link's frame serves */
    gw_pose link_from_held;
    double dt; /* period that limits' springs must be stable at (s); 0: 1e-3 */
} gw_chain_def;

/* Lower triangle of a symmetric matrix. */
typedef struct gw_sym3 {
    double xx, yx, yy, zx, zy, zz;
} gw_sym3;

/* One link as the step computes with it: what the definition gives once, what q and v give now. Its
 * axes are the link's frame turned so that z is the joint's axis; vectors in world axes are from
 * the link's origin. For the chain's own files. */
typedef struct gw_chain_link_state {
    /* of the definition */
    gw_mat3 parent_from_axes; /* at q = 0 */
    gw_quat axes_from_link;
    gw_vec3 offset, com; /* origin at q = 0 in the parent's axes; centre of mass (m) */
    gw_sym3 inertia;     /* about it */
    double mass;
    double limit_stiffness, limit_damping;
    double inertia_seen; /* 1 / (D^-1)_ii, the least of three postures (kg m^2, kg) */
    double root; /* of friction's bristle (rad, m): moves when the joint slips (chain_joints.c) */
    bool slides, straight,
        principal; /* a slide; axes along the parent's at q = 0; inertia diagonal */
    /* of q */
    gw_mat3 world_from_axes;
    gw_vec3 at, arm, world_com; /* origin; from the parent's origin to it; centre of mass */
    gw_sym3 world_inertia;      /* about it */
    gw_wrench resistance;       /* U: the links from here on, articulated, times the axis; at the
                                 * parent's origin */
    double mobility;            /* 1/D: of the joint with its parent at rest */
    /* of v too */
    gw_twist twist;
} gw_chain_link_state;

typedef struct gw_chain {
    gw_model model;
    const gw_chain_def *def; /* outlives the chain; motors and damping may change between steps */
    const struct gw_chain_local_model *local; /* D and G of a look in place of those at q
                                     (chain_local.h); NULL: exact */
    double kinetic, potential;
    int level, patience; /* how finely the last step went (chain_step.c) */
    double stiff;        /* period of the last step, where its joints were stiff (chain_stiff.c) */
    bool planar;         /* all joints turn about parallel axes */
    gw_mat3 world_from_plane;
    gw_quat axes_from_held;
    gw_vec3 held_at; /* in the held link's axes */
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    double pushed[GW_MAX_LINKS];              /* by the hand at the end of a stiff step (N m, N) */
    gw_chain_link_state joints[GW_MAX_LINKS]; /* ops->size leaves out what is never used */
} gw_chain;

/* At joint positions and velocities (def->count entries each; NULL: zero). */
void gw_chain_init(gw_chain *chain, const gw_chain_def *def, const double *q, const double *v);

/* Whether joints' springs and dampers may be more than a local model's step bears (chain_stiff.c):
 * such a chain is to go exactly. */
bool gw_chain_is_stiff(const gw_chain *chain);

/* Friction's bristles as they stand in another chain of as many joints, which this one goes on
 * from. */
void gw_chain_copy_friction(gw_chain *chain, const gw_chain *from);

/* Its base is where the definition has it by now; joints go on as they are, exactly until it is
 * looked at again. */
void gw_chain_update_base(gw_chain *chain);

/* World poses and twists (of the origins) of all links' frames. twists may be NULL. */
void gw_chain_link_poses(const gw_chain *chain, gw_pose *world_from_link, gw_twist *twists);

/* D(q), n x n, row-major with `stride` entries a row (composite rigid bodies, O(n^2)): for tests,
 * figures and local models. */
void gw_chain_mass_matrix(const gw_chain *chain, double *d, int stride);

/* Multiplies its velocity by `factor`; the kinetic energy that went (J). */
double gw_chain_scale_velocity(gw_chain *chain, double factor);

#endif
