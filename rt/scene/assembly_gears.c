/*
 * Gears of an assembly: those whose constant follows from the scene's poses, because these satisfy
 * both joints, and the whole turns of their coordinates.
 *
 *   z_0 = r z_1 + constant
 *
 * Poses give an angle modulo 2 pi. Coordinates coupled by gears are multiples of one another plus
 * constants: one of each such group, the root, determines the whole turns of all others.
 */
#include <math.h>
#include <stdlib.h>

#include "rt/scene/assembly_private.h"
#include "rt/scene/joint_frame.h"

#define CLOSED 1e-6 /* of the size: residual of joints that the scene's poses satisfy */

/* True if the joint of a gear's side is a relation of the assembly that the scene's poses
 * satisfy. */
static bool is_closed(const gw_assembly *w, const gw_geared *side)
{
    if (side->joint < 0)
        return w->first_link[side->mechanism] >= 0 &&
               w->scene->mechanisms[side->mechanism].several[side->link] == GW_MOBILIZER_FIXED;
    for (int i = 0; i < w->relation_count; i++) {
        const gw_relation *r = &w->relations[i];
        if (r->kind == GW_RELATION_JOINT && r->index == side->joint)
            return gw_assembly_residual(w, r) <= CLOSED * w->size;
    }
    return false;
}

/* One side of a gear, with its coordinate as the scene has it. */
static void add_side(gw_assembly *w, gw_relation *r, const gw_geared *side, gw_term_kind kind)
{
    const gw_scene *s = w->scene;
    gw_term *t;
    gw_pose m, f;
    if (side->joint < 0) {
        const gw_mechanism *arm = &s->mechanisms[side->mechanism];
        m = gw_assembly_axis_frame(&arm->links[side->link]);
        int parent = gw_assembly_parent_frame(w, side->mechanism, side->link, &f);
        t = gw_assembly_add_joint_term(w, r, kind, w->first_link[side->mechanism] + side->link, &m,
                                       parent, &f, gw_mechanism_joint(arm, side->link), 0);
        t->start = arm->position[side->link];
        return;
    }
    const gw_scene_joint *j = &s->joints[side->joint];
    gw_scene_joint_frames(s, j, &m, &f);
    t = gw_assembly_add_joint_term(w, r, kind, gw_assembly_body_named(w, j->a.object), &m,
                                   gw_assembly_body_named(w, j->b.object), &f, j->type,
                                   side->coordinate);
    t->pitch = j->pitch;
    t->start = j->has_position ? j->position[side->coordinate] : gw_assembly_coordinate(w, t);
}

/* A geared coordinate as a multiple of the first one of its group plus a constant. */
typedef struct geared {
    gw_geared of;
    int term, group; /* the group's first; -1: not known yet */
    double factor, constant;
} geared;

static int find_geared(geared *all, int *count, const gw_geared *of, int term)
{
    int i = 0;
    while (i < *count && (all[i].of.joint != of->joint || all[i].of.mechanism != of->mechanism ||
                          all[i].of.link != of->link || all[i].of.coordinate != of->coordinate))
        i++;
    if (i == *count)
        all[(*count)++] = (geared){.of = *of, .term = term, .group = -1};
    return i;
}

/* z_0 = ratio z_1 + offset, one of which is known. */
static void derive_coordinate(geared *to, const geared *from, bool to_first, double ratio,
                              double offset)
{
    to->group = from->group;
    to->factor = to_first ? ratio * from->factor : from->factor / ratio;
    to->constant = to_first ? ratio * from->constant + offset : (from->constant - offset) / ratio;
}

static bool counts_whole_turns(const gw_term *t)
{
    return gw_mobilizer_is_periodic(t->joint, t->coordinate);
}

/* The root of a group: the coordinate that determines the whole turns of the others. */
static int root_of_group(const gw_assembly *w, const geared *all, int count, int group)
{
    int best = group;
    for (int i = 0; i < count; i++) {
        bool slides = !counts_whole_turns(&w->terms[all[i].term]),
             best_slides = !counts_whole_turns(&w->terms[all[best].term]);
        if (all[i].group == group &&
            (slides > best_slides ||
             (slides == best_slides && fabs(all[i].factor) < fabs(all[best].factor))))
            best = i;
    }
    return best;
}

