/*
 * Shared by the handlers of the API: one call at a time, its parts decoded, its reply to fill.
 */
#ifndef GW_SERVER_REST_CALL_H
#define GW_SERVER_REST_CALL_H

#include "server/rest/api.h"
#include "server/app/describe.h"
#include "server/schema/openapi.h"
#include "server/schema/wire.h"

typedef struct api_route api_route;

/* Several edits in one request, which are committed together: each goes through the handler of its
 * route, which begins and commits as it does alone. */
typedef struct api_batch {
    app_edit edit; /* between handlers; `app` NULL: a handler has it, or it has ended */
    int index;     /* of the edit that is being made */
    bool made;     /* it is */
    bool checks;   /* the scene is checked after each edit, to find the one that is wrong */
} api_batch;

typedef struct api_call {
    gw_app *app;
    gw_store *store;
    gw_meshes *meshes;
    const api_request *request;
    const api_route *route;             /* NULL: there is none */
    const struct gw_resource *resource; /* of the route, NULL: none */
    char part[2][GW_MAX_ID + 1];        /* the path's parameters, decoded */
    json_t *body;                       /* parsed; NULL where the route takes none */
    bool dry_run;
    int offset, limit; /* ?offset, ?limit; limit -1: all */
    int filter_count;
    const char *filters[API_MAX_QUERY]; /* members that the query wants entries of a list by */
    uint64_t ticket;                    /* of the edit that the answer waits for; 0: none */
    api_batch *batch;                   /* that the request is one of; NULL: none */
    int strands; /* ?strands=N: poses to each side wanted with a solution; 0: none */
    api_reply *reply;
} api_call;

typedef void api_handler(api_call *call);

/* The value of a query parameter, decoded into `out`; false where it is not there. A plus sign is
 * one, as in ids (RFC 3986), or, api_query_form(), a space, as HTML forms send it. */
bool api_query(const api_call *call, const char *name, char *out, size_t size);
bool api_query_form(const api_call *call, const char *name, char *out, size_t size);

/* True where the text is a whole number of digits alone. */
bool api_whole(const char *text, uint64_t *number);

/* ---- replies ------------------------------------------------------------------------------- */

/* Takes the value over. NULL, or a number that is not finite, becomes a 500. */
void api_json(api_call *call, int status, json_t *value);

/* JSON that is text already, taken over; NULL becomes a 500. */
void api_text(api_call *call, int status, gw_text *text);

/* api_json() of what was made, with 200; where that is NULL, the error. */
void api_made(api_call *call, json_t *made, const gw_error *error);

/* Whether the body has no member but these (NULL behind the last); false: the reply is set. */
bool api_only(api_call *call, const char *const *allowed);

/* The document's revision as ETag. */
void api_tag(api_call *call, const app_document *document);

/* api_json() with that. */
void api_part(api_call *call, int status, const app_document *document, json_t *value);

/* The document's revision, and whether there is something to undo and to redo. */
void api_history(api_call *call, const app_document *document);

/* One solution of the document `of`, with its strands where the query asks for them; the ETag is
 * that of `document`. */
void api_solution(api_call *call, const app_document *document, const app_document *of,
                  const gw_placement *placement, const gw_pose *pose);

/* The entries of a list, in groups that are read one after the other. */
typedef struct api_entries {
    int count; /* of groups */
    /* A group: one entry, or an array of them. NULL where memory is short. */
    json_t *(*at)(const struct api_entries *entries, int index);
    gw_app *app;
    app_document *document; /* one reference, or NULL; the ETag is its revision */
    gw_snapshot *snapshot;  /* to be freed, or NULL */
    gw_pose *poses;         /* the same */
    const struct gw_resource *resource;
    json_t *list; /* one reference, or NULL */
    int first;    /* of the groups, where only some are wanted */
} api_entries;

/* Answers the entries that the query asks for; takes over what `entries` has. */
void api_list(api_call *call, api_entries entries);

