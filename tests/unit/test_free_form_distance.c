/* Distances of free-form shapes from other elements: the least one against samples, its derivative
 * against differences, and signed ones past edges, sharp bends and poles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nurbs_fixture.h"
#include "rt/contact/unilateral_row.h"
#include "rt/geometry/free_form_distance.h"
#include "rt/geometry/nurbs_primitive.h"

static gw_vec3 random_vector(unsigned long long *seed, double most)
{
    return gw_v3(gw_random_uniform(seed, -most, most), gw_random_uniform(seed, -most, most),
                 gw_random_uniform(seed, -most, most));
}

static gw_quat random_turn(unsigned long long *seed)
{
    return gw_quat_axis(gw_unit(random_vector(seed, 1)), gw_random_uniform(seed, 0, 3));
}

static gw_vec3 point_on(const gw_element *e, double s, double t)
{
    double x[2] = {0, 0}, at[2] = {s, t};
    gw_nurbs_point p;
    for (int k = 0; k < e->nurbs->dimension; k++)
        x[k] = e->nurbs->direction[k].low +
               (e->nurbs->direction[k].high - e->nurbs->direction[k].low) * at[k];
    gw_nurbs_evaluate(e->nurbs, x, 0, NULL, &p);
    return gw_add(e->p, gw_rotate(e->q, p.d[0][0]));
}

/* The least distance of sampled points; `way`: 1, or -1 for the highest one from a plane. */
static double sampled(const gw_element *shape, const gw_element *other, double way, int n)
{
    double least = HUGE_VAL;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= (shape->nurbs->dimension == 2 ? n : 0); j++) {
            gw_vec3 p = point_on(shape, (double)i / n, (double)j / n), d = gw_sub(p, other->p);
            if (other->kind == GW_POINT)
                least = fmin(least, gw_norm(d));
            else if (other->kind == GW_LINE)
                least = fmin(least, gw_norm(gw_reject(d, other->d)));
            else if (other->kind == GW_PLANE)
                least = fmin(least, way * gw_dot(d, other->d));
            else
                for (int k = 0; k <= n; k++)
                    for (int l = 0; l <= (other->nurbs->dimension == 2 ? n : 0); l++)
                        least = fmin(least,
                                     gw_distance(p, point_on(other, (double)k / n, (double)l / n)));
        }
    return least;
}

static gw_element moved(const gw_element *e, gw_vec3 v, gw_vec3 w, double t)
{
    gw_pose by = {gw_scale(t, v), gw_quat_axis(gw_unit(w), t * gw_norm(w))};
    return gw_element_moved(&by, e);
}

/* dh/dt of bodies that move at random against the difference of h. */
static void check_derivative(unsigned long long *seed, const gw_element *a, const gw_element *b,
                             gw_distance_kind kind, const gw_distance_minimum *minimum, double size)
{
    gw_vec3 va = random_vector(seed, 1), wa = random_vector(seed, 1);
    gw_vec3 vb = random_vector(seed, 1), wb = random_vector(seed, 1);
    gw_distance_minimum at = *minimum;
    gw_distance_at here, there[2];
    gw_distance_follow(a, b, kind, &at, &here);
    double step = 1e-6 * size;
    if (gw_distance(here.on_a, here.on_b) < 1e-3 * size && a->kind != GW_PLANE &&
        b->kind != GW_PLANE)
        return; /* they meet */
    for (int i = 0; i < 2; i++) {
        double t = i ? step : -step;
        gw_element at_a = moved(a, va, wa, t), at_b = moved(b, vb, wb, t);
        gw_distance_minimum near = at;
        if (!gw_distance_follow(&at_a, &at_b, kind, &near, &there[i]) ||
            gw_distance(there[i].on_a, here.on_a) > 1e-2 * size)
            return; /* the branch ends here */
    }
    double rate = gw_dot(
        here.normal, gw_sub(gw_add(va, gw_cross(wa, here.at)), gw_add(vb, gw_cross(wb, here.at))));
    double difference = (there[1].value - there[0].value) / (2 * step);
    if (fabs((there[1].value + there[0].value - 2 * here.value) / step) > 1e-3)
        return; /* a bend within the step */
    if (fabs(rate - difference) > 1e-5 * (1 + fabs(rate)))
        fprintf(stderr, "kinds %d %d: %g, %g\n", a->kind, b->kind, rate, difference);
    assert_true(fabs(rate - difference) <= 1e-5 * (1 + fabs(rate)));
}

