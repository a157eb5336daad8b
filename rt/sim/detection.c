/*
 * The two mailboxes between loop and detector, and their messages.
 */
#include "rt/sim/detection.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base/mailbox.h"

/* Results should be taken over early. The delay from a message to its result: the rest of the tick,
 * waking the thread, and ten times the detection's duration on a fast machine. */
#define THREAD_WAKES  1e-3  /* s */
#define BODY_DETECTED 20e-6 /* s per moving body */

#define DRIVEN 20.0 /* bound of the relative acceleration of bodies (m/s^2) */

/* Messages of the mailboxes: a count, then that many entries. */
typedef struct body_message {
    uint64_t number; /* of the message */
    int count;
    gw_detection_body body[];
} body_message;

typedef struct candidate_message {
    uint64_t number; /* of the body message that they were found for */
    int count, lost;
    gw_contact_candidate candidates[GW_MAX_CONTACT_CANDIDATES];
} candidate_message;

/* The result of a message. */
typedef struct gw_detection_answer {
    atomic_ullong number; /* number of the newest message with a result */
    uint64_t due;         /* the tick in which it is due; used by the loop only */
    bool awaited;         /* likewise */
} gw_detection_answer;

struct gw_detection {
    gw_detector *detector;   /* NULL: nothing touches */
    gw_local_models *locals; /* NULL: none */
    int body_count, moving;
    double period, tick, margin;
    gw_pose *poses; /* per body, as of the last detection */
    gw_twist *twists;
    gw_mailbox bodies, found;
    body_message *outgoing, *received; /* the loop's and the world's copies */
    candidate_message newest, start;
    bool detected;          /* `newest` was found for `poses` and `twists`, with */
    double detected_margin; /* this margin (m) */
    gw_detection_answer candidates, models;
    unsigned char *memory; /* of the mailboxes */
    /* used by the loop only */
    uint64_t number, since; /* number of the last message; of the first valid one */
    uint64_t every;         /* ticks between two messages */
    uint64_t candidates_after, models_after; /* ticks from a message until its results are due */
    uint64_t now, next; /* moving ticks since tick 0; tick of the next message */
    bool told, soon, overdue;
};

static size_t body_message_bytes(int moving)
{
    return sizeof(body_message) + (size_t)moving * sizeof(gw_detection_body);
}

static bool take_memory(gw_detection *d)
{
    size_t bytes = body_message_bytes(d->moving), bodies = (size_t)d->body_count;
    d->poses = calloc(bodies + 1, sizeof *d->poses);
    d->twists = calloc(bodies + 1, sizeof *d->twists);
    d->outgoing = calloc(1, bytes);
    d->received = calloc(1, bytes);
    d->memory = calloc(3, bytes + sizeof(candidate_message));
    return d->poses && d->twists && d->outgoing && d->received && d->memory;
}

/* The largest speed of a body in the last message (m/s). */
static double largest_speed(const gw_detection *d)
{
    double most = 0;
    for (int i = 0; i < d->received->count; i++)
        most = fmax(most, gw_norm(d->received->body[i].twist.v));
    return most;
}

/* Takes over the bodies of the newest message; false if nothing has changed. */
static bool take_bodies(gw_detection *d)
{
    bool changed = false;
    for (int i = 0; i < d->received->count; i++) {
        const gw_detection_body *b = &d->received->body[i];
        changed = changed || memcmp(&d->poses[b->body], &b->pose, sizeof b->pose) != 0 ||
                  memcmp(&d->twists[b->body], &b->twist, sizeof b->twist) != 0;
        d->poses[b->body] = b->pose;
        d->twists[b->body] = b->twist;
    }
    return changed;
}

/* Finds candidates. They are taken over within a period and used for another one; the margin covers
 * accelerations by hands and gravity in that time, and a body that is hit and continues at the
 * speed of the fastest one. If no body has moved the candidates are kept. */
static void run_detection(gw_detection *d)
{
    bool changed = take_bodies(d);
    double horizon = 2 * (d->period + d->tick),
           margin = d->margin + 0.5 * horizon * (DRIVEN * horizon + largest_speed(d));
    if (changed || !d->detected || margin != d->detected_margin)
        d->newest.count =
            gw_detect(d->detector, d->poses, d->twists, horizon, margin, d->newest.candidates,
                      GW_MAX_CONTACT_CANDIDATES, &d->newest.lost);
    d->detected = d->newest.lost == 0;
    d->detected_margin = margin;
    d->newest.number = d->received->number;
    gw_mailbox_write_head(&d->found, &d->newest,
                          offsetof(candidate_message, candidates) +
                              (size_t)d->newest.count * sizeof d->newest.candidates[0]);
}

static uint64_t ticks_of(double seconds, double tick)
{
    double ticks = tick > 0 ? floor(seconds / tick + 1e-9) : 1;
    return ticks > 1 ? (uint64_t)ticks : 1;
}

