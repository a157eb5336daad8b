/*
 * Relations of a scene as terms between two bodies, and the transfer of the assembled poses to the
 * scene. Bodies are objects, links of mechanisms that relations name, and the world, the last one.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/surface_contact.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/scene/assembly_private.h"
#include "rt/scene/joint_frame.h"
#include "rt/scene/surface.h"

#define TERMS      6 /* of a relation at most: a line tangent to a curve */
#define ANGLE_ROWS 2 /* of a constraint that lays directions along one another */

const char *const gw_assembly_methods[GW_ASSEMBLY_METHOD_COUNT + 1] = {
    [GW_ASSEMBLY_AUTO] = "auto",
    [GW_ASSEMBLY_GRADIENT] = "gradient",
    [GW_ASSEMBLY_NEWTON] = "newton",
    [GW_ASSEMBLY_LM] = "lm",
};

const char *const gw_assembly_ends[GW_ASSEMBLY_END_COUNT + 1] = {
    [GW_ASSEMBLY_ALL_HOLD] = "held",
    [GW_ASSEMBLY_NO_START_LEFT] = "starts",
    [GW_ASSEMBLY_STOPPED] = "stopped",
};

static const gw_vec3 no_vector = {0, 0, 0};
static const gw_vec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* ---- terms of relations ---------------------------------------------------------------------- */

gw_relation *gw_assembly_add_relation(gw_assembly *w, gw_relation_kind kind, int index)
{
    gw_relation *r = &w->relations[w->relation_count++];
    *r = (gw_relation){.kind = kind, .index = index, .first = w->term_count, .component = -1};
    return r;
}

static gw_term *add_term(gw_assembly *w, gw_relation *r, gw_term_kind kind, int a, int b)
{
    gw_term *t = &w->terms[w->term_count++];
    assert(r->first + r->count + 1 == w->term_count);
    *t = (gw_term){.kind = kind,
                   .a = a,
                   .b = b,
                   .searched = -1,
                   .a_turn = gw_quat_identity(),
                   .turn = gw_quat_identity()};
    r->count++;
    return t;
}

static void add_axis(gw_assembly *w, gw_relation *r, int a, gw_vec3 in_a, int b, gw_vec3 in_b)
{
    gw_term *t = add_term(w, r, GW_TERM_AXIS, a, b);
    t->m = in_a, t->f = in_b;
}

static void add_row(gw_assembly *w, gw_relation *r, int a, int b, const gw_row *row)
{
    gw_term *t = add_term(w, r, GW_TERM_ROW, a, b);
    t->row = *row;
    t->m = row->m, t->f = row->f;
}

gw_term *gw_assembly_add_joint_term(gw_assembly *w, gw_relation *r, gw_term_kind kind, int a,
                                    const gw_pose *a_from_m, int b, const gw_pose *b_from_f,
                                    gw_mobilizer type, int coordinate)
{
    gw_term *t = add_term(w, r, kind, a, b);
    t->m = a_from_m->p, t->a_turn = a_from_m->q;
    t->f = b_from_f->p, t->turn = b_from_f->q;
    t->joint = type;
    t->coordinate = coordinate;
    return t;
}

/* A joint between M in a and F in b. */
static void add_mobilizer(gw_assembly *w, gw_relation *r, gw_mobilizer type, double pitch, int a,
                          const gw_pose *a_from_m, int b, const gw_pose *b_from_f)
{
    const gw_mobilizer_info *info = &gw_mobilizers[type];
    const bool *along = info->holds_along;
    const gw_term_kind kind = along[0] && along[1] && along[2] ? GW_TERM_POINT : GW_TERM_ALONG;
    if (along[0] || along[1] || along[2])
        gw_assembly_add_joint_term(w, r, kind, a, a_from_m, b, b_from_f, type, 0);
    if (type == GW_MOBILIZER_SCREW)
        gw_assembly_add_joint_term(w, r, GW_TERM_SCREW, a, a_from_m, b, b_from_f, type, 0)->amount =
            pitch;
    if (info->holds_axis)
        add_axis(w, r, a, gw_rotate(a_from_m->q, axes[2]), b, gw_rotate(b_from_f->q, axes[2]));
    if (info->holds_axis && info->holds_turn)
        add_axis(w, r, a, gw_rotate(a_from_m->q, axes[0]), b, gw_rotate(b_from_f->q, axes[0]));
    if (info->holds_turn && !info->holds_axis)
        add_row(w, r, a, b,
                &(gw_row){.kind = GW_ROW_ANGLE,
                          .m = gw_rotate(a_from_m->q, axes[0]),
                          .n = gw_rotate(b_from_f->q, axes[1])});
}

