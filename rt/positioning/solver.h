/*
 * Inside of rt/positioning: fundamental constraints, the state that rules rewrite, and the stages.
 *
 * Notation of the rules, after the papers: object "b" owns the surfaces of a pair, object "a" the
 * points on them; either may be the body. P, Q are the points on a, the surfaces on b are points
 * (spheres), lines (cylinders) and planes; d_a, d_b are the distances on either object.
 *
 * Any thread, RT safe: no allocation; the exploration's depth bounds the stack.
 */
#ifndef GW_POSITIONING_SOLVER_H
#define GW_POSITIONING_SOLVER_H

#include "rt/positioning/solve.h"

/* Equalities that rules test are snapped within this, times the problem's size, or in radians. */
#define GW_SNAP 2e-10
/* An angle this near 0 or pi is meant as along (rad): the arc cosine of a product that lacks a few
 * last digits of one lies some 1e-8 off, and cos(value) = a . b holds all the same. */
#define GW_SNAP_ALONG 6e-8
/* No answer leaves with a residual above this, times the problem's size. */
#define GW_VERIFIED 1e-9

/* Bound of the numeric completion, in rows evaluated (six more each time): some 20 ms. */
#define GW_MAX_WORK 400000

#define GW_MAX_DISTANCES                                                                           \
    96 /* fundamental translational constraints: one an input, and derived ones                    \
        */
#define GW_MAX_ANGLES       96 /* fundamental rotational constraints, likewise */
#define GW_MAX_PAIRS        96 /* pairs whose implied angle was already made explicit */
#define GW_MAX_ALTERNATIVES 8  /* alternatives of one rule: the poses of three angles */
#define GW_MAX_CHOICES      14 /* digits of a branch's id: its size less "b" and the terminator */

/*
 * d(point, surface) = p. The surface kinds are gw_element_kind's: a point (p >= 0: sphere), a line
 * (p >= 0: cylinder), a plane (p = 0).
 */
typedef struct gw_distance_constraint {
    gw_element_kind surface;
    bool body_owns; /* the surface is the body's and the point the world's */
    gw_vec3 a;      /* the point */
    gw_vec3 b, d;   /* the surface: a point of it, its direction or normal */
    double p;
    unsigned long from; /* bits of the input constraints */
    int serial;         /* names the place within a run */
} gw_distance_constraint;

/* Angle between R u and f. An angle of pi is kept as 0 with u turned around. */
typedef struct gw_angle_constraint {
    gw_vec3 u; /* unit, body */
    gw_vec3 f; /* unit, world */
    double angle, cosine;
    unsigned long from;
} gw_angle_constraint;

typedef struct gw_solver_state {
    int place_count, direction_count, pair_count, pending_count;
    bool fixed; /* the rotation is known */
    bool rough; /* it is a nearly double root: what contradicts it is no proof */
    bool stuck; /* a cap was reached: the rules' list is not complete */
    gw_quat rotation;
    unsigned long fixed_from;
    unsigned long left_out; /* bits of constraints that others nearly imply: no rule uses them */
    int serial;
    int choice_count;
    char choices[GW_MAX_CHOICES + 1];
    gw_distance_constraint places[GW_MAX_DISTANCES];
    gw_angle_constraint directions[GW_MAX_ANGLES];
    int pairs[GW_MAX_PAIRS][2];
    unsigned char pending[GW_MAX_PROBLEM]; /* constraints whose sense is still open */
} gw_solver_state;

/* What replaces the constraints that a rule matched; one alternative of maybe several. */
typedef struct gw_alternative {
    int place_count, direction_count;
    gw_distance_constraint places[2];
    gw_angle_constraint directions[2];
    bool fix, rough;
    unsigned long left_out; /* constraints that rules need not look at, but poses must satisfy */
    char mark;              /* of the choice, in the branch's id; 0: its number */
    gw_quat rotation;
} gw_alternative;

/* A rule's finding on one pair. */
typedef struct gw_rule_result {
    enum { GW_RULE_NONE, GW_RULE_REWRITES, GW_RULE_CONFLICT, GW_RULE_NO_ROOT } outcome;
    const char *rule;
    double excess;                /* of a contradiction: by so much, over the size or in rad */
    double play_place, play_turn; /* m, rad: what touches may be off by so much */
    bool keeps_pair;              /* the pair stays, and is marked as done */
    int count;                    /* alternatives */
    gw_alternative edits[GW_MAX_ALTERNATIVES];
} gw_rule_result;

typedef struct gw_solver gw_solver;
typedef struct gw_contradictions gw_contradictions;

/* The one branch that a run is after: the marks of its id choose, or its former pose does. */
typedef struct gw_tracked_branch {
    const gw_branch *before;
    bool by_pose;
    double reach; /* a pose farther than this from the former ones is not this branch's (m) */
} gw_tracked_branch;

