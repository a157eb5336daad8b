/*
 * The Delassus operator of a system's closures, J D^-1 J^T, in blocks of one closure each, and its
 * factors. gw_closures_init() allocates memory; all else is RT safe.
 *
 * The operator is a sum over joints k. With p the wrench of a row at a body, passed from the row's
 * bodies towards the root,
 *
 *   x_k = L_k^-1 S_k^T p,   p_parent = X^T (p - U_k L_k^-T x_k)
 *   K_ij = sum over k of x_ki . x_kj
 *
 * so two closures have an off-diagonal block where their paths to the root share a joint. Blocks
 * are eliminated in minimum-degree order, each by Cholesky with pivoting by the largest remainder
 * relative to K_ii, with preference for rows with a larger remainder; rows without remainder are
 * dependent and left out, and rows without effect on joints (three of five in a planar loop) are
 * not included. Where a pivot is so small that the order of the blocks would lose accuracy, the
 * whole operator is factored as a dense matrix with pivoting among all rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/system_multipliers.h"

/* Smallest relative pivot of an independent row while offsets keep dependent rows from being
 * exactly dependent. */
#define SAME_APART    1e-3
#define FIRMER        1e-4  /* ratio of remainders below which the priority as pivot is halved */
#define SURE          1e-6  /* relative pivot below which the dense operator is factored */
#define FIRM_ROW      1e-9  /* relative pivot below which a row is weak: set_residuals() */
#define NO_ROW_AT_ALL 1e-22 /* of the system's mobility: K_ii below it is rounding */
#define DENSE_MOST    600   /* largest number of rows for the dense operator */

/* ---- creation ------------------------------------------------------------------------------- */

/* The path of a block, children first. Returns its length; `path` may be NULL. */
static int find_path(const gw_system *s, gw_closure_block *block, gw_path_body *path)
{
    int a = block->a, b = block->b, count = 0;
    block->a_at = block->b_at = -1;
    while (a >= 0 || b >= 0) {
        int body = a > b ? a : b;
        if (body == block->a)
            block->a_at = count;
        if (body == block->b)
            block->b_at = count;
        if (path)
            path[count] = (gw_path_body){.body = body, .parent_at = -1};
        count++;
        a = a == body ? s->bodies[a].def.parent : a;
        b = b == body ? s->bodies[b].def.parent : b;
    }
    for (int i = 0; path && i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (path[j].body == s->bodies[path[i].body].def.parent)
                path[i].parent_at = j;
    return count;
}

/* Closures, then springs, as blocks; their rows follow one another in the same order. */
static bool make_blocks(gw_system *s)
{
    int rows = 0, path = 0, answers = 0, longest = 0;
    s->block_count = s->closure_count + s->spring_count;
    s->blocks = calloc((size_t)s->block_count + 1, sizeof *s->blocks);
    if (!s->blocks)
        return false;
    for (int i = 0; i < s->block_count; i++) {
        gw_closure_block *k = &s->blocks[i];
        if (i < s->closure_count) {
            int velocities;
            k->a = s->closures[i].a, k->b = s->closures[i].b;
            gw_closure_row_counts(&s->closures[i], &k->position_rows, &velocities);
            k->rows = k->position_rows + velocities;
        } else {
            k->a = s->springs[i - s->closure_count].a, k->b = s->springs[i - s->closure_count].b;
            k->rows = 3;
        }
        k->first = rows, k->path = path;
        k->path_count = find_path(s, k, NULL);
        rows += k->rows, path += k->path_count;
        if (k->path_count * k->rows > longest)
            longest = k->path_count * k->rows;
    }
    s->path = calloc((size_t)path + 1, sizeof *s->path);
    s->path_force = calloc((size_t)longest * 6 + 1, sizeof *s->path_force);
    for (int i = 0; s->path && i < s->block_count; i++) {
        gw_closure_block *k = &s->blocks[i];
        find_path(s, k, s->path + k->path);
        for (int l = 0; l < k->path_count; l++) {
            gw_path_body *at = &s->path[k->path + l];
            at->answers = answers;
            answers += k->rows * s->bodies[at->body].dof;
        }
    }
    s->answers = calloc((size_t)answers + 1, sizeof *s->answers);
    return s->path && s->path_force && s->answers;
}

/* joined[i * n + j]: the paths of blocks i and j share a joint. */
static void join_blocks(const gw_system *s, char *joined)
{
    int n = s->block_count;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const gw_path_body *x = &s->path[s->blocks[i].path], *y = &s->path[s->blocks[j].path];
            const gw_path_body *x_end = x + s->blocks[i].path_count;
            const gw_path_body *y_end = y + s->blocks[j].path_count;
            while (x < x_end && y < y_end) {
                if (x->body == y->body && s->bodies[x->body].dof > 0) {
                    joined[i * n + j] = joined[j * n + i] = 1;
                    break;
                }
                int body = x->body;
                x += x->body >= y->body;
                y += y->body >= body;
            }
        }
}

