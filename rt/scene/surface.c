/*
 * Surfaces and rims from an object's features, and the closures of sliding, rolling and knife-edge
 * constraints on them. Not for use inside a tick.
 */
#include "rt/scene/surface.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/geometry/feature.h"
#include "rt/geometry/nurbs.h"

const char *gw_any_constraint_name(int kind)
{
    static const char *const velocity_kinds[] = {"sliding", "rolling", "pure-rolling", "knife-edge",
                                                 NULL};
    _Static_assert(sizeof velocity_kinds / sizeof *velocity_kinds ==
                       GW_ANY_CONSTRAINT_COUNT - GW_CONSTRAINT_KIND_COUNT + 1,
                   "each velocity constraint has a name");
    assert(kind >= 0 && kind <= GW_ANY_CONSTRAINT_COUNT);
    return kind < GW_CONSTRAINT_KIND_COUNT ? gw_constraint_kind_names[kind]
                                           : velocity_kinds[kind - GW_CONSTRAINT_KIND_COUNT];
}

/* ---- surfaces ------------------------------------------------------------------------------- */

/* The surface of a shape other than a compound. */
static bool surface_of_shape(const gw_shape *shape, const char *name, gw_surface *s)
{
    bool side = strcmp(name, "surface") == 0;
    bool top = strcmp(name, "top-rim") == 0, bottom = strcmp(name, "bottom-rim") == 0;
    *s = (gw_surface){.axis = {0, 0, 1}, .radius = shape->radius, .turn = {1, 0, 0, 0}};
    switch (shape->kind) {
    case GW_SHAPE_SPHERE:
        s->kind = GW_SURFACE_SPHERE;
        return side;
    case GW_SHAPE_CAPSULE:
        s->kind = GW_SURFACE_CYLINDER;
        return side;
    case GW_SHAPE_CYLINDER:
        s->kind = side ? GW_SURFACE_CYLINDER : GW_SURFACE_RIM;
        s->point.z = top ? shape->height / 2 : bottom ? -shape->height / 2 : 0;
        return side || top || bottom;
    case GW_SHAPE_CONE:
        s->kind = GW_SURFACE_RIM;
        return strcmp(name, "base-rim") == 0;
    case GW_SHAPE_NURBS_CURVE:
    case GW_SHAPE_NURBS_SURFACE:
    case GW_SHAPE_BOX:
    case GW_SHAPE_MESH:
    case GW_SHAPE_COMPOUND:
        break;
    }
    return false;
}

/* The part of a compound that "partN.feature" names, and the rest of the name; NULL: none. */
static const gw_part *part_named(const gw_shape *shape, const char *name, const char **feature)
{
    char *rest;
    if (strncmp(name, "part", 4) != 0)
        return NULL;
    long part = strtol(name + 4, &rest, 10);
    if (rest == name + 4 || *rest != '.' || part < 0 || part >= shape->part_count)
        return NULL;
    *feature = rest + 1;
    return &shape->parts[part];
}

void gw_scene_surface_move(const gw_pose *a_from_b, gw_surface *s)
{
    assert(a_from_b && s);
    s->point = gw_pose_point(a_from_b, s->point);
    s->axis = gw_rotate(a_from_b->q, s->axis);
    s->turn = gw_quat_mul(a_from_b->q, s->turn);
}

static bool surface_of(const gw_shape *shape, const char *name, gw_surface *s)
{
    if (shape->kind != GW_SHAPE_COMPOUND)
        return surface_of_shape(shape, name, s);
    const gw_part *p = part_named(shape, name, &name);
    if (!p || !surface_of_shape(&p->shape, name, s))
        return false;
    gw_scene_surface_move(&p->pose, s);
    return true;
}

int gw_scene_surface_names(const gw_shape *shape)
{
    return GW_SURFACE_NAMES * (shape->kind == GW_SHAPE_COMPOUND ? shape->part_count : 1);
}

