/*
 * Builds the systems of a scene: groups of objects that move together, each a spanning tree of
 * joints, with closures for the remaining relations. Not for use inside a tick.
 *
 * Candidates for the tree are the stated joints, and pairs of bodies whose constraints are
 * equivalent to a joint by the solution of the positioning solver (a line on a line and a point on
 * a plane are a revolute joint; a set that is no joint of a known type is one by its submanifold).
 * Candidates with the fewest freedoms go first; before them those without closure rows (screws),
 * with forces (springs, limits, motors), or with a stated position. A body that no candidate
 * reaches floats, and its constraints are closures. Every fixed object, and every base of a
 * mechanism, is a ground of its own, which may move.
 */
#include "rt/scene/scene_system.h"

#include "rt/haptics/operational_space.h"
#include "rt/scene/joint_frame.h"
#include "rt/scene/submanifold_mobilizer.h"
#include "rt/scene/surface.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ON_ITS_SET 1e-7 /* of the length: bodies are where their constraints have them */

/* ---- a system while it is built ------------------------------------------------------------- */

/* A candidate for a joint of the tree: a stated joint, or the solved constraints of two bodies. */
typedef struct candidate {
    int a, b;  /* ends; M is a's, F is b's */
    int joint; /* of the scene, or -1 */
    bool link; /* it is that of link a */
    gw_mobilizer type;
    double pitch;
    gw_pose a_from_m, b_from_f;
    gw_submanifold *set; /* of a submanifold: owned until it hangs in the tree; a is the child */
    int rank;            /* smaller goes into the tree first */
    int bundle;          /* of the constraints that it stands for, or -1 */
    bool used;
    int closure; /* that it is instead, if any */
} candidate;

/* All constraints between two bodies. */
typedef struct bundle {
    int a, b; /* ends; a is a member */
    bool in_tree;
} bundle;

typedef struct builder {
    const gw_scene *scene;
    const int *of_body;
    int number;
    bool assembled;    /* poses are where all relations hold */
    bool by_rows;      /* answers that are no known joint are closures, not submanifolds */
    bool keeps_limits; /* without play, too: they do not become closures */
    const gw_contact_starts *starts;
    bool keeps_points; /* of contacts, for who takes the system: they go on */
    gw_pose *poses;    /* of the scene's bodies */
    int *body;         /* of each in the system, -1: not in the tree yet */
    gw_scene_system *out;
    int candidate_count, bundle_count, edge_count;
    candidate *candidates;
    bundle *bundles;
    const gw_constraint_edge **edges; /* of this system */
    int *bundle_of;                   /* of each of them */
    gw_solution *solution;
} builder;

static bool is_member(const builder *w, int object)
{
    return object >= 0 && w->of_body[object] == w->number;
}

/* An end of a relation: a member's index in the scene, GW_GROUND for the world, or the moving
 * ground of a fixed object, or, plus the number of objects, of a mechanism's base. */
static int end_of(const builder *w, int body)
{
    if (is_member(w, body))
        return body;
    return gw_scene_body_is_object(w->scene, body) ? GW_MOVING_GROUND(body) : GW_GROUND;
}

/* An end in the system: a body of it, or a ground as it numbers them. */
static int body_of(const builder *w, int end)
{
    gw_scene_system *s = w->out;
    int which = GW_MOVING_GROUND(end), i = 0;
    if (end >= GW_GROUND)
        return end == GW_GROUND ? GW_GROUND : w->body[end];
    while (i < s->ground_count && s->grounds[i] != which)
        i++;
    if (i == s->ground_count)
        s->grounds[s->ground_count++] = which;
    return GW_MOVING_GROUND(i);
}

/* ---- frames of joints ----------------------------------------------------------------------- */

/* In the body, or in the world where the end is fixed. */
static gw_pose placed_frame(const builder *w, int object, const gw_pose *end_from_frame)
{
    if (is_member(w, object))
        return *end_from_frame;
    gw_pose end = object >= 0 ? w->poses[object] : gw_pose_identity();
    return gw_pose_mul(&end, end_from_frame);
}

static bool has_forces(const gw_scene_joint *j)
{
    bool forces = false;
    for (int i = 0; i < gw_mobilizers[j->type].dof; i++)
        forces = forces || j->has_motor[i] || j->limited[i] || j->damping[i] != 0 ||
                 j->friction[i] != 0 || j->stiffness[i] != 0;
    return forces;
}

