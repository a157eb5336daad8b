/*
 * Fixed points x = g(x) by Anderson's acceleration (fixed_point.c). Inside of rt/dynamics; RT safe
 * but for init and free.
 */
#ifndef GW_DYNAMICS_FIXED_POINT_H
#define GW_DYNAMICS_FIXED_POINT_H

#include <stdbool.h>

#define GW_FIXED_POINT_MEMORY 5 /* former iterations that are taken into account */

/* An iteration of up to `most` numbers; vectors of `size` follow one another. */
typedef struct gw_fixed_point {
    int most, size, count;      /* count: of iterations */
    double *image, *residual;   /* the last g(x), and g(x) - x; */
    double *images, *residuals; /* their former changes, the last one first */
    double *basis;              /* scratch */
} gw_fixed_point;

/* False if memory is short. */
bool gw_fixed_point_init(gw_fixed_point *iteration, int most);
void gw_fixed_point_free(gw_fixed_point *iteration);

/* Begins an iteration of vectors of `size` numbers. */
void gw_fixed_point_begin(gw_fixed_point *iteration, int size);

/* Replaces x by the next argument, with g its image. Returns the largest |g - x|. */
double gw_fixed_point_next(gw_fixed_point *iteration, double *x, const double *g);

#endif
