/*
 * Materials and the contacts' settings as JSON, both ways. Any server thread; no state.
 */
#include <stdlib.h>
#include <string.h>

#include "server/schema/wire_base.h"

static const char *const models[] = {"exact", "local", NULL};
static const char *const impulses[] = {"pseudo-inverse", "non-adhesive", NULL};
static const char *const collidings[] = {"touching", "approaching", NULL};
static const char *const frictions[] = {"creep", "stick", NULL};
static const char *const impact_frictions[] = {"none", "coulomb", NULL};
static const char *const selves[] = {"relative", "each-link", NULL};

/* ---- materials ----------------------------------------------------------------------------- */

bool wire_get_material(const json_t *v, const char *at, gw_material *m, gw_error *error)
{
    static const char *const allowed[] = {"id",        "restitution", "friction",
                                          "stiffness", "damping",     NULL};
    *m = (gw_material){.surface = gw_contact_material_default()};
    gw_contact_material *s = &m->surface;
    return wire_open(v, at, allowed, error) &&
           wire_string(v, at, "id", WIRE_REQUIRED, m->id, sizeof m->id, error) &&
           wire_number(v, at, "restitution", WIRE_OPTIONAL, &s->restitution, error) &&
           wire_number(v, at, "friction", WIRE_OPTIONAL, &s->friction, error) &&
           wire_number(v, at, "stiffness", WIRE_OPTIONAL, &s->stiffness, error) &&
           wire_number(v, at, "damping", WIRE_OPTIONAL, &s->damping, error);
}

json_t *wire_material(const gw_material *m)
{
    const gw_contact_material *s = &m->surface;
    return json_pack("{ss sf sf sf sf}", "id", m->id, "restitution", s->restitution, "friction",
                     s->friction, "stiffness", s->stiffness, "damping", s->damping);
}

/* ---- contacts ------------------------------------------------------------------------------ */

static bool get_name(const json_t *pair, const char *at, size_t side, char *out, gw_error *error)
{
    const char *name = json_string_value(json_array_get(pair, side));
    char where[WIRE_POINTER];
    wire_pointer_index(where, at, side);
    if (!name || strlen(name) > GW_MAX_LINK_NAME)
        return gw_fail(error, GW_BAD_INPUT, where,
                       "must be the id of an object, or a link as mechanism.link");
    memcpy(out, name, strlen(name) + 1);
    return true;
}

static bool get_ignored(const json_t *v, const char *at, gw_scene_contact *c, gw_error *error)
{
    const json_t *list;
    char array[WIRE_POINTER], where[WIRE_POINTER];
    if (!wire_array(v, at, "ignore", WIRE_OPTIONAL, GW_MAX_IGNORED, &list, error))
        return false;
    size_t count = json_array_size(list);
    c->ignore = count ? calloc(count, sizeof *c->ignore) : NULL;
    if (count && !c->ignore)
        return gw_fail(error, GW_FAILED, "", "no memory for pairs that never touch");
    c->ignore_count = (int)count;
    wire_pointer(array, at, "ignore");
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = json_array_get(list, i);
        wire_pointer_index(where, array, i);
        if (!json_is_array(pair) || json_array_size(pair) != 2)
            return gw_fail(error, GW_BAD_INPUT, where,
                           "must be two names, of objects or of links as mechanism.link");
        if (!get_name(pair, where, 0, c->ignore[i].a, error) ||
            !get_name(pair, where, 1, c->ignore[i].b, error))
            return false;
    }
    return true;
}

static bool get_rules(const json_t *v, const char *at, gw_contact_rules *r, gw_error *error)
{
    int impulse = 0, colliding = 0, friction = 0, impact_friction = 0, self = 0;
    if (!wire_choice(v, at, "impulse", WIRE_OPTIONAL, impulses, &impulse, error) ||
        !wire_choice(v, at, "colliding", WIRE_OPTIONAL, collidings, &colliding, error) ||
        !wire_choice(v, at, "friction", WIRE_OPTIONAL, frictions, &friction, error) ||
        !wire_choice(v, at, "impact_friction", WIRE_OPTIONAL, impact_frictions, &impact_friction,
                     error) ||
        !wire_choice(v, at, "self", WIRE_OPTIONAL, selves, &self, error) ||
        !wire_number(v, at, "slip_speed", WIRE_OPTIONAL, &r->slip_speed, error) ||
        !wire_number(v, at, "rest_speed", WIRE_OPTIONAL, &r->rest_speed, error))
        return false;
    r->impulse = (gw_impulse_rule)impulse;
    r->colliding = (gw_colliding_rule)colliding;
    r->friction = (gw_friction_rule)friction;
    r->impact_friction = impact_friction == 1;
    r->self_each_link = self == 1;
    return true;
}

bool wire_get_contact(const json_t *v, const char *at, gw_scene_contact *c, gw_error *error)
{
    static const char *const allowed[] = {
        "enabled",         "model", "rate",       "impulse",    "colliding", "friction",
        "impact_friction", "self",  "slip_speed", "rest_speed", "ignore",    NULL};
    int model = 0;
    free(c->ignore);
    *c = (gw_scene_contact){.enabled = true};
    if (wire_open(v, at, allowed, error) && wire_bool(v, at, "enabled", &c->enabled, error) &&
        wire_choice(v, at, "model", WIRE_OPTIONAL, models, &model, error) &&
        wire_number(v, at, "rate", WIRE_OPTIONAL, &c->rate, error) &&
        get_rules(v, at, &c->rules, error) && get_ignored(v, at, c, error)) {
        c->local = model == 1;
        return true;
    }
    free(c->ignore);
    *c = (gw_scene_contact){0};
    return false;
}

json_t *wire_contact(const gw_scene_contact *c)
{
    const gw_contact_rules *r = &c->rules;
    json_t *ignore = json_array();
    for (int i = 0; i < c->ignore_count; i++)
        json_array_append_new(ignore, json_pack("[ss]", c->ignore[i].a, c->ignore[i].b));
    return json_pack(
        "{sb ss sf ss ss ss ss ss sf sf so}", "enabled", c->enabled, "model", models[c->local],
        "rate", c->rate > 0 ? c->rate : GW_CONTACT_RATE, "impulse", impulses[r->impulse],
        "colliding", collidings[r->colliding], "friction", frictions[r->friction],
        "impact_friction", impact_frictions[r->impact_friction], "self", selves[r->self_each_link],
        "slip_speed", r->slip_speed > 0 ? r->slip_speed : GW_CONTACT_SPEED, "rest_speed",
        r->rest_speed > 0 ? r->rest_speed : GW_CONTACT_SPEED, "ignore", ignore);
}
