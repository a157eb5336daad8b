/*
 * The derived features of each primitive. Any thread, RT safe.
 *
 * A box's 26 boundary features are the sign vectors of {-1, 0, 1}^3 without zero: one sign is a
 * face, two an edge, three a corner; their names spell the signs.
 */
#include "rt/geometry/feature.h"
#include "rt/geometry/nurbs.h"
#include "rt/geometry/nurbs_primitive.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BOX_SIGNS = 26, BOX_COUNT = BOX_SIGNS + 3 + 3 + 1 };

static const char axis_letter[3] = {'x', 'y', 'z'};

static gw_vec3 unit_axis(int i)
{
    return gw_v3(i == 0, i == 1, i == 2);
}

static gw_element point_at(double x, double y, double z)
{
    return (gw_element){.kind = GW_POINT, .p = {x, y, z}, .d = {0, 0, 0}};
}

static gw_element axis_z(void)
{
    return (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {0, 0, 1}};
}

static gw_element plane_z(double z, double sign)
{
    return (gw_element){.kind = GW_PLANE, .p = {0, 0, z}, .d = {0, 0, sign}};
}

/* The k-th sign vector, in the order faces, edges, corners. */
static void box_signs(int k, int sign[3])
{
    int seen = 0;
    for (int count = 1; count <= 3; count++) {
        for (int code = 0; code < 27; code++) {
            int s[3] = {1 - code / 9, 1 - code / 3 % 3, 1 - code % 3};
            if (abs(s[0]) + abs(s[1]) + abs(s[2]) == count && seen++ == k) {
                memcpy(sign, s, sizeof s);
                return;
            }
        }
    }
}

static void box_boundary(const gw_shape *box, int k, char *name, gw_element *e)
{
    int s[3] = {0};
    box_signs(k, s);
    int count = 0, free_axis = 0;
    for (int i = 0; i < 3; i++) {
        if (s[i] == 0) {
            free_axis = i;
            continue;
        }
        count++;
        *name++ = s[i] > 0 ? '+' : '-';
        *name++ = axis_letter[i];
    }
    *name = '\0';
    *e = (gw_element){
        .kind = count == 1   ? GW_PLANE
                : count == 2 ? GW_LINE
                             : GW_POINT,
        .p = gw_v3(0.5 * box->size.x * s[0], 0.5 * box->size.y * s[1], 0.5 * box->size.z * s[2]),
        .d = count == 1   ? gw_v3(s[0], s[1], s[2])
             : count == 2 ? unit_axis(free_axis)
                          : gw_v3(0, 0, 0)};
}

static void named_axis(const char *stem, int axis, char *name)
{
    size_t length = strlen(stem);
    memcpy(name, stem, length);
    name[length] = axis_letter[axis];
    name[length + 1] = '\0';
}

static void box_feature(const gw_shape *box, int i, char *name, gw_element *e)
{
    if (i < BOX_SIGNS) {
        box_boundary(box, i, name, e);
        return;
    }
    i -= BOX_SIGNS;
    if (i < 3) {
        named_axis("mid-", i, name);
        *e = (gw_element){.kind = GW_PLANE, .p = {0, 0, 0}, .d = unit_axis(i)};
    } else if (i < 6) {
        named_axis("axis-", i - 3, name);
        *e = (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = unit_axis(i - 3)};
    } else {
        strcpy(name, "center");
        *e = point_at(0, 0, 0);
    }
}

static void cylinder_feature(const gw_shape *s, int i, char *name, gw_element *e)
{
    static const char *const names[] = {"axis", "top", "bottom", "mid", "center"};
    const gw_element elements[] = {axis_z(), plane_z(s->height / 2, 1), plane_z(-s->height / 2, -1),
                                   plane_z(0, 1), point_at(0, 0, 0)};
    strcpy(name, names[i]);
    *e = elements[i];
}

static void cone_feature(const gw_shape *s, int i, char *name, gw_element *e)
{
    static const char *const names[] = {"axis", "base", "apex"};
    const gw_element elements[] = {axis_z(), plane_z(0, -1), point_at(0, 0, s->height)};
    strcpy(name, names[i]);
    *e = elements[i];
}

