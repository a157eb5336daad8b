/*
 * Free bodies: rigid bodies that move on the set that their constraints to fixed objects leave
 * them, under hands that drag or push them and between unilateral constraints. On the loop's
 * thread, RT safe, but for create and destroy.
 *
 * A unilateral constraint that would be passed within the step is an impact, by the impulses of
 * rt/contact/impulse.h (impulsive-forces eq. 15 as corrected, pushing only). With u = -depth-dot of
 * a constraint, which may move itself, and g the gap that is left,
 *
 *   bounces (e |u| faster than REST):  u' = -e u,     so it turns up to a step's way early
 *   else, it arrives:                  u' = -g / dt,  and what is left it loses as it is there
 *
 * A body that rests against a constraint presses on its spring (unilateral.h): no impact.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/contact/impulse.h"
#include "rt/sim/moved_set.h"
#include "rt/sim/scene_dynamics_private.h"

#define REST 1e-3 /* m/s: approaching slower is left to the spring */

/* A hand carries a heavy object as easily as a light one: per kg beyond the first, and beyond its
 * weight twice. */
#define HAND_STIFFNESS 500.0 /* N/m */
#define HAND_FORCE_MAX 30.0  /* N */
#define HAND_WEIGHTS   2.0

/* ---- impacts with unilateral constraints ---- */

struct gw_bound_impacts {
    gw_impulse_work work;
    int rows;
    int wall[GW_MAX_UNILATERALS]; /* of each row */
    double j[GW_MAX_UNILATERALS * 6], e[GW_MAX_UNILATERALS], offset[GW_MAX_UNILATERALS],
        p[GW_MAX_UNILATERALS];
    double carried[GW_MAX_UNILATERALS]; /* speed from the bound that they are carried with */
    double v[6], dv[6], generalised[6];
    double memory[];
};

static gw_bound_impacts *create_impacts(void)
{
    size_t memory = gw_impulse_memory(GW_MAX_UNILATERALS, 6);
    return calloc(1, sizeof(gw_bound_impacts) + memory * sizeof(double));
}

static double energy_of(const gw_dynamic_free_body *b)
{
    double kinetic, potential;
    gw_model_energy(&b->body.model, &kinetic, &potential);
    return kinetic + potential;
}

static double spring_energy_of(const gw_dynamic_free_body *b)
{
    return b->walls ? gw_unilaterals_energy(&b->walls->state, &b->body.pose) : 0;
}

static double along(const double a[6], const gw_twist *t)
{
    return gw_dot(gw_v3(a[0], a[1], a[2]), t->v) + gw_dot(gw_v3(a[3], a[4], a[5]), t->w);
}

static void inverse(const void *context, int block, const double *force, double *answer)
{
    const gw_dynamic_free_body *b = context;
    (void)block;
    gw_model_apply_inverse(&b->body.model, force, answer);
}

/* What carries body or bound takes it beyond: its set hardly leads off it. */
static bool wedged(const gw_dynamic_free_body *b, const double *row, double speed, double coming)
{
    double answer[6], yield = 0, kinetic, potential;
    if (speed == 0)
        return false;
    inverse(b, 0, row, answer);
    for (int k = 0; k < gw_model_dof(&b->body.model); k++)
        yield += row[k] * answer[k];
    gw_model_energy(&b->body.model, &kinetic, &potential);
    kinetic += 0.5 * b->def.mass.mass * coming * coming; /* it is at rest for what comes */
    return gw_row_wedged(speed, yield, kinetic);
}

