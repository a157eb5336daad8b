/*
 * Assembly: mechanisms from parts that lie anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <malloc.h>

#include "rt/base/block_cholesky.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/assembly_checks.h"
#include "tests/unit/nurbs_fixture.h"
#include "tests/unit/scene_building.h"

/* Brings a scene's parts together and takes the poses over. */
static gw_assembly_result assemble(gw_scene *s, const bool *ground, gw_assembly_method method,
                                   int starts)
{
    gw_error error = {0};
    gw_assembly_result result;
    const gw_assembly_def def = {.scene = s, .ground = ground};
    const gw_assembly_options options = {.method = method, .seed = 1, .starts = starts};
    gw_assembly *a = gw_assembly_create(&def, &error);
    assert_non_null(a);
    gw_assembly_solve(a, &options, &result);
    gw_assembly_apply(a, s);
    gw_assembly_destroy(a);
    return result;
}

static double widest(const gw_scene *s)
{
    double worst = 0;
    for (int i = 0; i < s->joint_count; i++)
        worst = fmax(worst, opening(s, i));
    return worst;
}

static void a_sparse_system_is_solved(void **state)
{
    (void)state;
    enum { BODIES = 7, PAIRS = 8, SIZE = 6 * BODIES };
    static const int pairs[PAIRS][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0},
                                        {4, 1}, {5, 4}, {6, 0}, {6, 5}};
    gw_block_matrix *m = gw_block_matrix_create(BODIES, pairs, PAIRS);
    double whole[SIZE][SIZE] = {{0}}, x[SIZE], right[SIZE];
    unsigned long long random = 5;
    assert_non_null(m);
    gw_block_matrix_clear(m);
    for (int p = 0; p < 5 * PAIRS; p++) {
        const int *pair = pairs[p % PAIRS];
        double row[12];
        bool transposed;
        for (int k = 0; k < 12; k++)
            row[k] = random_uniform(&random, -1, 1);
        for (int i = 0; i < 12; i++)
            for (int k = 0; k < 12; k++) {
                double *block = gw_block_matrix_at(m, pair[i / 6], pair[k / 6], &transposed);
                whole[6 * pair[i / 6] + i % 6][6 * pair[k / 6] + k % 6] += row[i] * row[k];
                if (!transposed) /* either order of a pair is the one block */
                    block[6 * (i % 6) + k % 6] += row[i] * row[k];
            }
    }
    for (int i = 0; i < SIZE; i++)
        x[i] = right[i] = random_uniform(&random, -1, 1);
    gw_block_matrix_factor(m, 0.1);
    gw_block_matrix_solve(m, x);
    for (int i = 0; i < SIZE; i++) {
        double sum = 0.1 * x[i];
        for (int k = 0; k < SIZE; k++)
            sum += whole[i][k] * x[k];
        assert_true(fabs(sum - right[i]) < 1e-12);
    }
    gw_block_matrix_destroy(m);
}

/* ---- in slices ------------------------------------------------------------------------------- */

/* Stopped after every iteration, as many of them in as many starts lead to the same end. */
static void a_solution_that_is_stopped_goes_on(void **state)
{
    (void)state;
    for (int which = 0; which < 6; which++) {
        gw_assembly_method m = GW_ASSEMBLY_GRADIENT + (gw_assembly_method)(which % 3);
        unsigned long long random = 8;
        gw_scene *s = four_bar_of_joints();
        if (which >= 3)
            s->joints[2].b.at.p.x = 2; /* out of reach: further starts */
        scatter_parts(s, &random);
        const gw_assembly_def def = {.scene = s};
        gw_assembly_options options = {
            .method = m, .seed = 3, .starts = 3, .iterations = m == GW_ASSEMBLY_GRADIENT ? 200 : 0};
        gw_assembly *whole = gw_assembly_create(&def, NULL), *cut = gw_assembly_create(&def, NULL);
        gw_assembly_result r, slice;
        gw_assembly_solve(whole, &options, &r);
        assert_int_equal(r.end, r.held ? GW_ASSEMBLY_ALL_HOLD : GW_ASSEMBLY_NO_START_LEFT);
        int iterations = 0;
        options.limit = 1;
        do {
            gw_assembly_solve(cut, &options, &slice);
            assert_true(slice.iterations <= 1);
            iterations += slice.iterations;
            options.from = slice.progress;
        } while (slice.end == GW_ASSEMBLY_STOPPED);
        assert_int_equal(slice.end, r.end);
        assert_int_equal(slice.starts, r.starts);
        if (r.held) /* descent goes on below what counts as held where nobody stops it */
            assert_true(iterations <= r.iterations && slice.residual < 1e-9);
        else
            assert_int_equal(iterations, r.iterations);
        gw_assembly_destroy(whole);
        gw_assembly_destroy(cut);
        gw_scene_destroy(s);
    }
}

