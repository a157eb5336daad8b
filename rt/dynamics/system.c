/*
 * Systems of bodies: creation, the system as a model, and queries. Creation allocates; all else is
 * RT safe.
 */
#include "rt/dynamics/system.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/rigid_body.h"
#include "rt/dynamics/system_bristles.h"
#include "rt/dynamics/system_jacobian.h"
#include "rt/dynamics/system_kinks.h"
#include "rt/dynamics/system_step.h"
#include "rt/dynamics/system_unilateral.h"

#define ASSEMBLE_STEPS 100  /* of the projection, at creation */
#define HELD           1e-9 /* of the length: largest residual of closures at creation */

/* ---- the state as a model ------------------------------------------------------------------- */

static gw_ground_state *grounds_of(const gw_system_state *m)
{
    return (gw_ground_state *)(m->joints + m->system->body_count);
}

static gw_kink_state *kinks_of(const gw_system_state *m)
{
    return (gw_kink_state *)(grounds_of(m) + m->system->ground_count);
}

gw_contact_mode *gw_system_contact_modes(const gw_system_state *m)
{
    return (gw_contact_mode *)(kinks_of(m) + m->system->kink_count);
}

static void keep_state(gw_system *s, gw_system_state *m)
{
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &s->bodies[i].joint, &m->joints[i]);
    for (int i = 0; i < s->ground_count; i++)
        grounds_of(m)[i] = s->grounds[i].state;
    memcpy(kinks_of(m), s->kink_states, (size_t)s->kink_count * sizeof *s->kink_states);
    memcpy(gw_system_contact_modes(m), s->unilateral->mode, gw_size_of_modes(s));
    m->apart = s->apart;
    m->integrator = s->integrator;
    m->stamp = s->stamp = ++s->last_stamp;
    s->implicit_stamp = 0;
}

/* The same, with the energies computed again. */
static void take_state(gw_system *s, gw_system_state *m)
{
    gw_system_energy(s, &s->kinetic, &s->potential);
    keep_state(s, m);
}

/* The system of a model, with everything up to date for its state. */
static gw_system *system_of(const gw_model *model)
{
    const gw_system_state *m = (const gw_system_state *)model;
    gw_system *s = m->system;
    if (s->stamp == m->stamp)
        return s;
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &m->joints[i], &s->bodies[i].joint);
    for (int i = 0; i < s->ground_count; i++)
        s->grounds[i].state = grounds_of(m)[i];
    memcpy(s->kink_states, kinks_of(m), (size_t)s->kink_count * sizeof *s->kink_states);
    gw_kinks_apply(s);
    memcpy(s->unilateral->mode, gw_system_contact_modes(m), gw_size_of_modes(s));
    gw_unilateral_apply(s);
    s->apart = m->apart;
    gw_grounds_update(s);
    s->integrator = m->integrator;
    gw_system_update(s);
    gw_system_energy(s, &s->kinetic, &s->potential);
    s->stamp = m->stamp;
    s->implicit_stamp = 0;
    return s;
}

/* The same for queries of poses and velocities only: the factors may be implicit ones. */
static gw_system *placed_system_of(const gw_model *model)
{
    const gw_system_state *m = (const gw_system_state *)model;
    bool placed = m->system->stamp == 0 && m->system->implicit_stamp == m->stamp;
    return placed ? m->system : system_of(model);
}

void gw_system_update_all(gw_system *s)
{
    system_of(&s->model->model);
}

void gw_system_take_state(gw_system *s)
{
    take_state(s, s->model);
}

static int model_dof(const gw_model *model)
{
    return ((const gw_system_state *)model)->system->dof;
}

static void model_held(const gw_model *model, gw_pose *world_from_held, gw_twist *twist)
{
    gw_system_held_frame(system_of(model), world_from_held, twist);
}

static void model_jacobian(const gw_model *model, double (*columns)[6], double *drift)
{
    gw_system *s = system_of(model);
    gw_system_jacobian_of(s, 0, s->held, &s->body_from_held, columns, drift);
}

