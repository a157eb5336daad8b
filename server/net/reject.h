/*
 * Refusal of connections before any HTTP parser reads them: one complete response, then close. Any
 * thread; nothing is allocated.
 */
#ifndef GW_SERVER_NET_REJECT_H
#define GW_SERVER_NET_REJECT_H

#include <stddef.h>

/* Fields of every answer that protect it against use by pages of other sites, as FIELD(name, value)
 * each; and the same as lines of a head. */
#define RESPONSE_HARDENING(FIELD)                                                                  \
    FIELD("X-Content-Type-Options", "nosniff")                                                     \
    FIELD("Referrer-Policy", "no-referrer")                                                        \
    FIELD("Cross-Origin-Resource-Policy", "same-origin")                                           \
    FIELD("X-Frame-Options", "DENY")
#define RESPONSE_LINE(name, value) name ": " value "\r\n"

/* Writes a problem of that status as the connection's last answer; returns its size. `id`: the
 * request id in the client's head, NULL where there is none or it cannot be read; `fields`: further
 * lines of the head, each with its line end; `detail`: a sentence without quotation marks. */
#define REJECT_BYTES 1024
size_t reject_text(int status, const char *id, const char *fields, const char *detail,
                   char out[REJECT_BYTES]);

/* Sends such an answer on a socket and closes it. Never waits. */
void reject(int fd, int status, const char *id, const char *fields, const char *detail);

/* Sends a text as the connection's last and closes it. Never waits. */
void reject_send(int fd, const char *text, size_t size);

/* Answers 503 with Retry-After: 1, and closes. */
void reject_busy(int fd);

#endif
