/*
 * All isolated poses of a leaf: which system it is, its roots, and which of them are poses. Any
 * thread, RT safe; bounded by gw_run's `work`.
 */
#include <string.h>

#include "rt/solve/conditions.h"
#include "rt/solve/section.h"

#define SAME              1e-6 /* roots closer than this are one */
#define REAL              1e-6 /* imaginary parts below this are round-off */
#define NEARLY            0.05 /* and below this the pose of a multiple root may be near */
#define ATTEMPTS          3    /* ways from the start to the target */
#define CYLINDERS_IN_TIME 1
#define AT_INFINITY       1e-8 /* of N over the square of e */

/* Roots as they come in. */
typedef struct harvest {
    const gw_forms *forms;
    gw_completion *c;
    int count;
    gw_root root[GW_MOST_PATHS]; /* simple ones */
    int singular, lost, crossed;
    int multiple; /* of those that are not simple: roots of all forms, with multiplicity */
} harvest;

/* e scaled so that its largest entry is one. */
static void normalise(gw_root *x)
{
    int most = 0;
    for (int i = 1; i < 4; i++)
        most = cabs(x->e[i]) > cabs(x->e[most]) ? i : most;
    gw_complex scale = 1 / x->e[most];
    for (int i = 0; i < 4; i++)
        x->e[i] *= scale;
}

static double imaginary(const gw_root *x)
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

/* How far a root is from another, or from its conjugate. */
static double apart(const gw_root *a, const gw_root *b, bool conjugate)
{
    double off = 0, size = 1;
    int most = 0;
    for (int i = 1; i < 4; i++)
        most = cabs(a->e[i]) > cabs(a->e[most]) ? i : most;
    for (int i = 0; i < 4; i++) {
        gw_complex z = b->e[i] / b->e[most];
        off = fmax(off, cabs(a->e[i] / a->e[most] - (conjugate ? conj(z) : z)));
    }
    for (int i = 0; i < 3; i++)
        size = fmax(size, cabs(a->t[i]));
    for (int i = 0; i < 3; i++)
        off = fmax(off, cabs(a->t[i] - (conjugate ? conj(b->t[i]) : b->t[i])) / size);
    return isnan(off) ? HUGE_VAL : off;
}

static bool at_infinity(const gw_root *x)
{
    gw_complex n = 0;
    double size = 0;
    for (int i = 0; i < 4; i++) {
        n += x->e[i] * x->e[i];
        size += creal(x->e[i] * conj(x->e[i]));
    }
    return cabs(n) < AT_INFINITY * size;
}

/* A root's real part, down to the rows. */
static void try_root(harvest *h, const gw_root *x)
{
    gw_completion_try(h->c, gw_forms_pose(h->forms, x));
}

static void take(harvest *h, gw_root x, gw_path_end end)
{
    normalise(&x);
    if (end == GW_END_FAR || at_infinity(&x))
        return;
    if (end == GW_END_LOST) {
        h->lost++;
        return;
    }
    if (end == GW_END_SINGULAR) {
        h->singular++;
        if (imaginary(&x) < NEARLY)
            try_root(h, &x);
        return;
    }
    for (int i = 0; i < h->count; i++)
        if (apart(&h->root[i], &x, false) < SAME) {
            h->crossed++;
            return;
        }
    h->root[h->count++] = x;
}

/* True where the conjugate of a root is there too. */
static bool paired(const harvest *h, int i)
{
    bool found = imaginary(&h->root[i]) < REAL;
    for (int k = 0; k < h->count && !found; k++)
        found = apart(&h->root[i], &h->root[k], true) < SAME;
    return found;
}

/* True where most paths end near multiple roots: then a curve passes through them, as a rule, and
 * restarts are quicker. */
static bool degenerate(const harvest *h, int paths)
{
    return paths >= 12 && 3 * h->singular > 2 * paths;
}

/* Real systems have their roots in conjugate pairs: one that is alone tells of another missing.
 * Where as many are alone as paths were lost, those are found. */
