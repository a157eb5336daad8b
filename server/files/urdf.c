/*
 * Builds a mechanism from a robot description: links joined by fixed joints are merged, and every
 * moving joint becomes the joint of a link. Any server thread.
 */
#include <assert.h>
#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/files/urdf_tree.h"

#define DENSITY      1000 /* kg/m^3, for a moving link that has a geometry and no mass */
#define HARDLY_ANY   1e-6 /* relative mass of a massless link, to the links on it or to all */
#define SMALL        0.1  /* m: radius of gyration of a link without inertia */
#define STAND_IN     1.0  /* kg: mass of every link where the description has no mass at all */
#define POINT        1e-2 /* m: radius of gyration given to a point mass on its axis */
#define ON_THE_LIMIT 1e-9 /* rad, m: rounding of a mimicking joint's start */
#define LEAST_RADIUS 1e-3 /* m, of the sphere for a body without a shape */

/* A rigid group: the ground, or a link of the mechanism. */
typedef struct group {
    gw_mass mass;
    int solid_count;
    int solids[URDF_MAX_SOLIDS];
    gw_pose placed[URDF_MAX_SOLIDS]; /* group_from_solid */
    int chosen[URDF_MAX_SOLIDS];     /* solids whose primitives form the geometry */
} group;

typedef struct builder {
    const urdf_tree *tree;
    bool *on_path;    /* links from the root to the tip */
    int *body;        /* by link: the mechanism's link to which it belongs, -1 the ground */
    int *moved;       /* by moving joint: the mechanism's link that it moves */
    gw_pose *placed;  /* by joint: group_from_joint */
    int *stack, deep; /* joints still to be made */
    group *group;
    bool loaded[GW_MAX_LINKS];   /* by the mechanism's link: has a mass at it or on it */
    bool stand_in[GW_MAX_LINKS]; /* by the mechanism's link: its mass is HARDLY_ANY */
    urdf_robot *out;
    gw_error *error;
} builder;

/* ---- notes ---------------------------------------------------------------------------------- */

static __attribute__((format(printf, 2, 3))) void note(const builder *b, const char *format, ...)
{
    va_list list;
    if (b->out->note_count == URDF_NOTES)
        return;
    va_start(list, format);
    vsnprintf(b->out->notes[b->out->note_count++], sizeof b->out->notes[0], format, list);
    va_end(list);
}

/* ---- mass ----------------------------------------------------------------------------------- */

/* The mass, centre and inertia of a link, in the frame that `pose` maps into. */
static gw_mass mass_of(const urdf_link *link, const gw_pose *pose)
{
    const double *t = link->inertia;
    gw_pose at = gw_pose_mul(pose, &link->inertial);
    gw_mat3 r = gw_quat_to_mat3(at.q);
    gw_mat3 i = {{{t[0], t[3], t[4]}, {t[3], t[1], t[5]}, {t[4], t[5], t[2]}}};
    gw_mass out = {.mass = link->mass, .com = at.p};
    for (int row = 0; row < 3; row++) {
        gw_vec3 x = gw_mat3_mul(&i, gw_v3(r.m[row][0], r.m[row][1], r.m[row][2]));
        gw_vec3 turned = gw_mat3_mul(&r, x);
        out.inertia.m[row][0] = turned.x;
        out.inertia.m[row][1] = turned.y;
        out.inertia.m[row][2] = turned.z;
    }
    return out;
}

/* The sum of two bodies by the parallel-axis theorem: I = I_a + I_b + m_a m_b / m (d^2 1 - d
 * d^T). */
static gw_mass combined_mass(const gw_mass *a, const gw_mass *b)
{
    gw_mass out = {.mass = a->mass + b->mass};
    if (!(out.mass > 0))
        return *a;
    gw_vec3 between = gw_sub(b->com, a->com);
    double d[3] = {between.x, between.y, between.z}, k = a->mass * b->mass / out.mass;
    out.com = gw_mul_add(a->com, b->mass / out.mass, between);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out.inertia.m[i][j] = a->inertia.m[i][j] + b->inertia.m[i][j] +
                                  k * ((i == j ? gw_norm2(between) : 0) - d[i] * d[j]);
    return out;
}

/* ---- groups --------------------------------------------------------------------------------- */

