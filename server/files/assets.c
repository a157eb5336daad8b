/*
 * Look-up of embedded files.
 */
#include "server/files/assets.h"

#include <string.h>

const asset *asset_find(const char *path)
{
    for (const asset *each = assets; each->path; each++)
        if (strcmp(each->path, path) == 0)
            return each;
    return NULL;
}
