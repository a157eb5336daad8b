/*
 * Systems of bodies in a scene's dynamics: all bodies that joints and constraints connect with a
 * held or a free object (rt/scene/scene_system.h), with drags and pushes of any of them. On the
 * loop's thread, RT safe, except for create and destroy.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/haptics/operational_space.h"
#include "rt/scene/joint_frame.h"
#include "rt/sim/scene_dynamics_private.h"

#define BRAKE_TIME         0.02  /* s, time constant of braking a strained mechanism */
#define ENERGY_ERROR_SHARE 1e-6  /* of the energy that a step moves: larger errors are reported */
#define ENERGY_ERROR_LEAST 1e-18 /* J: smaller errors are rounding */

/* ---- making --------------------------------------------------------------------------------- */

static uint64_t name_of(const gw_scene *scene, int number)
{
    int link, mechanism = gw_scene_link_of_body(scene, number, &link);
    return mechanism < 0 ? gw_name_hash(scene->objects[number].id, 0)
                         : gw_name_hash(scene->mechanisms[mechanism].id, (uint64_t)link + 1);
}

static uint64_t label_of(const gw_scene *scene, int number)
{
    char label[GW_MAX_LINK_NAME + 1];
    int link, mechanism = gw_scene_link_of_body(scene, number, &link);
    if (mechanism < 0)
        return gw_name_hash(scene->objects[number].id, 0);
    gw_link_name(&scene->mechanisms[mechanism], link, label);
    return gw_name_hash(label, 0);
}

static gw_dynamic_ground ground_of(const gw_scene_dynamics_def *def, int which)
{
    const gw_scene *scene = def->scene;
    int base = which - scene->object_count;
    if (base >= 0)
        return (gw_dynamic_ground){.object = -1,
                                   .name = gw_name_hash(scene->mechanisms[base].id, 0),
                                   .start = scene->mechanisms[base].base};
    return (gw_dynamic_ground){.object = which,
                               .name = gw_name_hash(scene->objects[which].id, 0),
                               .start = def->layout->poses[which]};
}

static void take_mobilizers(const gw_scene_dynamics_def *def, gw_dynamic_system *d)
{
    for (int i = 0; i < d->from->body_count; i++) {
        const gw_system_member *member = &d->from->members[i];
        gw_dynamic_mobilizer *m = &d->mobilizers[i];
        m->parent = d->from->bodies[i].parent;
        if (member->joint >= 0)
            m->name = gw_name_hash(def->scene->joints[member->joint].id, 0);
        else if (member->number >= def->scene->object_count)
            m->name = name_of(def->scene, member->number);
        if (i < d->body_count && def->begins)
            m->begin = def->begins[member->number];
    }
    d->has_closures = d->from->closure_count > 0;
}

static bool take_bodies(const gw_scene_dynamics_def *def, gw_dynamic_system *d)
{
    size_t n = (size_t)d->from->body_count, grounds = (size_t)d->from->ground_count;
    d->numbers = calloc(n + 1, sizeof *d->numbers);
    d->mobilizers = calloc(n + 1, sizeof *d->mobilizers);
    d->before = calloc(n + 1, sizeof *d->before);
    d->names = calloc(n + 1, sizeof *d->names);
    d->labels = calloc(n + 1, sizeof *d->labels);
    d->hands = calloc(n + 1, sizeof *d->hands);
    d->poses = calloc(n + grounds + 1, sizeof *d->poses);
    d->twists = calloc(n + grounds + 1, sizeof *d->twists);
    d->grounds = calloc(grounds + 1, sizeof *d->grounds);
    d->coms = calloc(n + 1, sizeof *d->coms);
    d->joint_count = d->from->joint_count;
    d->joints = calloc((size_t)d->joint_count + 1, sizeof *d->joints);
    d->coordinates = calloc((size_t)d->joint_count + 1, sizeof *d->coordinates);
    d->joint_places = calloc((size_t)d->joint_count + 1, sizeof *d->joint_places);
    d->contact_count = d->from->contact_count;
    d->contacts = calloc((size_t)d->contact_count + 1, sizeof *d->contacts);
    if (!d->numbers || !d->mobilizers || !d->before || !d->names || !d->labels || !d->hands ||
        !d->poses || !d->twists || !d->coms || !d->joints || !d->coordinates || !d->joint_places ||
        !d->contacts || !d->grounds)
        return false;
    for (int i = 0; i < d->contact_count; i++)
        d->contacts[i] = d->from->contacts[i];
    for (int i = 0; i < d->from->ground_count; i++)
        d->grounds[i] = ground_of(def, d->from->grounds[i]);
    d->ground_count = d->from->ground_count;
    for (int i = 0; i < d->joint_count; i++) {
        d->joints[i] = d->from->joints[i];
        d->coordinates[i] = gw_scene_first_coordinate(def->scene, d->joints[i].joint);
    }
    for (int i = 0; i < d->body_count; i++) {
        d->numbers[i] = d->from->members[i].number;
        d->coms[i] = d->from->bodies[i].mass.com;
        d->mass += d->from->bodies[i].mass.mass;
        d->names[i] = name_of(def->scene, d->numbers[i]);
        d->labels[i] = label_of(def->scene, d->numbers[i]);
    }
    take_mobilizers(def, d);
    return true;
}

