/*
 * Joint limits of systems of bodies as rows of the contact world (rt/contact/unilateral_row.h): a
 * collision with a limit is an impulse through joints and loops, with the joint's restitution;
 * resting contact is a constraint force. Creation is outside the tick; all else is RT safe.
 *
 * A limit's row is active only while its coordinate is near, to save work: a coordinate that
 * arrives from farther within one step is detected in time if other limits of its system are
 * active, otherwise after it has passed the limit.
 */
#include <assert.h>
#include <stdlib.h>

#include "rt/sim/scene_dynamics_private.h"

#define NEAR_GAP   0.1 /* rad, m: distance at which a row is active, */
#define NEAR_STEPS 4   /* or that the coordinate moves in so many steps */
#define NEW_FORCE                                                                                  \
    0.1 /* N, N m: a hand's force that changed by so much makes accelerations anew                 \
         */

/* ---- building -------------------------------------------------------------------------------- */

/* The frames of a joint: M on a, F on b, with a and b bodies of the world. */
typedef struct joint_frames {
    int a, b;
    gw_pose a_from_m, b_from_f;
} joint_frames;

/* The fixed object that is the ground of a system's body; -1: the world. */
static int fixed_object(const gw_scene *scene, const gw_system_member *member)
{
    if (member->joint < 0)
        return -1;
    const gw_scene_joint *j = &scene->joints[member->joint];
    const char *ids[2] = {j->a.object, j->b.object};
    for (int k = 0; k < 2; k++) {
        int object = gw_scene_object(scene, ids[k]);
        if (object >= 0 && scene->objects[object].fixed)
            return object;
    }
    return -1;
}

static joint_frames frames_of(const gw_scene_dynamics_def *def, const gw_scene_system *s, int body,
                              int ground)
{
    const gw_system_body_def *d = &s->bodies[body];
    int own = s->members[body].number, parent = ground;
    gw_pose on_parent = d->parent_from_f;
    if (d->parent >= 0) {
        parent = s->members[d->parent].number;
    } else {
        int object = fixed_object(def->scene, &s->members[body]);
        if (object >= 0) {
            gw_pose from_world = gw_pose_inverse(&def->layout->poses[object]);
            on_parent = gw_pose_mul(&from_world, &d->parent_from_f);
            parent = object;
        }
    }
    joint_frames f = {own, parent, d->body_from_m, on_parent};
    return d->reversed ? (joint_frames){parent, own, on_parent, d->body_from_m} : f;
}

/* The row of coordinate j between the frames, without the limit's value and sign. */
static gw_unilateral_row row_of(gw_mobilizer type, int j, const joint_frames *f, double length)
{
    static const gw_vec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    gw_unilateral_row row = {.length = length};
    if (type == GW_MOBILIZER_SPHERICAL) { /* the angle between the z axes, and the angle of the
                                             whole rotation */
        row.kind = j == 0 ? GW_UNILATERAL_ANGLE : GW_UNILATERAL_ROTATION;
        row.frame_a = f->a_from_m.q;
        row.frame_b = f->b_from_f.q;
        row.a = (gw_element){
            .kind = GW_LINE, .p = f->a_from_m.p, .d = gw_rotate(f->a_from_m.q, axes[2])};
        row.b = (gw_element){
            .kind = GW_LINE, .p = f->b_from_f.p, .d = gw_rotate(f->b_from_f.q, axes[2])};
        return row;
    }
    const gw_mobilizer_state home = {.turn = gw_quat_identity()};
    gw_vec3 v[6], w[6];
    gw_mobilizer_pose(type, 0, &home, v, w);
    if (!(gw_mobilizers[type].turns >> j & 1)) {
        row.kind = GW_UNILATERAL_DISTANCE;
        row.a = (gw_element){.kind = GW_POINT, .p = f->a_from_m.p};
        row.b =
            (gw_element){.kind = GW_PLANE, .p = f->b_from_f.p, .d = gw_rotate(f->b_from_f.q, v[j])};
        return row;
    }
    /* the angle between the x axes about z or y, or that between the y axes about x; of a universal
     * joint about F's y, then about M's x */
    int axis = fabs(w[j].x) > 0.5 ? 0 : fabs(w[j].y) > 0.5 ? 1 : 2;
    row.kind = GW_UNILATERAL_TURN;
    row.axis_in_a = j == 1 && gw_mobilizers[type].second_turns;
    gw_vec3 zero = axes[axis == 0 ? 1 : 0];
    row.axis = gw_rotate(row.axis_in_a ? f->a_from_m.q : f->b_from_f.q, axes[axis]);
    row.a = (gw_element){.kind = GW_LINE, .p = f->a_from_m.p, .d = gw_rotate(f->a_from_m.q, zero)};
    row.b = (gw_element){.kind = GW_LINE, .p = f->b_from_f.p, .d = gw_rotate(f->b_from_f.q, zero)};
    return row;
}

