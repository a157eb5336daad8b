#include "server/files/mcap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CHUNK_BYTES (1 << 20) /* messages are gathered into chunks of about that size */

static const char magic[] = "\x89MCAP0\r\n";

/* Opcodes of records. */
enum {
    HEADER = 0x01,
    FOOTER = 0x02,
    SCHEMA = 0x03,
    CHANNEL = 0x04,
    MESSAGE = 0x05,
    CHUNK = 0x06,
    MESSAGE_INDEX = 0x07,
    CHUNK_INDEX = 0x08,
    STATISTICS = 0x0B,
    DATA_END = 0x0F
};

typedef struct channel {
    text_builder index; /* of the present chunk: time and offset of each message */
    uint64_t count;
} channel;

struct mcap {
    FILE *file;
    uint64_t written;      /* bytes of the file */
    uint32_t crc;          /* of these, or of the summary's */
    bool failed;           /* memory was short */
    text_builder content;  /* of the record that is being made */
    text_builder chunk;    /* records of messages, not written yet */
    uint64_t first, last;  /* times in the chunk */
    text_builder schemas;  /* records of the summary: of schemas, channels, */
    text_builder channels; /* and chunks */
    text_builder chunk_indexes;
    channel channel[MCAP_CHANNELS]; /* number n at n - 1 */
    int channel_count;
    uint32_t chunk_count;
    uint64_t messages, begin, end; /* number and times of all of them */
};

/* ---- values, little-endian --------------------------------------------------------------- */

static void put_number(text_builder *b, uint64_t value, int bytes)
{
    char data[8];
    for (int i = 0; i < bytes; i++)
        data[i] = (char)(value >> 8 * i & 0xff);
    text_put(b, data, (size_t)bytes);
}

static void put_string(text_builder *b, const char *text)
{
    put_number(b, strlen(text), 4);
    text_put(b, text, strlen(text));
}

static void drop(text_builder *b)
{
    text_unref(text_take(b));
}

/* ---- records ----------------------------------------------------------------------------- */

static void write_bytes(mcap *m, const char *data, size_t size)
{
    m->crc = (uint32_t)crc32_z(m->crc, (const unsigned char *)data, size);
    m->written += fwrite(data, 1, size, m->file);
}

static void write_text(mcap *m, const text_builder *b)
{
    m->failed |= b->short_of_memory;
    write_bytes(m, text_so_far(b), b->size);
}

/* Appends the record whose content was made to `to`, and begins the next one. */
static void take_record(mcap *m, int opcode, text_builder *to)
{
    put_number(to, (uint64_t)opcode, 1);
    put_number(to, m->content.size, 8);
    text_put(to, text_so_far(&m->content), m->content.size);
    m->content.size = 0;
}

/* The same into the file. */
static void write_record(mcap *m, int opcode)
{
    text_builder head = {0};
    put_number(&head, (uint64_t)opcode, 1);
    put_number(&head, m->content.size, 8);
    write_text(m, &head);
    write_text(m, &m->content);
    drop(&head);
    m->content.size = 0;
}

mcap *mcap_create(FILE *file)
{
    mcap *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->file = file;
    write_bytes(m, magic, sizeof magic - 1);
    put_string(&m->content, ""); /* no profile */
    put_string(&m->content, "guideway");
    write_record(m, HEADER);
    return m;
}

void mcap_destroy(mcap *m)
{
    if (!m)
        return;
    text_builder *const builders[] = {&m->content, &m->chunk, &m->schemas, &m->channels,
                                      &m->chunk_indexes};
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++)
        drop(builders[i]);
    for (int i = 0; i < m->channel_count; i++)
        drop(&m->channel[i].index);
    free(m);
}

int mcap_channel(mcap *m, const char *topic, const char *name, const char *schema)
{
    assert(m && topic && name && schema && m->channel_count < MCAP_CHANNELS);
    int number = ++m->channel_count;
    size_t schemas = m->schemas.size, channels = m->channels.size;
    put_number(&m->content, (uint64_t)number, 2);
    put_string(&m->content, name);
    put_string(&m->content, "jsonschema");
    put_string(&m->content, schema);
    take_record(m, SCHEMA, &m->schemas);
    put_number(&m->content, (uint64_t)number, 2);
    put_number(&m->content, (uint64_t)number, 2); /* its schema */
    put_string(&m->content, topic);
    put_string(&m->content, "json");
    put_number(&m->content, 0, 4); /* no metadata */
    take_record(m, CHANNEL, &m->channels);
    write_bytes(m, text_so_far(&m->schemas) + schemas, m->schemas.size - schemas);
    write_bytes(m, text_so_far(&m->channels) + channels, m->channels.size - channels);
    return number;
}

/* ---- chunks ------------------------------------------------------------------------------ */

