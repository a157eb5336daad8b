/*
 * Free-form curves and surfaces: geometries of objects, and elements of problems. The lengths of
 * the members' arrays depend on one another: each member is checked by itself as it is decoded, and
 * the shape is made of all members afterwards.
 */
#include <math.h>
#include <stdlib.h>

#include "server/schema/field.h"

/* ---- reading ------------------------------------------------------------------------------- */

/* Decoded by make_shape(). */
DECODE(later)
{
    return true;
}

static const gw_nurbs *shape_of(const wire_field *f, const void *owner)
{
    return *(gw_nurbs *const *)(const void *)((const char *)owner + f->offset);
}

/* The numbers of an array, owned by the caller; NULL with an error at the array. */
static double *read_numbers(const json_t *value, const wire_path *at, int *count, gw_error *error)
{
    if (!json_is_array(value)) {
        wire_refuse(at, error, "must be an array of numbers");
        return NULL;
    }
    size_t n = json_array_size(value);
    double *out = malloc((n + 1) * sizeof *out);
    const wire_net row = {.count = {(int)n}, .numbers = 1};
    *count = (int)n;
    if (!out)
        wire_refuse(at, error, "no memory for %zu numbers", n);
    else if (wire_get_net(value, at, &row, out, error))
        return out;
    free(out);
    return NULL;
}

/* The entry for direction k (u, v) of a surface's member; for a curve the member itself. */
static const json_t *of_direction(const json_t *value, int dimension, int k)
{
    return dimension == 2 ? json_array_get(value, (size_t)k) : value;
}

static bool read_degrees(const json_t *value, const wire_path *at, gw_nurbs_def *def,
                         gw_error *error)
{
    const json_t *degree = json_object_get(value, "degree");
    wire_path here = {.parent = at, .name = "degree"};
    if (def->dimension == 2 && (!json_is_array(degree) || json_array_size(degree) != 2))
        return wire_refuse(&here, error, "must be two whole numbers, along u and v");
    for (int k = 0; k < def->dimension; k++) {
        const json_t *entry = of_direction(degree, def->dimension, k);
        wire_path entry_path = {.parent = &here, .index = (size_t)k};
        if (!wire_is_whole(entry, 1, GW_MAX_NURBS_DEGREE))
            return wire_refuse(def->dimension == 2 ? &entry_path : &here, error,
                               "must be a whole number from 1 to %d", GW_MAX_NURBS_DEGREE);
        def->degree[k] = (int)json_number_value(entry);
    }
    return true;
}

static bool read_knots(const json_t *value, const wire_path *at, gw_nurbs_def *def, gw_error *error)
{
    const json_t *knots = json_object_get(value, "knots");
    wire_path here = {.parent = at, .name = "knots"};
    if (def->dimension == 2 && (!json_is_array(knots) || json_array_size(knots) != 2))
        return wire_refuse(&here, error, "must be two arrays of numbers, along u and v");
    for (int k = 0; k < def->dimension; k++) {
        wire_path entry_path = {.parent = &here, .index = (size_t)k};
        def->knots[k] =
            read_numbers(of_direction(knots, def->dimension, k),
                         def->dimension == 2 ? &entry_path : &here, &def->knot_count[k], error);
        if (!def->knots[k])
            return false;
    }
    return true;
}

/* Reads [least, greatest] parameter, for u and v of a surface; null for an untrimmed direction. */
static bool read_trims(const json_t *value, const wire_path *at, gw_nurbs_def *def, gw_error *error)
{
    const json_t *trim = json_object_get(value, "trim");
    wire_path here = {.parent = at, .name = "trim"};
    if (!trim)
        return true;
    if (def->dimension == 2 && (!json_is_array(trim) || json_array_size(trim) != 2))
        return wire_refuse(&here, error,
                           "must be two entries, [least, greatest] or null, along u "
                           "and v");
    for (int k = 0; k < def->dimension; k++) {
        wire_path entry_path = {.parent = &here, .index = (size_t)k};
        const json_t *entry = of_direction(trim, def->dimension, k);
        if (def->dimension == 2 && json_is_null(entry))
            continue;
        if (!wire_get_numbers(entry, def->dimension == 2 ? &entry_path : &here, 2, def->trim[k],
                              error))
            return false;
        def->trimmed[k] = true;
    }
    return true;
}

