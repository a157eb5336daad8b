/*
 * Constraints made true at a pose: the fixed element, or the value, follows from the mobile one.
 * Single-threaded; no allocation.
 */
#include "tests/oracle/making.h"

#include "rt/geometry/nurbs.h"
#include "tests/oracle/free_form.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/shapes.h"
#include "tests/random.h"

int making_statements(bool free_form, statement list[MOST_STATEMENTS])
{
    int n = 0;
    for (int kind = 0; kind < GW_CONSTRAINT_KIND_COUNT; kind++)
        for (int m = GW_POINT; m <= GW_SURFACE; m++)
            for (int f = GW_POINT; f <= GW_SURFACE; f++)
                for (int sense = GW_EITHER; sense <= GW_OPPOSITE; sense++)
                    for (int reversed = 0; reversed < 2; reversed++) {
                        statement s = {(gw_constraint_kind)kind, (gw_element_kind)m,
                                       (gw_element_kind)f, (gw_sense)sense, reversed};
                        bool planes = s.kind == GW_DISTANCE && m == GW_PLANE && f == GW_PLANE;
                        if ((gw_is_free_form(s.mobile) || gw_is_free_form(s.fixed)) != free_form)
                            continue;
                        if (!gw_constraint_fits(s.kind, s.mobile, s.fixed, NULL) ||
                            (reversed && !planes) ||
                            (sense && !gw_constraint_has_sense(s.kind, s.mobile, s.fixed)))
                            continue;
                        list[n++] = s;
                    }
    return n;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool lattice(numbers from, unsigned long long *random)
{
    return from == LATTICE || (from == MIXED && random_below(random, 2));
}

static gw_vec3 some_point(numbers from, unsigned long long *random)
{
    if (lattice(from, random))
        return gw_v3(random_below(random, 3) - 1, random_below(random, 3) - 1,
                     random_below(random, 3) - 1);
    return gw_v3(random_uniform(random, -1, 1), random_uniform(random, -1, 1),
                 random_uniform(random, -1, 1));
}

static gw_vec3 some_direction(numbers from, unsigned long long *random)
{
    gw_vec3 d;
    do
        d = some_point(from, random);
    while (gw_norm2(d) < 1e-4);
    return gw_unit(d);
}

gw_pose making_pose(numbers from, unsigned long long *random)
{
    static const gw_vec3 axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    gw_pose x = {some_point(from, random), gw_quat_identity()};
    bool cube = lattice(from, random);
    for (int i = 0; i < 3; i++) {
        double turn =
            cube ? random_below(random, 4) * GW_PI / 2 : random_uniform(random, -GW_PI, GW_PI);
        x.q = gw_quat_mul(gw_quat_axis(axes[i], turn), x.q);
    }
    x.q = gw_quat_unit(x.q);
    return x;
}

/* ---- a true constraint ----------------------------------------------------------------------- */

/* Rotates the fixed direction, or sets the value, so that the directions satisfy the constraint. */
static void align(gw_constraint *c, const gw_element *m, unsigned long long *random)
{
    bool alike = m->kind == c->fixed.kind;
    gw_vec3 *d = &c->fixed.d;
    if (m->kind == GW_POINT || c->fixed.kind == GW_POINT)
        return;
    if (c->kind == GW_ANGLE) {
        double between = gw_angle_between(m->d, *d);
        c->value = alike ? between : GW_PI / 2 - between;
    } else if (gw_constraint_has_sense(c->kind, m->kind, c->fixed.kind)) {
        bool same = c->sense == GW_SAME || (c->sense == GW_EITHER && random_below(random, 2));
        *d = same ? m->d : gw_neg(m->d);
    } else {
        gw_vec3 out = gw_reject(*d, m->d);
        *d = gw_norm(out) > 1e-6 ? gw_unit(out) : gw_any_normal(m->d);
    }
}

/* Moves the fixed element, or sets the value, given the mobile element in the world. */
static void place(gw_constraint *c, const gw_element *m)
{
    gw_element *f = &c->fixed;
    gw_vec3 gap = gw_sub(m->p, f->p);
    bool meets = c->kind == GW_COINCIDENT;
    if (f->kind == GW_PLANE || m->kind == GW_PLANE) {
        bool by_fixed = f->kind == GW_PLANE && !c->reversed;
        gw_vec3 n = by_fixed ? f->d : m->d;
        double h = gw_dot(n, gap);
        if (meets)
            f->p = gw_mul_add(f->p, h, n);
        else
            c->value = by_fixed ? h : -h;
        return;
    }
    if (f->kind == GW_LINE || m->kind == GW_LINE)
        gap = gw_reject(gap, f->kind == GW_LINE ? f->d : m->d);
    if (meets)
        f->p = gw_add(f->p, gap);
    else
        c->value = gw_norm(gap);
}

/* The fixed element of a constraint on a free-form shape: at random parameters of the shape the
 * point lies on it, or at an offset, and the direction lies along. */
static void hold_on_shape(gw_constraint *c, const gw_pose *x, unsigned long long *random)
{
    gw_element m = gw_element_moved(x, &c->mobile), *f = &c->fixed;
    bool fixed = gw_is_free_form(f->kind);
    const gw_element *shape = fixed ? f : &m;
    const gw_nurbs *nurbs = shape->nurbs;
    double z[2];
    form_point at;
    for (int k = 0; k < 2; k++)
        z[k] = random_uniform(random, nurbs->direction[k].low, nurbs->direction[k].high);
    form_at(nurbs, z, &at);
    bool directed = c->kind == GW_NORMAL || c->kind == GW_TANGENT;
    bool against = c->sense == GW_OPPOSITE || (c->sense == GW_EITHER && random_below(random, 2));
    gw_vec3 along = against ? gw_neg(at.direction) : at.direction;
    if (directed && fixed) {
        f->q = gw_quat_mul(gw_quat_axis(m.d, random_uniform(random, -GW_PI, GW_PI)),
                           gw_quat_between(along, m.d));
        f->q = gw_quat_unit(f->q);
    } else if (directed) {
        f->d = gw_unit(gw_rotate(m.q, along));
    }
    double offset = c->kind == GW_TANGENT ? 0 : c->value;
    gw_vec3 line = fixed ? m.d : f->d;
    gw_vec3 slid = c->kind == GW_TANGENT ? gw_scale(c->value, line) : gw_v3(0, 0, 0);
    for (int k = 0; k < 5; k++) {
        gw_vec3 on = gw_rotate(shape->q, gw_mul_add(at.p, offset, at.direction));
        f->p = fixed ? gw_sub(gw_add(m.p, slid), on) : gw_sub(gw_add(m.p, on), slid);
        if (c->kind != GW_TANGENT)
            c->value = offset;
        if (offset == 0 || oracle_error(c, x, nurbs->size) < ORACLE_ROOT * nurbs->size)
            return;
        offset = k < 3 ? 0.5 * offset : 0;
    }
}

void making_hold(gw_constraint *c, const gw_pose *x, unsigned long long *random)
{
    if (gw_is_free_form(c->mobile.kind) || gw_is_free_form(c->fixed.kind)) {
        hold_on_shape(c, x, random);
        return;
    }
    gw_element m = gw_element_moved(x, &c->mobile);
    align(c, &m, random);
    if (gw_constraint_has_distance(c->kind))
        place(c, &m);
}

/* An element of an earlier constraint of the same kind, if there is one. */
static bool share(const gw_constraint *earlier, int count, bool mobile, gw_element *e,
                  unsigned long long *random)
{
    if (count == 0 || random_below(random, 3))
        return false;
    const gw_constraint *c = &earlier[random_below(random, count)];
    const gw_element *was = mobile ? &c->mobile : &c->fixed;
    bool shapes = gw_is_free_form(was->kind) || gw_is_free_form(e->kind);
    if (was->kind == e->kind)
        *e = *was;
    else if (shapes)
        e->p = was->p;
    else if (was->kind != GW_POINT && e->kind != GW_POINT && random_below(random, 2))
        e->d = was->d;
    else
        e->p = was->p;
    return true;
}

/* Sets the point or the direction, or both, to those of an earlier constraint, moved by 1e-12 to
 * 1e-3. */
static void beside(const gw_constraint *earlier, int count, bool mobile, gw_element *e,
                   unsigned long long *random)
{
    if (count == 0 || random_below(random, 4) == 0)
        return;
    const gw_constraint *c = &earlier[random_below(random, count)];
    const gw_element *was = mobile ? &c->mobile : &c->fixed;
    int what = random_below(random, 3);
    if (what != 1)
        e->p = gw_mul_add(was->p, pow(10, random_uniform(random, -12, -3)),
                          some_direction(GENERAL, random));
    if (what != 0 && was->kind != GW_POINT)
        e->d = gw_unit(gw_mul_add(random_below(random, 2) ? was->d : gw_neg(was->d),
                                  pow(10, random_uniform(random, -12, -3)),
                                  some_direction(GENERAL, random)));
}

gw_constraint making_beside(const statement *s, numbers from, const gw_pose *x,
                            const gw_constraint *earlier, int count, unsigned long long *random)
{
    gw_constraint c = {s->kind, s->sense, 0, s->reversed, {0}, {0}};
    c.mobile = (gw_element){
        .kind = s->mobile, .p = some_point(from, random), .d = some_direction(from, random)};
    c.fixed = (gw_element){
        .kind = s->fixed, .p = some_point(from, random), .d = some_direction(from, random)};
    beside(earlier, count, true, &c.mobile, random);
    beside(earlier, count, false, &c.fixed, random);
    making_hold(&c, x, random);
    return c;
}

/* A random shape of the kind, smooth if the constraint uses its direction. */
static const gw_nurbs *some_shape(gw_element_kind kind, bool smooth, unsigned long long *random)
{
    const gw_nurbs *s;
    do
        s = shape_numbered(kind == GW_SURFACE
                               ? random_below(random, SHAPE_SURFACES)
                               : SHAPE_SURFACES +
                                     random_below(random, SHAPE_COUNT - SHAPE_SURFACES));
    while (smooth && !shape_is_smooth(s));
    return s;
}

static gw_element some_element(gw_element_kind kind, bool smooth, numbers from,
                               unsigned long long *random)
{
    gw_element e = {.kind = kind, .p = some_point(from, random)};
    if (gw_is_free_form(kind)) {
        e.q = making_pose(from, random).q;
        e.nurbs = some_shape(kind, smooth, random);
    } else {
        e.d = some_direction(from, random);
    }
    return e;
}

/* The offset or the length along a tangent, of constraints on free-form shapes. */
static double some_offset(gw_constraint_kind kind, unsigned long long *random)
{
    bool offset = kind == GW_DISTANCE || kind == GW_NORMAL || kind == GW_TANGENT;
    double value = random_uniform(random, -0.3, 0.3);
    return offset && random_below(random, 2) ? value : 0;
}

gw_constraint making_true(const statement *s, numbers from, const gw_pose *x,
                          const gw_constraint *earlier, int count, unsigned long long *random)
{
    gw_constraint c = {s->kind, s->sense, 0, s->reversed, {0}, {0}};
    bool shapes = gw_is_free_form(s->mobile) || gw_is_free_form(s->fixed);
    c.value = shapes ? some_offset(s->kind, random) : 0;
    bool smooth = s->kind == GW_NORMAL || s->kind == GW_TANGENT || c.value != 0;
    c.mobile = some_element(s->mobile, smooth, from, random);
    c.fixed = some_element(s->fixed, smooth, from, random);
    share(earlier, count, true, &c.mobile, random);
    share(earlier, count, false, &c.fixed, random);
    gw_element *shape = gw_is_free_form(s->fixed) ? &c.fixed : &c.mobile;
    if (shapes && smooth && !shape_is_smooth(shape->nurbs))
        shape->nurbs = some_shape(shape->kind, true, random);
    making_hold(&c, x, random);
    return c;
}

void making_scale(gw_problem *problem, gw_constraint *c, double k)
{
    problem->length *= k;
    problem->pose.p = gw_scale(k, problem->pose.p);
    for (int i = 0; i < problem->count; i++) {
        c[i].mobile.p = gw_scale(k, c[i].mobile.p);
        c[i].fixed.p = gw_scale(k, c[i].fixed.p);
        c[i].value *= c[i].kind == GW_ANGLE ? 1 : k;
        if (c[i].mobile.nurbs)
            c[i].mobile.nurbs = shape_scaled(c[i].mobile.nurbs, k);
        if (c[i].fixed.nurbs)
            c[i].fixed.nurbs = shape_scaled(c[i].fixed.nurbs, k);
    }
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void print_vec(FILE *to, const char *name, gw_vec3 v)
{
    fprintf(to, "\"%s\":[%.17g,%.17g,%.17g]", name, v.x, v.y, v.z);
}

static void print_numbers(FILE *to, const double *x, int count, int across)
{
    fprintf(to, "[");
    for (int i = 0; i < count; i++) {
        fprintf(to, i ? "," : "");
        if (across > 0)
            print_numbers(to, x + (ptrdiff_t)i * across, across, 0);
        else
            fprintf(to, "%.17g", x[i]);
    }
    fprintf(to, "]");
}

/* Control points have no frame of their own in JSON: they are moved by the element's. */
static void print_points(FILE *to, const gw_element *e)
{
    const gw_nurbs *s = e->nurbs;
    int across = s->dimension == 2 ? s->direction[1].count : 0;
    fprintf(to, ",\"points\":[");
    for (int i = 0; i < s->direction[0].count; i++) {
        fprintf(to, across && i ? ",[" : across ? "[" : i ? "," : "");
        for (int j = 0; j < (across ? across : 1); j++) {
            gw_vec3 p = s->stated[i * (across ? across : 1) + j];
            p = gw_add(e->p, gw_rotate(e->q, p));
            fprintf(to, "%s[%.17g,%.17g,%.17g]", j ? "," : "", p.x, p.y, p.z);
        }
        fprintf(to, across ? "]" : "");
    }
    fprintf(to, "]");
}

static void print_shape(FILE *to, const char *name, const gw_element *e)
{
    const gw_nurbs *s = e->nurbs;
    const gw_nurbs_direction *u = &s->direction[0], *v = &s->direction[1];
    bool surface = s->dimension == 2;
    int n = u->count + u->degree + 1;
    fprintf(to, ",\"%s\":{\"%s\":{", name, surface ? "surface" : "curve");
    fprintf(to, surface ? "\"degree\":[%d,%d],\"knots\":[" : "\"degree\":%d,\"knots\":", u->degree,
            v->degree);
    print_numbers(to, u->knots, n, 0);
    if (surface) {
        fprintf(to, ",");
        print_numbers(to, v->knots, v->count + v->degree + 1, 0);
        fprintf(to, "]");
    }
    print_points(to, e);
    if (s->weights) {
        fprintf(to, ",\"weights\":");
        print_numbers(to, s->weights, u->count, surface ? v->count : 0);
    }
    if (u->trimmed && !surface)
        fprintf(to, ",\"trim\":[%.17g,%.17g]", u->low, u->high);
    if (surface && (u->trimmed || v->trimmed)) {
        fprintf(to, ",\"trim\":");
        for (int k = 0; k < 2; k++) {
            const gw_nurbs_direction *d = &s->direction[k];
            fprintf(to, k ? "," : "[");
            if (d->trimmed)
                fprintf(to, "[%.17g,%.17g]", d->low, d->high);
            else
                fprintf(to, "null");
        }
        fprintf(to, "]");
    }
    fprintf(to, "}}");
}

static void print_element(FILE *to, const char *name, const gw_element *e)
{
    if (gw_is_free_form(e->kind)) {
        print_shape(to, name, e);
        return;
    }
    fprintf(to, ",\"%s\":{", name);
    if (e->kind != GW_POINT)
        fprintf(to, "\"%s\":{", e->kind == GW_LINE ? "line" : "plane");
    print_vec(to, "point", e->p);
    if (e->kind != GW_POINT) {
        fprintf(to, ",");
        print_vec(to, e->kind == GW_LINE ? "direction" : "normal", e->d);
        fprintf(to, "}");
    }
    fprintf(to, "}");
}

static void print_stated(FILE *to, const gw_constraint *c)
{
    static const char *const senses[] = {"either", "same", "opposite"};
    fprintf(to, "{\"type\":\"%s\"", gw_constraint_kind_names[c->kind]);
    if (gw_constraint_has_sense(c->kind, c->mobile.kind, c->fixed.kind))
        fprintf(to, ",\"sense\":\"%s\"", senses[c->sense]);
    if (gw_constraint_has_value(c->kind))
        fprintf(to, ",\"value\":%.17g", c->value);
    print_element(to, "mobile", &c->mobile);
    print_element(to, "fixed", &c->fixed);
    fprintf(to, "}");
}

/* The distance of two planes along the mobile normal has no JSON form: it is printed as parallel
 * planes and the distance of the fixed plane's point from the mobile plane. */
static void print_constraint(FILE *to, const gw_constraint *c)
{
    gw_constraint parallel = *c, apart = *c;
    if (!c->reversed) {
        print_stated(to, c);
        return;
    }
    parallel.kind = GW_PARALLEL;
    apart.fixed = (gw_element){.kind = GW_POINT, .p = c->fixed.p};
    print_stated(to, &parallel);
    fprintf(to, ",");
    print_stated(to, &apart);
}

void making_print(FILE *to, const gw_problem *p)
{
    fprintf(to, "{\"mobile\":{\"pose\":{");
    print_vec(to, "p", p->pose.p);
    fprintf(to, ",\"q\":[%.17g,%.17g,%.17g,%.17g]},\"length\":%.17g},\"constraints\":[",
            p->pose.q.w, p->pose.q.x, p->pose.q.y, p->pose.q.z, p->length);
    for (int i = 0; i < p->count; i++) {
        fprintf(to, i ? "," : "");
        print_constraint(to, &p->constraints[i]);
    }
    fprintf(to, "]}\n");
}
