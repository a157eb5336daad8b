/*
 * The `solve` request and its answer. Any server thread; no state.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/clock.h"
#include "server/schema/field.h"

/* One constraint of the request, as decoded. */
typedef struct stated_constraint {
    char id[GW_MAX_ID + 1];
    gw_constraint constraint;
} stated_constraint;

typedef struct problem_request {
    gw_pose pose;
    double length;
    int count;
    stated_constraint *stated; /* owned */
    int samples;
    uint64_t seed;
    char at_branch[16]; /* the branch of "at"; empty: there is no "at" */
    json_t *at_rows;    /* and its parameters, one reference */
} problem_request;

struct wire_problem {
    problem_request request;
    gw_problem problem;
    gw_constraint constraints[GW_MAX_PROBLEM];
    const char *id[GW_MAX_PROBLEM];
};

/* ---- the request --------------------------------------------------------------------------- */

static const wire_field of_mobile[] = {
    {"pose", OBJECT, AT(problem_request, pose), .table = &wire_table_pose},
    {"length", NUMBER, AT(problem_request, length), EXCLUSIVE | TELLS_VALUE, LOW(0),
     .must = "must be greater than 0 (m)", .about = "of the metric; 1 unless given", .unit = "m"},
    {0}};
static const wire_table mobile = {.fields = of_mobile};

INITIAL(no_constraint, stated_constraint, (stated_constraint){0})

static void finish_constraint(void *stated)
{
    gw_constraint *c = &((stated_constraint *)stated)->constraint;
    wire_table_element.finish(&c->mobile);
    wire_table_element.finish(&c->fixed);
}

HOOK(check_value)
{
    const gw_constraint *c = &((const stated_constraint *)owner)->constraint;
    return gw_constraint_has_value(c->kind) || c->value == 0 ||
           wire_refuse(&(wire_path){.parent = at, .name = "value"}, error,
                       "The value is %g, but only a distance (m) and an angle (rad) have one: "
                       "leave it out, or make the type one of these.",
                       c->value);
}

static const wire_field of_constraint[] = {
    {"id", ID, AT(stated_constraint, id),
     .must = "id: must match [A-Za-z0-9_.:+-]{1,64}, or be left out"},
    {"type", CHOICE, AT(stated_constraint, constraint.kind), REQUIRED,
     .choices = gw_constraint_kind_names, .synonym = "contained", .synonym_of = GW_COINCIDENT,
     .about = "contained means coincident"},
    {"mobile", OBJECT, AT(stated_constraint, constraint.mobile), REQUIRED,
     .table = &wire_table_element, .about = "in the body's frame"},
    {"fixed", OBJECT, AT(stated_constraint, constraint.fixed), REQUIRED,
     .table = &wire_table_element, .about = "in the world's"},
    {"value", NUMBER, AT(stated_constraint, constraint.value),
     .unit =
         "m or rad; 0 unless given, and for every type but distance, angle, normal and tangent"},
    {"sense", CHOICE, AT(stated_constraint, constraint.sense), .choices = wire_senses,
     .about = "of two lines or normals that come to lie along one another; elsewhere it is not "
              "used, and the trace says so"},
    {0}};
static const wire_table problem_constraint_table = {.name = "ProblemConstraint",
                                                    .fields = of_constraint,
                                                    .size = sizeof(stated_constraint),
                                                    .initial = no_constraint,
                                                    .after = check_value,
                                                    .finish = finish_constraint};

/* Keeps the rows of "at", which are decoded when the branch is known. */
DECODE(keep_rows)
{
    char where[WIRE_POINTER];
    if (!json_is_array(value))
        return wire_refuse(at, error, "%s: must be an array", f->name);
    wire_path_text(at, where);
    if (json_array_size(value) > GW_MAX_SAMPLED)
        return gw_fail(error, GW_TOO_LARGE, where, "%s: %zu entries, at most %d are taken", f->name,
                       json_array_size(value), GW_MAX_SAMPLED);
    ((problem_request *)owner)->at_rows = json_incref((json_t *)value);
    return true;
}

SCHEMA(schema_rows)
{
    return json_pack("{ss s{ss s{ss} si} si}", "type", "array", "items", "type", "array", "items",
                     "type", "number", "maxItems", 6, "maxItems", GW_MAX_SAMPLED);
}

static const wire_type rows = {keep_rows, NULL, schema_rows};

