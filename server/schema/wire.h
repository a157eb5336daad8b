/*
 * The conversion between C structs and JSON (jansson): documents, answers and errors. No other
 * folder reads or writes members of JSON.
 *
 * Decoding is strict: unknown members, wrong types and numbers out of range are refused with the
 * member's JSON pointer. `at` is the pointer of the decoded value: "" for a whole document,
 * "/constraints/2" within a scene. Encoding returns a new reference. Any server thread; no state.
 */
#ifndef GW_SERVER_SCHEMA_WIRE_H
#define GW_SERVER_SCHEMA_WIRE_H

#include <jansson.h>
#include <stddef.h>

#include "rt/guideway.h"
#include "server/schema/text.h"

typedef struct wire_field wire_field; /* field.h */

/* ---- text ---------------------------------------------------------------------------------- */

/* Parses text with the caps of limits.h (size, depth, duplicate members refused); NULL with an
 * error that names line and column. */
json_t *wire_parse(const char *text, size_t size, gw_error *error);

/* The same for a whole scene, which may be larger than the body of a request:
 * GW_MAX_DOCUMENT_BYTES. */
json_t *wire_parse_document(const char *text, size_t size, gw_error *error);

/* The errors so far in the value of this thread's last wire_parse(). The first one is the one that
 * the decoder returns; decoding continues for up to WIRE_ERRORS. wire_errors_of(): the same if the
 * first one is `error`, else `error` alone. */
#define WIRE_ERRORS 20
int wire_errors(const gw_error **errors);
int wire_errors_of(const gw_error *error, const gw_error **errors);
void wire_errors_clear(void);

/* Compact text with the shortest numbers that are read back as the same value, one reference. NULL
 * when memory is short, or was when `value` was built, and for NULL. Ownership of `value`
 * passes. */
gw_text *wire_text(json_t *value);

/* RFC 7396 merge patch: `target` with `patch` applied, a new reference. It shares the values of
 * both that are not objects. */
json_t *wire_merge(const json_t *target, json_t *patch);

/* ---- memory -------------------------------------------------------------------------------- */

/* To be called once before any use of jansson; the functions below depend on it. */
void wire_watch_memory(void);

/* True where this thread's JSON was refused memory since the last wire_memory_clear(), so that
 * values built since may lack members. wire_memory_clear() begins every piece of work. While it is
 * true, wire_parse() and wire_text() return NULL; wire_text() also clears it. */
bool wire_memory_short(void);
void wire_memory_clear(void);

/* Records that other memory for the contents of a document was short. */
void wire_memory_missed(void);

/* ---- small values -------------------------------------------------------------------------- */

json_t *wire_vec3(gw_vec3 v);
json_t *wire_pose(const gw_pose *pose);
bool wire_get_pose(const json_t *value, const char *at, gw_pose *pose, gw_error *error);

/* Adds member `name`; ownership of `value` passes. */
void wire_add(json_t *object, const char *name, json_t *value);

/* Refuses members other than those in `allowed` (NULL-terminated). */
bool wire_only(const json_t *object, const char *at, const char *const *allowed, gw_error *error);

/* "stopped", "running", "paused" by gw_run_state; terminated by NULL. */
extern const char *const wire_run_states[];

/* Until the next call, free-form shapes that this thread decodes reuse parts of `shape`, which must
 * live as long (gw_nurbs_def.like). NULL: of none. */
void wire_decode_like(gw_nurbs *shape);

/* ---- scene --------------------------------------------------------------------------------- */

/* wire_get_object() and wire_object(), and so on for an entry of each array of the scene. */
#define WIRE_ENTRY(name, type, most, id)                                                           \
    bool wire_get_##name(const json_t *value, const char *at, type *entry, gw_error *error);       \
    json_t *wire_##name(const type *entry);
GW_SCENE_ARRAYS(WIRE_ENTRY)

/* Decodes link `index` of a mechanism that has room for it; the former link is freed. */
bool wire_get_link(const json_t *value, const char *at, gw_mechanism *mechanism, int index,
                   gw_error *error);
bool wire_get_motor(const json_t *value, const char *at, gw_motor *motor, gw_error *error);
/* Decodes contact settings; the former list of pairs is freed, and so is the new one after an
 * error. */
bool wire_get_contact(const json_t *value, const char *at, gw_scene_contact *contact,
                      gw_error *error);
bool wire_get_operator(const json_t *value, const char *at, gw_operator *operator,
                       gw_error * error);

json_t *wire_element(const gw_element *element); /* {"point":..} {"line":..} {"plane":..} */
json_t *wire_link(const gw_mechanism *mechanism, int index);
json_t *wire_motor(const gw_motor *motor);
json_t *wire_contact(const gw_scene_contact *contact);
json_t *wire_operator(const gw_operator *operator);
json_t *wire_task_progress(const gw_task_progress *progress);
json_t *wire_driver(const gw_driver *driver);
json_t *wire_safety(const gw_device *device); /* the one in effect, whether stated or not */
json_t *wire_device_info(const gw_device_info *info);
json_t *wire_mesh(const gw_mesh *mesh);       /* its triangles */
json_t *wire_mesh_about(const gw_mesh *mesh); /* number of triangles, closed or not, size */

