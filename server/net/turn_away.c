/*
 * The answer is put together on the stack, so that it needs nothing that may be short.
 */
#include "server/net/turn_away.h"

#include <assert.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/net/request_head.h"
#include "server/rest/problem.h"

/* Closes a connection with an answer. What it sent is read first: at close it would be answered
 * with a reset that eats the reply. */
void turn_away(int fd, int status, const char *fields, const char *detail)
{
    assert(fd >= 0 && fields && detail);
    char body[512], answer[1024], scratch[4096], id[HEAD_REQUEST_ID + 1];
    const problem_kind *kind = problem_of_status(status);
    head_request_id(NULL, id);
    int size = snprintf(body, sizeof body,
                        "{\"type\":\"" PROBLEM_PATH "/%s\",\"title\":\"%s\",\"status\":%d,"
                        "\"detail\":\"%s\"}",
                        kind->name, kind->title, status, detail);
    size = snprintf(answer, sizeof answer,
                    "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
                    "Content-Length: %d\r\nX-Request-Id: %s\r\n%sConnection: close\r\n\r\n%s",
                    status, kind->title, size, id, fields, body);
    ssize_t got = send(fd, answer, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    while (got > 0)
        got = recv(fd, scratch, sizeof scratch, MSG_DONTWAIT);
    close(fd);
}

void turn_busy(int fd)
{
    turn_away(fd, 503, "Retry-After: 1\r\n", "too busy now");
}
