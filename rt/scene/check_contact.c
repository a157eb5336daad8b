/*
 * What must be right about materials and contacts. Not for use inside a tick.
 */
#include <stdio.h>
#include <string.h>

#include "rt/scene/check_work.h"

#define RATE_MIN 10   /* Hz of the world thread: slower, and what is near has been passed */
#define RATE_MAX 1000 /* and faster than most ticks there is nothing to gain */

static bool check_material(const gw_material *m, int index, gw_error *error)
{
    const gw_contact_material *s = &m->surface;
    if (!(s->restitution >= 0 && s->restitution <= 1))
        return gw_scene_invalid(error, "materials", index, "/restitution",
                                "restitution is %g, must be 0 to 1", s->restitution);
    if (!(s->friction >= 0 && isfinite(s->friction)))
        return gw_scene_invalid(error, "materials", index, "/friction",
                                "friction is %g, must be 0 or more", s->friction);
    if (!(s->stiffness > 0 && isfinite(s->stiffness)))
        return gw_scene_invalid(error, "materials", index, "/stiffness",
                                "stiffness is %g, must be greater than 0 (N/m)", s->stiffness);
    if (!(s->damping >= 0 && isfinite(s->damping)))
        return gw_scene_invalid(error, "materials", index, "/damping",
                                "damping is %g, must be 0 or more (N s/m)", s->damping);
    return true;
}

static bool bad(gw_error *error, const char *where, const char *what, double value,
                const char *right)
{
    return gw_fail(error, GW_BAD_INPUT, where, "%s is %g, must be %s", what, value, right);
}

static bool is_there(const gw_scene *s, const char *name)
{
    int link;
    return gw_scene_object(s, name) >= 0 || gw_scene_link(s, name, &link) >= 0;
}

static bool check_ignored(const gw_scene *s, int index, gw_error *error)
{
    const gw_pair_name *pair = &s->contact.ignore[index];
    char where[64];
    for (int side = 0; side < 2; side++) {
        const char *name = side ? pair->b : pair->a;
        snprintf(where, sizeof where, "/contact/ignore/%d/%d", index, side);
        if (!is_there(s, name))
            return gw_fail(error, GW_BAD_INPUT, where,
                           "there is no object \"%s\", nor a link of that name", name);
    }
    return strcmp(pair->a, pair->b) != 0 ||
           gw_fail(error, GW_BAD_INPUT, where, "nothing touches itself: name two");
}

bool gw_scene_check_contact(const gw_scene *s, gw_error *error)
{
    const gw_scene_contact *c = &s->contact;
    for (int i = 0; i < s->material_count; i++)
        if (!check_material(&s->materials[i], i, error))
            return false;
    if (c->rate != 0 && !(c->rate >= RATE_MIN && c->rate <= RATE_MAX))
        return bad(error, "/contact/rate", "rate", c->rate, "10 to 1000 Hz");
    if (!(c->rules.slip_speed >= 0 && c->rules.slip_speed <= 1))
        return bad(error, "/contact/slip_speed", "slip_speed", c->rules.slip_speed, "0 to 1 m/s");
    if (!(c->rules.rest_speed >= 0 && c->rules.rest_speed <= 1))
        return bad(error, "/contact/rest_speed", "rest_speed", c->rules.rest_speed, "0 to 1 m/s");
    for (int i = 0; i < c->ignore_count; i++)
        if (!check_ignored(s, i, error))
            return false;
    return true;
}
