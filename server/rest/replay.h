/*
 * Idempotency keys: a POST repeated with the same key and the same content within ten minutes gets
 * the first answer again and is not carried out twice; edits, also after another start of the
 * server. Any thread.
 */
#ifndef GW_SERVER_REST_REPLAY_H
#define GW_SERVER_REST_REPLAY_H

#include "server/files/database.h"
#include "server/rest/api.h"

#define REPLAY_KEY 128 /* characters */

/* With the answers stored in the database, which outlives the result; NULL where memory is short.
 */
api_replays *api_replays_create(gw_database *database);
void api_replays_destroy(api_replays *replays); /* NULL is fine */

/* True where the request is to be carried out and api_replays_end() to be called with its answer.
 * False: the reply is set, to the stored answer or a refusal. */
bool api_replays_begin(api_replays *replays, const api_request *request, api_reply *reply);
void api_replays_end(api_replays *replays, const api_request *request, const api_reply *reply);

/* Stores the answer to an edit before it is sent; returns the ticket for database_sync(), 0 where
 * it could not be stored, and is then only in memory. */
uint64_t api_replays_store(api_replays *replays, const api_request *request,
                           const api_reply *reply);

#endif
