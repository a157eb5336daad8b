/* Solids for the detector's tests, with definitions of their own: support functions, and whether a
 * point belongs to a solid. */
#ifndef GW_TESTS_UNIT_DETECTOR_FIXTURE_H
#define GW_TESTS_UNIT_DETECTOR_FIXTURE_H

#include "rt/collision/detector.h"

static inline gw_pose at(double x, double y, double z)
{
    return (gw_pose){{x, y, z}, {1, 0, 0, 0}};
}

static inline gw_pose at_turned(double x, double y, double z, gw_vec3 rotation)
{
    return (gw_pose){{x, y, z}, gw_quat_exp(rotation)};
}

static inline gw_shape box_shape(double x, double y, double z)
{
    return (gw_shape){.kind = GW_SHAPE_BOX, .size = {x, y, z}};
}

static inline gw_shape round_shape(gw_shape_kind kind, double radius, double height)
{
    return (gw_shape){.kind = kind, .radius = radius, .height = height};
}

/* One of each solid, a thin plate last (5). */
static inline gw_shape some_shape(int kind)
{
    switch (kind) {
    case 0:
        return round_shape(GW_SHAPE_SPHERE, 0.07, 0);
    case 1:
        return box_shape(0.1, 0.16, 0.24);
    case 2:
        return round_shape(GW_SHAPE_CAPSULE, 0.04, 0.2);
    case 3:
        return round_shape(GW_SHAPE_CYLINDER, 0.06, 0.18);
    case 4:
        return round_shape(GW_SHAPE_CONE, 0.08, 0.15);
    default:
        return box_shape(0.3, 0.3, 0.002);
    }
}

/* max d . x over a primitive in its own frame */
static inline double support_height(const gw_shape *s, gw_vec3 d)
{
    double across = hypot(d.x, d.y), r = s->radius, h = s->height;
    switch (s->kind) {
    case GW_SHAPE_BOX:
        return 0.5 * (fabs(d.x) * s->size.x + fabs(d.y) * s->size.y + fabs(d.z) * s->size.z);
    case GW_SHAPE_CYLINDER:
        return r * across + 0.5 * h * fabs(d.z);
    case GW_SHAPE_CONE:
        return fmax(r * across, h * d.z);
    case GW_SHAPE_CAPSULE:
        return r * gw_norm(d) + 0.5 * h * fabs(d.z);
    default:
        return r * gw_norm(d);
    }
}

/* How far outside a primitive the point is, in some measure that is continuous and zero on it. */
static inline double outside(const gw_shape *s, gw_vec3 x)
{
    double across = hypot(x.x, x.y), r = s->radius, h = s->height;
    switch (s->kind) {
    case GW_SHAPE_BOX:
        return fmax(fabs(x.x) - s->size.x / 2,
                    fmax(fabs(x.y) - s->size.y / 2, fabs(x.z) - s->size.z / 2));
    case GW_SHAPE_CYLINDER:
        return fmax(across - r, fabs(x.z) - h / 2);
    case GW_SHAPE_CONE:
        return fmax(-x.z, across - r * (1 - x.z / h));
    case GW_SHAPE_CAPSULE:
        x.z -= fmin(h / 2, fmax(-h / 2, x.z));
        return gw_norm(x) - r;
    default:
        return gw_norm(x) - r;
    }
}

/* s(n) = min n . x_a - max n . x_b: a lower bound of the gap for any direction n */
static inline double proven(const gw_shape *a, const gw_pose *pa, const gw_shape *b,
                            const gw_pose *pb, gw_vec3 n)
{
    gw_vec3 in_a = gw_unrotate(pa->q, gw_neg(n)), in_b = gw_unrotate(pb->q, n);
    return gw_dot(n, gw_sub(pa->p, pb->p)) - support_height(a, in_a) - support_height(b, in_b);
}

/* Repeatable numbers in -1 .. 1. */
static inline double some(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1u << 23) - 1;
}

static inline gw_vec3 some_vector(unsigned *seed, double size)
{
    double x = some(seed), y = some(seed), z = some(seed);
    return gw_v3(size * x, size * y, size * z);
}

static inline gw_quat some_turn(unsigned *seed)
{
    gw_quat q = {some(seed), some(seed), some(seed), some(seed) + 1e-3};
    return gw_quat_unit(q);
}

static inline gw_contact_material plain_surface(const void *context, int a, int b)
{
    (void)context;
    return (gw_contact_material){.restitution = 0.1 * a, .friction = 0.1 * b};
}

/* A detector of one shape a body; bodies from `moving` on are static. */
typedef struct stage {
    int count, moving;
    gw_shape shapes[80];
    gw_pose poses[80];
    gw_twist twists[80];
    gw_detector *detector;
} stage;

static inline bool static_here(const void *context, int body)
{
    return body >= ((const stage *)context)->moving;
}

static inline void stage_open(stage *s)
{
    gw_collider colliders[80];
    for (int i = 0; i < s->count; i++)
        colliders[i] =
            (gw_collider){.body = i, .shape = &s->shapes[i], .body_from_shape = gw_pose_identity()};
    gw_detector_def def = {.body_count = s->count,
                           .collider_count = s->count,
                           .colliders = colliders,
                           .is_static = static_here,
                           .surface = plain_surface,
                           .context = s};
    gw_error error = {0};
    s->detector = gw_detector_create(&def, &error);
}

/* The detector and the shapes that own meshes. */
static inline void stage_close(stage *s)
{
    gw_detector_destroy(s->detector);
    for (int i = 0; i < s->count; i++)
        gw_shape_finish(&s->shapes[i]);
}

/* The candidates with points; returns how many. */
static inline int stage_detect(stage *s, double margin, gw_contact_candidate *near, int capacity)
{
    int lost, told = 0;
    int count = gw_detect(s->detector, s->poses, s->twists, 0.005, margin, near, capacity, &lost);
    for (int i = 0; i < count; i++)
        if (!near[i].proximity_only)
            near[told++] = near[i];
    return told;
}

/* A candidate's points, normal and gap in world coordinates with its bodies at these poses, as
 * contact dynamics follows them. */
typedef struct followed {
    gw_vec3 a, b, n;
    double gap;
} followed;

static inline followed follow(const gw_contact_candidate *n, const gw_pose *poses)
{
    followed f = {.a = gw_pose_point(&poses[n->a], n->point_a),
                  .b = gw_pose_point(&poses[n->b], n->point_b),
                  .n = n->normal};
    if (n->kind == GW_NORMAL_IN_A)
        f.n = gw_rotate(poses[n->a].q, n->normal);
    else if (n->kind == GW_NORMAL_IN_B)
        f.n = gw_rotate(poses[n->b].q, n->normal);
    else if (n->kind == GW_NORMAL_BETWEEN || n->taper_a != 0 || n->taper_b != 0)
        f.n = gw_unit(gw_sub(f.a, f.b));
    else
        f.n = gw_unit(
            gw_cross(gw_rotate(poses[n->a].q, n->edge_a), gw_rotate(poses[n->b].q, n->edge_b)));
    f.gap = gw_dot(f.n, gw_sub(f.a, f.b)) - n->radius_a - n->radius_b;
    return f;
}

#endif
