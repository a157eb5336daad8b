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
 *              8). Redundant rows are found by rank and carry no force of their own.
 *
 * After each step positions and velocities are put back on the rows in the mass metric, so no loop
 * drifts open. Joints have no singular coordinates: rotations of several axes are integrated in
 * exponential coordinates about where the joint is.
 *
 * A system is made by a thread that may allocate; everything else is RT safe, one thread at a time.
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
/* The same: one of the grounds that may move, which are frames whose motion is prescribed. A ground
 * is where the world's origin is when the system is made. */
#define GW_MOVING_GROUND(k) (-2 - (k))

/* Of a moving ground: pose, twist of its origin and the rate of that (world axes). */
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
    bool reversed; /* F is the body's and M the parent's: `parent_from_f` says where M is in the
                      parent, `body_from_m` where F is in the body; coordinates stay M's in F */
    double pitch;  /* m/rad, of a screw */
    /* of a submanifold, which is no general or free-form one and has nothing act at its joint: the
     * poses of M in F, where that starts, and its twist there (of M's origin, F's axes). Not
     * reversed. */
    const gw_submanifold *set;
    gw_pose start;
    gw_twist start_twist;
    double position[6]; /* at the start; spherical and free: a rotation vector */
    double velocity[6];
    bool keeps_position, keeps_velocity; /* while closures are met at creation: others give way,
                                            where they can */
    double damping[6];                   /* N s/m or N m s/rad, of each coordinate */
    double stiffness[6]; /* N/m or N m/rad, towards `rest`, which of a ball is a rotation vector and
                            the stiffness along that from there; not of free joints */
    double rest[6];
    double friction[6]; /* Coulomb's, holding and sliding alike (N, N m); of a ball one torque about
                           any axis, the same in all three; not of free joints */
    /* of joints' coordinates but rotation vectors: */
    bool limited[6];
    double lower[6],
        upper[6];      /* m, rad; springs with damping beyond, as stiff as steps of dt bear */
    gw_motor motor[6]; /* of rotation vectors without stiffness */
    double damping_linear, damping_angular; /* of the body (N s/m, N m s/rad), the */
    gw_vec3 damping_at;                     /* former of this point in its frame */
} gw_system_body_def;

/* A surface of a body, in its frame. A contact takes a plane from the side that its normal points
 * to, a rim as a circle's line. */
typedef enum gw_surface_kind {
    GW_SURFACE_PLANE,     /* point, axis: the normal */
    GW_SURFACE_SPHERE,    /* point: the centre, radius */
    GW_SURFACE_CYLINDER,  /* point and axis, radius */
    GW_SURFACE_RIM,       /* point: the centre, axis: across the circle, radius */
    GW_SURFACE_ELLIPSOID, /* point: the centre, turn, semi_axes */
    GW_SURFACE_FREE_FORM, /* point, turn: the frame of a surface `nurbs`, normal S_u x S_v outward
                           */
    GW_SURFACE_CURVE      /* point, turn: the frame of a curve `nurbs` */
} gw_surface_kind;

#define GW_SURFACE_KINDS (GW_SURFACE_CURVE + 1)

typedef struct gw_surface {
    gw_surface_kind kind;
    gw_vec3 point, axis; /* axis: a unit vector */
    double radius;       /* m; of a plane: it is a disc about `point`; 0: endless */
    double half_length;  /* of a cylinder that ends, m; 0: endless */
    gw_quat turn;
    gw_vec3 semi_axes;     /* m */
    const gw_nurbs *nurbs; /* not owned */
} gw_surface;

/* Motions of two surfaces that stay in touch; a cylinder that touches along a line is left no spin
 * about the normal by rolling either way. */
typedef enum gw_contact_motion {
    GW_CONTACT_SLIDES,
    GW_CONTACT_ROLLS,       /* without slip where they touch */
    GW_CONTACT_ROLLS_PURELY /* nor spin about the normal; of two curves about the tangent */
} gw_contact_motion;

