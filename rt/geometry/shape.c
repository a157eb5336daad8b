/*
 * Mass properties, bounds and copies of solids. Not for use inside a tick.
 *
 * Closed forms about each primitive's own centre of mass; a compound adds its parts by the
 * parallel-axis theorem: I = sum R_i I_i R_i^T + m_i (|d_i|^2 E - d_i d_i^T).
 */
#include "rt/geometry/shape.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/geometry/mesh.h"
#include "rt/geometry/nurbs.h"

static gw_mat3 diagonal_matrix(double xx, double yy, double zz)
{
    return (gw_mat3){{{xx, 0, 0}, {0, yy, 0}, {0, 0, zz}}};
}

/* ---- ownership ------------------------------------------------------------------------------ */

static void share_mesh(const gw_shape *shape)
{
    if (shape->nurbs)
        gw_nurbs_get(shape->nurbs);
    if (shape->rim)
        gw_nurbs_get(shape->rim);
    if (shape->kind == GW_SHAPE_MESH && shape->mesh)
        gw_mesh_get(shape->mesh);
}

static void finish_primitive(gw_shape *shape)
{
    gw_nurbs_put(shape->nurbs);
    gw_nurbs_put(shape->rim);
    if (shape->kind == GW_SHAPE_MESH)
        gw_mesh_put(shape->mesh);
}

bool gw_shape_copy(gw_shape *to, const gw_shape *from, gw_error *error)
{
    assert(to && from);
    *to = *from;
    share_mesh(to);
    if (from->kind != GW_SHAPE_COMPOUND || from->part_count == 0)
        return true;
    size_t bytes = (size_t)from->part_count * sizeof *from->parts;
    to->parts = malloc(bytes);
    if (!to->parts) {
        to->part_count = 0;
        return gw_fail(error, GW_FAILED, "", "no memory for a compound's parts");
    }
    memcpy(to->parts, from->parts, bytes);
    for (int i = 0; i < to->part_count; i++)
        share_mesh(&to->parts[i].shape);
    return true;
}

void gw_shape_finish(gw_shape *shape)
{
    assert(shape);
    finish_primitive(shape);
    if (shape->kind == GW_SHAPE_COMPOUND) {
        for (int i = 0; i < shape->part_count; i++)
            finish_primitive(&shape->parts[i].shape);
        free(shape->parts);
    }
    *shape = (gw_shape){0};
}

/* ---- check ---------------------------------------------------------------------------------- */

static bool check_length(double value, const char *at, const char *member, gw_error *error)
{
    if (isfinite(value) && value > 0)
        return true;
    char where[96];
    snprintf(where, sizeof where, "%s/%s", at, member);
    return gw_fail(error, GW_BAD_INPUT, where, "%s is %g, must be a length greater than 0 (m)",
                   member, value);
}

static bool check_mesh(const gw_shape *s, const char *at, gw_error *error)
{
    char where[96];
    snprintf(where, sizeof where, "%s/file", at);
    if (!s->mesh)
        return gw_fail(error, GW_BAD_INPUT, where, "a mesh needs its triangles");
    return s->mesh->closed ||
           gw_fail(error, GW_BAD_INPUT, where,
                   "the mesh %s is open, flat, or its triangles do not all face outward: a solid "
                   "needs each edge in two triangles, once in either direction (or \"convex\": "
                   "true, which takes its hull)",
                   s->mesh->file);
}

static bool check_primitive(const gw_shape *s, const char *at, gw_error *error)
{
    switch (s->kind) {
    case GW_SHAPE_BOX:
        return check_length(s->size.x, at, "size/0", error) &&
               check_length(s->size.y, at, "size/1", error) &&
               check_length(s->size.z, at, "size/2", error);
    case GW_SHAPE_CYLINDER:
    case GW_SHAPE_CONE:
    case GW_SHAPE_CAPSULE:
        return check_length(s->radius, at, "radius", error) &&
               check_length(s->height, at, "height", error);
    case GW_SHAPE_SPHERE:
        return check_length(s->radius, at, "radius", error);
    case GW_SHAPE_MESH:
        return check_mesh(s, at, error);
    case GW_SHAPE_NURBS_CURVE:
    case GW_SHAPE_NURBS_SURFACE:
        return s->nurbs || gw_fail(error, GW_BAD_INPUT, at, "a curve or surface needs its points");
    case GW_SHAPE_COMPOUND:
        break;
    }
    return gw_fail(error, GW_BAD_INPUT, at, "a compound's part must be a primitive");
}

