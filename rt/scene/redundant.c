/*
 * Redundant constraints and joints of a scene, which could be removed together without changing the
 * possible motions: from the rank of all rows at the laid out poses. Not for use inside a tick.
 *
 * Rows are linear in the bodies' twists, 6 columns a body: rows of constraints, joints, gears,
 * sliding or rolling surfaces, knife edges, and the joints of mechanisms' links, which are never
 * removed. Some rows are a basis, the others combinations of it. A relation is redundant if each of
 * its rows in the basis can be exchanged for a dependent row of another relation. Relations are
 * tried from the last one in the file to the first.
 *
 * A combination is a set of self-equilibrated forces of the relations, which exist only in loops of
 * relations, so every set of loops that share relations is a problem of its own.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/scene/joint_frame.h"
#include "rt/scene/layout.h"
#include "rt/scene/surface.h"

#define DEPENDENT   1e-9 /* of a row of unit length: less is left of it beside the others */
#define NO_PART     1e-7 /* of a combination of unit length */
#define MOST_BODIES 120  /* that hang together in loops: the work grows with their third power */
#define ENDS        4    /* of a gear's two joints */

/* As wrenches on the relation's ends. */
typedef struct relation_row {
    double on[ENDS][6];
} relation_row;

/* Constraint `index`, joint -1 - index, or the joint of a link. */
typedef struct relation {
    int index;
    bool holds_link;
    int ends[ENDS]; /* bodies that move, by their number, or the ground, which is the last; of a
                       gear those of its first joint, then of its second */
    int end_count;
    int first, count; /* rows */
    int loops;        /* another relation of the same problem, or itself (union-find) */
    int row, column;  /* within its problem */
} relation;

typedef struct collection {
    const gw_scene *scene;
    const gw_layout *layout;
    int body_count; /* that move */
    int *of;        /* their numbers, by body of the scene; -1: it stands or is massless */
    double *length; /* scales angles of rows, by their number */
    int relation_count, row_count, row_room;
    relation *relations;
    relation_row *rows;
    int *gears; /* that turn each joint of the scene, less those that could go */
} collection;

/* Dense rows of some relations: a basis of them, and the others as combinations of it,
 *
 *   row dependent[i] = sum over k of share[i][k] row basis[k]                                    */
typedef struct problem {
    int row_count, columns;
    double *rows; /* row_count x columns */
    int rank, dependent_count;
    int *basis;      /* rank rows */
    int *dependent;  /* dependent_count rows */
    double *share;   /* dependent_count x columns, of which rank count */
    double *unit;    /* orthonormal, of the basis: columns x columns */
    double *made_of; /* and as combinations of it: columns + 1 of columns each */
} problem;

/* ---- rows ----------------------------------------------------------------------------------- */

static void add_wrench_to(double on[6], gw_vec3 f, gw_vec3 t)
{
    const double x[6] = {f.x, f.y, f.z, t.x, t.y, t.z};
    for (int i = 0; i < 6; i++)
        on[i] += x[i];
}

/* The next row of the relation, zero; NULL when memory is short. */
static relation_row *next_row(collection *c, relation *r)
{
    if (c->row_count == c->row_room) {
        int room = 2 * c->row_room + 64;
        relation_row *rows = realloc(c->rows, (size_t)room * sizeof *rows);
        if (!rows)
            return NULL;
        c->rows = rows, c->row_room = room;
    }
    relation_row *row = &c->rows[c->row_count++];
    memset(row, 0, sizeof *row);
    r->count++;
    return row;
}

/* A row of the motion of ends[k] relative to ends[k + 1]: a force and a torque in world axes at the
 * former's origin, which is `arm` from the latter's. */
static void put_pair(relation_row *row, int k, gw_vec3 f, gw_vec3 t, gw_vec3 arm)
{
    add_wrench_to(row->on[k], f, t);
    add_wrench_to(row->on[k + 1], gw_neg(f), gw_neg(gw_add(t, gw_cross(arm, f))));
}

static double length_of(const collection *c, const relation *r)
{
    double length = 0;
    for (int k = 0; k < r->end_count; k++)
        if (r->ends[k] < c->body_count)
            length = fmax(length, c->length[r->ends[k]]);
    return length;
}

