/*
 * Bodies that are thrown about, spin and are pressed, at every rate of the loop, with a detector
 * that is slow and late: their penetration by a detector of its own; edges that are just passed;
 * contacts carried over to another world.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/enclosure_fixture.h"

/* ---- thrown about --------------------------------------------------------------------------- */

typedef struct outcome {
    double deep, typical, rise; /* m: most, and what 99 of 100 ticks stay below; J */
} outcome;

static int deeper(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One throw of the dice. */
static outcome play(int kind, double rate, double look, double seconds, unsigned seed)
{
    static thrown t;
    static double deep[8192];
    int ticks = (int)(seconds * rate);
    thrown_open(&t, kind, 1 / rate, 1 / look);
    t.seed = seed;
    for (int k = 0; k < ticks; k++) {
        thrown_push(&t);
        thrown_tick(&t);
        deep[k] = fmax(0, -thrown_gap(&t));
    }
    qsort(deep, (size_t)ticks, sizeof *deep, deeper);
    outcome o = {deep[ticks - 1], deep[ticks * 99 / 100], t.a.worst};
    for (int m = 0; m < t.count; m++) {
        gw_vec3 x = gw_pose_point(&t.a.body[m].pose, t.mass[m].com);
        assert_true(fmax(fabs(x.x), fmax(fabs(x.y), fabs(x.z))) < t.half + o.deep);
    }
    assert_true(o.rise <= 1e-9);
    thrown_close(&t);
    return o;
}

/* Several of them: the most, and the mean of what 99 of 100 ticks stay below. */
static outcome play_often(int kind, double rate, double look, double seconds)
{
    enum { OFTEN = 3 };
    outcome all = {0};
    for (unsigned seed = 1; seed <= OFTEN; seed++) {
        outcome o = play(kind, rate, look, seconds, seed);
        all.deep = fmax(all.deep, o.deep);
        all.rise = fmax(all.rise, o.rise);
        all.typical += o.typical / OFTEN;
    }
    print_message("%s at %.0f Hz, detected %.0f times a second: %.2f mm deep at most, 99 %% below "
                  "%.2f mm; a step adds %.1e J at most\n",
                  thrown_name(kind), rate, look, 1e3 * all.deep, 1e3 * all.typical, all.rise);
    return all;
}

/*
 * The deepest of what tumbles tells little, and changes with any bit. What 99 of 100 ticks stay
 * below, and its mean over all kinds, is 4.9, 0.9 and 0.1 mm at 250 Hz, 1 kHz and 4 kHz: springs
 * give as the square of the step. Without queries inside the step it is 27, 16 and 6 mm.
 */
static void thrown_bodies_stay_in_the_enclosure_at_every_rate(void **state)
{
    (void)state;
    static const double rates[] = {250, 1000, 4000}, seconds[] = {2, 2, 0.5};
    static const double bound[] = {0.02, 6e-3, 1.5e-3}, mean[] = {8e-3, 2e-3, 0.5e-3};
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int kind = 0; kind <= THROWN_ELLS; kind++) {
            outcome o = play_often(kind, rates[i], 200, seconds[i]);
            assert_true(o.typical < bound[i]);
            sum += o.typical;
        }
        print_message("all kinds at %.0f Hz: %.2f mm\n", rates[i], 1e3 * sum / (THROWN_ELLS + 1));
        assert_true(sum / (THROWN_ELLS + 1) < mean[i]);
    }
}

static void queries_inside_the_step_make_up_for_a_slow_detector(void **state)
{
    (void)state;
    for (int kind = 0; kind <= THROWN_ELLS; kind++)
        assert_true(play_often(kind, 1000, 10, 1).typical < 6e-3);
}

/* ---- thrown once ---------------------------------------------------------------------------- */

/* One at a slab, or two at one another, at 5 m/s and up to 70 rad/s, neither pressed nor pulled:
 * how deep it goes in 0.12 s (m). */
