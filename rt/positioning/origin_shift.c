/*
 * Problems whose elements are all far from the world's origin, such as one part in the coordinates
 * of a site. They are solved in a world shifted to the elements, because tolerances and the numeric
 * completion are relative to the elements' distance from the origin; the branches are then shifted
 * back. No tolerance may be less than the rounding of the stated coordinates: if it would be, the
 * shift leaves the elements far enough from the origin. The metric is invariant. Any thread, RT
 * safe.
 */
#include <float.h>

#include "rt/positioning/solver.h"

/* Elements are far if their distance from the origin is this many times the reach of elements and
 * body. */
#define FAR 30.0
/* Relative to the elements' distance from the origin: bound of the rounding error of a distance
 * between two of them. */
#define ROUNDING (4 * DBL_EPSILON)

/* The larger of the distance of a constraint's element from the body's origin and its value (m). */
static double reach_of(const gw_constraint *c)
{
    double reach = gw_element_reach(&c->mobile);
    return gw_constraint_has_length(c->kind) ? fmax(reach, fabs(c->value)) : reach;
}

bool gw_origin_shift(const gw_problem *p, gw_vec3 *shift)
{
    gw_vec3 sum = {0, 0, 0};
    double reach = p->length;
    int count = 0;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        if (!gw_constraint_has_distance(c->kind))
            continue;
        reach = fmax(reach, reach_of(c));
        /* an element that is near: most problems' first */
        if (gw_norm2(c->fixed.p) <= FAR * FAR * reach * reach)
            return false;
        sum = gw_add(sum, c->fixed.p);
        count++;
    }
    if (count == 0)
        return false;
    *shift = gw_scale(1.0 / count, sum);
    for (int i = 0; i < p->count; i++) {
        gw_element moved = p->constraints[i].fixed;
        moved.p = gw_sub(moved.p, *shift);
        if (gw_constraint_has_distance(p->constraints[i].kind))
            reach = fmax(reach, gw_element_reach(&moved));
    }
    double far = gw_norm(*shift), least = ROUNDING / GW_SNAP * far;
    if (far <= FAR * reach)
        return false;
    if (least > reach)
        *shift = gw_scale(1 - least / far, *shift);
    return true;
}

void gw_shift_problem(const gw_problem *p, gw_vec3 shift, gw_constraint *constraints,
                      gw_problem *shifted)
{
    *shifted = *p;
    shifted->constraints = constraints;
    shifted->pose.p = gw_sub(p->pose.p, shift);
    for (int i = 0; i < p->count; i++) {
        constraints[i] = p->constraints[i];
        constraints[i].fixed.p = gw_sub(p->constraints[i].fixed.p, shift);
    }
}

void gw_shift_branch(gw_branch *b, gw_vec3 by)
{
    gw_submanifold *set = &b->set;
    gw_translation_set *t = &set->translation;
    gw_vec3 *moved = t->in_mobile ? &t->of : &t->locus.origin;
    if (t->locus.kind != GW_LOCUS_FREE && t->locus.kind != GW_LOCUS_GENERAL)
        *moved = gw_add(*moved, by);
    for (int i = 0; i < set->row_count; i++)
        if (set->rows[i].kind != GW_ROW_ANGLE)
            set->rows[i].f = gw_add(set->rows[i].f, by);
    set->seed.p = gw_add(set->seed.p, by);
    b->nearest.p = gw_add(b->nearest.p, by);
}
