/*
 * A mechanism of the document: its memory, the poses of its links, its checks. Not for use inside a
 * tick.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/scene/scene.h"

/* ---- memory --------------------------------------------------------------------------------- */

void gw_mechanism_finish(gw_mechanism *m)
{
    for (int i = 0; i < m->link_count; i++)
        gw_shape_finish(&m->geometries[i].shape);
    free(m->links);
    free(m->geometries);
    free(m->position);
    free(m->velocity);
    free(m->parent);
    free(m->several);
    free(m->gears);
    m->link_count = m->gear_count = 0;
    m->links = NULL;
    m->geometries = NULL;
    m->position = m->velocity = NULL;
    m->parent = NULL;
    m->several = NULL;
    m->gears = NULL;
}

/* Resizes an owned array of m to `n` entries; new ones are zero. */
#define ROOM(array)                                                                                \
    ((larger = realloc(m->array, n * sizeof *m->array)) &&                                         \
     (m->array = larger, memset(m->array + had, 0, (n - had) * sizeof *m->array), true))

bool gw_mechanism_resize(gw_mechanism *m, int count)
{
    assert(count >= 0);
    void *larger;
    for (int i = count; i < m->link_count; i++)
        gw_shape_finish(&m->geometries[i].shape);
    m->link_count = count < m->link_count ? count : m->link_count;
    size_t n = (size_t)count + 1, had = (size_t)m->link_count; /* n: none is no lack of memory */
    if (!ROOM(links) || !ROOM(geometries) || !ROOM(position) || !ROOM(velocity) || !ROOM(parent) ||
        !ROOM(several))
        return false;
    for (int i = m->link_count; i < count; i++) {
        m->links[i].parent_from_joint = m->geometries[i].pose = gw_pose_identity();
        m->links[i].axis = gw_v3(0, 0, 1);
        m->parent[i] = i - 1;
    }
    m->link_count = count;
    return true;
}

bool gw_mechanism_copy(gw_mechanism *to, const gw_mechanism *from)
{
    assert(to && from);
    size_t n = (size_t)from->link_count, gears = (size_t)from->gear_count;
    *to = (gw_mechanism){.base = from->base, .has_tip = from->has_tip, .tip = from->tip};
    memcpy(to->id, from->id, sizeof to->id);
    if (!gw_mechanism_resize(to, from->link_count))
        return false;
    memcpy(to->links, from->links, n * sizeof *to->links);
    memcpy(to->position, from->position, n * sizeof *to->position);
    memcpy(to->velocity, from->velocity, n * sizeof *to->velocity);
    memcpy(to->parent, from->parent, n * sizeof *to->parent);
    memcpy(to->several, from->several, n * sizeof *to->several);
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        to->geometries[i] = from->geometries[i];
        to->geometries[i].shape = (gw_shape){0};
        if (from->geometries[i].has_geometry)
            ok &= gw_shape_copy(&to->geometries[i].shape, &from->geometries[i].shape, NULL);
    }
    if (gears > 0)
        to->gears = malloc(gears * sizeof *to->gears);
    if (gears > 0 && !to->gears)
        return false;
    for (size_t i = 0; i < gears; i++)
        to->gears[i] = from->gears[i];
    to->gear_count = from->gear_count;
    return ok;
}

/* ---- joints and poses ----------------------------------------------------------------------- */

gw_mobilizer gw_mechanism_joint(const gw_mechanism *m, int link)
{
    assert(link >= 0 && link < m->link_count);
    if (m->several[link] != GW_MOBILIZER_FIXED)
        return m->several[link];
    return gw_joint_types[m->links[link].kind].turns ? GW_MOBILIZER_REVOLUTE
                                                     : GW_MOBILIZER_PRISMATIC;
}

/* parent_from_link of one joint at q (rad, m). */
static gw_pose pose_of_joint(const gw_link_def *link, double q)
{
    gw_pose moved = gw_joint_motion(link->kind, link->axis, q);
    return gw_pose_mul(&link->parent_from_joint, &moved);
}

