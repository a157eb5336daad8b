/*
 * Unilateral constraints as rows of the contact system. What rolls or slides lifts off where the
 * constraint force vanishes, collides where it meets again, and meanwhile rolls without slip;
 * bounds of distances and angles hold between all kinds of elements and bodies; against closed
 * forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/contact/unilateral_row.h"
#include "tests/unit/unilateral_fixture.h"

#define DT 1e-3

static gw_scene_constraint *touches(gw_scene *s, gw_constraint_kind kind, const char *a,
                                    const char *fa, const char *b, const char *fb)
{
    gw_scene_constraint *c = join(s, "touches", kind, a, fa, b, fb);
    c->unilateral = GW_CONTACT_UNILATERAL;
    return c;
}

static gw_scene *weighty(void)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, -G);
    return s;
}

static gw_shape sphere(double radius)
{
    return (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = radius};
}

/* ---- lift-off ------------------------------------------------------------------------------- */

/* From rest near the top, h = (R + r) (cos t0 - cos t), v^2 (1 + k) = 2 g h with k = 2/5 where it
 * rolls; the surface no longer pushes where v^2 = g (R + r) cos t:
 *
 *   cos t = 2 cos t0 / (3 + k):   10/17 cos t0, sliding 2/3 cos t0 */
static void a_ball_leaves_a_sphere(void **state)
{
    (void)state;
    static const struct {
        gw_constraint_kind kind;
        double leaves;
    } cases[] = {{GW_ROLLING, 10.0 / 17}, {GW_PURE_ROLLING, 10.0 / 17}, {GW_SLIDING, 2.0 / 3}};
    for (int k = 0; k < 3; k++) {
        const double start = 0.05, apart = 1.1;
        gw_scene *s = weighty();
        running r;
        double left = 0, worst = 0, slip = 0, before = 0;
        add_solid(s, "big", sphere(1), gw_v3(0, 0, 0), 0);
        add_solid(s, "ball", sphere(0.1), gw_v3(apart * sin(start), 0, apart * cos(start)), 1);
        touches(s, cases[k].kind, "ball", "surface", "big", "surface");
        running_open(&r, s);
        for (int i = 0; i < 2500 && !left; i++) {
            const gw_snapshot *now = running_tick(&r);
            const gw_free_body *b = body(now, &r, "ball");
            gw_vec3 n = gw_unit(b->pose.p);
            worst = fmax(worst, fabs(energy_error(now)));
            if (i > 0 && force_of(now) == 0)
                left = before;
            else
                slip =
                    fmax(slip, fabs(b->twist.v.x * n.z - b->twist.v.z * n.x - 0.1 * b->twist.w.y));
            before = n.z;
        }
        print_message("%s: leaves at cos %.6f of its start's, %.6f expected; slip %.2g m/s, energy "
                      "off by %.2g J\n",
                      gw_any_constraint_name(cases[k].kind), left / cos(start), cases[k].leaves,
                      slip, worst);
        assert_true(fabs(left / cos(start) - cases[k].leaves) < 2e-3); /* a tick's way */
        assert_true(cases[k].kind == GW_SLIDING || slip < 1e-10);
        assert_true(worst < 1e-9);
        running_close(&r);
    }
}

/* A rolling body's pose after 1 s, on a floor that it cannot leave, or may. */
static gw_pose rolled_for_a_second(gw_constraint_kind kind, gw_shape shape, const char *feature,
                                   gw_pose at, gw_twist twist, bool may_part)
{
    gw_scene *s = weighty();
    running r;
    add_floor(s, 0.1);
    gw_object *o = add_solid(s, "body", shape, at.p, 1);
    o->pose.q = at.q;
    o->velocity = twist.v, o->spin = twist.w;
    gw_scene_constraint *c = touches(s, kind, "body", feature, "floor", "+z");
    c->unilateral = may_part ? GW_CONTACT_UNILATERAL : GW_CONTACT_BILATERAL;
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 1000; i++)
        now = running_tick(&r);
    gw_pose end = body(now, &r, "body")->pose;
    running_close(&r);
    return end;
}

/* While it is pressed a contact that may part moves a body as one that may not, from the layout's
 * start on: a ball and a tilted disc on a slope. */
