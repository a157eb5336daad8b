/*
 * What goes out: messages and frames, built on the stream's thread.
 */
#include <stdlib.h>
#include <string.h>

#include "server/app/describe.h"
#include "server/net/stream_private.h"
#include "server/cli/version.h"
#include "server/schema/wire.h"

/* ---- text ---------------------------------------------------------------------------------- */

static char *simulation_text(const app_document *document, const gw_snapshot *snapshot)
{
    wire_memory_clear();
    json_t *json = describe_simulation(document, snapshot);
    char *written = json ? wire_text(json) : NULL;
    json_decref(json);
    return written;
}

gw_text *stream_scene_text(const char *op, const app_document *document,
                           const gw_snapshot *snapshot)
{
    char *simulation = simulation_text(document, snapshot);
    gw_text *members = simulation ? app_document_text(document) : NULL;
    gw_text *text =
        members ? text_format("{\"op\":\"%s\",\"protocol\":\"guideway.v1\",\"version\":\"%s\","
                              "%s,\"simulation\":%s}",
                              op, GUIDEWAY_VERSION, members->data, simulation)
                : NULL;
    text_unref(members);
    free(simulation);
    return text;
}

gw_text *stream_state_text(gw_app *app, const app_document *document, const gw_snapshot *snapshot)
{
    char *simulation = simulation_text(document, snapshot);
    wire_memory_clear();
    json_t *json = describe_task(app, document);
    char *task = simulation ? wire_text(json) : NULL;
    json_decref(json);
    gw_text *text =
        task ? text_format("{\"op\":\"state\",\"simulation\":%s,\"task\":%s}", simulation, task)
             : NULL;
    free(task);
    free(simulation);
    return text;
}

gw_text *stream_event_text(const gw_text *event)
{
    return text_format("{\"op\":\"event\",\"event\":%s}", event->data);
}

/* ---- binary: little-endian, as every machine that this runs on ------------------------------ */

static char *put(char *at, const void *value, size_t size)
{
    memcpy(at, value, size);
    return at + size;
}

static char *put_u32(char *at, uint32_t value)
{
    return put(at, &value, sizeof value);
}

static char *put_pose(char *at, uint32_t index, const gw_pose *pose)
{
    const float values[7] = {(float)pose->p.x, (float)pose->p.y, (float)pose->p.z, (float)pose->q.w,
                             (float)pose->q.x, (float)pose->q.y, (float)pose->q.z};
    return put(put_u32(at, index), values, sizeof values);
}

gw_text *stream_pose_frame(const app_document *document, const gw_snapshot *snapshot)
{
    size_t count = (size_t)document->moving_count, links = (size_t)document->link_count;
    gw_pose *poses = app_poses(document, snapshot), *link = app_links(document, snapshot);
    gw_text *frame = poses && link ? text_new(24 + 32 * (count + links)) : NULL;
    if (frame) {
        char *at = put_u32(put_u32(frame->data, 1), (uint32_t)(count + links));
        at = put(at, &snapshot->tick, sizeof snapshot->tick);
        at = put(at, &snapshot->time, sizeof snapshot->time);
        for (size_t i = 0; i < count; i++)
            at = put_pose(at, (uint32_t)i, &poses[document->moving[i]]);
        for (size_t i = 0; i < links; i++)
            at = put_pose(at, (uint32_t)(count + i), &link[i]);
    }
    free(poses);
    free(link);
    return frame;
}

/* ---- samples ------------------------------------------------------------------------------- */

json_t *stream_columns(int columns)
{
    char name[WIRE_COLUMN_NAME];
    json_t *names = json_array();
    for (int i = 0; i < columns; i++) {
        wire_sample_column(i, columns, name);
        json_array_append_new(names, json_string(name));
    }
    return json_pack("{s:s, s:s, s:o}", "op", "subscribed", "stream", "samples", "columns", names);
}

gw_text *stream_columns_text(int columns)
{
    wire_memory_clear();
    json_t *json = stream_columns(columns);
    char *written = json ? wire_text(json) : NULL;
    json_decref(json);
    gw_text *text = written ? text_format("%s", written) : NULL;
    free(written);
    return text;
}

/* Room for rows of so many columns; those before are gone. False where memory is short: the rows
 * that there are stay, and no new ones come. */
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
    size_t place = stream->row_count % STREAM_ROWS;
    stream->ticks[place] = record->tick;
    wire_sample_row(record, stream->rows + place * (size_t)stream->columns);
    stream->row_count++;
}

void stream_take_records(gw_stream *stream)
{
    uint64_t lost;
    int count;
    do {
        count = app_records(stream->app, stream->records, STREAM_FRAME_ROWS, &lost);
        for (int i = 0; i < count; i++)
            take_record(stream, &stream->records[i]);
    } while (count == STREAM_FRAME_ROWS);
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
    char *at = put_u32(put_u32(frame->data, 2), (uint32_t)(last - first));
    at = put(at, &stream->ticks[first % STREAM_ROWS], sizeof(uint64_t));
    at = put_u32(at, (uint32_t)stream->columns);
    for (uint64_t i = first; i < last; i++)
        at = put(at, stream->rows + (i % STREAM_ROWS) * (size_t)stream->columns, row);
    return frame;
}
