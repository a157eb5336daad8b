/*
 * The poses and joint positions at which an edit puts bodies while the simulation is paused or
 * runs. Everything continues from where it is; an initial position or velocity that the edit states
 * (an object's pose, a joint's position) acts at once, except, while running, on bodies that a hand
 * moves. Under the edit lock.
 */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/diff.h"
#include "server/app/private.h"

#define ROUNDED 1e-3 /* m, rad: files round positions */

/* The initial values that an edit states of an entry, as bits. */
enum { POSITION = 1, MOTION = 2 };

struct app_statement {
    char of[GW_MAX_LINK_NAME + 16]; /* "joints/hinge" */
    unsigned says;
};

typedef struct placing {
    app_edit *edit;
    const gw_snapshot *snapshot;
    bool running;
    unsigned *joint_says; /* by joint of the scene */
    /* The scene with its present joint positions, those of mechanisms included, except where the
     * edit states others. */
    gw_scene present;
    double *positions; /* of the joints of its mechanisms */
} placing;

/* ---- statements of the edit ---------------------------------------------------------------- */

bool app_edit_states(app_edit *edit, const char *collection, const char *id, bool position,
                     bool motion, gw_error *error)
{
    assert(edit && collection && id);
    size_t count = (size_t)edit->statement_count;
    if (!position && !motion)
        return true;
    struct app_statement *grown = realloc(edit->statements, (count + 1) * sizeof *grown);
    if (!grown)
        return gw_fail(error, GW_FAILED, "", "memory is short for an edit");
    edit->statements = grown;
    snprintf(grown[count].of, sizeof grown[count].of, "%s/%s", collection, id);
    grown[count].says = (position ? POSITION : 0u) | (motion ? MOTION : 0u);
    edit->statement_count++;
    return true;
}

static unsigned stated_members(const app_edit *edit, const char *collection, const char *id)
{
    unsigned says = 0;
    char of[sizeof edit->statements->of];
    if (edit->statement_count == 0)
        return 0;
    snprintf(of, sizeof of, "%s/%s", collection, id);
    for (int i = 0; i < edit->statement_count; i++)
        if (strcmp(edit->statements[i].of, of) == 0)
            says |= edit->statements[i].says;
    return says;
}

/* ---- other ids ----------------------------------------------------------------------------- */

static bool add_renamed(app_edit *edit, enum gw_renamed_kind kind, const char *from, const char *to,
                        gw_error *error)
{
    size_t count = (size_t)edit->renamed_count;
    gw_renamed *grown = realloc(edit->renamed, (count + 1) * sizeof *grown);
    if (!grown)
        return gw_fail(error, GW_FAILED, "", "memory is short for an edit");
    edit->renamed = grown;
    grown[count].kind = kind;
    snprintf(grown[count].from, sizeof grown[count].from, "%s", from);
    snprintf(grown[count].to, sizeof grown[count].to, "%s", to);
    edit->renamed_count++;
    return true;
}

/* Renames the statements about "objects/FROM", and about links "links/FROM.2". */
static void rename_statements(app_edit *edit, const char *before, const char *from, const char *to)
{
    size_t size = strlen(before), id = strlen(from);
    for (int i = 0; i < edit->statement_count; i++) {
        char *of = edit->statements[i].of, rest[sizeof edit->statements->of];
        if (strncmp(of, before, size) != 0 || strncmp(of + size, from, id) != 0)
            continue;
        snprintf(rest, sizeof rest, "%s", of + size + id);
        bool link = rest[0] == '.' && !strchr(rest + 1, '.') && strcmp(before, "links/") == 0;
        if (!rest[0] || link)
            snprintf(of, sizeof rest, "%s%.*s%.16s", before, GW_MAX_ID, to, rest);
    }
}