/* A row where the bound would be passed: J of the way off it. */
static void add_row(gw_bound_impacts *s, const gw_dynamic_free_body *b, int i, double dt)
{
    const gw_unilaterals *walls = &b->walls->state;
    const gw_unilateral *wall = &walls->wall[i];
    const gw_model *model = &b->body.model;
    double h, a[1][6], *row = s->j + (size_t)s->rows * (size_t)gw_model_dof(model);
    gw_twist carried;
    gw_rows_value_and_jacobian(&walls->row[i], 1, &b->body.pose, &h, a);
    for (int k = 0; k < 6; k++)
        a[0][k] *= -wall->sign;
    double gap = fmax(walls->slack[i] - wall->sign * h, 0);
    double u = along(a[0], &b->body.twist) - walls->coming[i];
    if (!(u < -REST) || gap + u * dt >= 0)
        return;
    double e = b->walls->restitution[i];
    bool bounces = -e * u > REST;
    gw_wrench w = {{a[0][0], a[0][1], a[0][2]}, {a[0][3], a[0][4], a[0][5]}};
    for (int k = 0; k < gw_model_dof(model); k++)
        row[k] = 0;
    gw_model_pull_back(model, 0, &w, row);
    s->carried[s->rows] = gw_model_base_velocity(model, 0, &carried) ? along(a[0], &carried) : 0;
    s->carried[s->rows] -= walls->coming[i];
    if (wedged(b, row, s->carried[s->rows], walls->coming[i]))
        return;
    s->offset[s->rows] = s->carried[s->rows] + (bounces ? 0 : gap / dt);
    s->e[s->rows] = bounces ? e : 0;
    s->wall[s->rows++] = i;
}

/* The body after it; what the bounds took, and what carries body and bounds gave, into the energy
 * balance. */
static void strike(gw_scene_dynamics *m, gw_dynamic_free_body *b)
{
    gw_bound_impacts *s = m->stops;
    gw_model *model = &b->body.model;
    double before = energy_of(b), given = 0;
    gw_model_velocity(model, s->v);
    gw_impulse_problem problem = {.rows = s->rows,
                                  .dof = gw_model_dof(model),
                                  .j = s->j,
                                  .v = s->v,
                                  .e = s->e,
                                  .offset = s->offset,
                                  .only_push = true,
                                  .inverse = inverse,
                                  .context = b};
    gw_impulse_solve(&problem, &s->work, s->dv, s->generalised, s->p);
    gw_model_kick(model, s->dv);
    for (int i = 0; i < s->rows; i++)
        given -= s->p[i] * s->carried[i];
    m->edits += given;
    m->dissipated += before + given - energy_of(b);
}

static void resolve_impacts(gw_scene_dynamics *m, gw_dynamic_free_body *b, uint64_t lay, double dt)
{
    gw_bound_impacts *s = m->stops;
    s->rows = 0;
    s->work.memory = s->memory;
    for (int i = 0; i < b->walls->count; i++)
        if ((b->walls->state.near >> i & 1) && !(lay >> i & 1))
            add_row(s, b, i, dt);
    b->walls->met = 0;
    for (int i = 0; i < s->rows; i++)
        b->walls->met |= 1ull << s->wall[i];
    if (s->rows > 0 && gw_model_dof(&b->body.model) > 0)
        strike(m, b);
}

/* ---- hands ----------------------------------------------------------------------------------- */

/* The drag's own defaults are those of a hand at a device. */
static void start_drag(gw_free_body_hand *hand, const gw_command *command, const gw_mass *mass,
                       gw_vec3 gravity, double dt)
{
    gw_command bounded = *command;
    if (!(bounded.drag.stiffness > 0))
        bounded.drag.stiffness = HAND_STIFFNESS * fmax(mass->mass, 1);
    if (!(bounded.drag.force_max > 0))
        bounded.drag.force_max = HAND_FORCE_MAX + HAND_WEIGHTS * mass->mass * gw_norm(gravity);
    gw_drag_start(&hand->drag, &bounded, mass, dt);
}

void gw_free_body_hand_take(gw_free_body_hand *hand, const gw_command *command, const gw_mass *mass,
                            gw_vec3 gravity, double dt)
{
    if (command->kind == GW_COMMAND_DRAG)
        start_drag(hand, command, mass, gravity, dt);
    else if (command->kind == GW_COMMAND_RELEASE)
        hand->drag.active = false;
    else
        hand->push = command->push;
}