static void pressed_contacts_move_as_bilateral_ones(void **state)
{
    (void)state;
    static const gw_constraint_kind kinds[] = {GW_ROLLING, GW_PURE_ROLLING, GW_SLIDING};
    const gw_shape disc = {.kind = GW_SHAPE_CYLINDER, .radius = 0.1, .height = 1e-9};
    const gw_quat slope = gw_quat_axis(gw_v3(0, 1, 0), 0.1);
    for (int k = 0; k < 6; k++) {
        bool rim = k >= 3;
        double height = rim ? 0.1 * sin(1.2) : 0.1;
        gw_pose at = {gw_rotate(slope, gw_v3(0, 0, height)),
                      gw_quat_mul(slope, gw_quat_axis(gw_v3(1, 0, 0), rim ? 1.2 : 0))};
        /* about the contact point, without spin about the normal */
        gw_vec3 n = gw_rotate(slope, gw_v3(0, 0, 1)), u = gw_rotate(at.q, gw_v3(0, 0, 1));
        gw_vec3 up = gw_scale(0.1, rim ? gw_unit(gw_reject(n, u)) : n);
        gw_vec3 spin = gw_reject(gw_scale(8, rim ? u : gw_v3(0, 1, 0)), n);
        gw_twist twist = {gw_cross(spin, up), spin};
        gw_pose end[2];
        for (int i = 0; i < 2; i++)
            end[i] = rolled_for_a_second(kinds[k % 3], rim ? disc : sphere(0.1),
                                         rim ? "top-rim" : "surface", at, twist, i == 1);
        double off = gw_distance(end[0].p, end[1].p);
        off = fmax(off, gw_norm(gw_quat_log(gw_quat_mul(end[0].q, gw_quat_conj(end[1].q)))));
        print_message("%s %s: poses differ by %.2g after 1 s, %.2g m away\n",
                      gw_any_constraint_name(kinds[k % 3]), rim ? "disc" : "ball", off,
                      gw_distance(at.p, end[0].p));
        assert_true(off < 1e-9 && gw_distance(at.p, end[0].p) > 0.05);
    }
}

/* A tray that falls faster than its load: the load stays behind, and is met again. */
static void a_load_leaves_a_tray_that_is_pulled_away(void **state)
{
    (void)state;
    gw_scene *s = weighty();
    running r;
    gw_object *tray = add_solid(s, "tray", (gw_shape){.kind = GW_SHAPE_BOX, .size = {1, 1, 0.1}},
                                gw_v3(0, 0, 0), 2);
    tray->free = false;
    add_solid(s, "ball", sphere(0.1), gw_v3(0, 0, 0.15), 1);
    hold(s, "tray");
    touches(s, GW_ROLLING, "ball", "surface", "tray", "+z");
    running_open(&r, s);
    gw_command retired, pull = {.kind = GW_COMMAND_PUSH, .push = {{0, 0, -2 * 2 * G}, {0, 0, 0}}};
    gw_simulation_apply(r.simulation, &pull, &retired);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 100; i++)
        now = running_tick(&r);
    assert_true(fabs(body(now, &r, "ball")->twist.v.z + G * 99 * DT) < 1e-9); /* it falls alone */
    assert_true(fabs(now->tools[0].twist.v.z + 3 * G * 99 * DT) < 1e-3);
    pull.push.f.z = 3 * G * 20;
    gw_simulation_apply(r.simulation, &pull, &retired); /* back up, until it lies there */
    for (int i = 0; i < 400; i++) {
        now = running_tick(&r);
        double gap = body(now, &r, "ball")->pose.p.z - now->tools[0].world_from_object.p.z - 0.15;
        assert_true(gap > -2e-3);
        assert_true(fabs(energy_error(now)) < 1e-9 * fmax(1, now->energy.kinetic));
    }
    assert_true(now->energy.dissipated > 0.1);
    assert_true(fabs(body(now, &r, "ball")->twist.v.z - now->tools[0].twist.v.z) < 1e-2);
    running_close(&r);
}

/* ---- rolling -------------------------------------------------------------------------------- */