bool app_edit_renames(app_edit *edit, const char *collection, const char *from, const char *to,
                      gw_error *error)
{
    static const struct {
        const char *collection, *stated;
        enum gw_renamed_kind kind;
    } kinds[] = {{"objects", "objects/", GW_RENAMED_OBJECT},
                 {"mechanisms", "links/", GW_RENAMED_MECHANISM},
                 {"joints", "joints/", GW_RENAMED_JOINT}};
    assert(edit && collection && from && to);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(collection, kinds[k].collection) != 0)
            continue;
        rename_statements(edit, kinds[k].stated, from, to);
        for (int i = 0; i < edit->renamed_count; i++) {
            gw_renamed *r = &edit->renamed[i];
            if (r->kind == kinds[k].kind && strcmp(r->to, from) == 0) {
                snprintf(r->to, sizeof r->to, "%s", to);
                return true;
            }
        }
        return add_renamed(edit, kinds[k].kind, from, to, error);
    }
    return true;
}

/* The id in the base scene of the entry that has this id after the edit; NULL: the edit added
 * it. */
static const char *id_before(const app_edit *edit, enum gw_renamed_kind kind, const char *id)
{
    const char *before = id;
    for (int i = 0; i < edit->renamed_count; i++) {
        const gw_renamed *r = &edit->renamed[i];
        if (r->kind == kind && strcmp(r->to, id) == 0)
            return r->from;
        if (r->kind == kind && strcmp(r->from, id) == 0)
            before = NULL;
    }
    return before;
}

static int find_joint(const gw_scene *scene, const char *id)
{
    for (int i = 0; i < scene->joint_count; i++)
        if (strcmp(scene->joints[i].id, id) == 0)
            return i;
    return -1;
}

/* The index in the base scene of object, mechanism or joint `i` of the edited scene; -1: none. */
static int object_before(const app_edit *edit, int i)
{
    const gw_scene *base = edit->base->scene;
    const char *id = id_before(edit, GW_RENAMED_OBJECT, edit->scene->objects[i].id);
    bool in_place = id && i < base->object_count && strcmp(base->objects[i].id, id) == 0;
    return in_place ? i : id ? gw_scene_object(base, id) : -1;
}

static int mechanism_before(const app_edit *edit, int i)
{
    const char *id = id_before(edit, GW_RENAMED_MECHANISM, edit->scene->mechanisms[i].id);
    return id ? gw_scene_mechanism(edit->base->scene, id) : -1;
}

static const gw_scene_joint *joint_before(const app_edit *edit, int i)
{
    const gw_scene *base = edit->base->scene;
    const char *id = id_before(edit, GW_RENAMED_JOINT, edit->scene->joints[i].id);
    bool in_place = id && i < base->joint_count && strcmp(base->joints[i].id, id) == 0;
    int old = in_place ? i : id ? find_joint(base, id) : -1;
    return old < 0 ? NULL : &base->joints[old];
}

bool app_edit_finds_renamed(app_edit *edit, gw_error *error)
{
    assert(edit && edit->scene && edit->base);
    const gw_scene *base = edit->base->scene, *scene = edit->scene;
    bool memory = true;
    for (int i = 0; memory && i < scene->object_count && i < base->object_count; i++) {
        const gw_object *a = &base->objects[i], *b = &scene->objects[i];
        if (gw_scene_object(base, b->id) < 0 && gw_scene_object(scene, a->id) < 0 &&
            app_same_object(a, b))
            memory = add_renamed(edit, GW_RENAMED_OBJECT, a->id, b->id, error);
    }
    for (int i = 0; memory && i < scene->mechanism_count && i < base->mechanism_count; i++) {
        const gw_mechanism *a = &base->mechanisms[i], *b = &scene->mechanisms[i];
        if (gw_scene_mechanism(base, b->id) < 0 && gw_scene_mechanism(scene, a->id) < 0 &&
            a->link_count == b->link_count)
            memory = add_renamed(edit, GW_RENAMED_MECHANISM, a->id, b->id, error);
    }
    for (int i = 0; memory && i < scene->joint_count && i < base->joint_count; i++) {
        const gw_scene_joint *a = &base->joints[i], *b = &scene->joints[i];
        if (find_joint(base, b->id) < 0 && find_joint(scene, a->id) < 0 && a->type == b->type)
            memory = add_renamed(edit, GW_RENAMED_JOINT, a->id, b->id, error);
    }
    return memory;
}

