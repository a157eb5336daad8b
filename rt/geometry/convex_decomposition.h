/*
 * Convex decomposition: a solid of triangles as convex pieces that fill it, for collision
 * detection. Any thread; not for use inside a tick.
 */
#ifndef GW_GEOMETRY_CONVEX_DECOMPOSITION_H
#define GW_GEOMETRY_CONVEX_DECOMPOSITION_H

#include "rt/geometry/mesh.h"

#define GW_MAX_CONVEX_PIECES 128 /* of a mesh, at most */

/*
 * Fills `pieces` with convex meshes whose union is the mesh, with one reference each; returns their
 * number. 0 if the mesh is open, if it needs more than GW_MAX_CONVEX_PIECES or too many triangles
 * (as with round holes), or if memory is exhausted.
 */
int gw_mesh_convex_decomposition(const gw_mesh *mesh, gw_mesh *pieces[GW_MAX_CONVEX_PIECES]);

#endif
