/*
 * The step of a scene's models (held objects, mechanisms, free bodies) with their contacts;
 * exchange with collision detection and local models; energy. On the loop's thread, RT safe.
 * Creation is in scene_dynamics_build.c, the transfer of free bodies to another scenario in
 * free_bodies.c.
 */
#include "rt/sim/scene_dynamics_private.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Defaults of a drag: the stiffness is scaled by the mass above 1 kg, the force limit is
 * increased by twice the weight. */
#define HAND_STIFFNESS 500.0 /* N/m */
#define HAND_FORCE_MAX 30.0  /* N */
#define HAND_WEIGHTS   2.0

/* ---- state ---------------------------------------------------------------------------------- */

static void forget_moved(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->moved_count; i++)
        m->moved_at[m->moved[i].body] = 0;
    m->moved_count = 0;
}

static void take_start_contacts(gw_scene_dynamics *m)
{
    int count;
    if (!m->world)
        return;
    gw_scene_unilaterals_reset(m->unilaterals, m->world);
    gw_world_reset(m->world);
    gw_scene_unilaterals_update(m);
    if (!m->pair_filter)
        return;
    const gw_contact_candidate *near = gw_detection_start_candidates(m->detection, &count);
    gw_world_set_candidates(m->world, near, count);
    m->contact.near = count;
}

void gw_scene_dynamics_reset(gw_scene_dynamics *m)
{
    gw_free_bodies_reset(m);
    gw_body_systems_reset(m);
    m->work = m->dissipated = m->motors = m->edits = 0;
    m->contact = (gw_contact_statistics){0};
    m->last = (gw_world_step_result){0};
    m->was_jammed = m->immovable = m->was_crowded = m->crowded = false;
    m->quiet = 0;
    m->was_strained = m->strained = 0;
    forget_moved(m);
    m->limits.fresh = true;
    gw_edge_rows_reset(&m->edges);
    if (m->detection)
        gw_detection_restart(m->detection);
    take_start_contacts(m);
}

typedef struct gw_scene_dynamics_pair {
    const gw_scene_dynamics *now, *old;
} gw_scene_dynamics_pair;

static int body_after_edit(const void *context, int old)
{
    const gw_scene_dynamics_pair *p = context;
    uint64_t name = p->old->names[old];
    if (old < p->now->world_body_count && p->now->names[old] == name)
        return old;
    for (int i = 0; i < p->now->world_body_count; i++)
        if (p->now->names[i] == name)
            return i;
    return -1;
}

void gw_scene_dynamics_rename(gw_scene_dynamics *m, const gw_new_names *names)
{
    assert(m && names);
    gw_name_table_give(&names->bodies, m->names, m->world_body_count);
    gw_name_table_give(&names->bodies, m->held_names, m->held_count);
    for (int i = 0; i < m->free_count; i++)
        if (gw_name_table_give(&names->bodies, &m->bodies[i].name, 1))
            m->bodies[i].hand = (gw_free_body_hand){0};
    for (int i = 0; i < m->system_count; i++)
        gw_dynamic_system_rename(&m->systems[i], names);
}

void gw_scene_dynamics_carry_over(gw_scene_dynamics *m, const gw_scene_dynamics *old,
                                  gw_kinematics *kinematics, const gw_transition_limits *limits)
{
    gw_free_bodies_carry_over(m, old, kinematics, limits);
    gw_body_systems_carry_over(m, old, kinematics, limits);
    m->contact = old->contact;
    m->contact.spring = 0;
    m->contact.touching = 0;
    m->last.touching = old->last.touching;
    if (m->world && old->world) {
        gw_scene_unilaterals_carry_over(m->unilaterals, old->unilaterals);
        m->contact.spring = gw_world_carry_over(m->world, old->world, body_after_edit,
                                                &(gw_scene_dynamics_pair){m, old});
        gw_scene_unilaterals_update(m);
    }
    if (m->detection)
        gw_detection_expedite(m->detection);
}

