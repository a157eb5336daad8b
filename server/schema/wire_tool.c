/*
 * Tools as JSON, both ways: what is held, by which device, under which control. Any server thread;
 * no state.
 */
#include "server/schema/wire_base.h"

static const char *const controls[] = {"admittance", "impedance",    "penalty",
                                       "coupling",   "four-channel", NULL};
static const char *const jdots[] = {"full", "paper", NULL};
static const char *const hands[] = {"measured", "estimated", "unknown", NULL};
static const char *const weights[] = {"smooth", "on-off", NULL};

/* ---- decoding ------------------------------------------------------------------------------ */

static bool get_gains(const json_t *tool, const char *at, gw_tool *t, gw_error *error)
{
    static const char *const allowed[] = {"p", "i", "d", NULL};
    const json_t *gains = json_object_get(tool, "gains");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "gains");
    t->has_gains = gains != NULL;
    return !gains || (wire_open(gains, where, allowed, error) &&
                      wire_number(gains, where, "p", WIRE_REQUIRED, &t->gains.p, error) &&
                      wire_number(gains, where, "i", WIRE_REQUIRED, &t->gains.i, error) &&
                      wire_number(gains, where, "d", WIRE_REQUIRED, &t->gains.d, error));
}

static bool get_workspace(const json_t *tool, const char *at, gw_workspace *w, gw_error *error)
{
    static const char *const allowed[] = {"scale", "centre", NULL};
    const json_t *map = json_object_get(tool, "workspace");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "workspace");
    if (!map)
        return true;
    if (!wire_open(map, where, allowed, error) ||
        !wire_number(map, where, "scale", WIRE_OPTIONAL, &w->scale, error) ||
        !wire_vec3_member(map, where, "centre", WIRE_OPTIONAL, &w->centre, error))
        return false;
    w->has_scale = json_object_get(map, "scale");
    w->has_centre = json_object_get(map, "centre");
    if (w->has_scale && !(w->scale > 0)) {
        char member[WIRE_POINTER];
        wire_pointer(member, where, "scale");
        return gw_fail(error, GW_BAD_INPUT, member, "scale: must be greater than 0");
    }
    return true;
}

static bool get_limit(const json_t *limits, const char *at, const char *name, double *out,
                      gw_error *error)
{
    if (!wire_number(limits, at, name, WIRE_OPTIONAL, out, error))
        return false;
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    return *out >= 0 ||
           gw_fail(error, GW_BAD_INPUT, where, "%s: must be 0 (no limit) or more", name);
}

static bool get_limits(const json_t *tool, const char *at, gw_tool *t, gw_error *error)
{
    static const char *const allowed[] = {"force", "torque", "speed", "spin", NULL};
    const json_t *limits = json_object_get(tool, "limits");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "limits");
    return !limits || (wire_open(limits, where, allowed, error) &&
                       get_limit(limits, where, "force", &t->force_max, error) &&
                       get_limit(limits, where, "torque", &t->torque_max, error) &&
                       get_limit(limits, where, "speed", &t->speed_max, error) &&
                       get_limit(limits, where, "spin", &t->spin_max, error));
}

/* A member that is an object with these members only; NULL where it is absent. */
static bool open_member(const json_t *owner, const char *at, const char *name,
                        const char *const *allowed, const json_t **member, char where[WIRE_POINTER],
                        gw_error *error)
{
    *member = json_object_get(owner, name);
    wire_pointer(where, at, name);
    return !*member || wire_open(*member, where, allowed, error);
}

static bool get_spring(const json_t *owner, const char *at, const char *name, gw_spring_damper *s,
                       gw_error *error)
{
    static const char *const allowed[] = {"linear", "angular", "linear_damping", "angular_damping",
                                          NULL};
    const json_t *v;
    char where[WIRE_POINTER];
    return open_member(owner, at, name, allowed, &v, where, error) &&
           (!v ||
            (wire_number(v, where, "linear", WIRE_OPTIONAL, &s->linear, error) &&
             wire_number(v, where, "angular", WIRE_OPTIONAL, &s->angular, error) &&
             wire_number(v, where, "linear_damping", WIRE_OPTIONAL, &s->linear_damping, error) &&
             wire_number(v, where, "angular_damping", WIRE_OPTIONAL, &s->angular_damping, error)));
}