void gw_scene_dynamics_hand(gw_scene_dynamics *m, const gw_command *command, double dt)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        if (strcmp(b->id, command->object) != 0)
            continue;
        gw_free_body_hand_take(&b->hand, command, &b->def.mass, b->def.gravity, dt);
        return;
    }
    if (!gw_mechanisms_hand(m, command, dt))
        gw_body_systems_hand(m, command, dt);
}

/* Held over the step, as at a device. */
static bool take_hand(gw_dynamic_free_body *b)
{
    const gw_guided *body = &b->body;
    gw_wrench drag =
        gw_drag_wrench(&b->hand.drag, &body->pose, b->def.mass.com, &body->pose, &body->twist);
    b->hand.acting = gw_wrench_add(drag, b->hand.push);
    b->hand.start = body->pose;
    return gw_norm2(b->hand.acting.f) + gw_norm2(b->hand.acting.t) > 0;
}

/* W = f . dp + tau . dtheta of a wrench that is constant during the step. */
static double hand_work(const gw_dynamic_free_body *b)
{
    gw_twist way = gw_pose_sub(&b->body.pose, &b->hand.start);
    return gw_dot(b->hand.acting.f, way.v) + gw_dot(b->hand.acting.t, way.w);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static bool near_walls(const gw_dynamic_free_body *b)
{
    return b->walls && b->walls->state.near;
}

static gw_wrench acting(const void *context, double t, const gw_pose *pose, const gw_twist *twist)
{
    (void)t;
    const gw_dynamic_free_body *b = context;
    if (!near_walls(b))
        return b->hand.acting;
    return gw_wrench_add(b->hand.acting, gw_unilaterals_wrench(&b->walls->state, pose, twist));
}

static void look_at_walls(gw_scene_dynamics *m, gw_dynamic_free_body *b, double dt)
{
    if (!b->walls)
        return;
    uint64_t lay = b->walls->state.touching & ~b->walls->met;
    gw_unilaterals_detect(&b->walls->state, &b->body.model, b->def.mass.mass,
                          &b->def.body_from_held, &b->body.pose, &b->body.twist, dt);
    resolve_impacts(m, b, lay, dt);
    b->walls->spring = spring_energy_of(b);
    b->walls->before = energy_of(b);
    b->walls->power = gw_unilaterals_power(&b->walls->state, &b->body.pose, &b->body.twist);
}

void gw_free_bodies_pre_step(gw_scene_dynamics *m, double dt)
{
    assert(dt > 0);
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        look_at_walls(m, b, dt);
        bool loaded = take_hand(b) || near_walls(b);
        m->mover[m->first_free + i].hand =
            loaded ? (gw_forces){acting, b, NULL, NULL} : (gw_forces){0};
    }
}

/*
 * What bounds took and their springs do not hold went into their damping. The world has seen to it
 * that the motion got no more than the work told of; without one, its energy says itself what it
 * got, kinks inside a step included.
 */
static double close_walls(const gw_scene_dynamics *m, const gw_dynamic_free_body *b,
                          const gw_step *step, double work)
{
    double got = m->world ? step->work
                          : energy_of(b) - b->walls->before + step->dissipated - step->base_work;
    return b->walls->spring - spring_energy_of(b) - (got - work);
}

/* Work of what moves bounds, by their damping. */
static double walls_work(const gw_dynamic_free_body *b, double dt)
{
    double power = gw_unilaterals_power(&b->walls->state, &b->body.pose, &b->body.twist);
    return 0.5 * dt * (b->walls->power + power);
}

void gw_free_bodies_post_step(gw_scene_dynamics *m, double dt)
{
    for (int i = 0; i < m->free_count; i++) {
        const gw_dynamic_free_body *b = &m->bodies[i];
        const gw_step *step = &m->mover[m->first_free + i].step;
        if (!step->finite)
            continue;
        double work = near_walls(b) ? hand_work(b) : step->work;
        m->work += work;
        if (!near_walls(b))
            continue;
        double given = walls_work(b, dt);
        m->edits += given;
        m->dissipated += close_walls(m, b, step, work) + given;
    }
}

