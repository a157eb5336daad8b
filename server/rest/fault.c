/*
 * The recorded ticks before a fault.
 */
#include <stdlib.h>

#include "server/rest/call.h"

void api_faults_get(api_call *call)
{
    wire_fault faults[APP_FAULTS];
    gw_error error = {0};
    int count = app_faults(call->app, faults, &error);
    if (count < 0) {
        api_error(call, &error);
        return;
    }
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, wire_fault_json(&faults[i]));
    api_json(call, 200, list);
}

void api_fault_get(api_call *call)
{
    char *end;
    gw_error error = {0};
    unsigned long number = strtoul(call->part[0], &end, 10);
    gw_text *csv =
        app_fault_csv(call->app, *end || number > 0xffffffffUL ? 0 : (unsigned)number, &error);
    if (!csv) {
        api_error(call, &error);
        return;
    }
    api_text(call, 200, csv);
    call->reply->mime = "text/csv";
}
