/*
 * The methods of the surface-constraints paper beside ours, on problems whose answers are known:
 * for the benchmark's table of what they cost and lose, and its test.
 */
#ifndef GW_TESTS_BENCH_BASELINE_H
#define GW_TESTS_BENCH_BASELINE_H

typedef struct baseline_result {
    double median, p99; /* us */
    double loss;        /* see each */
} baseline_result;

/* ---- the contact point's derivatives by the six motions of a body (section 5) ------------------
 */

typedef enum baseline_jacobian {
    BASELINE_EXACT,     /* common-normal equations */
    BASELINE_FORWARD,   /* first-order differences */
    BASELINE_CENTRAL,   /* eq. 7 */
    BASELINE_RICHARDSON /* of two central ones */
} baseline_jacobian;

/* A NURBS ball over another one; loss: the largest error, of what moves at all 1. */
baseline_result baseline_contact_jacobian(baseline_jacobian method);

/* ---- assembly from scattered parts (section 7) --------------------------------------------------
 */

typedef enum baseline_assembly {
    BASELINE_LM,       /* Levenberg and Marquardt's */
    BASELINE_GRADIENT, /* eq. 15 */
    BASELINE_NEWTON    /* eq. 14 */
} baseline_assembly;

/* A four-bar from 100 scatterings, each from one start; loss: the share that does not come
 * together. */
baseline_result baseline_four_bar(baseline_assembly method);

/* ---- orientation (section 7 and its appendix) ---------------------------------------------------
 */

typedef enum baseline_orientation {
    BASELINE_MANIFOLD,   /* ours: a guided body without constraints */
    BASELINE_QUATERNION, /* four coordinates, brought back to unit length after each step */
    BASELINE_EULER       /* yaw, pitch and roll */
} baseline_orientation;

/* A free body with moments of inertia 1, 2 and 3 that turns over, 10 s at 1 kHz, fourth-order
 * steps; time of a step. Loss: the angle from where it is then (rad). */
baseline_result baseline_spinning_body(baseline_orientation method);

#endif
