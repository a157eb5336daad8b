/*
 * Checks of a scene beyond the types of its members: references, ranges, kinds that fit. For ids
 * see check_ids.c, mechanisms mechanism.c, joints and springs joint.c, tasks task.c. Not for use in
 * a tick.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/driver.h"
#include "rt/scene/scene.h"
#include "rt/scene/surface.h"

#define CONTACT_RATE_MIN 10   /* Hz of the world thread: at lower rates candidates come too late */
#define CONTACT_RATE_MAX 1000 /* Hz: no gain above the rate of most ticks */
#define MASS_KNOWN_MAX   10   /* factor on the mass: beyond, control is unstable in any case */

bool gw_scene_invalid(gw_error *error, const char *collection, int index, const char *member,
                      const char *format, ...)
{
    char where[320], message[300];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    snprintf(where, sizeof where, "/%s/%d%s", collection, index, member);
    return gw_fail(error, GW_BAD_INPUT, where, "%s", message);
}

/* Lists the features derived from the shape, its round surfaces and rims, and those stated by the
 * scene, as far as they fit. */
static void list_features(const gw_scene *s, const char *object, char *list, size_t room)
{
    int link = 0, mechanism = gw_scene_link(s, object, &link), at = gw_scene_object(s, object);
    const gw_shape *shape = NULL;
    size_t used = 0;
    list[0] = 0;
    if (at >= 0)
        shape = &s->objects[at].shape;
    else if (mechanism >= 0 && s->mechanisms[mechanism].geometries[link].has_geometry)
        shape = &s->mechanisms[mechanism].geometries[link].shape;
    int derived = shape ? gw_feature_count(shape) : 0;
    int all = derived + (shape ? gw_scene_surface_names(shape) : 0);
    for (int i = 0; i < all + s->feature_count; i++) {
        char name[GW_MAX_ID + 1] = "";
        gw_element element;
        gw_surface surface;
        if (i < derived)
            gw_feature_at(shape, i, name, &element);
        else if (i < all && !gw_scene_surface_at(shape, i - derived, name, &surface))
            continue;
        else if (i >= all && strcmp(s->features[i - all].object, object) == 0)
            snprintf(name, sizeof name, "%s", s->features[i - all].name);
        if (!name[0])
            continue;
        if (used + strlen(name) + 6 > room) {
            snprintf(list + used, room - used, ", ..");
            return;
        }
        used += (size_t)snprintf(list + used, room - used, "%s%s", used ? ", " : "", name);
    }
}

bool gw_scene_no_feature(const gw_scene *s, const gw_feature_ref *ref, const char *collection,
                         int index, const char *member, gw_error *error)
{
    char list[140];
    list_features(s, ref->object, list, sizeof list);
    return gw_scene_invalid(error, collection, index, member, "\"%s\" has no feature \"%s\"%s%s",
                            ref->object, ref->feature, list[0] ? ", but " : "", list);
}

bool gw_scene_not_negative(gw_error *error, const char *collection, int index, const char *member,
                           double x, const char *unit)
{
    const char *name = strrchr(member, '/') + 1;
    bool unlimited = strcmp(name, "max") == 0 || strcmp(name, "speed") == 0;
    if (isfinite(x) && x >= 0)
        return true;
    return gw_scene_invalid(error, collection, index, member, "%s is %g, must be 0%s or more (%s)",
                            name, x, unlimited ? " (unlimited)" : "", unit);
}

bool gw_scene_check_motor(gw_error *error, const char *collection, int index, const char *member,
                          const gw_motor *m)
{
    const struct {
        const char *name, *unit;
        double value;
    } all[] = {{"stiffness", "N m/rad, N/m", m->stiffness},
               {"damping", "N m s/rad, N s/m", m->damping},
               {"max", "N m, N", m->max},
               {"speed", "rad/s, m/s", m->speed}};
    if (!isfinite(m->torque) || !isfinite(m->target) || !isfinite(m->rate))
        return gw_scene_invalid(error, collection, index, member,
                                "a motor's numbers must be finite");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char at[128];
        snprintf(at, sizeof at, "%s/%s", member, all[i].name);
        if (!gw_scene_not_negative(error, collection, index, at, all[i].value, all[i].unit))
            return false;
    }
    return true;
}

bool gw_id_valid(const char *id)
{
    assert(id);
    size_t length =
        strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:+-");
    return length >= 1 && length <= GW_MAX_ID && id[length] == '\0';
}

/* ---- objects and features ------------------------------------------------------------------- */

