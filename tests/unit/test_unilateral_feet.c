/*
 * Coulomb friction of bodies on three and more feet: redundant unilateral contacts. Rest below the
 * limit of friction, slip beyond it, translation and rotation, slopes, stacks; against closed
 * forms and integrations of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/unilateral_fixture.h"

#define FOOT   0.02 /* radius of a foot (m) */
#define HEIGHT 0.15 /* of the centre of mass above the soles (m) */
#define MASS   0.8
#define MU     0.4

typedef struct table {
    int feet;
    const gw_vec3 *at; /* of the feet from below the centre of mass (x, y) */
} table;

static gw_scene *scene_of(int rate, gw_vec3 gravity)
{
    gw_scene *s = new_scene();
    s->gravity = gravity;
    s->rate = rate;
    return s;
}

static void add_material(gw_scene *s, const char *id, double friction)
{
    gw_material *m = gw_scene_add_material(s, NULL);
    strcpy(m->id, id);
    m->surface.friction = friction;
    m->surface.restitution = 0;
    m->has_friction = true;
}

/* A body whose frame is at its centre of mass, on spherical feet, each of which rolls on `b`. */
static gw_object *add_table(gw_scene *s, const char *id, const table *t, gw_vec3 sole,
                            const char *b, const char *feature)
{
    gw_part *parts = calloc((size_t)t->feet, sizeof *parts);
    for (int i = 0; i < t->feet; i++) {
        parts[i].shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = FOOT};
        parts[i].pose = (gw_pose){{t->at[i].x, t->at[i].y, FOOT - HEIGHT}, gw_quat_identity()};
    }
    gw_shape shape = {.kind = GW_SHAPE_COMPOUND, .part_count = t->feet, .parts = parts};
    gw_object *o = add_solid(s, id, shape, gw_v3(sole.x, sole.y, sole.z + HEIGHT), MASS);
    const double inertia[6] = {0.006, 0.009, 0.012, 0, 0, 0};
    o->body.has_com = o->body.has_inertia = true;
    memcpy(o->body.inertia, inertia, sizeof inertia);
    for (int i = 0; i < t->feet; i++) {
        char name[32], foot[32];
        snprintf(name, sizeof name, "%s-%d", id, i);
        snprintf(foot, sizeof foot, "part%d.surface", i);
        join(s, name, GW_ROLLING, id, foot, b, feature)->unilateral = GW_CONTACT_UNILATERAL;
    }
    return o;
}

static const gw_snapshot *run(running *r, int ticks)
{
    const gw_snapshot *now = NULL;
    for (int i = 0; i < ticks; i++)
        now = running_tick(r);
    return now;
}

static const gw_vec3 square[] = {{0.1, 0.1, 0}, {-0.1, 0.1, 0}, {-0.1, -0.1, 0}, {0.1, -0.1, 0}};
static const gw_vec3 three[] = {{0.2, 0.05, 0}, {-0.12, 0.16, 0}, {-0.1, -0.17, 0}};
static const gw_vec3 skew[] = {
    {0.13, 0.08, 0}, {-0.1, 0.12, 0}, {-0.09, -0.1, 0}, {0.1, -0.07, 0}, {0.02, 0.14, 0}};
static const gw_vec3 eight[] = {{0.1, 0.1, 0}, {-0.1, 0.1, 0}, {-0.1, -0.1, 0}, {0.1, -0.1, 0},
                                {0.14, 0, 0},  {-0.14, 0, 0},  {0, -0.14, 0},   {0, 0.14, 0}};
static const table tables[] = {{4, square}, {3, three}, {4, skew}, {5, skew}, {8, eight}};

