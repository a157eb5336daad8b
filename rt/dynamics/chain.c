/*
 * The chain as a model: its set-up, and the operations of model.h other than the step. They use the
 * frames and articulated inertias that the last step left. On the loop's thread, RT safe.
 */
#include "rt/dynamics/articulated_body.h"

#include <assert.h>
#include <string.h>

#include "rt/dynamics/runge_kutta.h"

static const gw_chain *chain_of(const gw_model *model)
{
    return (const gw_chain *)model;
}

/* ---- poses ---------------------------------------------------------------------------------- */

static gw_quat turn_of(const gw_chain_link_state *at)
{
    return gw_quat_from_mat3(&at->world_from_axes);
}

void gw_chain_held_frame(const gw_chain *chain, const gw_chain_link_state *at, gw_pose *held,
                         gw_twist *twist)
{
    const gw_chain_link_state *j = &at[gw_chain_held_link(chain->def)];
    gw_vec3 arm = gw_mat3_mul(&j->world_from_axes, chain->held_point);
    *held = (gw_pose){gw_add(j->origin, arm), gw_quat_mul(turn_of(j), chain->axes_from_held)};
    *twist = (gw_twist){gw_add(j->twist.v, gw_cross(j->twist.w, arm)), j->twist.w};
}

void gw_chain_link_frame(const gw_chain *chain, const gw_chain_link_state *at, int index,
                         gw_pose *pose, gw_twist *twist)
{
    const gw_chain_link_state *j = &at[index];
    *pose = (gw_pose){j->origin, gw_quat_mul(turn_of(j), chain->states[index].axes_from_link)};
    *twist = j->twist;
}

static int chain_dof(const gw_model *model)
{
    return chain_of(model)->def->count;
}

static void chain_held(const gw_model *model, gw_pose *held, gw_twist *twist)
{
    gw_chain_held_frame(chain_of(model), chain_of(model)->states, held, twist);
}

static void chain_body(const gw_model *model, int index, gw_pose *pose, gw_twist *twist)
{
    gw_chain_link_frame(chain_of(model), chain_of(model)->states, index, pose, twist);
}

void gw_chain_link_poses(const gw_chain *chain, gw_pose *world_from_link, gw_twist *twists)
{
    for (int i = 0; i < chain->def->count; i++) {
        gw_twist twist;
        gw_chain_link_frame(chain, chain->states, i, &world_from_link[i], &twist);
        if (twists)
            twists[i] = twist;
    }
}

/* ---- at the held frame ---------------------------------------------------------------------- */

/* The column of J of joint j for a point of the links that it moves: its twist per unit of speed.
 */
static gw_twist column_at(const gw_chain_link_state *j, gw_vec3 point)
{
    gw_vec3 s = gw_chain_axis(j);
    if (j->prismatic)
        return (gw_twist){s, {0, 0, 0}};
    return (gw_twist){gw_cross(s, gw_sub(point, j->origin)), s};
}

/* J-dot v of the held frame: of the link's origin, shifted to the point. */
static void bias_at(const gw_chain *chain, int link, gw_vec3 arm, double *bias)
{
    gw_twist a = gw_chain_link_acceleration(chain, link, NULL);
    gw_vec3 w = chain->states[link].twist.w;
    a.v = gw_add(a.v, gw_add(gw_cross(a.w, arm), gw_cross(w, gw_cross(w, arm))));
    memcpy(bias, (double[6]){a.v.x, a.v.y, a.v.z, a.w.x, a.w.y, a.w.z}, 6 * sizeof *bias);
}

static void chain_jacobian(const gw_model *model, double (*columns)[6], double *bias)
{
    const gw_chain *chain = chain_of(model);
    int link = gw_chain_held_link(chain->def);
    const gw_chain_link_state *held = &chain->states[link];
    gw_vec3 arm = gw_mat3_mul(&held->world_from_axes, chain->held_point);
    gw_vec3 point = gw_add(held->origin, arm);
    for (int i = 0; i < chain->def->count; i++) {
        gw_twist t = {{0, 0, 0}, {0, 0, 0}};
        if (i <= link)
            t = column_at(&chain->states[i], point);
        memcpy(columns[i], (double[6]){t.v.x, t.v.y, t.v.z, t.w.x, t.w.y, t.w.z},
               sizeof columns[i]);
    }
    bias_at(chain, link, arm, bias);
}

