/*
 * The energy of an island through a step (J):
 *
 *   kinetic + potential + springs:  after - before = hand + motors + moved - damping - contacts
 *
 * What contacts took is dissipated. Where they brought something it is numerical; it is taken out
 * of the motion of what touched, or of the springs. RT safe.
 */
#include "rt/contact/world_private.h"

#define ROUNDING 1e-13 /* of a step's books (J): carried over until it is worth taking out */
#define AMPLE    100.0 /* times what is to go: a motion that hardly feels it */

static double mechanical(const gw_world *w)
{
    double sum = 0;
    for (int i = 0; i < w->island.mover_count; i++) {
        double kinetic, potential;
        gw_model_energy(gw_world_model(w, w->island.movers[i]), &kinetic, &potential);
        sum += kinetic + potential;
    }
    return sum;
}

static double springs(const gw_world *w)
{
    double sum = 0;
    for (int i = 0; i < w->island.touch_count; i++)
        sum += gw_touch_energy(&w->touches[w->island.touches[i]]);
    return sum;
}

gw_balance gw_balance_open(const gw_world *w)
{
    return (gw_balance){mechanical(w), springs(w)};
}

static bool in_contact(const gw_world *w, int mover)
{
    return w->crowd[mover] > 0 || w->movers[mover].hit;
}

static double motion(const gw_world *w)
{
    double sum = 0;
    for (int i = 0; i < w->island.mover_count; i++) {
        double kinetic, potential;
        int m = w->island.movers[i];
        gw_model_energy(gw_world_model(w, m), &kinetic, &potential);
        sum += in_contact(w, m) ? kinetic : 0;
    }
    return sum;
}

static void slow_down(gw_world *w, double factor)
{
    for (int i = 0; i < w->island.mover_count; i++) {
        int m = w->island.movers[i];
        gw_model *model = gw_world_model(w, m);
        double v[GW_MODEL_MAX_DOF];
        if (!in_contact(w, m))
            continue;
        gw_model_velocity(model, v);
        for (int k = 0; k < gw_model_dof(model); k++)
            v[k] *= factor - 1;
        gw_model_kick(model, v);
    }
}

/* Springs give way: what they hold becomes factor^2 of it. */
static void ease(gw_world *w, double factor)
{
    for (int i = 0; i < w->island.touch_count; i++) {
        gw_touch *c = &w->touches[w->island.touches[i]];
        double depth = -c->now.gap - c->slack;
        if (c->continuous && depth > 0)
            c->slack += (1 - factor) * depth;
        c->grip.slip = gw_scale(factor, c->grip.slip);
    }
}

/* Takes it from the motion where that hardly feels it, else from the springs first. */
static double take_out(gw_world *w, double excess)
{
    double moving = motion(w), held = springs(w);
    double from_springs = moving > AMPLE * excess ? 0 : fmin(excess, held);
    double from_motion = fmin(excess - from_springs, moving);
    if (from_springs > 0)
        ease(w, sqrt(1 - from_springs / held));
    if (from_motion > 0)
        slow_down(w, sqrt(1 - from_motion / moving));
    return from_springs + from_motion;
}

static double given(const gw_world *w)
{
    double sum = w->island.moved;
    for (int i = 0; i < w->island.mover_count; i++) {
        const gw_step *s = &w->movers[w->island.movers[i]].step;
        sum += s->work + s->motors - s->dissipated;
    }
    return sum;
}

void gw_balance_close(gw_world *w, const gw_balance *open, gw_world_step *out)
{
    if (!w->island.touched)
        return;
    double after = mechanical(w) + springs(w);
    double excess = after - open->energy - open->spring - given(w);
    out->moved += w->island.moved;
    if (!(excess > 0)) {
        out->dissipated -= excess;
        w->owed = fmax(0, w->owed + excess);
        return;
    }
    out->generated += excess;
    w->owed += excess;
    if (w->owed > ROUNDING)
        w->owed -= take_out(w, w->owed);
}