/* The point where two touch, on b in its frame, and their least relative curvature there (1/m), of
 * curves with a sign along `across`; 0 where they have no common normal or tangent. */
typedef struct gw_contact_curvature {
    gw_vec3 at;
    double curvature;
} gw_contact_curvature;

/* Where two curved surfaces touch: parameters of a free-form one, a unit vector of an ellipsoid,
 * and so on (surface_contact.c). */
typedef struct gw_contact_place {
    bool known;    /* false: to be searched for */
    bool searched; /* it was, since it was given: what was followed before had ended, or was none */
    double a[3], b[3];
    bool pinned;    /* a's point is a material one: of a rim that lies about flat, within a step */
    gw_vec3 across; /* of two curves: the direction e in b that their rows are made with */
    gw_contact_curvature now, before; /* and as the step began */
} gw_contact_place;

/* a: a sphere or a rim, on b: a plane, a sphere or a cylinder; or a: a cylinder on b: a plane; or
 * two cylinders: along a `line`, axes parallel, or in a point, axes crossed. Where one of them is
 * an ellipsoid or of free form: a anything but a plane, on b a surface. Or both a rim or a curve:
 * they keep one tangent where they touch. */
typedef struct gw_closure_contact {
    gw_surface on_a, on_b;
    gw_contact_place place; /* near it; it moves along within a system */
    bool inside; /* within b's sphere or cylinder; of other surfaces, on the other side */
    bool line;   /* two cylinders whose axes stay parallel */
    gw_contact_motion motion;
} gw_closure_contact;

typedef enum gw_closure_kind {
    GW_CLOSURE_ROWS,
    GW_CLOSURE_GEAR,    /* between coordinates of the joints of a and b */
    GW_CLOSURE_CONTACT, /* two surfaces stay in touch: one to three position rows, velocity rows */
    GW_CLOSURE_KNIFE_EDGE /* a velocity row */
} gw_closure_kind;

#define GW_CLOSURE_KINDS (GW_CLOSURE_KNIFE_EDGE + 1)

