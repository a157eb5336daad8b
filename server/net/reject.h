/*
 * Rejection of connections before any HTTP parser reads them: one complete response, then close.
 * Any thread; nothing is allocated.
 */
#ifndef GW_SERVER_NET_REJECT_H
#define GW_SERVER_NET_REJECT_H

#include <stddef.h>

/* Fields of every answer, against its misuse by pages of other sites: FIELD(name, value) each; and
 * those as lines of a head. */
#define RESPONSE_HARDENING(FIELD)                                                                  \
    FIELD("X-Content-Type-Options", "nosniff")                                                     \
    FIELD("Referrer-Policy", "no-referrer")                                                        \
    FIELD("Cross-Origin-Resource-Policy", "same-origin")                                           \
    FIELD("X-Frame-Options", "DENY")
#define RESPONSE_LINE(name, value) name ": " value "\r\n"

/* An answer that is the connection's last: a problem of that status. `id`: as the request's head
 * names it, NULL where it does not or cannot be read; `fields`: further lines of the head, each
 * with its end; `detail`: a sentence, without quotation marks. Its size. */
#define REJECT_BYTES 1024
size_t reject_text(int status, const char *id, const char *fields, const char *detail,
                   char out[REJECT_BYTES]);

/* Answers a connection with it and closes it. Never waits. */
void reject(int fd, int status, const char *id, const char *fields, const char *detail);

/* Sends a text, the connection's last, and closes it. Never waits. */
void reject_send(int fd, const char *text, size_t size);

/* 503, to be tried again in a second. */
void reject_busy(int fd);

#endif
