/*
 * Shared by the files of the stream. Everything here belongs to the stream's thread, but for the
 * members of gw_stream under its lock.
 */
#ifndef GW_SERVER_NET_STREAM_PRIVATE_H
#define GW_SERVER_NET_STREAM_PRIVATE_H

#include <jansson.h>
#include <libwebsockets.h>
#include <pthread.h>

#include "server/net/stream.h"

#define STREAM_TICK_US  4000 /* of the timer: the fastest poses, and far below 50 ms for events */
#define STREAM_STATE_US 100000
#define STREAM_SCENE_US 50000  /* between two documents of one index */
#define STREAM_FRESH_US 1000   /* of the timer, while an event is awaited */
#define STREAM_EVENT_US 10000  /* a document of the same index waits so long for its event */
#define STREAM_PUSH_US  250000 /* a push that is not repeated ends */
#define STREAM_AUTH_US  5000000
#define STREAM_SILENT_US                                                                           \
    30000000 /* who says nothing for so long is asked, and gone after twice that */
#define STREAM_CLOSING_US 2000000 /* for a client's own close, once it was sent one */
#define STREAM_MESSAGE    65536   /* bytes of one message from a client */
#define STREAM_REPLIES    32      /* answers waiting for one client */
#define STREAM_GRIPS      64      /* drags and pushes at once */
#define STREAM_ROWS       4096    /* ticks of samples kept for slow readers; a power of two */
#define STREAM_FRAME_ROWS 256     /* most ticks in one frame of samples */
#define STREAM_RECORDS    8       /* taken out of the loop at once: each has room for a snapshot */
#define STREAM_ADOPTED    GW_MAX_STREAMS /* sockets on their way to the thread */

typedef enum stream_close {
    STREAM_CLOSE_NONE = 0,
    STREAM_CLOSE_PROTOCOL = WS_CODE_PROTOCOL,
    STREAM_CLOSE_NOT_UTF8 = WS_CODE_NOT_UTF8,
    STREAM_CLOSE_TOO_LARGE = 1009,
    STREAM_CLOSE_NO_TOKEN = 4401,
    STREAM_CLOSE_TOO_SLOW = 4408,
    STREAM_CLOSE_TOO_MANY = 4429
} stream_close;

/* Something of which a client gets the newest, so often. */
typedef struct stream_pace {
    bool wanted, due;
    uint64_t period_us, next_us;
} stream_pace;

typedef struct stream_client {
    struct stream_client *next;
    struct lws *wsi;
    char accept[WS_ACCEPT]; /* of its handshake; empty once that is answered */
    bool named;             /* it named the sub-protocol */
    bool authorised, greeted;
    ws_reader reader;
    uint64_t heard_us;
    bool asked; /* it was sent a ping since it was heard last */
    bool ping_due, pong_due;
    unsigned char pong[WS_CONTROL];
    size_t pong_size;
    bool left;           /* it sent a close, which is sent back */
    int left_with;       /* its code */
    uint64_t closing_us; /* since when it is being closed, 0: it is not */
    bool closed;         /* and was sent a close */
    unsigned roles;      /* of its token, guard_role */
    stream_close close;
    uint64_t auth_until_us;
    uint64_t version_seen, shape_seen; /* of the document that it was sent */
    uint64_t scene_next_us;            /* until then, one of the same index waits */
    uint64_t event_next;               /* sequence number of the next event that it gets */
    bool state_due;
    stream_pace poses, wrenches;
    uint64_t wrenches_sent; /* which of the wrenches' names it was sent; 0: none */
    bool samples;
    uint64_t sample_next; /* row that it gets next */
    int columns_sent;     /* names of so many columns were sent to it */
    char *message;        /* being received */
    size_t message_size;
    int reply_count;
    gw_text *replies[STREAM_REPLIES];
} stream_client;

