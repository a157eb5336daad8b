/*
 * A system of rigid bodies: trees of joints, closed by constraint rows.
 *
 *   tree       every body hangs on its parent (another body, or the ground) by a joint of 0 to 6
 *              coordinates; forward dynamics by the articulated-body algorithm, O(n) (Featherstone)
 *   closure    rows g = 0 or A v = 0 between any two bodies, with multipliers:
 *
 *      (J D^-1 J^T) lambda = -J-dot v - J a_0,     a = a_0 + D^-1 J^T lambda
 *
 *              D the tree's inertia, a_0 its acceleration without closures (surface-constraints 4,
 *              8). Redundant rows are found by rank and get no multiplier.
 *
 * After each step positions and velocities are projected onto the rows in the mass metric, so loops
 * do not drift open. Joints have no singular coordinates: rotations about several axes are
 * integrated in exponential coordinates about the present orientation.
 *
 * gw_system_create() and gw_system_destroy() allocate and free memory; all other functions are RT
 * safe. One thread at a time.
 */
#ifndef GW_DYNAMICS_SYSTEM_H
#define GW_DYNAMICS_SYSTEM_H

#include "rt/base/error.h"
#include "rt/dynamics/joint_forces.h"
#include "rt/dynamics/mobilizer.h"
#include "rt/dynamics/model.h"
#include "rt/geometry/shape.h"
#include "rt/geometry/submanifold.h"

#define GW_GROUND (-1) /* as a parent, or a closure's or a spring's b: the world */
/* As above: moving ground k, a frame with prescribed motion. It coincides with the world frame when
 * the system is created. */
#define GW_MOVING_GROUND(k) (-2 - (k))

/* Motion of a ground: pose, twist of its origin and acceleration (world axes). */
typedef struct gw_ground_motion {
    gw_pose pose;
    gw_twist twist, acceleration;
} gw_ground_motion;

typedef struct gw_system_body_def {
    gw_mass mass; /* in the body's frame */
    int parent;   /* a body before this one, or a ground */
    gw_mobilizer joint;
    gw_pose parent_from_f; /* in the parent's frame, or the ground's */
    gw_pose body_from_m;
    bool reversed; /* F is fixed in the body and M in the parent: `parent_from_f` is then
                      parent_from_m and `body_from_m` is body_from_f; coordinates stay those of M in
                      F */
    double pitch;  /* m/rad, of a screw */
    /* of GW_MOBILIZER_SUBMANIFOLD: the set of poses of M in F (not general or free-form), the
     * initial pose and twist (of M's origin, F's axes). No joint forces; not reversed. */
    const gw_submanifold *set;
    gw_pose start;
    gw_twist start_twist;
    double position[6]; /* initial; of a spherical or free joint with a rotation vector */
    double velocity[6];
    bool keeps_position, keeps_velocity; /* at creation, where possible */
    double damping[6];                   /* N s/m or N m s/rad, of each coordinate */
    double stiffness[6]; /* N/m or N m/rad, towards `rest` (for a ball joint a rotation vector, with
                            the stiffness about the rotation axis from there); not of free joints */
    double rest[6];
    double friction[6]; /* Coulomb friction, static and sliding alike (N, N m); for a ball joint a
                           bound of the torque's norm, the same value in all three; not of free
                           joints */
    /* not of rotation vectors: */
    bool limited[6];
    double lower[6],
        upper[6]; /* m, rad; beyond: springs with damping, as stiff as is stable with steps of dt */
    /* of a ball joint: the targets are together a rotation vector, stiffness acts as that of its
     * spring; of free joints without stiffness */
    gw_motor motor[6];
    double damping_linear, damping_angular; /* of the body (N s/m, N m s/rad), the */
    gw_vec3 damping_at;                     /* former of this point in its frame */
} gw_system_body_def;

/* A surface of a body, in the body's frame. Contacts are on the side of a plane that its normal
 * points to; a rim is the circle itself. */