int gw_assembly_body_named(const gw_assembly *w, const char *name)
{
    int number = gw_scene_body_number(w->scene, name);
    return number >= 0 ? number : w->body_count - 1;
}

static void add_joint(gw_assembly *w, int index)
{
    const gw_scene_joint *j = &w->scene->joints[index];
    gw_mobilizer type = j->type;
    gw_pose m, f;
    gw_scene_joint_frames(w->scene, j, &m, &f);
    gw_pose f_from_m;
    if (gw_scene_joint_stated_pose(j, &f_from_m)) { /* M stands at a known pose in F */
        f = gw_pose_mul(&f, &f_from_m);
        type = GW_MOBILIZER_FIXED;
    }
    gw_relation *r = gw_assembly_add_relation(w, GW_RELATION_JOINT, index);
    int a = gw_assembly_body_named(w, j->a.object), b = gw_assembly_body_named(w, j->b.object);
    add_mobilizer(w, r, type, j->pitch, a, &m, b, &f);
    for (int i = 0; w->limits && i < gw_mobilizers[type].dof; i++)
        if (j->limited[i]) {
            gw_term *t = gw_assembly_add_joint_term(w, r, GW_TERM_LIMIT, a, &m, b, &f, type, i);
            t->lower = j->lower[i], t->upper = j->upper[i], t->pitch = j->pitch;
        }
}

/* Finds the blocks of the normal equations to which the products of a term's rows are added. */
static void find_blocks(gw_assembly *w, gw_term *t)
{
    int a = w->unknown[t->a], b = w->unknown[t->b];
    bool both = a >= 0 && b >= 0 && a != b;
    t->aa = a >= 0 ? gw_block_matrix_at(w->matrix, a, a, &t->transposed) : NULL;
    t->bb = b >= 0 ? gw_block_matrix_at(w->matrix, b, b, &t->transposed) : NULL;
    t->ab = both ? gw_block_matrix_at(w->matrix, a, b, &t->transposed) : NULL;
}

/* 1 or -1: the sense in which the mobile element's direction is aligned with the fixed one's. */
static double sense_of(const gw_assembly *w, const gw_constraint_edge *e)
{
    const gw_constraint *c = &e->stated;
    if (c->kind == GW_ANGLE) {
        bool alike = c->mobile.kind == c->fixed.kind;
        return (alike ? cos(c->value) : sin(c->value)) < 0 ? -1 : 1;
    }
    if (c->sense != GW_EITHER)
        return c->sense == GW_SAME ? 1 : -1;
    gw_vec3 a = gw_rotate(w->poses[e->a].q, c->mobile.d);
    return gw_dot(a, gw_rotate(w->poses[e->b].q, c->fixed.d)) < 0 ? -1 : 1;
}

/* Starts a free-form row at the present closest point of the shape, from which it is followed. */
static void start_at_closest(const gw_assembly *w, gw_term *t)
{
    gw_row *row = &t->row;
    gw_nurbs_nearest nearest;
    if (!row->nurbs)
        return;
    bool of_a = gw_row_owned_by_body(row->kind); /* the shape is */
    const gw_pose *shape = &w->poses[of_a ? t->a : t->b], *other = &w->poses[of_a ? t->b : t->a];
    gw_pose shape_from_world = gw_pose_inverse(shape);
    gw_vec3 x = gw_pose_point(&shape_from_world, gw_pose_point(other, of_a ? row->f : row->m));
    gw_vec3 to = gw_unrotate(row->q, gw_sub(x, of_a ? row->m : row->f));
    gw_nurbs_nearest_point(row->nurbs, to, &nearest);
    row->start[0] = nearest.parameter[0], row->start[1] = nearest.parameter[1];
}

/* Adds T . N - 1 for a direction T and a surface's normal or a curve's tangent N, in the stated or
 * the present sense: the two rows of directions orthogonal to T vanish for either sense. */
static void add_direction(gw_assembly *w, gw_relation *r, const gw_row *across)
{
    const gw_constraint_edge *e = &r->edge;
    gw_row row = *across;
    double length = gw_norm(across->n), now, sense = 1;
    const gw_element *fixed = &e->stated.fixed, *mobile = &e->stated.mobile;
    row.n = gw_scale(length, gw_row_owned_by_body(row.kind) ? fixed->d : mobile->d);
    gw_pose b_from_world = gw_pose_inverse(&w->poses[e->b]);
    gw_pose b_from_a = gw_pose_mul(&b_from_world, &w->poses[e->a]);
    gw_rows_value(&row, 1, &b_from_a, &now);
    if (e->stated.sense == GW_OPPOSITE || (e->stated.sense == GW_EITHER && now < 0))
        sense = -1;
    add_row(w, r, e->a, e->b, &row);
    w->terms[w->term_count - 1].amount = sense * length;
}

