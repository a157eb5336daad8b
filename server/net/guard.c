/*
 * Checks the Host, the Origin and the token of requests against the address that the server listens
 * on.
 */
#include "server/net/guard.h"

#include <assert.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ADDRESSES 256 /* with wrong tokens in the last minute; beyond, the oldest is dropped */
#define MINUTE_S  60

struct token_failures {
    pthread_mutex_t lock;
    struct {
        unsigned char address[16];
        int count;
        time_t since; /* CLOCK_MONOTONIC, s */
    } from[ADDRESSES];
};

bool guard_init(gw_guard *guard, const char *host, bool loopback)
{
    assert(guard && host);
    *guard = (gw_guard){.loopback = loopback};
    snprintf(guard->host, sizeof guard->host, "%s", host);
    if (gethostname(guard->machine, sizeof guard->machine - 1) != 0)
        guard->machine[0] = 0;
    guard->guesses = calloc(1, sizeof *guard->guesses);
    if (guard->guesses)
        pthread_mutex_init(&guard->guesses->lock, NULL);
    return guard->guesses != NULL;
}

void guard_finish(gw_guard *guard)
{
    free(guard->guesses);
    *guard = (gw_guard){0};
}

/* Cuts the prefix "ROLE,ROLE:" off a line; a line without it has all roles. */
static char *take_roles(char *line, unsigned *roles)
{
    static const char *const names[] = {"watch", "edit", "operate"};
    size_t end = strcspn(line, ":");
    unsigned found = 0;
    *roles = GUARD_ALL;
    for (char *at = line; line[end];) {
        size_t size = strcspn(at, ",:");
        int role = 0;
        while (role < 3 && (strlen(names[role]) != size || strncmp(at, names[role], size) != 0))
            role++;
        if (role == 3)
            return line;
        found |= 1u << role;
        if (at[size] == ':') {
            *roles = found | GUARD_WATCH;
            return at + size + 1 + strspn(at + size + 1, " \t");
        }
        at += size + 1;
    }
    return line;
}

static bool add_token(gw_guard *guard, char *line)
{
    unsigned roles;
    line[strcspn(line, "\r\n")] = 0;
    if (!line[0])
        return true;
    const char *token = take_roles(line, &roles);
    size_t size = strlen(token);
    if (size < GUARD_TOKEN_MIN || size > GUARD_TOKEN_MAX || guard->token_count == GUARD_TOKENS)
        return false;
    guard_token *to = &guard->tokens[guard->token_count++];
    to->roles = roles;
    memcpy(to->text, token, size + 1);
    return true;
}

bool guard_read_tokens(gw_guard *guard, const char *path, char *why, size_t why_size)
{
    FILE *file = fopen(path, "r");
    char line[GUARD_TOKEN_MAX + 64] = "";
    bool fine = true;
    if (!file) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return false;
    }
    while (fine && fgets(line, sizeof line, file))
        fine = add_token(guard, line);
    fclose(file);
    if (fine && guard->token_count > 0)
        return true;
    snprintf(
        why, why_size,
        "%s: a token is one line of %d to %d characters, with \"watch,edit,operate:\" or some of "
        "these before it, %d tokens at most",
        path, GUARD_TOKEN_MIN, GUARD_TOKEN_MAX, GUARD_TOKENS);
    return false;
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

/* True where a Host header (NULL: missing) names this appliance. A page of another site that
 * resolves its own name to this address (DNS rebinding) sends its own name and is refused. */
static bool is_own_host(const gw_guard *guard, const char *host)
{
    char name[256];
    if (!host || !host_name(host, name))
        return false;
    if (strcmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 ||
        strcmp(name, "[::1]") == 0 || strcasecmp(name, guard->host) == 0)
        return true;
    /* Beyond loopback any address literal is accepted: DNS rebinding needs a name. */
    return !guard->loopback && (is_address(name) || strcasecmp(name, guard->machine) == 0);
}

/* True where a request to this Host with this Origin (NULL: none, so not a browser) comes from the
 * appliance's own page. */