/* Writes the messages so far as a chunk, and the places of them by channel. */
static void write_chunk(mcap *m)
{
    const text_builder *chunk = &m->chunk;
    uint64_t start = m->written;
    text_builder offsets = {0};
    put_number(&m->content, m->first, 8);
    put_number(&m->content, m->last, 8);
    put_number(&m->content, chunk->size, 8);
    put_number(&m->content, crc32_z(0, (const unsigned char *)text_so_far(chunk), chunk->size), 4);
    put_string(&m->content, ""); /* not compressed */
    put_number(&m->content, chunk->size, 8);
    text_put(&m->content, text_so_far(chunk), chunk->size);
    write_record(m, CHUNK);
    uint64_t end = m->written;
    for (int i = 0; i < m->channel_count; i++) {
        text_builder *index = &m->channel[i].index;
        if (index->size == 0)
            continue;
        put_number(&offsets, (uint64_t)i + 1, 2);
        put_number(&offsets, m->written, 8);
        put_number(&m->content, (uint64_t)i + 1, 2);
        put_number(&m->content, index->size, 4);
        text_put(&m->content, text_so_far(index), index->size);
        m->failed |= index->short_of_memory;
        index->size = 0;
        write_record(m, MESSAGE_INDEX);
    }
    put_number(&m->content, m->first, 8);
    put_number(&m->content, m->last, 8);
    put_number(&m->content, start, 8);
    put_number(&m->content, end - start, 8);
    put_number(&m->content, offsets.size, 4);
    text_put(&m->content, text_so_far(&offsets), offsets.size);
    put_number(&m->content, m->written - end, 8);
    put_string(&m->content, "");
    put_number(&m->content, chunk->size, 8);
    put_number(&m->content, chunk->size, 8);
    take_record(m, CHUNK_INDEX, &m->chunk_indexes);
    m->failed |= chunk->short_of_memory || offsets.short_of_memory;
    drop(&offsets);
    m->chunk.size = 0;
    m->chunk_count++;
}

void mcap_message(mcap *m, int number, uint64_t time, gw_text *text)
{
    assert(m && number > 0 && number <= m->channel_count);
    channel *c = &m->channel[number - 1];
    m->failed |= !text;
    if (m->failed) {
        text_unref(text);
        return;
    }
    bool begins = m->chunk.size == 0;
    m->first = begins || time < m->first ? time : m->first;
    m->last = begins || time > m->last ? time : m->last;
    m->begin = m->messages == 0 || time < m->begin ? time : m->begin;
    m->end = time > m->end ? time : m->end;
    put_number(&c->index, time, 8);
    put_number(&c->index, m->chunk.size, 8);
    put_number(&m->chunk, MESSAGE, 1);
    put_number(&m->chunk, 2 + 4 + 8 + 8 + text->size, 8);
    put_number(&m->chunk, (uint64_t)number, 2);
    put_number(&m->chunk, c->count, 4);
    put_number(&m->chunk, time, 8);
    put_number(&m->chunk, time, 8); /* published when it was logged */
    text_put(&m->chunk, text->data, text->size);
    text_unref(text);
    c->count++;
    m->messages++;
    if (m->chunk.size >= CHUNK_BYTES)
        write_chunk(m);
}

/* ---- the end ----------------------------------------------------------------------------- */

static void make_statistics(mcap *m)
{
    put_number(&m->content, m->messages, 8);
    put_number(&m->content, (uint64_t)m->channel_count, 2); /* schemas: one each */
    put_number(&m->content, (uint64_t)m->channel_count, 4);
    put_number(&m->content, 0, 4); /* attachments */
    put_number(&m->content, 0, 4); /* metadata */
    put_number(&m->content, m->chunk_count, 4);
    put_number(&m->content, m->begin, 8);
    put_number(&m->content, m->end, 8);
    put_number(&m->content, 10 * (uint64_t)m->channel_count, 4);
    for (int i = 0; i < m->channel_count; i++) {
        put_number(&m->content, (uint64_t)i + 1, 2);
        put_number(&m->content, m->channel[i].count, 8);
    }
}

bool mcap_finish(mcap *m)
{
    assert(m);
    if (m->chunk.size)
        write_chunk(m);
    put_number(&m->content, m->crc, 4);
    write_record(m, DATA_END);
    uint64_t summary = m->written;
    m->crc = 0;
    const text_builder *const parts[] = {&m->schemas, &m->channels, &m->chunk_indexes};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        write_text(m, parts[i]);
    make_statistics(m);
    write_record(m, STATISTICS);
    /* The checksum of the summary includes the footer up to itself. */
    text_builder footer = {0};
    put_number(&footer, FOOTER, 1);
    put_number(&footer, 8 + 8 + 4, 8);
    put_number(&footer, summary, 8);
    put_number(&footer, 0, 8); /* no offsets of the summary's groups */
    write_text(m, &footer);
    footer.size = 0;
    put_number(&footer, m->crc, 4);
    write_text(m, &footer);
    drop(&footer);
    write_bytes(m, magic, sizeof magic - 1);
    return !m->failed && fflush(m->file) == 0 && !ferror(m->file);
}