/* The terms of a constraint, for the sense that the bodies have: always the same number. */
void gw_assembly_resolve(gw_assembly *w, gw_relation *r)
{
    gw_constraint_edge *e = &r->edge;
    int angles = 0, end = w->term_count;
    gw_constraint_edge_resolve(e, &w->poses[e->a], &w->poses[e->b]);
    for (int i = 0; i < e->row_count; i++)
        angles += e->rows[i].kind == GW_ROW_ANGLE;
    bool along = angles == ANGLE_ROWS;
    w->term_count = r->first;
    r->count = 0;
    for (int i = 0; i < e->row_count; i++)
        if (!along || e->rows[i].kind != GW_ROW_ANGLE)
            add_row(w, r, e->a, e->b, &e->rows[i]);
    const gw_row *last = &e->rows[e->row_count - 1];
    if (gw_row_of_direction(last->kind))
        add_direction(w, r, last);
    if (along)
        add_axis(w, r, e->a, e->stated.mobile.d, e->b, gw_scale(sense_of(w, e), e->stated.fixed.d));
    w->term_count = end > w->term_count ? end : w->term_count;
    for (int i = r->first; i < r->first + r->count; i++) {
        start_at_closest(w, &w->terms[i]);
        if (w->matrix)
            find_blocks(w, &w->terms[i]);
    }
}

static void add_constraint(gw_assembly *w, int index)
{
    const gw_scene_constraint *c = &w->scene->constraints[index];
    gw_relation *r = gw_assembly_add_relation(w, GW_RELATION_CONSTRAINT, index);
    r->edge =
        (gw_constraint_edge){.a = gw_assembly_body_named(w, c->a.object),
                             .b = gw_assembly_body_named(w, c->b.object),
                             .stated = {.kind = c->kind, .sense = c->sense, .value = c->value}};
    gw_scene_element(w->scene, &c->a, &r->edge.stated.mobile);
    gw_scene_element(w->scene, &c->b, &r->edge.stated.fixed);
    gw_assembly_resolve(w, r);
}

/* The term that keeps two surfaces in touch. */
static bool add_contact(gw_assembly *w, int index, bool felt_only, gw_error *error)
{
    const gw_scene_constraint *c = &w->scene->constraints[index];
    gw_closure_def closure;
    bool swapped;
    if (!gw_scene_velocity_closure(w->scene, index, &closure, &swapped, error))
        return false;
    if (closure.kind != GW_CLOSURE_CONTACT)
        return true;
    const gw_surface *on_a = &closure.contact.on_a, *on_b = &closure.contact.on_b;
    int a = gw_assembly_body_named(w, swapped ? c->b.object : c->a.object);
    int b = gw_assembly_body_named(w, swapped ? c->a.object : c->b.object);
    gw_relation *r = gw_assembly_add_relation(w, GW_RELATION_CONSTRAINT, index);
    gw_row row = {.m = on_a->point, .f = on_b->point, .n = on_b->axis, .value = on_a->radius};
    double apart = closure.contact.inside ? -on_a->radius : on_a->radius;
    if (on_b->kind == GW_SURFACE_FREE_FORM && on_a->kind == GW_SURFACE_SPHERE) {
        row.kind = GW_ROW_SURFACE;
        row.q = on_b->turn, row.nurbs = on_b->nurbs;
        row.value = apart;
        add_row(w, r, a, b, &row);
        return true;
    }
    if (gw_surface_contact_is_general(&closure.contact)) {
        if (felt_only) /* brought to touch when their system is made */
            return true;
        gw_term *t = add_term(w, r, GW_TERM_TOUCH, a, b);
        t->m = on_a->point, t->f = on_b->point;
        t->contact = &w->contacts[w->contact_count++];
        t->searched = w->searched_count;
        w->searched[w->searched_count++] = (int)(t - w->terms);
        *t->contact = closure.contact;
        return true;
    }
    if (on_a->kind == GW_SURFACE_RIM) {
        gw_term *t = add_term(w, r, GW_TERM_RIM, a, b);
        t->m = on_a->point, t->f = on_b->point;
        t->a_turn = gw_quat_between(axes[2], on_a->axis);
        t->turn = gw_quat_between(axes[2], on_b->axis);
        t->amount = on_a->radius;
        return true;
    }
    row.kind = GW_ROW_PLANE;
    if (on_b->kind != GW_SURFACE_PLANE) {
        row.kind = on_b->kind == GW_SURFACE_SPHERE ? GW_ROW_SPHERE : GW_ROW_CYLINDER;
        row.value = on_b->radius + apart;
    }
    add_row(w, r, a, b, &row);
    if (closure.contact.line) { /* axes are parallel */
        gw_vec3 side = gw_any_normal(on_b->axis), other = gw_cross(on_b->axis, side);
        add_row(w, r, a, b, &(gw_row){.kind = GW_ROW_ANGLE, .m = on_a->axis, .n = side});
        add_row(w, r, a, b, &(gw_row){.kind = GW_ROW_ANGLE, .m = on_a->axis, .n = other});
    } else if (on_a->kind == GW_SURFACE_CYLINDER) { /* it touches along a line */
        add_row(w, r, a, b, &(gw_row){.kind = GW_ROW_ANGLE, .m = on_a->axis, .n = on_b->axis});
    }
    return true;
}