/* Number of rows of the blocks joined to block i that are not yet in the order. */
static int degree_of(const gw_system *s, const char *joined, int i)
{
    int degree = 0;
    for (int j = 0; j < s->block_count; j++)
        degree += joined[i * s->block_count + j] && s->blocks[j].turn < 0 ? s->blocks[j].rows : 0;
    return degree;
}

/* Order of elimination by minimum degree; fill-in is added to `joined`. `degree`: scratch, one
 * entry per block. */
static void choose_turns(gw_system *s, char *joined, int *degree)
{
    int n = s->block_count;
    for (int i = 0; i < n; i++)
        s->blocks[i].turn = -1;
    for (int i = 0; i < n; i++)
        degree[i] = degree_of(s, joined, i);
    for (int turn = 0; turn < n; turn++) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (s->blocks[i].turn < 0 && (best < 0 || degree[i] < degree[best]))
                best = i;
        s->blocks[best].turn = turn;
        s->elimination[turn] = best;
        const char *neighbours = joined + best * n;
        for (int i = 0; i < n; i++) {
            if (!neighbours[i] || s->blocks[i].turn >= 0)
                continue;
            for (int j = 0; j < n; j++)
                if (neighbours[j] && s->blocks[j].turn < 0 && i != j)
                    joined[i * n + j] = 1;
            degree[i] = degree_of(s, joined, i);
        }
    }
}

/* Assigns the positions of the factors' blocks. Returns their total size. */
static size_t lay_blocks(gw_system *s, const char *joined)
{
    int n = s->block_count, count = 0;
    size_t at = 0;
    for (int turn = 0; turn < n; turn++) {
        gw_closure_block *k = &s->blocks[s->elimination[turn]];
        k->diagonal = (int)at;
        at += (size_t)(k->rows * k->rows);
        k->below = count;
        for (int later = turn + 1; later < n; later++) {
            int j = s->elimination[later];
            if (!joined[s->elimination[turn] * n + j])
                continue;
            s->below[count++] = (gw_block_below){.block = j, .at = (int)at};
            at += (size_t)(k->rows * s->blocks[j].rows);
        }
        k->below_count = count - k->below;
    }
    return at;
}

/* Lists for every body the blocks whose paths contain it, in the order of elimination. */
static void list_blocks_through(gw_system *s)
{
    int count = 0;
    for (int body = 0; body < s->body_count; body++) {
        s->through_at[body] = count;
        for (int turn = 0; turn < s->block_count; turn++) {
            const gw_closure_block *k = &s->blocks[s->elimination[turn]];
            for (int l = 0; l < k->path_count; l++)
                if (s->path[k->path + l].body == body) {
                    s->through[2 * count] = s->elimination[turn];
                    s->through[2 * count++ + 1] = k->path + l;
                }
        }
    }
    s->through_at[s->body_count] = count;
}