static bool is_own_origin(const gw_guard *guard, const char *origin, const char *host)
{
    assert(guard);
    static const char scheme[] = "http://";
    if (!origin)
        return true;
    return host && is_own_host(guard, host) &&
           strncasecmp(origin, scheme, sizeof scheme - 1) == 0 &&
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

guard_head guard_head_of(const request_head *head)
{
    assert(head);
    guard_head out = {0};
    for (int i = 0; i < head->field_count; i++)
        guard_head_add(&out, head->field[i].name, head->field[i].value);
    return out;
}

int guard_head_ambiguous(const guard_head *head, const char **detail)
{
    assert(head && detail);
    *detail =
        "the length of its body must be stated once, as a number or as chunks, and the name of "
        "a field has no spaces";
    if (head->lengths > 1 || head->odd)
        return 400;
    *detail = "the Host and the Origin must be stated once";
    return head->hosts > 1 || head->origins > 1 ? 400 : 0;
}

int guard_head_refusal(head_status read, const request_head *head, const char **detail)
{
    assert(head && detail);
    guard_head fields = guard_head_of(head);
    *detail = "HTTP/1.1 is spoken here";
    if (read == HEAD_OTHER_VERSION)
        return 505;
    *detail = "the head of a request has at most 64 fields";
    if (read == HEAD_MANY_FIELDS)
        return 431;
    *detail = "this is no head of an HTTP/1.1 request";
    if (read == HEAD_BAD)
        return 400;
    *detail = "the body of an HTTP/1.0 request is delimited by its length";
    if (read == HEAD_WHOLE && head->old && head_find(head, "Transfer-Encoding"))
        return 400;
    *detail = "the Host must be stated";
    if (read == HEAD_WHOLE && fields.hosts == 0 && !head->old)
        return 400;
    return read == HEAD_WHOLE ? guard_head_ambiguous(&fields, detail) : 0;
}

int guard_head_sender(const gw_guard *guard, const guard_head *head, const char **detail)
{
    assert(guard && head && detail);
    *detail = "the Host header names another server";
    if (head->hosts != 1 || !is_own_host(guard, head->host))
        return 421;
    *detail = "the Origin header names another site: only the appliance's own page may ask";
    return is_own_origin(guard, head->origin, head->host) ? 0 : 403;
}

bool guard_may_halt(const gw_guard *guard, const request_head *head)
{
    assert(guard && head);
    const char *detail;
    guard_head fields = guard_head_of(head);
    return !guard_head_ambiguous(&fields, &detail) && !guard_head_sender(guard, &fields, &detail) &&
           guard_roles(guard, guard_bearer(head_find(head, "Authorization")));
}

/* ---- tokens -------------------------------------------------------------------------------- */

static bool same_token(const char *right, const char *token)
{
    size_t size = strlen(right), given = token ? strlen(token) : 0;
    unsigned differs = given != size;
    for (size_t i = 0; i < size; i++)
        differs |=
            (unsigned)(unsigned char)right[i] ^ (unsigned)(unsigned char)(i < given ? token[i] : 0);
    return differs == 0;
}

unsigned guard_roles(const gw_guard *guard, const char *token)
{
    unsigned roles = guard->token_count == 0 ? GUARD_ALL : 0;
    for (int i = 0; i < guard->token_count; i++)
        if (same_token(guard->tokens[i].text, token))
            roles |= guard->tokens[i].roles;
    return roles;
}

const char *guard_bearer(const char *header)
{
    static const char scheme[] = "Bearer ";
    bool bearer = header && strncasecmp(header, scheme, sizeof scheme - 1) == 0;
    return bearer ? header + sizeof scheme - 1 : NULL;
}

/* ---- guesses ------------------------------------------------------------------------------- */

struct sockaddr_storage peer_address(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
        peer.ss_family = AF_UNSPEC;
    return peer;
}

/* The key under which wrong tokens are counted: of an IPv6 address the /64 network, since its owner
 * can take any address within. */
static void address_of(const struct sockaddr_storage *peer, unsigned char address[16])
{
    memset(address, 0, 16);
    if (peer->ss_family == AF_INET)
        memcpy(address + 12, &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
    else if (peer->ss_family == AF_INET6)
        memcpy(address, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 8);
}

static int place_of(token_failures *guesses, const unsigned char address[16])
{
    int oldest = 0;
    for (int i = 0; i < ADDRESSES; i++) {
        if (guesses->from[i].count > 0 && memcmp(guesses->from[i].address, address, 16) == 0)
            return i;
        if (guesses->from[i].since < guesses->from[oldest].since)
            oldest = i;
    }
    guesses->from[oldest].count = 0;
    return oldest;
}

/* Counts a wrong token where `wrong`; true where the address has used up its GUARD_GUESSES. */
static bool too_many(token_failures *guesses, const struct sockaddr_storage *peer, bool wrong)
{
    unsigned char address[16];
    struct timespec now;
    address_of(peer, address);
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&guesses->lock);
    int i = place_of(guesses, address);
    if (guesses->from[i].count > 0 && now.tv_sec - guesses->from[i].since > MINUTE_S)
        guesses->from[i].count = 0;
    bool many = guesses->from[i].count >= GUARD_GUESSES;
    if (wrong && !many) {
        if (guesses->from[i].count++ == 0)
            guesses->from[i].since = now.tv_sec;
        memcpy(guesses->from[i].address, address, 16);
    }
    pthread_mutex_unlock(&guesses->lock);
    return many;
}

guard_answer guard_judge(const gw_guard *guard, const char *token,
                         const struct sockaddr_storage *peer, unsigned *roles)
{
    assert(guard && peer && roles);
    *roles = guard_roles(guard, token);
    if (guard->token_count == 0)
        return GUARD_WELCOME;
    if (token && too_many(guard->guesses, peer, *roles == 0)) {
        *roles = 0;
        return GUARD_LIMITED;
    }
    if (*roles)
        return GUARD_WELCOME;
    return token ? GUARD_WRONG : GUARD_NO_TOKEN;
}

/* ---- roles of a client --------------------------------------------------------------------- */

void peer_name(const struct sockaddr_storage *peer, const char *way, char out[PEER_NAME])
{
    assert(peer && way && out);
    char address[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *v4 = (const void *)peer;
    const struct sockaddr_in6 *v6 = (const void *)peer;
    bool six = peer->ss_family == AF_INET6;
    snprintf(out, PEER_NAME, "%s", way);
    if ((six || peer->ss_family == AF_INET) &&
        inet_ntop(peer->ss_family, six ? (const void *)&v6->sin6_addr : &v4->sin_addr, address,
                  sizeof address))
        snprintf(out, PEER_NAME, six ? "%.8s [%s]:%d" : "%.8s %s:%d", way, address,
                 ntohs(six ? v6->sin6_port : v4->sin_port));
}
