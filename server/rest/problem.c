/*
 * Kinds of problems: the values of `type` in error answers, with a page for each. Their names never
 * change.
 */
#include "server/rest/problem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The first row of a status is its default kind. */
static const problem_kind kinds[] = {
    {400, "bad-request", "Bad Request",
     "Something in the request is not as it must be. Each entry of errors has the JSON pointer of "
     "a member and says what would be right. Nothing was changed."},
    {401, "unauthorized", "Unauthorized",
     "A token is needed: Authorization: Bearer TOKEN. The server's token file has it."},
    {403, "forbidden", "Forbidden",
     "The request comes from another site's page, or the token's roles do not allow it. Roles are "
     "watch (reading), edit (the document) and operate (the simulation and devices)."},
    {404, "not-found", "Not Found",
     "There is nothing at this address. /api/v1 lists what there is."},
    {405, "method-not-allowed", "Method Not Allowed",
     "The address does not take this method; Allow lists those that it takes."},
    {408, "too-slow", "Request Timeout", "The request did not come in time."},
    {409, "conflict", "Conflict",
     "The request does not fit what there is now: an id is taken, something refers to what is to "
     "be deleted, or the simulation is in another state. The detail names it."},
    {412, "stale", "Precondition Failed",
     "If-Match or If-None-Match does not hold: somebody else has edited meanwhile. Read again, "
     "then repeat."},
    {413, "too-large", "Content Too Large",
     "The body, or what the document would become, is larger than the caps in the specification."},
    {414, "address-too-long", "URI Too Long", "The address has more bytes than are taken."},
    {415, "wrong-media-type", "Unsupported Media Type",
     "Bodies are JSON: Content-Type: application/json."},
    {421, "misdirected", "Misdirected Request",
     "The Host header names another server. Use the appliance's own name or address."},
    {422, "no-solution", "Unprocessable Content",
     "The constraints contradict one another or cannot be solved. conflict says which, and what "
     "would have to hold. Nothing was changed."},
    {422, "key-reused", "Unprocessable Content",
     "The Idempotency-Key was used for another request some minutes ago. Take a new one."},
    {426, "upgrade-required", "Upgrade Required",
     "A WebSocket handshake is wanted here: version 13, sub-protocol guideway.v1."},
    {429, "too-many-guesses", "Too Many Requests",
     "Too many wrong tokens came from this address. Wait as long as Retry-After says."},
    {431, "head-too-large", "Request Header Fields Too Large",
     "The head of the request has more bytes or fields than are taken."},
    {500, "failed", "Internal Server Error",
     "The machine failed, as the detail says; nothing was changed unless it says so."},
    {501, "not-yet", "Not Implemented", "A later version brings this."},
    {503, "busy", "Service Unavailable",
     "The server has as much to do as it takes on, or is stopping. Repeat after a second."},
    {505, "wrong-version", "HTTP Version Not Supported", "HTTP/1.1 is spoken here."},
    {507, "storage-full", "Insufficient Storage",
     "The disk of the data folder is full; nothing was changed. Free some space and repeat."}};

#define KINDS ((int)(sizeof kinds / sizeof *kinds))

const problem_kind *problem_of_status(int status)
{
    const problem_kind *failed = NULL;
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].status == status)
            return &kinds[i];
        if (kinds[i].status == 500)
            failed = &kinds[i];
    }
    return failed;
}

const problem_kind *problem_named(const char *name)
{
    assert(name);
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static void put_text(text_builder *page, const char *text)
{
    text_put(page, text, strlen(text));
}

static void begin_page(text_builder *page, const char *title)
{
    put_text(page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    put_text(page, title);
    put_text(page,
             " - Guideway</title><link rel=\"stylesheet\" href=\"/docs.css\"></head><body><h1>");
    put_text(page, title);
    put_text(page, "</h1>\n");
}

static gw_text *list_page(void)
{
    text_builder page = {0};
    begin_page(&page, "Problems");
    put_text(&page, "<p>What <code>type</code> of an error's answer may be.</p><ul>\n");
    for (int i = 0; i < KINDS; i++) {
        text_put_format(&page, "<li><a href=\"/problems/%s\">%s</a> (%d): ", kinds[i].name,
                        kinds[i].name, kinds[i].status);
        put_text(&page, kinds[i].meaning);
        put_text(&page, "</li>\n");
    }
    put_text(&page, "</ul></body></html>\n");
    return text_take(&page);
}

gw_text *problem_page(const char *path)
{
    assert(path && strncmp(path, PROBLEM_PATH, strlen(PROBLEM_PATH)) == 0);
    const char *name = path + strlen(PROBLEM_PATH);
    const problem_kind *kind = *name == '/' ? problem_named(name + 1) : NULL;
    text_builder page = {0};
    if (!*name)
        return list_page();
    if (!kind)
        return NULL;
    begin_page(&page, kind->title);
    text_put_format(&page, "<p><code>" PROBLEM_PATH "/%s</code>, status %d</p>\n<p>", kind->name,
                    kind->status);
    put_text(&page, kind->meaning);
    put_text(&page, "</p>\n<p><a href=\"" PROBLEM_PATH "\">All problems</a>, "
                    "<a href=\"/docs\">the specification</a></p></body></html>\n");
    return text_take(&page);
}
