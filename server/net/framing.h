/*
 * The framing of the requests of a connection by RFC 9112: heads, bodies by their length, chunks
 * with their extensions and trailers. Finds where each request begins and ends, and refuses what is
 * not well-formed. Reads a connection's bytes in order, in pieces of any size. Pure functions.
 */
#ifndef GW_SERVER_NET_FRAMING_H
#define GW_SERVER_NET_FRAMING_H

#include <stddef.h>
#include <stdint.h>

#include "server/net/request_head.h"

typedef enum framing_phase {
    FRAMING_HEAD,
    FRAMING_BODY,
    FRAMING_CHUNK_SIZE,
    FRAMING_SIZE_END,
    FRAMING_CHUNK,
    FRAMING_CHUNK_END,
    FRAMING_TRAILERS,
    FRAMING_REFUSED
} framing_phase;

typedef struct request_framing {
    framing_phase phase;
    uint64_t requests; /* number of requests whose heads were read whole */
    size_t left;       /* bytes still to come of the body, or of a chunk */
    size_t body;       /* bytes of this request's body so far, in chunks */
    size_t trailers;   /* bytes of its trailers so far */
    uint64_t refused;  /* number of the refused request, the first being 1; 0: none */
    int status;        /* of the refusal, with a sentence */
    const char *detail;
} request_framing;

/* `pass`: the first bytes, which are passed on; `skip`: the bytes after them, which are left out.
 * Both 0: more bytes are needed, or the rest is refused. */
typedef struct framing_step {
    size_t pass, skip;
} framing_step;

/* Reads one step. A head or a line must be in `data` as a whole, so the caller needs room for
 * HEAD_BYTES. */
framing_step framing_read(request_framing *framing, const char *data, size_t size);

#endif