/* Dropped onto a slope it goes down with 5/7 g sin(slope), without slip. */
static void a_ball_dropped_on_a_slope_rolls(void **state)
{
    (void)state;
    const double slope = 0.35, ticks = 1500;
    gw_scene *s = weighty();
    running r;
    add_floor(s, slope);
    gw_vec3 n = gw_rotate(s->objects[0].pose.q, gw_v3(0, 0, 1));
    gw_vec3 down = gw_rotate(s->objects[0].pose.q, gw_v3(1, 0, 0));
    add_solid(s, "ball", sphere(0.1), gw_scale(0.3, n), 1);
    touches(s, GW_ROLLING, "floor", "+z", "ball", "surface"); /* whichever comes first */
    running_open(&r, s);
    double at[2] = {0, 0};
    const gw_free_body *b = NULL;
    for (int i = 0; i < ticks; i++) {
        const gw_snapshot *now = running_tick(&r);
        b = body(now, &r, "ball");
        if (i == ticks - 501)
            at[0] = gw_dot(b->twist.v, down);
        assert_true(fabs(energy_error(now)) < 1e-9);
    }
    at[1] = gw_dot(b->twist.v, down);
    assert_true(fabs((at[1] - at[0]) / 0.5 - G * sin(slope) * 5 / 7) < 1e-6);
    assert_true(fabs(at[1] - 0.1 * b->twist.w.y) < 1e-9);
    assert_true(fabs(gw_dot(b->pose.p, n) - 0.1) < 1e-4);
    running_close(&r);
}

/* A spinning ball that lands keeps its moment about the point where it touches: v = 2/7 r w. */
static void a_spinning_ball_lands_without_slip(void **state)
{
    (void)state;
    gw_scene *s = weighty();
    running r;
    add_floor(s, 0);
    gw_object *ball = add_solid(s, "ball", sphere(0.1), gw_v3(0, 0, 0.2), 1);
    ball->spin = gw_v3(0, 10, 4);
    touches(s, GW_ROLLING, "ball", "surface", "floor", "+z");
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 500; i++)
        now = running_tick(&r);
    const gw_free_body *b = body(now, &r, "ball");
    assert_true(fabs(b->twist.v.x - 2.0 / 7) < 1e-9);
    assert_true(fabs(b->twist.w.z - 4) < 1e-9); /* rolling leaves it its spin */
    running_close(&r);
    s = weighty();
    add_floor(s, 0);
    ball = add_solid(s, "ball", sphere(0.1), gw_v3(0, 0, 0.2), 1);
    ball->spin = gw_v3(0, 10, 4);
    touches(s, GW_PURE_ROLLING, "ball", "surface", "floor", "+z");
    running_open(&r, s);
    for (int i = 0; i < 500; i++)
        now = running_tick(&r);
    b = body(now, &r, "ball");
    assert_true(fabs(b->twist.v.x - 2.0 / 7) < 1e-9);
    assert_true(fabs(b->twist.w.z) < 1e-9); /* pure rolling does not */
    assert_true(fabs(energy_error(now)) < 1e-9);
    running_close(&r);
}

