/*
 * The only place that knows JSON: documents, answers and errors between C structs and jansson.
 *
 * Decoding is strict: unknown members, wrong types, numbers out of range are refused with the
 * member's JSON pointer, built on `at`, the pointer of the value that is decoded ("" for a whole
 * document, "/constraints/2" inside a scene). Encoding gives a new reference. Any server thread;
 * no state.
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

/* The same of a whole scene, which may be larger than a request's body: GW_MAX_DOCUMENT_BYTES. */
json_t *wire_parse_document(const char *text, size_t size, gw_error *error);

/* Errors of wire_parse()'s value so far: the first one is the one that the decoder
 * gives, and it reads on for up to WIRE_ERRORS. Of this thread. */
#define WIRE_ERRORS 20
int wire_errors(const gw_error **errors);
void wire_errors_clear(void);

/* Compact text, numbers as short as they read back the same, one reference; NULL when memory is
 * short, or was when `value` was built, and for NULL. Takes the value over. */
gw_text *wire_text(json_t *value);

/* RFC 7396 merge patch: `target` with `patch` applied, a new reference. */
json_t *wire_merge(const json_t *target, const json_t *patch);

/* ---- memory -------------------------------------------------------------------------------- */

/* Once, before anything else of jansson is used: the rest of this part works from then on. */
void wire_watch_memory(void);

/* True where this thread was refused memory for JSON since the last wire_memory_clear(), which
 * every piece of work begins with: what was built since may lack members. wire_parse() and
 * wire_text() give NULL then, wire_text() clears. */
bool wire_memory_short(void);
void wire_memory_clear(void);

/* Memory for something else that belongs into a document was short. */
void wire_memory_missed(void);

/* ---- small values -------------------------------------------------------------------------- */

json_t *wire_vec3(gw_vec3 v);
json_t *wire_pose(const gw_pose *pose);
bool wire_get_pose(const json_t *value, const char *at, gw_pose *pose, gw_error *error);

/* Adds member `name`, taken over. */
void wire_add(json_t *object, const char *name, json_t *value);

/* Refuses members that are not in `allowed` (NULL-terminated). */
bool wire_only(const json_t *object, const char *at, const char *const *allowed, gw_error *error);

/* "stopped", "running", "paused" by gw_run_state; NULL behind the last. */
extern const char *const wire_run_states[];

/* ---- scene --------------------------------------------------------------------------------- */

/* wire_get_object() and wire_object(), and so on for an entry of each array of the scene. */
#define WIRE_ENTRY(name, type, most, id)                                                           \
    bool wire_get_##name(const json_t *value, const char *at, type *entry, gw_error *error);       \
    json_t *wire_##name(const type *entry);
GW_SCENE_ARRAYS(WIRE_ENTRY)

/* Link `index` of a mechanism that has room for it; what it was is finished. */
bool wire_get_link(const json_t *value, const char *at, gw_mechanism *mechanism, int index,
                   gw_error *error);
bool wire_get_motor(const json_t *value, const char *at, gw_motor *motor, gw_error *error);
/* Its pairs are finished first, and again where something is wrong. */
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
json_t *wire_safety(const gw_device *device); /* in effect, stated or not */
json_t *wire_device_info(const gw_device_info *info);
json_t *wire_mesh(const gw_mesh *mesh);       /* its triangles */
json_t *wire_mesh_about(const gw_mesh *mesh); /* how many, whether closed, how large */

/* Gears that mechanisms state become joints of the scene. */
bool wire_take_gears(gw_scene *scene, gw_error *error);

/* A whole scene, decoded and checked (gw_scene_check); NULL with an error. */
gw_scene *wire_get_scene(const json_t *value, gw_error *error);
json_t *wire_scene(const gw_scene *scene);

/* Ids that were left out get made here: the first free one of c1, c2 .. with that letter, which
 * `find` does not find. */
typedef int wire_finder(const gw_scene *scene, const char *id);
void wire_make_id(const gw_scene *scene, wire_finder *find, char letter, char id[GW_MAX_ID + 1]);

/* ---- solve --------------------------------------------------------------------------------- */

typedef struct wire_problem wire_problem;

/* A `solve` request, decoded and checked; NULL with an error. */
wire_problem *wire_get_problem(const json_t *value, gw_error *error);
void wire_problem_destroy(wire_problem *problem);

/* The problem that it states; lives as long as it. */
const gw_problem *wire_problem_stated(const wire_problem *problem);

/* Solves it (timing it) and encodes the answer; NULL with an error where "at" does not fit the
 * branches found, or memory is short. */
json_t *wire_solve(const wire_problem *problem, gw_error *error);

/* A solution as in `solve`, with `ids` of the constraints in its order; samples and time left
 * out. */
json_t *wire_solution(const gw_solution *solution, const char *const *ids);

/* The parameters of a pose that is on the set, an array of numbers. */
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
    char id[GW_MAX_LINK_NAME + 1]; /* of an object, or a link */
    gw_pose pose;
} wire_placed;

typedef struct wire_assembly_request {
    gw_assembly_method method;
    int ground_count, pose_count;
    char (*ground)[GW_MAX_ID + 1]; /* owned; NULL: what is fixed */
    wire_placed *poses;            /* owned; to begin from, of bodies that are not where the scene
                                      has them */
    uint64_t seed;
    int starts;     /* at most; 0: the library's number */
    int iterations; /* at most */
    bool has_iterations;
    gw_assembly_progress progress;
    bool trace, commit, apply;
} wire_assembly_request;

