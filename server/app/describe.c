/*
 * Solutions, constraints and the simulation as the protocol shows them.
 */
#include "server/app/describe.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/schema/wire.h"

#define CURVE_STEP 0.2 /* between two poses of a strand, in units of the body's size */

static void constraint_ids(const gw_scene *scene, const gw_placement *placement, const char **ids)
{
    for (int i = 0; i < placement->count; i++)
        ids[i] = scene->constraints[placement->ids[i]].id;
}

static const char *state_of(const gw_placement *placement)
{
    const gw_solution *solution = &placement->solution;
    if (solution->status != GW_SOLVED)
        return "conflict";
    if (solution->redundant_count > 0)
        return "over";
    if (placement->count == 0)
        return "free";
    return solution->dof == 0 ? "well" : "under";
}

/* The other object of a constraint. */
static const char *other_object(const gw_scene_constraint *c, const char *own)
{
    return strcmp(c->a.object, own) == 0 ? c->b.object : c->a.object;
}

/* The words of a branch's set, with the name of the object on whose curve or surface the
 * placement's object slides. */
static json_t *words_of(const gw_scene *scene, const gw_placement *placement,
                        const gw_submanifold *set)
{
    char words[256];
    const char *shape = NULL;
    const gw_nurbs *nurbs = set->translation.locus.nurbs;
    for (int i = 0; nurbs && i < placement->count; i++)
        if (placement->constraints[i].fixed.nurbs == nurbs)
            shape = other_object(&scene->constraints[placement->ids[i]],
                                 scene->objects[placement->object].id);
    gw_submanifold_description(set, shape, words, sizeof words);
    return json_string(words);
}

/* Adds the members of the chosen branch: its id, its words, and the parameters at `pose`. */
static void add_branch(json_t *json, const gw_scene *scene, const gw_placement *placement,
                       const gw_pose *pose)
{
    const gw_branch *branch = &placement->solution.branches[placement->branch];
    json_object_set_new(json, "branch", json_string(branch->id));
    json_object_set_new(json, "words", words_of(scene, placement, &branch->set));
    json_object_set_new(json, "parameters", wire_parameters_at(&branch->set, pose));
}

static void add_once(json_t *list, const char *id)
{
    size_t i;
    json_t *there;
    json_array_foreach(list, i, there) if (strcmp(json_string_value(there), id) == 0) return;
    json_array_append_new(list, json_string(id));
}

/* The objects that the placement's object is joined to. */
static json_t *joined_objects(const gw_scene *scene, const gw_placement *placement)
{
    json_t *list = json_array();
    const char *own = scene->objects[placement->object].id;
    for (int i = 0; i < placement->count; i++) {
        const gw_scene_constraint *c = &scene->constraints[placement->ids[i]];
        add_once(list, other_object(c, own));
    }
    return list;
}

/* Adds the objects that this one follows when they move, and the cycle that it was solved in. */
static void add_carriers(json_t *json, const gw_scene *scene, const gw_layout *layout,
                         const gw_placement *placement)
{
    if (placement->follow == GW_OBJECT_CARRIED || placement->follow == GW_OBJECT_SOLVED)
        json_object_set_new(json, "follows", joined_objects(scene, placement));
    if (placement->cluster < 0)
        return;
    json_t *list = json_array();
    for (int i = 0; i < layout->count; i++)
        if (layout->placements[i]->cluster == placement->cluster)
            json_array_append_new(list,
                                  json_string(scene->objects[layout->placements[i]->object].id));
    json_object_set_new(json, "cluster", list);
    json_object_set_new(json, "cluster_dof", json_integer(placement->cluster_dof));
}

/* The freedoms in words of a body in one contact, by their number, in one point or, of a cylinder
 * on a plane or beside a parallel one, in a line; %s stands for the object that it touches. */