static void chain_pull_back(const gw_model *model, int index, const gw_wrench *w, double *force)
{
    const gw_chain *chain = chain_of(model);
    assert(index >= 0 && index < chain->def->count);
    gw_vec3 point = chain->states[index].origin;
    for (int i = 0; i <= index; i++) {
        gw_twist t = column_at(&chain->states[i], point);
        force[i] += gw_dot(t.v, w->f) + gw_dot(t.w, w->t);
    }
}

/* ---- dynamics ------------------------------------------------------------------------------- */

static void chain_apply_inverse(const gw_model *model, const double *force, double *acceleration)
{
    const gw_chain *chain = chain_of(model);
    memmove(acceleration, force, (size_t)chain->def->count * sizeof *force);
    if (chain->local)
        gw_chain_local_accelerations(chain, chain->states, NULL, acceleration);
    else
        gw_chain_accelerations(chain, chain->states, NULL, acceleration);
}

static void chain_free_acceleration(const gw_model *model, double *a)
{
    const gw_chain *chain = chain_of(model);
    gw_wrench bias[GW_MAX_LINKS];
    double motors, dissipated;
    if (chain->implicit_dt > 0 && !chain->local) {
        gw_chain_implicit_acceleration(chain, a);
        return;
    }
    gw_chain_joint_forces(chain, chain->q, chain->v, a, &motors, &dissipated);
    if (chain->local) {
        memset(bias, 0, (size_t)chain->def->count * sizeof *bias);
        gw_chain_local_accelerations(chain, chain->states, bias, a);
        return;
    }
    gw_chain_bias_forces(chain, chain->v, chain->states, bias);
    gw_chain_accelerations(chain, chain->states, bias, a);
}

static void chain_energy(const gw_model *model, double *kinetic, double *potential)
{
    *kinetic = chain_of(model)->kinetic;
    *potential = chain_of(model)->potential;
}

static void chain_velocity(const gw_model *model, double *v)
{
    memcpy(v, chain_of(model)->v, (size_t)chain_of(model)->def->count * sizeof *v);
}

static void chain_kick(gw_model *model, const double *dv)
{
    gw_chain *chain = (gw_chain *)model;
    for (int i = 0; i < chain->def->count; i++)
        chain->v[i] += dv[i];
    gw_chain_twists(chain, chain->v, chain->states);
    chain->kinetic = gw_chain_kinetic(chain);
}

double gw_chain_scale_velocity(gw_chain *chain, double factor)
{
    assert(chain->def && isfinite(factor));
    double before = chain->kinetic;
    for (int i = 0; i < chain->def->count; i++)
        chain->v[i] *= factor;
    gw_chain_twists(chain, chain->v, chain->states);
    chain->kinetic = gw_chain_kinetic(chain);
    return before - chain->kinetic;
}

/* ---- setting up ----------------------------------------------------------------------------- */

static int chain_bodies(const gw_model *model)
{
    return chain_of(model)->def->count;
}

/* The model is copied by ops->size: short chains take the next power of two of links. */
#define OPS_FOR(links)                                                                             \
    {                                                                                              \
        .dof = chain_dof, .held = chain_held, .jacobian = chain_jacobian,                          \
        .apply_inverse = chain_apply_inverse, .energy = chain_energy, .step = gw_chain_step,       \
        .velocity = chain_velocity, .kick = chain_kick,                                            \
        .free_acceleration = chain_free_acceleration, .bodies = chain_bodies, .body = chain_body,  \
        .pull_back = chain_pull_back,                                                              \
        .size = offsetof(gw_chain, states) + (links) * sizeof(gw_chain_link_state)                 \
    }

