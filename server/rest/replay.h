/*
 * Idempotency keys: a POST repeated with the same key and the same content within ten minutes gets
 * the first answer again and is not carried out twice. Any thread.
 */
#ifndef GW_SERVER_REST_REPLAY_H
#define GW_SERVER_REST_REPLAY_H

#include "server/rest/api.h"

#define REPLAY_KEY 128 /* characters */

api_replays *api_replays_create(void);          /* NULL where memory is short */
void api_replays_destroy(api_replays *replays); /* NULL is fine */

/* True where the request is to be carried out and api_replays_end() to be called with its answer.
 * False: the reply is set, to the stored answer or a refusal. */
bool api_replays_begin(api_replays *replays, const api_request *request, api_reply *reply);
void api_replays_end(api_replays *replays, const api_request *request, const api_reply *reply);

#endif
