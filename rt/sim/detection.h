/*
 * Collision detection beside the loop: poses of bodies go out, contact candidates come in, each by
 * a latest-value mailbox; and local models (local_models.h). The loop has a thread that runs it,
 * `run` calls it between two ticks.
 *
 * So that no bit depends on when the thread runs, ticks are counted: bodies go out in every P-th
 * tick that moves something, P the detection's period in ticks, and the candidates found among them
 * are taken up in a tick fixed beforehand, before the next go out (a millisecond later and more, by
 * how many bodies there are); local models a millisecond after their joints went out. Who steps
 * sees to it that they are there by then (gw_detection_ready()).
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
    double period;            /* between two runs (s), rounded down to ticks, one at least */
    double tick;              /* of the loop (s) */
    double margin;            /* added to what may be reached (m) */
} gw_detection_def;

gw_detection *gw_detection_create(const gw_detection_def *def, gw_error *error);
void gw_detection_destroy(gw_detection *detection); /* NULL is fine; not while it runs */

/* The narrow phase for queries within a step. */
gw_narrow_phase gw_detection_narrow_phase(const gw_detection *detection);

/* Its detector, NULL where nothing touches. */
const gw_detector *gw_detection_detector(const gw_detection *detection);

/* The world's side: finds the candidates among the bodies that went out last, updates local models;
 * nothing where it has done so. Any thread but the loop's, one at a time. */
void gw_detection_run(gw_detection *detection);

/* The loop's side, RT safe. */

typedef struct gw_detection_turn {
    bool takes;        /* candidates are taken up in this tick */
    bool takes_models; /* local models are */
    bool asks;         /* bodies go out */
    bool overdue;      /* the tick is made without what it was to take up; that is taken up as soon
                          as it comes */
} gw_detection_turn;

/* A tick that moves something begins. */
gw_detection_turn gw_detection_begin_tick(gw_detection *detection);

/* False where the coming tick is to take up what is not there yet. */
bool gw_detection_ready(const gw_detection *detection);

/* True from a tick that was made without what it was to take up to one that finds it in time. */
bool gw_detection_overdue(const gw_detection *detection);

/* True once after bodies went out: there is something to run for. */
bool gw_detection_asked(gw_detection *detection);

/* What is found among the bodies that go out next is taken up one tick later. */
void gw_detection_expedite(gw_detection *detection);

/* In a tick that asks: the present poses of these bodies. */
void gw_detection_publish(gw_detection *detection, const gw_detection_body *bodies, int count);

/* In a tick that takes: the candidates, valid until the next; NULL: none since tick 0. */
const gw_contact_candidate *gw_detection_candidates(gw_detection *detection, int *count);

/* Tick 0 is to come: what is found of earlier poses is discarded. */
void gw_detection_restart(gw_detection *detection);

/* Candidates at tick 0. */
const gw_contact_candidate *gw_detection_start_candidates(const gw_detection *detection,
                                                          int *count);

#endif