/* Refuses points beyond the limit of shapes, which is narrower than that of numbers. */
static bool within_extent(const json_t *point, const wire_path *at, gw_error *error)
{
    for (size_t k = 0; k < json_array_size(point); k++) {
        double x = json_number_value(json_array_get(point, k));
        wire_path here = {.parent = at, .index = k};
        if (fabs(x) > GW_MAX_SHAPE_EXTENT)
            return wire_refuse(&here, error, "is %g, must be from %g to %g m", x,
                               -GW_MAX_SHAPE_EXTENT, GW_MAX_SHAPE_EXTENT);
    }
    return true;
}

bool wire_get_net(const json_t *rows, const wire_path *at, const wire_net *net, double *out,
                  gw_error *error)
{
    int n = net->numbers, across = net->rows ? net->count[1] : 1;
    for (int i = 0; i < net->count[0]; i++) {
        wire_path row_at = {.parent = at, .index = (size_t)i};
        const json_t *row = json_array_get(rows, (size_t)i);
        if (net->rows && (!json_is_array(row) || json_array_size(row) != (size_t)across))
            return wire_refuse(&row_at, error, net->must, across);
        for (int j = 0; j < across; j++) {
            wire_path entry_at = {.parent = &row_at, .index = (size_t)j};
            const json_t *entry = net->rows ? json_array_get(row, (size_t)j) : row;
            const wire_path *entry_path = net->rows ? &entry_at : &row_at;
            double *to = out + (i * across + j) * n;
            if (n == 3 && !within_extent(entry, entry_path, error))
                return false;
            if (n > 1 && !wire_get_numbers(entry, entry_path, n, to, error))
                return false;
            if (n == 1 && !json_is_number(entry))
                return wire_refuse(entry_path, error, "must be a number");
            if (n == 1)
                *to = json_number_value(entry);
        }
    }
    return true;
}

/* The numbers of an array along u, of arrays along v for a surface; owned by the caller. */
static double *read_net(const json_t *value, const wire_path *at, const char *member,
                        gw_nurbs_def *def, bool points, gw_error *error)
{
    const json_t *rows = json_object_get(value, member);
    wire_path here = {.parent = at, .name = member};
    size_t along = json_array_size(rows), across = 1;
    if (def->dimension == 2)
        across = json_array_size(json_array_get(rows, 0));
    if (!json_is_array(rows) || along == 0 || across == 0) {
        wire_refuse(&here, error, "must be an array%s",
                    def->dimension == 2 ? " along u of arrays along v" : "");
        return NULL;
    }
    if (along > GW_MAX_NURBS_POINTS || across > GW_MAX_NURBS_POINTS / along) {
        wire_refuse(&here, error, "%zu x %zu control points, at most %d", along, across,
                    GW_MAX_NURBS_POINTS);
        return NULL;
    }
    if (!points &&
        (def->count[0] != (int)along || (def->dimension == 2 && def->count[1] != (int)across))) {
        wire_refuse(&here, error, "must have as many entries as there are points");
        return NULL;
    }
    def->count[0] = (int)along;
    def->count[1] = (int)across;
    const wire_net net = {.rows = def->dimension == 2,
                          .count = {def->count[0], def->count[1]},
                          .numbers = points ? 3 : 1,
                          .must = "must be an array of %d entries, along v"};
    double *out = malloc(along * across * (size_t)net.numbers * sizeof *out);
    if (!out) {
        wire_refuse(&here, error, "no memory for %zu control points", along * across);
        return NULL;
    }
    if (wire_get_net(rows, &here, &net, out, error))
        return out;
    free(out);
    return NULL;
}

static _Thread_local gw_nurbs *like;

void wire_decode_like(gw_nurbs *shape)
{
    like = shape;
}

static gw_nurbs *make_shape(const json_t *value, const wire_path *at, int dimension,
                            gw_error *error)
{
    gw_nurbs_def def = {.dimension = dimension, .like = like};
    gw_nurbs *shape = NULL;
    gw_error inner = {0};
    bool has_weights = json_object_get(value, "weights") != NULL;
    double *points = NULL, *weights = NULL;
    bool read = read_degrees(value, at, &def, error) && read_knots(value, at, &def, error) &&
                read_trims(value, at, &def, error);
    if (read)
        points = read_net(value, at, "points", &def, true, error);
    if (points && has_weights)
        weights = read_net(value, at, "weights", &def, false, error);
    if (points && (weights || !has_weights)) {
        /* a vector is three consecutive numbers */
        def.points = (const gw_vec3 *)(const void *)points;
        def.weights = weights;
        shape = gw_nurbs_create(&def, &inner);
        if (!shape)
            wire_refuse_within(at, &inner, error);
    }
    for (int k = 0; k < dimension; k++)
        free((double *)def.knots[k]);
    free(points);
    free(weights);
    return shape;
}