static bool may_touch(const gw_scene *scene)
{
    bool touches = scene->contact.enabled;
    for (int i = 0; i < scene->constraint_count; i++)
        touches = touches || gw_scene_constraint_is_unilateral(&scene->constraints[i]);
    return touches;
}

static bool has_limits(const gw_scene_system *s)
{
    bool any = false;
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < 6; j++)
            any = any || s->bodies[i].limited[j];
    return any;
}

static bool is_mechanism(const gw_scene *scene, const gw_scene_system *s)
{
    int link, first = gw_scene_link_of_body(scene, s->members[0].number, &link);
    bool alone = s->closure_count == 0 && s->body_count == s->member_count && first >= 0;
    for (int i = 1; i < s->member_count; i++)
        alone = alone && gw_scene_link_of_body(scene, s->members[i].number, &link) == first;
    return alone;
}

/* Creates the system with contact points found from the laid-out poses or, if closures are not
 * satisfied with those, with the layout's contact points. */
static gw_system *create_where_assembled(const gw_scene_system *from, const gw_system_def *def,
                                         gw_closure_def *closures, gw_error *error)
{
    gw_system_def there = *def;
    gw_error open = {0};
    gw_system *system = gw_system_create(def, error);
    if (system || from->contact_count == 0)
        return system;
    memcpy(closures, def->closures, (size_t)def->closure_count * sizeof *closures);
    for (int i = 0; i < from->contact_count; i++)
        closures[from->contacts[i].closure].contact.point = from->contacts[i].point;
    there.closures = closures;
    return gw_system_create(&there, &open);
}

/* Without the system's own limits, which are rows of the contact world (joint_limits.c). */
static gw_system *create_without_limits(const gw_scene_system *from, bool silent, gw_error *error)
{
    gw_system_def def = gw_scene_system_def(from);
    size_t bytes = (size_t)def.body_count * sizeof *def.bodies;
    gw_system_body_def *bodies = malloc(bytes + 1);
    gw_closure_def *closures = calloc((size_t)def.closure_count + 1, sizeof *closures);
    if (!bodies || !closures) {
        free(bodies);
        free(closures);
        gw_fail(error, GW_FAILED, "", "no memory for systems of bodies");
        return NULL;
    }
    memcpy(bodies, def.bodies, bytes);
    for (int i = 0; i < def.body_count; i++)
        memset(bodies[i].limited, 0, sizeof bodies[i].limited);
    def.bodies = bodies;
    def.silent_joints = silent;
    gw_system *system = create_where_assembled(from, &def, closures, error);
    free(bodies);
    free(closures);
    return system;
}

static bool build_system(const gw_scene_dynamics_def *def, int index, gw_dynamic_system *d,
                         gw_error *error)
{
    d->from = def->layout->systems[index];
    if (!d->from)
        return gw_fail(error, GW_BAD_INPUT, "", "the scene has no solution to move on");
    d->body_count = d->from->member_count;
    if (!take_bodies(def, d))
        return gw_fail(error, GW_FAILED, "", "no memory for systems of bodies");
    d->mechanism = is_mechanism(def->scene, d->from);
    d->projected = d->from->projected;
    bool limited = has_limits(d->from), silent = d->mechanism && d->joint_count == 0;
    const gw_scene_system *from = d->from;
    gw_error open = {0};
    d->system = create_without_limits(from, silent, &open);
    d->from = NULL;                  /* the layout's */
    if (!d->system && open.where[0]) /* a closure is not satisfied */
        return gw_scene_system_refuse(def->scene, from, &open, error);
    if (!d->system)
        return gw_fail(error, open.code, "", "%s", open.message);
    int dof = gw_model_dof(gw_system_model(d->system));
    if (dof > GW_MODEL_MAX_DOF && (limited || may_touch(def->scene) || def->scene->tool_count > 0))
        return gw_fail(error, GW_TOO_LARGE, "",
                       "a system of bodies that is held, collides or has limits has at most %d "
                       "coordinates of its joints; this one has %d",
                       GW_MODEL_MAX_DOF, dof);
    d->work = calloc(7 * (size_t)dof + 1, sizeof *d->work);
    return d->work || gw_fail(error, GW_FAILED, "", "no memory for systems of bodies");
}

