/*
 * Host, Origin and token, compared with what is right for the address that we listen on.
 */
#include "server/net/guard.h"

#include <assert.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

void guard_init(gw_guard *guard, const char *host, bool loopback)
{
    assert(guard && host);
    *guard = (gw_guard){.loopback = loopback};
    snprintf(guard->host, sizeof guard->host, "%s", host);
    if (gethostname(guard->machine, sizeof guard->machine - 1) != 0)
        guard->machine[0] = 0;
}

bool guard_read_token(gw_guard *guard, const char *path, char *why, size_t why_size)
{
    FILE *file = fopen(path, "r");
    char line[GUARD_TOKEN_MAX + 2] = "";
    if (!file) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return false;
    }
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    line[strcspn(line, "\r\n")] = 0;
    size_t size = strlen(line);
    if (!read || size < GUARD_TOKEN_MIN || size > GUARD_TOKEN_MAX) {
        snprintf(why, why_size, "%s: a token is one line of %d to %d characters", path,
                 GUARD_TOKEN_MIN, GUARD_TOKEN_MAX);
        return false;
    }
    memcpy(guard->token, line, size + 1);
    return true;
}

/* ---- hosts --------------------------------------------------------------------------------- */

/* The header without its port, lower case; false where it is malformed. */
static bool host_name(const char *header, char name[256])
{
    size_t size = header[0] == '[' ? strcspn(header, "]") + 1 : strcspn(header, ":");
    if (size == 0 || size >= 256 || size > strlen(header))
        return false;
    const char *port = header + size;
    if (*port == ':')
        for (port++; isdigit((unsigned char)*port); port++)
            ;
    if (*port)
        return false;
    for (size_t i = 0; i < size; i++)
        name[i] = (char)tolower((unsigned char)header[i]);
    name[size] = 0;
    return true;
}

static bool is_address(const char *name)
{
    unsigned char out[16];
    char inner[256];
    if (inet_pton(AF_INET, name, out) == 1)
        return true;
    size_t size = strlen(name);
    if (name[0] != '[' || size < 3)
        return false;
    memcpy(inner, name + 1, size - 2);
    inner[size - 2] = 0;
    return inet_pton(AF_INET6, inner, out) == 1;
}

bool guard_host(const gw_guard *guard, const char *host)
{
    char name[256];
    if (!host || !host_name(host, name))
        return false;
    if (strcmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 ||
        strcmp(name, "[::1]") == 0 || strcasecmp(name, guard->host) == 0)
        return true;
    /* Beyond loopback: any address literal is ours, for a name cannot be rebound to it. */
    return !guard->loopback && (is_address(name) || strcasecmp(name, guard->machine) == 0);
}

bool guard_origin(const gw_guard *guard, const char *origin, const char *host)
{
    assert(guard);
    static const char scheme[] = "http://";
    if (!origin)
        return true;
    return host && guard_host(guard, host) && strncasecmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

/* ---- heads --------------------------------------------------------------------------------- */

static bool is_token(const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("!#$%&'*+-.^_`|~", name[i]))
            return false;
    return size > 0;
}

void guard_head_add(guard_head *head, const char *name, const char *value)
{
    assert(head && name);
    bool length = strcasecmp(name, "Content-Length") == 0;
    bool encoding = strcasecmp(name, "Transfer-Encoding") == 0;
    if (strcasecmp(name, "Host") == 0 && head->hosts++ == 0)
        head->host = value;
    if (strcasecmp(name, "Origin") == 0 && head->origins++ == 0)
        head->origin = value ? value : "";
    head->lengths += length || encoding;
    head->odd |= !is_token(name);
    head->odd |= length && (!value || !*value || value[strspn(value, "0123456789")]);
    head->odd |= encoding && (!value || strcasecmp(value, "chunked") != 0);
}

int guard_head_ambiguous(const guard_head *head, const char **detail)
{
    assert(head && detail);
    *detail = "the length of its body must be told once, as a number or as chunks, and the name of "
              "a field has no spaces";
    if (head->lengths > 1 || head->odd)
        return 400;
    *detail = "the Origin must be told once";
    return head->origins > 1 ? 400 : 0;
}

int guard_head_sender(const gw_guard *guard, const guard_head *head, const char **detail)
{
    assert(guard && head && detail);
    *detail = "the Host header names another server";
    if (head->hosts != 1 || !guard_host(guard, head->host))
        return 421;
    *detail = "the Origin header names another site: only the appliance's own page may ask";
    return guard_origin(guard, head->origin, head->host) ? 0 : 403;
}

/* ---- token --------------------------------------------------------------------------------- */

bool guard_token(const gw_guard *guard, const char *token)
{
    if (!guard->token[0])
        return true;
    size_t right = strlen(guard->token), size = token ? strlen(token) : 0;
    unsigned differs = size != right;
    for (size_t i = 0; i < right; i++)
        differs |= (unsigned)(unsigned char)guard->token[i] ^
                   (unsigned)(unsigned char)(i < size ? token[i] : 0);
    return differs == 0;
}

bool guard_authorization(const gw_guard *guard, const char *header)
{
    static const char scheme[] = "Bearer ";
    bool bearer = header && strncasecmp(header, scheme, sizeof scheme - 1) == 0;
    return guard_token(guard, bearer ? header + sizeof scheme - 1 : NULL);
}

/* ---- who it is ----------------------------------------------------------------------------- */

void peer_name(int fd, const char *way, char out[PEER_NAME])
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    char address[INET6_ADDRSTRLEN] = "";
    snprintf(out, PEER_NAME, "%s", way);
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
        return;
    const struct sockaddr_in *v4 = (const void *)&peer;
    const struct sockaddr_in6 *v6 = (const void *)&peer;
    bool six = peer.ss_family == AF_INET6;
    if (inet_ntop(peer.ss_family, six ? (const void *)&v6->sin6_addr : &v4->sin_addr, address,
                  sizeof address))
        snprintf(out, PEER_NAME, six ? "%.8s [%s]:%d" : "%.8s %s:%d", way, address,
                 ntohs(six ? v6->sin6_port : v4->sin_port));
}