static bool model_positional(const gw_model *model, double (*columns)[6])
{
    gw_system *s = system_of(model);
    return gw_system_positional_of(s, s->held, &s->body_from_held, columns);
}

static void model_apply_inverse(const gw_model *model, const double *force, double *acceleration)
{
    gw_system *s = system_of(model);
    const size_t bytes = (size_t)s->dof * sizeof *force;
    bool kept = false;
    double *answer = gw_system_answer_to(s, force, &kept);
    if (!kept) {
        memcpy(s->generalised, force, bytes);
        gw_system_apply_inverse_inertia(s, false);
        gw_system_gather(s, answer ? answer : acceleration);
    }
    if (answer)
        memcpy(acceleration, answer, bytes);
}

/* Successive calls for the rows of one problem share the implicit factors, which are kept until
 * another function needs the system. */
static void model_apply_inverse_over(const gw_model *model, double h, bool explicit,
                                     const double *force, double *acceleration)
{
    const gw_system_state *m = (const gw_system_state *)model;
    gw_system *s = m->system;
    bool factored = s->stamp == 0 && s->implicit_stamp == m->stamp && s->implicit_over == h &&
                    (explicit || s->integrator.implicit_dt > 0);
    if (!factored) {
        s = system_of(model);
        if (!(s->integrator.implicit_dt > 0 ||
              (explicit && !s->local && gw_system_takes_load(model)))) {
            model_apply_inverse(model, force, acceleration);
            return;
        }
        gw_system_factor_implicitly(s, h);
        s->stamp = 0; /* any other function updates the system again */
        s->implicit_stamp = m->stamp;
        s->implicit_over = h;
    }
    memcpy(s->generalised, force, (size_t)s->dof * sizeof *force);
    gw_system_apply_inverse_inertia(s, false);
    gw_system_gather(s, acceleration);
}

static bool model_is_driven(const gw_model *model)
{
    const gw_system_state *m = (const gw_system_state *)model;
    bool driven = m->integrator.implicit_dt > 0;
    for (int i = 0; i < m->system->body_count; i++)
        driven = driven || !m->system->bodies[i].only_springs;
    return driven;
}

static bool model_takes_lock(const gw_model *model)
{
    return gw_system_takes_load(model) && !((const gw_system_state *)model)->system->local;
}

static void model_energy(const gw_model *model, double *kinetic, double *potential)
{
    const gw_system *s = system_of(model);
    *kinetic = s->kinetic;
    *potential = s->potential;
}

static void model_velocity(const gw_model *model, double *v)
{
    const gw_system_state *m = (const gw_system_state *)model;
    gw_system *s = m->system;
    for (int i = 0; i < s->body_count; i++)
        memcpy(v + s->bodies[i].first, m->joints[i].u, (size_t)s->bodies[i].dof * sizeof *v);
    if (!s->moving && s->ground_count == 0)
        return;
    if (!placed_system_of(model)->moving)
        return;
    gw_grounds_find_least(system_of(model));
    for (int i = 0; i < s->dof; i++)
        v[i] -= s->least[i];
}

static const gw_mass *model_floating(const gw_model *model, int index)
{
    const gw_system *s = ((const gw_system_state *)model)->system;
    assert(index >= 0 && index < s->body_count);
    for (int i = 0; i < s->body_count; i++)
        if (s->bodies[i].island < 0)
            return NULL;
    return &s->bodies[index].def.mass;
}

static bool model_carried(const gw_model *model, int index, gw_twist *twist)
{
    gw_system *s = placed_system_of(model);
    assert(index >= 0 && index < s->body_count);
    if (!s->moving)
        return false;
    gw_grounds_find_least(system_of(model));
    *twist = s->carried[index];
    return true;
}

static void model_kick(gw_model *model, const double *dv)
{
    gw_system *s = system_of(model);
    for (int i = 0; i < s->body_count; i++) {
        s->home[i] = s->bodies[i].joint;
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += dv[s->bodies[i].first + j];
    }
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
    gw_system_turn_struck_bristles(s);
    take_state(s, (gw_system_state *)model);
}