/* A disc on its rim, a tilted cylinder, a capsule: they come down, never through, and roll. */
static void rims_and_sides_land(void **state)
{
    (void)state;
    static const struct {
        gw_shape shape;
        const char *feature;
        double tilt, height; /* of the axis from the horizontal (rad), of the centre at last (m) */
    } cases[] = {
        {{.kind = GW_SHAPE_CYLINDER, .radius = 0.1, .height = 0.3}, "surface", 0.1, 0.1},
        {{.kind = GW_SHAPE_CAPSULE, .radius = 0.1, .height = 0.3}, "surface", 0.1, 0.1},
        {{.kind = GW_SHAPE_CYLINDER, .radius = 0.1, .height = 1e-9}, "top-rim", 0, 0.1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gw_scene *s = weighty();
        running r;
        add_floor(s, 0);
        gw_object *o = add_solid(s, "roller", cases[k].shape, gw_v3(0, 0, 0.2), 1);
        o->body.has_inertia = cases[k].shape.height < 1e-3; /* a hoop */
        const double hoop[6] = {0.005, 0.005, 0.01, 0, 0, 0};
        memcpy(o->body.inertia, hoop, sizeof hoop);
        o->pose.q = gw_quat_axis(gw_v3(1, 0, 0), GW_PI / 2 + cases[k].tilt);
        o->velocity = gw_v3(1, 0, 0);
        touches(s, GW_ROLLING, "roller", cases[k].feature, "floor", "+z");
        running_open(&r, s);
        double lowest = 1;
        const gw_free_body *b = NULL;
        for (int i = 0; i < 1500; i++) {
            const gw_snapshot *now = running_tick(&r);
            b = body(now, &r, "roller");
            lowest = fmin(lowest, b->pose.p.z);
            assert_true(fabs(energy_error(now)) < 1e-9);
        }
        gw_vec3 slip = gw_add(b->twist.v, gw_cross(b->twist.w, gw_v3(0, 0, -0.1)));
        assert_true(lowest > cases[k].height - 5e-4);
        assert_true(fabs(b->pose.p.z - cases[k].height) < 1e-4);
        assert_true(b->twist.v.x > 0.499 && gw_norm(slip) < 1e-9);
        running_close(&r);
    }
}

/* An edit elsewhere is not felt by what rolls and rests on its contacts. */
static void an_edit_leaves_what_rolls_alone(void **state)
{
    (void)state;
    gw_scene *s = weighty();
    running r;
    add_floor(s, 0.1);
    gw_vec3 n = gw_rotate(s->objects[0].pose.q, gw_v3(0, 0, 1));
    add_solid(s, "ball", sphere(0.1), gw_scale(0.1, n), 1);
    touches(s, GW_ROLLING, "ball", "surface", "floor", "+z");
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    double last = 0;
    for (int i = 0; i < 600; i++) {
        now = running_tick(&r);
        double v = gw_norm(body(now, &r, "ball")->twist.v);
        assert_true(i < 20 || fabs(v - last - G * sin(0.1) * 5 / 7 * DT) < 1e-6);
        assert_true(fabs(energy_error(now)) < 1e-9);
        last = v;
        if (i % 150 == 149)
            hand_over(&r, now, NULL);
    }
    running_close(&r);
}

/* Restitution is that of the materials that are named, else none. */
static void it_bounces_as_its_material_says(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_scene *s = weighty();
        running r;
        double up = 0, down = 0;
        add_floor(s, 0);
        add_solid(s, "ball", sphere(0.1), gw_v3(0, 0, 0.3), 1);
        touches(s, GW_SLIDING, "ball", "surface", "floor", "+z");
        if (k) {
            gw_material *m = gw_scene_add_material(s, NULL);
            strcpy(m->id, "rubber");
            m->surface.restitution = 0.8;
            strcpy(s->objects[1].material, "rubber");
        }
        running_open(&r, s);
        for (int i = 0; i < 350; i++) {
            double v = body(running_tick(&r), &r, "ball")->twist.v.z;
            up = fmax(up, v), down = fmin(down, v);
        }
        if (k)
            assert_true(fabs(up + 0.8 * down) < 2 * G * DT);
        else
            assert_true(up < 1e-2);
        running_close(&r);
    }
}

/* They take nothing from what can move, and position nothing. */
static void unilateral_contacts_are_not_counted(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *s = weighty();
    add_floor(s, 0);
    add_solid(s, "ball", sphere(0.1), gw_v3(0, 0, 0.7), 1);
    touches(s, GW_PURE_ROLLING, "ball", "surface", "floor", "+z");
    assert_true(gw_scene_check(s, &error));
    gw_layout *layout = gw_layout_create(s, NULL, NULL);
    assert_int_equal(layout->system_count, 1);
    assert_true(gw_distance(layout->poses[1].p, gw_v3(0, 0, 0.7)) == 0);
    assert_true(gw_layout_residual(layout, layout->poses) == 0);
    assert_int_equal(layout->systems[0]->mobility, 6);
    gw_layout_destroy(layout);
    s->constraints[0].kind = GW_KNIFE_EDGE;
    assert_false(gw_scene_check(s, &error));
    assert_string_equal(error.where, "/constraints/0/contact");
    gw_scene_destroy(s);
}