static void capsule_feature(const gw_shape *s, int i, char *name, gw_element *e)
{
    static const char *const names[] = {"axis", "center", "top", "bottom"};
    const gw_element elements[] = {axis_z(), point_at(0, 0, 0), point_at(0, 0, s->height / 2),
                                   point_at(0, 0, -s->height / 2)};
    strcpy(name, names[i]);
    *e = elements[i];
}

/* The whole shape, or one of its edges. */
static gw_element free_form(const gw_nurbs *nurbs)
{
    return (gw_element){.kind = nurbs->dimension == 1 ? GW_CURVE : GW_SURFACE,
                        .q = gw_quat_identity(),
                        .nurbs = nurbs};
}

static void curve_feature(const gw_shape *s, int i, char *name, gw_element *e)
{
    static const char *const names[] = {"curve", "start", "end"};
    const gw_nurbs_direction *d = &s->nurbs->direction[0];
    gw_nurbs_point at;
    strcpy(name, names[i]);
    *e = free_form(s->nurbs);
    if (i == 0)
        return;
    gw_nurbs_evaluate(s->nurbs, (double[]){i == 1 ? d->low : d->high, 0}, 0, NULL, &at);
    *e = point_at(at.d[0][0].x, at.d[0][0].y, at.d[0][0].z);
}

static int edge_count(const gw_nurbs *nurbs)
{
    int count = 0;
    for (int k = 0; k < 4; k++)
        count += nurbs->edge[k] != NULL;
    return count;
}

static void surface_feature(const gw_shape *s, int i, char *name, gw_element *e)
{
    static const char *const names[] = {"u0", "u1", "v0", "v1"};
    strcpy(name, "surface");
    *e = free_form(s->nurbs);
    for (int k = 0; k < 4 && i > 0; k++) {
        if (!s->nurbs->edge[k] || --i > 0)
            continue;
        strcpy(name, names[k]);
        *e = free_form(s->nurbs->edge[k]);
    }
}

int gw_feature_count(const gw_shape *shape)
{
    assert(shape);
    switch (shape->kind) {
    case GW_SHAPE_NURBS_CURVE:
        return 3;
    case GW_SHAPE_NURBS_SURFACE:
        return 1 + edge_count(shape->nurbs);
    case GW_SHAPE_BOX:
        return BOX_COUNT;
    case GW_SHAPE_CYLINDER:
        return 5;
    case GW_SHAPE_CONE:
        return 3;
    case GW_SHAPE_SPHERE:
        return 1;
    case GW_SHAPE_CAPSULE:
        return 4;
    case GW_SHAPE_MESH:
        return 1;
    case GW_SHAPE_COMPOUND:
        break;
    }
    int count = 0;
    for (int i = 0; i < shape->part_count; i++)
        count += gw_feature_count(&shape->parts[i].shape);
    return count;
}

/* "part" N "." in front of the part's own name; N is below GW_MAX_PARTS. */
static char *part_prefix(char *name, int part)
{
    memcpy(name, "part", 4);
    name += 4;
    if (part >= 10)
        *name++ = (char)('0' + part / 10);
    *name++ = (char)('0' + part % 10);
    *name++ = '.';
    return name;
}

static void compound_feature(const gw_shape *shape, int i, char *name, gw_element *e)
{
    int part = 0;
    for (int n; i >= (n = gw_feature_count(&shape->parts[part].shape)); part++)
        i -= n;
    gw_feature_at(&shape->parts[part].shape, i, part_prefix(name, part), e);
    *e = gw_element_moved(&shape->parts[part].pose, e);
}