typedef enum gw_surface_kind {
    GW_SURFACE_PLANE,     /* point, axis: the normal */
    GW_SURFACE_SPHERE,    /* point: the centre, radius */
    GW_SURFACE_CYLINDER,  /* point and axis, radius */
    GW_SURFACE_RIM,       /* point: the centre, axis: across the circle, radius */
    GW_SURFACE_ELLIPSOID, /* point: the centre, turn, semi_axes */
    GW_SURFACE_FREE_FORM, /* point, turn: the frame of a surface `nurbs`, normal S_u x S_v outward
                           */
    GW_SURFACE_CURVE,     /* point, turn: the frame of a curve `nurbs` */
    GW_SURFACE_CORNER     /* point: a corner of `sheet`; of unilateral contacts alone */
} gw_surface_kind;

#define GW_SURFACE_KINDS (GW_SURFACE_CURVE + 1) /* that a constraint may name */

typedef struct gw_surface {
    gw_surface_kind kind;
    gw_vec3 point, axis; /* axis: a unit vector */
    double radius;       /* m; of a plane: radius of a disc about `point`, 0: infinite */
    double half_length;  /* of a finite cylinder (m); 0: infinite */
    gw_quat turn;
    gw_vec3 semi_axes;     /* m */
    const gw_nurbs *nurbs; /* not owned */
    const gw_nurbs *sheet; /* of an edge (a curve) or a corner: its surface (not owned), or NULL, */
    int end; /* and which of its edges it is (gw_nurbs.edge), or which corner: 1 at the end of u, +
                2 at that of v */
} gw_surface;

/* Relative motion of two surfaces in permanent contact. A cylinder in line contact cannot spin
 * about the normal under either rolling motion. */
typedef enum gw_contact_motion {
    GW_CONTACT_SLIDES,
    GW_CONTACT_ROLLS,       /* without slip at the contact point */
    GW_CONTACT_ROLLS_PURELY /* also without spin about the normal (two curves: about the tangent) */
} gw_contact_motion;

/* The contact point, on b and on a in their frames, the least relative curvature there (1/m; of two
 * curves with a sign along `across`), 0 where there is no common normal or tangent, and a's axes x
 * and y in b (not of two curves). */
typedef struct gw_contact_curvature {
    gw_vec3 at, on_a;
    double curvature;
    gw_vec3 axes[2];
} gw_contact_curvature;

/* Coordinates of a contact point on both surfaces: parameters of a free-form surface, a unit vector
 * of an ellipsoid, and so on (surface_contact.c). */
typedef struct gw_contact_point {
    bool known;    /* false: to be found by a search */
    bool searched; /* a search has replaced the contact point given */
    double a[3], b[3];
    bool pinned; /* a's point is fixed in a: of a rim that lies nearly flat, within a step; of
                    other contacts its section is, in a or, `exchanged`, in b (line_contact.c) */
    bool exchanged, faces_in; /* faces_in: a's normal points away from b */
    gw_vec3 through, along;   /* a point of the section, and its unit normal, along the line */
    gw_vec3 across;           /* of two curves: the direction e in b that defines their rows */
    gw_contact_curvature now, before; /* `before`: at the step's start */
    bool in_step;                     /* it is followed and not searched for; */
    bool lost; /* the branch ended since the substep began: the contact point is that */
    double start_a[3], start_b[3]; /* at its start */
} gw_contact_point;

/* A contact of two surfaces. Closed forms: a sphere on a plane, sphere or cylinder; a cylinder or
 * rim on a plane; two cylinders along a `line` (parallel axes). By common normal: two cylinders
 * with crossed axes; a rim on a sphere or cylinder; with an ellipsoid or free-form surface a is
 * anything but a plane and b a surface. Two rims or curves: with a common tangent. */
typedef struct gw_closure_contact {
    gw_surface on_a, on_b;
    gw_contact_point point; /* initial value, or unknown; in a system it follows the contact */
    bool inside; /* a is inside b's sphere or cylinder; of other surfaces, on the other side of b */
    bool line;   /* two cylinders whose axes stay parallel */
    bool edged;  /* edges of the surfaces are contacts of their own: past them this one is open; */
    bool faces_away; /* then: a's normal points into a (gw_closure_contact_faces_away()) */
    gw_contact_motion motion;
} gw_closure_contact;

typedef enum gw_closure_kind {
    GW_CLOSURE_ROWS,
    GW_CLOSURE_GEAR,      /* between coordinates of the joints of a and b */
    GW_CLOSURE_CONTACT,   /* permanent contact of two surfaces: one to three position rows, velocity
                             rows */
    GW_CLOSURE_KNIFE_EDGE /* a velocity row */
} gw_closure_kind;