/* A tick looks at no more unilateral constraints of one object. */
static bool check_unilaterals(const gw_scene *s, const char *object, gw_error *error)
{
    int count = 0;
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i];
        count += gw_scene_constraint_is_unilateral(c) &&
                 (strcmp(c->a.object, object) == 0 || strcmp(c->b.object, object) == 0);
        if (count > GW_MAX_UNILATERALS)
            return gw_fail(error, GW_TOO_LARGE, "/constraints",
                           "\"%s\" has more than %d unilateral constraints", object,
                           GW_MAX_UNILATERALS);
    }
    return true;
}

static bool check_body(const gw_body *b, int index, gw_error *error)
{
    if (b->source == GW_MASS_GIVEN && !(isfinite(b->mass) && b->mass > 0))
        return gw_scene_invalid(error, "objects", index, "/body/mass",
                                "mass must be greater than 0 (kg)");
    if (b->source == GW_MASS_BY_DENSITY && !(isfinite(b->density) && b->density > 0))
        return gw_scene_invalid(error, "objects", index, "/body/density",
                                "density must be greater than 0 (kg/m3)");
    if (b->has_com && !gw_finite3(b->com))
        return gw_scene_invalid(error, "objects", index, "/body/com", "com must be finite (m)");
    for (int i = 0; b->has_inertia && i < 6; i++)
        if (!isfinite(b->inertia[i]))
            return gw_scene_invalid(error, "objects", index, "/body/inertia",
                                    "inertia must be finite");
    if (b->has_inertia && !gw_inertia_is_real(b->inertia))
        return gw_scene_invalid(
            error, "objects", index, "/body/inertia",
            "inertia [ixx,iyy,izz,ixy,ixz,iyz] must be the tensor of a real solid: positive "
            "definite, each principal moment at most the sum of the other two");
    if (!(b->damping_linear >= 0 && isfinite(b->damping_linear)))
        return gw_scene_invalid(error, "objects", index, "/body/damping/linear",
                                "damping must be 0 or more (N s/m)");
    if (!(b->damping_angular >= 0 && isfinite(b->damping_angular)))
        return gw_scene_invalid(error, "objects", index, "/body/damping/angular",
                                "damping must be 0 or more (N m s/rad)");
    return true;
}

/* Mass and inertia of objects that may move, stated or from the geometry, are positive numbers. */
static bool check_mass(const gw_object *o, int index, gw_error *error)
{
    if (o->fixed)
        return true;
    double mass = gw_object_mass(o).mass, length = gw_object_length(o);
    return (isfinite(mass) && mass > 0 && isfinite(length) && length > 0) ||
           gw_scene_invalid(error, "objects", index, "/geometry",
                            "mass %g kg and the radius of gyration, %g m, must be numbers greater "
                            "than 0: a size between 1e-40 and 1e40 m has them",
                            mass, length);
}

/* A free object: not fixed, not too many, not too many unilateral constraints. */
static bool check_free(const gw_scene *s, int index, gw_error *error)
{
    const gw_object *o = &s->objects[index];
    if (!o->free)
        return true;
    if (o->massless || o->fixed)
        return gw_scene_invalid(
            error, "objects", index, o->massless ? "/massless" : "/free",
            "\"%s\" is %s: a free object moves by its mass and what touches it%s", o->id,
            o->massless ? "free" : "fixed", o->massless ? ", a massless one only follows" : "");
    int before = 0;
    for (int i = 0; i < index; i++)
        before += s->objects[i].free;
    if (before >= GW_MAX_SYSTEM_BODIES) {
        char where[64];
        snprintf(where, sizeof where, "/objects/%d/free", index);
        return gw_fail(error, GW_TOO_LARGE, where, "a scene has at most %d free objects",
                       GW_MAX_SYSTEM_BODIES);
    }
    return check_unilaterals(s, o->id, error);
}

/* A curve or surface has no volume that a mass could follow from. */
static bool check_free_form(const gw_object *o, int index, gw_error *error)
{
    bool moves = !o->fixed && !o->massless;
    bool stated = o->body.source == GW_MASS_GIVEN && o->body.has_inertia;
    if (!gw_shape_is_free_form(o->shape.kind) || !moves || stated)
        return true;
    return gw_scene_invalid(error, "objects", index, "/body",
                            "\"%s\" is a %s, which has no volume: one that moves states its mass "
                            "and its inertia (or is \"fixed\")",
                            o->id, gw_shape_kind_name(o->shape.kind));
}

/* True within the range of a file's numbers, beyond which a saved scene could not be read again. */
static bool is_within_reach(gw_vec3 p)
{
    return fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))) <= GW_MAX_COORDINATE;
}