void gw_mechanism_poses(const gw_mechanism *m, const double *q, gw_pose *world_from_link)
{
    assert(m->link_count == 0 || m->links);
    for (int i = 0; i < m->link_count; i++) {
        const gw_pose *parent = m->parent[i] < 0 ? &m->base : &world_from_link[m->parent[i]];
        bool one = m->several[i] == GW_MOBILIZER_FIXED;
        gw_pose joint = pose_of_joint(&m->links[i], !one ? 0 : q ? q[i] : m->position[i]);
        world_from_link[i] = gw_pose_mul(parent, &joint);
        world_from_link[i].q = gw_quat_unit(world_from_link[i].q);
    }
}

gw_pose gw_scene_stated_pose(const gw_scene *s, const char *name)
{
    gw_body_ref ref;
    gw_pose links[GW_MAX_LINKS];
    if (!gw_scene_body(s, name, &ref) || (ref.object < 0 && ref.mechanism < 0))
        return gw_pose_identity();
    if (ref.object >= 0)
        return s->objects[ref.object].pose;
    gw_mechanism_poses(&s->mechanisms[ref.mechanism], NULL, links);
    return links[ref.link];
}

void gw_mechanism_coordinates(const gw_mechanism *m, int link, const gw_pose *world_from_link,
                              const gw_twist *twists, double position[6], double velocity[6])
{
    assert(m && link >= 0 && link < m->link_count && world_from_link);
    const gw_mobilizer type = gw_mechanism_joint(m, link);
    const int parent = m->parent[link];
    const gw_pose *world_from_parent = parent < 0 ? &m->base : &world_from_link[parent];
    const gw_pose *here = &world_from_link[link];
    gw_pose link_from_m = gw_pose_identity(), parent_from_f = m->links[link].parent_from_joint;
    if (gw_mobilizer_rotation(type) == 6)
        gw_link_frames(&m->links[link], &link_from_m, &parent_from_f);
    const gw_pose world_from_f = gw_pose_mul(world_from_parent, &parent_from_f);
    const gw_pose f_from_world = gw_pose_inverse(&world_from_f);
    const gw_pose world_from_m = gw_pose_mul(here, &link_from_m);
    const gw_pose f_from_m = gw_pose_mul(&f_from_world, &world_from_m);
    gw_twist relative = twists[link];
    if (parent >= 0) {
        const gw_vec3 arm = gw_sub(here->p, world_from_parent->p), w = twists[parent].w;
        relative.v = gw_sub(relative.v, gw_add(twists[parent].v, gw_cross(w, arm)));
        relative.w = gw_sub(relative.w, w);
    }
    relative.v = gw_unrotate(world_from_f.q, relative.v);
    relative.w = gw_unrotate(world_from_f.q, relative.w);
    gw_mobilizer_position(type, 0, &f_from_m, position);
    gw_mobilizer_velocity(type, &f_from_m, &relative, velocity);
}

/* ---- checks --------------------------------------------------------------------------------- */

/* The link that is being checked. */
typedef struct link_context {
    const gw_scene *scene;
    const gw_mechanism *mechanism;
    int index, link;
    gw_error *error;
} link_context;

static bool invalid_link(const link_context *p, const char *member, const char *message)
{
    char at[256];
    snprintf(at, sizeof at, "/links/%d%s", p->link, member);
    return gw_scene_invalid(p->error, "mechanisms", p->index, at, "%s", message);
}

static bool not_negative(const link_context *p, const char *member, double x, const char *unit)
{
    char at[256];
    snprintf(at, sizeof at, "/links/%d%s", p->link, member);
    return gw_scene_not_negative(p->error, "mechanisms", p->index, at, x, unit);
}

static bool check_motor(const link_context *p, const gw_motor *m)
{
    char at[64];
    snprintf(at, sizeof at, "/links/%d/joint/motor", p->link);
    return gw_scene_check_motor(p->error, "mechanisms", p->index, at, m);
}

static bool check_limits(const link_context *p, const gw_link_def *l, double q)
{
    char message[160];
    if (!(l->restitution >= 0 && l->restitution <= 1)) {
        snprintf(message, sizeof message, "is %g, must be 0 to 1", l->restitution);
        return invalid_link(p, "/joint/restitution", message);
    }
    if (!l->limited)
        return true;
    if (!isfinite(l->lower) || !isfinite(l->upper))
        return invalid_link(p, "/joint/limits", "limits must be finite (rad, m)");
    if (!(l->lower <= l->upper)) {
        snprintf(message, sizeof message, "lower is %g, must be less than upper, %g, or the same",
                 l->lower, l->upper);
        return invalid_link(p, "/joint/limits", message);
    }
    snprintf(message, sizeof message,
             "the start position is %g, must be within the limits %g to %g", q, l->lower, l->upper);
    return (q >= l->lower && q <= l->upper) || invalid_link(p, "/joint/position", message);
}