bool gw_body_systems_create(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    int count = def->layout->system_count;
    if (count > GW_MAX_SYSTEMS)
        return gw_fail(error, GW_TOO_LARGE, "", "a scene has at most %d systems of bodies",
                       GW_MAX_SYSTEMS);
    m->systems = calloc((size_t)count + 1, sizeof *m->systems);
    m->gravity = def->scene->gravity;
    m->scene_joint_count = def->scene->joint_count;
    m->coordinate_count = gw_scene_first_coordinate(def->scene, def->scene->joint_count);
    m->still = calloc((size_t)m->coordinate_count + 1, sizeof *m->still);
    if (!m->systems || !m->still)
        return gw_fail(error, GW_FAILED, "", "no memory for systems of bodies");
    for (int i = 0; i < def->scene->joint_count; i++) {
        const gw_scene_joint *j = &def->scene->joints[i];
        double *to = m->still + gw_scene_first_coordinate(def->scene, i), q[6];
        if (j->gear)
            continue;
        gw_scene_joint_position(def->scene, j, q);
        memcpy(to, q, (size_t)gw_mobilizers[j->type].dof * sizeof *q);
    }
    for (int i = 0; i < count; i++) {
        m->system_count = i + 1;
        if (!build_system(def, i, &m->systems[i], error))
            return false;
    }
    bool held[GW_MAX_SYSTEMS] = {false};
    for (int t = 0; t < def->tool_count; t++) {
        int index = def->systems[t];
        if (index < 0)
            continue;
        gw_system *system = m->systems[index].system;
        if (held[index])
            m->second[t] = gw_system_second_model(system, def->bodies[t], &def->scene->tools[t].at);
        else
            gw_system_hold(system, def->bodies[t], &def->scene->tools[t].at);
        if (!held[index]) {
            m->systems[index].resisted = def->scene->tools[t].rendering.resisted;
            m->systems[index].held = def->bodies[t];
        }
        held[index] = true;
    }
    return true;
}

void gw_body_systems_destroy(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->system_count; i++) {
        gw_dynamic_system *d = &m->systems[i];
        gw_system_destroy(d->system);
        free(d->numbers);
        free(d->mobilizers);
        free(d->before);
        free(d->names);
        free(d->labels);
        free(d->hands);
        free(d->poses);
        free(d->twists);
        free(d->grounds);
        free(d->coms);
        free(d->work);
        free(d->joints);
        free(d->coordinates);
        free(d->joint_places);
        free(d->contacts);
    }
    free(m->systems);
    free(m->still);
}

/* ---- local models --------------------------------------------------------------------------- */

void gw_body_systems_start_local(gw_scene_dynamics *m, int index)
{
    gw_dynamic_system *d = &m->systems[index];
    d->strain = d->owed = 0;
    if (m->locals)
        gw_local_models_start(m->locals, index, d->system, &d->resisted);
}

/* Energy added by a new local model is offset by energy that earlier models removed, the rest is
 * removed from the motion: without Coriolis terms the mechanism would otherwise gain energy. Energy
 * removed by models is remembered up to the kinetic energy. */
static void adopt_local(gw_scene_dynamics *m, int index, bool takes)
{
    gw_dynamic_system *d = &m->systems[index];
    double brought = gw_local_models_adopt(m->locals, index, d->system, takes), kinetic, potential;
    gw_model_energy(gw_system_model(d->system), &kinetic, &potential);
    m->edits += brought;
    d->owed = fmax(d->owed + brought, -kinetic);
    if (!(d->owed > 0) || !(kinetic > 0))
        return;
    double paid = gw_system_scale_velocity(d->system, sqrt(1 - fmin(d->owed / kinetic, 1)));
    m->dissipated += paid;
    d->owed -= paid;
}