bool gw_scene_surface_at(const gw_shape *shape, int i, char *name, gw_surface *s)
{
    static const char *const names[GW_SURFACE_NAMES] = {"surface", "top-rim", "bottom-rim",
                                                        "base-rim"};
    assert(i >= 0 && i < gw_scene_surface_names(shape));
    const char *of = names[i % GW_SURFACE_NAMES];
    if (shape->kind == GW_SHAPE_COMPOUND)
        snprintf(name, GW_FEATURE_NAME, "part%d.%s", i / GW_SURFACE_NAMES, of);
    else
        strcpy(name, of);
    return surface_of(shape, name, s);
}

/* The shape of an object or a link, and where it is in its frame; NULL: it has none. */
static const gw_shape *shape_of(const gw_scene *scene, const char *name, gw_pose *body_from_shape)
{
    int object = gw_scene_object(scene, name), link;
    *body_from_shape = gw_pose_identity();
    if (object >= 0)
        return &scene->objects[object].shape;
    int mechanism = gw_scene_link(scene, name, &link);
    if (mechanism < 0 || !scene->mechanisms[mechanism].geometries[link].has_geometry)
        return NULL;
    *body_from_shape = scene->mechanisms[mechanism].geometries[link].pose;
    return &scene->mechanisms[mechanism].geometries[link].shape;
}

bool gw_scene_primitive_surface(const gw_scene *scene, const gw_feature_ref *ref,
                                gw_surface *surface)
{
    gw_pose at;
    const gw_shape *shape = shape_of(scene, ref->object, &at);
    if (!shape || !surface_of(shape, ref->feature, surface))
        return false;
    gw_scene_surface_move(&at, surface);
    return true;
}

/* The surface that "object/feature" names, in the object's or the link's frame: `surface` of a
 * sphere, a cylinder or a capsule (its side), `top-rim` and `bottom-rim` of a cylinder, `base-rim`
 * of a cone, any plane; of a compound's part with partN. before it. False where it names none. */
static bool surface_of_feature(const gw_scene *scene, const gw_feature_ref *ref,
                               gw_surface *surface)
{
    gw_element e;
    if (gw_scene_primitive_surface(scene, ref, surface))
        return true;
    if (gw_scene_element(scene, ref, &e)) {
        *surface = (gw_surface){.kind = GW_SURFACE_PLANE,
                                .point = e.p,
                                .axis = e.d,
                                .turn = gw_is_free_form(e.kind) ? e.q : gw_quat_identity(),
                                .nurbs = gw_is_free_form(e.kind) ? e.nurbs : NULL};
        if (gw_is_free_form(e.kind)) {
            surface->kind = e.kind == GW_CURVE ? GW_SURFACE_CURVE : GW_SURFACE_FREE_FORM;
            surface->axis = gw_v3(0, 0, 1);
        }
        return e.kind == GW_PLANE || gw_is_free_form(e.kind);
    }
    return false;
}

/* ---- velocity constraints -------------------------------------------------------------------- */

static bool find_surface(const gw_scene *s, const gw_feature_ref *ref, int index,
                         const char *member, gw_surface *surface, gw_error *error)
{
    return surface_of_feature(s, ref, surface) ||
           gw_scene_invalid(error, "constraints", index, member,
                            "\"%s/%s\" is no surface: a sphere, a cylinder and a capsule have "
                            "\"surface\", a cylinder \"top-rim\" and \"bottom-rim\", a cone "
                            "\"base-rim\"; any plane is one, and free-form surfaces and curves",
                            ref->object, ref->feature);
}

static bool knife_edge(const gw_scene *s, int index, gw_closure_def *c, gw_error *error)
{
    gw_element e;
    const gw_scene_constraint *k = &s->constraints[index];
    gw_surface surface;
    if (!gw_scene_element(s, &k->b, &e) && !surface_of_feature(s, &k->b, &surface))
        return gw_scene_no_feature(s, &k->b, "constraints", index, "/b", error);
    if (!gw_scene_element(s, &k->a, &e) || e.kind != GW_LINE)
        return gw_scene_invalid(error, "constraints", index, "/a",
                                "a knife edge is a line of the object: \"%s/%s\" is none",
                                k->a.object, k->a.feature);
    c->kind = GW_CLOSURE_KNIFE_EDGE;
    c->knife_edge.point = e.p;
    c->knife_edge.direction = e.d;
    return true;
}

