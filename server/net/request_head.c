/*
 * The head of a request by RFC 9112, strictly: one form of line end, no folded lines, names that
 * are tokens.
 */
#include "server/net/request_head.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define TOKEN                                                                                      \
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"                                          \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* "METHOD TARGET HTTP/1.1" */
static head_status parse_request_line(char *line, request_head *head)
{
    size_t method = strspn(line, TOKEN);
    if (method == 0 || line[method] != ' ')
        return HEAD_BAD;
    char *target = line + method + 1, *space = strchr(target, ' ');
    if (!space || space == target || strncmp(space + 1, "HTTP/", 5) != 0)
        return HEAD_BAD;
    head->old = strcmp(space + 1, "HTTP/1.0") == 0;
    if (!head->old && strcmp(space + 1, "HTTP/1.1") != 0)
        return HEAD_OTHER_VERSION;
    line[method] = *space = 0;
    head->method = line;
    head->target = target;
    return HEAD_WHOLE;
}

/* "Name: value"; spaces are allowed around the value only. */
static head_status parse_field(char *line, request_head *head)
{
    size_t name = strspn(line, TOKEN);
    if (name == 0 || line[name] != ':')
        return HEAD_BAD;
    if (head->field_count == HEAD_FIELDS)
        return HEAD_MANY_FIELDS;
    char *value = line + name + 1;
    line[name] = 0;
    value += strspn(value, " \t");
    size_t size = strlen(value);
    while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t'))
        value[--size] = 0;
    head->field[head->field_count].name = line;
    head->field[head->field_count++].value = value;
    return HEAD_WHOLE;
}

/* True where these bytes cannot begin a head: a line ends without a carriage return, or a byte does
 * not occur in text, as in a handshake of TLS. */
static bool cannot_become_head(const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i] == '\n' ? i == 0 || data[i - 1] != '\r'
                            : (unsigned char)data[i] < 0x20 && data[i] != '\r' && data[i] != '\t')
            return true;
    return false;
}

head_status head_parse(char *data, size_t size, request_head *head)
{
    assert(data && head && data[size] == 0);
    *head = (request_head){0};
    const char *end = memmem(data, size, "\r\n\r\n", 4);
    if (cannot_become_head(data, end ? (size_t)(end - data) + 4 : size))
        return HEAD_BAD;
    if (!end)
        return HEAD_PARTIAL;
    head->size = (size_t)(end - data) + 4;
    head->body = data + head->size;
    for (char *line = data; line < end;) {
        char *next = strstr(line, "\r\n");
        *next = 0;
        if (line[strcspn(line, "\r\n")])
            return HEAD_BAD;
        head_status read = line == data ? parse_request_line(line, head) : parse_field(line, head);
        if (read != HEAD_WHOLE)
            return read;
        line = next + 2;
    }
    return head->method ? HEAD_WHOLE : HEAD_BAD;
}

const char *head_find(const request_head *head, const char *name)
{
    for (int i = 0; i < head->field_count; i++)
        if (strcasecmp(head->field[i].name, name) == 0)
            return head->field[i].value;
    return NULL;
}

int head_count(const request_head *head, const char *name)
{
    int count = 0;
    for (int i = 0; i < head->field_count; i++)
        count += strcasecmp(head->field[i].name, name) == 0;
    return count;
}

void head_request_id(const char *given, char id[HEAD_REQUEST_ID + 1])
{
    unsigned long long random = 0;
    size_t size = given ? strspn(given, TOKEN ":/=") : 0;
    if (size > 0 && size <= HEAD_REQUEST_ID && !given[size]) {
        memcpy(id, given, size + 1);
        return;
    }
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (unsigned long long)(size_t)id;
    snprintf(id, HEAD_REQUEST_ID + 1, "%016llx", random);
}