static bool get_penalty(const json_t *owner, const char *at, gw_impedance_def *r, gw_error *error)
{
    static const char *const allowed[] = {"stiffness", "damping", "by_mass", NULL};
    const json_t *v;
    char where[WIRE_POINTER];
    return open_member(owner, at, "penalty", allowed, &v, where, error) &&
           (!v || (wire_number(v, where, "stiffness", WIRE_OPTIONAL, &r->penalty, error) &&
                   wire_number(v, where, "damping", WIRE_OPTIONAL, &r->penalty_damping, error) &&
                   wire_bool(v, where, "by_mass", &r->penalty_by_mass, error)));
}

static bool get_choices(const json_t *v, const char *at, gw_impedance_def *r, gw_error *error)
{
    int jdot = (int)r->jdot, hand = (int)r->hand, weighting = (int)r->resisted.weighting;
    if (!wire_choice(v, at, "jdot", WIRE_OPTIONAL, jdots, &jdot, error) ||
        !wire_choice(v, at, "hand", WIRE_OPTIONAL, hands, &hand, error) ||
        !wire_choice(v, at, "weights", WIRE_OPTIONAL, weights, &weighting, error))
        return false;
    r->jdot = (gw_jdot)jdot;
    r->hand = (gw_hand_force_source)hand;
    r->resisted.weighting = (gw_direction_weighting)weighting;
    return true;
}

static bool get_rendering(const json_t *tool, const char *at, gw_impedance_def *r, gw_error *error)
{
    static const char *const allowed[] = {
        "jdot",     "hand",    "length",    "threshold",  "fade", "weights",        "coordination",
        "coupling", "penalty", "passivity", "mass_known", "slew", "impulse_budget", NULL};
    const json_t *v;
    char where[WIRE_POINTER];
    if (!open_member(tool, at, "rendering", allowed, &v, where, error))
        return false;
    return !v ||
           (get_choices(v, where, r, error) &&
            wire_number(v, where, "length", WIRE_OPTIONAL, &r->resisted.length, error) &&
            wire_number(v, where, "threshold", WIRE_OPTIONAL, &r->resisted.threshold, error) &&
            wire_number(v, where, "fade", WIRE_OPTIONAL, &r->resisted.fade, error) &&
            get_spring(v, where, "coordination", &r->coordination, error) &&
            get_spring(v, where, "coupling", &r->coupling, error) &&
            get_penalty(v, where, r, error) &&
            wire_bool(v, where, "passivity", &r->passivity, error) &&
            wire_number(v, where, "mass_known", WIRE_OPTIONAL, &r->mass_known, error) &&
            wire_number(v, where, "slew", WIRE_OPTIONAL, &r->slew, error) &&
            wire_number(v, where, "impulse_budget", WIRE_OPTIONAL, &r->impulse_budget, error));
}

/* "object", or "mechanism" with "link". */
static bool get_held(const json_t *v, const char *at, gw_tool *t, gw_error *error)
{
    bool chain = json_object_get(v, "mechanism"), link_given = json_object_get(v, "link");
    long long link = 0;
    char where[WIRE_POINTER];
    if (chain && json_object_get(v, "object")) {
        wire_pointer(where, at, "mechanism");
        return gw_fail(error, GW_BAD_INPUT, where,
                       "takes \"object\" or \"mechanism\" with \"link\", not both");
    }
    if (!chain && link_given) {
        wire_pointer(where, at, "link");
        return gw_fail(error, GW_BAD_INPUT, where, "a link is a mechanism's: give \"mechanism\"");
    }
    if (!chain)
        return wire_string(v, at, "object", WIRE_REQUIRED, t->object, sizeof t->object, error);
    if (!wire_string(v, at, "mechanism", WIRE_REQUIRED, t->mechanism, sizeof t->mechanism, error) ||
        !wire_whole(v, at, "link", WIRE_REQUIRED, 0, GW_MAX_LINKS - 1, &link, error))
        return false;
    t->link = (int)link;
    wire_pointer(where, at, "mechanism");
    return t->mechanism[0] || gw_fail(error, GW_BAD_INPUT, where, "there is no mechanism \"\"");
}

static bool get_control(const json_t *v, const char *at, gw_tool *t, gw_error *error)
{
    int control = GW_CONTROL_ADMITTANCE;
    long long substeps = t->substeps;
    if (!wire_choice(v, at, "control", WIRE_OPTIONAL, controls, &control, error) ||
        !get_rendering(v, at, &t->rendering, error) ||
        !wire_pose_member(v, at, "start", &t->start, error) ||
        !wire_whole(v, at, "substeps", WIRE_OPTIONAL, 1, GW_MAX_SUBSTEPS, &substeps, error))
        return false;
    t->substeps = (int)substeps;
    t->control = (gw_control_kind)control;
    if (control != GW_CONTROL_ADMITTANCE)
        t->rendering.kind = (gw_control_law)(control - GW_CONTROL_IMPEDANCE);
    return true;
}

