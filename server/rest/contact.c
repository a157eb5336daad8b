/*
 * The present contacts, and the settings by which contacts are resolved.
 */
#include "server/rest/call.h"

void api_contacts_get(api_call *call)
{
    gw_snapshot *snapshot = api_snapshot(call);
    if (!snapshot)
        return;
    app_document *document = app_read_state(call->app, snapshot);
    api_part(call, 200, document, wire_contacts(document->scene, snapshot));
    app_document_put(document);
}

void api_contact_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    api_part(call, 200, document, wire_contact(&document->scene->contact));
    app_document_put(document);
}

void api_contact_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    if (!api_begin(call, &edit))
        return;
    json_t *merged = api_merge(call, wire_contact(&edit.scene->contact));
    bool read = wire_get_contact(merged, "", &edit.scene->contact, &error);
    json_decref(merged);
    if (!read) {
        api_abandon(call, &edit, &error);
        return;
    }
    if (!api_commit(call, &edit, "/contact", NULL))
        return;
    api_part(call, 200, edit.document, wire_contact(&edit.document->scene->contact));
    app_edit_end(&edit);
}