HOOK(make_curve)
{
    return (((gw_shape *)owner)->nurbs = make_shape(value, at, 1, error)) != NULL;
}

HOOK(make_surface)
{
    return (((gw_shape *)owner)->nurbs = make_shape(value, at, 2, error)) != NULL;
}

/* Decodes an element; its frame is that of the other elements. */
static bool make_element(const json_t *value, const wire_path *at, gw_element *e,
                         gw_element_kind kind, gw_error *error)
{
    e->p = gw_v3(0, 0, 0);
    e->q = gw_quat_identity();
    e->nurbs = make_shape(value, at, kind == GW_CURVE ? 1 : 2, error);
    return e->nurbs != NULL;
}

HOOK(make_curve_element)
{
    return make_element(value, at, owner, GW_CURVE, error);
}

HOOK(make_surface_element)
{
    return make_element(value, at, owner, GW_SURFACE, error);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* One entry for a curve, one for each direction of a surface. */
static json_t *in_directions(const gw_nurbs *s, json_t *entry[2])
{
    return s->dimension == 2 ? json_pack("[oo]", entry[0], entry[1]) : entry[0];
}

ENCODE(encode_degree)
{
    const gw_nurbs *s = shape_of(f, owner);
    json_t *entry[2] = {json_integer(s->direction[0].degree), NULL};
    if (s->dimension == 2)
        entry[1] = json_integer(s->direction[1].degree);
    return in_directions(s, entry);
}

ENCODE(encode_knots)
{
    const gw_nurbs *s = shape_of(f, owner);
    json_t *entry[2] = {NULL, NULL};
    for (int k = 0; k < s->dimension; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        entry[k] = wire_numbers(d->knots, d->count + d->degree + 1, context);
    }
    return in_directions(s, entry);
}

ENCODE(encode_trim)
{
    const gw_nurbs *s = shape_of(f, owner);
    json_t *entry[2] = {NULL, NULL};
    for (int k = 0; k < s->dimension; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        entry[k] = d->trimmed ? wire_numbers((double[]){d->low, d->high}, 2, context) : json_null();
    }
    return in_directions(s, entry);
}

static json_t *encode_net(const gw_nurbs *s, bool points)
{
    int across = s->direction[1].count;
    json_t *rows = json_array();
    for (int i = 0; rows && i < s->direction[0].count; i++) {
        json_t *row = json_array();
        for (int j = 0; row && j < across; j++) {
            int at = i * across + j;
            row = wire_append(row, points ? wire_vec3(s->stated[at]) : json_real(s->weights[at]));
        }
        if (row && s->dimension == 1) {
            json_t *only = json_incref(json_array_get(row, 0));
            json_decref(row);
            row = only;
        }
        rows = wire_append(rows, row);
    }
    return rows;
}

ENCODE(encode_points)
{
    return encode_net(shape_of(f, owner), true);
}

ENCODE(encode_weights)
{
    return encode_net(shape_of(f, owner), false);
}

/* ---- tables: arrays, of arrays for a surface ------------------------------------------------ */

static const wire_field a_degree = {"degree", WHOLE}, a_number = {"number", NUMBER},
                        a_point = {"point", VEC3};
static const wire_field numbers = {"numbers", LIST, .item = &a_number},
                        points_row = {"points", LIST, .item = &a_point};

static json_t *typed_json(const char *type)
{
    return json_pack("{ss}", "type", type);
}

SCHEMA(schema_degree)
{
    return f->item ? wire_schema_list(f) : typed_json("integer");
}

/* Two entries of `item`, or null; for a surface a pair of these. */
SCHEMA(schema_trim)
{
    const wire_field pair = {.name = f->name, .most = 2};
    json_t *schema = wire_schema_numbers(&pair);
    if (!f->item)
        return schema;
    json_t *entry = json_pack("{s[oo]}", "oneOf", schema, typed_json("null"));
    return json_pack("{ss so si si}", "type", "array", "items", entry, "minItems", 2, "maxItems",
                     2);
}

/* The `type` of the geometry from which an element may have been copied. */
static const char *const curve_types[] = {"nurbs-curve", NULL};
static const char *const surface_types[] = {"nurbs-surface", NULL};

DECODE(decode_geometry_type)
{
    int type;
    const wire_field plain = {.name = f->name, .size = sizeof type, .choices = f->choices};
    return CHOICE->decode(&plain, value, at, &type, error);
}

SCHEMA(schema_geometry_type)
{
    return json_pack("{ss}", "const", f->choices[0]);
}

static const wire_type geometry_type = {decode_geometry_type, NULL, schema_geometry_type};

static const wire_type degree = {later, encode_degree, schema_degree},
                       knots = {later, encode_knots, wire_schema_list},
                       points = {later, encode_points, wire_schema_list},
                       weights = {later, encode_weights, wire_schema_list},
                       trim = {later, encode_trim, schema_trim};

WHEN(shape_has_weights, gw_shape, it->nurbs->weights != NULL)
WHEN(element_has_weights, gw_element, it->nurbs->weights != NULL)
WHEN(shape_is_trimmed, gw_shape, it->nurbs->direction[0].trimmed || it->nurbs->direction[1].trimmed)
WHEN(element_is_trimmed, gw_element,
     it->nurbs->direction[0].trimmed || it->nurbs->direction[1].trimmed)

/* The members of a struct with a shape; the entries along u, and `row`: of a surface, along v. */
#define MEMBERS(...) MEMBERS_OF(__VA_ARGS__)
#define MEMBERS_OF(owner, degree_of, row, point_of, has_weights, is_trimmed)                        \
    {"degree", &degree, AT(owner, nurbs), REQUIRED, .item = degree_of, .about = "1 to 9"},          \
        {"knots",  &knots,      AT(owner, nurbs),                                                   \
         REQUIRED, .item = row, .about = "in full, points + degree + 1; ends clamped or periodic"}, \
        {"points",   &points,          AT(owner, nurbs),                                            \
         REQUIRED,   .item = point_of, .about = "control points",                                   \
         .unit = "m"},                                                                              \
        {"weights",           &weights,    AT(owner, nurbs),                                        \
         .when = has_weights, .item = row, .about = "1 unless given"},                              \
        {"trim",                                                                                    \
         &trim,                                                                                     \
         AT(owner, nurbs),                                                                          \
         .when = is_trimmed,                                                                        \
         .item = degree_of,                                                                         \
         .about = "[least, greatest] parameter: ends there, within the domain of the knots"},       \
    {                                                                                               \
        0                                                                                           \
    }
#define OF_CURVE   NULL, &a_number, &a_point
#define OF_SURFACE &a_degree, &numbers, &points_row

static const wire_field of_curve[] = {
    MEMBERS(gw_shape, OF_CURVE, shape_has_weights, shape_is_trimmed)};
static const wire_field of_surface[] = {
    MEMBERS(gw_shape, OF_SURFACE, shape_has_weights, shape_is_trimmed)};

#define GEOMETRY_TYPE(names)                                                                       \
    {                                                                                              \
        "type", &geometry_type, .flags = WRITE_ONLY, .choices = names, .about = "may be left out"  \
    }

static const wire_field of_curve_element[] = {
    GEOMETRY_TYPE(curve_types),
    MEMBERS(gw_element, OF_CURVE, element_has_weights, element_is_trimmed)};
static const wire_field of_surface_element[] = {
    GEOMETRY_TYPE(surface_types),
    MEMBERS(gw_element, OF_SURFACE, element_has_weights, element_is_trimmed)};

const wire_table wire_table_nurbs_curve = {
    .about = "A rational B-spline curve.", .fields = of_curve, .after = make_curve};
const wire_table wire_table_nurbs_surface = {
    .about = "A rational B-spline surface: points[i][j], i along u. Its normal is Su x Sv.",
    .fields = of_surface,
    .after = make_surface};
const wire_table wire_table_curve_element = {.name = "Curve",
                                             .about = "A rational B-spline curve.",
                                             .fields = of_curve_element,
                                             .after = make_curve_element};
const wire_table wire_table_surface_element = {
    .name = "Surface",
    .about = "A rational B-spline surface: points[i][j], i along u. Its normal is Su x Sv.",
    .fields = of_surface_element,
    .after = make_surface_element};
