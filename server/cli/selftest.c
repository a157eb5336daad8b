/*
 * `guideway selftest`: checks that this machine can run a loop. A scene runs in real time as
 * `serve` would run it, beside a bare probe: a thread of the same priority that only sleeps until
 * its deadlines. The probe's lateness is due to the machine, the excess of the loop's is due to the
 * program. The probe alone (`--bare`) gives no verdict: it is for comparison with another program's
 * loop.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/guideway.h"
#include "server/app/clock.h"
#include "server/cli/command.h"
#include "server/schema/wire.h"

#define SCENE        "cone-on-cylinder"
#define WORSE_FACTOR 1.5   /* times the probe's lateness, plus */
#define WORSE_US     20.0  /* us, is the limit of the loop's lateness */
#define ON_TIME      0.999 /* least share of ticks on time, */
#define ON_TIME_FAST 0.998 /* and from FAST_HZ on */
#define FAST_HZ      2000
#define HALF         0.5 /* of a period: if the probe wakes later, the machine is unfit */
#define SETTLE_MS    300 /* before measurements begin */

/* ---- the probe ---------------------------------------------------------------------------------
 */

typedef struct probe {
    pthread_t thread;
    int rate, priority; /* 0: best effort */
    int64_t begin_ns;
    size_t count, missed;
    atomic_size_t due;
    double *late_us; /* of every wake-up */
} probe;