/* Candidates of the scene's joints of this system. */
static void collect_joints(builder *w)
{
    const gw_scene *s = w->scene;
    for (int i = 0; i < s->joint_count; i++) {
        const gw_scene_joint *j = &s->joints[i];
        if (!j->enabled || j->gear)
            continue;
        int a = gw_scene_body_number(s, j->a.object), b = gw_scene_body_number(s, j->b.object);
        if ((!is_member(w, a) && !is_member(w, b)) || gw_scene_body_is_massless(s, a) ||
            gw_scene_body_is_massless(s, b))
            continue;
        gw_pose m, f;
        gw_scene_joint_frames(s, j, &m, &f);
        candidate *c = &w->candidates[w->candidate_count++];
        *c = (candidate){.a = end_of(w, a),
                         .b = end_of(w, b),
                         .joint = i,
                         .type = j->type,
                         .pitch = j->pitch,
                         .a_from_m = placed_frame(w, a, &m),
                         .b_from_f = placed_frame(w, b, &f),
                         .rank = gw_mobilizers[j->type].dof,
                         .bundle = -1};
        c->rank -= j->type == GW_MOBILIZER_SCREW ? 1000 : 0;
        c->rank -= gw_scene_joint_is_geared(s, i) ? 500 : 0;
        c->rank -= has_forces(j) ? 100 : 0;
        c->rank -= j->has_position || j->has_velocity ? 10 : 0;
    }
}

/* Candidates of the links of mechanisms: each hangs on its parent, whatever else there is. */
static void collect_links(builder *w)
{
    const gw_scene *s = w->scene;
    for (int i = 0; i < s->mechanism_count; i++) {
        const gw_mechanism *m = &s->mechanisms[i];
        int first = s->object_count + gw_scene_first_joint(s, i);
        for (int k = 0; k < m->link_count && is_member(w, first); k++) {
            gw_mobilizer type = gw_mechanism_joint(m, k);
            gw_pose turned = gw_pose_identity(), f = m->links[k].parent_from_joint;
            if (gw_mobilizer_rotation(type) == 6)
                gw_link_frames(&m->links[k], &turned, &f);
            if (m->parent[k] < 0)
                f = gw_pose_mul(&m->base, &f);
            w->candidates[w->candidate_count++] =
                (candidate){.a = first + k,
                            .b = m->parent[k] < 0 ? GW_MOVING_GROUND(s->object_count + i)
                                                  : first + m->parent[k],
                            .joint = -1,
                            .link = true,
                            .type = type,
                            .a_from_m = turned,
                            .b_from_f = f,
                            .rank = -2000,
                            .bundle = -1};
        }
    }
}

/* ---- pairs of bodies whose constraints are a joint ------------------------------------------ */

static int bundle_between(builder *w, int a, int b)
{
    for (int i = 0; i < w->bundle_count; i++)
        if ((w->bundles[i].a == a && w->bundles[i].b == b) ||
            (w->bundles[i].a == b && w->bundles[i].b == a))
            return i;
    w->bundles[w->bundle_count] = (bundle){a, b, false};
    return w->bundle_count++;
}

/* The system's constraints, by pairs of bodies. */
static void collect_edges(builder *w, const gw_constraint_edge *const *edges, int count)
{
    for (int i = 0; i < count; i++) {
        int a = end_of(w, edges[i]->a), b = end_of(w, edges[i]->b);
        bool follower = gw_scene_body_is_massless(w->scene, edges[i]->a) ||
                        gw_scene_body_is_massless(w->scene, edges[i]->b);
        if ((a < 0 && b < 0) || follower)
            continue;
        w->bundle_of[w->edge_count] = a < 0 ? bundle_between(w, b, a) : bundle_between(w, a, b);
        w->edges[w->edge_count++] = edges[i];
    }
}

static gw_pose pose_of(const builder *w, int end)
{
    return end >= 0 ? w->poses[end] : gw_pose_identity();
}

/* An edge as a constraint of body a in the frame of b. */
static gw_constraint seen_from(const builder *w, const gw_constraint_edge *e, const bundle *k)
{
    int other = e->a == k->a ? e->b : e->a;
    gw_pose in_b = gw_pose_identity();
    if (k->b < 0)
        in_b = w->poses[other];
    return gw_constraint_of_edge(e, k->a, &in_b);
}

/* Adds the joint to which the constraints of a bundle are equivalent, if there is one; true if it
 * is one by its submanifold. */
