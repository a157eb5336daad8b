/*
 * Triangulation of a free-form surface, for collision detection. Any thread; allocates, not for use
 * inside a tick.
 */
#ifndef GW_GEOMETRY_NURBS_MESH_H
#define GW_GEOMETRY_NURBS_MESH_H

#include "rt/geometry/mesh.h"
#include "rt/geometry/nurbs.h"

/* Parameters (u, v) of a triangle's three corners; at a seam or a pole those of the triangle's
 * side.
 */
typedef double gw_corner_parameters[3][2];

/*
 * The triangles' corners lie on the surface, its knot lines included; their counter-clockwise side
 * is that of the normal S_u x S_v. The deviation from the surface is at most about 3e-4 of its
 * size, unless that would take more than some 48 cells along a direction. A surface that encloses a
 * volume becomes a closed mesh, oriented outwards.
 *
 * `parameters`, where it is not NULL: an entry for each triangle of the mesh, to be freed with
 * free(). A mesh with one reference; NULL with an error: as gw_mesh_create().
 */
gw_mesh *gw_nurbs_mesh(const gw_nurbs *surface, gw_corner_parameters **parameters, gw_error *error);

/*
 * Two surfaces with the same spans (gw_nurbs_same_spans()): sets part[k] to the ends, along u and
 * v, of a closed rectangle of parameters outside of which points and derivatives of both are the
 * same to the last bit. A closed direction belongs to it whole if its seam does; of equal surfaces
 * it is empty, part[k][0] > part[k][1].
 */
void gw_nurbs_changed_part(const gw_nurbs *a, const gw_nurbs *b, double part[2][2]);

#endif
