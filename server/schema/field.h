/*
 * Tables of fields: one row says a member's name, type, place in its struct, unit, range and words
 * for people. Decoding, encoding and the JSON Schema of the OpenAPI document are read off the same
 * rows. README.md tells how to write one. For the files of this folder only. Any server thread;
 * tables are constant, decoding and encoding keep no state.
 */
#ifndef GW_SERVER_SCHEMA_FIELD_H
#define GW_SERVER_SCHEMA_FIELD_H

#include "server/schema/wire.h"

/* A row names what it says and leaves out the rest. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

typedef struct wire_table wire_table;

/* The way from the document's root to a value. The root's `name` is the pointer that the caller
 * gave; an array's entry has no name but an index. Becomes text where something is refused. */
typedef struct wire_path {
    const struct wire_path *parent; /* NULL: the root */
    const char *name;
    size_t index;
} wire_path;

/* Besides the struct itself, encoding may need the scene that it belongs to. */
typedef struct wire_context {
    const gw_scene *scene;
    const gw_tool *tool;    /* whose state is encoded */
    int rate;               /* of the loop (Hz) */
    const char *const *ids; /* of constraints, in the order of a solution's bits */
    bool clamp;             /* what is not finite becomes the nearest number, and NaN zero */
} wire_context;

/* How values of a type are decoded, encoded and described. `owner` is the struct that has the
 * field. decode() refuses with a pointer to `at` and returns false; NULL: the member is only read.
 * encode() gives a new reference, NULL where a number is not finite or memory is short; NULL as a
 * function: the member is only taken, or written elsewhere. schema() gives a JSON Schema. */
typedef struct wire_type {
    bool (*decode)(const wire_field *field, const json_t *value, const wire_path *at, void *owner,
                   gw_error *error);
    json_t *(*encode)(const wire_field *field, const void *owner, const wire_context *context);
    json_t *(*schema)(const wire_field *field);
} wire_type;

typedef enum wire_flags {
    REQUIRED = 1,      /* refused where it is missing */
    OMITTED = 2,       /* written only where it differs from its table's initial value */
    LAST = 4,          /* written behind all others */
    READ_ONLY = 8,     /* not taken; part of what is answered */
    SENT_BACK = 16,    /* with READ_ONLY: may be sent back, and is not looked at then */
    WRITE_ONLY = 32,   /* taken, never answered */
    IN_ADDRESS = 64,   /* required in a document, not where the address or the server supplies it */
    SOMETIMES = 128,   /* not in every answer; its default depends on other members */
    TELLS_VALUE = 256, /* a refusal begins with the value */
    EXCLUSIVE = 512,   /* `low` itself is out of range */
    ALTERNATIVE = 1024, /* exactly one of the table's members of this kind is there */
    ELSEWHERE = 2048    /* described here, added by whoever puts the answer together */
} wire_flags;

struct wire_field {
    const char *name;
    const wire_type *type;
    size_t offset, size;
    unsigned flags;
    const char *unit, *about; /* in the description */
    bool has_low, has_high;   /* range, always in the schema */
    double low, high;
    const char *must; /* sentence where a number is out of range, a name empty or no choice
                         of those there are; NULL: the range is checked where the whole
                         scene is, in rt/ */
    const char *const *choices;  /* CHOICE: names in the enum's order, the last one NULL */
    const char *(*name_of)(int); /* the same as a function; NULL behind the last */
    const char *synonym;         /* CHOICE: a further name that is taken for one of them; */
    int synonym_of;              /* answers have that one */
    const wire_table *table;     /* OBJECT, and LIST of objects */
    const wire_field *item;      /* LIST of something else */
    size_t count, stride;        /* LIST: offset of the int that counts, bytes of an entry */
    size_t least, most;          /* LIST: entries; NUMBERS: how many; in texts: bytes */
    void *(*add)(void *owner, gw_error *error); /* LIST: makes room for one more; NULL: calloc */
    bool has_flag; /* `has` is the offset of a bool that tells whether it is given */
    size_t has;
    unsigned kinds; /* bits of its table's kind: written for these only; 0: for all */
    /* Whether it is written; with OMITTED: whether it is written even so. */
    bool (*when)(const void *owner, const wire_context *context);
};

