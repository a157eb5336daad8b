/*
 * JSON Schemas from tables of fields: the component schemas of the OpenAPI document.
 */
#include "server/schema/field.h"

#include <string.h>

#define MOST_KINDS 32 /* of a union */

/* ---- describing a table -------------------------------------------------------------------- */

json_t *wire_schema_ref(const char *component)
{
    return json_pack("{so}", "$ref", json_sprintf("#/components/schemas/%s", component));
}

static json_t *nullable_schema(json_t *schema)
{
    return json_pack("{s[o{ss}]}", "anyOf", schema, "type", "null");
}

static void add_words(json_t *schema, const wire_field *f)
{
    if (f->about && f->unit)
        json_object_set_new(schema, "description", json_sprintf("%s (%s)", f->about, f->unit));
    else if (f->about || f->unit)
        json_object_set_new(schema, "description", json_string(f->about ? f->about : f->unit));
}

static bool has_plain_value(const wire_field *f)
{
    return f->type == NUMBER || f->type == WHOLE || f->type == BOOLEAN || f->type == CHOICE ||
           f->type == VEC3 || f->type == DIRECTION || f->type == QUAT;
}

static void add_default(json_t *schema, const wire_table *t, const wire_field *f)
{
    _Alignas(max_align_t) char initial[WIRE_TABLE_BYTES];
    if (!t->initial || !has_plain_value(f) || f->flags & (REQUIRED | READ_ONLY | SOMETIMES) ||
        f->has_flag || f->kinds || (f->when && !(f->flags & OMITTED)))
        return;
    wire_say_nothing(t, initial);
    json_object_set_new(schema, "default", f->type->encode(f, initial, NULL));
}

/* A member of a merge patch: objects are patched, other values are replaced, null removes. */
static json_t *patch_schema(const wire_field *f)
{
    const wire_table *t = f->type->schema == wire_schema_list ? NULL : f->table;
    if (t && t->patch.name)
        return wire_schema_ref(t->patch.name);
    if (!t || !t->patch.about)
        return f->type->schema(f);
    json_t *patched = wire_table_schema(t, WIRE_PATCH, NULL);
    if (f->type == OBJECT)
        return patched;
    return json_pack("{s[oo]}", "anyOf", patched, f->type->schema(f)); /* or something else */
}

static json_t *field_schema(const wire_table *t, const wire_field *f, wire_form form)
{
    json_t *schema = form == WIRE_PATCH ? patch_schema(f) : f->type->schema(f);
    add_words(schema, f);
    if (form == WIRE_DOCUMENT || form == WIRE_GIVEN)
        add_default(schema, t, f);
    return form == WIRE_PATCH ? nullable_schema(schema) : schema;
}

static bool is_described(const wire_table *t, const wire_field *f, wire_form form)
{
    if (f->flags & READ_ONLY)
        return form == WIRE_READ || t->answered || (form != WIRE_DOCUMENT && f->flags & SENT_BACK);
    return form != WIRE_READ || !(f->flags & WRITE_ONLY);
}

static bool is_required(const wire_table *t, const wire_field *f, wire_form form)
{
    if (form == WIRE_PATCH)
        return false;
    if (f->flags & ALTERNATIVE)
        return true;
    if (form == WIRE_READ || t->answered)
        return !(f->flags & (OMITTED | SOMETIMES)) && !f->has_flag && !f->when && !f->kinds;
    return f->flags & REQUIRED && !(form == WIRE_GIVEN && f->flags & IN_ADDRESS);
}

/* True where both schemas accept the same values; descriptions may differ. */
static bool same_values(const json_t *a, const json_t *b)
{
    json_t *one = json_copy((json_t *)a), *two = json_copy((json_t *)b);
    json_object_del(one, "description");
    json_object_del(two, "description");
    bool same = json_equal(one, two);
    json_decref(one);
    json_decref(two);
    return same;
}

/* Adds the schema of a member, ownership passes. Where kinds of a union have different members of
 * one name, a merge patch, which does not state the kind, accepts any of them. */
static void describe_member(json_t *properties, const char *name, json_t *schema)
{
    json_t *taken = json_object_get(json_object_get(properties, name), "anyOf"), *each;
    json_t *mine = json_array_get(json_object_get(schema, "anyOf"), 0);
    size_t i;
    bool there = !taken || !mine;
    json_array_foreach(taken, i, each) there = there || same_values(each, mine);
    if (there) {
        json_object_set_new(properties, name, schema);
        return;
    }
    json_array_insert(taken, 0, mine);
    json_decref(schema);
}

/* `one`: the only ALTERNATIVE member to describe; NULL: all. */
static void describe_fields(const wire_table *t, wire_form form, const wire_field *one,
                            json_t *properties, json_t *required)
{
    for (const wire_field *f = t->fields; f->name; f++) {
        if (!is_described(t, f, form) || (one && f->flags & ALTERNATIVE && f != one))
            continue;
        describe_member(properties, f->name, field_schema(t, f, form));
        if (is_required(t, f, form))
            json_array_append_new(required, json_string(f->name));
    }
}

