/*
 * One-sided Jacobi: rotates pairs of columns until all are orthogonal; their norms are then the
 * singular values. Accurate to the last digits also where the matrix lacks rank, which is what
 * rank decisions need. Any thread, RT safe.
 */
#include "rt/base/small.h"

#include <math.h>

#define SWEEPS 24 /* converges in about six; the cap bounds the time */

/* Rotates columns i and j of the rows x 6 matrix by (c, s). */
static void rotate_columns(int rows, double (*a)[6], int i, int j, double c, double s)
{
    for (int k = 0; k < rows; k++) {
        double x = a[k][i], y = a[k][j];
        a[k][i] = c * x - s * y;
        a[k][j] = s * x + c * y;
    }
}

/* Makes columns i and j orthogonal; false where they already are. */
static int orthogonalise(int rows, double (*a)[6], double v[6][6], int i, int j)
{
    double ii = 0, jj = 0, ij = 0;
    for (int k = 0; k < rows; k++) {
        ii += a[k][i] * a[k][i];
        jj += a[k][j] * a[k][j];
        ij += a[k][i] * a[k][j];
    }
    if (fabs(ij) <= 1e-16 * sqrt(ii * jj) || ij == 0)
        return 0;
    /* tan(2 angle) = 2 ij / (jj - ii), the smaller root */
    double zeta = (jj - ii) / (2 * ij);
    double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t);
    rotate_columns(rows, a, i, j, c, c * t);
    rotate_columns(6, v, i, j, c, c * t);
    return 1;
}

static void swap_columns(int rows, double (*a)[6], int i, int j)
{
    for (int k = 0; k < rows; k++) {
        double x = a[k][i];
        a[k][i] = a[k][j];
        a[k][j] = x;
    }
}

/* Sorts columns by falling norm. */
static void sort_columns(int rows, double (*a)[6], double s[6], double v[6][6])
{
    for (int i = 0; i < 5; i++) {
        int best = i;
        for (int j = i + 1; j < 6; j++)
            if (s[j] > s[best])
                best = j;
        if (best == i)
            continue;
        double x = s[i];
        s[i] = s[best];
        s[best] = x;
        swap_columns(rows, a, i, best);
        swap_columns(6, v, i, best);
    }
}

void gw_small_svd(int rows, double (*a)[6], double s[6], double v[6][6])
{
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            v[i][j] = i == j;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        int rotations = 0;
        for (int i = 0; i < 5; i++)
            for (int j = i + 1; j < 6; j++)
                rotations += orthogonalise(rows, a, v, i, j);
        if (rotations == 0)
            break;
    }
    for (int j = 0; j < 6; j++) {
        double sum = 0;
        for (int k = 0; k < rows; k++)
            sum += a[k][j] * a[k][j];
        s[j] = sqrt(sum);
    }
    sort_columns(rows, a, s, v);
}

int gw_small_rank(const double s[6], double tolerance)
{
    int rank = 0;
    while (rank < 6 && s[rank] > tolerance * s[0] && s[rank] > 0)
        rank++;
    return rank;
}

/* x = sum over k < rank of v_k (u_k . b) / s_k, with us_k = s_k u_k */
void gw_small_solve(int rows, const double (*us)[6], const double s[6], const double v[6][6],
                    int rank, const double *b, double x[6])
{
    for (int i = 0; i < 6; i++)
        x[i] = 0;
    for (int k = 0; k < rank; k++) {
        double sum = 0;
        for (int r = 0; r < rows; r++)
            sum += us[r][k] * b[r];
        sum /= s[k] * s[k];
        for (int i = 0; i < 6; i++)
            x[i] += sum * v[i][k];
    }
}

static double dot6(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += a[i] * b[i];
    return sum;
}

int gw_small_orthonormalise(int count, double (*x)[6])
{
    int kept = 0;
    for (int j = 0; j < count; j++) {
        double y[6];
        for (int i = 0; i < 6; i++)
            y[i] = x[j][i];
        double before = sqrt(dot6(y, y));
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < kept; k++) {
                double c = dot6(y, x[k]);
                for (int i = 0; i < 6; i++)
                    y[i] -= c * x[k][i];
            }
        double norm = sqrt(dot6(y, y));
        if (norm <= GW_RANK_TOLERANCE * before || norm == 0)
            continue;
        for (int i = 0; i < 6; i++)
            x[kept][i] = y[i] / norm;
        kept++;
    }
    return kept;
}
