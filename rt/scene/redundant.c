/*
 * Which constraints and joints of a scene could go together without changing what can move: from
 * the rank of all their rows where the scene is laid out. Not for use inside a tick.
 *
 * Rows are of the bodies' twists, 6 columns a body. With N the left null space of the rows (N J =
 * 0), the rows of one relation follow from the others where the columns of N that belong to them
 * have full rank. Relations are tried from the last one in the file to the first; what goes leaves
 * the combinations of N in which it has no part.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/scene/layout.h"

#define DEPENDENT   1e-9 /* of a row of unit length: less is left of it beside the others */
#define NO_PART     1e-7 /* of a unit vector of N */
#define MOST_BODIES 120  /* of a system: the work grows with their third power */
#define JOINT_ROWS  6

/* Constraint `index`, or joint -1 - index, with its rows. */
typedef struct relation {
    int index, first, count;
    int a, b; /* bodies of the problem, -1: they do not move */
} relation;

typedef struct problem {
    const gw_scene *scene;
    const gw_layout *layout;
    double length;
    int relation_count, row_count, columns;
    relation *relations;
    double *rows;  /* row_count x columns */
    double *basis; /* orthonormal rows, and as combinations of the given ones */
    double *made_of;
    double *null; /* null_count x row_count */
    int null_count;
} problem;

/* ---- rows ----------------------------------------------------------------------------------- */

/* A row of a's motion relative to b (force and torque in world axes at a's origin) into the columns
 * of both; b's origin is at -arm from a's. */
static void put_row(problem *p, int row, const relation *r, gw_vec3 f, gw_vec3 t, gw_vec3 arm)
{
    double *to = p->rows + (size_t)row * (size_t)p->columns;
    gw_vec3 on_b = gw_add(t, gw_cross(arm, f));
    double x[6] = {f.x, f.y, f.z, t.x, t.y, t.z},
           y[6] = {-f.x, -f.y, -f.z, -on_b.x, -on_b.y, -on_b.z};
    for (int i = 0; i < 6; i++) {
        if (r->a >= 0)
            to[6 * r->a + i] += x[i];
        if (r->b >= 0)
            to[6 * r->b + i] += y[i];
    }
}

static void put_rows(problem *p, relation *r, const gw_row *rows, int count, const gw_pose *a,
                     const gw_pose *b)
{
    double h[GW_MAX_ROWS], j[GW_MAX_ROWS][6];
    gw_pose b_from_world = gw_pose_inverse(b), b_from_a = gw_pose_mul(&b_from_world, a);
    gw_rows_value_and_jacobian(rows, count, &b_from_a, h, j);
    r->first = p->row_count;
    r->count = count;
    for (int i = 0; i < count; i++) {
        double scale = rows[i].kind == GW_ROW_ANGLE ? p->length : 1;
        gw_vec3 f = gw_scale(scale, gw_rotate(b->q, gw_v3(j[i][0], j[i][1], j[i][2])));
        gw_vec3 t = gw_scale(scale, gw_rotate(b->q, gw_v3(j[i][3], j[i][4], j[i][5])));
        put_row(p, p->row_count++, r, f, t, gw_sub(a->p, b->p));
    }
}

/* The row that couples a screw's slide to its turn. */
static void put_pitch(problem *p, relation *r, const gw_scene_joint *j, const gw_pose *f,
                      const gw_pose *m, const gw_pose *a, const gw_pose *b)
{
    gw_vec3 z = gw_rotate(f->q, gw_v3(0, 0, 1)), to_m = gw_sub(m->p, a->p);
    gw_vec3 t = gw_sub(gw_cross(to_m, z), gw_scale(j->pitch, z));
    put_row(p, p->row_count++, r, z, t, gw_sub(a->p, b->p));
    r->count++;
}

/* ---- the left null space -------------------------------------------------------------------- */

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add(double *to, double by, const double *x, int n)
{
    for (int i = 0; i < n; i++)
        to[i] += by * x[i];
}

/* Gram-Schmidt, twice over: of a row that follows from those before it the combination is a vector
 * of N. */