static bool check_object(const gw_scene *s, int index, gw_error *error)
{
    const gw_object *o = &s->objects[index];
    gw_error inner = {0};
    if (!gw_shape_check(&o->shape, &inner)) {
        char member[224];
        snprintf(member, sizeof member, "/geometry%s", inner.where);
        return gw_scene_invalid(error, "objects", index, member, "%s", inner.message);
    }
    if (!gw_finite_pose(&o->pose) || !is_within_reach(o->pose.p))
        return gw_scene_invalid(error, "objects", index, "/pose",
                                "a pose must be finite, its position from %g to %g m",
                                -GW_MAX_COORDINATE, GW_MAX_COORDINATE);
    if (!gw_finite3(o->velocity) || !gw_finite3(o->spin))
        return gw_scene_invalid(error, "objects", index, "/velocity", "a velocity must be finite");
    if (o->fixed && gw_norm(o->velocity) + gw_norm(o->spin) > 0)
        return gw_scene_invalid(error, "objects", index, "/velocity",
                                "\"%s\" is fixed: it has no velocity, leave it out", o->id);
    if (o->material[0] && gw_scene_material(s, o->material) < 0) {
        gw_scene_invalid(error, "objects", index, "/material", "there is no material \"%s\"",
                         o->material);
        return gw_error_names(error, s->materials, s->material_count, sizeof *s->materials);
    }
    return check_free_form(o, index, error) && check_body(&o->body, index, error) &&
           check_mass(o, index, error) && check_free(s, index, error);
}

/* An object, or a link. */
static bool is_there(const gw_scene *s, const char *name)
{
    int link;
    return gw_scene_object(s, name) >= 0 || gw_scene_link(s, name, &link) >= 0;
}

/* Refuses a name that is neither an object's nor a link's. */
static bool refuse_reference(const gw_scene *s, const char *name, const char *collection, int index,
                             const char *member, gw_error *error)
{
    int mechanism = gw_scene_mechanism(s, name);
    if (mechanism < 0) {
        gw_scene_invalid(error, collection, index, member, "there is no object \"%s\"", name);
        return gw_error_names(error, s->objects, s->object_count, sizeof *s->objects);
    }
    return gw_scene_invalid(error, collection, index, member,
                            "\"%s\" is a mechanism: name a link, \"%s.0\" to \"%s.%d\"", name, name,
                            name, s->mechanisms[mechanism].link_count - 1);
}

static bool check_feature(const gw_scene *s, const gw_feature *f, int index, gw_error *error)
{
    if (!is_there(s, f->object))
        return refuse_reference(s, f->object, "features", index, "/id", error);
    if (!gw_finite3(f->element.p) || !gw_finite3(f->element.d))
        return gw_scene_invalid(error, "features", index, "", "a feature's numbers must be finite");
    return true;
}

/* ---- constraints ---------------------------------------------------------------------------- */

static bool check_ref(const gw_scene *s, const gw_feature_ref *ref, int index, const char *member,
                      gw_element *element, gw_error *error)
{
    if (gw_scene_element(s, ref, element))
        return true;
    if (!is_there(s, ref->object))
        return refuse_reference(s, ref->object, "constraints", index, member, error);
    return gw_scene_no_feature(s, ref, "constraints", index, member, error);
}

/* The value within the range of its kind (constraint_kinds.h). */
static bool check_value(const gw_scene_constraint *c, const gw_element *a, const gw_element *b,
                        int index, gw_error *error)
{
    double low, high;
    if (!isfinite(c->value))
        return gw_scene_invalid(error, "constraints", index, "/value", "a value must be finite");
    if (!gw_constraint_has_value(c->kind)) {
        if (c->value == 0)
            return true;
        return gw_scene_invalid(
            error, "constraints", index, "/value",
            "the value is %g, but only a distance (m) and an angle (rad) have one: "
            "leave it out, or make the type one of these",
            c->value);
    }
    gw_constraint_value_range(c->kind, a->kind, b->kind, &low, &high);
    if (c->value >= low && c->value <= high)
        return true;
    if (gw_constraint_has_length(c->kind))
        return gw_scene_invalid(error, "constraints", index, "/value",
                                "a distance between points and lines must be 0 or more (m)");
    return gw_scene_invalid(
        error, "constraints", index, "/value",
        low < 0 ? "an angle between a line and a plane must be within -pi/2 and pi/2 (rad)"
                : "an angle must be within 0 and pi (rad)");
}

/* Offset surfaces fold at the focal distance; reported for the point closest to where the objects
 * are.
 */
static bool check_offset(const gw_scene *s, const gw_scene_constraint *c, const gw_element *a,
                         const gw_element *b, int index, gw_error *error)
{
    gw_constraint stated = {.kind = c->kind, .value = c->value, .mobile = *a};
    stated.fixed = gw_element_moved(&s->objects[gw_scene_object(s, c->b.object)].pose, b);
    double focal;
    const char *folds = gw_constraint_offset_folds(
        &stated, &s->objects[gw_scene_object(s, c->a.object)].pose, &focal);
    return !folds ||
           gw_scene_invalid(error, "constraints", index, "/value",
                            "the offset of %g m is %s the focal distance, %g m at the point "
                            "closest to \"%s/%s\" now, where the surface folds: an offset must be "
                            "less than that, or start where the surface is flatter",
                            c->value, folds, focal, c->a.object, c->a.feature);
}

