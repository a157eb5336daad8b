/*
 * States in the table `step`, each with its parent, so that no state must be deleted before a new
 * one is written. States that have left the chain are deleted together with the next change, when
 * it is certain that they are not needed for history_take_back(). The chain is also in memory: the
 * states' numbers, sizes, and which are whole.
 */
#include "server/files/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/wire.h"

#define STATES 1024 /* of the chain, including redo and older states up to a whole one */

typedef struct state {
    int64_t id;
    size_t size;
    bool whole;
} state;

typedef struct chain {
    int count, now; /* now: -1 for an empty chain */
    uint64_t revision;
    size_t bytes;
    state states[STATES]; /* oldest first; the first is whole */
} chain;

struct gw_history {
    gw_database *database;
    chain chain, before; /* before: as it was before the last change */
    int64_t last_id, saved;
    int64_t added;  /* by the last change; 0: none */
    int gone_count; /* states that left the chain and are still in the table */
    int64_t gone[2 * STATES];
    uint64_t ticket;
};

/* ---- the chain ------------------------------------------------------------------------------- */

static void drop_entries(gw_history *h, int from, int count)
{
    chain *c = &h->chain;
    for (int i = from; i < from + count; i++) {
        if (h->gone_count < 2 * STATES)
            h->gone[h->gone_count++] = c->states[i].id;
        c->bytes -= c->states[i].size;
    }
    memmove(c->states + from, c->states + from + count,
            (size_t)(c->count - from - count) * sizeof *c->states);
    c->count -= count;
    if (c->now >= from + count)
        c->now -= count;
}

/* The index of the newest whole state at or before `index`. */
static int whole_before(const chain *c, int index)
{
    while (index > 0 && !c->states[index].whole)
        index--;
    return index;
}

/* Drops the oldest states, in stretches from one whole state to the next, beyond HISTORY_STEPS and
 * HISTORY_BYTES. */
