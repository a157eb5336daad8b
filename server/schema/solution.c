/*
 * Encoding of the solver's answers. Any server thread; no state.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/schema/field.h"

/* ---- factors ------------------------------------------------------------------------------- */

static const char *rotation_kind(int kind)
{
    return kind <= GW_ROTATION_GENERAL ? gw_rotation_kind_name((gw_rotation_kind)kind) : NULL;
}

#define ROTATION(kind) KIND(GW_ROTATION_##kind)
#define ANGLES         (ROTATION(ANGLE) | ROTATION(TWO_ANGLES))

/* The second axis and angle of a rotation with two angles. */
static const wire_field of_second_angle[] = {
    {"axis", VEC3, AT(gw_second_angle, axis)},
    {"axis_body", VEC3, AT(gw_second_angle, axis_body)},
    {"angle", NUMBER, AT(gw_second_angle, angle), .unit = "rad"},
    {0}};
static const wire_table a_second_angle = {.fields = of_second_angle, .answered = true};

static const wire_field of_rotation[] = {
    {"kind", CHOICE, AT(gw_rotation_set, kind), .name_of = rotation_kind},
    {"dof", WHOLE, AT(gw_rotation_set, dof)},
    {"axis", VEC3, AT(gw_rotation_set, axis), .kinds = ROTATION(AXIS) | ANGLES | ROTATION(NORMAL)},
    {"axis_body", VEC3, AT(gw_rotation_set, axis_body), .kinds = ANGLES | ROTATION(NORMAL)},
    {"angle", NUMBER, AT(gw_rotation_set, angle), .kinds = ANGLES, .unit = "rad",
     .about = "between the axis and the body's"},
    {"second", OBJECT, AT(gw_rotation_set, second), .kinds = ROTATION(TWO_ANGLES),
     .table = &a_second_angle, .about = "the other axis with its angle"},
    {"zero", QUAT, AT(gw_rotation_set, zero), .kinds = ~ROTATION(GENERAL),
     .about = "orientation where the parameters are 0"},
    {0}};
static const wire_table rotation_table = {.name = "Rotation",
                                          .about = "Rotational factor.",
                                          .fields = of_rotation,
                                          .answered = true,
                                          .kind = offsetof(gw_rotation_set, kind)};

static const char *locus_kind(int kind)
{
    return kind <= GW_LOCUS_GENERAL ? gw_locus_kind_name((gw_locus_kind)kind) : NULL;
}

#define LOCUS(kind) KIND(GW_LOCUS_##kind)
enum {
    FLAT = LOCUS(PLANE) | LOCUS(CIRCLE) | LOCUS(ELLIPSE),
    ROUND = LOCUS(SPHERE) | LOCUS(CYLINDER) | LOCUS(CIRCLE),
};

ENCODE(encode_axes)
{
    const gw_locus *l = &((const gw_translation_set *)owner)->locus;
    return json_pack("[oo]", wire_vec3(l->e1), wire_vec3(l->e2));
}

ENCODE(encode_radii)
{
    const gw_locus *l = &((const gw_translation_set *)owner)->locus;
    return wire_numbers((const double[]){l->a, l->kind == GW_LOCUS_CIRCLE ? l->a : l->b}, 2,
                        context);
}

WHEN(has_shifts, gw_translation_set, it->shift_count > 0)

static const wire_field of_shift[] = {{"along", VEC3, AT(gw_locus_shift, along)},
                                      {"normal", VEC3, AT(gw_locus_shift, normal)},
                                      {"arm", VEC3, AT(gw_locus_shift, arm), .unit = "m"},
                                      {0}};
static const wire_table a_shift = {.fields = of_shift, .answered = true};

static const wire_field a_vector = {"vector", VEC3}, a_number = {"number", NUMBER},
                        an_id = {"id", ID};
static const wire_type locus_axes = {NULL, encode_axes, wire_schema_list};
static const wire_type locus_radii = {NULL, encode_radii, wire_schema_numbers};

static const char *const sides[] = {"world", "mobile", NULL};

/* The constraint whose curve or surface the locus is; -1: none. */
static int followed_constraint(const gw_translation_set *set, const wire_context *context)
{
    for (int i = 0; set->locus.nurbs && context && i < context->constraint_count; i++)
        if (context->constraints[i].fixed.nurbs == set->locus.nurbs ||
            context->constraints[i].mobile.nurbs == set->locus.nurbs)
            return i;
    return -1;
}

static bool follows_element(const void *owner, const wire_context *context)
{
    return followed_constraint(owner, context) >= 0;
}

