/*
 * Stacks of light bodies under a heavy one, 1 g under 100 kg: held without motion while friction
 * and faces bear it, and not beyond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

#define G 9.81

static gw_object *add_body(gw_scene *s, const char *id, gw_vec3 size, gw_vec3 at, double mass)
{
    gw_object *o = add_box(s, id, at, mass == 0);
    o->shape.size = size;
    o->free = mass > 0;
    if (mass > 0)
        o->body = (gw_body){.source = GW_MASS_GIVEN, .mass = mass};
    return o;
}

/* So many boxes of 1 g, `size` wide and `high` each, below one of 100 kg as large, `aside` of them;
 * weight leans along x by `slope`. */
static gw_scene *stack(int count, double size, double high, double aside, double slope)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(slope * G, 0, -G);
    s->contact.enabled = true;
    add_body(s, "floor", gw_v3(4, 4, 0.1), gw_v3(0, 0, -0.05), 0);
    for (int i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof id, "b%d", i);
        add_body(s, id, gw_v3(size, size, high), gw_v3(0, 0, (i + 0.5) * high), 1e-3);
    }
    add_body(s, "top", gw_v3(size, size, high), gw_v3(aside, 0, (count + 0.5) * high), 100);
    return s;
}

static void light_boxes_bear_a_heavy_one(void **state)
{
    (void)state;
    static const struct {
        int count;
        double size, high, aside, slope;
    } cases[] = {{1, 0.1, 0.1, 0, 0},    {2, 0.1, 0.1, 0, 0},    {3, 0.1, 0.1, 0, 0},
                 {2, 0.02, 0.02, 0, 0},  {2, 0.1, 0.1, 0.03, 0}, {2, 0.1, 0.1, 0, 0.15},
                 {2, 0.2, 0.02, 0, 0.25}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        running r;
        gw_vec3 settled[GW_MAX_FREE];
        double fastest = 0, moved = 0, worst = 0, generated = 0;
        running_open(&r, stack(cases[k].count, cases[k].size, cases[k].high, cases[k].aside,
                               cases[k].slope));
        for (int i = 0; i < 800; i++) {
            const gw_snapshot *now = running_tick(&r);
            for (int b = 0; b < now->free_count; b++) {
                if (i == 300)
                    settled[b] = now->free[b].pose.p;
                if (i > 300)
                    moved = fmax(moved, gw_distance(now->free[b].pose.p, settled[b]));
                if (i > 300)
                    fastest = fmax(fastest, gw_norm(now->free[b].twist.v));
            }
            worst = fmax(worst, fabs(energy_error(now)));
            generated = now->contact.generated;
        }
        double top = body(gw_simulation_snapshot(r.simulation), &r, "top")->pose.p.z;
        double sunk = (cases[k].count + 0.5) * cases[k].high - top;
        print_message("%d of %g x %g, %g aside, slope %g: sunk %.2g mm, then moved %.2g m at %.2g "
                      "m/s; generated %.2g J, energy balance off by %.2g J\n",
                      cases[k].count, cases[k].size, cases[k].high, cases[k].aside, cases[k].slope,
                      1e3 * sunk, moved, fastest, generated, worst);
        assert_true(sunk < 1.5e-3 && moved < 1e-6 && fastest < 1e-6);
        assert_true(generated < 1e-6 && worst < 1e-9);
        running_close(&r);
    }
}

/* A disc of 1 g under a box of `mass`: its rim's lowest point moves with every rocking, so that one
 * of a face's contacts gives way before the others. */
static gw_scene *box_on_disc(double radius, double high, double mass)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, -G);
    s->contact.enabled = true;
    add_body(s, "floor", gw_v3(4, 4, 0.1), gw_v3(0, 0, -0.05), 0);
    gw_object *disc = add_body(s, "disc", gw_v3(1, 1, 1), gw_v3(0, 0, high / 2), 1e-3);
    disc->shape = (gw_shape){.kind = GW_SHAPE_CYLINDER, .radius = radius, .height = high};
    add_body(s, "top", gw_v3(0.12, 0.12, 0.1), gw_v3(0, 0, high + 0.05), mass);
    return s;
}