void gw_scene_dynamics_motor(gw_scene_dynamics *m, int mechanism, int joint, int coordinate,
                             const gw_motor *motor)
{
    int system, body;
    if (mechanism >= m->mechanism_count || joint < 0 ||
        (mechanism >= 0 && m->first_link[mechanism] + joint >= m->first_link[mechanism + 1]))
        return;
    if (mechanism < 0 ? gw_body_systems_find_joint(m, joint, &system, &body)
                      : gw_body_systems_find_link(
                            m, m->first_link[mechanism] + joint - m->object_count, &system, &body))
        gw_system_set_motor(m->systems[system].system, body, coordinate, motor);
    m->limits.fresh = true;
}

gw_model *gw_scene_dynamics_held_model(gw_scene_dynamics *m, int index)
{
    assert(index >= 0 && index < m->tool_count);
    if (m->second[index])
        return m->second[index];
    return m->tool_world_system[index] >= m->held_count
               ? m->world_systems[m->tool_world_system[index]].model
               : NULL;
}

bool gw_scene_dynamics_hold_one_model(const gw_scene_dynamics *m, int tool, int other)
{
    assert(tool >= 0 && tool < m->tool_count && other >= 0 && other < m->tool_count);
    return m->tool_world_system[tool] == m->tool_world_system[other];
}

gw_world_system *gw_scene_dynamics_world_system(gw_scene_dynamics *m, int index)
{
    assert(index >= 0 && index < m->tool_count);
    return m->second[index] ? &m->second_world_system[index]
                            : &m->world_systems[m->tool_world_system[index]];
}

gw_detection *gw_scene_dynamics_detection(gw_scene_dynamics *m)
{
    return m->detection;
}

/* ---- bodies out, contacts in ---------------------------------------------------------------- */

void gw_scene_dynamics_place_kinematic(gw_scene_dynamics *m, int object, const gw_pose *pose,
                                       double dt)
{
    assert(object >= 0 && object < m->object_count);
    gw_twist twist = {{0, 0, 0}, {0, 0, 0}};
    if (!m->world)
        return;
    if (dt > 0) {
        gw_twist displacement = gw_pose_sub(pose, &m->placed[object]);
        twist = (gw_twist){gw_scale(1 / dt, displacement.v), gw_scale(1 / dt, displacement.w)};
    }
    m->placed[object] = *pose;
    gw_world_set_body(m->world, object, pose, &twist);
    if (m->moved_at[object] == 0 && m->moved_count < m->moved_most)
        m->moved_at[object] = ++m->moved_count;
    if (m->moved_at[object] > 0)
        m->moved[m->moved_at[object] - 1] = (gw_detection_body){object, *pose, twist};
}

bool gw_scene_dynamics_has_contacts(const gw_scene_dynamics *m)
{
    return m->world;
}

void gw_scene_dynamics_move_unilaterals(gw_scene_dynamics *m, const gw_kinematics *kinematics,
                                        double dt)
{
    if (m->world && gw_kinematics_moved(kinematics))
        gw_scene_unilaterals_move(m->unilaterals, m->world, kinematics, dt);
}

gw_unilaterals_at gw_scene_dynamics_unilaterals(const gw_scene_dynamics *m, int object,
                                                gw_vec3 point)
{
    assert(object >= 0);
    return gw_scene_unilaterals_at(m->unilaterals, object, point);
}

static int publish_model(const gw_model *model, int body, gw_detection_body *to)
{
    int count = gw_model_bodies(model);
    for (int i = 0; i < count; i++) {
        to[i].body = body + i;
        gw_model_body(model, i, &to[i].pose, &to[i].twist);
    }
    return count;
}

static void publish_bodies(gw_scene_dynamics *m)
{
    int count = 0;
    for (int i = 0; i < m->held_count; i++)
        if (m->world_systems[i].model)
            count += publish_model(m->world_systems[i].model, m->held[i], m->published + count);
    for (int i = 0; i < m->free_count; i++)
        count += publish_model(&m->bodies[i].body.model, m->bodies[i].object, m->published + count);
    for (int i = 0; i < m->system_count; i++) {
        const gw_dynamic_system *d = &m->systems[i];
        for (int k = 0; k < d->body_count; k++) {
            gw_detection_body *to = &m->published[count++];
            to->body = d->numbers[k];
            gw_model_body(gw_system_model(d->system), k, &to->pose, &to->twist);
        }
    }
    memcpy(m->published + count, m->moved, (size_t)m->moved_count * sizeof *m->published);
    gw_detection_publish(m->detection, m->published, count + m->moved_count);
    forget_moved(m);
}