#define SMALL_GYRATION 1e-2 /* radius of gyration, relative to the arm, of a mass at a point */
#define LEAST_LENGTH   1e-2 /* m */

/* The length (m) that converts angles of a joint to distances: the body's radius of gyration; for a
 * mass at a point the distance of its centre of mass from the joint, or LEAST_LENGTH. */
static double length_of(const gw_scene *scene, const gw_system_body_def *d, int body)
{
    double gyration = gw_scene_body_length(scene, body);
    double arm = gw_distance(gw_scene_body_mass(scene, body).com, d->body_from_m.p);
    bool extended = gyration > SMALL_GYRATION * fmax(arm, SMALL_GYRATION * LEAST_LENGTH);
    return extended ? gyration : fmax(arm, LEAST_LENGTH);
}

#define WORK_ROWS 9 /* arrays with one entry per coordinate: a Jacobian's six, and three more */

/* The angles of a ball joint have no lower limit. */
static int first_end(const gw_system_body_def *d)
{
    return d->joint == GW_MOBILIZER_SPHERICAL ? 1 : 0;
}

static int count_limits(const gw_layout *layout)
{
    int count = 0;
    for (int i = 0; i < layout->system_count; i++)
        for (int k = 0; layout->systems[i] && k < layout->systems[i]->body_count; k++)
            for (int j = 0; j < 6; j++)
                if (layout->systems[i]->bodies[k].limited[j])
                    count += 2 - first_end(&layout->systems[i]->bodies[k]);
    return count;
}

/* Both ends of a coordinate. */
static void add_limits(gw_joint_limits *l, const gw_scene_dynamics_def *def, int system, int body,
                       int j, int first, int ground)
{
    const gw_scene_system *s = def->layout->systems[system];
    const gw_system_body_def *d = &s->bodies[body];
    const gw_system_member *member = &s->members[body];
    const joint_frames f = frames_of(def, s, body, ground);
    int link, mechanism = gw_scene_link_of_body(def->scene, member->number, &link);
    double restitution = member->joint >= 0 ? def->scene->joints[member->joint].restitution
                         : mechanism >= 0
                             ? def->scene->mechanisms[mechanism].links[link].restitution
                             : 0;
    for (int upper = first_end(d); upper < 2; upper++) {
        gw_joint_limit *limit = &l->of[l->count];
        *limit = (gw_joint_limit){.system = system, .body = body, .coordinate = j, .at = first + j};
        limit->row = row_of(d->joint, j, &f, length_of(def->scene, d, member->number));
        limit->row.owned = l->count;
        limit->row.limits = d->joint != GW_MOBILIZER_SPHERICAL;
        limit->row.joint = body;
        limit->row.coordinate = j;
        limit->row.sign = upper ? -1 : 1;
        limit->row.value = upper ? d->upper[j] : d->lower[j];
        uint64_t key = (uint64_t)member->number * 6 + (uint64_t)j;
        if (member->joint >= 0)
            key = gw_name_hash(def->scene->joints[member->joint].id, (uint64_t)j + 1);
        l->candidates[l->count] = (gw_contact_candidate){.key = 2 * key + (uint64_t)upper,
                                                         .a = f.a,
                                                         .b = f.b,
                                                         .row = &limit->row,
                                                         .surface = {.restitution = restitution}};
        l->count++;
    }
}

static size_t most_dof(const gw_scene_dynamics *m)
{
    int most = 0;
    for (int i = 0; i < m->system_count; i++) {
        int dof = gw_model_dof(gw_system_model(m->systems[i].system));
        most = dof > most ? dof : most;
    }
    return (size_t)most;
}

bool gw_joint_limits_create(gw_scene_dynamics *m, const gw_scene_dynamics_def *def)
{
    gw_joint_limits *l = &m->limits;
    int count = count_limits(def->layout);
    *l = (gw_joint_limits){.of = calloc((size_t)count + 1, sizeof *l->of),
                           .candidates = calloc((size_t)count + 1, sizeof *l->candidates),
                           .work = calloc(WORK_ROWS * most_dof(m) + 1, sizeof *l->work),
                           .fresh = true};
    l->most = count;
    return l->of && l->candidates && l->work;
}

