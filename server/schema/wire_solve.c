/*
 * The `solve` request and its answer. Any server thread; no state.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/schema/wire_base.h"

struct wire_problem {
    gw_problem problem;
    gw_constraint constraints[GW_MAX_PROBLEM];
    char ids[GW_MAX_PROBLEM][GW_MAX_ID + 1];
    const char *id[GW_MAX_PROBLEM];
    int samples;
    unsigned long long seed;
    char at_branch[16]; /* "at": its branch; empty where there is none */
    json_t *at_rows;    /* and its parameters, a reference */
};

/* ---- the request --------------------------------------------------------------------------- */

static bool get_mobile(const json_t *v, wire_problem *p, gw_error *error)
{
    static const char *const allowed[] = {"pose", "length", NULL};
    const json_t *mobile = json_object_get(v, "mobile");
    if (!mobile)
        return true;
    if (!wire_open(mobile, "/mobile", allowed, error) ||
        !wire_pose_member(mobile, "/mobile", "pose", &p->problem.pose, error) ||
        !wire_number(mobile, "/mobile", "length", WIRE_OPTIONAL, &p->problem.length, error))
        return false;
    return p->problem.length > 0 ||
           gw_fail(error, GW_BAD_INPUT, "/mobile/length",
                   "length: is %g, must be greater than 0 (m)", p->problem.length);
}

static bool get_side(const json_t *v, const char *at, const char *name, gw_element *e,
                     gw_error *error)
{
    static const char *const allowed[] = {"point", "line", "plane", NULL};
    const json_t *side;
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    return wire_member(v, at, name, WIRE_REQUIRED, &side, error) &&
           wire_open(side, where, allowed, error) && wire_get_element(side, where, e, error);
}

static bool get_constraint(const json_t *v, const char *at, gw_constraint *c, char *id,
                           gw_error *error)
{
    static const char *const allowed[] = {"id", "type", "mobile", "fixed", "value", "sense", NULL};
    int kind = 0, sense = GW_EITHER;
    char where[WIRE_POINTER];
    if (!wire_open(v, at, allowed, error) || !wire_id(v, at, "id", id, error) ||
        !wire_choice(v, at, "type", WIRE_REQUIRED, wire_constraint_types, &kind, error) ||
        !wire_choice(v, at, "sense", WIRE_OPTIONAL, wire_senses, &sense, error) ||
        !wire_number(v, at, "value", WIRE_OPTIONAL, &c->value, error) ||
        !get_side(v, at, "mobile", &c->mobile, error) ||
        !get_side(v, at, "fixed", &c->fixed, error))
        return false;
    c->kind = (gw_constraint_kind)kind;
    c->sense = (gw_sense)sense;
    if (gw_constraint_has_value(c->kind) || c->value == 0)
        return true;
    wire_pointer(where, at, "value");
    return gw_fail(error, GW_BAD_INPUT, where,
                   "The value is %g, but only a distance (m) and an angle (rad) have one: leave it "
                   "out, or make the type one of these.",
                   c->value);
}

/* Ids that were left out get made; all must be well formed and different. */
static bool settle_ids(wire_problem *p, gw_error *error)
{
    for (int i = 0; i < p->problem.count; i++) {
        char where[64];
        snprintf(where, sizeof where, "/constraints/%d/id", i);
        for (int n = i + 1; !p->ids[i][0]; n++) {
            char made[16];
            snprintf(made, sizeof made, "c%d", n);
            bool taken = false;
            for (int k = 0; k < p->problem.count; k++)
                taken |= strcmp(p->ids[k], made) == 0;
            if (!taken)
                memcpy(p->ids[i], made, strlen(made) + 1);
        }
        if (!gw_id_valid(p->ids[i]))
            return gw_fail(error, GW_BAD_INPUT, where,
                           "id: must be 1 to %d of the characters A-Z a-z 0-9 _ . : + -",
                           GW_MAX_ID);
        for (int k = 0; k < i; k++)
            if (strcmp(p->ids[k], p->ids[i]) == 0)
                return gw_fail(error, GW_BAD_INPUT, where, "id: \"%s\" is taken by /constraints/%d",
                               p->ids[i], k);
        p->id[i] = p->ids[i];
    }
    return true;
}

