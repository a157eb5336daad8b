/*
 * Rows are eliminated in minimum-degree order, determined on the graph of blocks including the fill
 * of each elimination; column j of the factor L has the blocks of row j's neighbours at the time of
 * its elimination. All memory is allocated at creation.
 */
#include "rt/base/block_cholesky.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gw_block_matrix {
    int count, below_count;
    int *position; /* in the order of elimination, by row as the caller counts */
    int *start,
        *below; /* of column j: positions start[j] .. start[j + 1] of the rows below, rising */
    gw_block *diagonal, *block;               /* by position; as `below` */
    gw_block *diagonal_factor, *block_factor; /* the same of L */
    double *x;
};

/* ---- structure ------------------------------------------------------------------------------ */

/* The graph of blocks as rows of bits. */
typedef struct graph {
    int count, words;
    unsigned long *bits;
    int *degree; /* of rows that are left; -1: gone */
} graph;

static unsigned long *neighbour_bits(const graph *g, int i)
{
    return g->bits + (size_t)i * (size_t)g->words;
}

static void add_graph_edge(graph *g, int i, int k)
{
    neighbour_bits(g, i)[k / 64] |= 1ul << (k % 64);
    neighbour_bits(g, k)[i / 64] |= 1ul << (i % 64);
}

static bool are_neighbours(const graph *g, int i, int k)
{
    return neighbour_bits(g, i)[k / 64] >> (k % 64) & 1;
}

static int count_bits(const graph *g, int i)
{
    int sum = 0;
    for (int k = 0; k < g->words; k++)
        sum += __builtin_popcountl(neighbour_bits(g, i)[k]);
    return sum;
}

static int least_degree(const graph *g)
{
    int best = -1;
    for (int i = 0; i < g->count; i++)
        if (g->degree[i] >= 0 && (best < 0 || g->degree[i] < g->degree[best]))
            best = i;
    return best;
}

/* Eliminates row i: its neighbours become neighbours of one another. Its own bits remain, as the
 * rows of its column. */
static void eliminate_row(graph *g, int i)
{
    g->degree[i] = -1;
    for (int k = 0; k < g->count; k++) {
        if (!are_neighbours(g, i, k))
            continue;
        unsigned long *to = neighbour_bits(g, k);
        for (int w = 0; w < g->words; w++)
            to[w] |= neighbour_bits(g, i)[w];
        to[i / 64] &= ~(1ul << (i % 64));
        to[k / 64] &= ~(1ul << (k % 64));
        g->degree[k] = count_bits(g, k);
    }
}

