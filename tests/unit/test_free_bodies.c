/*
 * Free bodies on what their constraints to fixed objects leave them: doors, beads, boxes on a
 * plane. Against closed motions, momentum, energy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/positioning/solve.h"
#include "rt/sim/moving_submanifold.h"
#include "tests/unit/free_fixture.h"

enum { MINUTE = 60000 };

/* Complete elliptic integral K(k), by the arithmetic-geometric mean. */
static double elliptic_k(double k)
{
    double a = 1, b = sqrt(1 - k * k);
    while (fabs(a - b) > 1e-15) {
        double mean = 0.5 * (a + b);
        b = sqrt(a * b);
        a = mean;
    }
    return GW_PI / (2 * a);
}

/* When something passed zero upwards, between ticks by its rate at both. */
typedef struct passes {
    int count;
    double first, last, value, rate;
} passes;

static void note(passes *p, double t, double dt, double value, double rate)
{
    if (p->value < 0 && value >= 0 && t > 0) {
        /* cubic through values and rates: a few steps of Newton's method */
        double v0 = p->value, v1 = value, r0 = p->rate * dt, r1 = rate * dt, x = v0 / (v0 - v1);
        for (int i = 0; i < 8; i++) {
            double a = 2 * (v0 - v1) + r0 + r1, b = -3 * (v0 - v1) - 2 * r0 - r1;
            x -= (((a * x + b) * x + r0) * x + v0) / ((3 * a * x + 2 * b) * x + r0);
        }
        p->last = t - dt + x * dt;
        p->first = p->count++ == 0 ? p->last : p->first;
    }
    p->value = value;
    p->rate = rate;
}

static double period(const passes *p)
{
    return (p->last - p->first) / (p->count - 1);
}

/* ---- closed motions ------------------------------------------------------------------------- */

static void a_door_swings_as_a_physical_pendulum(void **state)
{
    (void)state;
    running r;
    passes p = {.value = 1};
    double worst = 0, apart = 0, swing = 1, m = 1, l = 0.1;
    gw_scene *s = door(swing);
    s->objects[1].body = (gw_body){.source = GW_MASS_GIVEN, .mass = m};
    running_open(&r, s);
    for (int i = 0; i < MINUTE; i++) {
        const gw_snapshot *now = running_tick(&r);
        const gw_free_body *b = body(now, &r, "door");
        gw_vec3 x = gw_rotate(b->pose.q, gw_v3(1, 0, 0));
        note(&p, now->time, 1e-3, atan2(-x.x, x.y), b->twist.w.z);
        worst = fmax(worst, fabs(energy_error(now)));
        apart = fmax(apart, residual(&r, now));
    }
    double about_pin = m * (0.2 * 0.2 + 0.02 * 0.02) / 12 + m * l * l;
    double closed = 4 * elliptic_k(sin(0.5 * swing)) * sqrt(about_pin / (m * 9.81 * l));
    print_message("door: period %.9f s, closed %.9f s; energy off by %.2g J, residual %.2g m\n",
                  period(&p), closed, worst, apart);
    assert_true(p.count >= 70);
    assert_true(fabs(period(&p) - closed) <= 1e-8);
    assert_true(worst <= 1e-11);
    assert_true(apart <= 1e-14);
    running_close(&r);
}

