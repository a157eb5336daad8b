/*
 * What is looked at beside the loop. Collision detection: where bodies are goes out, what is near
 * comes in, each by a latest-value mailbox; and local models (locals.h). In the appliance a thread
 * of the loop's looks at its own rate; `run` looks between two ticks, so that it is deterministic.
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
    gw_local_models *locals;  /* looked at as well, outlive it; NULL: none */
    const gw_pose *poses;     /* of all bodies at tick 0; copied */
    const gw_twist *twists;   /* of their frames then; copied; NULL: all at rest */
    int moving;               /* bodies that gw_detection_publish() may name at once, at most */
    double period;            /* between two looks (s) */
    double tick;              /* of the loop (s) */
    double margin;            /* found beyond what may be reached (m) */
} gw_detection_def;

gw_detection *gw_detection_create(const gw_detection_def *def, gw_error *error);
void gw_detection_destroy(gw_detection *detection); /* NULL is fine; nobody looks any more */

/* What looks at pieces within a step. */
gw_narrow_phase gw_detection_looker(const gw_detection *detection);

double gw_detection_period(const gw_detection *detection);

/* The world's side: finds what is near the bodies as they were told last, looks at mechanisms. Any
 * thread but the loop's, one at a time. */
void gw_detection_run(gw_detection *detection);

/* The loop's side, RT safe: where these bodies are now. */
void gw_detection_publish(gw_detection *detection, const gw_detection_body *bodies, int count);

/* What was found since it was asked last, valid until the next call; NULL: nothing new. RT safe. */
const gw_contact_candidate *gw_detection_candidates(gw_detection *detection, int *count);

/* What is near at tick 0, which begins: what was told before is looked at in vain. RT safe. */
const gw_contact_candidate *gw_detection_start_candidates(gw_detection *detection, int *count);

#endif
