/*
 * What is known on a branch, as alternatives change it. Any thread, RT safe.
 */
#include <string.h>

#include "rt/positioning/solver.h"

void gw_add_distance(gw_solver_state *state, const gw_distance_constraint *place)
{
    if (state->place_count == GW_MAX_DISTANCES) {
        state->stuck = true;
        return;
    }
    gw_distance_constraint *at = &state->places[state->place_count++];
    *at = *place;
    at->serial = ++state->serial;
    if (place->surface == GW_POINT && place->body_owns) { /* either side's: kept as the world's */
        at->body_owns = false;
        at->a = place->b;
        at->b = place->a;
    }
}

void gw_add_angle(gw_solver_state *state, const gw_angle_constraint *direction)
{
    if (state->direction_count == GW_MAX_ANGLES) {
        state->stuck = true;
        return;
    }
    state->directions[state->direction_count++] = *direction;
}

void gw_solver_state_copy(gw_solver_state *to, const gw_solver_state *from)
{
    memcpy(to, from, offsetof(gw_solver_state, places));
    memcpy(to->places, from->places, sizeof(gw_distance_constraint) * (size_t)from->place_count);
    memcpy(to->directions, from->directions,
           sizeof(gw_angle_constraint) * (size_t)from->direction_count);
    memcpy(to->pairs, from->pairs, sizeof from->pairs[0] * (size_t)from->pair_count);
    memcpy(to->pending, from->pending, (size_t)from->pending_count);
}

void gw_remove_distance(gw_solver_state *state, int i)
{
    state->place_count--;
    for (int k = i; k < state->place_count; k++)
        state->places[k] = state->places[k + 1];
}

void gw_remove_angle(gw_solver_state *state, int i)
{
    state->direction_count--;
    for (int k = i; k < state->direction_count; k++)
        state->directions[k] = state->directions[k + 1];
}

/* Moves the newest place to `at`: answers keep the order in which constraints were stated. */
static void bring_forward(gw_solver_state *state, int at)
{
    gw_distance_constraint newest = state->places[state->place_count - 1];
    for (int k = state->place_count - 1; k > at; k--)
        state->places[k] = state->places[k - 1];
    state->places[at] = newest;
}

/* Puts an alternative's constraints in, places at `at`; `from` is of the pair they come from. */
void gw_apply_alternative(gw_solver_state *state, const gw_alternative *e, int at,
                          unsigned long from)
{
    for (int k = 0; k < e->place_count; k++) {
        gw_distance_constraint place = e->places[k];
        place.from = place.from ? place.from : from;
        gw_add_distance(state, &place);
        bring_forward(state, at + k < state->place_count ? at + k : state->place_count - 1);
    }
    for (int k = 0; k < e->direction_count; k++) {
        gw_angle_constraint d = e->directions[k];
        d.from = d.from ? d.from : from;
        gw_add_angle(state, &d);
    }
    state->left_out |= e->left_out;
    if (e->fix) {
        state->fixed = true;
        state->rough = e->rough;
        state->rotation = e->rotation;
        state->fixed_from |= from;
    }
}

void gw_add_choice(gw_solver_state *state, char mark)
{
    if (state->choice_count == GW_MAX_CHOICES) {
        state->stuck = true;
        return;
    }
    state->choices[state->choice_count++] = mark;
    state->choices[state->choice_count] = 0;
}