static const wire_field of_at[] = {{"branch", STRING, AT(problem_request, at_branch), REQUIRED},
                                   {"parameters", &rows, .flags = REQUIRED},
                                   {0}};
static const wire_table at_parameters = {.fields = of_at};

INITIAL(no_problem, problem_request,
        (problem_request){.pose = gw_pose_identity(), .length = 1, .seed = 1})

static const wire_field of_problem[] = {
    {"mobile", OBJECT, .table = &mobile},
    {"constraints", LIST, AT(problem_request, stated), REQUIRED, .table = &problem_constraint_table,
     COUNTED(problem_request, count, stated_constraint), .most = GW_MAX_PROBLEM},
    {"samples", WHOLE, AT(problem_request, samples), RANGE(0, GW_MAX_SAMPLED)},
    {"seed", WHOLE, AT(problem_request, seed), RANGE(0, 1LL << 53)},
    {"at", OBJECT, .table = &at_parameters},
    {0}};
const wire_table wire_table_problem = {.name = "PositioningProblem",
                                       .fields = of_problem,
                                       .size = sizeof(problem_request),
                                       .initial = no_problem};

static bool is_taken(const problem_request *p, const char *id)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->stated[i].id, id) == 0)
            return true;
    return false;
}

/* Makes missing ids; checks that all ids are valid and different. */
static bool settle_ids(problem_request *p, gw_error *error)
{
    for (int i = 0; i < p->count; i++) {
        char *id = p->stated[i].id, where[64];
        snprintf(where, sizeof where, "/constraints/%d/id", i);
        for (int n = i + 1; !id[0]; n++) {
            char made[16];
            snprintf(made, sizeof made, "c%d", n);
            if (!is_taken(p, made))
                strcpy(id, made);
        }
        if (!gw_id_valid(id))
            return gw_fail(error, GW_BAD_INPUT, where,
                           "id: must be 1 to %d of the characters A-Z a-z 0-9 _ . : + -",
                           GW_MAX_ID);
        for (int k = 0; k < i; k++)
            if (strcmp(p->stated[k].id, id) == 0)
                return gw_fail(error, GW_BAD_INPUT, where, "id: \"%s\" is taken by /constraints/%d",
                               id, k);
    }
    return true;
}

wire_problem *wire_get_problem(const json_t *value, gw_error *error)
{
    wire_problem *p = calloc(1, sizeof *p);
    if (!p) {
        gw_fail(error, GW_FAILED, "", "no memory for a problem");
        return NULL;
    }
    problem_request *r = &p->request;
    bool read = wire_decode(&wire_table_problem, value, "", r, error) && settle_ids(r, error);
    for (int i = 0; read && i < r->count; i++) {
        p->constraints[i] = r->stated[i].constraint;
        p->id[i] = r->stated[i].id;
    }
    p->problem = (gw_problem){r->pose, r->length, r->count, p->constraints};
    if (read && gw_problem_check(&p->problem, error))
        return p;
    wire_problem_destroy(p);
    return NULL;
}

void wire_problem_destroy(wire_problem *p)
{
    if (!p)
        return;
    for (int i = 0; p->request.stated && i < p->request.count; i++)
        finish_constraint(&p->request.stated[i]);
    free(p->request.stated);
    json_decref(p->request.at_rows);
    free(p);
}

const gw_problem *wire_problem_stated(const wire_problem *p)
{
    return &p->problem;
}

/* ---- poses of a branch --------------------------------------------------------------------- */

/* The problem's size: the largest extent of its points, at least the body's length (m). */
static double problem_size(const gw_problem *p)
{
    double size = p->length;
    for (int i = 0; i < p->count; i++) {
        size = fmax(size, gw_norm(p->constraints[i].mobile.p));
        size = fmax(size, gw_distance(p->constraints[i].fixed.p, p->pose.p));
        if (gw_constraint_has_length(p->constraints[i].kind))
            size = fmax(size, fabs(p->constraints[i].value));
    }
    return size;
}

static json_t *sample_json(const gw_branch *b, const double *parameters, const gw_pose *pose)
{
    return json_pack("{so so}", "parameters", wire_numbers(parameters, b->set.dof, NULL), "pose",
                     wire_pose(pose));
}