/* ---- bounds --------------------------------------------------------------------------------- */

static gw_scene_constraint *bounded(gw_scene *s, gw_constraint_kind kind, const char *fa,
                                    const char *fb, gw_bound bound, double value)
{
    char id[16];
    snprintf(id, sizeof id, "bound%d", s->constraint_count);
    gw_scene_constraint *c = join(s, id, kind, "box", fa, "ground", fb);
    c->bound = bound;
    c->value = value;
    return c;
}

/* Every pair of kinds: a falling box comes to rest where the bound has it, beyond it never. */
static void every_pair_keeps_its_distance(void **state)
{
    (void)state;
    static const struct {
        const char *own, *other;
        gw_bound bound;
        double value, rest; /* height of the box's centre in the end (m) */
    } cases[] = {
        {"center", "+z", GW_BOUND_AT_LEAST, 0.3, 0.35},
        {"-z", "center", GW_BOUND_AT_MOST, -0.3, NAN}, /* above its own bottom: never reached */
        {"-z", "+z", GW_BOUND_AT_LEAST, 0.2, 0.3},
        {"+x-z", "+z", GW_BOUND_AT_LEAST, 0.2, NAN}, /* an edge: it turns */
        {"axis-y", "+z", GW_BOUND_AT_LEAST, 0.2, 0.25},
        {"center", "center", GW_BOUND_AT_LEAST, 0.25, 0.25},
        {"center", "axis-x", GW_BOUND_AT_LEAST, 0.25, 0.25},
        {"axis-x", "center", GW_BOUND_AT_LEAST, 0.25, 0.25},
        {"axis-x", "axis-y", GW_BOUND_AT_LEAST, 0.25, 0.25},
        {"axis-x", "axis-x", GW_BOUND_AT_LEAST, 0.25, 0.25},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gw_scene *s = weighty();
        running r;
        add_box(s, "ground", gw_v3(0, 0, 0), true);
        gw_object *box = add_box(s, "box", gw_v3(0, 0, 0.5), false);
        box->free = true;
        bounded(s, GW_DISTANCE, cases[k].own, cases[k].other, cases[k].bound, cases[k].value);
        gw_error error = {0};
        assert_true(gw_scene_check(s, &error));
        running_open(&r, s);
        const gw_snapshot *now = NULL;
        for (int i = 0; i < 1500; i++) {
            now = running_tick(&r);
            assert_true(fabs(energy_error(now)) < 1e-9);
        }
        const gw_free_body *b = body(now, &r, "box");
        if (!isnan(cases[k].rest)) {
            assert_true(fabs(b->pose.p.z - cases[k].rest) < 1e-4);
            assert_true(gw_norm(b->twist.v) < 1e-4);
        }
        running_close(&r);
    }
}

/* A hinged bar falls against a bound of its angle and stays there, whatever the kinds. */
static void angles_are_kept(void **state)
{
    (void)state;
    static const struct {
        const char *own, *other;
        gw_bound bound;
        double value;
    } cases[] = {
        {"along", "level", GW_BOUND_AT_MOST, 0.5},             /* two lines */
        {"along", "up", GW_BOUND_AT_LEAST, -0.5},              /* a line and a plane */
        {"across", "up", GW_BOUND_AT_MOST, 0.5},               /* two planes */
        {"along", "down", GW_BOUND_AT_LEAST, GW_PI / 2 - 0.5}, /* the other way round */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gw_scene *s = new_scene();
        running r;
        s->gravity = gw_v3(0, -G, 0);
        add_ground(s, 0.5);
        add_bar(s, "bar", gw_v3(0, 0, 0), 0, 0.2)->free = true;
        hinge(s, "h", "bar", "near", "ground", "left");
        s->objects[1].body.has_com = true;
        s->objects[1].body.com = gw_v3(0.1, 0, 0);
        state_feature(s, "bar", "along",
                      (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {1, 0, 0}});
        state_feature(s, "bar", "across",
                      (gw_element){.kind = GW_PLANE, .p = {0, 0, 0}, .d = {0, 1, 0}});
        state_feature(s, "ground", "level",
                      (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {1, 0, 0}});
        state_feature(s, "ground", "up",
                      (gw_element){.kind = GW_PLANE, .p = {0, 0, 0}, .d = {0, 1, 0}});
        state_feature(s, "ground", "down",
                      (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {0, -1, 0}});
        gw_scene_constraint *c =
            join(s, "limit", GW_ANGLE, "bar", cases[k].own, "ground", cases[k].other);
        c->bound = cases[k].bound;
        c->value = cases[k].value;
        running_open(&r, s);
        const gw_snapshot *now = NULL;
        for (int i = 0; i < 2000; i++) {
            now = running_tick(&r);
            double angle = gw_quat_log(body(now, &r, "bar")->pose.q).z;
            assert_true(angle > -0.5 - 2e-3);
            assert_true(fabs(energy_error(now)) < 1e-9);
        }
        assert_true(fabs(gw_quat_log(body(now, &r, "bar")->pose.q).z + 0.5) < 1e-3);
        assert_true(gw_norm(body(now, &r, "bar")->twist.w) < 1e-4);
        running_close(&r);
    }
}