/* Turns the gears stated in mechanisms into joints of the scene. */
bool wire_take_gears(gw_scene *scene, gw_error *error);

/* A whole scene, decoded and checked (gw_scene_check); NULL with an error. */
gw_scene *wire_get_scene(const json_t *value, gw_error *error);
json_t *wire_scene(const gw_scene *scene);

/* Makes an id: the first one of c1, c2 .. (with that letter) that `find` does not find. */
typedef int wire_finder(const gw_scene *scene, const char *id);
void wire_make_id(const gw_scene *scene, wire_finder *find, char letter, char id[GW_MAX_ID + 1]);

/* ---- solve --------------------------------------------------------------------------------- */

typedef struct wire_problem wire_problem;

/* A `solve` request, decoded and checked; NULL with an error. */
wire_problem *wire_get_problem(const json_t *value, gw_error *error);
void wire_problem_destroy(wire_problem *problem);

/* The stated problem, valid as long as the request. */
const gw_problem *wire_problem_stated(const wire_problem *problem);

/* Solves and times the problem and encodes the answer; NULL with an error where "at" does not fit
 * the branches found, or memory is short. */
json_t *wire_solve(const wire_problem *problem, gw_error *error);

/* A solution as in `solve`, without samples and time, of these constraints with these ids. */
json_t *wire_solution(const gw_solution *solution, const gw_constraint *constraints,
                      const char *const *ids, int count);

/* The parameters, an array of numbers, of a pose on the submanifold. */
json_t *wire_parameters_at(const gw_submanifold *set, const gw_pose *world_from_body);

/* {"constraints":[ids],"condition","values":{..},"message"} */
json_t *wire_conflict(const gw_conflict *conflict, const char *const *ids);

/* ---- surfaces ------------------------------------------------------------------------------ */

/* The result of a SurfaceRequest: {"geometry", "deviation"} (a new reference), or NULL with an
 * error.
 */
json_t *wire_make_surface(const json_t *request, gw_error *error);

/* ---- assembly ------------------------------------------------------------------------------ */

typedef struct wire_placed {
    char id[GW_MAX_LINK_NAME + 1]; /* an object or a link */
    gw_pose pose;
} wire_placed;

typedef struct wire_assembly_request {
    gw_assembly_method method;
    int ground_count, pose_count;
    char (*ground)[GW_MAX_ID + 1]; /* owned; NULL: the fixed objects */
    wire_placed *poses; /* owned; initial poses of bodies that differ from those in the scene */
    uint64_t seed;
    int starts;     /* at most; 0: the library's default */
    int iterations; /* at most */
    bool has_iterations;
    gw_assembly_progress progress;
    bool trace, commit, apply;
} wire_assembly_request;

bool wire_get_assembly_request(const json_t *value, wire_assembly_request *request,
                               gw_error *error);
void wire_assembly_request_finish(wire_assembly_request *request);

/* The definition of the requested assembly of a scene. False with an error at /ground/index or
 * /poses/index/id; wire_assembly_def_finish() is to be called either way. */
bool wire_assembly_def(const wire_assembly_request *request, const gw_scene *scene,
                       gw_assembly_def *def, gw_error *error);
void wire_assembly_def_finish(gw_assembly_def *def);

/* Residual, iterations, starts, method and the relations that are not satisfied. */
json_t *wire_assembly(const gw_assembly *assembly, const gw_assembly_result *result);

/* The same with the status and the poses of the bodies that may move. */
json_t *wire_assembly_step(gw_assembly *assembly, const gw_assembly_def *def,
                           const gw_assembly_result *result);

/* Adds by what the search was stopped. Where its time was up (`late`), the bodies are moved to the
 * best poses found, which are added as well. */
void wire_add_stopped(json_t *answer, gw_assembly *assembly, const gw_assembly_def *def, bool late);

/* ---- simulation ---------------------------------------------------------------------------- */

/* The member "simulation" of the protocol's `state`. `scene` names the objects. */
json_t *wire_simulation(const gw_scene *scene, const gw_snapshot *snapshot, int rate);

/* The rendered values of a requested stiffness and mass. */
json_t *wire_rendered(const gw_rendered *rendered);

/* A halt or force-off whose ticks are recorded; and these as CSV: a header, one row for each tick,
 * t relative to the last one. One reference, NULL when memory is short. */
typedef struct wire_fault {
    unsigned number;
    int ticks;
    gw_halt_record why;
} wire_fault;
json_t *wire_fault_json(const wire_fault *fault);
gw_text *wire_fault_csv(const gw_fault_tick *ticks, int count);

/* The loop's timing and scheduling. */
json_t *wire_loop_figures(const gw_loop_figures *figures);
json_t *wire_quantiles(const gw_quantiles *quantiles);