void gw_body_systems_exchange_locals(gw_scene_dynamics *m, gw_detection_turn turn)
{
    m->was_strained = m->strained;
    m->strained = 0;
    for (int i = 0; i < m->system_count; i++) {
        gw_dynamic_system *d = &m->systems[i];
        if (!gw_local_models_has(m->locals, i))
            continue;
        adopt_local(m, i, turn.takes_models);
        gw_local_models_tick(m->locals, i);
        if (turn.asks)
            gw_local_models_publish(m->locals, i, d->system, &d->resisted);
        d->strain = gw_local_models_validity(m->locals, i, d->system);
        m->strained = fmax(m->strained, d->strain);
    }
}

/* A mechanism outside its model's range of validity is braked until there is a new model. */
void gw_body_systems_brake(gw_scene_dynamics *m, double dt)
{
    for (int i = 0; i < m->system_count; i++)
        if (m->systems[i].strain > 1)
            m->dissipated +=
                gw_system_scale_velocity(m->systems[i].system, 1 / (1 + dt / BRAKE_TIME));
}

/* ---- where they are ------------------------------------------------------------------------- */

void gw_body_systems_reset(gw_scene_dynamics *m)
{
    const gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < m->system_count; i++) {
        gw_dynamic_system *d = &m->systems[i];
        gw_system_reset(d->system);
        gw_system_second_hand(d->system, NULL);
        d->grounds_move = d->joined = false;
        d->joining = (gw_transition){0};
        for (int k = 0; k < d->ground_count; k++)
            d->grounds[k].transition = (gw_transition){0};
        for (int k = 0; k < d->body_count; k++) {
            gw_system_push(d->system, k, &none);
            d->hands[k] = (gw_free_body_hand){0};
        }
        m->world_systems[m->first_system + i].step = (gw_step){.finite = true, .margin = 1};
        gw_body_systems_start_local(m, i);
    }
}

bool gw_scene_dynamics_find_body(const gw_scene_dynamics *old, uint64_t name, gw_pose *pose,
                                 gw_twist *twist, gw_free_body_hand *hand)
{
    for (int i = 0; i < old->system_count; i++) {
        const gw_dynamic_system *d = &old->systems[i];
        for (int k = 0; k < d->body_count; k++) {
            if (d->names[k] != name)
                continue;
            gw_model_body(gw_system_model(d->system), k, pose, twist);
            *hand = d->hands[k];
            return true;
        }
    }
    for (int i = 0; i < old->free_count; i++) {
        const gw_dynamic_free_body *b = &old->bodies[i];
        if (b->name != name)
            continue;
        *pose = b->body.pose;
        *twist = b->body.twist;
        *hand = b->hand;
        return true;
    }
    for (int i = 0; i < old->held_count; i++) {
        if (old->held_names[i] != name || !old->world_systems[i].model)
            continue;
        gw_model_body(old->world_systems[i].model, 0, pose, twist);
        *hand = (gw_free_body_hand){0};
        return true;
    }
    return false;
}

/* ---- hands ---------------------------------------------------------------------------------- */

/* A lower bound, over all directions, of the effective mass and inertia at a body of the model; the
 * mass is bounded by that of all bodies, as the origin of a body on an axle hardly moves. `work`: 7
 * entries per degree of freedom. */
static gw_mass effective_mass(const gw_model *model, int body, gw_vec3 com, double whole,
                              double *work)
{
    double inverse[6][6];
    gw_operational_body_inverse_inertia(model, body, work, inverse);
    double light = inverse[0][0] + inverse[1][1] + inverse[2][2];
    double nimble = inverse[3][3] + inverse[4][4] + inverse[5][5];
    gw_mass out = {.mass = light * whole > 1 ? 1 / light : whole, .com = com};
    for (int i = 0; i < 3; i++)
        out.inertia.m[i][i] = nimble > 1e-6 ? 1 / nimble : 1e6;
    return out;
}

bool gw_body_systems_hand(gw_scene_dynamics *m, const gw_command *command, double dt)
{
    uint64_t name = gw_name_hash(command->object, 0);
    for (int i = 0; i < m->system_count; i++) {
        gw_dynamic_system *d = &m->systems[i];
        for (int k = 0; k < d->body_count; k++) {
            if (d->labels[k] != name)
                continue;
            gw_mass mass =
                effective_mass(gw_system_model(d->system), k, d->coms[k], d->mass, d->work);
            gw_free_body_hand_take(&d->hands[k], command, &mass, m->gravity, dt);
            return true;
        }
    }
    return false;
}

