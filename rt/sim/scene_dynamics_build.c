/*
 * Builds the dynamics of a scene: its models, then the contact world with collision detection
 * (solids, excluded pairs, surface materials). On a server thread or in the command `run`, never in
 * a tick.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/sim/scene_dynamics_private.h"

#define MARGIN 1e-3 /* m: added to the distance that bodies may move */

/* ---- the world's systems -------------------------------------------------------------------- */

/* Held objects first, then free bodies, systems of bodies. */
static bool number_world_systems(gw_scene_dynamics *m, const gw_scene_dynamics_def *def)
{
    int held = 0;
    for (int t = 0; t < def->tool_count; t++)
        if (def->objects[t] >= 0) {
            m->held[held] = def->objects[t];
            m->held_names[held] = gw_name_hash(def->scene->objects[def->objects[t]].id, 0);
            m->tool_world_system[t] = held++;
        }
    m->held_count = m->first_free = held;
    m->first_system = m->first_free + m->free_count;
    m->world_system_count = m->first_system + m->system_count;
    m->world_systems = calloc((size_t)m->world_system_count + 1, sizeof *m->world_systems);
    if (!m->world_systems)
        return false;
    for (int t = 0; t < def->tool_count; t++)
        if (def->systems[t] >= 0)
            m->tool_world_system[t] = m->first_system + def->systems[t];
    for (int i = 0; i < m->free_count; i++)
        m->world_systems[m->first_free + i].model = &m->bodies[i].body.model;
    for (int i = 0; i < m->system_count; i++)
        m->world_systems[m->first_system + i].model = gw_system_model(m->systems[i].system);
    return true;
}

static bool fill_dynamics(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    m->tool_count = def->tool_count;
    m->object_count = def->scene->object_count;
    m->mechanism_count = def->scene->mechanism_count;
    if (!gw_free_bodies_create(m, def, error) || !gw_body_systems_create(m, def, error))
        return false;
    m->body_count = gw_scene_body_count(def->scene);
    for (int i = 0; i <= m->mechanism_count; i++)
        m->first_link[i] = m->object_count + gw_scene_first_joint(def->scene, i);
    if (!number_world_systems(m, def))
        return gw_fail(error, GW_FAILED, "", "no memory for what moves");
    return true;
}

/* Context of the detector's filter and surface table; lives as long as the detector. */
typedef struct pair_filter {
    int body_count, surface_count;
    gw_contact_material *surface; /* the scene's materials, then the default one */
    unsigned char *pairs;         /* bit a * body_count + b: never touch */
    unsigned char *stands;        /* per body: neither a model nor kinematics moves it */
} pair_filter;

static double in_series_stiffness(double a, double b)
{
    return a + b > 0 ? a * b / (a + b) : 0;
}

static gw_contact_material surface_between(const void *context, int a, int b)
{
    const pair_filter *t = context;
    const gw_contact_material *x = &t->surface[a], *y = &t->surface[b];
    return (gw_contact_material){.restitution = fmin(x->restitution, y->restitution),
                                 .friction = sqrt(x->friction * y->friction),
                                 .stiffness = in_series_stiffness(x->stiffness, y->stiffness),
                                 .damping = in_series_stiffness(x->damping, y->damping)};
}

/* ---- which pairs may touch ------------------------------------------------------------------ */

static void exclude_pair(pair_filter *t, int a, int b)
{
    size_t n = (size_t)t->body_count, ab = (size_t)a * n + (size_t)b,
           ba = (size_t)b * n + (size_t)a;
    t->pairs[ab / 8] = (unsigned char)(t->pairs[ab / 8] | 1u << ab % 8);
    t->pairs[ba / 8] = (unsigned char)(t->pairs[ba / 8] | 1u << ba % 8);
}

static bool is_pair_ignored(const void *context, int a, int b)
{
    const pair_filter *t = context;
    size_t ab = (size_t)a * (size_t)t->body_count + (size_t)b;
    return (t->stands[a] && t->stands[b]) || ((unsigned)t->pairs[ab / 8] >> ab % 8 & 1u);
}

static bool is_standing(const void *context, int body)
{
    const pair_filter *t = context;
    return t->stands[body];
}

/* The body that "object" or "mechanism.link" names, -1: none. */
static int body_named(const gw_scene_dynamics *m, const gw_scene *scene, const char *name)
{
    int link, object = gw_scene_object(scene, name);
    int mechanism = object >= 0 ? -1 : gw_scene_link(scene, name, &link);
    return mechanism >= 0 ? m->first_link[mechanism] + link : object;
}