static json_t *random_samples(const wire_problem *p, const gw_branch *b)
{
    json_t *list = json_array();
    unsigned long long state = p->request.seed;
    gw_branch_point points[GW_MAX_SAMPLED];
    gw_branch_samples(b, problem_size(&p->problem), &state, p->request.samples, points);
    for (int i = 0; i < p->request.samples; i++) {
        json_t *sample = sample_json(b, points[i].parameters, &points[i].pose);
        if (!points[i].parameterised)
            json_object_set_new(sample, "folded", json_true());
        json_array_append_new(list, sample);
    }
    return list;
}

/* Reads one row of "at": as many finite numbers as the branch has freedoms. */
static bool get_row(const json_t *row, const wire_path *at, const gw_branch *b, double *values,
                    gw_error *error)
{
    if (!json_is_array(row) || json_array_size(row) != (size_t)b->set.dof)
        return wire_refuse(at, error, "must be an array of %d numbers: branch %s has %d parameters",
                           b->set.dof, b->id, b->set.dof);
    for (int i = 0; i < b->set.dof; i++) {
        const json_t *n = json_array_get(row, (size_t)i);
        values[i] = json_number_value(n);
        if (!json_is_number(n) || !isfinite(values[i]))
            return wire_refuse(at, error, "must be finite numbers");
    }
    return true;
}

static json_t *poses_at(const wire_problem *p, const gw_branch *b, gw_error *error)
{
    const wire_path at = {.name = "/at/parameters"};
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(p->request.at_rows); i++) {
        const wire_path here = {.parent = &at, .index = i};
        double values[6] = {0};
        gw_pose pose;
        bool read = get_row(json_array_get(p->request.at_rows, i), &here, b, values, error);
        if (read && !gw_branch_pose(b, values, &pose))
            read = wire_refuse(&here, error, "branch %s has no pose there: it ends before", b->id);
        if (!read) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, sample_json(b, values, &pose));
    }
    return list;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of repeated solves after a warm-up (us), within some 5 ms of processor time in all;
 * repeats that other processes held up lie above the median. */
static double time_solve(const gw_problem *problem, gw_solution *solution)
{
    enum { WARM_UP = 3, REPEATS = 25 };
    double times[REPEATS], end = clock_thread_s() + 5e-3;
    int count = 0;
    for (int i = 0; i < WARM_UP + REPEATS; i++) {
        double start = clock_s();
        gw_solve(problem, solution);
        double stop = clock_s();
        bool last = clock_thread_s() >= end;
        if (i >= WARM_UP || last)
            times[count++] = 1e6 * (stop - start);
        if (last)
            break;
    }
    qsort(times, (size_t)count, sizeof *times, compare_doubles);
    return times[count / 2];
}

static bool add_poses(const wire_problem *p, const gw_solution *s, json_t *answer, gw_error *error)
{
    bool found = !p->request.at_rows;
    for (int i = 0; i < s->branch_count; i++) {
        const gw_branch *b = &s->branches[i];
        json_t *branch = json_array_get(json_object_get(answer, "branches"), (size_t)i);
        if (p->request.samples > 0)
            json_object_set_new(branch, "samples", random_samples(p, b));
        if (!p->request.at_rows || strcmp(b->id, p->request.at_branch) != 0)
            continue;
        json_t *poses = poses_at(p, b, error);
        if (!poses)
            return false;
        json_object_set_new(branch, "samples", poses);
        found = true;
    }
    return found || gw_fail(error, GW_BAD_INPUT, "/at/branch", "there is no branch \"%s\"",
                            p->request.at_branch);
}

json_t *wire_solve(const wire_problem *p, gw_error *error)
{
    gw_solution *solution = calloc(1, sizeof *solution);
    if (!solution) {
        gw_fail(error, GW_FAILED, "", "no memory for a solution");
        return NULL;
    }
    double time_us = time_solve(&p->problem, solution);
    const wire_context context = {
        .ids = p->id, .constraints = p->problem.constraints, .constraint_count = p->problem.count};
    json_t *answer = wire_encode(&wire_table_answer, solution, &context);
    json_object_set_new(answer, "time_us", json_real(time_us));
    if (!answer) {
        gw_fail(error, GW_FAILED, "",
                "the answer could not be written: memory is short, or a figure is not finite");
    } else if (!add_poses(p, solution, answer, error)) {
        json_decref(answer);
        answer = NULL;
    }
    free(solution);
    return answer;
}
