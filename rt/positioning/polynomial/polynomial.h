/*
 * Isolated poses as roots of polynomials: the interface of rt/positioning/polynomial.
 *
 * A leaf of the exploration to which no rule applies is a system of rows. If its poses are
 * isolated, all of them are found: by an eigenproblem if the system reduces to three quadrics, else
 * by homotopy continuation from a start system with known roots. homotopy.c states which system is
 * solved when.
 *
 * No allocation, no global state: any thread, RT safe; bounded by `work`.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_POLYNOMIAL_H
#define GW_POSITIONING_POLYNOMIAL_POLYNOMIAL_H

#include "rt/positioning/fundamental.h"

/* A system of rows in a pose g = (R, t), and the constraints that it was made from. The caller owns
 * the memory of all pointers. */
typedef struct gw_pose_system {
    int row_count;
    const gw_row *rows;
    int distance_count, angle_count; /* the fundamental constraints that the rows stem from */
    const gw_distance_constraint *distances;
    const gw_angle_constraint *angles;
    bool rotation_known;
    gw_quat rotation;           /* world from body, where it is known */
    bool any_sense;             /* parallel directions may also be opposite */
    double size;                /* m: of the problem */
    gw_vec3 middle_m, middle_f; /* mean point of the distances, in the body and in the world */
    long *work;                 /* rows that may still be evaluated; counted down */
    /* Takes an approximate pose, the real part of a root, which the caller refines on the rows and
     * drops if no pose is near. */
    void (*report)(void *context, const gw_pose *x);
    void *context;
} gw_pose_system;

typedef struct gw_root_summary {
    bool exact;        /* all roots were found: they are finite in number, and no path was lost */
    bool simple;       /* all roots are simple */
    int complex_roots; /* their number, with multiplicity, real ones included; 0 if not exact */
} gw_root_summary;

/* The roots of a system that reduces to three quadrics in R, in t for a known R, or in the unknowns
 * of Gram matrices: an eigenproblem of size eight, some tens of microseconds. All zero for another
 * system. */
gw_root_summary gw_roots_by_eigenvalues(const gw_pose_system *system);

/* The roots by homotopy continuation: milliseconds. All zero if no start system fits. */
gw_root_summary gw_roots_by_homotopy(const gw_pose_system *system);

/* The constraints, as bits, that follow linearly from the system: the forms of all of their `rows`
 * are linear combinations of the system's hyperplanes. `constraint[i]`, 0 .. 63, is the constraint
 * that row i belongs to. */
unsigned long gw_linearly_dependent(const gw_pose_system *system, const gw_row *rows,
                                    const unsigned char *constraint, int count);

/* The real roots of a trigonometric polynomial of degree at most four in phi, from its samples at
 * 2 pi k / GW_TRIGONOMETRIC_SAMPLES. Returns their number; `*most` is the polynomial's largest
 * coefficient. */
#define GW_TRIGONOMETRIC_SAMPLES 16
#define GW_TRIGONOMETRIC_ROOTS   8
int gw_trigonometric_roots(const double sample[GW_TRIGONOMETRIC_SAMPLES],
                           double phi[GW_TRIGONOMETRIC_ROOTS], double *most);
/* The cosine of the k-th sample's angle, for any k; exact at multiples of pi / 2. */
double gw_trigonometric_cosine(int k);

/* A deterministic number within -1 .. 1, for combinations that are to be generic. */
static inline double gw_generic_number(int i, int k)
{
    double s = sin(12.9898 * i + 78.233 * k + 0.5) * 43758.5453;
    return 2 * (s - floor(s)) - 1;
}

#endif