static const struct {
    gw_constraint_kind kind;
    int freedoms;
    const char *words, *of_curves; /* of_curves: between two curves or rims; NULL: the same */
} contact_motions[] = {
    {GW_SLIDING, 5, "slides on the %s (2), turns freely (3)", NULL},
    {GW_SLIDING, 4, "slides on the %s (2), turns about its normal (1), rolls (1)", NULL},
    {GW_SLIDING, 3, "slides along the line (1), goes round the %s (1), turns about its axis (1)",
     "slides along both curves (2), turns about their tangent (1)"},
    {GW_ROLLING, 3, "rolls on the %s (2), turns about its normal (1)", NULL},
    {GW_ROLLING, 2, "rolls along the %s (1), turns about their tangent (1)", NULL},
    {GW_ROLLING, 1, "rolls on the %s (1)", NULL},
    {GW_PURE_ROLLING, 2, "rolls on the %s (2)", NULL},
    {GW_PURE_ROLLING, 1, "rolls on the %s (1)", "rolls along the %s (1)"},
};

static bool is_surface(const gw_feature_ref *ref)
{
    return strstr(ref->feature, "surface") != NULL;
}

/* Writes the freedoms in words of a body that touches the object `on`; nothing where there are no
 * words for them. */
static void motion_in_contact(const gw_scene_constraint *c, int freedoms, const char *on,
                              char *words, size_t size)
{
    words[0] = 0;
    if (freedoms == 6)
        snprintf(words, size, "free, as far as what it touches lets it go");
    for (size_t i = 0; i < sizeof contact_motions / sizeof *contact_motions; i++) {
        if (contact_motions[i].kind != c->kind || contact_motions[i].freedoms != freedoms)
            continue;
        bool curves = contact_motions[i].of_curves && !is_surface(&c->a) && !is_surface(&c->b);
        const char *form = curves ? contact_motions[i].of_curves : contact_motions[i].words;
        const char *hole = strstr(form, "%s");
        if (hole)
            snprintf(words, size, "%.*s%s%s", (int)(hole - form), form, on, hole + 2);
        else
            snprintf(words, size, "%s", form);
    }
}

/* Writes the motion in words of a body that one joint or contact joins to something at rest;
 * nothing where it has several relations. */
static void words_of_single_relation(const gw_scene *scene, const char *id, int freedoms,
                                     char *words, size_t size)
{
    int relations = 0;
    words[0] = 0;
    for (int i = 0; i < scene->joint_count; i++) {
        const gw_scene_joint *j = &scene->joints[i];
        if (!j->enabled || j->gear ||
            (strcmp(j->a.object, id) != 0 && strcmp(j->b.object, id) != 0))
            continue;
        relations++;
        if (gw_mobilizers[j->type].dof == freedoms)
            snprintf(words, size, "%s", gw_mobilizers[j->type].motion);
    }
    for (int i = 0; i < scene->constraint_count; i++) {
        const gw_scene_constraint *c = &scene->constraints[i];
        if (!c->enabled || (strcmp(c->a.object, id) != 0 && strcmp(c->b.object, id) != 0))
            continue;
        relations++;
        if (!gw_constraint_is_positional(c->kind))
            motion_in_contact(c, freedoms, other_object(c, id), words, size);
    }
    if (relations != 1)
        words[0] = 0;
}

/* Writes "the linkage of 3 bodies has 1 freedom; this one moves with it", or, of a system of one
 * body, "1 freedom: turns about its axis (1)". */
static void linkage_words(const gw_scene *scene, const char *id, const gw_scene_system *system,
                          int freedoms, char *words, size_t size)
{
    int bodies = system->member_count, mobility = system->mobility;
    const char *more = mobility == 1 ? "" : "s";
    char motion[96 + GW_MAX_ID] = "stands still";
    if (bodies == 1 && mobility > 0)
        words_of_single_relation(scene, id, freedoms, motion, sizeof motion);
    if (bodies == 1)
        snprintf(words, size, "%d freedom%s%s%s", mobility, more, motion[0] ? ": " : "", motion);
    else if (mobility == 0)
        snprintf(words, size, "the linkage of %d bodies cannot move", bodies);
    else
        snprintf(words, size, "the %s of %d bodies has %d freedom%s; this one %s",
                 mobility == 6 * bodies ? "system" : "linkage", bodies, mobility, more,
                 freedoms == 0 ? "stands still" : "moves with it");
}