/* A table on a floor whose slope along x is `slope`, under weight and a pull along it (m/s^2). */
static gw_object *open_table(running *r, const table *t, int rate, double slope, gw_vec3 pull,
                             gw_twist twist)
{
    gw_quat q = gw_quat_axis(gw_v3(0, 1, 0), slope);
    gw_scene *s = scene_of(rate, gw_add(pull, gw_v3(0, 0, -G)));
    add_material(s, "rubber", MU);
    add_floor(s, slope);
    gw_object *o = add_table(s, "table", t, gw_v3(0, 0, 0), "floor", "+z");
    strcpy(o->material, "rubber");
    o->pose = (gw_pose){gw_rotate(q, gw_v3(0, 0, HEIGHT)), q};
    o->velocity = twist.v, o->spin = twist.w;
    running_open(r, s);
    return o;
}

static const gw_twist still = {{0, 0, 0}, {0, 0, 0}};

/* ---- rest and translation ------------------------------------------------------------------- */

/* Pulled with a share of mu m g a table rests below 1, and beyond slips with the rest of the
 * pull, on any number of feet. */
static void a_table_rests_until_all_feet_slip(void **state)
{
    (void)state;
    static const double shares[] = {0.5, 0.9, 0.99, 0.9999, 1.0001, 1.01, 1.5};
    for (int n = 0; n < 5 * 7 * 2; n++) {
        const table *on = &tables[n % 5];
        double share = shares[n / 5 % 7];
        int rate = n < 35 ? 1000 : 4000;
        if (rate == 4000 && n % 5 != 2)
            continue;
        gw_vec3 along = {cos(0.3), sin(0.3), 0};
        running r;
        open_table(&r, on, rate, 0, gw_scale(share * MU * G, along), still);
        const gw_snapshot *now = run(&r, (share > 1 ? 1 : 2) * rate);
        const gw_free_body *b = body(now, &r, "table");
        double a = fmax(0, share - 1) * MU * G, t = now->time;
        gw_vec3 x = gw_mul_add(gw_v3(0, 0, HEIGHT), 0.5 * a * t * t, along);
        double off = gw_norm(gw_sub(b->pose.p, x));
        double faster = gw_norm(gw_sub(b->twist.v, gw_scale(a * t, along)));
        print_message("%d feet, %g of the limit, %d Hz: off by %.2g m, %.2g m/s\n", on->feet, share,
                      rate, off, faster);
        assert_true(off < (share < 1 ? 1e-12 : 1e-9) && faster < 1e-9);
        assert_true(gw_norm(b->twist.w) < 1e-9 && fabs(energy_error(now)) < 1e-10);
        running_close(&r);
    }
}

static void a_table_slips_on_a_steep_slope(void **state)
{
    (void)state;
    for (int n = 0; n < 10; n++) {
        bool slips = n >= 5;
        double slope = atan(MU * (slips ? 1.001 : 0.9999));
        running r;
        open_table(&r, &tables[n % 5], 1000, slope, gw_v3(0, 0, 0), still);
        const gw_snapshot *now = run(&r, 1000);
        const gw_free_body *b = body(now, &r, "table");
        double a = slips ? G * (sin(slope) - MU * cos(slope)) : 0, t = now->time;
        gw_quat q = gw_quat_axis(gw_v3(0, 1, 0), slope);
        gw_vec3 x = gw_rotate(q, gw_v3(0.5 * a * t * t, 0, HEIGHT));
        double off = gw_norm(gw_sub(b->pose.p, x));
        print_message("%d feet on a slope, %s: off by %.2g m\n", tables[n % 5].feet,
                      slips ? "slips" : "rests", off);
        assert_true(off < (slips ? 1e-9 : 1e-12));
        running_close(&r);
    }
}

/* ---- rotation ------------------------------------------------------------------------------- */

static const double inertia_z = 0.012;

