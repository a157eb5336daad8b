/*
 * A sphere written as a free-form surface moves like the primitive, whatever constraint it is
 * under: point on it, at a distance from it, along its normal, sliding, rolling, purely rolling, of
 * either body, from outside and within, two-sided and one-sided, under balls, rims and curves. A
 * point on a circle does, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/geometry/nurbs.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/free_fixture.h"

#define SECONDS 10

static gw_shape sphere(double radius, bool free_form)
{
    if (!free_form)
        return (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = radius};
    return (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE,
                      .nurbs = gw_nurbs_ellipsoid(gw_v3(radius, radius, radius), NULL)};
}

static gw_object *add_moving(gw_scene *s, gw_shape shape, gw_vec3 at)
{
    static const double inertia[6] = {0.004, 0.004, 0.004, 0, 0, 0};
    gw_object *o = add_box(s, "body", at, false);
    o->shape = shape;
    o->free = true;
    o->body.source = GW_MASS_GIVEN;
    o->body.mass = 1;
    o->body.has_com = o->body.has_inertia = true;
    memcpy(o->body.inertia, inertia, sizeof inertia);
    return o;
}

/* A case, with the sphere as a primitive or as a free-form surface. */
typedef struct twice {
    const char *name;
    gw_constraint_kind kind;
    bool on_body, inside, unilateral; /* on_body: it is the moving one that is of free form; of
                                         points: the body has another one on it */
    double value;                     /* of points: over the surface (m) */
    const char *edge; /* of the moving body, in place of a ball: its "base-rim" or "curve" */
} twice;

static bool from_the_pole;

/* The poles of a sphere lie beside the way of a body that starts at `at` with `velocity`, or it
 * starts at one and comes over the other. */
static gw_quat poles_of(gw_vec3 at, gw_vec3 velocity)
{
    if (from_the_pole)
        return gw_quat_between(gw_v3(0, 0, 1), gw_unit(at));
    return gw_quat_between(gw_v3(0, 0, 1), gw_unit(gw_cross(at, velocity)));
}

static gw_scene *ball_scene(const twice *c, bool free_form)
{
    gw_scene *s = new_scene();
    bool body_bends = free_form && c->on_body;
    double apart = c->inside ? 0.4 : 0.6, start = 0.3;
    gw_vec3 at = gw_v3(apart * sin(start), 0.1, apart * cos(start));
    gw_object *big = add_box(s, "big", gw_v3(0, 0, 0), true);
    s->gravity = gw_v3(0, 0, c->inside ? 1 : -1);
    big->shape = sphere(0.5, free_form && !c->on_body);
    at = gw_scale(apart / gw_norm(at), at);
    gw_object *o = add_moving(s, sphere(0.1, body_bends), at);
    if (c->edge)
        o->shape =
            strcmp(c->edge, "curve") == 0
                ? (gw_shape){.kind = GW_SHAPE_NURBS_CURVE, .nurbs = gw_nurbs_circle(0.1, NULL)}
                : (gw_shape){.kind = GW_SHAPE_CONE, .radius = 0.1, .height = 0.1};
    o->pose.q = gw_quat_exp(gw_v3(0.5, -0.3, 0.2));
    o->velocity = gw_cross(gw_unit(at), gw_v3(0, 0.3, 0.1));
    o->spin = gw_v3(0.4, 0.2, 1);
    gw_scene_constraint *k =
        join(s, "c", c->kind, "body", c->edge ? c->edge : "surface", "big", "surface");
    s->objects[0].pose.q = poles_of(at, o->velocity);
    k->inside = c->inside;
    k->unilateral = c->unilateral ? GW_CONTACT_UNILATERAL : GW_CONTACT_BILATERAL;
    return s;
}

