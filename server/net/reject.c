/*
 * The answer is written on the stack and needs no memory.
 */
#include "server/net/reject.h"

#include <assert.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/net/request_head.h"
#include "server/rest/problem.h"

size_t reject_text(int status, const char *id, const char *fields, const char *detail,
                   char out[REJECT_BYTES])
{
    assert(fields && detail && out);
    char body[512], name[HEAD_REQUEST_ID + 1];
    const problem_kind *kind = problem_of_status(status);
    head_request_id(id, name);
    int size = snprintf(body, sizeof body,
                        "{\"type\":\"" PROBLEM_PATH "/%s\",\"title\":\"%s\",\"status\":%d,"
                        "\"detail\":\"%s\",\"errors\":[{\"pointer\":\"\",\"detail\":\"%s\"}]}",
                        kind->name, kind->title, status, detail, detail);
    assert(size > 0 && size < (int)sizeof body);
    size = snprintf(out, REJECT_BYTES,
                    "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
                    "Content-Length: %d\r\nX-Request-Id: %s\r\n%sConnection: close\r\n\r\n%s",
                    status, kind->title, size, name, fields, body);
    assert(size > 0 && size < REJECT_BYTES);
    return (size_t)size;
}

/* Reads what the client has sent before closing: unread bytes would cause a reset, which discards
 * the reply. */
void reject_send(int fd, const char *text, size_t size)
{
    assert(fd >= 0 && text);
    char scratch[4096];
    ssize_t got = send(fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    while (got > 0)
        got = recv(fd, scratch, sizeof scratch, MSG_DONTWAIT);
    close(fd);
}

void reject(int fd, int status, const char *id, const char *fields, const char *detail)
{
    char answer[REJECT_BYTES];
    reject_send(fd, answer, reject_text(status, id, fields, detail, answer));
}

void reject_busy(int fd)
{
    reject(fd, 503, NULL, "Retry-After: 1\r\n", "too busy now");
}
