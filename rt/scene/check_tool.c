/*
 * What must be right about tools: what they hold, by which device, under which control. Not for use
 * inside a tick.
 */
#include <string.h>

#include "drivers/driver.h"
#include "rt/scene/check_work.h"

#define MASS_KNOWN_MAX 10 /* of what it is: beyond, control is unstable whatever else it does */

bool gw_scene_check_unilaterals(const gw_scene *s, const char *object, gw_error *error)
{
    int count = 0;
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i];
        count += c->bound != GW_BOUND_EQUAL && c->enabled &&
                 (strcmp(c->a.object, object) == 0 || strcmp(c->b.object, object) == 0);
        if (count > GW_MAX_UNILATERALS)
            return gw_fail(error, GW_TOO_LARGE, "/constraints",
                           "\"%s\" has more than %d one-sided distances", object,
                           GW_MAX_UNILATERALS);
    }
    return true;
}

/* ---- what is held -------------------------------------------------------------------------- */

static bool check_held_object(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    int object = gw_scene_object(s, t->object);
    if (object < 0)
        return gw_scene_invalid(error, "tools", index, "/object", "there is no object \"%s\"",
                                t->object);
    if (s->objects[object].fixed)
        return gw_scene_invalid(error, "tools", index, "/object",
                                "\"%s\" is fixed: a tool holds an object that may move", t->object);
    if (s->objects[object].free)
        return gw_scene_invalid(
            error, "tools", index, "/object",
            "\"%s\" is free: a tool holds an object that does not move by itself", t->object);
    return gw_scene_check_unilaterals(s, t->object, error);
}

static bool check_held_link(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    int mechanism = gw_scene_mechanism(s, t->mechanism);
    if (mechanism < 0)
        return gw_scene_invalid(error, "tools", index, "/mechanism", "there is no mechanism \"%s\"",
                                t->mechanism);
    int count = s->mechanisms[mechanism].link_count;
    if (t->link < 0 || t->link >= count)
        return gw_scene_invalid(error, "tools", index, "/link",
                                "link is %d, \"%s\" has links 0 to %d", t->link, t->mechanism,
                                count - 1);
    if (t->branch[0])
        return gw_scene_invalid(error, "tools", index, "/branch",
                                "branches are of an object's constraints: a mechanism has none");
    return true;
}

static bool check_held(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    if (t->object[0] && t->mechanism[0])
        return gw_scene_invalid(error, "tools", index, "/mechanism",
                                "a tool holds an object or a link of a mechanism, not both");
    if (t->mechanism[0])
        return check_held_link(s, t, index, error);
    return check_held_object(s, t, index, error);
}

/* ---- control ------------------------------------------------------------------------------- */

static bool check_control(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    int device = gw_scene_device(s, t->device);
    if (device < 0)
        return gw_scene_invalid(error, "tools", index, "/device", "there is no device \"%s\"",
                                t->device);
    const gw_driver *driver = gw_driver_find(s->devices[device].driver);
    bool impedance = driver && driver->class == GW_DEVICE_IMPEDANCE;
    if (impedance && t->control == GW_CONTROL_ADMITTANCE)
        return gw_scene_invalid(error, "tools", index, "/control",
                                "device \"%s\" is an impedance device: control must be impedance, "
                                "penalty, coupling or four-channel",
                                t->device);
    if (driver && !impedance && t->control != GW_CONTROL_ADMITTANCE)
        return gw_scene_invalid(error, "tools", index, "/control",
                                "device \"%s\" is an admittance device: control must be admittance",
                                t->device);
    return true;
}

/* A named number of a tool's rendering and the most that it may be. */
typedef struct bounded {
    const char *member;
    double value, most;
} bounded;

static bool check_bounded(const bounded *all, int count, int index, gw_error *error)
{
    for (int i = 0; i < count; i++)
        if (!(all[i].value >= 0 && all[i].value <= all[i].most))
            return gw_scene_invalid(error, "tools", index, all[i].member, "is %g, must be 0 to %g",
                                    all[i].value, all[i].most);
    return true;
}

static bool check_rendering(const gw_tool *t, int index, gw_error *error)
{
    const gw_impedance_def *r = &t->rendering;
    const gw_spring_damper *co = &r->coordination, *vc = &r->coupling;
    const bounded all[] = {
        {"/rendering/length", r->resisted.length, 1e3},
        {"/rendering/threshold", r->resisted.threshold, 1},
        {"/rendering/fade", r->resisted.fade, 1e6},
        {"/rendering/coordination/linear", co->linear, 1e9},
        {"/rendering/coordination/angular", co->angular, 1e9},
        {"/rendering/coordination/linear_damping", co->linear_damping, 1e9},
        {"/rendering/coordination/angular_damping", co->angular_damping, 1e9},
        {"/rendering/coupling/linear", vc->linear, 1e9},
        {"/rendering/coupling/angular", vc->angular, 1e9},
        {"/rendering/coupling/linear_damping", vc->linear_damping, 1e9},
        {"/rendering/coupling/angular_damping", vc->angular_damping, 1e9},
        {"/rendering/penalty/stiffness", r->penalty, 1e9},
        {"/rendering/penalty/damping", r->penalty_damping, 1e9},
        {"/rendering/mass_known", r->mass_known, MASS_KNOWN_MAX},
        {"/rendering/slew", r->slew, 1e9},
        {"/rendering/impulse_budget", r->impulse_budget, 1e9},
    };
    if (!check_bounded(all, sizeof all / sizeof all[0], index, error))
        return false;
    if (r->resisted.fade != 0 && r->resisted.fade < 1)
        return gw_scene_invalid(error, "tools", index, "/rendering/fade",
                                "is %g, must be 1 or more: it multiplies the threshold",
                                r->resisted.fade);
    if (t->substeps < 0 || t->substeps > GW_MAX_SUBSTEPS)
        return gw_scene_invalid(error, "tools", index, "/substeps", "is %d, must be 1 to %d",
                                t->substeps, GW_MAX_SUBSTEPS);
    return true;
}

static bool check_tool(const gw_scene *s, const gw_tool *t, int index, gw_error *error)
{
    if (!check_held(s, t, index, error) || !check_control(s, t, index, error))
        return false;
    for (int i = 0; i < index; i++)
        if ((strcmp(s->tools[i].object, t->object) == 0 &&
             strcmp(s->tools[i].mechanism, t->mechanism) == 0) ||
            strcmp(s->tools[i].device, t->device) == 0)
            return gw_scene_invalid(error, "tools", index, "",
                                    "two tools need two objects or mechanisms, and two devices");
    if (!gw_finite_pose(&t->at) || !gw_finite_pose(&t->start))
        return gw_scene_invalid(error, "tools", index, "/at", "a pose must be finite");
    return check_rendering(t, index, error);
}

bool gw_scene_check_tools(const gw_scene *s, gw_error *error)
{
    for (int i = 0; i < s->tool_count; i++)
        if (!check_tool(s, &s->tools[i], i, error))
            return false;
    return true;
}
