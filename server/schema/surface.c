/*
 * Surfaces and curves made from points, curves and primitives: the request and its result. The
 * shape is made while the request is decoded, so that an error names the member.
 */
#include <stdlib.h>
#include <string.h>

#include "rt/guideway.h"
#include "server/schema/field.h"

#define MOST_SAMPLES 65536 /* points of a request: as many as a body can contain */

/* The result of a request, while it is decoded. */
typedef struct made_shape {
    gw_shape shape;
    double deviation;       /* of a fit (m); negative: exact */
    gw_primitive primitive; /* that is converted */
} made_shape;

/* Takes the shape over, or refuses with the construction's error and the member that it names; one
 * that `value` (NULL: no members) does not state, as the points of a result, is not named. */
static bool take_shape(made_shape *made, gw_nurbs *shape, const json_t *value, const wire_path *at,
                       const gw_error *inner, gw_error *error)
{
    if (!shape) {
        gw_error found = *inner;
        const char *member = found.where + (found.where[0] == '/');
        if (!json_object_getn(value, member, strcspn(member, "/")))
            found.where[0] = 0;
        return wire_refuse_within(at, &found, error);
    }
    made->shape.kind = shape->dimension == 2 ? GW_SHAPE_NURBS_SURFACE : GW_SHAPE_NURBS_CURVE;
    made->shape.nurbs = shape;
    return true;
}

/* ---- points --------------------------------------------------------------------------------- */

/* Reads rows of points, or one row; the points are owned by the caller, and sampled[1] is 1 for one
 * row. */
static gw_vec3 *read_points(const json_t *rows, const wire_path *at, int sampled[2],
                            gw_error *error)
{
    const json_t *first = json_array_get(rows, 0);
    bool net = json_is_array(json_array_get(first, 0));
    size_t along = json_array_size(rows), across = net ? json_array_size(first) : 1;
    if (along == 0 || across == 0 || along > MOST_SAMPLES / across) {
        wire_refuse(at, error, "must be points, or rows of points, at most %d", MOST_SAMPLES);
        return NULL;
    }
    gw_vec3 *points = malloc(along * across * sizeof *points);
    if (!points)
        gw_fail(error, GW_FAILED, "", "no memory for points");
    sampled[0] = (int)along, sampled[1] = (int)across;
    const wire_net of = {.rows = net,
                         .count = {sampled[0], sampled[1]},
                         .numbers = 3,
                         .must = "must be %d points, as the first row is"};
    if (points && wire_get_net(rows, at, &of, &points->x, error))
        return points;
    free(points);
    return NULL;
}

/* Reads one whole number, or one for each direction; the defaults where the member is missing. */
static bool read_counts(const json_t *value, const wire_path *at, const char *member, int dimension,
                        int counts[2], gw_error *error)
{
    const json_t *given = json_object_get(value, member);
    wire_path here = {.parent = at, .name = member};
    if (!given)
        return true;
    if (json_is_array(given) && json_array_size(given) != (size_t)dimension)
        return wire_refuse(&here, error, "has %zu entries, must be a whole number%s",
                           json_array_size(given), dimension == 2 ? ", or two, along u and v" : "");
    for (int k = 0; k < dimension; k++) {
        const json_t *entry = json_is_array(given) ? json_array_get(given, (size_t)k) : given;
        if (!wire_is_whole(entry, 1, MOST_SAMPLES))
            return wire_refuse(&here, error, "must be a whole number from 1 to %d%s", MOST_SAMPLES,
                               dimension == 2 ? ", or two, along u and v" : "");
        counts[k] = (int)json_number_value(entry);
    }
    return true;
}

/* Makes the shape through, or near, the points at `here`; degrees and counts are members of
 * `value`, NULL: the defaults. */