/* One pass of exploration: over all constraints, or over some of them, each leaf to `leaf`. */
struct gw_solver {
    const gw_problem *problem;
    unsigned long use;              /* bits of the constraints taken */
    double size, snap;              /* m */
    double same_angle;              /* rad: the snap of directions */
    double snap_clash;              /* m: what contradicts does so by more, in places */
    double snap_angle;              /* rad: in angles */
    gw_solution *solution;          /* trace, implied, conflict go here; NULL: nowhere */
    const gw_tracked_branch *guide; /* NULL: all branches */
    void (*leaf)(gw_solver *run, const gw_solver_state *state);
    void *context;
    gw_contradictions *ends; /* of branches by contradictions go here (shaken.c); NULL: nowhere */
    long work;               /* left to the numeric completion: evaluations, times rows and six */
    bool stop;               /* set by a leaf: no further leaves wanted */
    bool asked;              /* whether two constraints clash as they are stated: they do not */
    bool doubt;              /* a branch ended without a proof */
    bool lost;               /* one of a nearly double root: poses near it may be missing */
    gw_conflict conflict;
    gw_rule_result finding; /* scratch */
};

/* ---- decompose.c: Table I ------------------------------------------------------------------- */

/* Adds the fundamental constraints of input constraint i with the sense given (same or opposite;
 * either: of a constraint without one). */
void gw_decompose(const gw_solver *run, gw_solver_state *state, int i, gw_sense sense);
/* The rows of input constraint i alone; returns how many, at most GW_MAX_ROWS. */
int gw_constraint_rows(const gw_solver *run, int i, gw_row *rows);
/* The sense that the rotations known so far leave to pending constraint i; GW_EITHER when open. */
gw_sense gw_implied_sense(const gw_solver *run, const gw_solver_state *state, int i);
/* The angle, or 0 or pi where it is meant so. */
double gw_snapped_angle(double angle);
/* u . f = cos(angle), brought to angles below pi and snapped at 0 and pi. */
gw_angle_constraint gw_angle_constraint_of(gw_vec3 u, gw_vec3 f, double angle, unsigned long from);

/* ---- state.c --------------------------------------------------------------------------------- */

void gw_add_distance(gw_solver_state *state, const gw_distance_constraint *place);
void gw_add_angle(gw_solver_state *state, const gw_angle_constraint *direction);
/* What is counted of a state, and no more. */
void gw_solver_state_copy(gw_solver_state *to, const gw_solver_state *from);
void gw_remove_distance(gw_solver_state *state, int i);
void gw_remove_angle(gw_solver_state *state, int i);
/* Puts an alternative's constraints in, places at `at`; `from` is of the pair they come from. */
void gw_apply_alternative(gw_solver_state *state, const gw_alternative *edit, int at,
                          unsigned long from);
/* One more character of the branch's id. */
void gw_add_choice(gw_solver_state *state, char mark);

/* ---- rules: fill run->finding ---------------------------------------------------------------- */

void gw_rule_angles(gw_solver *run, const gw_angle_constraint *x, const gw_angle_constraint *y);
void gw_rule_known_rotation(gw_solver *run, const gw_solver_state *state,
                            const gw_angle_constraint *x);
/* Three directions: every rotation, or GW_RULE_NONE when they are not independent. */
void gw_rule_three_angles(gw_solver *run, const gw_solver_state *state);
void gw_rule_distances(gw_solver *run, const gw_distance_constraint *x,
                       const gw_distance_constraint *y);
/* One known direction, and places on points, lines and planes: every turn about it, or GW_RULE_NONE
 * where they leave it free. */
void gw_rule_rotation_about_axis(gw_solver *run, const gw_solver_state *state);

/* turn_roots.c: a trigonometric polynomial of degree at most four in phi, sampled at 2 pi k over
 * GW_TRIGONOMETRIC_SAMPLES. Its real roots, and its largest coefficient. */
#define GW_TRIGONOMETRIC_SAMPLES 16
#define GW_TRIGONOMETRIC_ROOTS   8
int gw_trigonometric_roots(const double sample[GW_TRIGONOMETRIC_SAMPLES],
                           double phi[GW_TRIGONOMETRIC_ROOTS], double *most);
double gw_trigonometric_cosine(int k); /* of the k-th sample's angle */
/* Marks the finding's rotations by where they are. */
void gw_label_rotations(gw_solver *run);

/* The rules by kinds of surfaces; both surfaces on one side, in the order of the name. */
void gw_rule_point_point(gw_solver *run, const gw_distance_constraint *x,
                         const gw_distance_constraint *y);
void gw_rule_point_line(gw_solver *run, const gw_distance_constraint *x,
                        const gw_distance_constraint *y);
void gw_rule_line_line(gw_solver *run, const gw_distance_constraint *x,
                       const gw_distance_constraint *y);