typedef bool wire_hook(const json_t *value, const wire_path *at, void *owner, gw_error *error);

/* A further component schema of the same table. */
typedef struct wire_component {
    const char *name, *about;
} wire_component;

struct wire_table {
    const char *name; /* of its component schema; NULL: described where it is used */
    const char *about;
    const wire_field *fields;     /* the last one has no name */
    size_t size;                  /* of the struct; 0 where it is never decoded */
    void (*initial)(void *owner); /* the struct where nothing is said; NULL: as the caller has it */
    wire_hook *before;            /* after unknown members were refused, before the first field */
    wire_hook *after;             /* behind the last field */
    void (*finish)(void *owner);  /* frees what decoding took, where it fails; may come twice */
    bool in_order; /* written as the rows stand, what may be left out among the rest */
    bool answered; /* its component describes an answer, not a document */
    wire_component read, given, patch; /* a patch with words but no name: where it is used */
    /* A union: the first field is the CHOICE between these tables; two kinds may share one. */
    const wire_table *const *of_kind;
    const wire_table *other; /* of kinds that have none of their own there */
    const char *excluded;    /* sentence about a kind without a table */
    const char *no_object;   /* sentence about what is no object; NULL: the usual one */
    size_t kind;             /* offset of the int that `kinds` of fields means */
};

/* ---- rows ---------------------------------------------------------------------------------- */

#define AT(type, member)             .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define HAS(type, member)            .has_flag = true, .has = offsetof(type, member)
#define LOW(value)                   .has_low = true, .low = (value)
#define HIGH(value)                  .has_high = true, .high = (value)
#define RANGE(from, to)              LOW(from), HIGH(to)
#define COUNTED(type, member, entry) .count = offsetof(type, member), .stride = sizeof(entry)
#define KIND(value)                  (1u << (value))

#define NUMBER      (&wire_type_number)
#define WHOLE       (&wire_type_whole) /* int or 64 bits; refused out of low .. high */
#define BOOLEAN     (&wire_type_boolean)
#define STRING      (&wire_type_string) /* char[] */
#define ID          (&wire_type_id)     /* char[GW_MAX_ID + 1] */
#define TEXT        (&wire_type_text)   /* const char *; written only */
#define CHOICE      (&wire_type_choice) /* enum or bool */
#define VEC3        (&wire_type_vec3)
#define DIRECTION   (&wire_type_direction) /* of any length but zero; normalised */
#define QUAT        (&wire_type_quat)
#define NUMBERS     (&wire_type_numbers) /* double[most] */
#define OBJECT      (&wire_type_object)
#define LIST        (&wire_type_list) /* an owned array */
#define LIST_WITHIN (&wire_type_list_within)
#define PAIR        (&wire_type_pair)       /* two of `item`, `must`: where it is no array of two */
#define FEATURE_ID  (&wire_type_feature_id) /* gw_feature_ref */
#define UTC         (&wire_type_utc)        /* int64_t, ns of CLOCK_REALTIME; written only */

extern const wire_type wire_type_number, wire_type_whole, wire_type_boolean, wire_type_string,
    wire_type_id, wire_type_text, wire_type_choice, wire_type_vec3, wire_type_direction,
    wire_type_quat, wire_type_numbers, wire_type_object, wire_type_list, wire_type_list_within,
    wire_type_pair, wire_type_feature_id, wire_type_utc;

/* Heads of the functions that rows and tables name, parameters called as in wire_type and
 * wire_hook: what one of them does not need may stay unused. */
#define UNUSED __attribute__((unused))
#define DECODE(name)                                                                               \
    static bool name(const wire_field *f UNUSED, const json_t *value UNUSED,                       \
                     const wire_path *at UNUSED, void *owner UNUSED, gw_error *error UNUSED)