void gw_joint_limits_build(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, int ground)
{
    gw_joint_limits *l = &m->limits;
    double q[6], v[6];
    for (int i = 0; i < def->layout->system_count; i++) {
        const gw_scene_system *s = def->layout->systems[i];
        int first = 0;
        for (int k = 0; k < s->body_count; k++) {
            for (int j = 0; j < 6; j++)
                if (s->bodies[k].limited[j])
                    add_limits(l, def, i, k, j, first, ground);
            first += gw_system_joint(m->systems[i].system, k, q, v);
        }
    }
    assert(l->count == l->most);
}

void gw_joint_limits_destroy(gw_joint_limits *l)
{
    free(l->of);
    free(l->candidates);
    free(l->work);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Evaluates the hand's wrench at the step's start; true if it differs from that of the step
 * before. */
static bool ask_hand(const gw_world_system *system, gw_wrench *hand)
{
    gw_wrench before = *hand;
    *hand = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    if (system->hand.at && !system->still) {
        gw_pose held;
        gw_twist twist;
        gw_model_held(system->model, &held, &twist);
        *hand = system->hand.at(system->hand.context, 0, &held, &twist);
    }
    return gw_norm(gw_sub(hand->f, before.f)) + gw_norm(gw_sub(hand->t, before.t)) > NEW_FORCE;
}

/* a = D^-1 P (all forces + J^T hand), without limits, at the present state. */
static const double *unlimited_accelerations(gw_joint_limits *l, const gw_model *model,
                                             const gw_wrench *hand)
{
    size_t n = (size_t)gw_model_dof(model);
    double(*columns)[6] = (double(*)[6])(void *)l->work, bias[6];
    double *force = l->work + 6 * n, *by_hand = force + n, *a = by_hand + n;
    gw_model_free_acceleration(model, a);
    gw_model_jacobian(model, columns, bias);
    for (size_t i = 0; i < n; i++) {
        const double *c = columns[i];
        force[i] = gw_dot(gw_v3(c[0], c[1], c[2]), hand->f);
        force[i] += gw_dot(gw_v3(c[3], c[4], c[5]), hand->t);
    }
    gw_model_apply_inverse(model, force, by_hand);
    for (size_t i = 0; i < n; i++)
        a[i] += by_hand[i];
    return a;
}

/*
 * To activate a limit in time the coordinate's acceleration must be known: the change of velocity
 * in the step before or, if forces have changed (initial step, edit, another wrench of the hand),
 * the present acceleration.
 */
void gw_joint_limits_pre_step(gw_scene_dynamics *m, double dt)
{
    assert(m && dt > 0);
    gw_joint_limits *l = &m->limits;
    double q[6], v[6];
    const double *a = NULL;
    int followed = 0;
    for (int i = 0; i < l->count; i++) {
        gw_joint_limit *limit = &l->of[i];
        gw_dynamic_system *d = &m->systems[limit->system];
        int j = limit->coordinate;
        bool first = i == 0 || limit->system != limit[-1].system;
        if (first &&
            (ask_hand(&m->world_systems[m->first_system + limit->system], &d->hand) || l->fresh))
            a = unlimited_accelerations(l, gw_system_model(d->system), &d->hand);
        else if (first)
            a = NULL;
        if (first || limit->body != limit[-1].body)
            gw_system_joint(d->system, limit->body, q, v);
        bool ball = limit->row.kind == GW_UNILATERAL_ANGLE ||
                    limit->row.kind == GW_UNILATERAL_ROTATION; /* always active */
        double gap = limit->row.sign * (q[j] - limit->row.value);
        double gained = fmax(fabs(v[j] - limit->rate), a ? dt * fabs(a[limit->at]) : 0);
        bool follow = gap < NEAR_GAP + NEAR_STEPS * dt * (fabs(v[j]) + gained);
        follow = (follow || ball) && followed < GW_MAX_WORLD_UNILATERALS;
        followed += follow;
        limit->row.near = q[j];
        limit->rate = v[j];
        gw_world_follow(m->world, l->first + i, follow);
    }
    l->followed = followed;
    l->fresh = false;
}

/* ---- what they tell -------------------------------------------------------------------------- */

void gw_joint_limits_add_wrench(const gw_scene_dynamics *m, int system, int body, gw_vec3 point,
                                gw_wrench *wrench)
{
    for (int i = 0; i < m->limits.count; i++) {
        const gw_joint_limit *limit = &m->limits.of[i];
        const gw_unilateral_state *now = &limit->now;
        if (limit->system != system || limit->body != body)
            continue;
        wrench->f = gw_add(wrench->f, now->start_force);
        wrench->t = gw_add(wrench->t, now->start_couple);
        wrench->t = gw_add(wrench->t, gw_cross(gw_sub(now->start_at_a, point), now->start_force));
    }
}
