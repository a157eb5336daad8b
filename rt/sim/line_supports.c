/*
 * Contact points of contacts of surfaces that touch nearly along a line, a ring that lies flat say:
 * points that support it, traced from a contact point at which the surfaces bend nearly alike, and
 * lowest points between them (rt/dynamics/line_contact.c). RT safe.
 */
#include <assert.h>
#include <math.h>

#include "rt/sim/scene_dynamics_private.h"

#define LEVEL        1e-4 /* of the contact's size: height difference of level supporting points */
#define LEVELLED     0.02 /* of the size: height difference along a line that lies nearly flat, */
#define STEEP        0.5  /* and of one whose supporting points are forgotten */
#define TRACE_PERIOD 5e-3 /* s between two searches of a line */

bool gw_line_trace(gw_scene_unilaterals *u, gw_scene_unilateral_row *first,
                   const gw_contact_point *near, const gw_pose *a, const gw_pose *b)
{
    gw_contact_point points[GW_CONTACT_SUPPORTS];
    first->until_trace = TRACE_PERIOD;
    int count = gw_closure_contact_trace(&first->row.surfaces, a, b, near, points, &first->closed);
    for (int k = first->first; k < first->first + first->point_count && count > 0; k++) {
        gw_scene_unilateral_row *r = &u->rows[k];
        if (r->support >= 0 && r->support < count)
            r->row.surfaces.point = points[r->support];
        else if (r->support >= 0)
            r->row.surfaces.point.known = false;
    }
    return count > 0;
}

/* The number of a line's supporting points. */
static int count_supports(const gw_scene_unilaterals *u, const gw_scene_unilateral_row *first)
{
    int count = 0;
    for (int k = first->first; k < first->first + first->point_count; k++)
        count += u->rows[k].support >= 0 && u->rows[k].row.surfaces.point.known;
    return count;
}

bool gw_line_is_traced(const gw_scene_unilaterals *u, const gw_scene_unilateral_row *first)
{
    return count_supports(u, first) > 0;
}

/* True if a contact point of the contact is nearer to supporting point `i` than the next ones are.
 */
static bool has_point_near(const gw_scene_unilaterals *u, const gw_scene_unilateral_row *first,
                           const gw_scene_unilateral_row *const support[], int count, int i)
{
    const gw_contact_point *at = &support[i]->row.surfaces.point;
    const gw_contact_point *beside = &support[i > 0 ? i - 1 : i + 1]->row.surfaces.point;
    double distance = gw_closure_contact_distance(&first->row.surfaces, at, beside);
    assert(count > 1);
    for (int k = first->first; k < first->first + first->point_count; k++) {
        const gw_contact_point *point = &u->rows[k].row.surfaces.point;
        if (u->rows[k].support < 0 && point->known &&
            gw_closure_contact_distance(&first->row.surfaces, at, point) < distance)
            return true;
    }
    return false;
}

void gw_line_find_lowest(gw_scene_unilaterals *u, const gw_scene_unilateral_row *first,
                         const gw_pose *a, const gw_pose *b, double *gap)
{
    const gw_scene_unilateral_row *support[GW_CONTACT_SUPPORTS];
    double height[GW_CONTACT_SUPPORTS];
    int count = 0;
    for (int k = 0; k < first->point_count && first->line; k++) {
        const gw_scene_unilateral_row *r = &u->rows[first->first + k];
        if (r->support < 0 || !r->row.surfaces.point.known)
            continue;
        support[count] = r;
        height[count++] = gap[k];
    }
    for (int i = 0; i < count && count > 2; i++) {
        bool ends = !first->closed && (i == 0 || i == count - 1);
        double before = height[(i + count - 1) % count], after = height[(i + 1) % count];
        double bend = before + after - 2 * height[i];
        gw_scene_unilateral_row *row = gw_unplaced_row(u, first);
        gw_contact_point point;
        double there;
        if (ends || !row || height[i] > fmin(before, after) || height[i] > GW_CONTACT_FOLLOWED ||
            bend < LEVEL * first->size || has_point_near(u, first, support, count, i))
            continue;
        if (gw_closure_contact_lowest(&row->row.surfaces, a, b, 0, &support[i]->row.surfaces.point,
                                      &point, &there) &&
            !gw_contact_point_is_taken(u, first, -1, &point)) {
            row->row.surfaces.point = point;
            gap[row - u->rows - first->first] = there;
        }
    }
}

/* The supporting point nearest to a row's contact point; there is one. */
static const gw_contact_point *nearest_support(const gw_scene_unilaterals *u,
                                               const gw_scene_unilateral_row *first,
                                               const gw_scene_unilateral_row *of)
{
    const gw_contact_point *nearest = NULL;
    double least = INFINITY;
    for (int k = first->first; k < first->first + first->point_count; k++) {
        const gw_contact_point *point = &u->rows[k].row.surfaces.point;
        double distance =
            u->rows[k].support >= 0 && point->known
                ? gw_closure_contact_distance(&first->row.surfaces, point, &of->row.surfaces.point)
                : INFINITY;
        if (distance < least)
            least = distance, nearest = point;
    }
    assert(nearest);
    return nearest;
}

bool gw_line_follow(gw_scene_unilaterals *u, gw_scene_unilateral_row *first, double dt,
                    const gw_pose *a, const gw_pose *b, double *gap)
{
    const gw_contact_point *near = NULL;
    bool any = false, holds = false;
    double least = INFINITY, most = -INFINITY;
    first->until_trace -= dt;
    for (int k = 0; k < first->point_count; k++) {
        const gw_scene_unilateral_row *r = &u->rows[first->first + k];
        const gw_contact_point *point = &r->row.surfaces.point;
        if (!point->known)
            continue;
        least = fmin(least, gap[k]);
        if (r->support >= 0) {
            most = fmax(most, gap[k]);
            continue;
        }
        any = true;
        if (gw_closure_contact_is_narrow(&r->row.surfaces, point) && gap[k] < GW_CONTACT_FOLLOWED)
            near = point;
        holds = holds || (r->now.touches && !point->pinned);
    }
    int count = count_supports(u, first);
    bool level = !near && count == GW_CONTACT_SUPPORTS && most - least < LEVELLED * first->size;
    bool steep = any && !near && most - least > STEEP * first->size;
    bool drop = least > GW_CONTACT_FOLLOWED || steep;
    gw_contact_point below;
    if (!near && !drop && any && count == 0 && first->until_trace <= 0 &&
        gw_closure_contact_below(&first->row.surfaces, a, b, &below))
        near = &below;
    for (int k = 0; k < first->point_count && level; k++) {
        gw_scene_unilateral_row *r = &u->rows[first->first + k];
        if (r->support < 0 && r->row.surfaces.point.known && !r->row.surfaces.point.pinned)
            gw_closure_contact_pin(&r->row.surfaces, nearest_support(u, first, r),
                                   &r->row.surfaces.point);
    }
    holds = holds && !level;
    for (int k = 0; k < first->point_count && drop && count > 0; k++)
        if (u->rows[first->first + k].support >= 0)
            u->rows[first->first + k].row.surfaces.point.known = false;
    if (near && !drop && count < GW_CONTACT_SUPPORTS && first->until_trace <= 0 &&
        gw_line_trace(u, first, near, a, b))
        for (int k = 0; k < first->point_count; k++) {
            gw_scene_unilateral_row *r = &u->rows[first->first + k];
            if (r->support >= 0)
                gw_closure_contact_support(&r->row.surfaces, a, b, r->support,
                                           &r->row.surfaces.point, &gap[k]);
        }
    return !holds;
}