static void find_null_space(problem *p)
{
    int n = p->columns, m = p->row_count, rank = 0;
    for (int i = 0; i < m; i++) {
        double *row = p->rows + (size_t)i * (size_t)n, *q = p->basis + (size_t)rank * (size_t)n;
        double *of = p->made_of + (size_t)rank * (size_t)m, length = sqrt(dot(row, row, n));
        memset(of, 0, (size_t)m * sizeof *of);
        memcpy(q, row, (size_t)n * sizeof *q);
        of[i] = 1;
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < rank; k++) {
                double c = dot(q, p->basis + (size_t)k * (size_t)n, n);
                add(q, -c, p->basis + (size_t)k * (size_t)n, n);
                add(of, -c, p->made_of + (size_t)k * (size_t)m, m);
            }
        double left = sqrt(dot(q, q, n));
        if (left > DEPENDENT * length && length > 0) {
            for (int k = 0; k < n; k++)
                q[k] /= left;
            for (int k = 0; k < m; k++)
                of[k] /= left;
            rank++;
            continue;
        }
        double size = sqrt(dot(of, of, m)), *null = p->null + (size_t)p->null_count++ * (size_t)m;
        for (int k = 0; k < m; k++)
            null[k] = of[k] / size;
    }
}

/* Takes the relation out where its rows follow from the others. */
static bool take_out(problem *p, const relation *r)
{
    int m = p->row_count, pivots = 0;
    for (int c = r->first; c < r->first + r->count; c++) {
        int best = pivots;
        for (int i = pivots; i < p->null_count; i++)
            if (fabs(p->null[(size_t)i * (size_t)m + (size_t)c]) >
                fabs(p->null[(size_t)best * (size_t)m + (size_t)c]))
                best = i;
        if (pivots >= p->null_count ||
            fabs(p->null[(size_t)best * (size_t)m + (size_t)c]) < NO_PART)
            return false;
        double *x = p->null + (size_t)pivots * (size_t)m, *y = p->null + (size_t)best * (size_t)m;
        for (int k = 0; k < m && x != y; k++) {
            double swap = x[k];
            x[k] = y[k];
            y[k] = swap;
        }
        for (int i = 0; i < p->null_count; i++) {
            double *z = p->null + (size_t)i * (size_t)m;
            if (i != pivots)
                add(z, -z[c] / x[c], x, m);
        }
        pivots++;
    }
    /* the vectors in which it had a part go with it */
    p->null_count -= pivots;
    memmove(p->null, p->null + (size_t)pivots * (size_t)m,
            (size_t)p->null_count * (size_t)m * sizeof *p->null);
    return true;
}

static void mark(problem *p, gw_redundant_relations *out)
{
    for (int i = p->relation_count - 1; i >= 0 && p->null_count > 0; i--) {
        const relation *r = &p->relations[i];
        if (r->count == 0 || !take_out(p, r))
            continue;
        if (r->index >= 0)
            out->constraints[r->index] = true;
        else
            out->joints[-1 - r->index] = true;
    }
}

/* ---- problems ------------------------------------------------------------------------------- */

static bool take_memory(problem *p, int bodies, int relations)
{
    size_t n = 6 * (size_t)bodies, m = JOINT_ROWS * (size_t)relations;
    p->columns = (int)n;
    p->relations = calloc((size_t)relations + 1, sizeof *p->relations);
    p->rows = calloc(m * n + 1, sizeof *p->rows);
    p->basis = calloc((n + 1) * n + 1, sizeof *p->basis);
    p->made_of = calloc((n + 1) * m + 1, sizeof *p->made_of);
    p->null = calloc(m * m + 1, sizeof *p->null);
    return p->relations && p->rows && p->basis && p->made_of && p->null;
}

static void give_back(problem *p)
{
    free(p->relations);
    free(p->rows);
    free(p->basis);
    free(p->made_of);
    free(p->null);
}

static bool is_massless(const gw_scene *s, int body)
{
    return body < s->object_count && s->objects[body].massless;
}

/* The relations between some bodies, `of` for every body of the scene its number in the problem or
 * -1; with `pair` only those between body 0 and body 1, or the ground where there is but one. */
