/*
 * A serial chain out of a robot description: links that fixed joints hold together become one, the
 * way from the root to the tip becomes the mechanism. Any server thread.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/files/urdf_tree.h"

/* What moves as one: the ground, or the link of the chain that is being made. */
typedef struct group {
    gw_mass mass;
    int solid_count;
    int solids[URDF_MAX_SOLIDS];
    gw_pose placed[URDF_MAX_SOLIDS]; /* group_from_solid */
    int chosen[URDF_MAX_SOLIDS];     /* those whose primitives are the geometry */
    int exit, second;                /* joints that move on from here, -1: none */
    gw_pose exit_pose;               /* group_from_joint */
} group;

typedef struct builder {
    const urdf_tree *tree;
    bool *on_way; /* links from the root to the tip; NULL: no tip is named */
    group *group;
    gw_mechanism *out;
    gw_error *error;
} builder;

/* ---- mass ----------------------------------------------------------------------------------- */

/* In the axes that `pose` maps into. */
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

/* Two bodies as one, by the parallel-axis theorem: I_a + I_b + m_a m_b / m (d^2 1 - d d^T). */
static gw_mass together(const gw_mass *a, const gw_mass *b)
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

static void add_link(builder *b, int index, const gw_pose *pose)
{
    const urdf_tree *t = b->tree;
    group *g = b->group;
    const urdf_link *link = &t->links[index];
    gw_mass own = mass_of(link, pose);
    if (link->has_inertial && link->mass > 0)
        g->mass = together(&g->mass, &own);
    for (int i = 0; i < t->solid_count; i++) {
        if (t->solids[i].link != index)
            continue;
        g->placed[g->solid_count] = gw_pose_mul(pose, &t->solids[i].pose);
        g->solids[g->solid_count++] = i;
    }
}

/* The link, what fixed joints hold to it, and where the chain goes on. */
static void gather(builder *b, int index, const gw_pose *pose)
{
    group *g = b->group;
    add_link(b, index, pose);
    for (int i = 0; i < b->tree->joint_count; i++) {
        const urdf_joint *j = &b->tree->joints[i];
        if (j->from != index)
            continue;
        gw_pose at = gw_pose_mul(pose, &j->origin);
        if (j->type == URDF_FIXED) {
            gather(b, j->to, &at);
        } else if (b->on_way && !b->on_way[j->to]) {
            continue;
        } else if (g->exit >= 0) {
            g->second = i;
        } else {
            g->exit = i;
            g->exit_pose = at;
        }
    }
}

static void open_group(builder *b, int link)
{
    gw_pose here = gw_pose_identity();
    b->group->mass = (gw_mass){0};
    b->group->solid_count = 0;
    b->group->exit = b->group->second = -1;
    gather(b, link, &here);
}

/* ---- looks ---------------------------------------------------------------------------------- */

/* Letters that ids do not have become underscores. */
static void make_id(const char *name, char id[GW_MAX_ID + 1])
{
    snprintf(id, GW_MAX_ID + 1, "%.*s", GW_MAX_ID, name);
    for (char *c = id; *c; c++) {
        char one[2] = {*c, 0};
        if (!gw_id_valid(one))
            *c = '_';
    }
}

/* The first mesh that is shown, else the first of all; -1: none. */
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

/* Those of collision elements where there are any. */
static int primitives_of(const builder *b, int *list)
{
    for (int collision = 1; collision >= 0; collision--) {
        int count = 0;
        for (int i = 0; i < b->group->solid_count; i++) {
            const urdf_solid *s = &b->tree->solids[b->group->solids[i]];
            if (s->has_shape && s->collision == (collision == 1))
                list[count++] = i;
        }
        if (count > 0)
            return count;
    }
    return 0;
}

