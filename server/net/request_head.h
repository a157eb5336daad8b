/*
 * A strict reader of the head of an HTTP/1.1 request, for the few requests that are handled outside
 * of libmicrohttpd. Pure functions.
 */
#ifndef GW_SERVER_NET_REQUEST_HEAD_H
#define GW_SERVER_NET_REQUEST_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#define HEAD_BYTES  8192 /* of a head with a small body after it */
#define HEAD_FIELDS 64

typedef enum head_status {
    HEAD_WHOLE,
    HEAD_PARTIAL, /* more bytes are needed */
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
    const char *body; /* the bytes after the head */
    size_t size;      /* of the head alone */
} request_head;

/* Cuts `data` (`size` bytes and a terminating zero) into zero-terminated pieces that `head` points
 * to. A partial head is left unchanged. */
head_status head_parse(char *data, size_t size, request_head *head);

/* The value of the first field of that name, NULL where there is none; the number of such
 * fields. */
const char *head_find(const request_head *head, const char *name);
int head_count(const request_head *head, const char *name);

/* Writes the id of a request for its answer and the log: the client's, where that is a valid one,
 * else sixteen random digits. */
#define HEAD_REQUEST_ID 64
void head_request_id(const char *given, char id[HEAD_REQUEST_ID + 1]);

#endif
