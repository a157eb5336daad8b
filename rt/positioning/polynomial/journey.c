/*
 * All roots of a leaf by paths: where these start, what they lead to, and what is done where one is
 * lost. Any thread, RT safe; bounded by gw_solver's `work`.
 */
#include <string.h>

#include "rt/positioning/polynomial/harvest.h"
#include "rt/positioning/polynomial/section.h"

#define ATTEMPTS  2  /* ways from the start to the target */
#define REPEATS   3  /* times that single paths are followed again, */
#define MORE_CARE 5  /* each with so much more of it */
#define SAMPLE    16 /* paths that tell whether a curve passes through their ends */

/* The target: the hyperplanes, or six combinations of them, and the cylinders needed. */
static void aim(const gw_forms *f, int cylinders, gw_study_homotopy *s)
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
            s->to[i][k] = f->q[i - s->linear].h[k];
            s->to_axis[i][k] = f->q[i - s->linear].l[k];
        }
}

/* Turns each equation of the start by an angle: paths meet no singular point then. Each attempt
 * goes another way. */
static void turn_start(gw_study_homotopy *s, int cylinders, int attempt)
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

/* All paths from a start system: of rotations, t following from them, or of a section of all
 * coordinates. */
typedef struct journey {
    gw_homotopy paths;
    int count;
    const gw_rotation_conditions *turning; /* NULL: a section's */
    gw_three_equations equations;
    gw_quaternion_homotopy turns;
    int cylinders;
    gw_study_homotopy section;
    gw_study_matrices ways;
} journey;

/* Start i: every combination of e_1 .. e_3 of modulus one, or a root of the table. */
static void start_of(const journey *j, int i, gw_complex *x)
{
    static const gw_complex unit[] = {1, -1, I, -I};
    if (!j->turning) {
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

/* From so many starts, by their numbers. */
static void follow(gw_root_set *h, const journey *j, const int *starts, int count, double care)
{
    gw_homotopy_path path[GW_MAX_PATHS];
    for (int i = 0; i < count; i++)
        start_of(j, starts[i], path[i].x);
    gw_track_paths(&j->paths, care, path, count);
    for (int i = 0; i < count; i++) {
        const gw_complex *x = path[i].x;
        gw_complex_pose root = j->turning ? gw_pose_of_quaternion(j->turning, x) : gw_study_pose(x);
        gw_root_set_add_endpoint(h, starts[i], root, path[i].end);
    }
}

static void follow_all(gw_root_set *h, const journey *j, double care)
{
    int starts[GW_MAX_PATHS], count = j->count, first = count < SAMPLE ? count : SAMPLE;
    for (int i = 0; i < count; i++)
        starts[i] = i;
    follow(h, j, starts, first, care);
    if (!gw_root_set_degenerate(h, first))
        follow(h, j, starts + first, count - first, care);
    for (int n = 0; n < REPEATS && h->lost > 0 && *j->paths.work > 0; n++) {
        count = h->lost;
        memcpy(starts, h->again, (size_t)count * sizeof *starts);
        h->lost = 0;
        care *= MORE_CARE;
        follow(h, j, starts, count, care);
    }
}

/* Another way from the start to the target, for each attempt. */
static void choose_way(journey *j, int attempt)
{
    if (j->turning) {
        gw_quaternion_homotopy_of(&j->equations, attempt, &j->turns);
        return;
    }
    turn_start(&j->section, j->cylinders, attempt);
    gw_study_matrices_of(&j->section, &j->ways);
}

static void travel(gw_root_set *h, journey *j)
{
    h->lost = j->count;
    for (int attempt = 0; attempt<ATTEMPTS && * j->paths.work> 0; attempt++) {
        gw_root_set_begin(h, h->c, h->forms);
        choose_way(j, attempt);
        follow_all(h, j, 1 + attempt);
        gw_root_set_add_conjugates(h);
        if (gw_root_set_complete(h) || h->singular > 0)
            break;
    }
}

void gw_homotopy_in_quaternion(gw_root_set *h, const gw_rotation_conditions *c)
{
    journey j;
    j.turning = c;
    gw_rotation_equations(c, &j.equations);
    j.count = j.equations.degree[0] * j.equations.degree[1] * j.equations.degree[2];
    j.paths = (gw_homotopy){4, &j.turns, gw_quaternion_evaluate, &h->c->run->work,
                            GW_QUATERNION_STEP_COST};
    travel(h, &j);
}

void gw_homotopy_in_study(gw_root_set *h, int cylinders)
{
    journey j;
    j.turning = NULL;
    j.cylinders = cylinders;
    aim(h->forms, cylinders, &j.section);
    j.count = gw_start_root_count(cylinders);
    j.paths = (gw_homotopy){8, &j.ways, gw_study_evaluate, &h->c->run->work, GW_STUDY_STEP_COST};
    travel(h, &j);
}