static bool put_rows(collection *c, relation *r, const gw_row *rows, int count, const gw_pose *a,
                     const gw_pose *b)
{
    double h[GW_MAX_ROWS], j[GW_MAX_ROWS][6], length = length_of(c, r);
    gw_pose b_from_world = gw_pose_inverse(b), b_from_a = gw_pose_mul(&b_from_world, a);
    gw_rows_value_and_jacobian(rows, count, &b_from_a, h, j);
    for (int i = 0; i < count; i++) {
        relation_row *row = next_row(c, r);
        if (!row)
            return false;
        double scale = rows[i].kind == GW_ROW_ANGLE ? length : 1;
        gw_vec3 f = gw_scale(scale, gw_rotate(b->q, gw_v3(j[i][0], j[i][1], j[i][2])));
        gw_vec3 t = gw_scale(scale, gw_rotate(b->q, gw_v3(j[i][3], j[i][4], j[i][5])));
        put_pair(row, 0, f, t, gw_sub(a->p, b->p));
    }
    return true;
}

/* A joint where it is laid out: M on ends[k] of its relation, F on ends[k + 1]. */
typedef struct joint_place {
    gw_mobilizer type;
    double pitch;
    gw_pose a, b;     /* world_from_body */
    gw_pose a_from_m; /* frames in the bodies */
    gw_pose b_from_f;
    int end_a, end_b;
    unsigned locked; /* bit i: limits without play hold coordinate i */
} joint_place;

/* Adds `scale` times the rate of one of a joint's coordinates, exact where the joint's rows are
 * satisfied: for all types that gears couple, the twists of unit velocities are orthogonal. */
static void put_coordinate(const joint_place *j, int coordinate, double scale, int k,
                           relation_row *row)
{
    gw_pose m = gw_pose_mul(&j->a, &j->a_from_m), f = gw_pose_mul(&j->b, &j->b_from_f);
    gw_pose f_from_world = gw_pose_inverse(&f), f_from_m = gw_pose_mul(&f_from_world, &m);
    gw_mobilizer_state state = {.turn = gw_quat_identity()};
    gw_vec3 v[6], w[6];
    gw_mobilizer_position(j->type, j->pitch, &f_from_m, state.z);
    gw_mobilizer_pose(j->type, j->pitch, &state, v, w);
    gw_vec3 slides = v[coordinate], turns = w[coordinate];
    scale /= gw_dot(slides, slides) + gw_dot(turns, turns);
    gw_vec3 force = gw_rotate(f.q, gw_scale(scale, slides));
    gw_vec3 torque = gw_rotate(f.q, gw_scale(scale, turns));
    gw_vec3 at_a = gw_add(torque, gw_cross(gw_sub(m.p, j->a.p), force));
    put_pair(row, k, force, at_a, gw_sub(j->a.p, j->b.p));
}

/* Rows of the directions that a joint constrains; for a screw also slide less pitch times rotation;
 * and of the coordinates that its limits hold. */
static bool put_joint(collection *c, relation *r, const joint_place *j)
{
    gw_row rows[6];
    bool screw = j->type == GW_MOBILIZER_SCREW;
    int count = gw_mobilizer_rows(j->type, &j->b_from_f, &j->a_from_m, rows);
    if (!put_rows(c, r, rows, count, &j->a, &j->b))
        return false;
    relation_row *row = screw ? next_row(c, r) : NULL;
    joint_place straight = *j;
    straight.type = GW_MOBILIZER_CYLINDRICAL;
    if (row) {
        put_coordinate(&straight, 0, 1, 0, row);
        put_coordinate(&straight, 1, -j->pitch, 0, row);
    }
    if (screw && !row)
        return false;
    for (unsigned left = j->locked; left; left &= left - 1) {
        relation_row *held = next_row(c, r);
        if (!held)
            return false;
        put_coordinate(j, __builtin_ctz(left), 1, 0, held);
    }
    return true;
}

/* ---- dependent rows ------------------------------------------------------------------------ */

