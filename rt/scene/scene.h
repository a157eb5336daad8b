/*
 * The scene document: the content of a scene file as plain structs.
 *
 * A scene owns its arrays (heap). The server's threads edit a copy that replaces the old one; the
 * loop gets a scenario that is built from the scene, never the scene. Not for use inside a tick.
 */
#ifndef GW_SCENE_SCENE_H
#define GW_SCENE_SCENE_H

#include "rt/base/error.h"
#include "rt/base/limits.h"
#include "rt/contact/world.h"
#include "rt/haptics/desired_impedance.h"
#include "rt/haptics/impedance.h"
#include "rt/geometry/feature.h"
#include "rt/geometry/nurbs.h"
#include "rt/geometry/shape.h"
#include "rt/dynamics/link.h"
#include "rt/scene/joint.h"
#include "rt/scene/task.h"
#include "rt/positioning/solve.h"

/* Source of an object's mass. */
typedef enum gw_mass_source { GW_MASS_BY_DENSITY, GW_MASS_GIVEN } gw_mass_source;

typedef struct gw_body {
    gw_mass_source source;
    double density; /* kg/m^3, GW_MASS_BY_DENSITY; default 1000 */
    double mass;    /* kg, GW_MASS_GIVEN */
    bool has_com, has_inertia;
    gw_vec3 com;            /* m, body axes */
    double inertia[6];      /* ixx iyy izz ixy ixz iyz, entries of the tensor about com (kg m^2) */
    double damping_linear;  /* N s/m at the tool frame */
    double damping_angular; /* N m s/rad */
} gw_body;

typedef struct gw_object {
    char id[GW_MAX_ID + 1];
    gw_shape shape;
    gw_pose pose; /* world_from_object as the scene says it */
    bool fixed;
    bool free;     /* a dynamic body */
    bool massless; /* it follows the bodies it is joined to without reaction on them */
    char material[GW_MAX_ID + 1]; /* empty: the default one */
    gw_body body;
    gw_vec3 velocity, spin; /* initial twist of the frame's origin, world axes (m/s, rad/s) */
} gw_object;

/* A feature that the scene states, beside those derived from the shape. */
typedef struct gw_feature {
    char object[GW_MAX_LINK_NAME + 1]; /* an object, or a link */
    char name[GW_MAX_ID + 1];
    gw_element element; /* in the object's frame */
} gw_feature;

/* "object/feature" */
typedef struct gw_feature_ref {
    char object[GW_MAX_LINK_NAME + 1]; /* an object, or a link */
    char feature[GW_MAX_ID + 1];
} gw_feature_ref;

/* Bound of a distance or an angle relative to its value. Unilateral (one-sided) constraints never
 * position an object: they are contacts of moving bodies (rt/contact/unilateral_row.h). */
typedef enum gw_bound { GW_BOUND_EQUAL, GW_BOUND_AT_LEAST, GW_BOUND_AT_MOST } gw_bound;

/* Name on the wire of a constraint kind, positional or on velocities (surface.c); NULL beyond the
 * last kind. */
const char *gw_any_constraint_name(int kind);

/* A rolling or sliding body is held to the surface (bilateral) or may separate from it. */
typedef enum gw_contact_side { GW_CONTACT_BILATERAL, GW_CONTACT_UNILATERAL } gw_contact_side;

typedef struct gw_scene_constraint {
    char id[GW_MAX_ID + 1];
    gw_constraint_kind kind;
    gw_bound bound;      /* of a distance or an angle */
    gw_feature_ref a, b; /* for signs b plays the fixed part */
    double value;
    gw_sense sense;
    bool enabled;
    bool inside;                /* of rolling and sliding: within b's surface */
    gw_contact_side unilateral; /* of rolling and sliding */
} gw_scene_constraint;

/* A contact material; a pair takes the geometric mean of frictions, the smaller restitution, and
 * stiffnesses and dampings in series. */
typedef struct gw_material {
    char id[GW_MAX_ID + 1];
    gw_contact_material surface;
    bool has_friction; /* its friction is stated: it limits the traction of rolling contacts too */
} gw_material;

/* The geometry of a link, for display and contacts. */
typedef struct gw_link_geometry {
    char id[GW_MAX_ID + 1]; /* a label, unique in its mechanism; may be empty */
    bool has_geometry;
    gw_shape shape;
    gw_pose pose;   /* link_from_shape */
    char mesh[128]; /* name of the imported mesh file, for the page; may be empty */
    char material[GW_MAX_ID + 1];
} gw_link_geometry;

