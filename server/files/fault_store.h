/*
 * The recorded ticks before faults in the database, as CSV: the FAULTS_STORED newest faults. Any
 * server thread.
 */
#ifndef GW_SERVER_FILES_FAULT_STORE_H
#define GW_SERVER_FILES_FAULT_STORE_H

#include "server/files/database.h"
#include "server/schema/wire.h"

#define FAULTS_STORED 32 /* the newest; some 0.5 MB each */

/* Adds a fault, whose number is larger than all stored ones, and deletes the oldest beyond
 * FAULTS_STORED. It survives the process when this returns. False with an error. */
bool fault_store_add(gw_database *database, const wire_fault *fault, const char *csv,
                     gw_error *error);

/* The stored faults, oldest first; returns their number, or -1 with an error. */
int fault_store_list(gw_database *database, wire_fault faults[FAULTS_STORED], gw_error *error);

/* The ticks of a fault as wire_fault_csv() wrote them, one reference; NULL with an error,
 * GW_NOT_FOUND where it is not stored. */
gw_text *fault_store_csv(gw_database *database, unsigned number, gw_error *error);

#endif