ENCODE(encode_followed_element)
{
    const gw_translation_set *set = owner;
    int i = followed_constraint(set, context);
    bool fixed = context->constraints[i].fixed.nurbs == set->locus.nurbs;
    return json_pack("{ss ss}", "constraint", context->ids[i], "side", fixed ? "fixed" : "mobile");
}

static const char *const constraint_sides[] = {"fixed", "mobile", NULL};
static const wire_field of_followed_element[] = {
    {"constraint", ID}, {"side", CHOICE, .choices = constraint_sides}, {0}};
static const wire_table followed_element_table = {
    .name = "FollowedElement",
    .about = "The curve or surface that a point follows: an element of a constraint.",
    .fields = of_followed_element,
    .answered = true};

SCHEMA(schema_followed_element)
{
    return wire_schema_ref(followed_element_table.name);
}

static const wire_type followed_element = {NULL, encode_followed_element, schema_followed_element};

/* Data for drawing the locus: a point of it (its centre, where it has one), its direction or
 * normal, its axes and radii. */
static const wire_field of_translation[] = {
    {"kind", CHOICE, AT(gw_translation_set, locus.kind), .name_of = locus_kind},
    {"dof", WHOLE, AT(gw_translation_set, dof)},
    {"of", VEC3, AT(gw_translation_set, of), .kinds = ~LOCUS(GENERAL),
     .about = "the point whose locus this is", .unit = "m"},
    {"element", &followed_element, .kinds = LOCUS(CURVE) | LOCUS(SURFACE), .when = follows_element,
     .table = &followed_element_table},
    {"in", CHOICE, AT(gw_translation_set, in_mobile), .choices = sides, .kinds = ~LOCUS(GENERAL)},
    {"point", VEC3, AT(gw_translation_set, locus.origin), .kinds = ~LOCUS(GENERAL), .unit = "m"},
    {"direction", VEC3, AT(gw_translation_set, locus.e3), .kinds = LOCUS(LINE) | LOCUS(CYLINDER)},
    {"normal", VEC3, AT(gw_translation_set, locus.e3), .kinds = FLAT},
    {"axes", &locus_axes, .item = &a_vector, .least = 2, .most = 2,
     .kinds = FLAT | LOCUS(CYLINDER)},
    {"radius", NUMBER, AT(gw_translation_set, locus.a), .kinds = ROUND, .unit = "m"},
    {"shifts", LIST_WITHIN, AT(gw_translation_set, shifts), .when = has_shifts, .table = &a_shift,
     COUNTED(gw_translation_set, shift_count, gw_locus_shift), .most = GW_MAX_SHIFTS,
     .about = "where the locus moves as the body rotates, each by -along (normal . R arm), in the "
              "mobile's frame by -along (normal . R^T arm), from the point that is given"},
    {"radii", &locus_radii, .most = 2, .kinds = LOCUS(ELLIPSE) | LOCUS(CIRCLE), .unit = "m"},
    {0}};
static const wire_table translation_table = {
    .name = "Translation",
    .about = "Translational factor: the locus of a point and what is needed to draw it.",
    .fields = of_translation,
    .answered = true,
    .kind = offsetof(gw_translation_set, locus.kind)};

/* ---- parameters ---------------------------------------------------------------------------- */

ENCODE(encode_range)
{
    const gw_submanifold_parameter *p = owner;
    if (!isfinite(p->low) || !isfinite(p->high))
        return json_null();
    return wire_numbers((const double[]){p->low, p->high}, 2, context);
}

SCHEMA(schema_range)
{
    return json_pack("{s[o{ss}]}", "anyOf", wire_schema_numbers(f), "type", "null");
}

static const wire_type parameter_range = {NULL, encode_range, schema_range};

static const char *const parts[] = {"rotation", "translation", "pose", NULL};
static const char *const units[] = {"rad", "m", "1", NULL};
static const wire_field of_parameter[] = {
    {"name", TEXT, AT(gw_submanifold_parameter, name)},
    {"part", TEXT, AT(gw_submanifold_parameter, part), .choices = parts},
    {"unit", TEXT, AT(gw_submanifold_parameter, unit), .choices = units},
    {"range", &parameter_range, .most = 2, .about = "null: unbounded"},
    {"periodic", BOOLEAN, AT(gw_submanifold_parameter, periodic)},
    {0}};
static const wire_table parameter_table = {
    .name = "Parameter", .fields = of_parameter, .answered = true};

ENCODE(encode_parameters)
{
    gw_submanifold_parameter p[6];
    int count = gw_submanifold_parameters(&((const gw_branch *)owner)->set, p);
    json_t *list = json_array();
    for (int i = 0; list && i < count; i++)
        list = wire_append(list, wire_encode(&parameter_table, &p[i], context));
    return list;
}

