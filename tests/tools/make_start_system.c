/*
 * Makes rt/positioning/polynomial/start_roots.c: the roots of the generic sections that paths start
 * from.
 *
 *   make tools && build/make_start_system > rt/positioning/polynomial/start_roots.c
 *   build/make_start_system 3 > rt/positioning/polynomial/start_roots_3.c
 *
 * Monodromy: a section through one known pose, then loops through other sections, each of which
 * permutes the roots and so brings new ones, until their number is that of the degree, 40 for
 * hyperplanes and twice as many for each cylinder; last, from that section to the one wanted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/positioning/polynomial/study_equations.h"
#include "tests/random.h"

static unsigned long long state = 7;

static double uniform(void)
{
    return random_uniform(&state, -1, 1);
}

static gw_complex number(void)
{
    double re = uniform(), im = uniform();
    return re + im * I;
}

/* One of the ends of a section's paths. */
typedef struct system_of {
    gw_complex h[6][GW_Y], axis[6][GW_Y];
} system_of;

static system_of random_system(int cylinders)
{
    system_of s;
    memset(&s, 0, sizeof s);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < GW_Y; k++) {
            s.h[i][k] = number();
            if (i >= 6 - cylinders && (k < GW_Y_S || k == GW_Y_ONE))
                s.axis[i][k] = number();
        }
    return s;
}

static gw_complex_pose random_root(void)
{
    gw_complex_pose x;
    for (int i = 0; i < 4; i++)
        x.e[i] = number();
    for (int i = 0; i < 3; i++)
        x.t[i] = number();
    return x;
}

/* Moves the constants so that the system has the root. */
static void pass_through(system_of *s, const gw_complex_pose *x)
{
    gw_complex y[GW_Y];
    gw_forms_coordinates(x, y);
    for (int i = 0; i < 6; i++) {
        gw_complex h = 0, l = 0;
        for (int k = 0; k < GW_Y; k++) {
            h += s->h[i][k] * y[k];
            l += s->axis[i][k] * y[k];
        }
        s->h[i][GW_Y_ONE] -= (h - l * l / y[GW_Y_ONE]) / y[GW_Y_ONE];
    }
}

/* N h - l^2 times the square of a phase is another form of the same cylinder. */
static void put(const system_of *s, gw_complex (*h)[GW_Y], gw_complex (*axis)[GW_Y], bool turned)
{
    for (int i = 0; i < 6; i++) {
        gw_complex phase = turned ? cexp(I * GW_PI * uniform()) : 1;
        for (int k = 0; k < GW_Y; k++) {
            h[i][k] = phase * phase * s->h[i][k];
            axis[i][k] = phase * s->axis[i][k];
        }
    }
}

static bool go(int cylinders, const system_of *a, const system_of *b, gw_study_homotopy *s,
               gw_complex_pose *x, int count, bool *there)
{
    static gw_homotopy_path path[GW_MAX_PATHS];
    bool all = true;
    long work = 100000000;
    gw_study_matrices ways;
    gw_homotopy paths = {8, &ways, gw_study_evaluate, &work, 1};
    s->linear = 6 - cylinders;
    put(a, s->from, s->from_axis, true);
    put(b, s->to, s->to_axis, true);
    gw_study_matrices_of(s, &ways);
    for (int i = 0; i < count; i++)
        gw_study_point(&x[i], path[i].x);
    gw_track_paths(&paths, 10, path, count);
    for (int i = 0; i < count; i++) {
        bool arrived = path[i].end == GW_END_REGULAR;
        x[i] = gw_study_pose(path[i].x);
        there[i] = there[i] && arrived;
        all = all && arrived;
    }
    return all;
}

static bool same(const gw_complex_pose *a, const gw_complex_pose *b)
{
    double off = 0;
    for (int i = 1; i < 4; i++)
        off = fmax(off, cabs(a->e[i] / a->e[0] - b->e[i] / b->e[0]));
    return off < 1e-6;
}

/* All roots of a random system. */
static void gather(int cylinders, system_of *s, gw_complex_pose *roots)
{
    int wanted = gw_start_root_count(cylinders), count = 1;
    gw_study_homotopy section;
    roots[0] = random_root();
    *s = random_system(cylinders);
    pass_through(s, &roots[0]);
    while (count < wanted) {
        gw_complex_pose moved[GW_MAX_PATHS];
        bool there[GW_MAX_PATHS];
        system_of by = random_system(cylinders);
        memcpy(moved, roots, sizeof moved[0] * (size_t)count);
        memset(there, 1, sizeof there);
        go(cylinders, s, &by, &section, moved, count, there);
        go(cylinders, &by, s, &section, moved, count, there);
        for (int i = 0, before = count; i < before; i++) {
            bool known = !there[i];
            for (int k = 0; k < count; k++)
                known = known || same(&moved[i], &roots[k]);
            if (!known && count < wanted)
                roots[count++] = moved[i];
        }
        fprintf(stderr, "%d cylinders: %d roots\n", cylinders, count);
    }
}

/* From there to the start section, by another way where a path is lost. */
static void bring(int cylinders, const system_of *s, gw_complex_pose *roots)
{
    int count = gw_start_root_count(cylinders);
    gw_study_homotopy section;
    system_of start;
    gw_start_system(cylinders, &section);
    memcpy(start.h, section.from, sizeof start.h);
    memcpy(start.axis, section.from_axis, sizeof start.axis);
    for (int tries = 0; tries < 20; tries++) {
        gw_complex_pose moved[GW_MAX_PATHS];
        bool there[GW_MAX_PATHS];
        memcpy(moved, roots, sizeof moved[0] * (size_t)count);
        memset(there, 1, sizeof there);
        bool all = go(cylinders, s, &start, &section, moved, count, there);
        for (int i = 0; i < count; i++)
            for (int k = 0; k < i; k++)
                all = all && !same(&moved[i], &moved[k]);
        if (all) {
            memcpy(roots, moved, sizeof moved[0] * (size_t)count);
            return;
        }
    }
    fprintf(stderr, "%d cylinders: paths are lost\n", cylinders);
    exit(1);
}

static void print(int cylinders, const gw_complex_pose *roots)
{
    int count = gw_start_root_count(cylinders);
    int numbers = cylinders < 3 ? 3 : 6; /* three hyperplanes do not tell t */
    printf("\nconst double gw_start_roots_%d[%d][%d] = {\n", cylinders, count, 2 * numbers);
    for (int i = 0; i < count; i++) {
        printf("    {");
        for (int k = 1; k <= numbers; k++) {
            gw_complex z = k < 4 ? roots[i].e[k] / roots[i].e[0] : roots[i].t[k - 4];
            printf("%.10g, %.10g%s", creal(z), cimag(z), k < numbers ? ", " : "},\n");
        }
    }
    printf("};\n");
}

/* Of one number of cylinders, or of those below three. */
int main(int count, char **argument)
{
    int first = count > 1 ? atoi(argument[1]) : 0, last = count > 1 ? first : 2;
    static gw_complex_pose roots[GW_MAX_PATHS];
    printf(
        "/*\n * Roots of the sections of start_system.c. Made by tests/tools/make_start_system.c:"
        "\n * not to be edited.\n */\n#include \"rt/positioning/polynomial/section.h\"\n\n"
        "/* clang-format off */\n");
    for (int cylinders = first; cylinders <= last; cylinders++) {
        system_of s;
        gather(cylinders, &s, roots);
        bring(cylinders, &s, roots);
        print(cylinders, roots);
    }
    return 0;
}
