/*
 * Proofs that no point of a free-form shape is where other constraints hold: none for sets that
 * have a pose, and the bounds that they state against poses drawn at random.
 */
#include "tests/unit/nurbs_fixture.h"
#include "tests/unit/solve_util.h"

#include "rt/geometry/nurbs_least.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_primitive.h"
#include "rt/positioning/solver.h"

#define DRAWS 4000

/* ---- the least value of a function over a shape ---------------------------------------------- */

static double distance_from(const void *context, const gw_nurbs_part *part, double *bound)
{
    double d = gw_distance(part->point, *(const gw_vec3 *)context);
    *bound = d - part->reach;
    return d;
}

static double angle_with(const void *context, const gw_nurbs_part *part, double *bound)
{
    double d = gw_angle_between(part->along, *(const gw_vec3 *)context);
    *bound = d - part->turn;
    return d;
}

static gw_vec3 along_at(const gw_nurbs *s, const double z[2])
{
    gw_nurbs_point at;
    gw_nurbs_evaluate(s, z, 1, NULL, &at);
    return gw_unit(s->dimension == 1 ? at.d[1][0] : gw_cross(at.d[1][0], at.d[0][1]));
}

/* With poles at its ends, about which the parameters are polar. */
static gw_nurbs *ellipsoid(void)
{
    return gw_nurbs_ellipsoid(gw_v3(0.5, 0.4, 0.3), NULL);
}

/* The distance is that of the closest point; no angle of a point drawn is less than the bound. */
static void the_least_value_is_certain(void **unused)
{
    (void)unused;
    unsigned long long random = 3;
    int complete = 0;
    for (int trial = 0; trial < 60; trial++) {
        gw_nurbs *s = trial % 5 ? random_nurbs(&random, trial) : ellipsoid();
        gw_vec3 from = gw_scale(3, vector()), along = direction();
        gw_nurbs_nearest closest;
        gw_nurbs_least least;
        gw_nurbs_nearest_point(s, from, &closest);
        gw_nurbs_least_value(s, distance_from, &from, 0, 20000, &least);
        assert_true(least.bound <= closest.distance + 1e-9);
        assert_true(least.bound >= 0.5 * closest.distance);
        assert_true(least.value >= closest.distance - 1e-9);
        gw_nurbs_least_value(s, angle_with, &along, 1e-3, 20000, &least);
        complete += least.bound > 0;
        for (int i = 0; i < DRAWS / 10; i++) {
            double z[2];
            random_parameter(&random, s, z);
            double angle = gw_angle_between(along_at(s, z), along);
            assert_true(angle >= least.bound && angle >= 0.9 * least.value - 1e-3);
        }
        gw_nurbs_put(s);
    }
    assert_true(complete > 20);
}

/* ---- sets that are made about a pose --------------------------------------------------------- */

typedef struct set {
    gw_pose pose;
    gw_nurbs *shape;
    gw_element in_world; /* the shape at the pose */
    double z[2];
    gw_constraint c[4];
    int count;
} set;

/* A constraint whose elements, in the world, satisfy it; either may be the body's. */
static void add(set *s, gw_constraint_kind kind, gw_sense sense, double value, gw_element a,
                gw_element b)
{
    gw_pose back = gw_pose_inverse(&s->pose);
    bool swapped = uniform() < 0;
    s->c[s->count++] = (gw_constraint){.kind = kind,
                                       .sense = sense,
                                       .value = value,
                                       .mobile = gw_element_moved(&back, swapped ? &b : &a),
                                       .fixed = swapped ? a : b};
}

static gw_sense random_sense(gw_sense is)
{
    return uniform() < 0 ? GW_EITHER : is;
}

/* The relation with the shape; `offset`: of surfaces. */
static void add_relation(set *s, bool directed, double offset)
{
    bool surface = s->shape->dimension == 2;
    gw_nurbs_point at;
    gw_nurbs_evaluate(s->shape, s->z, 1, NULL, &at);
    gw_vec3 n = gw_rotate(s->in_world.q, along_at(s->shape, s->z));
    gw_vec3 y = gw_add(s->in_world.p, gw_rotate(s->in_world.q, at.d[0][0]));
    if (surface)
        y = gw_mul_add(y, offset, n);
    if (directed) {
        bool same = uniform() < 0;
        add(s, surface ? GW_NORMAL : GW_TANGENT, random_sense(same ? GW_SAME : GW_OPPOSITE),
            surface ? offset : 0, line(y, same ? n : gw_neg(n)), s->in_world);
        return;
    }
    add(s, surface ? GW_DISTANCE : GW_COINCIDENT, GW_EITHER, surface ? offset : 0, point_at(y),
        s->in_world);
}

static double distance_of(gw_vec3 p, const gw_element *e)
{
    gw_vec3 to = gw_sub(p, e->p);
    return e->kind == GW_PLANE ? gw_dot(to, e->d)
                               : gw_norm(e->kind == GW_LINE ? gw_reject(to, e->d) : to);
}

/* Another constraint of kind 0 to 7. */
static void add_other(set *s, int kind)
{
    gw_vec3 p = gw_scale(2, vector()), d = direction();
    gw_element e[] = {point_at(vector()), line(vector(), direction()),
                      plane(vector(), direction())};
    if (kind < 3) {
        add(s, GW_DISTANCE, GW_EITHER, distance_of(p, &e[kind]), point_at(p), e[kind]);
    } else if (kind < 6) {
        e[kind - 3].p = p;
        add(s, GW_COINCIDENT, GW_EITHER, 0, point_at(p), e[kind - 3]);
    } else if (kind == 6) {
        add(s, GW_ANGLE, GW_EITHER, gw_angle_between(d, e[1].d), line(p, d), e[1]);
    } else {
        bool same = uniform() < 0;
        add(s, GW_PARALLEL, random_sense(same ? GW_SAME : GW_OPPOSITE), 0, line(p, d),
            line(vector(), same ? d : gw_neg(d)));
    }
}

