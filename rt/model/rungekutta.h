/*
 * The integrator's coefficients.
 *
 * Where a weightless body turns about one axis at most and slides along something flat or round,
 * the fourth-order formula of Fehlberg's pair (1969), five stages, keeps the energy of a minute at
 * 15 rad/s and 1 kHz within 1e-8. Tumbling and swinging bodies need more: Butcher's sixth-order
 * formula (1964) with seven stages costs 40 % more and leaves a thousandth of the error.
 */
#ifndef GW_MODEL_RUNGEKUTTA_H
#define GW_MODEL_RUNGEKUTTA_H

#define GW_RK_MAX_STAGES 7

typedef struct gw_tableau {
    int stages;
    double c[GW_RK_MAX_STAGES];
    double b[GW_RK_MAX_STAGES];
    /* Row i holds what stage i takes of the stages before it; row `stages` is b. */
    double a[GW_RK_MAX_STAGES + 1][GW_RK_MAX_STAGES];
    /* The same for positions of z'' = f: a a, so that z_i = c_i h z' + h^2 sum_j aa_ij f_j. */
    double aa[GW_RK_MAX_STAGES + 1][GW_RK_MAX_STAGES];
} gw_tableau;

static const gw_tableau gw_kutta4 = {
    .stages = 4,
    .c = {0, 1. / 2, 1. / 2, 1},
    .b = {1. / 6, 1. / 3, 1. / 3, 1. / 6},
    .a = {{0}, {1. / 2}, {0, 1. / 2}, {0, 0, 1}, {1. / 6, 1. / 3, 1. / 3, 1. / 6}},
    .aa = {{0}, {0}, {1. / 4}, {0, 1. / 2}, {1. / 6, 1. / 6, 1. / 6}},
};

static const gw_tableau gw_fehlberg4 = {
    .stages = 5,
    .c = {0, 1. / 4, 3. / 8, 12. / 13, 1},
    .b = {25. / 216, 0, 1408. / 2565, 2197. / 4104, -1. / 5},
    .a = {{0},
          {1. / 4},
          {3. / 32, 9. / 32},
          {1932. / 2197, -7200. / 2197, 7296. / 2197},
          {439. / 216, -8, 3680. / 513, -845. / 4104},
          {25. / 216, 0, 1408. / 2565, 2197. / 4104, -1. / 5}},
    .aa = {{0},
           {0},
           {9. / 128},
           {-1116. / 2197, 2052. / 2197},
           {-353. / 234, 35. / 13, -80. / 117},
           {25. / 216, 0, 176. / 513, 169. / 4104}},
};

static const gw_tableau gw_butcher6 = {
    .stages = 7,
    .c = {0, 1. / 3, 2. / 3, 1. / 3, 1. / 2, 1. / 2, 1},
    .b = {11. / 120, 0, 27. / 40, 27. / 40, -4. / 15, -4. / 15, 11. / 120},
    .a = {{0},
          {1. / 3},
          {0, 2. / 3},
          {1. / 12, 1. / 3, -1. / 12},
          {-1. / 16, 9. / 8, -3. / 16, -3. / 8},
          {0, 9. / 8, -3. / 8, -3. / 4, 1. / 2},
          {9. / 44, -9. / 11, 63. / 44, 18. / 11, 0, -16. / 11},
          {11. / 120, 0, 27. / 40, 27. / 40, -4. / 15, -4. / 15, 11. / 120}},
    .aa = {{0},
           {0},
           {2. / 9},
           {1. / 9, -1. / 18},
           {11. / 32, -1. / 4, 1. / 32},
           {9. / 32, 1. / 16, -1. / 32, -3. / 16},
           {-3. / 22, -3. / 22, 9. / 22, 12. / 11, -8. / 11},
           {11. / 120, 0, 9. / 40, 9. / 20, -2. / 15, -2. / 15}},
};

#endif
