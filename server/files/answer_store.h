/*
 * Answers to requests with an Idempotency-Key in the database: the newest, as many as fit in
 * ANSWERS_STORED and ANSWERS_BYTES. Any server thread.
 */
#ifndef GW_SERVER_FILES_ANSWER_STORE_H
#define GW_SERVER_FILES_ANSWER_STORE_H

#include "server/files/database.h"
#include "server/schema/text.h"

#define ANSWERS_STORED 256
#define ANSWERS_BYTES  (16 << 20) /* of all bodies */

typedef struct stored_answer {
    const char *key;
    uint64_t hash; /* of the request */
    double at_s;   /* seconds since 1970 */
    int status;
    const char *etag, *location, *note;
    gw_text *body; /* JSON; NULL: none */
} stored_answer;

/* Adds an answer, in place of one with the same key, and deletes the oldest. It survives the
 * process when this returns, and the machine after database_sync() with the ticket. */
bool answer_store_add(gw_database *database, const stored_answer *answer, uint64_t *ticket,
                      gw_error *error);

/* Calls `take` for each stored answer, oldest first; it may take over the body's reference by
 * setting it to NULL. False with an error. */
bool answer_store_each(gw_database *database, void (*take)(void *data, stored_answer *answer),
                       void *data, gw_error *error);

#endif
