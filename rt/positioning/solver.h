/*
 * Private to rt/positioning: the state that rules rewrite, the exploration of its branches, and the
 * interfaces of the stages. Notation of the constraints: fundamental.h.
 *
 * Of a pair of distances P, Q are the points on object a, and the surfaces on object b are points
 * (spheres), lines (cylinders) and planes; d_a, d_b are the distances on either object.
 *
 * Any thread, RT safe: no allocation; the exploration's depth bounds the stack.
 */
#ifndef GW_POSITIONING_SOLVER_H
#define GW_POSITIONING_SOLVER_H

#include "rt/positioning/fundamental.h"
#include "rt/positioning/solve.h"

/* Tolerance of equalities that rules test, times the problem's size, or in radians. */
#define GW_SNAP 2e-10
/* An angle this near 0 or pi is taken as parallel (rad): the arc cosine of a product that differs
 * from one by round-off is off by some 1e-8, with cos(value) = a . b still satisfied. */
#define GW_SNAP_ALONG 6e-8
/* Largest residual of a returned branch, times the problem's size. */
#define GW_VERIFIED 1e-9

/* Bound of the numeric completion, in rows evaluated (six more each time): some 20 ms; and of all
 * work where there are free-form shapes: some 150 ms. */
#define GW_MAX_WORK           400000
#define GW_MAX_FREE_FORM_WORK 3000000
/* Largest excess over the bound by a descent in progress when it is reached. On free-form shapes
 * searches leave as much for nearest poses of the sets found, and for redundancy. */
#define GW_OVERDRAFT 250000

#define GW_MAX_DISTANCES    96 /* fundamental: one an input constraint, and derived ones */
#define GW_MAX_ANGLES       96 /* fundamental, likewise */
#define GW_MAX_PAIRS        96 /* pairs whose implied angle was already made explicit */
#define GW_MAX_ALTERNATIVES 8  /* alternatives of one rule: the rotations of three angles */
#define GW_MAX_CHOICES      14 /* digits of a branch's id: its size less "b" and the terminator */

/* State of a branch: the remaining fundamental constraints, and the rotation if known. */
typedef struct gw_solver_state {
    int distance_count, angle_count, pair_count, open_sense_count;
    bool rotation_known;
    bool nearly_double; /* the rotation is a nearly double root: a conflict with it is no proof */
    bool capped;        /* a cap was reached: the list of constraints is not complete */
    double slack;       /* of its tangencies: over the size, or rad */
    signed char loop;   /* chosen loop of rotations of its two angles, 1 or -1; 0: none */
    const gw_rotation_set *loops; /* these loops; NULL: not known */
    gw_quat rotation;
    unsigned long rotation_from; /* bits of the input constraints that it stems from */
    unsigned long left_out; /* bits of constraints that others nearly imply: no rule uses them */
    int serial;             /* of the newest distance */
    int choice_count;
    char choices[GW_MAX_CHOICES + 1]; /* so far, as characters of the branch's id */
    gw_distance_constraint distances[GW_MAX_DISTANCES];
    gw_angle_constraint angles[GW_MAX_ANGLES];
    int pairs[GW_MAX_PAIRS][2];                /* serials of distances whose rule is done */
    unsigned char open_senses[GW_MAX_PROBLEM]; /* input constraints whose sense is still open */
} gw_solver_state;

/* The constraints that replace those that a rule matched: one alternative of one or several. */
typedef struct gw_alternative {
    int distance_count, angle_count;
    gw_distance_constraint distances[2];
    gw_angle_constraint angles[2];
    bool fixes_rotation, nearly_double;
    unsigned long left_out; /* constraints that rules need not look at, but poses must satisfy */
    char label;             /* of the choice, in the branch's id; 0: its number */
    gw_quat rotation;
} gw_alternative;

/* The result of a rule on the constraints that it was given. */
typedef struct gw_rule_result {
    enum { GW_RULE_NONE, GW_RULE_REWRITES, GW_RULE_CONFLICT, GW_RULE_NO_ROOT } outcome;
    const char *rule;
    double excess;                    /* of a conflict: over the size, or in rad */
    double slack_length, slack_angle; /* uncertainty of tangencies (m, rad) */
    bool keeps_pair;                  /* the pair stays, and is marked as done */
    int count;                        /* alternatives */
    gw_alternative alternatives[GW_MAX_ALTERNATIVES];
} gw_rule_result;

