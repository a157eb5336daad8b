/*
 * Consistency of initial conditions: whether the systems of a scene begin with the stated
 * velocities and joint positions. Where the relations do not allow these, velocities are projected
 * and positions are the nearest ones, both in the mass metric. Not RT safe.
 */
#include <assert.h>
#include <stdlib.h>

#include "rt/scene/joint_frame.h"
#include "rt/scene/scene_system.h"

double gw_projected_share(const gw_twist *stated, const gw_twist *now, double least)
{
    assert(stated && now && least >= 0);
    double size = gw_norm(stated->v) + gw_norm(stated->w);
    if (size == 0)
        return 0;
    size = fmax(size, least);
    double change = gw_norm(gw_sub(now->v, stated->v)) + gw_norm(gw_sub(now->w, stated->w));
    return change / size;
}

/* A speed below which differences are rounding: a millionth of the largest stated one (m/s and
 * rad/s alike). */
static double least_speed(const gw_scene *scene)
{
    double largest = 0;
    for (int i = 0; i < scene->object_count; i++) {
        const gw_object *o = &scene->objects[i];
        largest = fmax(largest, gw_norm(o->velocity) + gw_norm(o->spin));
    }
    for (int i = 0; i < scene->joint_count; i++) {
        const gw_scene_joint *j = &scene->joints[i];
        for (int k = 0; k < gw_mobilizers[j->type].dof && j->has_velocity; k++)
            largest = fmax(largest, fabs(j->velocity[k]));
    }
    return 1e-6 * largest;
}

/* Share by which the initial velocity of a tree joint differs from the stated one. */
static double joint_changed(const gw_system_body_def *d, gw_system *system, int body, double least)
{
    double q[6], v[6], size = least, change = 0;
    int count = gw_system_joint(system, body, q, v);
    for (int j = 0; j < count && d->keeps_velocity; j++) {
        size += fabs(d->velocity[j]);
        change += fabs(v[j] - d->velocity[j]);
    }
    return d->keeps_velocity && change > 0 ? change / fmax(size, change) : 0;
}

/* Poses and twists of a joint's bodies; the world's where it is a ground. */
static void ends_of(const gw_placed_joint *j, gw_system *system, gw_pose at[2], gw_twist of[2])
{
    const int ends[2] = {j->a, j->b};
    for (int k = 0; k < 2; k++) {
        at[k] = gw_pose_identity();
        of[k] = (gw_twist){{0, 0, 0}, {0, 0, 0}};
        if (ends[k] >= 0)
            gw_model_body(gw_system_model(system), ends[k], &at[k], &of[k]);
    }
}

/* Distance of a joint from its stated position (rad, and shares of the length), and the coordinate
 * that differs most. */
static double joint_displacement(const gw_scene *scene, const gw_placed_joint *j, double length,
                                 gw_system *system, gw_projection *most)
{
    const gw_scene_joint *stated = &scene->joints[j->joint];
    gw_pose at[2], there;
    gw_twist of[2];
    if (!gw_scene_joint_stated_pose(stated, &there))
        return 0;
    ends_of(j, system, at, of);
    gw_pose m = gw_pose_mul(&at[0], &j->a_from_m), f = gw_pose_mul(&at[1], &j->b_from_f);
    gw_pose wanted = gw_pose_mul(&f, &there), back = gw_pose_inverse(&f);
    gw_pose f_from_m = gw_pose_mul(&back, &m);
    double actual[6], by = -1;
    gw_mobilizer_position(j->type, j->pitch, &f_from_m, actual);
    for (int i = 0; i < gw_mobilizers[j->type].dof; i++) {
        double off = actual[i] - stated->position[i];
        if (gw_mobilizer_is_periodic(j->type, i))
            off = remainder(off, 2 * GW_PI);
        if (fabs(off) > by) {
            by = fabs(off);
            most->stated = stated->position[i], most->actual = stated->position[i] + off;
        }
    }
    most->joint = j->joint;
    return gw_distance(m.p, wanted.p) / length + gw_quat_angle(m.q, wanted.q);
}