static bool take_factors(gw_system *s, size_t numbers)
{
    const gw_closure_block *last = &s->blocks[s->block_count - 1];
    size_t rows = (size_t)(last->first + last->rows);
    size_t path = (size_t)(last->path + last->path_count), bodies = (size_t)s->body_count;
    bool dense = rows <= DENSE_MOST;
    s->through = calloc(2 * path + 1, sizeof *s->through);
    s->through_at = calloc(bodies + 1, sizeof *s->through_at);
    s->pivots = calloc(5 * rows + 1, sizeof *s->pivots);
    s->delassus = calloc(2 * numbers + 10 * rows + 1, sizeof *s->delassus);
    s->dense = dense ? calloc(3 * rows * rows + 1, sizeof *s->dense) : NULL;
    if (!s->through || !s->through_at || !s->pivots || !s->delassus || (dense && !s->dense))
        return false;
    s->null_factor = dense ? s->dense + 2 * rows * rows : NULL;
    s->dense_order = s->pivots + rows;
    s->dense_rows = s->dense_order + rows;
    s->live = s->dense_rows + rows;
    s->dependent = s->live + rows;
    s->factor = s->delassus + numbers;
    s->share = s->factor + numbers;
    s->loose = s->share + rows;
    s->rest = s->loose + rows;
    s->right = s->rest + rows;
    s->solution = s->right + rows;
    s->least_multipliers = s->solution + rows;
    s->rows_in_blocks = (int)rows;
    return true;
}

bool gw_closures_init(gw_system *s)
{
    size_t n = (size_t)(s->closure_count + s->spring_count);
    char *joined = calloc(n * n + 1, 1);
    s->elimination = calloc(2 * n + 1, sizeof *s->elimination);
    bool done = joined && s->elimination && make_blocks(s);
    if (done && n > 0) {
        size_t pairs = 0;
        join_blocks(s, joined);
        choose_turns(s, joined, s->elimination + n);
        for (size_t i = 0; i < n * n; i++)
            pairs += (size_t)joined[i];
        s->below = calloc(pairs / 2 + 1, sizeof *s->below);
        done = s->below && take_factors(s, lay_blocks(s, joined));
        if (done)
            list_blocks_through(s);
    }
    free(joined);
    return done;
}

void gw_closures_free(gw_system *s)
{
    free(s->blocks);
    free(s->path);
    free(s->path_force);
    free(s->answers);
    free(s->below);
    free(s->elimination);
    free(s->through);
    free(s->through_at);
    free(s->pivots);
    free(s->delassus);
    free(s->dense);
}

/* ---- the operator --------------------------------------------------------------------------- */

/* x_k of a row at a joint, from the wrench `pull` at its body, which is passed on to the parent, if
 * any. Wrenches of planar bodies have three components. */
static void pull_joint(const gw_system_body *k, const double pull[6], double *x,
                       const gw_system_body *p, double *parent)
{
    double y[6], f[6];
    const gw_planar_body *b = &k->flat;
    if (gw_planar_is_free(k)) {
        gw_tree_solve_lower(k, x);
        memcpy(y, x, 3 * sizeof *y);
        gw_tree_solve_upper(k, y);
        for (int l = 0; l < 3; l++)
            f[l] = pull[l] - (k->flat_pulled[0][l] * y[0] + k->flat_pulled[1][l] * y[1] +
                              k->flat_pulled[2][l] * y[2]);
        if (parent)
            gw_planar_add_shifted(f, b->r[0], b->r[1], parent);
        return;
    }
    if (b->plane) {
        x[0] *= k->inverse[0];
        double by = x[0] * k->inverse[0];
        for (int l = 0; l < 3; l++)
            f[l] = pull[l] - by * b->pulled[l];
        if (parent)
            gw_planar_add_shifted(f, b->r[0], b->r[1], parent);
        return;
    }
    if (k->dof == 1) {
        x[0] *= k->inverse[0];
        y[0] = x[0] * k->inverse[0];
    } else {
        gw_tree_solve_lower(k, x);
        memcpy(y, x, sizeof y);
        gw_tree_solve_upper(k, y);
    }
    if (!parent)
        return;
    memcpy(f, pull, sizeof f);
    for (int j = 0; j < k->dof; j++)
        for (int l = 0; l < 6; l++)
            f[l] -= k->pulled[j][l] * y[j];
    if (!p->flat.plane) {
        gw_spatial_add_shifted(f, k->r, parent);
        return;
    }
    const gw_plane *plane = p->flat.plane;
    double flat[3];
    gw_planar_wrench(plane, gw_linear_part(f), gw_angular_part(f), flat);
    gw_planar_add_shifted(flat, gw_dot(plane->x, k->r), gw_dot(plane->y, k->r), parent);
}