/* ---- every row ------------------------------------------------------------------------------- */

static gw_scene_constraint *constraint(gw_scene *s, int kind, const char *a, const char *fa,
                                       const char *b, const char *fb)
{
    gw_scene_constraint *c = gw_scene_add_constraint(s, NULL);
    c->kind = (gw_constraint_kind)kind;
    c->enabled = true;
    snprintf(c->id, sizeof c->id, "c%d", s->constraint_count);
    snprintf(c->a.object, sizeof c->a.object, "%s", a);
    snprintf(c->a.feature, sizeof c->a.feature, "%s", fa);
    snprintf(c->b.object, sizeof c->b.object, "%s", b);
    snprintf(c->b.feature, sizeof c->b.feature, "%s", fb);
    return c;
}

/* Two bodies and every type of joint, constraint and contact between them. */
static gw_scene *all_relations(void)
{
    gw_scene *s = empty_scene();
    const gw_pose m = place_along(gw_v3(0.1, 0.2, -0.1), gw_v3(1, 2, 2));
    const gw_pose f = place_along(gw_v3(-0.2, 0.1, 0.3), gw_v3(-2, 1, 2));
    part(s, "box", false);
    part(s, "other", false);
    part(s, "ball", false)->shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.07};
    part(s, "can", false)->shape =
        (gw_shape){.kind = GW_SHAPE_CYLINDER, .radius = 0.3, .height = 0.4};
    part(s, "dome", false)->shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.5};
    for (int type = 0; type < GW_MOBILIZER_FREE; type++)
        joint(s, (gw_mobilizer)type, "box", m, "other", f)->pitch = 0.03;
    constraint(s, GW_COINCIDENT, "box", "+x+y+z", "other", "center");
    constraint(s, GW_DISTANCE, "box", "+x+y+z", "other", "center")->value = 0.2;
    constraint(s, GW_DISTANCE, "box", "+x+y", "other", "-x-y+z")->value = 0.2;
    constraint(s, GW_DISTANCE, "box", "+x", "other", "-y")->value = 0.2;
    constraint(s, GW_COINCIDENT, "box", "+x+y", "other", "+y+z");
    constraint(s, GW_ANGLE, "box", "+x+y", "other", "+y+z")->value = 0.4;
    constraint(s, GW_PERPENDICULAR, "box", "+x+y", "other", "+y")->sense = GW_OPPOSITE;
    constraint(s, GW_SLIDING, "ball", "surface", "other", "+z");
    constraint(s, GW_ROLLING, "ball", "surface", "can", "surface");
    constraint(s, GW_ROLLING, "ball", "surface", "dome", "surface")->inside = true;
    constraint(s, GW_SLIDING, "can", "surface", "other", "+z");
    constraint(s, GW_SLIDING, "can", "top-rim", "other", "+z");
    return s;
}

static void rows_have_their_derivatives(void **state)
{
    (void)state;
    unsigned long long random = 3;
    for (int round = 0; round < 20; round++) {
        gw_scene *s = all_relations();
        scatter_parts(s, &random);
        const gw_assembly_def def = {.scene = s};
        gw_assembly *w = gw_assembly_create(&def, NULL);
        assert_non_null(w);
        for (int t = 0; t < w->term_count; t++)
            if (w->terms[t].kind != GW_TERM_SCREW) /* exact where the axes are along one another:
                                                      see the screw below */
                check_derivatives(w, t);
        gw_assembly_destroy(w);
        gw_scene_destroy(s);
    }
}

static const gw_vec3 radii = {0.05, 0.04, 0.03};

