/*
 * Bytes to problems, and changes of them record by record. Single-threaded; no allocation.
 */
#include "tests/fuzz/coded.h"

#include <string.h>

#include "tests/oracle/making.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/shapes.h"
#include "tests/random.h"

/* ---- numbers --------------------------------------------------------------------------------- */

/* Values that conditions of rules turn on; the bytes beyond them stand for arbitrary numbers. */
static double palette(uint8_t byte)
{
    static const double values[] = {
        0,
        1,
        -1,
        2,
        -2,
        0.5,
        -0.5,
        3,
        1.4142135623730951,
        -1.4142135623730951,
        0.70710678118654757,
        -0.70710678118654757,
        1.7320508075688772,
        0.8660254037844386,
        -0.8660254037844386,
        0.57735026918962573,
        1.0 / 3,
        0.1,
        0.3,
        0.6,
        0.8,
        -0.6,
        1e-3,
        1e-6,
        1e-8,
        1e-9,
        -1e-9,
        1e-10,
        1e-12,
        1e-15,
        1e-300,
        -0.0,
        1 + 1e-9,
        1 - 1e-9,
        1 + 1e-10,
        1 - 1e-12,
        1 + 2.3e-16,
        1 + 1e-6,
        1 - 1e-6,
        2 + 1e-9,
        1e2,
        1e3,
        1e6,
        1e9,
        1e12,
        -1e6,
        1.5707963267948966,
        3.1415926535897931,
        1.0471975511965976,
        0.7853981633974483,
        2.0943951023931953,
        2.3561944901923448,
        0.52359877559829882,
        6e-8,
        6.1e-8,
        0.25,
        4,
        5,
        7,
        0.01,
    };
    if (byte < sizeof values / sizeof *values)
        return values[byte];
    unsigned long long state = 77ull * byte;
    return random_uniform(&state, -1, 1);
}

static gw_vec3 vector(const uint8_t *b)
{
    return gw_v3(palette(b[0]), palette(b[1]), palette(b[2]));
}

static gw_vec3 direction(const uint8_t *b)
{
    gw_vec3 d = vector(b);
    double most = fmax(fabs(d.x), fmax(fabs(d.y), fabs(d.z)));
    return most > 0 ? gw_unit(gw_scale(1 / most, d)) : gw_v3(0, 0, 1);
}

/* ---- a problem ------------------------------------------------------------------------------- */

/* In the range that its kind allows. */
static double fitting_value(const gw_constraint *c, double v)
{
    bool sided = c->mobile.kind == GW_PLANE || c->fixed.kind == GW_PLANE ||
                 c->mobile.kind == GW_SURFACE || c->fixed.kind == GW_SURFACE;
    bool alike = c->mobile.kind == c->fixed.kind;
    if (c->kind == GW_NORMAL || c->kind == GW_TANGENT)
        return v;
    if (c->kind == GW_DISTANCE)
        return sided ? v : fabs(v);
    if (c->kind != GW_ANGLE)
        return 0;
    double turn = fmin(fabs(v), GW_PI);
    return alike ? turn : fmax(-GW_PI / 2, fmin(GW_PI / 2, GW_PI / 2 - turn));
}

/* The element of an earlier constraint, or its direction the other way. */
static void share(gw_element *e, const gw_element *was, bool turn)
{
    gw_element_kind kind = e->kind;
    bool shapes = gw_is_free_form(kind) || gw_is_free_form(was->kind);
    if (was->kind == GW_POINT || (shapes && kind != was->kind))
        e->p = was->p;
    else
        *e = *was;
    e->kind = kind;
    if (turn && !shapes)
        e->d = gw_neg(e->d);
}

