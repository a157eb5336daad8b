/*
 * Shared by the files of the stream. Everything here belongs to the stream's thread, but for the
 * members of gw_stream under its lock.
 */
#ifndef GW_SERVER_NET_STREAM_PRIVATE_H
#define GW_SERVER_NET_STREAM_PRIVATE_H

#include <jansson.h>
#include <libwebsockets.h>
#include <pthread.h>

#include "server/net/event_loop.h"
#include "server/net/stream.h"

#define STREAM_TICK_US   4000 /* of the timer: bounds the rate of poses and the delay of events */
#define STREAM_NEWEST_US 1000 /* until it is so old a frame of poses is sent to other clients */
#define STREAM_STATE_US  100000
#define STREAM_YOUNG_US  25000  /* the same of a message `state` */
#define STREAM_JOIN_US   20000  /* a message `state` waits so long for poses to be sent with */
#define STREAM_SCENE_US  50000  /* between two documents of one index */
#define STREAM_FRESH_US  1000   /* of the timer, while an event is awaited */
#define STREAM_EVENT_US  10000  /* a document of the same index waits so long for its event */
#define STREAM_PUSH_US   250000 /* a push ends that is not repeated within this */
#define STREAM_AUTH_US   5000000
#define STREAM_SILENT_US                                                                           \
    30000000 /* a client silent for so long is sent a ping, and is cut after twice that */
#define STREAM_CLOSING_US 2000000 /* for a client to answer a close */
#define STREAM_MESSAGE    65536   /* bytes of one message from a client */
#define STREAM_REPLIES    32      /* answers waiting for one client */
#define STREAM_GRIPS      64      /* drags and pushes at once */
#define STREAM_ROWS       4096    /* ticks of samples kept for slow readers; a power of two */
#define STREAM_FRAME_ROWS 256     /* most ticks in one frame of samples */
#define STREAM_RECORDS    8       /* read from the loop at once; each has room for a snapshot */
#define STREAM_ADOPTED    GW_MAX_STREAMS /* sockets handed over to the thread */

typedef enum stream_close {
    STREAM_CLOSE_NONE = 0,
    STREAM_CLOSE_PROTOCOL = WS_CODE_PROTOCOL,
    STREAM_CLOSE_NOT_UTF8 = WS_CODE_NOT_UTF8,
    STREAM_CLOSE_TOO_LARGE = 1009,
    STREAM_CLOSE_NO_TOKEN = 4401,
    STREAM_CLOSE_TOO_SLOW = 4408,
    STREAM_CLOSE_TOO_MANY = 4429
} stream_close;

/* A periodic item: whether the client wants it, and whether one is due. */
typedef struct stream_period {
    bool wanted, due;
    uint64_t period_us, next_us;
} stream_period;

/* The members that a pass reads come first. */
typedef struct stream_client {
    struct stream_client *next;
    gw_stream *stream;
    struct lws *wsi;
    bool authorised, greeted;
    bool samples;
    bool asked; /* a ping was sent since its last bytes */
    bool ping_due, pong_due;
    bool asks;    /* for its socket to be awaited until it accepts more, */
    bool awaited; /* which it is */
    bool left;    /* it sent a close, which is to be sent back */
    bool closed;  /* and a close was sent to it */
    stream_close close;
    int reply_count;
    uint64_t heard_us;
    uint64_t auth_until_us;
    uint64_t closing_us; /* since when it is being closed (us), 0: it is not */
    stream_period state, poses, wrenches;
    uint64_t wrenches_sent;            /* version of the wrenches' names that it has; 0: none */
    uint64_t version_seen, shape_seen; /* versions of the document that was sent to it */
    uint64_t scene_next_us;            /* until then a document of the same index waits */
    uint64_t event_next;               /* sequence number of the next event to send */
    uint64_t phase;                    /* of its frames, in 2^-32 of their period */
    uint64_t sample_next;              /* the next row to send */
    char accept[WS_ACCEPT];            /* answer to its handshake; empty once sent */
    bool named;                        /* its handshake named the sub-protocol */
    int left_with;                     /* code of its close */
    unsigned roles;                    /* of its token, guard_role */
    int columns_sent;                  /* it has the names of so many columns */
    ws_reader reader;
    unsigned char pong[WS_CONTROL];
    size_t pong_size;
    char *message; /* being received */
    size_t message_size;
    gw_text *replies[STREAM_REPLIES];
} stream_client;

/* A client's drag or push, of a tool or a free object. */
typedef struct stream_hold {
    stream_client *client; /* NULL: a free entry */
    gw_command_kind kind;  /* GW_COMMAND_DRAG or GW_COMMAND_PUSH */
    int tool;
    char object[GW_MAX_LINK_NAME + 1]; /* an object or a link; empty: the tool */
    uint64_t until_us;                 /* of a push */
} stream_hold;

struct gw_stream {
    gw_app *app;
    const gw_guard *guard;
    struct lws_context *context;
    struct lws_vhost *vhost;
    int timer; /* descriptor, set to the next pass */
    event_loop loop;
    int wake; /* descriptor, written by other threads */
    atomic_bool stopping;

