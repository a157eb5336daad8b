/*
 * The app's side of the loop: commands in, snapshots and events out. The loop lock is held only for
 * a copy, so that readers of snapshots never wait for an edit.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/app/clock.h"
#include "server/app/private.h"
#include "server/schema/text.h"

#define ANSWER_WAIT_MS 500   /* for the loop to report a new run state */
#define STEP_WAIT_MS   30000 /* for the ticks of one request; the rest is then not computed */
#define STEP_MAX       1000000
#define STEP_WAITING   4 /* requests that wait for steps; each holds a worker */

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- commands and snapshots ---------------------------------------------------------------- */

void app_snapshot(gw_app *app, gw_snapshot *snapshot)
{
    assert(app && snapshot);
    pthread_mutex_lock(&app->loop_lock);
    gw_loop_snapshot(app->loop, snapshot);
    pthread_mutex_unlock(&app->loop_lock);
}

app_loop_state app_loop_now(gw_app *app)
{
    pthread_mutex_lock(&app->loop_lock);
    const gw_snapshot *s = gw_loop_latest(app->loop);
    app_loop_state now = {.tick = s->tick,
                          .scenario = s->scenario,
                          .time = s->time,
                          .state = s->state,
                          .halted = s->halted || gw_halt_latch_read(&app->halt, NULL),
                          .tool_count = s->tool_count,
                          .steps_left = s->steps_left,
                          .step_tag = s->step_tag,
                          .loops = app->loops};
    pthread_mutex_unlock(&app->loop_lock);
    return now;
}

bool app_dragged(gw_app *app, const app_document *document, int tool, int body)
{
    assert(document);
    int objects = document->scene->object_count;
    bool dragged = false;
    pthread_mutex_lock(&app->loop_lock);
    const gw_snapshot *s = gw_loop_latest(app->loop);
    bool match = s->scenario == document->scenario;
    if (match && body < 0)
        dragged = tool >= 0 && tool < s->tool_count && s->tools[tool].dragging;
    if (match && body >= objects && body - objects < s->joint_count)
        dragged = s->link_dragged[body - objects];
    for (int i = 0; match && body >= 0 && i < s->free_count; i++)
        dragged = dragged || (s->free[i].object == body && s->free[i].dragging);
    pthread_mutex_unlock(&app->loop_lock);
    return dragged;
}

bool app_tell_links(gw_app *app)
{
    return app_send_command(app, &(gw_command){.kind = GW_COMMAND_REPORT_LINKS}, NULL);
}

bool app_send(gw_app *app, const gw_command *command, gw_error *error)
{
    assert(app && command);
    int tools = app_loop_now(app).tool_count;
    if (!command->object[0] && (command->tool < 0 || command->tool >= tools))
        return gw_fail(error, GW_NOT_FOUND, "/tool", "there is no tool %d: the scene has %d",
                       command->tool, tools);
    return app_send_command(app, command, error);
}

static bool has_reached(gw_app *app, gw_run_state state)
{
    app_loop_state now = app_loop_now(app);
    return now.state == state && (state != GW_STOPPED || now.tick == 0);
}

/* Sends the state to the loop, and waits. Under the `stating` lock: another request would take the
 * loop to its state before this one sees its own. */
static bool change_state(gw_app *app, gw_run_state state, gw_error *error)
{
    if (app_loop_now(app).halted && state == GW_RUNNING)
        return gw_fail(error, GW_CONFLICT, "/state",
                       "halted: nothing moves until POST /api/v1/simulation/arm");
    pthread_mutex_lock(&app->edit);
    if (state == GW_STOPPED)
        app_lay_out_again(app);
    unsigned loops = app_loop_now(app).loops;
    bool sent =
        app_send_command(app, &(gw_command){.kind = GW_COMMAND_STATE, .state = state}, error);
    pthread_mutex_unlock(&app->edit);
    if (!sent)
        return false;
    for (int waited_ms = 0; waited_ms < ANSWER_WAIT_MS; waited_ms++) {
        if (has_reached(app, state))
            return true;
        if (app_loop_now(app).loops != loops)
            return gw_fail(error, GW_CONFLICT, "/state", "another scene was opened meanwhile");
        if (state == GW_RUNNING && app_loop_now(app).halted)
            return gw_fail(error, GW_CONFLICT, "/state",
                           "halted meanwhile: nothing moves until POST /api/v1/simulation/arm");
        sleep_ms(1);
    }
    return gw_fail(error, GW_FAILED, "", "the loop did not take the state within %d ms",
                   ANSWER_WAIT_MS);
}