#define GW_CLOSURE_KINDS (GW_CLOSURE_KNIFE_EDGE + 1)

/* A closure between two bodies. */
typedef struct gw_closure_def {
    int a, b; /* bodies; b may be a ground, except for a gear */
    /* functions of b_from_a: b takes the place of the world (submanifold.h) */
    int row_count;
    gw_row rows[GW_MAX_ROWS];
    gw_closure_kind kind; /* if not GW_CLOSURE_ROWS, one of these instead of `rows`: */
    struct {
        int coordinate_a, coordinate_b; /* not of a rotation vector */
        double ratio, offset;           /* position of a = ratio * position of b + offset */
    } gear;
    gw_closure_contact contact;
    gw_contact_point
        first; /* in a system: the contact point at creation, before closures were satisfied, */
    gw_contact_point start; /* and after */
    bool unilateral; /* of a contact of surfaces: inactive until gw_system_activate_contact() */
    double friction; /* mu of a unilateral contact that rolls; INFINITY: it does not slip */
    bool edges_left; /* gw_system_disable_edge_springs() */
    int twin_count;  /* in a system: additional rows for kinks, after the others, */
    int twins_held;  /* and the number of them that are active */
    struct {
        gw_vec3 point, direction; /* in a's frame: the point has no velocity along the unit vector
                                     relative to b */
    } knife_edge;
} gw_closure_def;

/* A spring with a damper between two points, along the line between them. */
typedef struct gw_system_spring_def {
    int a, b;           /* bodies; b may be a ground */
    gw_vec3 on_a, on_b; /* in the bodies' frames, or the ground's */
    double stiffness;   /* N/m */
    double damping;     /* N s/m */
    double length;      /* at rest (m) */
} gw_system_spring_def;

typedef struct gw_system_def {
    int body_count, closure_count;
    const gw_system_body_def *bodies; /* parents before their children */
    const gw_closure_def *closures;
    gw_vec3 gravity; /* m/s^2 */
    double length;   /* characteristic length (m) that converts angles of rows to metres; 0: 1 */
    double dt;       /* step for which the springs of limits must be stable (s); 0: 1e-3 */
    int spring_count;
    const gw_system_spring_def *springs;
    int ground_count;   /* moving grounds */
    bool silent_joints; /* wrenches of joints and closures are not computed before
                           gw_system_report_wrenches() is called */
} gw_system_def;

typedef struct gw_system gw_system;

/* Copies the definition, allocates all memory, and projects the initial state onto the closures in
 * the mass metric. NULL with an error: memory; surfaces that cannot touch or closures that cannot
 * be satisfied (GW_BAD_INPUT, with the number of the closure, or of that with the largest residual,
 * as pointer). */
gw_system *gw_system_create(const gw_system_def *def, gw_error *error);
void gw_system_destroy(gw_system *system);

/* Gap (m), unit normal from b to a, and the point midway between the closest points of two surfaces
 * (world), with the bodies at `a` and `b` (world_from_body). The point of a rim that lies flat is
 * arbitrary. With contact->point known: on the branch near it or, where that has ended, by the
 * tangent plane at the contact point. RT safe. */
void gw_closure_contact_gap(const gw_closure_contact *contact, const gw_pose *a, const gw_pose *b,
                            double *gap, gw_vec3 *normal, gw_vec3 *point);

/*
 * Unilateral contacts of curved surfaces can have several contact points, each a local minimum of
 * the distance. A contact point is found by a search and then followed. All RT safe, with the
 * bodies at `a` and `b` (world_from_body); gaps in m.
 */

/* The length that steps and curvatures of a contact are measured by (m). */
double gw_contact_size(const gw_closure_contact *contact);

/* True where a contact may be unilateral: not for two curves with a common tangent. */
bool gw_closure_contact_may_part(const gw_closure_contact *contact);

/* True where a contact has such contact points; of others the gap has a closed form. */
bool gw_closure_contact_has_points(const gw_closure_contact *contact);

#define GW_CONTACT_POINTS 3 /* that are followed at once at most */

/* The number of contact points to follow at once: one between two convex surfaces. */
int gw_closure_contact_points(const gw_closure_contact *contact);

