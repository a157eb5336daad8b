/*
 * The operator's lease on the app's side: taken, renewed and given back on the stream's thread
 * only; the loop watches it (rt/sim/lease.h). Every client is told who operates.
 */
#include <assert.h>

#include "server/app/clock.h"
#include "server/app/private.h"

bool app_lease_take(gw_app *app, const char *by, gw_error *error)
{
    assert(app && by);
    gw_lease_holder holder;
    if (!gw_lease_take(&app->lease, by, clock_ns())) {
        gw_lease_read(&app->lease, &holder);
        return gw_fail(error, GW_CONFLICT, "", "%s operates: one operator at a time", holder.by);
    }
    app_log(app, "lease", "info", "%s operates.", by);
    return true;
}

bool app_lease_renew(gw_app *app)
{
    assert(app);
    return gw_lease_renew(&app->lease, clock_ns());
}

bool app_lease_held(const gw_app *app)
{
    assert(app);
    return gw_lease_read(&app->lease, NULL);
}

void app_lease_end(gw_app *app, const char *by, app_lease_ending how)
{
    assert(app && by);
    if (how == APP_LEASE_GIVEN_BACK)
        gw_lease_give_back(&app->lease);
    if (how == APP_LEASE_ABANDONED)
        gw_lease_abandon(&app->lease);
    app_log(app, "lease", how == APP_LEASE_GIVEN_BACK ? "info" : "warning", "%s %s.", by,
            how == APP_LEASE_GIVEN_BACK  ? "operates no more"
            : how == APP_LEASE_ABANDONED ? "went away while operating"
                                         : "operates no more: the lease was not renewed in time");
}

static bool latched_tool(const gw_scene *scene, int tool)
{
    int device = tool >= 0 && tool < scene->tool_count
                     ? gw_scene_device(scene, scene->tools[tool].device)
                     : -1;
    return device >= 0 && gw_device_latched(&scene->devices[device]);
}

/* The number of a body that the tool holds; negative where it holds none. */
static int held_body(const gw_scene *scene, const gw_tool *tool)
{
    int mechanism = gw_scene_mechanism(scene, tool->mechanism);
    return mechanism >= 0 ? scene->object_count + gw_scene_first_joint(scene, mechanism)
                          : gw_scene_object(scene, tool->object);
}

bool app_tool_moves(const app_document *document, int tool, int body)
{
    assert(document && body >= 0);
    const gw_scene *scene = document->scene;
    const int *system_of = document->layout->system_of;
    int held = held_body(scene, &scene->tools[tool]);
    return held == body ||
           (held >= 0 && system_of[body] >= 0 && system_of[held] == system_of[body]);
}

bool app_latched(const app_document *document, int tool, const char *object)
{
    assert(document && object);
    const gw_scene *scene = document->scene;
    if (!object[0])
        return latched_tool(scene, tool);
    int body = gw_scene_body_number(scene, object);
    for (int i = 0; body >= 0 && i < scene->tool_count; i++)
        if (app_tool_moves(document, i, body) && latched_tool(scene, i))
            return true;
    return false;
}