/* A spinning ball whose centre keeps to an upright circle is a mathematical pendulum. */
static void a_bead_on_a_ring_keeps_its_period(void **state)
{
    (void)state;
    running r;
    passes p = {.value = 1};
    double worst = 0, apart = 0, radius = 0.2, swing = 1.2;
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    s->gravity = gw_v3(0, -9.81, 0);
    add_ball(s, "bead", gw_v3(radius * sin(swing), -radius * cos(swing), 0.01), 0.02)->spin =
        gw_v3(3, 5, -4);
    join(s, "ring", GW_DISTANCE, "bead", "center", "ground", "left")->value = radius;
    join(s, "level", GW_COINCIDENT, "bead", "center", "ground", "face");
    running_open(&r, s);
    assert_int_equal(gw_layout_placement(r.layout, 1)->solution.dof, 4);
    for (int i = 0; i < MINUTE; i++) {
        const gw_snapshot *now = running_tick(&r);
        const gw_free_body *b = body(now, &r, "bead");
        note(&p, now->time, 1e-3, b->pose.p.x, b->twist.v.x);
        worst = fmax(worst, fabs(energy_error(now)));
        apart = fmax(apart, residual(&r, now));
        assert_true(gw_norm(gw_sub(b->twist.w, gw_v3(3, 5, -4))) <= 1e-9);
    }
    double closed = 4 * elliptic_k(sin(0.5 * swing)) * sqrt(radius / 9.81);
    print_message("bead: period %.9f s, closed %.9f s; energy off by %.2g J, residual %.2g m\n",
                  period(&p), closed, worst, apart);
    assert_true(fabs(period(&p) - closed) <= 1e-8);
    assert_true(worst <= 1e-11);
    assert_true(apart <= 1e-14);
    running_close(&r);
}

/* Three threads of one length: it swings without turning, on a set that has no closed form. */
static void a_plate_on_three_threads_keeps_its_energy(void **state)
{
    (void)state;
    running r;
    double worst = 0, apart = 0, peak = 0;
    running_open(&r, plate_on_threads());
    assert_int_equal(gw_layout_placement(r.layout, 1)->solution.dof, 3);
    for (int i = 0; i < 10000; i++) {
        const gw_snapshot *now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
        peak = fmax(peak, now->energy.kinetic);
        apart = fmax(apart, residual(&r, now));
    }
    print_message("plate: energy off by %.2g J of %.2g J, residual %.2g m\n", worst, peak, apart);
    assert_true(peak > 0.05);
    assert_true(worst <= 1e-8 * peak);
    assert_true(apart <= 1e-9);
    running_close(&r);
}

/* ---- contacts ------------------------------------------------------------------------------- */

static gw_vec3 momentum(const gw_snapshot *s, const gw_scene *scene)
{
    gw_vec3 sum = {0, 0, 0};
    for (int i = 0; i < s->free_count; i++)
        sum = gw_mul_add(sum, gw_object_mass(&scene->objects[s->free[i].object]).mass,
                         s->free[i].twist.v);
    return sum;
}