static bool classify_bundle(builder *w, int number, const bundle *k)
{
    gw_constraint constraints[GW_MAX_PROBLEM];
    gw_pose world_from_a = pose_of(w, k->a), world_from_b = pose_of(w, k->b);
    gw_pose b_from_world = gw_pose_inverse(&world_from_b);
    gw_problem problem = {.pose = gw_pose_mul(&b_from_world, &world_from_a),
                          .length = gw_scene_body_length(w->scene, k->a),
                          .constraints = constraints};
    for (int i = 0; i < w->edge_count; i++) {
        if (w->bundle_of[i] != number)
            continue;
        if (problem.count == GW_MAX_PROBLEM)
            return false;
        constraints[problem.count++] = seen_from(w, w->edges[i], k);
    }
    gw_solve(&problem, w->solution);
    if (w->solution->status != GW_SOLVED || w->solution->branch_count == 0)
        return false;
    const gw_branch *branch = &w->solution->branches[0];
    gw_mobilizer type = gw_submanifold_mobilizer(&branch->set);
    bool by_set =
        type == GW_MOBILIZER_FREE && !w->by_rows && gw_submanifold_is_mobilizer(&branch->set);
    gw_submanifold *set = by_set ? malloc(sizeof *set) : NULL;
    bool apart = branch->distance > ON_ITS_SET * w->out->length;
    if ((type == GW_MOBILIZER_FREE && !set) || apart) {
        free(set);
        return false;
    }
    candidate *c = &w->candidates[w->candidate_count++];
    *c = (candidate){.a = k->a,
                     .b = k->b,
                     .joint = -1,
                     .type = set ? GW_MOBILIZER_SUBMANIFOLD : type,
                     .a_from_m = gw_pose_identity(),
                     .b_from_f = gw_pose_identity(),
                     .set = set,
                     .rank = branch->set.dof,
                     .bundle = number};
    if (set)
        *set = branch->set;
    else
        gw_submanifold_mobilizer_frames(&branch->set, type, &branch->nearest, &c->a_from_m,
                                        &c->b_from_f);
    return set != NULL;
}

static void classify_all(builder *w)
{
    for (int i = 0; i < w->bundle_count; i++) {
        const bundle *k = &w->bundles[i];
        if (classify_bundle(w, i, k) && k->b >= 0)
            classify_bundle(w, i, &(bundle){k->b, k->a, false});
    }
}

/* ---- the tree ------------------------------------------------------------------------------- */

static bool in_tree(const builder *w, int end)
{
    return end < 0 || w->body[end] >= 0;
}

static gw_twist twist_of(const builder *w, int end)
{
    const gw_object *o = gw_scene_body_is_object(w->scene, end) ? &w->scene->objects[end] : NULL;
    return o ? (gw_twist){o->velocity, o->spin} : (gw_twist){{0, 0, 0}, {0, 0, 0}};
}

/* The mobilizer's initial position: as stated, else nearest to the bodies' poses. */
static void start_joint(builder *w, const candidate *c, gw_system_body_def *d)
{
    const gw_scene_joint *j = c->joint >= 0 ? &w->scene->joints[c->joint] : NULL;
    int link, mechanism = c->link ? gw_scene_link_of_body(w->scene, c->a, &link) : -1;
    gw_pose a = pose_of(w, c->a), b = pose_of(w, c->b);
    gw_pose world_from_m = gw_pose_mul(&a, &c->a_from_m);
    gw_pose world_from_f = gw_pose_mul(&b, &c->b_from_f);
    gw_pose f_from_world = gw_pose_inverse(&world_from_f);
    gw_pose f_from_m = gw_pose_mul(&f_from_world, &world_from_m);
    if (mechanism >= 0) {
        if (w->assembled)
            gw_mobilizer_position(c->type, c->pitch, &f_from_m, d->position);
        else
            d->position[0] = w->scene->mechanisms[mechanism].position[link];
        d->velocity[0] = w->scene->mechanisms[mechanism].velocity[link];
        d->keeps_velocity = true;
        return;
    }
    d->keeps_position = j && j->has_position;
    d->keeps_velocity = j && j->has_velocity;
    if (d->keeps_position)
        memcpy(d->position, j->position, sizeof d->position);
    else
        gw_mobilizer_position(c->type, c->pitch, &f_from_m, d->position);
    gw_twist of_a = twist_of(w, c->a), of_b = twist_of(w, c->b);
    gw_vec3 at_m = gw_sub(world_from_m.p, a.p), at_f = gw_sub(world_from_m.p, b.p);
    gw_vec3 v =
        gw_sub(gw_add(of_a.v, gw_cross(of_a.w, at_m)), gw_add(of_b.v, gw_cross(of_b.w, at_f)));
    gw_twist relative = {gw_unrotate(world_from_f.q, v),
                         gw_unrotate(world_from_f.q, gw_sub(of_a.w, of_b.w))};
    d->start = f_from_m, d->start_twist = relative;
    if (d->keeps_velocity)
        memcpy(d->velocity, j->velocity, sizeof d->velocity);
    else
        gw_mobilizer_velocity(c->type, &f_from_m, &relative, d->velocity);
}

static void take_joint_forces(const gw_scene_joint *j, gw_system_body_def *d)
{
    memcpy(d->damping, j->damping, sizeof d->damping);
    memcpy(d->stiffness, j->stiffness, sizeof d->stiffness);
    memcpy(d->rest, j->rest, sizeof d->rest);
    memcpy(d->friction, j->friction, sizeof d->friction);
    memcpy(d->limited, j->limited, sizeof d->limited);
    memcpy(d->lower, j->lower, sizeof d->lower);
    memcpy(d->upper, j->upper, sizeof d->upper);
    for (int i = 0; i < 6; i++)
        if (j->has_motor[i])
            d->motor[i] = j->motor[i];
}