gw_detection *gw_detection_create(const gw_detection_def *def, gw_error *error)
{
    assert(def->period > 0 && def->moving >= 0);
    gw_detection *d = aligned_alloc(64, (sizeof *d + 63) & ~(size_t)63);
    if (!d) {
        gw_fail(error, GW_FAILED, "", "no memory for detection");
        return NULL;
    }
    memset(d, 0, sizeof *d);
    d->body_count = def->detector.body_count;
    d->moving = def->moving;
    d->period = def->period;
    d->tick = def->tick;
    d->margin = def->margin;
    d->locals = def->locals;
    d->every = ticks_of(def->period, def->tick);
    d->models_after = ticks_of(fmin(THREAD_WAKES, def->period), def->tick);
    uint64_t takes = 1 + ticks_of(THREAD_WAKES + BODY_DETECTED * def->moving, def->tick);
    d->candidates_after = takes < d->every ? takes : d->every;
    if (!take_memory(d)) {
        gw_fail(error, GW_FAILED, "", "no memory for detection");
        goto fail;
    }
    gw_mailbox_init(&d->bodies, d->memory, body_message_bytes(d->moving), d->outgoing);
    if (d->body_count == 0)
        return d;
    d->detector = def->like ? gw_detector_share(def->like, &def->detector, error)
                            : gw_detector_create(&def->detector, error);
    if (!d->detector)
        goto fail;
    memcpy(d->poses, def->poses, (size_t)d->body_count * sizeof *d->poses);
    if (def->twists)
        memcpy(d->twists, def->twists, (size_t)d->body_count * sizeof *d->twists);
    gw_mailbox_init(&d->found, d->memory + 3 * body_message_bytes(d->moving), sizeof d->newest,
                    &d->newest);
    run_detection(d);
    d->start = d->newest;
    return d;
fail:
    gw_detection_destroy(d);
    return NULL;
}

void gw_detection_destroy(gw_detection *d)
{
    if (!d)
        return;
    gw_detector_destroy(d->detector);
    free(d->memory);
    free(d->received);
    free(d->outgoing);
    free(d->twists);
    free(d->poses);
    free(d);
}

gw_narrow_phase gw_detection_narrow_phase(const gw_detection *d)
{
    return (gw_narrow_phase){d->detector, gw_detector_bounding_sphere, gw_detect_pair,
                             gw_detector_query_cost, gw_detector_breaking_distance};
}

const gw_detector *gw_detection_detector(const gw_detection *d)
{
    return d->detector;
}

void gw_detection_run(gw_detection *d)
{
    if (!gw_mailbox_read(&d->bodies, d->received))
        return;
    if (d->locals)
        gw_local_models_update(d->locals);
    atomic_store_explicit(&d->models.number, d->received->number, memory_order_release);
    if (d->detector)
        run_detection(d);
    atomic_store_explicit(&d->candidates.number, d->received->number, memory_order_release);
}

/* ---- the loop's side ------------------------------------------------------------------------ */

/* True if a result is due in the coming tick or earlier; and if it is there. */
static bool is_due(const gw_detection *d, const gw_detection_answer *answer)
{
    return answer->awaited && d->now >= answer->due;
}

static bool is_ready(const gw_detection *d, const gw_detection_answer *answer)
{
    return atomic_load_explicit(&answer->number, memory_order_acquire) >= d->number;
}

/* True if a result is taken over in this tick; *overdue: it is due, but missing. */
static bool take_answer(const gw_detection *d, gw_detection_answer *answer, bool *overdue)
{
    bool due = is_due(d, answer), takes = due && is_ready(d, answer);
    *overdue = *overdue || (due && !takes);
    answer->awaited = answer->awaited && !takes;
    return takes;
}

static void await_answer(const gw_detection *d, gw_detection_answer *answer, uint64_t ticks)
{
    answer->awaited = true;
    answer->due = d->now + (d->soon ? 1 : ticks);
}

bool gw_detection_ready(const gw_detection *d)
{
    return (!is_due(d, &d->candidates) || is_ready(d, &d->candidates)) &&
           (!is_due(d, &d->models) || is_ready(d, &d->models));
}

gw_detection_turn gw_detection_begin_tick(gw_detection *d)
{
    gw_detection_turn turn = {0};
    bool due = is_due(d, &d->candidates), late = due && d->now > d->candidates.due;
    turn.takes_models = take_answer(d, &d->models, &turn.overdue);
    turn.takes = take_answer(d, &d->candidates, &turn.overdue);
    if (due || turn.overdue)
        d->overdue = turn.overdue || late;
    turn.asks = !d->candidates.awaited && !d->models.awaited && d->now >= d->next;
    if (turn.asks) {
        await_answer(d, &d->candidates, d->candidates_after);
        if (d->locals)
            await_answer(d, &d->models, d->models_after);
        d->next = d->soon ? d->candidates.due : d->now + d->every;
        d->soon = false;
    }
    d->now++;
    return turn;
}

bool gw_detection_overdue(const gw_detection *d)
{
    return d->overdue;
}

bool gw_detection_asked(gw_detection *d)
{
    bool asked = !d->told;
    d->told = true;
    return asked && d->candidates.awaited;
}

void gw_detection_expedite(gw_detection *d)
{
    d->soon = true;
}

void gw_detection_publish(gw_detection *d, const gw_detection_body *bodies, int count)
{
    assert(d && count >= 0 && (count == 0 || bodies));
    d->outgoing->number = ++d->number;
    d->outgoing->count = count < d->moving ? count : d->moving;
    memcpy(d->outgoing->body, bodies, (size_t)d->outgoing->count * sizeof *bodies);
    gw_mailbox_write_head(&d->bodies, d->outgoing, body_message_bytes(d->outgoing->count));
    d->told = false;
}

const gw_contact_candidate *gw_detection_candidates(gw_detection *d, int *count)
{
    assert(d && count);
    const candidate_message *found =
        gw_mailbox_take(&d->found); /* in place, as it may have a hundred kB */
    if (found->number < d->since)
        return NULL;
    *count = found->count;
    return found->candidates;
}

void gw_detection_restart(gw_detection *d)
{
    d->since = d->number + 1;
    d->now = d->next = 0;
    d->candidates.awaited = d->models.awaited = d->soon = d->overdue = false;
}

const gw_contact_candidate *gw_detection_start_candidates(const gw_detection *d, int *count)
{
    *count = d->start.count;
    return d->start.candidates;
}