static void drop_oldest(gw_history *h)
{
    chain *c = &h->chain;
    int spare = whole_before(c, c->now > HISTORY_STEPS ? c->now - HISTORY_STEPS : 0);
    if (spare > 0)
        drop_entries(h, 0, spare);
    while (c->bytes > HISTORY_BYTES) {
        int next = 1;
        while (next <= c->now && !c->states[next].whole)
            next++;
        if (next > c->now)
            return;
        drop_entries(h, 0, next);
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Reads the chain from its tip back to the oldest state; other states in the table are to be
 * deleted. */
static bool read_chain(gw_history *h, gw_error *error)
{
    chain *c = &h->chain;
    gw_error why = {0};
    sqlite3_stmt *rows = database_query(
        h->database, &why,
        "with recursive back (id, parent, whole, size, depth) as ("
        " select step.id, parent, whole, size, 0 from step join work on step.id = tip"
        " union all select step.id, step.parent, step.whole, step.size, depth + 1"
        " from step join back on step.id = back.parent and step.id < back.id)"
        "select back.id, whole, size, current, revision, saved from back, work"
        " order by depth desc",
        "");
    while (rows && database_row(h->database, rows, &why)) {
        if (c->count == STATES)
            drop_entries(h, 0, 1);
        state *s = &c->states[c->count++];
        s->id = sqlite3_column_int64(rows, 0);
        h->last_id = s->id > h->last_id ? s->id : h->last_id;
        s->whole = sqlite3_column_int(rows, 1);
        s->size = (size_t)sqlite3_column_int64(rows, 2);
        c->bytes += s->size;
        if (s->id == sqlite3_column_int64(rows, 3))
            c->now = c->count - 1;
        c->revision = (uint64_t)sqlite3_column_int64(rows, 4);
        h->saved = sqlite3_column_int64(rows, 5);
        h->last_id = h->saved > h->last_id ? h->saved : h->last_id;
    }
    database_done(rows);
    while (c->count > 0 && !c->states[0].whole)
        drop_entries(h, 0, 1);
    return !why.code || gw_fail(error, why.code, "", "%s", why.message);
}

static bool delete_strays(gw_history *h, gw_error *error)
{
    return database_run(h->database, error,
                        "with recursive back (id, parent) as ("
                        " select step.id, parent from step join work on step.id = tip"
                        " union all select step.id, step.parent"
                        " from step join back on step.id = back.parent and step.id < back.id)"
                        "delete from step where id not in (select id from back)",
                        "");
}

gw_history *history_open(gw_database *database, gw_error *error)
{
    assert(database);
    gw_history *h = calloc(1, sizeof *h);
    if (!h) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    h->database = database;
    h->chain.now = -1;
    bool begun = database_begin(database, error);
    bool read = begun && delete_strays(h, error) && read_chain(h, error);
    if (database_end(database, begun, read, &h->ticket, error))
        return h;
    free(h);
    return NULL;
}

void history_close(gw_history *history)
{
    free(history);
}

bool history_empty(const gw_history *h)
{
    return h->chain.now < 0;
}

uint64_t history_revision(const gw_history *h)
{
    return h->chain.revision;
}

bool history_undo(const gw_history *h)
{
    return h->chain.now > 0;
}

bool history_redo(const gw_history *h)
{
    return h->chain.now + 1 < h->chain.count;
}

int64_t history_state(const gw_history *h)
{
    return h->chain.now < 0 ? 0 : h->chain.states[h->chain.now].id;
}

int64_t history_saved(const gw_history *h)
{
    return h->saved;
}

bool history_wants_whole(const gw_history *h)
{
    const chain *c = &h->chain;
    return c->now < 0 || c->now - whole_before(c, c->now) >= HISTORY_WHOLE;
}

uint64_t history_ticket(const gw_history *h)
{
    return h->ticket;
}

/* Reads a column of a state as JSON; NULL where it is null, or with an error. Within a
 * transaction. */
static json_t *read_column(gw_history *h, const char *query, const state *s, gw_error *error)
{
    json_t *value = NULL;
    sqlite3_stmt *rows = database_query(h->database, error, query, "i", s->id);
    if (rows && database_row(h->database, rows, error)) {
        const char *text = (const char *)sqlite3_column_text(rows, 0);
        value =
            text ? wire_parse_document(text, (size_t)sqlite3_column_bytes(rows, 0), error) : NULL;
    }
    database_done(rows);
    return value;
}

static json_t *read_state(gw_history *h, const state *s, gw_error *error)
{
    return read_column(h, "select text from step where id = ?", s, error);
}

json_t *history_contacts(gw_history *h)
{
    assert(h && h->chain.now >= 0);
    gw_error unread = {0};
    if (!database_read(h->database, &unread))
        return NULL;
    json_t *contacts = read_column(h, "select contacts from step where id = ?",
                                   &h->chain.states[h->chain.now], &unread);
    database_abandon(h->database);
    return contacts;
}

json_t *history_scene(gw_history *h, int offset, history_apply *apply, gw_error *error)
{
    assert(h && offset >= -1 && offset <= 1 && apply);
    const chain *c = &h->chain;
    int to = c->now + offset;
    gw_error why = {0};
    if (to < 0 || to >= c->count) {
        gw_fail(error, GW_CONFLICT, "", "there is nothing to %s", offset < 0 ? "undo" : "redo");
        return NULL;
    }
    if (!database_read(h->database, error))
        return NULL;
    int at = whole_before(c, to);
    json_t *scene = read_state(h, &c->states[at], &why);
    bool fits = scene != NULL;
    while (fits && ++at <= to) {
        json_t *change = read_state(h, &c->states[at], &why);
        fits = change && apply(scene, change);
        json_decref(change);
    }
    database_abandon(h->database);
    if (fits && !wire_memory_short())
        return scene;
    json_decref(scene);
    gw_fail(error, GW_FAILED, "", "the state that was kept cannot be read: %.300s",
            wire_memory_short() ? "memory is short"
            : why.code          ? why.message
                                : "a change does not fit");
    return NULL;
}

/* ---- writing ------------------------------------------------------------------------------- */

static bool write_work(gw_history *h, gw_error *error)
{
    const chain *c = &h->chain;
    return database_run(h->database, error,
                        "insert or replace into work (only, current, tip, revision, saved)"
                        " values (1, ?, ?, ?, ?)",
                        "iiii", c->states[c->now].id, c->states[c->count - 1].id,
                        (int64_t)c->revision, h->saved);
}

static bool write_state(gw_history *h, const history_text *text, gw_error *error)
{
    const chain *c = &h->chain;
    int64_t parent = c->now > 0 ? c->states[c->now - 1].id : 0;
    return database_run(h->database, error,
                        "insert into step (id, parent, whole, size, text, contacts)"
                        " values (?, ?, ?, ?, ?, ?)",
                        "iiiibt", c->states[c->now].id, parent, (int64_t)text->whole,
                        (int64_t)text->size, text->text, text->size, text->contacts);
}

static bool delete_gone(gw_history *h, int count, gw_error *error)
{
    bool done = true;
    for (int i = 0; done && i < count; i++)
        done = database_run(h->database, error, "delete from step where id = ?", "i", h->gone[i]);
    return done;
}

/* Writes the present chain, with its new state or NULL, and deletes the first `gone` states that
 * had left it. False: the chain is restored. */
static bool write_chain(gw_history *h, int gone, const history_text *added, gw_error *error)
{
    bool begun = database_begin(h->database, error);
    bool done = begun && delete_gone(h, gone, error) && (!added || write_state(h, added, error)) &&
                write_work(h, error);
    if (!database_end(h->database, begun, done, &h->ticket, error)) {
        h->chain = h->before;
        h->gone_count = gone;
        return false;
    }
    h->added = added ? h->last_id : 0;
    h->gone_count -= gone;
    memmove(h->gone, h->gone + gone, (size_t)h->gone_count * sizeof *h->gone);
    return true;
}

bool history_make_whole(gw_history *h, const char *text, size_t size, gw_error *error)
{
    assert(h && h->chain.now >= 0 && text);
    state *s = &h->chain.states[h->chain.now];
    bool begun = database_begin(h->database, error);
    bool done = begun && database_run(h->database, error,
                                      "update step set whole = 1, size = ?, text = ? where id = ?",
                                      "ibi", (int64_t)size, text, size, s->id);
    if (!database_end(h->database, begun, done, &h->ticket, error))
        return false;
    h->chain.bytes += size - s->size;
    s->size = size;
    s->whole = true;
    return true;
}

bool history_mark_saved(gw_history *h, int64_t marked, gw_error *error)
{
    assert(h && h->chain.now >= 0);
    int64_t before = h->saved;
    h->saved = marked;
    bool begun = database_begin(h->database, error);
    bool done = begun && write_work(h, error);
    done = database_end(h->database, begun, done, &h->ticket, error);
    h->saved = done ? marked : before;
    return done;
}

bool history_add(gw_history *h, uint64_t revision, const history_text *text, bool instead,
                 gw_error *error)
{
    assert(h && text && (text->whole || h->chain.now >= (instead ? 1 : 0)));
    chain *c = &h->chain;
    int gone = h->gone_count;
    h->before = *c;
    int from = instead ? c->now : c->now + 1;
    drop_entries(h, from, c->count - from);
    if (c->count == STATES)
        drop_entries(h, 0, whole_before(c, STATES / 2));
    c->now = c->count++;
    c->states[c->now] = (state){++h->last_id, text->size, text->whole};
    c->bytes += text->size;
    c->revision = revision;
    drop_oldest(h);
    return write_chain(h, gone, text, error);
}

bool history_go(gw_history *h, uint64_t revision, int offset, gw_error *error)
{
    assert(h && h->chain.now + offset >= 0 && h->chain.now + offset < h->chain.count);
    h->before = h->chain;
    h->chain.now += offset;
    h->chain.revision = revision;
    return write_chain(h, h->gone_count, NULL, error);
}

void history_take_back(gw_history *h)
{
    assert(h);
    h->chain = h->before;
    h->gone_count = 0;
    if (h->added)
        h->gone[h->gone_count++] = h->added;
    if (h->chain.now >= 0) /* where this fails, the next change writes it */
        write_chain(h, h->gone_count, NULL, NULL);
}