static void take_link_forces(const gw_link_def *l, gw_system_body_def *d)
{
    d->damping[0] = l->damping;
    d->friction[0] = l->friction;
    d->limited[0] = l->limited;
    d->lower[0] = l->lower;
    d->upper[0] = l->upper;
    d->motor[0] = l->motor;
}

/* Sets the child's pose by its joint. */
static void place_child(builder *w, int object, const gw_system_body_def *d, int parent_end)
{
    gw_mobilizer_state state = {.turn = gw_quat_identity()};
    gw_vec3 v[6], u[6];
    int at = gw_mobilizer_rotation(d->joint);
    memcpy(state.z, d->position, sizeof state.z);
    if (at < 6)
        state.turn = gw_quat_exp(gw_v3(state.z[at], state.z[at + 1], state.z[at + 2]));
    gw_pose f_from_m = d->start;
    if (!d->set)
        f_from_m = gw_mobilizer_pose(d->joint, d->pitch, &state, v, u);
    gw_pose moved = d->reversed ? gw_pose_inverse(&f_from_m) : f_from_m;
    gw_pose parent = pose_of(w, parent_end), m_from_body = gw_pose_inverse(&d->body_from_m);
    gw_pose on_parent = gw_pose_mul(&parent, &d->parent_from_f);
    gw_pose joint_from_body = gw_pose_mul(&moved, &m_from_body);
    w->poses[object] = gw_pose_mul(&on_parent, &joint_from_body);
    w->poses[object].q = gw_quat_unit(w->poses[object].q);
}

/* Adds a body with its mass and damping. */
static gw_system_body_def *add_body(builder *w, int object, int joint)
{
    gw_scene_system *s = w->out;
    const gw_object *o =
        gw_scene_body_is_object(w->scene, object) ? &w->scene->objects[object] : NULL;
    gw_system_body_def *d = &s->bodies[s->body_count];
    *d = (gw_system_body_def){.mass = gw_scene_body_mass(w->scene, object),
                              .damping_linear = o ? o->body.damping_linear : 0,
                              .damping_angular = o ? o->body.damping_angular : 0,
                              .damping_at = gw_scene_held_point(w->scene, object),
                              .parent_from_f = gw_pose_identity(),
                              .body_from_m = gw_pose_identity()};
    s->members[s->body_count] = (gw_system_member){.number = object, .joint = joint};
    s->member_count = s->body_count + 1;
    w->body[object] = s->body_count++;
    return d;
}

/* Defines the mobilizer of a body (one end of the candidate, or half of it) by the candidate. */
static void define_mobilizer(builder *w, const candidate *c, bool a_is_child, gw_system_body_def *d)
{
    d->parent = body_of(w, a_is_child ? c->b : c->a);
    d->joint = c->type;
    d->pitch = c->pitch;
    d->reversed = !a_is_child;
    d->parent_from_f = a_is_child ? c->b_from_f : c->a_from_m;
    d->body_from_m = a_is_child ? c->a_from_m : c->b_from_f;
    d->set = c->set;
    start_joint(w, c, d);
    int link, mechanism = c->link ? gw_scene_link_of_body(w->scene, c->a, &link) : -1;
    if (mechanism >= 0)
        take_link_forces(&w->scene->mechanisms[mechanism].links[link], d);
    if (c->joint >= 0)
        take_joint_forces(&w->scene->joints[c->joint], d);
    gw_scene_system_keep_within_limits(w->out, (int)(d - w->out->bodies));
}

/* Adds the end of a candidate that is not in the tree as a child of the other one. */
static void hang_on_tree(builder *w, candidate *c)
{
    bool a_is_child = !in_tree(w, c->a);
    gw_system_body_def *d = add_body(w, a_is_child ? c->a : c->b, c->joint);
    define_mobilizer(w, c, a_is_child, d);
    c->used = true;
    c->set = NULL;
    if (c->bundle >= 0)
        w->bundles[c->bundle].in_tree = true;
    place_child(w, a_is_child ? c->a : c->b, d, a_is_child ? c->b : c->a);
}

/* Adds a body with a free joint. */
static void float_body(builder *w, int object)
{
    gw_system_body_def *d = add_body(w, object, -1);
    gw_twist twist = twist_of(w, object);
    d->parent = GW_GROUND;
    d->joint = GW_MOBILIZER_FREE;
    gw_mobilizer_position(d->joint, 0, &w->poses[object], d->position);
    gw_mobilizer_velocity(d->joint, &w->poses[object], &twist, d->velocity);
}

/* The candidate of smallest rank with one end in the tree; NULL: none. */
static candidate *next_candidate(builder *w)
{
    candidate *best = NULL;
    for (int i = 0; i < w->candidate_count; i++) {
        candidate *c = &w->candidates[i];
        if (in_tree(w, c->a) == in_tree(w, c->b) || (c->set && in_tree(w, c->a)))
            continue;
        if (!best || c->rank < best->rank)
            best = c;
    }
    return best;
}