bool gw_scene_dynamics_exchange(gw_scene_dynamics *m)
{
    int count;
    if (!m->detection) {
        forget_moved(m);
        return false;
    }
    gw_detection_turn turn = gw_detection_begin_tick(m->detection);
    if (m->locals)
        gw_body_systems_exchange_locals(m, turn);
    if (turn.takes && m->pair_filter) {
        const gw_contact_candidate *near = gw_detection_candidates(m->detection, &count);
        if (near) {
            gw_world_set_candidates(m->world, near, count);
            m->contact.near = count;
        }
    }
    if (turn.asks && m->pair_filter)
        publish_bodies(m);
    else if (turn.asks)
        gw_detection_publish(m->detection, NULL, 0);
    return turn.overdue;
}

/* ---- hands ----------------------------------------------------------------------------------- */

/* Sets the defaults that depend on the mass; gw_drag_start() has the others. */
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
    assert(m && command && dt > 0);
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        if (strcmp(b->id, command->object) != 0)
            continue;
        gw_free_body_hand_take(&b->hand, command, &b->def.mass, b->def.gravity, dt);
        return;
    }
    gw_body_systems_hand(m, command, dt);
}

/* The hand's wrench is constant during the step, as at a device. */
static bool apply_hand(gw_dynamic_free_body *b)
{
    const gw_guided *body = &b->body;
    gw_wrench drag =
        gw_drag_wrench(&b->hand.drag, &body->pose, b->def.mass.com, &body->pose, &body->twist);
    b->hand.acting = gw_wrench_add(drag, b->hand.push);
    b->hand.start = body->pose;
    return gw_norm2(b->hand.acting.f) + gw_norm2(b->hand.acting.t) > 0;
}

/* ---- the step ------------------------------------------------------------------------------- */

static gw_wrench wrench_on_body(const void *context, double t, const gw_pose *pose,
                                const gw_twist *twist)
{
    (void)t;
    (void)pose;
    (void)twist;
    const gw_dynamic_free_body *b = context;
    return b->hand.acting;
}

static void free_bodies_pre_step(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        m->world_systems[m->first_free + i].hand =
            apply_hand(b) ? (gw_forces){.at = wrench_on_body, .context = b} : (gw_forces){0};
    }
}

static void free_bodies_post_step(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->free_count; i++) {
        const gw_step *step = &m->world_systems[m->first_free + i].step;
        if (step->finite)
            m->work += step->work;
    }
}

static void step_apart(gw_scene_dynamics *m, double dt)
{
    for (int i = 0; i < m->world_system_count; i++) {
        gw_world_system *system = &m->world_systems[i];
        system->collided = false;
        system->step = (gw_step){.finite = true, .margin = 1};
        if (!system->still)
            gw_model_step(system->model, &system->hand, dt, &system->step);
    }
}

static void step_together(gw_scene_dynamics *m, double dt)
{
    gw_contact_statistics *f = &m->contact;
    gw_joint_limits_pre_step(m, dt);
    gw_edge_rows_pre_step(m, dt);
    gw_scene_unilaterals_pre_step(m, dt);
    gw_world_step_all(m->world, m->world_systems, dt, &m->last);
    m->was_jammed = m->immovable;
    m->immovable = m->last.immovable;
    m->was_crowded = m->crowded;
    m->quiet = m->last.deferred > 0 ? 0 : m->quiet + dt;
    m->crowded = m->last.deferred > 0 || (m->crowded && m->quiet < 1);
    m->edits += m->last.external_work;
    f->dissipated += m->last.dissipated;
    m->dissipated += m->last.dissipated;
    f->generated += m->last.generated;
    f->deferred += (uint64_t)m->last.deferred;
    f->redetections_skipped += (uint64_t)m->last.redetections_skipped;
    f->spring = m->last.spring;
    f->touching = m->last.touching;
    f->collisions += (uint64_t)m->last.collisions;
    gw_scene_unilaterals_update(m);
}

