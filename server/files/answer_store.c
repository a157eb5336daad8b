/*
 * The table `answer`: a row for each stored answer, numbered in their order.
 */
#include "server/files/answer_store.h"

#include <assert.h>
#include <string.h>

static bool delete_oldest(gw_database *db, gw_error *error)
{
    return database_run(db, error,
                        "delete from answer where number <= (select coalesce(max(number), 0) from"
                        " (select number, row_number() over newest as place,"
                        " sum(length(body)) over newest as bytes"
                        " from answer window newest as (order by number desc))"
                        " where place > ? or bytes > ?)",
                        "ii", (int64_t)ANSWERS_STORED, (int64_t)ANSWERS_BYTES);
}

bool answer_store_add(gw_database *db, const stored_answer *a, uint64_t *ticket, gw_error *error)
{
    assert(db && a && a->key && ticket);
    bool begun = database_begin(db, error);
    bool done = begun &&
                database_run(db, error,
                             "insert or replace into answer"
                             " (key, hash, at, status, etag, location, note, body)"
                             " values (?, ?, ?, ?, ?, ?, ?, ?)",
                             "tifitttb", a->key, (int64_t)a->hash, a->at_s, (int64_t)a->status,
                             a->etag, a->location, a->note, a->body ? a->body->data : "",
                             a->body ? a->body->size : 0) &&
                delete_oldest(db, error);
    return database_end(db, begun, done, ticket, error);
}

bool answer_store_each(gw_database *db, void (*take)(void *data, stored_answer *answer), void *data,
                       gw_error *error)
{
    assert(db && take);
    gw_error why = {0};
    if (!database_read(db, error))
        return false;
    sqlite3_stmt *rows = database_query(
        db, &why,
        "select key, hash, at, status, etag, location, note, body from answer order by number", "");
    while (rows && database_row(db, rows, &why)) {
        size_t size = (size_t)sqlite3_column_bytes(rows, 7);
        stored_answer a = {.key = (const char *)sqlite3_column_text(rows, 0),
                           .hash = (uint64_t)sqlite3_column_int64(rows, 1),
                           .at_s = sqlite3_column_double(rows, 2),
                           .status = sqlite3_column_int(rows, 3),
                           .etag = (const char *)sqlite3_column_text(rows, 4),
                           .location = (const char *)sqlite3_column_text(rows, 5),
                           .note = (const char *)sqlite3_column_text(rows, 6),
                           .body = size ? text_new(size) : NULL};
        if (a.body)
            memcpy(a.body->data, sqlite3_column_blob(rows, 7), size);
        if (a.key && a.etag && a.location && a.note && (a.body || !size))
            take(data, &a);
        text_unref(a.body);
    }
    database_done(rows);
    database_abandon(db);
    return why.code == GW_OK || gw_fail(error, why.code, "", "%s", why.message);
}
