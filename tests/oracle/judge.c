/*
 * Judges an answer by the residuals, names and dimensions of every branch, by poses found by brute
 * force, which must be on branches, and by the constraints that conflicts and redundancies name.
 * Single-threaded.
 */
#include "tests/oracle/judge.h"

#include <float.h>
#include <string.h>
#include <time.h>

#include "tests/oracle/making.h"
#include "tests/oracle/oracle.h"

#define MOST_ROOTS 64

typedef struct bench {
    const gw_problem *problem;
    const searches *how;
    unsigned long long *random;
    tally *count;
    double size;
    int faults;
} bench;

static const char *const fault_names[FAULT_COUNT] = {
    "status", "ids",  "residual",  "nearest", "refused",  "unhandled",
    "missed", "lost", "dimension", "follows", "conflict", "unstable",
};

static void tell(bench *b, fault what, const char *text, double number)
{
    tally *c = b->count;
    b->faults++;
    if (c->faults[what]++ >= c->most_printed || !c->to)
        return;
    fprintf(c->to, "%s: %s (%g)\n  ", fault_names[what], text, number);
    making_print(c->to, b->problem);
}

/* ---- checks without a search ----------------------------------------------------------------- */

static bool finite_pose(const gw_pose *x)
{
    return gw_finite3(x->p) && isfinite(x->q.w) && isfinite(x->q.x) && isfinite(x->q.y) &&
           isfinite(x->q.z);
}

/* The size of the smallest free-form shape (m): rounding of positions over this size is the error
 * of its normals and tangents. */
static double least_shape(const gw_problem *p)
{
    double least = HUGE_VAL;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        const gw_nurbs *s = c->mobile.nurbs ? c->mobile.nurbs : c->fixed.nurbs;
        least = s ? fmin(least, s->size) : least;
    }
    return least;
}

static const char *branch_fault(const gw_problem *p, const gw_branch *b, double size, int samples,
                                unsigned long long *random, double *number)
{
    if (!finite_pose(&b->nearest) || !isfinite(b->distance))
        return "status: a number is not finite";
    if (b->set.dof < 0 || b->set.dof > 6 ||
        (!b->set.general && b->set.dof != b->set.rotation.dof + b->set.translation.dof))
        return "status: freedoms of a branch";
    double far = oracle_distance(&b->nearest, &p->pose, p->length);
    *number = fabs(far - b->distance);
    double rounding = 16 * DBL_EPSILON * (gw_norm(b->nearest.p) + gw_norm(p->pose.p));
    if (*number > 1e-9 * (far + size + p->length) + rounding)
        return "nearest: distance is not that of the nearest pose";
    gw_branch_point drawn[GW_MAX_SAMPLED];
    gw_branch_samples(b, size, random, samples, drawn);
    for (int k = 0; k <= samples; k++) {
        gw_pose x = k == 0 ? b->nearest : drawn[k - 1].pose;
        rounding = 16 * DBL_EPSILON * (gw_norm(x.p) + gw_norm(p->pose.p));
        *number = oracle_worst(p, ~0ul, size, &x, NULL);
        if (!(*number <= ORACLE_TRUTH + rounding / size + rounding / least_shape(p)))
            return k == 0 ? "residual: nearest pose" : "residual: sample";
        if (!finite_pose(&x) || fabs(gw_quat_dot(x.q, x.q) - 1) > 1e-9)
            return "status: a sample's quaternion";
    }
    return NULL;
}

static const char *list_fault(const gw_problem *p, const gw_solution *s, double *number)
{
    int most = 0;
    for (int i = 0; i < s->branch_count; i++) {
        const gw_branch *b = &s->branches[i];
        most = b->set.dof > most ? b->set.dof : most;
        if (!memchr(b->id, 0, sizeof b->id) || b->id[0] != 'b')
            return "ids: malformed";
        for (int k = 0; k < i; k++)
            if (strcmp(b->id, s->branches[k].id) == 0)
                return "ids: two branches of one name";
        if (i > 0 && b->distance < s->branches[i - 1].distance * (1 - 1e-9))
            return "ids: not nearest first";
    }
    *number = s->dof;
    if (s->dof != most)
        return "status: dof is not the largest of a branch";
    unsigned long all = p->count ? ~0ul >> (64 - p->count) : 0;
    for (int i = 0; i < s->redundant_count; i++)
        if (s->redundant[i].index < 0 || s->redundant[i].index >= p->count ||
            (s->redundant[i].because & ~all) ||
            s->redundant[i].because >> s->redundant[i].index & 1)
            return "status: redundant names what is not there";
    return NULL;
}

/* The problem's size about the mean point of its elements, if that is smaller: a scale that does
 * not depend on the world's origin. */
static double size_about_midst(const gw_problem *p)
{
    gw_constraint moved[GW_MAX_PROBLEM];
    gw_problem near = *p;
    gw_vec3 midst = {0, 0, 0};
    for (int i = 0; i < p->count; i++)
        midst = gw_add(midst, gw_scale(1.0 / p->count, p->constraints[i].fixed.p));
    for (int i = 0; i < p->count; i++) {
        moved[i] = p->constraints[i];
        moved[i].fixed.p = gw_sub(moved[i].fixed.p, midst);
    }
    near.constraints = moved;
    return fmin(oracle_size(p), oracle_size(&near));
}