bool wire_get_tool(const json_t *value, const char *at, gw_tool *t, gw_error *error)
{
    static const char *const allowed[] = {"object",    "mechanism", "link",   "at",       "device",
                                          "control",   "rendering", "start",  "substeps", "gains",
                                          "workspace", "branch",    "limits", NULL};
    *t = gw_tool_default();
    return wire_open(value, at, allowed, error) && get_held(value, at, t, error) &&
           wire_pose_member(value, at, "at", &t->at, error) &&
           wire_string(value, at, "device", WIRE_REQUIRED, t->device, sizeof t->device, error) &&
           wire_string(value, at, "branch", WIRE_OPTIONAL, t->branch, sizeof t->branch, error) &&
           get_control(value, at, t, error) && get_gains(value, at, t, error) &&
           get_workspace(value, at, &t->workspace, error) && get_limits(value, at, t, error);
}

/* ---- encoding ------------------------------------------------------------------------------ */

static json_t *workspace_json(const gw_workspace *w)
{
    json_t *map = json_object();
    if (w->has_scale)
        json_object_set_new(map, "scale", json_real(w->scale));
    if (w->has_centre)
        json_object_set_new(map, "centre", wire_vec3(w->centre));
    return map;
}

static json_t *limits_json(const gw_tool *t)
{
    return json_pack("{sf sf sf sf}", "force", t->force_max, "torque", t->torque_max, "speed",
                     t->speed_max, "spin", t->spin_max);
}

static json_t *spring_json(const gw_spring_damper *s)
{
    return json_pack("{sf sf sf sf}", "linear", s->linear, "angular", s->angular, "linear_damping",
                     s->linear_damping, "angular_damping", s->angular_damping);
}

static json_t *rendering_json(const gw_impedance_def *r)
{
    return json_pack("{ss ss sf sf sf ss so so s{sf sf sb} sb sf sf sf}", "jdot", jdots[r->jdot],
                     "hand", hands[r->hand], "length", r->resisted.length, "threshold",
                     r->resisted.threshold, "fade", r->resisted.fade, "weights",
                     weights[r->resisted.weighting], "coordination", spring_json(&r->coordination),
                     "coupling", spring_json(&r->coupling), "penalty", "stiffness", r->penalty,
                     "damping", r->penalty_damping, "by_mass", r->penalty_by_mass, "passivity",
                     r->passivity, "mass_known", r->mass_known, "slew", r->slew, "impulse_budget",
                     r->impulse_budget);
}

/* What only impedance devices need, where it is in use or was set. */
static void add_rendering(json_t *tool, const gw_tool *t)
{
    const gw_tool unsaid = gw_tool_default();
    json_t *rendering = rendering_json(&t->rendering), *plain = rendering_json(&unsaid.rendering);
    json_t *start = wire_pose(&t->start), *there = wire_pose(&unsaid.start);
    bool impedance = t->control != GW_CONTROL_ADMITTANCE;
    if (impedance || !json_equal(rendering, plain))
        json_object_set(tool, "rendering", rendering);
    if (impedance || !json_equal(start, there))
        json_object_set(tool, "start", start);
    if (impedance || t->substeps > 1)
        wire_add(tool, "substeps", json_integer(t->substeps));
    json_decref(rendering);
    json_decref(plain);
    json_decref(start);
    json_decref(there);
}

json_t *wire_tool(const gw_tool *t)
{
    json_t *tool = json_pack("{so ss ss}", "at", wire_pose(&t->at), "device", t->device, "control",
                             controls[t->control]);
    if (t->mechanism[0]) {
        wire_add(tool, "mechanism", json_string(t->mechanism));
        wire_add(tool, "link", json_integer(t->link));
    } else {
        wire_add(tool, "object", json_string(t->object));
    }
    add_rendering(tool, t);
    if (t->has_gains)
        json_object_set_new(
            tool, "gains",
            json_pack("{sf sf sf}", "p", t->gains.p, "i", t->gains.i, "d", t->gains.d));
    if (t->workspace.has_scale || t->workspace.has_centre)
        json_object_set_new(tool, "workspace", workspace_json(&t->workspace));
    if (t->branch[0])
        json_object_set_new(tool, "branch", json_string(t->branch));
    if (t->force_max > 0 || t->torque_max > 0 || t->speed_max > 0 || t->spin_max > 0)
        json_object_set_new(tool, "limits", limits_json(t));
    return tool;
}
