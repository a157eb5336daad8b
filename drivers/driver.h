/*
 * The contract between the loop and a haptic device, and the registry of drivers.
 *
 * A driver is a table of operations and settings. open() may allocate and block; read() and write()
 * are called once a tick each, one after the other, on the loop's thread or its standby: RT safe,
 * no allocation, no lock, bounded time. All quantities are in device space (the device's own
 * workspace, metres, its frame at the middle), world-aligned axes.
 *
 * A watchdog above the loop calls attenuate() while the loop may hang in any other operation: the
 * last command is held for two ticks, scaled down to zero within 20 ms, and back to full scale from
 * the next write() on.
 *
 * To add a driver, write its file with its table, and enter the table in registry.c.
 *
 * Admittance devices are commanded in pose and twist and measure the operator's wrench; impedance
 * devices are commanded in wrench and measure the pose.
 */
#ifndef GW_DRIVERS_DRIVER_H
#define GW_DRIVERS_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum gw_device_class { GW_DEVICE_ADMITTANCE, GW_DEVICE_IMPEDANCE } gw_device_class;

/* Properties of a device, constant after open. 0: not limited, or not known. */
typedef struct gw_device_info {
    gw_device_class class;
    bool measures_wrench;
    double workspace_radius;  /* m */
    double force_max;         /* N, continuous */
    double torque_max;        /* N m */
    double speed_max;         /* m/s */
    double spin_max;          /* rad/s */
    double quantum;           /* m, of the position measurement */
    double quantum_angular;   /* rad */
    double stiffness;         /* N/m, of structure and transmission */
    double stiffness_angular; /* N m/rad */
    double bandwidth;         /* Hz, of the velocity servo */
    double mass;              /* kg, as felt by the hand; M_d of an impedance device */
    double inertia;           /* kg m^2, about any axis */
    double damping;           /* N s/m, viscous, of the parts that move with the hand */
    double damping_angular;   /* N m s/rad */
    double delay;             /* s, from a command to its force, beyond the tick itself */
    double velocity_delay;    /* s, age of the measured velocity */
    bool planar;              /* moves in x, y and turns about z only */
} gw_device_info;

#define GW_BUTTON_CLUTCH 1u
#define GW_BUTTON_STOP   2u /* devices off until somebody arms, whatever the device's safety */

/* The device's measurements of this tick, in device space: p in m, q a unit quaternion w x y z,
 * twist v then w, wrench f then t at the tool's origin. */
typedef struct gw_device_sample {
    double p[3], q[4];
    double v[3], w[3];
    double f[3], t[3];
    unsigned buttons; /* GW_BUTTON_.. */
    bool valid;       /* false: no measurement or an implausible one in this tick */
} gw_device_sample;

/* The command until the next tick, in device space, axes of the world. */
typedef struct gw_device_command {
    double v[3], w[3]; /* admittance: velocity to servo */
    double f[3], t[3]; /* impedance: wrench to exert */
    bool engaged;      /* false: the device goes to its own safe state */
} gw_device_command;

/* The true pose of a simulated device, in device space. */
typedef struct gw_device_truth {
    double p[3], q[4];
} gw_device_truth;

/* Settings are numbers; a count is rounded to a whole number, a switch is on from 0.5. */
typedef enum gw_setting_type {
    GW_SETTING_NUMBER,
    GW_SETTING_COUNT,
    GW_SETTING_SWITCH
} gw_setting_type;

typedef struct gw_driver_setting {
    const char *name;
    const char *unit;
    const char *meaning; /* for people, with the source of the profile's value */
    double ideal;        /* the default where there is no profile */
    double low, high;    /* inclusive */
    gw_setting_type type;
} gw_driver_setting;

typedef struct gw_named_value {
    const char *name;
    double value;
} gw_named_value;

typedef struct gw_driver_device gw_driver_device;

typedef struct gw_driver {
    const char *name;
    gw_device_class class;       /* of its devices */
    const char *const *profiles; /* NULL-terminated; the first is the ideal one, without values */
    const double *const *profile_values; /* of the others: setting_count values each */
    const gw_driver_setting *settings;
    int setting_count;
    /* Opens a device; NULL with a sentence in `why` where it cannot. `rate` in Hz. */
    gw_driver_device *(*open)(const char *profile, const gw_named_value *settings, int count,
                              double rate, char *why, size_t why_size);
    void (*close)(gw_driver_device *device); /* NULL is fine */
    const gw_device_info *(*info)(const gw_driver_device *device);
    void (*read)(gw_driver_device *device, gw_device_sample *sample);
    void (*write)(gw_driver_device *device, const gw_device_command *command);
    /* Scales the last command from now until the next write(): from 1, as written, to 0, no wrench
     * and no velocity. Called on the watchdog's thread at any time, also while another operation
     * runs or hangs: it waits for none of them, takes no lock and does not allocate. NULL for
     * simulated devices, whose command has no effect between two ticks. */
    void (*attenuate)(gw_driver_device *device, double factor);
    /* Puts the device at rest at a pose in device space; NULL where the device cannot be placed. */
    void (*place)(gw_driver_device *device, const double p[3], const double q[4]);
    /* Simulated devices only, else NULL: sets the wrench that the operator exerts from now on
     * (device space), and reads the true pose. */
    void (*exert)(gw_driver_device *device, const double f[3], const double t[3]);
    void (*truth)(const gw_driver_device *device, gw_device_truth *truth);
} gw_driver;

/* ---- the registry (registry.c): any thread, not inside a tick ------------------------------- */

/* The drivers of this build, NULL-terminated; one of them by its name, NULL where unknown. */
extern const gw_driver *const gw_drivers[];
const gw_driver *gw_driver_find(const char *name);

/* True where the driver can place its device anywhere and takes the wrench of a scripted
 * operator. */
bool gw_driver_is_simulated(const gw_driver *driver);

/* "admittance", "impedance" */
const char *gw_device_class_name(gw_device_class class);

/* The driver's setting of that name, NULL where unknown. */
const gw_driver_setting *gw_driver_setting_find(const gw_driver *driver, const char *name);

/* Writes the values of all settings, in the table's order, to `out`: those of the profile (NULL or
 * empty: the ideal one), replaced by those given. False with a sentence in `why` where a name is
 * unknown or a value is out of range. */
bool gw_driver_resolve_settings(const gw_driver *driver, const char *profile,
                                const gw_named_value *given, int count, double *out, char *why,
                                size_t why_size);

#endif
