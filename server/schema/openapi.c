/*
 * The OpenAPI 3.1 document: operations from rows of routes, component schemas from the tables of
 * fields, and the schemas of answers that other folders put together.
 */
#include "server/schema/openapi.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/field.h"

/* ---- shapes that other folders build or read ----------------------------------------------- */

static const wire_field an_id = {"id", ID}, a_text = {"text", TEXT}, a_number = {"number", NUMBER};

#define ANSWER(variable, name_, about_, ...)                                                       \
    static const wire_field of_##variable[] = {__VA_ARGS__, {0}};                                  \
    static const wire_table variable = {                                                           \
        .name = name_, .about = about_, .fields = of_##variable, .answered = true};
#define REQUEST(variable, name_, about_, ...)                                                      \
    static const wire_field of_##variable[] = {__VA_ARGS__, {0}};                                  \
    static const wire_table variable = {.name = name_, .about = about_, .fields = of_##variable};

ANSWER(scene_entry, "SceneEntry", NULL, {"file", TEXT, .about = "what to open it by"},
       {"name", TEXT}, {"description", TEXT},
       {"saved", BOOLEAN, .about = "saved here; else of the gallery"})
REQUEST(save_request, "SaveRequest", NULL, {"name", TEXT, .flags = REQUIRED})
REQUEST(restore_request, "RestoreRequest", NULL,
        {"version", WHOLE, .flags = SOMETIMES, LOW(1), .about = "of the scene's versions"})
ANSWER(scene_version, "SceneVersion", NULL, {"version", WHOLE}, {"name", TEXT},
       {"saved", NUMBER, .unit = "seconds since 1970"},
       {"replaced", NUMBER, .flags = SOMETIMES,
        .about = "when it was saved over or deleted; left out of what is saved now",
        .unit = "seconds since 1970"})
REQUEST(open_request, "OpenRequest", NULL,
        {"scene", TEXT, .flags = REQUIRED,
         .about = "file name of a scene of the gallery or a saved one"})
ANSWER(history, "History", NULL, {"revision", WHOLE},
       {"undo", BOOLEAN, .about = "is there something to undo"}, {"redo", BOOLEAN})
REQUEST(
    robot, "RobotDescription",
    "A robot description (URDF): a tree of revolute, continuous, prismatic, planar and floating "
    "joints; mimic becomes a gear. Links that fixed joints hold together become one. "
    "Boxes, cylinders, capsules and spheres are the geometry, collision ones first; the first "
    "visual mesh is named.",
    {"id", ID, .about = "the robot's name unless given"},
    {"urdf", TEXT, .flags = REQUIRED,
     .about = "the XML text; no document types, no entities, macros expanded"},
    {"tip", TEXT, .about = "name of the link that a hand is to hold"},
    {"base", OBJECT, .table = &wire_table_pose, .about = "of the root link in the world"})
REQUEST(solution_patch, "SolutionPatch",
        "Chooses a branch, or moves the object along its freedoms.", {"branch", TEXT},
        {"parameters", LIST, .item = &a_number, .most = 6},
        {"near", OBJECT, .table = &wire_table_pose_read,
         .about = "the branch's pose nearest to this one"})
REQUEST(state_request, "StateRequest", NULL,
        {"state", CHOICE, .flags = REQUIRED, .choices = wire_run_states})
REQUEST(step_request, "StepRequest", NULL, {"ticks", WHOLE, .flags = REQUIRED, RANGE(1, 1000000)})

ANSWER(index_entry, "IndexEntry", NULL, {"path", TEXT}, {"summary", TEXT},
       {"methods", LIST, .item = &a_text})
ANSWER(index_of, "Index", "What there is.", {"version", TEXT},
       {"openapi", TEXT, .about = "where this document is"},
       {"docs", TEXT, .about = "the same for people"},
       {"problems", TEXT, .about = "what types of errors mean"},
       {"stream", TEXT, .about = "the WebSocket"}, {"resources", LIST, .table = &index_entry})
ANSWER(mesh_file, "MeshFile", NULL, {"name", TEXT}, {"bytes", WHOLE})

ANSWER(field_error, "FieldError", NULL,
       {"pointer", TEXT, .about = "JSON pointer into the request's body"}, {"detail", TEXT})
ANSWER(problem, "Problem", "RFC 9457.",
       {"type", TEXT, .about = "/problems/NAME, a page says what it means"}, {"title", TEXT},
       {"detail", TEXT}, {"errors", LIST, .table = &field_error}, {"status", WHOLE})

static const char *const no_poses[] = {"incompatible", "unhandled", NULL};
#define WHY_NOT                                                                                    \
    {"status", CHOICE, .choices = no_poses},                                                       \
        {"conflict", OBJECT, .flags = SOMETIMES, .table = &wire_table_conflict},                   \
        {"left", LIST, .flags = SOMETIMES, .item = &an_id},                                        \
    {                                                                                              \
        "reason", TEXT, .flags = SOMETIMES                                                         \
    }
ANSWER(why_not, NULL, NULL, WHY_NOT)
ANSWER(refusal, "Refusal",
       "A problem in the manner of RFC 9457 whose status is that of the solution: why there is no "
       "pose.",
       {"type", TEXT}, {"title", TEXT}, {"detail", TEXT}, {"errors", LIST, .table = &field_error},
       WHY_NOT,
       {"object", ID, .about = "whose constraints; none where it is several bodies'",
        .flags = SOMETIMES},
       {"solution", OBJECT, .table = &why_not})

/* ---- components ---------------------------------------------------------------------------- */

/* The tables to which no other table refers; all others are found through the rows. */
static const wire_table *const tables[] = {&wire_table_scene,
                                           &wire_table_joint_frame,
                                           &wire_table_answer,
                                           &wire_table_assembly,
                                           &wire_table_assembly_request,
                                           &wire_table_contact_point,
                                           &wire_table_driver,
                                           &wire_table_fault,
                                           &wire_table_halted,
                                           &wire_table_loop_figures,
                                           &wire_table_mesh,
                                           &wire_table_mesh_about,
                                           &wire_table_problem,
                                           &wire_table_simulation,
                                           &wire_table_solution,
                                           &wire_table_surface,
                                           &wire_table_surface_request,
                                           &robot,
                                           &scene_entry,
                                           &save_request,
                                           &open_request,
                                           &restore_request,
                                           &scene_version,
                                           &history,
                                           &solution_patch,
                                           &state_request,
                                           &step_request,
                                           &wire_table_client_message,
                                           &wire_table_server_message,
                                           &mesh_file,
                                           &index_of,
                                           &problem,
                                           &refusal};

/* Components that no table describes, as JSON. */
static const char primitives[] =
    "{\"Id\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_.:+-]{1,64}$\","
    "\"description\":\"Name of an object, constraint or device.\"},"
    "\"FeatureId\":{\"type\":\"string\",\"description\":\"object/feature\","
    "\"pattern\":\"^[A-Za-z0-9_.:+-]{1,76}/[A-Za-z0-9_.:+-]{1,64}$\"},"
    "\"Vec3\":{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"minItems\":3,\"maxItems\":3,"
    "\"description\":\"[x, y, z]\"},"
    "\"Quat\":{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"minItems\":4,\"maxItems\":4,"
    "\"description\":\"[w, x, y, z], of unit length within 1e-6\"},"
    "\"WouldBe\":{\"description\":\"A dry run's answer: the solution of the object that the edit "
    "concerns, or all of them.\",\"oneOf\":[{\"$ref\":\"#/components/schemas/Solution\"},"
    "{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Solution\"}}]},"
    "\"SceneEdit\":{\"type\":\"object\",\"description\":\"One of several edits: what would be a "
    "request of its own.\",\"properties\":{"
    "\"method\":{\"type\":\"string\",\"enum\":[\"POST\",\"PUT\",\"PATCH\",\"DELETE\"]},"
    "\"path\":{\"type\":\"string\",\"description\":\"as /objects/cone, also with /api/v1 before "
    "it\"},"
    "\"body\":{\"description\":\"as the request of its own has it\",\"anyOf\":[]}},"
    "\"required\":[\"method\",\"path\"],\"additionalProperties\":false},"
    "\"OpenApi\":{\"type\":\"object\",\"description\":\"This document: OpenAPI 3.1.\","
    "\"properties\":{\"openapi\":{\"const\":\"3.1.0\"}},"
    "\"required\":[\"openapi\",\"info\",\"servers\",\"security\",\"paths\",\"components\"],"
    "\"additionalProperties\":{\"type\":[\"array\",\"object\"]}}}";

static json_t *schemas_json(void)
{
    json_t *all = json_loads(primitives, 0, NULL);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        wire_add_components(all, tables[i]);
    json_object_set_new(all, "Settings", wire_settings_schema(false));
    json_object_set_new(all, "SettingsPatch", wire_settings_schema(true));
    return all;
}

typedef struct response {
    const char *status, *name, *description;
} response;

/* A 422 has more members than the others. */
static const response refusals[] = {
    {"400", "BadRequest",
     "The request is wrong: errors says which member and what would be right."},
    {"401", "Unauthorized", "A bearer token is needed."},
    {"403", "Forbidden", "The Origin header names another site."},
    {"404", "NotFound", "There is nothing of that name."},
    {"409", "Conflict",
     "It is there already, others refer to it, or this is not the state for it."},
    {"412", "Stale", "If-Match does not name the scene's revision, or the saved version."},
    {"413", "TooLarge", "The body has more than 1 MiB, or the document more than a cap."},
    {"415", "WrongType", "The body is not application/json."},
    {"421", "Misdirected", "The Host header names another server."},
    {"422", "NoSolution",
     "The constraints contradict one another or cannot be solved, or the Idempotency-Key was used "
     "for another request; nothing was changed."},
    {"default", "Otherwise",
     "429 after 20 wrong tokens a minute from an address, 503 beyond 512 connections, 507 where "
     "the disk is full, 500 where the machine fails: nothing "
     "was changed."}};

static json_t *content_json(const char *type, json_t *schema)
{
    return json_pack("{s{so}}", type, "schema", schema);
}

static json_t *responses_json(void)
{
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const response *r = &refusals[i];
        json_t *schema = wire_schema_ref("Problem");
        if (strcmp(r->status, "422") == 0)
            schema = json_pack("{s[oo]}", "anyOf", wire_schema_ref("Refusal"), schema);
        json_object_set_new(all, r->name,
                            json_pack("{ss so}", "description", r->description, "content",
                                      content_json("application/problem+json", schema)));
    }
    return all;
}

static const char others[] =
    "{\"headers\":{"
    "\"ETag\":{\"description\":\"Revision of the scene, quoted; of a saved scene s and its "
    "version. Where the answer has more than the scene, a sum of the answer follows the "
    "revision.\","
    "\"schema\":{\"type\":\"string\",\"pattern\":\"^\\\"s?[0-9]+([.][0-9a-f]{16})?\\\"$\"}},"
    "\"TextTag\":{\"description\":\"A sum of the answer, quoted; none of a list of more than 64 "
    "KiB.\",\"required\":false,"
    "\"schema\":{\"type\":\"string\",\"pattern\":\"^\\\"t[0-9a-f]{16}\\\"$\"}},"
    "\"note\":{\"description\":\"What an edit does otherwise than it says, as the event of kind "
    "edit.\",\"required\":false,\"schema\":{\"type\":\"string\"}},"
    "\"Location\":{\"description\":\"Where the new resource "
    "is.\",\"schema\":{\"type\":\"string\"}}},"
    "\"parameters\":{"
    "\"dryRun\":{\"name\":\"dryRun\",\"in\":\"query\",\"schema\":{\"type\":\"boolean\"},"
    "\"description\":\"true: answer the solution that would be, change nothing\"},"
    "\"strands\":{\"name\":\"strands\",\"in\":\"query\","
    "\"schema\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":48},"
    "\"description\":\"that many poses to each side along each freedom of the solution that is "
    "answered\"},"
    "\"ifMatch\":{\"name\":\"If-Match\",\"in\":\"header\",\"schema\":{\"type\":\"string\"},"
    "\"description\":\"the revision, or saved version, that the edit was made for, as in ETag\"},"
    "\"ifNoneMatch\":{\"name\":\"If-None-Match\",\"in\":\"header\",\"schema\":{\"type\":"
    "\"string\"},\"description\":\"of a GET: the ETags that are known, 304 where one of them is "
    "right; of a PUT or a save *: only where there is nothing yet\"},"
    "\"idempotencyKey\":{\"name\":\"Idempotency-Key\",\"in\":\"header\",\"schema\":{\"type\":"
    "\"string\",\"maxLength\":128},\"description\":\"a repeated request with the same key and body "
    "is "
    "answered as the first time, for ten minutes; with another body 422\"},"
    "\"limit\":{\"name\":\"limit\",\"in\":\"query\",\"schema\":{\"type\":\"integer\","
    "\"minimum\":0},\"description\":\"that many entries at most\"},"
    "\"offset\":{\"name\":\"offset\",\"in\":\"query\",\"schema\":{\"type\":\"integer\","
    "\"minimum\":0},\"description\":\"from this entry on, counted from 0\"},"
    "\"after\":{\"name\":\"after\",\"in\":\"query\",\"schema\":{\"type\":\"string\"},"
    "\"description\":\"the entries behind the one of this id (file, name); a plus sign, as here in "
    "MEMBER=VALUE, may stand for itself or for a space\"},"
    "\"members\":{\"name\":\"members\",\"in\":\"query\",\"style\":\"form\",\"explode\":true,"
    "\"schema\":{\"type\":\"object\",\"additionalProperties\":{\"type\":[\"string\",\"number\","
    "\"boolean\"]}},\"description\":\"MEMBER=VALUE: the entries of which this member is a string, "
    "a number or a boolean of this value\"}},"
    "\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}}";

