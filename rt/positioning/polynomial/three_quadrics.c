/*
 * The common points of three quadrics in P^3: eight, or a curve. Any thread, RT safe.
 *
 * The products of the quadrics with the ten monomials of degree two are 30 equations in the 35
 * monomials of degree four, of rank 27 where the points are finite in number (Macaulay). With the
 * null space N (35 x 8), and N_u the 20 rows that u(e) times a monomial of degree three makes,
 *
 *   N_v c = lambda N_u c,   lambda = v(e) / u(e),   N c = the monomials of a root
 *
 * for any two linear forms u and v: an eigenproblem of size eight (Stetter; Auzinger and Stetter
 * 1988).
 */
#include <string.h>

#include "rt/positioning/polynomial/quaternion_equations.h"

#define MONOMIALS 35
#define ROOTS     8
#define RANK      (MONOMIALS - ROOTS)
#define TINY      1e-10 /* pivots below this are zero: the quadrics are of unit size */

/* Index of the monomial e_i e_j e_k e_l, 0 .. 34, in the combinatorial number system. */
static int quartic_index(int i, int j, int k, int l)
{
    static const int four[] = {0, 1, 5, 15}, three[] = {0, 1, 4, 10}, two[] = {0, 1, 3, 6};
    int a[4] = {i, j, k, l};
    for (int n = 1; n < 4; n++)
        for (int m = n; m > 0 && a[m] < a[m - 1]; m--) {
            int x = a[m];
            a[m] = a[m - 1], a[m - 1] = x;
        }
    return four[a[3]] + three[a[2]] + two[a[1]] + a[0];
}

/* The 30 equations. Quadric entries in the order 00 01 02 03 11 12 13 22 23 33. */
static void build_equations(const double (*q)[GW_MONOMIALS], double (*a)[MONOMIALS])
{
    int row = 0;
    memset(a, 0, 30 * sizeof *a);
    for (int n = 0; n < 3; n++)
        for (int i = 0; i < 4; i++)
            for (int j = i; j < 4; j++, row++)
                for (int k = 0, at = 0; k < 4; k++)
                    for (int l = k; l < 4; l++, at++)
                        a[row][quartic_index(i, j, k, l)] += q[n][at];
}

/* Row reduction with full pivoting; order[] has the pivots' columns, then the others. Returns the
 * rank, at most `most`. */
static int reduce_rows(int rows, int columns, int stride, double *a, int most, int *order)
{
    for (int i = 0; i < columns; i++)
        order[i] = i;
    for (int n = 0; n < most; n++) {
        int row = n, at = n;
        double largest = 0;
        for (int i = n; i < rows; i++)
            for (int k = n; k < columns; k++)
                if (fabs(a[i * stride + order[k]]) > largest)
                    largest = fabs(a[i * stride + order[k]]), row = i, at = k;
        if (largest < TINY)
            return n;
        int column = order[at];
        order[at] = order[n], order[n] = column;
        for (int k = 0; k < stride; k++) {
            double x = a[row * stride + k];
            a[row * stride + k] = a[n * stride + k], a[n * stride + k] = x;
        }
        double inverse = 1 / a[n * stride + column];
        for (int k = 0; k < stride; k++)
            a[n * stride + k] *= inverse;
        for (int i = 0; i < rows; i++) {
            double m = a[i * stride + column];
            if (i == n || m == 0)
                continue;
            for (int k = 0; k < stride; k++)
                a[i * stride + k] -= m * a[n * stride + k];
        }
    }
    return most;
}

/* N, from the reduced equations; false if the null space has more than eight dimensions. */
static bool null_space(const double (*q)[GW_MONOMIALS], double (*n)[ROOTS])
{
    double a[30][MONOMIALS];
    int order[MONOMIALS];
    build_equations(q, a);
    if (reduce_rows(30, MONOMIALS, MONOMIALS, &a[0][0], RANK, order) < RANK)
        return false;
    memset(n, 0, MONOMIALS * sizeof *n);
    for (int k = 0; k < ROOTS; k++) {
        n[order[RANK + k]][k] = 1;
        for (int i = 0; i < RANK; i++)
            n[order[i]][k] = -a[i][order[RANK + k]];
    }
    return true;
}

