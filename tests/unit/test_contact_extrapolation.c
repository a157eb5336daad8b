/*
 * Bodies in contact that do not step in lockstep have equal and opposite impulses, in however many
 * pairs they are: a row of balls that one of them pushes along has the momentum of the push.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/unit/contact_fixture.h"

enum { BALLS = 4 };

#define RADIUS 0.05
#define MASS   0.5
#define END    0.2  /* s */
#define MOST   10.0 /* largest acceleration, m/s^2 */

/* A row of balls along x, each in touch with the next; the inner ones are in two pairs. */
typedef struct row {
    arena a;
    double t; /* at the start of the step (s) */
} row;

/* m a(t) with a = MOST sin^2(pi t / (2 END)) */
static gw_wrench drive(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const row *r = context;
    double s = sin(0.5 * GW_PI * (r->t + t) / END);
    (void)held, (void)twist;
    return (gw_wrench){{-MASS * MOST * s * s, 0, 0}, {0, 0, 0}};
}

/* The integral of a over the time of the run. */
static double speed_at_end(void)
{
    return 0.5 * MOST * END;
}

/* Runs the row, whose last ball is driven and pushes the others. Momentum of all at the end, as a
 * part of what was given. */
static double momentum_after(double dt)
{
    row *r = calloc(1, sizeof *r);
    double sum = 0;
    arena *a = &r->a;
    arena_open(a, (gw_contact_rules){0});
    a->dt = dt;
    for (int i = 0; i < BALLS; i++)
        arena_ball(a, MASS, RADIUS, gw_v3(2 * RADIUS * i, 0, 0), gw_v3(0, 0, 0));
    for (int i = 0; i + 1 < BALLS; i++)
        arena_balls(a, i + 1, RADIUS, i, RADIUS, (gw_contact_material){0});
    a->system[BALLS - 1].hand = (gw_forces){.at = drive, .context = r};
    arena_start(a);
    for (int k = 0; k < (int)lround(END / dt); k++) {
        r->t = k * dt;
        arena_step(a);
    }
    for (int i = 0; i < BALLS; i++) {
        gw_pose pose;
        gw_twist twist;
        gw_model_body(a->system[i].model, 0, &pose, &twist);
        sum += twist.v.x;
    }
    arena_close(a);
    free(r);
    return -sum / speed_at_end();
}

static void a_row_that_is_pushed_has_the_momentum_of_the_push(void **state)
{
    (void)state;
    double coarse = fabs(momentum_after(1e-3) - 1), fine = fabs(momentum_after(5e-4) - 1);
    print_message("pushed: momentum off by %.1e, with half the step %.1e\n", coarse, fine);
    assert_true(coarse < 1e-12);
    assert_true(fine < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_that_is_pushed_has_the_momentum_of_the_push),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