/* The plane takes what leads into it; along it, momentum and energy stay. */
static void a_box_on_a_plane_keeps_momentum_in_it(void **state)
{
    (void)state;
    running r;
    double off = 0, worst = 0, turned = 0, lambda = 0;
    gw_scene *s = new_scene();
    add_ground(s, 5);
    gw_object *box = add_box(s, "box", gw_v3(0, 0, 0.1), false);
    box->free = true;
    gw_object *ball = add_ball(s, "ball", gw_v3(-0.3, 0.03, 0.27), 0.03);
    ball->velocity = gw_v3(1, 0, -0.7);
    join(s, "flat", GW_COINCIDENT, "box", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    touch_elastically(s);
    running_open(&r, s);
    gw_vec3 first = momentum(running_tick(&r), s);
    for (int i = 0; i < 2000; i++) {
        const gw_snapshot *now = running_tick(&r);
        const gw_free_body *b = body(now, &r, "box");
        gw_vec3 change = gw_sub(momentum(now, s), first);
        off = fmax(off, fmax(fabs(change.x), fabs(change.y)));
        worst = fmax(worst, fabs(energy_error(now)));
        turned = fmax(turned, fabs(b->twist.w.z));
        lambda = fmax(lambda, gw_norm(b->constraint.f));
        assert_true(fabs(b->pose.p.z - 0.1) <= 1e-15 && b->twist.v.z == 0);
        assert_true(residual(&r, now) <= 1e-15);
    }
    const gw_snapshot *now = running_tick(&r);
    print_message("box and ball: momentum in the plane off by %.2g N s, energy by %.2g J\n", off,
                  worst);
    assert_true(now->contact.collisions >= 1);
    assert_true(body(now, &r, "box")->twist.v.x > 0.01 && turned > 0.01);
    assert_true(off <= 1e-12 && worst <= 1e-12);
    running_close(&r);
}

/* Five balls on a rail: the last one leaves as the first one came. */
static void beads_on_a_rail_pass_their_speed_on(void **state)
{
    (void)state;
    running r;
    gw_scene *s = new_scene();
    add_ground(s, 5);
    s->objects[0].shape.size = gw_v3(0.01, 0.01, 0.01);
    s->objects[0].pose.p.y = -1;
    for (int i = 0; i < 5; i++) {
        char id[16], c[16];
        snprintf(id, sizeof id, "b%d", i);
        snprintf(c, sizeof c, "c%d", i);
        add_ball(s, id, gw_v3(0.2 + 0.041 * i - (i == 0 ? 0.1 : 0), -1, 0), 0.02);
        join(s, c, GW_COINCIDENT, id, "center", "ground", "rail");
    }
    s->objects[1].velocity = gw_v3(0.5, 0.3, 0); /* across the rail: nothing of it is left */
    touch_elastically(s);
    running_open(&r, s);
    const gw_snapshot *now = running_tick(&r);
    for (int i = 0; i < 800; i++)
        now = running_tick(&r);
    assert_int_equal(now->contact.collisions, 4);
    for (int i = 0; i < 5; i++) {
        gw_vec3 v = now->free[i].twist.v;
        assert_true(fabs(v.x - (i == 4 ? 0.5 : 0)) <= 1e-12 && v.y == 0 && v.z == 0);
    }
    assert_true(fabs(energy_error(now)) <= 1e-14);
    running_close(&r);
}

/* Fully constrained it is as good as fixed: what hits it bounces off. */
static void a_body_without_freedoms_carries_what_hits_it(void **state)
{
    (void)state;
    running r;
    gw_scene *s = new_scene();
    add_ground(s, 5);
    add_box(s, "box", gw_v3(0, 0, 0.11), false)->free = true;
    add_ball(s, "ball", gw_v3(0.01, 0.02, 0.4), 0.03)->velocity = gw_v3(0.1, 0, -1);
    join(s, "z", GW_COINCIDENT, "box", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    join(s, "x", GW_COINCIDENT, "box", "+x", "ground", "+x")->sense = GW_SAME;
    join(s, "y", GW_COINCIDENT, "box", "+y", "ground", "+y")->sense = GW_SAME;
    touch_elastically(s);
    running_open(&r, s);
    assert_int_equal(gw_layout_placement(r.layout, 1)->solution.dof, 0);
    const gw_snapshot *now = running_tick(&r);
    for (int i = 0; i < 400; i++)
        now = running_tick(&r);
    gw_vec3 v = body(now, &r, "ball")->twist.v;
    assert_int_equal(now->contact.collisions, 1);
    assert_true(fabs(v.z - 1) <= 1e-12 && fabs(v.x - 0.1) <= 1e-12);
    assert_true(gw_norm(body(now, &r, "box")->twist.v) == 0);
    running_close(&r);
}

/* The constraint carries the load: the plane bears the box and the ball that rests on it.
 */
static void a_plane_bears_what_lies_on_its_box(void **state)
{
    (void)state;
    running r;
    gw_scene *s = new_scene();
    add_ground(s, 5);
    s->gravity = gw_v3(0, 0, -9.81);
    add_box(s, "box", gw_v3(0, 0, 0.1), false)->free = true;
    add_ball(s, "ball", gw_v3(0.01, 0.02, 0.19), 0.03);
    join(s, "flat", GW_COINCIDENT, "box", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    s->contact.enabled = true;
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 3000; i++)
        now = running_tick(&r);
    double weight =
        9.81 * (gw_object_mass(&s->objects[1]).mass + gw_object_mass(&s->objects[2]).mass);
    const gw_free_body *box = body(now, &r, "box");
    double deep = 0.18 - body(now, &r, "ball")->pose.p.z;
    print_message("plane bears %.6f N of %.6f N; %.2g m deep\n", box->constraint.f.z, weight, deep);
    assert_true(fabs(box->constraint.f.z - weight) <= 1e-6 * weight);
    assert_true(deep > 0 && deep <= 5e-4);
    assert_true(fabs(box->pose.p.z - 0.1) <= 1e-15);
    assert_true(fabs(energy_error(now)) <= 1e-12);
    running_close(&r);
}

/* ---- walls ---------------------------------------------------------------------------------- */

/* A stop: the door's end stays on one side of the pin. */
static void a_door_comes_to_rest_at_its_stop(void **state)
{
    (void)state;
    running r;
    double worst = 0, deepest = 0;
    bool touched = false;
    gw_scene *s = door(1);
    state_feature(s, "ground", "stop",
                  (gw_element){.kind = GW_PLANE, .p = {0.02, 0, 0}, .d = {1, 0, 0}});
    state_feature(s, "door", "end",
                  (gw_element){.kind = GW_POINT, .p = {-0.1, 0, 0}, .d = {0, 0, 0}});
    join(s, "stop", GW_DISTANCE, "door", "end", "ground", "stop")->bound = GW_BOUND_AT_LEAST;
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 10000; i++) {
        now = running_tick(&r);
        const gw_free_body *b = body(now, &r, "door");
        gw_vec3 end = gw_pose_point(&b->pose, gw_v3(-0.1, 0, 0));
        deepest = fmax(deepest, 0.02 - end.x);
        touched = touched || b->walls == 1;
        worst = fmax(worst, fabs(energy_error(now)));
    }
    print_message("door at its stop: %.2g m deep at most, energy off by %.2g J, %.3f J went\n",
                  deepest, worst, now->energy.dissipated);
    assert_true(touched);
    assert_true(deepest > 0 && deepest <= 5e-5);
    assert_true(gw_norm(body(now, &r, "door")->twist.w) <= 1e-3);
    double fell = 0.08 * 9.81 * 0.1 * (cos(asin(0.1)) - cos(1));
    assert_true(fabs(now->energy.dissipated - fell) <= 1e-3 * fell);
    assert_true(worst <= 1e-12);
    running_close(&r);
}

/* A bead on a rail between two stops, thrown at one: it turns back with e of its speed, or stays
 * there, however fast, and never goes beyond. */
static void a_bead_bounces_at_its_stops(void **state)
{
    (void)state;
    static const double throws[][2] = {{1, 1}, {1, 30}, {0.5, 1}, {0.5, 30}, {0, 1}, {0, 30}};
    for (size_t k = 0; k < sizeof throws / sizeof throws[0]; k++) {
        running r;
        double e = throws[k][0], v = throws[k][1], worst = 0, deepest = -1;
        gw_scene *s = new_scene();
        add_ground(s, 0.5);
        add_ball(s, "bead", gw_v3(0.15, 0, 0), 0.01)->velocity = gw_v3(v, 0, 0);
        state_feature(s, "ground", "end",
                      (gw_element){.kind = GW_PLANE, .p = {0.3, 0, 0}, .d = {1, 0, 0}});
        state_feature(s, "ground", "start",
                      (gw_element){.kind = GW_PLANE, .p = {0, 0, 0}, .d = {1, 0, 0}});
        join(s, "rail", GW_COINCIDENT, "bead", "center", "ground", "rail");
        join(s, "a", GW_DISTANCE, "bead", "center", "ground", "end")->bound = GW_BOUND_AT_MOST;
        join(s, "b", GW_DISTANCE, "bead", "center", "ground", "start")->bound = GW_BOUND_AT_LEAST;
        touch_elastically(s);
        s->contact.enabled = k % 2;
        s->materials[0].surface.restitution = e;
        running_open(&r, s);
        double mass = gw_object_mass(&s->objects[1]).mass, after = v, before = v;
        const gw_snapshot *now = NULL;
        for (int i = 0; i < 5000; i++) {
            now = running_tick(&r);
            const gw_free_body *b = body(now, &r, "bead");
            deepest = fmax(deepest, fmax(b->pose.p.x - 0.3, -b->pose.p.x));
            worst = fmax(worst, fabs(energy_error(now)));
            if (after == v && b->twist.v.x * before < 0)
                after = fabs(b->twist.v.x);
            before = b->twist.v.x != 0 ? b->twist.v.x : before;
        }
        double left = fabs(body(now, &r, "bead")->twist.v.x);
        print_message("bead with e %g at %g m/s: %.2g m beyond, energy off by %.2g of %.2g J\n", e,
                      v, deepest, worst, 0.5 * mass * v * v);
        assert_true(deepest <= 1e-9);
        assert_true(worst <= 1e-12 * mass * v * v + 1e-16);
        assert_true(e == 0 ? left <= 1e-3 : fabs(after - e * v) <= 1e-12 * v);
        assert_true(e < 1 || fabs(left - v) <= 1e-10 * v);
        running_close(&r);
    }
}

/* Two stops of a box on a plane meet in a corner: it comes to rest in it. */
static void a_corner_of_stops_holds(void **state)
{
    (void)state;
    running r;
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    add_box(s, "box", gw_v3(0, 0, 0.05), false)->velocity = gw_v3(2, 2, 0);
    s->objects[1].free = true;
    s->objects[1].spin = gw_v3(0, 0, 3);
    state_feature(s, "ground", "east",
                  (gw_element){.kind = GW_PLANE, .p = {0.2, 0, 0}, .d = {1, 0, 0}});
    state_feature(s, "ground", "north",
                  (gw_element){.kind = GW_PLANE, .p = {0, 0.2, 0}, .d = {0, 1, 0}});
    join(s, "flat", GW_COINCIDENT, "box", "-z", "ground", "face")->sense = GW_OPPOSITE;
    join(s, "e", GW_DISTANCE, "box", "center", "ground", "east")->bound = GW_BOUND_AT_MOST;
    join(s, "n", GW_DISTANCE, "box", "center", "ground", "north")->bound = GW_BOUND_AT_MOST;
    touch_elastically(s);
    s->materials[0].surface.restitution = 0;
    s->contact.enabled = false;
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 500; i++)
        now = running_tick(&r);
    const gw_free_body *b = body(now, &r, "box");
    assert_true(fabs(b->pose.p.x - 0.2) <= 1e-9 && fabs(b->pose.p.y - 0.2) <= 1e-9);
    assert_true(fabs(b->twist.w.z - 3) <= 1e-9);
    assert_true(fabs(energy_error(now)) <= 1e-12);
    running_close(&r);
}