/* Plates of 1 g and 100 kg in turn, the lightest at the bottom. */
static gw_scene *layers(int count)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, -G);
    s->contact.enabled = true;
    add_body(s, "floor", gw_v3(4, 4, 0.1), gw_v3(0, 0, -0.05), 0);
    for (int i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof id, "b%d", i);
        add_body(s, id, gw_v3(0.1, 0.1, 0.05), gw_v3(0, 0, (i + 0.5) * 0.05), i % 2 ? 100 : 1e-3);
    }
    return s;
}

/* The most that any body strays from where it was placed in 0.8 s (m). */
static double strayed(gw_scene *s)
{
    running r;
    running_open(&r, s);
    double most = 0;
    gw_vec3 placed[GW_MAX_FREE];
    for (int i = 0; i < 800; i++) {
        const gw_snapshot *now = running_tick(&r);
        for (int b = 0; b < now->free_count; b++) {
            placed[b] = i == 0 ? now->free[b].pose.p : placed[b];
            most = fmax(most, gw_distance(now->free[b].pose.p, placed[b]));
        }
    }
    running_close(&r);
    return most;
}

static void a_face_is_loaded_as_a_whole(void **state)
{
    (void)state;
    static const double radii[] = {0.03, 0.05, 0.055}, heights[] = {0.02, 0.03, 0.06};
    for (int k = 0; k < 18; k++) {
        double radius = radii[k % 3], high = heights[k / 3 % 3], mass = k < 9 ? 1 : 100;
        double most = strayed(box_on_disc(radius, high, mass));
        print_message("disc of %g x %g under %g kg: %.2g mm\n", radius, high, mass, 1e3 * most);
        assert_true(most < 0.5e-3);
    }
    for (int count = 2; count <= 8; count += 2) { /* higher ones shift a plate as they settle */
        double most = strayed(layers(count));
        print_message("%d layers of 1 g and 100 kg: %.2g mm\n", count, 1e3 * most);
        assert_true(most < (count < 3 ? 0.5e-3 : 0.05));
    }
}

/* A slope beyond friction, 0.3, lets it slide; one that leads the weight beyond the lowest box's
 * edge lets it topple. */
static void what_friction_and_faces_cannot_bear_goes(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        running r;
        running_open(&r, k ? stack(2, 0.1, 0.1, 0, 0.27) : stack(1, 0.2, 0.02, 0, 0.4));
        double x = 0;
        for (int i = 0; i < 400; i++)
            x = body(running_tick(&r), &r, "top")->pose.p.x;
        print_message("%s: %.3g m\n", k ? "topples" : "slides", x);
        assert_true(x > (k ? 5e-3 : 0.05));
        running_close(&r);
    }
}

/* The heavy box slides over the light ones, or with them over the floor, until friction, 0.3, has
 * stopped it after v^2 / (2 (mu - slope) g); beyond friction it goes on, by (slope - mu) g t^2 / 2.
 * Light ones stay between: none is thrown out, sinks into another or tilts. */
static void light_boxes_stay_below_what_slides(void **state)
{
    (void)state;
    const double mu = 0.3, seconds = 0.4, settles = 0.05;
    static const struct {
        int count;
        double size, high, slope, speed;
    } cases[] = {{1, 0.2, 0.02, 0, 0.5},  {2, 0.2, 0.02, 0, 0.5},  {3, 0.2, 0.02, 0, 0.3},
                 {1, 0.1, 0.05, 0, 0.3},  {2, 0.2, 0.02, 0, 0.3},  {1, 0.2, 0.02, 0.4, 0},
                 {2, 0.2, 0.02, 0.35, 0}, {1, 0.2, 0.02, 0.1, 0.4}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        running r;
        double off = 0, tilt = 0, worst = 0, x = 0, generated = 0;
        double beyond = cases[k].slope - mu, g = fabs(beyond) * G, t = seconds - settles;
        double way = beyond > 0 ? g * t * t / 2 : cases[k].speed * cases[k].speed / (2 * g);
        gw_scene *s = stack(cases[k].count, cases[k].size, cases[k].high, 0, cases[k].slope);
        s->objects[cases[k].count + 1].velocity = gw_v3(cases[k].speed, 0, 0);
        running_open(&r, s);
        for (int i = 0; i < (int)lround(seconds * 1000); i++) {
            const gw_snapshot *now = running_tick(&r);
            for (int b = 0; b < now->free_count; b++) {
                const gw_free_body *o = &now->free[b];
                gw_vec3 up = gw_rotate(o->pose.q, gw_v3(0, 0, 1));
                off = fmax(off, fabs(o->pose.p.z - (b + 0.5) * cases[k].high));
                tilt = fmax(tilt, hypot(up.x, up.y));
            }
            x = body(now, &r, "top")->pose.p.x;
            worst = fmax(worst, fabs(energy_error(now)));
            generated = now->contact.generated;
        }
        print_message("%d of %g x %g, slope %g, %g m/s: slides %.4g m of %.4g, %.2g mm off, tilt "
                      "%.2g; generated %.2g J, energy balance off by %.2g J\n",
                      cases[k].count, cases[k].size, cases[k].high, cases[k].slope, cases[k].speed,
                      x, way, 1e3 * off, tilt, generated, worst);
        assert_true(off < 1.5e-3 && tilt < 2e-3);
        assert_true(fabs(x - way) < 0.05 * way + 1e-3);
        assert_true(generated < 0.01 && worst < 1e-9);
        running_close(&r);
    }
}