/* The wrench of a row at one of its bodies. */
static void start_pull(const gw_system_body *k, double scale, const double on[6],
                       const double flat[3], double pull[6])
{
    const double *from = k->flat.plane ? flat : on;
    for (int l = 0; l < (k->flat.plane ? 3 : 6); l++)
        pull[l] = scale * from[l];
}

/* x_k of all rows of a block along its path, and its K_ii into s->share. */
static void pull_rows(gw_system *s, gw_closure_block *block)
{
    int m = 0, *live = s->live + block->first;
    double(*p)[6] = (double(*)[6])s->path_force, *share = s->share + block->first;
    for (int r = 0; r < block->asked; r++)
        if (!(block->idle >> r & 1))
            live[m++] = r;
    block->active = m;
    memset(p, 0, (size_t)(block->path_count * m) * sizeof *p);
    for (int i = 0; i < m; i++) {
        const gw_closure_row *r = gw_active_row(s, block, i);
        share[i] = 0;
        start_pull(&s->bodies[block->a], r->scale, r->on_a, r->flat_a, p[block->a_at * m + i]);
        if (block->b_at >= 0)
            start_pull(&s->bodies[block->b], r->scale, r->on_b, r->flat_b, p[block->b_at * m + i]);
    }
    for (int at = 0; at < block->path_count; at++) {
        const gw_path_body *path = &s->path[block->path + at];
        const gw_system_body *k = &s->bodies[path->body];
        const gw_system_body *parent = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        for (int i = 0; i < m; i++) {
            const gw_closure_row *r = gw_active_row(s, block, i);
            double x[6];
            const double *pull = p[at * m + i];
            if (k->flat.plane && !gw_planar_is_free(k))
                x[0] = gw_dot3(k->flat.column, pull);
            for (int j = 0; j < k->dof && gw_planar_is_free(k); j++)
                x[j] = gw_dot3(k->flat_columns[j], pull);
            for (int j = 0; j < k->dof && !k->flat.plane; j++)
                x[j] = gw_dot6(k->columns[j], pull);
            if (at == block->a_at && r->on_coordinate_a != 0)
                x[r->coordinate_a] += r->scale * r->on_coordinate_a;
            if (at == block->b_at && r->on_coordinate_b != 0)
                x[r->coordinate_b] += r->scale * r->on_coordinate_b;
            pull_joint(k, pull, x, parent, path->parent_at < 0 ? NULL : p[path->parent_at * m + i]);
            for (int j = 0; j < k->dof; j++) {
                s->answers[path->answers + i * k->dof + j] = x[j];
                share[i] += x[j] * x[j];
            }
        }
    }
}

/* Keeps the rows of the block with K_ii > `least`, compacted to the front and listed in s->live. */
static void keep_live_rows(gw_system *s, gw_closure_block *block, double least)
{
    int *live = s->live + block->first, *kept = s->pivots + block->first, before = block->active;
    double *share = s->share + block->first;
    block->active = 0;
    for (int r = 0; r < before; r++)
        if (share[r] > least) {
            kept[block->active] = r;
            live[block->active] = live[r];
            share[block->active++] = share[r];
        }
    if (block->active == before)
        return;
    for (int at = 0; at < block->path_count; at++) {
        const gw_path_body *path = &s->path[block->path + at];
        int dof = s->bodies[path->body].dof;
        double *x = s->answers + path->answers;
        for (int r = 0; r < block->active; r++)
            for (int j = 0; j < dof; j++)
                x[r * dof + j] = x[kept[r] * dof + j];
    }
}

/* to (rows of d, columns of c) += X_d X_c^T of one joint. */
static void add_products(const gw_system *s, const gw_closure_block *c, const gw_path_body *c_at,
                         const gw_closure_block *d, const gw_path_body *d_at, double *to)
{
    int dof = s->bodies[c_at->body].dof;
    const double *x = s->answers + d_at->answers, *y = s->answers + c_at->answers;
    for (int i = 0; i < d->active; i++)
        for (int j = 0; j < c->active; j++) {
            double sum = x[i * dof] * y[j * dof];
            for (int l = 1; l < dof; l++)
                sum += x[i * dof + l] * y[j * dof + l];
            to[i * c->rows + j] += sum;
        }
}

