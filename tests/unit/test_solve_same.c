/*
 * One set of poses, stated otherwise: constraints permuted, bodies exchanged, the world or the body
 * moved, everything scaled.
 */
#include "planting.h"

#define MOST 6

static gw_solution other;

/* One way of stating the same: what the constraints become, and where poses go. */
typedef struct restated {
    const char *name;
    gw_constraint c[MOST];
    int order[MOST];     /* order[i]: which of the given ones constraint i is */
    gw_pose world, body; /* x goes to world x body^-1 */
    double scale;
    bool exchanged; /* poses are inverted */
} restated;

static gw_pose image(const restated *r, const gw_pose *x)
{
    gw_pose back = gw_pose_inverse(&r->body), y = gw_pose_mul(&r->world, x);
    y = gw_pose_mul(&y, &back);
    y.p = gw_scale(r->scale, y.p);
    return r->exchanged ? gw_pose_inverse(&y) : y;
}

static gw_element scaled(const gw_element *e, double s)
{
    gw_element out = *e;
    out.p = gw_scale(s, e->p);
    return out;
}

static gw_constraint exchanged(const gw_constraint *c)
{
    gw_constraint out = *c;
    bool planes = c->mobile.kind == GW_PLANE && c->fixed.kind == GW_PLANE;
    out.mobile = c->fixed;
    out.fixed = c->mobile;
    out.reversed = planes ? !c->reversed : c->reversed;
    return out;
}

static void restate(restated *r, const gw_constraint *c, int count)
{
    for (int i = 0; i < count; i++) {
        gw_constraint *to = &r->c[i];
        *to = c[r->order[i]];
        to->fixed = gw_element_moved(&r->world, &to->fixed);
        to->mobile = gw_element_moved(&r->body, &to->mobile);
        to->fixed = scaled(&to->fixed, r->scale);
        to->mobile = scaled(&to->mobile, r->scale);
        to->value *= to->kind == GW_DISTANCE ? r->scale : 1;
        if (r->exchanged)
            *to = exchanged(to);
    }
}

static restated as_it_is(const char *name)
{
    restated r = {
        .name = name, .world = gw_pose_identity(), .body = gw_pose_identity(), .scale = 1};
    for (int i = 0; i < MOST; i++)
        r.order[i] = i;
    return r;
}

static void shuffle(int *order, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int k = below(i + 1), keep = order[i];
        order[i] = order[k];
        order[k] = keep;
    }
}

/* The way number `which` of stating it otherwise. */
static restated nth_way(int which, int count)
{
    restated r = as_it_is("permuted");
    if (which == 0) {
        shuffle(r.order, count);
    } else if (which == 1) {
        r.name = "exchanged";
        r.exchanged = true;
    } else if (which == 2) {
        r.name = "moved";
        r.world = random_pose();
        r.body = random_pose();
    } else {
        r.name = which == 3 ? "small" : "large";
        r.scale = which == 3 ? 1e-6 : 1e6;
    }
    return r;
}

/* ---- the same set ---------------------------------------------------------------------------- */

static int with_dof(const gw_solution *s, int dof)
{
    int n = 0;
    for (int i = 0; i < s->branch_count; i++)
        n += s->branches[i].set.dof == dof;
    return n;
}

/* How far a pose is from the nearest branch with as many freedoms. */
static double off(const gw_solution *s, int dof, const gw_pose *x, double size)
{
    double least = HUGE_VAL;
    gw_pose on;
    for (int i = 0; i < s->branch_count; i++)
        if (s->branches[i].set.dof == dof)
            least = fmin(least, gw_submanifold_nearest(&s->branches[i].set, x, size, &on) / size);
    return least;
}

static void tell(const char *what, const restated *r, const gw_constraint *c, int count)
{
    print_problem(c, count);
    for (int k = 0; k < 2; k++) {
        const gw_solution *s = k ? &other : &solution;
        printf("%s: status %d, %s, %d branches:", k ? r->name : "given", s->status,
               s->method == GW_NUMERIC ? "numeric" : "closed", s->branch_count);
        for (int i = 0; i < s->branch_count; i++)
            printf(" %s(%d)", s->branches[i].id, s->branches[i].set.dof);
        printf("\n");
    }
    fail_msg("%s: %s", r->name, what);
}

/* Poses of every branch of the given answer are on the other one. */
static void covers(const restated *r, const gw_constraint *c, int count, double size)
{
    unsigned long long random = 7;
    for (int i = 0; i < solution.branch_count; i++)
        for (int k = 0; k < 3; k++) {
            const gw_branch *b = &solution.branches[i];
            gw_pose x = k == 0 ? b->nearest : gw_branch_sample(b, size, &random);
            gw_pose y = image(r, &x);
            if (!(off(&other, b->set.dof, &y, r->scale * size) < 1e-5))
                tell("a pose is not on it", r, c, count);
        }
}

typedef struct tally {
    int sets, numeric, uneven;
} tally;

static void compare(const restated *r, const gw_constraint *c, int count, tally *sum)
{
    gw_problem p = problem_of(c, count), q = problem_of(r->c, count);
    p.pose = random_pose();
    q.pose = image(r, &p.pose);
    q.length = r->scale;
    solve(&p);
    gw_solve(&q, &other);
    assert_sound(&q, &other);
    bool numeric = solution.method == GW_NUMERIC || other.method == GW_NUMERIC;
    if (solution.status != other.status && (!numeric || solution.status == GW_STATUS_INCOMPATIBLE ||
                                            other.status == GW_STATUS_INCOMPATIBLE))
        tell("another status", r, c, count);
    sum->sets++;
    sum->numeric += numeric;
    if (solution.status != GW_SOLVED)
        return;
    bool even = solution.status == other.status && solution.branch_count == other.branch_count;
    for (int dof = 0; dof <= 6; dof++)
        even &= with_dof(&solution, dof) == with_dof(&other, dof);
    if (numeric) { /* not complete, and general sets are known by their rows only */
        sum->uneven += !even;
        return;
    }
    if (!even)
        tell("other branches", r, c, count);
    covers(r, c, count, size_of(&p));
}

static void restate_all(bool lattice, int sets, tally *sum)
{
    gw_constraint c[MOST];
    for (int i = 0; i < sets; i++) {
        int count = 1 + below(MOST);
        gw_pose x = lattice ? (gw_pose){lattice_point(), lattice_rotation()} : random_pose();
        for (int k = 0; k < count; k++)
            c[k] = planted(&x, lattice);
        for (int which = 0; which < 5; which++) {
            restated r = nth_way(which, count);
            restate(&r, c, count);
            compare(&r, c, count, sum);
        }
    }
}

static void a_set_is_the_same_however_it_is_stated(void **state)
{
    (void)state;
    tally sum = {0};
    restate_all(false, 800, &sum);
    restate_all(true, 800, &sum);
    printf("%d sets, %d numeric, of those %d uneven\n", sum.sets, sum.numeric, sum.uneven);
    assert_true(sum.uneven < sum.numeric / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_the_same_however_it_is_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
