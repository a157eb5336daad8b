/*
 * What a rule finds: alternatives, or that its constraints contradict one another. Any thread, RT
 * safe.
 */
#include <string.h>

#include "rt/positioning/solve_internal.h"

gw_edit *gw_option(gw_run *run, const char *rule)
{
    gw_finding *f = &run->finding;
    gw_edit *e = &f->edits[f->count++];
    f->outcome = GW_REWRITE;
    f->rule = rule;
    e->place_count = e->direction_count = 0;
    e->fix = e->rough = false;
    e->left_out = 0;
    e->mark = 0;
    return e;
}

void gw_put(gw_edit *edit, const gw_place *like, gw_element_kind surface, gw_vec3 a, gw_vec3 b,
            gw_vec3 d, double p)
{
    edit->places[edit->place_count++] = (gw_place){surface, like->body_owns, a, b, d, p, 0, 0};
}

void gw_put_same(gw_edit *edit, const gw_place *place)
{
    edit->places[edit->place_count++] = *place;
}

void gw_put_angle(gw_edit *edit, const gw_place *like, gw_vec3 u, gw_vec3 w, double angle)
{
    edit->directions[edit->direction_count++] =
        like->body_owns ? gw_direction_of(w, u, angle, 0) : gw_direction_of(u, w, angle, 0);
}

static int bits(unsigned long x)
{
    return __builtin_popcountl(x);
}

/* The conflict of the fewest constraints is the one to tell. */
void gw_clash(gw_run *run, unsigned long first, unsigned long second, double excess,
              const gw_inequality *fails)
{
    unsigned long from = first | second;
    run->finding.outcome = GW_CLASH;
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

void gw_clash_value(gw_run *run, const char *name, double value)
{
    gw_conflict *c = &run->conflict;
    if (run->finding.keeps_pair || c->value_count == 8)
        return;
    c->values[c->value_count].name = name;
    c->values[c->value_count++].value = value;
}

void gw_clash_distances(gw_run *run, double d_a, double d_b, double p, double q)
{
    gw_clash_value(run, "d_a", d_a);
    gw_clash_value(run, "d_b", d_b);
    gw_clash_value(run, "p", p);
    gw_clash_value(run, "q", q);
}