static bool fit_points(const json_t *rows, const wire_path *here, const json_t *value,
                       const wire_path *at, made_shape *made, gw_error *error)
{
    gw_error inner = {0};
    gw_nurbs_fit fit = {.dimension = 2};
    gw_vec3 *points = read_points(rows, here, fit.sampled, error);
    if (!points)
        return false;
    fit.points = points;
    fit.dimension = fit.sampled[1] == 1 ? 1 : 2;
    for (int k = 0; k < 2; k++) {
        fit.degree[k] = fit.sampled[k] > 3 ? 3 : fit.sampled[k] - 1;
        fit.count[k] = fit.sampled[k];
    }
    bool good = read_counts(value, at, "degree", fit.dimension, fit.degree, error) &&
                read_counts(value, at, "count", fit.dimension, fit.count, error);
    if (good) {
        good = take_shape(made, gw_nurbs_fit_points(&fit, &inner), value, at, &inner, error);
        if (good)
            made->deviation =
                gw_nurbs_deviation(made->shape.nurbs, fit.sampled[0] * fit.sampled[1], points);
    }
    free(points);
    return good;
}

HOOK(make_fit)
{
    const wire_path here = {.parent = at, .name = "points"};
    return fit_points(json_object_get(value, "points"), &here, value, at, owner, error);
}

/* ---- curves --------------------------------------------------------------------------------- */

/* A curve: a geometry, or points that it interpolates. One reference. */
static gw_nurbs *read_curve(const json_t *value, const wire_path *at, gw_error *error)
{
    if (json_is_array(value)) {
        made_shape through = {.deviation = -1};
        bool good = fit_points(value, at, NULL, at, &through, error);
        if (good && through.shape.kind == GW_SHAPE_NURBS_CURVE)
            return through.shape.nurbs;
        gw_shape_finish(&through.shape);
        if (good)
            wire_refuse(at, error, "must be a row of points");
        return NULL;
    }
    gw_shape shape;
    if (!wire_decode_at(&wire_table_shape, value, at, &shape, error))
        return NULL;
    gw_nurbs *curve = shape.kind == GW_SHAPE_NURBS_CURVE ? gw_nurbs_get(shape.nurbs) : NULL;
    gw_shape_finish(&shape);
    if (!curve)
        wire_refuse(at, error, "must be a nurbs-curve");
    return curve;
}

static gw_nurbs *curve_of(const json_t *value, const wire_path *at, const char *member,
                          gw_error *error)
{
    wire_path here = {.parent = at, .name = member};
    return read_curve(json_object_get(value, member), &here, error);
}

HOOK(make_loft)
{
    gw_error inner = {0};
    const json_t *list = json_object_get(value, "sections");
    size_t count = json_array_size(list), read = 0;
    wire_path here = {.parent = at, .name = "sections"};
    int degree[2] = {count > 3 ? 3 : (int)count - 1, 0};
    if (count < 2 || count > GW_MAX_NURBS_POINTS)
        return wire_refuse(&here, error, "must be two curves or more");
    const gw_nurbs **sections = calloc(count, sizeof *sections);
    if (!sections)
        return gw_fail(error, GW_FAILED, "", "no memory for sections");
    bool good = read_counts(value, at, "degree", 1, degree, error);
    for (; good && read < count; read++) {
        wire_path entry_at = {.parent = &here, .index = read};
        sections[read] = read_curve(json_array_get(list, read), &entry_at, error);
        good = sections[read] != NULL;
    }
    good = good && take_shape(owner, gw_nurbs_loft((int)count, sections, degree[0], &inner), value,
                              at, &inner, error);
    for (size_t i = 0; i < count; i++)
        gw_nurbs_put((gw_nurbs *)sections[i]);
    free(sections);
    return good;
}

/* Reads three numbers of a member; unchanged where it is missing. */
static bool read_vector(const json_t *value, const wire_path *at, const char *member, gw_vec3 *out,
                        gw_error *error)
{
    const json_t *given = json_object_get(value, member);
    wire_path here = {.parent = at, .name = member};
    return !given || wire_get_numbers(given, &here, 3, &out->x, error);
}

