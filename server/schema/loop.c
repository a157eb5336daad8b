/*
 * The loop: the scheduling that the system grants it, and the timing of its ticks.
 */
#include "server/schema/field.h"

#define QUANTILE(member) NUMBER, AT(gw_quantiles, member)

static const wire_field of_quantiles[] = {{"p50", QUANTILE(p50)}, {"p90", QUANTILE(p90)},
                                          {"p99", QUANTILE(p99)}, {"p999", QUANTILE(p999)},
                                          {"max", QUANTILE(max)}, {0}};
static const wire_table wire_table_quantiles = {.name = "Quantiles",
                                                .about = "Of all ticks, within 4.5 %; us.",
                                                .fields = of_quantiles,
                                                .answered = true};

ENCODER(quantiles, gw_quantiles)

#define STAGE(index)   OBJECT, AT(gw_tick_figures, stage_us[index]), .table = &wire_table_quantiles
#define CULPRIT(index) WHOLE, AT(gw_tick_figures, overruns_by[index])

static const wire_field of_stages[] = {
    {"commands", STAGE(GW_STAGE_COMMANDS)},
    {"device", STAGE(GW_STAGE_DEVICE), .about = "operators, reading devices, control's first half"},
    {"geometry", STAGE(GW_STAGE_GEOMETRY), .about = "what moves by itself, what is published"},
    {"dynamics", STAGE(GW_STAGE_DYNAMICS), .about = "the step, contacts, followers"},
    {"control", STAGE(GW_STAGE_CONTROL), .about = "commands to devices, through the last gate"},
    {"publish", STAGE(GW_STAGE_PUBLISH)},
    {0}};
static const wire_table stages_table = {.name = "Stages",
                                        .about = "What the stages of a tick take; us.",
                                        .fields = of_stages,
                                        .answered = true};

static const wire_field of_overruns_by[] = {
    {"wake", CULPRIT(GW_STAGE_WAKE), .about = "the loop was woken late"},
    {"commands", CULPRIT(GW_STAGE_COMMANDS)},
    {"device", CULPRIT(GW_STAGE_DEVICE)},
    {"geometry", CULPRIT(GW_STAGE_GEOMETRY)},
    {"dynamics", CULPRIT(GW_STAGE_DYNAMICS)},
    {"control", CULPRIT(GW_STAGE_CONTROL)},
    {"publish", CULPRIT(GW_STAGE_PUBLISH)},
    {0}};
static const wire_table overruns_by_table = {.name = "OverrunsBy",
                                             .about = "Overruns by the stage that took longest.",
                                             .fields = of_overruns_by,
                                             .answered = true};

WHEN(has_sample, gw_loop_figures, it->sample_age_us > 0)
WHEN(is_pinned, gw_loop_figures, it->placement.pinned)

static const wire_field of_worst_tick[] = {
    {"tick", WHOLE, AT(gw_worst_tick, tick)},
    {"late_us", NUMBER, AT(gw_worst_tick, late_us), .about = "lateness of waking"},
    {"tick_us", NUMBER, AT(gw_worst_tick, tick_us), .about = "what it took"},
    {"stage", CHOICE, AT(gw_worst_tick, stage), .choices = gw_stage_names,
     .about = "that took longest"},
    {"at", UTC, AT(gw_worst_tick, at_ns), .about = "when it ended: UTC, ISO 8601"},
    {0}};
static const wire_table worst_tick_table = {
    .name = "WorstTick", .fields = of_worst_tick, .answered = true};

static const wire_field of_octave[] = {{"below_us", NUMBER, AT(gw_octave, below_us),
                                        .about = "and not below half of it; of the first "
                                                 "one: all below, of the last: all above"},
                                       {"count", WHOLE, AT(gw_octave, count)},
                                       {0}};
static const wire_table octave_table = {.name = "Octave",
                                        .about = "Ticks of a histogram, by factors of two.",
                                        .fields = of_octave,
                                        .answered = true};

static const char *const schedulings[] = {"best effort", "fifo", NULL};

