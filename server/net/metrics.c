/*
 * The loop's and the server's figures.
 */
#include "server/net/metrics.h"

#include <assert.h>
#include <stdio.h>

typedef struct metric {
    const char *name, *type, *help;
    double value;
} metric;

gw_text *metrics_text(gw_app *app, int connections, int streams)
{
    assert(app && connections >= 0 && streams >= 0);
    gw_snapshot now;
    gw_loop_figures loop;
    app_loop_figures(app, &loop);
    app_document *document = app_view(app, &now);
    const metric metrics[] = {
        {"guideway_tick", "gauge", "Ticks since the simulation was stopped", (double)now.tick},
        {"guideway_running", "gauge", "1 while the simulation runs", now.state == GW_RUNNING},
        {"guideway_halted", "gauge", "1 while halted", now.halted},
        {"guideway_revision", "counter", "Revision of the scene", (double)document->revision},
        {"guideway_rate_hertz", "gauge", "Rate of the loop", document->scene->rate},
        {"guideway_real_time", "gauge", "1 where real-time scheduling was granted", now.real_time},
        {"guideway_overruns_total", "counter", "Ticks late or too long", (double)now.overruns},
        {"guideway_missed_ticks_total", "counter", "Ticks that were due and not made",
         (double)now.missed},
        {"guideway_limited_ticks_total", "counter", "Ticks in which a clamp acted",
         (double)now.limited_ticks},
        {"guideway_tick_seconds_p50", "gauge", "Cost of a tick, median", 1e-6 * now.tick_us_p50},
        {"guideway_tick_seconds_p99", "gauge", "Cost of a tick", 1e-6 * now.tick_us_p99},
        {"guideway_tick_seconds_max", "gauge", "Cost of a tick", 1e-6 * now.tick_us_max},
        {"guideway_late_seconds_p50", "gauge", "Lateness of waking", 1e-6 * now.late_us_p50},
        {"guideway_late_seconds_p99", "gauge", "Lateness of waking", 1e-6 * now.late_us_p99},
        {"guideway_late_seconds_max", "gauge", "Lateness of waking", 1e-6 * now.late_us_max},
        {"guideway_contacts_put_off_total", "counter", "Collisions left to the next tick",
         (double)now.contact.put_off},
        {"guideway_looks_left_out_total", "counter", "Looks at bodies that a tick had no room for",
         (double)now.contact.redetections_skipped},
        {"guideway_detectors_built_total", "counter",
         "Collision detectors built: by edits that change solids",
         (double)app_detectors_built(app)},
        {"guideway_rt_thread_id", "gauge", "The loop's thread", loop.thread_id},
        {"guideway_ticks_total", "counter", "Ticks made, moving or not", (double)loop.ticks.ticks},
        {"guideway_tick_seconds_p999", "gauge", "Cost of a tick", 1e-6 * loop.ticks.tick_us.p999},
        {"guideway_late_seconds_p999", "gauge", "Lateness of waking",
         1e-6 * loop.ticks.late_us.p999},
        {"guideway_records_lost_total", "counter", "Ticks that readers of every tick did not get",
         (double)loop.records_lost},
        {"guideway_events_total", "counter", "Events logged", (double)app_log_last(app)},
        {"guideway_http_connections", "gauge", "HTTP connections open", connections},
        {"guideway_streams", "gauge", "Streams open", streams},
    };
    app_document_put(document);
    char body[16384];
    size_t used = 0;
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        used += (size_t)snprintf(body + used, sizeof body - used,
                                 "# HELP %s %s\n# TYPE %s %s\n%s %.9g\n", metrics[i].name,
                                 metrics[i].help, metrics[i].name, metrics[i].type, metrics[i].name,
                                 metrics[i].value);
    return text_format("%s", body);
}
