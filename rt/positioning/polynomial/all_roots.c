/*
 * All isolated poses of a leaf: which system it is, its roots, and which of them are poses. Any
 * thread, RT safe; bounded by gw_run's `work`.
 */
#include <string.h>

#include "rt/positioning/polynomial/harvest.h"
#include "rt/positioning/polynomial/section.h"

#define AT_INFINITY 1e-8 /* of the last coordinate: a point as far as that is none */

/* ---- rotations, as three equations ----------------------------------------------------------- */

/* What three quadrics are equations in: the quaternion, or (t, 1). */
typedef struct unknowns {
    const gw_conditions *turning; /* NULL: the rotation is known */
    gw_quat rotation;
} unknowns;

static gw_root root_of(const unknowns *u, const gw_complex x[4])
{
    if (u->turning)
        return gw_conditions_root(u->turning, x);
    const gw_quat q = u->rotation;
    gw_complex w = cabs(x[3]) > AT_INFINITY ? x[3] : AT_INFINITY;
    return (gw_root){{q.w, q.x, q.y, q.z}, {x[0] / w, x[1] / w, x[2] / w}};
}

static bool by_quadrics(gw_harvest *h, const unknowns *u, const gw_equations *s)
{
    gw_complex e[8][4];
    gw_equation_ways ways;
    gw_paths paths = {4, &ways, gw_equations_evaluate, &h->c->run->work, GW_TURNING_COST};
    gw_path path[8];
    h->c->run->work -= 1200;
    gw_equations_ways(s, 0, &ways);
    if (!gw_quadrics_roots(s->quadric, e))
        return false;
    for (int i = 0; i < 8; i++)
        memcpy(path[i].x, e[i], sizeof e[i]);
    gw_finish_paths(&paths, path, 8);
    for (int i = 0; i < 8; i++) {
        gw_root x = root_of(u, path[i].x);
        int before = h->count;
        gw_harvest_take(h, x, path[i].end);
        if (h->count == before && !gw_root_at_infinity(&x) && gw_harvest_belongs(h, &x, 1e-5))
            h->multiple++;
    }
    h->singular += h->crossed; /* eight there are: two at one place are one of them twice */
    h->crossed = 0;
    return true;
}

/* ---- which ----------------------------------------------------------------------------------- */

/* Paths to a multiple root do not prove that it is alone: a curve may pass through it. */
static gw_roots_found conclude(gw_harvest *h, bool finite)
{
    bool simple = gw_harvest_complete(h) && h->singular == 0;
    gw_roots_found found = {simple || finite, simple, gw_harvest_sort(h)};
    if (!found.exact)
        found.complex_roots = 0;
    return found;
}

/* The forms as they are, or those of the inverse pose, whichever tells t by R. */
static bool conditions(gw_forms *f, gw_conditions *c)
{
    for (int side = 0; side < 2; side++) {
        if (gw_conditions_of(f, c))
            return true;
        gw_forms_mirror(f);
    }
    return false;
}

gw_roots_found gw_roots_quick(gw_completion *completion)
{
    gw_forms forms;
    gw_conditions c;
    gw_equations s;
    gw_harvest h;
    gw_roots_found none = {false, false, 0};
    if (completion->row_count < 6 || gw_gram_roots(completion, &none))
        return none;
    gw_forms_of(completion, &forms);
    unknowns u = {NULL, gw_forms_rotation(&forms, completion->state->rotation)};
    if (!completion->state->fixed) {
        if (!conditions(&forms, &c) || c.quadrics < 3)
            return none;
        gw_conditions_equations(&c, &s);
        u.turning = &c;
    } else if (!gw_fixed_equations(&forms, u.rotation, &s)) {
        return none;
    }
    gw_harvest_begin(&h, completion, &forms);
    if (!by_quadrics(&h, &u, &s))
        return none;
    return conclude(&h, true);
}

static gw_roots_found by_paths(gw_completion *completion)
{
    gw_forms forms;
    gw_conditions c;
    gw_harvest h;
    gw_roots_found none = {false, false, 0};
    if (completion->row_count < 6)
        return none;
    gw_forms_of(completion, &forms);
    bool turning = conditions(&forms, &c) && c.quadrics + forms.squared > 0;
    int cylinders = forms.linear < 6 ? 6 - forms.linear : 0;
    if (!turning && (cylinders > forms.squared || cylinders > GW_MOST_CYLINDERS))
        return none;
    gw_harvest_begin(&h, completion, &forms);
    if (turning)
        gw_travel_rotations(&h, &c);
    else
        gw_travel_section(&h, cylinders);
    return conclude(&h, false);
}

/* Behind a choice there are other leaves, which want their share. */
gw_roots_found gw_roots_all(gw_completion *completion)
{
    gw_run *run = completion->run;
    bool alone = completion->state->choice_count == 0 || completion->any_sense;
    long kept = alone || run->work <= 0 ? 0 : 3 * (run->work / 4);
    run->work -= kept;
    gw_roots_found found = by_paths(completion);
    run->work += kept;
    return found;
}