#define GW_CONTACT_SUPPORTS 6

/* The number of supporting points of a rim that lies nearly flat on a curved surface, or of
 * free-form surfaces that touch nearly along a line, 0 for other contacts: there the distance has
 * no distinct minimum, and the lowest point moves along the rim or line. */
int gw_closure_contact_supports(const gw_closure_contact *contact);

/* The contact point of supporting point `i`, followed from `point` if known. False, with
 * point->known false, where the rim does not lie nearly flat there or the point is past an edge. */
bool gw_closure_contact_support(const gw_closure_contact *contact, const gw_pose *a,
                                const gw_pose *b, int i, gw_contact_point *point, double *gap);

/* Finds supporting points spread along the line on which surfaces touch nearly, from a contact
 * point near it; *closed: the line comes back to its beginning. Returns their number, 0: there is
 * no such line. Costs up to about 0.5 ms. */
int gw_closure_contact_trace(const gw_closure_contact *contact, const gw_pose *a, const gw_pose *b,
                             const gw_contact_point *near,
                             gw_contact_point points[GW_CONTACT_SUPPORTS], bool *closed);

/* A start for that: the point of b closest to a's centre; false for curves. */
bool gw_closure_contact_below(const gw_closure_contact *contact, const gw_pose *a, const gw_pose *b,
                              gw_contact_point *point);

/* Pins a contact point to a section parallel to that of a supporting point near it. */
void gw_closure_contact_pin(const gw_closure_contact *contact, const gw_contact_point *support,
                            gw_contact_point *point);

/* Distance of two contact points on b (m). */
double gw_closure_contact_distance(const gw_closure_contact *contact, const gw_contact_point *x,
                                   const gw_contact_point *y);

/* A lowest contact point of a rim, from supporting point `near` and `turn` (rad) further round. */
bool gw_closure_contact_lowest(const gw_closure_contact *contact, const gw_pose *a,
                               const gw_pose *b, double turn, const gw_contact_point *near,
                               gw_contact_point *point, double *gap);

/* A contact point found by descent from the point of b closest to a's centre, which is followed in
 * `under` (searched for where unknown); false where none is found or b is more than 1 cm away
 * there. Cheaper than gw_closure_contact_find(). */
bool gw_closure_contact_find_under(const gw_closure_contact *contact, const gw_pose *a,
                                   const gw_pose *b, gw_contact_point *under,
                                   gw_contact_point *point, double *gap);

/* Follows a known contact point to the bodies' poses. False, with point->known false, where the
 * minimum has ended or lies past an edge, or where the penetration exceeds half the contact's size.
 */
bool gw_closure_contact_follow(const gw_closure_contact *contact, const gw_pose *a,
                               const gw_pose *b, gw_contact_point *point, double *gap);

/* True for a followed contact point beside which another one is likely: the surfaces bend nearly
 * alike. Rims have a search of their own (gw_closure_contact_lowest()). */
bool gw_closure_contact_is_narrow(const gw_closure_contact *contact, const gw_contact_point *point);

#define GW_CONTACT_BESIDE 6

/* Searches for a contact point beside another one, in the direction in which the surfaces bend most
 * alike, from start i, 0 .. GW_CONTACT_BESIDE - 1. */
bool gw_closure_contact_find_beside(const gw_closure_contact *contact, const gw_pose *a,
                                    const gw_pose *b, const gw_contact_point *near, int i,
                                    gw_contact_point *point, double *gap);

#define GW_CONTACT_TRIALS 65 /* number of starts of a complete search */

/* Searches for a contact point from start `trial`, 0 .. GW_CONTACT_TRIALS - 1, the likeliest first.
 * False where none is found from there: *gap is then the distance of the start's two points,
 * negative where the surfaces penetrate and neither point is at an edge; *point is the start. Costs
 * at most two global closest-point queries. */
bool gw_closure_contact_find(const gw_closure_contact *contact, const gw_pose *a, const gw_pose *b,
                             int trial, gw_contact_point *point, double *gap);

/* Sets the contact point of a contact of two surfaces, one of which is a sheet, from that of
 * `edge`, the contact of an edge of the sheet and the other surface (`exchanged`: the sheet is on
 * b), and follows it. False where that does not lead to a contact point, or contacts at the edge
 * are far from leaving it for the sheet. */