static void model_free_acceleration(const gw_model *model, double speed, double *a)
{
    gw_system *s = system_of(model);
    gw_system_free_acceleration_at(s, (const gw_system_state *)model, speed, a);
}

static void model_free_acceleration_over(const gw_model *model, double h, double speed, double *a)
{
    gw_system *s = system_of(model);
    if (s->local || !gw_system_takes_load(model)) {
        gw_system_free_acceleration_at(s, (const gw_system_state *)model, speed, a);
        return;
    }
    gw_system_free_acceleration_over(s, (const gw_system_state *)model, h, speed, a);
}

static int model_bodies(const gw_model *model)
{
    return ((const gw_system_state *)model)->system->body_count;
}

static void model_body(const gw_model *model, int index, gw_pose *world_from_body, gw_twist *twist)
{
    const gw_system *s = placed_system_of(model);
    assert(index >= 0 && index < s->body_count);
    *world_from_body = s->bodies[index].pose;
    *twist = s->bodies[index].twist;
}

static double model_coordinate(const gw_model *model, int body, int j)
{
    const gw_system_state *m = (const gw_system_state *)model;
    assert(body >= 0 && body < m->system->body_count && j >= 0 && j < m->system->bodies[body].dof);
    return m->joints[body].z[j];
}

static void model_pull_back(const gw_model *model, int index, const gw_wrench *wrench,
                            double *force)
{
    gw_system *s = placed_system_of(model);
    gw_vec3 at = s->bodies[index].pose.p;
    gw_planar_expand(s);
    for (int i = index; i >= 0; i = s->bodies[i].def.parent) {
        const gw_system_body *k = &s->bodies[i];
        gw_vec3 t = gw_add(wrench->t, gw_cross(gw_sub(at, k->pose.p), wrench->f));
        for (int j = 0; j < k->dof; j++)
            force[k->first + j] += gw_dot(gw_linear_part(k->columns[j]), wrench->f) +
                                   gw_dot(gw_angular_part(k->columns[j]), t);
    }
}

/* ---- joints' springs ------------------------------------------------------------------------- */

static bool is_motor(const gw_motor *m)
{
    return m->torque != 0 || m->stiffness != 0 || m->damping != 0;
}

/* Springs of limits and friction are tuned for the largest mobility in three postures: the initial
 * one and, without closures, all limited coordinates at their lower and at their upper ends. */
static void set_limit_springs(gw_system *s)
{
    gw_system_update_mobilities(s);
    for (int posture = 0; posture < 2 && s->row_count == 0; posture++) {
        bool moved = false;
        for (int i = 0; i < s->body_count; i++) {
            gw_system_body *k = &s->bodies[i];
            s->home[i] = k->joint;
            for (int j = 0; j < k->dof; j++)
                if (k->def.limited[j]) {
                    k->joint.z[j] = posture == 0 ? k->def.lower[j] : k->def.upper[j];
                    moved = true;
                }
        }
        if (!moved)
            break;
        gw_system_update(s);
        gw_system_update_mobilities(s);
        for (int i = 0; i < s->body_count; i++)
            s->bodies[i].joint = s->home[i];
    }
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        memcpy(k->joint.limit_mobility, k->mobility, sizeof k->mobility);
        memcpy(k->joint.bristle_mobility, k->mobility, sizeof k->mobility);
    }
    gw_system_update(s);
}

/* ---- queries ------------------------------------------------------------------------------- */

gw_model *gw_system_model(gw_system *s)
{
    assert(s);
    return &s->model->model;
}

void gw_system_hold(gw_system *s, int index, const gw_pose *body_from_held)
{
    assert(index >= 0 && index < s->body_count);
    s->held = index;
    s->body_from_held = *body_from_held;
}

