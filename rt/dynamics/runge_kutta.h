/*
 * The integrator's coefficients.
 *
 * For a weightless body that turns about one axis at most and slides on a plane, a line or a round
 * shape, the fourth-order formula of Fehlberg's pair (1969), five stages, keeps the energy over a
 * minute at 15 rad/s and 1 kHz within 1e-8. For tumbling and swinging bodies Butcher's sixth-order
 * formula (1964), seven stages, costs 40 % more and has a thousandth of the error. For fast chains
 * Cooper and Verner's eighth-order formula (1972), eleven stages, replaces two to four substeps of
 * sixth order; its stability region is as large (3 on the imaginary axis, 3.7 on the real one).
 */
#ifndef GW_DYNAMICS_RUNGE_KUTTA_H
#define GW_DYNAMICS_RUNGE_KUTTA_H

#define GW_RK_MAX_STAGES 11

typedef struct gw_tableau {
    int stages;
    double c[GW_RK_MAX_STAGES];
    double b[GW_RK_MAX_STAGES];
    /* Row i: weights of the preceding stages in stage i; row `stages` is b. */
    double a[GW_RK_MAX_STAGES + 1][GW_RK_MAX_STAGES];
    /* The same for positions of z'' = f, the square of the matrix a: z_i = c_i h z' + h^2 sum_j
     * aa_ij f_j. */
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

/* R: the root of 21. */
#define R 4.58257569495584000659

static const gw_tableau gw_cooper8 = {
    .stages = 11,
    .c = {0, 1. / 2, 1. / 2, (7 + R) / 14, (7 + R) / 14, 1. / 2, (7 - R) / 14, (7 - R) / 14, 1. / 2,
          (7 + R) / 14, 1},
    .b = {1. / 20, 0, 0, 0, 0, 0, 0, 49. / 180, 16. / 45, 49. / 180, 1. / 20},
    .a = {{0},
          {1. / 2},
          {1. / 4, 1. / 4},
          {1. / 7, (-7 - 3 * R) / 98, (21 + 5 * R) / 49},
          {(11 + R) / 84, 0, (18 + 4 * R) / 63, (21 - R) / 252},
          {(5 + R) / 48, 0, (9 + R) / 36, (-231 + 14 * R) / 360, (63 - 7 * R) / 80},
          {(10 - R) / 42, 0, (-432 + 92 * R) / 315, (633 - 145 * R) / 90, (-504 + 115 * R) / 70,
           (63 - 13 * R) / 35},
          {1. / 14, 0, 0, 0, (14 - 3 * R) / 126, (13 - 3 * R) / 63, 1. / 9},
          {1. / 32, 0, 0, 0, (91 - 21 * R) / 576, 11. / 72, (-385 - 75 * R) / 1152,
           (63 + 13 * R) / 128},
          {1. / 14, 0, 0, 0, 1. / 9, (-733 - 147 * R) / 2205, (515 + 111 * R) / 504,
           (-51 - 11 * R) / 56, (132 + 28 * R) / 245},
          {0, 0, 0, 0, (-42 + 7 * R) / 18, (-18 + 28 * R) / 45, (-273 - 53 * R) / 72,
           (301 + 53 * R) / 72, (28 - 28 * R) / 45, (49 - 7 * R) / 18},
          {1. / 20, 0, 0, 0, 0, 0, 0, 49. / 180, 16. / 45, 49. / 180, 1. / 20}},
    .aa = {{0},
           {0},
           {1. / 8},
           {(7 + R) / 98, (21 + 5 * R) / 196},
           {(49 + 9 * R) / 588, (10 + 2 * R) / 147, (4 + R) / 147},
           {(5 + R) / 96, (7 + 2 * R) / 84, (-7 - 2 * R) / 84, (7 - R) / 96},
           {(91 - 17 * R) / 588, (28 - 4 * R) / 147, (-21 - R) / 294, (-922 + 199 * R) / 420,
            (42 - 9 * R) / 20},
           {(7 - R) / 196, 0, (-63 + 13 * R) / 490, (87 - 20 * R) / 140, (-693 + 160 * R) / 1260,
            (63 - 13 * R) / 315},
           {1. / 64, 0, (21 - R) / 224, (-147 + 53 * R) / 640, (819 - 271 * R) / 2880,
            (-21 + R) / 224, (63 + 13 * R) / 1152},
           {(7 + R) / 196, 0, (-69 - 11 * R) / 490, (-27 - 19 * R) / 280, (27 + 19 * R) / 280,
            (468 + 82 * R) / 2205, (-3087 - 671 * R) / 7056, (399 + 87 * R) / 784},
           {0, 0, (84 + R) / 105, (-147 + 67 * R) / 120, (511 - 211 * R) / 360, (-11 - R) / 9,
            (301 + 65 * R) / 144, (-273 - 61 * R) / 144, (168 + 32 * R) / 315},
           {1. / 20, 0, 0, 0, 0, 0, 0, (49 + 7 * R) / 360, 8. / 45, (49 - 7 * R) / 360}},
};

#undef R

#endif
