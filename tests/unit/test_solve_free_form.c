/*
 * Sets on free-form shapes without a closed form: curves that end where an offset folds or at the
 * shape's edge, each found, and seeded where it can be traced from.
 */
#include "tests/unit/solve_util.h"

#include <stdlib.h>

#include "rt/geometry/nurbs_motion.h"
#include "rt/geometry/nurbs_primitive.h"

#define RING 9

/* A cone of revolution: quadratic arcs around, lines from the base to the apex. */
static gw_nurbs *cone(void)
{
    static const double round[] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4}, along[] = {0, 0, 1, 1};
    static const gw_vec3 base[RING] = {
        {0.04602580756960262, -1.8465533340544498, -1.174615328947028},
        {-0.33974295121895115, -1.7616786677297853, -0.8680557821065884},
        {-0.033158005173880234, -1.534033469155952, -0.5452813493755846},
        {0.2734269408711905, -1.306388270582119, -0.2225069166445809},
        {0.659195699659744, -1.3912629369067837, -0.5290664634850204},
        {1.0449644584482978, -1.4761376032314482, -0.83562601032546},
        {0.7383795124032269, -1.7037828018052814, -1.1584004430564638},
        {0.4317945663581561, -1.9314280003791144, -1.4811748757874676},
        {0.04602580756960262, -1.8465533340544498, -1.174615328947028}};
    gw_vec3 points[2 * RING];
    double weights[2 * RING];
    for (int i = 0; i < RING; i++) {
        points[2 * i] = base[i];
        points[2 * i + 1] = gw_v3(0.2169581563698116, -0.9196990653654287, -1.216127938435999);
        weights[2 * i] = weights[2 * i + 1] = i % 2 ? sqrt(0.5) : 1;
    }
    gw_error error;
    gw_nurbs *s = gw_nurbs_create(&(gw_nurbs_def){.dimension = 2,
                                                  .degree = {2, 1},
                                                  .count = {RING, 2},
                                                  .knot_count = {12, 4},
                                                  .knots = {round, along},
                                                  .points = points,
                                                  .weights = weights},
                                  &error);
    assert_non_null(s);
    return s;
}

/* An axis inside a cone along its normal, and a plane that holds a line: eight curves, whose ends
 * are at the base and where the offset meets the cone's axis. */
static void curves_of_an_axis_inside_a_cone_are_all_found(void **unused)
{
    (void)unused;
    static const gw_pose on[] = {
        {{0.61298032646596612, -1.5199976899824521, -1.3161374896510649},
         {0.88282724031975168, 0.41183576782248099, -0.22362160365030712, -0.031634513941959257}},
        {{0.1439700937467934, -1.5557729311204345, -1.4391509045075475},
         {-0.76910399864321521, -0.47932102741536403, 0.024621697338203935, 0.42204758495776656}},
        {{0.56046598083980614, -0.54439461270503786, -1.2483863479963444},
         {0.53701401599749266, 0.53861511357544745, 0.19508523659947372, 0.61923457309107011}},
        {{0.50528104470326562, -1.5736913010110538, -1.3957084937360265},
         {-0.85850620407503819, -0.47505434322870499, 0.15602606503708594, 0.11378196506149678}}};
    gw_nurbs *s = cone();
    gw_element surface = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s};
    gw_constraint c[] = {
        {.kind = GW_NORMAL,
         .value = -0.047599216470850414,
         .mobile = line(gw_v3(-0.41524063982996862, 0.45974976763506947, -0.016870820098860539),
                        gw_v3(-1, 0, 0)),
         .fixed = surface},
        {.kind = GW_COINCIDENT,
         .mobile = {.kind = GW_PLANE,
                    .p = {0, 1, -1},
                    .d = {-0.3239270957022285, -0.77615445758088875, -0.54097642707167526}},
         .fixed = line(gw_v3(0.19292150353263904, -1.4561229989251061, -1.0989207194994366),
                       gw_v3(0.71917773070948887, 0.69479033057716877, -0.0070560745473949704))}};
    gw_pose pose = {
        {-0.20591571746325688, 0.7000207323108667, 0.90902904283731245},
        {-0.92294743805265378, -0.24744786631591459, 0.20391557809828781, -0.21296952142639006}};
    gw_problem p = {pose, 1, 2, c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    assert_int_equal(solution.branch_count, 8);
    for (int k = 0; k < 4; k++) {
        double least = HUGE_VAL;
        gw_pose x;
        for (int i = 0; i < solution.branch_count; i++)
            least = fmin(least, gw_submanifold_nearest(&solution.branches[i].set, &on[k], 1, &x));
        assert_true(least < 1e-6);
    }
    gw_nurbs_put(s);
}

