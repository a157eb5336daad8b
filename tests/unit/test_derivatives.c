/*
 * Every derivative and right side of every joint and every row of a system against central
 * differences, all kinds of them by their number: a new kind is checked here or fails here. Joints
 * that are submanifolds have charts of their own (test_chart.c, test_system_submanifold_joint.c).
 */
#include "rt/dynamics/curve_contact.h"
#include "rt/geometry/nurbs.h"
#include "rt/geometry/submanifold.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/rolling.h"

#define SAME   1e-7 /* relative */
#define STEP   5e-4 /* s: differences of sixth order */
#define AROUND 3    /* steps to either side */
#define TRIALS 8

/* d/dt of what is at -3 .. 3 steps. */
static double difference(const double x[2 * AROUND + 1])
{
    return (45 * (x[4] - x[2]) - 9 * (x[5] - x[1]) + (x[6] - x[0])) / (60 * STEP);
}

static gw_vec3 difference3(const gw_vec3 x[2 * AROUND + 1])
{
    double out[3], of[2 * AROUND + 1];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k <= 2 * AROUND; k++)
            of[k] = (&x[k].x)[i];
        out[i] = difference(of);
    }
    return gw_v3(out[0], out[1], out[2]);
}

/* |a - b| as a share of |b|, of 1 where that is less. */
static double unlike(gw_vec3 a, gw_vec3 b)
{
    return gw_norm(gw_sub(a, b)) / fmax(1, gw_norm(b));
}

/* ---- joints ---------------------------------------------------------------------------------- */

/* A ground that accelerates and turns. */
static gw_ground_motion oscillating(const void *context, double t)
{
    (void)context;
    gw_vec3 turn = {0.3, 0.5, -0.4};
    double angle = 0.7 * t + 0.3 * t * t, rate = 0.7 + 0.6 * t;
    return (gw_ground_motion){
        .pose = {{0.2 * t + t * t, 0.5 * sin(3 * t), 0.1}, gw_quat_exp(gw_scale(angle, turn))},
        .twist = {{0.2 + 2 * t, 1.5 * cos(3 * t), 0}, gw_scale(rate, turn)},
        .acceleration = {{2, -4.5 * sin(3 * t), 0}, gw_scale(0.6, turn)}};
}

typedef struct body_at {
    gw_vec3 p;
    gw_quat q;
    gw_twist twist, coasting;
} body_at;

/* All joints by t of their velocities, which stay. */
static void go(gw_system *s, const gw_mobilizer_state *home, double t, body_at *out)
{
    if (s->moving)
        gw_grounds_go_to(s, t);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        double by[6];
        for (int j = 0; j < k->dof; j++)
            by[j] = t * home[i].u[j];
        gw_joint_move(k, &home[i], by, &k->joint);
    }
    gw_system_update(s);
    gw_planar_expand(s);
    for (int i = 0; i < s->body_count; i++)
        out[i] = (body_at){s->bodies[i].pose.p, s->bodies[i].pose.q, s->bodies[i].twist,
                           gw_bias_acceleration_of(&s->bodies[i])};
}

/* Where joints move with steady velocities: twists from poses, accelerations at u-dot = 0 from
 * twists; and the columns, each by a twist that it alone gives. */
static double joints_differ(gw_system *s)
{
    gw_mobilizer_state home[4];
    body_at at[2 * AROUND + 1][4];
    double worst = 0;
    assert_true(s->body_count <= 4);
    for (int i = 0; i < s->body_count; i++)
        home[i] = s->bodies[i].joint;
    for (int k = 0; k <= 2 * AROUND; k++)
        go(s, home, (k - AROUND) * STEP, at[k]);
    for (int i = 0; i < s->body_count; i++) {
        gw_vec3 p[2 * AROUND + 1], turn[2 * AROUND + 1], v[2 * AROUND + 1], w[2 * AROUND + 1];
        const body_at *here = &at[AROUND][i];
        for (int k = 0; k <= 2 * AROUND; k++) {
            const body_at *x = &at[k][i];
            p[k] = x->p, v[k] = x->twist.v, w[k] = x->twist.w;
            turn[k] = gw_quat_log(gw_quat_mul(x->q, gw_quat_conj(here->q)));
        }
        worst = fmax(worst, unlike(here->twist.v, difference3(p)));
        worst = fmax(worst, unlike(here->twist.w, difference3(turn)));
        worst = fmax(worst, unlike(here->coasting.v, difference3(v)));
        worst = fmax(worst, unlike(here->coasting.w, difference3(w)));
    }
    go(s, home, 0, at[0]);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++) {
            const gw_system_body *k = &s->bodies[i];
            gw_vec3 v = gw_linear_part(k->columns[j]), w = gw_angular_part(k->columns[j]);
            s->bodies[i].joint.u[j] += 1;
            gw_tree_update_velocities(s);
            worst = fmax(worst, unlike(v, gw_sub(k->twist.v, at[0][i].twist.v)));
            worst = fmax(worst, unlike(w, gw_sub(k->twist.w, at[0][i].twist.w)));
            s->bodies[i].joint.u[j] -= 1;
            gw_tree_update_velocities(s);
        }
    return worst;
}

