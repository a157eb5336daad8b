/*
 * Events: the loop's events as sentences, and the schema of an event in answers.
 */
#include <assert.h>
#include <string.h>

#include "server/schema/field.h"

/* ---- the shape ----------------------------------------------------------------------------- */

static const char *const event_kinds[] = {
    "active",      "state",      "settled",    "limited",     "halted",   "armed",    "overrun",
    "device-lost", "not-finite", "bound",      "left-behind", "singular", "operator", "saved",
    "opened",      "task",       "jammed",     "withheld",    "crowded",  "strained", "unbooked",
    "unrendered",  "edge",       "degenerate", "projected",   "storage",  "request",  "token",
    "lease",       "edit",       "overdue",    NULL};
static const char *const severities[] = {"info", "warning", "error", NULL};
static const wire_field of_event[] = {
    {"seq", WHOLE},
    {"time", NUMBER, .about = "of the simulation", .unit = "s"},
    {"tick", WHOLE},
    {"at", NUMBER, .unit = "seconds since 1970"},
    {"kind", CHOICE, .choices = event_kinds},
    {"severity", CHOICE, .choices = severities},
    {"message", TEXT},
    {"revision", WHOLE, .flags = SOMETIMES},
    {"state", CHOICE, .flags = SOMETIMES, .choices = wire_run_states},
    {"tool", WHOLE, .flags = SOMETIMES},
    {"object", ID, .flags = SOMETIMES},
    {"constraint", ID, .flags = SOMETIMES},
    {"joint", ID, .flags = SOMETIMES, .about = "that begins elsewhere than stated"},
    {"stated", NUMBER, .flags = SOMETIMES, .about = "position of the joint", .unit = "m, rad"},
    {"actual", NUMBER, .flags = SOMETIMES, .about = "position of the joint", .unit = "m, rad"},
    {"over_us", NUMBER, .flags = SOMETIMES},
    {"stage", TEXT, .flags = SOMETIMES, .about = "of a tick that was late or too long"},
    {"withheld", NUMBER, .flags = SOMETIMES, .unit = "N s; the most of one tick"},
    {"energy", NUMBER, .flags = SOMETIMES,
     .about = "that the energy audit misses, or a desired mass gave; negative: that it took",
     .unit = "J"},
    {"cause", TEXT, .flags = SOMETIMES, .about = "of a halt"},
    {"by", TEXT, .flags = SOMETIMES, .about = "who halted, who armed"},
    {"count", WHOLE, .flags = SOMETIMES,
     .about = "how many of these happened since the one before"},
    {0}};
const wire_table wire_table_event = {.name = "Event", .fields = of_event, .answered = true};

/* ---- the loop's events in words ------------------------------------------------------------- */

typedef struct kind_words {
    const char *kind, *severity, *message;
} kind_words;

static const kind_words words_of[] = {
    [GW_EVENT_ACTIVE] = {"active", "info", "The edit is in effect."},
    [GW_EVENT_STATE] = {"state", "info", "The simulation is %s."},
    [GW_EVENT_SETTLED] = {"settled", "info", "%s has arrived on its constraints."},
    [GW_EVENT_LIMITED] = {"limited", "warning", "A limit holds %s back."},
    [GW_EVENT_HALTED] = {"halted", "warning", "Halted: nothing moves until armed."},
    [GW_EVENT_ARMED] = {"armed", "info", "Armed again."},
    [GW_EVENT_OVERRUN] = {"overrun", "warning", "A tick was late or took too long."},
    [GW_EVENT_DEVICE_LOST] = {"device-lost", "error", "The device of %s is silent: at rest."},
    [GW_EVENT_NOT_FINITE] = {"not-finite", "error", "The step of %s failed: it is held."},
    [GW_EVENT_MOVED] = {"active", "info", "The edit is in effect."},
    [GW_EVENT_BOUND] = {"bound", "warning", "What follows can go no farther: the hand is stopped."},
    [GW_EVENT_SINGULAR] = {"singular", "info",
                           "%s passes a singular point of its constraints: more than one way leads "
                           "on from there."},
    [GW_EVENT_LEFT_BEHIND] = {"left-behind", "warning",
                              "The moved geometry has no place for %s on its branch: it stays on "
                              "the former constraints."},
    [GW_EVENT_JAMMED] = {"jammed", "warning",
                         "A contact stands where its body cannot move out of it."},
    [GW_EVENT_CROWDED] = {"crowded", "warning",
                          "More collides at once than a tick bears: some of it waits for the next "
                          "one, up to 1 mm deep."},
    [GW_EVENT_STRAINED] = {"strained", "warning",
                           "A mechanism has outrun its local model, or the world's thread is late: "
                           "it is braked until it has been looked at again."},
    [GW_EVENT_OVERDUE] =
        {"overdue", "warning",
         "Collision detection is late: contacts go on as they were last found, and "
         "from here on the bits are not those of run."},
    [GW_EVENT_UNBOOKED] =
        {"unbooked", "warning",
         "A step of the linkage could not account for a part of its energy: stiff "
         "springs or limits and light bodies ask for a higher rate."},
    [GW_EVENT_UNRENDERED] =
        {"unrendered", "warning",
         "The desired mass at %s cannot be felt passively with what moves beyond "
         "it: bodies gained energy from it, or lost some (energy below 0)."},
    [GW_EVENT_PROJECTED] = {"projected", "warning",
                            "%s begins elsewhere, or with another velocity than stated: its "
                            "relations do not allow that."},
    [GW_EVENT_EDGE] = {"edge", "info",
                       "%s has come to the edge of a free-form shape, or to where its offset "
                       "folds, which stops it."},
    [GW_EVENT_DEGENERATE] =
        {"degenerate", "warning",
         "The contact of %s ends here: curves or surfaces bend alike, or have no common normal, "
         "over an edge say, or one body is on the wrong side of the other: a free-form surface "
         "faces along its normal, Su x Sv, and with \"inside\" against it. A contact that is kept "
         "stops, one that may part is not kept."},
    [GW_EVENT_WITHHELD] = {"withheld", "warning",
                           "The device's limits dropped a part of an impulse on %s."},
};

