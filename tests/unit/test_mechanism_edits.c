/* Edits of a mechanism that moves: its base elsewhere, a joint more, a joint less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

static void make_links(gw_mechanism *m, int count)
{
    assert_true(gw_mechanism_resize(m, count));
    for (int i = 0; i < count; i++) {
        gw_link_def *link = &m->links[i];
        link->mass = (gw_mass){1, {0.25, 0, 0}, {{{0.01, 0, 0}, {0, 0.02, 0}, {0, 0, 0.02}}}};
        link->axis = gw_unit(gw_v3(0, i % 2, 1));
        link->parent_from_joint.p.x = i > 0 ? 0.5 : 0;
        link->friction = 0.05;
    }
}

/* Half metres that swing under their weight, in a hand at the second one. */
static gw_scene *swinging(int links, bool local)
{
    gw_scene *s = new_scene();
    s->contact.local = local;
    gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
    strcpy(m->id, "arm");
    s->gravity = gw_v3(0, -9.81, 0);
    make_links(m, links);
    gw_device *d = gw_scene_add_device(s, NULL);
    strcpy(d->id, "d1");
    strcpy(d->driver, "sim");
    gw_tool *t = gw_scene_add_tool(s, NULL);
    strcpy(t->mechanism, "arm");
    strcpy(t->device, "d1");
    t->link = 1;
    return s;
}

static double energy_off(const gw_snapshot *s)
{
    double off = fabs(energy_error(s) - s->energy.motors);
    assert_true(isfinite(off));
    return off;
}

/* The base goes there at bounded speed, and takes the hand along. */
static void move_base(bool local)
{
    running moved, still;
    double jump = 0, base = 0, worst = 0;
    running_open(&moved, swinging(3, local));
    running_open(&still, swinging(3, local));
    gw_pose to = {{0.2, 0.1, 0}, gw_quat_axis(gw_v3(0, 0, 1), 0.5)}, was = gw_pose_identity();
    const gw_snapshot *x = NULL;
    gw_vec3 last = {0, 0, 0};
    for (int i = 0; i < 2000; i++) {
        x = running_tick(&moved);
        const gw_snapshot *y = running_tick(&still);
        gw_vec3 p = x->tools[0].world_from_tool.p, v = x->tools[0].twist.v;
        double own = 1e-3 * fmax(gw_norm(v), gw_norm(y->tools[0].twist.v));
        jump = i > 0 ? fmax(jump, gw_distance(p, last) - own) : 0;
        base = fmax(base, gw_distance(x->links[0].p, was.p));
        worst = fmax(worst, energy_off(x));
        was = x->links[0];
        last = p;
        if (i == 300) {
            moved.scene->mechanisms[0].base = to;
            hand_over(&moved, x, NULL);
        }
    }
    print_message("base elsewhere: %.2g m a tick, the held point %.2g m beyond its own motion; "
                  "energy off by %.2g J\n",
                  base, jump, worst);
    assert_true(gw_distance(x->links[0].p, to.p) <= 1e-12);
    assert_true(base <= 0.25e-3 + 1e-9);
    assert_true(jump <= 0.25e-3 + 1e-3); /* and 1 rad/s at a metre */
    assert_true(worst <= 1e-8);
    running_close(&moved);
    running_close(&still);
}

static void a_moved_base_is_reached_by_transition(void **state)
{
    (void)state;
    move_base(false);
    move_base(true);
}

/* Joints that stay go on as they were. */
static void change_joints(bool local)
{
    running r;
    double jump = 0, worst = 0;
    running_open(&r, swinging(2, local));
    const gw_snapshot *now = NULL;
    double last[2] = {0, 0};
    for (int i = 0; i < 1500; i++) {
        now = running_tick(&r);
        for (int k = 0; k < 2; k++) {
            jump = fmax(jump, fabs(now->q[k] - last[k]) - 1e-3 * fabs(now->v[k]));
            last[k] = now->q[k];
        }
        worst = fmax(worst, energy_off(now));
        if (i != 400 && i != 800)
            continue;
        make_links(&r.scene->mechanisms[0], i == 400 ? 3 : 2);
        hand_over(&r, now, NULL);
    }
    print_message("a joint more, a joint less: %.2g rad beyond its speed; energy off by %.2g J\n",
                  jump, worst);
    assert_true(jump <= 2e-4);
    assert_true(worst <= 1e-8);
    running_close(&r);
}

static void joints_can_be_added_and_removed(void **state)
{
    (void)state;
    change_joints(false);
    change_joints(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moved_base_is_reached_by_transition),
        cmocka_unit_test(joints_can_be_added_and_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
