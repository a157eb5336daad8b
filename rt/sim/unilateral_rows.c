/*
 * Unilateral constraints of a scene as rows of the contact world (rt/contact/unilateral_row.h):
 * bounds of distances and angles, and unilateral rolling or sliding contacts, each contact point of
 * which has a closure of its system of bodies that holds it while it rests. Creation is outside the
 * tick; all else is RT safe.
 *
 * A stated feature of a fixed object may be moved from outside: such an end is a body of the world
 * (unilateral_anchors.c), numbered after the scene's bodies. Bounds near free-form shapes have a
 * row per contact point as well (bound_minima.c). During a transition bounds act at the model's
 * pose, on its set.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/surface_contact.h"
#include "rt/scene/surface.h"
#include "rt/sim/scene_dynamics_private.h"

/* ---- what a constraint's ends are ------------------------------------------------------------ */

static gw_geometry_feature end_of(const gw_scene *scene, const gw_feature_ref *ref)
{
    gw_geometry_feature end = {.object = gw_scene_object(scene, ref->object),
                               .feature = gw_scene_feature(scene, ref->object, ref->feature)};
    gw_scene_element(scene, ref, &end.element);
    return end;
}

/* The lower restitution of the two materials; for rolling and sliding contacts only of stated
 * materials. */
static double restitution_of(const gw_scene *scene, const gw_scene_constraint *c)
{
    const char *material[2] = {gw_scene_material_of(scene, &c->a),
                               gw_scene_material_of(scene, &c->b)};
    bool rolls = !gw_constraint_is_positional(c->kind), any = false;
    double e = 1;
    for (int k = 0; k < 2; k++) {
        if (rolls && !material[k][0])
            continue;
        e = fmin(e, gw_scene_contact_material(scene, material[k]).restitution);
        any = true;
    }
    return any ? e : 0;
}

/* The length (m) that converts angles to distances: the size of the moving body. */
static double length_of(const gw_scene *scene, const gw_scene_constraint *c)
{
    int a = gw_scene_object(scene, c->a.object), b = gw_scene_object(scene, c->b.object);
    if (a >= 0 && !scene->objects[a].fixed)
        return gw_object_length(&scene->objects[a]);
    if (b >= 0 && !scene->objects[b].fixed)
        return gw_object_length(&scene->objects[b]);
    return 0.1; /* of a link */
}

static bool has_free_form(const gw_unilateral_row *row)
{
    return gw_is_free_form(row->a.kind) || gw_is_free_form(row->b.kind);
}

/* Index among the body's unilateral constraints (gw_scene_unilateral()); -1: beyond the bit set, or
 * the body is a link. */
static int number_of(const gw_scene *scene, int body, int constraint)
{
    int number = 0;
    if (body < 0 || body >= scene->object_count)
        return -1;
    const char *id = scene->objects[body].id;
    for (int i = 0; i < constraint; i++) {
        const gw_scene_constraint *c = &scene->constraints[i];
        number += gw_scene_constraint_is_unilateral(c) &&
                  (strcmp(c->a.object, id) == 0 || strcmp(c->b.object, id) == 0);
    }
    return number < GW_MAX_UNILATERALS ? number : -1;
}

/* ---- contact points ---------------------------------------------------------------------------
 *
 * Surfaces that bend freely come close at several points. Each is found once, followed from tick
 * to tick, and a contact of its own; where it ends, at an edge say, the contact does. Surfaces that
 * conform, a flat one on a plane say, have no contact point: as tick 0 finds them they are refused,
 * and in motion told as degenerate once they are past one another with no contact point that keeps
 * them apart.
 */

#define SEARCH_PERIOD 5e-3 /* s between two trials of a search, */
#define SEARCH_NEAR   0.02 /* m: without a known contact point and this near, in every step */
#define SEARCH_WAY    0.1  /* of the contact's size: motion after which a search begins at once */
#define LEVEL         1e-4 /* of a rim's radius: height difference of level supporting points */

bool gw_contact_point_is_taken(const gw_scene_unilaterals *u, const gw_scene_unilateral_row *first,
                               int but, const gw_contact_point *point)
{
    for (int k = first->first; k < first->first + first->point_count; k++) {
        const gw_closure_contact *contact = &u->rows[k].row.surfaces;
        if (k != but && contact->point.known && u->rows[k].support < 0 &&
            gw_closure_contact_same(contact, &contact->point, point))
            return true;
    }
    return false;
}

/* Searches one more contact point of a contact from the given start, if a row is left for it.
 * Returns the gap at that contact point or start (m); infinite if no row is left. */