/* X = N_u^-1 N_v, whose eigenvalues are lambda; false if u is zero at a root. */
static bool action_matrix(const double (*n)[ROOTS], double (*x)[ROOTS])
{
    static const double u[] = {0.61, -0.43, 0.37, 0.55}, v[] = {-0.29, 0.52, 0.71, -0.38};
    double a[20][2 * ROOTS] = {{0}};
    int order[ROOTS], row = 0;
    for (int i = 0; i < 4; i++)
        for (int j = i; j < 4; j++)
            for (int k = j; k < 4; k++, row++)
                for (int m = 0; m < 4; m++)
                    for (int c = 0; c < ROOTS; c++) {
                        double monomial = n[quartic_index(i, j, k, m)][c];
                        a[row][c] += u[m] * monomial;
                        a[row][ROOTS + c] += v[m] * monomial;
                    }
    if (reduce_rows(20, ROOTS, 2 * ROOTS, &a[0][0], ROOTS, order) < ROOTS)
        return false;
    for (int i = 0; i < ROOTS; i++)
        memcpy(x[order[i]], a[i] + ROOTS, sizeof x[0]);
    return true;
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

/* To Hessenberg form by elimination with pivots, which keeps the eigenvalues. */
static void to_hessenberg(double (*x)[ROOTS], gw_complex (*h)[ROOTS])
{
    for (int k = 1; k + 1 < ROOTS; k++) {
        int p = k;
        for (int i = k + 1; i < ROOTS; i++)
            p = fabs(x[i][k - 1]) > fabs(x[p][k - 1]) ? i : p;
        if (x[p][k - 1] == 0)
            continue;
        for (int j = 0; j < ROOTS; j++) {
            double y = x[p][j];
            x[p][j] = x[k][j], x[k][j] = y;
        }
        for (int i = 0; i < ROOTS; i++) {
            double y = x[i][p];
            x[i][p] = x[i][k], x[i][k] = y;
        }
        for (int i = k + 1; i < ROOTS; i++) {
            double m = x[i][k - 1] / x[k][k - 1];
            for (int j = 0; j < ROOTS; j++)
                x[i][j] -= m * x[k][j];
            for (int j = 0; j < ROOTS; j++)
                x[j][k] += m * x[j][i];
        }
    }
    for (int i = 0; i < ROOTS; i++)
        for (int j = 0; j < ROOTS; j++)
            h[i][j] = x[i][j];
}

/* The eigenvalue of the last 2 x 2 block that is nearer to the last entry (Wilkinson's shift). */
static gw_complex shift_of(gw_complex (*h)[ROOTS], int last)
{
    gw_complex a = h[last - 1][last - 1], b = h[last - 1][last], c = h[last][last - 1],
               d = h[last][last];
    gw_complex half = 0.5 * (a - d), root = csqrt(half * half + b * c);
    gw_complex one = d + half + root, other = d + half - root;
    return cabs(one - d) < cabs(other - d) ? one : other;
}

/* One step of the QR method on rows first .. last: H - s = Q R, H = R Q + s. */
static void rotate_once(gw_complex (*h)[ROOTS], int first, int last, gw_complex s)
{
    gw_complex cosine[ROOTS], sine[ROOTS];
    for (int i = first; i <= last; i++)
        h[i][i] -= s;
    for (int k = first; k < last; k++) {
        double r = sqrt(creal(h[k][k] * conj(h[k][k])) + creal(h[k + 1][k] * conj(h[k + 1][k])));
        cosine[k] = r > 0 ? h[k][k] / r : 1;
        sine[k] = r > 0 ? h[k + 1][k] / r : 0;
        for (int j = k; j <= last; j++) {
            gw_complex x = h[k][j], y = h[k + 1][j];
            h[k][j] = conj(cosine[k]) * x + conj(sine[k]) * y;
            h[k + 1][j] = cosine[k] * y - sine[k] * x;
        }
    }
    for (int k = first; k < last; k++)
        for (int i = first; i <= k + 1; i++) {
            gw_complex x = h[i][k], y = h[i][k + 1];
            h[i][k] = x * cosine[k] + y * sine[k];
            h[i][k + 1] = y * conj(cosine[k]) - x * conj(sine[k]);
        }
    for (int i = first; i <= last; i++)
        h[i][i] += s;
}

static bool action_eigenvalues(double (*x)[ROOTS], gw_complex lambda[ROOTS])
{
    gw_complex h[ROOTS][ROOTS];
    int last = ROOTS - 1, tries = 0;
    to_hessenberg(x, h);
    while (last >= 0) {
        int first = last;
        while (first > 0 && cabs(h[first][first - 1]) >
                                1e-16 * (cabs(h[first][first]) + cabs(h[first - 1][first - 1])))
            first--;
        if (first == last) {
            lambda[last] = h[last][last];
            last--, tries = 0;
            continue;
        }
        if (++tries > 60)
            return false;
        gw_complex s =
            tries % 11 == 10 ? h[last][last] + cabs(h[last][last - 1]) : shift_of(h, last);
        rotate_once(h, first, last, s);
    }
    return true;
}

/* Solves (X - lambda) c = b in place of b, by elimination; pivots below 1e-15 are set to 1e-15. */
static void solve_shifted(const double (*x)[ROOTS], gw_complex lambda, gw_complex *b)
{
    gw_complex a[ROOTS][ROOTS + 1];
    for (int i = 0; i < ROOTS; i++) {
        for (int j = 0; j < ROOTS; j++)
            a[i][j] = x[i][j] - (i == j ? lambda : 0);
        a[i][ROOTS] = b[i];
    }
    for (int k = 0; k < ROOTS; k++) {
        int p = k;
        for (int i = k + 1; i < ROOTS; i++)
            p = cabs(a[i][k]) > cabs(a[p][k]) ? i : p;
        for (int j = 0; j <= ROOTS; j++) {
            gw_complex y = a[p][j];
            a[p][j] = a[k][j], a[k][j] = y;
        }
        if (cabs(a[k][k]) < 1e-15)
            a[k][k] = 1e-15;
        for (int i = k + 1; i < ROOTS; i++) {
            gw_complex m = a[i][k] / a[k][k];
            for (int j = k + 1; j <= ROOTS; j++)
                a[i][j] -= m * a[k][j];
        }
    }
    for (int k = ROOTS - 1; k >= 0; k--) {
        b[k] = a[k][ROOTS];
        for (int j = k + 1; j < ROOTS; j++)
            b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
}

/* e from the monomials N c of an eigenvector, found by inverse iteration. */
static void root_of(const double (*x)[ROOTS], const double (*n)[ROOTS], gw_complex lambda,
                    gw_complex e[4])
{
    gw_complex c[ROOTS], power[4];
    for (int i = 0; i < ROOTS; i++)
        c[i] = 1 + 0.3 * i;
    for (int pass = 0; pass < 2; pass++) {
        double most = 0;
        solve_shifted(x, lambda, c);
        for (int i = 0; i < ROOTS; i++)
            most = fmax(most, cabs(c[i]));
        for (int i = 0; i < ROOTS; i++)
            c[i] /= most;
    }
    int best = 0;
    for (int i = 0; i < 4; i++) {
        power[i] = 0;
        for (int k = 0; k < ROOTS; k++)
            power[i] += n[quartic_index(i, i, i, i)][k] * c[k];
        best = cabs(power[i]) > cabs(power[best]) ? i : best;
    }
    for (int i = 0; i < 4; i++) {
        e[i] = 0;
        for (int k = 0; k < ROOTS; k++)
            e[i] += n[quartic_index(best, best, best, i)][k] * c[k];
        e[i] /= power[best];
    }
}

bool gw_three_quadrics_roots(const double (*quadrics)[GW_MONOMIALS], gw_complex (*e)[4])
{
    double n[MONOMIALS][ROOTS], x[ROOTS][ROOTS], used[ROOTS][ROOTS];
    gw_complex lambda[ROOTS];
    if (!null_space(quadrics, n) || !action_matrix((const double(*)[ROOTS])n, x))
        return false;
    memcpy(used, x, sizeof used);
    if (!action_eigenvalues(used, lambda))
        return false;
    for (int i = 0; i < ROOTS; i++)
        root_of((const double(*)[ROOTS])x, (const double(*)[ROOTS])n, lambda[i], e[i]);
    return true;
}
