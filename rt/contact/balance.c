/*
 * The energy of an island through a step (J):
 *
 *   kinetic + potential + springs:  after - before = hand + motors + moved - damping - contacts
 *
 * Only movers that had a contact count. What contacts took is dissipated. Where they brought
 * something it is numerical; it is taken out of the motion of what touched, or of the springs. RT
 * safe.
 */
#include "rt/contact/world_private.h"

#define ROUNDING 1e-13 /* of a step's books (J): carried over until it is worth taking out */
#define AMPLE    100.0 /* times what is to go: a motion that hardly feels it */

/* What a mover without contact may be above what it was given: this (J), and of its motion. */
#define DRIFT      2e-10
#define DRIFT_PART 1e-11

static double mechanical(const gw_world *w, int mover)
{
    double kinetic, potential;
    gw_model_energy(gw_world_model(w, mover), &kinetic, &potential);
    return kinetic + potential;
}

static double springs(const gw_world *w)
{
    double sum = 0;
    for (int i = 0; i < w->whole.touch_count; i++)
        sum += gw_contact_spring_energy(&w->touches[w->whole.touches[i]]);
    return sum;
}

void gw_energy_audit_open(const gw_world *w, gw_energy_audit *open)
{
    for (int i = 0; i < w->whole.mover_count; i++)
        open->mover[w->whole.movers[i]] = mechanical(w, w->whole.movers[i]);
    open->spring = springs(w);
    for (int i = 0; i < w->whole.touch_count; i++)
        open->spring -= w->touches[w->whole.touches[i]].owes;
}

static double motion(const gw_world *w)
{
    double sum = 0;
    for (int i = 0; i < w->whole.mover_count; i++) {
        double kinetic, potential;
        int m = w->whole.movers[i];
        gw_model_energy(gw_world_model(w, m), &kinetic, &potential);
        sum += w->felt[m] ? kinetic : 0;
    }
    return sum;
}

/* What it took (J): less than asked for where a part of the motion is not the model's own. */
static double slow(gw_model *model, double factor)
{
    double v[GW_MODEL_MAX_DOF], before, after, potential;
    gw_model_energy(model, &before, &potential);
    gw_model_velocity(model, v);
    for (int k = 0; k < gw_model_dof(model); k++)
        v[k] *= factor - 1;
    gw_model_kick(model, v);
    gw_model_energy(model, &after, &potential);
    return before - after;
}

static double slow_down(gw_world *w, double factor)
{
    double taken = 0;
    for (int i = 0; i < w->whole.mover_count; i++)
        if (w->felt[w->whole.movers[i]])
            taken += slow(gw_world_model(w, w->whole.movers[i]), factor);
    return taken;
}

/* Springs give way: what they hold becomes factor^2 of it. */
static void ease(gw_world *w, double factor)
{
    for (int i = 0; i < w->whole.touch_count; i++) {
        gw_contact *c = &w->touches[w->whole.touches[i]];
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
        from_motion = slow_down(w, sqrt(1 - from_motion / moving));
    return from_springs + from_motion;
}

static double given(const gw_step *s)
{
    return s->work + s->motors + s->ride - s->dissipated;
}

/* How far a mover without contact has risen above the least that it had beyond what it was given.
 */
static void watch_drift(gw_world *w, int m, double before, gw_world_step_result *out)
{
    double kinetic, potential;
    gw_model *model = gw_world_model(w, m);
    gw_model_energy(model, &kinetic, &potential);
    w->drift[m] += kinetic + potential - before - given(&w->movers[m].step);
    out->dissipated += fmax(0, -w->drift[m]);
    w->drift[m] = fmax(0, w->drift[m]);
    if (!(w->drift[m] > DRIFT + DRIFT_PART * kinetic) || !(kinetic > 0))
        return;
    double taken = slow(model, sqrt(fmax(0, 1 - w->drift[m] / kinetic)));
    out->generated += w->drift[m];
    out->external_work += w->drift[m] - taken; /* what carries it gave the rest */
    w->drift[m] = 0;
}

void gw_energy_audit_without_contacts(gw_world *w, gw_world_step_result *out)
{
    int m = w->whole.movers[0];
    double before = mechanical(w, m);
    gw_substep_without_contacts(w);
    watch_drift(w, m, before, out);
}

/* What came to movers in contact that nobody gave. */
static double excess_of(const gw_world *w, const gw_energy_audit *open)
{
    double sum = springs(w) - open->spring - w->moved;
    for (int i = 0; i < w->whole.mover_count; i++) {
        int m = w->whole.movers[i];
        if (w->felt[m])
            sum += mechanical(w, m) - open->mover[m] - given(&w->movers[m].step);
    }
    return sum;
}

static bool moved_from_outside(const gw_world *w, int body)
{
    return w->places[body].model < 0 && w->places[body].moves;
}

/* By its set, or pressed by what moves from outside. */
static bool carried(const gw_world *w)
{
    for (int i = 0; i < w->whole.touch_count; i++) {
        const gw_contact_candidate *near = &w->touches[w->whole.touches[i]].near;
        if (moved_from_outside(w, near->a) || moved_from_outside(w, near->b))
            return true;
    }
    gw_twist unused;
    for (int i = 0; i < w->whole.mover_count; i++)
        if (w->felt[w->whole.movers[i]] &&
            gw_model_base_velocity(gw_world_model(w, w->whole.movers[i]), 0, &unused))
            return true;
    return false;
}

void gw_energy_audit_close(gw_world *w, const gw_energy_audit *open, gw_world_step_result *out)
{
    for (int i = 0; i < w->whole.mover_count; i++)
        if (!w->felt[w->whole.movers[i]])
            watch_drift(w, w->whole.movers[i], open->mover[w->whole.movers[i]], out);
    if (!w->touched)
        return;
    double excess = excess_of(w, open);
    out->external_work += w->moved;
    if (!(excess > 0)) {
        out->dissipated -= excess;
        w->owed = fmax(0, w->owed + excess);
        return;
    }
    out->generated += excess;
    w->owed += excess;
    if (!(w->owed > ROUNDING))
        return;
    w->owed -= take_out(w, w->owed);
    if (!carried(w))
        return;
    out->external_work += w->owed; /* what has no motion of its own to take it from */
    w->owed = 0;
}
