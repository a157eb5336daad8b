/*
 * Connections that are refused before anything else sees them.
 */
#ifndef GW_SERVER_NET_TURN_AWAY_H
#define GW_SERVER_NET_TURN_AWAY_H

#include <stddef.h>

/* An answer that is the connection's last: a problem of that status. `fields`: further lines of the
 * head, each with its end; `detail`: a sentence, without quotation marks. Its size. */
#define TURN_AWAY_BYTES 1024
size_t turn_away_text(int status, const char *fields, const char *detail,
                      char out[TURN_AWAY_BYTES]);

/* Answers a connection with it and closes it. Never waits. */
void turn_away(int fd, int status, const char *fields, const char *detail);

/* Sends a text, the connection's last, and closes it. Never waits. */
void turn_send(int fd, const char *text, size_t size);

/* 503, to be tried again in a second. */
void turn_busy(int fd);

#endif
