/*
 * The working document in the database: its states from the oldest that undo can reach to the
 * newest that redo can reach, each whole or as the change from the state before (texts written by
 * the app), the present one, and its revision. Called under the app's edit lock, one thread at a
 * time.
 *
 * Every change is written when its function returns, and survives the process; history_ticket() is
 * the ticket for database_sync().
 */
#ifndef GW_SERVER_FILES_HISTORY_H
#define GW_SERVER_FILES_HISTORY_H

#include <jansson.h>
#include <stddef.h>

#include "server/files/database.h"

#define HISTORY_STEPS 200         /* least number of undo steps */
#define HISTORY_BYTES (64u << 20) /* of texts; the oldest states are dropped first */
#define HISTORY_WHOLE 100         /* changes after which a state is written whole again */

typedef struct gw_history gw_history;

/* A state as the app writes it. */
typedef struct history_text {
    const char *text;
    size_t size;
    bool whole;           /* else the change from the state before */
    const char *contacts; /* where contacts are at opening; NULL: searched for */
} history_text;

/* Reads the states; NULL with an error. */
gw_history *history_open(gw_database *database, gw_error *error);
void history_close(gw_history *history); /* NULL is fine */

/* True where no working document is stored. */
bool history_empty(const gw_history *history);
uint64_t history_revision(const gw_history *history);

/* True where there is a state before, or after, the present one. */
bool history_undo(const gw_history *history);
bool history_redo(const gw_history *history);

/* The number of the present state, which is never used again, and that of the state that was saved
 * or opened last. Where they are equal, the working document has no unsaved changes. */
int64_t history_state(const gw_history *history);
int64_t history_saved(const gw_history *history);
bool history_mark_saved(gw_history *history, int64_t marked, gw_error *error);

/* True where HISTORY_WHOLE changes follow the last whole state, so that the present one should be
 * written whole; history_make_whole() does so. */
bool history_wants_whole(const gw_history *history);
bool history_make_whole(gw_history *history, const char *text, size_t size, gw_error *error);

/* The scene of the state `offset` (-1, 0, 1) after the present one; NULL with an error, GW_CONFLICT
 * where there is none. `apply` applies a change to a scene; false: it does not fit. */
typedef bool history_apply(json_t *scene, const json_t *change);
json_t *history_scene(gw_history *history, int offset, history_apply *apply, gw_error *error);

/* The contacts of the present state, as written; NULL where it has none, or they cannot be read. */
json_t *history_contacts(gw_history *history);

/* Adds a state after the present one and makes it the present one; states that could be redone are
 * dropped. With `instead` it replaces the present one: the change is then from the state before
 * that. */
bool history_add(gw_history *history, uint64_t revision, const history_text *state, bool instead,
                 gw_error *error);

/* Makes the state `offset` after the present one (negative: before) the present one. */
bool history_go(gw_history *history, uint64_t revision, int offset, gw_error *error);

/* Undoes the last change, which did not take effect. */
void history_take_back(gw_history *history);

uint64_t history_ticket(const gw_history *history);

#endif