static void add_relations(problem *p, const int *of, bool pair)
{
    const gw_layout *l = p->layout;
    const gw_scene *s = p->scene;
    const gw_pose ground = gw_pose_identity();
    for (int i = 0; i < l->edge_count; i++) {
        const gw_layout_edge *e = &l->edges[i];
        relation r = {.index = e->index, .a = of[e->edge.a], .b = of[e->edge.b]};
        bool both = r.a >= 0 && r.b >= 0, any = r.a >= 0 || r.b >= 0;
        if (!(pair && p->columns > 6 ? both : any) || is_massless(s, e->edge.a) ||
            is_massless(s, e->edge.b))
            continue;
        put_rows(p, &r, e->edge.rows, e->edge.row_count, &l->poses[e->edge.a],
                 &l->poses[e->edge.b]);
        p->relations[p->relation_count++] = r;
    }
    for (int i = 0; i < l->system_count; i++)
        for (int k = 0; l->systems[i] && k < l->systems[i]->joint_count; k++) {
            const gw_scene_system *y = l->systems[i];
            const gw_placed_joint *j = &y->joints[k];
            int a = j->a >= 0 ? y->members[j->a].number : -1;
            int b = j->b >= 0 ? y->members[j->b].number : -1;
            relation r = {
                .index = -1 - j->joint, .a = a >= 0 ? of[a] : -1, .b = b >= 0 ? of[b] : -1};
            bool both = r.a >= 0 && r.b >= 0, any = r.a >= 0 || r.b >= 0;
            if (!(pair && p->columns > 6 ? both : any))
                continue;
            const gw_scene_joint *of_scene = &s->joints[j->joint];
            bool screw = of_scene->type == GW_MOBILIZER_SCREW;
            gw_pose world_a = a >= 0 ? l->poses[a] : ground,
                    world_b = b >= 0 ? l->poses[b] : ground;
            gw_row rows[6];
            int count = gw_mobilizer_rows(screw ? GW_MOBILIZER_CYLINDRICAL : of_scene->type,
                                          &j->b_from_f, &j->a_from_m, rows);
            put_rows(p, &r, rows, count, &world_a, &world_b);
            gw_pose f = gw_pose_mul(&world_b, &j->b_from_f),
                    m = gw_pose_mul(&world_a, &j->a_from_m);
            if (screw)
                put_pitch(p, &r, of_scene, &f, &m, &world_a, &world_b);
            p->relations[p->relation_count++] = r;
        }
}

static int by_place(const void *a, const void *b)
{
    const relation *x = a, *y = b;
    bool joint_x = x->index < 0, joint_y = y->index < 0;
    if (joint_x != joint_y)
        return joint_x - joint_y;
    return joint_x ? y->index - x->index : x->index - y->index;
}

/* Marks what is redundant among the bodies that `of` numbers. */
static bool solve(const gw_scene *scene, const gw_layout *layout, double length, const int *of,
                  int bodies, bool pair, gw_redundant_relations *out)
{
    problem p = {.scene = scene, .layout = layout, .length = length};
    bool made = take_memory(&p, bodies, layout->edge_count + scene->joint_count);
    if (made) {
        add_relations(&p, of, pair);
        qsort(p.relations, (size_t)p.relation_count, sizeof *p.relations, by_place);
        find_null_space(&p);
        mark(&p, out);
    }
    give_back(&p);
    return made;
}

/* One that moves on its own, on what is fixed. */
static bool solve_object(const gw_scene *scene, const gw_layout *layout, int object, int *of,
                         gw_redundant_relations *out)
{
    of[object] = 0;
    bool made = solve(scene, layout, gw_object_length(&scene->objects[object]), of, 1, true, out);
    of[object] = -1;
    return made;
}

static bool solve_system(const gw_scene *scene, const gw_layout *layout,
                         const gw_scene_system *system, int *of, gw_redundant_relations *out)
{
    for (int i = 0; i < system->member_count; i++)
        of[system->members[i].number] = i;
    bool made = solve(scene, layout, system->length, of, system->member_count, false, out);
    for (int i = 0; i < system->member_count; i++)
        of[system->members[i].number] = -1;
    return made;
}

bool gw_layout_redundant(const gw_scene *scene, const gw_layout *layout,
                         gw_redundant_relations *out)
{
    int bodies = gw_scene_body_count(scene);
    int *of = malloc(((size_t)bodies + 1) * sizeof *of);
    bool made = of;
    for (int i = 0; made && i < bodies; i++)
        of[i] = -1;
    for (int i = 0; made && i < layout->count; i++) {
        const gw_placement *p = layout->placements[i];
        bool moves = p->follow == GW_OBJECT_HELD || p->follow == GW_OBJECT_FREE;
        if (moves && layout->system_of[p->object] < 0)
            made = solve_object(scene, layout, p->object, of, out);
    }
    for (int i = 0; made && i < layout->system_count; i++)
        if (layout->systems[i] && layout->systems[i]->member_count <= MOST_BODIES)
            made = solve_system(scene, layout, layout->systems[i], of, out);
    free(of);
    return made;
}