static double dot_product(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_multiple(double *to, double by, const double *x, int n)
{
    for (int i = 0; i < n; i++)
        to[i] += by * x[i];
}

static double *share_of(const problem *p, int dependent)
{
    return p->share + (size_t)dependent * (size_t)p->columns;
}

/* Gram-Schmidt, each row twice: for a dependent row the combination is recorded. */
static void choose_basis(problem *p)
{
    int n = p->columns;
    for (int i = 0; i < p->row_count; i++) {
        size_t next = (size_t)p->rank * (size_t)n;
        double *row = p->rows + (size_t)i * (size_t)n, *of = p->made_of + next;
        double length = sqrt(dot_product(row, row, n));
        memset(of, 0, (size_t)n * sizeof *of);
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < p->rank; k++) {
                size_t at = (size_t)k * (size_t)n;
                double c = dot_product(row, p->unit + at, n);
                add_multiple(row, -c, p->unit + at, n);
                add_multiple(of, -c, p->made_of + at, p->rank);
            }
        double left = sqrt(dot_product(row, row, n));
        if (p->rank < n && left > DEPENDENT * length && length > 0) {
            for (int k = 0; k < n; k++)
                p->unit[next + (size_t)k] = row[k] / left;
            for (int k = 0; k < p->rank; k++)
                of[k] /= left;
            of[p->rank] = 1 / left;
            p->basis[p->rank++] = i;
            continue;
        }
        double *share = share_of(p, p->dependent_count);
        for (int k = 0; k < n; k++)
            share[k] = -of[k];
        p->dependent[p->dependent_count++] = i;
    }
}

/* Coefficient of row basis[k] in a combination, normalised to unit length. */
static double part_of(const problem *p, int dependent, int k)
{
    const double *share = share_of(p, dependent);
    return fabs(share[k]) / sqrt(1 + dot_product(share, share, p->rank));
}

/* Dependent row i and row basis[k] are exchanged. */
static void exchange_basis_row(problem *p, int i, int k)
{
    double *pivot = share_of(p, i), by = 1 / pivot[k];
    for (int j = 0; j < p->dependent_count; j++) {
        double *share = share_of(p, j), part = share[k] * by;
        if (j == i || part == 0)
            continue;
        add_multiple(share, -part, pivot, p->rank);
        share[k] = part;
    }
    for (int c = 0; c < p->rank; c++)
        pivot[c] *= -by;
    pivot[k] = by;
    int row = p->dependent[i];
    p->dependent[i] = p->basis[k];
    p->basis[k] = row;
}

/* Removes `count` rows if they follow from the others: if others replace them in the basis. False
 * if they do not. */
static bool take_out(problem *p, int first, int count)
{
    for (int k = 0; k < p->rank; k++) {
        if (p->basis[k] < first || p->basis[k] >= first + count)
            continue;
        int best = -1;
        double most = NO_PART;
        for (int i = 0; i < p->dependent_count; i++) {
            bool own = p->dependent[i] >= first && p->dependent[i] < first + count;
            double part = own ? 0 : part_of(p, i, k);
            if (part >= most)
                best = i, most = part;
        }
        if (best < 0)
            return false;
        exchange_basis_row(p, best, k);
    }
    for (int i = p->dependent_count - 1; i >= 0; i--) {
        if (p->dependent[i] < first || p->dependent[i] >= first + count)
            continue;
        int last = --p->dependent_count;
        p->dependent[i] = p->dependent[last];
        memmove(share_of(p, i), share_of(p, last), (size_t)p->rank * sizeof *p->share);
    }
    return true;
}

static bool take_memory(problem *p, int rows, int bodies)
{
    size_t n = 6 * (size_t)bodies, m = (size_t)rows;
    p->row_count = rows;
    p->columns = (int)n;
    p->rows = calloc(m * n + 1, sizeof *p->rows);
    p->basis = calloc(n + 1, sizeof *p->basis);
    p->dependent = calloc(m + 1, sizeof *p->dependent);
    p->share = calloc(m * n + 1, sizeof *p->share);
    p->unit = calloc(n * n + 1, sizeof *p->unit);
    p->made_of = calloc((n + 1) * n + 1, sizeof *p->made_of);
    return p->rows && p->basis && p->dependent && p->share && p->unit && p->made_of;
}