static const char head[] =
    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Guideway\",\"version\":\"0.1.0\","
    "\"description\":\"The appliance's REST interface. SI units, radians, z up. Caps: body 1 MiB "
    "(a "
    "mesh file 16 MiB), JSON depth 32, numbers up to 1e75 in size, 4096 objects, 1024 constraints, "
    "512 HTTP connections, 2048 streams; headers within 10 s, bodies within 30 s. The stream at "
    "/ws "
    "is described in server/net/protocol.md.\","
    "\"license\":{\"name\":\"MIT\",\"identifier\":\"MIT\"}},"
    "\"servers\":[{\"url\":\"/\"}],\"security\":[{},{\"token\":[]}],\"paths\":{}}";

/* The comparison of a query's value with a member of the entries of a list. */
typedef struct member_query {
    const json_t *schemas;
    const char *name, *value;
    bool found, fits;
    char right[WIRE_RIGHT]; /* the values that would be right */
} member_query;

static void add_right(member_query *q, const char *right)
{
    size_t used = strlen(q->right);
    if (!strstr(q->right, right))
        snprintf(q->right + used, sizeof q->right - used, "%s%s", used ? ", " : "", right);
}

static void compare_word(member_query *q, const char *word)
{
    q->fits = q->fits || strcmp(q->value, word) == 0;
    add_right(q, word);
}

