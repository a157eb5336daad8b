/*
 * All isolated poses of a leaf: which system it is, its roots, and which of them are poses. Any
 * thread, RT safe; bounded by gw_solver's `work`.
 */
#include <string.h>

#include "rt/positioning/polynomial/harvest.h"
#include "rt/positioning/polynomial/section.h"

#define AT_INFINITY 1e-8 /* of the last coordinate: a point as far as that is none */

/* ---- rotations, as three equations ----------------------------------------------------------- */

/* What three quadrics are equations in: the quaternion, or (t, 1). */
typedef struct unknowns {
    const gw_rotation_conditions *turning; /* NULL: the rotation is known */
    gw_quat rotation;
} unknowns;

static gw_complex_pose root_of(const unknowns *u, const gw_complex x[4])
{
    if (u->turning)
        return gw_pose_of_quaternion(u->turning, x);
    const gw_quat q = u->rotation;
    gw_complex w = cabs(x[3]) > AT_INFINITY ? x[3] : AT_INFINITY;
    return (gw_complex_pose){{q.w, q.x, q.y, q.z}, {x[0] / w, x[1] / w, x[2] / w}};
}

static bool by_quadrics(gw_root_set *h, const unknowns *u, const gw_three_equations *s)
{
    gw_complex e[8][4];
    gw_quaternion_homotopy ways;
    gw_homotopy paths = {4, &ways, gw_quaternion_evaluate, &h->c->run->work,
                         GW_QUATERNION_STEP_COST};
    gw_homotopy_path path[8];
    h->c->run->work -= 1200;
    gw_quaternion_homotopy_of(s, 0, &ways);
    if (!gw_three_quadrics_roots(s->quadric, e))
        return false;
    for (int i = 0; i < 8; i++)
        memcpy(path[i].x, e[i], sizeof e[i]);
    gw_refine_endpoints(&paths, path, 8);
    for (int i = 0; i < 8; i++) {
        gw_complex_pose x = root_of(u, path[i].x);
        int before = h->count;
        gw_root_set_add(h, x, path[i].end);
        if (h->count == before && !gw_at_infinity(&x) && gw_root_set_satisfies(h, &x, 1e-5))
            h->multiple++;
    }
    h->singular += h->crossed; /* eight there are: two at one place are one of them twice */
    h->crossed = 0;
    return true;
}

/* ---- which ----------------------------------------------------------------------------------- */

/* Paths to a multiple root do not prove that it is alone: a curve may pass through it. */
static gw_root_summary conclude(gw_root_set *h, bool finite)
{
    bool simple = gw_root_set_complete(h) && h->singular == 0;
    gw_root_summary found = {simple || finite, simple, gw_root_set_report(h)};
    if (!found.exact)
        found.complex_roots = 0;
    return found;
}

/* The forms as they are, or those of the inverse pose, whichever tells t by R. */
static bool conditions(gw_forms *f, gw_rotation_conditions *c)
{
    for (int side = 0; side < 2; side++) {
        if (gw_rotation_conditions_of(f, c))
            return true;
        gw_forms_mirror(f);
    }
    return false;
}

gw_root_summary gw_roots_by_eigenvalues(gw_completion *completion)
{
    gw_forms forms;
    gw_rotation_conditions c;
    gw_three_equations s;
    gw_root_set h;
    gw_root_summary none = {false, false, 0};
    if (completion->row_count < 6 || gw_gram_matrix_roots(completion, &none))
        return none;
    gw_forms_of(completion, &forms);
    unknowns u = {NULL, gw_forms_rotation(&forms, completion->state->rotation)};
    if (!completion->state->fixed) {
        if (!conditions(&forms, &c) || c.quadrics < 3)
            return none;
        gw_rotation_equations(&c, &s);
        u.turning = &c;
    } else if (!gw_known_rotation_equations(&forms, u.rotation, &s)) {
        return none;
    }
    gw_root_set_begin(&h, completion, &forms);
    if (!by_quadrics(&h, &u, &s))
        return none;
    return conclude(&h, true);
}

static gw_root_summary by_paths(gw_completion *completion)
{
    gw_forms forms;
    gw_rotation_conditions c;
    gw_root_set h;
    gw_root_summary none = {false, false, 0};
    if (completion->row_count < 6)
        return none;
    gw_forms_of(completion, &forms);
    bool turning = conditions(&forms, &c) && c.quadrics + forms.squared > 0;
    int cylinders = forms.linear < 6 ? 6 - forms.linear : 0;
    if (!turning && (cylinders > forms.squared || cylinders > GW_MAX_START_CYLINDERS))
        return none;
    gw_root_set_begin(&h, completion, &forms);
    if (turning)
        gw_homotopy_in_quaternion(&h, &c);
    else
        gw_homotopy_in_study(&h, cylinders);
    return conclude(&h, false);
}

/* Behind a choice there are other leaves, which want their share. */
gw_root_summary gw_roots_by_homotopy(gw_completion *completion)
{
    gw_solver *run = completion->run;
    bool alone = completion->state->choice_count == 0 || completion->any_sense;
    long kept = alone || run->work <= 0 ? 0 : 3 * (run->work / 4);
    run->work -= kept;
    gw_root_summary found = by_paths(completion);
    run->work += kept;
    return found;
}