static json_t *object_schema(const char *about, json_t *properties, json_t *required)
{
    json_t *schema = json_pack("{ss}", "type", "object");
    if (about)
        json_object_set_new(schema, "description", json_string(about));
    json_object_set_new(schema, "properties", properties);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

/* One alternative of a union: the kinds from `first` on that share its table. */
static json_t *variant_schema(const wire_table *t, int first, wire_form form)
{
    const wire_table *variant = wire_kind(t, first);
    const char *names[MOST_KINDS + 1] = {NULL};
    int count = 0;
    for (int i = first; wire_choice_name(&t->fields[0], i) && count < MOST_KINDS; i++)
        if (wire_kind(t, i) == variant)
            names[count++] = wire_choice_name(&t->fields[0], i);
    json_t *properties = json_object(), *required = json_array();
    const wire_field kind = {.type = CHOICE, .choices = names};
    describe_fields(t, form, NULL, properties, required);
    json_object_set_new(properties, t->fields[0].name, wire_schema_choice(&kind));
    describe_fields(variant, form, NULL, properties, required);
    return object_schema(variant->about, properties, required);
}

/* True where an earlier kind has the same table, or the kind is excluded. */
static bool is_repeated(const wire_table *t, int kind)
{
    for (int i = 0; i < kind; i++)
        if (wire_kind(t, i) == wire_kind(t, kind))
            return true;
    return !wire_kind(t, kind);
}

static json_t *one_of(json_t *alternatives, const char *about)
{
    json_t *schema = json_object();
    if (about)
        json_object_set_new(schema, "description", json_string(about));
    json_object_set_new(schema, "oneOf", alternatives);
    return schema;
}

static json_t *union_schema(const wire_table *t, wire_form form, const char *about)
{
    json_t *alternatives = json_array();
    for (int i = 0; wire_choice_name(&t->fields[0], i); i++)
        if (!is_repeated(t, i))
            json_array_append_new(alternatives, wire_kind(t, i)->name
                                                    ? wire_schema_ref(wire_kind(t, i)->name)
                                                    : variant_schema(t, i, form));
    return one_of(alternatives, about);
}

/* An object with exactly one of several members, such as an element. */
static json_t *alternatives_schema(const wire_table *t, wire_form form, const char *about)
{
    json_t *alternatives = json_array();
    for (const wire_field *f = t->fields; f->name; f++) {
        if (!(f->flags & ALTERNATIVE) || !is_described(t, f, form))
            continue;
        json_t *properties = json_object(), *required = json_array();
        describe_fields(t, form, f, properties, required);
        json_array_append_new(alternatives, object_schema(NULL, properties, required));
    }
    return one_of(alternatives, about);
}

static bool has_alternatives(const wire_table *t)
{
    for (const wire_field *f = t->fields; f->name; f++)
        if (f->flags & ALTERNATIVE)
            return true;
    return false;
}

json_t *wire_table_schema(const wire_table *t, wire_form form, const char *about)
{
    if (t->of_kind && form != WIRE_PATCH)
        return union_schema(t, form, about);
    if (has_alternatives(t) && form != WIRE_PATCH)
        return alternatives_schema(t, form, about);
    json_t *properties = json_object(), *required = json_array();
    describe_fields(t, form, NULL, properties, required);
    for (int i = 0; t->of_kind && wire_choice_name(&t->fields[0], i); i++)
        if (wire_kind(t, i))
            describe_fields(wire_kind(t, i), form, NULL, properties, required);
    return object_schema(about, properties, required);
}

static void add_component(json_t *schemas, const wire_table *t, wire_form form,
                          const wire_component *as)
{
    if (as->name)
        json_object_set_new(schemas, as->name, wire_table_schema(t, form, as->about));
}

static void add_components_of(json_t *schemas, const wire_field *fields)
{
    for (const wire_field *f = fields; f->name; f++) {
        if (f->table)
            wire_add_components(schemas, f->table);
        if (f->item && f->item->table)
            wire_add_components(schemas, f->item->table);
    }
}

void wire_add_components(json_t *schemas, const wire_table *t)
{
    bool by_hand = !t->fields, there = t->name && json_object_get(schemas, t->name);
    if (by_hand || there)
        return;
    add_component(schemas, t, WIRE_DOCUMENT, &(wire_component){t->name, t->about});
    add_component(schemas, t, WIRE_READ, &t->read);
    add_component(schemas, t, WIRE_GIVEN, &t->given);
    add_component(schemas, t, WIRE_PATCH, &t->patch);
    add_components_of(schemas, t->fields);
    for (int i = 0; t->of_kind && wire_choice_name(&t->fields[0], i); i++) {
        if (is_repeated(t, i))
            continue;
        if (wire_kind(t, i)->name)
            json_object_set_new(schemas, wire_kind(t, i)->name,
                                variant_schema(t, i, WIRE_DOCUMENT));
        add_components_of(schemas, wire_kind(t, i)->fields);
    }
}