/* A square table turns about its middle: I w' = -mu m g r until it rests. */
static void a_turning_table_comes_to_rest(void **state)
{
    (void)state;
    const double w = 6, radius = 0.1 * sqrt(2), a = MU * MASS * G * radius / inertia_z;
    running r;
    open_table(&r, &tables[0], 1000, 0, gw_v3(0, 0, 0), (gw_twist){{0, 0, 0}, {0, 0, w}});
    int before = (int)(1000 * w / a) - 5;
    const gw_snapshot *now = run(&r, before);
    double off = body(now, &r, "table")->twist.w.z - (w - a * now->time);
    now = run(&r, 1000);
    const gw_free_body *b = body(now, &r, "table");
    gw_vec3 turned = gw_quat_log(b->pose.q);
    double angle = turned.z - 0.5 * w * w / a;
    print_message("turning: off by %.2g rad/s after %d ticks, %.2g rad at last, %.2g rad/s\n", off,
                  before, angle, gw_norm(b->twist.w));
    assert_true(fabs(off) < 1e-10 && fabs(angle) < 1e-9 && gw_norm(b->twist.w) < 1e-14);
    running_close(&r);
}

/* A table that slides and turns on feet at p_i, in x, y, angle and their rates. Normal forces
 * lambda_i = c_0 + c_1 x_i + c_2 y_i are those of least norm with sum lambda = m g and no moment
 * about the centre of mass at height h:
 *
 *   sum lambda_i x_i = -h sum f_x,   sum lambda_i y_i = -h sum f_y,   f_i = -mu lambda_i v_i /
 * |v_i|
 */
static void slope_of_sliding(const table *on, const double x[6], double d[6])
{
    double m[3][4] = {{0}}, force[3] = {0, 0, 0};
    gw_vec3 at[8], along[8];
    for (int i = 0; i < on->feet; i++) {
        double c = cos(x[2]), s = sin(x[2]), px = on->at[i].x, py = on->at[i].y;
        at[i] = gw_v3(c * px - s * py, s * px + c * py, 0);
        along[i] = gw_unit(gw_v3(x[3] - x[5] * at[i].y, x[4] + x[5] * at[i].x, 0));
        const double by[3] = {1, at[i].x, at[i].y};
        const double row[3] = {1, at[i].x - HEIGHT * MU * along[i].x,
                               at[i].y - HEIGHT * MU * along[i].y};
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++)
                m[k][l] += row[k] * by[l];
    }
    m[0][3] = MASS * G;
    for (int k = 0; k < 3; k++)
        for (int l = k + 1; l < 3; l++) {
            double by = m[l][k] / m[k][k];
            for (int n = k; n < 4; n++)
                m[l][n] -= by * m[k][n];
        }
    double c[3];
    for (int k = 2; k >= 0; k--) {
        c[k] = m[k][3];
        for (int l = k + 1; l < 3; l++)
            c[k] -= m[k][l] * c[l];
        c[k] /= m[k][k];
    }
    for (int i = 0; i < on->feet; i++) {
        double lambda = c[0] + c[1] * at[i].x + c[2] * at[i].y;
        assert_true(lambda > 0);
        gw_vec3 f = gw_scale(-MU * lambda, along[i]);
        force[0] += f.x, force[1] += f.y, force[2] += gw_cross(at[i], f).z;
    }
    for (int k = 0; k < 3; k++) {
        d[k] = x[3 + k];
        d[3 + k] = force[k] / (k < 2 ? MASS : inertia_z);
    }
}

static void slide(const table *on, double x[6], double time)
{
    const int steps = (int)(time / 2e-5 + 0.5);
    for (int n = 0; n < steps; n++) {
        double k[4][6], y[6], h = time / steps;
        for (int i = 0; i < 4; i++) {
            double c = i == 0 ? 0 : i < 3 ? h / 2 : h;
            for (int l = 0; l < 6; l++)
                y[l] = x[l] + (i > 0 ? c * k[i - 1][l] : 0);
            slope_of_sliding(on, y, k[i]);
        }
        for (int l = 0; l < 6; l++)
            x[l] += h / 6 * (k[0][l] + 2 * k[1][l] + 2 * k[2][l] + k[3][l]);
    }
}