typedef struct gw_solver gw_solver;
typedef struct gw_contradictions gw_contradictions;

/* The branch that an exploration tracks: alternatives are chosen by the labels of its id, or by its
 * former pose. */
typedef struct gw_tracked_branch {
    const gw_branch *before;
    bool by_pose;
    double reach; /* a pose farther than this from the former ones is not this branch's (m) */
} gw_tracked_branch;

/* One exploration of all constraints, or of some of them, which passes each leaf to `leaf`. */
struct gw_solver {
    const gw_problem *problem;
    unsigned long use;                /* bits of the constraints taken */
    double size, snap;                /* m */
    double direction_snap;            /* rad */
    double conflict_snap;             /* m: a conflict of distances exceeds it */
    double conflict_snap_angle;       /* rad: a conflict of angles does */
    gw_solution *solution;            /* trace, implied, conflict go here; NULL: nowhere */
    const gw_tracked_branch *tracked; /* NULL: all branches */
    void (*leaf)(gw_solver *solver, const gw_solver_state *state);
    void *context;
    gw_contradictions *contradictions; /* that end branches (conflict.c); NULL: not recorded */
    long work;              /* remaining work of the numeric completion, in rows evaluated, and on
                               free-form shapes */
    bool stop;              /* set by a leaf: no further leaves wanted */
    bool stated_checked;    /* pairs of constraints as they are stated have no conflict */
    bool unproven;          /* a branch ended without a proof */
    bool leaf_not_verified; /* the closed form of the leaf at work is off the constraints */
    bool may_end_early;     /* a branch ended by less than the uncertainty of its tangencies */
    bool may_miss_poses;    /* that of a nearly double root: poses near it may be missing */
    gw_conflict conflict;   /* of the fewest constraints found so far */
    gw_rule_result result;  /* of the rule at work */
};

/* ---- constraint_kinds.c: decomposition (Table I) --------------------------------------------- */

/* Adds the fundamental constraints of input constraint i with the sense given (same or opposite;
 * either: of a constraint without one). */
void gw_decompose(const gw_solver *solver, gw_solver_state *state, int i, gw_sense sense);
/* All constraints as stated, not decomposed. An open sense needs no choice: the rows of parallels
 * are satisfied for either. */
void gw_decompose_all(const gw_solver *solver, gw_solver_state *state);
/* The rows of input constraint i alone; returns their number. */
#define GW_CONSTRAINT_ROWS 5
int gw_constraint_rows(const gw_solver *solver, int i, gw_row *rows);
/* Independent rows of a constraint at a generic pose: the number of freedoms that it removes alone.
 */
int gw_constraint_codimension(const gw_constraint *constraint);
/* The sense of constraint i that the rotations known so far allow; GW_EITHER if both. */
gw_sense gw_implied_sense(const gw_solver *solver, const gw_solver_state *state, int i);
/* u . f = cos(angle), brought to angles below pi and snapped at 0 and pi. */
gw_angle_constraint gw_angle_constraint_of(gw_vec3 u, gw_vec3 f, double angle, unsigned long from);

/* ---- combine.c: the exploration -------------------------------------------------------------- */

/* An exploration of all constraints of a problem, of all branches, its leaves given to `leaf`. */
void gw_solver_init(gw_solver *solver, const gw_problem *problem,
                    void (*leaf)(gw_solver *solver, const gw_solver_state *state), void *context);
void gw_solver_explore(gw_solver *solver);
/* Distance of an element from its frame's origin (m); of a free-form shape, that of its farthest
 * part. */
double gw_element_reach(const gw_element *element);
/* True if two constraints as stated contradict each other, with the conflict recorded: rewriting
 * may lose it, because it replaces a circle by an unbounded line and plane. */
bool gw_stated_conflict(gw_solver *solver);

/* An empty state: no constraints, the rotation unknown. */
void gw_solver_state_init(gw_solver_state *state);
void gw_add_distance(gw_solver_state *state, const gw_distance_constraint *distance);
void gw_add_angle(gw_solver_state *state, const gw_angle_constraint *angle);

/* ---- functions by which rules set solver->result --------------------------------------------- */

