/*
 * Samples on the stream: a row of columns for every tick, kept in a ring for all subscribed
 * clients, and their frames. On the stream's thread.
 */
#include <stdlib.h>
#include <string.h>

#include "server/net/stream_private.h"
#include "server/schema/wire.h"

gw_text *stream_columns_text(int columns)
{
    wire_memory_clear();
    return wire_text(wire_subscribed(WIRE_SAMPLES, wire_sample_names(columns)));
}

/* Makes room for rows of `columns` columns and drops the rows before. False when memory is short:
 * the rows stay, and none are added. */
static bool fit_columns(gw_stream *stream, int columns)
{
    if (stream->columns == columns)
        return true;
    double *rows = calloc(STREAM_ROWS * (size_t)columns, sizeof *rows);
    if (!rows)
        return false;
    free(stream->rows);
    stream->rows = rows;
    stream->columns = columns;
    stream->row_first = stream->row_count;
    return true;
}

static void take_record(gw_stream *stream, const gw_snapshot *record)
{
    if (!record->moving || !fit_columns(stream, wire_sample_columns(record->joint_count)))
        return;
    size_t slot = stream->row_count % STREAM_ROWS;
    stream->ticks[slot] = record->tick;
    wire_sample_row(record, stream->rows + slot * (size_t)stream->columns);
    stream->row_count++;
}

void stream_take_records(gw_stream *stream)
{
    uint64_t lost;
    int count;
    do {
        count = app_records(stream->app, stream->records, STREAM_RECORDS, &lost);
        for (int i = 0; i < count; i++)
            take_record(stream, &stream->records[i]);
    } while (count == STREAM_RECORDS);
}

gw_text *stream_sample_frame(const gw_stream *stream, stream_client *client)
{
    uint64_t end = stream->row_count, first = client->sample_next;
    if (first + STREAM_ROWS < end)
        first = end - STREAM_ROWS; /* too slow: the frame's first tick shows the gap */
    if (first < stream->row_first)
        first = stream->row_first;
    uint64_t last = first;
    while (last < end && last - first < STREAM_FRAME_ROWS &&
           stream->ticks[last % STREAM_ROWS] == stream->ticks[first % STREAM_ROWS] + (last - first))
        last++;
    client->sample_next = last;
    if (last == first)
        return NULL;
    size_t row = (size_t)stream->columns * sizeof(double);
    gw_text *frame = text_new(20 + (size_t)(last - first) * row);
    if (!frame)
        return NULL;
    const uint32_t head[] = {2, (uint32_t)(last - first)};
    const uint32_t columns = (uint32_t)stream->columns;
    char *at = frame->data + 20;
    memcpy(frame->data, head, sizeof head);
    memcpy(frame->data + 8, &stream->ticks[first % STREAM_ROWS], sizeof *stream->ticks);
    memcpy(frame->data + 16, &columns, sizeof columns);
    for (uint64_t i = first; i < last; i++, at += row)
        memcpy(at, stream->rows + (i % STREAM_ROWS) * (size_t)stream->columns, row);
    return frame;
}
