/*
 * An operating error as a value: what is wrong, where, and what would be right.
 */
#ifndef GW_BASE_ERROR_H
#define GW_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

typedef enum gw_error_code {
    GW_OK = 0,
    GW_BAD_INPUT,    /* a member is missing, of the wrong type or out of range */
    GW_NOT_FOUND,    /* names something that is not there */
    GW_CONFLICT,     /* a duplicate id, or something that others still refer to */
    GW_INCOMPATIBLE, /* the constraints contradict one another */
    GW_UNHANDLED,    /* no answer was found, and none was proven impossible */
    GW_TOO_LARGE,    /* beyond a cap of limits.h */
    GW_NOT_YET,      /* a capability that this version does not have */
    GW_NO_SPACE,     /* the disk is full */
    GW_FAILED        /* the system refused: memory, files, threads */
} gw_error_code;

/* Zero is no error. `where` is a JSON pointer relative to the document that was given (or empty),
 * `message` a sentence that names the value and what would be right. */
typedef struct gw_error {
    gw_error_code code;
    char where[192];
    char message[384];
} gw_error;

/* Fills `error` (may be NULL) and returns false, so that a check reads `return gw_fail(...)`. */
bool gw_fail(gw_error *error, gw_error_code code, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends ": there are a, b, .." to the message, as far as there is room: one name, of which there
 * are `before` others already; or `count` strings, `size` bytes apart, which returns false. */
void gw_error_name(gw_error *error, int before, const char *name);
bool gw_error_names(gw_error *error, const void *names, int count, size_t size);

/* Errors of one document, in the order in which they were found. `count` is below `most` while
 * there is room for more. */
typedef struct gw_error_list {
    gw_error *errors;
    int most, count;
} gw_error_list;

/* The entry to which the next check writes its error. */
static inline gw_error *gw_next_error(gw_error_list *list)
{
    return &list->errors[list->count];
}

/* Counts the error of a check that wrote to gw_next_error(), if it was not `fine`; true if the list
 * is full. */
static inline bool gw_count_error(gw_error_list *list, bool fine)
{
    list->count += !fine;
    return list->count == list->most;
}

#endif