static void grow_tree(builder *w)
{
    const gw_scene *s = w->scene;
    for (;;) {
        candidate *c = next_candidate(w);
        if (c) {
            hang_on_tree(w, c);
            continue;
        }
        int next = -1;
        for (int i = 0; i < gw_scene_body_count(s) && next < 0; i++)
            if (is_member(w, i) && w->body[i] < 0)
                next = i;
        if (next < 0)
            return;
        float_body(w, next);
    }
}

/* ---- closures ------------------------------------------------------------------------------- */

/* The frame rotated about its z: exchanges x and y for a universal joint seen from the other
 * side. */
static gw_pose turned_about_z(const gw_pose *frame, double angle)
{
    return (gw_pose){frame->p, gw_quat_mul(frame->q, gw_quat_axis(gw_v3(0, 0, 1), angle))};
}

static gw_mass half_of(const gw_mass *m)
{
    gw_mass half = *m;
    half.mass *= 0.5;
    for (int i = 0; i < 9; i++)
        half.inertia.m[i / 3][i % 3] *= 0.5;
    return half;
}

/* A loop-closing joint whose coordinates are needed: for its forces, for a gear, or as a screw,
 * which has no closure rows. One of its bodies is cut into two halves of equal mass: the joint
 * carries one of them, and closure rows weld it to the other. */
static void cut_body(builder *w, candidate *c)
{
    gw_scene_system *s = w->out;
    bool a_is_child = c->a >= 0;
    int child = a_is_child ? c->a : c->b, whole = w->body[child], half = s->body_count++;
    s->bodies[whole].mass = half_of(&s->bodies[whole].mass);
    s->members[half] = (gw_system_member){.number = child, .joint = c->joint};
    gw_system_body_def *d = &s->bodies[half];
    *d = (gw_system_body_def){.mass = s->bodies[whole].mass};
    define_mobilizer(w, c, a_is_child, d);
    c->used = true;
    gw_closure_def *weld = &s->closures[s->closure_count++];
    const gw_pose here = gw_pose_identity();
    weld->a = half;
    weld->b = whole;
    weld->row_count = gw_mobilizer_rows(GW_MOBILIZER_FIXED, &here, &here, weld->rows);
}

/* A loop-closing joint as closure rows on one of its bodies. */
static void close_joint(builder *w, candidate *c)
{
    if (c->type == GW_MOBILIZER_SCREW || has_forces(&w->scene->joints[c->joint]) ||
        gw_scene_joint_is_geared(w->scene, c->joint)) {
        cut_body(w, c);
        return;
    }
    c->closure = w->out->closure_count;
    gw_closure_def *k = &w->out->closures[w->out->closure_count++];
    gw_pose f = c->b_from_f, m = c->a_from_m;
    int a = c->a, b = c->b;
    if (a < 0) { /* rows are of a body in the ground's frame */
        a = c->b, b = c->a;
        f = c->a_from_m, m = c->b_from_f;
        if (gw_mobilizers[c->type].second_turns) /* M's x is held normal to F's y, not F's to M's */
            f = turned_about_z(&f, -0.5 * GW_PI), m = turned_about_z(&m, 0.5 * GW_PI);
    }
    k->a = body_of(w, a);
    k->b = body_of(w, b);
    k->row_count = gw_mobilizer_rows(c->type, &f, &m, k->rows);
}

/* A constraint outside the tree as a closure. */
static void close_edge(builder *w, const gw_constraint_edge *e, const bundle *k)
{
    gw_constraint_edge seen = {.a = 0, .b = 1, .stated = seen_from(w, e, k)};
    gw_pose a = pose_of(w, k->a), b = pose_of(w, k->b);
    gw_closure_def *closure = &w->out->closures[w->out->closure_count++];
    gw_constraint_edge_resolve(&seen, &a, &b);
    closure->a = body_of(w, k->a);
    closure->b = body_of(w, k->b);
    closure->row_count = seen.row_count;
    memcpy(closure->rows, seen.rows, (size_t)seen.row_count * sizeof *seen.rows);
}

/* The body whose mobilizer a joint of the scene is, -1: it is none's here. */
static int body_of_joint(const builder *w, int joint)
{
    for (int i = 0; i < w->out->body_count; i++)
        if (w->out->members[i].joint == joint)
            return i;
    return -1;
}

static void add_closures(builder *w)
{
    for (int i = 0; i < w->candidate_count; i++)
        if (!w->candidates[i].used && w->candidates[i].joint >= 0)
            close_joint(w, &w->candidates[i]);
    for (int i = 0; i < w->edge_count; i++)
        if (!w->bundles[w->bundle_of[i]].in_tree)
            close_edge(w, w->edges[i], &w->bundles[w->bundle_of[i]]);
    for (int i = 0; i < w->candidate_count; i++) {
        const candidate *c = &w->candidates[i];
        if (c->joint < 0)
            continue;
        w->out->joints[w->out->joint_count++] =
            (gw_placed_joint){.joint = c->joint,
                              .a = body_of(w, c->a),
                              .b = body_of(w, c->b),
                              .body = body_of_joint(w, c->joint),
                              .closure = c->closure,
                              .a_from_m = c->a_from_m,
                              .b_from_f = c->b_from_f,
                              .type = c->type,
                              .pitch = c->pitch};
    }
}