void gw_scene_dynamics_end_drags(gw_scene_dynamics *m, int tool)
{
    int system = m->tool_world_system[tool] - m->first_system;
    for (int k = 0; system >= 0 && k < m->systems[system].body_count; k++) {
        m->systems[system].hands[k].drag.active = false;
        m->systems[system].hands[k].push = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    }
}

/* Lets a second tool act in the step. */
static void push_second(gw_scene_dynamics *m, int tool)
{
    gw_world_system *second = &m->second_world_system[tool],
                    *first = &m->world_systems[m->tool_world_system[tool]];
    gw_dynamic_system *d = &m->systems[m->tool_world_system[tool] - m->first_system];
    gw_system_second_hand(d->system, second->still ? NULL : &second->hand);
    first->still = first->still || second->still;
}

/* The result of the system's step for the second tool. */
static void split_step_of_second(gw_scene_dynamics *m, int tool)
{
    gw_world_system *second = &m->second_world_system[tool];
    const gw_world_system *first = &m->world_systems[m->tool_world_system[tool]];
    second->step = (gw_step){
        .work = first->step.second, .margin = first->step.margin, .finite = first->step.finite};
    second->collided = first->collided;
    if (first->collided)
        memcpy(second->impulse, first->impulse, sizeof second->impulse);
}

/* Pose and twist of a joint's end: a body or a ground. */
static gw_pose end_of(const gw_dynamic_system *d, int end, gw_twist *twist)
{
    gw_pose pose;
    if (end >= 0) {
        gw_model_body(gw_system_model(d->system), end, &pose, twist);
        return pose;
    }
    gw_ground_motion ground = gw_system_ground(d->system, end);
    *twist = ground.twist;
    return ground.pose;
}

/* The body whose joint or closure wrench gives the wrench of a joint, and whether it is on b's
 * side. */
static int joint_side(const gw_placed_joint *j, bool *of_b)
{
    bool cut = j->body >= 0 && j->body != j->a && j->body != j->b; /* a half of a, or of b */
    *of_b = cut || j->body < 0 ? j->a < 0 : j->body == j->b;
    return j->body >= 0 ? j->body : *of_b ? j->b : j->a;
}

static void count_points(gw_dynamic_system *d)
{
    const gw_model *model = gw_system_model(d->system);
    for (int i = 0; i < d->joint_count; i++) {
        const gw_placed_joint *j = &d->joints[i];
        gw_twist unused;
        gw_pose a = end_of(d, j->a, &unused), bearer;
        bool of_b;
        gw_model_body(model, joint_side(j, &of_b), &bearer, &unused);
        gw_vec3 at = gw_pose_point(&a, j->a_from_m.p);
        d->joint_places[i] = (gw_joint_place){.at = at, .arm = gw_sub(bearer.p, at)};
    }
}

void gw_body_systems_pre_step(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->system_count; i++) {
        gw_dynamic_system *d = &m->systems[i];
        const gw_model *model = gw_system_model(d->system);
        count_points(d);
        for (int k = 0; k < d->body_count; k++) {
            gw_free_body_hand *hand = &d->hands[k];
            gw_pose pose;
            gw_twist twist;
            bool acted = gw_norm2(hand->acting.f) + gw_norm2(hand->acting.t) > 0;
            if (!hand->drag.active && !acted && gw_norm2(hand->push.f) == 0 &&
                gw_norm2(hand->push.t) == 0)
                continue;
            gw_model_body(model, k, &pose, &twist);
            gw_wrench drag = gw_drag_wrench(&hand->drag, &pose, d->coms[k], &pose, &twist);
            hand->acting = gw_wrench_add(drag, hand->push);
            gw_system_push(d->system, k, &hand->acting);
        }
    }
    for (int t = 0; t < m->tool_count; t++)
        if (m->second[t])
            push_second(m, t);
}

void gw_body_systems_post_step(gw_scene_dynamics *m)
{
    for (int t = 0; t < m->tool_count; t++)
        if (m->second[t])
            split_step_of_second(m, t);
    for (int i = 0; i < m->system_count; i++)
        m->work += m->world_systems[m->first_system + i].step.pushed;
}

