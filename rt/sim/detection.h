/*
 * Asynchronous collision detection: the loop publishes poses of bodies and takes over contact
 * candidates, each through a latest-value mailbox; it also updates local models (local_models.h).
 * In the server a thread of the loop runs it; the command `run` calls it between two ticks.
 *
 * Results must not depend on when the thread runs, so both happen in fixed ticks: poses are
 * published in every P-th moving tick, P the detection's period in ticks, and the candidates found
 * for them are taken over in a tick fixed beforehand, before the next publication (at least a
 * millisecond later, more with many bodies); local models a millisecond after their joints'
 * positions were published. The owner of the clock waits until they are there
 * (gw_detection_ready()).
 */
#ifndef GW_SIM_DETECTION_H
#define GW_SIM_DETECTION_H

#include "rt/collision/detector.h"
#include "rt/contact/world.h"
#include "rt/sim/local_models.h"

/* State of a moving body when it is published. */
typedef struct gw_detection_body {
    int body; /* index in the world */
    gw_pose pose;
    gw_twist twist;
} gw_detection_body;

typedef struct gw_detection gw_detection;

typedef struct gw_detection_def {
    gw_detector_def detector; /* without bodies: there is no detector */
    const gw_detector
        *like; /* a detector with the same solids, which are then shared; NULL: none */
    gw_local_models *locals; /* updated as well; outlive the detection; NULL: none */
    const gw_pose *poses;    /* of all bodies at tick 0; copied */
    const gw_twist *twists; /* of their origins at tick 0 (world axes); copied; NULL: all at rest */
    int moving;             /* largest number of bodies in gw_detection_publish() */
    double period;          /* between two runs (s), rounded down to ticks, one at least */
    double tick;            /* of the loop (s) */
    double margin;          /* added to the distance that bodies may move (m) */
} gw_detection_def;

gw_detection *gw_detection_create(const gw_detection_def *def, gw_error *error);
void gw_detection_destroy(gw_detection *detection); /* NULL is fine; not while it runs */

/* The narrow phase for queries within a step. */
gw_narrow_phase gw_detection_narrow_phase(const gw_detection *detection);

/* Its detector; NULL without contacts. */
const gw_detector *gw_detection_detector(const gw_detection *detection);

/* On the world's thread: finds the candidates for the last published poses and updates local
 * models; does nothing if that is done. Any thread but the loop's, one at a time. */
void gw_detection_run(gw_detection *detection);

/* The loop's side, RT safe. */

typedef struct gw_detection_turn {
    bool takes;        /* candidates are taken over in this tick */
    bool takes_models; /* local models are taken over in this tick */
    bool asks;         /* bodies are published in this tick */
    bool overdue; /* the results due in this tick are not there; they are taken over as soon as they
                     are */
} gw_detection_turn;

/* Begins a moving tick. */
gw_detection_turn gw_detection_begin_tick(gw_detection *detection);

/* False where the next tick is to take over results that are not there yet. */
bool gw_detection_ready(const gw_detection *detection);

/* True from a tick whose results were late until one whose results are in time. */
bool gw_detection_overdue(const gw_detection *detection);

/* True once after bodies were published: gw_detection_run() is due. */
bool gw_detection_asked(gw_detection *detection);

/* The candidates for the next publication are taken over one tick later. */
void gw_detection_expedite(gw_detection *detection);

/* In a tick that `asks`: publishes the present state of these bodies. */
void gw_detection_publish(gw_detection *detection, const gw_detection_body *bodies, int count);

/* In a tick that `takes`: the candidates, valid until the next such tick; NULL: none since tick
 * 0. */
const gw_contact_candidate *gw_detection_candidates(gw_detection *detection, int *count);

/* Before tick 0: discards results for earlier poses. */
void gw_detection_restart(gw_detection *detection);

/* Candidates at tick 0. */
const gw_contact_candidate *gw_detection_start_candidates(const gw_detection *detection,
                                                          int *count);

#endif