/* A stop in a world with contacts. */
static void stops_hold_beside_contacts(void **state)
{
    (void)state;
    running r;
    double worst = 0, deepest = 0;
    gw_scene *s = door_with_a_stop();
    add_ball(s, "ball", gw_v3(0.5, 0.5, 0), 0.02);
    s->contact.enabled = true;
    s->contact.ignore = calloc(1, sizeof *s->contact.ignore);
    s->contact.ignore[s->contact.ignore_count++] =
        (gw_pair_name){"door", "ground"}; /* they overlap */
    running_open(&r, s);
    for (int i = 0; i < 3000; i++) {
        const gw_snapshot *now = running_tick(&r);
        gw_vec3 end = gw_pose_point(&body(now, &r, "door")->pose, gw_v3(-0.1, 0, 0));
        deepest = fmax(deepest, 0.02 - end.x);
        worst = fmax(worst, fabs(energy_error(now)));
    }
    print_message("stop beside contacts: %.2g m deep, energy off by %.2g J\n", deepest, worst);
    assert_true(deepest > 0 && deepest <= 5e-5);
    assert_true(worst <= 1e-9);
    running_close(&r);
}

/* Forces reported for a tick belong to its state: m (dv/dt - g) there, by central differences, of a
 * free body and of a body of a system. */