/* The frame of a link's joint, whose z is the axis. */
gw_pose gw_assembly_axis_frame(const gw_link_def *link)
{
    return (gw_pose){no_vector, gw_quat_between(axes[2], link->axis)};
}

/* The body that a link hangs on, and F in it. */
int gw_assembly_parent_frame(const gw_assembly *w, int mechanism, int link, gw_pose *f)
{
    const gw_mechanism *m = &w->scene->mechanisms[mechanism];
    gw_pose frame = gw_assembly_axis_frame(&m->links[link]);
    *f = gw_pose_mul(&m->links[link].parent_from_joint, &frame);
    if (m->parent[link] >= 0)
        return w->first_link[mechanism] + m->parent[link];
    *f = gw_pose_mul(&m->base, f);
    return w->body_count - 1;
}

/* The joints between links. Those of several coordinates begin at their origin, and stay there. */
static void add_links(gw_assembly *w, int mechanism)
{
    const gw_mechanism *m = &w->scene->mechanisms[mechanism];
    for (int i = 0; i < m->link_count; i++) {
        gw_relation *r = gw_assembly_add_relation(w, GW_RELATION_LINK, mechanism);
        const gw_link_def *link = &m->links[i];
        gw_pose frame = gw_assembly_axis_frame(link), f;
        bool one = m->several[i] == GW_MOBILIZER_FIXED;
        int body = w->first_link[mechanism] + i,
            parent = gw_assembly_parent_frame(w, mechanism, i, &f);
        add_mobilizer(w, r, one ? gw_mechanism_joint(m, i) : GW_MOBILIZER_FIXED, 0, body, &frame,
                      parent, &f);
        if (w->limits && one && link->limited) {
            gw_term *t = gw_assembly_add_joint_term(w, r, GW_TERM_LIMIT, body, &frame, parent, &f,
                                                    gw_mechanism_joint(m, i), 0);
            t->lower = link->lower, t->upper = link->upper;
        }
    }
}

/* ---- bodies and memory ----------------------------------------------------------------------- */

static bool is_relation(const gw_scene_constraint *c)
{
    return c->enabled && !gw_scene_constraint_is_unilateral(c) && c->kind != GW_KNIFE_EDGE;
}

/* Marks the mechanism that a relation names a link of. */
static void mark_mechanism(const gw_scene *s, const char *name, bool *named)
{
    gw_body_ref body;
    if (gw_scene_body(s, name, &body) && body.mechanism >= 0)
        named[body.mechanism] = true;
}

/* A gear takes mechanisms along, but for one alone, whose links it joins to one another. */
static void mark_geared(const gw_scene *s, const gw_scene_joint *gear, bool *named)
{
    int link, of[2];
    for (int i = 0; i < 2; i++)
        of[i] = gw_scene_link(s, gear->joints[i], &link);
    for (int i = 0; i < 2 && of[0] != of[1]; i++)
        if (of[i] >= 0)
            named[of[i]] = true;
}