/* Share by which the initial velocity of a loop-closing joint differs from the stated one. */
static double closing_changed(const gw_scene *scene, const gw_placed_joint *j, gw_system *system,
                              double least)
{
    gw_pose at[2];
    gw_twist of[2];
    const gw_scene_joint *stated = &scene->joints[j->joint];
    double v[6] = {0}, size = least, change = 0;
    if (j->body >= 0 || !stated->has_velocity)
        return 0;
    ends_of(j, system, at, of);
    gw_pose m = gw_pose_mul(&at[0], &j->a_from_m), f = gw_pose_mul(&at[1], &j->b_from_f);
    gw_pose f_from_world = gw_pose_inverse(&f), f_from_m = gw_pose_mul(&f_from_world, &m);
    gw_vec3 v_a = gw_add(of[0].v, gw_cross(of[0].w, gw_sub(m.p, at[0].p)));
    gw_vec3 v_b = gw_add(of[1].v, gw_cross(of[1].w, gw_sub(m.p, at[1].p)));
    gw_twist seen = {gw_unrotate(f.q, gw_sub(v_a, v_b)),
                     gw_unrotate(f.q, gw_sub(of[0].w, of[1].w))};
    gw_mobilizer_velocity(j->type, &f_from_m, &seen, v);
    for (int i = 0; i < gw_mobilizers[j->type].dof; i++) {
        size += fabs(stated->velocity[i]);
        change += fabs(v[i] - stated->velocity[i]);
    }
    return change > 0 ? change / fmax(size, change) : 0;
}

static gw_twist stated_twist(const gw_scene *scene, int number)
{
    const gw_object *o = number < scene->object_count ? &scene->objects[number] : NULL;
    return o ? (gw_twist){o->velocity, o->spin} : (gw_twist){{0, 0, 0}, {0, 0, 0}};
}

gw_projection gw_scene_system_projection(const gw_scene *scene, const gw_scene_system *s,
                                         gw_system *system)
{
    double most = GW_PROJECTED_SHARE, least = least_speed(scene);
    gw_projection found = {.number = -1, .joint = -1};
    for (int i = 0; i < s->member_count; i++) {
        gw_pose pose;
        gw_twist twist, stated = stated_twist(scene, s->members[i].number);
        gw_model_body(gw_system_model(system), i, &pose, &twist);
        double by = fmax(gw_projected_share(&stated, &twist, least),
                         joint_changed(&s->bodies[i], system, i, least));
        if (by > most)
            most = by, found.number = s->members[i].number;
    }
    for (int i = 0; i < s->joint_count; i++) {
        const gw_placed_joint *j = &s->joints[i];
        double by = closing_changed(scene, j, system, least);
        gw_projection here = {.joint = -1};
        double off = joint_displacement(scene, j, s->length, system, &here);
        if (!(off > GW_DISPLACED))
            here.joint = -1;
        else
            by = fmax(by, off);
        if (!(by > most))
            continue;
        most = by, found = here;
        found.number = s->members[j->a >= 0 ? j->a : j->b].number;
    }
    return found;
}

/* ---- where they begin ---------------------------------------------------------------------- */

void gw_scene_system_keep_start(gw_scene_system *s, const gw_model *model, int body)
{
    gw_system_body_def *d = &s->bodies[body];
    gw_pose a, b = gw_pose_identity();
    gw_twist of_a, of_b = {{0, 0, 0}, {0, 0, 0}};
    gw_model_body(model, body, &a, &of_a);
    if (d->parent >= 0)
        gw_model_body(model, d->parent, &b, &of_b);
    gw_pose back = gw_pose_inverse(&b);
    gw_vec3 v = gw_add(of_b.v, gw_cross(of_b.w, gw_sub(a.p, b.p)));
    d->start = gw_pose_mul(&back, &a);
    d->start_twist =
        (gw_twist){gw_unrotate(b.q, gw_sub(of_a.v, v)), gw_unrotate(b.q, gw_sub(of_a.w, of_b.w))};
}

void gw_scene_system_keep_contacts(gw_scene_system *s, const gw_system *system, bool points)
{
    for (int i = 0; i < s->contact_count; i++) {
        gw_placed_contact *c = &s->contacts[i];
        const gw_contact_point *point = gw_system_contact_point(system, c->closure);
        if (!point)
            continue;
        c->first = *gw_system_first_point(system, c->closure);
        c->point = *point;
        c->continues = point->known && !point->searched;
        s->closures[c->closure].contact.point =
            points ? *point : (gw_contact_point){.known = false};
    }
}

/* ---- limits -------------------------------------------------------------------------------- */

/* The smallest change that brings `q` within the limits, after whole turns if it is an angle. */
static double within_limits(double q, double lower, double upper, bool turns)
{
    if (turns && (q < lower || q > upper)) {
        double above = q + 2 * GW_PI * ceil((lower - q) / (2 * GW_PI)), below = above - 2 * GW_PI;
        q = above <= upper || above - upper < lower - below ? above : below;
    }
    return fmin(fmax(q, lower), upper);
}