double gw_body_systems_energy_error(const gw_scene_dynamics *m)
{
    double worst = 0, kinetic, potential;
    for (int i = 0; i < m->system_count; i++) {
        const gw_step *step = &m->world_systems[m->first_system + i].step;
        if (!(step->energy_error > ENERGY_ERROR_LEAST))
            continue;
        gw_model_energy(gw_system_model(m->systems[i].system), &kinetic, &potential);
        double moved = kinetic + fabs(step->dissipated) + fabs(step->motors) + fabs(step->pushed) +
                       fabs(step->work) + fabs(step->second) + fabs(step->base_work);
        if (step->energy_error > ENERGY_ERROR_SHARE * moved)
            worst = fmax(worst, step->energy_error);
    }
    return worst;
}

/* ---- what they tell ------------------------------------------------------------------------- */

void gw_scene_dynamics_show_bodies(const gw_scene_dynamics *m, gw_kinematics *kinematics)
{
    for (int i = 0; i < m->free_count; i++)
        gw_kinematics_set_held(kinematics, m->bodies[i].object, &m->bodies[i].body.pose);
    for (int i = 0; i < m->system_count; i++) {
        const gw_dynamic_system *d = &m->systems[i];
        gw_twist twist;
        gw_pose pose;
        for (int k = 0; k < d->body_count; k++) {
            gw_model_body(gw_system_model(d->system), k, &pose, &twist);
            gw_kinematics_set_held(kinematics, d->numbers[k], &pose);
        }
    }
}

bool gw_body_systems_find_link(const gw_scene_dynamics *m, int link, int *system, int *body)
{
    for (int i = 0; i < m->system_count; i++)
        for (int k = 0; k < m->systems[i].body_count; k++)
            if (m->systems[i].numbers[k] == m->object_count + link) {
                *system = i;
                *body = k;
                return true;
            }
    return false;
}

bool gw_body_systems_find_joint(const gw_scene_dynamics *m, int joint, int *system, int *body)
{
    for (int i = 0; i < m->system_count; i++)
        for (int k = 0; k < m->systems[i].joint_count; k++)
            if (m->systems[i].joints[k].joint == joint && m->systems[i].joints[k].body >= 0) {
                *system = i;
                *body = m->systems[i].joints[k].body;
                return true;
            }
    return false;
}

/* Position and velocity of a joint that closes a loop, from the bodies' poses; angles continue from
 * their present turn. */
static void closing_joint_state(const gw_dynamic_system *d, const gw_placed_joint *j, double *q,
                                double *v)
{
    gw_twist of_a, of_b;
    gw_pose a = end_of(d, j->a, &of_a), b = end_of(d, j->b, &of_b);
    double now[6], rate[6];
    gw_pose m = gw_pose_mul(&a, &j->a_from_m), f = gw_pose_mul(&b, &j->b_from_f);
    gw_pose f_from_world = gw_pose_inverse(&f), f_from_m = gw_pose_mul(&f_from_world, &m);
    gw_vec3 at_a = gw_add(of_a.v, gw_cross(of_a.w, gw_sub(m.p, a.p)));
    gw_vec3 at_b = gw_add(of_b.v, gw_cross(of_b.w, gw_sub(m.p, b.p)));
    gw_twist seen = {gw_unrotate(f.q, gw_sub(at_a, at_b)),
                     gw_unrotate(f.q, gw_sub(of_a.w, of_b.w))};
    gw_mobilizer_position(j->type, j->pitch, &f_from_m, now);
    gw_mobilizer_velocity(j->type, &f_from_m, &seen, rate);
    for (int i = 0; i < gw_mobilizers[j->type].dof; i++) {
        q[i] = gw_mobilizer_is_periodic(j->type, i) ? q[i] + remainder(now[i] - q[i], 2 * GW_PI)
                                                    : now[i];
        v[i] = rate[i];
    }
}

/* The wrench of b on a by joint `index` in the last step, including its limits, at a's frame at the
 * step's start. */
static gw_wrench wrench_of(const gw_scene_dynamics *m, int system, int index)
{
    const gw_dynamic_system *d = &m->systems[system];
    const gw_placed_joint *j = &d->joints[index];
    const gw_joint_place *at = &d->joint_places[index];
    bool of_b;
    joint_side(j, &of_b);
    gw_wrench w = j->body >= 0 ? gw_system_joint_wrench(d->system, j->body)
                               : gw_system_closure_wrench(d->system, j->closure);
    w.t = gw_add(w.t, gw_cross(at->arm, w.f));
    if (of_b)
        w = gw_wrench_neg(w);
    if (j->body >= 0)
        gw_joint_limits_add_wrench(m, system, j->body, at->at, &w);
    return w;
}