/* Excludes neighbouring links, which overlap at their joint. */
static void exclude_neighbours(const gw_scene_dynamics *m, const gw_scene *scene, pair_filter *t)
{
    for (int i = 0; i < scene->mechanism_count; i++)
        for (int k = 0; k < scene->mechanisms[i].link_count; k++)
            if (scene->mechanisms[i].parent[k] >= 0)
                exclude_pair(t, m->first_link[i] + scene->mechanisms[i].parent[k],
                             m->first_link[i] + k);
}

static bool stands_fixed(const gw_scene *scene, int body)
{
    return body < scene->object_count && scene->objects[body].fixed;
}

/* Excludes a follower and its carrier: contacts cannot move a follower. */
static void exclude_followers(const gw_scene_dynamics *m, const gw_scene *scene, pair_filter *t)
{
    for (int i = 0; i < scene->constraint_count; i++) {
        const gw_scene_constraint *c = &scene->constraints[i];
        int a = gw_scene_body_number(scene, c->a.object);
        int b = gw_scene_body_number(scene, c->b.object);
        if (!c->enabled || c->bound != GW_BOUND_EQUAL || a < 0 || b < 0)
            continue;
        bool fixed =
            (stands_fixed(scene, a) || stands_fixed(scene, b)) &&
            gw_constraint_is_positional(c->kind); /* rolling contacts have rows of their own */
        bool held_a = false, held_b = false;
        for (int k = 0; k < m->held_count; k++) {
            held_a = held_a || m->held[k] == a;
            held_b = held_b || m->held[k] == b;
        }
        if (!fixed && !(held_a && held_b))
            exclude_pair(t, a, b);
    }
}

/* Excludes the two bodies of a joint, which overlap there, unless the joint enables collisions. */
static void exclude_joined(const gw_scene_dynamics *m, const gw_scene *scene, pair_filter *t)
{
    for (int i = 0; i < scene->joint_count; i++) {
        const gw_scene_joint *j = &scene->joints[i];
        int a = body_named(m, scene, j->a.object), b = body_named(m, scene, j->b.object);
        if (j->enabled && !j->gear && !j->collide && a >= 0 && b >= 0)
            exclude_pair(t, a, b);
    }
}

static void exclude_listed(const gw_scene_dynamics *m, const gw_scene *scene, pair_filter *t)
{
    for (int i = 0; i < scene->contact.ignore_count; i++) {
        int a = body_named(m, scene, scene->contact.ignore[i].a);
        int b = body_named(m, scene, scene->contact.ignore[i].b);
        if (a >= 0 && b >= 0)
            exclude_pair(t, a, b);
    }
}

static void mark_standing(const gw_scene_dynamics *m, const gw_scene *scene, pair_filter *t)
{
    for (int i = 0; i < scene->object_count; i++)
        t->stands[i] = true;
    for (int i = 0; i < m->held_count; i++)
        t->stands[m->held[i]] = false;
    for (int i = 0; i < m->free_count; i++)
        t->stands[m->bodies[i].object] = false;
    for (int i = 0; i < m->system_count; i++)
        for (int k = 0; k < m->systems[i].body_count; k++)
            t->stands[m->systems[i].numbers[k]] = false;
}

/* ---- surfaces and solids -------------------------------------------------------------------- */

static int material_of(const gw_scene *scene, const char *id)
{
    for (int i = 0; i < scene->material_count; i++)
        if (strcmp(scene->materials[i].id, id) == 0)
            return i;
    return scene->material_count;
}

/* The solids of objects and links; counts only where `out` is NULL. */
static int collect_colliders(const gw_scene_dynamics *m, const gw_scene *scene, gw_collider *out)
{
    int count = 0;
    for (int i = 0; i < scene->object_count; i++, count++)
        if (out)
            out[count] = (gw_collider){i, &scene->objects[i].shape, gw_pose_identity(),
                                       material_of(scene, scene->objects[i].material)};
    for (int i = 0; i < scene->mechanism_count; i++)
        for (int k = 0; k < scene->mechanisms[i].link_count; k++) {
            const gw_link_geometry *geometry = &scene->mechanisms[i].geometries[k];
            if (!geometry->has_geometry)
                continue;
            if (out)
                out[count] = (gw_collider){m->first_link[i] + k, &geometry->shape, geometry->pose,
                                           material_of(scene, geometry->material)};
            count++;
        }
    return count;
}

static void pair_filter_destroy(pair_filter *t)
{
    if (!t)
        return;
    free(t->surface);
    free(t->pairs);
    free(t->stands);
    free(t);
}

