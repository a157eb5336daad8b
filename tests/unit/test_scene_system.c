/*
 * Systems of bodies laid out from a scene's joints, constraints and springs: who belongs together,
 * which trees and closures they make, how they can move, what is redundant, and that the same
 * linkage moves the same way however it is stated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

/* ---- scenes --------------------------------------------------------------------------------- */

static gw_layout *laid_out(const gw_scene *s)
{
    gw_error error = {0};
    if (!gw_scene_check(s, &error))
        fail_msg("%s: %s", error.where, error.message);
    gw_layout *l = gw_layout_create(s, NULL, &error);
    if (!l)
        fail_msg("%s: %s", error.where, error.message);
    assert_null(gw_layout_unsolved(l));
    return l;
}

static gw_pose shifted(double x, double y, double z)
{
    return (gw_pose){{x, y, z}, gw_quat_identity()};
}

static gw_object *add_free(gw_scene *s, const char *id, gw_vec3 at)
{
    gw_object *o = add_box(s, id, at, false);
    o->free = true;
    return o;
}

/* A joint between frames of two objects, or of the world. */
static gw_scene_joint *add_joint(gw_scene *s, const char *id, gw_mobilizer type, const char *a,
                                 gw_pose at_a, const char *b, gw_pose at_b)
{
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    assert_non_null(j);
    snprintf(j->id, sizeof j->id, "%s", id);
    snprintf(j->a.object, sizeof j->a.object, "%s", a);
    snprintf(j->b.object, sizeof j->b.object, "%s", b);
    j->a.at = at_a;
    j->b.at = at_b;
    j->type = type;
    j->enabled = true;
    j->pitch = type == GW_MOBILIZER_SCREW ? 0.02 : 0;
    return j;
}

static gw_scene_joint *add_gear(gw_scene *s, const char *of, const char *by, double ratio)
{
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    assert_non_null(j);
    strcpy(j->id, "gear");
    j->gear = j->enabled = true;
    snprintf(j->joints[0], sizeof j->joints[0], "%s", of);
    snprintf(j->joints[1], sizeof j->joints[1], "%s", by);
    j->coordinates[0] = j->coordinates[1] = -1;
    j->ratio = ratio;
    return j;
}

static void add_spring(gw_scene *s, const char *a, const char *b, gw_vec3 on_b, double length)
{
    gw_scene_spring *k = gw_scene_add_spring(s, NULL);
    assert_non_null(k);
    strcpy(k->id, "spring");
    snprintf(k->a.object, sizeof k->a.object, "%s", a);
    snprintf(k->b.object, sizeof k->b.object, "%s", b);
    k->b.p = on_b;
    k->stiffness = 100;
    k->length = length;
    k->enabled = true;
}

/* The four-bar of scene_building.h under weight, by hinges of constraints. */
static gw_scene *constrained_four_bar(void)
{
    gw_scene *s = four_bar();
    s->gravity = gw_v3(0, -9.81, 0);
    return s;
}

/* The same by four revolute joints, where the constraints have assembled it. */
static gw_scene *jointed_four_bar(void)
{
    gw_scene *s = constrained_four_bar();
    gw_layout *l = laid_out(s);
    for (int i = 0; i < s->object_count; i++)
        s->objects[i].pose = l->poses[i];
    gw_layout_destroy(l);
    while (s->constraint_count > 0)
        gw_scene_remove_constraint(s, 0);
    const gw_mobilizer hinge = GW_MOBILIZER_REVOLUTE;
    add_joint(s, "j1", hinge, "crank", shifted(0, 0, 0), "ground", shifted(0, 0, 0));
    add_joint(s, "j2", hinge, "coupler", shifted(0, 0, 0), "crank", shifted(0.1, 0, 0));
    add_joint(s, "j3", hinge, "rocker", shifted(0, 0, 0), "ground", shifted(0.3, 0, 0));
    add_joint(s, "j4", hinge, "coupler", shifted(0.3, 0, 0), "rocker", shifted(0.2, 0, 0));
    return s;
}

/* ---- who belongs together -------------------------------------------------------------------- */

static int system_of(const gw_scene *s, const char *id)
{
    int of[32];
    assert_true(gw_scene_number_systems(s, false, of) >= 0);
    return of[gw_scene_object(s, id)];
}