void gw_rule_point_plane(gw_solver *run, const gw_distance_constraint *x,
                         const gw_distance_constraint *y);
void gw_rule_line_plane(gw_solver *run, const gw_distance_constraint *x,
                        const gw_distance_constraint *y);
void gw_rule_plane_plane(gw_solver *run, const gw_distance_constraint *x,
                         const gw_distance_constraint *y);
/* Surfaces on opposite sides. */
void gw_rule_opposite_sides(gw_solver *run, const gw_distance_constraint *x,
                            const gw_distance_constraint *y);

/* ---- finding.c, rotation.c: helpers of the rules ------------------------------------------- */

/* One more alternative of the finding. */
gw_alternative *gw_add_alternative(gw_solver *run, const char *rule);
void gw_put_distance(gw_alternative *edit, const gw_distance_constraint *like,
                     gw_element_kind surface, gw_vec3 a, gw_vec3 b, gw_vec3 d, double p);
/* Keeps a place as it is. */
void gw_keep_distance(gw_alternative *edit, const gw_distance_constraint *place);
/* Angle between a's vector u and b's vector w, whichever of them the body is. */
void gw_put_angle(gw_alternative *edit, const gw_distance_constraint *like, gw_vec3 u, gw_vec3 w,
                  double angle);
/* One more alternative: this rotation. */
void gw_add_rotation(gw_solver *run, const char *rule, gw_quat rotation);
/* An inequality that fails, for gw_conflict: all static text. */
typedef struct gw_inequality {
    const char *condition, *sentence;
    const char *apart[2];
} gw_inequality;

/* The pair contradicts itself: what either stems from, by how much (over the size, or in rad), and
 * the inequality; then the values. */
void gw_add_conflict(gw_solver *run, unsigned long first, unsigned long second, double excess,
                     const gw_inequality *fails);
void gw_add_conflict_value(gw_solver *run, const char *name, double value);
/* d_a, d_b, p, q of a pair. */
void gw_add_conflict_distances(gw_solver *run, double d_a, double d_b, double p, double q);

/* What touches within the snap may be off by the root of it: places by the leg of a circle of that
 * radius, directions of that arm by a turn (0: none). `gain`: what the snap is multiplied by. */
static inline void gw_tangency_slack(gw_solver *run, double radius, double arm, double gain)
{
    gw_rule_result *f = &run->finding;
    double slack = 2 * GW_SNAP * run->size * gain;
    f->play_place = fmax(f->play_place, sqrt(slack * radius));
    f->play_turn = fmax(f->play_turn, arm > 0 ? fmin(1, sqrt(slack / arm)) : 0);
}

/* A deterministic number within -1 .. 1, for combinations that are to be special in no way. */
static inline double gw_generic_number(int i, int k)
{
    double s = sin(12.9898 * i + 78.233 * k + 0.5) * 43758.5453;
    return 2 * (s - floor(s)) - 1;
}

static inline bool gw_equal_lengths(const gw_solver *run, double a, double b)
{
    return fabs(a - b) <= run->snap;
}

static inline bool gw_zero_length(const gw_solver *run, double a)
{
    return fabs(a) <= run->snap;
}

/* sqrt of a difference of squares, never of a negative number */
static inline double gw_leg(double hypotenuse, double leg)
{
    return sqrt(fmax(0, (hypotenuse - leg) * (hypotenuse + leg)));
}

/* The same, but none where both are equal within the snap: of a circle that touches. */
static inline double gw_leg_or_tangent(gw_solver *run, double hypotenuse, double leg, double arm,
                                       double gain)
{
    if (!gw_equal_lengths(run, hypotenuse, leg))
        return gw_leg(hypotenuse, leg);
    gw_tangency_slack(run, hypotenuse, arm, gain);
    return 0;
}

static inline double gw_clamped_acos(double c)
{
    return acos(c > 1 ? 1 : c < -1 ? -1 : c);
}

/* ---- view.c ---------------------------------------------------------------------------------- */

/* What a pose looks like from a fixed point of view: it moves along with the pose, and depends on
 * no other. */
typedef struct gw_branch_label {
    int side; /* of 8 rotations, 16 poses */
    double height;
} gw_branch_label;

gw_branch_label gw_rotation_label(gw_quat q);
gw_branch_label gw_pose_label(const gw_solver *run, const gw_pose *x);

/* ---- anchor.c -------------------------------------------------------------------------------- */

/* Uses known directions to bring two places onto one point, or a surface onto the other side;
 * true where something changed, with the constraints that it used. */
bool gw_use_known_directions(const gw_solver *run, gw_solver_state *state, unsigned long *from);

/* ---- explore (combine.c) --------------------------------------------------------------------- */