/* A string between two bodies that fly apart: momentum is shared when it is taut, and they come
 * back with the restitution of their materials. */
static void a_string_between_two_bodies_shares_momentum(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_scene *s = new_scene();
        running r;
        add_box(s, "ground", gw_v3(0, 0, -5), true);
        add_solid(s, "a", sphere(0.05), gw_v3(0, 0, 0), 1);
        add_solid(s, "b", sphere(0.05), gw_v3(0.2, 0, 0), 3)->velocity = gw_v3(1, 0, 0);
        s->objects[2].free = k == 0; /* else it moves because it is tied */
        gw_scene_constraint *c = join(s, "string", GW_DISTANCE, "a", "center", "b", "center");
        c->bound = GW_BOUND_AT_MOST;
        c->value = 0.3;
        running_open(&r, s);
        const gw_snapshot *now = NULL;
        for (int i = 0; i < 200; i++) {
            now = running_tick(&r);
            double d = gw_distance(body(now, &r, "a")->pose.p, body(now, &r, "b")->pose.p);
            assert_true(d < 0.3 + 1e-9);
        }
        double a = body(now, &r, "a")->twist.v.x, b = body(now, &r, "b")->twist.v.x;
        assert_true(fabs(a + 3 * b - 3) < 1e-9);
        assert_true(fabs(a - b - 0.5) < 1e-9);
        assert_true(fabs(energy_error(now)) < 1e-9);
        running_close(&r);
    }
}

/* Links of a mechanism, against what is fixed and against one another; a joint's limit and the
 * bound of the same angle stand at the same place. */
static void links_are_kept_too(void **state)
{
    (void)state;
    static const char *const other[] = {"ground", "arm.0"};
    for (int k = 0; k < 2; k++) {
        gw_scene *s = new_scene();
        running r;
        s->gravity = gw_v3(0, 0, -G);
        add_box(s, "ground", gw_v3(0, 0, 0), true);
        gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
        strcpy(m->id, "arm");
        assert_true(gw_mechanism_resize(m, 2));
        for (int i = 0; i < 2; i++) {
            m->parent[i] = i - 1;
            m->links[i] = (gw_link_def){.kind = GW_JOINT_REVOLUTE,
                                        .parent_from_joint = gw_pose_identity(),
                                        .axis = {0, 1, 0},
                                        .mass = {.mass = 1, .com = {0.1, 0, 0}}};
            m->links[i].parent_from_joint.p.x = 0.2 * i;
            for (int n = 0; n < 3; n++)
                m->links[i].mass.inertia.m[n][n] = 0.01;
        }
        state_feature(s, "arm.1", "tip",
                      (gw_element){.kind = GW_POINT, .p = {0.2, 0, 0}, .d = {0, 0, 0}});
        state_feature(s, "arm.0", "root",
                      (gw_element){.kind = GW_POINT, .p = {0, 0, 0}, .d = {0, 0, 0}});
        state_feature(s, "ground", "root",
                      (gw_element){.kind = GW_PLANE, .p = {0, 0, 0}, .d = {0, 0, 1}});
        gw_scene_constraint *c = join(s, "keep", GW_DISTANCE, "arm.1", "tip", other[k], "root");
        c->bound = GW_BOUND_AT_LEAST;
        c->value = k ? 0.3 : -0.15;
        gw_error error = {0};
        assert_true(gw_scene_check(s, &error));
        running_open(&r, s);
        double least = INFINITY;
        const gw_snapshot *now = NULL;
        for (int i = 0; i < 3000; i++) {
            now = running_tick(&r);
            gw_vec3 tip = gw_pose_point(&now->links[1], gw_v3(0.2, 0, 0));
            least = fmin(least, (k ? gw_norm(tip) : tip.z) - c->value);
            assert_true(fabs(energy_error(now)) < 1e-9);
        }
        print_message("arm against %s: %.2g m beyond at most\n", other[k], -least);
        assert_true(least > -1e-3 && least < 1e-3);
        running_close(&r);
    }
}

