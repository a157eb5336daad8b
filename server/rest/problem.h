/*
 * Kinds of problems (RFC 9457): `type` is "/problems/NAME", and the appliance serves a page there.
 * Any thread; no state.
 */
#ifndef GW_SERVER_REST_PROBLEM_H
#define GW_SERVER_REST_PROBLEM_H

#include "server/schema/text.h"

#define PROBLEM_PATH "/problems"

typedef struct problem_kind {
    int status;
    const char *name, *title, *meaning;
} problem_kind;

/* The default kind of a status; of an unknown status that of 500. */
const problem_kind *problem_of_status(int status);

/* NULL where there is none of this name. */
const problem_kind *problem_named(const char *name);

/* The page at /problems or /problems/NAME, HTML; NULL where there is none, or memory is short. */
gw_text *problem_page(const char *path);

#endif