    pthread_mutex_t lock;
    int adopted_count; /* lock */
    struct {
        int fd;
        bool named;
        char accept[WS_ACCEPT];
    } adopted[STREAM_ADOPTED]; /* lock */
    atomic_int open;           /* sockets of this thread, those being handed over included */

    stream_client *clients;
    uint32_t next_phase;                      /* of the next client */
    uint64_t newest_version, newest_since_us; /* of the document; when first seen */
    bool put_off;                             /* the pass before sent events only */
    gw_text *scene;                           /* message `scene` of scene_version */
    uint64_t scene_version;
    gw_text *state; /* newest message `state`, until it is too old */
    uint64_t state_until_us, state_event, state_version;
    uint64_t told_event; /* all clients were sent the state after it */
    gw_text *poses;      /* newest frame of poses */
    uint64_t poses_shape, poses_us;
    gw_text *wrenches, *wrench_names; /* newest frame, and the message with its columns' names */
    uint64_t wrenches_us;
    uint64_t wrenches_version; /* of the document that the names belong to, */
    uint64_t wrenches_named;   /* and of the first document with the same names */

    stream_hold grips[STREAM_GRIPS];
    stream_client *operator; /* holds the lease of latched devices; NULL: nobody */
    bool operator_asked;     /* by the message `lease`, not only by a drag or a push */
    char operator_name[PEER_NAME];

    int columns;
    int sample_clients;
    uint64_t row_count; /* number of rows so far; row n is at n % STREAM_ROWS */
    uint64_t row_first; /* rows before this one had other columns and are dropped */
    double *rows;
    uint64_t *ticks;
    gw_snapshot *records; /* scratch */
    gw_snapshot now;      /* scratch: the loop's newest state */
};

/* News that can become due for every client: the newest document's versions, the time since which
 * the stream knows it (us), the number of the newest event. */
typedef struct stream_news {
    uint64_t now_us, version, shape, since_us, event;
} stream_news;

uint64_t stream_now_us(void);

stream_news stream_news_now(gw_stream *stream);

/* stream_write() is to be called when the client's socket accepts more. */
void stream_ask(stream_client *client);

/* Sends what is due for the client: periodic frames at once, else the socket is awaited and
 * stream_write() follows. */
void stream_serve(gw_stream *stream, stream_client *client, const stream_news *news);

/* Writes the most urgent item; for a socket that accepts more. False: the connection ends. */
bool stream_write(gw_stream *stream, stream_client *client);

/* True once after new events: every client is to get the message `state`, which is renewed. */
bool stream_tells_event(gw_stream *stream, const stream_news *news);

/* Writes the client's name, for people. */
void stream_client_name(const stream_client *client, char by[PEER_NAME]);

/* Writes the message `subscribed` of wrenches for the document. False when memory is short. */
bool stream_name_wrenches(gw_stream *stream, const app_document *document);

/* Writes the frame of wrenches of the snapshot; keeps the last one while a running simulation
 * waits. */
void stream_refresh_wrenches(gw_stream *stream, const app_document *document,
                             const gw_snapshot *snapshot);

/* The message `subscribed` of samples with this number of columns; NULL when memory is short. */
gw_text *stream_columns_text(int columns);

/* Appends the ticks that the loop has recorded to the rows. */
void stream_take_records(gw_stream *stream);

/* The frame of the next successive rows for the client; NULL where there are none, or when memory
 * is short. */
gw_text *stream_sample_frame(const gw_stream *stream, stream_client *client);

/* Handles one message of a client. */
void stream_message(gw_stream *stream, stream_client *client, const char *data, size_t size);

/* Ends all drags and pushes of a client that disconnects. */
void stream_let_go(gw_stream *stream, stream_client *client);

/* Ends pushes that were not repeated. */
void stream_expire_pushes(gw_stream *stream, uint64_t now_us);

/* The client takes or renews the lease; `asked`: until it gives the lease back, else while it drags
 * or pushes. False with an error where another client holds it. */
bool stream_lease_take(gw_stream *stream, stream_client *client, bool asked, gw_error *error);

/* True where no other client holds the lease; else false with an error. */
bool stream_lease_open(gw_stream *stream, const stream_client *client, gw_error *error);

/* The client ended a drag or a push: a lease that it did not ask for ends with the last one. */
void stream_lease_rest(gw_stream *stream, const stream_client *client);

/* True for a drag or a push by the operator at a latched device, which ends with the lease. */
bool stream_lease_guards(gw_stream *stream, const stream_hold *grip);

/* The client gives the lease back; it ends with the client's last drag or push. */
void stream_lease_give_back(gw_stream *stream, const stream_client *client);

/* The client disconnects: force-off where it is the operator. To be called before
 * stream_let_go(). */
void stream_lease_leave(gw_stream *stream, const stream_client *client);

/* Ends a lease that has expired. */
void stream_watch_lease(gw_stream *stream);

#endif