bool wire_get_assembly_request(const json_t *value, wire_assembly_request *request,
                               gw_error *error);
void wire_assembly_request_finish(wire_assembly_request *request);

/* The assembly that it asks of a scene. False with an error at /ground/index or /poses/index/id; to
 * be finished either way. */
bool wire_assembly_def(const wire_assembly_request *request, const gw_scene *scene,
                       gw_assembly_def *def, gw_error *error);
void wire_assembly_def_finish(gw_assembly_def *def);

/* Residual, iterations, starts, method and what remains. */
json_t *wire_assembly(const gw_assembly *assembly, const gw_assembly_result *result);

/* The same with how it ended and where the bodies are that may move. */
json_t *wire_assembly_step(gw_assembly *assembly, const gw_assembly_def *def,
                           const gw_assembly_result *result);

/* By what it was stopped; where its time was up, the bodies are at its best place from now on,
 * which is reported as well. */
void wire_add_stopped(json_t *answer, gw_assembly *assembly, const gw_assembly_def *def, bool late);

/* ---- simulation ---------------------------------------------------------------------------- */

/* The member "simulation" of the protocol's `state`. `scene` names the objects. */
json_t *wire_simulation(const gw_scene *scene, const gw_snapshot *snapshot, int rate);

/* The rendered values of a requested stiffness and mass. */
json_t *wire_rendered(const gw_rendered *rendered);

/* A halt or force-off whose ticks are kept; those as CSV: a header, a row a tick, t from the last
 * one. One reference, NULL when memory is short. */
typedef struct wire_fault {
    unsigned number;
    int ticks;
    gw_halt_record why;
} wire_fault;
json_t *wire_fault_json(const wire_fault *fault);
gw_text *wire_fault_csv(const gw_fault_tick *ticks, int count);

/* How the loop does. */
json_t *wire_loop_figures(const gw_loop_figures *figures);
json_t *wire_quantiles(const gw_quantiles *quantiles);

/* The answer to a halt, as text: without memory, for whoever may not wait. It tells whether the
 * request had a body or a query, which a halt does not heed. */
#define WIRE_HALTED_BYTES 352
void wire_halted_text(const gw_halt_state *state, bool body, bool query,
                      char out[WIRE_HALTED_BYTES]);

/* True for `{}`, however spaced; the text ends in a zero. No memory. */
bool wire_is_empty_object(const char *text);

/* Tool `index` of the scene in the snapshot: what /simulation and the stream tell of it. */
json_t *wire_tool_state(const gw_scene *scene, int index, const gw_tool_state *state);

/* The contacts that a snapshot shows, an array; positions and velocities of mechanism `index`'s
 * joints, at the start where the snapshot has none. */
json_t *wire_contacts(const gw_scene *scene, const gw_snapshot *snapshot);
json_t *wire_joints(const gw_scene *scene, int index, const gw_snapshot *snapshot);
/* Where joint `index` of the scene is; NULL where the snapshot does not tell, of a gear, and of one
 * that is disabled. */
json_t *wire_scene_joint_state(const gw_scene *scene, int index, const gw_snapshot *snapshot);
json_t *wire_contact_figures(const gw_contact_statistics *figures);
/* What the loop reported, in words: time and tick, kind, severity, message and what belongs to the
 * kind; it stands for `counted` of them. NULL: memory, or of a motion's end, which its task tells.
 */
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

#define WIRE_REACH_MAX 1e4 /* m: a target or a grabbed point beyond is a mistake */
#define WIRE_PUSH_MAX  1e4 /* N and N m of a push: the same */

/* A client's message: members that its op has not are as nothing said. */
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

/* Lives as long as the value. */
bool wire_get_message(const json_t *value, wire_message *message, gw_error *error);

/* The messages `error` (`id`: of the one that it answers, NULL: none) and `subscribed`, with the
 * names of the columns, whose reference passes (NULL: poses have none). */
json_t *wire_refusal(const char *detail, const char *pointer, const json_t *id);
json_t *wire_subscribed(wire_stream stream, json_t *columns);

/* ---- columns ------------------------------------------------------------------------------- */

/* Columns of `run`'s CSV with so many joints, the name of one of them, one row of values. */
#define WIRE_COLUMN_NAME  24
#define WIRE_MOST_COLUMNS (40 + 2 * GW_MAX_JOINTS)
int wire_columns(int joints);
void wire_column(int index, int columns, char name[WIRE_COLUMN_NAME]);
void wire_row(const gw_snapshot *snapshot, int joints, double *row);

/* The same of the sample stream: it has more columns behind those. */
int wire_sample_columns(int joints);
void wire_sample_row(const gw_snapshot *snapshot, double *row);

/* The names of so many columns, an array. */
json_t *wire_sample_names(int columns);

/* Wrenches of joints, in the scene's order, gears left out: the columns ID.fx .. ID.tz of each (b
 * on a, world axes, about the origin of a's frame; N, N m), their names, one row of values. Zero
 * where a joint is not enabled, or where nothing moves. */
int wire_wrench_columns(const gw_scene *scene);
json_t *wire_wrench_names(const gw_scene *scene);
void wire_wrench_row(const gw_scene *scene, const gw_snapshot *snapshot, double *row);

/* Where this thread's scenes take their meshes from: one reference, or NULL with an error. NULL:
 * there are none. */
typedef gw_mesh *wire_mesh_finder(void *context, const char *file, bool convex, gw_error *error);
void wire_use_meshes(wire_mesh_finder *find, void *context);

#endif