/* ---- velocity constraints ------------------------------------------------------------------- */

/* A fixed object as a body without mass, for closures whose first body it is. */
static int fixed_body(builder *w, int object)
{
    gw_scene_system *s = w->out;
    for (int i = s->member_count; i < s->body_count; i++)
        if (s->members[i].number == object)
            return i;
    s->members[s->body_count] = (gw_system_member){.number = object, .joint = -1};
    s->bodies[s->body_count] = (gw_system_body_def){.parent = body_of(w, GW_MOVING_GROUND(object)),
                                                    .joint = GW_MOBILIZER_FIXED,
                                                    .parent_from_f = w->poses[object],
                                                    .body_from_m = gw_pose_identity()};
    return s->body_count++;
}

/* Sets the ends of a closure of the scene's bodies a and b; b's surface is that of its ground. */
static void set_ends(builder *w, gw_closure_def *c, int a, int b)
{
    c->a = is_member(w, a) ? w->body[a] : fixed_body(w, a);
    c->b = body_of(w, end_of(w, b));
    if (c->b < 0 && c->kind == GW_CLOSURE_CONTACT)
        gw_scene_surface_move(&w->poses[b], &c->contact.on_b);
}

static bool add_velocity_constraints(builder *w, gw_error *error)
{
    const gw_scene *s = w->scene;
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *k = &s->constraints[i];
        bool swapped;
        if (!k->enabled || gw_constraint_is_positional(k->kind) ||
            gw_scene_constraint_is_unilateral(k))
            continue;
        int a = gw_scene_body_number(s, k->a.object), b = gw_scene_body_number(s, k->b.object);
        if (!is_member(w, a) && !is_member(w, b))
            continue;
        int n = w->out->closure_count++;
        gw_closure_def *c = &w->out->closures[n];
        if (!gw_scene_velocity_closure(s, i, c, &swapped, error))
            return false;
        int left = swapped ? b : a, right = swapped ? a : b;
        set_ends(w, c, left, right);
        if (c->kind != GW_CLOSURE_CONTACT)
            continue;
        gw_placed_contact placed = {n, left, right, i, .key = gw_contact_key(k, &c->contact)};
        const gw_contact_point *start = gw_contact_start_find(w->starts, placed.key, &c->contact);
        if (start)
            c->contact.point = *start, c->contact.point.searched = false;
        w->out->contacts[w->out->contact_count++] = placed;
    }
    return true;
}

/* Closures of the contact points of unilateral contacts, which the contact world activates. */
static bool add_unilaterals(builder *w, gw_error *error)
{
    gw_scene_system *s = w->out;
    for (int i = 0; i < w->scene->constraint_count; i++) {
        const gw_scene_constraint *k = &w->scene->constraints[i];
        gw_unilateral_contact points[GW_MAX_UNILATERAL_CONTACTS];
        bool swapped, contact = gw_scene_constraint_is_unilateral(k);
        int a = gw_scene_body_number(w->scene, k->a.object);
        int b = gw_scene_body_number(w->scene, k->b.object);
        if (!contact || gw_constraint_is_positional(k->kind) ||
            !(is_member(w, a) || is_member(w, b)))
            continue;
        int n = gw_scene_unilateral_contacts(w->scene, i, points, &swapped);
        if (!gw_scene_system_make_room(s, s->closure_count + n, error))
            return false;
        for (int j = 0; j < n; j++) {
            if (!points[j].in_system)
                continue;
            s->unilaterals[s->unilateral_count++] = (gw_placed_unilateral){s->closure_count, i, j};
            gw_closure_def *c = &s->closures[s->closure_count++];
            *c = (gw_closure_def){.kind = GW_CLOSURE_CONTACT,
                                  .contact = points[j].contact,
                                  .unilateral = true,
                                  .friction = points[j].friction};
            set_ends(w, c, swapped != points[j].exchanged ? b : a,
                     swapped != points[j].exchanged ? a : b);
        }
    }
    return true;
}

/* ---- springs and gears ---------------------------------------------------------------------- */

static gw_vec3 spring_point(const builder *w, int object, gw_vec3 p)
{
    return object < 0 || is_member(w, object) ? p : gw_pose_point(&w->poses[object], p);
}