static double search_contact_point(gw_scene_unilaterals *u, gw_scene_unilateral_row *first,
                                   int trial, const gw_pose *a, const gw_pose *b)
{
    double gap = INFINITY;
    for (int k = first->first; k < first->first + first->point_count; k++) {
        gw_closure_contact *contact = &u->rows[k].row.surfaces;
        gw_contact_point point;
        if (contact->point.known || u->rows[k].support >= 0)
            continue;
        bool found = gw_closure_contact_find(contact, a, b, trial, &point, &gap);
        if (found && !gw_contact_point_is_taken(u, first, k, &point))
            contact->point = point;
        bool lies = !found && first->line && trial == 0 && first->until_trace <= 0 &&
                    !gw_closure_contact_at_edge(contact, &point) && !gw_line_is_traced(u, first) &&
                    gw_line_trace(u, first, &point, a, b);
        if (trial == 0)
            first->past = !found && !lies && gap < 0 && first->sheet < 0;
        return gap;
    }
    return gap;
}

gw_scene_unilateral_row *gw_unplaced_row(gw_scene_unilaterals *u,
                                         const gw_scene_unilateral_row *first)
{
    for (int k = first->first; k < first->first + first->point_count; k++)
        if (u->rows[k].support < 0 && !u->rows[k].row.surfaces.point.known)
            return &u->rows[k];
    return NULL;
}

/* The row of a contact that is not in touch and has the largest gap, which is more than `gap`;
 * NULL: none. */
static gw_scene_unilateral_row *farthest_row(gw_scene_unilaterals *u,
                                             const gw_scene_unilateral_row *first, double gap,
                                             const double *gaps)
{
    gw_scene_unilateral_row *farthest = NULL;
    for (int k = 0; k < first->point_count; k++) {
        gw_scene_unilateral_row *r = &u->rows[first->first + k];
        if (r->support >= 0 || r->now.touches || !(gaps[k] > gap))
            continue;
        farthest = r;
        gap = gaps[k];
    }
    return farthest;
}

/* Searches near a's centre for all contact points at most `reach` (m) away and gives those to rows
 * that none has, instead of farther ones where no row is left. `gaps` of the rows are updated.
 * Returns the number found; -1: the surfaces are not searched in this way. */
static int search_near(gw_scene_unilaterals *u, gw_scene_unilateral_row *first, double reach,
                       const gw_pose *a, const gw_pose *b, double *gaps)
{
    gw_contact_point points[GW_CONTACT_MINIMA];
    double there[GW_CONTACT_MINIMA];
    const gw_closure_contact *contact = &first->row.surfaces;
    int count = gw_closure_contact_find_near(contact, a, b, reach, points, there);
    for (int i = 0; i < count; i++) {
        if (gw_contact_point_is_taken(u, first, -1, &points[i]))
            continue;
        gw_scene_unilateral_row *row = gw_unplaced_row(u, first);
        row = row ? row : farthest_row(u, first, there[i], gaps);
        if (!row)
            break;
        row->row.surfaces.point = points[i];
        gaps[row - u->rows - first->first] = there[i];
    }
    return count;
}

/* True where search_near() finds all contact points: of a ball, and of an edge near a smaller body.
 */
static bool is_searched_whole(const gw_closure_contact *contact)
{
    return contact->on_a.kind == GW_SURFACE_SPHERE || contact->on_a.sheet;
}

/* a's centre in the frame of b. */
static gw_vec3 centre_from(const gw_scene_unilateral_row *first, const gw_pose *a, const gw_pose *b)
{
    gw_vec3 centre = gw_add(a->p, gw_rotate(a->q, first->row.surfaces.on_a.point));
    return gw_unrotate(b->q, gw_sub(centre, b->p));
}

/* Sets the contact point of a row's supporting point; true if there is one. */
static bool find_support(gw_scene_unilateral_row *r, const gw_pose *a, const gw_pose *b,
                         double *gap)
{
    gw_closure_contact *contact = &r->row.surfaces;
    return gw_closure_contact_support(contact, a, b, r->support, &contact->point, gap);
}

/* True if surfaces of a constraint conform and none of its contacts has a contact point where they
 * do not. */
static bool surfaces_conform(const gw_scene_unilaterals *u, int constraint, const gw_pose *poses)
{
    bool any = false;
    for (int i = 0; i < u->count; i++) {
        const gw_scene_unilateral_row *r = &u->rows[i];
        const gw_closure_contact *contact = &r->row.surfaces;
        if (r->constraint != constraint || r->sheet >= 0)
            continue;
        if (r->point_count == 0)
            return false;
        if (!contact->point.known && r->first != i)
            continue;
        if (r->support >= 0 && (!r->line || (contact->point.known && u->rows[r->first].closed)))
            return false;
        if (r->support >= 0)
            continue;
        bool alike = gw_closure_contact_conforms(contact, &poses[r->body[0]], &poses[r->body[1]],
                                                 &contact->point);
        if (contact->point.known && !alike)
            return false;
        any = any || alike;
    }
    return any;
}