/* A line along the normal of a cone, a plane and an angle: two curves, which end at the apex. There
 * is no normal, and the poses nearest to the problem's are those ends. */
static void curves_that_end_at_an_apex_are_kept(void **unused)
{
    (void)unused;
    gw_error error;
    gw_nurbs *s = gw_nurbs_cone(0.863502046621766, 1.0271467107628443, &error);
    assert_non_null(s);
    gw_constraint c[] = {
        {.kind = GW_NORMAL,
         .value = 0.2609476446351951,
         .mobile = {.kind = GW_LINE,
                    .p = {-1.566485942532214, -0.56960895186666116, 0.40675101671312897},
                    .d = {-0.42729249653391205, -0.68757649038862867, 0.58707724557393159}},
         .fixed = {.kind = GW_SURFACE,
                   .p = {-0.18305358916000269, -0.90944961219510967, -0.90248457854566388},
                   .q = {-0.20006439005955498, 0.33868405028681842, 0.91512712263832874,
                         0.088372525838674776},
                   .nurbs = s}},
        {.kind = GW_COINCIDENT,
         .mobile = {.kind = GW_PLANE,
                    .p = {0.35836306604272994, 0.74017700465500669, -0.54536294967818377},
                    .d = {0.68238459141100138, -0.077792862357874068, -0.72684216991793305}},
         .fixed = {.kind = GW_POINT,
                   .p = {-0.1664213947445059, -1.0722950654018226, 0.49712831745286279}}},
        {.kind = GW_ANGLE,
         .value = 1.1587835979177594,
         .mobile = {.kind = GW_LINE,
                    .p = {0, 0, 0},
                    .d = {-0.99944007696442227, 0.016037310657545309, -0.029365578901549665}},
         .fixed = {.kind = GW_LINE,
                   .p = {0, 0, 0},
                   .d = {-0.26215192859116609, -0.90266801760174575, -0.3412723492093469}}},
    };
    gw_pose pose = {
        {0.61243066205408714, -0.36709582519101969, -0.70192283293288837},
        {-0.41618451904108095, 0.4390491254097279, 0.26883553937678478, -0.74950234446297126}};
    gw_problem p = {pose, 1, 3, c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    assert_int_equal(solution.branch_count, 2);
    gw_nurbs_put(s);
}

/* Both senses of an axis along an ellipsoid's normal, and a point on an ellipsoid of the body: the
 * search for the first leaves its share of the work to the second, which the pose is on. */
static void either_sense_has_its_share_of_the_work(void **unused)
{
    (void)unused;
    gw_error error;
    gw_nurbs *s = gw_nurbs_ellipsoid(gw_v3(50, 40, 30), &error);
    gw_vec3 centre = {-38.244150918083442, 15.032041401899022, -83.666895693851728};
    gw_constraint c[] = {
        {.kind = GW_NORMAL,
         .value = -22.56538726051101,
         .mobile =
             line(centre, gw_v3(0.7438760839833352, 0.6239051962776885, -0.23956351503373216)),
         .fixed = {.kind = GW_SURFACE,
                   .p = {-124.28500316160402, -113.34835019072325, -32.692400720394687},
                   .q = {0.90416796824850498, -0.054042712589632017, -0.40505427381846243,
                         0.12446166345796186},
                   .nurbs = s}},
        {.kind = GW_COINCIDENT,
         .mobile = {.kind = GW_SURFACE,
                    .p = centre,
                    .q = {0.67257767073481156, 0.13477996320231847, 0.71633479183047821,
                          -0.12782059443337918},
                    .nurbs = s},
         .fixed = point(-150.86406814354058, -94.63706636308494, -27.290810210235293)}};
    gw_pose pose = {
        {-78.424441234764018, -170.29901103955854, -103.61294288635629},
        {0.5416435443790395, 0.40912759151051509, 0.72843120194357747, -0.092870171381083055}};
    gw_problem p = {pose, 100, 2, c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    assert_int_equal(solution.branch_count, 2);
    assert_true(solution.branches[0].distance < 1e-6);
    gw_nurbs_put(s);
}

/* The nearest pose of a point beside a cone near whose apex closest points are hard to find: with
 * little work it is a pose of the set all the same. */
static void a_nearest_pose_takes_no_more_work_than_is_left(void **unused)
{
    (void)unused;
    gw_nurbs *s = cone();
    gw_constraint c = {.kind = GW_DISTANCE,
                       .value = 0.12,
                       .mobile = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s},
                       .fixed = point(0.3, -0.2, 0.1)};
    gw_pose pose = {{-0.7, 0.3, -0.6}, gw_quat_axis(gw_unit(gw_v3(1, 2, 3)), 1.1)};
    gw_problem p = {pose, 1, 1, &c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    gw_submanifold set = solution.branches[0].set;
    assert_null(set.translation.locus.work);
    assert_null(set.rows[0].work);
    long work = 1000000, before = work;
    gw_pose x;
    gw_submanifold_count_work(&set, &work);
    gw_submanifold_nearest(&set, &pose, 1, &x);
    long whole = before - work;
    work = 0;
    gw_submanifold_nearest(&set, &pose, 1, &x);
    assert_true(whole > 1000 && -work <= whole);
    assert_true(gw_constraint_residual(&c, &x, 1) < 1e-9);
    gw_nurbs_put(s);
}

/* Of a point on a patch, beside a plane that keeps its distance from a line, one freedom's curve
 * takes more work than its share and ends with it; the other is drawn whole. */
static void curves_of_a_branch_share_the_work(void **unused)
{
    (void)unused;
    static const double knots[] = {0, 0, 1, 1};
    static const gw_vec3 corners[] = {
        {6.214031389999516e-05, 1.8288803195143501e-05, -4.5134683346952244e-05},
        {0.00010895545336798686, 4.6297253498117856e-06, 4.2168078974795989e-05},
        {0.00014984938446309327, 3.7485606729030526e-05, -8.9164237910209154e-05},
        {0.00019666452393108497, 2.3826528883698808e-05, -1.8614755884609247e-06}};
    gw_error error;
    gw_nurbs *s = gw_nurbs_create(&(gw_nurbs_def){.dimension = 2,
                                                  .degree = {1, 1},
                                                  .count = {2, 2},
                                                  .knot_count = {4, 4},
                                                  .knots = {knots, knots},
                                                  .points = corners},
                                  &error);
    assert_non_null(s);
    gw_element patch = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s};
    gw_vec3 on = {1.0816948303570296e-05, 5.2774014408453976e-05, -2.1513224591384629e-05};
    gw_vec3 along = {0.68607303678582887, -0.22775235319949935, -0.69096501634132035};
    gw_vec3 far = {-3.4982648198389947e-05, -9.9544249417400085e-05, 4.0246560765850009e-05};
    gw_vec3 held = {1.4721770139728419e-06, 4.6181485798010852e-05, 0.00010543405019779565};
    gw_constraint c[] = {coincident(point(1e-4, 0, 1e-4), patch),
                         distance(plane(on, gw_v3(1, 1, -1)), line(gw_v3(1e-4, -1e-4, 0), along),
                                  -0.00015297458959634508),
                         coincident(point_at(far), plane(held, gw_v3(1, 0, -1)))};
    gw_problem p = {
        {{7.5251462816216207e-05, 6.3366661751243351e-05, 8.7677180816495783e-06},
         {0.81066057373578992, -0.42398761012032343, -0.34439156140995397, 0.21085159018710403}},
        1e-4,
        3,
        c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    const gw_branch *b = &solution.branches[0];
    assert_int_equal(b->set.dof, 2);
    for (int freedom = 0; freedom < 2; freedom++) {
        gw_coordinate_curve curve, whole;
        gw_coordinate_curve_along(&b->set, &b->nearest, freedom, 1e-4, 5e-6, 48, &whole);
        gw_branch_curve(b, &b->nearest, freedom, 1e-4, 5e-6, 48, &curve);
        assert_true(curve.count > 1);
        assert_true(freedom == 0 ? curve.count < whole.count : curve.count == whole.count);
        for (int i = 0; i < 3 * curve.count; i++)
            assert_true(gw_constraint_residual(&c[i % 3], &curve.poses[i / 3], 1e-4) < 2e-13);
    }
    gw_nurbs_put(s);
}

/* A line normal to a trimmed patch, in either sense, and a point of the body on a line: four arcs
 * each, of which two that begin at one pose are nearest there. */
static void arcs_that_end_at_one_pose_are_told_apart(void **unused)
{
    (void)unused;
    static const double u[] = {0, 0, 0, 1, 2, 2, 2}, v[] = {0, 0, 0, 1, 2, 3, 3, 3};
    static const gw_vec3 points[] = {{-22.699883655403703, 52.93845677457031, 28.454176538203622},
                                     {-35.04215442680442, 33.22605963536712, 12.649872589561307},
                                     {-46.91756965994982, 8.779904817250017, 28.27354398937267},
                                     {-59.03278577372841, -13.234749960512136, 27.754199943244988},
                                     {-71.32697526595982, -33.434675051788915, 15.186651548800318},
                                     {6.515125859304325, 36.06892639715652, 31.645555662607244},
                                     {-6.077466570577455, 18.89470643683276, -1.0100058320557572},
                                     {-18.254332515481046, -2.494839848948633, -5.679518857806368},
                                     {-30.20665061218199, -26.161225571368586, 4.767173579558673},
                                     {-42.42352305919291, -47.145119420713684, -2.595513798810021},
                                     {35.63257316123446, 20.188643947774327, 28.269201158782472},
                                     {23.137578830703845, 2.0248121816711304, 2.1837891196173906},
                                     {11.04564837040573, -20.2259512677022, 3.231998381933421},
                                     {-1.2279190581821968, -40.63497712812077, -7.947305352839784},
                                     {-13.104194583587267, -65.07240887291724, 7.618452534730423},
                                     {64.48592267990024, 6.986223935632847, 7.114202209545443},
                                     {52.37662607869765, -15.088452702889, 6.9933503736815466},
                                     {40.30558916314927, -37.55106964824618, 9.448079973724626},
                                     {28.286683710553802, -60.5422820430406, 15.412217084891115},
                                     {15.935777052337349, -80.1671142029764, -0.9734410851685773}};
    static const double weights[] = {
        0.8935477276605773, 1.25692104681618,   1.3279065383176505, 1.6699730684354956,
        1.9358351996529954, 0.8813385823451496, 1.956690570881066,  0.8683823600850891,
        1.8660936176896774, 1.6822764969614812, 1.7207502486407924, 1.1836218926570745,
        1.8962666903403085, 1.6219805626357129, 1.8640363623520821, 0.803664179829914,
        1.4395040256901133, 1.8831528322624749, 0.9055736301098232, 0.6392106843449703};
    gw_error error;
    gw_nurbs *s = gw_nurbs_create(
        &(gw_nurbs_def){.dimension = 2,
                        .degree = {2, 2},
                        .count = {4, 5},
                        .knot_count = {7, 8},
                        .knots = {u, v},
                        .points = points,
                        .weights = weights,
                        .trimmed = {true, true},
                        .trim = {{0.4, 1.4}, {0.6000000000000001, 2.0999999999999996}}},
        &error);
    assert_non_null(s);
    gw_element patch = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s};
    gw_constraint c[] = {
        {.kind = GW_NORMAL, .mobile = line(gw_v3(0, 0, 100), gw_v3(1, 0, 0)), .fixed = patch},
        coincident(point(0, -100, -100),
                   line(gw_v3(99.99999999999999, -111.97238880053501, -88.02761119946496),
                        gw_v3(0, -1, 1)))};
    gw_problem p = {{{0, -100, 0}, {0.5, -0.5, 0.5, 0.5}}, 100, 2, c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    assert_int_equal(solution.branch_count, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(solution.branches[i].set.dof, 1);
    gw_nurbs_put(s);
}

/* A point that was followed to be closer than expected needs no search: none is nearer to that
 * distance. */
static void closest_points_are_searched_for_only_where_they_may_be_nearer(void **unused)
{
    (void)unused;
    gw_nurbs *s = cone();
    gw_nurbs_point at;
    double z[2] = {1.3, 0.4}, start[2];
    gw_nurbs_evaluate(s, z, 1, NULL, &at);
    gw_vec3 n = gw_nurbs_normal(s, z, &at);
    for (int k = -3; k <= 3; k++) {
        gw_vec3 x = gw_mul_add(at.d[0][0], 0.05 * k, n);
        gw_nurbs_point found;
        start[0] = z[0] + 0.05, start[1] = z[1] - 0.05;
        int cells = gw_nurbs_closest(s, x, 0.1, start, &found);
        assert_true((cells > 0) == (abs(k) > 2));
        assert_true(gw_distance(found.d[0][0], at.d[0][0]) < 1e-9);
    }
    gw_nurbs_put(s);
}

/* A point on a sphere, or at an offset from it, is placed as a point at a distance from its centre:
 * to the last digits, though the distance between the poses does not tell those. */
static void nearest_poses_on_a_sphere_are_those_of_its_closed_form(void **unused)
{
    (void)unused;
    static const double offsets[] = {0, 0.02, -0.03};
    gw_error error;
    gw_nurbs *s = gw_nurbs_ellipsoid(gw_v3(0.1, 0.1, 0.1), &error);
    assert_non_null(s);
    for (int i = 0; i < 60; i++) {
        gw_pose pose = random_pose(), found[2];
        pose.p = gw_scale(0.3, pose.p);
        gw_element x = point_at(gw_scale(0.05, vector())), centre = point(0, 0, 0),
                   surface = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s};
        for (int k = 0; k < 6; k++) {
            double offset = offsets[k / 2], length = i % 2 ? 1 : 0.1;
            gw_constraint c[2] = {distance(x, surface, offset), distance(x, centre, 0.1 + offset)};
            for (int j = 0; j < 2; j++) {
                if (k % 2) { /* the body owns the sphere */
                    gw_element fixed = c[j].fixed;
                    c[j].fixed = x, c[j].mobile = fixed;
                }
                gw_solve(&(gw_problem){pose, length, 1, &c[j]}, &solution);
                assert_int_equal(solution.status, GW_SOLVED);
                gw_submanifold_nearest(&solution.branches[0].set, &pose, length, &found[j]);
            }
            assert_true(gw_distance(found[0].p, found[1].p) < 1e-13);
            assert_true(gw_quat_angle(found[0].q, found[1].q) < 1e-12);
        }
        /* along its normal */
        gw_element axis = line(x.p, direction());
        gw_constraint along = {.kind = GW_NORMAL, .value = 0.03, .mobile = axis, .fixed = surface};
        gw_constraint through[2] = {coincident(axis, centre), distance(x, centre, 0.13)};
        gw_problem of[2] = {{pose, 0.1, 1, &along}, {pose, 0.1, 2, through}};
        for (int j = 0; j < 2; j++) {
            gw_solve(&of[j], &solution);
            assert_int_equal(solution.status, GW_SOLVED);
            found[j] = solution.branches[0].nearest;
        }
        assert_true(gw_distance(found[0].p, found[1].p) < 2e-11);
        assert_true(gw_quat_angle(found[0].q, found[1].q) < 1e-9);
    }
    gw_nurbs_put(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_of_an_axis_inside_a_cone_are_all_found),
        cmocka_unit_test(curves_that_end_at_an_apex_are_kept),
        cmocka_unit_test(either_sense_has_its_share_of_the_work),
        cmocka_unit_test(a_nearest_pose_takes_no_more_work_than_is_left),
        cmocka_unit_test(curves_of_a_branch_share_the_work),
        cmocka_unit_test(arcs_that_end_at_one_pose_are_told_apart),
        cmocka_unit_test(closest_points_are_searched_for_only_where_they_may_be_nearer),
        cmocka_unit_test(nearest_poses_on_a_sphere_are_those_of_its_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
