/*
 * The CSV of `run --bodies`: the state of all bodies that can move, one row for each tick.
 */
#ifndef GW_SERVER_CLI_BODIES_CSV_H
#define GW_SERVER_CLI_BODIES_CSV_H

#include <stdio.h>

#include "rt/guideway.h"

typedef struct bodies_csv bodies_csv;

/* Writes the header: t, then of every object that can move and every link ID.px .. ID.wz (frames of
 * the objects, world axes), then of every joint ID.q0 .. and ID.v0 .. NULL: memory. */
bodies_csv *bodies_csv_create(FILE *file, const gw_scene *scene, const gw_layout *layout);
void bodies_csv_destroy(bodies_csv *csv); /* NULL is fine */

/* Writes the row of a snapshot; `poses` are the world poses of the scene's objects. An object that
 * follows others without a mass has the mean twist since the row before. */
void bodies_csv_row(bodies_csv *csv, const gw_snapshot *snapshot, const gw_pose *poses);

#endif
