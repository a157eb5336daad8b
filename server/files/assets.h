/*
 * Files embedded in the binary: the page and the gallery's scenes. assets.sh writes the table. Read
 * only; any thread.
 * Paths: "/index.html" for a file of the page, "scenes/paper-plane.json".
 */
#ifndef GW_SERVER_FILES_ASSETS_H
#define GW_SERVER_FILES_ASSETS_H

#include <stddef.h>

typedef struct asset {
    const char *path; /* NULL after the last */
    const char *start, *end;
    const char *packed, *packed_end; /* gzip of the same, or NULL */
    const char *mime;
} asset;

extern const asset assets[];

/* The asset of that path; NULL where there is none. */
const asset *asset_find(const char *path);

static inline size_t asset_size(const asset *found)
{
    return (size_t)(found->end - found->start);
}

#endif
