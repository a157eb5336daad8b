/*
 * The solver's rows of the benchmark: one constraint of every kind and pair, typical threes, the
 * five with 32 branches, and how the time grows with the number of constraints. Instances are
 * made around a pose that satisfies them, with elements, offsets and starting poses at random.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "rt/rt.h"
#include "server/cli/command.h"
#include "server/schema/wire.h"

enum { INSTANCES = 1000, MOST = GW_MAX_PROBLEM };

/* ---- instances ------------------------------------------------------------------------------ */

/* A deterministic number within -1 .. 1 for instance i and use k. */
static double spread(int i, int k)
{
    double s = sin(12.9898 * i + 78.233 * k) * 43758.5453;
    return 2 * (s - floor(s)) - 1;
}

static gw_vec3 spread3(int i, int k)
{
    return gw_v3(spread(i, k), spread(i, k + 1), spread(i, k + 2));
}

static gw_pose spread_pose(int i, int k)
{
    return (gw_pose){gw_scale(0.3, spread3(i, k)), gw_quat_exp(gw_scale(2, spread3(i, k + 3)))};
}

static gw_element spread_element(gw_element_kind kind, int i, int k)
{
    return (gw_element){
        .kind = kind, .p = gw_scale(0.2, spread3(i, k)), .d = gw_unit(spread3(i, k + 3))};
}

/* Rotates f, or sets the angle, so that the directions satisfy the constraint; m in the world. */
static void turn_to_fit(gw_constraint *c, const gw_element *m, double side)
{
    bool mixed = m->kind != c->fixed.kind;
    double between = gw_angle_between(m->d, c->fixed.d);
    if (m->kind == GW_POINT || c->fixed.kind == GW_POINT)
        return;
    if (c->kind == GW_ANGLE)
        c->value = mixed ? GW_PI / 2 - between : between;
    else if (mixed == (c->kind == GW_PERPENDICULAR))
        c->fixed.d = side < 0 ? gw_neg(m->d) : m->d;
    else
        c->fixed.d = gw_unit(gw_reject(c->fixed.d, m->d));
}

/* Moves f, or sets the distance, so that the positions satisfy the constraint. */
static void move_to_fit(gw_constraint *c, const gw_element *m)
{
    bool to_mobile = m->kind > c->fixed.kind;
    gw_element *f = &c->fixed;
    gw_vec3 gap = gw_sub(f->p, m->p), n = to_mobile ? m->d : f->d;
    gw_element_kind surface = to_mobile ? m->kind : f->kind;
    gw_vec3 off = surface == GW_POINT  ? gap
                  : surface == GW_LINE ? gw_reject(gap, n)
                                       : gw_scale(gw_dot(gap, n), n);
    if (c->kind == GW_COINCIDENT)
        f->p = gw_sub(f->p, off);
    else if (c->kind == GW_DISTANCE)
        c->value = surface == GW_PLANE ? gw_dot(gap, n) * (to_mobile ? 1 : -1) : gw_norm(off);
}

/* A constraint of this kind that holds at pose x, out of instance i and use k. */
static gw_constraint planted(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b,
                             const gw_pose *x, int i, int k)
{
    gw_constraint c = {
        .kind = kind, .mobile = spread_element(a, i, k), .fixed = spread_element(b, i, k + 6)};
    gw_element m = gw_element_moved(x, &c.mobile);
    turn_to_fit(&c, &m, spread(i, k + 12));
    move_to_fit(&c, &m);
    return c;
}