void gw_system_set_motor(gw_system *s, int index, int coordinate, const gw_motor *motor)
{
    assert(index >= 0 && index < s->body_count);
    gw_system_body *k = &s->bodies[index];
    assert(coordinate >= 0 && coordinate < k->dof);
    k->def.motor[coordinate] = *motor;
    k->only_springs = k->only_springs && !is_motor(motor);
    k->is_free = k->is_free && k->only_springs;
    s->is_free = s->is_free && k->is_free;
    if (k->mobility[coordinate] > 0)
        return;
    gw_system_update_all(s);
    const gw_local_model *local = s->local;
    gw_system_set_local_model(s, NULL); /* its D is not that of the present configuration */
    k->mobility[coordinate] = gw_system_mobility_at(s, index, coordinate);
    gw_system_set_local_model(s, local);
    k->joint.limit_mobility[coordinate] = k->mobility[coordinate];
    s->model->joints[index].limit_mobility[coordinate] = k->mobility[coordinate];
    s->start[index].limit_mobility[coordinate] = k->mobility[coordinate];
}

/* ---- creation ------------------------------------------------------------------------------- */

static bool is_identity(const gw_pose *x)
{
    return gw_norm2(x->p) == 0 && fabs(x->q.w) == 1 && x->q.x == 0 && x->q.y == 0 && x->q.z == 0;
}

static gw_sym3 lower_of(const gw_mat3 *m)
{
    return (gw_sym3){m->m[0][0], m->m[1][0], m->m[1][1], m->m[2][0], m->m[2][1], m->m[2][2]};
}

/* A lower bound of the moments of inertia about the centre of mass (kg m^2). */
static double least_inertia(const gw_mass *m)
{
    double norm2 = 0;
    gw_mat3 inverse = gw_inertia_inverse(&m->inertia);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            norm2 += inverse.m[i][j] * inverse.m[i][j];
    return isfinite(norm2) && norm2 > 0 ? 1 / sqrt(norm2) : 0;
}

/* Upper bound of the rate at which the body's damping decays a velocity (1/s). */
static double damping_rate(const gw_system_body_def *def, double least)
{
    const gw_mass *m = &def->mass;
    double linear = def->damping_linear, c2 = gw_norm2(gw_sub(m->com, def->damping_at));
    /* |v|^2 <= 2 |v_c|^2 + 2 |c|^2 |w|^2 */
    double twice = c2 > 0 ? 2 : 1, angular = twice * linear * c2 + def->damping_angular;
    return fmax(linear > 0 ? twice * linear / m->mass : 0, angular > 0 ? angular / least : 0);
}

static void init_body(gw_system_body *k, const gw_system_body_def *def, int first)
{
    int at = gw_mobilizer_rotation(def->joint);
    *k = (gw_system_body){.def = *def,
                          .m_from_body = gw_pose_inverse(&def->body_from_m),
                          .dof = def->set ? def->set->dof : gw_mobilizers[def->joint].dof,
                          .first = first,
                          .ground = def->parent,
                          .is_at_joint = is_identity(&def->body_from_m),
                          .turned_at_joint = gw_norm2(def->body_from_m.p) == 0 && !def->reversed,
                          .inertia_in_body = lower_of(&def->mass.inertia),
                          .is_free = true,
                          .only_springs = true,
                          .least_inertia = least_inertia(&def->mass)};
    assert((def->set != NULL) == (def->joint == GW_MOBILIZER_SUBMANIFOLD));
    const gw_sym3 *i = &k->inertia_in_body;
    k->is_hinge = k->turned_at_joint && def->joint == GW_MOBILIZER_REVOLUTE;
    k->upright = gw_quat_mul(def->parent_from_f.q, k->m_from_body.q);
    k->crossed =
        gw_quat_mul(gw_quat_mul(def->parent_from_f.q, (gw_quat){0, 0, 0, 1}), k->m_from_body.q);
    k->axis = gw_rotate(def->body_from_m.q, gw_v3(0, 0, 1));
    k->has_principal_axes = i->yx == 0 && i->zx == 0 && i->zy == 0;
    k->damping_rate = damping_rate(def, k->least_inertia);
    for (int j = 0; j < k->dof; j++) {
        bool ball = def->joint == GW_MOBILIZER_SPHERICAL;
        assert(!ball || def->friction[j] == def->friction[0]);
        /* limits of a ball joint are not joint forces: they bound angles, not coordinates */
        assert(j < at || ball ||
               (def->stiffness[j] == 0 && def->friction[j] == 0 && !def->limited[j] &&
                def->motor[j].stiffness == 0));
        if (def->friction[j] > 0 || def->limited[j] || is_motor(&def->motor[j]))
            k->only_springs = false;
        if (!k->only_springs || def->stiffness[j] != 0 || def->damping[j] != 0)
            k->is_free = false;
    }
    memcpy(k->joint.z, def->position, sizeof k->joint.z);
    memcpy(k->joint.u, def->velocity, sizeof k->joint.u);
    k->joint.turn =
        at == 6
            ? gw_quat_identity()
            : gw_quat_exp(gw_v3(def->position[at], def->position[at + 1], def->position[at + 2]));
}