/* The tip of a body beside, at or above the sphere; its axis along the normal. */
static gw_scene *tip_scene(const twice *c, bool free_form)
{
    gw_scene *s = new_scene();
    double far = 0.5 + c->value;
    gw_quat tilt = gw_quat_exp(gw_v3(0.9, 0.4, 0));
    add_box(s, "big", gw_v3(0, 0, 0), true)->shape = sphere(0.5, free_form);
    gw_object *o = add_moving(s, (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.1, 0.1, 0.1}},
                              gw_scale(far + 0.2, gw_rotate(tilt, gw_v3(0, 0, 1))));
    o->pose.q = tilt;
    s->gravity = gw_v3(0.3, -0.2, 0.1);
    s->objects[0].pose.q = poles_of(o->pose.p, s->gravity);
    if (c->on_body) { /* rows of a system of bodies instead of the set's own parameters */
        gw_object *rider = add_box(s, "rider", o->pose.p, false);
        gw_scene_joint *j = gw_scene_add_joint(s, NULL);
        rider->pose.q = tilt;
        rider->free = true;
        strcpy(j->id, "rides");
        j->type = GW_MOBILIZER_REVOLUTE;
        j->enabled = true;
        strcpy(j->a.object, "rider"), strcpy(j->b.object, "body");
        j->a.at = j->b.at = gw_pose_identity();
    }
    state_feature(s, "body", "tip", (gw_element){.kind = GW_POINT, .p = {0, 0, -0.2}});
    state_feature(s, "body", "axis",
                  (gw_element){.kind = GW_LINE, .p = {0, 0, -0.2}, .d = {0, 0, 1}});
    state_feature(s, "big", "middle", (gw_element){.kind = GW_POINT, .p = {0, 0, 0}});
    if (!free_form) {
        gw_scene_constraint *k = join(s, "c", GW_DISTANCE, "body", "tip", "big", "middle");
        k->value = far;
        k->bound = c->unilateral ? GW_BOUND_AT_MOST : GW_BOUND_EQUAL;
        if (c->kind == GW_NORMAL)
            join(s, "n", GW_COINCIDENT, "body", "axis", "big", "middle");
        return s;
    }
    const char *own = c->kind == GW_NORMAL ? "axis" : "tip";
    gw_scene_constraint *k = join(s, "c", c->kind, "body", own, "big", "surface");
    k->value = c->value;
    k->sense = c->kind == GW_NORMAL ? GW_SAME : k->sense;
    k->bound = c->unilateral ? GW_BOUND_AT_MOST : GW_BOUND_EQUAL;
    return s;
}

