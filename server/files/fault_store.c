/*
 * The table `fault`: a row for each stored fault, by its number.
 */
#include "server/files/fault_store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static gw_halt_cause cause_of(const char *name)
{
    int cause = 0;
    while (gw_halt_cause_names[cause + 1] && strcmp(gw_halt_cause_names[cause], name) != 0)
        cause++;
    return (gw_halt_cause)cause;
}

bool fault_store_add(gw_database *db, const wire_fault *fault, const char *csv, gw_error *error)
{
    assert(db && fault && fault->number > 0 && csv);
    uint64_t ticket;
    bool begun = database_begin(db, error);
    bool done =
        begun &&
        database_run(db, error,
                     "insert into fault (number, cause, by, since_ns, ticks, csv)"
                     " values (?, ?, ?, ?, ?, ?)",
                     "ittiit", (int64_t)fault->number, gw_halt_cause_names[fault->why.cause],
                     fault->why.by, fault->why.since_ns, (int64_t)fault->ticks, csv) &&
        database_run(db, error, "delete from fault where number <= ?", "i",
                     (int64_t)fault->number - FAULTS_STORED);
    done = database_end(db, begun, done, &ticket, error);
    if (done)
        database_sync_later(db);
    return done;
}

int fault_store_list(gw_database *db, wire_fault faults[FAULTS_STORED], gw_error *error)
{
    assert(db && faults);
    int count = 0;
    gw_error why = {0};
    if (!database_read(db, error))
        return -1;
    sqlite3_stmt *rows = database_query(
        db, &why, "select number, cause, by, since_ns, ticks from fault order by number", "");
    while (rows && count < FAULTS_STORED && database_row(db, rows, &why)) {
        wire_fault *f = &faults[count++];
        *f = (wire_fault){.number = (unsigned)sqlite3_column_int64(rows, 0),
                          .ticks = sqlite3_column_int(rows, 4)};
        f->why.cause = cause_of((const char *)sqlite3_column_text(rows, 1));
        snprintf(f->why.by, sizeof f->why.by, "%s", (const char *)sqlite3_column_text(rows, 2));
        f->why.since_ns = sqlite3_column_int64(rows, 3);
    }
    database_done(rows);
    database_abandon(db);
    if (!why.code)
        return count;
    gw_fail(error, why.code, "", "%s", why.message);
    return -1;
}

gw_text *fault_store_csv(gw_database *db, unsigned number, gw_error *error)
{
    assert(db);
    gw_text *text = NULL;
    gw_error why = {0};
    if (!database_read(db, error))
        return NULL;
    sqlite3_stmt *rows =
        database_query(db, &why, "select csv from fault where number = ?", "i", (int64_t)number);
    if (rows && database_row(db, rows, &why)) {
        size_t size = (size_t)sqlite3_column_bytes(rows, 0);
        text = text_new(size);
        if (text)
            memcpy(text->data, sqlite3_column_text(rows, 0), size);
        else
            gw_fail(&why, GW_FAILED, "", "memory is short");
    } else if (!why.code) {
        gw_fail(&why, GW_NOT_FOUND, "",
                "the ticks of that fault are not kept: GET /loop/faults lists those that are");
    }
    database_done(rows);
    database_abandon(db);
    if (!text)
        gw_fail(error, why.code, "", "%s", why.message);
    return text;
}
