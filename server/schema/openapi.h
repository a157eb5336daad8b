/*
 * The OpenAPI document: operations, one row each, and the component schemas of the tables of
 * fields. Any thread; no state.
 */
#ifndef GW_SERVER_SCHEMA_OPENAPI_H
#define GW_SERVER_SCHEMA_OPENAPI_H

#include "server/schema/wire.h"

typedef enum wire_operation_flags {
    OP_EDIT = 1,      /* takes If-Match: 412 */
    OP_DRY_RUN = 2,   /* takes ?dryRun: 200 with what would be */
    OP_STRANDS = 4,   /* takes ?strands */
    OP_ETAG = 8,      /* its answers have an ETag */
    OP_CREATES = 16,  /* 201 with Location */
    OP_REPLACES = 32, /* with OP_CREATES: 200 where it was there; what is not there is no 404 */
    OP_FILE = 64,     /* the body is a file */
    OP_404 = 256,
    OP_409 = 512,
    OP_422 = 1024,
    OP_NEW = 2048,    /* takes If-None-Match too: 412 */
    OP_STILL = 4096,  /* the same as long as its ETag is: takes If-None-Match: 304; without OP_ETAG
                         that is a sum of its text, and none of a list that comes in pieces */
    OP_CSV = 16384,   /* its answer is a table */
    OP_PAGED = 8192,  /* a list: takes ?limit, ?offset, ?after and members' values */
    OP_ALWAYS = 32768 /* carried out whatever body or query come with it; its answer says so */
} wire_operation_flags;

/* The document's description of one route. From it follow 400, 401, 403 and 421; with a JSON body
 * 413 and 415, with a file 413; 404 where the path names something. */
typedef struct wire_operation {
    const char *method, *path; /* below the prefix, {} around names */
    const char *summary;
    const char *request; /* component schema of the JSON body, "A|B" either; NULL: none */
    const char *answer;  /* of the answer, "A[]" an array of them, "A[64]" at most so many;
                             NULL: 204 */
    unsigned flags;
    const char *query; /* a further query parameter, "object", "since" or "group"; NULL: none */
} wire_operation;

/* True for an edit of the document that can be one of several in a request: solutions follow from
 * the rest, as assemblies do, and loads and saves are no edits. */
bool wire_batched(const wire_operation *operation);

/* True where the entries of the answer "A[]" may have a member of this name. */
bool wire_has_member(const char *answer, const char *name);

/* The document without paths, and one more operation in it; `prefix` goes before its path,
 * `example` is one of its body, JSON, or NULL. */
json_t *wire_openapi(void);
void wire_openapi_add(json_t *document, const char *prefix, const wire_operation *operation,
                      const char *example);

#endif
