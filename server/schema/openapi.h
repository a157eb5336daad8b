/* Operations of the REST interface, as the OpenAPI document tells them. */
#ifndef GW_SERVER_SCHEMA_OPENAPI_H
#define GW_SERVER_SCHEMA_OPENAPI_H

typedef struct wire_field wire_field;

typedef enum wire_operation_flags {
    OP_EDIT = 1,
    OP_DRY_RUN = 2,
    OP_STRANDS = 4,
    OP_ETAG = 8,
    OP_CREATES = 16,
    OP_REPLACES = 32,
    OP_FILE = 64,
    OP_400 = 128,
    OP_404 = 256,
    OP_409 = 512,
    OP_422 = 1024
} wire_operation_flags;

typedef struct wire_operation {
    const char *method, *path;
    const char *summary;
    const char *request;
    const char *answer;
    unsigned flags;
    const wire_field *query;
} wire_operation;

#endif