HOOK(make_revolve)
{
    gw_error inner = {0};
    gw_vec3 point = gw_v3(0, 0, 0), axis = gw_v3(0, 0, 1);
    const json_t *angle = json_object_get(value, "angle");
    if (!read_vector(value, at, "point", &point, error) ||
        !read_vector(value, at, "axis", &axis, error))
        return false;
    if (angle && !json_is_number(angle))
        return wire_refuse(&(wire_path){.parent = at, .name = "angle"}, error, "must be a number");
    gw_nurbs *profile = curve_of(value, at, "profile", error);
    bool good = profile &&
                take_shape(owner,
                           gw_nurbs_revolve(profile, point, axis,
                                            angle ? json_number_value(angle) : 2 * GW_PI, &inner),
                           value, at, &inner, error);
    gw_nurbs_put(profile);
    return good;
}

HOOK(make_sweep)
{
    gw_error inner = {0};
    gw_nurbs *profile = curve_of(value, at, "profile", error);
    gw_nurbs *path = profile ? curve_of(value, at, "path", error) : NULL;
    bool good =
        path && take_shape(owner, gw_nurbs_sweep(profile, path, &inner), value, at, &inner, error);
    gw_nurbs_put(profile);
    gw_nurbs_put(path);
    return good;
}

/* ---- primitives ----------------------------------------------------------------------------- */

HOOK(make_converted)
{
    gw_error inner = {0};
    made_shape *made = owner;
    return take_shape(made, gw_nurbs_convert(&made->primitive, &inner), value, at, &inner, error);
}