/* The same on the diagonal: the lower triangle. */
static void add_squares(const gw_system *s, const gw_closure_block *c, const gw_path_body *at,
                        double *to)
{
    int dof = s->bodies[at->body].dof;
    const double *x = s->answers + at->answers;
    for (int i = 0; i < c->active; i++)
        for (int j = 0; j <= i; j++) {
            double sum = x[i * dof] * x[j * dof];
            for (int l = 1; l < dof; l++)
                sum += x[i * dof + l] * x[j * dof + l];
            to[i * c->rows + j] += sum;
        }
}

/* Zeros the blocks of closures with active rows. */
static void clear_blocks(gw_system *s)
{
    for (int i = 0; i < s->block_count; i++) {
        const gw_closure_block *k = &s->blocks[i];
        if (k->active == 0)
            continue;
        memset(s->delassus + k->diagonal, 0, (size_t)(k->rows * k->rows) * sizeof(double));
        for (int n = 0; n < k->below_count; n++) {
            const gw_block_below *below = &s->below[k->below + n];
            const gw_closure_block *d = &s->blocks[below->block];
            if (d->active > 0)
                memset(s->delassus + below->at, 0, (size_t)(k->rows * d->rows) * sizeof(double));
        }
    }
}

/* Assembles all blocks, joint by joint; 1 is added on the diagonal of spring rows. */
static void assemble_blocks(gw_system *s)
{
    clear_blocks(s);
    for (int body = 0; body < s->body_count; body++) {
        const int *list = s->through + 2 * s->through_at[body];
        int count = s->through_at[body + 1] - s->through_at[body];
        for (int i = 0; i < count; i++) {
            const gw_closure_block *c = &s->blocks[list[2 * i]];
            const gw_path_body *c_at = &s->path[list[2 * i + 1]];
            const gw_block_below *below = s->below + c->below;
            if (s->bodies[body].dof == 0)
                break;
            if (c->active == 0)
                continue;
            add_squares(s, c, c_at, s->delassus + c->diagonal);
            for (int j = i + 1; j < count; j++) {
                const gw_closure_block *d = &s->blocks[list[2 * j]];
                if (d->active == 0)
                    continue;
                while (below->block != list[2 * j])
                    below++;
                add_products(s, c, c_at, d, &s->path[list[2 * j + 1]], s->delassus + below->at);
            }
        }
    }
    for (int i = s->closure_count; i < s->block_count; i++)
        for (int r = 0; r < s->blocks[i].active; r++)
            s->delassus[s->blocks[i].diagonal + r * (s->blocks[i].rows + 1)] += 1;
}

/* Largest relative remainder of a dependent row. */
static double same_row(const gw_system *s)
{
    return s->is_offset ? SAME_APART : s->same_row;
}

/* True where a joint hardly moves along what is left of an active row with this remainder. */
static bool is_weak(const gw_system *s, int row, double rest)
{
    return rest < FIRM_ROW * fmax(s->share[row], s->loose[row]);
}

/* Pivoted Cholesky factorisation of a diagonal block. False where a pivot is too small to be
 * accurate and a dense factorisation is possible. */
static bool factor_diagonal(gw_system *s, gw_closure_block *k)
{
    const double *block = s->delassus + k->diagonal, *share = s->share + k->first;
    double *l = s->factor + k->diagonal;
    double *rest = s->rest + k->first;
    int *pivots = s->pivots + k->first, m = k->rows;
    k->rank = 0;
    for (int r = 0; r < k->active; r++) {
        pivots[r] = r;
        rest[r] = block[r * (m + 1)];
    }
    for (int at = 0; at < k->active; at++) {
        double left = same_row(s);
        int best = -1;
        for (int i = at; i < k->active; i++) {
            int r = pivots[i];
            bool firmer = best >= 0 && FIRMER * rest[r] > rest[pivots[best]];
            if ((firmer ? 2 : 1) * rest[r] > left * share[r])
                left = rest[r] / share[r], best = i;
        }
        if (best < 0)
            return true;
        int r = pivots[best];
        if ((left < SURE || is_weak(s, k->first + r, rest[r])) && s->dense)
            return false;
        s->margin = fmin(s->margin, left);
        pivots[best] = pivots[at];
        pivots[at] = r;
        double pivot = sqrt(rest[r]), inverse = 1 / pivot;
        l[r * m + at] = pivot;
        for (int i = at + 1; i < k->active; i++) {
            int q = pivots[i];
            double sum = block[q > r ? q * m + r : r * m + q];
            for (int j = 0; j < at; j++)
                sum -= l[q * m + j] * l[r * m + j];
            l[q * m + at] = sum * inverse;
            rest[q] -= l[q * m + at] * l[q * m + at];
        }
        k->rank = at + 1;
    }
    return true;
}

