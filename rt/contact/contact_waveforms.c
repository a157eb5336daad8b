/*
 * Springs of contacts between systems that do not step in lockstep: waveform relaxation.
 *
 * The first trial of a substep extrapolates the motion of the other system. From the motions of a
 * trial follow the contact force F on a and its moment M about a point fixed in space, as
 * polynomials of time through their values at the substep's start, middle and end:
 *
 *   F(s) = (1 - s)(1 - 2 s) F_0 + 4 s (1 - s) F_1 + s (2 s - 1) F_2,   s = t / h;   M(s) likewise
 *
 * In the second trial they act on a, and their opposites on b, whatever these do. Formulas of third
 * order and above integrate them exactly, however many stages and substeps a system takes: both
 * systems get equal and opposite impulses. Shorter trials of the substep have them as well. More
 * trials, each with the forces of the one before, would bring F nearer to the force of its own
 * motion, but not the motion nearer to that of shorter steps. RT safe.
 */
#include <assert.h>

#include "rt/contact/world_private.h"

/* True for the spring of two systems of a group that did not see one another at the stages of the
 * last trial, in which forces of springs acted on one of them. */
static bool is_coupled(const gw_world *w, const gw_contact *c)
{
    int a = c->system_a, b = c->system_b;
    return c->continuous && !c->loaded && !c->candidate.row && gw_contact_both_dynamic(c) &&
           a != b && (w->pressed[a] || w->pressed[b]) && w->group[a] == w->group[b] &&
           w->substep_start[a] == w->substep_start[b] &&
           !(w->lockstep_of[a] >= 0 && w->lockstep_of[b] >= 0) && !w->systems[a].still &&
           !w->systems[b].still && !w->frozen[w->group[a]];
}

/* Motion of a body in the last trial, from `start` to t, at node k: on the cubic. */
static gw_body_motion motion_at(const gw_world *w, int body, double start, double t, int k)
{
    gw_body_state s = w->bodies[body];
    if (k == 0)
        return gw_body_motion_of(&s.start_pose, &s.start_twist);
    if (k == 1)
        s = gw_body_state_interpolate(w, body, 0.5 * (start + t));
    return gw_body_motion_of(&s.pose, &s.twist);
}

/* The waveform of a contact by the last trial, from `start` to t. */
static gw_contact_waveform waveform_of(const gw_world *w, const gw_contact *c, double start,
                                       double t)
{
    gw_contact_waveform f = {.start = start, .end = t, .at = c->start.at_a};
    for (int k = 0; k < GW_WAVEFORM_NODES; k++) {
        gw_body_motion a = motion_at(w, c->candidate.a, start, t, k);
        gw_body_motion b = motion_at(w, c->candidate.b, start, t, k);
        f.node[k] = gw_contact_spring_wrench(w, c, &a, &b);
        f.node[k].t = gw_add(f.node[k].t, gw_cross(gw_sub(a.p, f.at), f.node[k].f));
    }
    return f;
}

/* True where a trial to t is a part of the one that the waveforms are of; loads change with every
 * trial. */
static bool is_part(const gw_world *w, double t)
{
    bool any = false;
    for (int i = 0; i < w->active.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        const gw_contact_waveform *f = &w->waveforms[w->active.contacts[i]];
        if (c->continuous && c->loaded)
            return false;
        any = any || (gw_waveform_is_set(f) && t < f->end);
    }
    return any;
}

bool gw_waveforms_keep(gw_world *w, double t)
{
    assert(w);
    bool kept = !w->alone && is_part(w, t);
    for (int i = 0; i < w->active.contact_count && !w->alone && !kept; i++)
        w->waveforms[w->active.contacts[i]].end = w->waveforms[w->active.contacts[i]].start = 0;
    return kept;
}

bool gw_waveforms_set(gw_world *w, double t)
{
    assert(w);
    bool any = false;
    for (int i = 0; i < w->active.contact_count && !w->alone; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!is_coupled(w, c) || !(t > w->substep_start[c->system_a]))
            continue;
        w->waveforms[w->active.contacts[i]] = waveform_of(w, c, w->substep_start[c->system_a], t);
        any = true;
    }
    return any;
}

void gw_waveform_add(const gw_contact_waveform *f, double t, double sign, gw_vec3 origin,
                     gw_wrench *on)
{
    double s = t / (f->end - f->start);
    const double weight[GW_WAVEFORM_NODES] = {(1 - s) * (1 - 2 * s), 4 * s * (1 - s),
                                              s * (2 * s - 1)};
    gw_wrench sum = {{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < GW_WAVEFORM_NODES; k++) {
        sum.f = gw_mul_add(sum.f, sign * weight[k], f->node[k].f);
        sum.t = gw_mul_add(sum.t, sign * weight[k], f->node[k].t);
    }
    on->f = gw_add(on->f, sum.f);
    on->t = gw_add(on->t, gw_add(sum.t, gw_cross(gw_sub(f->at, origin), sum.f)));
}