/* The forces that a body's contacts with another reported, along z; the smallest and largest (N).
 */
static double told(const gw_snapshot *now, const running *r, const char *a, const char *b,
                   double *least, double *most)
{
    int one = gw_scene_object(r->scene, a), other = gw_scene_object(r->scene, b);
    double sum = 0;
    *least = INFINITY, *most = 0;
    for (int k = 0; k < now->contact_count; k++) {
        const gw_snapshot_contact *c = &now->contacts[k];
        double f = fabs(c->at.force.z);
        if (!(c->a == one && c->b == other) && !(c->a == other && c->b == one))
            continue;
        sum += f;
        *least = fmin(*least, f), *most = fmax(*most, f);
    }
    return sum;
}

/* Redundant contacts share a load by the smallest norm: light plates side by side under a heavy one
 * bear the same, as far as they lie alike where they settled, four legs a quarter each, and the
 * corners of a face that is pressed in its middle. */
static void contacts_share_a_load(void **state)
{
    (void)state;
    static const struct {
        int legs;
        double wide, mass, within, corners; /* parts of a leg's load, of a corner's */
    } cases[] = {
        {1, 0.1, 1e-3, 1e-8, 2e-3}, {2, 0.1, 1e-3, 2e-5, 1e-3}, {4, 0.1, 1e-3, 1e-4, 1e-2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int legs = cases[k].legs;
        double worst = 0, uneven = 0, share = 100 * G / legs;
        gw_scene *s = stack(0, 0.5, 0.05, 0, 0);
        s->objects[1].pose.p.z += 0.05;
        for (int i = 0; i < legs; i++) {
            char id[16];
            snprintf(id, sizeof id, "leg%d", i);
            gw_vec3 at = {legs > 1 ? i & 1 ? 0.1 : -0.1 : 0, legs > 2 ? i & 2 ? 0.15 : -0.15 : 0,
                          0.025};
            add_body(s, id, gw_v3(cases[k].wide, cases[k].wide, 0.05), at, cases[k].mass);
        }
        running r;
        running_open(&r, s);
        for (int i = 0; i < 400; i++)
            running_tick(&r);
        const gw_snapshot *now = gw_simulation_snapshot(r.simulation);
        for (int i = 0; i < legs; i++) {
            char id[16];
            double least, most;
            snprintf(id, sizeof id, "leg%d", i);
            worst = fmax(worst, fabs(told(now, &r, id, "top", &least, &most) / share - 1));
            uneven = fmax(uneven, 4 * (most - least) / share);
            double below = told(now, &r, id, "floor", &least, &most) - cases[k].mass * G;
            worst = fmax(worst, fabs(below / share - 1));
            uneven = fmax(uneven, 4 * (most - least) / share);
        }
        print_message("%d under 100 kg: each %.9g N within %.1e of it, corners within %.1e\n", legs,
                      share, worst, uneven);
        assert_true(worst < cases[k].within && uneven < cases[k].corners);
        running_close(&r);
    }
}

/* A box of 1 kg on another on a third: what each bears is the weight above it, one corner as much
 * as the others. */
static void corners_of_boxes_bear_alike(void **state)
{
    (void)state;
    gw_scene *s = stack(0, 0.1, 0.1, 0, 0);
    s->object_count = 1;
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "b%d", i);
        add_body(s, id, gw_v3(0.1, 0.1, 0.05), gw_v3(0, 0, 0.025 + 0.05 * i), 1);
    }
    running r;
    running_open(&r, s);
    double uneven = 0, mean[3] = {0};
    for (int i = 0; i < 4000; i++) {
        const gw_snapshot *now = running_tick(&r);
        for (int b = 0; b < 3 && i >= 1000; b++) {
            static const char *const ids[] = {"floor", "b0", "b1", "b2"};
            double least, most, sum = told(now, &r, ids[b], ids[b + 1], &least, &most);
            mean[b] += sum / 3000;
            uneven = fmax(uneven, (most - least) / most);
        }
    }
    print_message("box on box on box: %.6g, %.6g, %.6g N; corners within %.1e\n", mean[0], mean[1],
                  mean[2], uneven);
    assert_true(uneven < 1e-6);
    for (int b = 0; b < 3; b++)
        assert_true(fabs(mean[b] / ((3 - b) * G) - 1) < 1e-3);
    running_close(&r);
}