static bool check_points(const gw_scene_unilaterals *u, const gw_scene *scene, const gw_pose *poses,
                         gw_error *error)
{
    for (int i = 0; i < u->count; i++) {
        int k = u->rows[i].constraint;
        char where[32];
        if ((i > 0 && k == u->rows[i - 1].constraint) || !surfaces_conform(u, k, poses))
            continue;
        snprintf(where, sizeof where, "/constraints/%d", k);
        return gw_fail(error, GW_UNHANDLED, where,
                       "%s cannot keep %s and %s apart: " GW_SURFACES_CONFORM
                       "; a cylinder's own \"surface\" lies on a plane, or on a surface under "
                       "both its ends, and what is flat needs rounded feet, such as spheres",
                       scene->constraints[k].id, scene->constraints[k].a.object,
                       scene->constraints[k].b.object);
    }
    return true;
}

/* True if the former scene has a contact with this key. */
static bool had_contact(const gw_scene *before, const char *id, uint64_t key)
{
    gw_closure_def c;
    bool swapped;
    for (int i = 0; before && i < before->constraint_count; i++) {
        const gw_scene_constraint *k = &before->constraints[i];
        if (strcmp(k->id, id) == 0)
            return gw_scene_constraint_is_unilateral(k) && !gw_constraint_is_positional(k->kind) &&
                   gw_scene_velocity_closure(before, i, &c, &swapped, NULL) &&
                   gw_contact_key(k, &c.contact) == key;
    }
    return false;
}

/* Finds the contact points at tick 0, from all starts. A contact that continues keeps its former
 * contact points, and the loop searches for others: for it only conformity is checked, at the
 * likeliest start first. */
static void find_points(gw_scene_unilaterals *u, const gw_scene_dynamics_def *def)
{
    const gw_pose *poses = def->layout->poses;
    for (int i = 0; i < u->count; i++) {
        gw_scene_unilateral_row *r = &u->rows[i];
        if (r->point_count == 0)
            continue;
        const gw_pose *a = &poses[r->body[0]], *b = &poses[r->body[1]];
        double gap;
        if (r->support >= 0)
            find_support(r, a, b, &gap);
        const char *id = def->scene->constraints[r->constraint].id;
        bool goes_on = r->first == i && had_contact(def->before, id, r->key);
        bool ball = is_searched_whole(&r->row.surfaces);
        double gaps[GW_CONTACT_POINTS + GW_CONTACT_SUPPORTS] = {0};
        bool done =
            ball && !goes_on && r->first == i && search_near(u, r, INFINITY, a, b, gaps) > 0;
        for (int trial = 0; trial < GW_CONTACT_TRIALS && r->first == i && !done; trial++) {
            search_contact_point(u, r, trial, a, b);
            if (goes_on && !surfaces_conform(u, r->constraint, poses))
                break;
        }
        r->start = r->row.surfaces.point;
    }
}

/* The same of bounds near free-form shapes. */
static void find_bound_minima(gw_scene_unilaterals *u, const gw_scene_dynamics_def *def)
{
    const gw_pose *poses = def->layout->poses;
    for (int i = 0; i < u->search_count; i++) {
        const gw_scene_unilateral_row *r = &u->rows[u->searches[i].first];
        gw_bound_search_begin(u, &u->searches[i], &poses[r->body[0]], &poses[r->body[1]]);
        u->searches[i].fresh = true;
    }
    for (int i = 0; i < u->count; i++)
        memcpy(u->rows[i].minima, u->rows[i].row.minima, sizeof u->rows[i].minima);
}

/* ---- building -------------------------------------------------------------------------------- */

/* A new row; NULL: no room. */
static gw_scene_unilateral_row *add_row(gw_scene_unilaterals *u, const gw_scene_dynamics_def *def,
                                        int constraint, int part)
{
    const gw_scene *scene = def->scene;
    const gw_scene_constraint *c = &scene->constraints[constraint];
    if (u->count == GW_MAX_WORLD_UNILATERALS)
        return NULL;
    gw_scene_unilateral_row *r = &u->rows[u->count];
    *r = (gw_scene_unilateral_row){.constraint = constraint,
                                   .body = {gw_scene_body_number(scene, c->a.object),
                                            gw_scene_body_number(scene, c->b.object)},
                                   .end = {end_of(scene, &c->a), end_of(scene, &c->b)},
                                   .anchor = {-1, -1},
                                   .sheet = -1,
                                   .seen = gw_pose_identity(),
                                   .last = gw_pose_identity()};
    u->candidates[u->count++] =
        (gw_contact_candidate){.key = gw_name_hash(c->id, (uint64_t)part + 1),
                               .row = &r->row,
                               .surface = {.restitution = restitution_of(scene, c)}};
    return r;
}

/* The row of a bound. Of a point and a free-form surface the distance is signed by the normal where
 * the sense states a side, or the value does; it is the opposite one along the opposite normal. */
