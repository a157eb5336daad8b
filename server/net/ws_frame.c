/*
 * A frame's head is collected until its length is known, then checked as a whole. Text is checked
 * byte by byte, so that invalid UTF-8 closes its connection before the message is complete.
 */
#include "server/net/ws_frame.h"

#include <assert.h>
#include <string.h>

#define FIN    0x80
#define RSV    0x70
#define OPCODE 0x0f
#define MASKED 0x80
#define LENGTH 0x7f

/* ---- UTF-8 --------------------------------------------------------------------------------- */

/* RFC 3629, section 4: the ranges of the second byte exclude overlong forms, surrogates and code
 * points beyond U+10FFFF. */
static bool utf8_begins(ws_utf8 *u, unsigned char c)
{
    if (c < 0x80)
        return true;
    if (c < 0xc2 || c > 0xf4)
        return false;
    u->left = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    u->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    u->high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    return true;
}

static bool utf8_goes_on(ws_utf8 *u, const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (u->left == 0) {
            if (!utf8_begins(u, data[i]))
                return false;
            continue;
        }
        if (data[i] < u->low || data[i] > u->high)
            return false;
        u->left--;
        u->low = 0x80;
        u->high = 0xbf;
    }
    return true;
}

/* ---- heads --------------------------------------------------------------------------------- */

/* The length of the head, as far as the bytes so far determine it. */
static unsigned head_length(const ws_reader *r)
{
    if (r->head_size < 2)
        return 2;
    unsigned length = r->head[1] & LENGTH;
    unsigned more = length == 126 ? 2 : length == 127 ? 8 : 0;
    return 2 + more + (r->head[1] & MASKED ? 4 : 0);
}

/* The payload's size, from a whole head. */
static uint64_t size_of(const unsigned char *head)
{
    unsigned length = head[1] & LENGTH;
    uint64_t size = 0;
    if (length < 126)
        return length;
    for (int i = 0; i < (length == 126 ? 2 : 8); i++)
        size = size << 8 | head[2 + i];
    return size;
}

/* A client's frame is masked (5.1), uses no extensions (5.2) and has its size in the shortest form
 * (5.2); control frames are short and not fragmented (5.5); messages do not interleave (5.4). */
static bool head_allowed(const ws_reader *r, uint64_t size)
{
    const unsigned char *head = r->head;
    unsigned opcode = head[0] & OPCODE, length = head[1] & LENGTH;
    if (!(head[1] & MASKED) || head[0] & RSV || (length == 126 && size < 126) ||
        (length == 127 && (size <= 0xffff || size >> 63)))
        return false;
    if (opcode >= WS_CLOSE)
        return opcode <= WS_PONG && head[0] & FIN && size <= WS_CONTROL;
    if (opcode > WS_BINARY)
        return false;
    return (opcode == WS_CONTINUATION) == (r->message != WS_CONTINUATION);
}

/* ---- payloads ------------------------------------------------------------------------------ */

static ws_piece protocol_error(int code)
{
    return (ws_piece){.found = WS_BROKEN, .code = code};
}

static void unmask_bytes(const ws_reader *r, unsigned char *data, size_t size)
{
    const unsigned char *mask = r->head + r->head_size - 4;
    for (size_t i = 0; i < size; i++)
        data[i] ^= mask[(r->done + i) & 3];
}

/* Codes that may be sent (RFC 6455, 7.4). */
static bool code_allowed(int code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1011) ||
           (code >= 3000 && code <= 4999);
}

static ws_piece close_piece(const ws_reader *r)
{
    ws_piece piece = {.found = WS_CLOSED};
    ws_utf8 utf8 = {0};
    if (r->size == 0)
        return piece;
    piece.code = r->size >= 2 ? r->control[0] << 8 | r->control[1] : 0;
    if (!code_allowed(piece.code))
        return protocol_error(WS_CODE_PROTOCOL);
    if (!utf8_goes_on(&utf8, r->control + 2, (size_t)r->size - 2) || utf8.left > 0)
        return protocol_error(WS_CODE_NOT_UTF8);
    return piece;
}

static void next_frame(ws_reader *r)
{
    r->in_payload = false;
    r->head_size = 0;
}

static ws_piece take_control(ws_reader *r, unsigned char *data, size_t size)
{
    unmask_bytes(r, data, size);
    memcpy(r->control + r->done, data, size);
    r->done += size;
    if (r->done < r->size)
        return (ws_piece){.found = WS_NOTHING};
    unsigned opcode = r->head[0] & OPCODE;
    next_frame(r);
    if (opcode == WS_CLOSE)
        return close_piece(r);
    return (ws_piece){.found = opcode == WS_PING ? WS_PINGED : WS_PONGED,
                      .data = r->control,
                      .size = (size_t)r->size};
}

static ws_piece take_data(ws_reader *r, unsigned char *data, size_t size)
{
    unmask_bytes(r, data, size);
    r->done += size;
    bool whole = r->done == r->size, last = whole && r->head[0] & FIN;
    if (r->message == WS_TEXT &&
        (!utf8_goes_on(&r->utf8, data, size) || (last && r->utf8.left > 0)))
        return protocol_error(WS_CODE_NOT_UTF8);
    if (whole)
        next_frame(r);
    if (last)
        r->message = WS_CONTINUATION;
    return (ws_piece){.found = WS_PART, .data = data, .size = size, .last = last};
}

ws_piece ws_read(ws_reader *r, unsigned char *data, size_t size, size_t *taken)
{
    assert(r && taken && (data || size == 0));
    size_t at = 0;
    while (!r->in_payload) {
        if (r->head_size == head_length(r)) {
            unsigned opcode = r->head[0] & OPCODE;
            r->size = size_of(r->head);
            r->done = 0;
            *taken = at;
            if (!head_allowed(r, r->size))
                return protocol_error(WS_CODE_PROTOCOL);
            if (opcode == WS_TEXT || opcode == WS_BINARY) {
                r->message = opcode;
                r->utf8 = (ws_utf8){0};
            }
            r->in_payload = true;
        } else if (at < size)
            r->head[r->head_size++] = data[at++];
        else {
            *taken = at;
            return (ws_piece){.found = WS_NOTHING};
        }
    }
    uint64_t left = r->size - r->done;
    size_t now = left < size - at ? (size_t)left : size - at;
    *taken = at + now;
    if (now == 0 && left > 0)
        return (ws_piece){.found = WS_NOTHING};
    return (r->head[0] & OPCODE) >= WS_CLOSE ? take_control(r, data + at, now)
                                             : take_data(r, data + at, now);
}

/* ---- the server's -------------------------------------------------------------------------- */

size_t ws_head(ws_opcode opcode, size_t size, unsigned char head[WS_HEAD])
{
    int bytes = size < 126 ? 0 : size <= 0xffff ? 2 : 8;
    head[0] = (unsigned char)(FIN | opcode);
    head[1] = (unsigned char)(bytes == 0 ? size : bytes == 2 ? 126 : 127);
    for (int i = 0; i < bytes; i++)
        head[2 + i] = (unsigned char)((uint64_t)size >> 8 * (bytes - 1 - i));
    return 2 + (size_t)bytes;
}