static void publish_joints(const gw_scene_dynamics *m, int system, gw_snapshot *s)
{
    const gw_dynamic_system *d = &m->systems[system];
    for (int i = 0; i < d->joint_count; i++) {
        const gw_placed_joint *j = &d->joints[i];
        double q[6], v[6], *to = s->coordinates + d->coordinates[i];
        double *rates = s->rates + d->coordinates[i];
        size_t bytes = (size_t)gw_mobilizers[j->type].dof * sizeof *q;
        if (j->body >= 0) {
            gw_system_joint(d->system, j->body, q, v);
            memcpy(to, q, bytes);
            memcpy(rates, v, bytes);
            continue;
        }
        if (s->tick == 0)
            memcpy(to, m->still + d->coordinates[i], bytes);
        closing_joint_state(d, j, to, rates);
    }
}

/* The wrench of its parent on each link in the last step, including limits of its joint, at the
 * link's frame at the step's start. */
static void publish_links(const gw_scene_dynamics *m, gw_snapshot *s)
{
    for (int i = 0; i < m->system_count; i++) {
        const gw_dynamic_system *d = &m->systems[i];
        for (int k = 0; k < d->body_count; k++) {
            int link = d->numbers[k] - m->object_count;
            if (link < 0)
                continue;
            s->link_wrenches[link] = gw_system_joint_wrench(d->system, k);
            gw_joint_limits_add_wrench(m, i, k, s->links[link].p, &s->link_wrenches[link]);
        }
    }
}

void gw_body_systems_publish_step(const gw_scene_dynamics *m, gw_snapshot *s)
{
    for (int i = 0; i < m->system_count; i++)
        for (int k = 0; k < m->systems[i].joint_count; k++)
            s->joint_wrenches[m->systems[i].joints[k].joint] = wrench_of(m, i, k);
    if (m->reports_links)
        publish_links(m, s);
    int at = m->free_count; /* in the order in which they were published */
    for (int i = 0; i < m->system_count; i++) {
        const gw_dynamic_system *d = &m->systems[i];
        for (int k = 0; k < d->body_count && at < s->free_count; k++)
            if (d->numbers[k] < m->object_count)
                s->free[at++].constraint = gw_system_joint_wrench(d->system, k);
    }
}

void gw_scene_dynamics_report_links(gw_scene_dynamics *m)
{
    m->reports_links = true;
    for (int i = 0; i < m->system_count; i++)
        gw_system_report_wrenches(m->systems[i].system);
}

void gw_body_systems_publish(const gw_scene_dynamics *m, gw_snapshot *s)
{
    if (s->coordinate_count != m->coordinate_count || s->tick == 0 ||
        s->scene_joint_count != m->scene_joint_count) {
        s->coordinate_count = m->coordinate_count;
        memcpy(s->coordinates, m->still, (size_t)m->coordinate_count * sizeof *s->coordinates);
        memset(s->rates, 0, (size_t)m->coordinate_count * sizeof *s->rates);
        s->scene_joint_count = m->scene_joint_count;
        memset(s->joint_wrenches, 0, (size_t)m->scene_joint_count * sizeof *s->joint_wrenches);
    }
    for (int i = 0; i < m->system_count; i++)
        publish_joints(m, i, s);
    for (int i = 0; i < m->system_count; i++) {
        const gw_dynamic_system *d = &m->systems[i];
        const gw_model *model = gw_system_model(d->system);
        for (int k = 0; k < d->body_count && s->free_count < GW_MAX_MOVING; k++) {
            if (d->numbers[k] >= m->object_count)
                continue; /* links have a list of their own */
            gw_free_body *b = &s->free[s->free_count++];
            *b = (gw_free_body){.object = d->numbers[k],
                                .constraint = gw_system_joint_wrench(d->system, k),
                                .operator= d->hands[k].acting,
                                .dragging = d->hands[k].drag.active,
                                .travelling = gw_dynamic_system_in_transition(d)};
            gw_model_body(model, k, &b->pose, &b->twist);
        }
    }
}
