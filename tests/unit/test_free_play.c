/*
 * Free bodies at random play: dragged, pushed, joined, let go, their geometry moved, thrown against
 * stops and one another. Whatever is done, the energy balance closes and everything stays a number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

typedef struct play {
    running r;
    uint64_t seed;
    double worst, off, fastest, scale;
    int edits, moves, hands;
} play;

static double between(play *p, double low, double high)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(p->seed >> 11) / 9007199254740992.0;
}

static int one_of(play *p, int count)
{
    return (int)between(p, 0, count * (1 - 1e-12));
}

static gw_vec3 anywhere(play *p, double size)
{
    double x = between(p, -size, size), y = between(p, -size, size);
    return gw_v3(x, y, between(p, -size, size));
}

/* A door, a bead on a rail between stops, a plate on threads, a box on a plane, a loose ball. */
static gw_scene *playground(bool contacts)
{
    gw_scene *s = door_with_a_stop();
    add_ball(s, "bead", gw_v3(0.2, 0, 0), 0.02)->body.damping_linear = 0.2;
    join(s, "rail", GW_COINCIDENT, "bead", "center", "ground", "rail");
    state_feature(s, "ground", "near",
                  (gw_element){.kind = GW_PLANE, .p = {0.13, 0, 0}, .d = {1, 0, 0}});
    state_feature(s, "ground", "away",
                  (gw_element){.kind = GW_PLANE, .p = {0.4, 0, 0}, .d = {1, 0, 0}});
    join(s, "near", GW_DISTANCE, "bead", "center", "ground", "near")->bound = GW_BOUND_AT_LEAST;
    join(s, "away", GW_DISTANCE, "bead", "center", "ground", "away")->bound = GW_BOUND_AT_MOST;
    add_box(s, "slab", gw_v3(0, 0.3, 0), true);
    add_box(s, "box", gw_v3(0.05, 0.45, 0), false)->free = true;
    join(s, "flat", GW_COINCIDENT, "box", "-y", "slab", "+y")->sense = GW_OPPOSITE;
    add_ball(s, "loose", gw_v3(-0.1, 0.6, 0), 0.03)->body.damping_linear = 1;
    s->contact.enabled = contacts;
    for (int i = 0; i < s->object_count; i++) {
        s->objects[i].body.damping_angular = 1e-3;
        s->objects[i].body.damping_linear = 0.5;
    }
    return s;
}

static void hand(play *p)
{
    static const char *const bodies[] = {"door", "bead", "box", "loose"};
    gw_command retired, command = {.kind = GW_COMMAND_DRAG};
    strcpy(command.object, bodies[one_of(p, 4)]);
    switch (one_of(p, 3)) {
    case 0:
        command.drag.point = anywhere(p, 0.01);
        command.drag.target = anywhere(p, 0.5);
        command.drag.turn = one_of(p, 4) == 0;
        break;
    case 1:
        command.kind = GW_COMMAND_PUSH;
        command.push = (gw_wrench){anywhere(p, 1), anywhere(p, 5e-4)};
        break;
    default:
        command.kind = GW_COMMAND_RELEASE;
    }
    gw_simulation_apply(p->r.simulation, &command, &retired);
    command.kind = GW_COMMAND_PUSH;
    command.push = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    if (one_of(p, 2))
        gw_simulation_apply(p->r.simulation, &command, &retired);
    p->hands++;
}

static void move(play *p)
{
    gw_vec3 turn = anywhere(p, 0.2);
    gw_pose to = {anywhere(p, 0.05), gw_quat_exp(turn)};
    if (one_of(p, 2)) {
        to.p.y += 0.3;
        move_object(&p->r, "slab", to);
    } else {
        gw_vec3 along = gw_unit(gw_add(gw_v3(1, 0, 0), anywhere(p, 0.3)));
        move_feature(&p->r, "ground", "rail",
                     (gw_element){.kind = GW_LINE, .p = anywhere(p, 0.05), .d = along});
    }
    p->moves++;
}

/* Switches the door's hinge, the rail or the plane; the features of walls stay. */
static void edit(play *p, const gw_snapshot *now)
{
    static const char *const ids[] = {"h", "h-level", "rail", "flat"};
    gw_scene *s = p->r.scene;
    gw_scene_constraint *c = &s->constraints[gw_scene_constraint_index(s, ids[one_of(p, 4)])];
    c->enabled = !c->enabled;
    hand_over(&p->r, now, NULL);
    p->edits++;
}

static void judge(play *p, const gw_snapshot *now)
{
    const gw_energy *e = &now->energy;
    p->scale = fmax(p->scale, fabs(e->kinetic) + fabs(e->potential) + fabs(e->edits));
    p->worst = fmax(p->worst, fabs(energy_error(now)));
    for (int i = 0; i < now->free_count; i++) {
        assert_true(gw_finite_pose(&now->free[i].pose));
        p->fastest = fmax(p->fastest, gw_norm(now->free[i].twist.v));
    }
}

static void play_for(uint64_t seed, bool contacts, int ticks)
{
    play p = {.seed = seed};
    running_open(&p.r, playground(contacts));
    const gw_snapshot *now = running_tick(&p.r);
    for (int i = 0; i < ticks; i++) {
        int what = one_of(&p, 400);
        if (what < 4)
            hand(&p);
        else if (what < 7)
            move(&p);
        else if (what == 7)
            edit(&p, now);
        now = running_tick(&p.r);
        judge(&p, now);
    }
    print_message(
        "%d edits, %d moves, %d hands, %s contacts: up to %.1f m/s; energy off by %.2g of "
        "%.2g J\n",
        p.edits, p.moves, p.hands, contacts ? "with" : "no", p.fastest, p.worst, p.scale);
    assert_true(p.edits > 0 && p.moves > 0 && p.hands > 0);
    /* a bar that a hand whirls at 200 rad/s is beyond what a step resolves to the last digit */
    assert_true(p.worst <= 1e-9 * fmax(p.scale, 1));
    running_close(&p.r);
}

static void books_close_whatever_is_done(void **state)
{
    (void)state;
    const char *seconds = getenv("PLAY_SECONDS");
    int ticks = seconds ? 1000 * atoi(seconds) : 4000;
    for (uint64_t seed = 1; seed <= 6; seed++)
        play_for(seed, seed % 2, ticks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(books_close_whatever_is_done)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