double gw_free_bodies_spring_energy(const gw_scene_dynamics *m)
{
    double sum = 0;
    for (int i = 0; i < m->free_count; i++)
        sum += spring_energy_of(&m->bodies[i]);
    return sum;
}

/* ---- building ------------------------------------------------------------------------------- */

/* An object that a tool holds is the tool's, whatever else it may be. */
static bool moves_freely(const gw_scene_dynamics_def *def, int object)
{
    for (int t = 0; t < def->tool_count; t++)
        if (def->objects[t] == object)
            return false;
    return def->scene->objects[object].free && def->layout->system_of[object] < 0;
}

static gw_submanifold guide(const gw_scene_dynamics_def *def, gw_dynamic_free_body *b)
{
    const gw_placement *p = gw_layout_placement(def->layout, b->object);
    if (!p || p->count == 0 || p->branch < 0)
        return gw_submanifold_free();
    const gw_branch *branch = &p->solution.branches[p->branch];
    memcpy(b->branch, branch->id, sizeof b->branch);
    return branch->set;
}

/* Of the two objects that bound `index` keeps apart. */
static double restitution(const gw_scene *scene, int index)
{
    const gw_scene_constraint *c = &scene->constraints[index];
    const char *ids[2] = {c->a.object, c->b.object};
    double e = 1;
    for (int k = 0; k < 2; k++) {
        const gw_object *o = &scene->objects[gw_scene_object(scene, ids[k])];
        e = fmin(e, gw_scene_contact_material(scene, o->material).restitution);
    }
    return e;
}

static bool build_walls(const gw_scene_dynamics_def *def, gw_dynamic_free_body *b)
{
    if (gw_scene_unilateral(def->scene, b->object, 0) < 0)
        return true;
    b->walls = calloc(1, sizeof *b->walls);
    if (!b->walls)
        return false;
    b->walls->count =
        gw_unilaterals_build(def->scene, def->layout->poses, b->object, b->walls->wall);
    for (int i = 0; i < b->walls->count; i++)
        b->walls->restitution[i] =
            restitution(def->scene, gw_scene_unilateral(def->scene, b->object, i));
    return true;
}

static bool build_body(const gw_scene_dynamics_def *def, int object, gw_dynamic_free_body *b)
{
    const gw_object *from = &def->scene->objects[object];
    memcpy(b->id, from->id, sizeof b->id);
    b->object = object;
    b->def = (gw_guided_def){.set = guide(def, b),
                             .mass = gw_object_mass(from),
                             .gravity = def->scene->gravity,
                             .damping_linear = from->body.damping_linear,
                             .damping_angular = from->body.damping_angular,
                             .body_from_held = gw_pose_identity(),
                             .length = gw_object_length(from)};
    b->pose = def->layout->poses[object];
    b->twist = (gw_twist){from->velocity, from->spin};
    b->placed = def->placed && def->placed[object];
    return build_walls(def, b);
}

static bool make_stops(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->free_count && !m->stops; i++)
        if (m->bodies[i].walls && !(m->stops = create_impacts()))
            return false;
    return true;
}

bool gw_free_bodies_create(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    int count = 0;
    for (int i = 0; i < def->scene->object_count; i++)
        count += moves_freely(def, i);
    if (count > GW_MAX_FREE)
        return gw_fail(error, GW_TOO_LARGE, "/objects",
                       "a scene has at most %d free objects that are not joined to others; this "
                       "one has %d",
                       GW_MAX_FREE, count);
    m->bodies = calloc((size_t)count + 1, sizeof *m->bodies);
    bool made = m->bodies;
    for (int i = 0; i < def->scene->object_count && made; i++)
        if (moves_freely(def, i))
            made = build_body(def, i, &m->bodies[m->free_count++]);
    return (made && make_stops(m)) || gw_fail(error, GW_FAILED, "", "no memory for free objects");
}

