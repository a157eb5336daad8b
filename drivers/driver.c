/*
 * The table of drivers.
 */
#include <string.h>

#include "drivers/driver.h"

const gw_driver *const gw_drivers[] = {&gw_driver_sim_admittance, &gw_driver_sim_impedance, NULL};

const gw_driver *gw_driver_find(const char *name)
{
    for (int i = 0; gw_drivers[i]; i++)
        if (strcmp(gw_drivers[i]->name, name) == 0)
            return gw_drivers[i];
    return NULL;
}