/* A joint of several coordinates has an origin, and a plane its normal. */
static bool check_several(const link_context *p, const gw_link_def *l)
{
    const gw_motor none = {0};
    const struct {
        const char *member;
        bool stated;
    } all[] = {{"/joint/position", p->mechanism->position[p->link] != 0},
               {"/joint/velocity", p->mechanism->velocity[p->link] != 0},
               {"/joint/damping", l->damping != 0},
               {"/joint/friction", l->friction != 0},
               {"/joint/limits", l->limited},
               {"/joint/motor", memcmp(&l->motor, &none, sizeof none) != 0}};
    gw_mobilizer type = p->mechanism->several[p->link];
    if (type != GW_MOBILIZER_FIXED && type != GW_MOBILIZER_PLANAR &&
        type != GW_MOBILIZER_SPHERICAL && type != GW_MOBILIZER_FREE)
        return invalid_link(p, "/joint/type", "must be planar, spherical or floating");
    for (size_t i = 0; type != GW_MOBILIZER_FIXED && i < sizeof all / sizeof *all; i++)
        if (all[i].stated)
            return invalid_link(p, all[i].member,
                                "only a revolute or prismatic joint has one: this one begins at "
                                "its origin, at rest, and nothing drives or holds it");
    return true;
}

static bool check_parent(const link_context *p)
{
    char message[96];
    int parent = p->mechanism->parent[p->link];
    if (parent >= -1 && parent < p->link)
        return true;
    snprintf(message, sizeof message, "is %d, must be -1 (the base) or a link before this one",
             parent);
    return invalid_link(p, "/parent", message);
}

static bool check_joint(const link_context *p, const gw_link_def *l)
{
    double q = p->mechanism->position[p->link], v = p->mechanism->velocity[p->link];
    if (!gw_finite_pose(&l->parent_from_joint))
        return invalid_link(p, "/joint/origin", "a pose must be finite");
    if (!gw_finite3(l->axis) || !(fabs(gw_norm(l->axis) - 1) < 1e-6))
        return invalid_link(p, "/joint/axis", "an axis must not be zero");
    if (!isfinite(q))
        return invalid_link(p, "/joint/position", "a position must be finite (rad, m)");
    if (!isfinite(v))
        return invalid_link(p, "/joint/velocity", "a velocity must be finite (rad/s, m/s)");
    return not_negative(p, "/joint/damping", l->damping, "N m s/rad, N s/m") &&
           not_negative(p, "/joint/friction", l->friction, "N m, N") && check_limits(p, l, q) &&
           check_motor(p, &l->motor) && check_several(p, l);
}

static bool check_mass(const link_context *p, const gw_mass *m)
{
    const double(*t)[3] = m->inertia.m;
    const double inertia[6] = {t[0][0], t[1][1], t[2][2], t[0][1], t[0][2], t[1][2]};
    char message[160];
    if (!(isfinite(m->mass) && m->mass > 0)) {
        snprintf(message, sizeof message, "mass is %g, must be greater than 0 (kg)", m->mass);
        return invalid_link(p, "/mass", message);
    }
    if (!gw_finite3(m->com))
        return invalid_link(p, "/com", "com must be finite (m)");
    for (int i = 0; i < 6; i++)
        if (!isfinite(inertia[i]))
            return invalid_link(p, "/inertia", "inertia must be finite");
    return gw_inertia_is_possible(inertia) ||
           invalid_link(
               p, "/inertia",
               "inertia [ixx,iyy,izz,ixy,ixz,iyz] must be the tensor of a real solid: no principal "
               "moment negative, each at most the sum of the other two");
}