static void add_link(builder *b, int index, int body, const gw_pose *pose)
{
    const urdf_tree *t = b->tree;
    group *g = b->group;
    const urdf_link *link = &t->links[index];
    gw_mass own = mass_of(link, pose);
    b->body[index] = body;
    if (link->has_inertial && link->mass > 0)
        g->mass = combined_mass(&g->mass, &own);
    for (int i = 0; i < t->solid_count; i++) {
        if (t->solids[i].link != index)
            continue;
        g->placed[g->solid_count] = gw_pose_mul(pose, &t->solids[i].pose);
        g->solids[g->solid_count++] = i;
    }
}

/* Adds the link and those that fixed joints join to it, and pushes the moving joints that start
 * from there: the first one on top, the one that leads to the tip below all others. */
static void gather_body(builder *b, int index, int body, const gw_pose *pose, int bottom)
{
    const urdf_tree *t = b->tree;
    add_link(b, index, body, pose);
    for (int i = t->joint_count - 1; i >= 0; i--) {
        const urdf_joint *j = &t->joints[i];
        if (j->from != index)
            continue;
        b->placed[i] = gw_pose_mul(pose, &j->origin);
        if (j->type == URDF_FIXED) {
            gather_body(b, j->to, body, &b->placed[i], bottom);
            continue;
        }
        int at = b->on_path[j->to] ? bottom : b->deep;
        memmove(b->stack + at + 1, b->stack + at, (size_t)(b->deep - at) * sizeof *b->stack);
        b->stack[at] = i;
        b->deep++;
    }
}

static void open_group(builder *b, int link, int body)
{
    gw_pose here = gw_pose_identity();
    b->group->mass = (gw_mass){0};
    b->group->solid_count = 0;
    gather_body(b, link, body, &here, b->deep);
}

/* ---- geometry of links ---------------------------------------------------------------------- */

/* Characters that ids must not contain become underscores. */
static void make_id(const char *name, char id[GW_MAX_ID + 1])
{
    snprintf(id, GW_MAX_ID + 1, "%.*s", GW_MAX_ID, name);
    for (char *c = id; *c; c++) {
        char one[2] = {*c, 0};
        if (!gw_id_valid(one))
            *c = '_';
    }
}

/* The first visual mesh, else the first of all; -1: none. */
static int mesh_of(const builder *b)
{
    int found = -1;
    for (int i = 0; i < b->group->solid_count; i++) {
        const urdf_solid *s = &b->tree->solids[b->group->solids[i]];
        if (s->mesh[0] && (found < 0 || !s->collision)) {
            found = i;
            if (!s->collision)
                break;
        }
    }
    return found;
}

/* The primitives of the collision elements, else those of the visual ones; returns their number. */
static int primitives_of(const builder *b, int *list)
{
    for (int collision = 1; collision >= 0; collision--) {
        int count = 0;
        for (int i = 0; i < b->group->solid_count; i++) {
            const urdf_solid *s = &b->tree->solids[b->group->solids[i]];
            if (s->sizeless && s->collision == (collision == 1))
                note(b, "a geometry of link \"%s\" has a length that is not above 0: left out",
                     b->tree->links[s->link].name);
            if (s->has_shape && s->collision == (collision == 1))
                list[count++] = i;
        }
        if (count > 0)
            return count;
    }
    return 0;
}

/* Several solids as one compound shape, in the frame `from`. */
static bool compound_shape(const builder *b, const urdf_link *link, const int *list, int count,
                           const gw_pose *from, gw_shape *shape)
{
    gw_pose back = gw_pose_inverse(from);
    if (count > GW_MAX_PARTS)
        return gw_fail(b->error, GW_TOO_LARGE, "",
                       "line %u: link \"%s\" has %d solids, a geometry has at most %d parts",
                       link->line, link->name, count, GW_MAX_PARTS);
    *shape = (gw_shape){.kind = GW_SHAPE_COMPOUND, .part_count = count};
    shape->parts = calloc((size_t)count, sizeof *shape->parts);
    if (!shape->parts)
        return gw_fail(b->error, GW_FAILED, "", "no memory for a link's geometry");
    for (int i = 0; i < count; i++) {
        shape->parts[i].shape = b->tree->solids[b->group->solids[list[i]]].shape;
        shape->parts[i].pose = gw_pose_mul(&back, &b->group->placed[list[i]]);
    }
    return true;
}

