/*
 * Feet (closest points) on free-form surfaces and contact points over them, shared by free_form.c
 * and free_form_features.c. RT safe.
 */
#ifndef GW_COLLISION_FREE_FORM_PRIVATE_H
#define GW_COLLISION_FREE_FORM_PRIVATE_H

#include "rt/collision/free_form.h"

#define GW_FREE_FORM_TRIANGLES 4096 /* near a point or a solid, at most */
#define GW_FREE_FORM_EDGED     128  /* of another surface, at its edges, at most */
#define GW_FREE_FORM_CONVERGED                                                                     \
    1e-10                         /* of the size: a step of Newton's method this short is last     \
                                   */
#define GW_FREE_FORM_SAME    1e-6 /* of the size: feet that are one */
#define GW_FREE_FORM_DEEPEST 0.25 /* of the solid's size: nothing is deeper, but beyond it */

#define GW_FREE_FORM_SAMPLES 9

/* Efforts (gw_pair_query) of a triangle in a list, of a foot by Newton's method, and with the
 * search for where that starts. */
#define GW_EFFORT_OF_LISTED 0.06
#define GW_EFFORT_OF_FOOT   1.0
#define GW_EFFORT_OF_SEARCH 2.0

/* Bounds by samples of the surface over a triangle. */
typedef struct gw_triangle_sample {
    double lean;      /* sine of what the surface's normals make with the triangle's */
    double deviation; /* from the triangle (m) */
    double sag;       /* from its plane (m) */
    double along;     /* cosine between the normals in the middle */
    double speed;     /* least |S_u| and |S_v| times the domain's length (m) */
} gw_triangle_sample;

struct gw_free_form {
    atomic_int references;
    gw_nurbs *surface;
    gw_trimesh *trimesh;
    const gw_mesh *mesh;              /* of that */
    gw_corner_parameters *parameters; /* by triangle */
    gw_vec3 *normals;                 /* of the triangles */
    gw_triangle_sample *sampled;      /* by triangle */
    double *lean;                     /* sine of what the surface's normals make with these, about a
                                         triangle; 1 at a border */
    double outward;                   /* of S_u x S_v: 1 or -1 */
    double deviation;
    gw_vec3 samples[GW_FREE_FORM_SAMPLES]; /* points all over it */
    double sag; /* largest distance of the surface from the triangles' planes (m; sampled) */
};

static inline gw_vec3 gw_triangle_corner(const gw_free_form *form, int triangle, int k)
{
    return form->mesh->vertices[form->mesh->triangles[triangle][k]];
}

/* The parameters at these shares of a triangle's corners; and its closest point to x, by such
 * shares (Ericson's Voronoi regions). */
void gw_triangle_parameters(const gw_free_form *form, int triangle, const double share[3],
                            double parameter[2]);
gw_vec3 gw_triangle_closest(const gw_free_form *form, int triangle, gw_vec3 x, double share[3]);

/* The closest point of the surface to a point, in its frame. */
typedef struct gw_foot {
    double parameter[2];
    gw_vec3 point, normal; /* the unit normal, outward or of S_u x S_v, */
    double height;         /* of the point along it (m) */
    bool sharp;            /* past an edge or on a kink: */
    double distance;       /* of the point (m), */
    gw_vec3 away;          /* which is that way */
    gw_nurbs_point at;
} gw_foot;

/* Newton's method for the foot of x from a start parameter; false if it does not converge. */
bool gw_foot_find(const gw_free_form *form, gw_vec3 x, const double from[2], gw_foot *foot);

/* The nearest foot of x (surface's frame); false if there is none within `range` (m). */
bool gw_foot_nearest(const gw_free_form *form, gw_vec3 x, double range, gw_foot *foot);

/* Principal curvatures (towards n) and directions of the surface at a regular foot. */
gw_curvatures gw_foot_curvatures(const gw_free_form *form, const gw_foot *foot, gw_vec3 n);

/* Principal values and directions of H (free_form.c) at height h (m) above a foot, on the side of
 * n.
 */
gw_curvatures gw_foot_curvatures_above(const gw_free_form *form, const gw_foot *foot, gw_vec3 n,
                                       double h);

/* From the world into the surface's frame, and back. */
gw_vec3 gw_into_surface(const gw_free_form_query *query, gw_vec3 x);
gw_vec3 gw_out_of_surface(const gw_free_form_query *query, gw_vec3 x);

/* The foot of the solid's centre, which decides the query's side: the tangent plane at the foot of
 * a point far from the centre may be above the centre where the surface is curved. False if no foot
 * is near. */
bool gw_foot_of_centre(gw_free_form_query *query, gw_foot *foot);

/* 1, or -1 if the solid is on the side of an open surface opposite to its normal. */
double gw_foot_side(const gw_free_form_query *query, const gw_foot *foot);

/* Contact point of a ball of that radius about x (surface's frame) at height h (m) over its foot.
 * feature_a is left to the caller. */
gw_manifold_point gw_foot_point(const gw_free_form_query *query, gw_vec3 x, double radius,
                                const gw_foot *foot, gw_vec3 n, double h, gw_curvatures bend);

/* Contact point of a ball, or of a vertex (radius 0), at x over its foot; false if it is on the
 * wrong side, or farther than the reach. */
bool gw_foot_ball(const gw_free_form_query *query, gw_vec3 x, double radius, const gw_foot *foot,
                  gw_manifold_point *point);

/* Edges and kinks of another surface, with its frame in the query's. */
typedef struct gw_edged_form {
    const gw_free_form *form;
    gw_vec3 origin;
    gw_mat3 rotation;
    int count; /* of its triangles at edges and kinks that are near */
    int triangles[GW_FREE_FORM_EDGED];
} gw_edged_form;

/* Contact points of these edges (a) on the query's surface (b), whose `side` is known: where an
 * edge is nearest, corners, and corners of the triangles where it is level. Returns how many. */
int gw_free_form_edges(const gw_free_form_query *query, const gw_edged_form *edged,
                       gw_manifold_point *points, int capacity);

#endif