/* An element by its two bits, 3 being a shape by a byte of its own, turned by its direction. */
static gw_element read_element(unsigned bits, const uint8_t *b)
{
    gw_element e = {.kind = (gw_element_kind)bits, .p = vector(b)};
    if (bits != 3) {
        e.d = direction(b + 3);
        return e;
    }
    int which = b[3] % SHAPE_COUNT;
    e.kind = which < SHAPE_SURFACES ? GW_SURFACE : GW_CURVE;
    e.nurbs = shape_numbered(which);
    e.q = gw_quat_between(gw_v3(0, 0, 1), direction(b + 3));
    return e;
}

/* Makes the kind, or the other element, one that the constraint can have. */
static void make_fit(gw_constraint *c, bool apart)
{
    bool both = gw_is_free_form(c->mobile.kind) && gw_is_free_form(c->fixed.kind);
    gw_element *shape = gw_is_free_form(c->fixed.kind) ? &c->fixed : &c->mobile;
    gw_element *other = shape == &c->fixed ? &c->mobile : &c->fixed;
    if (both || (gw_is_free_form(shape->kind) && other->kind == GW_PLANE))
        *other = (gw_element){.kind = GW_POINT, .p = other->p};
    if (gw_constraint_fits(c->kind, c->mobile.kind, c->fixed.kind, NULL))
        return;
    if (gw_is_free_form(shape->kind) && other->kind == GW_LINE)
        c->kind = shape->kind == GW_SURFACE ? GW_NORMAL : GW_TANGENT;
    else
        c->kind = apart && shape->kind != GW_CURVE ? GW_DISTANCE : GW_COINCIDENT;
}

static void read_constraint(const uint8_t *b, const coded_problem *p, gw_constraint *c)
{
    int earlier = p->problem.count ? b[2] % p->problem.count : 0;
    const gw_constraint *was = p->problem.count ? &p->constraints[earlier] : NULL;
    c->kind = (gw_constraint_kind)((b[0] & 7) % GW_CONSTRAINT_KIND_COUNT);
    c->sense = (gw_sense)((b[0] >> 3 & 3) % 3);
    c->mobile = read_element(b[1] & 3, b + 3);
    c->fixed = read_element(b[1] >> 2 & 3, b + 9);
    if (was && b[1] & 0x10)
        share(&c->mobile, &was->mobile, b[1] & 0x40);
    if (was && b[1] & 0x20)
        share(&c->fixed, &was->fixed, b[1] & 0x40);
    make_fit(c, b[0] & 1);
    c->value = fitting_value(c, palette(b[15]));
    c->reversed = c->kind == GW_DISTANCE && c->mobile.kind == GW_PLANE &&
                  c->fixed.kind == GW_PLANE && b[0] & 0x40;
}

/* Off by a palette's length or turn. */
static void nudge(gw_constraint *c, double by)
{
    if (gw_constraint_has_value(c->kind))
        c->value = fitting_value(c, c->value + by);
    else if (c->kind == GW_COINCIDENT || gw_is_free_form(c->fixed.kind))
        c->fixed.p.x += by;
    else
        c->fixed.d = gw_unit(gw_mul_add(c->fixed.d, fmax(-1, fmin(1, by)), gw_v3(0.6, 0.64, 0.48)));
}

static void read_head(const uint8_t *b, coded_problem *out)
{
    static const double lengths[] = {1, 1, 1e-3, 1e3, 1e-6, 1e6, 0.1, 10};
    static const gw_vec3 axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    out->hidden = (gw_pose){vector(b + 2), gw_quat_identity()};
    for (int i = 0; i < 3; i++)
        out->hidden.q = gw_quat_mul(gw_quat_axis(axes[i], palette(b[5 + i])), out->hidden.q);
    out->hidden.q = gw_quat_unit(out->hidden.q);
    out->by_json = b[0] & 0x40;
    out->problem = (gw_problem){b[0] & 0x80 ? out->hidden : gw_pose_identity(), lengths[b[0] & 7],
                                0, out->constraints};
}