static gw_system_body_def some_joint(gw_mobilizer type, int parent, bool reversed)
{
    gw_system_body_def d = joined(type, diagonal(1, 0.01, 0.02, 0.015));
    d.parent = parent;
    d.reversed = reversed;
    d.pitch = 0.07;
    d.parent_from_f = (gw_pose){some_vector(0.3), gw_quat_exp(some_vector(2))};
    d.body_from_m = (gw_pose){some_vector(0.3), gw_quat_exp(some_vector(2))};
    for (int j = 0; j < gw_mobilizers[type].dof; j++) {
        d.position[j] = 0.5 * noise();
        d.velocity[j] = noise();
    }
    return d;
}

/* On the ground, on a free body, on one that hangs on a ground that moves, and under another. */
static void every_joint(void **state)
{
    (void)state;
    double most = 0;
    srand(1);
    for (int type = 0; type < GW_MOBILIZER_COUNT; type++)
        for (int trial = 0; trial < 4 * TRIALS; trial++) {
            gw_mobilizer joint = (gw_mobilizer)type;
            bool moving = trial & 2;
            gw_system_body_def bodies[4] = {
                some_joint(GW_MOBILIZER_FREE, moving ? GW_MOVING_GROUND(0) : GW_GROUND, false),
                some_joint(joint, 0, trial & 1),
                some_joint(joint, moving ? GW_MOVING_GROUND(0) : GW_GROUND, trial & 1),
                some_joint(GW_MOBILIZER_REVOLUTE, 1, false)};
            gw_system_def def = {.body_count = 4, .bodies = bodies, .ground_count = moving};
            gw_system *s = gw_system_create(&def, NULL);
            assert_non_null(s);
            if (moving)
                gw_system_drive_ground(s, 0, oscillating, NULL);
            gw_system_update_all(s);
            double by = joints_differ(s);
            if (by > SAME)
                print_message("%s: off by %.1e\n", gw_mobilizers[type].name, by);
            most = fmax(most, by);
            gw_system_destroy(s);
        }
    print_message("%d types of joints: within %.1e\n", GW_MOBILIZER_COUNT, most);
    assert_true(most < SAME);
}

/* The same where bodies move in a plane, which has code of its own: under a hinge that says which.
 */