/* Tangents, normals and offsets require a smooth shape: a kink cannot be followed. */
static bool check_smooth(const gw_scene_constraint *c, const gw_element *a, const gw_element *b,
                         int index, gw_error *error)
{
    gw_constraint stated = {.kind = c->kind, .value = c->value, .mobile = *a, .fixed = *b};
    char parameter;
    double at;
    bool on_b;
    const char *lacks = gw_constraint_kink(&stated, &parameter, &at, &on_b);
    const gw_feature_ref *ref = on_b ? &c->b : &c->a;
    return !lacks || (c->bound != GW_BOUND_EQUAL && c->kind != GW_ANGLE) ||
           gw_scene_invalid(error, "constraints", index, on_b ? "/b" : "/a",
                            "\"%s/%s\" has a sharp bend at %c = %g, %s", ref->object, ref->feature,
                            parameter, at, lacks);
}

static bool check_bound(const gw_scene_constraint *c, const gw_element *a, const gw_element *b,
                        int index, gw_error *error)
{
    if (c->bound == GW_BOUND_EQUAL)
        return true;
    bool plane = a->kind == GW_PLANE || b->kind == GW_PLANE;
    bool unsigned_distance = c->kind == GW_DISTANCE && !plane &&
                             (gw_is_free_form(a->kind) || gw_is_free_form(b->kind)) &&
                             !gw_scene_bound_is_signed(c, a, b);
    if (unsigned_distance && !(c->value > 0))
        return gw_scene_invalid(error, "constraints", index, "/value",
                                "the value is %g m, but the distance between these elements has no "
                                "sign, and a bound of it is a value above 0: only that of a point "
                                "from a free-form surface and of a plane are signed",
                                c->value);
    return gw_constraint_kind_info_of(c->kind)->one_sided ||
           gw_scene_invalid(
               error, "constraints", index, "/bound",
               "only a distance and an angle can be one-sided: type must be \"distance\" or "
               "\"angle\"");
}

/* Sliding, rolling, knife edges: surfaces that can touch, of two bodies of which one can move. */
static bool check_velocity_constraint(const gw_scene *s, const gw_scene_constraint *c, int index,
                                      gw_error *error)
{
    gw_closure_def closure;
    bool swapped;
    if (!is_there(s, c->a.object))
        return refuse_reference(s, c->a.object, "constraints", index, "/a", error);
    if (!is_there(s, c->b.object))
        return refuse_reference(s, c->b.object, "constraints", index, "/b", error);
    if (strcmp(c->a.object, c->b.object) == 0)
        return gw_scene_invalid(
            error, "constraints", index, "/b",
            "a and b are features of one object: a constraint joins two objects");
    int a = gw_scene_object(s, c->a.object), b = gw_scene_object(s, c->b.object);
    if (a >= 0 && b >= 0 && s->objects[a].fixed && s->objects[b].fixed)
        return gw_scene_invalid(error, "constraints", index, "/a",
                                "both objects are fixed: one must move");
    if ((a >= 0 && s->objects[a].massless) || (b >= 0 && s->objects[b].massless))
        return gw_scene_invalid(error, "constraints", index, "/type",
                                "what rolls or slides has mass: one of the objects is massless");
    if (c->value != 0)
        return gw_scene_invalid(error, "constraints", index, "/value",
                                "the value is %g, but this type has none: leave it out", c->value);
    if (c->bound != GW_BOUND_EQUAL)
        return gw_scene_invalid(error, "constraints", index, "/bound",
                                "only a distance and an angle can be one-sided: type must be "
                                "\"distance\" or \"angle\"");
    if (c->unilateral == GW_CONTACT_UNILATERAL && c->kind == GW_KNIFE_EDGE)
        return gw_scene_invalid(error, "constraints", index, "/contact",
                                "a knife edge is no contact that may part: \"bilateral\"");
    if (!gw_scene_velocity_closure(s, index, &closure, &swapped, error))
        return false;
    if (c->unilateral == GW_CONTACT_UNILATERAL && !gw_closure_contact_may_part(&closure.contact))
        return gw_scene_invalid(error, "constraints", index, "/contact",
                                "two curves keep one tangent and do not part: \"bilateral\", or a "
                                "curve on a surface");
    if (c->unilateral == GW_CONTACT_UNILATERAL && c->kind == GW_SLIDING && closure.contact.line &&
        !c->inside)
        return gw_scene_invalid(error, "constraints", index, "/contact",
                                "a cylinder that may part from a parallel one and slides on it "
                                "turns across it: \"bilateral\", or \"rolling\"");
    return true;
}