void gw_feature_at(const gw_shape *shape, int i, char *name, gw_element *element)
{
    assert(i >= 0 && i < gw_feature_count(shape));
    switch (shape->kind) {
    case GW_SHAPE_BOX:
        box_feature(shape, i, name, element);
        break;
    case GW_SHAPE_CYLINDER:
        cylinder_feature(shape, i, name, element);
        break;
    case GW_SHAPE_CONE:
        cone_feature(shape, i, name, element);
        break;
    case GW_SHAPE_SPHERE:
        strcpy(name, "center");
        *element = point_at(0, 0, 0);
        break;
    case GW_SHAPE_CAPSULE:
        capsule_feature(shape, i, name, element);
        break;
    case GW_SHAPE_MESH:
        strcpy(name, "center");
        *element = (gw_element){.kind = GW_POINT, .p = gw_shape_mass(shape, 1).com, .d = {0, 0, 0}};
        break;
    case GW_SHAPE_NURBS_CURVE:
        curve_feature(shape, i, name, element);
        break;
    case GW_SHAPE_NURBS_SURFACE:
        surface_feature(shape, i, name, element);
        break;
    case GW_SHAPE_COMPOUND:
        compound_feature(shape, i, name, element);
        break;
    }
}

/* The solid other than a compound that has the feature, where it is, and its own name of it. */
static gw_shape *solid_of(gw_shape *shape, const char **name, gw_pose *shape_from_solid)
{
    *shape_from_solid = gw_pose_identity();
    for (int i = 0; shape->kind == GW_SHAPE_COMPOUND && i < shape->part_count; i++) {
        char prefix[GW_FEATURE_NAME];
        size_t length = (size_t)(part_prefix(prefix, i) - prefix);
        if (strncmp(*name, prefix, length) != 0)
            continue;
        *name += length;
        *shape_from_solid = shape->parts[i].pose;
        return &shape->parts[i].shape;
    }
    return shape;
}

static bool is_round_surface(const gw_shape *s, const char *name)
{
    bool has =
        s->kind == GW_SHAPE_SPHERE || s->kind == GW_SHAPE_CYLINDER || s->kind == GW_SHAPE_CAPSULE;
    return has && strcmp(name, "surface") == 0;
}

/* True if a primitive has this rim; its height along the axis. */
static bool is_rim(const gw_shape *s, const char *name, double *height)
{
    bool top = strcmp(name, "top-rim") == 0, bottom = strcmp(name, "bottom-rim") == 0;
    bool base = s->kind == GW_SHAPE_CONE && strcmp(name, "base-rim") == 0;
    *height = top ? 0.5 * s->height : bottom ? -0.5 * s->height : 0;
    return base || (s->kind == GW_SHAPE_CYLINDER && (top || bottom));
}

bool gw_feature_make_surface(gw_shape *shape, const char *name, gw_error *error)
{
    assert(shape && name);
    gw_pose at;
    double height;
    gw_shape *s = solid_of(shape, &name, &at);
    if (is_rim(s, name, &height) && !s->rim)
        return (s->rim = gw_nurbs_circle(s->radius, error)) != NULL;
    if (!is_round_surface(s, name) || s->nurbs)
        return true;
    gw_primitive primitive = {.kind = s->kind == GW_SHAPE_SPHERE     ? GW_PRIMITIVE_SPHERE
                                      : s->kind == GW_SHAPE_CYLINDER ? GW_PRIMITIVE_CYLINDER
                                                                     : GW_PRIMITIVE_CAPSULE,
                              .radius = s->radius,
                              .height = s->height};
    return (s->nurbs = gw_nurbs_convert(&primitive, error)) != NULL;
}

/* A round surface or rim that was made. */
static bool find_made(const gw_shape *shape, const char *name, gw_element *element)
{
    gw_pose at;
    double height;
    const gw_shape *s = solid_of((gw_shape *)shape, &name, &at);
    bool rim = is_rim(s, name, &height);
    const gw_nurbs *made = rim ? s->rim : is_round_surface(s, name) ? s->nurbs : NULL;
    if (!made)
        return false;
    gw_element e = free_form(made);
    e.p.z = rim ? height : 0;
    *element = gw_element_moved(&at, &e);
    return true;
}

bool gw_feature_find(const gw_shape *shape, const char *name, gw_element *element)
{
    assert(shape && name && element);
    int count = gw_feature_count(shape);
    for (int i = 0; i < count; i++) {
        char candidate[GW_FEATURE_NAME];
        gw_element e;
        gw_feature_at(shape, i, candidate, &e);
        if (strcmp(candidate, name) == 0) {
            *element = e;
            return true;
        }
    }
    return find_made(shape, name, element);
}