void bench_cone_problem(int i, int count, gw_constraint *c, gw_problem *p)
{
    gw_pose world = spread_pose(i, 0);
    gw_element top = {.kind = GW_PLANE, .p = {0.02 * spread(i, 6), 0, 0.1}, .d = {0, 0, 1}};
    gw_element axis = {.kind = GW_LINE, .p = {0, 0, 0.1 * spread(i, 7)}, .d = {0, 0, 1}};
    c[0] = (gw_constraint){.kind = GW_COINCIDENT,
                           .sense = GW_OPPOSITE,
                           .mobile = {.kind = GW_PLANE, .p = {0, 0, 0}, .d = {0, 0, -1}},
                           .fixed = gw_element_moved(&world, &top)};
    c[1] = (gw_constraint){.kind = GW_DISTANCE,
                           .value = 0.06 * (1 + 0.2 * spread(i, 8)),
                           .mobile = {.kind = GW_LINE, .p = {0, 0, 0}, .d = {0, 0, 1}},
                           .fixed = gw_element_moved(&world, &axis)};
    p->pose = (gw_pose){gw_scale(0.3, spread3(i, 9)), gw_quat_exp(spread3(i, 12))};
    p->length = 0.05;
    p->count = count;
    p->constraints = c;
}

/* Problem i of row `which`; c has room for MOST constraints. */
typedef void make_problem(int i, int which, gw_constraint *c, gw_problem *p);

static void make_cone(int i, int which, gw_constraint *c, gw_problem *p)
{
    bench_cone_problem(i, which, c, p);
}

static void begin(int i, int count, gw_constraint *c, gw_problem *p)
{
    *p = (gw_problem){spread_pose(i, 900), 0.1, count, c};
}

/* Every kind that joins elements of every two kinds: `which` numbers them. */
static bool nth_kind(int which, gw_constraint_kind *kind, gw_element_kind *a, gw_element_kind *b)
{
    for (int k = GW_DISTANCE; k <= GW_PERPENDICULAR; k++)
        for (int m = GW_POINT; m <= GW_PLANE; m++)
            for (int f = GW_POINT; f <= GW_PLANE; f++) {
                *kind = (gw_constraint_kind)k;
                *a = (gw_element_kind)m;
                *b = (gw_element_kind)f;
                if (gw_constraint_fits(*kind, *a, *b, NULL) && which-- == 0)
                    return true;
            }
    return false;
}

static void make_one(int i, int which, gw_constraint *c, gw_problem *p)
{
    gw_constraint_kind kind;
    gw_element_kind a, b;
    gw_pose x = spread_pose(i, 800);
    nth_kind(which, &kind, &a, &b);
    c[0] = planted(kind, a, b, &x, i, 0);
    c[0].sense = i % 2 ? GW_SAME : GW_OPPOSITE;
    if (c[0].sense == GW_OPPOSITE)
        c[0].fixed.d = gw_neg(c[0].fixed.d);
    begin(i, 1, c, p);
}

/* A joint as a designer states it, in coordinates of its own; then body and world are moved. */
static void move_joint(int i, gw_constraint *c, gw_problem *p, int count)
{
    gw_pose body = spread_pose(i, 700), world = spread_pose(i, 710);
    for (int k = 0; k < count; k++) {
        c[k].mobile = gw_element_moved(&body, &c[k].mobile);
        c[k].fixed = gw_element_moved(&world, &c[k].fixed);
    }
    begin(i, count, c, p);
}

/* The plane z = h, and the axis z, with a random point on it as support point. */
static gw_element level(int i, int k, double h, double up)
{
    return (gw_element){
        .kind = GW_PLANE, .p = {0.1 * spread(i, k), 0.1 * spread(i, k + 1), h}, .d = {0, 0, up}};
}

static gw_element axis(int i, int k)
{
    return (gw_element){.kind = GW_LINE, .p = {0, 0, 0.1 * spread(i, k)}, .d = {0, 0, 1}};
}

static gw_constraint joined(gw_constraint_kind kind, gw_sense sense, gw_element m, gw_element f)
{
    return (gw_constraint){.kind = kind, .sense = sense, .mobile = m, .fixed = f};
}

