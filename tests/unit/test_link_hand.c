/*
 * A person's hand at links: of a mechanism that moves on its own, of one that a tool holds
 * elsewhere, exact or by local models, stiff or not, with contacts or without; its work booked.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/unit/link_fixture.h"
#include "tests/unit/playing.h"

typedef struct how {
    const char *what;
    bool held, contacts, local, spatial, stiff;
} how;

static gw_scene *arm_scene(const how *h)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    put_material(s, 0.5, 0.1);
    gw_mechanism *m = put_arm(s, (const double[3]){0.3, 0.4, -0.6});
    if (h->spatial)
        m->links[1].axis = gw_v3(0, 1, 0);
    if (h->stiff)
        m->links[2].damping = 50;
    s->contact.enabled = h->contacts;
    s->contact.local = h->local;
    if (h->contacts)
        put_loose(s, "ball", (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.01},
                  gw_v3(0.5, 0.5, 0), 0.1);
    if (h->held) {
        gw_tool *t = put_tool(s, "sim");
        strcpy(t->mechanism, "arm");
        t->link = 0;
    }
    return s;
}

static gw_command named(gw_command command, const char *link)
{
    strcpy(command.object, link);
    return command;
}

static const how hows[] = {
    {"planar", false, false, false, false, false},
    {"spatial", false, false, false, true, false},
    {"held", true, false, false, false, false},
    {"with contacts", false, true, false, false, false},
    {"by local models", false, true, true, true, false},
    {"stiff", false, false, false, true, true},
};

/* At the first tick J_b^T w moves the joints by D^-1, whatever integrates them. */
static void a_push_moves_the_joints(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof hows / sizeof hows[0]; n++) {
        play p;
        double work[3] = {0}, a[3];
        const gw_wrench push = {{0.2, -0.3, 0.1}, {0.001, 0.002, 0.003}};
        gw_scene *s = arm_scene(&hows[n]);
        serial_def def = {.count = 3, .world_from_base = gw_pose_identity(), .held = -1};
        memcpy(def.links, s->mechanisms[0].links, 3 * sizeof *def.links);
        def.link_from_held = gw_pose_identity();
        serial chain;
        serial_open(&chain, &def, s->mechanisms[0].position, NULL);
        gw_model_pull_back(chain.model, 1, &push, work);
        gw_model_apply_inverse(chain.model, work, a);
        assert_true(start_play(&p, s));
        command_play(&p, named((gw_command){.kind = GW_COMMAND_PUSH, .push = push}, "arm.1"));
        tick_play(&p);
        const gw_snapshot *now = tick_play(&p);
        for (int i = 0; i < 3 && !hows[n].stiff; i++)
            assert_true(fabs(now->v[i] - 1e-3 * a[i]) <= 1e-5 * (fabs(1e-3 * a[i]) + 1e-6));
        for (int i = 0; i < 300; i++)
            now = tick_play(&p);
        print_message("%s: %.3g J by the hand, energy residual %.2g J\n", hows[n].what,
                      now->energy.work_in, energy_residual(&now->energy));
        assert_true(now->energy.work_in > 1e-4);
        assert_true(fabs(energy_residual(&now->energy)) <= (hows[n].local ? 1e-9 : 1e-12));
        command_play(&p, named((gw_command){.kind = GW_COMMAND_PUSH}, "arm.1"));
        double given = tick_play(&p)->energy.work_in;
        double after = tick_play(&p)->energy.work_in;
        assert_true(after == given);
        stop_play(&p);
    }
}

/* Drawn by its last link it comes to where it is drawn, and is let go. */
static void a_drag_draws_the_link_there(void **state)
{
    (void)state;
    play p;
    gw_scene *s = arm_scene(&hows[0]);
    for (int i = 0; i < 3; i++)
        s->mechanisms[0].links[i].damping = 0.5;
    assert_true(start_play(&p, s));
    gw_command drag = {.kind = GW_COMMAND_DRAG,
                       .drag = {.point = {0.03, 0, 0}, .target = {0.02, 0.09, 0}}};
    command_play(&p, named(drag, "arm.2"));
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 8000; i++)
        now = tick_play(&p);
    gw_vec3 end = gw_pose_point(&now->links[2], gw_v3(0.03, 0, 0));
    print_message("%.2g m off, energy residual %.2g J\n", gw_distance(end, gw_v3(0.02, 0.09, 0)),
                  energy_residual(&now->energy));
    assert_true(gw_distance(end, gw_v3(0.02, 0.09, 0)) < 1e-4);
    /* each step's balance closes within 1e-12 of the kinetic energy, 8000 of them together: */
    assert_true(fabs(energy_residual(&now->energy)) < 1e-10);
    /* an edit keeps the hand */
    assert_true(change_play(&p, NULL));
    drag.drag.target = gw_v3(0.05, 0.07, 0);
    command_play(&p, named(drag, "arm.2"));
    for (int i = 0; i < 8000; i++)
        now = tick_play(&p);
    end = gw_pose_point(&now->links[2], gw_v3(0.03, 0, 0));
    assert_true(gw_distance(end, gw_v3(0.05, 0.07, 0)) < 1e-4);
    command_play(&p, named((gw_command){.kind = GW_COMMAND_RELEASE}, "arm.2"));
    double given = tick_play(&p)->energy.work_in;
    assert_true(tick_play(&p)->energy.work_in == given);
    stop_play(&p);
}

/* With contacts on the audit knows what hands gave: a link of a system of bodies that is pushed
 * gets all of it. */
static void the_audit_leaves_a_push_its_work(void **state)
{
    (void)state;
    double speed[2];
    for (int contacts = 0; contacts < 2; contacts++) {
        play p;
        gw_scene *s = arm_scene(&(how){"", false, contacts == 1, false, false, false});
        gw_object *load = put(s, "load", box(0.01, 0.01, 0.01), gw_v3(0, 0, 0.1));
        load->body.source = GW_MASS_GIVEN;
        load->body.mass = 1;
        gw_scene_joint *j = gw_scene_add_joint(s, NULL);
        strcpy(j->id, "weld");
        j->type = GW_MOBILIZER_FIXED;
        strcpy(j->a.object, "load");
        strcpy(j->b.object, "arm.2");
        j->a.at = j->b.at = gw_pose_identity();
        j->b.at.p = gw_v3(0.03, 0, 0.05);
        j->enabled = true;
        assert_true(start_play(&p, s));
        command_play(&p,
                     named((gw_command){.kind = GW_COMMAND_PUSH, .push.f = {0, 0.5, 0}}, "arm.1"));
        const gw_snapshot *now = NULL;
        for (int i = 0; i < 300; i++)
            now = tick_play(&p);
        speed[contacts] = now->v[0];
        print_message("%.9g rad/s, %.3g J, energy residual %.2g J\n", now->v[0],
                      now->energy.work_in, energy_residual(&now->energy));
        assert_true(now->energy.work_in > 1e-4 && fabs(energy_residual(&now->energy)) < 1e-9);
        stop_play(&p);
    }
    assert_true(fabs(speed[1] - speed[0]) < 1e-6 * fabs(speed[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_moves_the_joints),
        cmocka_unit_test(a_drag_draws_the_link_there),
        cmocka_unit_test(the_audit_leaves_a_push_its_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