static void a_table_slides_and_turns(void **state)
{
    (void)state;
    for (int n = 0; n < 10; n++) {
        const table *on = &tables[n % 5];
        int rate = n < 5 ? 1000 : 4000;
        double x[6] = {0, 0, 0, 1.2, 0.4, 7}, time = 0.2;
        running r;
        open_table(&r, on, rate, 0, gw_v3(0, 0, 0), (gw_twist){{x[3], x[4], 0}, {0, 0, x[5]}});
        const gw_snapshot *now = run(&r, (int)(time * rate + 0.5) + 1);
        slide(on, x, now->time);
        const gw_free_body *b = body(now, &r, "table");
        double off = hypot(b->twist.v.x - x[3], b->twist.v.y - x[4]), turn = b->twist.w.z - x[5];
        double away = hypot(b->pose.p.x - x[0], b->pose.p.y - x[1]);
        print_message("%d feet slide and turn, %d Hz, to %.3f m/s, %.3f rad/s: off by %.2g m/s, "
                      "%.2g rad/s, %.2g m, energy by %.2g J\n",
                      on->feet, rate, hypot(x[3], x[4]), x[5], off, turn, away, energy_error(now));
        double most = rate == 1000 ? 1e-8 : 1e-10;
        assert_true(off < most && fabs(turn) < 10 * most && away < most);
        assert_true(fabs(energy_error(now)) < 1e-10);
        now = run(&r, rate);
        gw_pose rests = body(now, &r, "table")->pose;
        now = run(&r, rate / 2);
        b = body(now, &r, "table");
        assert_true(gw_distance(b->pose.p, rests.p) < 1e-13 && gw_norm(b->twist.w) < 1e-13);
        assert_true(fabs(energy_error(now)) < 1e-10);
        running_close(&r);
    }
}

static double between(double low, double high)
{
    return low + (high - low) * rand() / RAND_MAX;
}

/* Tables of random feet that are thrown over a floor come to rest, some of them about a foot, at
 * the same place at 1 and 4 kHz. */
static void thrown_tables_come_to_rest(void **state)
{
    (void)state;
    double worst = 0;
    srand(7);
    for (int n = 0; n < 24; n++) {
        gw_vec3 feet[8];
        table on = {.feet = 3 + n % 6, .at = feet};
        gw_pose end[2];
        for (int i = 0; i < on.feet; i++) {
            double angle = 2 * GW_PI * i / on.feet + between(-0.2, 0.2), r = between(0.14, 0.2);
            feet[i] = gw_v3(r * cos(angle), r * sin(angle), 0);
        }
        gw_twist twist = {{between(-1, 1), between(-1, 1), 0}, {0, 0, between(-8, 8)}};
        twist.v = n % 3 == 0 ? gw_v3(0, 0, 0) : twist.v;
        for (int k = 0; k < 2; k++) {
            running r;
            open_table(&r, &on, k ? 4000 : 1000, 0, gw_v3(0, 0, 0), twist);
            const gw_snapshot *now = run(&r, k ? 2400 : 600);
            const gw_free_body *b = body(now, &r, "table");
            end[k] = b->pose;
            assert_true(gw_norm(b->twist.v) < 1e-13 && gw_norm(b->twist.w) < 1e-13);
            assert_true(fabs(energy_error(now)) < 1e-11);
            running_close(&r);
        }
        worst = fmax(worst, gw_distance(end[0].p, end[1].p));
    }
    print_message("thrown tables: 1 kHz and 4 kHz differ by %.2g m\n", worst);
    assert_true(worst < 1e-6);
}

/* ---- wrenches ------------------------------------------------------------------------------- */

