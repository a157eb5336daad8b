/*
 * The stiffness and mass that a device renders of those requested. Pure functions.
 */
#include "rt/haptics/renderable.h"

#include <assert.h>
#include <math.h>

#define CALM 7.0 /* m / (K_h tau^2): four times what is stable with a hand's damping */
#define FELT 0.1 /* of a stiffness: what a hand tells apart */

const char *const gw_renderable_reason_names[] = {
    [GW_RENDERED_AS_ASKED] = "as-asked",       [GW_RENDERED_BY_DEFAULT] = "default",
    [GW_RENDERED_WATCHED] = "passivity",       [GW_RENDERED_BEYOND_BOUND] = "sampling-bound",
    [GW_RENDERED_WITH_DEVICE] = "device-mass", [GW_RENDERED_TOO_LIGHT] = "smallest-mass",
    [GW_RENDERED_SOFTER] = "device-stiffness", NULL};

double gw_sampling_bound(double friction, double damping, double dt, double delay)
{
    assert(dt > 0 && delay >= 0);
    return fmax(friction - fabs(damping), 0) / (0.5 * dt + delay);
}

double gw_smallest_mass(double hand_stiffness, double tau)
{
    return CALM * hand_stiffness * tau * tau;
}

/* Compares the applied stiffness of a control spring with the sampling bound. */
static gw_rendered_value spring_answer(double requested, double applied, double damping,
                                       double friction, const gw_render_request *r)
{
    gw_rendered_value v = {.requested = requested,
                           .applied = applied,
                           .bound = gw_sampling_bound(friction, damping, r->dt, r->device.delay)};
    if (applied > v.bound)
        v.why = r->def->passivity ? GW_RENDERED_WATCHED : GW_RENDERED_BEYOND_BOUND;
    else
        v.why = requested > 0 ? GW_RENDERED_AS_ASKED : GW_RENDERED_BY_DEFAULT;
    return v;
}

/* The springs between device and model: coordination's, or the coupling's. */
static void render_springs(const gw_render_request *r, gw_rendered *out)
{
    const gw_impedance_device *d = &r->device;
    bool couples = r->def->kind == GW_LAW_COUPLING;
    const gw_spring_damper *asked = couples ? &r->def->coupling : &r->def->coordination;
    gw_spring_damper paper = GW_PAPER_COORDINATION, k = *asked;
    gw_inverse_mass model = {1 / r->mass, 1 / r->inertia};
    gw_inverse_mass device = {1 / d->mass, 1 / d->inertia};
    if (!gw_spring_is_stated(asked) && couples)
        k = gw_virtual_coupling_bound(d->mass, d->inertia, r->mass / fmax(r->couplings, 1),
                                      r->inertia / fmax(r->couplings, 1), r->dt,
                                      d->delay + d->velocity_delay);
    else if (!gw_spring_is_stated(asked))
        k = gw_spring_within_step_limit(
            &paper, model, r->def->kind == GW_LAW_FOUR_CHANNEL ? device : model, r->dt);
    out->stiffness = spring_answer(asked->linear, k.linear, k.linear_damping, d->damping, r);
    out->stiffness_angular =
        spring_answer(asked->angular, k.angular, k.angular_damping, d->damping_angular, r);
    out->reach = d->force_max > 0 && k.linear > 0 ? d->force_max / k.linear : 0;
}

/* With an impedance device, forces fed forward and back change the device's mass to the model's by
 * the gain M_d/M - 1; below M_d/2 the gain exceeds one and no delay is small enough. Couplings add
 * the model's mass to the device's own; four channels drive both with the hand's force. */
static gw_rendered_value mass_answer(gw_control_law law, double model, double device)
{
    gw_rendered_value v = {.requested = model, .applied = model, .bound = 0.5 * device};
    if (law == GW_LAW_COUPLING || law == GW_LAW_FOUR_CHANNEL) {
        v.applied = law == GW_LAW_COUPLING ? model + device : 0.5 * (model + device);
        v.bound = law == GW_LAW_COUPLING ? device : 0.5 * device;
        v.why = GW_RENDERED_WITH_DEVICE;
    } else if (model < v.bound) {
        v.why = GW_RENDERED_TOO_LIGHT;
    }
    return v;
}

/* An admittance device shows any mass, but a hand that holds it closes a loop that is late by half
 * a period, the device's delay and its servo. */
static gw_rendered_value admitted_mass(double mass, double hand_stiffness, double tau)
{
    gw_rendered_value v = {.requested = mass, .applied = mass};
    v.bound = gw_smallest_mass(hand_stiffness, tau);
    v.why = mass < v.bound ? GW_RENDERED_TOO_LIGHT : GW_RENDERED_AS_ASKED;
    return v;
}

static double most_of(const double a[3])
{
    return fmax(fmax(a[0], a[1]), a[2]);
}

/* The desired spring in series with an admittance device's structure: 1/K = 1/K_d + 1/K_s. */
static gw_rendered_value admitted_spring(double requested, double structure)
{
    bool rigid = structure == 0;
    gw_rendered_value v = {.requested = requested, .bound = rigid ? INFINITY : structure};
    v.applied = rigid ? requested : 1 / (1 / requested + 1 / structure);
    v.why = v.applied < (1 - FELT) * requested ? GW_RENDERED_SOFTER : GW_RENDERED_AS_ASKED;
    return v;
}

/* The desired spring acts on the model; with an impedance device its bound is that of control's
 * springs. */
static gw_rendered_value desired_spring(const gw_render_request *r, const double stiffness[3],
                                        const double damping[3], double friction, double structure)
{
    double k = most_of(stiffness);
    if (k == 0)
        return (gw_rendered_value){0};
    return r->def ? spring_answer(k, k, most_of(damping), friction, r)
                  : admitted_spring(k, structure);
}

static void desired_springs(const gw_render_request *r, gw_rendered *out)
{
    const gw_desired_def *d = r->desired;
    if (!d)
        return;
    out->desired = desired_spring(r, d->stiffness, d->damping, r->device.damping, r->structure);
    out->desired_angular = desired_spring(r, d->stiffness + 3, d->damping + 3,
                                          r->device.damping_angular, r->structure_angular);
}

gw_rendered gw_renderable_values(const gw_render_request *r)
{
    assert(r && r->dt > 0 && r->mass > 0 && r->inertia > 0);
    const gw_impedance_device *d = &r->device;
    gw_rendered out = {.impedance = r->def != NULL};
    desired_springs(r, &out);
    if (!r->def) {
        double servo = r->bandwidth > 0 ? 1 / (6.283185307179586 * r->bandwidth) : 0;
        double tau = 0.5 * r->dt + d->delay + servo;
        out.mass = admitted_mass(r->mass, GW_HAND_STIFFNESS, tau);
        out.inertia = admitted_mass(r->inertia, GW_HAND_STIFFNESS_ANGULAR, tau);
        return out;
    }
    out.law = r->def->kind;
    out.mass = mass_answer(out.law, r->mass, d->mass);
    out.inertia = mass_answer(out.law, r->inertia, d->inertia);
    render_springs(r, &out);
    if (out.law == GW_LAW_PENALTY)
        out.penalty = spring_answer(r->def->penalty * d->mass, r->def->penalty * d->mass,
                                    r->def->penalty_damping * d->mass, d->damping, r);
    return out;
}
