/*
 * A rehearsal: a second, hidden simulation of a scenario with simulated devices of its own. The
 * loop computes a tick of it just before a tick is due, so that instruction cache, branch
 * predictors and pages are warm: other programs have used the processor since the last tick. It
 * shares no data with the real simulation, whose results do not depend on it.
 *
 * Created and destroyed with its scenario (scenario.h), ticked by the loop's thread alone.
 */
#ifndef GW_SIM_REHEARSAL_H
#define GW_SIM_REHEARSAL_H

#include <stdint.h>

#include "rt/sim/scenario.h"

typedef struct gw_rehearsal gw_rehearsal;

/* Creates the rehearsal of the scenario that `def` describes, running and with its pages touched.
 * NULL if the scene has more than GW_REHEARSED_BODIES bodies or memory is short: its ticks are not
 * rehearsed. */
gw_rehearsal *gw_rehearsal_create(const gw_scenario_def *def);
void gw_rehearsal_destroy(gw_rehearsal *rehearsal); /* NULL is fine */

/* One tick. RT safe. */
void gw_rehearsal_tick(gw_rehearsal *rehearsal);

/* Duration of a rehearsal tick (ns): the median of those reported by gw_rehearsal_took(). RT
 * safe. */
int64_t gw_rehearsal_cost_ns(const gw_rehearsal *rehearsal);
void gw_rehearsal_took(gw_rehearsal *rehearsal, int64_t ns);

#endif
