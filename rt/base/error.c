/*
 * Formatting of errors. Never called inside a tick.
 */
#include "rt/base/error.h"

#include <stdarg.h>
#include <stdio.h>

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