#define PARALLEL 0.0872 /* sine of 5 degrees: axes nearer than that are meant to be parallel */

/* True if two cylinders touch along a line: one is within the other, or their axes are about
 * parallel in the scene. */
static bool touch_along_a_line(const gw_scene *s, const gw_scene_constraint *k, const gw_surface *a,
                               const gw_surface *b)
{
    if (a->kind != GW_SURFACE_CYLINDER || b->kind != GW_SURFACE_CYLINDER)
        return false;
    gw_pose pose_a = gw_scene_stated_pose(s, k->a.object);
    gw_pose pose_b = gw_scene_stated_pose(s, k->b.object);
    gw_vec3 across = gw_cross(gw_rotate(pose_a.q, a->axis), gw_rotate(pose_b.q, b->axis));
    return k->inside || gw_norm(across) < PARALLEL;
}

static bool is_curve(const gw_surface *s)
{
    return s->kind == GW_SURFACE_CURVE || s->kind == GW_SURFACE_RIM;
}

/* True if a, b is the order of a contact's surfaces: curves and rims first, then spheres, then
 * cylinders, planes last; of a free-form curve and a free-form surface the surface last. */
static bool stands_right(const gw_surface *a, const gw_surface *b)
{
    if (is_curve(a))
        return true;
    if (is_curve(b) || a->kind == GW_SURFACE_PLANE)
        return false;
    if (a->nurbs || b->nurbs)
        return b->nurbs || b->kind == GW_SURFACE_PLANE;
    return a->kind == GW_SURFACE_SPHERE || b->kind != GW_SURFACE_SPHERE;
}

/* A bilateral contact follows one branch, which ends at a kink: across an edge the body would have
 * to tip, in a groove to touch at two points. */
static bool check_smooth(const gw_scene_constraint *c, const gw_surface *surface,
                         const gw_feature_ref *ref, int index, gw_error *error)
{
    const gw_nurbs *shape = surface->nurbs;
    bool may_part = shape && shape->dimension == 2;
    for (int k = 0; shape && k < shape->dimension && c->unilateral != GW_CONTACT_UNILATERAL; k++)
        if (shape->direction[k].kink_count > 0)
            return gw_scene_invalid(
                error, "constraints", index, ref == &c->b ? "/b" : "/a",
                "\"%s/%s\" has a sharp bend at %c = %g, which a contact that is kept both ways "
                "cannot go over: %sa smooth shape, or a part of this one that is trimmed off there",
                ref->object, ref->feature, shape->dimension == 1 ? 's' : "uv"[k],
                shape -> direction[k].kinks[0], may_part ? "\"contact\":\"unilateral\", " : "");
    return true;
}

bool gw_scene_velocity_closure(const gw_scene *s, int index, gw_closure_def *c, bool *swapped,
                               gw_error *error)
{
    gw_surface a = {0}, b = {0};
    gw_error own = {0};
    const gw_scene_constraint *k = &s->constraints[index];
    assert(!gw_constraint_is_positional(k->kind));
    *c = (gw_closure_def){.a = 0, .b = 1};
    *swapped = false;
    if (k->kind == GW_KNIFE_EDGE)
        return knife_edge(s, index, c, error);
    if (!find_surface(s, &k->a, index, "/a", &a, error) ||
        !find_surface(s, &k->b, index, "/b", &b, error) ||
        !check_smooth(k, &a, &k->a, index, error) || !check_smooth(k, &b, &k->b, index, error))
        return false;
    *swapped = !stands_right(&a, &b) && !k->inside;
    c->kind = GW_CLOSURE_CONTACT;
    c->contact = (gw_closure_contact){.on_a = *swapped ? b : a,
                                      .on_b = *swapped ? a : b,
                                      .inside = k->inside,
                                      .line = touch_along_a_line(s, k, &a, &b),
                                      .motion = k->kind == GW_SLIDING   ? GW_CONTACT_SLIDES
                                                : k->kind == GW_ROLLING ? GW_CONTACT_ROLLS
                                                                        : GW_CONTACT_ROLLS_PURELY};
    return gw_closure_check(c, &own) ||
           gw_scene_invalid(error, "constraints", index, "/a", "%s", own.message);
}

