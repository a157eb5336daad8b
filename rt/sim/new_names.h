/*
 * Entries of a scene that have another id than in the scenario before. What goes on from one
 * scenario to the next is found by the hash of its id (gw_name_hash()), so the former scenario is
 * given the new hashes first. Written when a scenario is built, read by the loop's thread.
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

/* Hashes of bodies and of what is stated of them, and of joints, whose ids are others' too. */
typedef struct gw_new_names {
    gw_name_table bodies, joints;
} gw_new_names;

/* False with an error where memory is short. */
bool gw_new_names_create(gw_new_names *names, const gw_scenario_def *def, gw_error *error);
void gw_new_names_destroy(gw_new_names *names); /* zeros are fine */

/* Gives new hashes to those of `count` names that have one; whether any has. RT safe. */
bool gw_name_table_give(const gw_name_table *table, uint64_t *names, int count);

#endif