static gw_unilateral_row bound_row(const gw_scene *scene, const gw_scene_constraint *c,
                                   const gw_element *a, const gw_element *b)
{
    gw_unilateral_row row = {.kind =
                                 c->kind == GW_ANGLE ? GW_UNILATERAL_ANGLE : GW_UNILATERAL_DISTANCE,
                             .a = *a,
                             .b = *b,
                             .value = c->value,
                             .sign = c->bound == GW_BOUND_AT_MOST ? -1 : 1,
                             .length = length_of(scene, c)};
    if (!has_free_form(&row))
        return row;
    row.nearest = row.kind == GW_UNILATERAL_ANGLE;
    if (row.nearest)
        return row;
    bool plane = a->kind == GW_PLANE || b->kind == GW_PLANE;
    row.of.signs = gw_scene_bound_is_signed(c, a, b);
    if (row.of.signs && c->sense == GW_OPPOSITE) {
        row.sign = -row.sign;
        row.value = -row.value;
    }
    row.of.side = row.sign > 0 ? 1 : -1;
    row.nearest = !plane && (row.of.signs ? row.sign * row.value < 0 : row.sign < 0);
    return row;
}

static bool add_bound(gw_scene_unilaterals *u, const gw_scene_dynamics_def *def, int constraint)
{
    const gw_scene_constraint *c = &def->scene->constraints[constraint];
    gw_scene_unilateral_row *first = add_row(u, def, constraint, 0);
    if (!first)
        return false;
    int index = u->count - 1;
    first->row = bound_row(def->scene, c, &first->end[0].element, &first->end[1].element);
    bool many = has_free_form(&first->row);
    int rows = first->row.nearest ? 1 : GW_BOUND_MINIMA + GW_BOUND_SUPPORTS;
    for (int k = 1; k < rows && many; k++) {
        gw_scene_unilateral_row *r = add_row(u, def, constraint, k);
        if (!r)
            return false;
        r->row = u->rows[index].row;
    }
    if (many)
        gw_bound_search_init(&u->searches[u->search_count++], u, index, rows);
    return true;
}

static gw_unilateral_traction traction_of(gw_contact_motion motion)
{
    switch (motion) {
    case GW_CONTACT_SLIDES:
        return GW_TRACTION_NONE;
    case GW_CONTACT_ROLLS:
        return GW_TRACTION_SLIP;
    case GW_CONTACT_ROLLS_PURELY:
        return GW_TRACTION_SLIP_AND_SPIN;
    }
    assert(false);
    return GW_TRACTION_NONE;
}

static bool add_contact(gw_scene_unilaterals *u, const gw_scene_dynamics_def *def, int constraint)
{
    const gw_scene_constraint *c = &def->scene->constraints[constraint];
    gw_unilateral_contact points[GW_MAX_UNILATERAL_CONTACTS];
    bool swapped;
    int count = gw_scene_unilateral_contacts(def->scene, constraint, points, &swapped);
    gw_closure_def whole;
    gw_scene_velocity_closure(def->scene, constraint, &whole, &swapped, NULL);
    uint64_t key = gw_contact_key(c, &whole.contact);
    int from = u->count;
    for (int i = 0; i < count; i++) {
        gw_scene_unilateral_row *r = add_row(u, def, constraint, i);
        if (!r)
            return false;
        if (swapped != points[i].exchanged) {
            int body = r->body[0];
            r->body[0] = r->body[1];
            r->body[1] = body;
        }
        r->first = from + points[i].first;
        r->point_count = points[i].count;
        r->size = gw_contact_size(&points[i].contact);
        r->support = points[i].support;
        r->line = points[i].contact.on_a.kind != GW_SURFACE_RIM &&
                  gw_closure_contact_supports(&points[i].contact) > 0;
        r->part_of_solid = points[i].part_of_solid;
        r->sheet = points[i].contact.on_a.sheet ? from : -1;
        r->exchanged = points[i].exchanged;
        r->key = key;
        r->row = (gw_unilateral_row){.kind = GW_UNILATERAL_SURFACES,
                                     .surfaces = points[i].contact,
                                     .traction = traction_of(points[i].contact.motion)};
        u->candidates[u->count - 1].surface.friction = points[i].friction;
    }
    return true;
}

/* Adds the anchor of an end that may move within a fixed object. */
static void add_anchor(gw_scene_unilaterals *u, const gw_scene_dynamics_def *def,
                       gw_scene_unilateral_row *r, int side)
{
    int object = r->end[side].object;
    if (object < 0 || !def->scene->objects[object].fixed || r->end[side].feature < 0)
        return;
    r->anchor[side] = u->anchor_count;
    u->anchors[u->anchor_count++] = (gw_unilateral_anchor){
        .end = r->end[side], .at = def->layout->poses[object], .start = def->layout->poses[object]};
}

static gw_scene_unilaterals *make_room(const gw_scene *scene)
{
    size_t rows = 0;
    for (int i = 0; i < scene->constraint_count; i++)
        if (gw_scene_constraint_is_unilateral(&scene->constraints[i]))
            rows = GW_MAX_WORLD_UNILATERALS;
    gw_scene_unilaterals *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->states = malloc(GW_MAX_CONTACT_CANDIDATES * sizeof *u->states);
    if (rows > 0) {
        u->rows = calloc(rows, sizeof *u->rows);
        u->candidates = calloc(rows, sizeof *u->candidates);
        u->anchors = calloc(2 * rows, sizeof *u->anchors);
        u->searches = calloc(rows, sizeof *u->searches);
    }
    if (u->states && (rows == 0 || (u->rows && u->candidates && u->anchors && u->searches)))
        return u;
    gw_scene_unilaterals_destroy(u);
    return NULL;
}

