/*
 * Formatting of errors. Never called inside a tick.
 */
#include "rt/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gw_fail(gw_error *error, gw_error_code code, const char *where, const char *format, ...)
{
    if (!error)
        return false;
    error->code = code;
    snprintf(error->where, sizeof error->where, "%s", where);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return false;
}

void gw_error_name(gw_error *error, int before, const char *name)
{
    static const char more[] = ", ..";
    if (!error)
        return;
    const size_t used = strlen(error->message), room = sizeof error->message - used;
    const bool ended =
        used >= sizeof more && strcmp(error->message + used + 1 - sizeof more, more) == 0;
    const char *between = before == 0 ? ": there are " : ", ";
    if (!ended && strlen(between) + strlen(name) + sizeof more < room)
        snprintf(error->message + used, room, "%s%s", between, name);
    else if (!ended)
        snprintf(error->message + used, room, "%s", more);
}

bool gw_error_names(gw_error *error, const void *names, int count, size_t size)
{
    for (int i = 0; i < count; i++)
        gw_error_name(error, i, (const char *)names + (size_t)i * size);
    return false;
}