/* Opens a table that is held, pushed by a wrench at its centre of mass. */
static void open_pushed(running *r, const table *on, int rate, gw_wrench push)
{
    gw_scene *s = scene_of(rate, gw_v3(0, 0, -G));
    add_material(s, "rubber", MU);
    add_floor(s, 0);
    gw_object *o = add_table(s, "table", on, gw_v3(0, 0, 0), "floor", "+z");
    strcpy(o->material, "rubber");
    o->free = false;
    hold(s, "table");
    running_open(r, s);
    gw_command retired, command = {.kind = GW_COMMAND_PUSH, .push = push};
    gw_simulation_apply(r->simulation, &command, &retired);
}

/* A square table under a torque about its normal: it turns beyond mu m g r. */
static void a_torque_turns_a_table_beyond_its_limit(void **state)
{
    (void)state;
    static const double shares[] = {0.5, 0.9999, 1.0001, 1.01, 1.5};
    for (int n = 0; n < 5; n++) {
        double most = MU * MASS * G * 0.1 * sqrt(2), torque = shares[n] * most;
        running r;
        open_pushed(&r, &tables[0], 1000, (gw_wrench){{0, 0, 0}, {0, 0, torque}});
        const gw_snapshot *now = run(&r, 300);
        const gw_tool_state *b = &now->tools[0];
        double a = fmax(0, torque - most) / inertia_z;
        double off = b->twist.w.z - a * now->time;
        print_message("torque of %g: %.2g rad/s, off by %.2g, %.2g m/s\n", shares[n], a * now->time,
                      off, gw_norm(b->twist.v));
        assert_true(fabs(off) < (a > 0 ? 1e-8 : 1e-12) && gw_norm(b->twist.v) < 1e-9);
        running_close(&r);
    }
}

/* Pulled along x and lifted at a corner, with the torque that keeps it straight: a foot loses its
 * load, and the table slips on as m a = F_x - mu (m g - F_z). */