/* Writes the answer to a halt without allocating. The answer tells whether the request had a body
 * or a query, which a halt ignores. */
#define WIRE_HALTED_BYTES 352
void wire_halted_text(const gw_halt_state *state, bool body, bool query,
                      char out[WIRE_HALTED_BYTES]);

/* True for `{}` with any white space; the text is zero-terminated. Does not allocate. */
bool wire_is_empty_object(const char *text);

/* The state of tool `index` of the scene, as in /simulation and the stream. */
json_t *wire_tool_state(const gw_scene *scene, int index, const gw_tool_state *state);

/* The contacts of a snapshot, an array; and positions and velocities of mechanism `index`'s joints,
 * the initial ones where the snapshot has none. */
json_t *wire_contacts(const gw_scene *scene, const gw_snapshot *snapshot);
json_t *wire_joints(const gw_scene *scene, int index, const gw_snapshot *snapshot);
/* The state of joint `index` of the scene; NULL for a gear, for a disabled joint, and where the
 * snapshot has none. */
json_t *wire_scene_joint_state(const gw_scene *scene, int index, const gw_snapshot *snapshot);
json_t *wire_contact_figures(const gw_contact_statistics *figures);
/* An event of the loop: time and tick, kind, severity, a sentence and members of the kind; it
 * stands for `counted` events. NULL when memory is short, and for the end of a motion, which its
 * task reports. */
json_t *wire_event(const gw_event *event, const gw_scene *scene, unsigned counted);

/* ---- stream -------------------------------------------------------------------------------- */

typedef enum wire_op {
    WIRE_AUTH,
    WIRE_SUBSCRIBE,
    WIRE_UNSUBSCRIBE,
    WIRE_DRAG,
    WIRE_RELEASE,
    WIRE_PUSH,
    WIRE_LEASE,
    WIRE_CLUTCH,
    WIRE_HALT,
    WIRE_OPS
} wire_op;

extern const char *const wire_ops[WIRE_OPS + 1]; /* the last one NULL */

#define WIRE_REACH_MAX 1e4 /* m: targets and grabbed points beyond are refused */
#define WIRE_PUSH_MAX  1e4 /* N and N m: pushes beyond are refused */

/* Streams that a client may subscribe to. */
typedef enum wire_stream { WIRE_POSES, WIRE_SAMPLES, WIRE_WRENCHES } wire_stream;

typedef struct wire_message {
    wire_op op;
    const char *token; /* of the JSON value */
    const char *press; /* of a halt, of the JSON value; NULL: none */
    wire_stream stream;
    double hz;
    int tool;
    char object[GW_MAX_LINK_NAME + 1]; /* empty: the tool is meant */
    gw_vec3 point, target;             /* m */
    gw_vec3 force, torque;             /* N, N m */
    bool on;                           /* of a drag: it turns */
    bool says_hz, says_on, names_tool, names_object;
} wire_message;

/* Decodes a client's message, which is valid as long as the JSON value. Members that its op does
 * not have are zero. */
bool wire_get_message(const json_t *value, wire_message *message, gw_error *error);

/* The messages `error` (`id`: that of the message that it answers, NULL: none) and `subscribed`
 * with the names of the columns, ownership passes (NULL: poses have none). */
json_t *wire_refusal(const char *detail, const char *pointer, const json_t *id);
json_t *wire_subscribed(wire_stream stream, json_t *columns);

/* ---- columns ------------------------------------------------------------------------------- */

/* Columns of `run`'s CSV for `joints` joints: their number, the name of one, one row of values. */
#define WIRE_COLUMN_NAME  24
#define WIRE_MOST_COLUMNS (40 + 2 * GW_MAX_JOINTS)
int wire_columns(int joints);
void wire_column(int index, int columns, char name[WIRE_COLUMN_NAME]);
void wire_row(const gw_snapshot *snapshot, int joints, double *row);

/* The same for the sample stream, which has further columns after those. */
int wire_sample_columns(int joints);
void wire_sample_row(const gw_snapshot *snapshot, double *row);

/* The names of `columns` columns, an array. */
json_t *wire_sample_names(int columns);

/* Wrenches of joints in the scene's order, without gears: the number of columns ID.fx .. ID.tz,
 * their names, one row of values. A wrench is that of b on a (N, N m, world axes, about the origin
 * of a's frame); zero where a joint is disabled, or where nothing moves. */
int wire_wrench_columns(const gw_scene *scene);
json_t *wire_wrench_names(const gw_scene *scene);
void wire_wrench_row(const gw_scene *scene, const gw_snapshot *snapshot, double *row);

/* Sets from where scenes that this thread decodes take their meshes; the finder returns one
 * reference, or NULL with an error. NULL: there are no meshes. */
typedef gw_mesh *wire_mesh_finder(void *context, const char *file, bool convex, gw_error *error);
void wire_use_meshes(wire_mesh_finder *find, void *context);

#endif