/* Calls `visit` for each alternative of the schema. */
static void visit_alternatives(member_query *q, const json_t *schema,
                               void (*visit)(member_query *, const json_t *))
{
    static const char *const ways[] = {"allOf", "anyOf", "oneOf"};
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref)
        visit(q, json_object_get(q->schemas, strrchr(ref, '/') + 1));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const json_t *list = json_object_get(schema, ways[i]);
        for (size_t k = 0; k < json_array_size(list); k++)
            visit(q, json_array_get(list, k));
    }
}

/* Compares the value with the schema of a member, as far as this has a type that a query can
 * state. */
static void compare_value(member_query *q, const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    const char *constant = json_string_value(json_object_get(schema, "const"));
    const json_t *words = json_object_get(schema, "enum");
    char *end;
    if (constant)
        compare_word(q, constant);
    for (size_t i = 0; i < json_array_size(words); i++)
        compare_word(q, json_string_value(json_array_get(words, i)));
    if (type && strcmp(type, "string") == 0 && !words)
        q->fits = true;
    if (type && strcmp(type, "boolean") == 0) {
        compare_word(q, "true");
        compare_word(q, "false");
    }
    if (type && (strcmp(type, "number") == 0 || strcmp(type, "integer") == 0)) {
        double number = strtod(q->value, &end);
        bool is = q->value[strspn(q->value, "+-.0123456789eE")] == 0 && end != q->value && !*end;
        bool whole = strcmp(type, "integer") == 0;
        q->fits = q->fits || (is && (!whole || floor(number) == number));
        add_right(q, whole ? "a whole number" : "a number");
    }
    visit_alternatives(q, schema, compare_value);
}