/* Takes `count` entries of the array of doubles. */
static double *part_of(double **free_numbers, size_t count)
{
    double *part = *free_numbers;
    *free_numbers += count;
    return part;
}

static size_t state_size(const gw_system *s)
{
    return sizeof *s->model + (size_t)s->body_count * sizeof s->model->joints[0] +
           (size_t)s->ground_count * sizeof(gw_ground_state) +
           (size_t)s->kink_count * sizeof(gw_kink_state) + gw_size_of_modes(s);
}

static bool take_memory(gw_system *s)
{
    size_t n = (size_t)s->body_count, springs = (size_t)s->spring_count;
    size_t m = (size_t)s->row_count + 3 * springs, d = (size_t)gw_stage_stride(s);
    size_t stages = 2 * GW_RK_MAX_STAGES + 2 * GW_SYSTEM_RUNS + 7 + 2 * 12;
    s->offsets = calloc(n + 1, sizeof *s->offsets);
    s->row_offsets = calloc(m + 1, sizeof *s->row_offsets);
    double *numbers = s->numbers = calloc(stages * d + 1, sizeof *numbers);
    s->closures = calloc((size_t)s->closure_count + 1, sizeof *s->closures);
    s->springs = calloc(springs + 1, sizeof *s->springs);
    s->rows = calloc(m + 1, sizeof *s->rows);
    s->models = calloc(d + 1, sizeof *s->models);
    s->motor_states = calloc(d * (GW_SYSTEM_RUNS + 2) + 1, sizeof *s->motor_states);
    s->home = calloc(3 * n + 1, sizeof *s->home);
    s->poses = calloc(n + 1, sizeof *s->poses);
    s->twists = calloc(n + 1, sizeof *s->twists);
    s->on = calloc(5 * n + (size_t)s->closure_count + 1, sizeof *s->on);
    s->model = calloc(1, state_size(s));
    s->kink_states = calloc((size_t)s->kink_count + 1, sizeof *s->kink_states);
    s->grounds = calloc((size_t)s->ground_count + 1, sizeof *s->grounds);
    s->carried = calloc(n + 1, sizeof *s->carried);
    s->planes = calloc(n + 1, sizeof *s->planes);
    if (!s->numbers || !s->closures || !s->springs || !s->rows || !s->models || !s->motor_states ||
        !s->home || !s->poses || !s->twists || !s->on || !s->model || !s->grounds || !s->carried ||
        !s->planes || !s->offsets || !s->row_offsets || !s->kink_states)
        return false;
    s->generalised = part_of(&numbers, d);
    s->joint_force = part_of(&numbers, d);
    s->added = part_of(&numbers, d);
    s->scratch = part_of(&numbers, d);
    s->least = part_of(&numbers, d);
    s->home_velocity = part_of(&numbers, d);
    s->by = part_of(&numbers, d);
    s->rates = part_of(&numbers, GW_RK_MAX_STAGES * d);
    s->accelerations = part_of(&numbers, GW_RK_MAX_STAGES * d);
    s->run_by = part_of(&numbers, GW_SYSTEM_RUNS * d);
    s->run_velocity = part_of(&numbers, GW_SYSTEM_RUNS * d);
    for (int i = 0; i < 2; i++) {
        s->jacobian[i].columns = (double(*)[6])part_of(&numbers, 6 * d);
        s->jacobian[i].answers = part_of(&numbers, 6 * d);
    }
    s->by_springs = s->on + n;
    s->pushed = s->on + 3 * n;
    s->borne = s->on + 4 * n;
    s->joint_wrench = s->by_springs + n;
    s->closure_wrench = s->on + 5 * n;
    s->begin = s->home + n;
    s->start = s->begin + n;
    s->last_motor_states = s->motor_states + (GW_SYSTEM_RUNS + 1) * d;
    return true;
}

