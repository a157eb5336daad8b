/*
 * One step reads a head, a line, or the available bytes of a body. A chunk's extensions and
 * trailers are checked and left out: libmicrohttpd refuses the former and has no use for the
 * latter.
 */
#include "server/net/framing.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/base/limits.h"
#include "server/net/guard.h"

#define CHUNK_LINE   1024 /* bytes of a chunk's size with its extensions */
#define CHUNK_DIGITS 8    /* of its size, hexadecimal */
#define LISTED       64   /* parameters of an address, or cookies: libmicrohttpd stores each */

static const framing_step wants_more = {0, 0};

static framing_step refuse_request(request_framing *f, int status, const char *detail)
{
    f->refused = f->requests + (f->phase == FRAMING_HEAD);
    f->phase = FRAMING_REFUSED;
    f->status = status;
    f->detail = detail;
    return wants_more;
}

static framing_step refuse_size(request_framing *f)
{
    return refuse_request(f, 413, "a body has at most 1 MiB, a mesh 16 MiB");
}

/* The size of a line including its end; 0 where its end is not there yet. */
static size_t line_size(const char *data, size_t size)
{
    const char *end = memmem(data, size, "\r\n", 2);
    return end ? (size_t)(end - data) + 2 : 0;
}

/* True where the line has no control characters but tabs, hence no second line end. */
static bool is_text(const char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] < 0x20 ? line[i] != '\t' : line[i] == 0x7f)
            return false;
    return true;
}

/* ---- heads --------------------------------------------------------------------------------- */

static int count_of(const char *text, char c)
{
    int count = 0;
    for (; *text; text++)
        count += *text == c;
    return count;
}

/* The status with which a head is refused whose cookies or parameters are too many for
 * libmicrohttpd; 0: none. */
static int excess_status(const request_head *head, const char **detail)
{
    int cookies = 0;
    for (int i = 0; i < head->field_count; i++)
        if (strcasecmp(head->field[i].name, "Cookie") == 0)
            cookies +=
                1 + count_of(head->field[i].value, ';') + count_of(head->field[i].value, ',');
    *detail = "there are no cookies here";
    if (cookies > LISTED)
        return 431;
    *detail = "an address has at most 64 parameters";
    return count_of(head->target, '&') >= LISTED ? 414 : 0;
}

static framing_step read_head(request_framing *f, const char *data, size_t size)
{
    char copy[HEAD_BYTES + 1];
    request_head head;
    const char *detail;
    size_t most = size < HEAD_BYTES ? size : HEAD_BYTES;
    if (size >= 2 && memcmp(data, "\r\n", 2) == 0) /* before a request line: RFC 9112, 2.2 */
        return (framing_step){0, 2};
    memcpy(copy, data, most);
    copy[most] = 0;
    head_status read = head_parse(copy, most, &head);
    if (read == HEAD_PARTIAL && size < HEAD_BYTES)
        return wants_more;
    if (read == HEAD_PARTIAL)
        return refuse_request(f, 431, "the head of a request has at most 8 KiB");
    int status = guard_head_refusal(read, &head, &detail);
    if (!status)
        status = excess_status(&head, &detail);
    if (status)
        return refuse_request(f, status, detail);
    const char *length = head_find(&head, "Content-Length");
    f->left = length ? strtoull(length, NULL, 10) : 0; /* at most ULLONG_MAX */
    if (f->left > GW_MAX_DISCARD_BYTES)
        return refuse_size(f);
    f->requests++;
    f->body = f->trailers = 0;
    f->phase = head_find(&head, "Transfer-Encoding") ? FRAMING_CHUNK_SIZE
               : f->left > 0                         ? FRAMING_BODY
                                                     : FRAMING_HEAD;
    return (framing_step){head.size, 0};
}

/* ---- bodies -------------------------------------------------------------------------------- */

static framing_step read_body(request_framing *f, size_t size, framing_phase next)
{
    size_t pass = size < f->left ? size : f->left;
    f->left -= pass;
    if (f->left == 0)
        f->phase = next;
    return (framing_step){pass, 0};
}

/* "SIZE[;EXTENSIONS]": passes the size, leaves out the extensions. */
static framing_step read_chunk_size(request_framing *f, const char *data, size_t size)
{
    size_t line = line_size(data, size), digits = 0;
    if (line == 0 && size < CHUNK_LINE)
        return wants_more;
    while (digits < line && isxdigit((unsigned char)data[digits]))
        digits++;
    size_t after = digits;
    while (after < line && (data[after] == ' ' || data[after] == '\t'))
        after++;
    if (line == 0 || line > CHUNK_LINE || digits == 0 || !is_text(data, line - 2) ||
        (after + 2 < line && data[after] != ';'))
        return refuse_request(f, 400, "a chunk begins with its size, hexadecimal");
    if (digits > CHUNK_DIGITS)
        return refuse_size(f);
    char number[CHUNK_DIGITS + 1] = "";
    memcpy(number, data, digits);
    f->left = strtoul(number, NULL, 16);
    f->body += f->left;
    if (f->body > GW_MAX_DISCARD_BYTES)
        return refuse_size(f);
    f->phase = FRAMING_SIZE_END;
    return (framing_step){digits, line - 2 - digits};
}

static framing_step read_line_end(request_framing *f, const char *data, size_t size,
                                  framing_phase next)
{
    if (size < 2)
        return wants_more;
    if (memcmp(data, "\r\n", 2) != 0)
        return refuse_request(f, 400, "a chunk has as many bytes as its size says");
    f->phase = next;
    return (framing_step){2, 0};
}

static framing_step read_trailers(request_framing *f, const char *data, size_t size)
{
    size_t line = line_size(data, size);
    f->trailers += line;
    if ((line == 0 && size >= HEAD_BYTES) || f->trailers > HEAD_BYTES)
        return refuse_request(f, 431, "the trailers of a request have at most 8 KiB");
    if (line == 0)
        return wants_more;
    if (line == 2) {
        f->phase = FRAMING_HEAD;
        return (framing_step){2, 0};
    }
    const char *colon = memchr(data, ':', line);
    bool named = colon && colon > data;
    for (const char *c = data; named && c < colon; c++)
        named = isgraph((unsigned char)*c);
    if (!named || !is_text(data, line - 2))
        return refuse_request(f, 400, "a trailer is a field: its name, a colon, its value");
    return (framing_step){0, line};
}

framing_step framing_read(request_framing *f, const char *data, size_t size)
{
    assert(f && data);
    if (size == 0)
        return wants_more;
    switch (f->phase) {
    case FRAMING_HEAD:
        return read_head(f, data, size);
    case FRAMING_BODY:
        return read_body(f, size, FRAMING_HEAD);
    case FRAMING_CHUNK_SIZE:
        return read_chunk_size(f, data, size);
    case FRAMING_SIZE_END:
        return read_line_end(f, data, size, f->left > 0 ? FRAMING_CHUNK : FRAMING_TRAILERS);
    case FRAMING_CHUNK:
        return read_body(f, size, FRAMING_CHUNK_END);
    case FRAMING_CHUNK_END:
        return read_line_end(f, data, size, FRAMING_CHUNK_SIZE);
    case FRAMING_TRAILERS:
        return read_trailers(f, data, size);
    case FRAMING_REFUSED:
        break;
    }
    return wants_more;
}