/* Adds an alternative. */
gw_alternative *gw_add_alternative(gw_solver *solver, const char *rule);
/* Adds a distance to an alternative, on the sides of `like`. */
void gw_put_distance(gw_alternative *alternative, const gw_distance_constraint *like,
                     gw_element_kind surface, gw_vec3 a, gw_vec3 b, gw_vec3 d, double p);
/* Keeps a distance as it is. */
void gw_keep_distance(gw_alternative *alternative, const gw_distance_constraint *distance);
/* Adds the angle between a's vector u and b's vector w, with the sides of `like`. */
void gw_put_angle(gw_alternative *alternative, const gw_distance_constraint *like, gw_vec3 u,
                  gw_vec3 w, double angle);
/* Adds the alternative of a known rotation. */
void gw_add_rotation(gw_solver *solver, const char *rule, gw_quat rotation);

/* An inequality that fails, for gw_conflict: all static text. */
typedef struct gw_inequality {
    const char *condition, *sentence;
    const char *apart[2];
} gw_inequality;

/* Records a conflict: the input constraints from which either side stems, the excess (over the
 * size, or in rad) and the inequality; then its values. */
void gw_add_conflict(gw_solver *solver, unsigned long first, unsigned long second, double excess,
                     const gw_inequality *fails);
void gw_add_conflict_value(gw_solver *solver, const char *name, double value);
/* d_a, d_b, p, q of a pair. */
void gw_add_conflict_distances(gw_solver *solver, double d_a, double d_b, double p, double q);

/* Records a conflict of a pair of distances whose inequality fails by `excess` (m), if that is more
 * than the snap: fails[0] for two points on a, fails[1] if they coincide (d_a = 0). True if it was
 * recorded. */
bool gw_refuse_pair(gw_solver *solver, const struct gw_distance_constraint *x,
                    const struct gw_distance_constraint *y, double excess, double d_a, double d_b,
                    double q, const gw_inequality fails[2]);

/* P is on the axis l of the cylinder on which Q is, q from it: u from P to Q makes the angle
 * asin(q / d_a) with l, or pi less it; x is kept. */
void gw_put_angles_with_axis(gw_solver *solver, const char *rule,
                             const struct gw_distance_constraint *x, gw_vec3 u, gw_vec3 l, double q,
                             double d_a);

/* Uncertainty of surfaces that are tangent within the snap, of the order of its square root:
 * lengths by the leg of a circle of that radius, directions by a rotation of that arm (0: none).
 * `gain` multiplies the snap. */
static inline void gw_tangency_slack(gw_solver *solver, double radius, double arm, double gain)
{
    gw_rule_result *r = &solver->result;
    double slack = 2 * GW_SNAP * solver->size * gain;
    r->slack_length = fmax(r->slack_length, sqrt(slack * radius));
    r->slack_angle = fmax(r->slack_angle, arm > 0 ? fmin(1, sqrt(slack / arm)) : 0);
}

static inline bool gw_equal_lengths(const gw_solver *solver, double a, double b)
{
    return fabs(a - b) <= solver->snap;
}

static inline bool gw_zero_length(const gw_solver *solver, double a)
{
    return fabs(a) <= solver->snap;
}

/* sqrt of a difference of squares, never of a negative number */
static inline double gw_leg(double hypotenuse, double leg)
{
    return sqrt(fmax(0, (hypotenuse - leg) * (hypotenuse + leg)));
}

/* The same, but 0 where both are equal within the snap: the surfaces are tangent. */
static inline double gw_leg_or_tangent(gw_solver *solver, double hypotenuse, double leg, double arm,
                                       double gain)
{
    if (!gw_equal_lengths(solver, hypotenuse, leg))
        return gw_leg(hypotenuse, leg);
    gw_tangency_slack(solver, hypotenuse, arm, gain);
    return 0;
}

