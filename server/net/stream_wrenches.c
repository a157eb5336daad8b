/*
 * Wrenches of joints on the stream: the newest frame and the message with the columns' names, both
 * shared by all subscribed clients. On the stream's thread.
 */
#include <stdlib.h>
#include <string.h>

#include "server/net/stream_private.h"
#include "server/schema/wire.h"

bool stream_name_wrenches(gw_stream *stream, const app_document *document)
{
    if (stream->wrench_names && stream->wrenches_version == document->version)
        return true;
    wire_memory_clear();
    gw_text *names = wire_text(wire_subscribed(WIRE_WRENCHES, wire_wrench_names(document->scene)));
    gw_text *before = stream->wrench_names;
    if (!names)
        return false;
    if (!before || names->size != before->size ||
        memcmp(names->data, before->data, names->size) != 0) {
        stream->wrenches_named = document->version;
        text_unref(stream->wrenches); /* it has other columns */
        stream->wrenches = NULL;
    }
    text_unref(before);
    stream->wrench_names = names;
    (void)app_tell_links(stream->app); /* if refused: zero until the next edit */
    stream->wrenches_version = document->version;
    return true;
}

/* Little-endian, as are all machines that this runs on. */
static gw_text *wrench_frame(const app_document *document, const gw_snapshot *snapshot)
{
    uint32_t columns = (uint32_t)wire_wrench_columns(document->scene);
    const uint32_t head[2] = {3, columns};
    size_t size = columns * sizeof(double);
    double *row = malloc(size + sizeof *row);
    gw_text *frame = row ? text_new(24 + size) : NULL;
    if (frame) {
        wire_wrench_row(document->scene, snapshot, row);
        memcpy(frame->data, head, sizeof head);
        memcpy(frame->data + 8, &snapshot->tick, sizeof snapshot->tick);
        memcpy(frame->data + 16, &snapshot->time, sizeof snapshot->time);
        memcpy(frame->data + 24, row, size);
    }
    free(row);
    return frame;
}

void stream_refresh_wrenches(gw_stream *stream, const app_document *document,
                             const gw_snapshot *snapshot)
{
    bool named = stream_name_wrenches(stream, document);
    bool waits = snapshot->state == GW_RUNNING && !snapshot->moving && !snapshot->halted;
    if (named && waits)
        return; /* for collision detection: this tick's wrenches are not known before it moves */
    text_unref(stream->wrenches);
    stream->wrenches = named ? wrench_frame(document, snapshot) : NULL;
}