static void give_back(problem *p)
{
    free(p->rows);
    free(p->basis);
    free(p->dependent);
    free(p->share);
    free(p->unit);
    free(p->made_of);
}

/* ---- the relations of a scene --------------------------------------------------------------- */

static bool is_massless(const gw_scene *s, int body)
{
    return body >= 0 && body < s->object_count && s->objects[body].massless;
}

/* A body's number, or the ground's. */
static int end_of(const collection *c, int body)
{
    return body >= 0 && c->of[body] >= 0 ? c->of[body] : c->body_count;
}

/* A relation between two bodies of the scene; NULL where neither moves or one only follows. */
static relation *begin_relation(collection *c, int index, int a, int b)
{
    int ends[2] = {end_of(c, a), end_of(c, b)};
    if ((ends[0] == c->body_count && ends[1] == c->body_count) || is_massless(c->scene, a) ||
        is_massless(c->scene, b))
        return NULL;
    relation *r = &c->relations[c->relation_count];
    *r = (relation){.index = index,
                    .ends = {ends[0], ends[1]},
                    .end_count = 2,
                    .first = c->row_count,
                    .loops = c->relation_count};
    c->relation_count++;
    return r;
}

static bool add_edges(collection *c)
{
    const gw_layout *l = c->layout;
    for (int i = 0; i < l->edge_count; i++) {
        const gw_constraint_edge *e = &l->edges[i].edge;
        relation *r = begin_relation(c, l->edges[i].index, e->a, e->b);
        if (r && !put_rows(c, r, e->rows, e->row_count, &l->poses[e->a], &l->poses[e->b]))
            return false;
    }
    return true;
}

static bool add_velocity_constraint(collection *c, int index)
{
    const gw_scene *s = c->scene;
    const gw_scene_constraint *k = &s->constraints[index];
    int a = gw_scene_body_number(s, k->a.object), b = gw_scene_body_number(s, k->b.object);
    relation *r = begin_relation(c, index, a, b);
    gw_closure_def closure = {0};
    gw_wrench on_a[GW_CLOSURE_WRENCHES], on_b[GW_CLOSURE_WRENCHES];
    gw_error error = {0};
    bool swapped;
    if (!r || !gw_scene_velocity_closure(s, index, &closure, &swapped, &error))
        return true;
    const gw_pose *at = c->layout->poses;
    int count =
        gw_closure_wrenches(&closure, &at[swapped ? b : a], &at[swapped ? a : b], on_a, on_b);
    for (int i = 0; i < count; i++) {
        relation_row *row = next_row(c, r);
        if (!row)
            return false;
        add_wrench_to(row->on[swapped ? 1 : 0], on_a[i].f, on_a[i].t);
        add_wrench_to(row->on[swapped ? 0 : 1], on_b[i].f, on_b[i].t);
    }
    return true;
}

static bool add_velocity_constraints(collection *c)
{
    const gw_scene *s = c->scene;
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *k = &s->constraints[i];
        bool counts = k->enabled && !gw_constraint_is_positional(k->kind) &&
                      !gw_scene_constraint_is_unilateral(k);
        if (counts && !add_velocity_constraint(c, i))
            return false;
    }
    return true;
}

/* The coordinates of a system's joint that its limits held when they were replaced by closures. */
static unsigned locked_of(const gw_scene_system *y, int body, const bool *limited, int count)
{
    unsigned locked = 0;
    for (int i = 0; body >= 0 && i < count; i++)
        locked |= limited[i] && !y->bodies[body].limited[i] ? 1u << i : 0;
    return locked;
}

/* Joint `joint` of the scene in its system; false where it is in none. */
static bool place_joint(const collection *c, int joint, joint_place *out, int *a, int *b)
{
    const gw_layout *l = c->layout;
    for (int i = 0; i < l->system_count; i++)
        for (int k = 0; l->systems[i] && k < l->systems[i]->joint_count; k++) {
            const gw_scene_system *y = l->systems[i];
            const gw_placed_joint *j = &y->joints[k];
            if (j->joint != joint)
                continue;
            *a = j->a >= 0 ? y->members[j->a].number : -1;
            *b = j->b >= 0 ? y->members[j->b].number : -1;
            *out = (joint_place){.type = c->scene->joints[joint].type,
                                 .pitch = j->pitch,
                                 .a = *a >= 0 ? l->poses[*a] : gw_pose_identity(),
                                 .b = *b >= 0 ? l->poses[*b] : gw_pose_identity(),
                                 .a_from_m = j->a_from_m,
                                 .b_from_f = j->b_from_f,
                                 .locked = locked_of(y, j->body, c->scene->joints[joint].limited,
                                                     gw_mobilizers[j->type].dof)};
            out->end_a = end_of(c, *a), out->end_b = end_of(c, *b);
            return true;
        }
    return false;
}

