/*
 * The OpenAPI document: operations, one row each, and the component schemas made from the tables of
 * fields. Any thread; no state.
 */
#ifndef GW_SERVER_SCHEMA_OPENAPI_H
#define GW_SERVER_SCHEMA_OPENAPI_H

#include "server/schema/wire.h"

typedef enum wire_operation_flags {
    OP_EDIT = 1,      /* takes If-Match: 412 */
    OP_DRY_RUN = 2,   /* takes ?dryRun: 200 with the result of the edit */
    OP_STRANDS = 4,   /* takes ?strands */
    OP_ETAG = 8,      /* its answers have an ETag */
    OP_CREATES = 16,  /* 201 with Location */
    OP_REPLACES = 32, /* with OP_CREATES: 200 where it existed; no 404 for a missing one */
    OP_FILE = 64,     /* the body is a file */
    OP_404 = 256,
    OP_409 = 512,
    OP_422 = 1024,
    OP_NEW = 2048, /* takes If-None-Match too: 412 */
    OP_STILL =
        4096, /* a GET whose answer is unchanged while the scene's revision is; without OP_ETAG
                 the ETag is a hash of the text, and a list sent in pieces has none */
    OP_CSV = 16384,   /* its answer is a table */
    OP_PAGED = 8192,  /* a list: takes ?limit, ?offset, ?after and members' values */
    OP_ALWAYS = 32768 /* ignores body and query; its answer tells whether there were any */
} wire_operation_flags;

/* The description of one route. 400, 401, 403 and 421 are added to all; with a JSON body 413 and
 * 415, with a file 413; 404 where the path contains a name. */
typedef struct wire_operation {
    const char *method, *path; /* below the prefix, {} around names */
    const char *summary;
    const char *request; /* component schema of the JSON body, "A|B" either; NULL: none */
    const char *answer;  /* of the answer, "A[]" an array of them, "A[64]" at most so many;
                             NULL: 204 */
    unsigned flags;
    const char *query; /* a further query parameter, "object", "since" or "group"; NULL: none */
} wire_operation;

/* True for an edit of the document that can be one of several in a request. Not for edits of
 * solutions, which are derived from the rest, nor for assemblies, loads and saves. */
bool wire_batched(const wire_operation *operation);

/* True for a GET that takes If-None-Match: 304. Where its answer has an ETag and is not OP_STILL,
 * the ETag is the revision and a hash of the text. */
bool wire_is_conditional(const wire_operation *operation);

/* True where the entries of the answer "A[]" can have a member of this name with this value, a
 * string, number or boolean as text. Else `right` tells which values it can have; empty: there is
 * no such member. */
#define WIRE_RIGHT 256
bool wire_compares(const char *answer, const char *name, const char *value, char right[WIRE_RIGHT]);

/* The document without paths; and the addition of an operation: `prefix` goes before its path,
 * `example` (or NULL) is an example of its body as JSON. */
json_t *wire_openapi(void);
void wire_openapi_add(json_t *document, const char *prefix, const wire_operation *operation,
                      const char *example);

#endif