/* A free-form egg whose surface slides on the ground's top, and another on the first. */
static gw_scene *eggs(void)
{
    gw_scene *s = empty_scene();
    part(s, "ground", true);
    part(s, "egg", false);
    part(s, "other", false);
    for (int i = 1; i < 3; i++)
        s->objects[i].shape =
            (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_ellipsoid(radii, NULL)};
    constraint(s, GW_SLIDING, "egg", "surface", "ground", "+z");
    constraint(s, GW_ROLLING, "other", "surface", "egg", "surface");
    return s;
}

/* How far the egg reaches along a unit vector of the world. */
static double reach(const gw_object *egg, gw_vec3 n)
{
    gw_vec3 in_egg = gw_rotate(gw_quat_conj(egg->pose.q), n);
    return gw_norm(gw_v3(radii.x * in_egg.x, radii.y * in_egg.y, radii.z * in_egg.z));
}

static void a_common_normal_has_its_derivatives(void **state)
{
    (void)state;
    unsigned long long random = 4;
    for (int round = 0; round < 20; round++) {
        gw_scene *s = eggs();
        scatter_parts(s, &random);
        for (int i = 1; i < 3; i++)
            s->objects[i].pose.p =
                gw_add(gw_v3(0, 0, 0.1 * i), gw_scale(0.01, s->objects[i].pose.p));
        const gw_assembly_def def = {.scene = s};
        gw_assembly *w = gw_assembly_create(&def, NULL);
        assert_non_null(w);
        assert_int_equal(w->term_count, 2);
        for (int t = 0; t < 2; t++) {
            assert_int_equal(w->terms[t].kind, GW_TERM_TOUCH);
            check_derivatives(w, t);
        }
        gw_assembly_destroy(w);
        gw_scene_destroy(s);
    }
}

/* ---- from anywhere --------------------------------------------------------------------------- */

static void a_four_bar_comes_together_from_anywhere(void **state)
{
    (void)state;
    for (unsigned long long seed = 0; seed < 100; seed++)
        for (gw_assembly_method m = GW_ASSEMBLY_GRADIENT; m < GW_ASSEMBLY_METHOD_COUNT; m++) {
            unsigned long long random = seed;
            gw_scene *s = four_bar_of_joints();
            scatter_parts(s, &random);
            gw_assembly_result r = assemble(s, NULL, m, 0);
            assert_true(r.held && r.residual < 1e-9 && r.method == m);
            assert_true(r.starts <= 4);
            assert_true(widest(s) < 1e-8);
            gw_scene_destroy(s);
        }
}

static void a_stewart_platform_comes_together_from_anywhere(void **state)
{
    (void)state;
    for (unsigned long long seed = 0; seed < 100; seed++) {
        unsigned long long random = seed;
        gw_scene *s = stewart_platform(seed % 2 ? 0.6 : -1);
        assert_int_equal(s->object_count, 14);
        scatter_parts(s, &random);
        gw_assembly_result r = assemble(s, NULL, GW_ASSEMBLY_AUTO, 0);
        assert_true(r.held && r.method == GW_ASSEMBLY_LM);
        assert_true(r.starts <= 4);
        assert_true(widest(s) < 1e-9);
        for (int i = 0; i < s->joint_count; i++)
            if (seed % 2 && s->joints[i].type == GW_MOBILIZER_PRISMATIC)
                assert_true(fabs(relative(s, i).p.z - 0.6) < 1e-9);
        gw_scene_destroy(s);
    }
}

/* One start of descent ends beside the rows two times in three; the next one arrives. */
static void a_stewart_platform_comes_together_by_descent(void **state)
{
    (void)state;
    for (unsigned long long seed = 0; seed < 100; seed += 4) {
        unsigned long long random = seed;
        gw_scene *s = stewart_platform(-1);
        scatter_parts(s, &random);
        gw_assembly_result r = assemble(s, NULL, GW_ASSEMBLY_GRADIENT, 0);
        assert_true(r.held && r.starts <= 2);
        assert_true(widest(s) < 1e-8);
        gw_scene_destroy(s);
    }
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    (void)state;
    gw_scene *twice[2];
    gw_assembly_result r[2];
    for (int i = 0; i < 2; i++) {
        unsigned long long random = 11;
        twice[i] = four_bar_of_joints();
        scatter_parts(twice[i], &random);
        r[i] = assemble(twice[i], NULL, GW_ASSEMBLY_AUTO, 0);
    }
    assert_int_equal(r[0].iterations, r[1].iterations);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(&twice[0]->objects[i].pose, &twice[1]->objects[i].pose,
                            sizeof(gw_pose));
    gw_scene_destroy(twice[0]);
    gw_scene_destroy(twice[1]);
}