static const char *primitive_name(int kind)
{
    return gw_primitive_kind_name((gw_primitive_kind)kind);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* Decoded where the shape is made. */
DECODE(later)
{
    return true;
}

static json_t *any_of(json_t *a, json_t *b)
{
    return json_pack("{s[oo]}", "anyOf", a, b);
}

static json_t *list_of(json_t *item)
{
    return json_pack("{ssso}", "type", "array", "items", item);
}

SCHEMA(schema_samples)
{
    json_t *row = list_of(wire_schema_ref("Vec3")), *rows = list_of(json_incref(row));
    return any_of(row, rows);
}

SCHEMA(schema_vector)
{
    return wire_schema_ref("Vec3");
}

SCHEMA(schema_counts)
{
    return any_of(json_pack("{ss}", "type", "integer"),
                  json_pack("{sss{ss}sisi}", "type", "array", "items", "type", "integer",
                            "minItems", 2, "maxItems", 2));
}

SCHEMA(schema_curve)
{
    return any_of(wire_schema_ref("Geometry"), list_of(wire_schema_ref("Vec3")));
}

SCHEMA(schema_curves)
{
    json_t *curve = schema_curve(f);
    return list_of(curve);
}

static const wire_type samples = {later, NULL, schema_samples},
                       counts = {later, NULL, schema_counts}, a_curve = {later, NULL, schema_curve},
                       curves = {later, NULL, schema_curves}, vector = {later, NULL, schema_vector},
                       number = {later, NULL, wire_schema_number};

static const wire_field of_fit[] = {
    {"points", &samples, .flags = REQUIRED,
     .about = "a row for a curve, rows along v for a surface", .unit = "m"},
    {"degree", &counts, .about = "3 unless given"},
    {"count", &counts,
     .about = "control points; as many as there are points unless given, which "
              "then lie on it"},
    {0}};
static const wire_table fit = {
    .about = "The nearest to points: least squares.", .fields = of_fit, .after = make_fit};

static const wire_field of_loft[] = {
    {"sections", &curves, .flags = REQUIRED, .about = "curves, or rows of points"},
    {"degree", &counts, .about = "across the sections; 3 unless given"},
    {0}};
static const wire_table loft = {
    .about = "The surface through sections.", .fields = of_loft, .after = make_loft};

static const wire_field of_revolve[] = {
    {"profile", &a_curve, .flags = REQUIRED},
    {"point", &vector, .about = "on the axis; the origin unless given", .unit = "m"},
    {"axis", &vector, .about = "z unless given"},
    {"angle", &number, .about = "a whole turn unless given", .unit = "rad"},
    {0}};
static const wire_table revolve = {
    .about = "A profile about an axis.", .fields = of_revolve, .after = make_revolve};

static const wire_field of_sweep[] = {
    {"profile", &a_curve, .flags = REQUIRED}, {"path", &a_curve, .flags = REQUIRED}, {0}};
static const wire_table sweep = {.about = "A profile carried along a path without turning.",
                                 .fields = of_sweep,
                                 .after = make_sweep};

#define LENGTH(member) #member, NUMBER, AT(made_shape, primitive.member), REQUIRED, .unit = "m"
static const wire_field of_round[] = {{LENGTH(radius)}, {0}},
                        of_tall[] = {{LENGTH(radius)}, {LENGTH(height)}, {0}},
                        of_torus[] = {{LENGTH(radius)}, {LENGTH(tube_radius)}, {0}},
                        of_ellipsoid[] = {{"semi_axes", VEC3, AT(made_shape, primitive.semi_axes),
                                           REQUIRED, .unit = "m"},
                                          {0}},
                        of_plane[] = {{"size", NUMBERS, AT(made_shape, primitive.size), REQUIRED,
                                       .most = 2, .about = "along x and y", .unit = "m"},
                                      {0}};
static const wire_table round_one = {.fields = of_round}, tall = {.fields = of_tall},
                        torus = {.fields = of_torus}, ellipsoid = {.fields = of_ellipsoid},
                        plane = {.fields = of_plane};
static const wire_field of_convert[] = {
    {"type", CHOICE, AT(made_shape, primitive.kind), REQUIRED, .name_of = primitive_name}, {0}};
static const wire_table *const primitives[] = {
    [GW_PRIMITIVE_CIRCLE] = &round_one,   [GW_PRIMITIVE_PLANE] = &plane,
    [GW_PRIMITIVE_DISC] = &round_one,     [GW_PRIMITIVE_SPHERE] = &round_one,
    [GW_PRIMITIVE_CYLINDER] = &tall,      [GW_PRIMITIVE_CAPSULE] = &tall,
    [GW_PRIMITIVE_CONE] = &tall,          [GW_PRIMITIVE_TORUS] = &torus,
    [GW_PRIMITIVE_ELLIPSOID] = &ellipsoid};
static const wire_table convert = {.about = "The curve or surface of a primitive, exactly.",
                                   .fields = of_convert,
                                   .of_kind = primitives,
                                   .after = make_converted};

INITIAL(nothing, made_shape, (made_shape){.deviation = -1})
FINISH(finish, made_shape, gw_shape_finish(&it->shape))

static const wire_field of_request[] = {
    {"fit", OBJECT, .flags = ALTERNATIVE, .table = &fit},
    {"loft", OBJECT, .flags = ALTERNATIVE, .table = &loft},
    {"revolve", OBJECT, .flags = ALTERNATIVE, .table = &revolve},
    {"sweep", OBJECT, .flags = ALTERNATIVE, .table = &sweep},
    {"convert", OBJECT, .flags = ALTERNATIVE, .table = &convert},
    {0}};
const wire_table wire_table_surface_request = {
    .name = "SurfaceRequest",
    .about = "A free-form curve or surface from points, curves or a primitive.",
    .fields = of_request,
    .size = sizeof(made_shape),
    .initial = nothing,
    .finish = finish};

static const wire_field of_answer[] = {{"geometry", OBJECT, .table = &wire_table_shape},
                                       {"deviation", NUMBER, .flags = SOMETIMES,
                                        .about = "of the points that were fitted, at most",
                                        .unit = "m"},
                                       {0}};
const wire_table wire_table_surface = {
    .name = "MadeSurface", .fields = of_answer, .answered = true};

json_t *wire_make_surface(const json_t *request, gw_error *error)
{
    made_shape made = {.deviation = -1};
    if (!wire_decode(&wire_table_surface_request, request, "", &made, error))
        return NULL;
    json_t *answer =
        json_pack("{so}", "geometry", wire_encode(&wire_table_shape, &made.shape, NULL));
    if (made.deviation >= 0)
        wire_add(answer, "deviation", json_real(made.deviation));
    gw_shape_finish(&made.shape);
    if (!answer)
        gw_fail(error, GW_FAILED, "", "no memory for the answer");
    return answer;
}