/* A run over all constraints of a problem, without a guide, its leaves to `leaf`. */
void gw_solver_init(gw_solver *run, const gw_problem *problem,
                    void (*leaf)(gw_solver *run, const gw_solver_state *state), void *context);
void gw_solver_explore(gw_solver *run);
/* True where two constraints as they are stated contradict one another, with the conflict:
 * rewriting may lose that, a circle reaching less far than the line and the plane that it becomes.
 */
bool gw_stated_conflict(gw_solver *run);

/* ---- conflict.c ------------------------------------------------------------------------------ */

/* What an inequality that fails on every branch of a run is worth. */
typedef enum gw_conflict_certainty {
    GW_CONFLICT_UNCERTAIN, /* some fails by no more than it is uncertain */
    GW_CONFLICT_CERTAIN,   /* all fail by more than the snap, and than they are uncertain */
    GW_CONFLICT_BY_FAR     /* and by much more */
} gw_conflict_certainty;

/* Makes the run's conflict name constraints that have no pose together, none without need where
 * that is plain. */
gw_conflict_certainty gw_minimal_conflict(gw_solver *run);

/* ---- shaken.c -------------------------------------------------------------------------------- */

/* True where every branch of the constraints in `use` ends by a contradiction, and stays at that
 * one, but for little, when the input moves by less than what counts as equal. */
bool gw_conflict_survives_perturbation(const gw_solver *run, unsigned long use);
/* A branch ended by the finding's contradiction. */
void gw_record_contradiction(gw_solver *run);
/* Moves what the finding puts by its play, in such an exploration. */
void gw_perturb_alternatives(gw_solver *run);

/* ---- follow.c: the choices of a guided run --------------------------------------------------- */

/* Which alternative of the finding the branch takes. */
int gw_tracked_alternative(const gw_solver *run, const gw_solver_state *state);
/* The sense that it has chosen of constraint i. */
gw_sense gw_tracked_sense(const gw_solver *run, const gw_solver_state *state, int i);

/* ---- synthesis.c: Tables III to V ------------------------------------------------------------ */

/* The closed form of a state; false where its factors do not separate. Rows are filled in either
 * case, and rotation data as far as it is known. */
bool gw_synthesise(const gw_solver *run, const gw_solver_state *state, gw_submanifold *set);
/* Rows of a fixed rotation R. */
int gw_rotation_rows(gw_quat rotation, gw_row *rows);
int gw_distance_rows(const gw_distance_constraint *place, gw_row *rows);
/* The set of one pose x of a state. */
void gw_synthesise_pose(const gw_solver *run, const gw_solver_state *state, const gw_pose *x,
                        gw_submanifold *set);
int gw_angle_rows(const gw_angle_constraint *direction, gw_row *rows);

/* ---- verify.c -------------------------------------------------------------------------------- */

/* The largest residual of the constraints in `use` at a pose, over the problem's size. */
double gw_problem_residual(const gw_problem *problem, unsigned long use, double size,
                           const gw_pose *x);
/* Poses of a closed form at generic parameters; returns how many. */
int gw_generic_poses(const gw_submanifold *set, double size, gw_pose x[2]);
/* True when the set satisfies every constraint in `use`, at generic parameters. */
bool gw_verified(const gw_problem *problem, unsigned long use, double size,
                 const gw_submanifold *set);

/* ---- numeric.c ------------------------------------------------------------------------------- */

/* Completes a state that has no closed form: branches go to run->solution. With any sense,
 * parallels may also end up opposite. */
void gw_complete_numerically(gw_solver *run, const gw_solver_state *state, bool any_sense);
#define GW_ROOTS_UNCOUNTED                                                                         \
    (-1) /* complex_roots, until the roots of all constraints are counted                          \
          */
/* The complex roots of a state, where they are told in some tens of microseconds; else 0. */
int gw_count_roots(gw_solver *run, const gw_solver_state *state);
/* Those of `asked` that follow from a leaf without closed form; the answer to all constraints tells
 * at once what does not (dependent.c). */
unsigned long gw_dependent_constraints(gw_solver *run, const gw_solver_state *leaf,
                                       const gw_solution *answer, unsigned long asked);
/* Those of `asked` that a pose satisfies. */
unsigned long gw_satisfied_constraints(const gw_solver *run, const gw_pose *x, unsigned long asked);
/* Adds a branch, unless it is there already. `name`: what tells it from others of the state, at
 * most two characters. `known`: a curve's nearest pose; of others it is sought. */
char gw_label_digit(int number); /* of 0 .. 61, in an id */
void gw_add_branch(gw_solver *run, const gw_solver_state *state, const char *name,
                   const gw_submanifold *set, const gw_pose *known);

/* ---- redundant.c ----------------------------------------------------------------------------- */

/* Which constraints follow from others, by solving without them. */
void gw_find_redundant(const gw_solver *run);

#endif