/* A hand that presses steadily into two bounds at once is held by both. */
static void a_steady_hand_is_held_in_a_corner(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    running r;
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_box(s, "box", gw_v3(0, 0, 0.5), false);
    hold(s, "box");
    bounded(s, GW_DISTANCE, "mid-x", "mid-x", GW_BOUND_AT_MOST, 0.1);
    bounded(s, GW_DISTANCE, "axis-x", "+y", GW_BOUND_AT_MOST, 0.05);
    running_open(&r, s);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push = {{5, 3, 0}, {0, 0, 0}}};
    gw_simulation_apply(r.simulation, &push, &retired);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 3000; i++) {
        now = running_tick(&r);
        assert_true(fabs(energy_error(now)) < 1e-9);
    }
    const gw_tool_state *t = &now->tools[0];
    assert_true(fabs(t->world_from_tool.p.x - 0.1) < 1e-4);
    assert_true(fabs(t->world_from_tool.p.y - 0.1) < 1e-4);
    assert_true(gw_norm(t->twist.v) < 1e-6);
    assert_int_equal(now->contact_count, 2);
    running_close(&r);
}

/* ---- mass ratios --------------------------------------------------------------------------- */

/* A light body under a heavy one: springs that a step bears at the light one would give way, the
 * forces that are solved for do not. Boxes, a ball under a guided load, dropped on or laid on. */
static void light_bodies_stay_under_heavy_ones(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        gw_scene *s = weighty();
        running r;
        add_floor(s, 0);
        gw_shape cube = {.kind = GW_SHAPE_BOX, .size = {0.1, 0.1, 0.1}};
        add_solid(s, "light", k == 2 ? sphere(0.05) : cube, gw_v3(0, 0, 0.05), 1e-3);
        add_solid(s, "heavy", cube, gw_v3(0, 0, k == 1 ? 0.3 : 0.15), 100);
        s->contact.enabled = true;
        if (k == 2) { /* it cannot topple */
            gw_scene_joint *j = gw_scene_add_joint(s, NULL);
            strcpy(j->id, "guide");
            j->type = GW_MOBILIZER_PRISMATIC;
            j->enabled = true;
            strcpy(j->a.object, "heavy"), strcpy(j->b.object, "floor");
            j->a.at = j->b.at = gw_pose_identity();
            j->b.at.p.z = 0.25;
        }
        running_open(&r, s);
        const gw_snapshot *now = NULL;
        double worst = 0;
        for (int i = 0; i < 2000; i++) {
            now = running_tick(&r);
            worst = fmax(worst, fabs(energy_error(now)));
        }
        const gw_free_body *light = body(now, &r, "light"), *heavy = body(now, &r, "heavy");
        print_message(
            "1 g under 100 kg: %.2g mm and %.2g mm deep, %.2g m/s; energy off by %.2g J\n",
            1e3 * (0.05 - light->pose.p.z), 1e3 * (0.15 - heavy->pose.p.z), gw_norm(heavy->twist.v),
            worst);
        assert_true(fabs(light->pose.p.z - 0.05) < 2e-4 && fabs(heavy->pose.p.z - 0.15) < 4e-4);
        assert_true(gw_norm(light->twist.v) < 1e-4 && gw_norm(heavy->twist.v) < 1e-4);
        assert_true(gw_norm(light->pose.p) < 0.051);
        assert_true(worst < 1e-6 * 100 * G * 0.1);
        running_close(&r);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 4503599627370496.0 - 1;
}