static void *run_probe(void *context)
{
    probe *p = context;
    const int64_t period = 1000000000 / p->rate;
    struct sched_param priority = {.sched_priority = p->priority};
    if (p->priority > 0)
        (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    int64_t deadline = p->begin_ns;
    while (p->count + p->missed < p->due) {
        struct timespec t = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
            ;
        int64_t late = clock_ns() - deadline, missed = late / period;
        p->late_us[p->count++] = 1e-3 * (double)late;
        p->missed += (size_t)missed;
        deadline += period * (1 + missed);
    }
    return NULL;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static gw_quantiles quantiles_of(double *values, size_t count)
{
    if (count == 0)
        return (gw_quantiles){0};
    qsort(values, count, sizeof *values, compare_doubles);
    double n = (double)count;
    return (gw_quantiles){.p50 = values[(size_t)(0.5 * n)],
                          .p90 = values[(size_t)(0.9 * n)],
                          .p99 = values[(size_t)(0.99 * n)],
                          .p999 = values[(size_t)(0.999 * n)],
                          .max = values[count - 1]};
}

/* ---- the loop ----------------------------------------------------------------------------------
 */

typedef struct rig {
    gw_scene *scene;
    gw_layout *layout;
    gw_device_slot *slots[GW_MAX_DEVICES];
    int slot_count;
    gw_loop *loop;
} rig;

static void finish_rig(rig *r)
{
    gw_loop_destroy(r->loop);
    for (int i = 0; i < r->slot_count; i++)
        gw_device_slot_close(r->slots[i]);
    gw_layout_destroy(r->layout);
    gw_scene_destroy(r->scene);
}

static bool start_rig(rig *r, const char *name, int rate, gw_error *error)
{
    r->scene = command_scene(name, error);
    if (r->scene && rate > 0)
        r->scene->rate = rate;
    r->layout = r->scene && gw_scene_check(r->scene, error)
                    ? gw_layout_create(r->scene, NULL, error)
                    : NULL;
    if (!r->layout)
        return false;
    if (gw_layout_unsolved(r->layout))
        return gw_fail(error, GW_INCOMPATIBLE, "/constraints", "the scene cannot be put together");
    for (int i = 0; i < r->scene->device_count; i++) {
        r->slots[i] =
            gw_device_slot_open(&r->scene->devices[i], gw_scene_step_rate(r->scene), error);
        if (!r->slots[i])
            return false;
        r->slot_count++;
    }
    gw_scenario_def scenario = {.scene = r->scene,
                                .layout = r->layout,
                                .slots = r->slots,
                                .slot_count = r->slot_count,
                                .revision = 1,
                                .rehearsed = true};
    gw_loop_def def = gw_loop_def_default();
    def.rate = r->scene->rate;
    def.scenario = gw_scenario_create(&scenario, error);
    r->loop = def.scenario ? gw_loop_create(&def, error) : NULL;
    return r->loop &&
           gw_loop_send(r->loop, &(gw_command){.kind = GW_COMMAND_STATE, .state = GW_RUNNING});
}

/* Waits until `until_ns` and discards the loop's events (NULL: there is no loop). */
static void attend_loop(gw_loop *loop, int64_t until_ns)
{
    gw_event event;
    while (clock_ns() < until_ns && !command_interrupted()) {
        while (loop && gw_loop_event(loop, &event))
            ;
        if (loop)
            gw_loop_collect(loop);
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
}

/* ---- the verdict -------------------------------------------------------------------------------
 */

typedef struct findings {
    gw_loop_figures loop;
    gw_quantiles probe;
    double loop_on_time, probe_on_time; /* share of the ticks */
    char words[600];
    bool fit;
} findings;

static void find_fault(findings *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void find_fault(findings *f, const char *format, ...)
{
    size_t used = strlen(f->words);
    va_list list;
    f->fit = false;
    used += (size_t)snprintf(f->words + used, sizeof f->words - used, "%s", used ? "; " : "");
    va_start(list, format);
    if (used < sizeof f->words)
        vsnprintf(f->words + used, sizeof f->words - used, format, list);
    va_end(list);
}

static void compare_quantile(findings *f, const char *quantile, double loop, double bare)
{
    double most = WORSE_FACTOR * bare + WORSE_US;
    if (loop > most)
        find_fault(f, "the loop wakes %.0f us late (%s), %.0f are due to the machine", loop,
                   quantile, bare);
}

static void judge_findings(findings *f)
{
    double period_us = 1e6 / f->loop.rate;
    double due = f->loop.rate >= FAST_HZ ? ON_TIME_FAST : ON_TIME;
    f->fit = true;
    if (f->loop.priority == 0)
        find_fault(f, "real-time scheduling is not granted (SCHED_FIFO: run as root, or set "
                      "rtprio): best effort");
    if (f->probe.p999 > HALF * period_us)
        find_fault(f, "the machine itself wakes a bare thread %.0f us late (p99.9)", f->probe.p999);
    compare_quantile(f, "p99", f->loop.ticks.late_us.p99, f->probe.p99);
    compare_quantile(f, "p99.9", f->loop.ticks.late_us.p999, f->probe.p999);
    if (f->loop_on_time < due)
        find_fault(f, "%.2f %% of the ticks are made, %.1f %% are asked for", 100 * f->loop_on_time,
                   100 * due);
    if (f->loop.ticks.tick_us.p99 > 0.6 * period_us)
        find_fault(f, "a tick takes %.0f us (p99) of %.0f", f->loop.ticks.tick_us.p99, period_us);
    if (f->fit)
        snprintf(f->words, sizeof f->words,
                 "fit for %d Hz: woken %.0f us late (p99.9), a bare thread %.0f", f->loop.rate,
                 f->loop.ticks.late_us.p999, f->probe.p999);
}

static int report_findings(const findings *f, double seconds)
{
    json_t *json = json_pack(
        "{ss ss si sf so so so so}", "verdict", f->fit ? "fit" : "unfit", "words", f->words, "rate",
        f->loop.rate, "seconds", seconds, "scheduling",
        json_string(f->loop.priority > 0 ? "fifo" : "best effort"), "machine",
        json_pack("{sb sb}", "memory_locked", f->loop.memory_locked, "kept_awake",
                  f->loop.kept_awake),
        "loop",
        json_pack("{sI sI sf so so}", "ticks", (json_int_t)f->loop.ticks.ticks, "missed",
                  (json_int_t)f->loop.ticks.missed, "on_time", f->loop_on_time, "late_us",
                  wire_quantiles(&f->loop.ticks.late_us), "tick_us",
                  wire_quantiles(&f->loop.ticks.tick_us)),
        "probe",
        json_pack("{sf so}", "on_time", f->probe_on_time, "late_us", wire_quantiles(&f->probe)));
    gw_text *text = wire_text(json);
    if (!text) {
        fputs("guideway: no memory for the verdict\n", stderr);
        return EXIT_WORK_FAILED;
    }
    int printed = command_print(text->data);
    text_unref(text);
    fprintf(stderr, "guideway: %s: %s\n", f->fit ? "fit" : "unfit", f->words);
    return printed == EXIT_DONE && f->fit ? EXIT_DONE : EXIT_WORK_FAILED;
}

/* Runs the probe for `seconds`; false where the system refuses a thread. */
static bool run_probe_beside(rig *r, probe *p, double seconds, findings *f, gw_error *error)
{
    p->due = (size_t)(seconds * p->rate);
    p->begin_ns = clock_ns() + 1500000000 / p->rate; /* between two of the loop's deadlines */
    p->late_us = calloc(p->due + 1, sizeof *p->late_us);
    if (!p->late_us)
        return gw_fail(error, GW_FAILED, "", "no memory for so many wakes");
    if (pthread_create(&p->thread, NULL, run_probe, p) != 0) {
        free(p->late_us);
        return gw_fail(error, GW_FAILED, "", "the system refuses a thread");
    }
    attend_loop(r->loop, p->begin_ns + (int64_t)(1e9 * seconds));
    if (command_interrupted())
        p->due = 0;
    pthread_join(p->thread, NULL);
    f->probe_on_time = p->count ? (double)p->count / (double)(p->count + p->missed) : 0;
    f->probe = quantiles_of(p->late_us, p->count);
    free(p->late_us);
    return !command_interrupted() || gw_fail(error, GW_FAILED, "", "interrupted");
}

/* Runs probe and loop side by side; false with an error where the system refuses something. */
static bool measure_side_by_side(rig *r, double seconds, findings *f, gw_error *error)
{
    probe p = {.rate = r->scene->rate};
    gw_loop_figures before;
    attend_loop(r->loop, clock_ns() + SETTLE_MS * 1000000LL);
    gw_loop_figures_read(r->loop, &before);
    p.priority = before.priority;
    if (!run_probe_beside(r, &p, seconds, f, error))
        return false;
    gw_loop_figures_read(r->loop, &f->loop);
    uint64_t ticks = f->loop.ticks.ticks, missed = f->loop.ticks.missed;
    f->loop_on_time = ticks ? (double)ticks / (double)(ticks + missed) : 0;
    return true;
}

/* `selftest --bare`: the lateness of a bare thread of the loop's priority. */
static int probe_alone(double seconds, int rate)
{
    rig none = {0};
    findings f = {0};
    gw_error error = {0};
    probe p = {.rate = rate > 0 ? rate : 1000, .priority = gw_loop_def_default().priority};
    if (!run_probe_beside(&none, &p, seconds, &f, &error))
        return command_error("selftest", &error);
    gw_text *text =
        wire_text(json_pack("{si sf sf so}", "rate", p.rate, "seconds", seconds, "on_time",
                            f.probe_on_time, "late_us", wire_quantiles(&f.probe)));
    int printed = text ? command_print(text->data) : EXIT_WORK_FAILED;
    text_unref(text);
    return printed;
}

int command_selftest(const command_line *line)
{
    rig r = {0};
    findings f = {0};
    gw_error error = {0};
    const char *scene = line->argument ? line->argument : SCENE;
    double seconds = command_number(line, "seconds", 10);
    int rate = (int)command_number(line, "rate", 0);
    command_catch();
    if (command_value(line, "bare"))
        return probe_alone(seconds, rate);
    bool done = start_rig(&r, scene, rate, &error) && measure_side_by_side(&r, seconds, &f, &error);
    finish_rig(&r);
    if (!done && !error.code)
        gw_fail(&error, GW_FAILED, "", "the loop did not start");
    if (!done)
        return command_error(scene, &error);
    judge_findings(&f);
    return report_findings(&f, seconds);
}