/* Findings of the step, except those of the models' steps. */
static void find_events(gw_scene_dynamics *m)
{
    gw_dynamics_findings *f = &m->found;
    f->jammed = m->immovable && !m->was_jammed;
    f->crowded = m->crowded && !m->was_crowded ? m->last.deferred : 0;
    f->strained = m->strained > 1 && !(m->was_strained > 1) ? m->strained : 0;
    if (f->energy_error > 0)
        f->energy_error = gw_body_systems_energy_error(m);
    f->any = f->jammed || f->edge || f->degenerate || f->failed || f->crowded > 0 ||
             f->energy_error > 0 || f->strained > 0;
}

const gw_dynamics_findings *gw_scene_dynamics_findings(const gw_scene_dynamics *m)
{
    return &m->found;
}

/* The first body of a system's closure, and the constraint of that contact. */
static gw_found_at found_in_closure(const gw_dynamic_system *d, int closure)
{
    gw_found_at at = {.object = -1, .constraint = -1};
    int body = closure >= 0 ? gw_system_closure_body(d->system, closure) : d->body_count;
    at.object = body < d->body_count ? d->numbers[body] : -1;
    for (int i = 0; i < d->contact_count; i++)
        if (d->contacts[i].closure == closure)
            at = (gw_found_at){d->contacts[i].a, d->contacts[i].constraint};
    return at;
}

/* The first body of a model. */
static gw_found_at found_in_model(const gw_scene_dynamics *m, int model)
{
    int object = model < m->held_count     ? m->held[model]
                 : model < m->first_system ? m->bodies[model - m->first_free].object
                                           : m->systems[model - m->first_system].numbers[0];
    return (gw_found_at){object, -1};
}

/* The body of a model that is at an edge, or whose contact has degenerated, and the contact's
 * constraint. */
static gw_found_at found_in(const gw_scene_dynamics *m, int model, bool edge)
{
    if (model < m->first_system)
        return found_in_model(m, model);
    const gw_dynamic_system *d = &m->systems[model - m->first_system];
    return found_in_closure(d, edge ? gw_system_closure_at_edge(d->system)
                                    : gw_system_degenerate_closure(d->system));
}

/* Sums work and dissipation of bodies that no tool accounts for, and collects the findings of the
 * models' steps. */
static void account_energy(gw_scene_dynamics *m)
{
    bool held[GW_MAX_MODELS] = {false};
    for (int i = 0; i < m->tool_count; i++)
        held[m->tool_world_system[i]] = true;
    int edge = gw_edge_rows_touching(&m->edges);
    m->found.edge = edge >= 0;
    if (edge >= 0)
        m->found.edge_at = found_in_closure(&m->systems[m->edges.of[edge].system],
                                            m->edges.of[edge].row.edge.closure);
    int parted = gw_scene_unilaterals_degenerate(m->unilaterals);
    m->found.degenerate = parted >= 0;
    m->found.degenerate_at = (gw_found_at){-1, parted};
    m->found.energy_error = 0;
    m->found.failed = false;
    for (int i = 0; i < m->world_system_count; i++) {
        const gw_step *step = &m->world_systems[i].step;
        m->motors += step->motors;
        m->edits += step->base_work;
        if (!held[i])
            m->dissipated += step->dissipated;
        if (step->edge && !m->found.edge)
            m->found.edge_at = found_in(m, i, true);
        if (step->degenerate && !m->found.degenerate)
            m->found.degenerate_at = found_in(m, i, false);
        if (!step->finite && !held[i]) {
            m->found.failed = true;
            m->found.failed_at = found_in_model(m, i);
        }
        m->found.edge |= step->edge;
        m->found.degenerate |= step->degenerate;
        m->found.energy_error = fmax(m->found.energy_error, step->energy_error);
    }
}

void gw_scene_dynamics_step(gw_scene_dynamics *m, double dt)
{
    assert(dt > 0);
    if (m->free_count > 0)
        free_bodies_pre_step(m);
    if (m->system_count > 0) {
        gw_body_systems_brake(m, dt);
        gw_body_systems_pre_step(m);
    }
    if (m->world)
        step_together(m, dt);
    else
        step_apart(m, dt);
    account_energy(m);
    if (m->free_count > 0)
        free_bodies_post_step(m);
    if (m->system_count > 0)
        gw_body_systems_post_step(m);
    find_events(m);
}

