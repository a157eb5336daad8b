/*
 * The order in which objects are placed: outward from what stands. One server thread.
 */
#include <stdlib.h>

#include "rt/scene/layout_work.h"

int gw_layout_other(const gw_layout_edge *joint, int object)
{
    return joint->link.a == object ? joint->link.b : joint->link.a;
}

/* ---- who is joined to whom ------------------------------------------------------------------- */

static bool list_joints(gw_layout_work *w)
{
    const gw_layout *l = w->layout;
    int objects = w->scene->object_count;
    int *next = calloc((size_t)objects + 1, sizeof *next);
    if (!next)
        return false;
    for (int i = 0; i < l->joint_count; i++) {
        w->first[l->joints[i].link.a + 1]++;
        w->first[l->joints[i].link.b + 1]++;
    }
    for (int i = 0; i < objects; i++) {
        w->first[i + 1] += w->first[i];
        next[i] = w->first[i];
    }
    for (int i = 0; i < l->joint_count; i++) {
        w->joint_of[next[l->joints[i].link.a]++] = i;
        w->joint_of[next[l->joints[i].link.b]++] = i;
    }
    free(next);
    return true;
}

/* Marks what is joined to held objects, spreading over all that may move. */
static bool spread_hands(gw_layout_work *w)
{
    int objects = w->scene->object_count, count = 0;
    int *queue = malloc(((size_t)objects + 1) * sizeof *queue);
    if (!queue)
        return false;
    for (int i = 0; i < objects; i++)
        if (w->tool[i] >= 0) {
            w->with_hand[i] = true;
            queue[count++] = i;
        }
    for (int k = 0; k < count; k++)
        for (int j = w->first[queue[k]]; j < w->first[queue[k] + 1]; j++) {
            int other = gw_layout_other(&w->layout->joints[w->joint_of[j]], queue[k]);
            if (w->with_hand[other] || w->scene->objects[other].fixed)
                continue;
            w->with_hand[other] = true;
            queue[count++] = other;
        }
    free(queue);
    return true;
}

bool gw_layout_connect(gw_layout_work *w)
{
    return list_joints(w) && spread_hands(w);
}

/* ---- the next one ---------------------------------------------------------------------------- */

static bool touches_placed(const gw_layout_work *w, int object)
{
    for (int j = w->first[object]; j < w->first[object + 1]; j++)
        if (w->placed[gw_layout_other(&w->layout->joints[w->joint_of[j]], object)])
            return true;
    return false;
}

/* Every constraint of the object has it as b, the side that stands. */
static bool always_b(const gw_layout_work *w, int object)
{
    for (int j = w->first[object]; j < w->first[object + 1]; j++)
        if (w->layout->joints[w->joint_of[j]].link.b != object)
            return false;
    return w->first[object] < w->first[object + 1];
}

/*
 * Smaller goes first. Joined to what is placed: what no hand can move, or what cannot follow one;
 * held objects; what follows them. Where nothing is joined to what is placed, something has to
 * stand: an object without a hand, but a held one that all its constraints have as b before that.
 */
static int urgency(const gw_layout_work *w, int object)
{
    bool held = w->tool[object] >= 0;
    if (w->first[object] == w->first[object + 1] && !held)
        return 0; /* needs no order */
    if (touches_placed(w, object))
        return held ? 2 : w->with_hand[object] && !w->ahead[object] ? 3 : 1;
    if (!held)
        return w->with_hand[object] ? 6 : 4;
    return always_b(w, object) ? 5 : 7;
}

int gw_layout_next(const gw_layout_work *w)
{
    int best = -1, least = 8;
    for (int i = 0; i < w->scene->object_count && least > 0; i++) {
        int u = w->placed[i] ? 8 : urgency(w, i);
        if (u < least)
            best = i, least = u;
    }
    return best;
}