static void add_springs(builder *w)
{
    const gw_scene *s = w->scene;
    for (int i = 0; i < s->spring_count; i++) {
        const gw_scene_spring *k = &s->springs[i];
        int a = gw_scene_body_number(s, k->a.object), b = gw_scene_body_number(s, k->b.object);
        bool has_a = is_member(w, a), has_b = is_member(w, b);
        if (!k->enabled || (!has_a && !has_b) || gw_scene_body_is_massless(s, a) ||
            gw_scene_body_is_massless(s, b))
            continue;
        gw_system_spring_def d = {.a = body_of(w, end_of(w, a)),
                                  .b = body_of(w, end_of(w, b)),
                                  .on_a = spring_point(w, a, k->a.p),
                                  .on_b = spring_point(w, b, k->b.p),
                                  .stiffness = k->stiffness,
                                  .damping = k->damping,
                                  .length = k->length};
        if (!has_a) { /* a is the body */
            int ground = d.a;
            d.a = d.b, d.b = ground;
            gw_vec3 swap = d.on_a;
            d.on_a = d.on_b, d.on_b = swap;
        }
        w->out->springs[w->out->spring_count++] = d;
    }
}

static int geared_body(const builder *w, const gw_geared *side)
{
    const gw_scene *s = w->scene;
    if (side->joint >= 0)
        return body_of_joint(w, side->joint);
    int number = s->object_count + gw_scene_first_joint(s, side->mechanism) + side->link;
    return is_member(w, number) ? w->body[number] : -1;
}

static bool add_gears(builder *w, gw_error *error)
{
    const gw_scene *s = w->scene;
    for (int i = 0; i < s->joint_count; i++) {
        gw_geared side[2];
        int body[2] = {-1, -1};
        if (!s->joints[i].gear || !s->joints[i].enabled)
            continue;
        for (int k = 0; k < 2; k++)
            if (gw_scene_geared(s, i, k, &side[k], NULL))
                body[k] = geared_body(w, &side[k]);
        if (body[0] < 0 && body[1] < 0)
            continue;
        if (body[0] < 0 || body[1] < 0) {
            char where[48];
            snprintf(where, sizeof where, "/joints/%d/joints/%d", i, body[0] < 0 ? 0 : 1);
            return gw_fail(
                error, GW_NOT_YET, where,
                "%s is disabled or stands still: a gear turns joints of bodies that move",
                s->joints[i].joints[body[0] < 0 ? 0 : 1]);
        }
        double ratio = s->joints[i].ratio;
        gw_closure_def *c = &w->out->closures[w->out->closure_count++];
        c->kind = GW_CLOSURE_GEAR;
        c->a = body[0], c->b = body[1];
        c->gear.coordinate_a = side[0].coordinate;
        c->gear.coordinate_b = side[1].coordinate;
        c->gear.ratio = ratio;
        c->gear.offset = w->out->bodies[body[0]].position[side[0].coordinate] -
                         ratio * w->out->bodies[body[1]].position[side[1].coordinate];
    }
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool take_memory(builder *w, int edges)
{
    gw_scene_system *s = w->out;
    size_t n = 0, e = (size_t)edges, j = (size_t)w->scene->joint_count;
    size_t v = (size_t)w->scene->constraint_count; /* velocity constraints at most */
    for (int i = 0; i < gw_scene_body_count(w->scene); i++)
        n += w->of_body[i] == w->number; /* members */
    s->members = calloc(n + j + v + 1, sizeof *s->members);
    s->bodies = calloc(n + j + v + 1, sizeof *s->bodies);
    s->closures = calloc(e + j + v + 1, sizeof *s->closures);
    s->contacts = calloc(v + 1, sizeof *s->contacts);
    s->joints = calloc(j + 1, sizeof *s->joints);
    s->springs = calloc((size_t)w->scene->spring_count + 1, sizeof *s->springs);
    s->grounds = calloc((size_t)(w->scene->object_count + w->scene->mechanism_count) + 1,
                        sizeof *s->grounds);
    w->candidates = calloc(2 * e + j + n + 1, sizeof *w->candidates);
    w->bundles = calloc(e + 1, sizeof *w->bundles);
    w->edges = calloc(e + 1, sizeof *w->edges);
    w->bundle_of = calloc(e + 1, sizeof *w->bundle_of);
    w->body = malloc(((size_t)gw_scene_body_count(w->scene) + 1) * sizeof *w->body);
    w->solution = calloc(1, sizeof *w->solution);
    for (int i = 0; w->body && i < gw_scene_body_count(w->scene); i++)
        w->body[i] = -1;
    return s->members && s->bodies && s->closures && s->contacts && s->joints && s->springs &&
           s->grounds && w->candidates && w->bundles && w->edges && w->bundle_of && w->body &&
           w->solution;
}

static void give_back(builder *w)
{
    for (int i = 0; i < w->candidate_count; i++)
        free(w->candidates[i].set);
    free(w->candidates);
    free(w->bundles);
    free((void *)w->edges);
    free(w->bundle_of);
    free(w->body);
    free(w->solution);
}

/* Assembles the system and stores the assembled state. */
static bool assemble_system(builder *w, gw_error *error)
{
    gw_scene_system *s = w->out;
    gw_system_def def = gw_scene_system_def(s);
    gw_system *system = gw_system_create(&def, error);
    if (!system && error->where[0]) { /* a closure stays open */
        gw_error open = *error;
        return gw_scene_system_refuse(w->scene, s, &open, error);
    }
    if (!system)
        return false;
    const gw_model *model = gw_system_model(system);
    s->mobility = gw_system_mobility(system);
    size_t twists = (size_t)s->body_count * sizeof(gw_twist);
    double *work = malloc(twists + 7 * (size_t)gw_model_dof(model) * sizeof *work);
    if (!work) {
        gw_system_destroy(system);
        return gw_fail(error, GW_FAILED, "", "no memory for a system of bodies");
    }
    for (int i = 0; i < s->body_count; i++)
        ((gw_twist *)(void *)work)[i] = twist_of(w, s->members[i].number);
    gw_system_project_twists(system, (gw_twist *)(void *)work);
    s->projected = gw_scene_system_projection(w->scene, s, system);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_joint(system, i, s->bodies[i].position, s->bodies[i].velocity);
        gw_scene_system_keep_start(s, model, i);
    }
    gw_scene_system_note_beyond_limits(s);
    gw_scene_system_keep_contacts(s, system, w->keeps_points);
    for (int i = 0; i < s->member_count; i++) {
        gw_twist twist;
        gw_model_body(model, i, &w->poses[s->members[i].number], &twist);
        s->members[i].freedoms =
            gw_operational_body_freedoms(model, i, s->bodies[i].mass.mass, s->length, work);
    }
    free(work);
    gw_system_destroy(system);
    return true;
}