static void mend(harvest *h)
{
    int alone[GW_MOST_PATHS], count = 0;
    for (int i = 0; i < h->count; i++)
        if (!paired(h, i))
            alone[count++] = i;
    if (count == h->lost && h->crossed == 0) {
        for (int i = 0; i < count; i++) {
            gw_root *x = &h->root[h->count++];
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

static bool complete(const harvest *h)
{
    return h->lost == 0 && h->crossed == 0;
}

/* True where a root satisfies every row, not only the combinations solved. */
static bool belongs(const harvest *h, const gw_root *x, double tolerance)
{
    return gw_forms_residual(h->forms, x) < tolerance && gw_forms_same_sense(h->forms, x);
}

/* The simple roots: real ones are poses. Returns how many roots there are. */
static int sort_out(harvest *h)
{
    int count = h->multiple;
    for (int i = 0; i < h->count; i++) {
        const gw_root *x = &h->root[i];
        double off = imaginary(x);
        if (!belongs(h, x, 1e-7))
            continue;
        count++;
        if (off < NEARLY)
            try_root(h, x);
    }
    return count;
}

/* ---- rotations, as three equations ----------------------------------------------------------- */

static gw_path_end polish(const gw_equations *s, long *work, gw_complex e[4])
{
    gw_paths paths = {4, s, gw_equations_evaluate, work, 10};
    return gw_finish_path(&paths, e);
}

/* What three quadrics are equations in: the quaternion, or (t, 1). */
typedef struct unknowns {
    const gw_conditions *turning; /* NULL: the rotation is known */
    gw_quat rotation;
} unknowns;

static gw_root root_of(const unknowns *u, const gw_complex x[4])
{
    if (u->turning)
        return gw_conditions_root(u->turning, x);
    const gw_quat q = u->rotation;
    gw_complex w = cabs(x[3]) > AT_INFINITY ? x[3] : AT_INFINITY;
    return (gw_root){{q.w, q.x, q.y, q.z}, {x[0] / w, x[1] / w, x[2] / w}};
}

static bool by_quadrics(harvest *h, const unknowns *u, const gw_equations *s)
{
    gw_complex e[8][4];
    h->c->run->work -= 1200;
    if (!gw_quadrics_roots(s->quadric, e))
        return false;
    for (int i = 0; i < 8; i++) {
        gw_complex polished[4] = {e[i][0], e[i][1], e[i][2], e[i][3]};
        gw_path_end end = polish(s, &h->c->run->work, polished);
        gw_root x = root_of(u, end == GW_END_REGULAR ? polished : e[i]);
        int before = h->count;
        take(h, x, end);
        if (h->count == before && !at_infinity(&x) && belongs(h, &x, 1e-5))
            h->multiple++;
    }
    h->singular += h->crossed; /* eight there are: two at one place are one of them twice */
    h->crossed = 0;
    return true;
}

/* Every combination of e_i, i = 1 .. 3, of modulus one. */
static void by_rotation_paths(harvest *h, const gw_conditions *c, const gw_equations *s,
                              double care)
{
    static const gw_complex unit[] = {1, -1, I, -I};
    gw_paths paths = {4, s, gw_equations_evaluate, &h->c->run->work, 10};
    const int *d = s->degree;
    for (int n = 0; n < d[0] * d[1] * d[2] && !degenerate(h, n); n++) {
        gw_complex e[4] = {1, unit[n % d[0]], unit[n / d[0] % d[1]], unit[n / d[0] / d[1]]};
        gw_path_end end = gw_follow_path(&paths, care, e);
        take(h, gw_conditions_root(c, e), end);
    }
}

/* ---- poses, as sections ---------------------------------------------------------------------- */

/* A deterministic number within -1 .. 1. */
static double mixed(int i, int k)
{
    double s = sin(12.9898 * i + 78.233 * k + 0.5) * 43758.5453;
    return 2 * (s - floor(s)) - 1;
}

/* The target: the hyperplanes, or six combinations of them, and the cylinders needed. */
static void aim(const gw_forms *f, int cylinders, gw_section *s)
{
    s->linear = 6 - cylinders;
    memset(s->to, 0, sizeof s->to);
    memset(s->to_axis, 0, sizeof s->to_axis);
    for (int i = 0; i < s->linear; i++)
        for (int n = 0; n < f->linear; n++) {
            double weight = f->linear == s->linear ? i == n : mixed(i, n);
            for (int k = 0; k < GW_Y; k++)
                s->to[i][k] += weight * f->h[n][k];
        }
    for (int i = s->linear; i < 6; i++)
        for (int k = 0; k < GW_Y; k++) {
            s->to[i][k] = f->q[i - s->linear].h[k];
            s->to_axis[i][k] = f->q[i - s->linear].l[k];
        }
}

/* Turns each equation of the start by an angle: paths meet no singular point then. Each attempt
 * goes another way. */
static void turn_start(gw_section *s, int cylinders, int attempt)
{
    gw_start_section(cylinders, s);
    for (int i = 0; i < 6; i++) {
        double angle = 1 + 2.1 * i + 1.7 * attempt;
        gw_complex phase = cos(angle) + I * sin(angle);
        for (int k = 0; k < GW_Y; k++) {
            s->from[i][k] *= phase * phase;
            s->from_axis[i][k] *= phase;
        }
    }
}

static void by_section_paths(harvest *h, const gw_section *s, int cylinders, double care)
{
    gw_paths paths = {8, s, gw_section_evaluate, &h->c->run->work, 18 + cylinders};
    for (int i = 0; i < gw_start_count(cylinders) && !degenerate(h, i); i++) {
        gw_root root = gw_start_root(cylinders, s, i);
        gw_complex x[8];
        gw_section_point(&root, x);
        gw_path_end end = gw_follow_path(&paths, care, x);
        take(h, gw_section_root(x), end);
    }
}

/* ---- which ----------------------------------------------------------------------------------- */

static void begin(harvest *h, gw_completion *c, const gw_forms *f)
{
    h->c = c;
    h->forms = f;
    h->count = h->singular = h->lost = h->crossed = h->multiple = 0;
}

/* Paths to a multiple root do not prove that it is alone: a curve may pass through it. */
static gw_roots_found conclude(harvest *h, bool finite)
{
    bool simple = complete(h) && h->singular == 0;
    gw_roots_found found = {simple || finite, simple, sort_out(h)};
    if (!found.exact)
        found.complex_roots = 0;
    return found;
}

/* The forms as they are, or those of the inverse pose, whichever tells t by R. */
static bool conditions(gw_forms *f, gw_conditions *c)
{
    for (int side = 0; side < 2; side++) {
        if (gw_conditions_of(f, c))
            return true;
        gw_forms_mirror(f);
    }
    return false;
}

gw_roots_found gw_roots_quick(gw_completion *completion)
{
    gw_forms forms;
    gw_conditions c;
    gw_equations s;
    harvest h;
    gw_roots_found none = {false, false, 0};
    if (completion->row_count < 6 || gw_gram_roots(completion, &none))
        return none;
    gw_forms_of(completion, &forms);
    unknowns u = {NULL, gw_forms_rotation(&forms, completion->state->rotation)};
    if (!completion->state->fixed) {
        if (!conditions(&forms, &c) || c.quadrics < 3)
            return none;
        gw_conditions_equations(&c, &s);
        u.turning = &c;
    } else if (!gw_fixed_equations(&forms, u.rotation, &s)) {
        return none;
    }
    begin(&h, completion, &forms);
    if (!by_quadrics(&h, &u, &s))
        return none;
    return conclude(&h, true);
}

static gw_roots_found by_paths(gw_completion *completion)
{
    gw_forms forms;
    gw_conditions c;
    gw_equations s;
    gw_section section;
    harvest h;
    gw_roots_found none = {false, false, 0};
    if (completion->row_count < 6)
        return none;
    gw_forms_of(completion, &forms);
    bool turning = conditions(&forms, &c) && c.quadrics + forms.squared > 0;
    int cylinders = forms.linear < 6 ? 6 - forms.linear : 0;
    if (turning)
        gw_conditions_equations(&c, &s);
    else if (cylinders > forms.squared || cylinders > CYLINDERS_IN_TIME)
        return none;
    else
        aim(&forms, cylinders, &section);
    begin(&h, completion, &forms);
    h.lost = 1;
    for (int attempt = 0; attempt < ATTEMPTS && completion->run->work > 0; attempt++) {
        double care = 1 + attempt;
        begin(&h, completion, &forms);
        if (turning) {
            gw_equations_turn(&s, attempt);
            by_rotation_paths(&h, &c, &s, care);
        } else {
            turn_start(&section, cylinders, attempt);
            by_section_paths(&h, &section, cylinders, care);
        }
        mend(&h);
        if (complete(&h) || h.singular > 0)
            break;
    }
    return conclude(&h, false);
}

/* Behind a choice there are other leaves, which want their share. */
gw_roots_found gw_roots_all(gw_completion *completion)
{
    gw_run *run = completion->run;
    bool alone = completion->state->choice_count == 0 || completion->any_sense;
    long kept = alone || run->work <= 0 ? 0 : 3 * (run->work / 4);
    run->work -= kept;
    gw_roots_found found = by_paths(completion);
    run->work += kept;
    return found;
}
