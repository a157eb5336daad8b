/*
 * A rehearsal: a second simulation of a scenario, at simulated devices of its own, that nobody
 * sees. The loop makes a tick of it just before one is due: other programs have used the
 * processor's caches since the last tick, and code, branches and pages are warm again when the tick
 * begins. Nothing of it is shared with the simulation that counts, so no bit of that one depends on
 * it.
 *
 * Created and destroyed with its scenario (scenario.h), ticked by the loop's thread alone.
 */
#ifndef GW_SIM_REHEARSAL_H
#define GW_SIM_REHEARSAL_H

#include <stdint.h>

#include "rt/sim/scenario.h"

typedef struct gw_rehearsal gw_rehearsal;

/* Of the scenario that `def` describes, running, its pages in. NULL where the scene has more bodies
 * than GW_REHEARSED_BODIES or memory is short: its ticks are not rehearsed. */
gw_rehearsal *gw_rehearsal_create(const gw_scenario_def *def);
void gw_rehearsal_destroy(gw_rehearsal *rehearsal); /* NULL is fine */

/* One tick. RT safe. */
void gw_rehearsal_tick(gw_rehearsal *rehearsal);

/* What a tick of it takes (ns): the median of what the loop tells of its ticks. RT safe. */
int64_t gw_rehearsal_cost_ns(const gw_rehearsal *rehearsal);
void gw_rehearsal_took(gw_rehearsal *rehearsal, int64_t ns);

#endif
