/*
 * What a layout tells: placements, systems, freedoms, residuals. Any thread; not for use inside a
 * tick.
 */
#include <assert.h>
#include <math.h>

#include "rt/scene/layout.h"

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

int gw_layout_mobility(const gw_scene *scene, const gw_layout *layout)
{
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

double gw_layout_residual(const gw_layout *layout, const gw_pose *poses)
{
    double worst = 0;
    for (int i = 0; i < layout->system_count; i++)
        if (layout->systems[i])
            worst = fmax(worst, gw_scene_system_residual(layout->systems[i], poses));
    for (int i = 0; i < layout->edge_count; i++) {
        const gw_layout_edge *e = &layout->edges[i];
        gw_constraint c = gw_constraint_of_edge(&e->edge, e->edge.a, &poses[e->edge.b]);
        worst = fmax(worst, gw_constraint_residual(&c, &poses[e->edge.a], e->length));
    }
    return worst;
}

const gw_scene_system *gw_layout_system(const gw_layout *layout, int number, int *body)
{
    assert(number >= 0);
    const gw_scene_system *s =
        layout->system_of[number] >= 0 ? layout->systems[layout->system_of[number]] : NULL;
    if (s)
        *body = gw_scene_system_body(s, number);
    return s;
}
