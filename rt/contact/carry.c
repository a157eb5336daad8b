/*
 * A world that takes the place of another: contacts that hold go on holding. On the loop's thread,
 * RT safe.
 */
#include "rt/contact/world_private.h"

double gw_world_carry_over(gw_world *w, const gw_world *old,
                           int (*body)(const void *context, int old), const void *context)
{
    double spring = 0;
    gw_pairs_clear(w);
    for (int i = 0; i < old->touch_count; i++) {
        const gw_contact *from = &old->touches[i];
        int a = from->continuous ? body(context, from->near.a) : -1;
        int b = from->continuous ? body(context, from->near.b) : -1;
        if (a < 0 || b < 0)
            continue;
        gw_contact_candidate near = from->near;
        near.a = a;
        near.b = b;
        near.geom_a = near.geom_b = -1; /* those of another detector */
        int couple = gw_pair_of_candidate(w, &near);
        gw_contact *c = gw_pair_add_contact(w, couple, &near);
        int sibling = c->sibling;
        *c = *from;
        c->near = near;
        c->couple = couple;
        c->sibling = sibling;
        spring += gw_contact_spring_energy(c);
    }
    w->spring_last = spring;
    return spring;
}