static gw_vec3 anywhere(uint64_t *seed)
{
    return gw_v3(uniform(seed), uniform(seed), uniform(seed));
}

/* Force, points and couple of a row are the gradient of its gap. */
static void rows_are_gradients_of_their_gaps(void **state)
{
    (void)state;
    const double h = 1e-6;
    uint64_t seed = 1;
    double worst = 0;
    for (int trial = 0; trial < 3600; trial++) {
        bool angle = trial % 2;
        gw_unilateral_row row = {.kind = angle ? GW_UNILATERAL_ANGLE : GW_UNILATERAL_DISTANCE,
                                 .value = 0.3,
                                 .sign = trial % 4 < 2 ? 1 : -1,
                                 .length = 0.7};
        gw_element *element[2] = {&row.a, &row.b};
        gw_pose pose[2];
        gw_twist twist[2];
        for (int k = 0; k < 2; k++) {
            int kind = trial / (k ? 4 : 12) % 3;
            kind = angle && kind == GW_POINT ? GW_PLANE : kind;
            *element[k] = (gw_element){
                .kind = (gw_element_kind)kind, .p = anywhere(&seed), .d = gw_unit(anywhere(&seed))};
            pose[k] = (gw_pose){anywhere(&seed), gw_quat_exp(anywhere(&seed))};
            twist[k] = (gw_twist){anywhere(&seed), anywhere(&seed)};
        }
        double gap[2];
        for (int k = 0; k < 2; k++) {
            gw_twist way[2];
            gw_pose at[2];
            for (int i = 0; i < 2; i++) {
                double by = k ? h : -h;
                way[i] = (gw_twist){gw_scale(by, twist[i].v), gw_scale(by, twist[i].w)};
                at[i] = gw_pose_add(&pose[i], &way[i]);
            }
            gap[k] = gw_unilateral_row_gap(&row, &at[0], &at[1]).gap;
        }
        gw_gap g = gw_unilateral_row_gap(&row, &pose[0], &pose[1]);
        double rate = gw_dot(g.normal, gw_sub(gw_velocity_at(&pose[0], &twist[0], g.at_a),
                                              gw_velocity_at(&pose[1], &twist[1], g.at_b)));
        if (g.lever > 0)
            rate = g.lever * gw_dot(g.normal, gw_sub(twist[0].w, twist[1].w));
        double error = fabs((gap[1] - gap[0]) / (2 * h) - rate);
        bool singular = fabs(gw_dot(gw_rotate(pose[0].q, row.a.d), gw_rotate(pose[1].q, row.b.d))) >
                        0.99; /* near lines that are parallel the common normal is */
        if (!singular)
            worst = fmax(worst, error / fmax(1, fabs(rate)));
        assert_true((g.lever > 0) == angle && fabs(gw_norm(g.normal) - 1) < 1e-12);
    }
    print_message("gradients of gaps: off by %.2g of themselves\n", worst);
    assert_true(worst < 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ball_leaves_a_sphere),
        cmocka_unit_test(a_load_leaves_a_tray_that_is_pulled_away),
        cmocka_unit_test(a_ball_dropped_on_a_slope_rolls),
        cmocka_unit_test(a_spinning_ball_lands_without_slip),
        cmocka_unit_test(pressed_contacts_move_as_bilateral_ones),
        cmocka_unit_test(rims_and_sides_land),
        cmocka_unit_test(an_edit_leaves_what_rolls_alone),
        cmocka_unit_test(it_bounces_as_its_material_says),
        cmocka_unit_test(unilateral_contacts_are_not_counted),
        cmocka_unit_test(every_pair_keeps_its_distance),
        cmocka_unit_test(angles_are_kept),
        cmocka_unit_test(a_string_between_two_bodies_shares_momentum),
        cmocka_unit_test(links_are_kept_too),
        cmocka_unit_test(a_steady_hand_is_held_in_a_corner),
        cmocka_unit_test(light_bodies_stay_under_heavy_ones),
        cmocka_unit_test(rows_are_gradients_of_their_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