/* Several solids as one, each where it is seen from `from`. */
static bool compound(const builder *b, const int *list, int count, const gw_pose *from,
                     gw_shape *shape)
{
    gw_pose back = gw_pose_inverse(from);
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

static bool make_look(const builder *b, const urdf_link *link, gw_link_geometry *look)
{
    group *g = b->group;
    int *list = g->chosen;
    int mesh = mesh_of(b), count = primitives_of(b, list);
    make_id(link->name, look->id);
    if (count > GW_MAX_PARTS)
        return gw_fail(b->error, GW_TOO_LARGE, "",
                       "line %u: link \"%s\" has %d solids, a geometry has at most %d parts",
                       link->line, link->name, count, GW_MAX_PARTS);
    if (mesh >= 0)
        snprintf(look->mesh, sizeof look->mesh, "%s", b->tree->solids[g->solids[mesh]].mesh);
    look->pose = mesh >= 0 ? g->placed[mesh] : count > 0 ? g->placed[list[0]] : gw_pose_identity();
    look->has_geometry = count > 0;
    if (count == 1 && mesh < 0)
        look->shape = b->tree->solids[g->solids[list[0]]].shape;
    else if (count > 0)
        return compound(b, list, count, &look->pose, &look->shape);
    return true;
}

/* ---- the chain ------------------------------------------------------------------------------ */

static bool make_joint(const builder *b, const urdf_joint *j, gw_chain_link *link, double *position)
{
    bool limited = j->type != URDF_CONTINUOUS;
    if (j->type == URDF_OTHER_JOINT)
        return gw_fail(
            b->error, GW_BAD_INPUT, "",
            "line %u: <joint name=\"%s\" type=\"%s\">: a chain has revolute, continuous, "
            "prismatic and fixed joints",
            j->line, j->name, j->type_name);
    if (j->mimics)
        return gw_fail(b->error, GW_BAD_INPUT, "",
                       "line %u: joint \"%s\" has <mimic>: a chain's joints move on their own",
                       j->line, j->name);
    if (limited && !j->has_limit)
        return gw_fail(b->error, GW_BAD_INPUT, "",
                       "line %u: joint \"%s\" needs <limit lower=\"..\" upper=\"..\">", j->line,
                       j->name);
    if (limited && !(j->lower < j->upper))
        return gw_fail(b->error, GW_BAD_INPUT, "",
                       "line %u: <limit lower=\"%g\" upper=\"%g\"> of joint \"%s\": lower must be "
                       "less than upper",
                       j->line, j->lower, j->upper, j->name);
    *link =
        (gw_chain_link){.kind = j->type == URDF_PRISMATIC ? GW_JOINT_PRISMATIC : GW_JOINT_REVOLUTE,
                        .parent_from_joint = b->group->exit_pose,
                        .axis = j->axis,
                        .damping = j->damping,
                        .friction = j->friction,
                        .motor = {.max = j->effort, .speed = j->speed},
                        .limited = limited,
                        .lower = limited ? j->lower : 0,
                        .upper = limited ? j->upper : 0};
    *position = limited ? fmax(j->lower, fmin(j->upper, 0)) : 0;
    return true;
}

static bool check_mass(const builder *b, const urdf_link *link, const gw_mass *m)
{
    const double(*t)[3] = m->inertia.m;
    const double inertia[6] = {t[0][0], t[1][1], t[2][2], t[0][1], t[0][2], t[1][2]};
    if (!(m->mass > 0))
        return gw_fail(b->error, GW_BAD_INPUT, "",
                       "line %u: link \"%s\" moves but has no mass: it needs <inertial> with "
                       "<mass value=\"..\"> above 0",
                       link->line, link->name);
    return gw_inertia_is_possible(inertia) ||
           gw_fail(b->error, GW_BAD_INPUT, "",
                   "line %u: <inertia> of link \"%s\", with what is fixed to it, is not that of a "
                   "real solid: positive definite, each principal moment at most the sum of the "
                   "others",
                   link->line, link->name);
}

static bool make_link(builder *b, int index, const urdf_joint *joint)
{
    gw_mechanism *m = b->out;
    const urdf_link *link = &b->tree->links[joint->to];
    if (index == GW_MAX_LINKS)
        return gw_fail(b->error, GW_TOO_LARGE, "",
                       "line %u: joint \"%s\": a mechanism has at most %d joints that move",
                       joint->line, joint->name, GW_MAX_LINKS);
    if (!make_joint(b, joint, &m->links[index], &m->position[index]))
        return false;
    open_group(b, joint->to);
    m->link_count = index + 1;
    m->links[index].mass = b->group->mass;
    return check_mass(b, link, &b->group->mass) && make_look(b, link, &m->geometries[index]);
}

static bool make_chain(builder *b, int root)
{
    const urdf_tree *t = b->tree;
    b->out->link_count = 0;
    open_group(b, root);
    for (int index = 0; b->group->exit >= 0; index++) {
        const urdf_joint *joint = &t->joints[b->group->exit];
        if (b->group->second >= 0)
            return gw_fail(b->error, GW_BAD_INPUT, "",
                           "line %u: it branches into joint \"%s\" and joint \"%s\": name the tip "
                           "link that the chain is to lead to",
                           t->joints[b->group->second].line, joint->name,
                           t->joints[b->group->second].name);
        if (!make_link(b, index, joint))
            return false;
    }
    return b->out->link_count > 0 ||
           gw_fail(b->error, GW_BAD_INPUT, "", "no joint of it moves: a chain has one or more");
}

/* Marks the way to the tip. */
static bool mark_way(builder *b, const char *tip)
{
    const urdf_tree *t = b->tree;
    int link = 0;
    while (link < t->link_count && strcmp(t->links[link].name, tip) != 0)
        link++;
    if (link == t->link_count)
        return gw_fail(b->error, GW_NOT_FOUND, "", "there is no link \"%s\" to be the tip", tip);
    for (;;) {
        b->on_way[link] = true;
        if (t->links[link].parent_joint < 0)
            return true;
        link = t->joints[t->links[link].parent_joint].from;
    }
}

static int root_of(const urdf_tree *t)
{
    int link = 0;
    while (t->links[link].parent_joint >= 0)
        link = t->joints[t->links[link].parent_joint].from;
    return link;
}

/* Labels are unique in a mechanism; those that letters made alike go without. */
static void tell_apart(gw_mechanism *m)
{
    for (int i = 0; i < m->link_count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(m->geometries[i].id, m->geometries[k].id) == 0)
                m->geometries[i].id[0] = 0;
}

static bool build(const urdf_tree *tree, const char *tip, gw_mechanism *out, gw_error *error)
{
    builder b = {.tree = tree, .out = out, .error = error};
    bool *on_way = calloc((size_t)tree->link_count, sizeof *on_way);
    b.group = calloc(1, sizeof *b.group);
    bool ok = on_way && b.group && gw_mechanism_resize(out, GW_MAX_LINKS);
    if (!ok)
        gw_fail(error, GW_FAILED, "", "no memory for a mechanism");
    if (ok && tip) {
        b.on_way = on_way;
        ok = mark_way(&b, tip);
    }
    ok = ok && make_chain(&b, root_of(tree));
    make_id(tree->name[0] ? tree->name : "robot", out->id);
    tell_apart(out);
    free(on_way);
    free(b.group);
    return ok;
}

bool urdf_read(const char *text, size_t length, const char *tip, gw_mechanism *out, gw_error *error)
{
    assert(text && out);
    *out = (gw_mechanism){.base = gw_pose_identity()};
    urdf_tree *tree = urdf_tree_read(text, length, error);
    bool ok = tree && build(tree, tip, out, error);
    urdf_tree_destroy(tree);
    if (!ok)
        gw_mechanism_finish(out);
    return ok;
}
