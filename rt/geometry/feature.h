/*
 * Features derived from a solid's shape: faces, edges, corners, axes, centres, symmetry planes.
 *
 *   box       +x .. -z (faces, normals outward), +x+y .. (edges along the free axis), +x+y+z ..
 *             (corners), mid-x .. (symmetry planes, normal +x ..), axis-x .., center
 *   cylinder  axis (+z), top, bottom (normals outward), mid (normal +z), center
 *   cone      axis (+z), base (normal -z), apex
 *   sphere    center
 *   mesh      center (of its volume)
 *   capsule   axis (+z), center, top, bottom (centres of its round ends)
 *   nurbs-curve    curve, start, end (points)
 *   nurbs-surface  surface; its edges u0, u1, v0, v1, curves, but for those that are one point
 *   compound  partN.feature
 *
 * Found by name as well, once they were made free-form ones: `surface` of a sphere, a cylinder (its
 * side) and a capsule; `top-rim`, `bottom-rim` of a cylinder, `base-rim` of a cone.
 *
 * Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_FEATURE_H
#define GW_GEOMETRY_FEATURE_H

#include "rt/geometry/element.h"
#include "rt/geometry/shape.h"

#define GW_FEATURE_NAME 24 /* longest derived name, "part63.mid-x", with room to spare */

/* Number of derived features of the shape. */
int gw_feature_count(const gw_shape *shape);

/* The i-th derived feature in the shape's frame and its name (GW_FEATURE_NAME bytes).
 * 0 <= i < gw_feature_count(). */
void gw_feature_at(const gw_shape *shape, int i, char *name, gw_element *element);

/* The feature called `name`; false when the shape has none of that name. */
bool gw_feature_find(const gw_shape *shape, const char *name, gw_element *element);

/* If the name is that of a primitive's round surface or rim ("surface", "part3.top-rim"), converts
 * it into a free-form one, unless that was done. Error (GW_FAILED): no memory. Not for use inside a
 * tick. */
bool gw_feature_make_surface(gw_shape *shape, const char *name, gw_error *error);

#endif