static set make_set(gw_nurbs *shape, unsigned long long *random, bool directed, double offset)
{
    set s = {.pose = random_pose(),
             .shape = shape,
             .in_world = {.kind = shape->dimension == 2 ? GW_SURFACE : GW_CURVE,
                          .p = vector(),
                          .q = rotation(),
                          .nurbs = shape}};
    random_parameter(random, shape, s.z);
    add_relation(&s, directed, offset);
    return s;
}

static bool refuted(const set *s, gw_conflict *conflict)
{
    const gw_problem p = {s->pose, 1, s->count, s->c};
    gw_solver solver;
    gw_solver_init(&solver, &p, NULL, NULL);
    bool found = gw_free_form_conflict(&solver);
    *conflict = solver.conflict;
    return found;
}

static void no_set_with_a_pose_is_refuted(void **unused)
{
    (void)unused;
    unsigned long long random = 5;
    for (int trial = 0; trial < 240; trial++) {
        gw_nurbs *shape = trial % 5 ? random_nurbs(&random, trial) : ellipsoid();
        set s = make_set(shape, &random, trial % 3 > 0, trial % 4 ? 0.2 * uniform() : 0);
        gw_conflict conflict;
        for (int k = 0; k < 1 + trial % 3; k++)
            add_other(&s, (trial / 3 + 3 * k) % 8);
        assert_false(refuted(&s, &conflict));
        gw_nurbs_put(shape);
    }
}

/* ---- sets without a pose --------------------------------------------------------------------- */

/* The value of the second constraint where the first holds, at a point of the shape and a turn. */
static double value_at_random(const set *s, unsigned long long *random, bool turns_freely)
{
    const gw_constraint *c = &s->c[1];
    bool body = gw_is_free_form(s->c[0].mobile.kind);
    const gw_element *on = body ? &s->c[0].mobile : &s->c[0].fixed,
                     *other = body ? &s->c[0].fixed : &s->c[0].mobile;
    double z[2];
    random_parameter(random, s->shape, z);
    gw_nurbs_point at;
    gw_nurbs_evaluate(s->shape, z, 1, NULL, &at);
    gw_vec3 n = gw_rotate(on->q, along_at(s->shape, z));
    gw_vec3 y = gw_add(on->p, gw_rotate(on->q, at.d[0][0]));
    y = gw_mul_add(y, s->c[0].value, n);
    bool opposite = s->c[0].sense == GW_OPPOSITE ||
                    (s->c[0].sense == GW_EITHER && gw_random_uniform(random, 0, 1) < 0.5);
    /* the other object's pose in the shape's: its direction along n */
    gw_quat q = rotation();
    if (!turns_freely)
        q = gw_quat_mul(gw_quat_axis(n, gw_random_uniform(random, -GW_PI, GW_PI)),
                        gw_quat_between(other->d, opposite ? gw_neg(n) : n));
    gw_pose x = {gw_sub(y, gw_rotate(q, other->p)), q};
    if (body)
        x = gw_pose_inverse(&x);
    gw_element m = gw_element_moved(&x, &c->mobile);
    if (c->kind == GW_ANGLE || c->kind == GW_PARALLEL)
        return gw_angle_between(m.d, c->fixed.d);
    bool owns = m.kind > c->fixed.kind;
    return distance_of(owns ? c->fixed.p : m.p, owns ? &m : &c->fixed);
}

/* The second constraint is made to ask for more, or less, than it can have. */
static void what_is_out_of_reach_is_refuted_with_its_bound(void **unused)
{
    (void)unused;
    unsigned long long random = 7;
    int refused = 0, asked = 0;
    for (int trial = 0; trial < 160; trial++) {
        gw_nurbs *shape = trial % 2   ? random_bicubic(&random, 1 + trial % 3, 0.1)
                          : trial % 5 ? saddle_of(0.3, 0.5)
                                      : ellipsoid();
        bool directed = trial % 4 > 0;
        int kind = (int[]){0, 1, 2, 6}[trial / 4 % (directed ? 4 : 3)];
        set s = make_set(shape, &random, directed, 0.05 * uniform());
        gw_conflict conflict;
        double low = HUGE_VAL, high = -HUGE_VAL;
        add_other(&s, kind);
        for (int i = 0; i < DRAWS; i++) {
            double v = value_at_random(&s, &random, !directed);
            low = fmin(low, v), high = fmax(high, v);
        }
        bool more = uniform() < 0;
        double spread = 0.3 * (high - low) + 0.05;
        s.c[1].value = more ? high + spread : low - spread;
        bool has_it = kind == 2 || (s.c[1].value > 0 && (kind != 6 || s.c[1].value < GW_PI));
        asked += has_it;
        if (has_it && refuted(&s, &conflict)) {
            double bound = conflict.values[1].value, slack = 0.25 * (high - low) + 1e-6;
            refused++;
            assert_string_equal(conflict.values[1].name, more ? "most" : "least");
            assert_true(conflict.values[0].value == s.c[1].value);
            assert_int_equal(conflict.constraints, 3);
            assert_true(more ? bound >= high - 1e-9 && bound <= high + slack
                             : bound <= low + 1e-9 && bound >= low - slack);
        }
        gw_nurbs_put(shape);
    }
    printf("%d of %d refuted\n", refused, asked);
    assert_true(asked > 60 && refused >= 0.95 * asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_value_is_certain),
        cmocka_unit_test(no_set_with_a_pose_is_refuted),
        cmocka_unit_test(what_is_out_of_reach_is_refuted_with_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
