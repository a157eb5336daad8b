/*
 * Shared by the handlers of the API: a call has the decoded parts of a request and the reply to
 * fill.
 */
#ifndef GW_SERVER_REST_CALL_H
#define GW_SERVER_REST_CALL_H

#include "server/rest/api.h"
#include "server/app/describe.h"
#include "server/schema/openapi.h"
#include "server/schema/wire.h"

typedef struct api_route api_route;

/* Several edits in one request, committed together. Each goes through the handler of its route,
 * which begins and commits it as if it were alone. */
typedef struct api_batch {
    app_edit edit; /* between handlers; `app` NULL: in use by a handler, or ended */
    int index;     /* of the current edit */
    bool made;     /* the current edit was made */
    bool whole;    /* the current edit is one of the whole scene */
    bool checks;   /* check the scene after each edit, to find the one at fault */
} api_batch;

typedef struct api_call {
    gw_app *app;
    gw_store *store;
    gw_meshes *meshes;
    const api_request *request;
    const api_route *route;             /* NULL: there is none */
    const struct gw_resource *resource; /* of the route; NULL: none */
    char part[2][GW_MAX_ID + 1];        /* the path's parameters, decoded */
    json_t *body;                       /* parsed; NULL where the route takes none */
    bool dry_run;
    int offset, limit; /* ?offset, ?limit; limit -1: all */
    int filter_count;
    const char *filters[API_MAX_QUERY]; /* members of entries by which the query filters a list */
    uint64_t ticket;                    /* of the edit whose sync the answer waits for; 0: none */
    api_batch *batch;                   /* the batch to which the request belongs; NULL: none */
    gw_snapshot *snapshot;              /* of api_snapshot(); freed after the call */
    char group[GW_MAX_ID + 1]; /* ?group=ID: the edits of one drag, one step for undo; "": none */
    int strands;               /* ?strands=N: poses to each side in a solution's strands; 0: none */
    api_reply *reply;
} api_call;

typedef void api_handler(api_call *call);

/* Decodes the value of a query parameter into `out`; false where it is missing. A plus sign is
 * kept, as in ids (RFC 3986); api_query_form() decodes it as a space, as HTML forms encode one. */
bool api_query(const api_call *call, const char *name, char *out, size_t size);
bool api_query_form(const api_call *call, const char *name, char *out, size_t size);

/* Room for a snapshot, which is too large for a thread's stack; belongs to the call. NULL where
 * memory is short: the reply is set. */
gw_snapshot *api_snapshot(api_call *call);

/* True where the text consists of digits only and is within range. */
bool api_whole(const char *text, uint64_t *number);

/* ---- replies ------------------------------------------------------------------------------- */

/* Sets the reply to `value`, ownership passes. NULL, or a number that is not finite, gives a
 * 500. */
void api_json(api_call *call, int status, json_t *value);

/* Sets the reply to JSON text, ownership passes; NULL gives a 500. */
void api_text(api_call *call, int status, gw_text *text);

/* api_json() with 200; the error where `made` is NULL. */
void api_made(api_call *call, json_t *made, const gw_error *error);

/* True where the body has no other members than these (NULL-terminated); else false with the reply
 * set. */
bool api_only(api_call *call, const char *const *allowed);

/* The document's revision as ETag. */
void api_tag(api_call *call, const app_document *document);

/* api_json() and api_tag(). */
void api_part(api_call *call, int status, const app_document *document, json_t *value);

/* Replies with the document's revision, and whether undo and redo are possible. */
void api_history(api_call *call, const app_document *document);

/* Replies with one solution of the document `of`, with its strands where the query asks for them.
 * The ETag is that of `document`. */
void api_solution(api_call *call, const app_document *document, const app_document *of,
                  const gw_placement *placement, const gw_pose *pose);