/* The geometry of a group, in its frame. */
static bool make_geometry(const builder *b, const urdf_link *link, gw_link_geometry *geometry)
{
    group *g = b->group;
    int *list = g->chosen;
    int mesh = mesh_of(b), count = primitives_of(b, list);
    make_id(link->name, geometry->id);
    if (mesh >= 0)
        snprintf(geometry->mesh, sizeof geometry->mesh, "%s",
                 b->tree->solids[g->solids[mesh]].mesh);
    geometry->pose = mesh >= 0   ? g->placed[mesh]
                     : count > 0 ? g->placed[list[0]]
                                 : gw_pose_identity();
    geometry->has_geometry = count > 0;
    if (count == 1 && mesh < 0)
        geometry->shape = b->tree->solids[g->solids[list[0]]].shape;
    else if (count > 0)
        return compound_shape(b, link, list, count, &geometry->pose, &geometry->shape);
    return true;
}

/* ---- joints --------------------------------------------------------------------------------- */

static bool refuse_joint(const builder *b, const urdf_joint *j, const char *why)
{
    return gw_fail(b->error, GW_BAD_INPUT, "", "line %u: joint \"%s\" %s", j->line, j->name, why);
}

/* The mobilizer of a joint with several coordinates; GW_MOBILIZER_FIXED for others. */
static gw_mobilizer several_of(const urdf_joint *j)
{
    return j->type == URDF_PLANAR     ? GW_MOBILIZER_PLANAR
           : j->type == URDF_FLOATING ? GW_MOBILIZER_FREE
                                      : GW_MOBILIZER_FIXED;
}

static bool make_joint(const builder *b, int joint, int index)
{
    const urdf_joint *j = &b->tree->joints[joint];
    gw_mechanism *m = &b->out->mechanism;
    gw_link_def *link = &m->links[index];
    bool one = several_of(j) == GW_MOBILIZER_FIXED, limited = one && j->type != URDF_CONTINUOUS;
    if (j->type == URDF_OTHER_JOINT)
        return gw_fail(b->error, GW_BAD_INPUT, "",
                       "line %u: <joint name=\"%s\" type=\"%s\">: must be revolute, continuous, "
                       "prismatic, planar, floating or fixed",
                       j->line, j->name, j->type_name);
    if (limited && !j->has_limit) {
        note(b, "joint \"%s\" has no <limit>: it is not limited", j->name);
        limited = false;
    } else if (limited && !(j->lower <= j->upper)) {
        note(b, "<limit lower=\"%g\" upper=\"%g\"> of joint \"%s\" is empty: it is not limited",
             j->lower, j->upper, j->name);
        limited = false;
    }
    if (one && (j->effort < 0 || j->speed < 0))
        note(b, "<limit> of joint \"%s\" has an effort or a velocity below 0: taken as unlimited",
             j->name);
    if (limited && j->lower == j->upper)
        note(b, "joint \"%s\" has limits without play, %g to %g: kept", j->name, j->lower,
             j->upper);
    m->several[index] = several_of(j);
    *link =
        (gw_link_def){.kind = j->type == URDF_PRISMATIC ? GW_JOINT_PRISMATIC : GW_JOINT_REVOLUTE,
                      .parent_from_joint = b->placed[joint],
                      .axis = j->axis,
                      .limited = limited,
                      .lower = limited ? j->lower : 0,
                      .upper = limited ? j->upper : 0};
    if (one) {
        link->damping = j->damping;
        link->friction = j->friction;
        link->motor = (gw_motor){.max = fmax(j->effort, 0), .speed = fmax(j->speed, 0)};
    } else if (j->damping > 0 || j->friction > 0 || j->has_limit) {
        note(b, "joint \"%s\" is %s: its limits, damping and friction are left out", j->name,
             j->type_name);
    }
    m->position[index] = limited ? fmax(j->lower, fmin(j->upper, 0)) : 0;
    return true;
}

/* ---- mimic ---------------------------------------------------------------------------------- */

static int joint_named(const urdf_tree *t, const char *name)
{
    for (int i = 0; i < t->joint_count; i++)
        if (strcmp(t->joints[i].name, name) == 0)
            return i;
    return -1;
}

/* Holds the joint at a position by equal limits. */
static void hold_joint(const builder *b, int index, double position, const urdf_joint *j)
{
    gw_link_def *link = &b->out->mechanism.links[index];
    link->limited = true;
    link->lower = link->upper = b->out->mechanism.position[index] = position;
    note(b, "joint \"%s\" mimics what does not move: it is held at %g", j->name, position);
}