json_t *wire_parameters_at(const gw_submanifold *set, const gw_pose *pose)
{
    double values[6];
    gw_submanifold_parameters_at(set, pose, values);
    return wire_numbers(values, set->dof, NULL);
}

ENCODE(encode_nearest)
{
    const gw_branch *b = owner;
    gw_branch_point nearest = gw_branch_nearest(b);
    return wire_numbers(nearest.parameters, b->set.dof, NULL);
}

static const wire_type branch_parameters = {NULL, encode_parameters, wire_schema_list};
static const wire_type nearest_parameters = {NULL, encode_nearest, wire_schema_list};

/* ---- branches ------------------------------------------------------------------------------ */

ENCODE(encode_words)
{
    char words[160];
    gw_submanifold_description(&((const gw_branch *)owner)->set, NULL, words, sizeof words);
    return json_string(words);
}

ENCODE(encode_zero)
{
    const double zeros[6] = {0};
    gw_pose zero = gw_submanifold_pose(&((const gw_branch *)owner)->set, zeros);
    return wire_pose(&zero);
}

static const wire_type branch_words = {NULL, encode_words, wire_schema_string};
static const wire_type branch_zero = {NULL, encode_zero, wire_schema_object};

static const wire_field of_nearest[] = {
    {"pose", OBJECT, AT(gw_branch, nearest), .table = &wire_table_pose_read},
    {"parameters", &nearest_parameters, .item = &a_number, .most = 6},
    {"distance", NUMBER, AT(gw_branch, distance), .about = "rotations weighed with the length",
     .unit = "m"},
    {0}};
static const wire_table nearest_table = {.name = "Nearest", .fields = of_nearest, .answered = true};

/* Put together by wire_solve(). */
static const wire_field of_sample[] = {
    {"parameters", LIST, .item = &a_number, .most = 6},
    {"pose", OBJECT, .table = &wire_table_pose_read},
    {"folded", BOOLEAN, .flags = SOMETIMES,
     .about =
         "True, or left out. The parameters do not lead here: a curve that `at` does not follow as "
         "far, or a general set whose zero is singular."},
    {0}};
static const wire_table sample_table = {.name = "Sample", .fields = of_sample, .answered = true};

/* Coupled: the parameters are named and have ranges, but rotations follow two angles, or the locus
 * depends on the rotation. */
static const char *const set_kinds[] = {"separable", "general", "coupled", NULL};

ENCODE(encode_set_kind)
{
    const gw_submanifold *set = &((const gw_branch *)owner)->set;
    bool coupled = set->translation.shift_count > 0 ||
                   set->rotation.kind == GW_ROTATION_TWO_ANGLES ||
                   gw_rotation_follows_locus(set->rotation.kind);
    return json_string(set_kinds[set->general ? 1 : coupled ? 2 : 0]);
}

SCHEMA(schema_set_kind)
{
    return json_pack("{ss s[sss]}", "type", "string", "enum", set_kinds[0], set_kinds[1],
                     set_kinds[2]);
}

static const wire_type set_kind = {NULL, encode_set_kind, schema_set_kind};

static const wire_field of_branch[] = {
    {"id", STRING, AT(gw_branch, id)},
    {"dof", WHOLE, AT(gw_branch, set.dof)},
    {"kind", &set_kind},
    {"words", &branch_words},
    {"rotation", OBJECT, AT(gw_branch, set.rotation), .table = &rotation_table},
    {"translation", OBJECT, AT(gw_branch, set.translation), .table = &translation_table},
    {"parameters", &branch_parameters, .table = &parameter_table, .most = 6},
    {"zero", &branch_zero, .table = &wire_table_pose_read},
    {"nearest", OBJECT, .table = &nearest_table},
    {"samples", LIST, .flags = SOMETIMES | ELSEWHERE, .table = &sample_table,
     .most = GW_MAX_SAMPLED},
    {0}};
static const wire_table branch_table = {.name = "Branch",
                                        .about = "One connected set of allowed poses.",
                                        .fields = of_branch,
                                        .answered = true};

/* ---- bits of constraints to ids ------------------------------------------------------------ */

ENCODE(encode_ids)
{
    unsigned long bits = *(const unsigned long *)(const void *)((const char *)owner + f->offset);
    json_t *list = json_array();
    for (int i = 0; list && i < GW_MAX_PROBLEM; i++)
        if (bits >> i & 1)
            list = wire_append(list, json_string(context->ids[i]));
    return list;
}