/* problem+json out of an error, with the status that its code stands for. */
void api_error(api_call *call, const gw_error *error);
void api_refuse(api_call *call, int status, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* True where the header lists this tag, in quotes and not weak, or is a star. */
bool api_lists_tag(const char *header, const char *tag);

/* A saved version's tag, with its quotes. */
#define API_TAG (sizeof((api_reply *)0)->etag)
void api_version_tag(int64_t version, char tag[API_TAG]);

/* The disk refused: an error as api_error() answers it, and an event. */
void api_storage_error(api_call *call, const gw_error *error);

void api_location(api_call *call, const char *collection, const char *id);

/* ---- edits --------------------------------------------------------------------------------- */

/* Begins an edit of the document, If-Match checked. False: the reply is set. */
bool api_begin(api_call *call, app_edit *edit);

/* Whether what is there may be replaced: not where If-None-Match is a star, and the reply is set.
 */
bool api_replaces(api_call *call, const char *what);

/* Ends an edit with the error as reply. */
void api_abandon(api_call *call, app_edit *edit, const gw_error *error);

/*
 * Commits, or answers the dry run with the solution of `object` (NULL: all of them). True: it is
 * done, the handler fills the reply from edit->document and calls app_edit_end(). False: the reply
 * is set and the edit has ended. `item` is the pointer of what the body stands for in the scene
 * file ("/constraints/3"): taken off pointers in errors.
 */
bool api_commit(api_call *call, app_edit *edit, const char *item, const char *object);

/* Adds "what id" to a list in words. */
void api_name(char *list, size_t size, const char *what, const char *id);

/* `now`, which is used up, with the body as a merge patch applied. NULL: memory is short, and
 * api_error() will say so. */
json_t *api_merge(const api_call *call, json_t *now);

/* ---- parts of resources that other handlers share ------------------------------------------- */

/* Adds what refers to links of mechanism `index` from number `first` on to a list. */
void api_users_of_links(const gw_scene *scene, int index, int first, char *list, size_t size);

/* ---- routes -------------------------------------------------------------------------------- */

struct api_route {
    wire_operation about; /* what the OpenAPI document says of it; {} in its path is one segment */
    api_handler *handler;
    const struct gw_resource *resource; /* that the handler is for, NULL: none */
};

const api_route *api_routes(int *count);

/* An example of the body that a route takes, as JSON; NULL where it takes none. */
const char *api_example(const wire_operation *about);

/* The route of a path below the prefix for the request's method, whose parts and resource the call
 * gets; or NULL with the methods that the path would take in `allow` ("": the path is unknown). */
const api_route *api_find_route(api_call *call, const char *path, char allow[64]);

/* Handlers of routes that are not a resource's. */
api_handler api_scene_edits, api_scene_get, api_scene_put, api_scene_patch, api_scene_undo,
    api_scene_redo, api_scene_save, api_scene_open, api_scenes_get, api_scenes_file_get,
    api_scenes_file_delete, api_scenes_versions_get, api_scenes_restore;
api_handler api_solutions_get, api_solution_get, api_solution_patch;
api_handler api_drivers_get, api_operator_get, api_operator_put, api_operator_delete;
api_handler api_tool_get, api_tool_put, api_tool_patch, api_tool_delete, api_tools_get;
/* Stiffness and mass that the device of tool `index` renders of those asked for; `snapshot`:
 * of this scene, NULL where the loop has none yet. */
json_t *api_rendered(const gw_scene *scene, int index, const gw_device_info *info,
                     const gw_snapshot *snapshot);

api_handler api_simulation_get, api_simulation_put, api_simulation_step, api_simulation_halt,
    api_simulation_arm;
api_handler api_links_get, api_links_post, api_link_get, api_link_patch, api_link_delete,
    api_motor_get, api_motor_put, api_motor_delete;
api_handler api_contacts_get, api_contact_get, api_contact_patch;
api_handler api_meshes_get, api_mesh_get, api_mesh_put, api_mesh_delete;
api_handler api_rendered_get, api_faults_get, api_fault_get;
api_handler api_events_get, api_loop_get, api_solve, api_surface, api_assemble, api_openapi,
    api_index;

#endif