/* Rows that are searched for on several threads are those of one. */
static void threads_do_not_change_the_bits(void **state)
{
    (void)state;
    gw_pose alone[13];
    for (int threads = 0; threads < 4; threads++) {
        unsigned long long random = 12;
        gw_scene *s = touching_eggs(6);
        gw_assembly_result r;
        scatter_parts(s, &random);
        const gw_assembly_def def = {.scene = s, .threads = threads};
        const gw_assembly_options options = {.seed = 1};
        gw_assembly *a = gw_assembly_create(&def, NULL);
        assert_non_null(a);
        gw_assembly_solve(a, &options, &r);
        assert_true(r.held);
        if (threads == 0)
            memcpy(alone, gw_assembly_poses(a), sizeof alone);
        assert_memory_equal(alone, gw_assembly_poses(a), sizeof alone);
        gw_assembly_destroy(a);
        gw_scene_destroy(s);
    }
}

static void every_joint_closes(void **state)
{
    (void)state;
    unsigned long long random = 1;
    for (int i = 0; i < 10 * GW_MOBILIZER_FREE; i++) {
        gw_scene *s = empty_scene();
        part(s, "ground", true);
        part(s, "part", false);
        joint(s, (gw_mobilizer)(i % GW_MOBILIZER_FREE), "part",
              place_along(gw_v3(0.1, 0, 0.2), gw_v3(1, 1, 0)), "ground",
              place_along(gw_v3(0, 0.3, 0), gw_v3(0, 1, 2)))
            ->pitch = 0.02;
        scatter_parts(s, &random);
        assert_true(assemble(s, NULL, GW_ASSEMBLY_AUTO, 0).held);
        assert_true(opening(s, 0) < 1e-7);
        gw_scene_destroy(s);
    }
}

/* Drawn upside down the axes are opposite: a hinge is never flipped, and descent alone would stay
 * there. */
static void a_hinge_drawn_upside_down_turns_over(void **state)
{
    (void)state;
    gw_scene *s = four_bar_of_joints();
    for (int i = 1; i < 4; i++)
        s->objects[i].pose.q = gw_quat_axis(gw_v3(1, 0, 0), GW_PI);
    assert_true(assemble(s, NULL, GW_ASSEMBLY_AUTO, 0).held);
    assert_true(widest(s) < 1e-9);
    gw_scene_destroy(s);
}

/* ---- positions, constraints, contacts, links ------------------------------------------------- */

static void a_stated_position_is_kept(void **state)
{
    (void)state;
    unsigned long long random = 2;
    gw_scene *s = four_bar_of_joints();
    s->joints[0].has_position = true;
    s->joints[0].position[0] = 0.7;
    scatter_parts(s, &random);
    assert_true(assemble(s, NULL, GW_ASSEMBLY_AUTO, 0).held);
    assert_true(fabs(2 * atan2(relative(s, 0).q.z, relative(s, 0).q.w) - 0.7) < 1e-9);
    gw_scene_destroy(s);
}

/* A joint between features has its zero where the file's poses have it: a stated position is
 * written anew, or it would be taken twice. */
static void a_position_between_features_starts_at_the_new_poses(void **state)
{
    (void)state;
    gw_scene *s = empty_scene();
    part(s, "ground", true);
    part(s, "door", false)->pose.p = gw_v3(1, 0, 0);
    gw_scene_joint *j = joint(s, GW_MOBILIZER_REVOLUTE, "door", place(gw_v3(0, 0, 0)), "ground",
                              place(gw_v3(0, 0, 0)));
    strcpy(j->a.feature, "+x+y");
    strcpy(j->b.feature, "+x+y");
    j->has_position = true;
    j->position[0] = 0.5;
    assert_true(assemble(s, NULL, GW_ASSEMBLY_AUTO, 0).held);
    gw_quat q = s->objects[1].pose.q;
    assert_true(fabs(2 * atan2(q.z, q.w) - 0.5) < 1e-9);
    assert_true(fabs(s->joints[0].position[0]) < 1e-9);
    gw_scene_destroy(s);
}