const char *judge_sound(const gw_problem *p, const gw_solution *s, int samples,
                        unsigned long long *random, double *number)
{
    double size = oracle_size(p);
    *number = 0;
    if ((s->status == GW_SOLVED) != (s->branch_count > 0))
        return "status: solved is to have branches";
    if (s->status == GW_STATUS_UNHANDLED && !s->reason)
        return "status: unhandled without a reason";
    if (s->status == GW_STATUS_UNHANDLED &&
        s->best_residual <= ORACLE_TRUTH * size_about_midst(p) && !strstr(s->reason, "tolerance"))
        return "status: unhandled with a residual that would do";
    if (s->status == GW_STATUS_INCOMPATIBLE &&
        (!s->conflict.condition || !s->conflict.constraints || !s->conflict.sentence))
        return "status: incompatible without a reason";
    for (int i = 0; s->status == GW_STATUS_INCOMPATIBLE && i < s->conflict.value_count; i++)
        if (!isfinite(s->conflict.values[i].value))
            return "status: a conflict's number is not finite";
    if (s->complex_roots > 0 && (s->real_roots < 1 || s->real_roots > s->complex_roots))
        return "status: more poses than roots, or none";
    const char *what = list_fault(p, s, number);
    for (int i = 0; i < s->branch_count && !what; i++)
        what = branch_fault(p, &s->branches[i], size, samples, random, number);
    return what;
}

static fault kind_of(const char *what)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (strncmp(what, fault_names[i], strlen(fault_names[i])) == 0)
            return (fault)i;
    return FAULT_STATUS;
}

/* ---- dimension ------------------------------------------------------------------------------- */

/* Freedoms at a pose of a branch: by the rank of the equations or, where that is degenerate, by the
 * dimension of the roots around it. */
static void judge_dimension(bench *b, const gw_branch *branch)
{
    gw_pose x =
        branch->set.dof > 0 ? gw_branch_sample(branch, b->size, b->random) : branch->nearest;
    int nullity = oracle_nullity(b->problem, b->size, &x), dof = branch->set.dof;
    b->count->dimensions++;
    if (nullity == dof)
        return;
    if (nullity >= 0 && nullity < dof) {
        tell(b, FAULT_DIMENSION, branch->id, 10 * dof + nullity);
        return;
    }
    static const double reaches[] = {1e-3, 1e-4, 1e-2};
    int seen = 0;
    for (int i = 0; i < 3; i++) {
        seen = oracle_dimension(b->problem, b->size, reaches[i], &x, b->random);
        if (seen == dof || seen < 0)
            return;
    }
    tell(b, FAULT_DIMENSION, branch->id, 10 * dof + seen);
}

/* ---- brute force ----------------------------------------------------------------------------- */

/* Distance of a pose from the nearest branch of an answer, relative to the size. */
static double off_answer(const gw_solution *s, const gw_pose *x, double size)
{
    double least = HUGE_VAL;
    for (int i = 0; i < s->branch_count; i++) {
        gw_pose on;
        const gw_branch *b = &s->branches[i];
        double d = b->set.dof == 0 ? oracle_distance(&b->nearest, x, size)
                                   : gw_submanifold_nearest(&b->set, x, size, &on);
        least = fmin(least, d);
    }
    return least / size;
}

/* The tolerance of a root, which is known only to the square root of its residual where equations
 * are tangent. */
static double slack(const bench *b, const gw_pose *x, int dof)
{
    int nullity = oracle_nullity(b->problem, b->size, x);
    return nullity >= 0 && nullity <= dof ? 1e-6 : 5e-3;
}

/* The method, branches and freedoms of an answer, for the text of a fault. */
static const char *described(const gw_solution *s)
{
    static char text[64];
    snprintf(text, sizeof text, "%s, %d branches, dof %d",
             s->method == GW_NUMERIC ? "numeric" : "closed form", s->branch_count, s->dof);
    return text;
}

static bool same_names(const gw_solution *a, const gw_solution *b)
{
    if (a->branch_count != b->branch_count)
        return false;
    for (int i = 0; i < a->branch_count; i++) {
        bool there = false;
        for (int k = 0; k < b->branch_count; k++)
            there |= strcmp(a->branches[i].id, b->branches[k].id) == 0;
        if (!there)
            return false;
    }
    return true;
}

static void solve_from(bench *b, const gw_solution *first, const gw_pose *x)
{
    static gw_solution again;
    gw_problem p = *b->problem;
    p.pose = *x;
    gw_solve(&p, &again);
    double unit = fmax(b->size, p.length);
    double off = again.branch_count ? again.branches[0].distance / unit : HUGE_VAL;
    if (!(off < slack(b, x, again.dof)))
        tell(b, FAULT_LOST, "present pose", off);
    if (!same_names(first, &again))
        tell(b, FAULT_UNSTABLE, described(first), again.branch_count - first->branch_count);
}

