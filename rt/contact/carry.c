/*
 * A world that takes the place of another: contacts that hold go on holding. On the loop's thread,
 * RT safe.
 */
#include "rt/contact/world_private.h"

double gw_world_carry(gw_world *w, const gw_world *old, int (*body)(const void *context, int old),
                      const void *context)
{
    double spring = 0;
    w->touch_count = 0;
    for (int i = 0; i < old->touch_count; i++) {
        const gw_touch *from = &old->touches[i];
        int a = from->continuous ? body(context, from->near.a) : -1;
        int b = from->continuous ? body(context, from->near.b) : -1;
        if (a < 0 || b < 0)
            continue;
        gw_touch *c = &w->touches[w->touch_count++];
        *c = *from;
        c->near.a = a;
        c->near.b = b;
        spring += gw_touch_energy(c);
    }
    w->spring_last = spring;
    return spring;
}