static void constraint_forces_belong_to_the_state_told(void **state)
{
    (void)state;
    for (int joined = 0; joined < 2; joined++) {
        running r;
        gw_scene *s = door(2);
        if (joined) {
            gw_scene_joint *j = gw_scene_add_joint(s, NULL);
            gw_object *rider = gw_scene_add_object(s, NULL);
            const gw_object *bar = &s->objects[gw_scene_object(s, "door")];
            snprintf(rider->id, sizeof rider->id, "rider");
            rider->free = true;
            rider->pose = bar->pose;
            rider->body = (gw_body){.source = GW_MASS_GIVEN,
                                    .mass = 1e-3,
                                    .has_inertia = true,
                                    .inertia = {1e-6, 1e-6, 1e-6, 0, 0, 0}};
            snprintf(j->id, sizeof j->id, "pin");
            snprintf(j->a.object, sizeof j->a.object, "rider");
            snprintf(j->b.object, sizeof j->b.object, "door");
            j->type = GW_MOBILIZER_SPHERICAL;
        }
        running_open(&r, s);
        gw_vec3 v[3] = {{0}}, told[3] = {{0}};
        double worst = 0, mass = 0;
        for (int k = 0; k < 300; k++) {
            const gw_snapshot *now = running_tick(&r);
            const gw_free_body *b = body(now, &r, joined ? "rider" : "door");
            v[k % 3] = b->twist.v;
            told[k % 3] = b->constraint.f;
            if (k < 2)
                continue;
            gw_vec3 rate = gw_scale(500, gw_sub(v[k % 3], v[(k + 1) % 3]));
            rate.y += 9.81;
            double f = gw_norm(told[(k + 2) % 3]);
            mass = mass > 0 ? mass : f / gw_norm(rate);
            worst = fmax(worst, gw_distance(told[(k + 2) % 3], gw_scale(mass, rate)) / f);
        }
        print_message("%s: within %.1e\n", joined ? "in a system" : "alone", worst);
        assert_true(worst < 5e-4);
        running_close(&r);
    }
}

