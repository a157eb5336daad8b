/*
 * The recorded ticks before a fault.
 */
#include <stdlib.h>

#include "server/rest/call.h"

void api_faults_get(api_call *call)
{
    unsigned numbers[GW_FAULTS_KEPT];
    const gw_fault_log *log = app_faults(call->app);
    int count = gw_fault_log_numbers(log, numbers);
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        wire_fault fault = {.number = numbers[i]};
        fault.ticks = gw_fault_log_read(log, numbers[i], &fault.why, NULL);
        if (fault.ticks >= 0)
            json_array_append_new(list, wire_fault_json(&fault));
    }
    api_json(call, 200, list);
}

void api_fault_get(api_call *call)
{
    char *end;
    gw_halt_record why;
    unsigned long number = strtoul(call->part[0], &end, 10);
    gw_fault_tick *ticks = malloc(GW_FAULT_TICKS * sizeof *ticks);
    if (!ticks) {
        api_refuse(call, 500, "", "memory is short");
        return;
    }
    int count = *end || number > 0xffffffffUL
                    ? -1
                    : gw_fault_log_read(app_faults(call->app), (unsigned)number, &why, ticks);
    gw_text *csv = count >= 0 ? wire_fault_csv(ticks, count) : NULL;
    free(ticks);
    if (csv) {
        api_text(call, 200, csv);
        call->reply->mime = "text/csv";
    } else if (count < 0) {
        api_refuse(call, 404, "",
                   "the ticks of that fault are not kept: GET /loop/faults lists "
                   "those that are");
    } else {
        api_refuse(call, 500, "", "memory is short");
    }
}
