/*
 * Encoding of the solver's answers. Any server thread; no state.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/schema/wire_base.h"

/* ---- factors ------------------------------------------------------------------------------- */

static json_t *rotation_json(const gw_rotation_set *r)
{
    json_t *rotation = json_pack("{ss si}", "kind", gw_rotation_kind_name(r->kind), "dof", r->dof);
    if (r->kind == GW_ROTATION_AXIS || r->kind == GW_ROTATION_ANGLE)
        json_object_set_new(rotation, "axis", wire_vec3(r->axis));
    if (r->kind == GW_ROTATION_ANGLE) {
        json_object_set_new(rotation, "axis_body", wire_vec3(r->axis_body));
        json_object_set_new(rotation, "angle", json_real(r->angle));
    }
    if (r->kind != GW_ROTATION_GENERAL)
        json_object_set_new(rotation, "zero", wire_quat(r->zero));
    return rotation;
}

/* What is needed to draw the locus: a point of it (its centre where it has one), its direction or
 * normal, its axes and radii. */
static void add_locus(json_t *t, const gw_locus *l)
{
    bool directed = l->kind == GW_LOCUS_LINE || l->kind == GW_LOCUS_CYLINDER;
    bool flat =
        l->kind == GW_LOCUS_PLANE || l->kind == GW_LOCUS_CIRCLE || l->kind == GW_LOCUS_ELLIPSE;
    bool round =
        l->kind == GW_LOCUS_SPHERE || l->kind == GW_LOCUS_CYLINDER || l->kind == GW_LOCUS_CIRCLE;
    json_object_set_new(t, "point", wire_vec3(l->origin));
    if (directed)
        json_object_set_new(t, "direction", wire_vec3(l->e3));
    if (flat)
        json_object_set_new(t, "normal", wire_vec3(l->e3));
    if (flat || l->kind == GW_LOCUS_CYLINDER)
        json_object_set_new(t, "axes", json_pack("[oo]", wire_vec3(l->e1), wire_vec3(l->e2)));
    if (round)
        json_object_set_new(t, "radius", json_real(l->a));
    if (l->kind == GW_LOCUS_ELLIPSE || l->kind == GW_LOCUS_CIRCLE)
        json_object_set_new(t, "radii",
                            json_pack("[ff]", l->a, l->kind == GW_LOCUS_CIRCLE ? l->a : l->b));
}

static json_t *translation_json(const gw_translation_set *t)
{
    json_t *translation =
        json_pack("{ss si}", "kind", gw_locus_kind_name(t->locus.kind), "dof", t->dof);
    if (t->locus.kind == GW_LOCUS_GENERAL)
        return translation;
    json_object_set_new(translation, "of", wire_vec3(t->of));
    json_object_set_new(translation, "in", json_string(t->in_mobile ? "mobile" : "world"));
    add_locus(translation, &t->locus);
    return translation;
}

static json_t *range_json(const gw_submanifold_parameter *p)
{
    bool bounded = isfinite(p->low) && isfinite(p->high);
    return bounded ? json_pack("[ff]", p->low, p->high) : json_null();
}

static json_t *parameters_json(const gw_submanifold *set)
{
    gw_submanifold_parameter p[6];
    int count = gw_submanifold_parameters(set, p);
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{ss ss ss so sb}", "name", p[i].name, "part",
                                              p[i].part, "unit", p[i].unit, "range",
                                              range_json(&p[i]), "periodic", p[i].periodic));
    return list;
}

static json_t *values_json(const double *values, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_real(values[i]));
    return list;
}

json_t *wire_parameters_at(const gw_submanifold *set, const gw_pose *pose)
{
    double values[6];
    gw_submanifold_parameters_at(set, pose, values);
    return values_json(values, set->dof);
}

/* ---- branches ------------------------------------------------------------------------------ */