/* Notes the first way in which the edit's effect differs from its statement; later ones are
 * dropped. */
static void add_note(app_edit *edit, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_note(app_edit *edit, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!edit->note[0])
        vsnprintf(edit->note, sizeof edit->note, format, list);
    va_end(list);
}

static void note_held(app_edit *edit, const char *name)
{
    add_note(edit,
             "%s begins so at the next start; what a hand moves is put nowhere else while it runs: "
             "pause first",
             name);
}

/* ---- objects and links --------------------------------------------------------------------- */

static bool same_pose(const gw_pose *a, const gw_pose *b)
{
    return a->p.x == b->p.x && a->p.y == b->p.y && a->p.z == b->p.z && a->q.w == b->q.w &&
           a->q.x == b->q.x && a->q.y == b->q.y && a->q.z == b->q.z;
}

static bool same_vector(const gw_vec3 *a, const gw_vec3 *b)
{
    return a->x == b->x && a->y == b->y && a->z == b->z;
}

bool app_within_numbers(const gw_pose *pose)
{
    const gw_vec3 p = pose->p;
    return gw_finite_pose(pose) && fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))) <= GW_MAX_COORDINATE;
}

/* True where a tool of the base holds body `number` or a body of its system. */
static bool in_hand(const app_edit *edit, int number)
{
    for (int i = 0; number >= 0 && i < edit->base->scene->tool_count; i++)
        if (app_tool_moves(edit->base, i, number))
            return true;
    return false;
}

static unsigned stated_of_object(const app_edit *edit, const gw_object *before,
                                 const gw_object *object)
{
    bool moves = !same_vector(&before->velocity, &object->velocity) ||
                 !same_vector(&before->spin, &object->spin);
    return stated_members(edit, "objects", object->id) | (moves ? MOTION : 0u) |
           (same_pose(&before->pose, &object->pose) ? 0u : POSITION);
}

/* How an object, number `old` of the base, begins. A held object in no system moves to its stated
 * pose along a trajectory. */
static gw_begin begin_of(const placing *w, const gw_object *object, int old, unsigned says)
{
    app_edit *edit = w->edit;
    bool travels = app_tool_of(edit->scene, object->id) >= 0 &&
                   !gw_layout_system(edit->base->layout, old, NULL);
    if (!says || (travels && !(says & POSITION)))
        return GW_BEGIN_GO_ON;
    if (travels) {
        edit->go_to_layout = true;
        return GW_BEGIN_GO_ON;
    }
    if (w->running && in_hand(edit, old)) {
        note_held(edit, object->id);
        return GW_BEGIN_GO_ON;
    }
    return says & POSITION ? GW_BEGIN_POSE : GW_BEGIN_TWIST;
}

/* Sets how links begin: those whose joints the edit puts at other positions or velocities are
 * placed. */
static void begin_links(const placing *w)
{
    app_edit *edit = w->edit;
    const gw_scene *base = edit->base->scene, *scene = edit->scene;
    for (int i = 0; i < scene->mechanism_count; i++) {
        const gw_mechanism *m = &scene->mechanisms[i];
        int old = mechanism_before(edit, i), first = gw_scene_first_joint(scene, i);
        const gw_mechanism *was = old < 0 ? NULL : &base->mechanisms[old];
        for (int k = 0; was && k < m->link_count && k < was->link_count; k++) {
            char name[GW_MAX_LINK_NAME + 1];
            gw_link_name(m, k, name);
            unsigned says = stated_members(edit, "links", name) |
                            (m->position[k] != was->position[k] ? POSITION : 0u) |
                            (m->velocity[k] != was->velocity[k] ? MOTION : 0u);
            if (says && w->running &&
                in_hand(edit, base->object_count + gw_scene_first_joint(base, old))) {
                note_held(edit, name);
                says = 0;
            }
            edit->begins[scene->object_count + first + k] = says & POSITION ? GW_BEGIN_JOINT
                                                            : says          ? GW_BEGIN_RATE
                                                                            : GW_BEGIN_GO_ON;
        }
    }
}