/* Finds the member in the schema, its alternatives, and the schemas that it refers to. */
static void find_member(member_query *q, const json_t *schema)
{
    const json_t *member = json_object_get(json_object_get(schema, "properties"), q->name);
    q->found = q->found || member;
    if (member)
        compare_value(q, member);
    visit_alternatives(q, schema, find_member);
}

bool wire_compares(const char *answer, const char *name, const char *value, char right[WIRE_RIGHT])
{
    char entry[64];
    snprintf(entry, sizeof entry, "%.*s", (int)strcspn(answer, "["), answer);
    json_t *all = schemas_json();
    member_query q = {.schemas = all, .name = name, .value = value};
    find_member(&q, json_object_get(all, entry));
    json_decref(all);
    if (q.found && !q.right[0])
        add_right(&q, "left out: it is not a string, a number or a boolean");
    strcpy(right, q.right);
    return q.fits;
}

json_t *wire_openapi(void)
{
    json_t *document = json_loads(head, 0, NULL), *components = json_loads(others, 0, NULL);
    json_object_set_new(components, "schemas", schemas_json());
    json_object_set_new(components, "responses", responses_json());
    json_object_set_new(document, "components", components);
    return document;
}

/* ---- operations ---------------------------------------------------------------------------- */

/* Query parameters of single routes. */
static const wire_field queries[] = {{"object", ID},
                                     {"since", WHOLE, LOW(0)},
                                     {"group", ID,
                                      .about = "edits of one group that follow one another within "
                                               "a minute are one step for undo: a drag"},
                                     {0}};