ENCODE(encode_scheduling)
{
    return json_string(schedulings[((const gw_loop_figures *)owner)->priority > 0]);
}

ENCODE(encode_period)
{
    return json_real(1e6 / ((const gw_loop_figures *)owner)->rate);
}

static const wire_type scheduling = {NULL, encode_scheduling, wire_schema_choice};
static const wire_type period = {NULL, encode_period, wire_schema_number};

#define FIGURE(member) AT(gw_loop_figures, member)
#define OCTAVES(member)                                                                            \
    LIST_WITHIN, FIGURE(ticks.member.at), .table = &octave_table,                                  \
                                          COUNTED(gw_loop_figures, ticks.member.count, gw_octave), \
                                          .most = GW_HISTOGRAM_OCTAVES

static const wire_field of_loop_figures[] = {
    {"rate", WHOLE, FIGURE(rate), .unit = "Hz"},
    {"period_us", &period, .unit = "us"},
    {"scheduling", &scheduling, .choices = schedulings,
     .about = "fifo where real-time scheduling was granted"},
    {"priority", WHOLE, FIGURE(priority), .about = "of SCHED_FIFO, 0: best effort"},
    {"memory_locked", BOOLEAN, FIGURE(memory_locked)},
    {"kept_awake", BOOLEAN, FIGURE(kept_awake),
     .about = "processors do not sleep deeply: while devices may exert force"},
    {"thread", WHOLE, FIGURE(thread_id)},
    {"processor", WHOLE, FIGURE(placement.processor), .flags = SOMETIMES, .when = is_pinned,
     .about = "that the loop's thread is pinned to by `serve --processor`"},
    {"spin_us", WHOLE, FIGURE(placement.spin_us), .about = "awake for so long before a deadline",
     .unit = "us"},
    {"ticks", WHOLE, FIGURE(ticks.ticks), .about = "made, moving or not, since the loop began"},
    {"missed", WHOLE, FIGURE(ticks.missed), .about = "due and not made"},
    {"overruns", WHOLE, FIGURE(ticks.overruns), .about = "late or too long"},
    {"relieved", WHOLE, FIGURE(relieved),
     .about = "made by a second thread, on another processor, as the first one was late"},
    {"records_lost", WHOLE, FIGURE(records_lost),
     .about = "ticks that readers of every tick did not get"},
    {"events_lost", WHOLE, FIGURE(events_lost), .about = "that nobody took in time"},
    {"commands_refused", WHOLE, FIGURE(commands_refused), .about = "while their ring was full"},
    {"sample_age_us", NUMBER, FIGURE(sample_age_us), .flags = SOMETIMES, .when = has_sample,
     .about = "since every device gave a valid sample"},
    {"stages", OBJECT, FIGURE(ticks), .table = &stages_table},
    {"overruns_by", OBJECT, FIGURE(ticks), .table = &overruns_by_table},
    {"late_us", OBJECT, FIGURE(ticks.late_us), .table = &wire_table_quantiles,
     .about = "lateness of waking"},
    {"tick_us", OBJECT, FIGURE(ticks.tick_us), .table = &wire_table_quantiles,
     .about = "what a tick takes"},
    {"late_histogram", OCTAVES(late), .about = "lateness of waking"},
    {"tick_histogram", OCTAVES(tick), .about = "what a tick takes"},
    {"worst", LIST_WITHIN, FIGURE(ticks.worst), .table = &worst_tick_table,
     COUNTED(gw_loop_figures, ticks.worst_count, gw_worst_tick), .most = GW_WORST_TICKS,
     .about = "by lateness and what it took"},
    {0}};
const wire_table wire_table_loop_figures = {.name = "LoopFigures",
                                            .about = "Brought up to date every 64 ticks.",
                                            .fields = of_loop_figures,
                                            .answered = true};

json_t *wire_loop_figures(const gw_loop_figures *figures)
{
    return wire_encode(&wire_table_loop_figures, figures, &(wire_context){.clamp = true});
}