/* Two joints of a mechanism: position of links[0] = ratio times that of links[1] plus a constant. A
 * scene takes them over as gears among its own joints. */
typedef struct gw_link_gear {
    int links[2];
    double ratio;
} gw_link_gear;

/* A mechanism: a tree of links whose root is fixed to the world. A link's frame in messages is the
 * object `mechanism.link`, links counted from 0. */
typedef struct gw_mechanism {
    char id[GW_MAX_ID + 1];
    gw_pose base; /* world_from_base */
    int link_count;
    gw_link_def *links;           /* owned */
    gw_link_geometry *geometries; /* owned */
    double *position;             /* joints at tick 0; owned */
    double *velocity;             /* owned */
    int *parent; /* index of each link's parent, less than its own; -1: the base; owned */
    /* The type of joints with several coordinates (planar about `axis`, spherical, free), which
     * begin at their origin; GW_MOBILIZER_FIXED: it has one, and links[].kind says which; owned. */
    gw_mobilizer *several;
    bool has_tip;
    int tip; /* the link that a tool holds which names none */
    int gear_count;
    gw_link_gear *gears; /* owned; none once a scene has them */
} gw_mechanism;

/* A pair without collisions, each an object or a link. */
typedef struct gw_pair_name {
    char a[GW_MAX_LINK_NAME + 1], b[GW_MAX_LINK_NAME + 1];
} gw_pair_name;

#define GW_CONTACT_RATE  200  /* Hz, default of the world thread */
#define GW_CONTACT_SPEED 1e-3 /* m/s, default of slip_speed and rest_speed */

/* Contact settings of a scene: whether objects collide, and how contacts are resolved. */
typedef struct gw_scene_contact {
    bool enabled;
    bool local;  /* mechanisms step by local models made by the world thread */
    double rate; /* of the world thread (Hz); 0: 200 */
    gw_contact_rules rules;
    int ignore_count;     /* pairs without collisions */
    gw_pair_name *ignore; /* owned */
} gw_scene_contact;

typedef enum gw_control_kind {
    GW_CONTROL_ADMITTANCE,
    GW_CONTROL_IMPEDANCE, /* these four: impedance devices, rt/haptics/impedance.h */
    GW_CONTROL_PENALTY,
    GW_CONTROL_COUPLING,
    GW_CONTROL_FOUR_CHANNEL
} gw_control_kind;

/* Gains of the PID in device coordinates, per second powers; has_gains false: the defaults. */
typedef struct gw_gains {
    double p, i, d;
} gw_gains;

/* The map between task and device workspace: x_device = scale (x_task - centre). */
typedef struct gw_workspace {
    bool has_scale, has_centre;
    double scale;   /* k, device metres per task metre */
    gw_vec3 centre; /* task point at the device's origin (m) */
} gw_workspace;

/* The part of the hand's wrench that acts on the held body. */
typedef enum gw_grasp {
    GW_GRASP_RIGID, /* force and torque */
    GW_GRASP_POINT  /* the force alone: the hand turns freely about the tool frame's origin */
} gw_grasp;

#define GW_LINK_TIP (-1) /* the tip of the mechanism */

typedef struct gw_tool {
    char object[GW_MAX_ID + 1];    /* the held object, or empty */
    char mechanism[GW_MAX_ID + 1]; /* the held mechanism, or empty */
    int link;                      /* or GW_LINK_TIP, until gw_scene_name_held_link() */
    gw_pose at;                    /* object_from_tool, link_from_tool */
    char device[GW_MAX_ID + 1];    /* id of a device of the scene */
    gw_grasp grasp;
    gw_control_kind control;
    gw_impedance_def rendering; /* of all controls but admittance */
    gw_desired_def desired;     /* impedance rendered in place of the model's own */
    gw_pose start;              /* of the device at tick 0: tool_from_device, world axes */
    int substeps;               /* of control and simulated device within a tick, 1 .. 32; 0: 1 */
    bool has_gains;
    gw_gains gains;
    gw_workspace workspace;
    double force_scale; /* force on what is held per force of the hand; 0: 1 */
    char branch[16];    /* id of the branch that was chosen; empty: the nearest */
    /* Limits, 0: none. They act where a scene sets them (and on edits, see scenario.h). */
    double force_max, torque_max;                   /* of the operator's wrench (N, N m) */
    double speed_max, spin_max;                     /* of the virtual tool (m/s, rad/s) */
    double force_rate_max, torque_rate_max;         /* of an impedance device's command (/s) */
    double acceleration_max, spin_acceleration_max; /* of an admittance device's command */
    double reach_max; /* m, of the device from the middle of its workspace, in the task's metres */
} gw_tool;