/* Bodies as the scene numbers them, then the world; mechanisms that no relation names stand. */
static void number_bodies(gw_assembly *w)
{
    const gw_scene *s = w->scene;
    bool named[GW_MAX_MECHANISMS] = {false};
    for (int i = 0; i < s->constraint_count; i++)
        if (is_relation(&s->constraints[i])) {
            mark_mechanism(s, s->constraints[i].a.object, named);
            mark_mechanism(s, s->constraints[i].b.object, named);
        }
    for (int i = 0; i < s->joint_count; i++) {
        const gw_scene_joint *j = &s->joints[i];
        if (j->enabled && !j->gear) {
            mark_mechanism(s, j->a.object, named);
            mark_mechanism(s, j->b.object, named);
        } else if (j->enabled && w->limits) {
            mark_geared(s, j, named);
        }
    }
    for (int i = 0; i < s->mechanism_count; i++)
        w->first_link[i] = named[i] ? s->object_count + gw_scene_first_joint(s, i) : -1;
    w->body_count = gw_scene_body_count(s) + 1;
}

static bool take_memory(gw_assembly *w)
{
    const gw_scene *s = w->scene;
    size_t n = (size_t)w->body_count, relations = (size_t)(s->constraint_count + s->joint_count);
    w->poses = calloc(n, sizeof *w->poses);
    w->before = calloc(n, sizeof *w->before);
    w->best = calloc(n, sizeof *w->best);
    w->given = calloc(n, sizeof *w->given);
    w->unknown = malloc(n * sizeof *w->unknown);
    w->body_of = calloc(n, sizeof *w->body_of);
    w->component = calloc(n, sizeof *w->component);
    w->g = calloc(6 * n, sizeof *w->g);
    w->step = calloc(6 * n, sizeof *w->step);
    w->relations = calloc(relations + n, sizeof *w->relations);
    w->terms = calloc(TERMS * (relations + n), sizeof *w->terms);
    size_t constraints = (size_t)s->constraint_count + 1;
    w->contacts = calloc(constraints, sizeof *w->contacts);
    w->searched = calloc(constraints, sizeof *w->searched);
    w->searched_rows = calloc(constraints * GW_TERM_ROWS, sizeof *w->searched_rows);
    return w->contacts && w->searched && w->searched_rows && w->poses && w->before && w->best &&
           w->given && w->unknown && w->body_of && w->component && w->g && w->step &&
           w->relations && w->terms;
}

static void place_bodies(gw_assembly *w, const gw_pose *poses)
{
    const gw_scene *s = w->scene;
    for (int i = 0; i < s->object_count; i++)
        w->poses[i] = s->objects[i].pose;
    for (int i = 0; i < s->mechanism_count; i++)
        gw_mechanism_poses(&s->mechanisms[i], NULL,
                           w->poses + s->object_count + gw_scene_first_joint(s, i));
    if (poses)
        memcpy(w->poses, poses, (size_t)(w->body_count - 1) * sizeof *poses);
    w->poses[w->body_count - 1] = gw_pose_identity();
}

static bool is_massless(const gw_assembly *w, const char *name)
{
    int number = gw_scene_object(w->scene, name);
    return number >= 0 && w->scene->objects[number].massless;
}

/* True if a relation takes part; with felt_only, relations of massless objects do not. */
static bool is_taken(const gw_assembly *w, const gw_assembly_def *def, const char *a, const char *b)
{
    return !def->felt_only || (!is_massless(w, a) && !is_massless(w, b));
}

static bool add_relations(gw_assembly *w, const gw_assembly_def *def, gw_error *error)
{
    const gw_scene *s = w->scene;
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i];
        if (!is_relation(c) || !is_taken(w, def, c->a.object, c->b.object))
            continue;
        if (gw_constraint_is_positional(c->kind))
            add_constraint(w, i);
        else if (!add_contact(w, i, def->felt_only, error))
            return false;
    }
    for (int i = 0; i < s->joint_count; i++) {
        const gw_scene_joint *j = &s->joints[i];
        if (j->enabled && !j->gear && is_taken(w, def, j->a.object, j->b.object))
            add_joint(w, i);
    }
    for (int i = 0; i < s->mechanism_count; i++)
        if (w->first_link[i] >= 0)
            add_links(w, i);
    return true;
}

/* Numbers the unknowns: bodies that are not ground and that a term names. False if all are ground.
 */