/* A client's drag or push, of a tool or a free object. */
typedef struct stream_grip {
    stream_client *client; /* NULL: nobody */
    gw_command_kind kind;  /* GW_COMMAND_DRAG or GW_COMMAND_PUSH */
    int tool;
    char object[GW_MAX_LINK_NAME + 1]; /* or a link; empty: the tool */
    uint64_t until_us;                 /* of a push */
} stream_grip;

struct gw_stream {
    gw_app *app;
    const gw_guard *guard;
    struct lws_context *context;
    struct lws_vhost *vhost;
    lws_sorted_usec_list_t timer;
    pthread_t thread;
    bool started;
    atomic_bool stopping;

    pthread_mutex_t lock;
    int adopted_count; /* lock */
    struct {
        int fd;
        bool named;
        char accept[WS_ACCEPT];
    } adopted[STREAM_ADOPTED]; /* lock */
    atomic_int open;           /* sockets here, those on their way included */

    stream_client *clients;
    uint64_t newest_version, newest_since_us; /* of the document, and since when it is known */
    bool put_off;                             /* the pass before left all but events to this one */
    gw_text *scene;                           /* message `scene` of scene_version */
    uint64_t scene_version;
    gw_text *state; /* newest message `state` */
    uint64_t state_next_us, state_event;
    gw_text *poses; /* newest frame of poses */
    uint64_t poses_shape;
    gw_text *wrenches, *wrench_names; /* newest frame, and the message with its columns' names */
    uint64_t wrenches_version;        /* of the document that the names are of, */
    uint64_t wrenches_named;          /* and of the one since when they are the same */

    stream_grip grips[STREAM_GRIPS];
    stream_client *operator; /* holds the lease of latched devices; NULL: nobody */
    bool operator_asked;     /* by the message, not by a drag or a push alone */
    char operator_name[PEER_NAME];

    int columns;
    int sample_clients;
    uint64_t row_count; /* rows ever; row n is at n % STREAM_ROWS */
    uint64_t row_first; /* rows before had other columns and are gone */
    double *rows;
    uint64_t *ticks;
    gw_snapshot *records; /* scratch */
};

uint64_t stream_now_us(void);

/* Who the client is, for people. */
void stream_client_name(const stream_client *client, char by[PEER_NAME]);

/* The message `subscribed` of wrenches becomes that of the document. False: memory is short. */
bool stream_name_wrenches(gw_stream *stream, const app_document *document);

/* The frame becomes that of the snapshot. */
void stream_refresh_wrenches(gw_stream *stream, const app_document *document,
                             const gw_snapshot *snapshot);

/* Handles one message of a client. */
void stream_message(gw_stream *stream, stream_client *client, const char *data, size_t size);

/* The client goes: what it held is let go. */
void stream_let_go(gw_stream *stream, stream_client *client);

/* Ends pushes that were not repeated. */
void stream_expire_pushes(gw_stream *stream, uint64_t now_us);

/* The client operates what is latched, from now on or still; `asked`: until it gives the lease
 * back, else as long as it drags or pushes. False with an error where somebody else does. */
bool stream_lease_take(gw_stream *stream, stream_client *client, bool asked, gw_error *error);

/* Nobody but the client operates what is latched. False with an error where somebody else does. */
bool stream_lease_open(gw_stream *stream, const stream_client *client, gw_error *error);

/* The client dragged or pushed something no more: a lease that it did not ask for ends. */
void stream_lease_rest(gw_stream *stream, const stream_client *client);

/* True of what its operator's lease ends, at latched devices. */
bool stream_lease_guards(gw_stream *stream, const stream_grip *grip);

/* The client does not ask for it any more. */
void stream_lease_give_back(gw_stream *stream, const stream_client *client);

/* The client goes: a force-off where it operates. Before stream_let_go(). */
void stream_lease_leave(gw_stream *stream, const stream_client *client);

/* Takes notice of a lease that ran out. */
void stream_watch_lease(gw_stream *stream);

#endif