bool app_set_state(gw_app *app, gw_run_state state, gw_error *error)
{
    assert(app);
    pthread_mutex_lock(&app->stating);
    bool changed = change_state(app, state, error);
    pthread_mutex_unlock(&app->stating);
    return changed;
}

static bool may_step(const app_loop_state *now, gw_error *error)
{
    if (now->halted)
        return gw_fail(error, GW_CONFLICT, "", "halted: nothing moves until armed");
    if (now->state != GW_PAUSED)
        return gw_fail(error, GW_CONFLICT, "", "steps are made while paused: pause first");
    return true;
}

/* Has the loop compute the ticks, and waits. Under the `stepping` lock. */
static bool make_ticks(gw_app *app, uint64_t ticks, gw_error *error)
{
    app_loop_state before = app_loop_now(app), now = before;
    gw_command command = {.kind = GW_COMMAND_STEP, .ticks = ticks, .tag = ++app->steps_asked};
    if (!may_step(&before, error) || !app_send_command(app, &command, error))
        return false;
    for (int waited_ms = 0; waited_ms < STEP_WAIT_MS && !atomic_load(&app->ending); waited_ms++) {
        now = app_loop_now(app);
        if (now.loops != before.loops ||
            (now.step_tag == command.tag && (now.steps_left == 0 || now.halted)))
            break;
        sleep_ms(1);
    }
    bool replaced = now.loops != before.loops;
    uint64_t made = now.tick > before.tick && !replaced ? now.tick - before.tick : 0;
    if (made >= ticks)
        return true;
    bool slow = now.steps_left > 0 && !now.halted;
    command.ticks = 0;
    (void)app_send_command(app, &command, error);
    return gw_fail(error, GW_CONFLICT, "", "%s after %llu of %llu ticks",
                   atomic_load(&app->ending) ? "the server ends"
                   : replaced                ? "another scene was opened"
                   : slow                    ? "30 s are over: ask for fewer, it was stopped"
                   : now.halted              ? "halted"
                                             : "stopped by somebody else",
                   (unsigned long long)made, (unsigned long long)ticks);
}

void app_end(gw_app *app)
{
    assert(app);
    atomic_store(&app->ending, true);
}

bool app_step(gw_app *app, uint64_t ticks, gw_error *error)
{
    assert(app);
    if (ticks < 1 || ticks > STEP_MAX)
        return gw_fail(error, GW_BAD_INPUT, "/ticks", "1 to %d ticks at once", STEP_MAX);
    if (atomic_fetch_add(&app->steps_waiting, 1) >= STEP_WAITING) {
        atomic_fetch_sub(&app->steps_waiting, 1);
        return gw_fail(error, GW_CONFLICT, "", "%d requests of steps wait already", STEP_WAITING);
    }
    pthread_mutex_lock(&app->stepping);
    bool made = make_ticks(app, ticks, error);
    pthread_mutex_unlock(&app->stepping);
    atomic_fetch_sub(&app->steps_waiting, 1);
    return made;
}

/* ---- halting and arming -------------------------------------------------------------------- */

/* One press of HALT as a word: the hash of its name above the second in which it arrived. */
#define SECOND_MASK 0xfffffull

static unsigned long long halt_word_of_press(const char *press)
{
    unsigned long long hash = text_hash(TEXT_HASH, press, strlen(press));
    return (hash & ~SECOND_MASK) | ((unsigned long long)clock_ms() / 1000 & SECOND_MASK);
}

/* True where a press of this name was carried out within APP_PRESS_S. Takes no lock; any thread. */
static bool is_carried_out(const gw_app *app, unsigned long long word)
{
    for (int i = 0; i < APP_PRESSES; i++) {
        unsigned long long known = atomic_load(&app->pressed[i]);
        if ((known & ~SECOND_MASK) == (word & ~SECOND_MASK) &&
            ((word - known) & SECOND_MASK) <= APP_PRESS_S)
            return true;
    }
    return false;
}

bool app_halt_latch(gw_app *app, const char *press, const char *by)
{
    assert(app && by);
    unsigned long long word = press ? halt_word_of_press(press) : 0;
    if (press && is_carried_out(app, word))
        return false;
    atomic_store(&app->halted_ms, clock_ms());
    gw_halt_latch_halt(&app->halt, GW_HALT_SOFTWARE, by);
    if (press)
        atomic_store(&app->pressed[atomic_fetch_add(&app->presses, 1) % APP_PRESSES], word);
    return true;
}

gw_halt_state app_halt_state(const gw_app *app)
{
    return gw_halt_latch_state(&app->halt);
}