static bool get_constraints(const json_t *v, wire_problem *p, gw_error *error)
{
    const json_t *list;
    if (!wire_array(v, "", "constraints", WIRE_REQUIRED, GW_MAX_PROBLEM, &list, error))
        return false;
    p->problem.count = (int)json_array_size(list);
    for (int i = 0; i < p->problem.count; i++) {
        char where[WIRE_POINTER];
        wire_pointer_index(where, "/constraints", (size_t)i);
        if (!get_constraint(json_array_get(list, (size_t)i), where, &p->constraints[i], p->ids[i],
                            error))
            return false;
    }
    return settle_ids(p, error);
}

static bool get_at(const json_t *v, wire_problem *p, gw_error *error)
{
    static const char *const allowed[] = {"branch", "parameters", NULL};
    const json_t *at = json_object_get(v, "at"), *rows;
    if (!at)
        return true;
    if (!wire_open(at, "/at", allowed, error) ||
        !wire_string(at, "/at", "branch", WIRE_REQUIRED, p->at_branch, sizeof p->at_branch,
                     error) ||
        !wire_array(at, "/at", "parameters", WIRE_REQUIRED, GW_MAX_SAMPLED, &rows, error))
        return false;
    p->at_rows = json_incref((json_t *)rows);
    return true;
}

static bool get_problem(const json_t *v, wire_problem *p, gw_error *error)
{
    static const char *const allowed[] = {"mobile", "constraints", "samples", "seed", "at", NULL};
    long long samples = 0, seed = 1;
    p->problem = (gw_problem){gw_pose_identity(), 1, 0, p->constraints};
    if (!wire_open(v, "", allowed, error) || !get_mobile(v, p, error) ||
        !get_constraints(v, p, error) ||
        !wire_whole(v, "", "samples", WIRE_OPTIONAL, 0, GW_MAX_SAMPLED, &samples, error) ||
        !wire_whole(v, "", "seed", WIRE_OPTIONAL, 0, 1LL << 53, &seed, error) ||
        !get_at(v, p, error))
        return false;
    p->samples = (int)samples;
    p->seed = (unsigned long long)seed;
    return gw_problem_check(&p->problem, error);
}

wire_problem *wire_get_problem(const json_t *value, gw_error *error)
{
    wire_problem *p = calloc(1, sizeof *p);
    if (!p) {
        gw_fail(error, GW_FAILED, "", "no memory for a problem");
        return NULL;
    }
    if (get_problem(value, p, error))
        return p;
    wire_problem_destroy(p);
    return NULL;
}

void wire_problem_destroy(wire_problem *p)
{
    if (!p)
        return;
    json_decref(p->at_rows);
    free(p);
}

const gw_problem *wire_problem_stated(const wire_problem *p)
{
    return &p->problem;
}

/* ---- poses of a branch --------------------------------------------------------------------- */

/* The problem's size: reach of its points, at least the body's length (m). */
static double problem_size(const gw_problem *p)
{
    double size = p->length;
    for (int i = 0; i < p->count; i++) {
        size = fmax(size, gw_norm(p->constraints[i].mobile.p));
        size = fmax(size, gw_distance(p->constraints[i].fixed.p, p->pose.p));
        if (p->constraints[i].kind == GW_DISTANCE)
            size = fmax(size, fabs(p->constraints[i].value));
    }
    return size;
}

/* Whether a pose is not the one that its parameters lead to. */
static bool folded(const gw_submanifold *set, const gw_pose *pose, double size)
{
    double z[6];
    gw_pose there;
    if (!set->general)
        return false;
    gw_submanifold_parameters_at(set, pose, z);
    return !gw_submanifold_try_pose(set, z, &there) ||
           gw_pose_distance(pose, &there, size) > 1e-7 * size;
}

static json_t *sample_json(const gw_submanifold *set, const gw_pose *pose)
{
    return json_pack("{so so}", "parameters", wire_parameters_at(set, pose), "pose",
                     wire_pose(pose));
}