static double throw_once(int kind, bool two, double rate, unsigned *seed)
{
    static thrown t;
    memset(&t, 0, sizeof t);
    arena_open(&t.a, (gw_contact_rules){0});
    t.a.dt = 1 / rate;
    t.count = 1 + two;
    t.surface = (gw_contact_material){.restitution = 0.4, .friction = 0.3};
    for (int m = 0; m < t.count; m++) {
        double side = m ? 1 : -1, y = some(seed), z = some(seed);
        gw_shape shape = thrown_some(kind, seed, &t.parts[m]);
        thrown_body(&t, m, &shape, two ? gw_v3(0.15 * side, 0.02 * y, 0.02 * z) : gw_v3(0, 0, 0.2));
        gw_twist twist = {two ? gw_v3(-2.5 * side, y, z) : gw_v3(y, z, -5), some_vector(seed, 40)};
        t.a.body[m].pose.q = some_turn(seed);
        gw_guided_set_twist(&t.a.body[m], &twist);
    }
    t.wall = box_shape(2.4, 2.4, 2.4);
    gw_collider slab = {t.count, &t.wall, {{0, 0, two ? -50 : -1.2}, {1, 0, 0, 0}}, 0};
    thrown_start(&t, &slab, 1, 0.005);
    double deep = 0;
    for (int k = 0; k < (int)(0.12 * rate); k++) {
        thrown_tick(&t);
        deep = fmax(deep, -thrown_gap(&t));
    }
    assert_true(two || t.a.body[0].pose.p.z > 0);
    thrown_close(&t);
    return deep;
}

/* Impulses are in time: nothing that comes down goes deeper than a rim rolls in a step. Of two that
 * turn, one pair in thirty goes deeper than 0.1 mm: what presses itself in as it turns, by
 * what its springs bear. Followed from one end of a step to the other it was one in fourteen. */
static void a_thrown_body_collides_at_the_surface(void **state)
{
    (void)state;
    int pairs = 0, pressed = 0;
    for (int kind = 0; kind <= THROWN_ELLS; kind += 1 + (kind + 1 == THROWN_KINDS))
        for (int slow = 0; slow < 2; slow++) {
            unsigned seed = 9;
            double deep[2] = {0, 0};
            for (int i = 0; i < 200; i++) {
                double now = throw_once(kind, i % 2, slow ? 250 : 1000, &seed);
                deep[i % 2] = fmax(deep[i % 2], now);
                pairs += i % 2;
                pressed += i % 2 && now > 1e-4;
            }
            print_message("%s at %d Hz: %.4f mm deep in a slab, %.2f mm in another\n",
                          thrown_name(kind), slow ? 250 : 1000, 1e3 * deep[0], 1e3 * deep[1]);
            bool rolls = kind == 3; /* a cone, on its rim */
            assert_true(deep[0] < (rolls ? slow ? 4e-3 : 1e-3 : 1e-6));
            assert_true(deep[1] < (slow ? 0.02 : 8e-3));
        }
    print_message("%d of %d pairs deeper than 0.1 mm\n", pressed, pairs);
    assert_true(pressed < pairs / 20);
}

/* ---- edges ---------------------------------------------------------------------------------- */

static const double rates[] = {250, 1000, 4000};

/* One box, turned so, at rest over a table whose top is z = 0 and whose edge x = 0; `others` solids
 * far away come before the table. */
static void over_table_among(thrown *t, double rate, gw_vec3 half, gw_vec3 at, gw_quat turn,
                             int others)
{
    memset(t, 0, sizeof *t);
    arena_open(&t->a, (gw_contact_rules){0});
    t->a.gravity = gw_v3(0, 0, -9.81);
    t->a.dt = 1 / rate;
    t->count = 1;
    gw_shape box = box_shape(2 * half.x, 2 * half.y, 2 * half.z);
    thrown_body(t, 0, &box, at);
    t->a.body[0].pose.q = turn;
    t->wall = box_shape(1, 1, 0.5);
    gw_collider walls[ENCLOSURE];
    for (int i = 0; i <= others; i++)
        walls[i] =
            (gw_collider){1, &t->wall, {{-0.5, 10.0 * (others - i), -0.25}, {1, 0, 0, 0}}, 0};
    thrown_start(t, walls, others + 1, 0.005);
}

static void over_table(thrown *t, double rate, gw_vec3 half, gw_vec3 at, gw_quat turn)
{
    over_table_among(t, rate, half, at, turn, 0);
}

/* A box stands on its corner, and falls past a table's edge 0.1 mm beside it: nothing touches it,
 * and it falls freely. */
