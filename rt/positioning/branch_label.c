/*
 * Branch labels. An id is "b" and one character for each choice that led to the branch, "b0" if
 * there was none. Senses and signs are digits. Rotations of three angles and poses found
 * numerically are labelled by their cell relative to fixed generic directions, and by the number of
 * lower ones in that cell; curves by their largest height. So a label does not depend on the order
 * in which poses are found. A colon and a digit make equal ids unique; an "n" marks poses of a
 * completion of all constraints. Any thread, RT safe.
 */
#include <string.h>

#include "rt/positioning/numeric_completion.h"

/* ---- where a pose is ------------------------------------------------------------------------- */

/* Generic directions: no product of two turns about axes and diagonals by multiples of 45 and 60
 * degrees has a component along them nearer than 3e-4 to zero. */
static const gw_vec3 in_world[] = {
    {0.465, 0.5859, 0.6589}, {0.824, -0.3841, 0.5089}, {-0.2772, 0.6273, 0.7664}};
static const gw_vec3 in_body[] = {
    {0.3677, 0.4707, 0.7756}, {-0.6076, 0.6699, 0.4962}, {0.7984, 0.2977, -0.5147}};

static gw_branch_label rotation_label(gw_quat q)
{
    gw_branch_label label = {0, 0};
    for (int i = 0; i < 3; i++) {
        double component = gw_dot(gw_rotate(q, in_body[i]), in_world[i]);
        label.side = 2 * label.side + (component > 0);
        label.height += component;
    }
    return label;
}

/* The label of a pose; the position is that of the mean of the elements' points. */
gw_branch_label gw_pose_label(const gw_solver *solver, const gw_pose *x)
{
    gw_branch_label label = rotation_label(x->q);
    gw_vec3 off = {0, 0, 0};
    for (int i = 0; i < solver->problem->count; i++) {
        const gw_constraint *c = &solver->problem->constraints[i];
        off = gw_add(off, gw_sub(gw_pose_point(x, c->mobile.p), c->fixed.p));
    }
    double component = gw_dot(off, in_world[0]) / (solver->size * fmax(1, solver->problem->count));
    /* 0 is where elements coincide point by point: the threshold lies beside it */
    label.side = 2 * label.side + (component > 0.217);
    label.height += component;
    return label;
}

/* ---- the labels of a rule's rotations and of numeric poses and components -------------------- */

static bool lower_on_same_side(const gw_branch_label *a, const gw_branch_label *than)
{
    return a->side == than->side && a->height < than->height;
}

/* The character of 0 .. 61 in an id. */
static char label_digit(int number)
{
    return "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 62];
}

/* Labels by cell and by the number of lower rotations in that cell: the order of the roots would
 * depend on the method that found them. */
void gw_label_rotations(gw_solver *solver)
{
    static const char labels[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmopqrstuvwxyz";
    gw_rule_result *r = &solver->result;
    for (int i = 0; i < r->count; i++) {
        gw_branch_label here = rotation_label(r->alternatives[i].rotation);
        int below = 0;
        for (int k = 0; k < r->count; k++) {
            gw_branch_label there = rotation_label(r->alternatives[k].rotation);
            below += k != i && lower_on_same_side(&there, &here);
        }
        r->alternatives[i].label = labels[7 * here.side + (below < 6 ? below : 6)];
    }
}

void gw_label_isolated_pose(const gw_completion *c, int at, char name[3])
{
    gw_branch_label here = gw_pose_label(c->solver, &c->found[at]);
    int below = 0;
    for (int i = 0; i < c->found_count; i++) {
        gw_branch_label there = gw_pose_label(c->solver, &c->found[i]);
        below += i != at && c->dof[i] == 0 && lower_on_same_side(&there, &here);
    }
    name[0] = (char)('A' + here.side);
    name[1] = label_digit(below);
    name[2] = 0;
}

/* A letter for components of fewer freedoms than the first one, and a digit for curves: the number
 * of curves with a smaller largest height. */
void gw_label_components(const gw_solution_component *components, int count, char names[][3])
{
    for (int i = 0; i < count; i++) {
        const gw_solution_component *own = &components[i];
        int alike = 0, below = 0, n = 0;
        for (int k = 0; k < count; k++) {
            bool same = k != i && components[k].set.dof == own->set.dof;
            alike += same;
            below += same && components[k].top < own->top;
        }
        if (own->set.dof < components[0].set.dof)
            names[i][n++] = (char)('t' + own->set.dof);
        if (alike > 0)
            names[i][n++] = label_digit(below);
        names[i][n] = 0;
    }
}

/* ---- ids ------------------------------------------------------------------------------------- */

/* If the id is too long, the choices are truncated and the numeric name is kept. */
void gw_write_branch_id(const gw_solver_state *state, const char *name, char id[16])
{
    int n = 1, room = 15 - (int)strlen(name);
    memset(id, 0, 16);
    id[0] = 'b';
    for (int i = 0; i < state->choice_count && n < room; i++)
        id[n++] = state->choices[i];
    for (int i = 0; name[i]; i++)
        id[n++] = name[i];
    if (n == 1)
        id[n++] = '0';
}

#define UNIQUE_PART 13 /* characters of an id that is followed by a colon and a digit */

/* The number of lower branches whose ids begin as that of branch `at`. */
static int lower_with_same_id(const gw_solver *solver, const gw_solution *s, int at)
{
    const gw_branch *b = &s->branches[at];
    double height = gw_pose_label(solver, &b->nearest).height;
    int below = 0;
    for (int i = 0; i < s->branch_count; i++) {
        const gw_branch *other = &s->branches[i];
        if (i == at || strncmp(other->id, b->id, UNIQUE_PART) != 0)
            continue;
        double there = gw_pose_label(solver, &other->nearest).height;
        below += there < height || (there == height && i < at);
    }
    return below;
}

void gw_make_ids_unique(const gw_solver *solver, gw_solution *s)
{
    int rank[GW_MAX_BRANCHES];
    for (int i = 0; i < s->branch_count; i++) {
        bool alone = true;
        for (int k = 0; k < s->branch_count && alone; k++)
            alone = k == i ||
                    memcmp(s->branches[i].id, s->branches[k].id, sizeof s->branches[i].id) != 0;
        rank[i] = alone ? 0 : lower_with_same_id(solver, s, i);
    }
    for (int i = 0; i < s->branch_count; i++) {
        char *id = s->branches[i].id;
        size_t n = strlen(id) < UNIQUE_PART ? strlen(id) : UNIQUE_PART;
        if (rank[i] > 0)
            id[n] = ':', id[n + 1] = label_digit(rank[i]), id[n + 2] = 0;
    }
}