/* The present poses of the edited scene's objects: the loop's, unless the edit states another pose.
 * Sets how all bodies begin. NULL when memory is short. */
static gw_pose *poses_now(const placing *w)
{
    app_edit *edit = w->edit;
    const gw_scene *base = edit->base->scene, *scene = edit->scene;
    gw_pose *before = app_poses_of(edit->base, w->snapshot, edit->base->placed_since);
    gw_pose *poses = malloc(((size_t)scene->object_count + 1) * sizeof *poses);
    free(edit->begins);
    edit->begins = calloc((size_t)gw_scene_body_count(scene) + 1, sizeof *edit->begins);
    bool memory = before && poses && edit->begins;
    for (int i = 0; memory && i < scene->object_count; i++) {
        const gw_object *object = &scene->objects[i];
        int old = object_before(edit, i);
        poses[i] = object->pose;
        if (old < 0 || object->fixed)
            continue;
        unsigned says = stated_of_object(edit, &base->objects[old], object);
        edit->begins[i] = begin_of(w, object, old, says);
        if (!(says & POSITION) && app_within_numbers(&before[old]))
            poses[i] = before[old];
    }
    if (memory)
        begin_links(w);
    if (!memory) {
        free(poses);
        poses = NULL;
    }
    free(before);
    return poses;
}

/* ---- joints -------------------------------------------------------------------------------- */

/* The initial values, as bits, that the edit states of a joint of the base scene. */
static unsigned stated_of_joint(const app_edit *edit, const gw_scene_joint *before,
                                const gw_scene_joint *j)
{
    unsigned says = stated_members(edit, "joints", j->id);
    bool position =
        j->has_position &&
        (!before->has_position || memcmp(before->position, j->position, sizeof j->position) != 0);
    bool motion = j->has_velocity && (!before->has_velocity || memcmp(before->velocity, j->velocity,
                                                                      sizeof j->velocity) != 0);
    says |= (position ? POSITION : 0u) | (motion ? MOTION : 0u);
    return j->gear || !j->enabled ? 0 : says;
}

/* Joints begin at their present positions, except where the edit states others; new ones as
 * stated. */
static bool take_joints(placing *w)
{
    app_edit *edit = w->edit;
    const gw_scene *base = edit->base->scene, *scene = edit->scene;
    size_t count = (size_t)scene->joint_count;
    w->joint_says = calloc(count + 1, sizeof *w->joint_says);
    w->present.joints = malloc((count + 1) * sizeof *w->present.joints);
    if (!w->joint_says || !w->present.joints)
        return false;
    for (int i = 0; i < scene->joint_count; i++) {
        gw_scene_joint *j = &w->present.joints[i];
        const gw_scene_joint *before = joint_before(edit, i);
        *j = scene->joints[i];
        if (!before)
            continue;
        unsigned says = stated_of_joint(edit, before, j);
        if (says && w->running &&
            (in_hand(edit, gw_scene_body_number(base, before->a.object)) ||
             in_hand(edit, gw_scene_body_number(base, before->b.object)))) {
            note_held(edit, j->id);
            says = 0;
        }
        w->joint_says[i] = says;
        j->has_position = j->has_position && says & POSITION;
    }
    return true;
}