SCHEMA(schema_ids)
{
    return json_pack("{ss so}", "type", "array", "items", wire_schema_ref("Id"));
}

static const wire_type wire_ids = {NULL, encode_ids, schema_ids};
#define IDS &wire_ids

ENCODE(encode_condition_values)
{
    const gw_conflict *c = owner;
    json_t *object = json_object();
    for (int i = 0; i < c->value_count; i++)
        json_object_set_new(object, c->values[i].name, json_real(c->values[i].value));
    return object;
}

ENCODE(encode_message)
{
    char message[384];
    gw_conflict_description(owner, context->ids, message, sizeof message);
    return json_string(message);
}

static const wire_type condition_values = {NULL, encode_condition_values, wire_schema_map};
static const wire_type conflict_message = {NULL, encode_message, wire_schema_string};

static const wire_field of_conflict[] = {{"constraints", IDS, AT(gw_conflict, constraints)},
                                         {"condition", TEXT, AT(gw_conflict, condition)},
                                         {"values", &condition_values, .item = &a_number},
                                         {"message", &conflict_message},
                                         {0}};
const wire_table wire_table_conflict = {
    .name = "Conflict",
    .about = "Why no pose satisfies the constraints: the condition that fails, with its numbers.",
    .fields = of_conflict,
    .answered = true};

json_t *wire_conflict(const gw_conflict *conflict, const char *const *ids)
{
    return wire_encode(&wire_table_conflict, conflict, &(wire_context){.ids = ids});
}

ENCODE(encode_constraint_id)
{
    return json_string(context->ids[((const gw_redundant *)owner)->index]);
}

static const wire_type constraint_id = {NULL, encode_constraint_id, wire_schema_id};

static const wire_field of_redundant[] = {{"id", &constraint_id},
                                          {"because", IDS, AT(gw_redundant, because)},
                                          {"rule", TEXT, AT(gw_redundant, rule)},
                                          {0}};
static const wire_table redundant_table = {
    .name = "Redundant", .fields = of_redundant, .answered = true};

static const wire_field of_implied[] = {
    {"kind", TEXT, AT(gw_implied, kind)}, {"from", IDS, AT(gw_implied, from)}, {0}};
static const wire_table implied_table = {.name = "Implied", .fields = of_implied, .answered = true};

/* A step of the trace: "rule (c1, c3)". */
ENCODE(encode_step)
{
    const gw_trace_step *step = owner;
    char text[512];
    size_t n = (size_t)snprintf(text, sizeof text, "%.300s", step->rule);
    const char *before = " (";
    for (int k = 0; k < GW_MAX_PROBLEM && n + GW_MAX_ID + 4 < sizeof text; k++) {
        if (step->from >> k & 1) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", before, context->ids[k]);
            before = ", ";
        }
    }
    if (before[0] == ',')
        snprintf(text + n, sizeof text - n, ")");
    return json_string(text);
}

static const wire_type trace_step = {NULL, encode_step, wire_schema_string};
static const wire_field a_step = {"step", &trace_step};

/* ---- solutions ----------------------------------------------------------------------------- */

static const wire_field of_roots[] = {{"complex", WHOLE, AT(gw_solution, complex_roots), LOW(1)},
                                      {"real", WHOLE, AT(gw_solution, real_roots), LOW(1)},
                                      {0}};
static const wire_table roots_table = {
    .name = "Roots",
    .about = "Where isolated poses were found numerically by a method that finds all of them: the "
             "roots of the constraints as polynomials, with multiplicity, and the poses among "
             "them. Left out where that is not known.",
    .fields = of_roots,
    .answered = true};

WHEN(has_roots, gw_solution, it->complex_roots > 0)
WHEN(has_residual, gw_solution, it->status == GW_STATUS_UNHANDLED && isfinite(it->best_residual))

static const char *const statuses[] = {[GW_SOLVED] = "solved",
                                       [GW_STATUS_INCOMPATIBLE] = "incompatible",
                                       [GW_STATUS_UNHANDLED] = "unhandled",
                                       NULL};
static const char *const methods[] = {
    [GW_CLOSED_FORM] = "closed-form", [GW_NUMERIC] = "numeric", NULL};