static void a_lifted_foot_leaves_the_others_slipping(void **state)
{
    (void)state;
    static const double lifts[] = {0.8, 1.6, 2.2}; /* N: beyond 1.3 N */
    for (int n = 0; n < 3; n++) {
        /* the load's centre (x, y) on the floor has N y + F_z 0.1 = 0 */
        double lift = lifts[n], load = MASS * G - lift, corner = 0.1;
        double y = -lift * corner / load;
        gw_vec3 f = {1.2 * MU * load, 0, lift};
        gw_vec3 t = gw_cross(gw_v3(-corner, corner, 0), gw_v3(0, 0, lift));
        t.z = -MU * load * y;
        running r;
        open_pushed(&r, &tables[0], 1000, (gw_wrench){f, t});
        const gw_snapshot *now = run(&r, 200);
        const gw_tool_state *b = &now->tools[0];
        double a = 0.2 * MU * load / MASS, off = b->twist.v.x - a * now->time;
        int pressed = 0;
        double sum = 0;
        for (int i = 0; i < now->contact_count; i++) {
            double force = fabs(gw_dot(now->contacts[i].at.force, now->contacts[i].at.normal));
            pressed += force > 1e-9;
            sum += force;
        }
        print_message("lifted by %g N: %d feet pressed by %.12f of %.12f N, off by %.2g m/s, turns "
                      "by %.2g rad/s\n",
                      lift, pressed, sum, load, off, gw_norm(b->twist.w));
        assert_true(fabs(off) < 1e-9 && gw_norm(b->twist.w) < 1e-8 && fabs(sum - load) < 1e-9);
        assert_int_equal(pressed, n == 0 ? 4 : 3);
        running_close(&r);
    }
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* A table on a slab that stands on four feet; friction mu_1 between them, mu_2 with the floor,
 * pulled with p per mass. */
static void a_table_and_its_slab_slip_each_by_its_friction(void **state)
{
    (void)state;
    static const struct {
        double upper, lower, pull;
    } cases[] = {{0.2, 0.5, 0.199}, {0.2, 0.5, 0.3},  {0.5, 0.2, 0.1999}, {0.5, 0.2, 0.3},
                 {0.3, 0.25, 0.29}, {0.2, 0.25, 0.3}, {0.3, 0.3, 0.2999}};
    for (int n = 0; n < 7; n++) {
        double p = cases[n].pull * G, upper = cases[n].upper, lower = cases[n].lower;
        gw_scene *s = scene_of(1000, gw_v3(p, 0, -G));
        running r;
        add_floor(s, 0);
        static const char *const names[] = {"top", "floor"};
        for (int k = 0; k < 2; k++)
            add_material(s, names[k], k ? lower : upper);
        gw_part *parts = calloc(5, sizeof *parts);
        parts[4] = (gw_part){{.kind = GW_SHAPE_BOX, .size = {0.6, 0.6, 0.04}},
                             {{0, 0, 0}, gw_quat_identity()}};
        for (int i = 0; i < 4; i++) {
            parts[i].shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = FOOT};
            parts[i].pose = (gw_pose){{(i & 1 ? 1 : -1) * 0.25, (i & 2 ? 1 : -1) * 0.25, -0.03},
                                      gw_quat_identity()};
        }
        gw_shape shape = {.kind = GW_SHAPE_COMPOUND, .part_count = 5, .parts = parts};
        const double mass = 1.5, inertia[6] = {0.05, 0.05, 0.09, 0, 0, 0};
        gw_object *slab = add_solid(s, "slab", shape, gw_v3(0, 0, 0.05), mass);
        slab->body.has_com = slab->body.has_inertia = true;
        memcpy(slab->body.inertia, inertia, sizeof inertia);
        for (int i = 0; i < 4; i++) {
            char name[32], foot[32];
            snprintf(name, sizeof name, "slab-%d", i);
            snprintf(foot, sizeof foot, "part%d.surface", i);
            join(s, name, GW_ROLLING, "slab", foot, "floor", "+z")->unilateral =
                GW_CONTACT_UNILATERAL;
        }
        gw_object *o = add_table(s, "table", &tables[0], gw_v3(0, 0, 0.07), "slab", "part4.+z");
        strcpy(o->material, "top");
        strcpy(s->objects[0].material, "floor");
        running_open(&r, s);
        const gw_snapshot *now = run(&r, 300);
        double a_slab = fmax(0, p - lower * G), a_table = a_slab;
        if (a_slab < p - upper * G) { /* they part */
            a_table = p - upper * G;
            a_slab = fmax(0, p + upper * G * MASS / mass - lower * G * (MASS + mass) / mass);
        }
        double above = body(now, &r, "table")->twist.v.x - a_table * now->time;
        double below = body(now, &r, "slab")->twist.v.x - a_slab * now->time;
        print_message("mu %g on %g, pulled by %g: %.3g and %.3g m/s, off by %.2g and %.2g\n", upper,
                      lower, cases[n].pull, a_table * now->time, a_slab * now->time, above, below);
        assert_true(fabs(above) < 1e-9 && fabs(below) < 1e-9);
        running_close(&r);
    }
}

/* ---- joined bodies -------------------------------------------------------------------------- */

#define SPACING 0.4 /* of the bodies of a train (m) */
#define DISC    0.1 /* radius of its disc */