/* Sets the initial position of a mimicking joint; limits that exclude it are removed. */
static void begin_at(const builder *b, int index, double position, const urdf_joint *j)
{
    gw_link_def *link = &b->out->mechanism.links[index];
    if (link->limited &&
        (position < link->lower - ON_THE_LIMIT || position > link->upper + ON_THE_LIMIT)) {
        note(b, "joint \"%s\" begins at %g, beyond its limits %g to %g: they are left out", j->name,
             position, link->lower, link->upper);
        link->limited = false;
    }
    b->out->mechanism.position[index] =
        link->limited ? fmax(link->lower, fmin(link->upper, position)) : position;
}

/* Makes the gear of a mimicking joint, after that of the joint that it mimics. `steps`: how many
 * more joints the chain can have before it must be a cycle. */
static bool make_gear(const builder *b, int joint, int steps, bool *made)
{
    const urdf_joint *j = &b->tree->joints[joint];
    gw_mechanism *m = &b->out->mechanism;
    int index = b->moved[joint];
    if (made[joint] || !j->mimics || index < 0)
        return true;
    int of = joint_named(b->tree, j->mimicked);
    if (of < 0) {
        note(b, "joint \"%s\" has <mimic> of \"%s\", which is not there: it moves on its own",
             j->name, j->mimicked);
        return true;
    }
    urdf_joint_type type = b->tree->joints[of].type;
    if (type == URDF_FLOATING || type == URDF_PLANAR)
        return refuse_joint(b, j, "has <mimic> of a joint with several coordinates");
    if (steps == 0)
        return refuse_joint(b, j, "has <mimic> of itself, through others");
    if (!make_gear(b, of, steps - 1, made))
        return false;
    made[joint] = true;
    if (b->tree->joints[of].type == URDF_FIXED || j->multiplier == 0) {
        hold_joint(b, index, j->offset, j);
        return true;
    }
    m->gears[m->gear_count++] = (gw_link_gear){{index, b->moved[of]}, j->multiplier};
    begin_at(b, index, j->multiplier * m->position[b->moved[of]] + j->offset, j);
    return true;
}

static bool make_gears(const builder *b)
{
    const urdf_tree *t = b->tree;
    size_t n = (size_t)t->joint_count + 1;
    bool ok = true, *made = calloc(n, sizeof *made);
    b->out->mechanism.gears = calloc(n, sizeof *b->out->mechanism.gears);
    if (!made || !b->out->mechanism.gears)
        ok = gw_fail(b->error, GW_FAILED, "", "no memory for a mechanism");
    for (int i = 0; ok && i < t->joint_count; i++)
        ok = make_gear(b, i, t->joint_count, made);
    free(made);
    return ok;
}

/* ---- the mechanism -------------------------------------------------------------------------- */

/* A moving link without a mass gets that of its geometry. */
static void weigh_geometry(const builder *b, const urdf_link *link,
                           const gw_link_geometry *geometry, gw_mass *mass)
{
    if (mass->mass > 0 || !geometry->has_geometry)
        return;
    *mass = gw_placed_mass(&geometry->shape, &geometry->pose, DENSITY);
    note(b, "link \"%s\" has no mass: it gets that of its geometry at %d kg/m3", link->name,
         DENSITY);
}

static bool make_link(builder *b, int joint)
{
    gw_mechanism *m = &b->out->mechanism;
    const urdf_joint *j = &b->tree->joints[joint];
    const urdf_link *link = &b->tree->links[j->to];
    int index = m->link_count;
    if (index == GW_MAX_LINKS)
        return gw_fail(b->error, GW_TOO_LARGE, "",
                       "line %u: joint \"%s\": a mechanism has at most %d joints that move",
                       j->line, j->name, GW_MAX_LINKS);
    if (!make_joint(b, joint, index))
        return false;
    m->parent[index] = b->body[j->from];
    m->link_count++;
    b->moved[joint] = index;
    open_group(b, j->to, index);
    m->links[index].mass = b->group->mass;
    if (!make_geometry(b, link, &m->geometries[index]))
        return false;
    weigh_geometry(b, link, &m->geometries[index], &m->links[index].mass);
    return true;
}

/* Adds the least equal amount x to the diagonal such that the inertia is that of a possible solid:
 * of the principal moments a <= b <= c, a + x >= 0 and c + x <= a + b + 2 x. Rounded up. */
