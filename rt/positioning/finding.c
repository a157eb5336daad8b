/*
 * What a rule finds: alternatives, or that its constraints contradict one another. Any thread, RT
 * safe.
 */
#include <string.h>

#include "rt/positioning/solver.h"

gw_alternative *gw_add_alternative(gw_solver *run, const char *rule)
{
    gw_rule_result *f = &run->finding;
    gw_alternative *e = &f->edits[f->count++];
    f->outcome = GW_RULE_REWRITES;
    f->rule = rule;
    e->place_count = e->direction_count = 0;
    e->fix = e->rough = false;
    e->left_out = 0;
    e->mark = 0;
    return e;
}

void gw_put_distance(gw_alternative *edit, const gw_distance_constraint *like,
                     gw_element_kind surface, gw_vec3 a, gw_vec3 b, gw_vec3 d, double p)
{
    edit->places[edit->place_count++] =
        (gw_distance_constraint){surface, like->body_owns, a, b, d, p, 0, 0};
}

void gw_keep_distance(gw_alternative *edit, const gw_distance_constraint *place)
{
    edit->places[edit->place_count++] = *place;
}

void gw_put_angle(gw_alternative *edit, const gw_distance_constraint *like, gw_vec3 u, gw_vec3 w,
                  double angle)
{
    edit->directions[edit->direction_count++] = like->body_owns
                                                    ? gw_angle_constraint_of(w, u, angle, 0)
                                                    : gw_angle_constraint_of(u, w, angle, 0);
}

static int bits(unsigned long x)
{
    return __builtin_popcountl(x);
}

/* The conflict of the fewest constraints is the one to tell. */
void gw_add_conflict(gw_solver *run, unsigned long first, unsigned long second, double excess,
                     const gw_inequality *fails)
{
    unsigned long from = first | second;
    run->finding.outcome = GW_RULE_CONFLICT;
    run->finding.excess = excess;
    gw_conflict *c = &run->conflict;
    if (c->condition && bits(c->constraints) <= bits(from)) {
        run->finding.keeps_pair = true; /* an earlier one stays: its values too */
        return;
    }
    c->constraints = from;
    c->first = first;
    c->second = second;
    c->condition = fails->condition;
    c->sentence = fails->sentence;
    memcpy(c->apart, fails->apart, sizeof c->apart);
    c->value_count = 0;
}

void gw_add_conflict_value(gw_solver *run, const char *name, double value)
{
    gw_conflict *c = &run->conflict;
    if (run->finding.keeps_pair || c->value_count == 8)
        return;
    c->values[c->value_count].name = name;
    c->values[c->value_count++].value = value;
}

void gw_add_conflict_distances(gw_solver *run, double d_a, double d_b, double p, double q)
{
    gw_add_conflict_value(run, "d_a", d_a);
    gw_add_conflict_value(run, "d_b", d_b);
    gw_add_conflict_value(run, "p", p);
    gw_add_conflict_value(run, "q", q);
}
