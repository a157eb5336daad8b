/*
 * Isolated poses of a leaf: selects a polynomial system, finds all of its roots, and reports those
 * that are poses. The roots are found by an eigenproblem (three_quadrics.c) or by homotopy
 * continuation: the path from each root of a start system is tracked to the target
 * (path_tracking.c), and lost paths again with a smaller tolerance or by another homotopy. Any
 * thread, RT safe; bounded by the system's `work`.
 *
 *   the rotation is known          three quadrics in (t, 1): known_rotation.c
 *   R takes two vectors that are   equal Gram matrices, three quadrics: gram_matrix.c
 *     linear in three unknowns to
 *     two others
 *   t follows from R, or from      three quadrics or quartics in the quaternion e:
 *     that of the inverse pose       quaternion_equations.c; quartics by homotopy from
 *                                    e_i^d = e_0^d
 *   otherwise                      six forms in Study's coordinates (e, g), g = t e / 2:
 *                                    study_equations.c; by homotopy from a generic section with
 *                                    40 roots, twice as many with each cylinder, at most three
 *                                    (start_system.c)
 */
#include <assert.h>
#include <string.h>

#include "rt/positioning/polynomial/quaternion_equations.h"
#include "rt/positioning/polynomial/study_equations.h"

#define SAME        1e-6 /* roots closer than this are the same */
#define REAL        1e-6 /* imaginary parts below this are round-off */
#define NEARLY_REAL 0.05 /* imaginary part below which the real part is reported */
#define AT_INFINITY 1e-8 /* least |N| / |e|^2 of finite roots; least last coordinate */
#define ATTEMPTS    2    /* homotopies tried, each with other factors gamma */
#define REPEATS     3    /* times that lost paths are tracked again */
#define TIGHTENING  5    /* divisor of the tolerance in each repetition */
#define SAMPLE      16   /* paths tracked first, to detect a curve through their endpoints */

/* ---- the root set ---------------------------------------------------------------------------- */

/* The roots found so far, and the paths that have to be tracked again. */
typedef struct root_set {
    const gw_pose_system *system;
    const gw_forms *forms;
    int count;
    gw_complex_pose root[GW_MAX_PATHS]; /* simple roots */
    int from[GW_MAX_PATHS];             /* path that ends at the root */
    int again[GW_MAX_PATHS];            /* paths that were lost, or have the endpoint of another */
    int singular, lost, crossed;
    int multiple; /* multiple roots that satisfy all forms, counted with multiplicity */
} root_set;

static void begin_root_set(root_set *h, const gw_pose_system *system, const gw_forms *f)
{
    h->system = system;
    h->forms = f;
    h->count = h->singular = h->lost = h->crossed = h->multiple = 0;
}

/* e scaled so that its largest entry is one. */
static void normalise_quaternion(gw_complex_pose *x)
{
    int most = 0;
    for (int i = 1; i < 4; i++)
        most = cabs(x->e[i]) > cabs(x->e[most]) ? i : most;
    gw_complex scale = 1 / x->e[most];
    for (int i = 0; i < 4; i++)
        x->e[i] *= scale;
}

/* The largest imaginary part, relative to t's size. */
static double imaginary_part(const gw_complex_pose *x)
{
    double most = 0, size = 1;
    for (int i = 0; i < 4; i++)
        most = fmax(most, fabs(cimag(x->e[i])));
    for (int i = 0; i < 3; i++)
        size = fmax(size, cabs(x->t[i]));
    for (int i = 0; i < 3; i++)
        most = fmax(most, fabs(cimag(x->t[i])) / size);
    return most;
}