void gw_scene_unilaterals_destroy(gw_scene_unilaterals *u)
{
    if (!u)
        return;
    free(u->rows);
    free(u->candidates);
    free(u->anchors);
    free(u->states);
    free(u->searches);
    free(u);
}

gw_scene_unilaterals *gw_scene_unilaterals_create(const gw_scene_dynamics_def *def, gw_error *error)
{
    assert(def);
    const gw_scene *scene = def->scene;
    gw_scene_unilaterals *u = make_room(scene);
    if (!u) {
        gw_fail(error, GW_FAILED, "", "no memory for unilateral constraints");
        return NULL;
    }
    for (int i = 0; i < scene->constraint_count; i++) {
        const gw_scene_constraint *c = &scene->constraints[i];
        if (!gw_scene_constraint_is_unilateral(c))
            continue;
        bool positional = gw_constraint_is_positional(c->kind);
        if (!(positional ? add_bound : add_contact)(u, def, i)) {
            gw_fail(error, GW_TOO_LARGE, "/constraints",
                    "a scene has at most %d unilateral constraints", GW_MAX_WORLD_UNILATERALS);
            gw_scene_unilaterals_destroy(u);
            return NULL;
        }
    }
    for (int i = 0; i < u->count; i++) {
        gw_scene_unilateral_row *r = &u->rows[i];
        for (int side = 0; side < 2; side++) {
            r->row.owned = i;
            r->number[side] = number_of(scene, r->body[side], r->constraint);
            if (r->row.kind != GW_UNILATERAL_SURFACES)
                add_anchor(u, def, r, side);
        }
    }
    find_points(u, def);
    find_bound_minima(u, def);
    if (!check_points(u, scene, def->layout->poses, error)) {
        gw_scene_unilaterals_destroy(u);
        return NULL;
    }
    return u;
}

void gw_scene_unilaterals_number(gw_scene_unilaterals *u, int first_anchor)
{
    u->first_anchor = first_anchor;
    for (int i = 0; i < u->count; i++) {
        const gw_scene_unilateral_row *r = &u->rows[i];
        u->candidates[i].a = r->anchor[0] >= 0 ? first_anchor + r->anchor[0] : r->body[0];
        u->candidates[i].b = r->anchor[1] >= 0 ? first_anchor + r->anchor[1] : r->body[1];
    }
}

/* The first row of a constraint. */
static int first_row_of(const gw_scene_unilaterals *u, int constraint)
{
    int i = 0;
    while (u->rows[i].constraint != constraint)
        i++;
    return i;
}

void gw_scene_unilaterals_find_closures(gw_scene_dynamics *m, const gw_scene_dynamics_def *def)
{
    gw_scene_unilaterals *u = m->unilaterals;
    for (int i = 0; i < m->system_count; i++) {
        const gw_scene_system *from = def->layout->systems[i];
        gw_system *system = m->systems[i].system;
        for (int k = 0; k < from->unilateral_count; k++) {
            const gw_placed_unilateral *placed = &from->unilaterals[k];
            gw_unilateral_row *row =
                &u->rows[first_row_of(u, placed->constraint) + placed->number].row;
            row->system = system;
            row->closure = placed->closure;
        }
    }
}

int gw_scene_unilaterals_object(const gw_scene_unilaterals *u, int body)
{
    assert(body >= u->first_anchor && body < u->first_anchor + u->anchor_count);
    return u->anchors[body - u->first_anchor].end.object;
}

/* ---- following contact points ---------------------------------------------------------------- */

/* Merges rows whose contact points coincide; the one in contact is kept. */
static void merge_coinciding_rows(gw_scene_unilaterals *u, const gw_scene_unilateral_row *first)
{
    for (int k = first->first; k < first->first + first->point_count; k++) {
        gw_scene_unilateral_row *r = &u->rows[k];
        if (r->row.surfaces.point.known && !r->now.touches && r->support < 0 &&
            gw_contact_point_is_taken(u, first, k, &r->row.surfaces.point))
            r->row.surfaces.point.known = false;
    }
}

/* True if a row has a lowest point of the rim near this angle. */
static bool has_lowest_near(const gw_scene_unilaterals *u, const gw_scene_unilateral_row *first,
                            double angle)
{
    for (int k = first->first; k < first->first + first->point_count; k++) {
        const gw_contact_point *point = &u->rows[k].row.surfaces.point;
        if (u->rows[k].support < 0 && point->known &&
            fabs(remainder(point->a[0] - angle, 2 * GW_PI)) < GW_PI / GW_CONTACT_SUPPORTS)
            return true;
    }
    return false;
}