static void model_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step)
{
    gw_system *s = system_of(model);
    gw_system_step(s, forces, dt, step);
    if (step->finite && !s->moving)
        keep_state(s, (gw_system_state *)model);
    else
        take_state(s, (gw_system_state *)model);
}

/* ---- a second hand -------------------------------------------------------------------------- */

static gw_model *viewed_model(const gw_model *view)
{
    return &((const gw_system_view *)view)->system->model->model;
}

static int view_dof(const gw_model *view)
{
    return model_dof(viewed_model(view));
}

static void view_held(const gw_model *view, gw_pose *world_from_held, gw_twist *twist)
{
    const gw_system_view *v = (const gw_system_view *)view;
    gw_twist own;
    gw_pose body;
    model_body(viewed_model(view), v->held, &body, &own);
    *world_from_held = gw_pose_mul(&body, &v->body_from_held);
    *twist = (gw_twist){gw_add(own.v, gw_cross(own.w, gw_sub(world_from_held->p, body.p))), own.w};
}

static void view_jacobian(const gw_model *view, double (*columns)[6], double *drift)
{
    const gw_system_view *v = (const gw_system_view *)view;
    gw_system_jacobian_of(system_of(viewed_model(view)), 1, v->held, &v->body_from_held, columns,
                          drift);
}

static bool view_positional(const gw_model *view, double (*columns)[6])
{
    const gw_system_view *v = (const gw_system_view *)view;
    return gw_system_positional_of(system_of(viewed_model(view)), v->held, &v->body_from_held,
                                   columns);
}

static void view_apply_inverse(const gw_model *view, const double *force, double *acceleration)
{
    model_apply_inverse(viewed_model(view), force, acceleration);
}

static void view_apply_inverse_over(const gw_model *view, double h, bool explicit,
                                    const double *force, double *acceleration)
{
    model_apply_inverse_over(viewed_model(view), h, explicit, force, acceleration);
}

static void view_energy(const gw_model *view, double *kinetic, double *potential)
{
    model_energy(viewed_model(view), kinetic, potential);
}

/* Nothing: only the system's own model steps. */
static void view_step(gw_model *view, const gw_forces *forces, double dt, gw_step *step)
{
    (void)view, (void)forces, (void)dt;
    *step = (gw_step){.margin = 1, .finite = true};
}

static void view_velocity(const gw_model *view, double *v)
{
    model_velocity(viewed_model(view), v);
}

static void view_kick(gw_model *view, const double *dv)
{
    model_kick(viewed_model(view), dv);
}

static void view_free_acceleration(const gw_model *view, double speed, double *a)
{
    model_free_acceleration(viewed_model(view), speed, a);
}

static void view_free_acceleration_over(const gw_model *view, double h, double speed, double *a)
{
    model_free_acceleration_over(viewed_model(view), h, speed, a);
}

static int view_bodies(const gw_model *view)
{
    return model_bodies(viewed_model(view));
}

static void view_body(const gw_model *view, int index, gw_pose *world_from_body, gw_twist *twist)
{
    model_body(viewed_model(view), index, world_from_body, twist);
}

static const gw_mass *view_floating(const gw_model *view, int index)
{
    return model_floating(viewed_model(view), index);
}

static void view_pull_back(const gw_model *view, int index, const gw_wrench *wrench, double *force)
{
    model_pull_back(viewed_model(view), index, wrench, force);
}

static bool view_carried(const gw_model *view, int index, gw_twist *twist)
{
    return model_carried(viewed_model(view), index, twist);
}