static void the_least_minimum_is_below_all_samples_and_its_derivative_is_right(void **state)
{
    (void)state;
    unsigned long long seed = 3;
    for (int trial = 0; trial < 200; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial), *o = random_nurbs(&seed, trial / 2);
        gw_element shape = {.kind = s->dimension == 1 ? GW_CURVE : GW_SURFACE,
                            .p = random_vector(&seed, 1),
                            .q = random_turn(&seed),
                            .nurbs = s};
        for (int kind = GW_POINT; kind <= GW_SURFACE; kind++) {
            gw_element other = {.kind = (gw_element_kind)kind,
                                .p = random_vector(&seed, 2 * s->size),
                                .d = gw_unit(random_vector(&seed, 1))};
            if (gw_is_free_form(other.kind)) {
                other.kind = o->dimension == 1 ? GW_CURVE : GW_SURFACE;
                other.q = random_turn(&seed);
                other.nurbs = o;
            }
            gw_distance_kind of = {.side = trial % 2 ? 1 : -1, .signs = trial % 3 == 0};
            double way = kind == GW_PLANE ? of.side : 1;
            for (int swapped = 0; swapped < 2; swapped++) {
                const gw_element *a = swapped ? &other : &shape, *b = swapped ? &shape : &other;
                gw_distance_minimum minimum;
                gw_distance_at at;
                gw_distance_nearest(a, b, of, 4000, &minimum, &at);
                double length = gw_distance(at.on_a, at.on_b);
                double least = sampled(&shape, &other, way, gw_is_free_form(other.kind) ? 16 : 40);
                double value = kind == GW_PLANE ? way * at.value : length;
                if (value > least + 1e-4 * s->size)
                    fprintf(stderr, "%d kind %d: %g over %g\n", trial, kind, value, least);
                assert_true(value <= least + 1e-4 * s->size);
                check_derivative(&seed, a, b, of, &minimum, s->size);
            }
        }
        gw_nurbs_put(s);
        gw_nurbs_put(o);
    }
}

static gw_pose moved_pose(const gw_pose *pose, gw_vec3 v, gw_vec3 w, double t)
{
    gw_pose by = {gw_scale(t, v), gw_quat_axis(gw_unit(w), t * gw_norm(w))};
    return (gw_pose){gw_add(pose->p, by.p), gw_quat_mul(by.q, pose->q)};
}

/* Power of a unit force of the row with the bodies in motion, against the difference of its gap. */
static void check_gap_rate(unsigned long long *seed, const gw_unilateral_row *row, int *checked)
{
    gw_pose a = {random_vector(seed, 1), random_turn(seed)};
    gw_pose b = {random_vector(seed, 1), random_turn(seed)};
    gw_vec3 va = random_vector(seed, 1), wa = random_vector(seed, 1);
    gw_vec3 vb = random_vector(seed, 1), wb = random_vector(seed, 1);
    double gap[2], step = 1e-6;
    gw_unilateral_row near = *row;
    gw_element at_a = gw_element_moved(&a, &row->a), at_b = gw_element_moved(&b, &row->b);
    gw_element *line = gw_is_free_form(at_a.kind) ? &at_b : &at_a;
    gw_distance_at at;
    *line = (gw_element){.kind = GW_POINT, .p = line->p};
    gw_distance_nearest(&at_a, &at_b, row->of, 1000, &near.minima[0], &at);
    near.nearest = true;
    gw_gap g = gw_unilateral_row_gap(&near, &a, &b);
    for (int i = 0; i < 2; i++) {
        double t = i ? step : -step;
        gw_pose to_a = moved_pose(&a, va, wa, t), to_b = moved_pose(&b, vb, wb, t);
        gap[i] = gw_unilateral_row_gap(&near, &to_a, &to_b).gap;
    }
    if (!isfinite(g.gap) || fabs(gap[0] + gap[1] - 2 * g.gap) > 1e-3 * step)
        return; /* a bend, or another minimum, within the step */
    gw_wrench on_a = gw_gap_wrench(&g, 1);
    double rate = gw_dot(on_a.f, gw_sub(gw_velocity_at(&a, &(gw_twist){va, wa}, g.at_a),
                                        gw_velocity_at(&b, &(gw_twist){vb, wb}, g.at_b))) +
                  gw_dot(on_a.t, gw_sub(wa, wb));
    double difference = (gap[1] - gap[0]) / (2 * step);
    assert_true(fabs(rate - difference) <= 1e-4 * (1 + fabs(rate)));
    ++*checked;
}

static void the_angle_to_a_normal_or_tangent_changes_as_its_row_says(void **state)
{
    (void)state;
    unsigned long long seed = 8;
    int checked = 0;
    for (int trial = 0; trial < 400; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        gw_element shape = {.kind = s->dimension == 1 ? GW_CURVE : GW_SURFACE,
                            .p = random_vector(&seed, 1),
                            .q = random_turn(&seed),
                            .nurbs = s};
        gw_element line = {.kind = trial % 3 ? GW_LINE : GW_PLANE,
                           .p = random_vector(&seed, 1),
                           .d = gw_unit(random_vector(&seed, 1))};
        gw_unilateral_row row = {.kind = GW_UNILATERAL_ANGLE,
                                 .a = trial % 4 < 2 ? shape : line,
                                 .b = trial % 4 < 2 ? line : shape,
                                 .value = 0.4,
                                 .sign = trial % 5 ? 1 : -1,
                                 .length = 0.3};
        check_gap_rate(&seed, &row, &checked);
        gw_nurbs_put(s);
    }
    assert_true(checked > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_minimum_is_below_all_samples_and_its_derivative_is_right),
        cmocka_unit_test(the_angle_to_a_normal_or_tangent_changes_as_its_row_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