#define SOLUTION_FIELDS                                                                            \
    {"status", CHOICE, AT(gw_solution, status), .choices = statuses},                              \
        {"dof", WHOLE, AT(gw_solution, dof)},                                                      \
        {"method", CHOICE, AT(gw_solution, method), .choices = methods},                           \
        {"branches",                                                                               \
         LIST_WITHIN,                                                                              \
         AT(gw_solution, branches),                                                                \
         .table = &branch_table,                                                                   \
         COUNTED(gw_solution, branch_count, gw_branch),                                            \
         .most = GW_MAX_BRANCHES},                                                                 \
        {"redundant", LIST_WITHIN, AT(gw_solution, redundant), .table = &redundant_table,          \
         COUNTED(gw_solution, redundant_count, gw_redundant)},                                     \
        {"implied", LIST_WITHIN, AT(gw_solution, implied), .table = &implied_table,                \
         COUNTED(gw_solution, implied_count, gw_implied)},                                         \
        {"trace", LIST_WITHIN, AT(gw_solution, trace), .item = &a_step,                            \
         COUNTED(gw_solution, trace_count, gw_trace_step)},                                        \
        {"roots", OBJECT, .when = has_roots, .table = &roots_table},                               \
        {"conflict", OBJECT, AT(gw_solution, conflict), .kinds = KIND(GW_STATUS_INCOMPATIBLE),     \
         .table = &wire_table_conflict},                                                           \
        {"left", IDS, AT(gw_solution, left), .kinds = KIND(GW_STATUS_UNHANDLED)},                  \
        {"reason", TEXT, AT(gw_solution, reason), .kinds = KIND(GW_STATUS_UNHANDLED)},             \
    {                                                                                              \
        "best_residual", NUMBER, AT(gw_solution, best_residual), .when = has_residual, .unit = "m" \
    }

static const wire_field of_answer[] = {
    SOLUTION_FIELDS,
    {"time_us", NUMBER, .flags = ELSEWHERE, .about = "median of repeats", .unit = "us"},
    {0}};
const wire_table wire_table_answer = {.name = "Answer",
                                      .about = "Of a positioning problem, nearest branch first.",
                                      .fields = of_answer,
                                      .answered = true,
                                      .kind = offsetof(gw_solution, status)};

static const char *const states[] = {"free", "under", "well", "over", "conflict", NULL};
static const wire_field of_strand[] = {
    {"parameter", TEXT},
    {"here", WHOLE, .about = "index of the pose where the object is now"},
    {"closed", BOOLEAN, .about = "the last pose is one step before the first"},
    {"poses", LIST, .table = &wire_table_pose_read, .least = 1,
     .most = 2 * GW_COORDINATE_CURVE_MAX + 1},
    {0}};
static const wire_table strand_table = {
    .name = "Strand",
    .about = "The way along one freedom of the chosen branch: poses in order, the others held as "
             "still as the set lets.",
    .fields = of_strand,
    .answered = true};

static const wire_field of_system[] = {
    {"bodies", WHOLE, .about = "how many move together"},
    {"mobility", WHOLE, .about = "freedoms of velocity of them all"},
    {"freedoms", WHOLE, .about = "directions in which this one can move"},
    {"words", TEXT},
    {0}};
static const wire_table a_system = {.fields = of_system, .answered = true};

/* The solution of an object of the scene, to which server/app adds members from the layout. */
static const wire_field of_solution[] = {
    SOLUTION_FIELDS,
    {"object", ID},
    {"tool", BOOLEAN, .about = "a hand holds it"},
    {"state", CHOICE, .choices = states},
    {"follows", LIST, .flags = SOMETIMES, .item = &an_id,
     .about = "there where hands move what it is joined to: it follows these objects"},
    {"cluster", LIST, .flags = SOMETIMES, .item = &an_id,
     .about = "there where it is part of a cycle: the objects that were solved together"},
    {"cluster_dof", WHOLE, .flags = SOMETIMES,
     .about = "freedoms of the cluster while all else stands"},
    {"system", OBJECT, .flags = SOMETIMES, .table = &a_system,
     .about = "of an object that is joined to others that move, or held by joints"},
    {"branch", TEXT, .flags = SOMETIMES, .about = "the chosen one"},
    {"words", TEXT, .flags = SOMETIMES},
    {"parameters", LIST, .flags = SOMETIMES, .item = &a_number, .most = 6,
     .about = "of the chosen branch, where the object is now"},
    {"strands", LIST, .flags = SOMETIMES, .table = &strand_table, .most = 6},
    {0}};
const wire_table wire_table_solution = {.name = "Solution",
                                        .about = "What an object may still do.",
                                        .fields = of_solution,
                                        .answered = true,
                                        .kind = offsetof(gw_solution, status)};

json_t *wire_solution(const gw_solution *s, const gw_constraint *constraints,
                      const char *const *ids, int count)
{
    const wire_context context = {
        .ids = ids, .constraints = constraints, .constraint_count = count, .clamp = true};
    return wire_encode(&wire_table_answer, s, &context);
}
