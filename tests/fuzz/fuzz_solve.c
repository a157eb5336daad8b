/*
 * One input for the solver, judged: bytes that begin with a brace are the JSON of a problem and go
 * the way of `guideway solve`; all others are a coded problem (coded.h). What is untrue is told
 * with its JSON and ends the process. Entry points are those of libFuzzer; replay.c calls the first
 * of them without it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/positioning/solver.h"
#include "server/schema/wire.h"
#include "tests/fuzz/coded.h"
#include "tests/oracle/judge.h"
#include "tests/oracle/making.h"
#include "tests/oracle/oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#define SAMPLES 4
/* An answer's work is bounded to some 20 ms, or 150 ms on free-form shapes (rt/positioning README),
 * ten times that with sanitizers. What takes longer is measured again beside six distances, which
 * take 30 000 units of work: what else the machine does is no fault of the solver's. Twice the
 * bound, gw_work_limit(), is too much. */
#define MOST_SECONDS   0.5
#define REFERENCE_WORK 30000

static void fail(const gw_problem *p, const char *what, double number)
{
    fprintf(stderr, "untrue: %s (%.17g)\n", what, number);
    making_print(stderr, p);
    abort();
}

static double seconds_used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least of some times. */
static double solving_seconds(const gw_problem *p, gw_solution *answer)
{
    double least = HUGE_VAL;
    for (int k = 0; k < 5; k++) {
        double start = seconds_used();
        gw_solve(p, answer);
        least = fmin(least, seconds_used() - start);
    }
    return least;
}

/* Six points at distances from six others: 40 roots. */
static double reference_seconds(gw_solution *answer)
{
    gw_constraint c[6] = {{.kind = GW_DISTANCE}};
    for (int i = 0; i < 6; i++) {
        c[i] = (gw_constraint){.kind = GW_DISTANCE, .value = 1 + 0.1 * i};
        c[i].mobile.p = gw_v3(cos(i + 0.1 * i * i), sin(i + 0.2), 0.3 * cos(3.0 * i));
        c[i].fixed.p = gw_v3(cos(i + 0.3), sin(i - 0.1 * i * i), 1 + 0.2 * sin(2.0 * i));
    }
    gw_problem p = {gw_pose_identity(), 1, 6, c};
    return solving_seconds(&p, answer);
}

/* Too long for the work that is promised to be the most, or 0. */
static double overtime(const gw_problem *p)
{
    static gw_solution answer;
    double used = solving_seconds(p, &answer);
    double references = 2.0 * (double)gw_work_limit(p) / REFERENCE_WORK;
    return used > references * reference_seconds(&answer) ? used : 0;
}

/* All text that an answer can be turned into. */
static void read_out(const gw_solution *s)
{
    char text[512];
    for (int i = 0; i < s->branch_count; i++)
        gw_submanifold_description(&s->branches[i].set, NULL, text, sizeof text);
    if (s->status == GW_STATUS_INCOMPATIBLE)
        gw_conflict_description(&s->conflict, NULL, text, sizeof text);
}

/* `hidden` satisfies all, or is NULL. */
static void judge_problem(const gw_problem *p, const gw_pose *hidden)
{
    static gw_solution answer;
    gw_error error;
    unsigned long long random = 1;
    double number = 0;
    if (!gw_problem_check(p, &error))
        return;
    double start = seconds_used();
    gw_solve(p, &answer);
    double used = seconds_used() - start;
    if (used > MOST_SECONDS && overtime(p) > 0)
        fail(p, "time", used);
    read_out(&answer);
    const char *what = judge_sound(p, &answer, SAMPLES, &random, &number);
    if (what)
        fail(p, what, number);
    if (hidden && answer.status == GW_STATUS_INCOMPATIBLE)
        fail(p, "refused", oracle_worst(p, ~0ul, oracle_size(p), hidden, NULL));
}

/* ---- by JSON --------------------------------------------------------------------------------- */

/* False with an error where it is no problem. */
static bool judge_json(const char *text, size_t size, gw_error *error)
{
    json_t *json = wire_parse(text, size, error);
    wire_problem *p = json ? wire_get_problem(json, error) : NULL;
    bool read = p != NULL;
    if (read) {
        judge_problem(wire_problem_stated(p), NULL);
        json_t *answer = wire_solve(p, error);
        bool answered = answer != NULL;
        gw_text *out = wire_text(answer);
        if (answered && !out)
            fail(wire_problem_stated(p), "an answer that is no JSON", 0);
        text_unref(out);
    }
    wire_problem_destroy(p);
    json_decref(json);
    return read;
}

static void send_by_json(const gw_problem *p)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    making_print(f, p);
    fclose(f);
    gw_error error = {0};
    if (!judge_json(text, size, &error) && strstr(error.message, "unknown member"))
        fail(p, "written with a member that is not read", 0);
    free(text);
}

/* ---- entry points ---------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static coded_problem coded;
    static bool ready;
    if (!ready)
        wire_watch_memory();
    ready = true;
    if (size > 0 && data[0] == '{') {
        gw_error error = {0};
        judge_json((const char *)data, size, &error);
        return 0;
    }
    coded_read(data, size, &coded);
    const gw_problem *p = &coded.problem;
    bool holds = oracle_worst(p, ~0ul, oracle_size(p), &coded.hidden, NULL) < ORACLE_ROOT;
    judge_problem(p, holds ? &coded.hidden : NULL);
    if (coded.by_json)
        send_by_json(p);
    return 0;
}

#ifdef GW_WITH_LIBFUZZER
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    bool json = size > 0 && data[0] == '{';
    if (json || seed % 3 == 0)
        return LLVMFuzzerMutate(data, size, most);
    size_t changed = size;
    for (unsigned k = 0; k <= seed / 3 % 3; k++)
        changed = coded_mutate(data, changed, most, seed + k);
    return changed;
}
#endif
