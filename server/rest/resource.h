/*
 * Resources: the scene's collections behind REST. A row says what a collection is made of; one
 * handler a method (list, get, post, put, patch, delete) serves all of them.
 *
 * A handler's order is the same for every resource: read the body, begin the edit (If-Match), find
 * the entry, refuse what is wrong, change the copy of the scene, commit, answer.
 */
#ifndef GW_SERVER_REST_RESOURCE_H
#define GW_SERVER_REST_RESOURCE_H

#include "server/rest/call.h"

#define RESOURCE_ID    API_MAX_ENTRY_ID
#define RESOURCE_BYTES 8192 /* of the largest entry */

/* Sources of an answer. */
typedef struct resource_view {
    gw_app *app;
    const app_document *document;
    const gw_snapshot *snapshot; /* of rows that are `live`, else NULL */
} resource_view;

typedef struct gw_resource {
    const char *collection;      /* its path, and its member of the scene file: "objects" */
    const char *noun;            /* in sentences: "object" */
    size_t size;                 /* of an entry */
    size_t entries_at, count_at; /* where gw_scene has the array and its length */

    /* The scene's functions, and the entry as the scene file has it. */
    void *(*add)(gw_scene *scene, gw_error *error);
    void (*remove)(gw_scene *scene, int index);
    void (*finish)(void *entry);
    json_t *(*encode)(const void *entry);
    bool (*decode)(const json_t *value, const char *at, void *entry, gw_error *error);

    /* ---- what a row may leave out ---- */

    /* The name of an entry, and where it is, -1: nowhere. NULL: entries begin with their id. */
    void (*id)(const void *entry, char id[RESOURCE_ID]);
    int (*find)(const gw_scene *scene, const char *id);
    /* References to an entry that is renamed. NULL: there are none. */
    void (*rename)(gw_scene *scene, const char *from, const char *to);
    char letter; /* an id that is left out is made, beginning so; 0: it is refused */
    const struct gw_resource *shares_ids; /* the two have no id in common */
    const char *read_only;                /* member that answers have and bodies need not */
    bool live;                            /* `show` needs the loop's newest state */
    /* A posted body, where more than `decode` takes is understood. */
    bool (*decode_posted)(const json_t *value, void *entry, gw_error *error);
    /* The answered entry; NULL: as encoded. */
    json_t *(*show)(const resource_view *view, int index);
    /* Adds what refers to the entry to a list (api_name()); `in_use` is the refusal's sentence, of
     * id and list. */
    void (*users)(const gw_scene *scene, int index, char *list, size_t size);
    const char *in_use;
    /* The object whose solution a dry run answers; empty: all of them. */
    void (*object)(const gw_scene *scene, int index, char object[GW_MAX_ID + 1]);
    /* True where the entry that the address names cannot be changed now: the reply is set. */
    bool (*locked)(api_call *call);
    /* After a new or changed entry is in the scene. False with an error. */
    bool (*derive)(gw_scene *scene, gw_error *error);
    /* Completes a patched entry; `now` is what it takes the place of. */
    void (*patched)(const json_t *patch, const void *now, void *entry);
    /* True where an id that is not in the scene is of something that can only be read: the error
     * says so. */
    bool (*derived)(const gw_scene *scene, const char *id, gw_error *error);
    /* What a patch states of how the entry begins: a place, a motion. */
    void (*begins)(const json_t *patch, bool *place, bool *motion);
    bool two_parts;       /* its address is "object/feature", and a patch cannot rename it */
    const char *mismatch; /* sentence of a body whose id is not the address's; of the address */
    const char *group;    /* successive changes of one entry undo as one: the group's first word */
} gw_resource;

api_handler resource_list, resource_get, resource_post, resource_put, resource_patch,
    resource_delete;

/* The id that the address names. */
void resource_address(const api_call *call, char id[RESOURCE_ID]);

/* Begins an edit of the entry that the address names: its index, or -1 with the reply set. */
int resource_begin(api_call *call, app_edit *edit);

/* Answers 404: there is no such entry. */
void resource_missing(api_call *call);

#endif