static bool check_constraint(const gw_scene *s, const gw_scene_constraint *c, int index,
                             gw_error *error)
{
    gw_element a, b;
    const char *why = "";
    if (!gw_constraint_is_positional(c->kind))
        return check_velocity_constraint(s, c, index, error);
    if (c->inside)
        return gw_scene_invalid(error, "constraints", index, "/inside",
                                "only what rolls or slides can be inside a surface");
    if (!check_ref(s, &c->a, index, "/a", &a, error) ||
        !check_ref(s, &c->b, index, "/b", &b, error))
        return false;
    if (strcmp(c->a.object, c->b.object) == 0)
        return gw_scene_invalid(
            error, "constraints", index, "/b",
            "a and b are features of one object: a constraint joins two objects");
    bool bound = c->bound != GW_BOUND_EQUAL;
    if (!(bound ? gw_bound_fits : gw_constraint_fits)(c->kind, a.kind, b.kind, &why))
        return gw_scene_invalid(error, "constraints", index, "/type", "%s", why);
    int ia = gw_scene_object(s, c->a.object), ib = gw_scene_object(s, c->b.object);
    bool link = ia < 0 || ib < 0;
    if (!link && s->objects[ia].fixed && s->objects[ib].fixed)
        return gw_scene_invalid(error, "constraints", index, "/a",
                                "both objects are fixed: one must move");
    return check_value(c, &a, &b, index, error) && check_bound(c, &a, &b, index, error) &&
           check_smooth(c, &a, &b, index, error) &&
           (link || c->bound != GW_BOUND_EQUAL || check_offset(s, c, &a, &b, index, error));
}

/* ---- devices -------------------------------------------------------------------------------- */

static bool check_profile(const gw_driver *driver, const gw_device *d, int index, gw_error *error)
{
    if (!d->profile[0])
        return true;
    for (int i = 0; driver->profiles[i]; i++)
        if (strcmp(driver->profiles[i], d->profile) == 0)
            return true;
    return gw_scene_invalid(error, "devices", index, "/settings/profile",
                            "driver \"%s\" has no profile \"%s\"", driver->name, d->profile);
}

static bool check_setting(const gw_driver *driver, const gw_setting *s, int index, gw_error *error)
{
    const gw_driver_setting *known = gw_driver_setting_find(driver, s->name);
    char member[64];
    snprintf(member, sizeof member, "/settings/%s", s->name);
    if (!known)
        return gw_scene_invalid(error, "devices", index, member,
                                "driver \"%s\" has no setting \"%s\"", driver->name, s->name);
    if (s->value >= known->low && s->value <= known->high)
        return true;
    return gw_scene_invalid(error, "devices", index, member, "%s is %g, must be %g to %g %s",
                            s->name, s->value, known->low, known->high, known->unit);
}

static bool check_device(const gw_device *d, int index, gw_error *error)
{
    const gw_driver *driver = gw_driver_find(d->driver);
    if (!driver) {
        char message[192];
        int n = snprintf(message, sizeof message, "there is no driver \"%s\"; this build has",
                         d->driver);
        for (int i = 0; gw_drivers[i] && n < (int)sizeof message; i++)
            n += snprintf(message + n, sizeof message - (size_t)n, " %s", gw_drivers[i]->name);
        return gw_scene_invalid(error, "devices", index, "/driver", "%s", message);
    }
    if (!check_profile(driver, d, index, error))
        return false;
    for (int i = 0; i < d->setting_count; i++)
        if (!check_setting(driver, &d->settings[i], index, error))
            return false;
    return true;
}

/* ---- materials and contacts ----------------------------------------------------------------- */

static bool check_material(const gw_material *m, int index, gw_error *error)
{
    const gw_contact_material *s = &m->surface;
    if (!(s->restitution >= 0 && s->restitution <= 1))
        return gw_scene_invalid(error, "materials", index, "/restitution",
                                "restitution is %g, must be 0 to 1", s->restitution);
    if (!(s->friction >= 0 && isfinite(s->friction)))
        return gw_scene_invalid(error, "materials", index, "/friction",
                                "friction is %g, must be 0 or more", s->friction);
    if (!(s->stiffness > 0 && isfinite(s->stiffness)))
        return gw_scene_invalid(error, "materials", index, "/stiffness",
                                "stiffness is %g, must be greater than 0 (N/m)", s->stiffness);
    if (!(s->damping >= 0 && isfinite(s->damping)))
        return gw_scene_invalid(error, "materials", index, "/damping",
                                "damping is %g, must be 0 or more (N s/m)", s->damping);
    return true;
}