static void what_is_joined_to_something_that_moves_is_its_system(void **state)
{
    (void)state;
    int of[32];
    gw_scene *s = new_scene();
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_free(s, "alone", gw_v3(1, 0, 0));
    add_box(s, "a", gw_v3(2, 0, 0), false);
    add_box(s, "b", gw_v3(3, 0, 0), false);
    add_free(s, "c", gw_v3(4, 0, 0));
    add_box(s, "d", gw_v3(5, 0, 0), false);
    add_box(s, "e", gw_v3(6, 0, 0), false);
    join(s, "lies", GW_COINCIDENT, "alone", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    join(s, "ab", GW_PARALLEL, "a", "+z", "b", "+z");
    add_joint(s, "cb", GW_MOBILIZER_SPHERICAL, "b", shifted(1, 0, 0), "c", shifted(0, 0, 0));
    join(s, "de", GW_PARALLEL, "d", "+z", "e", "+z");          /* neither free nor held */
    assert_int_equal(gw_scene_number_systems(s, true, of), 0); /* the layout solves it */
    assert_int_equal(gw_scene_number_systems(s, false, of), 1);
    const char *const in[] = {"a", "b", "c"}, *const out[] = {"ground", "alone", "d", "e"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(system_of(s, in[i]), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(system_of(s, out[i]), -1);
    hold(s, "e"); /* a hand makes another one */
    assert_int_equal(gw_scene_number_systems(s, false, of), 2);
    assert_int_equal(system_of(s, "d"), 1);
    assert_int_equal(system_of(s, "e"), 1);
    s->constraints[1].enabled = false; /* and what is not joined any more goes */
    assert_int_equal(system_of(s, "a"), -1);
    assert_int_equal(system_of(s, "b"), 0);
    s->joints[0].enabled = false;
    assert_int_equal(gw_scene_number_systems(s, false, of), 1);
    assert_int_equal(system_of(s, "c"), -1);
    gw_scene_destroy(s);
}

/* A joint or a spring on the ground or the world makes a system of one; a constraint does not. */
static void joints_springs_and_velocity_constraints_make_systems_of_one(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_free(s, "pivoted", gw_v3(1, 0, 0));
    add_free(s, "sprung", gw_v3(2, 0, 0));
    add_ball(s, "ball", gw_v3(0, 0, 0.1), 0.05);
    add_free(s, "lid", gw_v3(0, 0, 0.1));
    add_box(s, "still", gw_v3(3, 0, 0), false);
    add_joint(s, "j", GW_MOBILIZER_REVOLUTE, "pivoted", shifted(0, 0, 0), "world",
              shifted(1, 0, 0));
    add_spring(s, "sprung", "ground", gw_v3(0, 0, 0), 1);
    join(s, "roll", GW_ROLLING, "ball", "surface", "ground", "+z");
    join(s, "lies", GW_COINCIDENT, "lid", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    add_joint(s, "k", GW_MOBILIZER_REVOLUTE, "still", shifted(0, 0, 0), "world", shifted(3, 0, 0));
    int of[32];
    assert_int_equal(gw_scene_number_systems(s, false, of), 3);
    assert_true(system_of(s, "pivoted") >= 0 && system_of(s, "sprung") >= 0);
    assert_true(system_of(s, "ball") >= 0);
    assert_int_equal(gw_scene_number_systems(s, true, of), 1);
    assert_int_equal(of[gw_scene_object(s, "still")], 0);
    assert_int_equal(system_of(s, "lid"), -1);
    assert_int_equal(system_of(s, "still"), -1);
    gw_layout *l = laid_out(s);
    assert_int_equal(gw_layout_mobility(s, l), 1 + 6 + 3 + 3);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

static void massless_objects_belong_to_no_system(void **state)
{
    (void)state;
    gw_scene *s = constrained_four_bar();
    s->objects[gw_scene_object(s, "coupler")].massless = true;
    int of[32];
    assert_int_equal(gw_scene_number_systems(s, false, of), 0);
    s->objects[gw_scene_object(s, "rocker")].free = true; /* on its pin, held by nothing else */
    assert_int_equal(gw_scene_number_systems(s, false, of), 0);
    add_free(s, "load", gw_v3(0, 0.1, 0));
    add_joint(s, "weld", GW_MOBILIZER_FIXED, "load", shifted(0, 0, 0), "crank", shifted(0.1, 0, 0));
    assert_int_equal(gw_scene_number_systems(s, false, of), 1);
    assert_int_equal(system_of(s, "load"), system_of(s, "crank"));
    assert_int_equal(system_of(s, "coupler"), -1);
    gw_scene_destroy(s);
}

/* ---- trees, closures, freedoms --------------------------------------------------------------- */

/* Bodies of the only system whose parent is a body, and how many hang on the ground. */
static void assert_tree(const gw_layout *l, int bodies, int on_ground, int closures)
{
    assert_int_equal(l->system_count, 1);
    const gw_scene_system *y = l->systems[0];
    int roots = 0;
    assert_int_equal(y->member_count, bodies);
    for (int i = 0; i < y->member_count; i++) {
        assert_true(y->bodies[i].parent < i); /* parents first */
        roots += y->bodies[i].parent < 0;
    }
    assert_int_equal(roots, on_ground);
    assert_int_equal(y->closure_count, closures);
}

static void a_four_bar_is_a_tree_and_a_closure(void **state)
{
    (void)state;
    gw_scene *s = jointed_four_bar();
    gw_layout *l = laid_out(s);
    assert_tree(l, 3, 2, 1); /* crank and rocker on the ground, the coupler on one of them */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(l->systems[0]->bodies[i].joint, GW_MOBILIZER_REVOLUTE);
        assert_int_equal(l->systems[0]->members[i].freedoms, 1);
    }
    assert_int_equal(l->systems[0]->mobility, 1);
    assert_true(gw_scene_system_residual(l->systems[0], l->poses) < 1e-14);
    gw_layout_destroy(l);
    gw_scene_destroy(s);

    s = constrained_four_bar(); /* pairs of constraints are hinges, two of them close the loop */
    l = laid_out(s);
    assert_tree(l, 3, 2, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(l->systems[0]->bodies[i].joint, GW_MOBILIZER_REVOLUTE);
    assert_int_equal(l->systems[0]->mobility, 1);
    assert_true(gw_layout_residual(l, l->poses) < 1e-12);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* A bar on the world's frame by each type of joint has as many freedoms as that has coordinates. */
static void every_joint_leaves_its_coordinates(void **state)
{
    (void)state;
    for (int type = GW_MOBILIZER_FIXED; type < GW_MOBILIZER_FREE; type++) {
        gw_scene *s = new_scene();
        add_free(s, "a", gw_v3(0.1, 0.2, 0.3));
        add_joint(s, "j", (gw_mobilizer)type, "a", shifted(0, 0, 0), "world", shifted(0, 0, 0));
        gw_layout *l = laid_out(s);
        assert_int_equal(gw_layout_mobility(s, l), gw_mobilizers[type].dof);
        assert_true(gw_scene_system_residual(l->systems[0], l->poses) < 1e-14);
        gw_layout_destroy(l);
        gw_scene_destroy(s);
    }
}

static int mobility_with(gw_constraint_kind kind, const char *feature, bool disc)
{
    gw_scene *s = new_scene();
    add_box(s, "ground", gw_v3(0, 0, -0.05), true);
    gw_object *o = add_ball(s, "ball", gw_v3(0, 0, 0.05), 0.05);
    if (disc) {
        o->shape = (gw_shape){.kind = GW_SHAPE_CYLINDER, .radius = 0.05, .height = 0.01};
        o->pose.q = gw_quat_axis(gw_v3(1, 0, 0), 1);
        o->pose.p.z = 0.05 * sin(1) + 0.005 * cos(1);
    }
    join(s, "c", kind, "ball", feature, "ground", "+z");
    gw_layout *l = laid_out(s);
    int mobility = gw_layout_mobility(s, l);
    assert_int_equal(l->system_count, 1);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
    return mobility;
}

/* Velocity freedoms, as on paper (surface-constraints, 4.3, put right for sliding). */
static void touching_surfaces_leave_what_they_should(void **state)
{
    (void)state;
    assert_int_equal(mobility_with(GW_SLIDING, "surface", false), 5);
    assert_int_equal(mobility_with(GW_ROLLING, "surface", false), 3);
    assert_int_equal(mobility_with(GW_PURE_ROLLING, "surface", false), 2);
    assert_int_equal(mobility_with(GW_SLIDING, "bottom-rim", true), 5);
    assert_int_equal(mobility_with(GW_ROLLING, "bottom-rim", true), 3);
    assert_int_equal(mobility_with(GW_PURE_ROLLING, "bottom-rim", true), 2);

    gw_scene *s = new_scene(); /* a sleigh: flat on the ground, its blade along x */
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_free(s, "sleigh", gw_v3(0, 0, 0.1));
    state_feature(s, "sleigh", "blade",
                  (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {0, 1, 0}});
    join(s, "flat", GW_COINCIDENT, "sleigh", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    join(s, "edge", GW_KNIFE_EDGE, "sleigh", "blade", "ground", "+z");
    gw_layout *l = laid_out(s);
    assert_int_equal(gw_layout_mobility(s, l), 2);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* ---- what is redundant ----------------------------------------------------------------------- */

/* Which constraints and joints are redundant, by name, one after the other. */
static void redundant_of(const gw_scene *s, char *names, size_t size)
{
    gw_layout *l = laid_out(s);
    bool constraints[16] = {0}, joints[16] = {0};
    gw_redundant_relations out = {constraints, joints};
    assert_true(gw_layout_redundant(s, l, &out));
    names[0] = '\0';
    for (int i = 0; i < s->constraint_count; i++)
        if (constraints[i])
            snprintf(names + strlen(names), size - strlen(names), "%s ", s->constraints[i].id);
    for (int i = 0; i < s->joint_count; i++)
        if (joints[i])
            snprintf(names + strlen(names), size - strlen(names), "%s ", s->joints[i].id);
    gw_layout_destroy(l);
}

/* In space three rows of a planar four-bar say what others say, but no hinge could go. */
static void only_what_could_go_as_a_whole_is_redundant(void **state)
{
    (void)state;
    char names[256];
    gw_scene *s = jointed_four_bar();
    redundant_of(s, names, sizeof names);
    assert_string_equal(names, "");
    add_joint(s, "again", GW_MOBILIZER_REVOLUTE, "crank", shifted(0, 0, 0.1), "ground",
              shifted(0, 0, 0.1));
    redundant_of(s, names, sizeof names);
    assert_string_equal(names, "again ");
    gw_scene_destroy(s);

    s = constrained_four_bar(); /* three levels hold the fourth */
    redundant_of(s, names, sizeof names);
    assert_string_equal(names, "h4-level ");
    strcpy(s->constraints[gw_scene_constraint_index(s, "h4-level")].id, "closing");
    join(s, "same", GW_COINCIDENT, "crank", "near", "ground", "left")->sense = GW_SAME;
    redundant_of(s, names, sizeof names);
    assert_string_equal(names, "closing same ");
    gw_scene_destroy(s);
}

/* Two parallel rods and a third one: the third follows from the others. */
static void a_third_crank_of_a_parallelogram_is_redundant(void **state)
{
    (void)state;
    char names[256];
    gw_scene *s = new_scene();
    const gw_mobilizer hinge = GW_MOBILIZER_REVOLUTE;
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_free(s, "bar", gw_v3(0, 0.2, 0));
    for (int i = 0; i < 3; i++) {
        char id[16], foot[16], head[16];
        snprintf(id, sizeof id, "rod%d", i);
        snprintf(foot, sizeof foot, "foot%d", i);
        snprintf(head, sizeof head, "head%d", i);
        add_free(s, id, gw_v3(0.1 * i, 0.1, 0));
        add_joint(s, foot, hinge, id, shifted(0, -0.1, 0), "ground", shifted(0.1 * i, 0, 0));
        add_joint(s, head, hinge, "bar", shifted(0.1 * i, 0, 0), id, shifted(0, 0.1, 0));
    }
    gw_layout *l = laid_out(s);
    assert_int_equal(gw_layout_mobility(s, l), 1);
    gw_layout_destroy(l);
    redundant_of(s, names, sizeof names); /* no hinge of the third: its rod would turn alone */
    assert_string_equal(names, "");
    gw_scene_destroy(s);
}

/* ---- where joints begin ---------------------------------------------------------------------- */

static void a_stated_position_wins_over_poses(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    add_free(s, "a", gw_v3(0.3, 0.1, 0.2));
    gw_scene_joint *j = add_joint(s, "j", GW_MOBILIZER_CYLINDRICAL, "a", shifted(0.1, 0, 0),
                                  "world", shifted(0, 0, 0));
    gw_layout *l = laid_out(s); /* the nearest place: at the object's height, turned as it is */
    assert_true(gw_distance(l->poses[0].p, gw_v3(-0.1, 0, 0.2)) < 1e-15);
    gw_layout_destroy(l);
    j->has_position = true;
    j->position[0] = 0.7;
    j->position[1] = 0.5 * GW_PI;
    l = laid_out(s);
    assert_true(gw_distance(l->poses[0].p, gw_v3(0, -0.1, 0.7)) < 1e-15);
    assert_true(gw_distance(gw_rotate(l->poses[0].q, gw_v3(1, 0, 0)), gw_v3(0, 1, 0)) < 1e-15);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* Features leave the turn about z open: it is taken so that the position is zero at the file's
 * poses, and the joint goes on from there. */
static void joints_of_features_begin_at_zero(void **state)
{
    (void)state;
    running r;
    gw_scene *s = new_scene();
    add_ground(s, 0.3);
    gw_object *bar = add_bar(s, "bar", gw_v3(0, 0, 0), 0.8, 0.1);
    bar->free = true;
    bar->spin = gw_v3(0, 0, 2);
    gw_scene_joint *j = add_joint(s, "j", GW_MOBILIZER_REVOLUTE, "bar", shifted(0, 0, 0), "ground",
                                  shifted(0, 0, 0));
    strcpy(j->a.feature, "near");
    strcpy(j->b.feature, "left");
    running_open(&r, s);
    const gw_snapshot *now = running_tick(&r);
    assert_int_equal(now->coordinate_count, 1);
    assert_true(fabs(now->coordinates[0]) < 1e-15 && fabs(now->rates[0] - 2) < 1e-12);
    gw_vec3 x = gw_rotate(body(now, &r, "bar")->pose.q, gw_v3(1, 0, 0));
    assert_true(fabs(atan2(x.y, x.x) - 0.8) < 1e-15);
    for (int i = 0; i < 5000; i++)
        now = running_tick(&r);
    assert_true(fabs(now->coordinates[0] - 10) < 1e-9); /* turns count on */
    running_close(&r);
}

/* A crank at a stated position takes the rest of its linkage there. */
static void a_loop_is_assembled_at_a_stated_position(void **state)
{
    (void)state;
    gw_scene *s = jointed_four_bar();
    s->joints[0].has_position = true;
    s->joints[0].position[0] = 1.2;
    gw_layout *l = laid_out(s);
    gw_vec3 x = gw_rotate(l->poses[gw_scene_object(s, "crank")].q, gw_v3(1, 0, 0));
    assert_true(fabs(atan2(x.y, x.x) - 1.2) < 1e-12);
    assert_true(gw_scene_system_residual(l->systems[0], l->poses) < 1e-12);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* ---- motion ---------------------------------------------------------------------------------- */

static void a_four_bar_moves_the_same_however_it_is_stated(void **state)
{
    (void)state;
    running r[2];
    const char *const ids[] = {"crank", "coupler", "rocker"};
    double apart = 0, energy_off = 0, out = 0, way = 0;
    running_open(&r[0], constrained_four_bar());
    running_open(&r[1], jointed_four_bar());
    gw_pose start = r[0].layout->poses[gw_scene_object(r[0].scene, "rocker")];
    for (int i = 0; i < 5000; i++) {
        const gw_snapshot *a = running_tick(&r[0]), *b = running_tick(&r[1]);
        for (int k = 0; k < 3; k++) {
            const gw_pose *one = &body(a, &r[0], ids[k])->pose;
            apart = fmax(apart, gw_pose_distance(one, &body(b, &r[1], ids[k])->pose, 0.1));
        }
        way = fmax(way, gw_pose_distance(&body(a, &r[0], "rocker")->pose, &start, 0.1));
        energy_off = fmax(energy_off, fmax(fabs(energy_error(a)), fabs(energy_error(b))));
        out = fmax(out, residual(&r[0], a));
    }
    print_message("four-bar by constraints and by joints: %.2g m apart in 5 s, energy off by "
                  "%.2g J, hinges by %.2g m\n",
                  apart, energy_off, out);
    assert_true(way > 0.05);
    assert_true(apart <= 1e-9 && energy_off <= 1e-8 && out <= 1e-12);
    running_close(&r[0]);
    running_close(&r[1]);
}

/* Two wheels of inertia I and 3 I, one turns twice as fast the other way: a torque at the first
 * feels I + 3 I / 4. */
static void a_gear_couples_two_wheels(void **state)
{
    (void)state;
    running r;
    gw_scene *s = new_scene();
    const char *const ids[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        gw_object *o = add_free(s, ids[i], gw_v3(0.2 * i, 0, 0));
        o->body.mass = 1 + 2 * i;
        o->body.source = GW_MASS_GIVEN;
        add_joint(s, i ? "jb" : "ja", GW_MOBILIZER_REVOLUTE, ids[i], shifted(0, 0, 0), "world",
                  shifted(0.2 * i, 0, 0));
    }
    add_gear(s, "ja", "jb", -2);
    double inertia = 0.01 / 6;
    running_open(&r, s);
    assert_int_equal(gw_layout_mobility(s, r.layout), 1);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push = {{0, 0, 0}, {0, 0, 0.001}}};
    strcpy(push.object, "a");
    gw_simulation_apply(r.simulation, &push, &retired);
    const gw_snapshot *now = running_tick(&r);
    for (int i = 0; i < 1000; i++)
        now = running_tick(&r);
    double expected = 0.001 / (inertia * (1 + 0.75)) * now->time;
    assert_true(fabs(now->rates[0] / expected - 1) < 1e-9);
    assert_true(fabs(now->rates[0] + 2 * now->rates[1]) < 1e-12);
    assert_true(fabs(now->coordinates[0] + 2 * now->coordinates[1]) < 1e-12);
    assert_true(fabs(energy_error(now)) < 1e-12);
    running_close(&r);
}

/* A weight of 1 kg on a spring of 100 N/m swings at 10 rad/s. */
static void a_spring_swings_at_its_frequency(void **state)
{
    (void)state;
    running r;
    double off = 0, energy_off = 0;
    gw_scene *s = new_scene();
    gw_object *o = add_free(s, "weight", gw_v3(0, 0, -0.55));
    o->body.mass = 1;
    o->body.source = GW_MASS_GIVEN;
    add_spring(s, "weight", "world", gw_v3(0, 0, 0), 0.5);
    running_open(&r, s);
    for (int i = 0; i < 3000; i++) {
        const gw_snapshot *now = running_tick(&r);
        double z = body(now, &r, "weight")->pose.p.z;
        off = fmax(off, fabs(z + 0.5 + 0.05 * cos(10 * now->time)));
        energy_off = fmax(energy_off, fabs(energy_error(now)));
    }
    print_message("spring: %.2g m off, energy off by %.2g J\n", off, energy_off);
    assert_true(off <= 1e-9 && energy_off <= 1e-9);
    running_close(&r);
}

/* ---- submanifolds ---------------------------------------------------------------------------- */

/* A box on a thread from the ground, another on a thread from that one, and a third whose corner
 * runs along an edge of the second. */
static gw_scene *hung_on_threads(void)
{
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    s->gravity = gw_v3(0, 0, -1);
    const char *const names[3] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) {
        gw_object *o = add_free(s, names[i], gw_v3(0.05 * i, 0.02 * i, -0.3 - 0.3 * i));
        o->spin = gw_v3(0.1 * i, 0.05, -0.05);
        state_feature(s, names[i], "top",
                      (gw_element){.kind = GW_POINT, .p = {0.01, 0, 0.05}, .d = {0, 0, 0}});
        state_feature(s, names[i], "bottom",
                      (gw_element){.kind = GW_POINT, .p = {0, 0.01, -0.05}, .d = {0, 0, 0}});
        state_feature(s, names[i], "edge",
                      (gw_element){.kind = GW_LINE, .p = {0.05, 0.05, 0}, .d = {0, 0, 1}});
    }
    state_feature(s, "ground", "hook",
                  (gw_element){.kind = GW_POINT, .p = {0, 0, 0}, .d = {0, 0, 0}});
    join(s, "t1", GW_DISTANCE, "one", "top", "ground", "hook")->value = 0.25;
    join(s, "t2", GW_DISTANCE, "two", "top", "one", "bottom")->value = 0.2;
    join(s, "c3", GW_COINCIDENT, "three", "top", "two", "edge");
    return s;
}

/* Pairs whose answer is no joint of a known type are one by their submanifold: no closure is left,
 * and they move as free bodies do on the same sets' rows. */
static void pairs_that_are_no_joint_move_on_their_submanifolds(void **state)
{
    (void)state;
    gw_scene *s = hung_on_threads();
    gw_layout *l = laid_out(s);
    gw_error error = {0};
    assert_tree(l, 3, 1, 0);
    const gw_scene_system *y = l->systems[0];
    gw_system_def def = gw_scene_system_def(y);
    gw_system_body_def bodies[3];
    gw_closure_def closures[3];
    double worst = 0;
    gw_system *joints = gw_system_create(&def, &error);
    assert_non_null(joints);
    assert_int_equal(gw_model_dof(gw_system_model(joints)), 5 + 5 + 4);
    assert_int_equal(y->mobility, 14);
    for (int i = 0; i < 3; i++) {
        const gw_system_body_def *d = &y->bodies[i];
        gw_pose pose;
        gw_twist twist;
        assert_int_equal(d->joint, GW_MOBILIZER_SUBMANIFOLD);
        gw_model_body(gw_system_model(joints), i, &pose, &twist);
        bodies[i] = (gw_system_body_def){.mass = d->mass,
                                         .parent = GW_GROUND,
                                         .joint = GW_MOBILIZER_FREE,
                                         .parent_from_f = gw_pose_identity(),
                                         .body_from_m = gw_pose_identity()};
        gw_mobilizer_position(GW_MOBILIZER_FREE, 0, &pose, bodies[i].position);
        gw_mobilizer_velocity(GW_MOBILIZER_FREE, &pose, &twist, bodies[i].velocity);
        closures[i] = (gw_closure_def){.a = i, .b = d->parent, .row_count = d->set->row_count};
        memcpy(closures[i].rows, d->set->rows, sizeof closures[i].rows);
    }
    def.bodies = bodies;
    def.closures = closures;
    def.closure_count = 3;
    gw_system *rows = gw_system_create(&def, &error);
    assert_non_null(rows);
    for (int i = 0; i < 5000; i++) {
        gw_step step;
        gw_model_step(gw_system_model(joints), NULL, 1e-3, &step);
        gw_model_step(gw_system_model(rows), NULL, 1e-3, &step);
        for (int k = 0; k < 3; k++) {
            gw_pose a, b;
            gw_twist twist;
            gw_model_body(gw_system_model(joints), k, &a, &twist);
            gw_model_body(gw_system_model(rows), k, &b, &twist);
            gw_twist off = gw_pose_sub(&a, &b);
            worst = fmax(worst, gw_norm(off.v) + gw_norm(off.w));
        }
    }
    print_message("three boxes on their submanifolds: off their rows by %.2g\n", worst);
    assert_true(worst < 1e-9);
    gw_system_destroy(joints);
    gw_system_destroy(rows);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_joined_to_something_that_moves_is_its_system),
        cmocka_unit_test(joints_springs_and_velocity_constraints_make_systems_of_one),
        cmocka_unit_test(massless_objects_belong_to_no_system),
        cmocka_unit_test(a_four_bar_is_a_tree_and_a_closure),
        cmocka_unit_test(every_joint_leaves_its_coordinates),
        cmocka_unit_test(touching_surfaces_leave_what_they_should),
        cmocka_unit_test(only_what_could_go_as_a_whole_is_redundant),
        cmocka_unit_test(a_third_crank_of_a_parallelogram_is_redundant),
        cmocka_unit_test(a_stated_position_wins_over_poses),
        cmocka_unit_test(joints_of_features_begin_at_zero),
        cmocka_unit_test(a_loop_is_assembled_at_a_stated_position),
        cmocka_unit_test(a_four_bar_moves_the_same_however_it_is_stated),
        cmocka_unit_test(a_gear_couples_two_wheels),
        cmocka_unit_test(a_spring_swings_at_its_frequency),
        cmocka_unit_test(pairs_that_are_no_joint_move_on_their_submanifolds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
