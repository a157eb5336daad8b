/*
 * An open device: its driver, its operator, and its arrays as poses, twists and wrenches in device
 * space. On the loop's thread, RT safe, but for open and close (scenario.h).
 */
#ifndef GW_SIM_DEVICE_SLOT_H
#define GW_SIM_DEVICE_SLOT_H

#include "rt/haptics/limits.h"
#include "rt/sim/operators.h"

struct gw_device_slot {
    char id[GW_MAX_ID + 1];
    const gw_driver *driver;
    gw_driver_device *device;
    gw_operator_program *program; /* owned; NULL: none */
    uint64_t start;               /* tick in which the program took effect */
    gw_command_gate gate;         /* state of the last gate on commands; of the loop's thread */
};

/* A sample of the device, device space. */
typedef struct gw_device_reading {
    gw_pose pose;
    gw_twist twist;
    gw_wrench wrench;
    bool clutch;
    bool stop;  /* the device's own stop button */
    bool valid; /* false: silent, or not finite */
} gw_device_reading;

gw_device_reading gw_device_slot_read(gw_device_slot *slot);
/* A command that has passed the last gate (rt/haptics/limits.h). */
void gw_device_slot_write(gw_device_slot *slot, const gw_device_command *command);
/* Sets the operator's wrench at a simulated device; no effect at a real one. */
void gw_device_slot_apply_operator(gw_device_slot *slot, const gw_wrench *wrench);
/* The true pose; false where the driver does not know it. */
bool gw_device_slot_true_pose(const gw_device_slot *slot, gw_pose *pose);
/* True where the driver could place the device there. */
bool gw_device_slot_place(gw_device_slot *slot, const gw_pose *pose);

#endif
