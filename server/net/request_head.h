/*
 * The head of an HTTP/1.1 request, read strictly out of what a socket has so far: for the few
 * requests that the listener decides about by itself. Pure functions.
 */
#ifndef GW_SERVER_NET_REQUEST_HEAD_H
#define GW_SERVER_NET_REQUEST_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#define HEAD_BYTES  8192 /* of a head, with a small body behind it */
#define HEAD_FIELDS 64

typedef enum head_status {
    HEAD_WHOLE,
    HEAD_PARTIAL, /* more is to come */
    HEAD_OTHER_VERSION,
    HEAD_MANY_FIELDS, /* more than HEAD_FIELDS */
    HEAD_BAD          /* no HTTP/1.1, a field without a colon, a space before one */
} head_status;

typedef struct request_head {
    const char *method, *target;
    bool old; /* HTTP/1.0 */
    int field_count;
    struct {
        const char *name, *value;
    } field[HEAD_FIELDS];
    const char *body; /* what there is behind the head */
    size_t size;      /* of the head alone */
} request_head;

/* Cuts `data` (`size` bytes, a zero behind them) into zero-terminated pieces that `head` names. A
 * partial one is left as it is. */
head_status head_parse(char *data, size_t size, request_head *head);

/* The value of the first field of that name, NULL where there is none; how many there are. */
const char *head_find(const request_head *head, const char *name);
int head_count(const request_head *head, const char *name);

/* The name of a request in its answer and in the log: its client's, where that is a
 * name, else sixteen random digits. */
#define HEAD_REQUEST_ID 64
void head_request_id(const char *given, char id[HEAD_REQUEST_ID + 1]);

#endif