static const gw_model_ops chain_ops[] = {OPS_FOR(4), OPS_FOR(8), OPS_FOR(16), OPS_FOR(32),
                                         OPS_FOR(64)};

static const gw_model_ops *ops_for(int links)
{
    int i = 0;
    while (links > 4 << i)
        i++;
    return &chain_ops[i];
}

static gw_sym3 lower_of(const gw_mat3 *m)
{
    return (gw_sym3){m->m[0][0], m->m[1][0], m->m[1][1], m->m[2][0], m->m[2][1], m->m[2][2]};
}

/* Without products of inertia that are rounding. */
static gw_sym3 without_rounding(gw_sym3 s)
{
    double small = 1e-15 * (s.xx + s.yy + s.zz);
    double *products[] = {&s.yx, &s.zx, &s.zy};
    for (int i = 0; i < 3; i++)
        if (fabs(*products[i]) <= small)
            *products[i] = 0;
    return s;
}

/* The constant part of a link's state: axes with z along the joint's axis. */
static void init_state(const gw_link_def *link, gw_quat parent_axes_from_link,
                       gw_chain_link_state *j)
{
    gw_quat link_from_axes = gw_quat_between(gw_v3(0, 0, 1), gw_unit(link->axis));
    gw_quat turn =
        gw_quat_mul(parent_axes_from_link,
                    gw_quat_mul(gw_quat_unit(link->parent_from_joint.q), link_from_axes));
    gw_quat axes_from_link = gw_quat_conj(link_from_axes);
    gw_mat3 r = gw_quat_to_mat3(axes_from_link);
    gw_sym3 inertia = lower_of(&link->mass.inertia);
    *j =
        (gw_chain_link_state){.parent_from_axes = gw_quat_to_mat3(turn),
                              .axes_from_link = axes_from_link,
                              .offset = gw_rotate(parent_axes_from_link, link->parent_from_joint.p),
                              .com = gw_mat3_mul(&r, link->mass.com),
                              .inertia = gw_sym3_turned(&r, &inertia),
                              .mass = link->mass.mass,
                              .prismatic = !gw_joint_types[link->kind].turns};
    j->inertia = without_rounding(j->inertia);
    j->diagonal = j->inertia.yx == 0 && j->inertia.zx == 0 && j->inertia.zy == 0;
    j->aligned = turn.x == 0 && turn.y == 0 && turn.z == 0;
}

static void update_plane(gw_chain *chain)
{
    gw_mat3 base = gw_quat_to_mat3(chain->def->world_from_base.q);
    chain->world_from_plane = gw_mat3_product(&base, &chain->states[0].parent_from_axes);
}

void gw_chain_update_base(gw_chain *chain)
{
    update_plane(chain);
    chain->local = NULL;
    gw_chain_update(chain);
}

void gw_chain_init(gw_chain *chain, const gw_chain_def *def, const double *q, const double *v)
{
    gw_quat parent = gw_quat_identity();
    assert(def->count >= 1 && def->count <= GW_MAX_LINKS && def->held < def->count);
    memset(chain, 0, sizeof *chain);
    chain->model.ops = ops_for(def->count);
    chain->def = def;
    for (int i = 0; i < def->count; i++) {
        init_state(&def->links[i], parent, &chain->states[i]);
        parent = chain->states[i].axes_from_link;
        chain->q[i] = q ? q[i] : 0;
        chain->v[i] = v ? v[i] : 0;
    }
    chain->planar = gw_chain_is_planar(chain);
    gw_quat axes_from_link = chain->states[gw_chain_held_link(def)].axes_from_link;
    chain->axes_from_held = gw_quat_mul(axes_from_link, def->link_from_held.q);
    chain->held_point = gw_rotate(axes_from_link, def->link_from_held.p);
    if (def->held < 0) {
        chain->axes_from_held = axes_from_link;
        chain->held_point = gw_v3(0, 0, 0);
    }
    update_plane(chain);
    gw_chain_set_limit_stiffness(chain);
    gw_chain_update(chain);
    gw_chain_detect_stiffness(chain, def->dt > 0 ? def->dt : 1e-3);
}