/* The mechanisms, with joints at the loop's positions, except where the edit states others. */
static bool take_mechanisms(placing *w)
{
    const app_edit *edit = w->edit;
    const gw_scene *base = edit->base->scene, *scene = edit->scene;
    const gw_snapshot *s = w->snapshot;
    double *to = w->positions = malloc(((size_t)gw_scene_joints(scene) + 1) * sizeof *to);
    w->present.mechanisms =
        malloc(((size_t)scene->mechanism_count + 1) * sizeof *w->present.mechanisms);
    if (!to || !w->present.mechanisms)
        return false;
    bool known = s->scenario >= edit->base->placed_since && s->scenario <= edit->base->scenario &&
                 s->joint_count == gw_scene_joints(base);
    for (int i = 0; i < scene->mechanism_count; i++) {
        gw_mechanism *m = &w->present.mechanisms[i];
        *m = scene->mechanisms[i];
        int old = known ? mechanism_before(edit, i) : -1;
        const gw_begin *begins = edit->begins + scene->object_count + (to - w->positions);
        for (int k = 0; k < m->link_count; k++) {
            bool goes_on =
                old >= 0 && k < base->mechanisms[old].link_count && begins[k] != GW_BEGIN_JOINT;
            double q = goes_on ? s->q[gw_scene_first_joint(base, old) + k] : m->position[k];
            to[k] = isfinite(q) ? q : m->position[k];
        }
        m->position = to;
        to += m->link_count;
    }
    return true;
}

/* All bodies of the system begin at their laid out poses, except those placed by their joint. */
static void begin_all_bodies(app_edit *edit, const gw_scene_system *s)
{
    for (int i = 0; i < s->member_count; i++) {
        gw_begin *begin = &edit->begins[s->members[i].number];
        if (*begin != GW_BEGIN_JOINT)
            *begin = GW_BEGIN_POSE;
    }
}

/* Sets how the bodies of a system begin by the statements about its joints. In a system with loops
 * a statement about one joint places all bodies. */
static void begin_system(const placing *w, const gw_scene_system *s)
{
    gw_begin *begins = w->edit->begins;
    bool whole = false;
    for (int i = 0; i < s->joint_count; i++) {
        const gw_placed_joint *j = &s->joints[i];
        unsigned says = w->joint_says[j->joint];
        if (!says)
            continue;
        whole = whole || j->body < 0 || s->closure_count > 0;
        if (j->body >= 0 && j->body < s->member_count)
            begins[s->members[j->body].number] = says & POSITION ? GW_BEGIN_JOINT : GW_BEGIN_RATE;
    }
    for (int i = 0; i < s->member_count && s->closure_count > 0; i++)
        whole = whole || begins[s->members[i].number] == GW_BEGIN_JOINT;
    if (whole)
        begin_all_bodies(w->edit, s);
}

/* True where the edit puts any body elsewhere than it is. */
static bool moves_anything(const placing *w)
{
    const app_edit *edit = w->edit;
    bool any = edit->go_to_layout;
    for (int i = 0; i < gw_scene_body_count(edit->scene); i++)
        any = any || edit->begins[i] == GW_BEGIN_POSE || edit->begins[i] == GW_BEGIN_JOINT;
    for (int i = 0; i < edit->scene->joint_count; i++)
        any = any || w->joint_says[i] & POSITION;
    return any;
}

/* Notes contacts that could not be followed and were searched for over whole surfaces. */
static void note_searched(app_edit *edit, const gw_contact_starts *starts, const gw_scene_system *s)
{
    for (int i = 0; i < s->contact_count; i++) {
        const gw_placed_contact *c = &s->contacts[i];
        const gw_scene_constraint *k = &edit->scene->constraints[c->constraint];
        if (!c->continues &&
            gw_contact_start_find(starts, c->key, &s->closures[c->closure].contact))
            add_note(edit,
                     "%s was searched for over all of %s and %s: near where they touched the edit "
                     "leaves no place for it",
                     k->id, k->a.object, k->b.object);
    }
}