/* A ball of `mass` falls by 1 mm onto a light tray with a spring and damping of its own, and
 * settles where the spring bears both. */
static gw_scene *ball_on_tray(double mass, double tray, double stiffness, double damping)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, -G);
    s->contact.enabled = true;
    add_body(s, "tray", gw_v3(0.3, 0.3, 0.01), gw_v3(0, 0, 0), tray);
    gw_object *ball = add_ball(s, "ball", gw_v3(0, 0, 0.056), 0.05);
    ball->body = (gw_body){.source = GW_MASS_GIVEN, .mass = mass};
    gw_material *m = gw_scene_add_material(s, NULL);
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    assert_true(m && j);
    strcpy(m->id, "steel");
    m->surface.stiffness = 1e7;
    for (int i = 0; i < s->object_count; i++)
        strcpy(s->objects[i].material, "steel");
    strcpy(j->id, "rail");
    j->type = GW_MOBILIZER_PRISMATIC;
    j->enabled = true;
    j->a = (gw_joint_end){.object = "tray", .at = gw_pose_identity()};
    j->b = (gw_joint_end){.object = GW_WORLD_FRAME, .at = gw_pose_identity()};
    j->stiffness[0] = stiffness;
    j->damping[0] = damping;
    return s;
}

static void a_light_tray_on_a_damped_spring_bears_a_heavy_ball(void **state)
{
    (void)state;
    static const struct {
        double mass, tray, stiffness, damping, within, off; /* m, m */
    } cases[] = {{10, 0.1, 5000, 0, 0.5e-3, INFINITY}, {10, 0.1, 5000, 10, 0.5e-3, INFINITY},
                 {10, 0.1, 5000, 50, 0.5e-3, 0.5e-3},  {10, 0.1, 5e4, 50, 0.5e-3, 0.1e-3},
                 {1, 0.01, 500, 5, 0.5e-3, 0.5e-3},    {10, 0.1, 5000, 500, 1.5e-3, 1e-5}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        running r;
        double deepest = 0, worst = 0, z = 0;
        double rest = -(cases[k].mass + cases[k].tray) * G / cases[k].stiffness;
        running_open(
            &r, ball_on_tray(cases[k].mass, cases[k].tray, cases[k].stiffness, cases[k].damping));
        for (int i = 0; i < 2000; i++) {
            const gw_snapshot *now = running_tick(&r);
            z = body(now, &r, "tray")->pose.p.z;
            deepest = fmax(deepest, z + 0.055 - body(now, &r, "ball")->pose.p.z);
            worst = fmax(worst, fabs(energy_error(now)));
        }
        print_message("%g kg on %g kg, %g N/m, %g N s/m: at most %.3g mm deep, ends at %.5g mm of "
                      "%.5g; energy balance off by %.2g J\n",
                      cases[k].mass, cases[k].tray, cases[k].stiffness, cases[k].damping,
                      1e3 * deepest, 1e3 * z, 1e3 * rest, worst);
        assert_true(deepest < cases[k].within && worst < 1e-9);
        assert_true(!(fabs(z - rest) > cases[k].off));
        running_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(light_boxes_bear_a_heavy_one),
        cmocka_unit_test(light_boxes_stay_below_what_slides),
        cmocka_unit_test(a_face_is_loaded_as_a_whole),
        cmocka_unit_test(contacts_share_a_load),
        cmocka_unit_test(corners_of_boxes_bear_alike),
        cmocka_unit_test(what_friction_and_faces_cannot_bear_goes),
        cmocka_unit_test(a_light_tray_on_a_damped_spring_bears_a_heavy_ball),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
