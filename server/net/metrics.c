/*
 * Figures of the loop and the server as Prometheus text.
 */
#include "server/net/metrics.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct metric {
    const char *name, *type, *help;
    double value;
} metric;

/* Writes, for each stage of a tick, its durations and the number of overruns that it caused. */
static void put_stages(const gw_tick_figures *ticks, text_builder *out)
{
    text_put_format(out, "# HELP guideway_stage_seconds What a stage of a tick takes\n"
                         "# TYPE guideway_stage_seconds summary\n");
    for (int i = 0; i < GW_STAGE_COUNT; i++) {
        const gw_quantiles *q = &ticks->stage_us[i];
        const double values[] = {q->p50, q->p99, q->p999};
        static const char *const names[] = {"0.5", "0.99", "0.999"};
        for (int k = 0; k < 3; k++)
            text_put_format(out, "guideway_stage_seconds{stage=\"%s\",quantile=\"%s\"} %.9g\n",
                            gw_stage_names[i], names[k], 1e-6 * values[k]);
    }
    text_put_format(out, "# HELP guideway_overruns_by_stage_total Overruns by the stage that "
                         "took longest\n# TYPE guideway_overruns_by_stage_total counter\n");
    for (int i = 0; i < GW_STAGE_COUNT; i++)
        text_put_format(out, "guideway_overruns_by_stage_total{stage=\"%s\"} %llu\n",
                        gw_stage_names[i], (unsigned long long)ticks->overruns_by[i]);
}

/* As Prometheus has it: counts of all that is at most `le` seconds. */
static void put_histogram(const char *name, const char *help, const gw_octaves *of,
                          text_builder *out)
{
    uint64_t sum = 0;
    text_put_format(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (int i = 0; i < of->count; i++) {
        char below[32] = "+Inf";
        if (i + 1 < of->count)
            snprintf(below, sizeof below, "%.9g", 1e-6 * of->at[i].below_us);
        sum += of->at[i].count;
        text_put_format(out, "%s_bucket{le=\"%s\"} %llu\n", name, below, (unsigned long long)sum);
    }
    text_put_format(out, "%s_sum %.9g\n%s_count %llu\n", name, 1e-6 * of->sum_us, name,
                    (unsigned long long)sum);
}

gw_text *metrics_text(gw_app *app, int connections, int streams)
{
    assert(app && connections >= 0 && streams >= 0);
    gw_snapshot *now = malloc(sizeof *now);
    if (!now)
        return NULL;
    gw_loop_figures loop;
    app_loop_figures(app, &loop);
    app_effort effort = app_edit_effort(app);
    app_document *document = app_read_state(app, now);
    const metric metrics[] = {
        {"guideway_tick", "gauge", "Ticks since the simulation was stopped", (double)now->tick},
        {"guideway_running", "gauge", "1 while the simulation runs", now->state == GW_RUNNING},
        {"guideway_halted", "gauge", "1 while halted", now->halted},
        {"guideway_revision", "counter", "Revision of the scene", (double)document->revision},
        {"guideway_rate_hertz", "gauge", "Rate of the loop", document->scene->rate},
        {"guideway_real_time", "gauge", "1 where real-time scheduling was granted", now->real_time},
        {"guideway_overruns_total", "counter", "Ticks late or too long", (double)now->overruns},
        {"guideway_missed_ticks_total", "counter", "Ticks that were due and not made",
         (double)now->missed},
        {"guideway_limited_ticks_total", "counter", "Ticks in which a clamp acted",
         (double)now->limited_ticks},
        {"guideway_tick_seconds_p50", "gauge", "Cost of a tick, median", 1e-6 * now->tick_us_p50},
        {"guideway_tick_seconds_p99", "gauge", "Cost of a tick", 1e-6 * now->tick_us_p99},
        {"guideway_tick_seconds_max", "gauge", "Cost of a tick", 1e-6 * now->tick_us_max},
        {"guideway_late_seconds_p50", "gauge", "Lateness of waking", 1e-6 * now->late_us_p50},
        {"guideway_late_seconds_p99", "gauge", "Lateness of waking", 1e-6 * now->late_us_p99},
        {"guideway_late_seconds_max", "gauge", "Lateness of waking", 1e-6 * now->late_us_max},
        {"guideway_contacts_put_off_total", "counter", "Collisions left to the next tick",
         (double)now->contact.deferred},
        {"guideway_looks_left_out_total", "counter",
         "Narrow-phase queries that a tick had no time for",
         (double)now->contact.redetections_skipped},
        {"guideway_detectors_built_total", "counter",
         "Collision detectors built: by edits that change solids", (double)effort.detectors},
        {"guideway_objects_solved_total", "counter",
         "Objects solved by edits: those whose problem is another one", (double)effort.solved},
        {"guideway_entries_written_total", "counter",
         "Objects, features and constraints written as text by edits: those that are others",
         (double)effort.written},
        {"guideway_rt_thread_id", "gauge", "The loop's thread", loop.thread_id},
        {"guideway_ticks_total", "counter", "Ticks made, moving or not", (double)loop.ticks.ticks},
        {"guideway_ticks_relieved_total", "counter",
         "Ticks made by the standby thread, as the first one was late", (double)loop.relieved},
        {"guideway_tick_seconds_p999", "gauge", "Cost of a tick", 1e-6 * loop.ticks.tick_us.p999},
        {"guideway_late_seconds_p999", "gauge", "Lateness of waking",
         1e-6 * loop.ticks.late_us.p999},
        {"guideway_records_lost_total", "counter", "Ticks that readers of every tick did not get",
         (double)loop.records_lost},
        {"guideway_events_lost_total", "counter", "Events of the loop that nobody took in time",
         (double)loop.events_lost},
        {"guideway_commands_refused_total", "counter", "Commands that found their ring full",
         (double)loop.commands_refused},
        {"guideway_sample_age_seconds", "gauge", "Since every device gave a valid sample",
         1e-6 * loop.sample_age_us},
        {"guideway_events_total", "counter", "Events logged", (double)app_log_last(app)},
        {"guideway_http_connections", "gauge", "HTTP connections open", connections},
        {"guideway_streams", "gauge", "Streams open", streams},
    };
    app_document_put(document);
    free(now);
    text_builder body = {0};
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        const metric *m = &metrics[i];
        text_put_format(&body, "# HELP %s %s\n", m->name, m->help);
        text_put_format(&body, "# TYPE %s %s\n%s %.9g\n", m->name, m->type, m->name, m->value);
    }
    put_histogram("guideway_late_seconds", "Lateness of waking", &loop.ticks.late, &body);
    put_histogram("guideway_tick_seconds", "Cost of a tick", &loop.ticks.tick, &body);
    put_stages(&loop.ticks, &body);
    return text_take(&body);
}