static pair_filter *pair_filter_create(const gw_scene_dynamics *m, const gw_scene *scene)
{
    size_t n = (size_t)m->body_count;
    pair_filter *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->body_count = m->body_count;
    t->surface_count = scene->material_count + 1;
    t->surface = calloc((size_t)t->surface_count, sizeof *t->surface);
    t->pairs = calloc(n * n / 8 + 1, 1);
    t->stands = calloc(n + 1, 1);
    if (!t->surface || !t->pairs || !t->stands) {
        pair_filter_destroy(t);
        return NULL;
    }
    for (int i = 0; i < scene->material_count; i++)
        t->surface[i] = scene->materials[i].surface;
    t->surface[scene->material_count] = gw_contact_material_default();
    exclude_neighbours(m, scene, t);
    exclude_followers(m, scene, t);
    exclude_joined(m, scene, t);
    exclude_listed(m, scene, t);
    mark_standing(m, scene, t);
    return t;
}

/* ---- world and detection -------------------------------------------------------------------- */

static size_t largest_model(const gw_scene_dynamics *m)
{
    size_t most = sizeof(gw_guided);
    for (int i = 0; i < m->system_count; i++) {
        size_t size = gw_system_model(m->systems[i].system)->ops->size;
        most = size > most ? size : most;
    }
    return most;
}

/* Sets the bodies of objects and links, with poses and twists at tick 0, and the models that they
 * belong to. */
static void name_bodies(const gw_scene_dynamics *m, const gw_scene_dynamics_def *def,
                        gw_world_body *bodies, gw_twist *twists)
{
    for (int i = 0; i < m->object_count; i++) {
        const gw_object *o = &def->scene->objects[i];
        bodies[i] = (gw_world_body){.model = -1, .pose = def->layout->poses[i]};
        twists[i] = (gw_twist){o->velocity, o->spin};
    }
    for (int i = 0; i < m->held_count; i++)
        bodies[m->held[i]].model = i;
    for (int i = 0; i < m->free_count; i++)
        bodies[m->bodies[i].object].model = m->first_free + i;
    for (int i = 0; i < m->system_count; i++)
        for (int k = 0; k < m->systems[i].body_count; k++) {
            gw_world_body *b = &bodies[m->systems[i].numbers[k]];
            gw_model_body(gw_system_model(m->systems[i].system), k, &b->pose,
                          &twists[m->systems[i].numbers[k]]);
            b->model = m->first_system + i;
            b->index = k;
        }
    for (int i = 0; i < m->unilaterals->anchor_count; i++)
        bodies[m->body_count + i] =
            (gw_world_body){.model = -1, .pose = m->unilaterals->anchors[i].start};
    bodies[m->world_body_count - 1] = (gw_world_body){.model = -1, .pose = gw_pose_identity()};
}

static void hash_names(const gw_scene_dynamics *m, const gw_scene *scene)
{
    const gw_scene_unilaterals *u = m->unilaterals;
    for (int i = 0; i < u->count; i++)
        for (int side = 0; side < 2; side++)
            if (u->rows[i].anchor[side] >= 0)
                m->names[u->first_anchor + u->rows[i].anchor[side]] =
                    u->candidates[i].key + (uint64_t)side;
    for (int i = 0; i < m->object_count; i++)
        m->names[i] = gw_name_hash(scene->objects[i].id, 0);
    for (int i = 0; i < scene->mechanism_count; i++)
        for (int k = 0; k < scene->mechanisms[i].link_count; k++)
            m->names[m->first_link[i] + k] = gw_name_hash(scene->mechanisms[i].id, (uint64_t)k + 1);
}

/* Period of detection (s). */
static double detection_period(const gw_scene_dynamics_def *def)
{
    double rate = def->scene->contact.rate;
    return 1 / (rate > 0 ? rate : GW_CONTACT_RATE);
}

/* Period of a tick (s), which may have several steps. */
static double tick_of(const gw_scene_dynamics_def *def)
{
    return 1.0 / (def->scene->rate > 0 ? def->scene->rate : 1000);
}

static int system_bodies(const gw_scene_dynamics *m)
{
    int count = 0;
    for (int i = 0; i < m->system_count; i++)
        count += m->systems[i].body_count;
    return count;
}

/* Upper bound of the degrees of freedom of all systems of the world. */
static int dof_of(const gw_scene_dynamics *m)
{
    int dof = 6 * (m->held_count + m->free_count);
    for (int i = 0; i < m->system_count; i++)
        dof += gw_model_dof(gw_system_model(m->systems[i].system));
    return dof;
}