gw_layout *app_lay_out_now(app_edit *edit, const gw_snapshot *snapshot, gw_error *error)
{
    assert(edit && snapshot);
    placing w = {.edit = edit,
                 .snapshot = snapshot,
                 .running = snapshot->state == GW_RUNNING,
                 .present = *edit->scene};
    w.present.joints = NULL;
    w.present.mechanisms = NULL;
    gw_layout_known known = {edit->base->layout, {snapshot->followed_count, snapshot->followed}};
    gw_layout *layout = NULL;
    gw_pose *poses = poses_now(&w);
    if (poses && take_joints(&w) && take_mechanisms(&w)) {
        if (moves_anything(&w))
            known.starts.count = 0;
        layout = gw_layout_update(&w.present, poses, &known, error);
    } else
        gw_fail(error, GW_FAILED, "", "memory is short for an edit");
    for (int i = 0; layout && i < layout->system_count; i++)
        if (layout->systems[i]) {
            begin_system(&w, layout->systems[i]);
            note_searched(edit, &known.starts, layout->systems[i]);
        }
    free(poses);
    free(w.joint_says);
    free(w.present.joints);
    free(w.present.mechanisms);
    free(w.positions);
    return layout;
}

/* ---- poses and stated positions ------------------------------------------------------------ */

/* True where the layout has the joint at another position than it states, or, at a start
 * (`stopped`), the object at another pose than it states. */
static bool is_position_overruled(const gw_scene *scene, const gw_layout *layout, bool stopped,
                                  int joint, int object)
{
    const gw_scene_joint *j = &scene->joints[joint];
    const gw_pose *stated = &scene->objects[object].pose, *laid_out = &layout->poses[object];
    const gw_scene_system *s = gw_layout_system(layout, object, NULL);
    if (stopped)
        return gw_distance(stated->p, laid_out->p) > ROUNDED ||
               gw_quat_angle(stated->q, laid_out->q) > ROUNDED;
    for (int i = 0; s && i < s->joint_count; i++)
        for (int k = 0; s->joints[i].joint == joint && s->joints[i].body >= 0 &&
                        k < gw_mobilizers[j->type].dof;
             k++) {
            double off = s->bodies[s->joints[i].body].position[k] - j->position[k];
            if (fabs(gw_mobilizers[j->type].turns >> k & 1 ? remainder(off, 2 * GW_PI) : off) >
                ROUNDED)
                return true;
        }
    return false;
}

void app_note_overruled_poses(app_edit *edit, const gw_layout *layout, bool stopped)
{
    const gw_scene *base = edit->base->scene, *scene = edit->scene;
    for (int i = 0; i < scene->joint_count; i++) {
        const gw_scene_joint *j = &scene->joints[i];
        const char *ends[] = {j->a.object, j->b.object};
        if (j->gear || !j->enabled || !j->has_position)
            continue;
        for (int k = 0; k < 2; k++) {
            int object = gw_scene_object(scene, ends[k]);
            int old = object < 0 ? -1 : object_before(edit, object);
            if (old >= 0 && !scene->objects[object].fixed &&
                stated_of_object(edit, &base->objects[old], &scene->objects[object]) & POSITION &&
                is_position_overruled(scene, layout, stopped, i, object))
                add_note(edit,
                         "joint %s states a position, which wins over the pose of %s at a start: "
                         "state another position, or none",
                         j->id, ends[k]);
        }
    }
}

/* ---- limits -------------------------------------------------------------------------------- */

static const gw_beyond_limits *beyond_of(const gw_layout *layout, int system)
{
    const gw_scene_system *s = system < layout->system_count ? layout->systems[system] : NULL;
    return s && s->beyond.number >= 0 ? &s->beyond : NULL;
}