static void constraints_come_to_hold(void **state)
{
    (void)state;
    unsigned long long random = 4;
    for (int i = 0; i < 20; i++) {
        gw_scene *s = empty_scene();
        part(s, "ground", true);
        part(s, "box", false);
        part(s, "lid", false);
        constraint(s, GW_COINCIDENT, "box", "-z", "ground", "+z")->sense = GW_SAME;
        constraint(s, GW_DISTANCE, "box", "center", "ground", "center")->value = 0.3;
        constraint(s, GW_DISTANCE, "lid", "-z", "box", "+z")->value = 0.1;
        constraint(s, GW_COINCIDENT, "lid", "+x+y", "box", "+x+y");
        scatter_parts(s, &random);
        assert_true(assemble(s, NULL, GW_ASSEMBLY_AUTO, 0).held);
        gw_pose box = s->objects[1].pose, lid = s->objects[2].pose;
        assert_true(fabs(gw_norm(box.p) - 0.3) < 1e-9);
        /* the lower face's normal points up: upside down */
        assert_true(fabs(gw_rotate(box.q, gw_v3(0, 0, 1)).z + 1) < 1e-9);
        assert_true(fabs(box.p.z) < 1e-9);
        double height = gw_dot(gw_rotate(box.q, gw_v3(0, 0, 1)),
                               gw_sub(gw_pose_point(&lid, gw_v3(0, 0, -0.025)),
                                      gw_pose_point(&box, gw_v3(0, 0, 0.025))));
        assert_true(fabs(height - 0.1) < 1e-9);
        gw_scene_destroy(s);
    }
}

static void surfaces_come_to_touch(void **state)
{
    (void)state;
    unsigned long long random = 6;
    gw_scene *s = empty_scene();
    part(s, "ground", true);
    part(s, "ball", false)->shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.07};
    part(s, "coin", false)->shape =
        (gw_shape){.kind = GW_SHAPE_CYLINDER, .radius = 0.3, .height = 0.02};
    part(s, "log", false)->shape =
        (gw_shape){.kind = GW_SHAPE_CYLINDER, .radius = 0.2, .height = 1};
    constraint(s, GW_ROLLING, "ball", "surface", "ground", "+z");
    constraint(s, GW_ROLLING, "coin", "bottom-rim", "ground", "+z");
    constraint(s, GW_SLIDING, "log", "surface", "ground", "+z");
    scatter_parts(s, &random);
    assert_true(assemble(s, NULL, GW_ASSEMBLY_AUTO, 0).held);
    gw_pose coin = s->objects[2].pose, log = s->objects[3].pose;
    gw_vec3 u = gw_rotate(coin.q, gw_v3(0, 0, 1));
    assert_true(fabs(s->objects[1].pose.p.z - 0.095) < 1e-9);
    assert_true(fabs(log.p.z - 0.225) < 1e-9);
    assert_true(fabs(gw_rotate(log.q, gw_v3(0, 0, 1)).z) < 1e-9);
    double rim = gw_pose_point(&coin, gw_v3(0, 0, -0.01)).z - 0.3 * hypot(u.x, u.y);
    assert_true(fabs(rim - 0.025) < 1e-9);
    gw_scene_destroy(s);
}

static void free_form_surfaces_come_to_touch(void **state)
{
    (void)state;
    unsigned long long random = 9;
    for (int round = 0; round < 20; round++) {
        gw_scene *s = eggs();
        scatter_parts(s, &random);
        assert_true(assemble(s, NULL, GW_ASSEMBLY_AUTO, 0).held);
        const gw_object *egg = &s->objects[1], *other = &s->objects[2];
        assert_true(fabs(egg->pose.p.z - reach(egg, gw_v3(0, 0, 1)) - 0.025) < 1e-9);
        /* convex bodies touch from outside: some direction parts them, none with room to spare */
        gw_vec3 apart = gw_sub(other->pose.p, egg->pose.p), n = gw_unit(apart);
        double room = -1;
        for (int k = 0; k < 20000; k++) {
            gw_vec3 off = {random_uniform(&random, -1, 1), random_uniform(&random, -1, 1),
                           random_uniform(&random, -1, 1)};
            gw_vec3 way = gw_unit(gw_mul_add(n, pow(0.1, 1 + k / 2500), off));
            double gap = gw_dot(way, apart) - reach(egg, way) - reach(other, way);
            if (gap > room)
                room = gap, n = way;
        }
        assert_true(fabs(room) < 1e-9);
        gw_scene_destroy(s);
    }
}