static void note_beyond(gw_scene_system *s, const gw_system_member *member, int coordinate,
                        const gw_system_body_def *d, double was, double now)
{
    double lower = d->lower[coordinate], upper = d->upper[coordinate];
    gw_beyond_limits *most = &s->beyond;
    double by = fmax(fabs(now - was), fmax(lower - now, now - upper));
    double before = most->number < 0 ? 0
                                     : fmax(fabs(most->now - most->was),
                                            fmax(most->lower - most->now, most->now - most->upper));
    if (by > GW_DISPLACED && by > before)
        *most = (gw_beyond_limits){.number = member->number,
                                   .joint = member->joint,
                                   .coordinate = coordinate,
                                   .was = was,
                                   .now = now,
                                   .lower = lower,
                                   .upper = upper};
}

/* Rotates less about the same axis until both angles, which grow with the rotation, are within. */
static void keep_ball_within_limits(gw_scene_system *s, const gw_system_member *member,
                                    gw_system_body_def *d)
{
    double was[2], now[2], across = hypot(d->position[0], d->position[1]);
    gw_scene_ball_angles(d->position, was);
    double most = d->limited[1] ? fmin(was[1], d->upper[1]) : was[1];
    if (d->limited[0] && was[0] > d->upper[0])
        most = fmin(most, 2 * asin(fmin(1, was[1] / across * sin(d->upper[0] / 2))));
    for (int i = 0; i < 3 && most < was[1]; i++)
        d->position[i] *= most / was[1];
    gw_scene_ball_angles(d->position, now);
    for (int i = 0; i < 2; i++)
        if (d->limited[i])
            note_beyond(s, member, i, d, was[i], now[i]);
}

void gw_scene_system_keep_within_limits(gw_scene_system *s, int body)
{
    gw_system_body_def *d = &s->bodies[body];
    if (d->joint == GW_MOBILIZER_SPHERICAL)
        keep_ball_within_limits(s, &s->members[body], d);
    if (d->set || gw_mobilizer_rotation(d->joint) < 6)
        return;
    for (int j = 0; j < gw_mobilizers[d->joint].dof; j++) {
        bool turns = gw_mobilizer_is_periodic(d->joint, j);
        double was = d->position[j];
        if (!d->limited[j])
            continue;
        d->position[j] = within_limits(was, d->lower[j], d->upper[j], turns);
        double by = d->position[j] - was;
        note_beyond(s, &s->members[body], j, d,
                    d->position[j] - (turns ? remainder(by, 2 * GW_PI) : by), d->position[j]);
    }
}

static bool is_locked(const gw_system_body_def *d, int coordinate)
{
    return d->limited[coordinate] && d->lower[coordinate] == d->upper[coordinate];
}

/* A gear of ratio 0 with itself: z_j = 0 z_j + lower. */
bool gw_scene_system_make_room(gw_scene_system *s, int closures, gw_error *error)
{
    size_t n = (size_t)closures + 1;
    gw_closure_def *of = realloc(s->closures, n * sizeof *of);
    s->closures = of ? of : s->closures;
    gw_placed_unilateral *all = realloc(s->unilaterals, n * sizeof *all);
    s->unilaterals = all ? all : s->unilaterals;
    return (of && all) || gw_fail(error, GW_FAILED, "", "no memory for a system of bodies");
}

bool gw_scene_system_lock_coordinates(gw_scene_system *s, gw_error *error)
{
    int count = s->closure_count;
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < 6; j++)
            count += is_locked(&s->bodies[i], j);
    if (!gw_scene_system_make_room(s, count, error))
        return false;
    for (int i = 0; i < s->body_count; i++) {
        for (int j = 0; j < 6; j++) {
            gw_system_body_def *d = &s->bodies[i];
            if (!is_locked(d, j))
                continue;
            d->limited[j] = false;
            s->closures[s->closure_count++] = (gw_closure_def){
                .kind = GW_CLOSURE_GEAR,
                .a = i,
                .b = i,
                .gear = {.coordinate_a = j, .coordinate_b = j, .offset = d->lower[j]}};
        }
    }
    return true;
}

void gw_scene_system_note_beyond_limits(gw_scene_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body_def *d = &s->bodies[i];
        const double *now = d->position;
        double angles[2];
        if (d->joint == GW_MOBILIZER_SPHERICAL)
            gw_scene_ball_angles(now, angles), now = angles;
        for (int j = 0; !d->set && j < gw_mobilizers[d->joint].dof; j++)
            if (d->limited[j] && (j < 2 || d->joint != GW_MOBILIZER_SPHERICAL))
                note_beyond(s, &s->members[i], j, d, now[j], now[j]);
    }
    if (s->projected.number < 0)
        s->projected.number = s->beyond.number;
}