/* Axes in line, shoulder on face, a key way parallel. */
static void make_peg(int i, int which, gw_constraint *c, gw_problem *p)
{
    (void)which;
    gw_element key = {.kind = GW_PLANE, .p = spread3(i, 9), .d = {1, 0, 0}},
               way = {.kind = GW_PLANE, .p = spread3(i, 12), .d = {1, 0, 0}};
    c[0] = joined(GW_COINCIDENT, GW_SAME, axis(i, 0), axis(i, 1));
    c[1] = joined(GW_COINCIDENT, GW_OPPOSITE, level(i, 2, 0.04, -1), level(i, 4, 0.07, 1));
    c[2] = joined(GW_PARALLEL, GW_SAME, key, way);
    move_joint(i, c, p, 3);
}

/* Three faces of a box, each at a distance from a wall. */
static void make_corner(int i, int which, gw_constraint *c, gw_problem *p)
{
    gw_vec3 n[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    if (which == 1) /* walls and faces that are not square */
        n[1] = gw_unit(gw_v3(0.4, 1, -0.2)), n[2] = gw_unit(gw_v3(0.3, 0.2, 1));
    for (int k = 0; k < 3; k++) {
        gw_element face = {.kind = GW_PLANE, .p = gw_scale(0.1, spread3(i, 3 * k)), .d = n[k]};
        gw_element wall = {
            .kind = GW_PLANE, .p = gw_scale(0.1, spread3(i, 9 + 3 * k)), .d = gw_neg(n[k])};
        c[k] = joined(which ? GW_DISTANCE : GW_COINCIDENT, GW_OPPOSITE, face, wall);
        c[k].value = which ? 0.01 * (1 + spread(i, 20 + k)) : 0;
    }
    move_joint(i, c, p, 3);
}

/* Axes in line, face on face, a pin of the body on a stop. */
static void make_hinge(int i, int which, gw_constraint *c, gw_problem *p)
{
    (void)which;
    gw_element pin = {.kind = GW_POINT, .p = {0.06, 0.01, 0.02}, .d = {0, 0, 0}};
    gw_element stop = {.kind = GW_PLANE, .p = {0.03, 0.1 * spread(i, 9), 0.05}, .d = {1, 0, 0}};
    c[0] = joined(GW_COINCIDENT, GW_SAME, axis(i, 0), axis(i, 1));
    c[1] = joined(GW_DISTANCE, GW_SAME, level(i, 2, 0, 1), level(i, 4, 0.05, 1));
    c[1].value = 0.02;
    c[2] = joined(GW_COINCIDENT, GW_EITHER, pin, stop);
    move_joint(i, c, p, 3);
}

/* A ball in a socket, and two directions given. */
static void make_socket(int i, int which, gw_constraint *c, gw_problem *p)
{
    (void)which;
    gw_pose x = spread_pose(i, 800);
    c[0] = planted(GW_COINCIDENT, GW_POINT, GW_POINT, &x, i, 0);
    c[1] = planted(GW_COINCIDENT, GW_POINT, GW_LINE, &x, i, 20);
    c[2] = planted(GW_ANGLE, GW_LINE, GW_LINE, &x, i, 40);
    begin(i, 3, c, p);
}

/* Isolated poses: numbers of points on lines, points on planes, points at distances, points at
 * distances from axes, lines through points, planes through lines, and complex roots. */
static const struct {
    int lines, planes, distances, axes, through, around, roots;
} isolated[] = {{.lines = 3, .roots = 8},
                {.planes = 6, .roots = 8},
                {.planes = 3, .distances = 3, .roots = 40},
                {.distances = 6, .roots = 40},
                {.planes = 3, .axes = 3, .roots = 64},
                {.distances = 5, .axes = 1, .roots = 80},
                {.lines = 2, .through = 1, .roots = 8},
                {.lines = 1, .around = 2, .roots = 8},
                {.distances = 4, .axes = 2, .roots = 160}};

static void make_isolated(int i, int which, gw_constraint *c, gw_problem *p)
{
    gw_pose x = spread_pose(i, 800);
    int n = 0;
    for (int k = 0; k < isolated[which].lines; k++, n++)
        c[n] = planted(GW_COINCIDENT, GW_POINT, GW_LINE, &x, i, 20 * n);
    for (int k = 0; k < isolated[which].planes; k++, n++)
        c[n] = planted(GW_COINCIDENT, GW_POINT, GW_PLANE, &x, i, 20 * n);
    for (int k = 0; k < isolated[which].distances; k++, n++)
        c[n] = planted(GW_DISTANCE, GW_POINT, GW_POINT, &x, i, 20 * n);
    for (int k = 0; k < isolated[which].axes; k++, n++)
        c[n] = planted(GW_DISTANCE, GW_POINT, GW_LINE, &x, i, 20 * n);
    for (int k = 0; k < isolated[which].through; k++, n++)
        c[n] = planted(GW_COINCIDENT, GW_LINE, GW_POINT, &x, i, 20 * n);
    for (int k = 0; k < isolated[which].around; k++, n++)
        c[n] = planted(GW_COINCIDENT, GW_PLANE, GW_LINE, &x, i, 20 * n);
    begin(i, n, c, p);
}

/* Two parallels of either sense at right angles: four rotations; a point at a distance from three
 * axes, two distances alike: eight places. */
static void make_32(int i, int which, gw_constraint *c, gw_problem *p)
{
    (void)which;
    const gw_vec3 d[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, o = {0, 0, 0};
    const double near = 0.05 * (1 + 0.2 * spread(i, 0)), far = 0.1 * (1 + 0.2 * spread(i, 1));
    gw_element pin = {.kind = GW_POINT, .p = gw_scale(0.03, spread3(i, 2)), .d = o};
    for (int k = 0; k < 2; k++)
        c[k] = joined(GW_PARALLEL, GW_EITHER,
                      (gw_element){.kind = GW_LINE, .p = gw_scale(0.1, spread3(i, 6)), .d = d[k]},
                      (gw_element){.kind = GW_LINE, .p = gw_scale(0.1, spread3(i, 9)), .d = d[k]});
    for (int k = 0; k < 3; k++) {
        c[k + 2] =
            joined(GW_DISTANCE, GW_EITHER, pin, (gw_element){.kind = GW_LINE, .p = o, .d = d[k]});
        c[k + 2].value = k < 2 ? far : near;
    }
    move_joint(i, c, p, 5);
}

/* Two constraints whose closed form has a rotation parameter (relational-positioning Table III, two
 * angles; Table IV, the second, third and sixth row: points on lines and planes that are not one).
 */
enum { TWO_ANGLES, LINES, LINE_AND_PLANE, PLANES };

static void make_coupled(int i, int which, gw_constraint *c, gw_problem *p)
{
    static const gw_element_kind on[][2] = {[LINES] = {GW_LINE, GW_LINE},
                                            [LINE_AND_PLANE] = {GW_LINE, GW_PLANE},
                                            [PLANES] = {GW_PLANE, GW_PLANE}};
    gw_pose x = spread_pose(i, 800);
    for (int k = 0; k < 2; k++)
        c[k] = which == TWO_ANGLES ? planted(GW_ANGLE, GW_LINE, GW_LINE, &x, i, 13 * k)
                                   : planted(GW_COINCIDENT, GW_POINT, on[which][k], &x, i, 13 * k);
    begin(i, 2, c, p);
}

/* `which` consistent constraints of mixed kinds. */
static void make_many(int i, int which, gw_constraint *c, gw_problem *p)
{
    gw_pose x = spread_pose(i, 800);
    for (int k = 0; k < which; k++) {
        gw_constraint_kind kind;
        gw_element_kind a, b;
        nth_kind((7 * k + i) % 30, &kind, &a, &b);
        c[k] = planted(kind, a, b, &x, i, 13 * k);
    }
    begin(i, which, c, p);
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* One time an instance: the least of a few, since the machine's noise only ever adds. */
static double time_solve(const gw_problem *p, int repeats, gw_solution *solution)
{
    double least = INFINITY;
    for (int k = 0; k < repeats; k++) {
        double start = command_now_us();
        gw_solve(p, solution);
        least = fmin(least, command_now_us() - start);
    }
    /* an instance without an answer must not count as fast */
    return solution->status == GW_SOLVED ? least : INFINITY;
}

static bool time_solves(bench_row *r, make_problem *make, int which, int instances)
{
    static double times[INSTANCES];
    gw_constraint c[MOST];
    gw_problem p;
    gw_solution *solution = calloc(1, sizeof *solution);
    if (!solution)
        return false;
    for (int i = 0; i < instances; i++) {
        make(i, which, c, &p);
        times[i] = time_solve(&p, 7, solution);
    }
    bench_quantiles(r, times, instances);
    free(solution);
    return true;
}

static bool measure_cone(bench_row *r, int which)
{
    return time_solves(r, make_cone, which, INSTANCES);
}

static bool measure_one(bench_row *r, int which)
{
    return time_solves(r, make_one, which, INSTANCES);
}

static bool measure_coupled(bench_row *r, int which)
{
    return time_solves(r, make_coupled, which, INSTANCES);
}

static bool measure_peg(bench_row *r, int which)
{
    return time_solves(r, make_peg, which, INSTANCES);
}

static bool measure_corner(bench_row *r, int which)
{
    return time_solves(r, make_corner, which, INSTANCES);
}

static bool measure_hinge(bench_row *r, int which)
{
    return time_solves(r, make_hinge, which, INSTANCES);
}

static bool measure_socket(bench_row *r, int which)
{
    return time_solves(r, make_socket, which, INSTANCES);
}

static bool measure_32(bench_row *r, int which)
{
    return time_solves(r, make_32, which, INSTANCES);
}

/* The time is infinite if the answer does not know all roots. */
static bool measure_isolated(bench_row *r, int which)
{
    enum { FEW = 50 };
    static double times[FEW];
    gw_constraint c[MOST];
    gw_problem p;
    gw_solution *solution = calloc(1, sizeof *solution);
    if (!solution)
        return false;
    for (int i = 0; i < FEW; i++) {
        make_isolated(i, which, c, &p);
        times[i] = time_solve(&p, 3, solution);
        bool counted = solution->complex_roots == isolated[which].roots;
        if (!counted && solution->method != GW_CLOSED_FORM) /* rules count no roots */
            times[i] = INFINITY;
    }
    bench_quantiles(r, times, FEW);
    free(solution);
    return true;
}

static bool measure_many(bench_row *r, int which)
{
    return time_solves(r, make_many, which, 100);
}

/* The exponent of the growth from 8 to 64 constraints: the slope of log time. */
static bool measure_growth(bench_row *r, int which)
{
    bench_row few = *r, many = *r;
    (void)which;
    if (!measure_many(&few, 8) || !measure_many(&many, 64))
        return false;
    r->median = log(many.median / few.median) / log(8);
    r->p99 = log(many.p99 / few.p99) / log(8);
    return true;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Bound on closed forms with a rotation parameter. */
#define CLOSED_FORM_US 3

static const bench fixed_rows[] = {
    {{"solve-plane", "plane on plane (framework V-A)", "us", 5, false, true, 2, 0, 0},
     measure_cone,
     1},
    {{"solve-circle", "and axes apart (V-B)", "us", 5, false, true, 2, 0, 0}, measure_cone, 2},
    {{"solve-three-peg", "axes in line, shoulder on face, key", "us", 3, false, true, 2, 0, 0},
     measure_peg,
     0},
    {{"solve-three-corner", "box in a corner", "us", 3, false, true, 2, 0, 0}, measure_corner, 0},
    {{"solve-three-walls", "three pairs of planes apart, not square", "us", 3, false, true, 2, 0,
      0},
     measure_corner,
     1},
    {{"solve-three-hinge", "axes in line, face apart, pin on a stop", "us", 3, false, true, 2, 0,
      0},
     measure_hinge,
     1},
    {{"solve-three-socket", "ball in socket, point on line, an angle", "us", 3, false, true, 2, 0,
      0},
     measure_socket,
     0},
    {{"solve-32", "five constraints, 32 branches", "us", 40, false, true, 2, 0, 0}, measure_32, 0},
    {{"solve-two-angles", "two angles (Table III)", "us", CLOSED_FORM_US, false, true, 0, 0, 0},
     measure_coupled,
     TWO_ANGLES},
    {{"solve-points-lines", "two points on two lines (Table IV)", "us", CLOSED_FORM_US, false, true,
      0, 0, 0},
     measure_coupled,
     LINES},
    {{"solve-points-line-plane", "on a line and on a plane (Table IV)", "us", CLOSED_FORM_US, false,
      true, 0, 0, 0},
     measure_coupled,
     LINE_AND_PLANE},
    {{"solve-points-planes", "on two planes (Table IV)", "us", CLOSED_FORM_US, false, true, 0, 0,
      0},
     measure_coupled,
     PLANES},
    {{"roots-lines", "three points on lines, up to 8 poses", "us", 1e3, false, true, 0, 0, 0},
     measure_isolated,
     0},
    {{"roots-planes", "six points on planes, 8 roots", "us", 1e3, false, true, 0, 0, 0},
     measure_isolated,
     1},
    {{"roots-either", "two points on lines, a line through a point, 8", "us", 1e3, false, true, 0,
      0, 0},
     measure_isolated,
     6},
    {{"roots-around", "a point on a line, two planes through lines, 8", "us", 1e3, false, true, 0,
      0, 0},
     measure_isolated,
     7},
    {{"roots-spheres", "three distances and planes, 40 roots", "us", 2e4, false, true, 0, 0, 0},
     measure_isolated,
     2},
    {{"roots-platform", "six distances, 40 roots", "us", 2e4, false, true, 0, 0, 0},
     measure_isolated,
     3},
    {{"roots-cylinders", "three axes and planes, 64 roots", "us", 2e4, false, true, 0, 0, 0},
     measure_isolated,
     4},
    {{"roots-cylinder", "an axis, five distances, 80 roots", "us", 2e4, false, true, 0, 0, 0},
     measure_isolated,
     5},
    {{"roots-two-cylinders", "two axes, four distances, 160 roots", "us", 2e4, false, true, 0, 0,
      0},
     measure_isolated,
     8},
};

/* "solve-one-distance-point-line" */
static bench one_row(int which)
{
    static const char *const kinds[] = {"distance", "angle", "coincident", "parallel",
                                        "perpendicular"};
    static const char *const elements[] = {"point", "line", "plane"};
    gw_constraint_kind kind;
    gw_element_kind a, b;
    bench row = {{.unit = "us", .limit = 1, .held = true, .tail = 2}, measure_one, which};
    nth_kind(which, &kind, &a, &b);
    snprintf(row.row.name, sizeof row.row.name, "solve-one-%s-%s-%s", kinds[kind], elements[a],
             elements[b]);
    snprintf(row.row.what, sizeof row.row.what, "one constraint");
    return row;
}

int bench_solve_rows(bench *rows, int room)
{
    gw_constraint_kind kind;
    gw_element_kind a, b;
    int n = 0;
    for (size_t i = 0; i < sizeof fixed_rows / sizeof *fixed_rows && n < room; i++)
        rows[n++] = fixed_rows[i];
    for (int i = 0; nth_kind(i, &kind, &a, &b) && n < room; i++)
        rows[n++] = one_row(i);
    for (int count = 1; count <= MOST && n < room; count *= 2) {
        rows[n] = (bench){{.unit = "us"}, measure_many, count};
        snprintf(rows[n].row.name, sizeof rows[n].row.name, "solve-many-%d", count);
        snprintf(rows[n].row.what, sizeof rows[n].row.what,
                 "consistent constraints of mixed kinds");
        n++;
    }
    if (n < room)
        rows[n++] = (bench){{"solve-growth", "exponent of the time, 8 to 64 constraints", "", 2,
                             false, true, 0, 0, 0},
                            measure_growth,
                            0};
    return n;
}