static void every_joint_of_a_plane(void **state)
{
    (void)state;
    double most = 0;
    int planar = 0;
    srand(2);
    for (int type = 0; type < GW_MOBILIZER_COUNT; type++)
        for (int trial = 0; trial < TRIALS; trial++) {
            gw_system_body_def bodies[3];
            gw_quat lying = gw_quat_axis(gw_v3(0, 1, 0), GW_PI / 2);
            for (int i = 0; i < 3; i++) {
                gw_mobilizer joint = i ? (gw_mobilizer)type : GW_MOBILIZER_REVOLUTE;
                bodies[i] = some_joint(joint, i - 1, trial & 1);
                gw_quat turn = gw_quat_axis(ez, noise());
                bool slides = joint == GW_MOBILIZER_PRISMATIC; /* along x */
                bodies[i].parent_from_f.q = slides ? gw_quat_mul(turn, lying) : turn;
                bodies[i].body_from_m.q = bodies[i].parent_from_f.q;
            }
            gw_system_def def = {.body_count = 3, .bodies = bodies};
            gw_system *s = gw_system_create(&def, NULL);
            assert_non_null(s);
            gw_system_update_all(s);
            bool in_plane = type == GW_MOBILIZER_FIXED || type == GW_MOBILIZER_REVOLUTE ||
                            type == GW_MOBILIZER_PRISMATIC ||
                            (type == GW_MOBILIZER_PLANAR && !(trial & 1)); /* not reversed */
            assert_true(s->all_planar == in_plane);
            if (s->all_planar) {
                planar++;
                most = fmax(most, joints_differ(s));
            }
            gw_system_destroy(s);
        }
    print_message("%d systems in planes: within %.1e\n", planar, most);
    assert_true(most < SAME);
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define MOST 8

/* Two free bodies under the rows; or one, and a ground that moves. */
static gw_system *under_rows(gw_closure_def *closure, bool grounded)
{
    gw_system_body_def bodies[2] = {solid_ball(0.1), solid_ball(0.1)};
    /* made with a closure that is satisfied in any pose, which the rows under test then replace */
    gw_closure_def free_row = {.a = 0, .b = grounded ? GW_MOVING_GROUND(0) : 1, .row_count = MOST};
    for (int i = 0; i < MOST; i++)
        free_row.rows[i] = (gw_row){.kind = GW_ROW_PLANE, .n = ez};
    gw_system_def def = {.body_count = 2,
                         .closure_count = 1,
                         .bodies = bodies,
                         .closures = &free_row,
                         .ground_count = grounded};
    gw_system *s = gw_system_create(&def, NULL);
    assert_non_null(s);
    if (grounded)
        gw_system_drive_ground(s, 0, oscillating, NULL);
    gw_system_update_all(s);
    int velocities;
    closure->b = free_row.b;
    gw_closure_row_counts(closure, &s->position_rows, &velocities);
    s->closures[0] = *closure;
    s->blocks[0].position_rows = s->position_rows;
    gw_closures_classify(s);
    s->row_count = s->position_rows + velocities;
    assert_true(s->row_count > 0 && s->row_count <= MOST);
    return s;
}

/* Tangents are other ones from |n_x| = 0.6 on: there is no derivative across that. */
static bool jumps(const gw_closure_row *before, const gw_closure_row *after)
{
    double way = 0;
    for (int i = 0; i < 3; i++)
        way += fabs(after->on_a[i] - before->on_a[i]);
    return way > 0.1;
}

static void put_twist(const gw_twist *t, double out[6])
{
    gw_spatial_set(out, t->v, t->w);
}

/* Rates from values, the rows' own velocity from the bodies' twists, J-dot v from rates: bodies do
 * not accelerate, a ground does. -1: a row jumps there. */
static double rows_differ(gw_system *s, const gw_pose *poses, const gw_twist *twists)
{
    static gw_closure_row at[2 * AROUND + 1][MOST];
    double worst = 0, va[6], vb[6], ab[6] = {0};
    for (int k = 0; k <= 2 * AROUND; k++) {
        double t = (k - AROUND) * STEP;
        if (s->moving)
            gw_grounds_go_to(s, t);
        move_to(s, poses, twists, t);
        memcpy(at[k], s->rows, (size_t)s->row_count * sizeof *s->rows);
    }
    gw_twist of_b = twists[1];
    if (s->closures[0].b < 0) {
        gw_ground_motion ground = oscillating(NULL, 0);
        of_b = ground.twist;
        put_twist(&ground.acceleration, ab);
    }
    put_twist(&twists[0], va);
    put_twist(&of_b, vb);
    for (int k = 0; k < 2 * AROUND; k++)
        for (int n = 0; n < s->row_count; n++)
            if (jumps(&at[k][n], &at[k + 1][n]))
                return -1;
    for (int n = 0; n < s->row_count; n++) {
        const gw_closure_row *r = &at[AROUND][n];
        double values[2 * AROUND + 1], rates[2 * AROUND + 1];
        for (int k = 0; k <= 2 * AROUND; k++)
            values[k] = at[k][n].value, rates[k] = at[k][n].rate;
        double rate = n < s->position_rows ? difference(values) : r->rate;
        double jv = gw_dot6(r->on_a, va) + gw_dot6(r->on_b, vb);
        double second = difference(rates), bias = r->bias + gw_dot6(r->on_b, ab);
        worst = fmax(worst, fabs(r->rate - rate) / fmax(1, fabs(rate)));
        worst = fmax(worst, fabs(r->rate - jv) / fmax(1, fabs(jv)));
        worst = fmax(worst, fabs(bias - second) / fmax(1, fabs(second)));
    }
    return worst;
}

/* Whether the rows are regular there: curved surfaces may be far from any common normal. */
static bool is_regular(gw_closure_def *c, const gw_pose *poses)
{
    if (c->kind != GW_CLOSURE_CONTACT || !gw_surface_contact_is_general(&c->contact))
        return true;
    gw_body_frame f[2];
    gw_contact_state x = {0};
    for (int i = 0; i < 2; i++)
        f[i] = (gw_body_frame){.turn = gw_quat_to_mat3(poses[i].q), .p = poses[i].p};
    c->contact.point = (gw_contact_point){0};
    if (gw_contact_is_of_curves(&c->contact)) {
        gw_curve_contact of;
        return gw_curve_contact_at(&c->contact, &f[0], &f[1], &c->contact.point, &of) &&
               hypot(of.value[0], of.value[1]) < 0.2 && fabs(of.value[2]) < 0.7;
    }
    return gw_surface_contact_at(&c->contact, &f[0], &f[1], &c->contact.point, &x) && !x.conforms &&
           x.curvature > 0.1;
}

#define MOST_TRIALS 20000 /* few poses of two curves are near a common tangent */

static double check_rows(gw_closure_def closure, const char *name)
{
    double most = 0;
    int checked = 0;
    for (int grounded = 0; grounded < 2; grounded++) {
        gw_system *s = under_rows(&closure, grounded);
        for (int trial = 0; trial < MOST_TRIALS && checked < TRIALS * (1 + grounded); trial++) {
            gw_pose poses[2];
            gw_twist twists[2];
            for (int i = 0; i < 2; i++) {
                poses[i] = (gw_pose){some_vector(1), gw_quat_exp(some_vector(2))};
                twists[i] = (gw_twist){some_vector(0.3), some_vector(0.3)};
            }
            if (grounded)
                poses[1] = oscillating(NULL, 0).pose;
            if (closure.contact.inside)
                poses[0].p = gw_add(poses[1].p, some_vector(0.4));
            if (closure.kind == GW_CLOSURE_CONTACT && gw_contact_is_of_curves(&closure.contact))
                poses[0].p = gw_add(poses[1].p, some_vector(0.3));
            if (!is_regular(&closure, poses))
                continue;
            s->closures[0].contact.point = closure.contact.point;
            double by = rows_differ(s, poses, twists);
            if (by > SAME)
                print_message("%s%s: off by %.1e\n", name, grounded ? " of a ground" : "", by);
            most = fmax(most, by);
            checked += by >= 0;
        }
        gw_system_destroy(s);
    }
    if (checked < 2 * TRIALS)
        print_message("%s: only %d poses\n", name, checked);
    assert_true(checked == 2 * TRIALS);
    return most;
}

static double check_row_kinds(const gw_nurbs *egg, const gw_nurbs *ring)
{
    double most = 0;
    char name[32];
    for (int kind = 0; kind < GW_ROW_KINDS; kind++) {
        bool curve = kind == GW_ROW_CURVE || kind == GW_ROW_CURVE_BODY || kind >= GW_ROW_TANGENT;
        gw_closure_def c = {.row_count = 1};
        c.rows[0] = (gw_row){.kind = (gw_row_kind)kind,
                             .m = kind == GW_ROW_ANGLE ? ex : gw_v3(0.1, -0.2, 0.3),
                             .f = {-0.3, 0.2, 0.4},
                             .n = gw_unit(gw_v3(0.3, -0.5, 0.7)),
                             .value = 0.2,
                             .q = gw_quat_exp(gw_v3(0.3, 0.7, -0.4)),
                             .nurbs = kind < GW_ROW_SURFACE ? NULL
                                      : curve               ? ring
                                                            : egg};
        snprintf(name, sizeof name, "row %d", kind);
        most = fmax(most, check_rows(c, name));
    }
    return most;
}

static gw_surface some_surface(int kind, bool second, const gw_nurbs *egg, const gw_nurbs *ring)
{
    gw_surface s = {.kind = (gw_surface_kind)kind,
                    .point = {0.02, -0.03, 0.01},
                    .axis = gw_unit(gw_v3(0.3, -0.5, 0.7)),
                    .radius = second ? 0.6 : 0.1,
                    .turn = gw_quat_exp(gw_v3(0.3, 0.7, -0.4)),
                    .semi_axes = {0.12, 0.09, 0.1}};
    if (kind == GW_SURFACE_FREE_FORM)
        s.nurbs = egg;
    if (kind == GW_SURFACE_CURVE)
        s.nurbs = ring;
    return s;
}

/* All pairs of surfaces that the library takes. */
static double check_contacts(const gw_nurbs *egg, const gw_nurbs *ring, int *pairs)
{
    double most = 0;
    char name[64];
    for (int a = 0; a < GW_SURFACE_KINDS; a++)
        for (int b = 0; b < GW_SURFACE_KINDS; b++)
            for (int inside = 0; inside < 2; inside++)
                for (int motion = 0; motion <= GW_CONTACT_ROLLS_PURELY; motion++) {
                    gw_error error = {0};
                    gw_closure_def c =
                        contact(0, some_surface(a, false, egg, ring), 1,
                                some_surface(b, true, egg, ring), (gw_contact_motion)motion);
                    c.contact.inside = inside;
                    bool general = gw_surface_contact_is_general(&c.contact);
                    if (!gw_closure_check(&c, &error) || (general && inside))
                        continue;
                    snprintf(name, sizeof name, "surface %d %s %d, motion %d", a,
                             inside ? "in" : "on", b, motion);
                    most = fmax(most, check_rows(c, name));
                    *pairs += motion == 0;
                }
    return most;
}

/* Between coordinates of every pair of joints whose coordinates are none of a rotation vector. */
static double check_gears(void)
{
    double worst = 0;
    for (int a = 0; a < GW_MOBILIZER_COUNT; a++)
        for (int i = 0; i < gw_mobilizers[a].dof && i < gw_mobilizer_rotation((gw_mobilizer)a);
             i++) {
            gw_system_body_def bodies[2] = {some_joint((gw_mobilizer)a, GW_GROUND, false),
                                            some_joint(GW_MOBILIZER_REVOLUTE, 0, false)};
            gw_closure_def gear = {.a = 0, .b = 1, .kind = GW_CLOSURE_GEAR};
            gear.gear.coordinate_a = i;
            gear.gear.ratio = 1.7;
            gear.gear.offset = bodies[0].position[i] - 1.7 * bodies[1].position[0];
            gw_system *s = make(bodies, 2, &gear, 1, zero);
            gw_mobilizer_state home[2] = {s->bodies[0].joint, s->bodies[1].joint};
            double values[2 * AROUND + 1];
            body_at unused[2];
            home[0].u[i] += 0.3; /* against the gear: its value changes */
            for (int k = 0; k <= 2 * AROUND; k++) {
                go(s, home, (k - AROUND) * STEP, unused);
                s->bodies[0].joint.u[i] = home[0].u[i];
                gw_closures_update_rows(s);
                values[k] = s->rows[0].value;
                worst = fmax(worst, fabs(s->rows[0].bias));
            }
            worst = fmax(worst, fabs(difference(values) - s->rows[0].rate));
            assert_true(fabs(s->rows[0].rate) > 0.1);
            gw_system_destroy(s);
        }
    return worst;
}

static void every_row(void **state)
{
    (void)state;
    gw_nurbs *egg = gw_nurbs_ellipsoid(gw_v3(0.3, 0.2, 0.25), NULL);
    gw_nurbs *ring = gw_nurbs_circle(0.15, NULL);
    srand(3);
    for (int kind = 0; kind < GW_CLOSURE_KINDS; kind++) {
        double most = INFINITY;
        int pairs = 0;
        gw_closure_def knife = {
            .a = 0, .b = 1, .kind = GW_CLOSURE_KNIFE_EDGE, .knife_edge = {{0.1, -0.2, 0.3}, ex}};
        switch ((gw_closure_kind)kind) {
        case GW_CLOSURE_ROWS:
            most = check_row_kinds(egg, ring);
            break;
        case GW_CLOSURE_CONTACT:
            most = check_contacts(egg, ring, &pairs);
            break;
        case GW_CLOSURE_KNIFE_EDGE:
            most = check_rows(knife, "knife edge");
            break;
        case GW_CLOSURE_GEAR:
            most = check_gears();
            break;
        }
        print_message("closures of kind %d: within %.1e", kind, most);
        print_message(pairs ? ", %d pairs of surfaces\n" : "\n", pairs);
        assert_true(most < SAME);
    }
    gw_nurbs_put(egg);
    gw_nurbs_put(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_joint),
        cmocka_unit_test(every_joint_of_a_plane),
        cmocka_unit_test(every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