typedef enum gw_operator_kind {
    GW_OPERATOR_NONE,
    GW_OPERATOR_WRENCH, /* scripted samples, held from their t to the next */
    GW_OPERATOR_HAND    /* a hand with mass, stiffness and damping that follows a path */
} gw_operator_kind;

typedef struct gw_wrench_sample {
    double t;
    gw_wrench wrench; /* at the tool frame's origin, world axes (N, N m) */
} gw_wrench_sample;

typedef struct gw_hand_knot {
    double t;
    gw_pose pose; /* of the hand's target, task space */
} gw_hand_knot;

typedef struct gw_operator {
    gw_operator_kind kind;
    int count;
    gw_wrench_sample *samples;       /* GW_OPERATOR_WRENCH: count, times ascending; owned */
    gw_hand_knot *path;              /* GW_OPERATOR_HAND: count, times ascending; owned */
    double mass, stiffness, damping; /* hand: kg, N/m, N s/m */
    double stiffness_angular, damping_angular; /* hand: N m/rad, N m s/rad */
} gw_operator;

/* Frees the samples or the path. */
void gw_operator_finish(gw_operator *operator);

#define GW_MAX_SETTINGS 24

/* A device's settings by name, as its driver publishes them (driver.h). */
typedef struct gw_setting {
    char name[32];
    double value;
} gw_setting;

/* Reaction to a stalled loop or a silent device: latched, the device stays off until it is armed
 * again; lenient, the event is reported and the loop continues. */
typedef enum gw_safety {
    GW_SAFETY_BY_DRIVER, /* latched for real devices, lenient for simulated ones */
    GW_SAFETY_LATCHED,
    GW_SAFETY_LENIENT
} gw_safety;

typedef struct gw_device {
    char id[GW_MAX_ID + 1];
    char driver[32];  /* "sim" */
    char profile[48]; /* "" or "ideal", "cobotic-hand-controller" */
    int setting_count;
    gw_setting settings[GW_MAX_SETTINGS];
    gw_operator operator;
    gw_safety safety;
} gw_device;

typedef struct gw_scene {
    char name[128];
    char description[512]; /* what to try, for the gallery; may be empty */
    gw_vec3 gravity;       /* m/s^2 */
    int rate;              /* Hz */
    int object_count, feature_count, constraint_count, tool_count, device_count, task_count;
    int mechanism_count, material_count, joint_count, spring_count;
    gw_object *objects;
    gw_feature *features;
    gw_scene_constraint *constraints;
    gw_tool *tools;
    gw_device *devices;
    gw_task *tasks;
    gw_mechanism *mechanisms;
    gw_material *materials;
    gw_scene_joint *joints;
    gw_scene_spring *springs;
    gw_scene_contact contact;
} gw_scene;

/* True if the device's safety is latched, also by the driver's default. */
bool gw_device_latched(const gw_device *device);

gw_scene gw_scene_default(void); /* empty, gravity 0, rate 1000 */

/* Deep copy; NULL if memory is exhausted. */
gw_scene *gw_scene_copy(const gw_scene *scene);
void gw_scene_destroy(gw_scene *scene); /* NULL is fine */

/* A tool with its defaults. The id of the object or mechanism that a tool holds. */
gw_tool gw_tool_default(void);
const char *gw_tool_held_id(const gw_tool *tool);

/*
 * The arrays of a scene, a row each: the name of an entry (of the members: with an s and with
 * _count), its type, the largest number, and whether entries begin with an id that is unique in the
 * array. Copies, growth, removal and the check of ids are generated from this table. Defaults of
 * entries other than zero, and memory that entries own, are handled in scene.c.
 */
#define GW_SCENE_ARRAYS(ROW)                                                                       \
    ROW(object, gw_object, GW_MAX_OBJECTS, true)                                                   \
    ROW(feature, gw_feature, GW_MAX_FEATURES, false)                                               \
    ROW(constraint, gw_scene_constraint, GW_MAX_CONSTRAINTS, true)                                 \
    ROW(device, gw_device, GW_MAX_DEVICES, true)                                                   \
    ROW(joint, gw_scene_joint, GW_MAX_SCENE_JOINTS, true)                                          \
    ROW(spring, gw_scene_spring, GW_MAX_SCENE_SPRINGS, true)                                       \
    ROW(tool, gw_tool, GW_MAX_TOOLS, false)                                                        \
    ROW(task, gw_task, GW_MAX_TASKS, false)                                                        \
    ROW(mechanism, gw_mechanism, GW_MAX_MECHANISMS, false)                                         \
    ROW(material, gw_material, GW_MAX_MATERIALS, true)

