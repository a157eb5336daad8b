/*
 * The methods of the surface-constraints paper and those of rt/, on problems with known answers:
 * time and error of each, for the benchmark's table and its test.
 */
#ifndef GW_TESTS_BENCH_BASELINE_H
#define GW_TESTS_BENCH_BASELINE_H

typedef struct baseline_result {
    double median, p99; /* us */
    double loss;        /* error, see each function */
} baseline_result;

/* ---- the contact point's derivatives by the six motions of a body (section 5) --------------- */

typedef enum baseline_jacobian {
    BASELINE_EXACT,     /* common-normal equations */
    BASELINE_FORWARD,   /* first-order differences */
    BASELINE_CENTRAL,   /* eq. 7 */
    BASELINE_RICHARDSON /* extrapolated from two central differences */
} baseline_jacobian;

/* A NURBS ball over another one; loss: the largest error of the derivatives (1, or m by a
 * rotation). */
baseline_result baseline_contact_jacobian(baseline_jacobian method);

/* ---- assembly from scattered parts (section 7) ---------------------------------------------- */

typedef enum baseline_assembly {
    BASELINE_LM,       /* Levenberg-Marquardt method */
    BASELINE_GRADIENT, /* eq. 15 */
    BASELINE_NEWTON    /* eq. 14 */
} baseline_assembly;

/* A four-bar from 100 scatterings, each from one start; loss: the fraction that is not
 * assembled. */
baseline_result baseline_four_bar(baseline_assembly method);

/* ---- orientation (section 7 and its appendix) ----------------------------------------------- */

typedef enum baseline_orientation {
    BASELINE_MANIFOLD,   /* rt/'s: a guided body without constraints */
    BASELINE_QUATERNION, /* a quaternion, normalised after each step */
    BASELINE_EULER       /* yaw, pitch and roll */
} baseline_orientation;

/* A free body with moments of inertia 1, 2 and 3 that turns over, 10 s at 1 kHz, fourth-order
 * steps; time of a step. Loss: the angle from the exact orientation at the end (rad). */
baseline_result baseline_spinning_body(baseline_orientation method);

#endif