static void make_possible(const builder *b, const urdf_link *link, gw_mat3 *t)
{
    const double inertia[6] = {t->m[0][0], t->m[1][1], t->m[2][2],
                               t->m[0][1], t->m[0][2], t->m[1][2]};
    double p[3];
    if (gw_inertia_is_possible(inertia))
        return;
    gw_inertia_principal_moments(t, p);
    double largest = fmax(fabs(p[0]), fabs(p[2]));
    double more = fmax(-p[0], p[2] - p[1] - p[0]) + 16 * DBL_EPSILON * largest;
    for (int i = 0; i < 3; i++)
        t->m[i][i] += more;
    note(b,
         "<inertia> of link \"%s\" is not that of a real solid: %g kg m2 were added to each moment",
         link->name, more);
}

static const urdf_link *link_moved(const builder *b, int index)
{
    for (int i = 0; i < b->tree->joint_count; i++)
        if (b->moved[i] == index)
            return &b->tree->links[b->tree->joints[i].to];
    return NULL;
}

static gw_mass default_inertia(double mass)
{
    double turns = mass * SMALL * SMALL;
    return (gw_mass){mass, {0, 0, 0}, {{{turns, 0, 0}, {0, turns, 0}, {0, 0, turns}}}};
}

/* Links without a mass, which descriptions often have between two joints, get a small one; where no
 * link has a mass, all get one. */
static void settle_masses(builder *b)
{
    gw_mechanism *m = &b->out->mechanism;
    double whole = 0, hangs[GW_MAX_LINKS] = {0};
    for (int i = m->link_count - 1; i >= 0; i--) {
        whole += m->links[i].mass.mass;
        b->loaded[i] = b->loaded[i] || m->links[i].mass.mass > 0;
        if (m->parent[i] >= 0 && b->loaded[i])
            b->loaded[m->parent[i]] = true;
    }
    if (!(whole > 0))
        note(b, "no link that moves has a mass: each gets %g kg, as a ball of %g m", STAND_IN,
             SMALL);
    for (int i = m->link_count - 1; i >= 0; i--) {
        gw_mass *mass = &m->links[i].mass;
        const urdf_link *link = link_moved(b, i);
        if (!(whole > 0))
            *mass = default_inertia(STAND_IN);
        if (!(mass->mass > 0)) {
            *mass = default_inertia(HARDLY_ANY * (hangs[i] > 0 ? hangs[i] : whole));
            b->stand_in[i] = true;
            note(b, "link \"%s\" has no mass: it gets a millionth of what %s", link->name,
                 hangs[i] > 0 ? "hangs on it" : "moves");
        }
        make_possible(b, link, &mass->inertia);
        hangs[i] += mass->mass;
        if (m->parent[i] >= 0)
            hangs[m->parent[i]] += hangs[i];
    }
}

/* Gives a link the radius of gyration POINT about every axis through its centre. */
static void give_size(gw_mass *mass)
{
    for (int i = 0; i < 3; i++)
        mass->inertia.m[i][i] += mass->mass * POINT * POINT;
}

/* A point or a rod on a link without a mass, both moved by their joints: in the postures where the
 * joints move it the same way, nothing but HARDLY_ANY would resist one of them, and its velocity
 * would be unbounded near there. Such a link gets a size, which bounds it. */
static void size_on_massless(const builder *b)
{
    gw_mechanism *m = &b->out->mechanism;
    for (int i = 0; i < m->link_count; i++) {
        gw_mass *mass = &m->links[i].mass;
        double moments[3];
        if (m->parent[i] < 0 || !b->stand_in[m->parent[i]] || b->stand_in[i])
            continue;
        gw_inertia_principal_moments(&mass->inertia, moments);
        if (moments[0] >= 1e-2 * mass->mass * POINT * POINT)
            continue;
        give_size(mass);
        note(
            b,
            "link \"%s\" has no inertia about an axis and is on \"%s\", which has no mass: it gets "
            "a radius of gyration of %g m",
            link_moved(b, i)->name, link_moved(b, m->parent[i])->name, POINT);
    }
}

/* A link whose joint moves no inertia, as gw_mechanism_idle_link(); the small masses that were
 * given to links without any, at the ends of branches, do not count: a mass at a point that turns
 * with nothing but these would turn as fast as they let it. */