static void move_both(void)
{
    static const twice cases[] = {
        {"coincident", GW_COINCIDENT, false, false, false, 0, NULL},
        {"distance", GW_DISTANCE, false, false, false, 0.1, NULL},
        {"distance within", GW_DISTANCE, false, false, false, -0.1, NULL},
        {"distance at most", GW_DISTANCE, false, false, true, 0.1, NULL},
        {"normal", GW_NORMAL, false, false, false, 0, NULL},
        {"normal at a distance", GW_NORMAL, false, false, false, 0.1, NULL},
        {"coincident, with a rider", GW_COINCIDENT, true, false, false, 0, NULL},
        {"distance, with a rider", GW_DISTANCE, true, false, false, 0.1, NULL},
        {"distance within, with a rider", GW_DISTANCE, true, false, false, -0.1, NULL},
        {"normal, with a rider", GW_NORMAL, true, false, false, 0, NULL},
        {"normal at a distance, with a rider", GW_NORMAL, true, false, false, 0.1, NULL},
        {"sliding", GW_SLIDING, false, false, false, 0, NULL},
        {"sliding, the body's", GW_SLIDING, true, false, false, 0, NULL},
        {"sliding within", GW_SLIDING, false, true, false, 0, NULL},
        {"rolling", GW_ROLLING, false, false, false, 0, NULL},
        {"rolling, the body's", GW_ROLLING, true, false, false, 0, NULL},
        {"rolling within", GW_ROLLING, false, true, false, 0, NULL},
        {"pure rolling", GW_PURE_ROLLING, false, false, false, 0, NULL},
        {"pure rolling, the body's", GW_PURE_ROLLING, true, false, false, 0, NULL},
        {"pure rolling within", GW_PURE_ROLLING, false, true, false, 0, NULL},
        {"one-sided sliding within", GW_SLIDING, false, true, true, 0, NULL},
        {"one-sided rolling within", GW_ROLLING, false, true, true, 0, NULL},
        {"one-sided pure rolling within", GW_PURE_ROLLING, false, true, true, 0, NULL},
        {"one-sided rolling", GW_ROLLING, false, false, true, 0, NULL},
        {"one-sided rolling, the body's", GW_ROLLING, true, false, true, 0, NULL},
        {"a rim slides within", GW_SLIDING, false, true, false, 0, "base-rim"},
        {"a rim rolls within", GW_ROLLING, false, true, false, 0, "base-rim"},
        {"a curve slides within", GW_SLIDING, false, true, false, 0, "curve"},
        {"a curve rolls purely", GW_PURE_ROLLING, false, false, false, 0, "curve"},
        {"a curve slides within, one-sided", GW_SLIDING, false, true, true, 0, "curve"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const twice *c = &cases[n];
        running r[2];
        double off = 0, way = 0;
        for (int k = 0; k < 2; k++) {
            bool points = gw_constraint_is_positional(c->kind);
            gw_scene *s = (points ? tip_scene : ball_scene)(c, k == 1);
            gw_error error = {0};
            assert_true(gw_scene_check(s, &error));
            running_open(&r[k], s);
        }
        gw_vec3 last = {0, 0, 0};
        for (int i = 0; i < SECONDS * 1000; i++) {
            const gw_free_body *a = body(running_tick(&r[0]), &r[0], "body");
            const gw_free_body *b = body(running_tick(&r[1]), &r[1], "body");
            gw_twist d = gw_pose_sub(&a->pose, &b->pose);
            off = fmax(off, fmax(gw_norm(d.v), gw_norm(d.w)));
            way += i ? gw_distance(a->pose.p, last) : 0;
            last = a->pose.p;
        }
        print_message("%s: %.2g m or rad apart after %.2g m in %d s\n", c->name, off, way, SECONDS);
        assert_true(off < 1e-9 && way > 1);
        running_close(&r[0]);
        running_close(&r[1]);
    }
}

static void both_move_alike(void **state)
{
    (void)state;
    from_the_pole = false;
    move_both();
}

static void both_move_alike_from_a_pole(void **state)
{
    (void)state;
    from_the_pole = true;
    move_both();
}

/* A rim that lies flat on a sphere has no lowest point: it is borne by several. */
static void a_rim_comes_to_lie_on_both(void **state)
{
    (void)state;
    const twice c = {"a rim", GW_ROLLING, false, false, true, 0, "base-rim"};
    from_the_pole = false;
    for (int k = 0; k < 2; k++) {
        running r;
        double height = 0;
        running_open(&r, ball_scene(&c, k == 1));
        for (int i = 0; i < SECONDS * 1000; i++)
            height = gw_norm(body(running_tick(&r), &r, "body")->pose.p);
        assert_true(fabs(height - sqrt(0.5 * 0.5 - 0.1 * 0.1)) < 1e-4);
        running_close(&r);
    }
}

/* A body with a point on a circle of another one that moves: of free form, or where the circle's
 * plane and the sphere about its centre intersect. */
static gw_scene *circle_scene(bool free_form)
{
    gw_scene *s = new_scene();
    gw_object *ring = add_moving(s, sphere(0.1, false), gw_v3(0.3, 0.1, 0.2));
    strcpy(ring->id, "ring");
    ring->body.mass = 20;
    ring->body.inertia[0] = ring->body.inertia[1] = 2, ring->body.inertia[2] = 1.3;
    ring->pose.q = gw_quat_exp(gw_v3(0.3, 0.1, 0.6));
    ring->spin = gw_v3(0.1, 0.3, 0.2);
    if (free_form)
        ring->shape = (gw_shape){.kind = GW_SHAPE_NURBS_CURVE, .nurbs = gw_nurbs_circle(0.3, NULL)};
    gw_object *o =
        add_moving(s, (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.1, 0.1, 0.1}}, gw_v3(0, 0, 0));
    gw_vec3 p = gw_v3(0.02, 0.01, 0.03);
    o->pose.p = gw_sub(gw_pose_point(&ring->pose, gw_v3(0.3 * cos(1), 0.3 * sin(1), 0)), p);
    o->velocity = gw_v3(0.1, -0.05, 0);
    o->spin = gw_v3(1, 0.5, 2);
    state_feature(s, "body", "tip", (gw_element){.kind = GW_POINT, .p = p});
    state_feature(s, "ring", "middle", (gw_element){.kind = GW_POINT, .p = {0, 0, 0}});
    state_feature(s, "ring", "flat", (gw_element){.kind = GW_PLANE, .d = {0, 0, 1}});
    if (free_form) {
        join(s, "c", GW_COINCIDENT, "body", "tip", "ring", "curve");
    } else {
        join(s, "c", GW_COINCIDENT, "body", "tip", "ring", "flat");
        join(s, "d", GW_DISTANCE, "body", "tip", "ring", "middle")->value = 0.3;
    }
    return s;
}

static void a_point_goes_round_a_circle_that_moves(void **state)
{
    (void)state;
    running r[2];
    double off = 0;
    for (int k = 0; k < 2; k++)
        running_open(&r[k], circle_scene(k == 1));
    for (int i = 0; i < SECONDS * 1000; i++) {
        const gw_free_body *a = body(running_tick(&r[0]), &r[0], "body");
        const gw_free_body *b = body(running_tick(&r[1]), &r[1], "body");
        gw_twist d = gw_pose_sub(&a->pose, &b->pose);
        off = fmax(off, fmax(gw_norm(d.v), gw_norm(d.w)));
    }
    print_message("a point on a circle that moves: off by %.2g m or rad\n", off);
    assert_true(off < 2e-11);
    running_close(&r[0]);
    running_close(&r[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_move_alike),
                                       cmocka_unit_test(both_move_alike_from_a_pole),
                                       cmocka_unit_test(a_rim_comes_to_lie_on_both),
                                       cmocka_unit_test(a_point_goes_round_a_circle_that_moves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