/* The operation's id: "getTasksIdProgress" for GET /tasks/{id}/progress. */
static json_t *operation_id(const wire_operation *o)
{
    char id[128];
    size_t n = 0;
    bool capital = false;
    for (const char *c = o->method; *c; c++)
        id[n++] = (char)tolower((unsigned char)*c);
    for (const char *c = o->path; *c && n + 1 < sizeof id; c++) {
        capital = capital || *c == '/';
        if (!isalnum((unsigned char)*c))
            continue;
        id[n++] = capital ? (char)toupper((unsigned char)*c) : *c;
        capital = false;
    }
    return json_stringn(id, n);
}

static json_t *component_reference(const char *kind, const char *name)
{
    return json_pack("{so}", "$ref", json_sprintf("#/components/%s/%s", kind, name));
}

/* True where an Idempotency-Key is accepted; not for a halt, which waits for no other request and
 * may be repeated. */
static bool is_keyed(const wire_operation *o)
{
    return strcmp(o->method, "POST") == 0 && strcmp(o->path, "/simulation/halt") != 0;
}

bool wire_is_conditional(const wire_operation *o)
{
    return strcmp(o->method, "GET") == 0 && o->flags & (OP_STILL | OP_ETAG);
}

/* The parameters: in the path, in the query, in the header. */
static json_t *parameters_json(const wire_operation *o)
{
    json_t *list = json_array();
    for (const char *c = strchr(o->path, '{'); c; c = strchr(c + 1, '{')) {
        int size = (int)strcspn(c + 1, "}");
        bool link = strncmp(c + 1, "link", 4) == 0;
        json_array_append_new(list,
                              json_pack("{ss# ss sb so}", "name", c + 1, size, "in", "path",
                                        "required", 1, "schema",
                                        link ? json_pack("{ss si}", "type", "integer", "minimum", 0)
                                             : wire_schema_ref("Id")));
    }
    for (const wire_field *f = queries; o->query && f->name; f++)
        if (strcmp(f->name, o->query) == 0)
            json_array_append_new(list,
                                  json_pack("{ss ss so ss*}", "name", f->name, "in", "query",
                                            "schema", f->type->schema(f), "description", f->about));
    if (o->flags & OP_DRY_RUN)
        json_array_append_new(list, component_reference("parameters", "dryRun"));
    if (o->flags & OP_STRANDS)
        json_array_append_new(list, component_reference("parameters", "strands"));
    if (o->flags & OP_EDIT)
        json_array_append_new(list, component_reference("parameters", "ifMatch"));
    if (is_keyed(o))
        json_array_append_new(list, component_reference("parameters", "idempotencyKey"));
    if (o->flags & (OP_NEW | OP_REPLACES) || wire_is_conditional(o))
        json_array_append_new(list, component_reference("parameters", "ifNoneMatch"));
    static const char *const paging[] = {"limit", "offset", "after", "members"};
    for (int i = 0; o->flags & OP_PAGED && i < 4; i++)
        json_array_append_new(list, component_reference("parameters", paging[i]));
    return list;
}