void app_halt_await(gw_app *app)
{
    assert(app);
    for (int tries = 0; tries < 5 * APP_HALT_WAIT_MS; tries++) {
        if (!gw_halt_latch_read(&app->halt, NULL) || gw_halt_latch_in_effect(&app->halt))
            return;
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
}

gw_halt_word app_halt_seen(const gw_app *app)
{
    return gw_halt_latch_now(&app->halt);
}

/* Waits until the halt has stood for APP_HALT_STANDS_MS, so that all devices were off. */
static void wait_until_armable(gw_app *app)
{
    gw_halt_record record;
    while (gw_halt_latch_read(&app->halt, &record)) {
        int64_t first_ms = record.steady_ns / 1000000, newest_ms = atomic_load(&app->halted_ms);
        int64_t since_ms = first_ms > newest_ms ? first_ms : newest_ms;
        int64_t left_ms = since_ms + APP_HALT_STANDS_MS - clock_ms();
        if (left_ms <= 0)
            return;
        sleep_ms((long)left_ms);
    }
}

static bool arm_devices(gw_app *app, gw_halt_word seen, const char *by, gw_error *error)
{
    wait_until_armable(app);
    pthread_mutex_lock(&app->log);
    snprintf(app->armed_by, sizeof app->armed_by, "%s", by);
    pthread_mutex_unlock(&app->log);
    if (!gw_halt_latch_arm(&app->halt, seen))
        return gw_fail(error, GW_CONFLICT, "", "somebody halted at the same time: it stays halted");
    for (int waited_ms = 0; waited_ms < ANSWER_WAIT_MS; waited_ms++) {
        gw_halt_record record;
        if (!app_loop_now(app).halted)
            return true;
        if (gw_halt_latch_read(&app->halt, &record))
            return gw_fail(error, GW_CONFLICT, "", "armed, and halted again at once (%s) by %s",
                           gw_halt_cause_names[record.cause], record.by);
        sleep_ms(1);
    }
    return gw_fail(error, GW_FAILED, "", "the loop did not answer within %d ms", ANSWER_WAIT_MS);
}

bool app_arm(gw_app *app, gw_halt_word seen, const char *by, gw_error *error)
{
    assert(app && by);
    if (!app_loop_now(app).halted)
        return true;
    if (atomic_exchange(&app->arming, true))
        return gw_fail(error, GW_CONFLICT, "", "somebody else is arming at this moment");
    bool armed = arm_devices(app, seen, by, error);
    atomic_store(&app->arming, false);
    return armed;
}

/* ---- events of the loop -------------------------------------------------------------------- */

/* Closes the devices that no scenario of the loop uses. Under the loop lock. */
static void close_retired(gw_app *app)
{
    if (app->retired_count == 0)
        return;
    uint64_t scenario = gw_loop_latest(app->loop)->scenario;
    int kept = 0;
    gw_loop_release_devices(app->loop);
    for (int i = 0; i < app->retired_count; i++) {
        if (scenario >= app->retired[i].revision)
            gw_device_slot_close(app->retired[i].slot);
        else
            app->retired[kept++] = app->retired[i];
    }
    app->retired_count = kept;
}

bool app_take_events(gw_app *app)
{
    assert(app);
    gw_event events[32];
    int count = 0;
    pthread_mutex_lock(&app->loop_lock);
    while (count < 32 && gw_loop_event(app->loop, &events[count]))
        count++;
    pthread_mutex_unlock(&app->loop_lock);
    if (count == 0 && !app_log_due(app))
        return false;
    app_document *document = app_document_get(app);
    for (int i = 0; i < count; i++)
        app_log_loop(app, &events[i], document);
    app_log_floods(app, document);
    app_document_put(document);
    return count > 0;
}

void app_collect(gw_app *app)
{
    assert(app);
    pthread_mutex_lock(&app->loop_lock);
    gw_loop_collect(app->loop);
    close_retired(app);
    pthread_mutex_unlock(&app->loop_lock);
}

void app_record(gw_app *app, bool on)
{
    pthread_mutex_lock(&app->loop_lock);
    app->recording = on;
    gw_loop_record(app->loop, on);
    pthread_mutex_unlock(&app->loop_lock);
}

int app_records(gw_app *app, gw_snapshot *records, int capacity, uint64_t *lost)
{
    assert(records && capacity > 0 && lost);
    pthread_mutex_lock(&app->loop_lock);
    int count = gw_loop_records(app->loop, records, capacity, lost);
    pthread_mutex_unlock(&app->loop_lock);
    return count;
}

void app_loop_figures(gw_app *app, gw_loop_figures *figures)
{
    assert(app && figures);
    pthread_mutex_lock(&app->loop_lock);
    gw_loop_figures_read(app->loop, figures);
    pthread_mutex_unlock(&app->loop_lock);
}
