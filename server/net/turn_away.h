/*
 * Connections that are refused before anything else sees them.
 */
#ifndef GW_SERVER_NET_TURN_AWAY_H
#define GW_SERVER_NET_TURN_AWAY_H

/* Answers a connection with a problem of that status and closes it. `fields`: further lines of the
 * head, each with its end; `detail`: a sentence, without quotation marks. Never waits. */
void turn_away(int fd, int status, const char *fields, const char *detail);

/* 503, to be tried again in a second. */
void turn_busy(int fd);

#endif