bool gw_closure_contact_from_edge(const gw_closure_contact *contact, const gw_pose *a,
                                  const gw_pose *b, const gw_closure_contact *edge, bool exchanged,
                                  gw_contact_point *point, double *gap);

#define GW_CONTACT_MINIMA 8 /* starts of gw_closure_contact_find_near() at most */

/* Searches for contact points from all points of b, a free-form surface, where its distance from
 * a's centre has a local minimum and b is within `reach` (m) of a ball about a: for a sphere these
 * are all contact points. Of an edge and a smaller surface b from the points of the edge near b's
 * centre. Returns the number of contact points, the nearest first; -1 for other contacts. Costs at
 * most a global closest-point query. */
int gw_closure_contact_find_near(const gw_closure_contact *contact, const gw_pose *a,
                                 const gw_pose *b, double reach,
                                 gw_contact_point points[GW_CONTACT_MINIMA],
                                 double gaps[GW_CONTACT_MINIMA]);

/* True where the surfaces conform at a contact point, so that they touch along a line or
 * everywhere. If the contact point is unknown, at the points of start 0, unless one is at an edge.
 */
bool gw_closure_contact_conforms(const gw_closure_contact *contact, const gw_pose *a,
                                 const gw_pose *b, const gw_contact_point *point);

/* How far (m) the points of the smaller surface have moved relative to the other one, at most,
 * between two poses of a in b: the distance of the surfaces has changed by no more. */
double gw_closure_contact_moved(const gw_closure_contact *contact, const gw_pose *then,
                                const gw_pose *now);

/* True where a contact point is at an edge of a surface, or at an end of a curve, or past it. */
bool gw_closure_contact_at_edge(const gw_closure_contact *contact, const gw_contact_point *point);

/* True if the normal of a's surface, where it is nearest to b, points away from b. */
bool gw_closure_contact_faces_away(const gw_closure_contact *contact, const gw_pose *a,
                                   const gw_pose *b);

/* True if two contact points of a contact are the same. */
bool gw_closure_contact_same(const gw_closure_contact *contact, const gw_contact_point *x,
                             const gw_contact_point *y);

/* The current contact point of a closure's contact, and that at creation with the bodies as
 * defined; NULL: the contact has a closed form and no contact point. gw_system_continue_contact()
 * sets the contact point to follow, of a contact between surfaces with the same parameters. RT
 * safe. */
const gw_contact_point *gw_system_contact_point(const gw_system *system, int closure);
const gw_contact_point *gw_system_first_point(const gw_system *system, int closure);
void gw_system_continue_contact(gw_system *system, int closure, const gw_contact_point *point);

/*
 * Unilateral contacts. While one is active its rows are those of a bilateral contact, and its
 * normal force may only push: a step deactivates it at the time at which the force becomes zero.
 * With a finite `friction` it begins to slip where its traction exceeds that, and sticks again
 * where the slip ends. RT safe.
 */

/* Activates a contact at `point` (NULL: its own, or of a closed form), with positions and
 * velocities projected onto all active rows in the mass metric: an inelastic impulse; one that has
 * slip and may slip begins slipping. False, with
 * nothing changed, where the projection does not converge, or a local model is in use. */
bool gw_system_activate_contact(gw_system *system, int closure, const gw_contact_point *point);
void gw_system_deactivate_contact(gw_system *system, int closure);

/* Tells whether the caller follows an inactive contact of `edged` surfaces, at `point`, unknown if
 * not: a contact that ends at an edge within a step passes on to one that is followed, which is
 * active from then on. */
void gw_system_follow_contact(gw_system *system, int closure, const gw_contact_point *point);

/* True if an active contact is where this one continues it, at the edge of a sheet: it passes on
 * when it leaves. */
bool gw_system_contact_waits_at_edge(const gw_system *system, int closure);
bool gw_system_contact_is_active(const gw_system *system, int closure);

/* The wrench of an active contact on its body a, at its origin, at the end of the last step (world
 * axes); of redundant rows the least ones. */
gw_wrench gw_system_contact_force(const gw_system *system, int closure);

/* True if the closure's pair of surfaces is supported; else GW_BAD_INPUT with the supported
 * pairs. */
