/*
 * Mobilizers: the joints of a system's trees. A mobilizer stands between a frame F and a frame M
 * that coincide where all its coordinates are zero; z is the axis. Its coordinates say where M is
 * in F, its velocities how M moves in F.
 *
 * Rotations about more than one axis have no global coordinates without singularities: the state
 * holds a quaternion, velocities are angular velocities in F's axes, and an integrator uses
 * exponential coordinates about the initial state of its step (Munthe-Kaas):
 *
 *   turn(by) = exp(by) turn,    by-dot = J_l(by)^-1 w        J_l the left Jacobian of SO(3)
 *
 * Pure functions of their arguments: any thread, RT safe.
 */
#ifndef GW_DYNAMICS_MOBILIZER_H
#define GW_DYNAMICS_MOBILIZER_H

#include "rt/geometry/submanifold.h"

/* The comment gives the coordinates (m, rad) and, where they differ, the velocities. */
typedef enum gw_mobilizer {
    GW_MOBILIZER_FIXED,       /* none */
    GW_MOBILIZER_REVOLUTE,    /* [turn about z] */
    GW_MOBILIZER_PRISMATIC,   /* [slide along z] */
    GW_MOBILIZER_CYLINDRICAL, /* [slide along z, turn about z] */
    GW_MOBILIZER_SCREW,       /* [turn]: slides by the pitch times that */
    GW_MOBILIZER_UNIVERSAL,   /* [turn about F's y, turn about M's x] */
    GW_MOBILIZER_PLANAR,      /* [x, y of M's origin in F, turn about z] */
    GW_MOBILIZER_SPHERICAL,   /* rotation vector from F to M; angular velocity in F's axes */
    GW_MOBILIZER_FREE,        /* M's origin in F, rotation vector; its velocity, angular velocity */
    GW_MOBILIZER_COUNT,
    /* in systems only (system_submanifold_joint.c): M stays on a submanifold in F; coordinates of a
     * chart */
    GW_MOBILIZER_SUBMANIFOLD = GW_MOBILIZER_COUNT
} gw_mobilizer;

typedef struct gw_mobilizer_info {
    const char *name; /* on the wire */
    int dof;
    unsigned turns; /* bit i: coordinate i is an angle (rad), else a length (m) */
    const char
        *motion; /* description of the motion that the joint leaves, for people; NULL: none */
    bool holds_along[3]; /* the axes of F along which M's origin stays where F's is */
    bool holds_axis;     /* z stays along z */
    bool holds_turn;     /* M's x stays normal to F's y */
    bool second_turns;   /* the second coordinate's axis is fixed in M and turns with the first */
} gw_mobilizer_info;

extern const gw_mobilizer_info gw_mobilizers[GW_MOBILIZER_COUNT + 1];

/* Coordinates z (angles about one axis continue beyond pi), velocities u, the quaternion of
 * rotations about more than one axis (of a submanifold, centre and orientation of its chart), the
 * roots of the friction bristles, and the inverse inertias that the springs of bristles and limits
 * are tuned to. */
typedef struct gw_mobilizer_state {
    double z[6], u[6];
    gw_quat turn;
    gw_vec3 centre;
    double bristle_root[6], bristle_mobility[6], limit_mobility[6];
} gw_mobilizer_state;

/* Index of the first of the three coordinates of a rotation vector; 6: there is none. */
int gw_mobilizer_rotation(gw_mobilizer type);

/* The pose of M in F, and the columns of the joint's Jacobian in F's axes: velocity of M's origin
 * (v) and angular velocity (w) per unit of each coordinate's velocity. `pitch` in m/rad. */
gw_pose gw_mobilizer_pose(gw_mobilizer type, double pitch, const gw_mobilizer_state *state,
                          gw_vec3 v[6], gw_vec3 w[6]);

/* Sets `to` to the state `from` displaced by by[j] in each coordinate; velocities are kept. */
void gw_mobilizer_move(gw_mobilizer type, const gw_mobilizer_state *from, const double *by,
                       gw_mobilizer_state *to);

/* The rates of `by` (as above) where the velocities are u. */
void gw_mobilizer_rates(gw_mobilizer type, const double *by, const double *u, double *rates);

/* True if whole turns of the coordinate leave the pose as it is. They do not for a screw, nor for
 * one component of a rotation vector. */
bool gw_mobilizer_is_periodic(gw_mobilizer type, int coordinate);

/* The coordinates whose pose is nearest to a given pose of M in F, angles within -pi .. pi, of a
 * screw with the whole turns that follow from its slide; and the velocities nearest to a given
 * twist of M's origin in F's axes at that pose. */
void gw_mobilizer_position(gw_mobilizer type, double pitch, const gw_pose *f_from_m,
                           double position[6]);
void gw_mobilizer_velocity(gw_mobilizer type, const gw_pose *f_from_m, const gw_twist *twist,
                           double velocity[6]);

/* The rows, functions of a's pose in b, by which such a joint closes a loop between M (in a's
 * frame) and F (in b's); returns their number, at most 6. For a screw these are the rows of its
 * axis: slide = pitch * angle is no such row. */
int gw_mobilizer_rows(gw_mobilizer type, const gw_pose *b_from_f, const gw_pose *a_from_m,
                      gw_row rows[6]);

#endif