/* Finds lowest points of a rim that lies nearly flat that no row has yet: near a supporting point
 * lower than its neighbours, at the minimum of the parabola through the three. */
static void find_lowest(gw_scene_unilaterals *u, const gw_scene_unilateral_row *first,
                        const gw_pose *a, const gw_pose *b, double *gap)
{
    const gw_scene_unilateral_row *support[GW_CONTACT_SUPPORTS];
    double height[GW_CONTACT_SUPPORTS];
    int count = 0;
    for (int k = 0; k < first->point_count; k++) {
        const gw_scene_unilateral_row *r = &u->rows[first->first + k];
        if (r->support < 0 || !r->row.surfaces.point.known || first->line)
            continue;
        support[count] = r;
        height[count++] = gap[k];
    }
    for (int i = 0; i < count && count == GW_CONTACT_SUPPORTS; i++) {
        double before = height[(i + count - 1) % count], after = height[(i + 1) % count];
        double bend = before + after - 2 * height[i];
        const gw_contact_point *near = &support[i]->row.surfaces.point;
        if (height[i] > fmin(before, after) || height[i] > GW_CONTACT_FOLLOWED ||
            bend < LEVEL * support[i]->row.surfaces.on_a.radius)
            continue;
        double turn = GW_PI / count * (before - after) / bend, there;
        gw_scene_unilateral_row *row = gw_unplaced_row(u, first);
        gw_contact_point point;
        if (!row || has_lowest_near(u, first, near->a[0] + turn))
            continue;
        if (gw_closure_contact_lowest(&row->row.surfaces, a, b, turn, near, &point, &there) &&
            !gw_contact_point_is_taken(u, first, -1, &point)) {
            row->row.surfaces.point = point;
            gap[row - u->rows - first->first] = there;
        }
    }
}

/* For sides and caps of cylinders: a contact point below their middle, which may appear over a rim
 * from one step to the next. */
static void find_contact_below(gw_scene_unilaterals *u, gw_scene_unilateral_row *first,
                               const gw_pose *a, const gw_pose *b, double *gap)
{
    gw_scene_unilateral_row *row = gw_unplaced_row(u, first);
    gw_contact_point point;
    double there;
    if (!row || row != first || !row->part_of_solid ||
        !(first->under.known || first->until_search <= 0))
        return;
    if (gw_closure_contact_find_under(&row->row.surfaces, a, b, &first->under, &point, &there) &&
        !gw_contact_point_is_taken(u, first, -1, &point)) {
        row->row.surfaces.point = point;
        gap[row - u->rows - first->first] = there;
    }
}

/* Where surfaces bend nearly alike at a contact point, another one comes up beside it. */
static void find_beside(gw_scene_unilaterals *u, gw_scene_unilateral_row *first,
                        const gw_scene_unilateral_row *near, const gw_pose *a, const gw_pose *b,
                        double *gap)
{
    const gw_closure_contact *contact = &near->row.surfaces;
    bool narrow = near->support < 0 && contact->point.known && !gw_line_is_traced(u, first) &&
                  gw_closure_contact_is_narrow(contact, &contact->point);
    for (int i = 0; i < GW_CONTACT_BESIDE && narrow; i++) {
        gw_scene_unilateral_row *row = gw_unplaced_row(u, first);
        gw_contact_point point;
        double there;
        if (!row ||
            !gw_closure_contact_find_beside(contact, a, b, &contact->point, i, &point, &there) ||
            gw_contact_point_is_taken(u, first, -1, &point))
            continue;
        row->row.surfaces.point = point;
        gap[row - u->rows - first->first] = there;
    }
}

/* Makes a row a contact candidate, or not. */
static void follow_row(gw_scene_dynamics *m, const gw_scene_unilateral_row *r, bool follow)
{
    const gw_unilateral_row *row = &r->row;
    const gw_contact_point unknown = {.known = false};
    gw_world_follow(m->world, row->owned, follow);
    if (row->surfaces.edged && row->system)
        gw_system_follow_contact(row->system, row->closure,
                                 follow ? &row->surfaces.point : &unknown);
}

/* Finds the contact point of a sheet beside an edge over which a body comes onto it, where it has
 * none. */
static void find_beyond_edge(gw_scene_dynamics *m, const gw_scene_unilateral_row *edge,
                             const gw_pose *a, const gw_pose *b)
{
    gw_scene_unilaterals *u = m->unilaterals;
    if (edge->sheet < 0 || !edge->row.surfaces.point.known)
        return;
    gw_scene_unilateral_row *sheet = &u->rows[edge->sheet], *row = gw_unplaced_row(u, sheet);
    gw_contact_point point;
    double gap;
    if (row &&
        gw_closure_contact_from_edge(&row->row.surfaces, edge->exchanged ? b : a,
                                     edge->exchanged ? a : b, &edge->row.surfaces, edge->exchanged,
                                     &point, &gap) &&
        !gw_contact_point_is_taken(u, sheet, -1, &point)) {
        row->row.surfaces.point = point;
        follow_row(m, row, gap < GW_CONTACT_FOLLOWED);
    }
}