bool gw_shape_check(const gw_shape *shape, gw_error *error)
{
    assert(shape);
    if (shape->kind != GW_SHAPE_COMPOUND)
        return check_primitive(shape, "", error);
    if (shape->part_count < 1 || shape->part_count > GW_MAX_PARTS)
        return gw_fail(error, GW_BAD_INPUT, "/parts", "%d parts, must be 1 to %d",
                       shape->part_count, GW_MAX_PARTS);
    for (int i = 0; i < shape->part_count; i++) {
        char at[48];
        snprintf(at, sizeof at, "/parts/%d/geometry", i);
        if (!check_primitive(&shape->parts[i].shape, at, error))
            return false;
        if (!gw_finite_pose(&shape->parts[i].pose))
            return gw_fail(error, GW_BAD_INPUT, at, "a part's pose must be finite");
    }
    return true;
}

/* ---- mass ----------------------------------------------------------------------------------- */

/* Edge lengths of the box that stands for a curve or surface in mass properties, none too thin
 * (m). */
static gw_vec3 stand_in(const gw_shape *s)
{
    const gw_nurbs *n = s->nurbs;
    gw_vec3 d = gw_sub(n->bounds.high, n->bounds.low);
    double least = 0.01 * n->size;
    return gw_v3(fmax(d.x, least), fmax(d.y, least), fmax(d.z, least));
}

static double volume_of(const gw_shape *s)
{
    switch (s->kind) {
    case GW_SHAPE_BOX:
        return s->size.x * s->size.y * s->size.z;
    case GW_SHAPE_CYLINDER:
        return GW_PI * s->radius * s->radius * s->height;
    case GW_SHAPE_CONE:
        return GW_PI * s->radius * s->radius * s->height / 3;
    case GW_SHAPE_SPHERE:
        return 4 * GW_PI / 3 * s->radius * s->radius * s->radius;
    case GW_SHAPE_CAPSULE:
        return GW_PI * s->radius * s->radius * (s->height + 4 * s->radius / 3);
    case GW_SHAPE_MESH:
        return s->mesh->mass.mass;
    case GW_SHAPE_NURBS_CURVE:
    case GW_SHAPE_NURBS_SURFACE:
        return stand_in(s).x * stand_in(s).y * stand_in(s).z;
    case GW_SHAPE_COMPOUND:
        break;
    }
    double volume = 0;
    for (int i = 0; i < s->part_count; i++)
        volume += volume_of(&s->parts[i].shape);
    return volume;
}

/*
 * A cylinder and two half balls, each with its centre of mass 3 r / 8 beyond its flat side, where
 * it has 83/320 m r^2 across: I_xx = m_c (3 r^2 + h^2) / 12 + 2 m_h (83/320 r^2 + (h/2 + 3r/8)^2)
 */
static gw_mat3 capsule_inertia(double r, double h, double m)
{
    double cylinder = m * h / (h + 4 * r / 3), halves = m - cylinder, d = h / 2 + 3 * r / 8;
    double across = cylinder * (3 * r * r + h * h) / 12 + halves * (83.0 / 320 * r * r + d * d);
    return diagonal_matrix(across, across, cylinder * r * r / 2 + halves * 0.4 * r * r);
}

/* Inertia of a primitive of mass m about its centre of mass. */
static gw_mat3 primitive_inertia(const gw_shape *s, double m)
{
    double r2 = s->radius * s->radius, h2 = s->height * s->height;
    switch (s->kind) {
    case GW_SHAPE_BOX: {
        double x2 = s->size.x * s->size.x, y2 = s->size.y * s->size.y, z2 = s->size.z * s->size.z;
        return diagonal_matrix(m * (y2 + z2) / 12, m * (x2 + z2) / 12, m * (x2 + y2) / 12);
    }
    case GW_SHAPE_CYLINDER:
        return diagonal_matrix(m * (3 * r2 + h2) / 12, m * (3 * r2 + h2) / 12, m * r2 / 2);
    case GW_SHAPE_CONE:
        return diagonal_matrix(m * (12 * r2 + 3 * h2) / 80, m * (12 * r2 + 3 * h2) / 80,
                               0.3 * m * r2);
    case GW_SHAPE_CAPSULE:
        return capsule_inertia(s->radius, s->height, m);
    case GW_SHAPE_SPHERE:
        return diagonal_matrix(0.4 * m * r2, 0.4 * m * r2, 0.4 * m * r2);
    case GW_SHAPE_NURBS_CURVE:
    case GW_SHAPE_NURBS_SURFACE: {
        gw_vec3 d = stand_in(s);
        return diagonal_matrix(m * (d.y * d.y + d.z * d.z) / 12, m * (d.x * d.x + d.z * d.z) / 12,
                               m * (d.x * d.x + d.y * d.y) / 12);
    }
    case GW_SHAPE_MESH:
    case GW_SHAPE_COMPOUND:
        break; /* not primitives */
    }
    assert(s->kind < GW_SHAPE_COMPOUND);
    return diagonal_matrix(0, 0, 0);
}