/* Finds the groups of geared coordinates and their roots. `gears`: the first term of each gear;
 * `side`: the two coordinates of each, indices into `all`. */
static void find_roots(gw_assembly *w, geared *all, int count, const int (*side)[2],
                       const int *gears, int gear_count)
{
    for (int first = 0; first < count; first++) {
        if (all[first].group >= 0)
            continue;
        all[first].group = first, all[first].factor = 1;
        for (bool found = true; found;) {
            found = false;
            for (int i = 0; i < gear_count; i++) {
                geared *x = &all[side[i][0]], *y = &all[side[i][1]];
                const gw_term *t = &w->terms[gears[i]];
                if ((x->group < 0) == (y->group < 0))
                    continue;
                derive_coordinate(x->group < 0 ? x : y, x->group < 0 ? y : x, x->group < 0,
                                  t->amount, t->offset);
                found = true;
            }
        }
    }
    for (int i = 0; i < 2 * gear_count; i++) {
        const geared *x = &all[side[i / 2][i % 2]];
        const geared *root = &all[root_of_group(w, all, count, x->group)];
        gw_term *t = &w->terms[gears[i / 2] + i % 2];
        t->root = root->term;
        t->factor = x->factor / root->factor;
        t->constant = x->constant - t->factor * root->constant;
    }
}

bool gw_assembly_add_gears(gw_assembly *w)
{
    const gw_scene *s = w->scene;
    size_t most = (size_t)s->joint_count + 1;
    int coordinates = 0, count = 0, *gears = malloc(most * sizeof *gears);
    int(*sides)[2] = malloc(most * sizeof *sides);
    geared *all = malloc(2 * most * sizeof *all);
    bool made = gears && sides && all;
    for (int i = 0; made && i < s->joint_count; i++) {
        gw_geared side[2];
        if (!s->joints[i].gear || !s->joints[i].enabled ||
            !gw_scene_geared(s, i, 0, &side[0], NULL) ||
            !gw_scene_geared(s, i, 1, &side[1], NULL) || !is_closed(w, &side[0]) ||
            !is_closed(w, &side[1]))
            continue;
        gw_relation *r = gw_assembly_add_relation(w, GW_RELATION_JOINT, i);
        for (int k = 0; k < 2; k++) {
            add_side(w, r, &side[k], k == 0 ? GW_TERM_GEAR : GW_TERM_GEARED);
            sides[count][k] = find_geared(all, &coordinates, &side[k], r->first + k);
        }
        gw_term *t = &w->terms[r->first];
        t->amount = s->joints[i].ratio;
        t->offset = t[0].start - t->amount * t[1].start;
        gears[count++] = r->first;
    }
    if (made)
        find_roots(w, all, coordinates, (const int(*)[2])sides, gears, count);
    free(gears);
    free(sides);
    free(all);
    return made;
}

void gw_assembly_apply_gears(const gw_assembly *w, gw_scene *scene)
{
    for (int i = 0; i < w->relation_count; i++) {
        const gw_relation *r = &w->relations[i];
        double z[2];
        if (r->kind != GW_RELATION_JOINT || !scene->joints[r->index].gear)
            continue;
        gw_assembly_geared(w, &w->terms[r->first], z);
        for (int side = 0; side < 2; side++) {
            const gw_term *t = &w->terms[r->first + side];
            gw_geared of;
            gw_scene_geared(scene, r->index, side, &of, NULL);
            double *position = of.joint >= 0 ? &scene->joints[of.joint].position[of.coordinate]
                                             : &scene->mechanisms[of.mechanism].position[of.link];
            bool stated = of.joint < 0 || scene->joints[of.joint].has_position;
            if (stated && counts_whole_turns(t))
                *position += 2 * GW_PI * round((z[side] - *position) / (2 * GW_PI));
        }
    }
}