static bool out_of_range(gw_error *error, const char *where, const char *what, double value,
                         const char *right)
{
    return gw_fail(error, GW_BAD_INPUT, where, "%s is %g, must be %s", what, value, right);
}

static bool check_ignored(const gw_scene *s, int index, gw_error *error)
{
    const gw_pair_name *pair = &s->contact.ignore[index];
    char where[64];
    for (int side = 0; side < 2; side++) {
        const char *name = side ? pair->b : pair->a;
        snprintf(where, sizeof where, "/contact/ignore/%d/%d", index, side);
        if (!is_there(s, name)) {
            gw_fail(error, GW_BAD_INPUT, where,
                    "there is no object \"%s\", nor a link of that name", name);
            return gw_error_names(error, s->objects, s->object_count, sizeof *s->objects);
        }
    }
    return strcmp(pair->a, pair->b) != 0 ||
           gw_fail(error, GW_BAD_INPUT, where, "nothing touches itself: name two");
}

static bool check_contact(const gw_scene *s, gw_error *error)
{
    const gw_scene_contact *c = &s->contact;
    for (int i = 0; i < s->material_count; i++)
        if (!check_material(&s->materials[i], i, error))
            return false;
    if (c->rate != 0 && !(c->rate >= CONTACT_RATE_MIN && c->rate <= CONTACT_RATE_MAX))
        return out_of_range(error, "/contact/rate", "rate", c->rate, "10 to 1000 Hz");
    if (!(c->rules.slip_speed >= 0 && c->rules.slip_speed <= 1))
        return out_of_range(error, "/contact/slip_speed", "slip_speed", c->rules.slip_speed,
                            "0 to 1 m/s");
    if (!(c->rules.rest_speed >= 0 && c->rules.rest_speed <= 1))
        return out_of_range(error, "/contact/rest_speed", "rest_speed", c->rules.rest_speed,
                            "0 to 1 m/s");
    for (int i = 0; i < c->ignore_count; i++)
        if (!check_ignored(s, i, error))
            return false;
    return true;
}

/* ---- tools: the held object or link --------------------------------------------------------- */

static bool check_held_object(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    int object = gw_scene_object(s, t->object);
    if (object < 0) {
        gw_scene_invalid(error, "tools", index, "/object", "there is no object \"%s\"", t->object);
        return gw_error_names(error, s->objects, s->object_count, sizeof *s->objects);
    }
    if (s->objects[object].fixed)
        return gw_scene_invalid(error, "tools", index, "/object",
                                "\"%s\" is fixed: a tool holds an object that may move", t->object);
    return check_unilaterals(s, t->object, error);
}

static bool check_held_link(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    int mechanism = gw_scene_mechanism(s, t->mechanism);
    if (mechanism < 0) {
        gw_scene_invalid(error, "tools", index, "/mechanism", "there is no mechanism \"%s\"",
                         t->mechanism);
        return gw_error_names(error, s->mechanisms, s->mechanism_count, sizeof *s->mechanisms);
    }
    int count = s->mechanisms[mechanism].link_count;
    if (t->link == GW_LINK_TIP)
        return gw_scene_invalid(error, "tools", index, "/link",
                                "link: is missing, and the mechanism states no tip");
    if (t->link < 0 || t->link >= count)
        return gw_scene_invalid(error, "tools", index, "/link",
                                "link is %d, \"%s\" has links 0 to %d", t->link, t->mechanism,
                                count - 1);
    if (t->branch[0])
        return gw_scene_invalid(error, "tools", index, "/branch",
                                "branches are of an object's constraints: a mechanism has none");
    return true;
}

static bool check_held(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    if (t->object[0] && t->mechanism[0])
        return gw_scene_invalid(error, "tools", index, "/mechanism",
                                "a tool holds an object or a link of a mechanism, not both");
    if (t->mechanism[0])
        return check_held_link(s, t, index, error);
    return check_held_object(s, t, index, error);
}

/* ---- tools: control ------------------------------------------------------------------------- */

static bool check_control(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    int device = gw_scene_device(s, t->device);
    if (device < 0) {
        gw_scene_invalid(error, "tools", index, "/device", "there is no device \"%s\"", t->device);
        return gw_error_names(error, s->devices, s->device_count, sizeof *s->devices);
    }
    const gw_driver *driver = gw_driver_find(s->devices[device].driver);
    bool impedance = driver && driver->class == GW_DEVICE_IMPEDANCE;
    if (impedance && t->control == GW_CONTROL_ADMITTANCE)
        return gw_scene_invalid(error, "tools", index, "/control",
                                "device \"%s\" is an impedance device: control must be impedance, "
                                "penalty, coupling or four-channel",
                                t->device);
    if (driver && !impedance && t->control != GW_CONTROL_ADMITTANCE)
        return gw_scene_invalid(error, "tools", index, "/control",
                                "device \"%s\" is an admittance device: control must be admittance",
                                t->device);
    return true;
}