/* The entries of a list, in groups that are read one after another. */
typedef struct api_entries {
    int count; /* of groups */
    /* A group: one entry, or an array of entries. NULL when memory is short. */
    json_t *(*at)(const struct api_entries *entries, int index);
    gw_app *app;
    app_document *document; /* one reference, or NULL; the ETag is its revision */
    gw_snapshot *snapshot;  /* to be freed, or NULL */
    gw_pose *poses;         /* the same */
    const struct gw_resource *resource;
    json_t *list; /* one reference, or NULL */
    int first;    /* of the groups, where only some are wanted */
} api_entries;

/* Replies with the entries that the query selects; takes over the contents of `entries`. */
void api_list(api_call *call, api_entries entries);

/* Replies with a problem for an error, with the status of the error's code. */
void api_error(api_call *call, const gw_error *error);
void api_refuse(api_call *call, int status, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* True where the header contains this tag, quoted and not weak, or a star. */
bool api_lists_tag(const char *header, const char *tag);

/* The same for the ETag of an answer at this revision. */
bool api_lists_revision(const char *header, uint64_t revision);

/* A saved version's tag, with its quotes. */
#define API_TAG (sizeof((api_reply *)0)->etag)
void api_version_tag(int64_t version, char tag[API_TAG]);

/* The disk failed: api_error(), and an event. */
void api_storage_error(api_call *call, const gw_error *error);

void api_location(api_call *call, const char *collection, const char *id);

/* ---- edits --------------------------------------------------------------------------------- */

/* Begins an edit of the document and checks If-Match. False: the reply is set. */
bool api_begin(api_call *call, app_edit *edit);

/* False with the reply set where If-None-Match is a star, so that nothing existing may be
 * replaced. */
bool api_replaces(api_call *call, const char *what);

/* Ends an edit with the error as reply. */
void api_abandon(api_call *call, app_edit *edit, const gw_error *error);

/*
 * Commits the edit, or, in a dry run, replies with the solution of `object` (NULL: all of them).
 * True: the handler fills the reply from edit->document and calls app_edit_end(). False: the reply
 * is set and the edit has ended. `item` is the JSON pointer of the body's entry in the scene file
 * ("/constraints/3"); it is removed from pointers in errors.
 */
bool api_commit(api_call *call, app_edit *edit, const char *item, const char *object);

/* Appends "what id" to a list in words. */
void api_name(char *list, size_t size, const char *what, const char *id);

/* `now`, ownership passes, with the body applied as a merge patch. NULL when memory is short, which
 * api_error() then reports. */
json_t *api_merge(const api_call *call, json_t *now);

/* ---- parts of resources that other handlers share ------------------------------------------- */

/* Appends to a list the entries that refer to links of mechanism `index` from number `first` on. */
void api_users_of_links(const gw_scene *scene, int index, int first, char *list, size_t size);

/* ---- routes -------------------------------------------------------------------------------- */

struct api_route {
    wire_operation about; /* its part of the OpenAPI document; {} in its path is one segment */
    api_handler *handler;
    const struct gw_resource *resource; /* the resource that it handles, NULL: none */
};

const api_route *api_routes(int *count);

/* An example of the body that a route takes, as JSON; NULL where it takes none. */
const char *api_example(const wire_operation *about);

/* Finds the route of a path below the prefix for the request's method, and sets the call's parts
 * and resource. NULL with the methods that the path accepts in `allow` ("": unknown path). */
const api_route *api_find_route(api_call *call, const char *path, char allow[64]);

/* Handlers of routes that do not belong to a resource. */
api_handler api_scene_edits, api_scene_get, api_scene_put, api_scene_patch, api_scene_undo,
    api_scene_redo, api_scene_save, api_scene_open, api_scenes_get, api_scenes_file_get,
    api_scenes_file_delete, api_scenes_versions_get, api_scenes_restore;
api_handler api_solutions_get, api_solution_get, api_solution_patch;
api_handler api_drivers_get, api_operator_get, api_operator_put, api_operator_delete;
api_handler api_tool_get, api_tool_put, api_tool_patch, api_tool_delete, api_tools_get;
/* The stiffness and mass that the device of tool `index` renders, beside those requested;
 * `snapshot`: of this scene, NULL where the loop has none yet. */
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