/* The schema of "A", "A|B", "A[]", or "A[64]" for at most 64 entries. */
static json_t *shape_schema(const char *name)
{
    size_t size = strcspn(name, "|[");
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)size, name);
    if (name[size] == '|')
        return json_pack("{s[oo]}", "anyOf", wire_schema_ref(first),
                         wire_schema_ref(name + size + 1));
    if (name[size] == '[') {
        json_t *list = json_pack("{ss so}", "type", "array", "items", wire_schema_ref(first));
        if (atoi(name + size + 1) > 0)
            json_object_set_new(list, "maxItems", json_integer(atoi(name + size + 1)));
        return list;
    }
    return wire_schema_ref(name);
}

/* True where a POST without a body is one with an empty object: where no member is required. */
static bool needs_body(const wire_operation *o, const json_t *schemas)
{
    const json_t *schema = o->request ? json_object_get(schemas, o->request) : NULL;
    return !schema || strcmp(o->method, "POST") != 0 || json_object_get(schema, "required");
}

static json_t *request_body(const wire_operation *o, const char *example, const json_t *schemas)
{
    json_t *types;
    if (o->flags & OP_FILE)
        types = content_json("application/octet-stream", json_pack("{ss}", "type", "string"));
    else
        types = content_json("application/json", shape_schema(o->request));
    if (example)
        json_object_set_new(json_object_get(types, "application/json"), "example",
                            json_loads(example, 0, NULL));
    if (strcmp(o->method, "PATCH") == 0)
        json_object_set_new(types, "application/merge-patch+json",
                            json_pack("{so}", "schema", shape_schema(o->request)));
    return json_pack("{sb so}", "required", needs_body(o, schemas), "content", types);
}

/* A response with a body, or without one where `schema` is NULL. */
static json_t *success_response(const wire_operation *o, const char *description, json_t *schema,
                                bool made)
{
    json_t *headers = json_object(), *answer = json_pack("{ss}", "description", description);
    if (o->flags & OP_ETAG)
        json_object_set_new(headers, "ETag", component_reference("headers", "ETag"));
    else if (o->flags & OP_STILL)
        json_object_set_new(headers, "ETag", component_reference("headers", "TextTag"));
    if (o->flags & OP_EDIT)
        json_object_set_new(headers, "Guideway-Note", component_reference("headers", "note"));
    if (made)
        json_object_set_new(headers, "Location", component_reference("headers", "Location"));
    if (json_object_size(headers) > 0)
        json_object_set(answer, "headers", headers);
    json_decref(headers);
    if (schema)
        json_object_set_new(
            answer, "content",
            content_json(o->flags & OP_CSV ? "text/csv" : "application/json", schema));
    return answer;
}

