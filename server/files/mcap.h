/*
 * MCAP files (https://mcap.dev/spec): streams of messages with times, each stream on a channel that
 * names its topic and the schema of its messages; indexed, so that a reader can begin anywhere.
 * Messages and schemas are JSON. Not compressed. One thread; not inside a tick.
 */
#ifndef GW_SERVER_FILES_MCAP_H
#define GW_SERVER_FILES_MCAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "server/schema/text.h"

typedef struct mcap mcap;

/* Begins a file, which stays the caller's; NULL: memory. */
mcap *mcap_create(FILE *file);
void mcap_destroy(mcap *m); /* NULL is fine */

#define MCAP_CHANNELS 16

/* A channel (its number), of at most MCAP_CHANNELS: messages of `topic` as the JSON Schema `schema`
 * has them, which is called `name`. */
int mcap_channel(mcap *m, const char *topic, const char *name, const char *schema);

/* Adds a message at `time` (ns since the start). A reference of `text` passes; NULL (memory was
 * short) makes mcap_finish() fail. */
void mcap_message(mcap *m, int channel, uint64_t time, gw_text *text);

/* Writes what is left, and the index. False: memory was short, or the file could not be written
 * whole. */
bool mcap_finish(mcap *m);

#endif