/* Parts of all shapes, of which the first four stand. */
static gw_scene *all_shapes(void)
{
    gw_scene *s = empty_scene();
    part(s, "table", true);
    part(s, "tube", true)->shape =
        (gw_shape){.kind = GW_SHAPE_CYLINDER, .radius = 0.1, .height = 0.5};
    part(s, "dome", true)->shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.3};
    part(s, "hill", true)->shape = (gw_shape){
        .kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_ellipsoid(gw_v3(0.5, 0.4, 0.3), NULL)};
    part(s, "box", false);
    part(s, "can", false)->shape =
        (gw_shape){.kind = GW_SHAPE_CYLINDER, .radius = 0.03, .height = 0.1};
    part(s, "ball", false)->shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.05};
    part(s, "cone", false)->shape =
        (gw_shape){.kind = GW_SHAPE_CONE, .radius = 0.05, .height = 0.1};
    part(s, "egg", false)->shape =
        (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_ellipsoid(radii, NULL)};
    part(s, "saddle", false)->shape =
        (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = saddle_of(0.1, 0.05)};
    for (int i = 4; i < s->object_count; i++)
        s->objects[i].massless = true;
    return s;
}

/* The residual that the layout measures from the features, independent of the rows. */
static double measured(const gw_scene *s)
{
    gw_pose poses[16];
    gw_error error = {0};
    gw_layout *l = gw_layout_create(s, NULL, &error);
    assert_non_null(l);
    assert_true(s->object_count <= 16);
    for (int i = 0; i < s->object_count; i++)
        poses[i] = s->objects[i].pose;
    double residual = gw_layout_residual(l, poses);
    gw_layout_destroy(l);
    return residual;
}

static void every_kind_of_constraint_comes_to_hold(void **state)
{
    (void)state;
    static const char *const of_part[][2] = {
        {"box", "+x+y+z"},     {"box", "+x+y"},    {"box", "+x"},      {"can", "axis"},
        {"can", "center"},     {"can", "top"},     {"can", "surface"}, {"can", "top-rim"},
        {"ball", "surface"},   {"egg", "surface"}, {"cone", "apex"},   {"cone", "base-rim"},
        {"saddle", "surface"}, {"saddle", "u0"}};
    static const char *const of_ground[][2] = {
        {"table", "+z"},     {"table", "+x+y"},   {"table", "+x+y+z"}, {"tube", "axis"},
        {"tube", "surface"}, {"dome", "surface"}, {"hill", "surface"}, {"hill", "v0"}};
    enum {
        PARTS = sizeof of_part / sizeof *of_part,
        GROUNDS = sizeof of_ground / sizeof *of_ground
    };
    unsigned long long random = 1;
    int checked = 0;
    for (int k = 0; k < 3 * (GW_SLIDING + 1) * PARTS * GROUNDS; k++) {
        int kind = k / 3 / PARTS / GROUNDS;
        const char *const *a = of_part[k / 3 / GROUNDS % PARTS], *const *b =
                                                                     of_ground[k / 3 % GROUNDS];
        gw_error error = {0};
        gw_scene *s = all_shapes();
        gw_scene_constraint *c = constraint(s, kind, a[0], a[1], b[0], b[1]);
        c->sense = (gw_sense)(k % 3);
        c->value = kind == GW_DISTANCE ? 0.07 : kind == GW_ANGLE ? 0.6 : 0;
        scatter_parts(s, &random);
        if (gw_scene_check(s, &error)) { /* these features, this kind and this sense fit */
            gw_assembly_result r = assemble(s, NULL, GW_ASSEMBLY_AUTO, 0);
            bool holds = r.held && r.starts <= 4 && (kind == GW_SLIDING || measured(s) < 1e-8);
            if (!holds)
                print_message("kind %d of %s/%s and %s/%s, sense %d: %g\n", kind, a[0], a[1], b[0],
                              b[1], k % 3, r.residual);
            assert_true(holds);
            checked++;
        }
        gw_scene_destroy(s);
    }
    assert_true(checked > 300);
}

