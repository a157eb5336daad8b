/*
 * Passivity observer and controller. On the loop's thread, RT safe.
 */
#include "rt/control/port.h"

#define QUARTER       0.25  /* of a speed, the most that a tick's damping takes */
#define REPAY_TIME    0.1   /* s, in which what came since the last second's least is taken back */
#define YIELD_TIME    0.03  /* s, in which the hand that pushes pays it, */
#define YIELD_MOST    0.25  /* by this share of its push at most; */
#define SERVO_TIME    0.03  /* s, in which a servo finds what holds the device back */
#define RISK_MARGIN   1.5   /* a chain that is hit elsewhere may turn by more than its own way */
#define RESERVE_TIME  0.005 /* s, in which the reserve for collisions is filled, */
#define RESERVE_SHARE 0.5   /* by at most this share of the power that flows into the model, */
#define RESERVE_AHEAD 6     /* 64ths of a second before losses fall out of the last second */
#define ESCROW_SHARE  0.1   /* of what is lost, held back for what nothing else pays */

static double work(const gw_wrench *w, const gw_twist *way)
{
    return gw_dot(w->f, way->v) + gw_dot(w->t, way->w);
}

/* Of what is lost a part is held back. */
static void book(gw_port *p, double energy)
{
    double held = fmin(fmax(-ESCROW_SHARE * energy, 0), fmax(p->escrow_most - p->escrow, 0));
    p->escrow += held;
    p->excess += energy + held;
}

void gw_port_observe(gw_port *p, const gw_pose *device, const gw_pose *model, double stored,
                     double booked, int delay)
{
    if (p->started) {
        gw_twist way = gw_pose_sub(device, &p->device), of_model = gw_pose_sub(model, &p->model);
        const gw_wrench *acted = &p->on_device[(p->at - delay) & (GW_PORT_PAST - 1)];
        book(p, work(acted, &way) - work(&p->fed, &way) + work(&p->on_model, &of_model) + stored -
                    p->stored - booked);
    }
    p->device = *device;
    p->model = *model;
    p->stored = stored;
    p->started = true;
}

void gw_port_charge(gw_port *p, double energy)
{
    p->stored += energy;
    book(p, energy);
}

void gw_port_hold(gw_port *p, const gw_wrench *on_device, const gw_wrench *on_model,
                  const gw_wrench *fed)
{
    p->at = (p->at + 1) & (GW_PORT_PAST - 1);
    p->on_device[p->at] = *on_device;
    p->on_model = *on_model;
    p->fed = *fed;
}

/* ---- the last second ------------------------------------------------------------------------ */

/* Ticks of a 64th of a second, rounded up. */
static int64_t part_of(double dt)
{
    return (int64_t)ceil(1 / (64 * dt) - 1e-9);
}

void gw_port_pass(gw_port *p, double dt)
{
    int64_t part = part_of(dt);
    double *least = &p->least[p->ticks / part % GW_PORT_PARTS];
    *least = p->ticks % part ? fmin(*least, p->excess) : p->excess;
    p->ticks++;
}

double gw_port_reserve(const gw_port *p, int ahead, double dt)
{
    int64_t part = part_of(dt), began = p->ticks - (int64_t)(1 / dt + 0.5);
    int64_t first = began / part, last = (began + 1) / part + ahead, newest = (p->ticks - 1) / part;
    double least = began < 0 ? 0 : p->least[first % GW_PORT_PARTS]; /* none before the first tick */
    for (int64_t i = began < 0 ? 0 : first + 1; i <= last && i <= newest && p->ticks; i++)
        least = fmin(least, p->least[i % GW_PORT_PARTS]);
    return least - p->excess;
}

/* What came since the last second's least (J). */
static double since_least(const gw_port *p, double dt)
{
    return -gw_port_reserve(p, GW_PORT_PARTS, dt);
}

double gw_port_owed(const gw_port *p, double dt)
{
    return fmax(-gw_port_reserve(p, 0, dt), fmin(dt / REPAY_TIME, 1) * since_least(p, dt));
}

void gw_port_redeem(gw_port *p, double dt)
{
    double paid = fmin(fmax(-gw_port_reserve(p, 0, dt), 0), p->escrow);
    p->escrow -= paid;
    p->excess -= paid;
}

/* The device is to move ahead of the model along F_h at v with F_h . v T = what came: the force
 * that holds v against dampers, m v / T, and what a servo finds is lacking. All as shares of F_h.
 */
double gw_port_yield(gw_port *p, gw_vec3 push, gw_vec3 ahead, double mass, double damping,
                     double dt)
{
    double came = since_least(p, dt), push2 = gw_norm2(push);
    if (!(came > 0) || !(push2 > 0)) {
        p->servo = 0;
        return 0;
    }
    double wanted = came / (YIELD_TIME * push2), lacking = wanted - gw_dot(ahead, push) / push2;
    double resistance = damping + QUARTER * mass / dt;
    p->servo = fmin(fmax(p->servo + dt / SERVO_TIME * resistance * lacking, 0), YIELD_MOST);
    return fmin(wanted * (damping + mass / YIELD_TIME) + p->servo, YIELD_MOST);
}

/* ---- the coming tick ------------------------------------------------------------------------ */

gw_wrench gw_port_acting(const gw_port *p, const gw_wrench *newest, int delay)
{
    return delay > 0 ? p->on_device[(p->at + 1 - delay) & (GW_PORT_PAST - 1)] : *newest;
}

/* What a collision may bring, at most 2 |f . n| |v . n| for the worst direction n: the model turns
 * back and the device does not know yet. Nothing where the push is along the way. */
static double risk(gw_vec3 push, gw_vec3 way)
{
    return gw_norm(push) * gw_norm(way) - gw_dot(push, way);
}

double gw_port_to_be_lost(const gw_port *p, const gw_port_ahead *ahead, double dt)
{
    const gw_wrench *push = &ahead->on_model;
    const gw_twist *way = &ahead->model;
    double expected = work(&ahead->on_device, &ahead->device) - work(&ahead->fed, &ahead->device) +
                      work(push, way) + ahead->springs;
    double flow = gw_norm(push->f) * gw_norm(way->v) + gw_norm(push->t) * gw_norm(way->w);
    double at_risk = RISK_MARGIN * (risk(push->f, way->v) + risk(push->t, way->w));
    double lacking = at_risk - gw_port_reserve(p, RESERVE_AHEAD, dt);
    double filling = fmin(fmin(dt / RESERVE_TIME, 1) * lacking, RESERVE_SHARE * flow);
    return expected + fmax(gw_port_owed(p, dt), filling);
}

/* What a rate of 1/s takes of it in a tick (J). */
static double taken(gw_mobility m, const gw_twist *way, double dt)
{
    return (gw_norm2(way->v) / m.linear + gw_norm2(way->w) / m.angular) / dt;
}

double gw_port_rate(double energy, gw_mobility device, gw_mobility model,
                    const gw_port_ahead *ahead, bool late, bool struck, double dt)
{
    double by_rate = struck ? 0 : taken(model, &ahead->model, dt);
    if (!late)
        by_rate += taken(device, &ahead->device, dt);
    if (!(energy > 0) || !(by_rate > 0))
        return 0;
    /* what is slowed goes less far in the tick already */
    return fmin(energy / ((1 - 0.5 * QUARTER) * by_rate), QUARTER / dt);
}

gw_wrench gw_port_damping(double rate, gw_mobility m, const gw_twist *way, double dt)
{
    return (gw_wrench){gw_scale(-rate / (m.linear * dt), way->v),
                       gw_scale(-rate / (m.angular * dt), way->w)};
}