/* Grow by one entry and return it, with its defaults (zero, unless scene.c's start_object() and so
 * on say otherwise): gw_scene_add_object(), and so on for each array. NULL with an error beyond the
 * cap or without memory. */
#define GW_SCENE_ADD(name, type, most, id)                                                         \
    type *gw_scene_add_##name(gw_scene *scene, gw_error *error);
GW_SCENE_ARRAYS(GW_SCENE_ADD)

/* Frees what an entry owns: gw_scene_finish_object(), and so on for each array. */
#define GW_SCENE_FINISH(name, type, most, id) void gw_scene_finish_##name(type *entry);
GW_SCENE_ARRAYS(GW_SCENE_FINISH)

/* Remove the entry at `index`, the others keep their order; what it owns is freed:
 * gw_scene_remove_object(), and so on for each array. */
#define GW_SCENE_REMOVE(name, type, most, id)                                                      \
    void gw_scene_remove_##name(gw_scene *scene, int index);
GW_SCENE_ARRAYS(GW_SCENE_REMOVE)

/* The type of a link's joint. */
gw_mobilizer gw_mechanism_joint(const gw_mechanism *mechanism, int link);

/* The last link whose joint moves no inertia at the initial position: its articulated inertia,
 * which the joints of its subtree leave it, is zero, and the mass matrix D is singular. -1: none.
 * False if memory is exhausted. */
bool gw_mechanism_idle_link(const gw_mechanism *mechanism, int *link);

/* Sets the number of links: excess links are freed, kept links are unchanged, new links form a
 * chain with identity poses, axes along z and no mass. False if memory is exhausted. */
bool gw_mechanism_resize(gw_mechanism *mechanism, int count);
/* A deep copy (false: memory is exhausted; *to still requires gw_mechanism_finish()). */
bool gw_mechanism_copy(gw_mechanism *to, const gw_mechanism *from);
void gw_mechanism_finish(gw_mechanism *mechanism);

/* Indices by id, -1 where there is none. */
int gw_scene_object(const gw_scene *scene, const char *id);
int gw_scene_constraint_index(const gw_scene *scene, const char *id);
int gw_scene_device(const gw_scene *scene, const char *id);
int gw_scene_task(const gw_scene *scene, const char *id);
int gw_scene_mechanism(const gw_scene *scene, const char *id);
int gw_scene_material(const gw_scene *scene, const char *id);
int gw_scene_joint_index(const gw_scene *scene, const char *id);
int gw_scene_spring_index(const gw_scene *scene, const char *id);
int gw_scene_feature(const gw_scene *scene, const char *object, const char *name);

/* The body that an end of a joint or a spring names; false if there is no object or link of that
 * name and it is not the world frame's. */
bool gw_scene_body(const gw_scene *scene, const char *name, gw_body_ref *body);

/* Side 0 or 1 of a gear; false with an error at /joints/../joints/side or /coordinates if it names
 * no joint, or its coordinate is ambiguous. `index` is the gear's. */
bool gw_scene_geared(const gw_scene *scene, int index, int side, gw_geared *geared,
                     gw_error *error);

/* True if a gear turns the joint. */
bool gw_scene_joint_is_geared(const gw_scene *scene, int joint);

/* Of a spherical joint whose position is the rotation vector r (rad): the angle between the z axes,
 * sin(s/2) = |r x z|/|r| sin(|r|/2), and that of the whole rotation, which its limits are of. */
void gw_scene_ball_angles(const double r[3], double angles[2]);

/* Bodies of a scene are numbered: its objects, then the links of all mechanisms. Their count; the
 * number of the body of that name, GW_WORLD_BODY for the world frame, GW_NO_BODY if there is none;
 * mass properties of a body. */
#define GW_WORLD_BODY (-1)
#define GW_NO_BODY    (-2)
int gw_scene_body_count(const gw_scene *scene);
int gw_scene_body_number(const gw_scene *scene, const char *name);
gw_mass gw_scene_body_mass(const gw_scene *scene, int body);

/* Origin of the tool frame of the first tool that holds a body, in the body's frame; zero if none
 * does. */
gw_vec3 gw_scene_held_point(const gw_scene *scene, int body);