bool gw_closure_check(const gw_closure_def *closure, gw_error *error);

#define GW_CLOSURE_WRENCHES 6

/* The rows of a contact or a knife edge, position rows first, with the bodies at `a` and `b`
 * (world_from_body), as wrenches on both bodies (world axes, at their origins), which do no work in
 * any motion that the closure allows. Returns their number. */
int gw_closure_wrenches(const gw_closure_def *closure, const gw_pose *a, const gw_pose *b,
                        gw_wrench on_a[GW_CLOSURE_WRENCHES], gw_wrench on_b[GW_CLOSURE_WRENCHES]);

/* The system as a model (rt/dynamics/model.h): tree coordinates in the order of the bodies, bodies
 * numbered as in the definition. The model is a value that may be copied and restored. All copies
 * use the system's memory, so only one thread at a time may use any of them. */
gw_model *gw_system_model(gw_system *system);

/* Sets the model's held frame: on `body`, at `body_from_held`. Initially: the frame of the first
 * body. */
void gw_system_hold(gw_system *system, int body, const gw_pose *body_from_held);

/* A model for a second hand: it shares the system's state, and its held frame is on another body.
 * It does not step. gw_system_second_hand() sets the hand's force `at` that frame, which the stages
 * of the system's steps evaluate until it is set again (NULL: none); its work is gw_step.second. */
gw_model *gw_system_second_model(gw_system *system, int body, const gw_pose *body_from_held);
void gw_system_second_hand(gw_system *system, const gw_forces *hand);

/* Sets a wrench at the origin of `body` (world axes) that acts in addition to the hand's until it
 * is set again; its work counts in gw_step.pushed. */
void gw_system_push(gw_system *system, int body, const gw_wrench *wrench);

/* Sets the state nearest to these poses and twists (one per body, of the origins, world axes) that
 * joints and closures allow; angles continue from their present turn. A local model is left.
 * Returns the residual of the closures (m). */
double gw_system_place(gw_system *system, const gw_pose *poses, const gw_twist *twists);

/* The same where joints and closures are not satisfied at these poses, after an edit: bodies are
 * put exactly there, and every joint and row gets an offset, to be removed by
 * gw_system_move_offsets(). Twists are projected in the mass metric. `distance` and `turn`: the
 * largest offsets (m, rad), 0 where there is none.
 */
void gw_system_place_with_offsets(gw_system *system, const gw_pose *poses, const gw_twist *twists,
                                  double *distance, double *turn);

/* Gives the bodies the motion nearest to these twists (one per body, of the origins, world axes) in
 * the mass metric: an inelastic impulse, which conserves the momentum of floating bodies. A body
 * whose joint `keeps_velocity` keeps its joint's velocity instead, as far as closures allow.
 * Modifies `twists`. */
void gw_system_project_twists(gw_system *system, gw_twist *twists);

/* Sets the remaining share of all offsets, 1 to 0, and its rate (1/s). Returns the energy of the
 * impulse (J); the work done while the offsets change counts in gw_step.base_work. RT safe. */
double gw_system_move_offsets(gw_system *system, double share, double rate);

/* Positions and velocities of all coordinates, of a system without closures whose joints have
 * neither rotation vectors nor submanifolds. RT safe. */
void gw_system_set_joints(gw_system *system, const double *q, const double *v);

/* The joint of another system whose state a body's joint takes over. */
typedef struct gw_joint_before {
    int body;      /* body in the other system; -1: none, the state is kept */
    bool own_rate; /* the velocity is kept */
} gw_joint_before;

/* Each joint takes over position, velocity and friction bristles of a joint of another system where
 * that has the same type. Closures are not satisfied: with closures call gw_system_place() or
 * gw_system_place_with_offsets() next. RT safe. */
void gw_system_continue_joints(gw_system *system, const gw_system *from,
                               const gw_joint_before *before);

/* Scales all velocities (on moving grounds: relative to the motion of least kinetic energy);
 * returns the kinetic energy removed (J). */
double gw_system_scale_velocity(gw_system *system, double factor);

/* Sets pose and constant twist (of the origin, world axes) of each moving ground. Joints keep their
 * positions as far as closures allow. A sudden change of a twist is an impulse on the bodies: their
 * velocities are projected in the mass metric. Returns the change of energy (J). RT safe. */