static void where_no_pose_is_within_numbers_the_other_one_is_taken(void **state)
{
    (void)state;
    gw_constraint round = {.kind = GW_DISTANCE, .value = 2};
    round.mobile = round.fixed = (gw_element){.kind = GW_POINT};
    gw_problem problem = {gw_pose_identity(), 1, 1, &round};
    gw_solution *solution = calloc(1, sizeof *solution);
    gw_solve(&problem, solution);
    assert_true(solution->branch_count > 0);
    gw_guided_def def = {.set = solution->branches[0].set, .length = 1};
    const gw_pose scene = {{0, 2, 0}, {1, 0, 0, 0}};
    const double far[] = {3, HUGE_VAL, NAN};
    for (int i = 0; i < 3; i++) {
        gw_pose near = {{far[i], far[i], 0}, {1, 0, 0, 0}};
        gw_pose to = gw_moving_submanifold_nearest(&def, &near, &scene);
        assert_true(fabs(gw_norm(to.p) - 2) < 1e-9);
        assert_true(i > 0 || fabs(to.p.x - sqrt(2)) < 1e-9);
    }
    free(solution);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constraint_forces_belong_to_the_state_told),
        cmocka_unit_test(a_door_swings_as_a_physical_pendulum),
        cmocka_unit_test(a_bead_on_a_ring_keeps_its_period),
        cmocka_unit_test(a_plate_on_three_threads_keeps_its_energy),
        cmocka_unit_test(a_box_on_a_plane_keeps_momentum_in_it),
        cmocka_unit_test(beads_on_a_rail_pass_their_speed_on),
        cmocka_unit_test(a_body_without_freedoms_carries_what_hits_it),
        cmocka_unit_test(a_plane_bears_what_lies_on_its_box),
        cmocka_unit_test(a_door_comes_to_rest_at_its_stop),
        cmocka_unit_test(a_bead_bounces_at_its_stops),
        cmocka_unit_test(a_corner_of_stops_holds),
        cmocka_unit_test(stops_hold_beside_contacts),
        cmocka_unit_test(where_no_pose_is_within_numbers_the_other_one_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
