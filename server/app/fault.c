/*
 * Faults and the ticks before them: the newest are in the memory of the loop's log, from where they
 * are written to the database.
 */
#include <assert.h>
#include <stdlib.h>

#include "server/app/private.h"

bool app_open_faults(gw_app *app, gw_error *error)
{
    wire_fault stored[FAULTS_STORED];
    int count = fault_store_list(app->database, stored, error);
    if (count < 0)
        return false;
    app->fault_stored = count > 0 ? stored[count - 1].number : 0;
    app->faults = gw_fault_log_create(app->fault_stored);
    return app->faults || gw_fail(error, GW_FAILED, "", "memory is short");
}

/* The ticks of a fault in memory as CSV, one reference, and what is known of it; NULL with an
 * error, GW_NOT_FOUND where it is not in memory. */
static gw_text *recorded_csv(const gw_app *app, wire_fault *fault, gw_error *error)
{
    gw_text *csv = NULL;
    gw_fault_tick *ticks = malloc(GW_FAULT_TICKS * sizeof *ticks);
    fault->ticks = ticks ? gw_fault_log_read(app->faults, fault->number, &fault->why, ticks) : 0;
    if (ticks && fault->ticks >= 0)
        csv = wire_fault_csv(ticks, fault->ticks);
    free(ticks);
    if (!csv)
        gw_fail(error, fault->ticks < 0 ? GW_NOT_FOUND : GW_FAILED, "",
                fault->ticks < 0 ? "the fault is not in memory" : "memory is short");
    return csv;
}

bool app_store_fault(gw_app *app)
{
    assert(app);
    unsigned numbers[GW_FAULTS_KEPT];
    int count = gw_fault_log_numbers(app->faults, numbers), i = 0;
    while (i < count && numbers[i] <= app->fault_stored)
        i++;
    if (i == count)
        return false;
    gw_error error = {0};
    wire_fault fault = {.number = numbers[i]};
    gw_text *csv = recorded_csv(app, &fault, &error);
    bool stored = csv && fault_store_add(app->database, &fault, csv->data, &error);
    text_unref(csv);
    if (csv && !stored)
        app_log_storage(app, &error);
    if (!stored && error.code != GW_NOT_FOUND)
        return false; /* the next call tries again */
    app->fault_stored = numbers[i];
    return true;
}

int app_faults(gw_app *app, wire_fault faults[APP_FAULTS], gw_error *error)
{
    assert(app && faults);
    unsigned numbers[GW_FAULTS_KEPT];
    int recorded = gw_fault_log_numbers(app->faults, numbers);
    int count = fault_store_list(app->database, faults, error);
    if (count < 0)
        return -1;
    unsigned stored = count > 0 ? faults[count - 1].number : 0;
    for (int i = 0; i < recorded; i++) {
        wire_fault *f = &faults[count];
        *f = (wire_fault){.number = numbers[i]};
        if (f->number > stored)
            f->ticks = gw_fault_log_read(app->faults, f->number, &f->why, NULL);
        if (f->number > stored && f->ticks >= 0)
            count++;
    }
    return count;
}

gw_text *app_fault_csv(gw_app *app, unsigned number, gw_error *error)
{
    assert(app);
    gw_error why = {0};
    wire_fault fault = {.number = number};
    gw_text *csv = recorded_csv(app, &fault, &why);
    if (!csv && why.code == GW_NOT_FOUND)
        return fault_store_csv(app->database, number, error);
    if (!csv)
        *error = why;
    return csv;
}