/* ---- unilateral contacts --------------------------------------------------------------------- */

/* mu of a unilateral contact, the enabled velocity constraint `index`: the geometric mean of those
 * that the materials of both surfaces state; else INFINITY if it rolls, 0 if it slides. */
static double contact_friction(const gw_scene *s, int index)
{
    const gw_scene_constraint *c = &s->constraints[index];
    const gw_feature_ref *ends[2] = {&c->a, &c->b};
    double product = 1;
    int stated = 0;
    for (int k = 0; k < 2; k++) {
        int material = gw_scene_material(s, gw_scene_material_of(s, ends[k]));
        if (material < 0 || !s->materials[material].has_friction)
            continue;
        product *= s->materials[material].surface.friction;
        stated++;
    }
    if (stated == 0)
        return c->kind == GW_SLIDING ? 0 : INFINITY;
    return stated == 2 ? sqrt(product) : product;
}

#define SOLID_PARTS 5 /* of a cylinder: rims, side, caps */

/* Contacts of the parts of the surfaces. */
static int contacts_of_parts(const gw_scene *s, int index,
                             gw_closure_contact contacts[GW_MAX_UNILATERAL_PARTS], bool *swapped)
{
    gw_closure_def c;
    bool known = gw_scene_velocity_closure(s, index, &c, swapped, NULL);
    assert(known && c.kind == GW_CLOSURE_CONTACT);
    (void)known;
    double friction = contact_friction(s, index);
    if (friction == 0)
        c.contact.motion = GW_CONTACT_SLIDES;
    else if (c.contact.motion == GW_CONTACT_SLIDES)
        c.contact.motion = GW_CONTACT_ROLLS;
    for (int i = 0; i < GW_MAX_UNILATERAL_PARTS; i++)
        contacts[i] = c.contact;
    bool crossed = c.contact.on_b.kind == GW_SURFACE_CYLINDER && !c.contact.line;
    if (c.contact.on_a.kind != GW_SURFACE_CYLINDER || crossed)
        return 1;
    const gw_scene_constraint *k = &s->constraints[index];
    const gw_feature_ref *ref = *swapped ? &k->b : &k->a;
    gw_pose at;
    const gw_shape *shape = shape_of(s, ref->object, &at);
    const char *feature = ref->feature;
    if (shape->kind == GW_SHAPE_COMPOUND)
        shape = &part_named(shape, feature, &feature)->shape;
    for (int i = 0; i < 2; i++) {
        gw_surface *end = &contacts[i].on_a;
        bool round = shape->kind == GW_SHAPE_CAPSULE || c.contact.line;
        end->kind = round ? GW_SURFACE_SPHERE : GW_SURFACE_RIM;
        end->point = gw_mul_add(end->point, (i ? -0.5 : 0.5) * shape->height, end->axis);
    }
    contacts[2].on_a.half_length = 0.5 * shape->height;
    for (int i = 0; i < 2; i++) { /* caps: discs */
        gw_surface *cap = &contacts[3 + i].on_a;
        double up = i ? -1 : 1;
        cap->kind = GW_SURFACE_PLANE;
        cap->point = gw_mul_add(cap->point, up * 0.5 * shape->height, cap->axis);
        cap->axis = gw_scale(up, cap->axis);
    }
    bool capped = shape->kind == GW_SHAPE_CYLINDER && !c.contact.inside;
    return !gw_closure_contact_has_points(&c.contact) ? 2 : capped ? SOLID_PARTS : 3;
}

/* True if the normal of a's surface where it is nearest to b's points away from b, with the objects
 * as the scene states them. */
static bool faces_away(const gw_scene *s, int index, const gw_closure_contact *k, bool swapped)
{
    const gw_scene_constraint *c = &s->constraints[index];
    gw_pose a = gw_scene_stated_pose(s, swapped ? c->b.object : c->a.object);
    gw_pose b = gw_scene_stated_pose(s, swapped ? c->a.object : c->b.object);
    return k->on_a.kind == GW_SURFACE_FREE_FORM && gw_closure_contact_faces_away(k, &a, &b);
}

