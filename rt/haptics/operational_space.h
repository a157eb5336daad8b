/*
 * Directions that the model resists at the held frame (mechanisms V, eq. 14): the null space of
 * J_h^T, with linear rows divided by a length L before any singular value is taken.
 *
 *   J_s = diag(1/L, 1/L, 1/L, 1, 1, 1) J_h = U S V^T;  n_i: columns of U with weights w(s_i / s_1)
 *
 * Near a singularity the weight goes smoothly from 1 to 0, so P = sum w_i n_i n_i^T is a continuous
 * function of the configuration; or on and off at a threshold, as in the paper. RT safe.
 */
#ifndef GW_HAPTICS_OPERATIONAL_SPACE_H
#define GW_HAPTICS_OPERATIONAL_SPACE_H

#include "rt/dynamics/model.h"

typedef enum gw_direction_weighting { GW_WEIGHTS_SMOOTH, GW_WEIGHTS_ON_OFF } gw_direction_weighting;

typedef struct gw_resisted_def {
    double length;    /* L (m); 0: 0.05 */
    double threshold; /* of s_i / s_1: below, fully resisted; 0: 1e-3 */
    double fade;      /* smooth: fully free from fade * threshold on; 0: 10 */
    gw_direction_weighting weighting;
} gw_resisted_def;

typedef struct gw_resisted_directions {
    int count;              /* directions with a weight above zero */
    double direction[6][6]; /* unit vectors n_i in scaled coordinates (lengths by L) */
    double weight[6];
    double singular[6]; /* all six s_i, falling */
    double length;      /* L that was used */
} gw_resisted_directions;

/* Of a held frame whose Jacobian has these columns; the most resisted direction first. */
void gw_resisted_directions_of(const gw_resisted_def *def, int dof, const double (*jacobian)[6],
                               gw_resisted_directions *out);

/* What is left of a twist, or of a wrench, without its part along them: with P = sum w_i n_i n_i^T
 * and S = diag(1/L, 1/L, 1/L, 1, 1, 1), S^-1 (I - P) S twist and S (I - P) S^-1 wrench. The work of
 * a wrench in the one is that of the other in the twist. */
gw_twist gw_resisted_free_part_of_twist(const gw_resisted_directions *directions,
                                        const gw_twist *twist);
gw_wrench gw_resisted_free_part_of_wrench(const gw_resisted_directions *directions,
                                          const gw_wrench *wrench);

/* Lambda^-1 = J D^-1 P J^T of the model's held frame (mechanisms eq. 6), 6 x 6. */
void gw_operational_inverse_inertia(const gw_model *model, int dof, const double (*jacobian)[6],
                                    double out[6][6]);

/* The dynamically consistent inverse J-bar = D^-1 J^T Lambda, 6 entries (a row) for each
 * generalised velocity; false where Lambda^-1, its rows and columns scaled by L, has no inverse. */
bool gw_dynamically_consistent_inverse(const gw_model *model, int dof, const double (*jacobian)[6],
                                       double length, double (*out)[6]);

#endif