/* L of the blocks below a diagonal block, and the update of the blocks after it (Schur
 * complement). */
static void eliminate_block(gw_system *s, const gw_closure_block *k)
{
    const double *diagonal = s->factor + k->diagonal;
    const int *pivots = s->pivots + k->first;
    int m = k->rows;
    if (k->rank == 0)
        return;
    for (int n = 0; n < k->below_count; n++) {
        const gw_block_below *below = &s->below[k->below + n];
        const gw_closure_block *d = &s->blocks[below->block];
        for (int i = 0; i < d->active; i++) {
            const double *block = s->delassus + below->at + i * m;
            double *l = s->factor + below->at + i * m;
            for (int at = 0; at < k->rank; at++) {
                const double *row = diagonal + pivots[at] * m;
                double sum = block[pivots[at]];
                for (int j = 0; j < at; j++)
                    sum -= l[j] * row[j];
                l[at] = sum / row[at];
            }
        }
    }
    for (int n = 0; n < k->below_count; n++) {
        const gw_block_below *e = &s->below[k->below + n];
        const gw_closure_block *column = &s->blocks[e->block];
        const gw_block_below *to = s->below + column->below;
        for (int o = n; o < k->below_count && column->active > 0; o++) {
            const gw_block_below *d = &s->below[k->below + o];
            const gw_closure_block *row = &s->blocks[d->block];
            if (row->active == 0)
                continue;
            double *block = s->delassus + column->diagonal;
            if (o > n) {
                while (to->block != d->block)
                    to++;
                block = s->delassus + to->at;
            }
            for (int i = 0; i < row->active; i++)
                for (int j = 0; j < (o > n ? column->active : i + 1); j++) {
                    const double *x = s->factor + d->at + i * m, *y = s->factor + e->at + j * m;
                    double sum = 0;
                    for (int at = 0; at < k->rank; at++)
                        sum += x[at] * y[at];
                    block[i * column->rows + j] -= sum;
                }
        }
    }
}

/* ---- the dense operator --------------------------------------------------------------------- */

static void assemble_dense(gw_system *s)
{
    int m = 0;
    assemble_blocks(s);
    for (int i = 0; i < s->block_count; i++)
        for (int r = 0; r < s->blocks[i].active; r++)
            s->dense_rows[m++] = s->blocks[i].first + r;
    s->dense_count = m;
    memset(s->dense, 0, (size_t)(m * m) * sizeof *s->dense);
    /* index of each row among the active ones */
    int *at = s->dense_order;
    for (int i = 0; i < m; i++)
        at[s->dense_rows[i]] = i;
    for (int i = 0; i < s->block_count; i++) {
        const gw_closure_block *c = &s->blocks[i];
        for (int n = -1; n < c->below_count; n++) {
            const gw_block_below *below = n < 0 ? NULL : &s->below[c->below + n];
            const gw_closure_block *d = below ? &s->blocks[below->block] : c;
            const double *block = s->delassus + (below ? below->at : c->diagonal);
            for (int r = 0; r < d->active; r++)
                for (int q = 0; q < (below ? c->active : r + 1); q++) {
                    int row = at[d->first] + r, column = at[c->first] + q;
                    s->dense[row * m + column] = block[r * c->rows + q];
                    s->dense[column * m + row] = block[r * c->rows + q];
                }
        }
    }
}

/* Cholesky factorisation with pivoting by the largest relative remainder among all rows, weak rows
 * last. */