/* A closure between two bodies. */
typedef struct gw_closure_def {
    int a, b; /* bodies; b may be a ground, but of a gear */
    /* each a function of b_from_a, as if b were the world and a the body (submanifold.h) */
    int row_count;
    gw_row rows[GW_MAX_ROWS];
    gw_closure_kind kind; /* one of these instead of `rows`: */
    struct {
        int coordinate_a, coordinate_b; /* not of a rotation vector */
        double ratio, offset;           /* position of a's = ratio times that of b's + offset */
    } gear;
    gw_closure_contact contact;
    gw_contact_place first; /* of a system's contact: as it was made, before closures held */
    bool edges_left;        /* gw_system_disable_edge_springs() */
    int twin_count;         /* of a system's closure: rows behind the others, for kinks, */
    int twins_held;         /* and those of them that hold */
    struct {
        gw_vec3 point, direction; /* of a, in its frame: the point has no velocity along the unit
                                     vector, relative to b */
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
    double length;   /* m: angles of rows times this are compared with metres; 0: 1 */
    double dt;       /* period that limits' springs must be stable at (s); 0: 1e-3 */
    int spring_count;
    const gw_system_spring_def *springs;
    int ground_count;   /* that may move */
    bool silent_joints; /* wrenches of joints and closures are not kept until somebody asks for
                           them: gw_system_report_wrenches() */
} gw_system_def;

typedef struct gw_system gw_system;

/* Copies the definition, takes all memory, and puts the start onto the closures: positions by the
 * nearest ones in the mass metric, velocities by what the rows allow of them. NULL with an error:
 * memory; surfaces that cannot touch, closures that cannot be reached (GW_BAD_INPUT, with the
 * number of the closure, or of the one that is farthest open, as pointer). */
gw_system *gw_system_create(const gw_system_def *def, gw_error *error);
void gw_system_destroy(gw_system *system);

/* Gap (m), unit normal from b to a and the point (world) amid the closest ones of two surfaces,
 * given in their bodies' frames, with the bodies at `a` and `b` (world_from_body). A rim's point is
 * arbitrary where it lies flat. Where a place is followed, it is the branch that `place` is near,
 * or its tangent plane there where the branch has ended. RT safe. */
void gw_closure_contact_gap(const gw_closure_contact *contact, const gw_pose *a, const gw_pose *b,
                            double *gap, gw_vec3 *normal, gw_vec3 *point);

/*
 * Surfaces that may part and bend freely come close in several places, each a local minimum of
 * their distance. A place is found once and then followed. All RT safe, with the bodies at `a` and
 * `b` (world_from_body); gaps in m.
 */

/* Whether a contact may be one-sided: two curves keep one tangent and do not part. */
bool gw_closure_contact_may_part(const gw_closure_contact *contact);

/* True where a contact has such places; of others the gap has a closed form. */
bool gw_closure_contact_has_places(const gw_closure_contact *contact);

#define GW_CONTACT_PLACES 3 /* that are followed at once at most */

/* How many places are worth following at once: one between surfaces that both bulge. */
int gw_closure_contact_places(const gw_closure_contact *contact);

#define GW_CONTACT_SUPPORTS 6

/* How many points of a rim support it where it lies about flat on a surface that bends freely:
 * there its distance has no one minimum, and the lowest point runs round. */
int gw_closure_contact_supports(const gw_closure_contact *contact);

/* The place of supporting point `i` of these, followed from where it was known; false, and unknown,
 * where the rim does not lie about flat there, or past an edge. */
bool gw_closure_contact_support(const gw_closure_contact *contact, const gw_pose *a,
                                const gw_pose *b, int i, gw_contact_place *place, double *gap);

/* A lowest place of a rim, from supporting point `near` and `turn` (rad) further round. */
bool gw_closure_contact_lowest(const gw_closure_contact *contact, const gw_pose *a,
                               const gw_pose *b, double turn, const gw_contact_place *near,
                               gw_contact_place *place, double *gap);

/* A place of the least distance from below the middle of a, b's parameters there followed from
 * `under`, which is searched for where it is not known: cheaper than gw_closure_contact_find(). */
bool gw_closure_contact_find_under(const gw_closure_contact *contact, const gw_pose *a,
                                   const gw_pose *b, gw_contact_place *under,
                                   gw_contact_place *place, double *gap);

/* Moves a place that is known along with the bodies. False, and unknown, where the minimum has
 * ended, lies past an edge, or the bodies are on the wrong sides of one another. */
bool gw_closure_contact_follow(const gw_closure_contact *contact, const gw_pose *a,
                               const gw_pose *b, gw_contact_place *place, double *gap);

#define GW_CONTACT_TRIALS 65 /* after which a search has been everywhere */

/* A place from start number `trial` of a search, 0 .. GW_CONTACT_TRIALS - 1, the first one the
 * likeliest; false where none is found from there, with the distance of the points there as gap,
 * negative where they are past one another and neither is at an edge. Two global closest points of
 * work at most. */
bool gw_closure_contact_find(const gw_closure_contact *contact, const gw_pose *a, const gw_pose *b,
                             int trial, gw_contact_place *place, double *gap);

/* Whether the surfaces conform at a place, so that they touch along a line or everywhere; where it
 * is not known, at the points of start 0, unless one is at an edge. */
bool gw_closure_contact_conforms(const gw_closure_contact *contact, const gw_pose *a,
                                 const gw_pose *b, const gw_contact_place *place);

/* Whether two places of one contact are the same. */
bool gw_closure_contact_same(const gw_closure_contact *contact, const gw_contact_place *x,
                             const gw_contact_place *y);

/* The place of a system's contact as it is followed now, by its closure, or as it was first, where
 * the definition had the bodies; NULL: it has a closed form, and no place. One given to it, of a
 * contact between surfaces of the same parameters, is followed from there on. RT safe. */
const gw_contact_place *gw_system_contact_place(const gw_system *system, int closure);
const gw_contact_place *gw_system_first_place(const gw_system *system, int closure);
void gw_system_continue_contact(gw_system *system, int closure, const gw_contact_place *place);

/* Whether the surfaces of a closure can touch; GW_BAD_INPUT that says which can. */
bool gw_closure_check(const gw_closure_def *closure, gw_error *error);

#define GW_CLOSURE_WRENCHES 6

/* The rows of two surfaces in touch, or of a knife edge, with the bodies at `a` and `b`
 * (world_from_body), those of positions first: wrenches on both (world axes, at their origins) that
 * do no work in any motion that the closure allows. Returns their number. */
int gw_closure_wrenches(const gw_closure_def *closure, const gw_pose *a, const gw_pose *b,
                        gw_wrench on_a[GW_CLOSURE_WRENCHES], gw_wrench on_b[GW_CLOSURE_WRENCHES]);

/* The system as a model (rt/dynamics/model.h): tree coordinates in the order of the bodies, bodies
 * as numbered in the definition. The model is a value that may be copied and put back; it belongs
 * to the system, whose memory every copy works in, so one thread at a time uses all of them. */
gw_model *gw_system_model(gw_system *system);

/* The frame that gw_model's hand holds: of `body`, at `body_from_held`; the first body's origin
 * until it is said. */
void gw_system_hold(gw_system *system, int body, const gw_pose *body_from_held);

/* A second hand's view of the system: a model that shares its state, whose held frame is of another
 * body. It does not step: the hand's wrench is given to it, in world axes at that frame wherever it
 * goes, until it is another one; its work is gw_step.pushed. */
gw_model *gw_system_second_hold(gw_system *system, int body, const gw_pose *body_from_held);
void gw_system_second_force(gw_system *system, const gw_wrench *wrench);

/* A wrench at the origin of `body`, in world axes, that acts beside what the held frame feels until
 * it is another one; its work is gw_step.pushed. */
void gw_system_push(gw_system *system, int body, const gw_wrench *wrench);

/* Puts the bodies where these poses and twists (one per body, of the origins, world axes) have
 * them, as near as joints and closures allow; turns go on from where they are. What is left of the
 * closures (m). */
double gw_system_place(gw_system *system, const gw_pose *poses, const gw_twist *twists);

/* The same where joints and closures do not hold as they are, after an edit: bodies are put exactly
 * there, every joint and every row with an offset that it has to lose; as much of their motion
 * stays as all allow in the mass metric. The largest offsets (m, and rad), 0 where there is none.
 */
void gw_system_place_with_offsets(gw_system *system, const gw_pose *poses, const gw_twist *twists,
                                  double *way, double *turn);

/* Gives the bodies the motion nearest to these twists (one per body, of the origins, world axes) in
 * the mass metric: a blow between bodies that moved apart, which keeps the momentum of what floats.
 * A body whose joint `keeps_velocity` moves by that instead; where it could not keep it, all go on
 * as they do. Changes `twists`. */
void gw_system_project_twists(gw_system *system, gw_twist *twists);

/* Sets the share left of all offsets, 1 to 0, and its rate from now on (1/s). Returns the energy
 * that it brings as a blow (J); the work of the way is gw_step.base_work. RT safe. */
double gw_system_move_offsets(gw_system *system, double share, double rate);

/* Positions and velocities of all coordinates, of a system without closures whose joints have
 * neither rotation vectors nor submanifolds. RT safe. */
void gw_system_set_joints(gw_system *system, const double *q, const double *v);

/* How the joint of a body goes on after another system. */
typedef struct gw_joint_before {
    int body;      /* as that of this body did; -1: as it is */
    bool own_rate; /* but with the velocity that it has */
} gw_joint_before;

/* The joint of each body, and of what else a system has, goes on as one of another system does,
 * with friction's bristles, where it is of the same type. Closures are not met: gw_system_place()
 * or gw_system_place_with_offsets() comes next where there are any. RT safe. */
void gw_system_continue_joints(gw_system *system, const gw_system *from,
                               const gw_joint_before *before);

/* Scales all velocities; the kinetic energy that goes (J). */
double gw_system_scale_velocity(gw_system *system, double factor);

/* Puts all moving grounds, one pose and one twist of the origin each (world axes), which from now
 * on go on with that steady twist. Joints keep their positions as far as closures let them. Where a
 * twist changes at once, what hangs on the ground is hit: it keeps, of its motion, what joints and
 * closures allow in the mass metric. Returns the energy that all this brings (J). RT safe. */
double gw_system_move_grounds(gw_system *system, const gw_pose *poses, const gw_twist *twists);

/* The same of one ground that moves as `at` says, `t` seconds from now, which is asked at every
 * stage of a step; `context` is kept. */
double gw_system_drive_ground(gw_system *system, int ground,
                              gw_ground_motion (*at)(const void *context, double t),
                              const void *context);

/* Where a ground is, moving or GW_GROUND, and how it moves. */
gw_ground_motion gw_system_ground(gw_system *system, int ground);

/* Back to where it was created, grounds at rest. */
void gw_system_reset(gw_system *system);

/* The motor at a coordinate of a body's joint, from now on. */
void gw_system_set_motor(gw_system *system, int body, int coordinate, const gw_motor *motor);

/* Coordinates of the trees less independent rows, where the system is: of velocities, and of
 * positions, which rolling and knife edges do not restrict. */
int gw_system_mobility(gw_system *system);
int gw_system_position_dof(gw_system *system);

/* The largest row now (m; angles times the length). */
double gw_system_residual(gw_system *system);

/* The largest velocity along a row now (m/s; angles times the length): slip, of rolling. */
double gw_system_slip_velocity(gw_system *system);

/* The first contact that has degenerated in the last step: its relative curvature has vanished or
 * changed its sign, so that the two touch along a line for a moment, or its branch has ended; -1:
 * none. RT safe, as what follows. */
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

/* No springs at the edges of a closure: contacts of the system keep them. */
void gw_system_disable_edge_springs(gw_system *system, int closure);

/* How far the closure is within an edge (m, by the length of the shape; < 0: beyond): now; and with
 * its bodies at `a` and `b`, with the gradient of that: its rate is the power of on_a on a and of
 * the opposite wrench, at the same place, on b. RT safe. */
double gw_system_edge_distance(const gw_system *system, const gw_system_edge *edge);
void gw_system_edge_gap(const gw_system *system, const gw_system_edge *edge, const gw_pose *a,
                        const gw_pose *b, double *gap, gw_wrench *on_a);

/* The ends of a closure: bodies, or of b a ground. */
void gw_system_closure_ends(const gw_system *system, int closure, int *a, int *b);
int gw_system_closure_count(const gw_system *system);

/* A closure's first body. */
int gw_system_closure_body(const gw_system *system, int closure);

/* Position and velocity of a body's joint; turns count on beyond pi. Of a submanifold: its
 * parameters (gw_submanifold_parameters()), and velocities in its chart. Returns their number. */
int gw_system_joint(gw_system *system, int body, double position[6], double velocity[6]);

/* Wrenches of joints and closures are kept from the next step on. RT safe. */
void gw_system_report_wrenches(gw_system *system);

/* The wrench that a body's joint exerts on it as the last step began that continues none (world
 * axes, at the body's origin), springs and damping included; what closures exert comes on top. */
gw_wrench gw_system_joint_wrench(const gw_system *system, int body);

/* The same of a closure on its body `a`: the sum of its rows' multipliers, redundant ones of which
 * carry nothing. */
gw_wrench gw_system_closure_wrench(const gw_system *system, int closure);

/* Where the surfaces of a closure are in touch: the point amid them and the unit normal from b to a
 * (world), and the gap (m). */
void gw_system_contact(const gw_system *system, int closure, gw_vec3 *point, gw_vec3 *normal,
                       double *gap);

#endif