gw_model *gw_system_second_model(gw_system *s, int index, const gw_pose *body_from_held)
{
    assert(index >= 0 && index < s->body_count);
    s->view_ops = (gw_model_ops){.dof = view_dof,
                                 .held = view_held,
                                 .jacobian = view_jacobian,
                                 .apply_inverse = view_apply_inverse,
                                 .apply_inverse_over = view_apply_inverse_over,
                                 .energy = view_energy,
                                 .step = view_step,
                                 .velocity = view_velocity,
                                 .kick = view_kick,
                                 .free_acceleration = view_free_acceleration,
                                 .free_acceleration_over = view_free_acceleration_over,
                                 .bodies = view_bodies,
                                 .body = view_body,
                                 .pull_back = view_pull_back,
                                 .positional = view_positional,
                                 .carried = view_carried,
                                 .floating = view_floating,
                                 .size = sizeof s->view};
    s->view = (gw_system_view){{&s->view_ops}, s, index, *body_from_held};
    return &s->view.model;
}

/* ---- creation ------------------------------------------------------------------------------- */

static void init_model(gw_system *s)
{
    s->ops = (gw_model_ops){.dof = model_dof,
                            .held = model_held,
                            .jacobian = model_jacobian,
                            .apply_inverse = model_apply_inverse,
                            .apply_inverse_over = model_apply_inverse_over,
                            .takes_load = gw_system_takes_load,
                            .is_driven = model_is_driven,
                            .takes_lock = model_takes_lock,
                            .energy = model_energy,
                            .step = model_step,
                            .velocity = model_velocity,
                            .kick = model_kick,
                            .free_acceleration = model_free_acceleration,
                            .free_acceleration_over = model_free_acceleration_over,
                            .bodies = model_bodies,
                            .body = model_body,
                            .pull_back = model_pull_back,
                            .positional = model_positional,
                            .carried = model_carried,
                            .floating = model_floating,
                            .coordinate = model_coordinate,
                            .size = state_size(s)};
    s->model->model.ops = &s->ops;
    s->model->system = s;
}

static void count_rows(gw_system *s, const gw_closure_def *closure)
{
    int positions, velocities;
    gw_closure_row_counts(closure, &positions, &velocities);
    positions += gw_kinks_extra_rows(closure);
    s->position_rows += positions;
    s->row_count += positions + velocities;
}

static bool is_end(const gw_system_def *def, int body)
{
    return body >= GW_MOVING_GROUND(def->ground_count - 1) && body < def->body_count;
}

/* Programmers' errors assert; surfaces that cannot touch are reported. */
static bool check_closure(const gw_system_def *def, int index, gw_error *error)
{
    const gw_closure_def *c = &def->closures[index];
    char pointer[16];
    gw_error own = {0};
    assert(c->a >= 0 && c->a < def->body_count);
    assert(c->kind == GW_CLOSURE_GEAR ? c->b >= 0 && c->b < def->body_count : is_end(def, c->b));
    if (gw_closure_check(c, &own))
        return true;
    snprintf(pointer, sizeof pointer, "/%d", index);
    gw_fail(error, GW_BAD_INPUT, pointer, "%s", own.message);
    return false;
}

/* Error that names the closure with the largest residual. */
static void refuse_open(const gw_system *s, double left, gw_error *error)
{
    char where[16];
    int worst = 0;
    for (int i = 1; i < s->closure_count; i++)
        if (gw_closure_residual(s, i) > gw_closure_residual(s, worst))
            worst = i;
    snprintf(where, sizeof where, "%d", worst);
    gw_fail(error, GW_BAD_INPUT, where, "closures stay %g m open from where the bodies are", left);
}

static gw_system *given_up(gw_system *s)
{
    gw_system_destroy(s);
    return NULL;
}

