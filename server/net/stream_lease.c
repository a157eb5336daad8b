/*
 * The operator's lease: one client at a time may command force at latched devices. A drag or a push
 * of a body that such a device moves takes the lease and renews it; so does the message `lease`,
 * which alone keeps it while nothing is dragged. A client that disconnects while it holds the
 * lease, or whose renewals stop (which the loop detects), causes a force-off with the cause
 * `dead-man`. On the stream's thread.
 */
#include <assert.h>
#include <string.h>

#include "server/net/stream_private.h"

bool stream_lease_guards(gw_stream *stream, const stream_hold *grip)
{
    if (!grip->client || stream->operator!= grip->client)
        return false;
    app_document *document = app_document_get(stream->app);
    bool latched = app_latched(document, grip->tool, grip->object);
    app_document_put(document);
    return latched;
}

/* Removes the operator's drags and pushes at latched devices, which the loop has ended. */
static void forget_grips(gw_stream *stream)
{
    for (int i = 0; i < STREAM_GRIPS; i++)
        if (stream_lease_guards(stream, &stream->grips[i]))
            stream->grips[i].client = NULL;
}

static bool grips_latched(gw_stream *stream)
{
    bool grips = false;
    for (int i = 0; i < STREAM_GRIPS && !grips; i++)
        grips = stream_lease_guards(stream, &stream->grips[i]);
    return grips;
}

static void end_lease(gw_stream *stream, app_lease_ending how)
{
    char by[PEER_NAME];
    memcpy(by, stream->operator_name, sizeof by);
    stream->operator= NULL;
    app_lease_end(stream->app, by, how);
}

bool stream_lease_take(gw_stream *stream, stream_client *client, bool asked, gw_error *error)
{
    assert(stream && client);
    stream_watch_lease(stream);
    if (stream->operator== client && app_lease_renew(stream->app)) {
        stream->operator_asked = stream->operator_asked || asked;
        return true;
    }
    char by[PEER_NAME];
    stream_client_name(client, by);
    if (!app_lease_take(stream->app, by, error))
        return false;
    memcpy(stream->operator_name, by, sizeof by);
    stream->operator= client;
    stream->operator_asked = asked;
    return true;
}

bool stream_lease_open(gw_stream *stream, const stream_client *client, gw_error *error)
{
    stream_watch_lease(stream);
    return !stream->operator|| stream->operator== client || gw_fail(
        error, GW_CONFLICT, "", "%s operates: one operator at a time", stream->operator_name);
}

void stream_lease_rest(gw_stream *stream, const stream_client *client)
{
    if (stream->operator== client && !stream->operator_asked && !grips_latched(stream))
        end_lease(stream, APP_LEASE_GIVEN_BACK);
}

void stream_lease_give_back(gw_stream *stream, const stream_client *client)
{
    if (stream->operator!= client)
        return;
    stream->operator_asked = false;
    stream_lease_rest(stream, client);
}

void stream_lease_leave(gw_stream *stream, const stream_client *client)
{
    if (stream->operator!= client)
        return;
    forget_grips(stream);
    end_lease(stream, APP_LEASE_ABANDONED);
}

void stream_watch_lease(gw_stream *stream)
{
    if (!stream->operator|| app_lease_held(stream->app))
        return;
    forget_grips(stream);
    end_lease(stream, APP_LEASE_LAPSED);
}
