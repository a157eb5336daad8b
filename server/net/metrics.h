/*
 * Figures for a monitoring system, as Prometheus text. Any thread.
 */
#ifndef GW_SERVER_NET_METRICS_H
#define GW_SERVER_NET_METRICS_H

#include "server/app/app.h"

/* New text; NULL when memory is short. */
gw_text *metrics_text(gw_app *app, int connections, int streams);

#endif