/* The system from where `poses` have its bodies, or, where they are `assembled`, with links of
 * mechanisms there too. */
static gw_scene_system *build_system(const builder *asked, const gw_constraint_edge *const *edges,
                                     int edge_count, gw_error *error)
{
    builder w = *asked;
    w.out = calloc(1, sizeof *w.out);
    if (!w.out || !take_memory(&w, edge_count)) {
        gw_fail(error, GW_FAILED, "", "no memory for a system of bodies");
        give_back(&w);
        gw_scene_system_destroy(w.out);
        return NULL;
    }
    w.out->beyond.number = -1;
    w.out->gravity = w.scene->gravity;
    w.out->dt = 1.0 / gw_scene_step_rate(w.scene);
    w.out->length = gw_scene_system_length(w.scene, w.of_body, w.number, w.poses);
    collect_links(&w);
    collect_joints(&w);
    collect_edges(&w, edges, edge_count);
    classify_all(&w);
    grow_tree(&w);
    add_springs(&w);
    add_closures(&w);
    bool made = add_gears(&w, error) && add_velocity_constraints(&w, error) &&
                add_unilaterals(&w, error) &&
                (w.keeps_limits || gw_scene_system_lock_coordinates(w.out, error)) &&
                assemble_system(&w, error);
    give_back(&w);
    if (made)
        return w.out;
    gw_scene_system_destroy(w.out);
    return NULL;
}

gw_scene_system *gw_scene_system_create(const gw_scene *scene, const int *of_body, int number,
                                        const gw_constraint_edge *const *edges, int edge_count,
                                        const gw_contact_starts *starts, gw_pose *poses,
                                        gw_error *error)
{
    assert(scene && of_body && number >= 0 && edge_count >= 0 && poses);
    builder w = {
        .scene = scene, .of_body = of_body, .number = number, .poses = poses, .starts = starts};
    size_t size = ((size_t)gw_scene_body_count(scene) + 1) * sizeof *poses;
    w.keeps_points = starts && starts->count > 0;
    gw_pose *given = malloc(size);
    gw_error open = {0};
    if (!given) {
        gw_fail(error, GW_FAILED, "", "no memory for a system of bodies");
        return NULL;
    }
    memcpy(given, poses, size - sizeof *poses);
    gw_scene_system *system = build_system(&w, edges, edge_count, &open);
    if (!system && w.keeps_points) { /* where they lead to, it does not hold */
        w.starts = NULL;
        memcpy(poses, given, size - sizeof *poses);
        system = build_system(&w, edges, edge_count, &open);
    }
    /* nearly singular relations leave a submanifold farther off than closures: 1e-8 of 1 + 1e-16 */
    for (int i = 0; i < 3 && !system && open.code == GW_UNHANDLED; i++) {
        memcpy(poses, given, size - sizeof *poses);
        w.by_rows = i != 1, w.assembled = i > 0;
        if (i > 0 && !gw_scene_system_assemble(scene, of_body, number, poses, &open))
            break;
        system = build_system(&w, edges, edge_count, &open);
    }
    if (!system && open.code == GW_UNHANDLED) { /* limits bear the rounding of positions in files */
        gw_error still_open;
        memcpy(poses, given, size - sizeof *poses);
        w.by_rows = w.assembled = false;
        w.keeps_limits = true;
        system = build_system(&w, edges, edge_count, &still_open);
    }
    free(given);
    if (!system)
        gw_fail(error, open.code, open.where, "%s", open.message);
    return system;
}