static int compare_degrees(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Lists the columns from the rows' bits at their elimination. */
static void list_columns(gw_block_matrix *m, const graph *g, const int *order)
{
    int n = 0;
    for (int j = 0; j < m->count; j++) {
        m->start[j] = n;
        for (int k = 0; k < m->count; k++)
            if (are_neighbours(g, order[j], k))
                m->below[n++] = m->position[k];
        qsort(m->below + m->start[j], (size_t)(n - m->start[j]), sizeof *m->below, compare_degrees);
    }
    m->start[m->count] = n;
}

/* The order, and how many blocks there will be below the diagonal. */
static int find_order(gw_block_matrix *m, graph *g, int *order)
{
    int below = 0;
    for (int i = 0; i < m->count; i++)
        g->degree[i] = count_bits(g, i);
    for (int j = 0; j < m->count; j++) {
        order[j] = least_degree(g);
        below += g->degree[order[j]];
        m->position[order[j]] = j;
        eliminate_row(g, order[j]);
    }
    return below;
}

static bool take_structure(gw_block_matrix *m, graph *g, int *order)
{
    size_t n = (size_t)m->count + 1;
    m->position = calloc(n, sizeof *m->position);
    m->start = calloc(n, sizeof *m->start);
    m->diagonal = calloc(n, sizeof *m->diagonal);
    m->diagonal_factor = calloc(n, sizeof *m->diagonal_factor);
    m->x = calloc(n * GW_BLOCK, sizeof *m->x);
    if (!m->position || !m->start || !m->diagonal || !m->diagonal_factor || !m->x)
        return false;
    m->below_count = find_order(m, g, order);
    size_t below = (size_t)m->below_count + 1;
    m->below = calloc(below, sizeof *m->below);
    m->block = calloc(below, sizeof *m->block);
    m->block_factor = calloc(below, sizeof *m->block_factor);
    if (!m->below || !m->block || !m->block_factor)
        return false;
    list_columns(m, g, order);
    return true;
}

gw_block_matrix *gw_block_matrix_create(int count, const int (*pairs)[2], int pair_count)
{
    assert(count >= 0 && pair_count >= 0);
    graph g = {.count = count, .words = count / 64 + 1};
    gw_block_matrix *m = calloc(1, sizeof *m);
    int *order = calloc((size_t)count + 1, sizeof *order);
    g.bits = calloc(((size_t)count + 1) * (size_t)g.words, sizeof *g.bits);
    g.degree = calloc((size_t)count + 1, sizeof *g.degree);
    bool made = m && order && g.bits && g.degree;
    for (int i = 0; made && i < pair_count; i++) {
        assert(pairs[i][0] != pairs[i][1]);
        add_graph_edge(&g, pairs[i][0], pairs[i][1]);
    }
    if (made) {
        m->count = count;
        made = take_structure(m, &g, order);
    }
    free(order);
    free(g.bits);
    free(g.degree);
    if (made)
        return m;
    gw_block_matrix_destroy(m);
    return NULL;
}

void gw_block_matrix_destroy(gw_block_matrix *m)
{
    if (!m)
        return;
    free(m->position);
    free(m->start);
    free(m->below);
    free(m->diagonal);
    free(m->block);
    free(m->diagonal_factor);
    free(m->block_factor);
    free(m->x);
    free(m);
}

/* ---- values --------------------------------------------------------------------------------- */

double *gw_block_matrix_at(gw_block_matrix *m, int i, int k, bool *transposed)
{
    assert(i >= 0 && i < m->count && k >= 0 && k < m->count);
    int row = m->position[i], column = m->position[k];
    *transposed = row < column;
    if (row == column)
        return m->diagonal[row][0];
    if (*transposed) {
        int swap = row;
        row = column, column = swap;
    }
    for (int at = m->start[column]; at < m->start[column + 1]; at++)
        if (m->below[at] == row)
            return m->block[at][0];
    assert(!"a pair that create() was not given");
    return NULL;
}

void gw_block_matrix_clear(gw_block_matrix *m)
{
    assert(m);
    memset(m->diagonal, 0, (size_t)m->count * sizeof *m->diagonal);
    memset(m->block, 0, (size_t)m->below_count * sizeof *m->block);
}

double gw_block_matrix_largest(const gw_block_matrix *m)
{
    assert(m);
    double largest = 0;
    for (int j = 0; j < m->count; j++)
        for (int k = 0; k < GW_BLOCK; k++)
            largest = fmax(largest, m->diagonal[j][k][k]);
    return largest;
}

/* ---- factors -------------------------------------------------------------------------------- */

/* D = L L^T in place, the lower triangle. */
static void factor_block(gw_block d, double raise)
{
    for (int j = 0; j < GW_BLOCK; j++) {
        double pivot = d[j][j];
        for (int k = 0; k < j; k++)
            pivot -= d[j][k] * d[j][k];
        d[j][j] = sqrt(fmax(pivot, raise));
        for (int i = j + 1; i < GW_BLOCK; i++) {
            double s = d[i][j];
            for (int k = 0; k < j; k++)
                s -= d[i][k] * d[j][k];
            d[i][j] = s / d[j][j];
        }
    }
}

/* B = B L^-T. */
static void divide_block(gw_block b, gw_block l)
{
    for (int i = 0; i < GW_BLOCK; i++)
        for (int j = 0; j < GW_BLOCK; j++) {
            double s = b[i][j];
            for (int k = 0; k < j; k++)
                s -= b[i][k] * l[j][k];
            b[i][j] = s / l[j][j];
        }
}

/* C = C - A B^T. */
static void subtract_product(gw_block c, gw_block a, gw_block b)
{
    for (int i = 0; i < GW_BLOCK; i++)
        for (int j = 0; j < GW_BLOCK; j++) {
            double s = 0;
            for (int k = 0; k < GW_BLOCK; k++)
                s += a[i][k] * b[j][k];
            c[i][j] -= s;
        }
}

void gw_block_matrix_factor(gw_block_matrix *m, double raise)
{
    assert(raise > 0);
    memcpy(m->diagonal_factor, m->diagonal, (size_t)m->count * sizeof *m->diagonal);
    memcpy(m->block_factor, m->block, (size_t)m->below_count * sizeof *m->block);
    for (int j = 0; j < m->count; j++)
        for (int k = 0; k < GW_BLOCK; k++)
            m->diagonal_factor[j][k][k] += raise;
    for (int j = 0; j < m->count; j++) {
        int first = m->start[j], end = m->start[j + 1];
        factor_block(m->diagonal_factor[j], raise);
        for (int at = first; at < end; at++)
            divide_block(m->block_factor[at], m->diagonal_factor[j]);
        /* contributions of column j to the columns of its rows */
        for (int k = first; k < end; k++) {
            int column = m->below[k], to = m->start[column];
            subtract_product(m->diagonal_factor[column], m->block_factor[k], m->block_factor[k]);
            for (int i = k + 1; i < end; i++) {
                while (m->below[to] != m->below[i])
                    to++;
                subtract_product(m->block_factor[to], m->block_factor[i], m->block_factor[k]);
            }
        }
    }
}

void gw_block_matrix_solve(gw_block_matrix *m, double *x)
{
    assert(m && x);
    for (int i = 0; i < m->count; i++)
        memcpy(m->x + GW_BLOCK * m->position[i], x + GW_BLOCK * i, GW_BLOCK * sizeof *x);
    for (int j = 0; j < m->count; j++) {
        double *own = m->x + GW_BLOCK * j;
        for (int i = 0; i < GW_BLOCK; i++) {
            for (int k = 0; k < i; k++)
                own[i] -= m->diagonal_factor[j][i][k] * own[k];
            own[i] /= m->diagonal_factor[j][i][i];
        }
        for (int at = m->start[j]; at < m->start[j + 1]; at++) {
            double *other = m->x + GW_BLOCK * m->below[at];
            for (int i = 0; i < GW_BLOCK; i++)
                for (int k = 0; k < GW_BLOCK; k++)
                    other[i] -= m->block_factor[at][i][k] * own[k];
        }
    }
    for (int j = m->count - 1; j >= 0; j--) {
        double *own = m->x + GW_BLOCK * j;
        for (int at = m->start[j]; at < m->start[j + 1]; at++) {
            const double *other = m->x + GW_BLOCK * m->below[at];
            for (int i = 0; i < GW_BLOCK; i++)
                for (int k = 0; k < GW_BLOCK; k++)
                    own[k] -= m->block_factor[at][i][k] * other[i];
        }
        for (int i = GW_BLOCK - 1; i >= 0; i--) {
            for (int k = i + 1; k < GW_BLOCK; k++)
                own[i] -= m->diagonal_factor[j][k][i] * own[k];
            own[i] /= m->diagonal_factor[j][i][i];
        }
    }
    for (int i = 0; i < m->count; i++)
        memcpy(x + GW_BLOCK * i, m->x + GW_BLOCK * m->position[i], GW_BLOCK * sizeof *x);
}