static bool add_joint(collection *c, int index)
{
    joint_place j;
    int a, b;
    if (!place_joint(c, index, &j, &a, &b))
        return true;
    relation *r = begin_relation(c, -1 - index, a, b);
    return !r || put_joint(c, r, &j);
}

/* The joint of a link on its parent, of a mechanism whose links are numbered. */
static joint_place place_link(const collection *c, int mechanism, int link, int *a, int *b)
{
    const gw_scene *s = c->scene;
    const gw_mechanism *m = &s->mechanisms[mechanism];
    int first = s->object_count + gw_scene_first_joint(s, mechanism);
    joint_place j = {.type = gw_mechanism_joint(m, link),
                     .a_from_m = gw_pose_identity(),
                     .b_from_f = m->links[link].parent_from_joint};
    if (gw_mobilizer_rotation(j.type) == 6)
        gw_link_frames(&m->links[link], &j.a_from_m, &j.b_from_f);
    *a = first + link;
    *b = m->parent[link] < 0 ? -1 : first + m->parent[link];
    int body = -1;
    const gw_scene_system *y = gw_layout_system(c->layout, *a, &body);
    if (y)
        j.locked = locked_of(y, body, &m->links[link].limited, 1);
    j.a = c->layout->poses[*a];
    j.b = *b < 0 ? m->base : c->layout->poses[*b];
    j.end_a = end_of(c, *a), j.end_b = end_of(c, *b);
    return j;
}

static bool add_links(collection *c)
{
    const gw_scene *s = c->scene;
    for (int i = 0; i < s->mechanism_count; i++) {
        int first = s->object_count + gw_scene_first_joint(s, i), a, b;
        for (int k = 0; k < s->mechanisms[i].link_count && c->of[first] >= 0; k++) {
            joint_place j = place_link(c, i, k, &a, &b);
            relation *r = begin_relation(c, 0, a, b);
            r->holds_link = true;
            if (j.type != GW_MOBILIZER_FREE && !put_joint(c, r, &j))
                return false;
        }
    }
    return true;
}

/* The joint that a gear turns on one side; false where it does not move. */
static bool place_geared(const collection *c, const gw_geared *side, joint_place *j)
{
    int a, b;
    if (side->joint >= 0)
        return place_joint(c, side->joint, j, &a, &b);
    int first = c->scene->object_count + gw_scene_first_joint(c->scene, side->mechanism);
    if (c->of[first] < 0)
        return false;
    *j = place_link(c, side->mechanism, side->link, &a, &b);
    return true;
}

static bool add_gear(collection *c, int index)
{
    gw_geared side[2];
    joint_place j[2];
    for (int k = 0; k < 2; k++)
        if (!gw_scene_geared(c->scene, index, k, &side[k], NULL) ||
            !place_geared(c, &side[k], &j[k]))
            return true;
    relation *r = &c->relations[c->relation_count];
    *r = (relation){.index = -1 - index,
                    .ends = {j[0].end_a, j[0].end_b, j[1].end_a, j[1].end_b},
                    .end_count = ENDS,
                    .first = c->row_count,
                    .loops = c->relation_count};
    c->relation_count++;
    relation_row *row = next_row(c, r);
    if (!row)
        return false;
    put_coordinate(&j[0], side[0].coordinate, 1, 0, row);
    put_coordinate(&j[1], side[1].coordinate, -c->scene->joints[index].ratio, 2, row);
    for (int k = 0; k < 2; k++)
        if (side[k].joint >= 0)
            c->gears[side[k].joint]++;
    return true;
}