/* Inverse kinematics: the tip of an arm of three links is pulled to a point. */
static void links_of_a_mechanism_follow(void **state)
{
    (void)state;
    gw_scene *s = empty_scene();
    gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
    part(s, "ground", true);
    strcpy(m->id, "arm");
    assert_true(gw_mechanism_resize(m, 3));
    for (int i = 0; i < 3; i++) {
        m->links[i].parent_from_joint.p = gw_v3(i > 0 ? 0.3 : 0, 0, 0);
        m->links[i].axis = i == 0 ? gw_v3(0, 0, 1) : gw_v3(0, 1, 0);
        m->position[i] = 0.2;
    }
    joint(s, GW_MOBILIZER_SPHERICAL, "arm.2", place(gw_v3(0.3, 0, 0)), "world",
          place(gw_v3(0.1, 0.4, 0.3)));
    assert_true(assemble(s, NULL, GW_ASSEMBLY_AUTO, 0).held);
    gw_pose links[3];
    gw_mechanism_poses(m, NULL, links);
    gw_vec3 tip = gw_pose_point(&links[2], gw_v3(0.3, 0, 0));
    assert_true(gw_distance(tip, gw_v3(0.1, 0.4, 0.3)) < 1e-9);
    gw_scene_destroy(s);
}

/* ---- what stands, what remains --------------------------------------------------------------- */

/* The platform is a finger that moves: the legs follow it by one iteration a tick. */
static void a_finger_that_moves_is_followed_by_one_iteration(void **state)
{
    (void)state;
    gw_scene *s = stewart_platform(-1);
    bool ground[14] = {true, true};
    s->objects[1].pose.p = gw_v3(0, 0, 0.6);
    assert_true(assemble(s, ground, GW_ASSEMBLY_AUTO, 0).held);
    const gw_assembly_def def = {.scene = s, .ground = ground};
    const gw_assembly_options once = {.method = GW_ASSEMBLY_NEWTON, .starts = 1, .iterations = 1};
    gw_assembly *a = gw_assembly_create(&def, NULL);
    assert_non_null(a);
    struct mallinfo2 before = mallinfo2();
    for (int tick = 0; tick < 2000; tick++) { /* 0.3 m/s, 0.5 rad/s at 1 kHz */
        gw_assembly_result r;
        gw_twist d = {{3e-4 * cos(0.005 * tick), 0, 3e-4 * sin(0.005 * tick)}, {0, 0, 5e-4}};
        gw_pose *platform = &gw_assembly_poses(a)[1];
        *platform = gw_pose_add(platform, &d);
        gw_assembly_solve(a, &once, &r);
        assert_true(r.iterations == 1 && r.residual < 1e-6);
    }
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(before.uordblks, after.uordblks);
    assert_int_equal(before.fordblks, after.fordblks);
    gw_assembly_destroy(a);
    gw_scene_destroy(s);
}

static void what_does_not_hold_is_named(void **state)
{
    (void)state;
    gw_scene *s = four_bar_of_joints();
    part(s, "peg", false);
    joint(s, GW_MOBILIZER_FIXED, "peg", place(gw_v3(0, 0, 0)), "ground", place(gw_v3(1, 0, 0)));
    s->joints[2].b.at.p.x = 2; /* out of the linkage's reach */
    const gw_assembly_def def = {.scene = s};
    const gw_assembly_options options = {.seed = 1, .starts = 5};
    gw_assembly_result r;
    gw_assembly *a = gw_assembly_create(&def, NULL);
    assert_non_null(a);
    gw_assembly_solve(a, &options, &r);
    assert_false(r.held);
    assert_int_equal(r.starts, 5);
    /* the least that is open: 2 - 0.6 m, in four hinges */
    assert_true(r.residual > 0.3 && r.residual < 1.5);
    assert_string_equal(gw_assembly_remaining(a, 0), "j1");
    assert_string_equal(gw_assembly_remaining(a, 3), "j4");
    assert_null(gw_assembly_remaining(a, 4)); /* the peg holds */
    gw_assembly_destroy(a);
    gw_scene_destroy(s);
}