static bool idle_link(const builder *b, int *link)
{
    const gw_mechanism *m = &b->out->mechanism;
    gw_link_def *links = malloc(((size_t)m->link_count + 1) * sizeof *links);
    double position[GW_MAX_LINKS];
    gw_mobilizer several[GW_MAX_LINKS];
    int parent[GW_MAX_LINKS], index[GW_MAX_LINKS], of[GW_MAX_LINKS], count = 0;
    for (int i = 0; links && i < m->link_count; i++) {
        if (!b->loaded[i])
            continue;
        links[count] = m->links[i], position[count] = m->position[i];
        several[count] = m->several[i], of[count] = i;
        parent[count] = m->parent[i] < 0 ? -1 : index[m->parent[i]];
        index[i] = count++;
    }
    gw_mechanism loaded = {.base = m->base,
                           .link_count = count,
                           .links = links,
                           .position = position,
                           .parent = parent,
                           .several = several};
    *link = -1;
    bool ok = links && (count == 0 || gw_mechanism_idle_link(&loaded, link));
    free(links);
    if (!ok || *link < 0)
        return ok && gw_mechanism_idle_link(m, link);
    *link = of[*link];
    return true;
}

/* Point masses on the axis of their joint, or at the intersection of several axes, get an
 * inertia. */
static bool settle_points(const builder *b)
{
    gw_mechanism *m = &b->out->mechanism;
    int link;
    for (int tries = 0; tries <= m->link_count; tries++) {
        if (!idle_link(b, &link))
            return gw_fail(b->error, GW_FAILED, "", "no memory for a mechanism");
        if (link < 0)
            return true;
        give_size(&m->links[link].mass);
        note(b, "link \"%s\" has no inertia about its joint: it gets a radius of gyration of %g m",
             link_moved(b, link)->name, POINT);
    }
    return true;
}

/* Labels must be unique in a mechanism: repeated ones are removed. */
static void drop_repeated_labels(gw_mechanism *m)
{
    for (int i = 0; i < m->link_count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(m->geometries[i].id, m->geometries[k].id) == 0)
                m->geometries[i].id[0] = 0;
}

/* Marks the links from the root to the tip. */
static bool mark_path(builder *b, const char *tip, int *link)
{
    const urdf_tree *t = b->tree;
    *link = 0;
    while (*link < t->link_count && strcmp(t->links[*link].name, tip) != 0)
        ++*link;
    if (*link == t->link_count)
        return gw_fail(b->error, GW_BAD_INPUT, URDF_TIP, "there is no link \"%s\" to be the tip",
                       tip);
    for (int at = *link;; at = t->joints[t->links[at].parent_joint].from) {
        b->on_path[at] = true;
        if (t->links[at].parent_joint < 0)
            return true;
    }
}

static int root_of(const urdf_tree *t)
{
    int link = 0;
    while (t->links[link].parent_joint >= 0)
        link = t->joints[t->links[link].parent_joint].from;
    return link;
}

static bool make_mechanism(builder *b, const char *tip)
{
    gw_mechanism *m = &b->out->mechanism;
    int held = -1;
    if (tip && !mark_path(b, tip, &held))
        return false;
    open_group(b, root_of(b->tree), -1);
    while (b->deep > 0)
        if (!make_link(b, b->stack[--b->deep]))
            return false;
    if (m->link_count == 0)
        return true;
    if (tip && b->body[held] < 0)
        return gw_fail(b->error, GW_BAD_INPUT, URDF_TIP, "link \"%s\", the tip, does not move",
                       tip);
    m->has_tip = tip != NULL;
    m->tip = tip ? b->body[held] : 0;
    make_id(b->tree->name[0] ? b->tree->name : "robot", m->id);
    drop_repeated_labels(m);
    settle_masses(b);
    size_on_massless(b);
    return make_gears(b) && settle_points(b);
}

/* ---- a description without moving joints ---------------------------------------------------- */

/* A sphere with the same sum of moments of inertia: r^2 = 5/2 (trace / 3) / m. */
static gw_shape sphere_of(const gw_mass *m)
{
    double trace = m->inertia.m[0][0] + m->inertia.m[1][1] + m->inertia.m[2][2];
    double radius = sqrt(2.5 * (trace / 3) / m->mass);
    return (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = fmax(radius, LEAST_RADIUS)};
}