static const char *object_of(const gw_event *event, const gw_scene *scene)
{
    if (event->tool >= 0 && event->tool < scene->tool_count)
        return gw_tool_held_id(&scene->tools[event->tool]);
    bool named = event->tool < 0 && event->object >= 0 && event->object < scene->object_count;
    bool link = event->tool < 0 && event->object >= scene->object_count;
    return named ? scene->objects[event->object].id : link ? "A mechanism" : "the tool";
}

/* The id of the event's constraint; NULL where it has none. */
static const char *constraint_of(const gw_event *event, const gw_scene *scene)
{
    bool known = event->constraint > 0 && event->constraint <= scene->constraint_count;
    return known ? scene->constraints[event->constraint - 1].id : NULL;
}

/* The id of the joint that begins elsewhere than stated; NULL where there is none. */
static const char *joint_of(const gw_event *event, const gw_scene *scene)
{
    bool known = event->joint > 0 && event->joint <= scene->joint_count;
    return known ? scene->joints[event->joint - 1].id : NULL;
}

/* The event's sentence, with the name inserted where it has a place for one. */
static json_t *message_of(const gw_event *event, const char *object, const char *joint)
{
    if (event->kind == GW_EVENT_PROJECTED && joint)
        return json_sprintf("%s begins elsewhere than stated: joint %s is at %.6g instead of "
                            "%.6g, as its relations do not allow that.",
                            object, joint, event->value, event->stated);
    const char *words = words_of[event->kind].message, *hole = strstr(words, "%s");
    const char *name = event->kind == GW_EVENT_STATE ? wire_run_states[event->state] : object;
    return hole ? json_sprintf("%.*s%s%s", (int)(hole - words), words, name, hole + 2)
                : json_string(words);
}

static void add_details(json_t *json, const gw_event *event)
{
    switch (event->kind) {
    case GW_EVENT_ACTIVE:
    case GW_EVENT_MOVED:
        wire_add(json, "revision",
                 json_integer((json_int_t)(event->tag ? event->tag : event->revision)));
        break;
    case GW_EVENT_STATE:
        wire_add(json, "state", json_string(wire_run_states[event->state]));
        break;
    case GW_EVENT_OVERRUN:
        wire_add(json, "over_us", json_real(event->value));
        wire_add(json, "stage", json_string(gw_stage_names[event->stage]));
        break;
    case GW_EVENT_WITHHELD:
        wire_add(json, "withheld", json_real(event->value));
        break;
    case GW_EVENT_UNBOOKED:
    case GW_EVENT_UNRENDERED:
        wire_add(json, "energy", json_real(event->value));
        break;
    case GW_EVENT_SETTLED:
    case GW_EVENT_LIMITED:
    case GW_EVENT_HALTED:
    case GW_EVENT_ARMED:
    case GW_EVENT_DEVICE_LOST:
    case GW_EVENT_NOT_FINITE:
    case GW_EVENT_MOTION_ENDED:
    case GW_EVENT_BOUND:
    case GW_EVENT_SINGULAR:
    case GW_EVENT_LEFT_BEHIND:
    case GW_EVENT_JAMMED:
    case GW_EVENT_CROWDED:
    case GW_EVENT_STRAINED:
    case GW_EVENT_OVERDUE:
    case GW_EVENT_PROJECTED:
    case GW_EVENT_EDGE:
    case GW_EVENT_DEGENERATE:
        break;
    }
}

json_t *wire_event(const gw_event *event, const gw_scene *scene, unsigned counted)
{
    assert(event && scene && event->kind < sizeof words_of / sizeof words_of[0]);
    const kind_words *words = &words_of[event->kind];
    if (!words->kind)
        return NULL;
    const char *object = object_of(event, scene), *constraint = constraint_of(event, scene);
    const char *joint = joint_of(event, scene);
    const char *about = constraint && event->kind == GW_EVENT_DEGENERATE ? constraint : object;
    bool named = event->kind != GW_EVENT_STATE && strstr(words->message, "%s");
    json_t *json = json_pack("{s:f, s:I, s:s, s:s, s:o}", "time", (double)event->tick / scene->rate,
                             "tick", (json_int_t)event->tick, "kind", words->kind, "severity",
                             words->severity, "message", message_of(event, about, joint));
    if (!json)
        return NULL;
    if (named && event->tool >= 0)
        wire_add(json, "tool", json_integer(event->tool));
    else if (named && event->object >= 0)
        wire_add(json, "object", json_string(object));
    if (constraint)
        wire_add(json, "constraint", json_string(constraint));
    if (joint) {
        wire_add(json, "joint", json_string(joint));
        wire_add(json, "stated", json_real(event->stated));
        wire_add(json, "actual", json_real(event->value));
    }
    add_details(json, event);
    if (counted > 1)
        wire_add(json, "count", json_integer(counted));
    return json;
}