/* Searches for all contact points within `reach` (m) of a ball. Else, and where a ball has none,
 * makes a trial of the search if that is due, every other one from the likeliest starts. */
static void search_points(gw_scene_unilaterals *u, gw_scene_unilateral_row *first, bool any,
                          double reach, const gw_pose *a, const gw_pose *b, double *gaps)
{
    const gw_closure_contact *contact = &first->row.surfaces;
    int trial = first->trial % 2 ? 1 + first->trial / 2 : 0, found = -1;
    double gap = INFINITY;
    first->searched_at = centre_from(first, a, b);
    if (trial == 0 || is_searched_whole(contact))
        found = search_near(u, first, reach, a, b, gaps);
    any = any || found > 0;
    first->past = first->past && !any;
    if (first->until_search > 0)
        return;
    if (found < 0 || (!any && first->sheet < 0))
        gap = search_contact_point(u, first, found < 0 ? trial : 0, a, b);
    first->trial = (first->trial + 1) % (2 * (GW_CONTACT_TRIALS - 1));
    bool waits = any || first->sheet >= 0 || first->part_of_solid || fabs(gap) > SEARCH_NEAR;
    first->until_search = waits ? SEARCH_PERIOD : 0;
}

/* True if a constraint has a contact point that separates the surfaces, or may; one with a large
 * gap does not. */
static bool has_point(const gw_scene_unilaterals *u, int constraint)
{
    for (int i = 0; i < u->count; i++)
        if (u->rows[i].constraint == constraint && u->rows[i].row.surfaces.point.known &&
            u->rows[i].now.gap < SEARCH_NEAR)
            return true;
    return false;
}

/* True if the penetration is larger than a point contact reaches, even with a deferred
 * collision. */
static bool is_too_deep(const gw_scene_unilateral_row *r)
{
    return r->point_count > 0 && r->row.surfaces.point.known &&
           r->now.gap < -2 * GW_WORLD_DEFERRED_DEPTH;
}

int gw_scene_unilaterals_degenerate(const gw_scene_unilaterals *u)
{
    for (int i = 0; i < u->count; i++)
        if ((u->rows[i].past && !has_point(u, u->rows[i].constraint)) || is_too_deep(&u->rows[i]))
            return u->rows[i].constraint;
    return -1;
}

/* Follows the contact points of one contact, and searches for others. */
static void update_points(gw_scene_dynamics *m, gw_scene_unilateral_row *first, const gw_pose *a,
                          const gw_pose *b, double dt)
{
    gw_scene_unilaterals *u = m->unilaterals;
    gw_scene_unilateral_row *rows = first;
    double gap[GW_CONTACT_POINTS + GW_CONTACT_SUPPORTS] = {0};
    bool any = false;
    for (int k = 0; k < first->point_count; k++) {
        gw_closure_contact *contact = &rows[k].row.surfaces;
        if (rows[k].support >= 0)
            find_support(&rows[k], a, b, &gap[k]);
        else if (contact->point.known &&
                 !gw_closure_contact_follow(contact, a, b, &contact->point, &gap[k]))
            first->until_search = 0; /* another one may be near */
        any = any || contact->point.known;
    }
    merge_coinciding_rows(u, first);
    find_lowest(u, first, a, b, gap);
    bool line = !first->line || gw_line_follow(u, first, dt, a, b, gap);
    gw_line_find_lowest(u, first, a, b, gap);
    first->until_search -= dt;
    find_contact_below(u, first, a, b, gap);
    first->past = first->past && !any;
    for (int k = 0; k < first->point_count && first->sheet < 0; k++)
        find_beside(u, first, &rows[k], a, b, gap);
    double distance = gw_distance(centre_from(first, a, b), first->searched_at);
    double reach = fmin(GW_CONTACT_FOLLOWED, fmax(first->size, 2 * distance));
    if (first->until_search <= 0 || distance > SEARCH_WAY * first->size)
        search_points(u, first, any, reach, a, b, gap);
    first->clear = reach;
    for (int k = 0; k < first->point_count; k++) {
        bool known = rows[k].row.surfaces.point.known;
        follow_row(m, &rows[k],
                   known && gap[k] < GW_CONTACT_FOLLOWED && (line || rows[k].support < 0));
        first->clear = known ? fmin(first->clear, gap[k]) : first->clear;
        find_beyond_edge(m, &rows[k], a, b);
    }
}

#define STRIDES   4    /* an edge is followed from so many times the last step's way, */
#define EDGE_NEAR 0.02 /* and this share of the contact's size, away */

