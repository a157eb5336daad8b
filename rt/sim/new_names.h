/*
 * Renamed entries of a scene. State that continues from one scenario to the next is found by the
 * hash of its id (gw_name_hash()), so the former scenario gets the new hashes first. Written when a
 * scenario is built, read by the loop's thread.
 */
#ifndef GW_SIM_NEW_NAMES_H
#define GW_SIM_NEW_NAMES_H

#include "rt/sim/scenario.h"

typedef struct gw_new_name {
    uint64_t from, to;
} gw_new_name;

/* Ascending by `from`. */
typedef struct gw_name_table {
    int count;
    gw_new_name *of;
} gw_name_table;

/* Tables for bodies and their features, and for joints, whose ids may equal those of bodies. */
typedef struct gw_new_names {
    gw_name_table bodies, joints;
} gw_new_names;

/* False with an error: memory. */
bool gw_new_names_create(gw_new_names *names, const gw_scenario_def *def, gw_error *error);
void gw_new_names_destroy(gw_new_names *names); /* zeros are fine */

/* Replaces those of `count` hashes that are in the table; true if any was. RT safe. */
bool gw_name_table_give(const gw_name_table *table, uint64_t *names, int count);

#endif