static json_t *branch_json(const gw_branch *b)
{
    char words[160];
    const double zeros[6] = {0};
    gw_pose zero = gw_submanifold_pose(&b->set, zeros);
    gw_submanifold_description(&b->set, words, sizeof words);
    json_t *nearest = json_pack("{so so sf}", "pose", wire_pose(&b->nearest), "parameters",
                                wire_parameters_at(&b->set, &b->nearest), "distance", b->distance);
    return json_pack("{ss si ss ss so so so so so}", "id", b->id, "dof", b->set.dof, "kind",
                     b->set.general ? "general" : "separable", "words", words, "rotation",
                     rotation_json(&b->set.rotation), "translation",
                     translation_json(&b->set.translation), "parameters", parameters_json(&b->set),
                     "zero", wire_pose(&zero), "nearest", nearest);
}

/* ---- bits of constraints to ids ------------------------------------------------------------ */

static json_t *ids_json(unsigned long bits, const char *const *ids)
{
    json_t *list = json_array();
    for (int i = 0; i < GW_MAX_PROBLEM; i++)
        if (bits >> i & 1)
            json_array_append_new(list, json_string(ids[i]));
    return list;
}

json_t *wire_conflict(const gw_conflict *c, const char *const *ids)
{
    json_t *values = json_object();
    for (int i = 0; i < c->value_count; i++)
        json_object_set_new(values, c->values[i].name, json_real(c->values[i].value));
    char message[384];
    gw_conflict_description(c, ids, message, sizeof message);
    return json_pack("{so ss so ss}", "constraints", ids_json(c->constraints, ids), "condition",
                     c->condition ? c->condition : "", "values", values, "message", message);
}

static json_t *redundant_json(const gw_solution *s, const char *const *ids)
{
    json_t *list = json_array();
    for (int i = 0; i < s->redundant_count; i++) {
        const gw_redundant *r = &s->redundant[i];
        json_array_append_new(list, json_pack("{ss so ss}", "id", ids[r->index], "because",
                                              ids_json(r->because, ids), "rule", r->rule));
    }
    return list;
}

static json_t *implied_json(const gw_solution *s, const char *const *ids)
{
    json_t *list = json_array();
    for (int i = 0; i < s->implied_count; i++)
        json_array_append_new(list, json_pack("{ss so}", "kind", s->implied[i].kind, "from",
                                              ids_json(s->implied[i].from, ids)));
    return list;
}

/* Each step as "rule (c1, c3)". */
static json_t *trace_json(const gw_solution *s, const char *const *ids)
{
    json_t *list = json_array();
    for (int i = 0; i < s->trace_count; i++) {
        char text[512];
        size_t n = (size_t)snprintf(text, sizeof text, "%.300s", s->trace[i].rule);
        const char *before = " (";
        for (int k = 0; k < GW_MAX_PROBLEM && n + GW_MAX_ID + 4 < sizeof text; k++) {
            if (s->trace[i].from >> k & 1) {
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", before, ids[k]);
                before = ", ";
            }
        }
        if (before[0] == ',')
            snprintf(text + n, sizeof text - n, ")");
        json_array_append_new(list, json_string(text));
    }
    return list;
}

json_t *wire_solution(const gw_solution *s, const char *const *ids)
{
    static const char *const statuses[] = {"solved", "incompatible", "unhandled"};
    json_t *branches = json_array();
    for (int i = 0; i < s->branch_count; i++)
        json_array_append_new(branches, branch_json(&s->branches[i]));
    json_t *answer = json_pack(
        "{ss si ss so so so so}", "status", statuses[s->status], "dof", s->dof, "method",
        s->method == GW_NUMERIC ? "numeric" : "closed-form", "branches", branches, "redundant",
        redundant_json(s, ids), "implied", implied_json(s, ids), "trace", trace_json(s, ids));
    if (s->complex_roots > 0)
        json_object_set_new(
            answer, "roots",
            json_pack("{si si}", "complex", s->complex_roots, "real", s->real_roots));
    if (s->status == GW_STATUS_INCOMPATIBLE)
        json_object_set_new(answer, "conflict", wire_conflict(&s->conflict, ids));
    if (s->status == GW_STATUS_UNHANDLED) {
        json_object_set_new(answer, "left", ids_json(s->left, ids));
        json_object_set_new(answer, "reason", json_string(s->reason ? s->reason : ""));
        if (isfinite(s->best_residual))
            json_object_set_new(answer, "best_residual", json_real(s->best_residual));
    }
    return answer;
}
