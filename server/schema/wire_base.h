/*
 * Readers of single JSON members, shared by the files of wire. Each returns false with an error
 * that names the member's pointer and what would be right; an absent member that is not required
 * leaves the output as it is. Any server thread; no state.
 */
#ifndef GW_SERVER_SCHEMA_WIRE_BASE_H
#define GW_SERVER_SCHEMA_WIRE_BASE_H

#include "server/schema/wire.h"

/* Room for a JSON pointer into a document of at most GW_MAX_JSON_DEPTH levels. */
#define WIRE_POINTER 192

typedef enum wire_need { WIRE_OPTIONAL, WIRE_REQUIRED } wire_need;

/* at + "/" + name, escaped (RFC 6901), cut to WIRE_POINTER bytes. */
void wire_pointer(char out[WIRE_POINTER], const char *at, const char *name);
void wire_pointer_index(char out[WIRE_POINTER], const char *at, size_t index);

/* The value is an object and has no member beyond `allowed` (NULL-terminated). */
bool wire_open(const json_t *value, const char *at, const char *const *allowed, gw_error *error);

/* The member, or NULL; false only where it is required and absent. */
bool wire_member(const json_t *object, const char *at, const char *name, wire_need need,
                 const json_t **member, gw_error *error);

bool wire_number(const json_t *object, const char *at, const char *name, wire_need need,
                 double *out, gw_error *error);
/* A whole number within low .. high. */
bool wire_whole(const json_t *object, const char *at, const char *name, wire_need need,
                long long low, long long high, long long *out, gw_error *error);
bool wire_bool(const json_t *object, const char *at, const char *name, bool *out, gw_error *error);
/* A string that fits `size` bytes with its zero. */
bool wire_string(const json_t *object, const char *at, const char *name, wire_need need, char *out,
                 size_t size, gw_error *error);
/* An id that may be left out, and then stays empty; a given one may not be. */
bool wire_id(const json_t *object, const char *at, const char *name, char out[GW_MAX_ID + 1],
             gw_error *error);
/* One of `names` (NULL-terminated): its index. */
bool wire_choice(const json_t *object, const char *at, const char *name, wire_need need,
                 const char *const *names, int *out, gw_error *error);
bool wire_vec3_member(const json_t *object, const char *at, const char *name, wire_need need,
                      gw_vec3 *out, gw_error *error);
bool wire_pose_member(const json_t *object, const char *at, const char *name, gw_pose *out,
                      gw_error *error);
/* A vector of any length but zero, normalised. */
bool wire_direction_member(const json_t *object, const char *at, const char *name, wire_need need,
                           gw_vec3 *out, gw_error *error);
/* `count` finite numbers. */
bool wire_numbers(const json_t *value, const char *at, int count, double *out, gw_error *error);
/* An array, at most `most` long. */
bool wire_array(const json_t *object, const char *at, const char *name, wire_need need, size_t most,
                const json_t **out, gw_error *error);

/* Refuses member `name` as something that a later version brings: GW_NOT_YET. `what` begins the
 * sentence, "recordings come with". */
bool wire_not_yet(const char *at, const char *name, const char *what, gw_error *error);

/* {"point"} or {"line":{"point","direction"}} or {"plane":{"point","normal"}}; other members of
 * `object` are not looked at. */
bool wire_get_element(const json_t *object, const char *at, gw_element *element, gw_error *error);

/* A solid, compounds too, decoded and checked; it is the caller's to finish. */
bool wire_get_shape(const json_t *value, const char *at, gw_shape *shape, gw_error *error);
json_t *wire_shape(const gw_shape *shape);

/* The mesh of that name, or its hull, from where this thread's come. */
gw_mesh *wire_find_mesh(const char *file, bool convex, gw_error *error);

/* The names of gw_constraint_kind, gw_sense and gw_bound in their order, NULL-terminated. */
extern const char *const wire_constraint_types[];
extern const char *const wire_senses[];
extern const char *const wire_bounds[];

#endif