/* The system whose local model is made for the frame that this tool holds; -1: none. */
static int held_system(const gw_scene_dynamics *m, int tool)
{
    return m->second[tool] ? -1 : m->tool_world_system[tool] - m->first_system;
}

void gw_scene_dynamics_set_resisted(gw_scene_dynamics *m, int tool, const gw_resisted_def *def)
{
    assert(m && tool >= 0);
    int system = held_system(m, tool);
    if (system >= 0)
        m->systems[system].resisted = *def;
}

const gw_resisted_directions *gw_scene_dynamics_resisted(const gw_scene_dynamics *m, int tool)
{
    int system = held_system(m, tool);
    return system >= 0 && m->locals ? gw_local_models_resisted(m->locals, system) : NULL;
}

gw_projection gw_scene_dynamics_projection(const gw_scene_dynamics *m)
{
    for (int i = 0; i < m->system_count; i++)
        if (m->systems[i].projected.number >= 0)
            return m->systems[i].projected;
    return (gw_projection){.number = gw_free_bodies_projected_body(m), .joint = -1};
}

/* ---- what it tells -------------------------------------------------------------------------- */

void gw_scene_dynamics_energy(const gw_scene_dynamics *m, gw_energy *e)
{
    assert(m && e);
    double kinetic, potential;
    for (int i = m->held_count; i < m->world_system_count; i++) {
        gw_model_energy(m->world_systems[i].model, &kinetic, &potential);
        e->kinetic += kinetic;
        e->potential += potential;
    }
    e->potential += m->contact.spring;
    e->work_in += m->work;
    e->dissipated += m->dissipated;
    e->motors += m->motors;
    e->edits += m->edits;
}

static void show_links(const gw_scene_dynamics *m, gw_snapshot *s)
{
    int links = m->first_link[m->mechanism_count] - m->object_count;
    if (s->joint_count != links || s->tick == 0)
        memset(s->link_wrenches, 0, (size_t)links * sizeof *s->link_wrenches);
    s->joint_count = links;
    for (int i = 0; i < m->system_count; i++) {
        const gw_dynamic_system *d = &m->systems[i];
        double q[6] = {0}, v[6] = {0};
        for (int k = 0; k < d->body_count; k++) {
            int link = d->numbers[k] - m->object_count;
            if (link < 0)
                continue;
            gw_system_joint(d->system, k, q, v);
            s->link_dragged[link] = d->hands[k].drag.active;
            s->q[link] = q[0];
            s->v[link] = v[0];
            gw_model_body(gw_system_model(d->system), k, &s->links[link], &s->link_twists[link]);
        }
    }
}

static gw_contact_body contact_body_of(const gw_scene_dynamics *m, int body)
{
    if (body >= m->body_count)
        return gw_scene_unilaterals_object(m->unilaterals, body);
    return body < m->object_count ? body : m->object_count - 1 - body;
}

/* Limits are reported with their joints, edges as events. */
static bool is_hidden(const gw_scene_dynamics *m, const gw_contact_data *point)
{
    int owned = point->row ? point->row->owned : -1;
    return (point->row && point->row->kind == GW_UNILATERAL_EDGE) ||
           (owned >= 0 && owned < m->limits.count && point->row == &m->limits.of[owned].row);
}

/* The row of the scene's unilateral constraint of a contact; NULL: none. */
static const gw_scene_unilateral_row *row_of(const gw_scene_dynamics *m,
                                             const gw_contact_data *point)
{
    const gw_scene_unilaterals *u = m->unilaterals;
    int owned = point->row ? point->row->owned : -1;
    bool is_own = u && owned >= 0 && owned < u->count && point->row == &u->rows[owned].row;
    return is_own ? &u->rows[owned] : NULL;
}

/* The contact of an edge of the constraint's b has its bodies exchanged. */
static gw_contact_data in_order(const gw_scene_unilateral_row *row, gw_contact_data point)
{
    if (!row || !row->exchanged)
        return point;
    int body = point.a;
    point.a = point.b;
    point.b = body;
    point.normal = gw_neg(point.normal);
    point.force = gw_neg(point.force);
    return point;
}