static json_t *random_samples(const wire_problem *p, const gw_branch *b)
{
    json_t *list = json_array();
    unsigned long long state = p->seed;
    double size = problem_size(&p->problem);
    gw_pose poses[GW_MAX_SAMPLED];
    gw_branch_samples(b, size, &state, p->samples, poses);
    for (int i = 0; i < p->samples; i++) {
        json_t *sample = sample_json(&b->set, &poses[i]);
        if (folded(&b->set, &poses[i], size))
            json_object_set_new(sample, "folded", json_true());
        json_array_append_new(list, sample);
    }
    return list;
}

/* One row of "at": as many finite numbers as the branch has freedoms. */
static bool get_row(const json_t *row, int index, const gw_branch *b, double *values,
                    gw_error *error)
{
    char where[WIRE_POINTER];
    wire_pointer_index(where, "/at/parameters", (size_t)index);
    if (!json_is_array(row) || json_array_size(row) != (size_t)b->set.dof)
        return gw_fail(error, GW_BAD_INPUT, where,
                       "must be an array of %d numbers: branch %s has "
                       "%d parameters",
                       b->set.dof, b->id, b->set.dof);
    for (int i = 0; i < b->set.dof; i++) {
        const json_t *n = json_array_get(row, (size_t)i);
        values[i] = json_number_value(n);
        if (!json_is_number(n) || !isfinite(values[i]))
            return gw_fail(error, GW_BAD_INPUT, where, "must be finite numbers");
    }
    return true;
}

/* The parameters of a general set do not reach everywhere. */
static void beyond(size_t index, const gw_branch *b, gw_error *error)
{
    char where[WIRE_POINTER];
    wire_pointer_index(where, "/at/parameters", index);
    gw_fail(error, GW_BAD_INPUT, where,
            "branch %s has no pose there: its parameters are coordinates in the tangent space of "
            "its zero, and it folds over that before",
            b->id);
}

static json_t *poses_at(const wire_problem *p, const gw_branch *b, gw_error *error)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(p->at_rows); i++) {
        double values[6] = {0};
        if (!get_row(json_array_get(p->at_rows, i), (int)i, b, values, error)) {
            json_decref(list);
            return NULL;
        }
        gw_pose pose;
        if (!gw_submanifold_try_pose(&b->set, values, &pose)) {
            beyond(i, b, error);
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, sample_json(&b->set, &pose));
    }
    return list;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over repeats after a warm-up, bounded to some 5 ms in all. */
static double time_solve(const gw_problem *problem, gw_solution *solution)
{
    enum { WARM_UP = 3, REPEATS = 25 };
    double times[REPEATS], end = now_us() + 5000;
    int count = 0;
    for (int i = 0; i < WARM_UP + REPEATS; i++) {
        double start = now_us();
        gw_solve(problem, solution);
        double stop = now_us();
        if (i >= WARM_UP || stop >= end)
            times[count++] = stop - start;
        if (stop >= end)
            break;
    }
    qsort(times, (size_t)count, sizeof *times, ascending);
    return times[count / 2];
}

static bool add_poses(const wire_problem *p, const gw_solution *s, json_t *answer, gw_error *error)
{
    bool found = !p->at_rows;
    for (int i = 0; i < s->branch_count; i++) {
        const gw_branch *b = &s->branches[i];
        json_t *branch = json_array_get(json_object_get(answer, "branches"), (size_t)i);
        if (p->samples > 0)
            json_object_set_new(branch, "samples", random_samples(p, b));
        if (!p->at_rows || strcmp(b->id, p->at_branch) != 0)
            continue;
        json_t *poses = poses_at(p, b, error);
        if (!poses)
            return false;
        json_object_set_new(branch, "samples", poses);
        found = true;
    }
    return found ||
           gw_fail(error, GW_BAD_INPUT, "/at/branch", "there is no branch \"%s\"", p->at_branch);
}

json_t *wire_solve(const wire_problem *p, gw_error *error)
{
    gw_solution *solution = calloc(1, sizeof *solution);
    if (!solution) {
        gw_fail(error, GW_FAILED, "", "no memory for a solution");
        return NULL;
    }
    double time_us = time_solve(&p->problem, solution);
    json_t *answer = wire_solution(solution, p->id);
    json_object_set_new(answer, "time_us", json_real(time_us));
    if (!add_poses(p, solution, answer, error)) {
        json_decref(answer);
        answer = NULL;
    }
    free(solution);
    return answer;
}
