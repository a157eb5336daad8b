/*
 * Resources: the scene's collections in REST. A row describes a collection; one handler for each
 * method (list, get, post, put, patch, delete) serves all of them.
 *
 * A handler's order is the same for every resource: read the body, begin the edit (If-Match), find
 * the entry, refuse what is wrong, change the copy of the scene, commit, answer.
 */
#ifndef GW_SERVER_REST_RESOURCE_H
#define GW_SERVER_REST_RESOURCE_H

#include "server/rest/call.h"

#define RESOURCE_ID    API_MAX_ENTRY_ID
#define RESOURCE_BYTES 8192 /* of the largest type of entry */

/* The sources of an answer. */
typedef struct resource_view {
    gw_app *app;
    const app_document *document;
    const gw_snapshot *snapshot; /* for rows that are `live`, else NULL */
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

    /* The name of an entry, and the index of a name, -1: none. NULL: entries begin with their
     * id. */
    void (*id)(const void *entry, char id[RESOURCE_ID]);
    int (*find)(const gw_scene *scene, const char *id);
    /* Renames the references to an entry. NULL: there are none. */
    void (*rename)(gw_scene *scene, const char *from, const char *to);
    char letter;                          /* first letter of a generated id; 0: an id is required */
    const struct gw_resource *shares_ids; /* no id may be in both */
    const char *read_only;                /* member of answers, ignored in bodies */
    bool live;                            /* `show` needs the loop's newest state */
    /* Decodes a posted body that may have more forms than `decode` accepts. */
    bool (*decode_posted)(const json_t *value, void *entry, char note[APP_NOTE], gw_error *error);
    /* The answered entry; NULL: as encoded. */
    json_t *(*show)(const resource_view *view, int index);
    /* Appends the entries that refer to this one to a list (api_name()); `in_use` is the sentence
     * of the refusal, formatted with the id and the list. */
    void (*users)(const gw_scene *scene, int index, char *list, size_t size);
    const char *in_use;
    /* The object whose solution a dry run answers; empty: all of them. */
    void (*object)(const gw_scene *scene, int index, char object[GW_MAX_ID + 1]);
    /* True where the addressed entry cannot be changed at present: the reply is set. */
    bool (*locked)(api_call *call);
    /* Completes the scene after a new or changed entry was added. False with an error. */
    bool (*derive)(gw_scene *scene, gw_error *error);
    /* Completes a patched entry; `now` is the entry before. */
    void (*patched)(const json_t *patch, const void *now, void *entry);
    /* The free-form shape of an entry, whose parts a patched entry reuses; NULL: it has none. */
    gw_nurbs *(*shape)(const void *entry);
    /* True where an id that is not in the scene belongs to a read-only entry: sets the error. */
    bool (*derived)(const gw_scene *scene, const char *id, gw_error *error);
    /* The error of an id that is not in the scene. NULL: the ids that are. */
    void (*missing)(const gw_scene *scene, const char *id, gw_error *error);
    /* Which initial values of the entry a patch states: its position, its motion. */
    void (*begins)(const json_t *patch, bool *position, bool *motion);
    bool two_parts;       /* its address is "object/feature", which a patch cannot change */
    const char *mismatch; /* error where body and address differ, with the address */
    const char *group;    /* prefix of the undo group of changes of one entry */
} gw_resource;

api_handler resource_list, resource_get, resource_post, resource_put, resource_patch,
    resource_delete;

/* The id that the address names. */
void resource_address(const api_call *call, char id[RESOURCE_ID]);

/* Begins an edit of the entry that the address names: its index, or -1 with the reply set. */
int resource_begin(api_call *call, app_edit *edit);

/* Answers 404: there is no such entry in the scene, and which there are. */
void resource_missing(api_call *call, const gw_scene *scene);

#endif