static void add_successes(const wire_operation *o, json_t *all)
{
    if (o->flags & OP_CSV) {
        json_object_set_new(
            all, "200", success_response(o, "Done.", json_pack("{ss}", "type", "string"), false));
        return;
    }
    bool dry = o->flags & OP_DRY_RUN, makes = o->flags & OP_CREATES;
    bool done = o->answer && (!makes || o->flags & OP_REPLACES);
    if (done && dry)
        json_object_set_new(all, "200",
                            success_response(o, "Done, or a dry run's answer.",
                                             json_pack("{s[oo]}", "anyOf", shape_schema(o->answer),
                                                       wire_schema_ref("WouldBe")),
                                             false));
    else if (done)
        json_object_set_new(all, "200",
                            success_response(o, "Done.", shape_schema(o->answer), false));
    else if (dry)
        json_object_set_new(
            all, "200",
            success_response(o, "A dry run's answer.", wire_schema_ref("WouldBe"), false));
    if (makes)
        json_object_set_new(all, "201",
                            success_response(o, "Done.", shape_schema(o->answer), true));
    if (wire_is_conditional(o))
        json_object_set_new(all, "304", success_response(o, "Not changed.", NULL, false));
    if (!o->answer)
        json_object_set_new(all, "204", success_response(o, "Done.", NULL, false));
}

static bool can_refuse(const wire_operation *o, const char *status)
{
    bool named = strchr(o->path, '{') && !(o->flags & OP_REPLACES);
    switch (atoi(status)) {
    case 400: /* an unknown query parameter */
        return true;
    case 404:
        return named || o->flags & OP_404;
    case 409:
        return o->flags & OP_409;
    case 412:
        return o->flags & (OP_EDIT | OP_REPLACES);
    case 413:
        return o->request || o->flags & OP_FILE;
    case 415:
        return o->request != NULL;
    case 422:
        return o->flags & OP_422 || is_keyed(o);
    default:
        return true;
    }
}

/* Adds the body of an edit to the bodies that /scene/edits accepts. */
static void add_to_edits(json_t *document, const wire_operation *o)
{
    json_t *any = json_object_get(document, "components");
    static const char *const way[] = {"schemas", "SceneEdit", "properties", "body", "anyOf"};
    for (size_t i = 0; i < sizeof way / sizeof *way; i++)
        any = json_object_get(any, way[i]);
    json_t *body = shape_schema(o->request), *each = json_object_get(body, "anyOf");
    size_t count = each ? json_array_size(each) : 1;
    for (size_t i = 0; i < count; i++) {
        json_t *ref = each ? json_array_get(each, i) : body;
        bool there = false;
        for (size_t k = 0; k < json_array_size(any); k++)
            there = there || json_equal(json_array_get(any, k), ref);
        if (!there)
            json_array_append(any, ref);
    }
    json_decref(body);
}

bool wire_batched(const wire_operation *o)
{
    return o->flags & OP_EDIT && strncmp(o->path, "/scene/", 7) != 0 &&
           strncmp(o->path, "/scenes/", 8) != 0 && strncmp(o->path, "/solutions", 10) != 0 &&
           strcmp(o->path, "/assemble") != 0;
}

void wire_openapi_add(json_t *document, const char *prefix, const wire_operation *o,
                      const char *example)
{
    char path[128], method[16] = "";
    json_t *paths = json_object_get(document, "paths"), *answers = json_object();
    const json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");
    json_t *operation = json_pack("{ss so}", "summary", o->summary, "operationId", operation_id(o));
    json_t *list = parameters_json(o);
    if (json_array_size(list) > 0)
        json_object_set(operation, "parameters", list);
    json_decref(list);
    if (o->request || o->flags & OP_FILE)
        json_object_set_new(operation, "requestBody", request_body(o, example, schemas));
    if (o->request && wire_batched(o))
        add_to_edits(document, o);
    add_successes(o, answers);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (can_refuse(o, refusals[i].status))
            json_object_set_new(answers, refusals[i].status,
                                component_reference("responses", refusals[i].name));
    json_object_set_new(operation, "responses", answers);
    snprintf(path, sizeof path, "%s%s", prefix, o->path);
    for (size_t i = 0; o->method[i] && i + 1 < sizeof method; i++)
        method[i] = (char)tolower((unsigned char)o->method[i]);
    if (!json_object_get(paths, path))
        json_object_set_new(paths, path, json_object());
    json_object_set_new(json_object_get(paths, path), method, operation);
}
