/*
 * The registry of drivers, and the settings that all drivers look up by name. Any thread; not
 * inside a tick.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "drivers/driver.h"

/* The table of drivers, one row for each. */
#ifdef GW_WITH_FAULTS /* the server of `make soak` also has a device that fails */
#define DRIVERS(ROW)                                                                               \
    ROW(gw_driver_sim_admittance) ROW(gw_driver_sim_impedance) ROW(gw_driver_faults)
#else
#define DRIVERS(ROW) ROW(gw_driver_sim_admittance) ROW(gw_driver_sim_impedance)
#endif

#define DECLARE(driver) extern const gw_driver driver;
#define ENTER(driver)   &driver,

DRIVERS(DECLARE)

const gw_driver *const gw_drivers[] = {DRIVERS(ENTER) NULL};

const gw_driver *gw_driver_find(const char *name)
{
    assert(name);
    for (int i = 0; gw_drivers[i]; i++)
        if (strcmp(gw_drivers[i]->name, name) == 0)
            return gw_drivers[i];
    return NULL;
}

bool gw_driver_is_simulated(const gw_driver *driver)
{
    return driver->exert && driver->place;
}

const char *gw_device_class_name(gw_device_class class)
{
    static const char *const names[] = {
        [GW_DEVICE_ADMITTANCE] = "admittance", [GW_DEVICE_IMPEDANCE] = "impedance"};
    return names[class];
}

/* ---- settings ------------------------------------------------------------------------------- */

const gw_driver_setting *gw_driver_setting_find(const gw_driver *driver, const char *name)
{
    assert(driver && name);
    for (int i = 0; i < driver->setting_count; i++)
        if (strcmp(driver->settings[i].name, name) == 0)
            return &driver->settings[i];
    return NULL;
}

/* "a, b and c" */
static void list_profiles(const gw_driver *driver, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; driver->profiles[i] && used < size; i++) {
        const char *before = i == 0 ? "" : driver->profiles[i + 1] ? ", " : " and ";
        used += (size_t)snprintf(text + used, size - used, "%s%s", before, driver->profiles[i]);
    }
}

/* Writes the values of the profile to `out`; false with a sentence where it is unknown. */
static bool profile_settings(const gw_driver *driver, const char *profile, double *out, char *why,
                             size_t why_size)
{
    char known[128] = "";
    for (int i = 0; i < driver->setting_count; i++)
        out[i] = driver->settings[i].ideal;
    if (!profile || !profile[0] || strcmp(profile, driver->profiles[0]) == 0)
        return true;
    for (int i = 1; driver->profiles[i]; i++) {
        if (strcmp(profile, driver->profiles[i]) == 0) {
            memcpy(out, driver->profile_values[i - 1], (size_t)driver->setting_count * sizeof *out);
            return true;
        }
    }
    list_profiles(driver, known, sizeof known);
    snprintf(why, why_size, "the device %s has no profile named %s; it has %s", driver->name,
             profile, known);
    return false;
}

bool gw_driver_resolve_settings(const gw_driver *driver, const char *profile,
                                const gw_named_value *given, int count, double *out, char *why,
                                size_t why_size)
{
    assert(driver && out && why && (count == 0 || given));
    if (!profile_settings(driver, profile, out, why, why_size))
        return false;
    for (int i = 0; i < count; i++) {
        const gw_driver_setting *s = gw_driver_setting_find(driver, given[i].name);
        if (!s) {
            snprintf(why, why_size, "the device %s has no setting named %s", driver->name,
                     given[i].name);
            return false;
        }
        if (!(given[i].value >= s->low && given[i].value <= s->high)) {
            snprintf(why, why_size, "%s is %g; it must lie from %g to %g %s", s->name,
                     given[i].value, s->low, s->high, s->unit);
            return false;
        }
        out[s - driver->settings] = given[i].value;
    }
    return true;
}