/* True for an edge that is too far away to be touched in this step. */
static bool is_clear(gw_scene_unilateral_row *first, const gw_pose *a, const gw_pose *b)
{
    const gw_closure_contact *contact = &first->row.surfaces;
    gw_pose from_b = gw_pose_inverse(b), now = gw_pose_mul(&from_b, a);
    if (first->sheet < 0)
        return false;
    double near = STRIDES * gw_closure_contact_moved(contact, &first->last, &now);
    bool clear =
        gw_closure_contact_moved(contact, &first->seen, &now) + near + EDGE_NEAR * first->size <
        first->clear;
    first->last = now;
    if (!clear)
        first->seen = now;
    return clear;
}

void gw_scene_unilaterals_pre_step(gw_scene_dynamics *m, double dt)
{
    gw_scene_unilaterals *u = m->unilaterals;
    gw_bound_searches_pre_step(m);
    for (int i = 0; i < u->count; i++) {
        gw_scene_unilateral_row *first = &u->rows[i];
        if (first->point_count == 0 || first->first != i)
            continue;
        gw_pose a = gw_world_pose(m->world, m->world_systems, u->candidates[i].a);
        gw_pose b = gw_world_pose(m->world, m->world_systems, u->candidates[i].b);
        if (!is_clear(first, &a, &b))
            update_points(m, first, &a, &b, dt);
        else
            for (int k = 0; k < first->point_count; k++)
                follow_row(m, &first[k], false);
    }
}

void gw_scene_unilaterals_carry_over(gw_scene_unilaterals *u, const gw_scene_unilaterals *old)
{
    for (int i = 0; i < u->count; i++)
        for (int k = 0; k < old->count && u->rows[i].point_count > 0; k++)
            if (old->candidates[k].key == u->candidates[i].key &&
                old->rows[k].key == u->rows[i].key) {
                u->rows[i].row.surfaces.point = old->rows[k].row.surfaces.point;
                u->rows[i].closed = old->rows[k].closed;
            }
}

void gw_scene_unilaterals_reset(gw_scene_unilaterals *u, gw_world *world)
{
    const gw_twist still = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < u->anchor_count; i++) {
        u->anchors[i].at = u->anchors[i].start;
        gw_world_set_body(world, u->first_anchor + i, &u->anchors[i].at, &still);
    }
    for (int i = 0; i < u->count; i++) {
        gw_scene_unilateral_row *r = &u->rows[i];
        r->row.a = r->end[0].element;
        r->row.b = r->end[1].element;
        r->row.surfaces.point = r->start;
        memcpy(r->row.minima, r->minima, sizeof r->row.minima);
        r->trial = 0;
        r->until_search = r->until_trace = 0;
        r->past = false;
        r->seen = r->last = gw_pose_identity();
        r->clear = 0;
        if (r->point_count > 0)
            gw_world_follow(world, i, r->start.known);
    }
    for (int i = 0; i < u->search_count; i++)
        u->searches[i].fresh = true;
}

/* ---- what they tell -------------------------------------------------------------------------- */

void gw_scene_unilaterals_update(gw_scene_dynamics *m)
{
    gw_scene_unilaterals *u = m->unilaterals;
    gw_joint_limits *l = &m->limits;
    for (int i = 0; i < u->count; i++)
        u->rows[i].now = (gw_unilateral_state){.gap = INFINITY};
    for (int i = 0; i < l->count; i++)
        l->of[i].now = (gw_unilateral_state){.gap = INFINITY};
    for (int i = 0; i < m->edges.count; i++)
        m->edges.of[i].now = (gw_unilateral_state){.gap = INFINITY};
    int count = gw_world_unilaterals(m->world, u->states, GW_MAX_CONTACT_CANDIDATES);
    for (int i = 0; i < count; i++) {
        const gw_unilateral_row *row = u->states[i].row;
        if (row->kind == GW_UNILATERAL_EDGE)
            m->edges.of[row->owned].now = u->states[i];
        else if (row->owned < u->count && row == &u->rows[row->owned].row)
            u->rows[row->owned].now = u->states[i];
        else
            l->of[row->owned].now = u->states[i];
    }
}

gw_unilaterals_at gw_scene_unilaterals_at(const gw_scene_unilaterals *u, int body, gw_vec3 point)
{
    gw_unilaterals_at at = {.wrench = {{0, 0, 0}, {0, 0, 0}}};
    for (int i = 0; i < u->count; i++) {
        const gw_scene_unilateral_row *r = &u->rows[i];
        for (int side = 0; side < 2; side++) {
            if (r->body[side] != body)
                continue;
            const gw_unilateral_state *now = &r->now;
            double sign = side == 0 ? 1 : -1;
            gw_vec3 f = gw_scale(sign, now->force), x = side == 0 ? now->at_a : now->at_b;
            at.depth = fmax(at.depth, -now->gap);
            if (!now->touches)
                continue;
            if (r->number[side] >= 0)
                at.touching |= 1ull << r->number[side];
            at.wrench.f = gw_add(at.wrench.f, f);
            at.wrench.t = gw_add(at.wrench.t, gw_cross(gw_sub(x, point), f));
            at.wrench.t = gw_mul_add(at.wrench.t, sign, now->couple);
        }
    }
    return at;
}