/* The number of tools that hold a body. */
int gw_scene_tools_at(const gw_scene *scene, int body);
/* Radius of gyration of a body (m). */
double gw_scene_body_length(const gw_scene *scene, int body);

/* The mechanism of a body that is a link, and which; -1 for an object. */
int gw_scene_link_of_body(const gw_scene *scene, int body, int *link);

/* Hash of a name, to identify it across scenes where strings are not available; each class of
 * things has its own value of `of`. */
uint64_t gw_name_hash(const char *name, uint64_t of);

/* The mechanism and the link that "mechanism.link" names; -1 if there is none. */
int gw_scene_link(const gw_scene *scene, const char *name, int *link);
void gw_link_name(const gw_mechanism *mechanism, int link, char name[GW_MAX_LINK_NAME + 1]);

/* Number of joints of all mechanisms together, and the number of the first one of mechanism
 * `index`.
 */
int gw_scene_joints(const gw_scene *scene);
int gw_scene_first_joint(const gw_scene *scene, int index);

/* Coordinates of the scene's joints before joint `index`, in the order of the scene; of all of them
 * where it is their number. Gears have none. */
int gw_scene_first_coordinate(const gw_scene *scene, int index);

/* The contact material of that id; an empty id: the default one. */
gw_contact_material gw_scene_contact_material(const gw_scene *scene, const char *material);

/* The material of a reference's object or link; empty: none is named. */
const char *gw_scene_material_of(const gw_scene *scene, const gw_feature_ref *ref);
gw_contact_material gw_contact_material_default(void);

/* world_from_link of all links at q (link_count entries, rad or m; NULL: the start). Joints with
 * several coordinates are at their origin. */
void gw_mechanism_poses(const gw_mechanism *mechanism, const double *q, gw_pose *world_from_link);

/* The pose of an object, a link or the world as the scene states it. */
gw_pose gw_scene_stated_pose(const gw_scene *scene, const char *name);

/* The coordinates and velocities of a link's joint (mobilizer.h: m, rad; turns within -pi .. pi)
 * where all links are at these poses and move with these twists of their origins, in the world. */
void gw_mechanism_coordinates(const gw_mechanism *mechanism, int link,
                              const gw_pose *world_from_link, const gw_twist *twists,
                              double position[6], double velocity[6]);

/* True if it is enabled and one-sided: a bound, or a contact that may separate. */
static inline bool gw_scene_constraint_is_unilateral(const gw_scene_constraint *c)
{
    if (gw_constraint_is_positional(c->kind))
        return c->enabled && c->bound != GW_BOUND_EQUAL;
    return c->enabled && c->unilateral == GW_CONTACT_UNILATERAL;
}

/* True if a bound of the distance is signed along the normal of a free-form surface: of a point
 * from it, where the sense states a side, or the value is 0 or less. Else such a distance is to
 * either side. */
static inline bool gw_scene_bound_is_signed(const gw_scene_constraint *c, const gw_element *a,
                                            const gw_element *b)
{
    bool fits = (a->kind == GW_POINT && b->kind == GW_SURFACE) ||
                (a->kind == GW_SURFACE && b->kind == GW_POINT);
    return fits && (c->sense != GW_EITHER || c->value <= 0);
}

/* True if a body's number is that of an object, and if it is one without mass. */
static inline bool gw_scene_body_is_object(const gw_scene *scene, int body)
{
    return body >= 0 && body < scene->object_count;
}

static inline bool gw_scene_body_is_massless(const gw_scene *scene, int body)
{
    return gw_scene_body_is_object(scene, body) && scene->objects[body].massless;
}

/* The index of the n-th unilateral constraint of an object, n from 0: enabled ones in scene order;
 * -1 where there are no more. */
int gw_scene_unilateral(const gw_scene *scene, int object, int n);

/* The element that a reference names, in the frame of its object or link; a stated feature takes
 * precedence over a derived one. False if the object, the link or the feature is unknown. */
bool gw_scene_element(const gw_scene *scene, const gw_feature_ref *ref, gw_element *element);

/* Resolves the mechanism and link that a tool holds: by the name of a link given as its object, or
 * the tip of a mechanism given without a link. */
void gw_scene_name_held_link(const gw_scene *scene, gw_tool *tool);

/* An entry that names objects, links or joints. */
typedef enum gw_named {
    GW_NAMES_OBJECT, /* objects alone */
    GW_NAMES_BODY,   /* objects and links */
    GW_NAMES_JOINT   /* joints, of links by the link: a gear */
} gw_named;

