/*
 * Destruction and queries of a layout: placements, systems, freedoms, residuals. Any thread; not
 * for use inside a tick.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/scene/layout.h"

void gw_layout_destroy(gw_layout *layout)
{
    if (!layout)
        return;
    for (int i = 0; i < layout->count; i++)
        free(layout->placements[i]);
    free(layout->placements);
    free(layout->poses);
    free(layout->edges);
    for (int i = 0; i < layout->system_count && layout->systems; i++)
        gw_scene_system_destroy(layout->systems[i]);
    free(layout->systems);
    free(layout->system_of);
    free(layout);
}

const gw_placement *gw_layout_unsolved(const gw_layout *layout)
{
    for (int i = 0; i < layout->count; i++)
        if (layout->placements[i]->branch < 0)
            return layout->placements[i];
    return NULL;
}

const gw_placement *gw_layout_placement(const gw_layout *layout, int object)
{
    assert(object >= 0);
    int low = 0, high = layout->count; /* placements are in the order of objects */
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (layout->placements[middle]->object < object)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < layout->count && layout->placements[low]->object == object;
    return found ? layout->placements[low] : NULL;
}

int gw_layout_contacts(const gw_layout *layout, gw_contact_start *contacts, int room)
{
    assert(layout && contacts);
    int count = 0;
    for (int i = 0; i < layout->system_count; i++) {
        const gw_scene_system *s = layout->systems[i];
        for (int k = 0; s && k < s->contact_count && count < room; k++) {
            const gw_placed_contact *c = &s->contacts[k];
            if (c->first.known)
                contacts[count++] = (gw_contact_start){c->key, c->first};
        }
    }
    return count;
}

int gw_layout_mobility(const gw_scene *scene, const gw_layout *layout)
{
    assert(scene && layout);
    int sum = 0;
    for (int i = 0; i < layout->system_count; i++)
        sum += layout->systems[i] ? layout->systems[i]->mobility : 0;
    for (int i = 0; i < layout->count; i++) {
        const gw_placement *p = layout->placements[i];
        bool moves = p->follow == GW_OBJECT_HELD || p->follow == GW_OBJECT_FREE;
        if (!moves || layout->system_of[p->object] >= 0 || p->branch < 0)
            continue;
        sum += p->solution.branches[p->branch].set.dof;
    }
    for (int i = 0; i < scene->mechanism_count; i++) {
        int first = scene->object_count + gw_scene_first_joint(scene, i);
        sum += layout->system_of[first] < 0 ? scene->mechanisms[i].link_count : 0;
    }
    return sum;
}

void gw_scene_system_destroy(gw_scene_system *s)
{
    if (!s)
        return;
    free(s->members);
    for (int i = 0; s->bodies && i < s->body_count; i++)
        free((void *)s->bodies[i].set);
    free(s->bodies);
    free(s->closures);
    free(s->contacts);
    free(s->unilaterals);
    free(s->joints);
    free(s->springs);
    free(s->grounds);
    free(s);
}

gw_system_def gw_scene_system_def(const gw_scene_system *s)
{
    return (gw_system_def){.body_count = s->body_count,
                           .closure_count = s->closure_count,
                           .bodies = s->bodies,
                           .closures = s->closures,
                           .gravity = s->gravity,
                           .length = s->length,
                           .dt = s->dt,
                           .spring_count = s->spring_count,
                           .springs = s->springs,
                           .ground_count = s->ground_count};
}

/* Index in the system of a body of the scene; -1: none. */
static int body_of_number(const gw_scene_system *s, int number)
{
    for (int i = 0; i < s->member_count; i++)
        if (s->members[i].number == number)
            return i;
    return -1;
}

double gw_scene_system_residual(const gw_scene_system *s, const gw_pose *poses)
{
    double worst = 0;
    for (int i = 0; i < s->joint_count; i++) {
        const gw_placed_joint *j = &s->joints[i];
        gw_pose a = j->a >= 0 ? poses[s->members[j->a].number] : gw_pose_identity();
        gw_pose b = j->b >= 0 ? poses[s->members[j->b].number] : gw_pose_identity();
        gw_pose m = gw_pose_mul(&a, &j->a_from_m), f = gw_pose_mul(&b, &j->b_from_f);
        gw_pose back = gw_pose_inverse(&f), f_from_m = gw_pose_mul(&back, &m), nearest;
        gw_mobilizer_state state = {.turn = gw_quat_identity()};
        gw_vec3 v[6], w[6];
        gw_mobilizer_position(j->type, j->pitch, &f_from_m, state.z);
        int at = gw_mobilizer_rotation(j->type);
        if (at < 6)
            state.turn = gw_quat_exp(gw_v3(state.z[at], state.z[at + 1], state.z[at + 2]));
        if (j->type == GW_MOBILIZER_SCREW) /* turns are known but for whole ones, slides are not */
            state.z[0] = f_from_m.p.z / j->pitch;
        nearest = gw_mobilizer_pose(j->type, j->pitch, &state, v, w);
        worst = gw_worst(worst, gw_pose_distance(&f_from_m, &nearest, s->length));
    }
    return worst;
}

double gw_layout_residual(const gw_layout *layout, const gw_pose *poses)
{
    assert(layout && poses);
    double worst = 0;
    for (int i = 0; i < layout->system_count; i++)
        if (layout->systems[i])
            worst = gw_worst(worst, gw_scene_system_residual(layout->systems[i], poses));
    for (int i = 0; i < layout->edge_count; i++) {
        const gw_layout_edge *e = &layout->edges[i];
        gw_constraint c = gw_constraint_of_edge(&e->edge, e->edge.a, &poses[e->edge.b]);
        worst = gw_worst(worst, gw_constraint_branch_residual(&c, &poses[e->edge.a], e->length));
    }
    return worst;
}

const gw_scene_system *gw_layout_system(const gw_layout *layout, int number, int *body)
{
    assert(number >= 0);
    const gw_scene_system *s =
        layout->system_of[number] >= 0 ? layout->systems[layout->system_of[number]] : NULL;
    if (s && body)
        *body = body_of_number(s, number);
    return s;
}

bool gw_layout_standing_hold(const gw_scene *scene, const gw_layout *l, gw_error *error)
{
    assert(scene && l);
    size_t n = (size_t)gw_scene_body_count(scene) + 1;
    const gw_constraint_edge **edges = malloc(((size_t)l->edge_count + 1) * sizeof *edges);
    int *of_body = malloc(n * sizeof *of_body);
    gw_pose *poses = malloc(n * sizeof *poses);
    int count = edges && of_body && poses ? gw_scene_number_systems(scene, true, of_body) : -1;
    bool hold = count >= 0 || gw_fail(error, GW_FAILED, "", "no memory for a system of bodies");
    for (int i = 0; hold && i < l->edge_count; i++)
        edges[i] = &l->edges[i].edge;
    for (int i = 0; i < count && hold; i++) {
        memcpy(poses, l->poses, (n - 1) * sizeof *poses);
        gw_scene_system *system =
            gw_scene_system_create(scene, of_body, i, edges, l->edge_count, NULL, poses, error);
        hold = system || error->code == GW_NOT_YET; /* what cannot move yet tears nothing */
        gw_scene_system_destroy(system);
    }
    free((void *)edges);
    free(of_body);
    free(poses);
    return hold;
}