static bool number_unknowns(gw_assembly *w, const bool *ground)
{
    const gw_scene *s = w->scene;
    bool any = false;
    for (int i = 0; i < w->body_count; i++) {
        bool stands = i == w->body_count - 1 || (i < s->object_count && s->objects[i].fixed);
        stands = ground && i < w->body_count - 1 ? ground[i] : stands;
        w->unknown[i] = stands ? -1 : -2;
    }
    for (int i = 0; i < s->object_count; i++)
        any = any || w->unknown[i] != -1;
    for (int i = 0; i < s->mechanism_count; i++)
        for (int k = 0; k < s->mechanisms[i].link_count; k++) {
            int link = s->object_count + gw_scene_first_joint(s, i) + k;
            if (w->first_link[i] < 0)
                w->unknown[link] = -1;
            any = any || w->unknown[link] != -1;
        }
    for (int i = 0; i < w->term_count; i++) {
        const int ends[2] = {w->terms[i].a, w->terms[i].b};
        for (int k = 0; k < 2 && ends[0] != ends[1]; k++)
            if (w->unknown[ends[k]] == -2) {
                w->body_of[w->moving_count] = ends[k];
                w->unknown[ends[k]] = w->moving_count++;
            }
    }
    for (int i = 0; i < w->body_count; i++)
        w->unknown[i] = w->unknown[i] < 0 ? -1 : w->unknown[i];
    return any;
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Connected components of the unknowns by union-find; ground does not connect. */
static void find_components(gw_assembly *w)
{
    for (int i = 0; i < w->moving_count; i++)
        w->component[i] = i;
    for (int i = 0; i < w->term_count; i++) {
        const gw_term *t = &w->terms[i];
        int a = w->unknown[t->a], b = w->unknown[t->b];
        if (t->kind == GW_TERM_GEAR) /* each joint joins its own bodies */
            b = w->unknown[t[1].a] >= 0 ? w->unknown[t[1].a] : w->unknown[t[1].b],
            a = a >= 0 ? a : w->unknown[t->b];
        if (a >= 0 && b >= 0)
            w->component[root_of(w->component, a)] = root_of(w->component, b);
    }
    for (int i = 0; i < w->moving_count; i++)
        w->component[i] = root_of(w->component, i);
    for (int i = 0; i < w->relation_count; i++) {
        gw_relation *r = &w->relations[i];
        const gw_term *t = &w->terms[r->first];
        r->component = -1;
        for (int k = 0; k < r->count && r->component < 0; k++) {
            int a = w->unknown[t[k].a], b = w->unknown[t[k].b];
            r->component = a >= 0 ? w->component[a] : b >= 0 ? w->component[b] : -1;
        }
    }
}

/* Removes relations between ground bodies; terms without a relation are not evaluated. */
static void leave_out_standing(gw_assembly *w)
{
    int kept = 0;
    for (int i = 0; i < w->relation_count; i++)
        if (w->relations[i].component >= 0)
            w->relations[kept++] = w->relations[i];
    w->relation_count = kept;
}

/* The sparse matrix, and where the terms' products go in it. */
static bool make_matrix(gw_assembly *w)
{
    int(*pairs)[2] = malloc((3 * (size_t)w->term_count + 1) * sizeof *pairs), count = 0;
    for (int i = 0; pairs && i < w->term_count; i++) {
        const gw_term *t = &w->terms[i];
        bool gear = t->kind == GW_TERM_GEAR;
        const int ends[4] = {t->a, t->b, gear ? t[1].a : t->a, gear ? t[1].b : t->b};
        for (int k = 0; k < (gear ? 6 : 1); k++) { /* the others' bodies of a gear come with them */
            static const int of[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
            int a = w->unknown[ends[of[k][0]]], b = w->unknown[ends[of[k][1]]];
            if (a < 0 || b < 0 || a == b)
                continue;
            pairs[count][0] = a;
            pairs[count++][1] = b;
        }
    }
    w->matrix = pairs ? gw_block_matrix_create(w->moving_count, (const int(*)[2])pairs, count) : 0;
    free(pairs);
    for (int i = 0; w->matrix && i < w->term_count; i++)
        find_blocks(w, &w->terms[i]);
    return w->matrix;
}

/* gw_assembly_size(): largest of the objects' lengths, the distances of the relations' points from
 * their bodies' frames and, on ground bodies, from one another, and the values of rows. */
static double size_of(const gw_assembly *w)
{
    double size = 1e-6;
    gw_vec3 first = no_vector;
    bool any = false;
    for (int i = 0; i < w->moving_count; i++)
        if (w->body_of[i] < w->scene->object_count)
            size = fmax(size, gw_object_length(&w->scene->objects[w->body_of[i]]));
    for (int i = 0; i < w->term_count; i++) {
        const gw_term *t = &w->terms[i];
        const int body[2] = {t->a, t->b};
        const gw_vec3 point[2] = {t->m, t->f};
        if (t->kind == GW_TERM_AXIS || (t->kind == GW_TERM_ROW && t->row.kind == GW_ROW_ANGLE))
            continue;
        size = fmax(size, t->kind == GW_TERM_ROW ? fabs(t->row.value) : 0);
        for (int k = 0; k < 2; k++) {
            gw_vec3 p = gw_pose_point(&w->poses[body[k]], point[k]);
            if (w->unknown[body[k]] >= 0)
                size = fmax(size, gw_norm(point[k]));
            else if (!any)
                first = p, any = true;
            else
                size = fmax(size, gw_distance(p, first));
        }
    }
    return size;
}

gw_assembly *gw_assembly_create(const gw_assembly_def *def, gw_error *error)
{
    assert(def && def->scene);
    gw_assembly *w = calloc(1, sizeof *w);
    if (w) {
        w->scene = def->scene;
        w->limits = def->limits;
        number_bodies(w);
    }
    if (!w || !take_memory(w)) {
        gw_fail(error, GW_FAILED, "", "no memory for an assembly");
        gw_assembly_destroy(w);
        return NULL;
    }
    place_bodies(w, def->poses);
    bool made = add_relations(w, def, error);
    if (made && w->limits) {
        w->size = size_of(w);
        place_bodies(w, NULL);
        made =
            gw_assembly_add_gears(w) || gw_fail(error, GW_FAILED, "", "no memory for an assembly");
        place_bodies(w, def->poses);
    }
    if (made && !number_unknowns(w, def->ground))
        made = gw_fail(error, GW_BAD_INPUT, "",
                       "there is nothing to move: every object is %s; at least one must not be",
                       def->ground ? "ground" : "fixed");
    if (made) {
        find_components(w);
        if (def->felt_only)
            leave_out_standing(w);
        w->size = size_of(w);
        made = make_matrix(w) || gw_fail(error, GW_FAILED, "", "no memory for an assembly");
    }
    w->searched_time = INFINITY; /* nothing is known: they are searched for */
    if (made && w->searched_count > 1)
        w->pool = gw_thread_pool_create(def->threads);
    if (made)
        return w;
    gw_assembly_destroy(w);
    return NULL;
}

void gw_assembly_destroy(gw_assembly *w)
{
    if (!w)
        return;
    gw_block_matrix_destroy(w->matrix);
    free(w->poses);
    free(w->before);
    free(w->best);
    free(w->given);
    free(w->unknown);
    free(w->body_of);
    free(w->component);
    free(w->g);
    free(w->step);
    free(w->relations);
    free(w->terms);
    free(w->contacts);
    free(w->searched);
    free(w->searched_rows);
    gw_thread_pool_destroy(w->pool);
    free(w);
}

/* ---- what it says ---------------------------------------------------------------------------- */

gw_pose *gw_assembly_poses(gw_assembly *w)
{
    assert(w);
    return w->poses;
}

double gw_assembly_size(const gw_assembly *w)
{
    assert(w);
    return w->size;
}

bool gw_assembly_moves(const gw_assembly *w, int body)
{
    assert(body >= 0 && body < w->body_count);
    return w->unknown[body] >= 0;
}

const char *gw_assembly_remaining(const gw_assembly *w, int n)
{
    assert(n >= 0);
    const gw_relation *before = NULL;
    for (int i = 0; i < w->relation_count; i++) {
        const gw_relation *r = &w->relations[i];
        if (gw_assembly_holds(w, r))
            continue;
        bool named = before && r->kind == GW_RELATION_LINK && before->kind == r->kind &&
                     before->index == r->index;
        before = r;
        if (named || n-- > 0)
            continue;
        switch (r->kind) {
        case GW_RELATION_CONSTRAINT:
            return w->scene->constraints[r->index].id;
        case GW_RELATION_JOINT:
            return w->scene->joints[r->index].id;
        case GW_RELATION_LINK:
            return w->scene->mechanisms[r->index].id;
        }
    }
    return NULL;
}

#define NAMED 3 /* relations in a sentence at most */

bool gw_assembly_refuse(const gw_assembly *w, const gw_assembly_result *result, gw_error *error)
{
    assert(w && result);
    char names[NAMED * (GW_MAX_ID + 8)] = "", where[48] = "";
    size_t used = 0;
    int count = 0;
    while (gw_assembly_remaining(w, count))
        count++;
    for (int i = 0; i < count && i < NAMED; i++) {
        const char *comma = i == 0 ? "" : i == count - 1 ? " and " : ", ";
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", comma,
                                 gw_assembly_remaining(w, i));
    }
    if (count > NAMED)
        snprintf(names + used, sizeof names - used, " and %d more", count - NAMED);
    const char *first = count > 0 ? gw_assembly_remaining(w, 0) : "";
    int joint = gw_scene_joint_index(w->scene, first);
    int constraint = gw_scene_constraint_index(w->scene, first);
    if (joint >= 0 || constraint >= 0)
        snprintf(where, sizeof where, "/%s/%d", joint >= 0 ? "joints" : "constraints",
                 joint >= 0 ? joint : constraint);
    return gw_fail(error, GW_UNHANDLED, where,
                   "%s cannot hold together with what else joins these bodies: %g m stay open at "
                   "the best place that was found from %d start%s",
                   names, result->residual, result->starts, result->starts == 1 ? "" : "s");
}

/* x plus whole turns, nearest to `was`, but within the limits if possible; a value that exceeds a
 * limit by round-off is set to it. */
static double read_turns(const gw_assembly *w, double x, double was, bool turns, bool limited,
                         double lower, double upper)
{
    double slack = GW_ASSEMBLY_HELD * (turns ? 1 : w->size);
    if (turns)
        x += 2 * GW_PI * round((was - x) / (2 * GW_PI));
    if (!limited)
        return x;
    if (turns && (x < lower - slack || x > upper + slack))
        x = gw_assembly_within(x, lower, upper);
    return x < lower && x >= lower - slack ? lower : x > upper && x <= upper + slack ? upper : x;
}

/* The pose of M in F. */
static void read_position(gw_mobilizer type, double pitch, const gw_pose *world_from_f,
                          const gw_pose *world_from_m, double now[6])
{
    gw_pose f_from_world = gw_pose_inverse(world_from_f);
    gw_pose f_from_m = gw_pose_mul(&f_from_world, world_from_m);
    gw_mobilizer_position(type, pitch, &f_from_m, now);
}

static void apply_joint(const gw_assembly *w, gw_scene *scene, gw_scene_joint *j)
{
    gw_pose m, f;
    double now[6];
    if (!gw_scene_joint_frames(scene, j, &m, &f) || !j->has_position)
        return;
    gw_pose world_from_m = gw_pose_mul(&w->poses[gw_assembly_body_named(w, j->a.object)], &m);
    gw_pose world_from_f = gw_pose_mul(&w->poses[gw_assembly_body_named(w, j->b.object)], &f);
    read_position(j->type, j->pitch, &world_from_f, &world_from_m, now);
    bool ball = gw_mobilizer_rotation(j->type) < 6; /* limits of no one coordinate */
    for (int i = 0; i < gw_mobilizers[j->type].dof; i++)
        j->position[i] = read_turns(w, now[i], j->position[i], gw_mobilizer_is_periodic(j->type, i),
                                    w->limits && !ball && j->limited[i], j->lower[i], j->upper[i]);
}

static void apply_links(const gw_assembly *w, int mechanism, gw_mechanism *m)
{
    for (int i = 0; i < m->link_count; i++) {
        if (m->several[i] != GW_MOBILIZER_FIXED)
            continue;
        const gw_link_def *link = &m->links[i];
        double now[6];
        gw_pose f, frame = gw_assembly_axis_frame(link);
        int parent = gw_assembly_parent_frame(w, mechanism, i, &f);
        gw_pose world_from_m = gw_pose_mul(&w->poses[w->first_link[mechanism] + i], &frame);
        gw_pose world_from_f = gw_pose_mul(&w->poses[parent], &f);
        read_position(gw_mechanism_joint(m, i), 0, &world_from_f, &world_from_m, now);
        m->position[i] =
            read_turns(w, now[0], m->position[i], gw_mechanism_joint(m, i) == GW_MOBILIZER_REVOLUTE,
                       w->limits && link->limited, link->lower, link->upper);
    }
}

void gw_assembly_apply(const gw_assembly *w, gw_scene *scene)
{
    assert(scene->object_count == w->scene->object_count &&
           scene->joint_count == w->scene->joint_count);
    for (int i = 0; i < scene->object_count; i++)
        scene->objects[i].pose = w->poses[i];
    for (int i = 0; i < scene->mechanism_count; i++)
        if (w->first_link[i] >= 0)
            apply_links(w, i, &scene->mechanisms[i]);
    for (int i = 0; i < scene->joint_count; i++)
        if (scene->joints[i].enabled && !scene->joints[i].gear)
            apply_joint(w, scene, &scene->joints[i]);
    gw_assembly_apply_gears(w, scene);
}
