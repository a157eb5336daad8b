/*
 * Tables of fields: one row states a member's name, type, place in its struct, unit, range and
 * description. Decoding, encoding and the JSON Schema of the OpenAPI document use the same rows;
 * README.md explains how to write one. For the files of this folder only. Any server thread: tables
 * are constant, and decoding and encoding keep no state.
 */
#ifndef GW_SERVER_SCHEMA_FIELD_H
#define GW_SERVER_SCHEMA_FIELD_H

#include "server/schema/wire.h"

/* Rows name the members that they need and leave out the others. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

typedef struct wire_table wire_table;

/* The path from the document's root to a value. The root's `name` is the pointer that the caller
 * gave; an entry of an array has an index and no name. It is turned into text only for an error. */
typedef struct wire_path {
    const struct wire_path *parent; /* NULL: the root */
    const char *name;
    size_t index;
} wire_path;

/* The data besides the struct that encoding may need. */
typedef struct wire_context {
    const gw_scene *scene;
    const gw_tool *tool;              /* the tool whose state is encoded */
    int rate;                         /* of the loop (Hz) */
    const char *const *ids;           /* of constraints, in the order of a solution's bits; */
    const gw_constraint *constraints; /* the same ones, */
    int constraint_count;             /* as many */
    bool clamp; /* infinite numbers become the nearest finite ones, NaN becomes 0 */
} wire_context;

/* The functions that decode, encode and describe the values of a type. `owner` is the struct that
 * contains the field. decode() refuses with a pointer to `at` and returns false; a NULL function:
 * the member is not decoded. encode() returns a new reference, NULL where a number is not finite or
 * memory is short; a NULL function: the member is only decoded, or written elsewhere. schema()
 * returns a JSON Schema. */
typedef struct wire_type {
    bool (*decode)(const wire_field *field, const json_t *value, const wire_path *at, void *owner,
                   gw_error *error);
    json_t *(*encode)(const wire_field *field, const void *owner, const wire_context *context);
    json_t *(*schema)(const wire_field *field);
} wire_type;

typedef enum wire_flags {
    REQUIRED = 1,      /* refused where it is missing */
    OMITTED = 2,       /* written only where it differs from its table's initial value */
    LAST = 4,          /* written after all others */
    READ_ONLY = 8,     /* not decoded; part of answers */
    SENT_BACK = 16,    /* with READ_ONLY: may be sent back, and is then ignored */
    WRITE_ONLY = 32,   /* decoded, never written */
    IN_ADDRESS = 64,   /* required in a document, not where the address or the server supplies it */
    SOMETIMES = 128,   /* not in every answer; the default depends on other members */
    TELLS_VALUE = 256, /* an error begins with the value */
    EXCLUSIVE = 512,   /* `low` itself is out of range */
    ALTERNATIVE = 1024, /* exactly one of the table's members with this flag is present */
    ELSEWHERE = 2048    /* described here, added to the answer by another folder */
} wire_flags;

struct wire_field {
    const char *name;
    const wire_type *type;
    size_t offset, size;
    unsigned flags;
    const char *unit, *about; /* for the description */
    bool has_low, has_high;   /* range, always in the schema */
    double low, high;
    const char *must; /* error: a number out of range, an empty name, an unknown choice; NULL: the
                         range is checked with the whole scene, in rt/ */
    const char *const *choices;  /* CHOICE: names in the enum's order, the last one NULL */
    const char *(*name_of)(int); /* the same as a function; NULL after the last */
    const char *synonym;         /* CHOICE: a further name that is accepted for one of them; */
    int synonym_of;              /* answers use that one */
    const wire_table *table;     /* OBJECT, and LIST of objects */
    const wire_field *item;      /* LIST of something else */
    size_t count, stride;        /* LIST: offset of the int that counts, size of an entry */
    size_t least, most;          /* LIST: number of entries; NUMBERS: of numbers; texts: of bytes */
    void *(*add)(void *owner, gw_error *error); /* LIST: appends an entry; NULL: calloc */
    bool has_flag; /* `has` is the offset of a bool, true where it is stated */
    size_t has;
    unsigned kinds; /* bits of its table's kind for which it is written; 0: all */
    /* True where the member is written; with OMITTED also where it has its initial value. */
    bool (*when)(const void *owner, const wire_context *context);
};