void coded_read(const uint8_t *data, size_t size, coded_problem *out)
{
    static const uint8_t none[CODED_HEAD];
    static const double scales[] = {1, 1, 1e-6, 1e6, 1e-3, 1e3, 1, 1};
    const uint8_t *head = size >= CODED_HEAD ? data : none;
    read_head(head, out);
    for (size_t at = CODED_HEAD; at + CODED_RECORD <= size && out->problem.count < CODED_MOST;
         at += CODED_RECORD) {
        const uint8_t *b = data + at;
        gw_constraint *c = &out->constraints[out->problem.count];
        unsigned long long random = b[16];
        read_constraint(b, out, c);
        if (b[0] & 0x20)
            making_hold(c, &out->hidden, &random);
        if (b[1] & 0x80)
            nudge(c, palette(b[16]));
        out->problem.count++;
    }
    double k = scales[head[1] & 7];
    for (int i = 0; i < out->problem.count; i++) /* free-form shapes end at 1e6 m */
        if (out->constraints[i].mobile.nurbs || out->constraints[i].fixed.nurbs)
            k = fmin(k, 1e3);
    making_scale(&out->problem, out->constraints, k);
    out->problem.length /= head[1] & 8 ? k : 1;
    out->hidden.p = gw_scale(k, out->hidden.p);
}

/* ---- changes --------------------------------------------------------------------------------- */

static unsigned drawn(unsigned *random, unsigned below)
{
    *random = *random * 1664525u + 1013904223u;
    return below ? (*random >> 8) % below : 0;
}

static void swap_records(uint8_t *a, uint8_t *b)
{
    uint8_t t[CODED_RECORD];
    memcpy(t, a, sizeof t);
    memcpy(a, b, sizeof t);
    memcpy(b, t, sizeof t);
}

/* A part of one record to another: an element's point, direction, both or the value. */
static void give(uint8_t *to, const uint8_t *from, unsigned *random)
{
    static const struct {
        size_t at, size;
    } parts[] = {{3, 3}, {6, 3}, {9, 3}, {12, 3}, {3, 6}, {9, 6}, {15, 1}, {0, 3}};
    unsigned i = drawn(random, sizeof parts / sizeof *parts);
    memcpy(to + parts[i].at, from + parts[i].at, parts[i].size);
}

/* Gives both sides the same direction or point: the same three bytes. */
static void mirror(uint8_t *record, unsigned *random)
{
    bool back = drawn(random, 2);
    size_t part = drawn(random, 2) ? 3 : 6;
    memcpy(record + (back ? part : part + 6), record + (back ? part + 6 : part), 3);
}

size_t coded_mutate(uint8_t *data, size_t size, size_t most, unsigned random)
{
    unsigned count = size < CODED_HEAD ? 0 : (unsigned)((size - CODED_HEAD) / CODED_RECORD);
    if (count == 0)
        return size;
    uint8_t *records = data + CODED_HEAD;
    size_t end = CODED_HEAD + (size_t)count * CODED_RECORD;
    uint8_t *a = records + drawn(&random, count) * CODED_RECORD;
    uint8_t *b = records + drawn(&random, count) * CODED_RECORD;
    switch (drawn(&random, 8)) {
    case 0:
        if (end + CODED_RECORD > most || count == CODED_MOST)
            return end;
        memcpy(data + end, a, CODED_RECORD);
        return end + CODED_RECORD;
    case 1:
        swap_records(a, b);
        return end;
    case 2:
        memmove(a, a + CODED_RECORD, (size_t)(data + end - (a + CODED_RECORD)));
        return end - CODED_RECORD;
    case 3:
        mirror(a, &random);
        return end;
    case 4:
        a[drawn(&random, 2)] ^= (uint8_t)(1u << drawn(&random, 8));
        return end;
    case 5:
        a[3 + drawn(&random, 14)] = (uint8_t)drawn(&random, 64);
        return end;
    case 6:
        data[drawn(&random, CODED_HEAD)] = (uint8_t)drawn(&random, 64);
        return end;
    default:
        give(a, b, &random);
        return end;
    }
}