/* Writes "joint hinge is at 1, outside its limits, -0.5 to 0.5: " and the consequence. */
static void describe_beyond_limits(const gw_scene *scene, const gw_beyond_limits *b, bool begins,
                                   char *text, size_t size)
{
    char name[GW_MAX_LINK_NAME + 1] = "";
    int link, mechanism = gw_scene_link_of_body(scene, b->number, &link);
    if (b->joint < 0)
        gw_link_name(&scene->mechanisms[mechanism], link, name);
    else
        snprintf(name, sizeof name, "%s", scene->joints[b->joint].id);
    bool met = fabs(b->now - b->was) > ROUNDED;
    int used = snprintf(text, size,
                        "joint %s is at %.6g by the poses of its bodies, outside its limits, "
                        "%.6g to %.6g: it ",
                        name, b->was, b->lower, b->upper);
    if (begins && met)
        snprintf(text + used, size - (size_t)used, "begins at %.6g", b->now);
    else
        snprintf(text + used, size - (size_t)used, "goes on from there");
}

/* True where the edit sets these limits. */
static bool are_new(const app_edit *edit, const gw_beyond_limits *b)
{
    const gw_scene *base = edit->base->scene, *scene = edit->scene;
    int link, mechanism = gw_scene_link_of_body(scene, b->number, &link), i = b->coordinate;
    if (b->joint >= 0) {
        const gw_scene_joint *was = joint_before(edit, b->joint);
        return !was || !was->enabled || !was->limited[i] || was->lower[i] != b->lower ||
               was->upper[i] != b->upper;
    }
    int old = mechanism_before(edit, mechanism);
    const gw_link_def *l = old >= 0 && link < base->mechanisms[old].link_count
                               ? &base->mechanisms[old].links[link]
                               : NULL;
    return !l || !l->limited || l->lower != b->lower || l->upper != b->upper;
}

static bool refuse_beyond(const app_edit *edit, const gw_beyond_limits *b, gw_error *error)
{
    char where[64];
    int link, mechanism = gw_scene_link_of_body(edit->scene, b->number, &link);
    if (b->joint >= 0)
        snprintf(where, sizeof where, "/joints/%d/limits/%d", b->joint, b->coordinate);
    else
        snprintf(where, sizeof where, "/mechanisms/%d/links/%d/joint/limits", mechanism, link);
    return gw_fail(error, GW_BAD_INPUT, where,
                   "are %.6g to %.6g, and the joint is at %.6g now: bring it within them first, or "
                   "stop the simulation",
                   b->lower, b->upper, b->was);
}

bool app_check_limits(app_edit *edit, const gw_layout *layout, bool stopped, gw_error *error)
{
    assert(edit && layout);
    for (int i = 0; i < layout->system_count; i++) {
        const gw_beyond_limits *b = beyond_of(layout, i);
        bool fresh = b && (edit->restart || are_new(edit, b));
        bool placed = b && edit->begins && edit->begins[b->number] == GW_BEGIN_POSE;
        if (fresh && !stopped && !placed && !edit->keeps_history)
            return refuse_beyond(edit, b, error);
        if (b && (stopped || fresh || placed) && !edit->note[0])
            describe_beyond_limits(edit->scene, b, stopped || placed, edit->note,
                                   sizeof edit->note);
    }
    return true;
}

void app_log_beyond_limits(gw_app *app, const app_document *document)
{
    for (int i = 0; i < document->layout->system_count; i++) {
        const gw_beyond_limits *b = beyond_of(document->layout, i);
        char text[256];
        if (!b)
            continue;
        describe_beyond_limits(document->scene, b, true, text, sizeof text);
        app_log(app, "edit", "warning", "%s.", text);
    }
}

bool app_begins_any(const app_edit *edit)
{
    int bodies = edit->begins ? gw_scene_body_count(edit->document->scene) : 0;
    for (int i = 0; i < bodies; i++)
        if (edit->begins[i] != GW_BEGIN_GO_ON)
            return true;
    return false;
}