static bool add_joints(collection *c)
{
    const gw_scene *s = c->scene;
    bool made = true;
    for (int i = 0; made && i < s->joint_count; i++)
        if (s->joints[i].enabled)
            made = s->joints[i].gear ? add_gear(c, i) : add_joint(c, i);
    return made;
}

/* ---- loops ---------------------------------------------------------------------------------- */

static int first_of(const collection *c, int index)
{
    while (c->relations[index].loops != index)
        index = c->relations[index].loops;
    return index;
}

static void unite_groups(collection *c, int x, int y)
{
    x = first_of(c, x), y = first_of(c, y);
    c->relations[x > y ? x : y].loops = x > y ? y : x;
}

/* A forest over the bodies and the ground. */
typedef struct forest {
    int *by;   /* the relation that a body hangs on, -1: none does */
    int *on;   /* the body that it leads to */
    int *deep; /* bodies between it and its root; -1: not reached yet */
    int *queue;
} forest;

/* Spanning tree of the component of `root`, breadth first. */
static void grow_spanning_tree(const collection *c, forest *t, int root)
{
    int head = 0, tail = 0;
    t->deep[root] = 0, t->by[root] = -1;
    t->queue[tail++] = root;
    while (head < tail) {
        int at = t->queue[head++];
        for (int i = 0; i < c->relation_count; i++) {
            const relation *r = &c->relations[i];
            int other = r->ends[0] == at ? r->ends[1] : r->ends[1] == at ? r->ends[0] : at;
            if (r->end_count > 2 || t->deep[other] >= 0)
                continue;
            t->deep[other] = t->deep[at] + 1;
            t->by[other] = i, t->on[other] = at;
            t->queue[tail++] = other;
        }
    }
}

/* Joins the relation and those on the tree path between its bodies x and y to one problem. */
static void close_loop(collection *c, const forest *t, int index, int x, int y)
{
    while (x != y) {
        int *deeper = t->deep[x] >= t->deep[y] ? &x : &y;
        unite_groups(c, index, t->by[*deeper]);
        *deeper = t->on[*deeper];
    }
}

static bool find_loops(collection *c)
{
    size_t n = (size_t)c->body_count + 1;
    int *memory = malloc(4 * n * sizeof *memory);
    if (!memory)
        return false;
    forest t = {memory, memory + n, memory + 2 * n, memory + 3 * n};
    for (size_t i = 0; i < n; i++)
        t.deep[i] = -1;
    for (int i = c->body_count; i >= 0; i--)
        if (t.deep[i] < 0)
            grow_spanning_tree(c, &t, i);
    for (int i = 0; i < c->relation_count; i++)
        for (int k = 0; k < c->relations[i].end_count; k += 2)
            close_loop(c, &t, i, c->relations[i].ends[k], c->relations[i].ends[k + 1]);
    free(memory);
    return true;
}

/* ---- problems ------------------------------------------------------------------------------- */

/* Tries relations from the last to the first; a geared joint is kept while its gear is. */
static void mark_redundant(collection *c, problem *p, int loops, gw_redundant_relations *out)
{
    for (int i = c->relation_count - 1; i >= 0 && p->dependent_count > 0; i--) {
        const relation *r = &c->relations[i];
        int joint = -1 - r->index;
        bool turned = r->index < 0 && c->gears[joint] > 0;
        if (r->loops != loops || r->holds_link || turned || !take_out(p, r->row, r->count))
            continue;
        if (r->index >= 0)
            out->constraints[r->index] = true;
        else
            out->joints[joint] = true;
        for (int k = 0; r->end_count > 2 && k < 2; k++) {
            gw_geared side;
            if (gw_scene_geared(c->scene, joint, k, &side, NULL) && side.joint >= 0)
                c->gears[side.joint]--;
        }
    }
}

/* Solves the problem whose first relation is `loops`; `column` of every body is -1 before and
 * after.
 */
