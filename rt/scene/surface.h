/*
 * Surfaces and rims of a scene's objects and links, and the velocity constraints between them:
 * sliding, rolling, pure rolling, knife edges. Not for use inside a tick.
 */
#ifndef GW_SCENE_SURFACE_H
#define GW_SCENE_SURFACE_H

#include "rt/dynamics/system.h"
#include "rt/scene/scene.h"

/* Transforms a surface from frame b to frame a. */
void gw_scene_surface_move(const gw_pose *a_from_b, gw_surface *surface);

#define GW_SURFACE_NAMES 4 /* number of names for surfaces and rims of primitives */

/* How many names a shape, or all parts of a compound, may have surfaces under. */
int gw_scene_surface_names(const gw_shape *shape);

/* The surface or rim with the i-th of these names, in the shape's frame, and the name
 * (GW_FEATURE_NAME bytes): a sphere's surface, the side of a cylinder or a capsule, rims of
 * cylinders and cones. False if the shape has none with that name. */
bool gw_scene_surface_at(const gw_shape *shape, int i, char *name, gw_surface *surface);

/* The surface or rim that "object/feature" names, in the frame of the object or link; false if
 * there is none. */
bool gw_scene_primitive_surface(const gw_scene *scene, const gw_feature_ref *ref,
                                gw_surface *surface);

/* The closure of an enabled velocity constraint, with a and b as its bodies 0 and 1: surfaces in
 * the objects' frames, exchanged where only the reverse order is possible (*swapped). False with an
 * error at /constraints/index. */
bool gw_scene_velocity_closure(const gw_scene *scene, int index, gw_closure_def *closure,
                               bool *swapped, gw_error *error);

#define GW_MAX_UNILATERAL_PARTS                                                                    \
    17 /* of one contact: a cylinder's rims, side and caps; two sheets, their edges and corners */
#define GW_MAX_UNILATERAL_CONTACTS                                                                 \
    (GW_MAX_UNILATERAL_PARTS * (GW_CONTACT_POINTS + GW_CONTACT_SUPPORTS))

/* A contact point at which a unilateral contact may touch. */
typedef struct gw_unilateral_contact {
    gw_closure_contact contact; /* rolls if it has friction, also where it was to slide */
    double friction;            /* mu; INFINITY: rolls without a limit of traction */
    int first, count;   /* points of the same part: they are followed; count 0: a closed form */
    int support;        /* index of the rim's or line's supporting point; -1: none */
    bool part_of_solid; /* it is the side or a cap of a solid cylinder */
    bool exchanged;     /* an edge of b: its contact has b's edge as a, and a's surface as b */
    bool in_system;     /* a closure of the system of bodies holds it (gw_closure_def.unilateral);
                           false: a row of the contact world */
} gw_unilateral_contact;

/* Contact points of a unilateral contact, the enabled velocity constraint `index`: of its two
 * surfaces, or for a cylinder or a capsule of its two ends (rims or spheres), which may separate
 * one after the other, and on a curved surface of its side and a cylinder's caps; of free-form
 * surfaces of their edges too. Surfaces are in the frames of the objects a and b (*swapped: b and
 * a). Returns how many; the scene must have been checked. */
int gw_scene_unilateral_contacts(const gw_scene *scene, int index,
                                 gw_unilateral_contact points[GW_MAX_UNILATERAL_CONTACTS],
                                 bool *swapped);

#endif
