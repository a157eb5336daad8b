/*
 * Positioning problems as few bytes: a head, then one record a constraint, numbers by their place
 * in a palette of degenerate values. Every string of bytes is a problem, and small changes of the
 * bytes are the changes that rules hinge on. Single-threaded; no allocation.
 */
#ifndef GW_TESTS_FUZZ_CODED_H
#define GW_TESTS_FUZZ_CODED_H

#include <stddef.h>
#include <stdint.h>

#include "rt/positioning/solve.h"

#define CODED_HEAD   8
#define CODED_RECORD 17
#define CODED_MOST   12 /* constraints */

typedef struct coded_problem {
    gw_problem problem;
    gw_constraint constraints[CODED_MOST];
    gw_pose hidden; /* what the constraints that were made true are true at */
    bool by_json;   /* to be sent through its JSON as well */
} coded_problem;

void coded_read(const uint8_t *data, size_t size, coded_problem *out);

/* A change that keeps the records: constraints copied, swapped, dropped, elements of one given to
 * another, a number replaced. The new size. */
size_t coded_mutate(uint8_t *data, size_t size, size_t most, unsigned random);

#endif