/* Twist of a link's frame for unit velocity of coordinate `c` of its joint, world axes. */
static gw_twist unit_twist(const gw_mechanism *m, int link, int c, const gw_pose *world_from_link)
{
    gw_mobilizer_state zero = {.turn = gw_quat_identity()};
    gw_vec3 v[6], w[6], z = m->links[link].axis;
    gw_mobilizer type = gw_mechanism_joint(m, link);
    gw_mobilizer_pose(type, 0, &zero, v, w);
    gw_quat frame = world_from_link->q;
    if (type != GW_MOBILIZER_SPHERICAL && type != GW_MOBILIZER_FREE) {
        gw_vec3 x = gw_any_normal(z);
        frame = gw_quat_mul(frame, gw_quat_from_axes(x, gw_cross(z, x), z));
    }
    return (gw_twist){gw_rotate(frame, v[c]), gw_rotate(frame, w[c])};
}

/* Momentum and angular momentum about a link's origin, world axes, of its subtree moving rigidly
 * with the twist *t there. */
static gw_wrench momentum_of(const gw_mechanism *m, const gw_pose *poses, int link,
                             const gw_twist *t)
{
    gw_wrench sum = {{0, 0, 0}, {0, 0, 0}};
    for (int k = link; k < m->link_count; k++) {
        int up = k;
        while (up > link)
            up = m->parent[up];
        if (up != link)
            continue;
        const gw_mass *mass = &m->links[k].mass;
        gw_vec3 arm = gw_sub(gw_pose_point(&poses[k], mass->com), poses[link].p);
        gw_vec3 p = gw_scale(mass->mass, gw_add(t->v, gw_cross(t->w, arm)));
        gw_vec3 spin =
            gw_rotate(poses[k].q, gw_mat3_mul(&mass->inertia, gw_unrotate(poses[k].q, t->w)));
        sum.f = gw_add(sum.f, p);
        sum.t = gw_add(sum.t, gw_add(spin, gw_cross(arm, p)));
    }
    return sum;
}

/* The lower triangle of the mass matrix D at the initial position, n x n, coordinates in the order
 * of the links: D_ij = s_j . h_i, with s_j the unit twist of coordinate j and h_i the momentum of
 * the subtree of coordinate i's link for its unit twist; j belongs to that link or an ancestor. */
static void mass_matrix(const gw_mechanism *m, const int *first, int n, double *d)
{
    gw_pose poses[GW_MAX_LINKS];
    gw_mechanism_poses(m, NULL, poses);
    memset(d, 0, (size_t)n * (size_t)n * sizeof *d);
    for (int link = 0; link < m->link_count; link++)
        for (int i = first[link]; i < first[link + 1]; i++) {
            gw_twist own = unit_twist(m, link, i - first[link], &poses[link]);
            gw_wrench h = momentum_of(m, poses, link, &own);
            for (int up = link; up >= 0; up = m->parent[up])
                for (int j = first[up]; j < first[up + 1] && j <= i; j++) {
                    gw_twist s = unit_twist(m, up, j - first[up], &poses[up]);
                    gw_vec3 arm = gw_sub(poses[link].p, poses[up].p);
                    d[i * n + j] = gw_dot(gw_add(s.v, gw_cross(s.w, arm)), h.f) + gw_dot(s.w, h.t);
                }
        }
}

/* Eliminates coordinates from the last to the first, D = L^T L in place: the pivot of a coordinate
 * is its articulated inertia, which those after it, free to move, leave it. -1, or the coordinate
 * of the first pivot that is not positive. Featherstone, Rigid Body Dynamics Algorithms
 * (2008), 6.5. */
static int first_idle(double *d, int n)
{
    double composite[GW_MAX_LINKS * 6];
    for (int k = 0; k < n; k++)
        composite[k] = d[k * n + k];
    for (int k = n - 1; k >= 0; k--) {
        const double *row = &d[k * n];
        if (!(row[k] > 1e-12 * composite[k]))
            return k;
        for (int i = 0; i < k; i++) {
            double a = row[i] / row[k];
            for (int j = 0; a != 0 && j <= i; j++)
                d[i * n + j] -= a * row[j];
        }
    }
    return -1;
}

bool gw_mechanism_idle_link(const gw_mechanism *m, int *link)
{
    int first[GW_MAX_LINKS + 1] = {0};
    for (int i = 0; i < m->link_count; i++)
        first[i + 1] = first[i] + gw_mobilizers[gw_mechanism_joint(m, i)].dof;
    int n = first[m->link_count];
    double *d = malloc(((size_t)n * (size_t)n + 1) * sizeof *d);
    *link = -1;
    if (!d)
        return false;
    mass_matrix(m, first, n, d);
    int idle = first_idle(d, n);
    free(d);
    while (idle >= 0 && first[*link + 1] <= idle)
        ++*link;
    return true;
}