/* Publishes the contacts of bilateral constraints, with the force of all rows. */
static void show_kept_contacts(const gw_dynamic_system *d, gw_snapshot *s)
{
    for (int i = 0; i < d->contact_count && s->contact_count < GW_MAX_SHOWN_CONTACTS; i++) {
        const gw_placed_contact *k = &d->contacts[i];
        gw_snapshot_contact *c = &s->contacts[s->contact_count++];
        *c = (gw_snapshot_contact){.a = k->a,
                                   .b = k->b,
                                   .at = {.state = GW_CONTACT_CONTINUOUS},
                                   .constraint = 1 + k->constraint,
                                   .kept = true};
        gw_system_contact(d->system, k->closure, &c->at.point, &c->at.normal, &c->at.gap);
        c->at.force = gw_system_closure_wrench(d->system, k->closure).f;
    }
}

static void show_followed(const gw_dynamic_system *d, gw_snapshot *s)
{
    for (int i = 0; i < d->contact_count && s->followed_count < GW_MAX_SHOWN_CONTACTS; i++) {
        const gw_contact_point *known = gw_system_contact_point(d->system, d->contacts[i].closure);
        if (known)
            s->followed[s->followed_count++] = (gw_contact_start){d->contacts[i].key, *known};
    }
}

static void show_contacts(const gw_scene_dynamics *m, gw_snapshot *s)
{
    gw_contact_data point[GW_MAX_SHOWN_CONTACTS];
    s->contact = m->contact;
    s->contact_count = m->world ? gw_world_contacts(m->world, point, GW_MAX_SHOWN_CONTACTS) : 0;
    int count = s->contact_count;
    s->contact_count = 0;
    for (int i = 0; i < count; i++) {
        if (is_hidden(m, &point[i]))
            continue;
        const gw_scene_unilateral_row *row = row_of(m, &point[i]);
        gw_contact_data at = in_order(row, point[i]);
        s->contacts[s->contact_count++] =
            (gw_snapshot_contact){.a = contact_body_of(m, at.a),
                                  .b = contact_body_of(m, at.b),
                                  .at = at,
                                  .constraint = row ? 1 + row->constraint : 0};
        s->contact.impulse += point[i].impulse;
    }
    s->followed_count = 0;
    for (int i = 0; i < m->system_count; i++) {
        show_kept_contacts(&m->systems[i], s);
        show_followed(&m->systems[i], s);
    }
}

/* Keeps the newest collisions in the snapshot: each lasts one tick, and clients read few ticks. */
static void remember_hits(gw_snapshot *s)
{
    uint64_t last = s->hit_count ? s->hits[(s->hit_count - 1) % GW_MAX_SHOWN_COLLISIONS].tick : 0;
    if (s->hits_of != s->scenario || last > s->tick)
        s->hit_count = s->collision_count = 0;
    s->hits_of = s->scenario;
    if (s->hit_count && last == s->tick)
        return; /* time stands still */
    for (int i = 0; i < s->contact_count; i++)
        if (s->contacts[i].at.impulse != 0)
            s->hits[s->hit_count++ % GW_MAX_SHOWN_COLLISIONS] =
                (gw_snapshot_collision){s->contacts[i], s->tick};
}

/* The same of collision states. */
static void remember_collisions(const gw_scene_dynamics *m, gw_snapshot *s)
{
    const uint64_t room = GW_MAX_SHOWN_COLLISION_STATES;
    gw_world_collision of[GW_WORLD_RECORDED_COLLISIONS];
    if (s->collision_count && s->collisions[(s->collision_count - 1) % room].tick == s->tick)
        return; /* time stands still */
    int count = m->world ? gw_world_collisions(m->world, of, GW_WORLD_RECORDED_COLLISIONS) : 0;
    for (int i = 0; i < count; i++)
        s->collisions[s->collision_count++ % room] = (gw_snapshot_collision_state){s->tick, of[i]};
}

void gw_scene_dynamics_publish(const gw_scene_dynamics *m, gw_snapshot *s)
{
    show_links(m, s);
    gw_free_bodies_publish(m, s);
    gw_body_systems_publish(m, s);
    show_contacts(m, s);
    remember_hits(s);
    remember_collisions(m, s);
}

void gw_scene_dynamics_publish_step(const gw_scene_dynamics *m, gw_snapshot *s)
{
    gw_free_bodies_publish_step(m, s);
    gw_body_systems_publish_step(m, s);
}
