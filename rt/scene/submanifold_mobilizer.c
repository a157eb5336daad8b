/*
 * The joint type of a submanifold, by its rotational and translational factor, and the joint's
 * frames. Pure functions: any thread.
 */
#include "rt/scene/submanifold_mobilizer.h"

#define ALONG 1e-9 /* of a unit vector's parts across another: they are along one another */

gw_mobilizer gw_submanifold_mobilizer(const gw_submanifold *set)
{
    const gw_rotation_set *r = &set->rotation;
    const gw_locus *l = &set->translation.locus;
    if (set->general || set->translation.shift_count > 0)
        return GW_MOBILIZER_FREE;
    gw_vec3 axis = r->kind != GW_ROTATION_AXIS  ? gw_v3(0, 0, 0)
                   : set->translation.in_mobile ? r->axis_body
                                                : r->axis;
    bool along = gw_norm(gw_cross(axis, l->e3)) < ALONG;
    if (r->kind == GW_ROTATION_FIXED && l->kind == GW_LOCUS_POINT)
        return GW_MOBILIZER_FIXED;
    if (r->kind == GW_ROTATION_FIXED && l->kind == GW_LOCUS_LINE)
        return GW_MOBILIZER_PRISMATIC;
    if (r->kind == GW_ROTATION_AXIS && l->kind == GW_LOCUS_POINT)
        return GW_MOBILIZER_REVOLUTE;
    if (r->kind == GW_ROTATION_AXIS && l->kind == GW_LOCUS_LINE && along)
        return GW_MOBILIZER_CYLINDRICAL;
    if (r->kind == GW_ROTATION_AXIS && l->kind == GW_LOCUS_PLANE && along)
        return GW_MOBILIZER_PLANAR;
    if (r->kind == GW_ROTATION_FREE && l->kind == GW_LOCUS_POINT)
        return GW_MOBILIZER_SPHERICAL;
    return GW_MOBILIZER_FREE;
}

bool gw_submanifold_is_mobilizer(const gw_submanifold *set)
{
    gw_locus_kind locus = set->translation.locus.kind;
    return !set->general && set->dof > 0 && set->dof < 6 && locus != GW_LOCUS_CURVE &&
           locus != GW_LOCUS_SURFACE;
}

/* A frame at `p` whose z is along `z`. */
static gw_pose frame_along(gw_vec3 p, gw_vec3 z)
{
    gw_vec3 x = gw_any_normal(z);
    return (gw_pose){p, gw_quat_from_axes(x, gw_cross(z, x), z)};
}

void gw_submanifold_mobilizer_frames(const gw_submanifold *set, gw_mobilizer type,
                                     const gw_pose *b_from_a, gw_pose *a_from_m, gw_pose *b_from_f)
{
    const gw_translation_set *t = &set->translation;
    gw_vec3 in_b = t->in_mobile ? t->of : t->locus.origin;
    gw_vec3 in_a = t->in_mobile ? t->locus.origin : t->of;
    gw_vec3 axis = set->rotation.axis; /* in b */
    if (type == GW_MOBILIZER_PRISMATIC)
        axis = t->in_mobile ? gw_rotate(b_from_a->q, t->locus.e3) : t->locus.e3;
    if (type == GW_MOBILIZER_FIXED || type == GW_MOBILIZER_SPHERICAL)
        axis = gw_v3(0, 0, 1);
    *b_from_f = frame_along(in_b, gw_unit(axis));
    *a_from_m = (gw_pose){in_a, gw_quat_mul(gw_quat_conj(b_from_a->q), b_from_f->q)};
}