/* A link may be a point or a rod, but every joint must move some inertia. */
static bool check_moved_masses(const gw_scene *s, int index, gw_error *error)
{
    int link;
    if (!gw_mechanism_idle_link(&s->mechanisms[index], &link))
        return gw_fail(error, GW_FAILED, "", "no memory to check a mechanism");
    link_context p = {s, &s->mechanisms[index], index, link, error};
    return link < 0 ||
           invalid_link(&p, "/inertia",
                        "as it stands, this joint moves nothing that is not moved by others: give "
                        "the link an inertia, or a com off the joint's axis");
}

static bool check_geometry(const link_context *p, const gw_link_geometry *g)
{
    char message[320], at[224];
    gw_error inner = {0};
    if (g->id[0] && !gw_id_valid(g->id)) {
        snprintf(message, sizeof message,
                 "the id \"%s\" must be 1 to 64 of the characters A-Z a-z 0-9 _ . : + -", g->id);
        return invalid_link(p, "/id", message);
    }
    for (int i = 0; g->id[0] && i < p->link; i++)
        if (strcmp(p->mechanism->geometries[i].id, g->id) == 0) {
            snprintf(message, sizeof message, "the id %s is taken by link %d", g->id, i);
            return invalid_link(p, "/id", message);
        }
    if (g->material[0] && gw_scene_material(p->scene, g->material) < 0) {
        snprintf(message, sizeof message, "there is no material \"%s\"", g->material);
        invalid_link(p, "/material", message);
        return gw_error_names(p->error, p->scene->materials, p->scene->material_count,
                              sizeof *p->scene->materials);
    }
    if (!g->has_geometry)
        return true;
    if (!gw_finite_pose(&g->pose))
        return invalid_link(p, "/geometry_at", "a pose must be finite");
    if (gw_shape_check(&g->shape, &inner))
        return true;
    snprintf(at, sizeof at, "/geometry%s", inner.where);
    return invalid_link(p, at, inner.message);
}

static bool check_counts(const gw_scene *s, int index, gw_error *error)
{
    const gw_mechanism *m = &s->mechanisms[index];
    char where[64];
    snprintf(where, sizeof where, "/mechanisms/%d/links", index);
    if (m->link_count < 1)
        return gw_fail(error, GW_BAD_INPUT, where, "a mechanism has 1 to %d links", GW_MAX_LINKS);
    if (m->link_count > GW_MAX_LINKS)
        return gw_fail(error, GW_TOO_LARGE, where, "%d links, a mechanism has 1 to %d",
                       m->link_count, GW_MAX_LINKS);
    if (gw_scene_first_joint(s, index + 1) > GW_MAX_JOINTS)
        return gw_fail(error, GW_TOO_LARGE, where, "a scene has at most %d joints", GW_MAX_JOINTS);
    return true;
}

static bool check_mechanism(const gw_scene *s, int index, gw_error *error)
{
    const gw_mechanism *m = &s->mechanisms[index];
    if (!check_counts(s, index, error))
        return false;
    if (!gw_finite_pose(&m->base))
        return gw_scene_invalid(error, "mechanisms", index, "/base", "a pose must be finite");
    for (int k = 0; k < m->link_count; k++) {
        link_context p = {s, m, index, k, error};
        if (!check_parent(&p) || !check_joint(&p, &m->links[k]) ||
            !check_mass(&p, &m->links[k].mass) || !check_geometry(&p, &m->geometries[k]))
            return false;
    }
    if (m->has_tip && (m->tip < 0 || m->tip >= m->link_count))
        return gw_scene_invalid(error, "mechanisms", index, "/tip", "is %d, must be 0 to %d",
                                m->tip, m->link_count - 1);
    return check_moved_masses(s, index, error);
}

void gw_scene_check_mechanisms(const gw_scene *s, gw_error_list *list)
{
    for (int i = 0; i < s->mechanism_count; i++)
        if (gw_count_error(list, check_mechanism(s, i, gw_next_error(list))))
            return;
}