void gw_free_bodies_destroy(gw_scene_dynamics *m)
{
    free(m->stops);
    for (int i = 0; i < m->free_count; i++)
        free(m->bodies[i].walls);
    free(m->bodies);
}

/* ---- where they are -------------------------------------------------------------------------- */

static gw_world_system *mover_of(gw_scene_dynamics *m, int index)
{
    return &m->mover[m->first_free + index];
}

void gw_free_bodies_reset(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        gw_guided_init(&b->body, &b->def, &b->pose);
        gw_guided_set_twist(&b->body, &b->twist);
        b->hand = (gw_free_body_hand){0};
        b->travel = (gw_transition){0};
        b->settled = false;
        mover_of(m, i)->step = (gw_step){.finite = true, .margin = 1};
        if (!b->walls)
            continue;
        gw_unilaterals_switch(&b->walls->state, b->walls->wall, b->walls->count, NULL, 0);
        b->walls->met = 0;
    }
}

/* ---- onto other sets ------------------------------------------------------------------------- */

/* By how much the set is still displaced; `rate`: its twist (of the world's point at the origin).
 */
static gw_pose displaced(const gw_dynamic_free_body *b, gw_twist *rate)
{
    gw_pose shown = b->landing, back = gw_pose_inverse(&b->landing);
    *rate = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    if (!b->travel.active)
        return gw_pose_identity();
    gw_transition_apply(&b->travel, &shown, rate);
    rate->v = gw_sub(rate->v, gw_cross(rate->w, shown.p));
    return gw_pose_mul(&shown, &back);
}

/*
 * A new set takes hold of the body where it is: displaced, and moving so that it leaves the body
 * the motion that it has. What of this the set, which may move with its geometry (`base`), does not
 * allow fades as the displacement does (rt/haptics/transition.h).
 */
static void travel_from(gw_dynamic_free_body *b, const gw_guided *was, const gw_twist *base,
                        const gw_transition_limits *limits)
{
    gw_pose back = gw_pose_inverse(&b->body.pose), at = gw_pose_mul(&was->pose, &back);
    gw_twist rate;
    gw_base_motion base_motion = gw_base_motion_from_twist(&at, base);
    b->landing = b->body.pose;
    b->body.pose = was->pose;
    b->body.twist = was->twist;
    gw_guided_set_base_motion(&b->body,
                              &base_motion); /* what the displaced set leaves of its motion */
    gw_twist allowed = {b->body.twist.v, gw_unrotate(at.q, b->body.twist.w)};
    gw_transition_start(&b->travel, &was->pose, &was->twist, &b->landing, &allowed, limits);
    at = displaced(b, &rate);
    rate = (gw_twist){gw_add(rate.v, base->v), gw_add(rate.w, base->w)};
    base_motion = gw_base_motion_from_twist(&at, &rate);
    base_motion.moves = b->travel.active || gw_norm2(base->v) + gw_norm2(base->w) > 0;
    b->body.twist = was->twist;
    gw_guided_set_base_motion(&b->body, &base_motion);
}

static void carry_body(gw_dynamic_free_body *b, const gw_dynamic_free_body *was,
                       gw_kinematics *kinematics, const gw_transition_limits *limits)
{
    gw_guided_def def = b->def;
    gw_pose to = was->body.pose;
    if (b->branch[0]) {
        gw_moved_set_at_switch(kinematics, b->object, b->branch, &def, &to);
        gw_submanifold_nearest(&def.set, &was->body.pose, def.length, &to);
    }
    gw_guided_init(&b->body, &def, &to);
    gw_twist base = gw_moved_set_twist(kinematics, &was->body);
    if (b->branch[0])
        travel_from(b, &was->body, &base, limits);
    else
        gw_guided_set_twist(&b->body, &was->body.twist);
    b->hand = was->hand;
    if (!b->walls)
        return;
    b->walls->state = was->walls ? was->walls->state : (gw_unilaterals){0};
    gw_unilaterals_switch(&b->walls->state, b->walls->wall, b->walls->count, kinematics, 0);
}

