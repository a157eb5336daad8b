/*
 * Open devices and their operators. Opened and closed by the thread that builds scenarios; all else
 * is on the loop's thread, RT safe.
 */
#include "rt/sim/device_slot.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

gw_device_slot *gw_device_slot_open(const gw_device *device, int rate, gw_error *error)
{
    assert(device && rate > 0);
    char why[160] = "";
    gw_named_value values[GW_MAX_SETTINGS];
    const gw_driver *driver = gw_driver_find(device->driver);
    if (!driver) {
        gw_fail(error, GW_BAD_INPUT, "/driver", "there is no driver named %s", device->driver);
        return NULL;
    }
    for (int i = 0; i < device->setting_count; i++)
        values[i] = (gw_named_value){device->settings[i].name, device->settings[i].value};
    gw_device_slot *slot = calloc(1, sizeof *slot);
    if (!slot) {
        gw_fail(error, GW_FAILED, "", "no memory for a device");
        return NULL;
    }
    memcpy(slot->id, device->id, sizeof slot->id);
    slot->driver = driver;
    errno = 0;
    slot->device =
        driver->open(device->profile, values, device->setting_count, rate, why, sizeof why);
    if (!slot->device) {
        if (errno == ENOMEM)
            gw_fail(error, GW_FAILED, "", "no memory for a device");
        else
            gw_fail(error, GW_BAD_INPUT, "/settings", "%s", why);
        goto fail;
    }
    slot->program = gw_operator_program_create(&device->operator);
    if (!slot->program) {
        gw_fail(error, GW_FAILED, "", "no memory for an operator");
        goto fail;
    }
    return slot;
fail:
    gw_device_slot_close(slot);
    return NULL;
}

void gw_device_slot_close(gw_device_slot *slot)
{
    if (!slot)
        return;
    if (slot->device)
        slot->driver->close(slot->device);
    gw_operator_program_destroy(slot->program);
    free(slot);
}

const char *gw_device_slot_id(const gw_device_slot *slot)
{
    return slot->id;
}

const gw_device_info *gw_device_slot_info(const gw_device_slot *slot)
{
    return slot->driver->info(slot->device);
}

/* ---- arrays to values ----------------------------------------------------------------------- */

static gw_vec3 vector_of(const double *a)
{
    return gw_v3(a[0], a[1], a[2]);
}

gw_device_reading gw_device_slot_read(gw_device_slot *slot)
{
    assert(slot);
    gw_device_sample s;
    slot->driver->read(slot->device, &s);
    gw_device_reading out = {.pose = {vector_of(s.p), {s.q[0], s.q[1], s.q[2], s.q[3]}},
                             .twist = {vector_of(s.v), vector_of(s.w)},
                             .wrench = {vector_of(s.f), vector_of(s.t)},
                             .clutch = s.buttons & GW_BUTTON_CLUTCH,
                             .stop = s.buttons & GW_BUTTON_STOP,
                             .valid = s.valid};
    double size = gw_quat_dot(out.pose.q, out.pose.q);
    out.valid = out.valid && gw_finite_pose(&out.pose) && fabs(size - 1) < 1e-3 &&
                gw_finite3(out.twist.v) && gw_finite3(out.twist.w) && gw_finite3(out.wrench.f) &&
                gw_finite3(out.wrench.t);
    return out;
}

void gw_device_slot_write(gw_device_slot *slot, const gw_device_command *command)
{
    assert(slot && command);
    slot->driver->write(slot->device, command);
}

void gw_device_slot_apply_operator(gw_device_slot *slot, const gw_wrench *wrench)
{
    double f[3] = {wrench->f.x, wrench->f.y, wrench->f.z};
    double t[3] = {wrench->t.x, wrench->t.y, wrench->t.z};
    if (slot->driver->exert)
        slot->driver->exert(slot->device, f, t);
}

bool gw_device_slot_true_pose(const gw_device_slot *slot, gw_pose *pose)
{
    gw_device_truth truth;
    if (!slot->driver->truth)
        return false;
    slot->driver->truth(slot->device, &truth);
    *pose = (gw_pose){vector_of(truth.p), {truth.q[0], truth.q[1], truth.q[2], truth.q[3]}};
    return true;
}

bool gw_device_slot_place(gw_device_slot *slot, const gw_pose *pose)
{
    assert(slot && pose);
    double p[3] = {pose->p.x, pose->p.y, pose->p.z};
    double q[4] = {pose->q.w, pose->q.x, pose->q.y, pose->q.z};
    if (!slot->driver->place)
        return false;
    slot->driver->place(slot->device, p, q);
    return true;
}
