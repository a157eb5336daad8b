/*
 * Poles of free-form surfaces: an edge that is one point, about which the surface closes.
 * Parameters are polar coordinates there; about a pole the surface is also a height over its
 * tangent plane,
 *
 *   S = O + x e1 + y e2 + h(x, y) n,      e1 x e2 = n, the normal at the pole O
 *
 * with coordinates x, y (m) that are regular at the pole. The same is used at other points where
 * the parameters are not smooth. Any thread, RT safe, except for the creation.
 */
#ifndef GW_GEOMETRY_NURBS_POLE_H
#define GW_GEOMETRY_NURBS_POLE_H

#include "rt/geometry/nurbs.h"

#define GW_POLE_MERIDIANS 32  /* samples round a pole */
#define GW_POLE_SERVES    0.9 /* of `reach`: farther out x and y are not used */

/* The tangent plane at a pole of a surface. */
typedef struct gw_tangent_plane {
    gw_vec3 point, e1, e2, n;
    double reach; /* |(x, y)| up to which there is a height (m) */
    const struct gw_nurbs_pole *pole;
} gw_tangent_plane;

typedef struct gw_nurbs_pole {
    gw_tangent_plane plane;
    int out;          /* the direction that runs away from the pole */
    double sign;      /* 1 or -1: the way it runs */
    double end;       /* its parameter at the pole */
    double near;      /* distance (parameter) within which x and y are the better coordinates */
    double second[3]; /* h_xx, h_xy, h_yy at the pole */
    double third[4];  /* h_xxx, h_xxy, h_xyy, h_yyy */
    double fourth[5]; /* h_xxxx, h_xxxy, .. */
    double azimuth[GW_POLE_MERIDIANS + 1]; /* of the meridians at the pole, at equal steps round */
    double speed[GW_POLE_MERIDIANS + 1];   /* |dS / d parameter| along them at the pole */
} gw_nurbs_pole;

/* Finds the poles of a surface that have a tangent plane, and sets its `pole`; false if memory is
 * exhausted. All other members must be complete. Not RT safe. */
bool gw_nurbs_make_poles(gw_nurbs *surface);

/* True if there are poles, near which charts use x and y in place of the parameters. */
bool gw_nurbs_has_poles(const gw_nurbs *nurbs);

/* The pole near these parameters, if x and y, which are set, are the better coordinates; or NULL.
 * Where the surface bends unevenly about the pole, parameters near it may be out of `reach`. */
const gw_nurbs_pole *gw_nurbs_pole_near(const gw_nurbs *surface, const double parameter[2],
                                        double xy[2]);

/* The better coordinates at these parameters: x and y about a near pole, whose plane is returned;
 * or the parameters themselves, with NULL. */
const gw_tangent_plane *gw_nurbs_coordinates(const gw_nurbs *nurbs, const double parameter[2],
                                             double coordinates[2]);

/*
 * The parameters at x and y, within the domain or past an edge, and the point there with d[k][l]
 * the derivatives by x and y to `order` (0 to GW_NURBS_ORDER); `point` may be NULL. False if there
 * is no such point; the result is then a point near by.
 */
bool gw_tangent_plane_evaluate(const gw_nurbs *nurbs, const gw_tangent_plane *plane,
                               const double xy[2], int order, double parameter[2],
                               gw_nurbs_point *point);

#endif