static void a_corner_passes_an_edge_untouched(void **state)
{
    (void)state;
    static thrown t;
    gw_quat tilt = gw_quat_mul(gw_quat_axis(gw_v3(0, 1, 0), atan(sqrt(0.5))),
                               gw_quat_axis(gw_v3(1, 0, 0), GW_PI / 4));
    for (int i = 0; i < 3; i++)
        for (int flat = 0; flat < 2; flat++) {
            gw_quat turn = flat ? gw_quat_identity() : tilt;
            gw_vec3 h = {0.03, 0.03, 0.03}, x = gw_rotate(gw_quat_conj(turn), gw_v3(1, 0, 0));
            double reach = h.x * (fabs(x.x) + fabs(x.y) + fabs(x.z)), z = 0.4;
            over_table(&t, rates[i], h, gw_v3(reach + 1e-4, 0.1, z), turn);
            const double time = 0.4;
            long collisions = 0;
            for (int k = 0; k < (int)lround(time * rates[i]); k++) {
                thrown_tick(&t);
                collisions += t.a.last.collisions + t.a.last.touching;
            }
            double fallen = z - t.a.body[0].pose.p.z;
            assert_int_equal(collisions, 0);
            assert_true(fabs(fallen - 0.5 * 9.81 * time * time) < 1e-9);
            assert_true(gw_norm(t.a.body[0].twist.w) < 1e-12);
            thrown_close(&t);
        }
}

/* Without friction a box glides off a table at 0.1 m/s. Until its middle has passed the edge,
 * nothing but the springs' sag of g dt^2 / 0.1 tilts it, as its weight goes over to the edge; from
 * then on
 *
 *   theta'' = (g / k^2) (v t + h theta),   theta' = (v / h) (cosh(sqrt(g h) t / k) - 1)
 *
 * k its radius of gyration about the edge. */
static void a_box_tips_as_its_middle_passes_the_edge(void **state)
{
    (void)state;
    static thrown t;
    for (int i = 0; i < 3; i++) {
        gw_vec3 h = {0.05, 0.04, 0.02};
        const double v = 0.1, before = 0.045;
        over_table(&t, rates[i], h, gw_v3(-before, 0, h.z), gw_quat_identity());
        gw_twist glide = {{v, 0, 0}, {0, 0, 0}};
        gw_guided_set_twist(&t.a.body[0], &glide);
        double tipped = 0, early = 0, spin = 0;
        double k2 = (h.x * h.x + h.z * h.z) / 3 + h.z * h.z, rate = sqrt(9.81 * h.z / k2);
        for (int k = 0; k < (int)lround(0.6 * rates[i]); k++) {
            thrown_tick(&t);
            double x = t.a.body[0].pose.p.x;
            spin = t.a.body[0].twist.w.y;
            if (x < 0)
                early = fmax(early, fabs(spin));
            else if (tipped == 0 && spin > 0.05)
                tipped = x / v;
        }
        double expected = acosh(1 + 0.05 * h.z / v) / rate;
        print_message(
            "at %.0f Hz tips %.2f ms after its middle passed, %.2f are right; before %.4f "
            "rad/s\n",
            rates[i], 1e3 * tipped, 1e3 * expected, early);
        double sag = 9.81 / (0.1 * rates[i] * rates[i]);
        assert_true(early < 0.01 + 2 * v * sag / (h.x * 0.01));
        assert_true(fabs(tipped - expected) < 2e-3 + 8 / rates[i]);
        thrown_close(&t);
    }
}

/* ---- another world -------------------------------------------------------------------------- */

static int same_body(const void *context, int old)
{
    (void)context;
    return old;
}

/* A box rests; the scene is loaded again with fewer solids, whose pieces have other numbers. */
static void contacts_are_carried_over_to_another_world(void **state)
{
    (void)state;
    static thrown t, other;
    gw_vec3 h = {0.05, 0.04, 0.02};
    over_table_among(&t, 1000, h, gw_v3(-0.2, 0, h.z), gw_quat_identity(), ENCLOSURE - 1);
    for (int k = 0; k < 500; k++)
        thrown_tick(&t);
    over_table(&other, 1000, h, t.a.body[0].pose.p, gw_quat_identity());
    double height = t.a.body[0].pose.p.z, held = t.a.last.spring;
    assert_true(held > 0);
    assert_true(gw_world_carry_over(other.a.world, t.a.world, same_body, NULL) == held);
    for (int k = 0; k < 500; k++) {
        thrown_tick(&other);
        assert_true(fabs(other.a.body[0].pose.p.z - height) < 1e-6);
    }
    assert_true(fabs(other.a.last.spring - held) < 1e-3 * held);
    thrown_close(&t);
    thrown_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thrown_bodies_stay_in_the_enclosure_at_every_rate),
        cmocka_unit_test(queries_inside_the_step_make_up_for_a_slow_detector),
        cmocka_unit_test(a_thrown_body_collides_at_the_surface),
        cmocka_unit_test(a_corner_passes_an_edge_untouched),
        cmocka_unit_test(a_box_tips_as_its_middle_passes_the_edge),
        cmocka_unit_test(contacts_are_carried_over_to_another_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