typedef struct gw_name_use {
    gw_named named;
    const char *noun, *id; /* of the entry, for messages; id NULL: it has none */
    char *names[2];        /* in the scene; [1] NULL: there is one */
    bool local;            /* the id is unique only within names[0]: a feature's */
} gw_name_use;

/* The n-th of these entries, n from 0; false beyond the last. Mechanisms that tools hold are not
 * among them. */
bool gw_scene_name_use(const gw_scene *scene, int n, gw_name_use *use);

/* Renames every reference to the object, constraint, mechanism, material or joint `from` to
 * `to`. */
void gw_scene_rename_object(gw_scene *scene, const char *from, const char *to);
void gw_scene_rename_constraint(gw_scene *scene, const char *from, const char *to);
void gw_scene_rename_mechanism(gw_scene *scene, const char *from, const char *to);
void gw_scene_rename_material(gw_scene *scene, const char *from, const char *to);
void gw_scene_rename_joint(gw_scene *scene, const char *from, const char *to);

/* The first task with a step that names the constraint, NULL where there is none. */
const gw_task *gw_scene_task_using(const gw_scene *scene, const char *constraint);

/* Parts of gw_scene_errors(), in check_ids.c, mechanism.c, joint.c and task.c. */
void gw_scene_check_ids(const gw_scene *scene, gw_error_list *list);
void gw_scene_check_mechanisms(const gw_scene *scene, gw_error_list *list);
void gw_scene_check_joints(const gw_scene *scene, gw_error_list *list); /* springs too */
void gw_scene_check_tasks(const gw_scene *scene, gw_error_list *list);

/* Fails with GW_BAD_INPUT at /collection/index/member; `member` begins with a slash or is empty. */
bool gw_scene_invalid(gw_error *error, const char *collection, int index, const char *member,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Fails for a reference to a feature that the object or link does not have, listing those that it
 * has. */
bool gw_scene_no_feature(const gw_scene *scene, const gw_feature_ref *ref, const char *collection,
                         int index, const char *member, gw_error *error);

/* Fails likewise if x, the value of `member` in `unit`, is not finite or negative; and if a motor
 * at `member` has such a value. */
bool gw_scene_not_negative(gw_error *error, const char *collection, int index, const char *member,
                           double x, const char *unit);
bool gw_scene_check_motor(gw_error *error, const char *collection, int index, const char *member,
                          const gw_motor *motor);

/* True if [ixx,iyy,izz,ixy,ixz,iyz] is the inertia of a real solid: positive definite, and no
 * principal moment above the sum of the other two; and the same including the limits of a point
 * mass and a rod. */
bool gw_inertia_is_real(const double inertia[6]);
bool gw_inertia_is_possible(const double inertia[6]);
/* The principal moments (kg m^2) of a symmetric tensor of finite entries, ascending. */
void gw_inertia_principal_moments(const gw_mat3 *inertia, double moments[3]);

/* Makes the round surfaces of primitives that positional constraints name free-form ones
 * (gw_feature_make_surface()), as gw_scene_check() requires. Error (GW_FAILED): no memory. */
bool gw_scene_make_surfaces(gw_scene *scene, gw_error *error);

/* Checks a scene beyond the types of its members: ids unique and well formed, every reference
 * found, kinds compatible, numbers finite and in range. error->where is a pointer into the scene
 * file ("/constraints/3/a"). */
bool gw_scene_check(const gw_scene *scene, gw_error *error);

/* The same for as many errors as the list has room for, ids first. An entry has at most one of its
 * id and one of the rest; joints, springs and tools one more, of what they refer to. Where shapes
 * or mechanisms are invalid, or ids of mechanisms, entries that may refer to them are not checked;
 * where joints are, gears. */
void gw_scene_errors(const gw_scene *scene, gw_error_list *list);

/* Mass, centre of mass and inertia of an object. */
gw_mass gw_object_mass(const gw_object *object);

/* Mass properties of a shape of `density` (kg/m^3) at a pose, in the frame that the pose refers to.
 */
gw_mass gw_placed_mass(const gw_shape *shape, const gw_pose *pose, double density);

/* The object's radius of gyration, L of the metric of poses (m). */
double gw_object_length(const gw_object *object);

/* Steps per second of control and simulated devices: the rate times the largest substeps of a tool.
 */
int gw_scene_step_rate(const gw_scene *scene);

/* True if the id matches [A-Za-z0-9_.:+-]{1,64}. */
bool gw_id_valid(const char *id);

#endif