static inline double gw_clamped_acos(double c)
{
    return acos(c > 1 ? 1 : c < -1 ? -1 : c);
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Two distances on one side, surfaces in the order of the name (combine_points.c,
 * combine_lines.c, combine_planes.c). */
void gw_rule_point_point(gw_solver *solver, const gw_distance_constraint *x,
                         const gw_distance_constraint *y);
void gw_rule_point_line(gw_solver *solver, const gw_distance_constraint *x,
                        const gw_distance_constraint *y);
void gw_rule_line_line(gw_solver *solver, const gw_distance_constraint *x,
                       const gw_distance_constraint *y);
void gw_rule_point_plane(gw_solver *solver, const gw_distance_constraint *x,
                         const gw_distance_constraint *y);
void gw_rule_line_plane(gw_solver *solver, const gw_distance_constraint *x,
                        const gw_distance_constraint *y);
void gw_rule_plane_plane(gw_solver *solver, const gw_distance_constraint *x,
                         const gw_distance_constraint *y);
/* Surfaces on opposite sides (combine_lines.c). */
void gw_rule_opposite_sides(gw_solver *solver, const gw_distance_constraint *x,
                            const gw_distance_constraint *y);

/* Two angles; an angle and a known rotation (combine_angles.c). */
void gw_rule_angles(gw_solver *solver, const gw_angle_constraint *x, const gw_angle_constraint *y);
void gw_rule_known_rotation(gw_solver *solver, const gw_solver_state *state,
                            const gw_angle_constraint *x);
/* Three angles: every rotation, or GW_RULE_NONE when they are not independent
 * (combine_three_angles.c). */
void gw_rule_three_angles(gw_solver *solver, const gw_solver_state *state);
/* One parallel, and points on points, lines and planes: every rotation about the known direction,
 * or GW_RULE_NONE where they leave it free (combine_about_axis.c). */
void gw_rule_rotation_about_axis(gw_solver *solver, const gw_solver_state *state);

/* Uses known directions to bring two distances onto one point, or a surface onto the other side;
 * true where something changed, with the constraints that it used (known_directions.c). */
bool gw_use_known_directions(const gw_solver *solver, gw_solver_state *state, unsigned long *from);

/* ---- synthesis.c: Tables III to V ------------------------------------------------------------ */

/* The closed form of a state; false where its factors do not separate. Rows are filled in either
 * case, and rotation data as far as it is known. */
bool gw_synthesise(const gw_solver *solver, const gw_solver_state *state, gw_submanifold *set);
/* The rotational factor of a state's two angles, on its loop; false where there is none. */
bool gw_rotation_by_two_angles(const gw_solver_state *state, gw_rotation_set *r);
/* The set of one pose x of a state. */
void gw_synthesise_pose(const gw_solver *solver, const gw_solver_state *state, const gw_pose *x,
                        gw_submanifold *set);
#define GW_DISTANCE_ROWS 5 /* at most, of a distance */

/* Rows of a known rotation (3), of a distance, of an angle (at most 2); return their number. */
int gw_rotation_rows(gw_quat rotation, gw_row *rows);
int gw_distance_rows(const gw_distance_constraint *distance, gw_row *rows);
int gw_angle_rows(const gw_angle_constraint *angle, gw_row *rows);

/* ---- verify.c -------------------------------------------------------------------------------- */

/* gw_constraint_residual(); the search for a closest point is taken from `work`; NULL: from none.
 */
double gw_constraint_residual_counted(const gw_constraint *constraint, const gw_pose *x,
                                      double length, long *work);
/* The largest residual of the constraints in `use` at a pose, over the problem's size. */
double gw_problem_residual(const gw_problem *problem, unsigned long use, double size,
                           const gw_pose *x);
/* The pose of a set nearest to the problem's, among those where no other part of an offset surface
 * is nearer than the offset: the best of some random samples, then of random steps from there.
 * `nearest`: in, that of the whole set; out, this one. False if none was found. */
bool gw_nearest_over_surfaces(gw_solver *solver, const gw_submanifold *set, gw_pose *nearest);

/* True where a constraint is on a free-form curve or surface. */
bool gw_has_free_form(const gw_problem *problem);
/* The bound of the work of an answer to a problem. */
long gw_work_limit(const gw_problem *problem);
/* The residual of the constraints that the solver uses; closest-point searches count as work. */
double gw_solver_residual(gw_solver *solver, const gw_pose *x);
/* The subset of `asked` that a pose satisfies. */
unsigned long gw_satisfied_constraints(gw_solver *solver, const gw_pose *x, unsigned long asked);
/* Poses of a closed form at generic parameters; returns their number. */
int gw_generic_poses(const gw_submanifold *set, double size, gw_pose x[2]);
/* True when the set satisfies every constraint that the solver uses, at generic parameters. `work`:
 * as above. */
bool gw_verified(const gw_solver *solver, const gw_submanifold *set, long *work);

/* ---- solve.c, numeric_completion.c ----------------------------------------------------------- */

/* Adds a branch to the solution, unless it is there already. `name`: distinguishes it from others
 * of the same state, at most two characters. `known`: a curve's nearest pose; NULL for other sets,
 * whose nearest pose is computed. */
void gw_add_branch(gw_solver *solver, const gw_solver_state *state, const char *name,
                   const gw_submanifold *set, const gw_pose *known);

/* Completes a state that has no closed form: branches go to solver->solution. With any sense,
 * parallels may also end up opposite. */
void gw_complete_numerically(gw_solver *solver, const gw_solver_state *state, bool any_sense);

#define GW_ROOTS_UNCOUNTED (-1) /* complex_roots until the roots of all constraints are counted */
/* The complex roots of a state, where an eigenproblem gives them; else 0. */
int gw_count_roots(gw_solver *solver, const gw_solver_state *state);

/* ---- branch_label.c -------------------------------------------------------------------------- */

/* Label of a pose by its position relative to fixed generic directions: a function of the pose. */
typedef struct gw_branch_label {
    int side; /* one of 8 cells of rotations, 16 of poses */
    double height;
} gw_branch_label;

gw_branch_label gw_pose_label(const gw_solver *solver, const gw_pose *x);
/* Labels the result's rotations by their position. */
void gw_label_rotations(gw_solver *solver);
/* "b", the choices of the state, and the name of a numeric set. */
void gw_write_branch_id(const gw_solver_state *state, const char *name, char id[16]);
/* Appends a colon and a digit to ids that several branches share. */
void gw_make_ids_unique(const gw_solver *solver, gw_solution *solution);

/* ---- conflict.c ------------------------------------------------------------------------------ */

/* Certainty of the failed inequalities, one on every branch of an exploration. */
typedef enum gw_conflict_certainty {
    GW_CONFLICT_UNCERTAIN, /* one fails by no more than its uncertainty */
    GW_CONFLICT_CERTAIN,   /* all fail by more than the snap and their uncertainty */
    GW_CONFLICT_BY_FAR     /* and by much more */
} gw_conflict_certainty;

/* Sets the solver's conflict to constraints that have no common pose; a minimal set of them if the
 * conflict is certain by far. */
gw_conflict_certainty gw_minimal_conflict(gw_solver *solver);

/* For combine.c during the perturbation test: records that a branch ended by the result's conflict;
 * perturbs the result's alternatives by their slack. */
void gw_record_contradiction(gw_solver *solver);
void gw_perturb_alternatives(gw_solver *solver);

/* ---- free_form_conflict.c -------------------------------------------------------------------- */

/* True, with the solver's conflict set, if it is proven that no pose satisfies a constraint on a
 * free-form shape and the others. To be asked where searches found none: 1 to 50 ms. */
bool gw_free_form_conflict(gw_solver *solver);

/* ---- solve_branch.c: choices of an exploration that tracks a branch -------------------------- */

/* Index of the result's alternative that the tracked branch takes. */
int gw_tracked_alternative(const gw_solver *solver, const gw_solver_state *state);
/* Keeps the result's rotation that continues the tracked branch; none if all are too far. Labels do
 * not identify it, because they depend on the position, which changes as the world rotates. */
void gw_keep_tracked_rotation(gw_solver *solver, const gw_solver_state *state);
/* The sense of constraint i on the tracked branch. */
gw_sense gw_tracked_sense(const gw_solver *solver, const gw_solver_state *state, int i);

/* The loop of rotations that the tracked branch is on, 1 or -1. */
int gw_tracked_loop(const gw_solver *solver, const gw_rotation_set *rotations);

/* ---- origin_shift.c -------------------------------------------------------------------------- */

/* The mean of the fixed elements, if it is far from the world's origin relative to the elements'
 * distances from it and from the body's origin; else false. */
bool gw_origin_shift(const gw_problem *problem, gw_vec3 *shift);
/* The problem in a world whose origin is at `shift`; `constraints` has room for all of the
 * problem's. */
void gw_shift_problem(const gw_problem *problem, gw_vec3 shift, gw_constraint *constraints,
                      gw_problem *shifted);
/* A branch in a world whose origin is at -by. */
void gw_shift_branch(gw_branch *branch, gw_vec3 by);

/* ---- redundancy.c ---------------------------------------------------------------------------- */

/* Adds the constraints that follow from others to the solution, found by solving without them. */
void gw_find_redundant(const gw_solver *solver);

#endif