/* A number of a tool's rendering and its upper bound. */
typedef struct bounded {
    const char *member;
    double value, most;
} bounded;

static bool check_bounded(const bounded *all, int count, int index, gw_error *error)
{
    for (int i = 0; i < count; i++)
        if (!(all[i].value >= 0 && all[i].value <= all[i].most))
            return gw_scene_invalid(error, "tools", index, all[i].member, "is %g, must be 0 to %g",
                                    all[i].value, all[i].most);
    return true;
}

static bool check_rendering(const gw_tool *t, int index, gw_error *error)
{
    const gw_impedance_def *r = &t->rendering;
    const gw_spring_damper *co = &r->coordination, *vc = &r->coupling;
    const bounded all[] = {
        {"/rendering/length", r->resisted.length, 1e3},
        {"/rendering/threshold", r->resisted.threshold, 1},
        {"/rendering/fade", r->resisted.fade, 1e6},
        {"/rendering/coordination/linear", co->linear, 1e9},
        {"/rendering/coordination/angular", co->angular, 1e9},
        {"/rendering/coordination/linear_damping", co->linear_damping, 1e9},
        {"/rendering/coordination/angular_damping", co->angular_damping, 1e9},
        {"/rendering/coupling/linear", vc->linear, 1e9},
        {"/rendering/coupling/angular", vc->angular, 1e9},
        {"/rendering/coupling/linear_damping", vc->linear_damping, 1e9},
        {"/rendering/coupling/angular_damping", vc->angular_damping, 1e9},
        {"/rendering/penalty/stiffness", r->penalty, 1e9},
        {"/rendering/penalty/damping", r->penalty_damping, 1e9},
        {"/rendering/mass_known", r->mass_known, MASS_KNOWN_MAX},
        {"/rendering/slew", r->slew, 1e9},
        {"/rendering/impulse_budget", r->impulse_budget, 1e9},
    };
    if (!check_bounded(all, sizeof all / sizeof all[0], index, error))
        return false;
    if (r->resisted.fade != 0 && r->resisted.fade < 1)
        return gw_scene_invalid(error, "tools", index, "/rendering/fade",
                                "is %g, must be 1 or more: it multiplies the threshold",
                                r->resisted.fade);
    if (t->substeps < 0 || t->substeps > GW_MAX_SUBSTEPS)
        return gw_scene_invalid(error, "tools", index, "/substeps", "is %d, must be 1 to %d",
                                t->substeps, GW_MAX_SUBSTEPS);
    return true;
}

/* The force scale and the desired impedance, whose mass must be positive. */
static bool check_desired(const gw_tool *t, int index, gw_error *error)
{
    const gw_desired_def *d = &t->desired;
    char where[48];
    if (t->force_scale != 0 && !(t->force_scale >= 1e-6 && t->force_scale <= 1e6))
        return gw_scene_invalid(error, "tools", index, "/force_scale", "is %g, must be 1e-6 to 1e6",
                                t->force_scale);
    for (int i = 0; i < 6; i++) {
        const bounded all[] = {{"damping", d->damping[i], GW_MAX_NUMBER},
                               {"stiffness", d->stiffness[i], GW_MAX_NUMBER}};
        for (int k = 0; k < 2; k++) {
            snprintf(where, sizeof where, "/desired/%s/%d", all[k].member, i);
            if (!check_bounded(&(bounded){where, all[k].value, all[k].most}, 1, index, error))
                return false;
        }
        snprintf(where, sizeof where, "/desired/mass/%d", i);
        if (d->has_mass && !(d->mass[i] >= GW_DESIRED_MASS_MIN && d->mass[i] <= GW_MAX_NUMBER))
            return gw_scene_invalid(error, "tools", index, where, "is %g, must be %g to %g",
                                    d->mass[i], GW_DESIRED_MASS_MIN, GW_MAX_NUMBER);
    }
    return true;
}

static bool hold_one_body(const gw_tool *a, const gw_tool *b)
{
    return strcmp(a->object, b->object) == 0 && strcmp(a->mechanism, b->mechanism) == 0 &&
           a->link == b->link;
}

