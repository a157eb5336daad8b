/*
 * Frames of RFC 6455, section 5: an incremental reader of a client's frames, and a writer of the
 * heads of the server's. Every rule of the section is checked; an error is reported as the code
 * with which to close the connection. Pure functions, no allocation.
 */
#ifndef GW_SERVER_NET_WS_FRAME_H
#define GW_SERVER_NET_WS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_CONTROL 125 /* bytes of a control frame's payload, at most */
#define WS_HEAD    10  /* bytes of a head of the server's, at most */
#define WS_ACCEPT  29  /* bytes of Sec-WebSocket-Accept, the zero included */

typedef enum ws_opcode {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10
} ws_opcode;

typedef enum ws_code {
    WS_CODE_NONE = 0, /* a close without a code */
    WS_CODE_PROTOCOL = 1002,
    WS_CODE_NOT_UTF8 = 1007
} ws_code;

/* State of the UTF-8 decoder: `left` bytes follow, the next one between low and high. All zero: at
 * the start of a character. */
typedef struct ws_utf8 {
    int left;
    unsigned char low, high;
} ws_utf8;

/* To be zeroed before the first byte. */
typedef struct ws_reader {
    unsigned char head[14];
    unsigned head_size;
    bool in_payload;
    uint64_t size, done; /* of the frame's payload */
    ws_opcode message;   /* of the message in progress; WS_CONTINUATION: none */
    ws_utf8 utf8;        /* of its text */
    unsigned char control[WS_CONTROL];
} ws_reader;

typedef enum ws_found {
    WS_NOTHING, /* more bytes are needed */
    WS_PART,    /* of a message: `data`, `last` */
    WS_PINGED,  /* `data` is to be sent back as a pong */
    WS_PONGED,
    WS_CLOSED, /* `code`, WS_CODE_NONE where none was given */
    WS_BROKEN  /* `code` to close with; the reader must not be used any further */
} ws_found;

typedef struct ws_piece {
    ws_found found;
    const unsigned char *data; /* unmasked, within the given bytes or the reader */
    size_t size;
    bool last; /* the message ends with this piece */
    int code;
} ws_piece;

/* Reads the next piece out of `size` bytes, which it unmasks in place; `taken` of them are
 * consumed. To be called again with the rest until it finds nothing. */
ws_piece ws_read(ws_reader *reader, unsigned char *data, size_t size, size_t *taken);

/* Writes the head of an unfragmented frame of `size` bytes; returns its length. */
size_t ws_head(ws_opcode opcode, size_t size, unsigned char head[WS_HEAD]);

#endif