double gw_system_move_grounds(gw_system *system, const gw_pose *poses, const gw_twist *twists);

/* The same for one ground whose motion `t` seconds from now is at(context, t), called at every
 * stage of a step; `context` must outlive its use. */
double gw_system_drive_ground(gw_system *system, int ground,
                              gw_ground_motion (*at)(const void *context, double t),
                              const void *context);

/* The present motion of a ground, moving or GW_GROUND. */
gw_ground_motion gw_system_ground(gw_system *system, int ground);

/* Restores the state at creation, with grounds at rest. */
void gw_system_reset(gw_system *system);

/* Replaces the motor at a coordinate of a body's joint. */
void gw_system_set_motor(gw_system *system, int body, int coordinate, const gw_motor *motor);

/* Degrees of freedom at the present configuration, coordinates of the trees minus rank of the rows:
 * of velocities, and of positions (without the rows of rolling and knife edges). */
int gw_system_mobility(gw_system *system);
int gw_system_position_dof(gw_system *system);

/* The largest residual of a position row (m; angles times the length). */
double gw_system_residual(gw_system *system);

/* The largest velocity along a row (m/s; angular ones times the length), such as the slip of a
 * rolling contact. */
double gw_system_slip_velocity(gw_system *system);

/* The first contact that degenerated in the last step: its relative curvature vanished or changed
 * sign, so that the surfaces touch along a line for a moment, or its branch ended; -1: none. */
int gw_system_degenerate_closure(const gw_system *system);

/* The first closure past an edge of a free-form surface, or the end of a curve, where a spring
 * pushes it back; -1: none. */
int gw_system_closure_at_edge(const gw_system *system);

/* An edge of a free-form surface, or an end of a curve, in a closure. */
typedef struct gw_system_edge {
    int closure, side, direction; /* shape on the closure's a (0) or b (1); of its parameters */
    bool high;                    /* where the parameter is at its upper end */
} gw_system_edge;

#define GW_SYSTEM_EDGES 8 /* of a closure, at most */

/* The edges of a closure; their number. */
int gw_system_edges(const gw_system *system, int closure, gw_system_edge edges[GW_SYSTEM_EDGES]);

/* Removes the springs at the edges of a closure, which unilateral constraints replace. */
void gw_system_disable_edge_springs(gw_system *system, int closure);

/* Distance of the closure from an edge (m along the shape; < 0: beyond): at present; and with the
 * bodies at `a` and `b`, with its gradient: the rate is the power of on_a on a plus that of the
 * opposite wrench, at the same point, on b. RT safe. */
double gw_system_edge_distance(const gw_system *system, const gw_system_edge *edge);
void gw_system_edge_gap(const gw_system *system, const gw_system_edge *edge, const gw_pose *a,
                        const gw_pose *b, double *gap, gw_wrench *on_a);

/* The bodies a and b of a closure; b may be a ground. */
void gw_system_closure_ends(const gw_system *system, int closure, int *a, int *b);
int gw_system_closure_count(const gw_system *system);

/* A closure's first body. */
int gw_system_closure_body(const gw_system *system, int closure);

/* Position and velocity of a body's joint (m, rad; angles continue beyond pi). For a submanifold:
 * its parameters (gw_submanifold_parameters()) and the velocities in its chart. Returns their
 * number. */
int gw_system_joint(gw_system *system, int body, double position[6], double velocity[6]);

/* Requests that wrenches of joints and closures are computed from the next step on. RT safe. */
void gw_system_report_wrenches(gw_system *system);

/* The wrench that a body's joint exerts on it at the start of the last step, or before its
 * collisions (gw_forces.continues); world axes, at the body's origin; joint springs and damping
 * included, closures not. */
gw_wrench gw_system_joint_wrench(const gw_system *system, int body);

/* The same for a closure on its body `a`: the sum of its rows' wrenches; redundant rows have
 * none. */
gw_wrench gw_system_closure_wrench(const gw_system *system, int closure);

/* The contact of a closure: the point midway between the surfaces, the unit normal from b to a
 * (world), and the gap (m). */
void gw_system_contact(const gw_system *system, int closure, gw_vec3 *point, gw_vec3 *normal,
                       double *gap);

#endif