/* Appends candidates, of which there may be none and then no array. Returns where they begin. */
static int append_candidates(gw_contact_candidate *all, int *count,
                             const gw_contact_candidate *more, int more_count)
{
    int first = *count;
    if (more_count > 0)
        memcpy(all + first, more, (size_t)more_count * sizeof *all);
    *count += more_count;
    return first;
}

static bool make_world(gw_scene_dynamics *m, const gw_scene_dynamics_def *def,
                       const gw_world_body *bodies, gw_error *error)
{
    int count = 0, most = m->unilaterals->count + m->limits.count + m->edges.count;
    gw_contact_candidate *all = calloc((size_t)most + 1, sizeof *all);
    if (!all)
        return gw_fail(error, GW_FAILED, "", "no memory for contacts");
    append_candidates(all, &count, m->unilaterals->candidates, m->unilaterals->count);
    m->limits.first = append_candidates(all, &count, m->limits.candidates, m->limits.count);
    m->edges.first = append_candidates(all, &count, m->edges.candidates, m->edges.count);
    gw_world_def world = {.system_count = m->world_system_count,
                          .model_bytes = largest_model(m),
                          .dof = dof_of(m),
                          .body_count = m->world_body_count,
                          .bodies = bodies,
                          .unilateral_count = count,
                          .unilaterals = all,
                          .alone = !def->scene->contact.enabled,
                          .rules = def->scene->contact.rules};
    m->world = gw_world_create(&world, error);
    free(all);
    return m->world;
}

static bool make_detection(gw_scene_dynamics *m, const gw_scene_dynamics_def *def,
                           const gw_world_body *bodies, gw_pose *poses, const gw_twist *twists,
                           gw_collider *colliders, gw_error *error)
{
    for (int i = 0; i < m->body_count; i++)
        poses[i] = bodies[i].pose;
    gw_detection_def d = {
        .detector = {.body_count = m->body_count,
                     .collider_count = collect_colliders(m, def->scene, colliders),
                     .colliders = colliders,
                     .ignore = is_pair_ignored,
                     .is_static = is_standing,
                     .surface = surface_between,
                     .context = m->pair_filter,
                     .reused = def->reused},
        .poses = poses,
        .twists = twists,
        .moving = m->moved_most + m->body_count - m->object_count + m->held_count + m->free_count +
                  system_bodies(m),
        .locals = m->locals,
        .like = def->detector,
        .period = detection_period(def),
        .tick = tick_of(def),
        .margin = MARGIN};
    m->detection = gw_detection_create(&d, error);
    if (!m->detection)
        return false;
    gw_narrow_phase narrow_phase = gw_detection_narrow_phase(m->detection);
    gw_world_set_narrow_phase(m->world, &narrow_phase);
    return true;
}

static bool build_contacts(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    bool solid = def->scene->contact.enabled;
    m->unilaterals = gw_scene_unilaterals_create(def, error);
    if (!m->unilaterals)
        return false;
    if (!gw_joint_limits_create(m, def))
        return gw_fail(error, GW_FAILED, "", "no memory for joint limits");
    if (!gw_edge_rows_create(m))
        return gw_fail(error, GW_FAILED, "", "no memory for edges");
    int rows = m->unilaterals->count + m->limits.most + m->edges.most;
    if ((!solid && rows == 0) || m->world_system_count == 0)
        return true;
    gw_scene_unilaterals_number(m->unilaterals, m->body_count);
    m->world_body_count = m->body_count + m->unilaterals->anchor_count + 1;
    gw_joint_limits_build(m, def, m->world_body_count - 1);
    gw_edge_rows_build(m, m->world_body_count - 1);
    gw_scene_unilaterals_find_closures(m, def);
    size_t bodies_count = (size_t)m->world_body_count + 1;
    int most = m->object_count < GW_MAX_FOLLOWERS ? m->object_count : GW_MAX_FOLLOWERS;
    m->moved_most = most;
    m->pair_filter = solid ? pair_filter_create(m, def->scene) : NULL;
    m->moved = calloc((size_t)most + 1, sizeof *m->moved);
    m->moved_at = calloc(bodies_count, sizeof *m->moved_at);
    m->published = calloc((size_t)most + bodies_count, sizeof *m->published);
    m->placed = calloc(bodies_count, sizeof *m->placed);
    m->names = calloc(bodies_count, sizeof *m->names);
    gw_world_body *bodies = calloc(bodies_count, sizeof *bodies);
    gw_pose *poses = calloc(bodies_count, sizeof *poses);
    gw_twist *twists = calloc(bodies_count, sizeof *twists);
    gw_collider *colliders =
        calloc((size_t)collect_colliders(m, def->scene, NULL) + 1, sizeof *colliders);
    bool made = (m->pair_filter || !solid) && m->moved && m->moved_at && m->published &&
                m->placed && m->names && bodies && poses && twists && colliders;
    if (!made)
        gw_fail(error, GW_FAILED, "", "no memory for contacts");
    else {
        hash_names(m, def->scene);
        name_bodies(m, def, bodies, twists);
        made = make_world(m, def, bodies, error) &&
               (!solid || make_detection(m, def, bodies, poses, twists, colliders, error));
        for (int i = 0; i < m->body_count; i++)
            m->placed[i] = bodies[i].pose;
    }
    free(bodies);
    free(poses);
    free(twists);
    free(colliders);
    if (made)
        gw_scene_dynamics_reset(m);
    return made;
}

