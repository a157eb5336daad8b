/*
 * Control at impedance devices and motors that change while the simulation runs: what an edit
 * changed goes to the loop as small commands, and nothing else is handed over. Under the edit lock.
 */
#include <string.h>

#include "server/app/app_private.h"

static bool rendered(const gw_tool *tool)
{
    return tool->control != GW_CONTROL_ADMITTANCE;
}

/* Both scenes have the same tools and joints, as far as commands are concerned. */
static bool same_places(const gw_scene *a, const gw_scene *b)
{
    bool same = a->tool_count == b->tool_count && a->mechanism_count == b->mechanism_count;
    for (int i = 0; same && i < a->tool_count; i++)
        same = rendered(&a->tools[i]) == rendered(&b->tools[i]);
    for (int i = 0; same && i < a->mechanism_count; i++)
        same = a->mechanisms[i].link_count == b->mechanisms[i].link_count;
    return same;
}

bool app_tunes(const app_edit *edit)
{
    return edit->tuning_only && edit->document->from_current &&
           !atomic_load(&edit->app->left_behind) &&
           same_places(edit->base->scene, edit->document->scene) &&
           app_same_branches(edit->base->layout, edit->document->layout);
}

static bool same_motor(const gw_motor *a, const gw_motor *b)
{
    return a->torque == b->torque && a->target == b->target && a->stiffness == b->stiffness &&
           a->rate == b->rate && a->damping == b->damping && a->max == b->max &&
           a->speed == b->speed;
}

static bool send_motors(const app_edit *edit, int mechanism, gw_error *error)
{
    const gw_mechanism *a = &edit->base->scene->mechanisms[mechanism];
    const gw_mechanism *b = &edit->document->scene->mechanisms[mechanism];
    for (int i = 0; i < b->link_count; i++) {
        gw_command command = {.kind = GW_COMMAND_MOTOR, .tag = edit->document->revision};
        if (same_motor(&a->links[i].motor, &b->links[i].motor))
            continue;
        command.motor.mechanism = mechanism;
        command.motor.joint = i;
        command.motor.motor = b->links[i].motor;
        if (!app_send_command(edit->app, &command, error))
            return false;
    }
    return true;
}

bool app_tune(app_edit *edit, gw_error *error)
{
    app_document *document = edit->document;
    document->scenario = edit->base->scenario;
    for (int i = 0; i < document->scene->tool_count; i++) {
        const gw_tool *tool = &document->scene->tools[i];
        gw_command command = {.kind = GW_COMMAND_CONTROL, .tool = i, .tag = document->revision};
        if (!rendered(tool))
            continue;
        command.rendering = tool->rendering;
        if (!app_send_command(edit->app, &command, error))
            return false;
    }
    for (int i = 0; i < document->scene->mechanism_count; i++)
        if (!send_motors(edit, i, error))
            return false;
    return true;
}