/* Makes an object of the root's group. */
static bool make_body(builder *b)
{
    const urdf_link *root = &b->tree->links[root_of(b->tree)];
    const gw_mass *m = &b->group->mass;
    gw_object *o = &b->out->object;
    const gw_pose here = gw_pose_identity();
    bool weighs = m->mass > 0;
    *o = (gw_object){.pose = here, .body = {.density = DENSITY}};
    make_id(b->tree->name[0] ? b->tree->name : root->name, o->id);
    int count = primitives_of(b, b->group->chosen);
    if (count == 0 && !weighs)
        return gw_fail(
            b->error, GW_BAD_INPUT, "",
            "no joint of it moves, and it has neither a mass nor a geometry to be a body");
    int first = b->group->chosen[0];
    if (count == 1 && memcmp(&b->group->placed[first], &here, sizeof here) == 0)
        o->shape = b->tree->solids[b->group->solids[first]].shape;
    else if (count > 0 && !compound_shape(b, root, b->group->chosen, count, &here, &o->shape))
        return false;
    if (count == 0)
        o->shape = sphere_of(m);
    if (count == 0)
        note(b, "link \"%s\" has no solid: a sphere of its moments of inertia stands for it",
             root->name);
    if (!weighs)
        return true;
    const double(*t)[3] = m->inertia.m;
    const double inertia[6] = {t[0][0], t[1][1], t[2][2], t[0][1], t[0][2], t[1][2]};
    o->body.source = GW_MASS_GIVEN;
    o->body.mass = m->mass;
    o->body.has_com = true;
    o->body.com = m->com;
    o->body.has_inertia = gw_inertia_is_real(inertia);
    memcpy(o->body.inertia, inertia, sizeof inertia);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool take_memory(builder *b)
{
    size_t links = (size_t)b->tree->link_count + 1, joints = (size_t)b->tree->joint_count + 1;
    b->on_path = calloc(links, sizeof *b->on_path);
    b->body = calloc(links, sizeof *b->body);
    b->moved = malloc(joints * sizeof *b->moved);
    b->placed = calloc(joints, sizeof *b->placed);
    b->stack = calloc(joints, sizeof *b->stack);
    b->group = calloc(1, sizeof *b->group);
    for (size_t i = 0; b->moved && i < joints; i++)
        b->moved[i] = -1;
    return b->on_path && b->body && b->moved && b->placed && b->stack && b->group &&
           gw_mechanism_resize(&b->out->mechanism, GW_MAX_LINKS);
}

static void free_builder(builder *b)
{
    free(b->on_path);
    free(b->body);
    free(b->moved);
    free(b->placed);
    free(b->stack);
    free(b->group);
}

static bool build_robot(const urdf_tree *tree, const char *tip, urdf_robot *out, gw_error *error)
{
    builder b = {.tree = tree, .out = out, .error = error};
    bool ok = take_memory(&b) || gw_fail(error, GW_FAILED, "", "no memory for a mechanism");
    out->mechanism.link_count = 0; /* of those so far */
    ok = ok && make_mechanism(&b, tip);
    out->one_body = ok && out->mechanism.link_count == 0;
    if (out->one_body)
        ok = make_body(&b);
    free_builder(&b);
    return ok;
}

bool urdf_read(const char *text, size_t length, const char *tip, urdf_robot *out, gw_error *error)
{
    assert(text && out);
    *out = (urdf_robot){.mechanism = {.base = gw_pose_identity()}};
    urdf_tree *tree = urdf_tree_read(text, length, error);
    bool ok = tree && build_robot(tree, tip, out, error);
    urdf_tree_destroy(tree);
    if (!ok)
        urdf_finish(out);
    return ok;
}

void urdf_finish(urdf_robot *robot)
{
    gw_mechanism_finish(&robot->mechanism);
    gw_shape_finish(&robot->object.shape);
}

void urdf_notes(const urdf_robot *robot, char *out, size_t size)
{
    assert(robot && out && size > 0);
    const size_t others = sizeof "; and 00 more"; /* URDF_NOTES at most */
    size_t used = 0;
    int i = 0;
    for (; i < robot->note_count; i++) {
        const char *comma = i > 0 ? "; " : "";
        size_t left = i + 1 < robot->note_count ? others : 1;
        if (used + strlen(comma) + strlen(robot->notes[i]) + left > size)
            break;
        used += (size_t)snprintf(out + used, size - used, "%s%s", comma, robot->notes[i]);
    }
    if (i < robot->note_count)
        used += (size_t)snprintf(out + used, size - used, "%s%d more", i > 0 ? "; and " : "",
                                 robot->note_count - i);
    out[used] = '\0';
    for (char *c = out; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
}
