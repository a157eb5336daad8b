/*
 * What is known on a branch, as alternatives change it. Any thread, RT safe.
 */
#include <string.h>

#include "rt/positioning/solve_internal.h"

void gw_add_place(gw_state *state, const gw_place *place)
{
    if (state->place_count == GW_MAX_PLACES) {
        state->stuck = true;
        return;
    }
    gw_place *at = &state->places[state->place_count++];
    *at = *place;
    at->serial = ++state->serial;
    if (place->surface == GW_POINT && place->body_owns) { /* either side's: kept as the world's */
        at->body_owns = false;
        at->a = place->b;
        at->b = place->a;
    }
}

void gw_add_direction(gw_state *state, const gw_direction *direction)
{
    if (state->direction_count == GW_MAX_ANGLES) {
        state->stuck = true;
        return;
    }
    state->directions[state->direction_count++] = *direction;
}

void gw_copy_state(gw_state *to, const gw_state *from)
{
    memcpy(to, from, offsetof(gw_state, places));
    memcpy(to->places, from->places, sizeof(gw_place) * (size_t)from->place_count);
    memcpy(to->directions, from->directions, sizeof(gw_direction) * (size_t)from->direction_count);
    memcpy(to->pairs, from->pairs, sizeof from->pairs[0] * (size_t)from->pair_count);
    memcpy(to->pending, from->pending, (size_t)from->pending_count);
}

void gw_remove_place(gw_state *state, int i)
{
    state->place_count--;
    for (int k = i; k < state->place_count; k++)
        state->places[k] = state->places[k + 1];
}

void gw_remove_direction(gw_state *state, int i)
{
    state->direction_count--;
    for (int k = i; k < state->direction_count; k++)
        state->directions[k] = state->directions[k + 1];
}

/* Moves the newest place to `at`: answers keep the order in which constraints were stated. */
static void bring_forward(gw_state *state, int at)
{
    gw_place newest = state->places[state->place_count - 1];
    for (int k = state->place_count - 1; k > at; k--)
        state->places[k] = state->places[k - 1];
    state->places[at] = newest;
}

/* Puts an alternative's constraints in, places at `at`; `from` is of the pair they come from. */
void gw_insert(gw_state *state, const gw_edit *e, int at, unsigned long from)
{
    for (int k = 0; k < e->place_count; k++) {
        gw_place place = e->places[k];
        place.from = place.from ? place.from : from;
        gw_add_place(state, &place);
        bring_forward(state, at + k < state->place_count ? at + k : state->place_count - 1);
    }
    for (int k = 0; k < e->direction_count; k++) {
        gw_direction d = e->directions[k];
        d.from = d.from ? d.from : from;
        gw_add_direction(state, &d);
    }
    state->left_out |= e->left_out;
    if (e->fix) {
        state->fixed = true;
        state->rough = e->rough;
        state->rotation = e->rotation;
        state->fixed_from |= from;
    }
}

void gw_add_choice(gw_state *state, char mark)
{
    if (state->choice_count == GW_MAX_CHOICES) {
        state->stuck = true;
        return;
    }
    state->choices[state->choice_count++] = mark;
    state->choices[state->choice_count] = 0;
}
