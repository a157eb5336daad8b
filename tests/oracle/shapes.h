/*
 * Free-form curves and surfaces that random problems are stated with, each in every power of ten of
 * size from 1e-6 to 1e4: made when first asked for, kept until the process ends. Single-threaded.
 */
#ifndef GW_TESTS_ORACLE_SHAPES_H
#define GW_TESTS_ORACLE_SHAPES_H

#include "rt/geometry/nurbs.h"

#define SHAPE_SURFACES 11
#define SHAPE_COUNT    17 /* the surfaces, then the curves */

/* A shape about as large as 1 m. */
const gw_nurbs *shape_numbered(int which);

/* True if its tangent, or its normal, is continuous. */
bool shape_is_smooth(const gw_nurbs *shape);

/* The same shape as one of these, k (a power of ten) times as large. */
const gw_nurbs *shape_scaled(const gw_nurbs *shape, double k);

#endif