/* The contact of an edge or a corner of a sheet, on a (side 0) or on b (1), with the other surface.
 */
static gw_closure_contact contact_of_end(const gw_closure_contact *whole, int side, int end)
{
    gw_closure_contact c = *whole;
    c.edged = true;
    c.on_a = side ? whole->on_b : whole->on_a;
    c.on_b = side ? whole->on_a : whole->on_b;
    c.on_a.sheet = c.on_a.nurbs;
    c.on_a.end = end;
    c.inside = side ? whole->faces_away : whole->inside;
    return c;
}

/* Adds the contacts of the edges of a sheet and of its corners after `count` contacts, the first of
 * which is that of the whole surfaces; returns the number of contacts. An edge has none with a
 * curve, a cylinder or a plane. */
static int add_edges(gw_closure_contact contacts[GW_MAX_UNILATERAL_PARTS], int count, int side)
{
    const gw_closure_contact *whole = &contacts[0];
    const gw_surface *sheet = side ? &whole->on_b : &whole->on_a;
    gw_surface_kind other = (side ? &whole->on_a : &whole->on_b)->kind;
    const gw_nurbs *n = sheet->nurbs;
    bool meets = other == GW_SURFACE_SPHERE || other == GW_SURFACE_ELLIPSOID ||
                 other == GW_SURFACE_FREE_FORM;
    if (sheet->kind != GW_SURFACE_FREE_FORM || !meets)
        return count;
    for (int i = 0; i < 4; i++) {
        if (!n->edge[i] || n->direction[i / 2].closed)
            continue;
        gw_closure_contact *c = &contacts[count++];
        *c = contact_of_end(whole, side, i);
        c->on_a.kind = GW_SURFACE_CURVE;
        c->on_a.nurbs = n->edge[i];
    }
    for (int i = 0; i < 4 && !n->direction[0].closed && !n->direction[1].closed; i++) {
        const gw_nurbs_direction *u = &n->direction[0], *v = &n->direction[1];
        const double at[2] = {i & 1 ? u->high : u->low, i >> 1 ? v->high : v->low};
        gw_nurbs_point corner;
        if (!n->edge[i & 1] || !n->edge[2 + (i >> 1)])
            continue;
        gw_nurbs_evaluate(n, at, 0, NULL, &corner);
        gw_closure_contact *c = &contacts[count++];
        *c = contact_of_end(whole, side, i);
        c->on_a.kind = GW_SURFACE_CORNER;
        c->on_a.point = gw_add(sheet->point, gw_rotate(sheet->turn, corner.d[0][0]));
        c->on_a.nurbs = NULL;
    }
    return count;
}

int gw_scene_unilateral_contacts(const gw_scene *s, int index,
                                 gw_unilateral_contact points[GW_MAX_UNILATERAL_CONTACTS],
                                 bool *swapped)
{
    gw_closure_contact contacts[GW_MAX_UNILATERAL_PARTS];
    int parts = contacts_of_parts(s, index, contacts, swapped), count = 0, surfaces = parts;
    bool solid = parts == SOLID_PARTS;
    if (parts == 1) {
        contacts[0].faces_away = faces_away(s, index, contacts, *swapped);
        surfaces = add_edges(contacts, parts, 0);
        parts = add_edges(contacts, surfaces, 1);
        contacts[0].edged = parts > 1;
    }
    for (int i = 0; i < parts; i++) {
        int minima = gw_closure_contact_points(&contacts[i]), first = count;
        int all = minima + gw_closure_contact_supports(&contacts[i]);
        for (int k = 0; k < all; k++)
            points[count++] = (gw_unilateral_contact){
                .contact = contacts[i],
                .friction = contact_friction(s, index),
                .first = first,
                .count = gw_closure_contact_has_points(&contacts[i]) ? all : 0,
                .support = k < minima ? -1 : k - minima,
                .exchanged = i >= surfaces,
                .part_of_solid = solid && i >= 2,
                .in_system = !solid && k < minima};
    }
    return count;
}