/* Adds the freedoms of the object's system of bodies, which take the place of those that its own
 * constraints leave it while everything else is at rest. */
static void add_system(json_t *json, const gw_scene *scene, const gw_layout *layout, int object)
{
    int body;
    char words[128 + GW_MAX_ID];
    const gw_scene_system *system = gw_layout_system(layout, object, &body);
    if (!system)
        return;
    int freedoms = system->members[body].freedoms;
    linkage_words(scene, scene->objects[object].id, system, freedoms, words, sizeof words);
    json_object_set_new(json, "system",
                        json_pack("{si si si ss}", "bodies", system->member_count, "mobility",
                                  system->mobility, "freedoms", freedoms, "words", words));
    json_object_set_new(json, "words", json_string(words));
    json_object_set_new(json, "state", json_string(freedoms > 0 ? "under" : "well"));
}

json_t *describe_solution(const gw_scene *scene, const gw_layout *layout,
                          const gw_placement *placement, const gw_pose *pose)
{
    assert(scene && layout && placement && pose);
    const char *ids[GW_MAX_PROBLEM];
    const gw_solution *solution = &placement->solution;
    constraint_ids(scene, placement, ids);
    json_t *json = wire_solution(solution, placement->constraints, ids, placement->count);
    json_object_set_new(json, "object", json_string(scene->objects[placement->object].id));
    json_object_set_new(json, "tool", json_boolean(placement->tool >= 0));
    json_object_set_new(json, "state", json_string(state_of(placement)));
    add_carriers(json, scene, layout, placement);
    json_t *branches = json_object_get(json, "branches");
    for (int i = 0; i < solution->branch_count; i++)
        json_object_set_new(json_array_get(branches, (size_t)i), "words",
                            words_of(scene, placement, &solution->branches[i].set));
    if (placement->branch >= 0 && placement->branch < solution->branch_count)
        add_branch(json, scene, placement, pose);
    add_system(json, scene, layout, placement->object);
    return json;
}

static json_t *coordinate_curve_json(const gw_coordinate_curve *curve, const char *parameter)
{
    json_t *poses = json_array();
    for (int i = 0; i < curve->count; i++)
        json_array_append_new(poses, wire_pose(&curve->poses[i]));
    return json_pack("{ss si sb so}", "parameter", parameter, "here", curve->here, "closed",
                     curve->closed, "poses", poses);
}

void describe_strands(json_t *solution, const gw_placement *placement, const gw_pose *pose,
                      int most)
{
    assert(solution && placement && most > 0);
    if (placement->branch < 0 || placement->branch >= placement->solution.branch_count)
        return;
    const gw_branch *branch = &placement->solution.branches[placement->branch];
    double length = placement->length;
    gw_submanifold_parameter parameters[6];
    gw_coordinate_curve curve;
    gw_pose on = *pose;
    gw_branch_nearest_to(branch, pose, length, &on);
    json_t *list = json_array();
    int count = gw_submanifold_parameters(&branch->set, parameters);
    for (int i = 0; i < count; i++) {
        gw_branch_curve(branch, &on, i, length, CURVE_STEP * length, most, &curve);
        json_array_append_new(list, coordinate_curve_json(&curve, parameters[i].name));
    }
    json_object_set_new(solution, "strands", list);
}

json_t *describe_solutions(const gw_scene *scene, const gw_layout *layout, const gw_pose *poses)
{
    json_t *list = json_array();
    for (int i = 0; i < layout->count; i++) {
        const gw_placement *placement = layout->placements[i];
        json_array_append_new(
            list, describe_solution(scene, layout, placement, &poses[placement->object]));
    }
    return list;
}

static bool redundant_in(const gw_placement *placement, int constraint)
{
    const gw_solution *solution = &placement->solution;
    for (int i = 0; i < solution->redundant_count; i++)
        if (placement->ids[solution->redundant[i].index] == constraint)
            return true;
    return false;
}

