/*
 * Constraints made true at a pose: the fixed element, or the value, follows from the mobile one.
 * Single-threaded; no allocation.
 */
#include "tests/oracle/making.h"

#include "tests/oracle/oracle.h"
#include "tests/random.h"

int making_statements(statement list[MOST_STATEMENTS])
{
    int n = 0;
    for (int kind = 0; kind < GW_CONSTRAINT_KIND_COUNT; kind++)
        for (int m = GW_POINT; m <= GW_PLANE; m++)
            for (int f = GW_POINT; f <= GW_PLANE; f++)
                for (int sense = GW_EITHER; sense <= GW_OPPOSITE; sense++)
                    for (int reversed = 0; reversed < 2; reversed++) {
                        statement s = {(gw_constraint_kind)kind, (gw_element_kind)m,
                                       (gw_element_kind)f, (gw_sense)sense, reversed};
                        bool planes = s.kind == GW_DISTANCE && m == GW_PLANE && f == GW_PLANE;
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

/* Turns the fixed direction, or takes the value, so that the directions are as asked. */
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

/* Where the fixed element has to be, or how far, given the mobile one in the world. */
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

void making_hold(gw_constraint *c, const gw_pose *x, unsigned long long *random)
{
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
    if (was->kind == e->kind)
        *e = *was;
    else if (was->kind != GW_POINT && e->kind != GW_POINT && random_below(random, 2))
        e->d = was->d;
    else
        e->p = was->p;
    return true;
}

/* The point or the direction, or both, of an earlier constraint, and beside it by 1e-12 to 1e-3. */
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

gw_constraint making_true(const statement *s, numbers from, const gw_pose *x,
                          const gw_constraint *earlier, int count, unsigned long long *random)
{
    gw_constraint c = {s->kind, s->sense, 0, s->reversed, {0}, {0}};
    c.mobile = (gw_element){
        .kind = s->mobile, .p = some_point(from, random), .d = some_direction(from, random)};
    c.fixed = (gw_element){
        .kind = s->fixed, .p = some_point(from, random), .d = some_direction(from, random)};
    share(earlier, count, true, &c.mobile, random);
    share(earlier, count, false, &c.fixed, random);
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
        c[i].value *= c[i].kind == GW_DISTANCE ? k : 1;
    }
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void print_vec(FILE *to, const char *name, gw_vec3 v)
{
    fprintf(to, "\"%s\":[%.17g,%.17g,%.17g]", name, v.x, v.y, v.z);
}

static void print_element(FILE *to, const char *name, const gw_element *e)
{
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

static void print_constraint(FILE *to, const gw_constraint *c)
{
    static const char *const senses[] = {"either", "same", "opposite"};
    /* the distance along the mobile normal has no JSON, but it is one along the fixed normal where
     * the sense is known: n_m = +-n_f */
    bool known = c->reversed && c->sense != GW_EITHER;
    double value = known && c->sense == GW_SAME ? -c->value : c->value;
    fprintf(to, "{\"type\":\"%s\"", gw_constraint_kind_names[c->kind]);
    if (gw_constraint_has_sense(c->kind, c->mobile.kind, c->fixed.kind))
        fprintf(to, ",\"sense\":\"%s\"", senses[c->sense]);
    if (gw_constraint_has_value(c->kind))
        fprintf(to, ",\"value\":%.17g", value);
    if (c->reversed && !known)
        fprintf(to, ",\"reversed\":true");
    print_element(to, "mobile", &c->mobile);
    print_element(to, "fixed", &c->fixed);
    fprintf(to, "}");
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