/* Bodies in the order of their coordinates; false where memory is short. */
static bool init_bodies(gw_system *s, const gw_system_def *def)
{
    bool taken = true;
    for (int i = 0; i < def->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        assert(def->bodies[i].parent < i && is_end(def, def->bodies[i].parent));
        init_body(k, &def->bodies[i], s->dof);
        taken = taken && gw_set_joint_init(k, s->length);
        s->dof += k->dof;
        s->single = s->single && k->dof == 1;
        s->is_free = s->is_free && k->is_free;
        s->is_damped = s->is_damped || k->damping_rate > 0;
        if (k->def.parent >= 0)
            k->ground = s->bodies[k->def.parent].ground;
    }
    return taken;
}

gw_system *gw_system_create(const gw_system_def *def, gw_error *error)
{
    assert(def && def->body_count >= 0 && def->closure_count >= 0 && def->spring_count >= 0);
    gw_system *s = calloc(1, sizeof *s);
    if (s) {
        s->body_count = def->body_count;
        s->closure_count = def->closure_count;
        s->spring_count = def->spring_count;
        s->ground_count = def->ground_count;
        s->gravity = def->gravity;
        s->length = def->length > 0 ? def->length : 1;
        for (int i = 0; i < def->body_count; i++)
            s->total_mass += def->bodies[i].mass.mass;
        s->dt = def->dt > 0 ? def->dt : 1e-3;
        s->single = s->is_free = true;
        s->keeps_joint_wrenches = !def->silent_joints;
        s->same_row = GW_SAME_ROW, s->no_row = GW_NO_ROW;
        s->body_from_held = gw_pose_identity();
        for (int i = 0; i < def->closure_count; i++)
            count_rows(s, &def->closures[i]);
        s->kink_count = gw_kinks_count(def->closures, def->closure_count);
        s->bodies = calloc((size_t)def->body_count + 1, sizeof *s->bodies);
    }
    if (!s || !s->bodies || !init_bodies(s, def) || !take_memory(s)) {
        gw_fail(error, GW_FAILED, "", "no memory for a system of bodies");
        return given_up(s);
    }
    for (int i = 0; i < def->closure_count; i++) {
        if (!check_closure(def, i, error))
            return given_up(s);
        s->closures[i] = def->closures[i];
        s->closures[i].twin_count = gw_kinks_extra_rows(&def->closures[i]);
        s->edge_count += gw_closure_has_edges(&s->closures[i]);
    }
    for (int i = 0; i < def->spring_count; i++) {
        assert(def->springs[i].a >= 0 && def->springs[i].a < def->body_count);
        assert(is_end(def, def->springs[i].b));
        s->springs[i] = def->springs[i];
    }
    s->plain_tree = s->single && s->row_count == 0;
    gw_system_find_islands(s);
    gw_grounds_init(s);
    gw_planar_find(s);
    if (!gw_closures_init(s) || !gw_kinks_init(s) || !gw_unilateral_init(s)) {
        gw_fail(error, GW_FAILED, "", "no memory for a system's closures");
        return given_up(s);
    }
    init_model(s);
    gw_closures_classify(s);
    double left = gw_closures_assemble(s, def->closures, ASSEMBLE_STEPS, HELD * s->length);
    if (!(left <= HELD * s->length)) {
        refuse_open(s, left, error);
        return given_up(s);
    }
    if (!gw_contacts_check(s, error))
        return given_up(s);
    set_limit_springs(s);
    gw_system_balance_bristles(s);
    for (int i = 0; i < s->body_count; i++)
        s->start[i] = s->bodies[i].joint;
    take_state(s, s->model);
    return s;
}

void gw_system_destroy(gw_system *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->body_count && s->bodies; i++)
        free(s->bodies[i].set);
    free(s->bodies);
    free(s->planes);
    free(s->grounds);
    free(s->carried);
    free(s->offsets);
    free(s->row_offsets);
    free(s->numbers);
    free(s->closures);
    gw_kinks_free(s);
    gw_unilateral_free(s);
    free(s->kink_states);
    free(s->springs);
    free(s->rows);
    gw_closures_free(s);
    free(s->models);
    free(s->motor_states);
    free(s->home);
    free(s->poses);
    free(s->twists);
    free(s->on);
    free(s->model);
    free(s);
}