typedef bool wire_hook(const json_t *value, const wire_path *at, void *owner, gw_error *error);

/* A further component schema made from the same table. */
typedef struct wire_component {
    const char *name, *about;
} wire_component;

struct wire_table {
    const char *name; /* of its component schema; NULL: its schema is inlined */
    const char *about;
    const wire_field *fields;     /* the last one has no name */
    size_t size;                  /* of the struct; 0 where it is only encoded */
    void (*initial)(void *owner); /* the initial value; NULL: the caller's */
    wire_hook *before;            /* after unknown members were refused, before the first field */
    wire_hook *after;             /* called after the last field */
    void (*finish)(void *owner);  /* frees a partly decoded struct; may be called twice */
    bool in_order;                /* written in the order of the rows, optional ones included */
    bool answered;                /* its component describes an answer, not a document */
    wire_component read, given, patch; /* a patch without a name is inlined */
    /* A union: the first field is the CHOICE between these tables; two kinds may share a table. */
    const wire_table *const *of_kind;
    const wire_table *other; /* the table of kinds that have none in `of_kind` */
    const char *excluded;    /* the error for a kind without a table */
    const char *no_object;   /* the error for a value that is not an object; NULL: the default */
    size_t kind;             /* offset of the int to which `kinds` of fields refers */
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
#define WHOLE       (&wire_type_whole) /* int or 64 bits; refused outside low .. high */
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
#define PAIR        (&wire_type_pair)       /* two of `item`; `must`: error of another length */
#define FEATURE_ID  (&wire_type_feature_id) /* gw_feature_ref */
#define UTC         (&wire_type_utc)        /* int64_t, ns of CLOCK_REALTIME; written only */

extern const wire_type wire_type_number, wire_type_whole, wire_type_boolean, wire_type_string,
    wire_type_id, wire_type_text, wire_type_choice, wire_type_vec3, wire_type_direction,
    wire_type_quat, wire_type_numbers, wire_type_object, wire_type_list, wire_type_list_within,
    wire_type_pair, wire_type_feature_id, wire_type_utc;

/* Headers of the functions that rows and tables refer to; the parameters are named as in wire_type
 * and wire_hook, and need not be used. */
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
/* `it` is the struct that contains the field. */
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
/* Defines wire_X() of a table. */
#define ENCODER(name, type)                                                                        \
    json_t *wire_##name(const type *in)                                                            \
    {                                                                                              \
        return wire_encode(&wire_table_##name, in, NULL);                                          \
    }
/* Defines wire_get_X() and wire_X() of a table. */
#define CODEC(name, type)                                                                          \
    bool wire_get_##name(const json_t *value, const char *at, type *out, gw_error *error)          \
    {                                                                                              \
        return wire_decode(&wire_table_##name, value, at, out, error);                             \
    }                                                                                              \
    ENCODER(name, type)

/* ---- decoding and encoding ----------------------------------------------------------------- */

/* Decodes an object into a struct, at a path or at a pointer that the caller gives. False with an
 * error. */
bool wire_decode_at(const wire_table *table, const json_t *value, const wire_path *at, void *owner,
                    gw_error *error);
bool wire_decode(const wire_table *table, const json_t *value, const char *at, void *owner,
                 gw_error *error);

/* Encodes a struct, a new reference; NULL where a number is not finite or memory is short. */
json_t *wire_encode(const wire_table *table, const void *owner, const wire_context *context);

/* True for a whole number from `low` to `high`; 3.0 is one, as in JSON Schema. */
bool wire_is_whole(const json_t *value, double low, double high);

/* Sets the error of the value at `at`: GW_BAD_INPUT with a sentence. Returns false. */
bool wire_refuse(const wire_path *at, gw_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for an error that rt/ found in the value, with a pointer relative to the value. */
bool wire_refuse_within(const wire_path *at, const gw_error *found, gw_error *error);

/* Writes the initial value of the table's struct, at most WIRE_TABLE_BYTES. */
#define WIRE_TABLE_BYTES 4096
/* The first error among parts that are decoded one after another. */
typedef struct wire_failed {
    bool any;
    gw_error first;
} wire_failed;

/* Adds an error to those of the document that this thread decodes, unless it is there already. */
void wire_note(const gw_error *error);

/* After a part was refused with this error: notes it and replaces it by the first one. True where
 * the remaining parts are to be decoded, for further errors. */
bool wire_goes_on(wire_failed *failed, gw_error *error);

/* Drops the errors that were noted after the first `count`. */
void wire_errors_cut(int count);

/* After the decoding of a document by its table has noted errors, as many of the remaining ones as
 * there is room for: those that `check` finds in the document without the invalid entries and
 * members, but for entries that refer to these. */
void wire_note_rest(const wire_table *table, const json_t *document,
                    void (*check)(const json_t *rest, gw_error_list *list));

void wire_say_nothing(const wire_table *table, void *owner);

/* The table of a kind of a union; NULL where the kind is excluded. */
const wire_table *wire_kind(const wire_table *table, int kind);

/* Name `i` of a CHOICE, NULL after the last; and the index of a struct's value. */
const char *wire_choice_name(const wire_field *field, int i);
int wire_chosen(const wire_field *field, const void *owner);

/* Writes the path as a JSON pointer, cut to the length of an error's. */
#define WIRE_POINTER 192
void wire_path_text(const wire_path *path, char out[WIRE_POINTER]);

/* Reads `count` numbers of an array. */
bool wire_get_numbers(const json_t *value, const wire_path *at, int count, double *out,
                      gw_error *error);

/* An array of numbers or vectors, or with `rows` an array of rows of them; the caller has checked
 * its size. */
typedef struct wire_net {
    bool rows;
    int count[2];     /* entries; or rows, and entries of each row */
    int numbers;      /* of an entry: 1, or 3 for a vector */
    const char *must; /* the error for a row of another length, formatted with that length */
} wire_net;
bool wire_get_net(const json_t *value, const wire_path *at, const wire_net *net, double *out,
                  gw_error *error);

json_t *wire_numbers(const double *values, int count, const wire_context *context);

/* Appends the entry and returns the list; where the entry is NULL, frees the list and returns
 * NULL. */
json_t *wire_append(json_t *list, json_t *entry);

/* ---- JSON Schema --------------------------------------------------------------------------- */

typedef enum wire_form { WIRE_DOCUMENT, WIRE_READ, WIRE_GIVEN, WIRE_PATCH } wire_form;

/* The schema of an object of this table: in a document, in an answer, in a request whose address
 * supplies some members, as a merge patch. */
json_t *wire_table_schema(const wire_table *table, wire_form form, const char *about);
json_t *wire_schema_ref(const char *component); /* {"$ref": ..} */

/* Schemas of the types above, for the types of other files. */
json_t *wire_schema_number(const wire_field *field);
json_t *wire_schema_numbers(const wire_field *field);
json_t *wire_schema_map(const wire_field *field);
json_t *wire_schema_boolean(const wire_field *field);
json_t *wire_schema_string(const wire_field *field);
json_t *wire_schema_id(const wire_field *field);
json_t *wire_schema_choice(const wire_field *field);
json_t *wire_schema_object(const wire_field *field);
json_t *wire_schema_list(const wire_field *field);

/* The settings of all drivers; `patch`: with null, which removes a setting. */
json_t *wire_settings_schema(bool patch);

/* Adds the component schemas of a table by their names. */
void wire_add_components(json_t *schemas, const wire_table *table);

/* ---- shapes that several files use --------------------------------------------------------- */

/* One for each array of the scene: wire_table_object, .. */
#define WIRE_TABLE(name, type, most, id) extern const wire_table wire_table_##name;
GW_SCENE_ARRAYS(WIRE_TABLE)

/* One declaration a line, so that additions of two tables do not conflict. */
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