/* Two tables, and a disc between them, one after the other in direction `along`, joined. */
static void open_train(running *r, gw_mobilizer type, gw_vec3 pull, double speed, gw_vec3 along)
{
    static const char *const ids[] = {"first", "disc", "last"};
    gw_scene *s = scene_of(1000, gw_add(pull, gw_v3(0, 0, -G)));
    gw_quat turn = gw_quat_axis(gw_v3(0, 0, 1), atan2(along.y, along.x));
    add_material(s, "rubber", MU);
    add_floor(s, 0);
    strcpy(s->objects[0].material, "rubber");
    for (int i = 0; i < 3; i++) {
        gw_vec3 at = gw_scale((i - 1) * SPACING, along);
        gw_shape disc = {.kind = GW_SHAPE_CYLINDER, .radius = DISC, .height = 0.06};
        gw_object *o = i == 1 ? add_solid(s, ids[i], disc, gw_v3(0, 0, 0.03), 1.1)
                              : add_table(s, ids[i], &tables[i], at, "floor", "+z");
        o->pose.q = turn;
        o->velocity = gw_scale(speed, along);
        strcpy(o->material, "rubber");
    }
    join(s, "rim", GW_ROLLING, "disc", "bottom-rim", "floor", "+z")->unilateral =
        GW_CONTACT_UNILATERAL;
    for (int i = 0; i < 2; i++) {
        gw_scene_joint *j = gw_scene_add_joint(s, NULL);
        snprintf(j->id, sizeof j->id, "joint%d", i);
        strcpy(j->a.object, ids[i]);
        strcpy(j->b.object, ids[i + 1]);
        j->type = type;
        j->a.at = j->b.at = gw_pose_identity();
        j->a.at.p = gw_v3(SPACING / 2, 0, i ? 0 : 0.03 - HEIGHT);
        j->b.at.p = gw_v3(-SPACING / 2, 0, i ? 0.03 - HEIGHT : 0);
        j->enabled = true;
    }
    running_open(r, s);
}

/* A train slides v^2 / (2 mu g), begins to slip at mu m g and accelerates by the rest of the pull.
 * (Joints that let it bend sideways and bear moments about its axis share its weight in ways that
 * are not determined, and with that it may bend.) */
static void joined_bodies_slip_together(void **state)
{
    (void)state;
    static const gw_mobilizer types[] = {GW_MOBILIZER_SPHERICAL, GW_MOBILIZER_FIXED,
                                         GW_MOBILIZER_PRISMATIC};
    static const double pulls[] = {0, 0.9, 1.0001, 1.5};
    const gw_vec3 along = {cos(0.7), sin(0.7), 0};
    for (int n = 0; n < 3 * 4; n++) {
        gw_mobilizer type = types[n / 4];
        double pull = pulls[n % 4], speed = pull == 0 ? 1 : 0, most = 0, faster = 0;
        bool rests = pull > 0 && pull < 1; /* after contacts closed one after the other */
        running r;
        open_train(&r, type, gw_scale(pull * MU * G, along), speed, along);
        const gw_snapshot *now = run(&r, 500);
        double a = pull == 0 ? -MU * G : fmax(0, pull - 1) * MU * G, t = now->time;
        double v = fmax(0, speed + a * t);
        double x = pull == 0 && v == 0 ? speed * speed / (2 * MU * G) : speed * t + 0.5 * a * t * t;
        for (int i = 0; i < 3; i++) {
            const gw_free_body *b = body(now, &r, i == 0 ? "first" : i == 1 ? "disc" : "last");
            double off = gw_dot(b->pose.p, along) - (i - 1) * SPACING - x;
            most = fmax(most, fabs(off));
            faster = fmax(faster, fabs(gw_dot(b->twist.v, along) - v));
        }
        print_message("joints %d, pulled by %g of the limit: %.3g m, %.3g m/s, off by %.2g, %.2g\n",
                      type, pull, x, v, most, faster);
        assert_true(most < (rests ? 1e-5 : 1e-9) && faster < 1e-9 &&
                    fabs(energy_error(now)) < 1e-10);
        running_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_rests_until_all_feet_slip),
        cmocka_unit_test(a_table_slips_on_a_steep_slope),
        cmocka_unit_test(a_turning_table_comes_to_rest),
        cmocka_unit_test(a_table_slides_and_turns),
        cmocka_unit_test(thrown_tables_come_to_rest),
        cmocka_unit_test(a_torque_turns_a_table_beyond_its_limit),
        cmocka_unit_test(a_lifted_foot_leaves_the_others_slipping),
        cmocka_unit_test(a_table_and_its_slab_slip_each_by_its_friction),
        cmocka_unit_test(joined_bodies_slip_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