static double modulus2(gw_complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* True where a root is the same as another, or as its conjugate; the largest entries of e are
 * one. Most differ in the first number, and every one is compared with every other. */
static bool same_root(const gw_complex_pose *a, const gw_complex_pose *b, bool conjugate)
{
    double size = 1;
    int most = 0;
    for (int i = 0; i < 3; i++)
        size = fmax(size, modulus2(a->t[i]));
    for (int i = 0; i < 3; i++) {
        gw_complex z = conjugate ? conj(b->t[i]) : b->t[i];
        if (!(modulus2(a->t[i] - z) < SAME * SAME * size))
            return false;
    }
    for (int i = 1; i < 4; i++)
        most = modulus2(a->e[i]) > modulus2(a->e[most]) ? i : most;
    gw_complex scale = conjugate ? conj(b->e[most]) : b->e[most];
    for (int i = 0; i < 4; i++) {
        gw_complex z = conjugate ? conj(b->e[i]) : b->e[i];
        if (!(modulus2(scale * a->e[i] - z * a->e[most]) < SAME * SAME * modulus2(scale)))
            return false;
    }
    return true;
}

static bool at_infinity(const gw_complex_pose *x)
{
    gw_complex n = 0;
    double size = 0;
    for (int i = 0; i < 4; i++) {
        n += x->e[i] * x->e[i];
        size += creal(x->e[i] * conj(x->e[i]));
    }
    return cabs(n) < AT_INFINITY * size;
}

static void report_real_part(root_set *h, const gw_complex_pose *x)
{
    gw_pose pose = gw_forms_pose(h->forms, x);
    h->system->report(h->system->context, &pose);
}

/* The index of the stored root that equals x, or -1. */
static int find_root(const root_set *h, const gw_complex_pose *x)
{
    for (int i = 0; i < h->count; i++)
        if (same_root(&h->root[i], x, false))
            return i;
    return -1;
}

/* Adds the endpoint of a path: simple roots are stored; near a multiple root the real part is
 * reported at once; roots at infinity are dropped. */
static void add_root(root_set *h, gw_complex_pose x, gw_path_end end)
{
    normalise_quaternion(&x);
    if (end == GW_END_INFINITY || at_infinity(&x))
        return;
    if (end == GW_END_SINGULAR) {
        h->singular++;
        if (imaginary_part(&x) < NEARLY_REAL)
            report_real_part(h, &x);
    } else if (end == GW_END_REGULAR) {
        if (find_root(h, &x) >= 0)
            h->crossed++;
        else
            h->root[h->count++] = x;
    }
}

/* Adds the endpoint of path i. Different paths have different simple endpoints: if two end at the
 * same root, the tracker jumped from one path to the other, and both are tracked again. */
static void add_endpoint(root_set *h, int i, gw_complex_pose x, gw_path_end end)
{
    normalise_quaternion(&x);
    int met = end == GW_END_REGULAR && !at_infinity(&x) ? find_root(h, &x) : -1;
    if (end == GW_END_LOST || met >= 0)
        h->again[h->lost++] = i;
    if (met >= 0) {
        h->again[h->lost++] = h->from[met];
        h->root[met] = h->root[--h->count];
        h->from[met] = h->from[h->count];
        return;
    }
    int before = h->count;
    add_root(h, x, end);
    if (h->count > before)
        h->from[before] = i;
}

/* True if the conjugate of root i has been found too. */
static bool has_conjugate(const root_set *h, int i)
{
    bool found = imaginary_part(&h->root[i]) < REAL;
    for (int k = 0; k < h->count && !found; k++)
        found = same_root(&h->root[i], &h->root[k], true);
    return found;
}

/* True if more than two thirds of at least 12 paths end near multiple roots: usually a curve of
 * solutions passes through them, and restarts of the numeric search are faster. */
static bool mostly_singular(const root_set *h, int paths)
{
    return paths >= 12 && 3 * h->singular > 2 * paths;
}

/* The roots of a real system form conjugate pairs, so a root without its conjugate indicates a
 * missing root. If as many roots lack their conjugate as paths were lost, the conjugates are
 * added. */
static void add_conjugates(root_set *h)
{
    int alone[GW_MAX_PATHS], count = 0;
    for (int i = 0; i < h->count; i++)
        if (!has_conjugate(h, i))
            alone[count++] = i;
    if (count == h->lost && h->crossed == 0) {
        for (int i = 0; i < count; i++) {
            gw_complex_pose *x = &h->root[h->count++];
            *x = h->root[alone[i]];
            for (int k = 0; k < 4; k++)
                x->e[k] = conj(x->e[k]);
            for (int k = 0; k < 3; k++)
                x->t[k] = conj(x->t[k]);
        }
        h->lost = 0;
    } else if (h->lost == 0) {
        h->crossed += count;
    }
}

/* True where no path was lost. */
static bool is_complete(const root_set *h)
{
    return h->lost == 0 && h->crossed == 0;
}

/* True where a root satisfies every row, not only the combinations that were solved. */
static bool satisfies_forms(const root_set *h, const gw_complex_pose *x, double tolerance)
{
    return gw_forms_residual(h->forms, x) < tolerance && gw_forms_same_sense(h->forms, x);
}

/* Reports the simple roots that are nearly real. Returns the number of all roots, with
 * multiplicity. */
static int report_poses(root_set *h)
{
    int count = h->multiple;
    for (int i = 0; i < h->count; i++) {
        const gw_complex_pose *x = &h->root[i];
        double off = imaginary_part(x);
        if (!satisfies_forms(h, x, 1e-7))
            continue;
        count++;
        if (off < NEARLY_REAL)
            report_real_part(h, x);
    }
    return count;
}

/* ---- homotopies ------------------------------------------------------------------------------ */

/* Sets the target: the hyperplanes, or six combinations if there are more, and as many cylinders as
 * complete them to six forms. */
static void set_target(const gw_forms *f, int cylinders, gw_study_homotopy *s)
{
    s->linear = 6 - cylinders;
    memset(s->to, 0, sizeof s->to);
    memset(s->to_axis, 0, sizeof s->to_axis);
    for (int i = 0; i < s->linear; i++)
        for (int n = 0; n < f->linear; n++) {
            double weight = f->linear == s->linear ? i == n : gw_generic_number(i, n);
            for (int k = 0; k < GW_Y; k++)
                s->to[i][k] += weight * f->h[n][k];
        }
    for (int i = s->linear; i < 6; i++)
        for (int k = 0; k < GW_Y; k++) {
            s->to[i][k] = f->cylinder[i - s->linear].h[k];
            s->to_axis[i][k] = f->cylinder[i - s->linear].l[k];
        }
}

/* Sets the start system. Each equation is multiplied by a phase gamma, so that paths meet no
 * singular point; each attempt has other phases. */
static void set_start(gw_study_homotopy *s, int cylinders, int attempt)
{
    gw_start_system(cylinders, s);
    for (int i = 0; i < 6; i++) {
        double angle = 1 + 2.1 * i + 1.7 * attempt;
        gw_complex phase = cos(angle) + I * sin(angle);
        for (int k = 0; k < GW_Y; k++) {
            s->from[i][k] *= phase * phase;
            s->from_axis[i][k] *= phase;
        }
    }
}

/* A homotopy with all its paths: three equations in the quaternion, from which t follows, or a
 * section of SE(3) in Study's coordinates. */
typedef struct continuation {
    gw_homotopy homotopy;
    int count;                              /* of start roots */
    const gw_rotation_conditions *rotation; /* NULL: a section */
    gw_three_equations equations;
    gw_quaternion_homotopy quaternion;
    int cylinders;
    gw_study_homotopy section;
    gw_study_matrices study;
} continuation;

/* Start root i: e_0 = 1 and e_1 .. e_3 roots of unity of the equations' degrees, or a root of the
 * table. */
static void start_root(const continuation *j, int i, gw_complex *x)
{
    static const gw_complex unit[] = {1, -1, I, -I};
    if (!j->rotation) {
        gw_complex_pose root = gw_start_root(j->cylinders, &j->section, i);
        gw_study_point(&root, x);
        return;
    }
    const int *d = j->equations.degree;
    x[0] = 1;
    x[1] = unit[i % d[0]];
    x[2] = unit[i / d[0] % d[1]];
    x[3] = unit[i / d[0] / d[1]];
}

/* Tracks the paths from some start roots, given by their numbers. */
static void track_from(root_set *h, const continuation *j, const int *starts, int count,
                       double care)
{
    gw_homotopy_path path[GW_MAX_PATHS];
    for (int i = 0; i < count; i++)
        start_root(j, starts[i], path[i].x);
    gw_track_paths(&j->homotopy, care, path, count);
    for (int i = 0; i < count; i++) {
        const gw_complex *x = path[i].x;
        gw_complex_pose root =
            j->rotation ? gw_pose_of_quaternion(j->rotation, x) : gw_study_pose(x);
        add_endpoint(h, starts[i], root, path[i].end);
    }
}

/* Tracks all paths, and lost ones again with a smaller tolerance. */
static void track_all(root_set *h, const continuation *j, double care)
{
    int starts[GW_MAX_PATHS], count = j->count, first = count < SAMPLE ? count : SAMPLE;
    for (int i = 0; i < count; i++)
        starts[i] = i;
    track_from(h, j, starts, first, care);
    if (!mostly_singular(h, first))
        track_from(h, j, starts + first, count - first, care);
    for (int n = 0; n < REPEATS && h->lost > 0 && *j->homotopy.work > 0; n++) {
        count = h->lost;
        memcpy(starts, h->again, (size_t)count * sizeof *starts);
        h->lost = 0;
        care *= TIGHTENING;
        track_from(h, j, starts, count, care);
    }
}

static void set_homotopy(continuation *j, int attempt)
{
    if (j->rotation) {
        gw_quaternion_homotopy_of(&j->equations, attempt, &j->quaternion);
        return;
    }
    set_start(&j->section, j->cylinders, attempt);
    gw_study_matrices_of(&j->section, &j->study);
}

/* Finds all roots by a homotopy, and by another one if paths remain lost. */
static void solve_by_homotopy(root_set *h, continuation *j)
{
    h->lost = j->count;
    for (int attempt = 0; attempt<ATTEMPTS && * j->homotopy.work> 0; attempt++) {
        begin_root_set(h, h->system, h->forms);
        set_homotopy(j, attempt);
        track_all(h, j, 1 + attempt);
        add_conjugates(h);
        if (is_complete(h) || h->singular > 0)
            break;
    }
}

static void solve_in_quaternion(root_set *h, const gw_rotation_conditions *c)
{
    continuation j;
    j.rotation = c;
    gw_rotation_equations(c, &j.equations);
    j.count = j.equations.degree[0] * j.equations.degree[1] * j.equations.degree[2];
    j.homotopy = (gw_homotopy){4, &j.quaternion, gw_quaternion_evaluate, h->system->work,
                               GW_QUATERNION_STEP_COST};
    solve_by_homotopy(h, &j);
}

static void solve_in_study(root_set *h, int cylinders)
{
    continuation j;
    j.rotation = NULL;
    j.cylinders = cylinders;
    set_target(h->forms, cylinders, &j.section);
    j.count = gw_start_root_count(cylinders);
    j.homotopy = (gw_homotopy){8, &j.study, gw_study_evaluate, h->system->work, GW_STUDY_STEP_COST};
    solve_by_homotopy(h, &j);
}

/* ---- eigenproblems --------------------------------------------------------------------------- */

/* The unknowns of three quadrics: the quaternion, or (t, 1). */
typedef struct unknowns {
    const gw_rotation_conditions *conditions; /* NULL: the rotation is known */
    gw_quat rotation;
} unknowns;

static gw_complex_pose root_of(const unknowns *u, const gw_complex x[4])
{
    if (u->conditions)
        return gw_pose_of_quaternion(u->conditions, x);
    const gw_quat q = u->rotation;
    gw_complex w = cabs(x[3]) > AT_INFINITY ? x[3] : AT_INFINITY;
    return (gw_complex_pose){{q.w, q.x, q.y, q.z}, {x[0] / w, x[1] / w, x[2] / w}};
}

/* The roots of three quadrics; false where they are not finite in number. */
static bool solve_three_quadrics(root_set *h, const unknowns *u, const gw_three_equations *s)
{
    gw_complex e[8][4];
    gw_quaternion_homotopy homotopy;
    gw_homotopy paths = {4, &homotopy, gw_quaternion_evaluate, h->system->work,
                         GW_QUATERNION_STEP_COST};
    gw_homotopy_path path[8];
    *h->system->work -= 1200;
    gw_quaternion_homotopy_of(s, 0, &homotopy);
    if (!gw_three_quadrics_roots(s->quadric, e))
        return false;
    for (int i = 0; i < 8; i++)
        memcpy(path[i].x, e[i], sizeof e[i]);
    gw_refine_endpoints(&paths, path, 8);
    for (int i = 0; i < 8; i++) {
        gw_complex_pose x = root_of(u, path[i].x);
        int before = h->count;
        add_root(h, x, path[i].end);
        if (h->count == before && !at_infinity(&x) && satisfies_forms(h, &x, 1e-5))
            h->multiple++;
    }
    h->singular += h->crossed; /* two equal ones of the eight are a double root */
    h->crossed = 0;
    return true;
}

/* ---- which system ---------------------------------------------------------------------------- */

/* The result of a solve. With multiple roots it is exact only if the roots are known to be finite
 * in number: a curve of solutions may pass through a multiple root. */
static gw_root_summary summarise_roots(root_set *h, bool finite)
{
    bool simple = is_complete(h) && h->singular == 0;
    gw_root_summary found = {simple || finite, simple, report_poses(h)};
    if (!found.exact)
        found.complex_roots = 0;
    return found;
}

/* The conditions on the rotation, of the pose or else of its inverse (mirrored forms); false if t
 * follows from R in neither. */
static bool rotation_conditions(gw_forms *f, gw_rotation_conditions *c)
{
    for (int side = 0; side < 2; side++) {
        if (gw_rotation_conditions_of(f, c))
            return true;
        gw_forms_mirror(f);
    }
    return false;
}

gw_root_summary gw_roots_by_eigenvalues(const gw_pose_system *system)
{
    gw_forms forms;
    gw_rotation_conditions c;
    gw_three_equations s;
    root_set h;
    gw_root_summary none = {false, false, 0};
    assert(system->work && system->report);
    if (system->row_count < 6 || !gw_is_polynomial(system) || gw_gram_matrix_roots(system, &none))
        return none;
    gw_forms_of(system, &forms);
    unknowns u = {NULL, gw_forms_rotation(&forms, system->rotation)};
    if (!system->rotation_known) {
        if (!rotation_conditions(&forms, &c) || c.quadrics < 3)
            return none;
        gw_rotation_equations(&c, &s);
        u.conditions = &c;
    } else if (!gw_known_rotation_equations(&forms, u.rotation, &s)) {
        return none;
    }
    begin_root_set(&h, system, &forms);
    if (!solve_three_quadrics(&h, &u, &s))
        return none;
    return summarise_roots(&h, true);
}

gw_root_summary gw_roots_by_homotopy(const gw_pose_system *system)
{
    gw_forms forms;
    gw_rotation_conditions c;
    root_set h;
    gw_root_summary none = {false, false, 0};
    assert(system->work && system->report);
    if (system->row_count < 6 || !gw_is_polynomial(system))
        return none;
    gw_forms_of(system, &forms);
    bool in_quaternion = rotation_conditions(&forms, &c) && c.quadrics + forms.cylinders > 0;
    int cylinders = forms.linear < 6 ? 6 - forms.linear : 0;
    if (!in_quaternion && (cylinders > forms.cylinders || cylinders > GW_MAX_START_CYLINDERS))
        return none;
    begin_root_set(&h, system, &forms);
    if (in_quaternion)
        solve_in_quaternion(&h, &c);
    else
        solve_in_study(&h, cylinders);
    return summarise_roots(&h, false);
}