/* It was part of a system, or a tool held it: on its set, as near as may be to where it was. */
static void let_go(const gw_scene_dynamics *old, gw_dynamic_free_body *b)
{
    gw_pose was, to;
    gw_twist twist;
    if (!gw_scene_dynamics_find_body(old, gw_name_hash(b->id, 0), &was, &twist, &b->hand))
        return;
    gw_submanifold_nearest(&b->def.set, &was, b->def.length, &to);
    gw_guided_init(&b->body, &b->def, &to);
    gw_guided_set_twist(&b->body, &twist);
}

void gw_free_bodies_carry_over(gw_scene_dynamics *m, const gw_scene_dynamics *old,
                               gw_kinematics *kinematics, const gw_transition_limits *limits)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        const gw_dynamic_free_body *was = NULL;
        for (int k = 0; k < old->free_count; k++)
            if (strcmp(old->bodies[k].id, b->id) == 0)
                was = &old->bodies[k];
        if (b->placed)
            continue;
        if (was)
            carry_body(b, was, kinematics, limits);
        else
            let_go(old, b);
    }
}

/* The set goes on its way by a tick; bounds yield to that, as to an edit. */
static void go_on(gw_dynamic_free_body *b, double dt, gw_pose *before, gw_pose *after)
{
    gw_twist rate;
    bool travels = b->travel.active;
    *before = displaced(b, &rate);
    b->settled = travels && gw_transition_advance(&b->travel, dt, 1);
    *after = displaced(b, &rate);
    if (!travels || !b->walls)
        return;
    gw_pose back = gw_pose_inverse(before), own = gw_pose_mul(&back, &b->body.pose);
    gw_pose to = gw_pose_mul(after, &own);
    gw_unilaterals_yield(&b->walls->state, &b->body.pose, &to);
}

/* False where its branch is gone. */
static bool move_set(gw_dynamic_free_body *b, gw_kinematics *kinematics, double dt)
{
    gw_pose before, after;
    if (!b->branch[0] || !(kinematics || b->body.base.moves))
        return true;
    go_on(b, dt, &before, &after);
    return gw_moved_set_advance(kinematics, b->object, b->branch, &b->body, &before, &after, dt) !=
           GW_MOVED_SET_GONE;
}

int gw_scene_dynamics_move_sets(gw_scene_dynamics *m, gw_kinematics *kinematics, double dt)
{
    int left = -1;
    gw_mechanisms_move_bases(m, dt);
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        b->settled = false;
        if (!kinematics && !b->body.base.moves && !(b->walls && b->walls->state.moving))
            continue;
        double energy = energy_of(b) + spring_energy_of(b);
        if (!move_set(b, kinematics, dt))
            left = b->object;
        if (b->walls)
            gw_unilaterals_move(&b->walls->state, kinematics, &b->body.pose, dt);
        m->edits += energy_of(b) + spring_energy_of(b) - energy;
    }
    return left;
}

int gw_scene_dynamics_settled(const gw_scene_dynamics *m, int *at)
{
    while (*at < m->free_count) {
        const gw_dynamic_free_body *b = &m->bodies[(*at)++];
        if (b->settled)
            return b->object;
    }
    return -1;
}

/* ---- what they tell -------------------------------------------------------------------------- */

void gw_free_bodies_publish(const gw_scene_dynamics *m, gw_snapshot *s)
{
    s->free_count = m->free_count;
    for (int i = 0; i < m->free_count; i++) {
        const gw_dynamic_free_body *b = &m->bodies[i];
        s->free[i] = (gw_free_body){.object = b->object,
                                    .pose = b->body.pose,
                                    .twist = b->body.twist,
                                    .constraint = m->mover[m->first_free + i].step.constraint,
                                    .operator= b->hand.acting,
                                    .dragging = b->hand.drag.active,
                                    .travelling = b->travel.active,
                                    .walls = b->walls ? b->walls->state.touching : 0};
    }
}