static void factor_dense(gw_system *s)
{
    assemble_dense(s);
    int m = s->dense_count, *order = s->dense_order;
    const double *k = s->dense;
    double *l = s->dense + m * m;
    s->rank = s->firm = 0;
    for (int i = 0; i < m; i++)
        order[i] = i;
    for (int at = 0; at < m; at++) {
        int best = -1;
        bool firm = false;
        double left = same_row(s);
        for (int i = at; i < m; i++) {
            int r = order[i];
            double d = k[r * m + r], rest = d;
            for (int j = 0; j < at; j++)
                rest -= l[r * m + j] * l[r * m + j];
            bool as_firm = !is_weak(s, s->dense_rows[r], rest);
            if (as_firm == firm ? rest / d > left : as_firm)
                left = rest / d, best = i, firm = as_firm;
        }
        if (best < 0)
            break;
        int r = order[best];
        order[best] = order[at];
        order[at] = r;
        s->margin = fmin(s->margin, left);
        double pivot = sqrt(left * k[r * m + r]);
        l[r * m + at] = pivot;
        for (int i = at + 1; i < m; i++) {
            int q = order[i];
            double sum = k[q * m + r];
            for (int j = 0; j < at; j++)
                sum -= l[q * m + j] * l[r * m + j];
            l[q * m + at] = sum / pivot;
        }
        s->rank = at + 1;
        s->firm += firm;
    }
}

/* x of the independent rows := L_I^-1 z; z of the dependent ones: less L_D x. */
static void forward_dense(const gw_system *s, double *z, double *x)
{
    int m = s->dense_count;
    const double *l = s->dense + m * m;
    const int *rows = s->dense_rows, *order = s->dense_order;
    for (int i = 0; i < m; i++) {
        int r = order[i];
        double sum = z[rows[r]];
        for (int j = 0; j < i && j < s->rank; j++)
            sum -= l[r * m + j] * x[rows[order[j]]];
        if (i < s->rank)
            x[rows[r]] = sum / l[r * m + i];
        else
            z[rows[r]] = sum;
    }
}

/* x of the independent rows := L_I^-T (x - L_D^T x of the dependent ones). */
static void backward_dense(const gw_system *s, double *x)
{
    int m = s->dense_count;
    const double *l = s->dense + m * m;
    const int *rows = s->dense_rows, *order = s->dense_order;
    for (int i = s->rank - 1; i >= 0; i--) {
        int r = order[i];
        double sum = x[rows[r]];
        for (int j = i + 1; j < m; j++)
            sum -= l[order[j] * m + i] * x[rows[order[j]]];
        x[rows[r]] = sum / l[r * m + i];
    }
}

/* ---- factors and solution ------------------------------------------------------------------- */

/* K_ii of a row if its bodies had no joints (translation only). */
static double loose_motion(const gw_system *s, const gw_closure_block *k)
{
    return (k->a >= 0 ? 1 / s->bodies[k->a].def.mass.mass : 0) +
           (k->b >= 0 ? 1 / s->bodies[k->b].def.mass.mass : 0);
}

double gw_closures_least_motion(const gw_system *s)
{
    double least = 1;
    for (int i = 0; i < s->closure_count; i++) {
        const gw_closure_block *k = &s->blocks[i];
        for (int r = 0; r < k->active; r++)
            least = fmin(least, s->share[k->first + r] / loose_motion(s, k));
    }
    return least;
}

/* Largest K_ii of a block's row that counts as without effect on joints. At a singular posture it
 * is relative to the motion of the row's bodies without joints, so that rows of heavy bodies are
 * kept beside closures of lighter ones. */
static double no_row(const gw_system *s, const gw_closure_block *k, double most)
{
    double rounding = NO_ROW_AT_ALL / s->total_mass;
    if (k - s->blocks >= s->closure_count)
        return 0;
    if (s->no_row == GW_NO_ROW)
        return fmax(s->no_row * most, rounding);
    return fmax(fmax(GW_NO_ROW * most, rounding), s->no_row * fmin(loose_motion(s, k), most));
}