static void where_nothing_can_move_is_said(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *s = four_bar_of_joints();
    const bool all[4] = {true, true, true, true};
    gw_assembly_def def = {.scene = s, .ground = all};
    assert_null(gw_assembly_create(&def, &error));
    assert_int_equal(error.code, GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "nothing to move"));
    gw_scene_destroy(s);
}

static void a_long_chain_comes_together(void **state)
{
    (void)state;
    gw_scene *s = hanging_chain(200);
    gw_assembly_result r = assemble(s, NULL, GW_ASSEMBLY_AUTO, 1);
    assert_true(r.held);
    assert_true(widest(s) < 1e-9);
    gw_scene_destroy(s);
}

/* ---- scenes whose parts lie apart ------------------------------------------------------------ */

static void constraints_between_parts_that_lie_apart_are_laid_out(void **state)
{
    (void)state;
    for (unsigned long long seed = 0; seed < 20; seed++) {
        unsigned long long random = seed;
        gw_error error = {0};
        gw_scene *s = four_bar();
        scatter_parts(s, &random);
        gw_layout *l = gw_layout_create(s, NULL, &error);
        assert_non_null(l);
        assert_null(gw_layout_unsolved(l));
        assert_true(gw_layout_residual(l, l->poses) < 1e-9);
        gw_layout_destroy(l);
        gw_scene_destroy(s);
    }
}

/* All bars in line: no motion of the hinges closes the loop to first order. */
static void joints_of_a_loop_that_is_drawn_in_line_are_closed(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *s = four_bar_of_joints();
    s->objects[2].free = true;
    gw_layout *l = gw_layout_create(s, NULL, &error);
    assert_non_null(l);
    assert_true(gw_layout_residual(l, l->poses) < 1e-9);
    for (int i = 0; i < s->object_count; i++)
        s->objects[i].pose = l->poses[i];
    assert_true(widest(s) < 1e-9);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

static void a_loop_that_cannot_close_is_refused_by_name(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *s = four_bar_of_joints();
    s->objects[2].free = true;
    s->joints[2].b.at.p.x = 2;
    assert_null(gw_layout_create(s, NULL, &error));
    assert_int_equal(error.code, GW_UNHANDLED);
    assert_string_equal(error.where, "/joints/0");
    assert_non_null(strstr(error.message, "j1, j2, j3 and 1 more cannot hold together"));
    gw_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sparse_system_is_solved),
        cmocka_unit_test(a_solution_that_is_stopped_goes_on),
        cmocka_unit_test(rows_have_their_derivatives),
        cmocka_unit_test(a_common_normal_has_its_derivatives),
        cmocka_unit_test(a_four_bar_comes_together_from_anywhere),
        cmocka_unit_test(a_stewart_platform_comes_together_from_anywhere),
        cmocka_unit_test(a_stewart_platform_comes_together_by_descent),
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
        cmocka_unit_test(threads_do_not_change_the_bits),
        cmocka_unit_test(every_joint_closes),
        cmocka_unit_test(a_hinge_drawn_upside_down_turns_over),
        cmocka_unit_test(a_stated_position_is_kept),
        cmocka_unit_test(a_position_between_features_starts_at_the_new_poses),
        cmocka_unit_test(constraints_come_to_hold),
        cmocka_unit_test(surfaces_come_to_touch),
        cmocka_unit_test(free_form_surfaces_come_to_touch),
        cmocka_unit_test(every_kind_of_constraint_comes_to_hold),
        cmocka_unit_test(links_of_a_mechanism_follow),
        cmocka_unit_test(a_finger_that_moves_is_followed_by_one_iteration),
        cmocka_unit_test(what_does_not_hold_is_named),
        cmocka_unit_test(where_nothing_can_move_is_said),
        cmocka_unit_test(a_long_chain_comes_together),
        cmocka_unit_test(constraints_between_parts_that_lie_apart_are_laid_out),
        cmocka_unit_test(joints_of_a_loop_that_is_drawn_in_line_are_closed),
        cmocka_unit_test(a_loop_that_cannot_close_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
