/*
 * Links and joints of one mechanism: read, change, append, remove the last, set a motor. A merge
 * patch of a mechanism replaces all its links; these routes change one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/rest/resource.h"

/* The second part of the address as a link's number; -1 with the reply set. */
static int number_of(api_call *call, const gw_mechanism *m)
{
    const char *text = call->part[1];
    size_t digits = strspn(text, "0123456789");
    int number = digits > 0 && digits < 4 && !text[digits] ? atoi(text) : -1;
    if (number >= 0 && number < m->link_count)
        return number;
    api_refuse(call, 404, "", "%s has links 0 to %d, not %.40s", m->id, m->link_count - 1, text);
    return -1;
}

/* Begins an edit of the link that the address names; false with the reply set. */
static bool begin_link_edit(api_call *call, app_edit *edit, gw_mechanism **mechanism, int *index,
                            int *link)
{
    *index = resource_begin(call, edit);
    if (*index < 0)
        return false;
    *mechanism = &edit->scene->mechanisms[*index];
    *link = number_of(call, *mechanism);
    if (*link < 0)
        app_edit_end(edit);
    return *link >= 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The mechanism that the address names, in the newest document; NULL with the document released
 * where there is none. */
static const gw_mechanism *find_mechanism(api_call *call, app_document **document)
{
    *document = app_document_get(call->app);
    int index = gw_scene_mechanism((*document)->scene, call->part[0]);
    if (index >= 0)
        return &(*document)->scene->mechanisms[index];
    resource_missing(call, (*document)->scene);
    app_document_put(*document);
    return NULL;
}

void api_links_get(api_call *call)
{
    app_document *document;
    const gw_mechanism *m = find_mechanism(call, &document);
    if (!m)
        return;
    json_t *list = json_array();
    for (int i = 0; i < m->link_count; i++)
        json_array_append_new(list, wire_link(m, i));
    api_part(call, 200, document, list);
    app_document_put(document);
}

/* Answers `part` of the link that the address names. */
static void answer_link(api_call *call, json_t *(*part)(const gw_mechanism *, int))
{
    app_document *document;
    const gw_mechanism *m = find_mechanism(call, &document);
    int link = m ? number_of(call, m) : -1;
    if (link >= 0)
        api_part(call, 200, document, part(m, link));
    if (m)
        app_document_put(document);
}

void api_link_get(api_call *call)
{
    answer_link(call, wire_link);
}

static json_t *motor_of(const gw_mechanism *m, int link)
{
    return wire_motor(&m->links[link].motor);
}

void api_motor_get(api_call *call)
{
    answer_link(call, motor_of);
}

/* ---- links --------------------------------------------------------------------------------- */

/* Commits and answers link `link` of mechanism `index`. */
static void finish_link_edit(api_call *call, app_edit *edit, int index, int link, int status)
{
    char item[64];
    snprintf(item, sizeof item, "/mechanisms/%d/links/%d", index, link);
    if (!api_commit(call, edit, item, NULL))
        return;
    const gw_mechanism *m = &edit->document->scene->mechanisms[index];
    if (status == 201)
        snprintf(call->reply->location, sizeof call->reply->location,
                 API_PREFIX "/mechanisms/%s/links/%d", m->id, link);
    api_part(call, status, edit->document, wire_link(m, link));
    app_edit_end(edit);
}

/* Records which initial values of the link's joint the patch states. */
static bool state_begin(const api_call *call, app_edit *edit, const gw_mechanism *m, int link,
                        gw_error *error)
{
    char name[GW_MAX_LINK_NAME + 1];
    const json_t *joint = json_object_get(call->body, "joint");
    gw_link_name(m, link, name);
    return app_edit_states(edit, "links", name, json_is_number(json_object_get(joint, "position")),
                           json_is_number(json_object_get(joint, "velocity")), error);
}

void api_link_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_mechanism *m;
    int index, link;
    if (!begin_link_edit(call, &edit, &m, &index, &link))
        return;
    json_t *merged = api_merge(call, wire_link(m, link));
    bool read =
        wire_get_link(merged, "", m, link, &error) && state_begin(call, &edit, m, link, &error);
    json_decref(merged);
    if (read)
        finish_link_edit(call, &edit, index, link, 200);
    else
        api_abandon(call, &edit, &error);
}

void api_links_post(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    int index = resource_begin(call, &edit);
    if (index < 0)
        return;
    gw_mechanism *m = &edit.scene->mechanisms[index];
    int link = m->link_count;
    if (link == GW_MAX_LINKS)
        gw_fail(&error, GW_TOO_LARGE, "", "a mechanism has at most %d links", GW_MAX_LINKS);
    else if (!gw_mechanism_resize(m, link + 1))
        gw_fail(&error, GW_FAILED, "", "memory is short for a mechanism");
    else if (wire_get_link(call->body, "", m, link, &error)) {
        finish_link_edit(call, &edit, index, link, 201);
        return;
    }
    api_abandon(call, &edit, &error);
}

void api_link_delete(api_call *call)
{
    app_edit edit;
    gw_mechanism *m;
    char list[300] = "";
    int index, link;
    if (!begin_link_edit(call, &edit, &m, &index, &link))
        return;
    bool last = link == m->link_count - 1;
    if (!last || link == 0) {
        api_refuse(call, 409, "",
                   last ? "link %d is the only one: delete the mechanism"
                        : "link %d is not the last one: others hang on it",
                   link);
        app_edit_end(&edit);
        return;
    }
    api_users_of_links(edit.scene, index, link, list, sizeof list);
    if (*list) {
        api_refuse(call, 409, "", "%s is referred to by %s: delete or change these first",
                   call->part[0], list);
        app_edit_end(&edit);
        return;
    }
    (void)gw_mechanism_resize(m, link); /* it only frees memory: a failure is harmless */
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}

/* ---- motors -------------------------------------------------------------------------------- */

/* Sets the motor of the joint that the address names; true: committed, with the edit still open. */
static bool set_motor(api_call *call, const gw_motor *motor, app_edit *edit)
{
    gw_mechanism *m;
    char item[80];
    int index, link;
    if (!begin_link_edit(call, edit, &m, &index, &link))
        return false;
    m->links[link].motor = *motor;
    if (!edit->group_stated)
        snprintf(edit->group, sizeof edit->group, "motor %d %d", index, link);
    snprintf(item, sizeof item, "/mechanisms/%d/links/%d/joint/motor", index, link);
    return api_commit(call, edit, item, NULL);
}

void api_motor_put(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_motor motor;
    if (!wire_get_motor(call->body, "", &motor, &error)) {
        api_error(call, &error);
        return;
    }
    if (!set_motor(call, &motor, &edit))
        return;
    api_part(call, 200, edit.document, wire_motor(&motor));
    app_edit_end(&edit);
}

void api_motor_delete(api_call *call)
{
    app_edit edit;
    const gw_motor none = {0};
    if (!set_motor(call, &none, &edit))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