json_t *describe_constraint(const gw_scene *scene, const gw_layout *layout, int index)
{
    assert(index >= 0 && index < scene->constraint_count);
    const gw_scene_constraint *constraint = &scene->constraints[index];
    const char *state = constraint->enabled ? "ok" : "disabled";
    for (int i = 0; constraint->enabled && i < layout->count; i++)
        if (redundant_in(layout->placements[i], index))
            state = "redundant";
    json_t *json = wire_constraint(constraint);
    json_object_set_new(json, "state", json_string(state));
    return json;
}

void describe_refusal(json_t *problem, const gw_scene *scene, const gw_placement *placement)
{
    assert(problem && placement);
    const char *ids[GW_MAX_PROBLEM];
    const gw_solution *solution = &placement->solution;
    bool clash = solution->status == GW_STATUS_INCOMPATIBLE;
    json_t *why = json_pack("{s:s}", "status", clash ? "incompatible" : "unhandled");
    constraint_ids(scene, placement, ids);
    if (clash)
        json_object_set_new(why, "conflict", wire_conflict(&solution->conflict, ids));
    else {
        json_t *left = json_array();
        for (int i = 0; i < placement->count; i++)
            if (solution->left >> i & 1)
                json_array_append_new(left, json_string(ids[i]));
        json_object_set_new(why, "left", left);
        json_object_set_new(why, "reason", describe_text(solution->reason ? solution->reason : ""));
    }
    json_object_update(problem, why);
    json_object_set_new(problem, "solution", why);
    json_object_set_new(problem, "object", json_string(scene->objects[placement->object].id));
}

/* The relation of the scene that a pointer names; false: it names none. */
static bool relation_at(const gw_scene *scene, const char *pointer, const char **id,
                        const char **object)
{
    int joint = -1, constraint = -1;
    sscanf(pointer, "/joints/%d", &joint);
    sscanf(pointer, "/constraints/%d", &constraint);
    if (joint >= 0 && joint < scene->joint_count) {
        *id = scene->joints[joint].id;
        *object = scene->joints[joint].a.object;
    } else if (constraint >= 0 && constraint < scene->constraint_count) {
        *id = scene->constraints[constraint].id;
        *object = scene->constraints[constraint].a.object;
    }
    return *id;
}

void describe_open_system(json_t *problem, const gw_scene *scene, const char *edited,
                          const gw_error *error)
{
    assert(problem && scene && error);
    const char *id = NULL, *object = NULL, *posted = NULL;
    json_t *left = json_array();
    bool named = relation_at(scene, error->where, &id, &object);
    if (edited && relation_at(scene, edited, &posted, &object) && posted != id)
        json_array_append_new(left, json_string(posted));
    if (named)
        json_array_append_new(left, json_string(id));
    json_t *why = json_pack("{s:s s:o s:o}", "status", "unhandled", "left", left, "reason",
                            describe_text(error->message));
    json_object_update(problem, why);
    json_object_set_new(problem, "solution", why);
    if (object)
        json_object_set_new(problem, "object", json_string(object));
}

json_t *describe_simulation(const app_document *document, const gw_snapshot *snapshot)
{
    json_t *json = wire_simulation(document->scene, snapshot, document->scene->rate);
    json_object_set_new(json, "revision", json_integer((json_int_t)document->revision));
    return json;
}

json_t *describe_task(gw_app *app, const app_document *document)
{
    char id[GW_MAX_ID + 1];
    gw_task_progress progress;
    if (!app_task_last(app, id, &progress) || gw_scene_task(document->scene, id) < 0)
        return json_null();
    return json_pack("{ss so}", "id", id, "progress", wire_task_progress(&progress));
}

json_t *describe_text(const char *text)
{
    assert(text);
    char plain[600];
    json_t *value = json_string(text);
    if (value)
        return value;
    snprintf(plain, sizeof plain, "%s", text);
    for (char *c = plain; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return json_string(plain);
}