#define ENCODE(name)                                                                               \
    static json_t *name(const wire_field *f UNUSED, const void *owner UNUSED,                      \
                        const wire_context *context UNUSED)
#define SCHEMA(name) static json_t *name(const wire_field *f UNUSED)
#define HOOK(name)                                                                                 \
    static bool name(const json_t *value UNUSED, const wire_path *at UNUSED, void *owner UNUSED,   \
                     gw_error *error UNUSED)
/* `it` is the struct. */
#define WHEN(name, type, expression)                                                               \
    static bool name(const void *owner UNUSED, const wire_context *context UNUSED)                 \
    {                                                                                              \
        const type *it UNUSED = owner;                                                             \
        return expression;                                                                         \
    }
#define INITIAL(name, type, ...)                                                                   \
    static void name(void *owner)                                                                  \
    {                                                                                              \
        *(type *)owner = __VA_ARGS__;                                                              \
    }
#define FINISH(name, type, statement)                                                              \
    static void name(void *owner)                                                                  \
    {                                                                                              \
        type *it = owner;                                                                          \
        statement;                                                                                 \
    }
/* wire_X() of a table. */
#define ENCODER(name, type)                                                                        \
    json_t *wire_##name(const type *in)                                                            \
    {                                                                                              \
        return wire_encode(&wire_table_##name, in, NULL);                                          \
    }
/* That and wire_get_X(). */
#define CODEC(name, type)                                                                          \
    bool wire_get_##name(const json_t *value, const char *at, type *out, gw_error *error)          \
    {                                                                                              \
        return wire_decode(&wire_table_##name, value, at, out, error);                             \
    }                                                                                              \
    ENCODER(name, type)

/* ---- decoding and encoding ----------------------------------------------------------------- */

/* Decodes an object into a struct. The second begins at a pointer that the caller gives. */
bool wire_decode_at(const wire_table *table, const json_t *value, const wire_path *at, void *owner,
                    gw_error *error);
bool wire_decode(const wire_table *table, const json_t *value, const char *at, void *owner,
                 gw_error *error);

/* A new reference; NULL where a number is not finite or memory is short. */
json_t *wire_encode(const wire_table *table, const void *owner, const wire_context *context);

/* Whether a value is a whole number from `low` to `high`; 3.0 is one, as JSON Schema has it. */
bool wire_is_whole(const json_t *value, double low, double high);

/* Finds fault with the value at `at`: GW_BAD_INPUT with a sentence. Returns false. */
bool wire_refuse(const wire_path *at, gw_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of a fault that rt/ found in the value, at a pointer of its own within it. */
bool wire_refuse_within(const wire_path *at, const gw_error *found, gw_error *error);

/* The struct where nothing is said, at most WIRE_TABLE_BYTES long. */
#define WIRE_TABLE_BYTES 4096
/* The first error of the parts that are read one after the other. */
typedef struct wire_failed {
    bool any;
    gw_error first;
} wire_failed;

/* Tells of one more thing that is wrong with the document that this thread reads, once. */
void wire_note(const gw_error *error);

/* After a part was refused with this error: notes it and puts the first one in its place. True
 * where the parts that are left are read on, for further errors. */
bool wire_goes_on(wire_failed *failed, gw_error *error);

void wire_say_nothing(const wire_table *table, void *owner);

/* The table of a kind of a union; NULL: it is excluded. */
const wire_table *wire_kind(const wire_table *table, int kind);

/* Name `i` of a CHOICE, NULL behind the last one; which one a struct has. */
const char *wire_choice_name(const wire_field *field, int i);
int wire_chosen(const wire_field *field, const void *owner);

/* The path as a JSON pointer, cut to what an error holds. */
#define WIRE_POINTER 192
void wire_path_text(const wire_path *path, char out[WIRE_POINTER]);

/* `count` numbers of an array. */
bool wire_get_numbers(const json_t *value, const wire_path *at, int count, double *out,
                      gw_error *error);

/* An array of numbers or vectors, or with `rows` of rows of them, whose size the caller has seen.
 */
typedef struct wire_net {
    bool rows;
    int count[2];     /* entries; or rows, and entries of each */
    int numbers;      /* of an entry: 1, or 3 of a vector */
    const char *must; /* sentence of a row that has not as many entries; of their number */
} wire_net;
bool wire_get_net(const json_t *value, const wire_path *at, const wire_net *net, double *out,
                  gw_error *error);

json_t *wire_numbers(const double *values, int count, const wire_context *context);

/* Appends, and gives the list back; NULL, the list freed, where the entry is NULL. */
json_t *wire_append(json_t *list, json_t *entry);

/* ---- JSON Schema --------------------------------------------------------------------------- */

typedef enum wire_form { WIRE_DOCUMENT, WIRE_READ, WIRE_GIVEN, WIRE_PATCH } wire_form;

/* The schema of an object of this table in a document, in an answer, as the body of a request
 * whose address says a part of it, and as a merge patch. */
json_t *wire_table_schema(const wire_table *table, wire_form form, const char *about);
json_t *wire_schema_ref(const char *component); /* {"$ref": ..} */

/* Schemas of the types above, for types that a file adds. */
json_t *wire_schema_number(const wire_field *field);
json_t *wire_schema_numbers(const wire_field *field);
json_t *wire_schema_map(const wire_field *field);
json_t *wire_schema_boolean(const wire_field *field);
json_t *wire_schema_string(const wire_field *field);
json_t *wire_schema_id(const wire_field *field);
json_t *wire_schema_choice(const wire_field *field);
json_t *wire_schema_object(const wire_field *field);
json_t *wire_schema_list(const wire_field *field);

/* The settings of all drivers; `patch`: null takes one away. */
json_t *wire_settings_schema(bool patch);

/* Adds the component schemas of a table by their names. */
void wire_add_components(json_t *schemas, const wire_table *table);

/* ---- shapes that several files use --------------------------------------------------------- */

/* One for each array of the scene: wire_table_object, .. */
#define WIRE_TABLE(name, type, most, id) extern const wire_table wire_table_##name;
GW_SCENE_ARRAYS(WIRE_TABLE)

/* One a line: a list in paragraphs conflicts whenever two tables are added. */
extern const wire_table wire_table_answer;
extern const wire_table wire_table_assembly;
extern const wire_table wire_table_assembly_request;
extern const wire_table wire_table_client_message;
extern const wire_table wire_table_conflict;
extern const wire_table wire_table_contact;
extern const wire_table wire_table_contact_point;
extern const wire_table wire_table_driver;
extern const wire_table wire_table_element;
extern const wire_table wire_table_curve_element;
extern const wire_table wire_table_surface_element;
extern const wire_table wire_table_nurbs_curve; /* geometries */
extern const wire_table wire_table_nurbs_surface;
extern const wire_table wire_table_halted;
extern const wire_table wire_table_joint_frame;
extern const wire_table wire_table_event;
extern const wire_table wire_table_fault;
extern const wire_table wire_table_loop_figures;
extern const wire_table wire_table_mesh;
extern const wire_table wire_table_mesh_about;
extern const wire_table wire_table_motor;
extern const wire_table wire_table_pose;
extern const wire_table wire_table_pose_read;
extern const wire_table wire_table_problem;
extern const wire_table wire_table_rendered;
extern const wire_table wire_table_scene;
extern const wire_table wire_table_shape;
extern const wire_table wire_table_surface;
extern const wire_table wire_table_surface_request;
extern const wire_table wire_table_server_message;
extern const wire_table wire_table_simulation;
extern const wire_table wire_table_solution;
extern const wire_table wire_table_task_progress;
extern const wire_table wire_table_tool_state;
extern const wire_table wire_table_twist;
extern const wire_table wire_table_wrench;
extern const char *const wire_senses[];

/* A time of CLOCK_REALTIME in UTC, ISO 8601 to the millisecond. */
#define WIRE_UTC 40
void wire_utc_text(int64_t ns, char out[WIRE_UTC]);

#endif