static void judge_root(bench *b, const gw_solution *s, const gw_pose *x)
{
    b->count->roots++;
    if (s->status != GW_SOLVED)
        return;
    double near = slack(b, x, s->dof), off = off_answer(s, x, b->size);
    if (!(off < near)) {
        tell(b, FAULT_MISSED, described(s), off);
        return;
    }
    double far = oracle_distance(x, &b->problem->pose, b->problem->length);
    double least = s->branches[0].distance;
    if (far < least - near * (b->size + b->problem->length))
        tell(b, FAULT_NEAREST, described(s), (least - far) / b->size);
}

static void judge_refusal(bench *b, const gw_solution *s, bool has_root)
{
    if (s->status == GW_STATUS_INCOMPATIBLE && has_root)
        tell(b, FAULT_REFUSED, s->conflict.condition, 0);
    if (s->status == GW_STATUS_UNHANDLED && has_root && !b->how->lenient)
        tell(b, FAULT_UNHANDLED, s->reason, s->best_residual / b->size);
}

/* A redundant constraint must hold at every root of the constraints that it is said to follow
 * from. */
static void judge_redundant(bench *b, const gw_redundant *r)
{
    gw_pose roots[8];
    int n = oracle_roots(b->problem, r->because, b->size, b->how->starts / 4, b->random, roots, 8);
    b->count->redundant++;
    for (int i = 0; i < n; i++) {
        double e = oracle_worst(b->problem, 1ul << r->index, b->size, &roots[i], NULL);
        if (e > 1e-2) { /* a tangency that depends on another one: the fourth root of 1e-11 */
            tell(b, FAULT_FOLLOWS, r->rule, r->index);
            return;
        }
    }
}

static void judge_conflict(bench *b, const gw_conflict *c)
{
    gw_pose root;
    b->count->conflicts++;
    if (oracle_roots(b->problem, c->constraints, b->size, b->how->starts, b->random, &root, 1))
        tell(b, FAULT_CONFLICT, c->condition, (double)c->constraints);
}

static void search(bench *b, const gw_solution *s, const gw_pose *hidden)
{
    static gw_pose roots[MOST_ROOTS];
    int n = 0;
    if (hidden)
        roots[n++] = *hidden;
    n += oracle_roots(b->problem, ~0ul, b->size, b->how->starts, b->random, roots + n,
                      MOST_ROOTS - n);
    judge_refusal(b, s, n > 0);
    for (int i = 0; i < n && !b->how->blurred; i++)
        judge_root(b, s, &roots[i]);
    for (int i = 0; i < n && i < b->how->again && s->status == GW_SOLVED; i++)
        solve_from(b, s, &roots[i]);
    for (int i = 0; i < s->redundant_count; i++)
        judge_redundant(b, &s->redundant[i]);
    if (s->status == GW_STATUS_INCOMPATIBLE)
        judge_conflict(b, &s->conflict);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The thread's processor time, so that other work on the machine does not count. */
static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void count_answer(tally *c, const gw_solution *s, double us, int samples)
{
    c->problems++;
    c->solved += s->status == GW_SOLVED;
    c->incompatible += s->status == GW_STATUS_INCOMPATIBLE;
    c->unhandled += s->status == GW_STATUS_UNHANDLED;
    c->numeric += s->status == GW_SOLVED && s->method == GW_NUMERIC;
    c->branches += s->branch_count;
    c->poses += s->branch_count * (samples + 1);
    c->slowest_us = fmax(c->slowest_us, us);
}

int judge(const gw_problem *p, const gw_pose *hidden, const searches *how,
          unsigned long long *random, tally *count)
{
    static gw_solution answer;
    bench b = {p, how, random, count, oracle_size(p), 0};
    double number, start = now_us();
    gw_solve(p, &answer);
    count_answer(count, &answer, now_us() - start, how->samples);
    const char *what = judge_sound(p, &answer, how->samples, random, &number);
    if (what)
        tell(&b, kind_of(what), what, number);
    for (int i = 0; i < answer.branch_count && !how->blurred; i++)
        judge_dimension(&b, &answer.branches[i]);
    if (how->starts > 0)
        search(&b, &answer, hidden);
    else
        judge_refusal(&b, &answer, hidden != NULL);
    return b.faults;
}

void judge_print(FILE *to, const tally *c)
{
    fprintf(to,
            "%ld problems: %ld solved (%ld numeric), %ld incompatible, %ld unhandled; slowest %.0f "
            "us\n%ld branches, %ld poses held against all constraints, %ld dimensions, %ld roots "
            "by brute force, %ld redundancies, %ld conflicts\n",
            c->problems, c->solved, c->numeric, c->incompatible, c->unhandled, c->slowest_us,
            c->branches, c->poses, c->dimensions, c->roots, c->redundant, c->conflicts);
    for (int i = 0; i < FAULT_COUNT; i++)
        if (c->faults[i] > 0)
            fprintf(to, "%10ld  %s\n", c->faults[i], fault_names[i]);
}
