/*
 * The working document in the database: its states from the oldest that undo can go back to up to
 * the newest that redo can go to, each whole or as the change from the state before (texts of the
 * app's making), which of them is now, and at which revision. The app calls all of this under its
 * edit lock, one thread at a time.
 *
 * Everything here is written when it returns, and survives the process; history_ticket() is what
 * database_sync() takes.
 */
#ifndef GW_SERVER_FILES_HISTORY_H
#define GW_SERVER_FILES_HISTORY_H

#include <jansson.h>
#include <stddef.h>

#include "server/files/database.h"

#define HISTORY_STEPS 200         /* that undo goes back at least: more than a person remembers */
#define HISTORY_BYTES (64u << 20) /* of texts; the oldest go first */
#define HISTORY_WHOLE 100         /* changes after which a state is written whole again */

typedef struct gw_history gw_history;

/* A state as the app writes it. */
typedef struct history_text {
    const char *text;
    size_t size;
    bool whole;           /* else the change from the state before */
    const char *contacts; /* where they are followed from as it opens; NULL: it searches for them */
} history_text;

/* Reads which states there are; NULL with an error. */
gw_history *history_open(gw_database *database, gw_error *error);
void history_close(gw_history *history); /* NULL is fine */

/* No working document was kept yet. */
bool history_empty(const gw_history *history);
uint64_t history_revision(const gw_history *history);

/* Is there a state before the present one, one after it? */
bool history_undo(const gw_history *history);
bool history_redo(const gw_history *history);

/* The present state by a number that no other one has had, and that of the state that was saved or
 * opened last: where they are the same, the working document has no changes that are not saved. */
int64_t history_state(const gw_history *history);
int64_t history_saved(const gw_history *history);
bool history_mark_saved(gw_history *history, int64_t marked, gw_error *error);

/* So many changes were written since the last whole state that the present one shall be, too. */
bool history_wants_whole(const gw_history *history);
bool history_make_whole(gw_history *history, const char *text, size_t size, gw_error *error);

/* The scene of the state `offset` (-1, 0, 1) after the present one; NULL with an error, GW_CONFLICT
 * where there is none. `apply` makes the scene of the next state out of one and the change; false:
 * it does not fit. */
typedef bool history_apply(json_t *scene, const json_t *change);
json_t *history_scene(gw_history *history, int offset, history_apply *apply, gw_error *error);

/* The contacts of the present state, as they were written; NULL where it has none, or none that can
 * be read. */
json_t *history_contacts(gw_history *history);

/* A state after the present one, which becomes the present one; what could be redone is gone. With
 * `instead` it takes the place of the present one: the change is from the state before that. */
bool history_add(gw_history *history, uint64_t revision, const history_text *state, bool instead,
                 gw_error *error);

/* The state `offset` after the present one (before it: negative) becomes the present one. */
bool history_go(gw_history *history, uint64_t revision, int offset, gw_error *error);

/* The last state did not come into effect: all is as it was before. */
void history_take_back(gw_history *history);

uint64_t history_ticket(const gw_history *history);

#endif