/* x_k and K_ii of the rows requested, without those that have no effect on joints. */
static void pull_all_rows(gw_system *s, gw_active_rows which)
{
    double most = 0;
    for (int i = 0; i < s->block_count; i++) {
        gw_closure_block *k = &s->blocks[i];
        bool spring = i >= s->closure_count;
        k->asked = spring                          ? (which == GW_ROWS_WITH_SPRINGS ? k->rows : 0)
                   : which == GW_ROWS_OF_POSITIONS ? k->position_rows
                                                   : k->rows;
        pull_rows(s, k);
        for (int r = 0; r < k->active && !spring; r++)
            most = fmax(most, s->share[k->first + r]);
    }
    s->active_rows = 0;
    for (int i = 0; i < s->block_count; i++) {
        gw_closure_block *k = &s->blocks[i];
        bool spring = i >= s->closure_count;
        keep_live_rows(s, k, no_row(s, k, most));
        for (int r = 0; r < k->active; r++)
            s->loose[k->first + r] = spring ? 0 : fmin(loose_motion(s, k), most);
        s->active_rows += k->active;
        for (int r = 0; r < k->active && spring; r++)
            s->share[k->first + r] += 1;
    }
}

void gw_closures_factor(gw_system *s, gw_active_rows which)
{
    s->rank = s->firm = 0;
    s->is_dense = s->null_factored = false;
    s->margin = 1;
    if (s->block_count == 0)
        return;
    pull_all_rows(s, which);
    if (s->active_rows == 0)
        return;
    /* it stays 0 for dependent rows */
    memset(s->solution, 0, (size_t)(s->solution - s->right) * sizeof *s->solution);
    assemble_blocks(s);
    for (int turn = 0; turn < s->block_count; turn++) {
        gw_closure_block *k = &s->blocks[s->elimination[turn]];
        if (!factor_diagonal(s, k)) {
            s->is_dense = true;
            s->margin = 1;
            factor_dense(s);
            return;
        }
        eliminate_block(s, k);
        s->rank += k->rank;
    }
    s->firm = s->rank;
}

/* The same by the factors in blocks, per active row of each block. */
static void forward_blocks(const gw_system *s, double *z, double *x)
{
    for (int turn = 0; turn < s->block_count; turn++) {
        const gw_closure_block *k = &s->blocks[s->elimination[turn]];
        const double *l = s->factor + k->diagonal;
        const int *pivots = s->pivots + k->first;
        int m = k->rows;
        if (k->active == 0)
            continue;
        for (int i = 0; i < k->active; i++) {
            double sum = z[k->first + pivots[i]];
            for (int j = 0; j < i && j < k->rank; j++)
                sum -= l[pivots[i] * m + j] * x[k->first + pivots[j]];
            if (i < k->rank)
                x[k->first + pivots[i]] = sum / l[pivots[i] * m + i];
            else
                z[k->first + pivots[i]] = sum;
        }
        for (int n = 0; n < k->below_count; n++) {
            const gw_block_below *below = &s->below[k->below + n];
            const gw_closure_block *d = &s->blocks[below->block];
            for (int i = 0; i < d->active; i++)
                for (int at = 0; at < k->rank; at++)
                    z[d->first + i] -= s->factor[below->at + i * m + at] * x[k->first + pivots[at]];
        }
    }
}

static void backward_blocks(const gw_system *s, double *x)
{
    for (int turn = s->block_count - 1; turn >= 0; turn--) {
        const gw_closure_block *k = &s->blocks[s->elimination[turn]];
        const double *l = s->factor + k->diagonal;
        const int *pivots = s->pivots + k->first;
        int m = k->rows;
        for (int at = k->rank - 1; at >= 0; at--) {
            double sum = x[k->first + pivots[at]];
            for (int n = 0; n < k->below_count; n++) {
                const gw_block_below *below = &s->below[k->below + n];
                const gw_closure_block *d = &s->blocks[below->block];
                for (int i = 0; i < d->active; i++)
                    sum -= s->factor[below->at + i * m + at] * x[d->first + i];
            }
            for (int j = at + 1; j < k->active; j++)
                sum -= l[pivots[j] * m + at] * x[k->first + pivots[j]];
            x[k->first + pivots[at]] = sum / l[pivots[at] * m + at];
        }
    }
}

void gw_closures_forward(const gw_system *s, double *z, double *x)
{
    if (s->is_dense)
        forward_dense(s, z, x);
    else
        forward_blocks(s, z, x);
}

void gw_closures_backward(const gw_system *s, double *x)
{
    if (s->is_dense)
        backward_dense(s, x);
    else
        backward_blocks(s, x);
}

void gw_closures_solve(gw_system *s)
{
    gw_closures_forward(s, s->right, s->solution);
    gw_closures_backward(s, s->solution);
}