static void drop_contacts(gw_scene_dynamics *m)
{
    gw_world_destroy(m->world);
    gw_scene_unilaterals_destroy(m->unilaterals);
    gw_joint_limits_destroy(&m->limits);
    gw_edge_rows_destroy(&m->edges);
    gw_detection_destroy(m->detection);
    pair_filter_destroy(m->pair_filter);
    free(m->published);
    free(m->moved);
    free(m->moved_at);
    free(m->placed);
    free(m->names);
}

/* ---- local models --------------------------------------------------------------------------- */

/* True for a mechanism of its own that can use local models. */
static bool takes_local_model(const gw_scene_dynamics *m, const gw_scene_dynamics_def *def, int i)
{
    gw_system_def system = gw_scene_system_def(def->layout->systems[i]);
    return m->systems[i].mechanism && gw_system_takes_local_model(&system);
}

static bool any_takes_local_model(const gw_scene_dynamics *m, const gw_scene_dynamics_def *def)
{
    bool any = false;
    for (int i = 0; i < m->system_count; i++)
        any = any || takes_local_model(m, def, i);
    return any;
}

static bool build_locals(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    const gw_scene_system *systems[GW_MAX_SYSTEMS] = {NULL};
    gw_local_models_def locals = {.count = m->system_count,
                                  .systems = systems,
                                  .period = detection_period(def),
                                  .dt = tick_of(def)};
    int held[GW_MAX_SYSTEMS] = {0};
    gw_pose at[GW_MAX_SYSTEMS];
    if (!def->scene->contact.local || !any_takes_local_model(m, def))
        return true;
    for (int i = 0; i < m->system_count; i++) {
        at[i] = gw_pose_identity();
        systems[i] = takes_local_model(m, def, i) ? def->layout->systems[i] : NULL;
    }
    for (int t = def->tool_count - 1; t >= 0; t--)
        if (def->systems[t] >= 0 && !m->second[t]) {
            held[def->systems[t]] = def->bodies[t];
            at[def->systems[t]] = def->scene->tools[t].at;
        }
    locals.held = held;
    locals.body_from_held = at;
    m->locals = gw_local_models_create(&locals, error);
    return m->locals;
}

/* Without contacts detection only updates local models. */
static bool build_detection(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    gw_detection_def detection = {
        .locals = m->locals, .period = detection_period(def), .tick = tick_of(def)};
    if (!m->locals || m->detection)
        return true;
    m->detection = gw_detection_create(&detection, error);
    return m->detection;
}

gw_scene_dynamics *gw_scene_dynamics_create(const gw_scene_dynamics_def *def, gw_error *error)
{
    assert(def);
    gw_scene_dynamics *m = calloc(1, sizeof *m);
    if (!m) {
        gw_fail(error, GW_FAILED, "", "no memory for what moves");
        return NULL;
    }
    if (!fill_dynamics(m, def, error)) {
        gw_scene_dynamics_destroy(m);
        return NULL;
    }
    bool built = build_locals(m, def, error);
    if (built)
        gw_scene_dynamics_reset(m);
    if (!built || !build_contacts(m, def, error) || !build_detection(m, def, error)) {
        gw_scene_dynamics_destroy(m);
        return NULL;
    }
    return m;
}

void gw_scene_dynamics_destroy(gw_scene_dynamics *m)
{
    if (!m)
        return;
    drop_contacts(m);
    gw_local_models_destroy(m->locals);
    gw_free_bodies_destroy(m);
    gw_body_systems_destroy(m);
    free(m->world_systems);
    free(m);
}
