/*
 * Materials, and the settings by which contacts are resolved.
 */
#include <stdlib.h>
#include <string.h>

#include "server/schema/field.h"

/* ---- materials ----------------------------------------------------------------------------- */

INITIAL(default_material, gw_material, (gw_material){.surface = gw_contact_material_default()})

static const wire_field of_material[] = {
    {"id", ID, AT(gw_material, id), REQUIRED},
    {"restitution", NUMBER, AT(gw_material, surface.restitution), RANGE(0, 1)},
    {"friction", NUMBER, AT(gw_material, surface.friction), HAS(gw_material, has_friction), LOW(0),
     .about = "Coulomb's mu; rolling and sliding contacts that may part have friction only where a "
              "material states it: else rolling never slips, and sliding is without friction"},
    {"stiffness", NUMBER, AT(gw_material, surface.stiffness), EXCLUSIVE, LOW(0), .unit = "N/m"},
    {"damping", NUMBER, AT(gw_material, surface.damping), LOW(0), .unit = "N s/m"},
    {0}};
const wire_table wire_table_material = {
    .name = "Material",
    .about = "What a surface is like; the default material's values unless given.",
    .patch = {"MaterialPatch", "Merge patch of a material. Another id renames it."},
    .fields = of_material,
    .size = sizeof(gw_material),
    .initial = default_material};

CODEC(material, gw_material)

/* ---- pairs that never touch ---------------------------------------------------------------- */

DECODE(decode_name)
{
    const char *name = json_string_value(value);
    if (!name || strlen(name) > GW_MAX_LINK_NAME)
        return wire_refuse(at, error, "must be the id of an object, or a link as mechanism.link");
    strcpy(owner, name);
    return true;
}

ENCODE(encode_name)
{
    return json_string(owner);
}

static const wire_type body_name = {decode_name, encode_name, wire_schema_string};
static const wire_field name = {"name", &body_name};
static const wire_field pair = {"pair", PAIR, .item = &name, .stride = offsetof(gw_pair_name, b),
                                .must =
                                    "must be two names, of objects or of links as mechanism.link"};

/* ---- settings ------------------------------------------------------------------------------ */

static const char *const models[] = {"exact", "local", NULL};
static const char *const impulses[] = {"pseudo-inverse", "non-adhesive", NULL};
static const char *const collidings[] = {"touching", "approaching", NULL};
static const char *const frictions[] = {"stick", "creep", NULL};
static const char *const impact_frictions[] = {"none", "coulomb", NULL};
static const char *const selves[] = {"relative", "each-link", NULL};

/* A 0 in the struct stands for the default, which is written as its number. */
DECODE(decode_or_default)
{
    return NUMBER->decode(f, value, at, owner, error);
}

ENCODE(encode_or_default)
{
    double x = *(const double *)(const void *)((const char *)owner + f->offset);
    bool rate = f->offset == offsetof(gw_scene_contact, rate);
    return json_real(x > 0 ? x : rate ? GW_CONTACT_RATE : GW_CONTACT_SPEED);
}

SCHEMA(schema_or_default)
{
    json_t *schema = NUMBER->schema(f);
    const gw_scene_contact none = {0};
    json_object_set_new(schema, "default", encode_or_default(f, &none, NULL));
    return schema;
}

static const wire_type number_or_default = {decode_or_default, encode_or_default,
                                            schema_or_default};

INITIAL(enabled_contact, gw_scene_contact, (gw_scene_contact){.enabled = true})

static void finish_contact(void *contact)
{
    free(((gw_scene_contact *)contact)->ignore);
    *(gw_scene_contact *)contact = (gw_scene_contact){0};
}

static const wire_field of_contact[] = {
    {"enabled", BOOLEAN, AT(gw_scene_contact, enabled), .about = "things touch"},
    {"model", CHOICE, AT(gw_scene_contact, local), .choices = models,
     .about = "local: the loop runs on a model that the world thread hands over"},
    {"rate", &number_or_default, AT(gw_scene_contact, rate), RANGE(10, 1000),
     .about = "of the world thread", .unit = "Hz"},
    {"impulse", CHOICE, AT(gw_scene_contact, rules.impulse), .choices = impulses},
    {"colliding", CHOICE, AT(gw_scene_contact, rules.colliding), .choices = collidings},
    {"friction", CHOICE, AT(gw_scene_contact, rules.friction), .choices = frictions},
    {"impact_friction", CHOICE, AT(gw_scene_contact, rules.impact_friction),
     .choices = impact_frictions,
     .about = "of collisions: impulses across contacts within their materials' friction"},
    {"self", CHOICE, AT(gw_scene_contact, rules.self_each_link), .choices = selves,
     .about = "whose restitution a self-contact keeps"},
    {"slip_speed", &number_or_default, AT(gw_scene_contact, rules.slip_speed), RANGE(0, 1),
     .unit = "m/s"},
    {"rest_speed", &number_or_default, AT(gw_scene_contact, rules.rest_speed), RANGE(0, 1),
     .about = "approaching slower, nothing bounces", .unit = "m/s"},
    {"ignore", LIST, AT(gw_scene_contact, ignore), .item = &pair,
     COUNTED(gw_scene_contact, ignore_count, gw_pair_name), .most = GW_MAX_IGNORED,
     .about = "pairs that never touch: objects, or links as mechanism.number"},
    {0}};
const wire_table wire_table_contact = {
    .name = "Contact",
    .about = "How contacts are resolved; enabled unless it says not.",
    .patch = {"ContactPatch", "Merge patch of the contacts' settings."},
    .fields = of_contact,
    .size = sizeof(gw_scene_contact),
    .initial = enabled_contact,
    .finish = finish_contact};

bool wire_get_contact(const json_t *value, const char *at, gw_scene_contact *c, gw_error *error)
{
    finish_contact(c);
    return wire_decode(&wire_table_contact, value, at, c, error);
}

ENCODER(contact, gw_scene_contact)
