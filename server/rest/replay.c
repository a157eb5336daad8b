/*
 * Stored answers for repeated Idempotency-Keys: a ring of the newest, under a mutex, those of edits
 * also in the database. Two requests
 * with the same key are distinguished by a hash of address, conditions and body.
 */
#include "server/rest/replay.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/app/clock.h"
#include "server/files/answer_store.h"

#define KEPT       ANSWERS_STORED
#define KEPT_S     600
#define MOST_BYTES ANSWERS_BYTES /* of all bodies */

typedef struct kept {
    char key[REPLAY_KEY + 1]; /* "": a free entry */
    uint64_t hash;
    bool done;
    double at_s;
    api_reply reply;
} kept;

struct api_replays {
    gw_database *database;
    pthread_mutex_t lock;
    int next; /* the oldest entry */
    size_t bytes;
    kept kept[KEPT];
};

/* Hashes the part and a terminator that no text contains. */
static uint64_t hash_more(uint64_t hash, const char *data, size_t size)
{
    return text_hash(text_hash(hash, data, size), "\xff", 1);
}

/* Hashes a header; a missing one differs from an empty one. */
static uint64_t hash_header(uint64_t hash, const char *value)
{
    return hash_more(hash_more(hash, value ? "+" : "-", 1), value ? value : "",
                     value ? strlen(value) : 0);
}

static uint64_t hash_of(const api_request *request)
{
    uint64_t hash = hash_more(TEXT_HASH, request->path, strlen(request->path));
    hash = hash_header(hash, request->content_type);
    hash = hash_header(hash, request->if_match);
    hash = hash_header(hash, request->if_none_match);
    for (int i = 0; i < request->query_count; i++) {
        const char *value = request->query[i].value ? request->query[i].value : "";
        hash = hash_more(hash, request->query[i].name, strlen(request->query[i].name));
        hash = hash_more(hash, value, strlen(value));
    }
    return hash_more(hash, request->body ? request->body : "", request->size);
}

static void drop_reply(api_replays *replays, kept *k)
{
    if (k->reply.body)
        replays->bytes -= k->reply.body->size;
    text_unref(k->reply.body);
    *k = (kept){0};
}

static kept *find_reply(api_replays *replays, const char *key)
{
    for (int i = 0; i < KEPT; i++)
        if (strcmp(replays->kept[i].key, key) == 0)
            return &replays->kept[i];
    return NULL;
}

static bool is_key(const char *key)
{
    size_t size = strlen(key);
    for (size_t i = 0; i < size; i++)
        if (key[i] < 0x21 || key[i] > 0x7e)
            return false;
    return size > 0 && size <= REPLAY_KEY;
}

/* An entry for a request in progress; NULL where all entries are in progress. */
static kept *take_place(api_replays *replays)
{
    for (int i = 0; i < KEPT; i++) {
        kept *k = &replays->kept[replays->next];
        replays->next = (replays->next + 1) % KEPT;
        if (k->key[0] && !k->done)
            continue;
        drop_reply(replays, k);
        return k;
    }
    return NULL;
}

static void answer_kept(const kept *k, uint64_t hash, api_reply *reply)
{
    if (k->hash != hash)
        api_problem_named(reply, "key-reused", "this Idempotency-Key was used for another request");
    else if (!k->done)
        api_problem(reply, 503, "a request with this Idempotency-Key is being carried out");
    else {
        *reply = k->reply;
        if (reply->body)
            text_ref(reply->body);
        reply->replayed = true;
    }
}

bool api_replays_begin(api_replays *replays, const api_request *request, api_reply *reply)
{
    assert(replays && request->idempotency_key);
    const char *key = request->idempotency_key;
    uint64_t hash = hash_of(request);
    if (!is_key(key)) {
        api_problem(reply, 400, "an Idempotency-Key has 1 to 128 visible characters");
        return false;
    }
    pthread_mutex_lock(&replays->lock);
    kept *k = find_reply(replays, key);
    if (k && k->done && clock_s() - k->at_s > KEPT_S) {
        drop_reply(replays, k);
        k = NULL;
    }
    bool is_new = !k;
    if (k)
        answer_kept(k, hash, reply);
    else if ((k = take_place(replays))) {
        snprintf(k->key, sizeof k->key, "%s", key);
        k->hash = hash;
    }
    pthread_mutex_unlock(&replays->lock);
    return is_new;
}

void api_replays_end(api_replays *replays, const api_request *request, const api_reply *reply)
{
    pthread_mutex_lock(&replays->lock);
    kept *k = find_reply(replays, request->idempotency_key);
    size_t size = reply->body ? reply->body->size : 0;
    if (k && (reply->status >= 500 || size > MOST_BYTES / 4)) /* may be tried again */
        drop_reply(replays, k);
    else if (k) {
        for (int i = 0; i < KEPT && replays->bytes + size > MOST_BYTES; i++) {
            kept *old = &replays->kept[(replays->next + i) % KEPT];
            if (old->done)
                drop_reply(replays, old);
        }
        k->reply = *reply;
        if (reply->body)
            text_ref(reply->body);
        replays->bytes += size;
        k->at_s = clock_s();
        k->done = true;
    }
    pthread_mutex_unlock(&replays->lock);
}

/* ---- answers that outlive the server -------------------------------------------------------- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t api_replays_store(api_replays *replays, const api_request *request, const api_reply *reply)
{
    uint64_t ticket = 0;
    const stored_answer answer = {.key = request->idempotency_key,
                                  .hash = hash_of(request),
                                  .at_s = now_s(),
                                  .status = reply->status,
                                  .etag = reply->etag,
                                  .location = reply->location,
                                  .note = reply->note,
                                  .body = reply->body};
    size_t size = reply->body ? reply->body->size : 0;
    if (reply->rest || size > MOST_BYTES / 4)
        return 0;
    return answer_store_add(replays->database, &answer, &ticket, NULL) ? ticket : 0;
}

/* Takes a stored answer over, unless it is too old. A clock that was set back makes it new. */
static void take_stored(void *data, stored_answer *answer)
{
    api_replays *replays = data;
    double age = fmax(0, now_s() - answer->at_s);
    kept *k = age <= KEPT_S && is_key(answer->key) ? take_place(replays) : NULL;
    if (!k)
        return;
    snprintf(k->key, sizeof k->key, "%s", answer->key);
    snprintf(k->reply.etag, sizeof k->reply.etag, "%s", answer->etag);
    snprintf(k->reply.location, sizeof k->reply.location, "%s", answer->location);
    snprintf(k->reply.note, sizeof k->reply.note, "%s", answer->note);
    k->hash = answer->hash;
    k->at_s = clock_s() - age;
    k->done = true;
    k->reply.status = answer->status;
    k->reply.body = answer->body;
    k->reply.mime = answer->body ? "application/json" : NULL;
    replays->bytes += answer->body ? answer->body->size : 0;
    answer->body = NULL;
}

api_replays *api_replays_create(gw_database *database)
{
    api_replays *replays = calloc(1, sizeof *replays);
    if (!replays)
        return NULL;
    replays->database = database;
    pthread_mutex_init(&replays->lock, NULL);
    answer_store_each(database, take_stored, replays, NULL); /* those that can be read */
    return replays;
}

void api_replays_destroy(api_replays *replays)
{
    if (!replays)
        return;
    for (int i = 0; i < KEPT; i++)
        drop_reply(replays, &replays->kept[i]);
    pthread_mutex_destroy(&replays->lock);
    free(replays);
}
