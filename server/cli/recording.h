/*
 * The MCAP file of `run --record`. Times count from the start; every message is JSON:
 *
 *   /samples  guideway.Sample          a tick: the columns of the stream of samples, by their names
 *   /poses    foxglove.FrameTransforms a tick: the frames of objects that are not fixed, and of
 * links /fixed    foxglove.FrameTransforms at the start: those of fixed objects /shapes
 * foxglove.SceneUpdate     at the start: what is drawn at each of these frames /events
 * guideway.Event           the loop's events, but those about its own timing /scene guideway.Scene
 * at the start: the document
 *
 * The schemas called foxglove are those that viewers of such files know (world frame "world").
 */
#ifndef GW_SERVER_CLI_RECORDING_H
#define GW_SERVER_CLI_RECORDING_H

#include <stdio.h>

#include "rt/guideway.h"

typedef struct recording recording;

/* Writes the messages of the start; `poses` are the world poses of the scene's objects. NULL:
 * memory. */
recording *recording_create(FILE *file, const gw_scene *scene, const gw_pose *poses);
void recording_destroy(recording *r); /* NULL is fine */

/* Writes a tick. */
void recording_row(recording *r, const gw_snapshot *snapshot, const gw_pose *poses);
void recording_event(recording *r, const gw_event *event);

/* Completes the file; false where memory was short, or it could not be written whole. */
bool recording_finish(recording *r);

#endif