/* Members that can be checked one by one. */
static bool check_numbers(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    for (int i = 0; i < index; i++)
        if (strcmp(s->tools[i].device, t->device) == 0)
            return gw_scene_invalid(error, "tools", index, "/device",
                                    "two tools need two devices: \"%s\" is tool %d's", t->device,
                                    i);
    int object = gw_scene_object(s, t->object);
    for (int i = 0; i < index; i++)
        if (object >= 0 && s->objects[object].massless && hold_one_body(t, &s->tools[i]))
            return gw_scene_invalid(error, "tools", index, "/object",
                                    "two tools hold \"%s\", which is massless: it follows one hand",
                                    t->object);
    /* eq. 4 of one hand scales the wrench of the other, and two such equations need not agree */
    for (int i = 0; i < index; i++)
        if ((t->desired.has_mass || s->tools[i].desired.has_mass) && hold_one_body(t, &s->tools[i]))
            return gw_scene_invalid(error, "tools", index,
                                    t->desired.has_mass ? "/desired/mass" : "",
                                    "tools %d and %d hold one body, which can have no desired mass "
                                    "at one hand and another mass at the other: damping and "
                                    "stiffness may be desired",
                                    i, index);
    if (!gw_finite_pose(&t->at) || !gw_finite_pose(&t->start))
        return gw_scene_invalid(error, "tools", index, "/at", "a pose must be finite");
    return check_rendering(t, index, error) && check_desired(t, index, error);
}

/* True once the list is full. */
static bool list_tool(const gw_scene *s, int index, gw_error_list *list)
{
    static bool (*const checks[])(const gw_scene *, const gw_tool *, int,
                                  gw_error *) = {check_held, check_control, check_numbers};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (gw_count_error(list, checks[i](s, &s->tools[index], index, gw_next_error(list))))
            return true;
    return false;
}

/* ---- the scene ------------------------------------------------------------------------------ */

/* Members and ids, which all references need. */
static void check_names(const gw_scene *s, gw_error_list *list)
{
    double g = gw_norm(s->gravity);
    if (!(g <= GW_MAX_NUMBER) &&
        gw_count_error(list, gw_fail(gw_next_error(list), GW_BAD_INPUT, "/gravity",
                                     "gravity is %g, must be at most %g m/s2", g, GW_MAX_NUMBER)))
        return;
    if ((s->rate < GW_RATE_MIN_HZ || s->rate > GW_RATE_MAX_HZ) &&
        gw_count_error(list, gw_fail(gw_next_error(list), GW_BAD_INPUT, "/rate",
                                     "rate is %d, must be %d to %d Hz", s->rate, GW_RATE_MIN_HZ,
                                     GW_RATE_MAX_HZ)))
        return;
    gw_scene_check_ids(s, list);
}

/* Entries that refer to no other. */
static void check_bodies(const gw_scene *s, gw_error_list *list)
{
    for (int i = 0; i < s->object_count; i++)
        if (gw_count_error(list, check_object(s, i, gw_next_error(list))))
            return;
    for (int i = 0; i < s->device_count; i++)
        if (gw_count_error(list, check_device(&s->devices[i], i, gw_next_error(list))))
            return;
    gw_scene_check_mechanisms(s, list);
}

/* Entries that refer to bodies. */
static void check_relations(const gw_scene *s, gw_error_list *list)
{
    for (int i = 0; i < s->feature_count; i++)
        if (gw_count_error(list, check_feature(s, &s->features[i], i, gw_next_error(list))))
            return;
    gw_scene_check_joints(s, list);
}

/* Entries that refer to relations. */
static void check_uses(const gw_scene *s, gw_error_list *list)
{
    for (int i = 0; i < s->constraint_count; i++)
        if (gw_count_error(list, check_constraint(s, &s->constraints[i], i, gw_next_error(list))))
            return;
    if (gw_count_error(list, check_contact(s, gw_next_error(list))))
        return;
    for (int i = 0; i < s->tool_count; i++)
        if (list_tool(s, i, list))
            return;
    gw_scene_check_tasks(s, list);
}

/* Invalid shapes have no features that could be examined, invalid mechanisms no tree of links. */
static bool bodies_have_features(const gw_error_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (list->errors[i].code == GW_FAILED || strstr(list->errors[i].where, "/geometry") ||
            strncmp(list->errors[i].where, "/mechanisms/", 12) == 0)
            return false;
    return true;
}

void gw_scene_errors(const gw_scene *s, gw_error_list *list)
{
    static void (*const parts[])(const gw_scene *, gw_error_list *) = {check_names, check_bodies,
                                                                       check_relations, check_uses};
    assert(s && list && list->count == 0 && list->most > 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (list->count < list->most && (i < 2 || bodies_have_features(list)))
            parts[i](s, list);
}

bool gw_scene_check(const gw_scene *s, gw_error *error)
{
    assert(s);
    gw_error unwanted;
    gw_error_list list = {.errors = error ? error : &unwanted, .most = 1};
    gw_scene_errors(s, &list);
    return list.count == 0;
}