static bool solve_problem(collection *c, int loops, int *column, gw_redundant_relations *out)
{
    problem p = {0};
    int rows = 0, bodies = 0;
    for (int i = loops; i < c->relation_count; i++) {
        relation *r = &c->relations[i];
        if (r->loops != loops)
            continue;
        r->row = rows;
        rows += r->count;
        for (int k = 0; k < r->end_count; k++)
            if (r->ends[k] < c->body_count && column[r->ends[k]] < 0)
                column[r->ends[k]] = bodies++;
    }
    bool few = bodies <= MOST_BODIES, made = !few || take_memory(&p, rows, bodies);
    for (int i = loops; i < c->relation_count; i++) {
        const relation *r = &c->relations[i];
        for (int n = 0; few && made && r->loops == loops && n < r->count; n++)
            for (int k = 0; k < r->end_count; k++)
                for (int x = 0; r->ends[k] < c->body_count && x < 6; x++)
                    p.rows[(size_t)(r->row + n) * (size_t)p.columns +
                           (size_t)(6 * column[r->ends[k]] + x)] += c->rows[r->first + n].on[k][x];
    }
    for (int i = 0; i < c->body_count; i++)
        column[i] = -1;
    if (few && made) {
        choose_basis(&p);
        mark_redundant(c, &p, loops, out);
    }
    give_back(&p);
    return made;
}

static int by_place(const void *a, const void *b)
{
    const relation *x = a, *y = b;
    if (x->holds_link != y->holds_link)
        return y->holds_link - x->holds_link;
    bool joint_x = x->index < 0, joint_y = y->index < 0;
    if (joint_x != joint_y)
        return joint_x - joint_y;
    return joint_x ? y->index - x->index : x->index - y->index;
}

static bool solve_all(collection *c, gw_redundant_relations *out)
{
    int *column = malloc(((size_t)c->body_count + 1) * sizeof *column);
    qsort(c->relations, (size_t)c->relation_count, sizeof *c->relations, by_place);
    for (int i = 0; i < c->relation_count; i++)
        c->relations[i].loops = i;
    bool made = column && find_loops(c);
    for (int i = 0; made && i < c->body_count; i++)
        column[i] = -1;
    for (int i = 0; i < c->relation_count; i++)
        c->relations[i].loops = first_of(c, i);
    for (int i = 0; made && i < c->relation_count; i++)
        if (c->relations[i].loops == i)
            made = solve_problem(c, i, column, out);
    free(column);
    return made;
}

/* Bodies that move, in systems or on their own. */
static void number_bodies(collection *c)
{
    const gw_layout *l = c->layout;
    for (int i = 0; i < gw_scene_body_count(c->scene); i++)
        c->of[i] = -1;
    for (int i = 0; i < l->system_count; i++)
        for (int k = 0; l->systems[i] && k < l->systems[i]->member_count; k++) {
            c->length[c->body_count] = l->systems[i]->length;
            c->of[l->systems[i]->members[k].number] = c->body_count++;
        }
    for (int i = 0; i < l->count; i++) {
        const gw_placement *p = l->placements[i];
        bool moves = p->follow == GW_OBJECT_HELD || p->follow == GW_OBJECT_FREE;
        if (!moves || l->system_of[p->object] >= 0)
            continue;
        c->length[c->body_count] = gw_object_length(&c->scene->objects[p->object]);
        c->of[p->object] = c->body_count++;
    }
}

bool gw_layout_redundant(const gw_scene *scene, const gw_layout *layout,
                         gw_redundant_relations *out)
{
    assert(scene && layout && out);
    collection c = {.scene = scene, .layout = layout};
    size_t bodies = (size_t)gw_scene_body_count(scene);
    size_t most = (size_t)(scene->constraint_count + scene->joint_count) + bodies;
    c.of = malloc((bodies + 1) * sizeof *c.of);
    c.length = malloc((bodies + 1) * sizeof *c.length);
    c.relations = malloc((most + 1) * sizeof *c.relations);
    c.gears = calloc((size_t)scene->joint_count + 1, sizeof *c.gears);
    bool made = c.of && c.length && c.relations && c.gears;
    if (made)
        number_bodies(&c);
    made = made && add_links(&c) && add_edges(&c) && add_velocity_constraints(&c) &&
           add_joints(&c) && solve_all(&c, out);
    free(c.of);
    free(c.length);
    free(c.relations);
    free(c.rows);
    free(c.gears);
    return made;
}
