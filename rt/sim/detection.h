/*
 * Collision detection beside the loop: poses of bodies go out, contact candidates come in, each by
 * a latest-value mailbox; and local models (locals.h). The loop has a thread that runs it at its
 * own rate; `run` calls it between two ticks, so that it is deterministic.
 */
#ifndef GW_SIM_DETECTION_H
#define GW_SIM_DETECTION_H

#include "rt/collision/detector.h"
#include "rt/contact/world.h"
#include "rt/sim/local_models.h"

/* A body that moves. */
typedef struct gw_detection_body {
    int body; /* index in the world */
    gw_pose pose;
    gw_twist twist;
} gw_detection_body;

typedef struct gw_detection gw_detection;

typedef struct gw_detection_def {
    gw_detector_def detector; /* no bodies: nothing touches, there is none */
    const gw_detector *like;  /* a detector of the same solids to share them with; NULL: none */
    gw_local_models *locals;  /* updated as well, outlive it; NULL: none */
    const gw_pose *poses;     /* of all bodies at tick 0; copied */
    const gw_twist *twists;   /* of their frames then; copied; NULL: all at rest */
    int moving;               /* bodies that gw_detection_publish() may name at once, at most */
    double period;            /* between two runs (s) */
    double tick;              /* of the loop (s) */
    double margin;            /* added to what may be reached (m) */
} gw_detection_def;

gw_detection *gw_detection_create(const gw_detection_def *def, gw_error *error);
void gw_detection_destroy(gw_detection *detection); /* NULL is fine; not while it runs */

/* The narrow phase for queries within a step. */
gw_narrow_phase gw_detection_narrow_phase(const gw_detection *detection);

/* Its detector, NULL where nothing touches. */
const gw_detector *gw_detection_detector(const gw_detection *detection);

double gw_detection_period(const gw_detection *detection);

/* The world's side: finds the candidates among the bodies at their newest poses, updates local
 * models. Any thread but the loop's, one at a time. */
void gw_detection_run(gw_detection *detection);

/* The loop's side, RT safe: the present poses of these bodies. */
void gw_detection_publish(gw_detection *detection, const gw_detection_body *bodies, int count);

/* Candidates that are newer than those of the last call, valid until the next; NULL: none. RT safe.
 */
const gw_contact_candidate *gw_detection_candidates(gw_detection *detection, int *count);

/* Candidates at tick 0, which begins: what is found of earlier poses is discarded. RT safe. */
const gw_contact_candidate *gw_detection_start_candidates(gw_detection *detection, int *count);

#endif