/* to += R i R^T + m (|d|^2 E - d d^T) */
static void add_inertia(gw_mat3 *to, const gw_mat3 *inertia, gw_quat rotation, double m, gw_vec3 d)
{
    gw_mat3 r = gw_quat_to_mat3(rotation);
    double v[3] = {d.x, d.y, d.z};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double sum = m * ((i == j ? gw_norm2(d) : 0) - v[i] * v[j]);
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++)
                    sum += r.m[i][k] * inertia->m[k][l] * r.m[j][l];
            to->m[i][j] += sum;
        }
    }
}

gw_mass gw_shape_mass(const gw_shape *shape, double density)
{
    assert(shape && density >= 0);
    gw_mass whole = {.mass = density * volume_of(shape)};
    if (shape->kind == GW_SHAPE_MESH) {
        whole.com = shape->mesh->mass.com;
        for (int i = 0; i < 9; i++)
            whole.inertia.m[i / 3][i % 3] = density * shape->mesh->mass.inertia.m[i / 3][i % 3];
        return whole;
    }
    if (shape->kind != GW_SHAPE_COMPOUND) {
        /* a cone's centre of mass is a quarter of its height above the base */
        if (shape->kind == GW_SHAPE_CONE)
            whole.com.z = shape->height / 4;
        if (gw_shape_is_free_form(shape->kind))
            whole.com = gw_scale(0.5, gw_add(shape->nurbs->bounds.low, shape->nurbs->bounds.high));
        whole.inertia = primitive_inertia(shape, whole.mass);
        return whole;
    }
    gw_mass parts[GW_MAX_PARTS];
    for (int i = 0; i < shape->part_count; i++) {
        parts[i] = gw_shape_mass(&shape->parts[i].shape, density);
        parts[i].com = gw_pose_point(&shape->parts[i].pose, parts[i].com);
        whole.com = gw_mul_add(whole.com, parts[i].mass / whole.mass, parts[i].com);
    }
    for (int i = 0; i < shape->part_count; i++)
        add_inertia(&whole.inertia, &parts[i].inertia, shape->parts[i].pose.q, parts[i].mass,
                    gw_sub(parts[i].com, whole.com));
    return whole;
}

/* ---- bounds --------------------------------------------------------------------------------- */

static gw_aabb primitive_bounds(const gw_shape *s)
{
    double r = s->radius, h = s->height;
    switch (s->kind) {
    case GW_SHAPE_BOX:
        return (gw_aabb){gw_scale(-0.5, s->size), gw_scale(0.5, s->size)};
    case GW_SHAPE_CYLINDER:
        return (gw_aabb){{-r, -r, -h / 2}, {r, r, h / 2}};
    case GW_SHAPE_CONE:
        return (gw_aabb){{-r, -r, 0}, {r, r, h}};
    case GW_SHAPE_CAPSULE:
        return (gw_aabb){{-r, -r, -h / 2 - r}, {r, r, h / 2 + r}};
    case GW_SHAPE_MESH:
        return s->mesh->bounds;
    case GW_SHAPE_NURBS_CURVE:
    case GW_SHAPE_NURBS_SURFACE:
        return s->nurbs->bounds;
    case GW_SHAPE_SPHERE:
        return (gw_aabb){{-r, -r, -r}, {r, r, r}};
    case GW_SHAPE_COMPOUND:
        break; /* not a primitive */
    }
    assert(s->kind != GW_SHAPE_COMPOUND);
    return (gw_aabb){{0, 0, 0}, {0, 0, 0}};
}

/* Grows the box by the eight corners of a part's box at its pose. */
static void grow_by(gw_aabb *box, const gw_aabb *part, const gw_pose *pose)
{
    for (int i = 0; i < 8; i++) {
        gw_vec3 c = {i & 1 ? part->high.x : part->low.x, i & 2 ? part->high.y : part->low.y,
                     i & 4 ? part->high.z : part->low.z};
        c = gw_pose_point(pose, c);
        box->low = gw_v3(fmin(box->low.x, c.x), fmin(box->low.y, c.y), fmin(box->low.z, c.z));
        box->high = gw_v3(fmax(box->high.x, c.x), fmax(box->high.y, c.y), fmax(box->high.z, c.z));
    }
}

gw_aabb gw_shape_bounds(const gw_shape *shape)
{
    assert(shape);
    if (shape->kind != GW_SHAPE_COMPOUND)
        return primitive_bounds(shape);
    gw_aabb box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (int i = 0; i < shape->part_count; i++) {
        gw_aabb part = primitive_bounds(&shape->parts[i].shape);
        grow_by(&box, &part, &shape->parts[i].pose);
    }
    return box;
}

const char *gw_shape_kind_name(gw_shape_kind kind)
{
    static const char *const names[] = {"box",    "cylinder",    "cone",
                                        "sphere", "compound",    "capsule",
                                        "mesh",   "nurbs-curve", "nurbs-surface"};
    return names[kind];
}
