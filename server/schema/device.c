/*
 * Devices with their drivers' settings, and their scripted operators.
 */
#include <stdio.h>
#include <string.h>

#include "server/schema/field.h"

/* ---- operators ----------------------------------------------------------------------------- */

static const wire_field of_sample[] = {
    {"t", NUMBER, AT(gw_wrench_sample, t), REQUIRED, .unit = "s since the operator took effect"},
    {"force", VEC3, AT(gw_wrench_sample, wrench.f), .unit = "N"},
    {"torque", VEC3, AT(gw_wrench_sample, wrench.t), .unit = "N m"},
    {0}};
static const wire_table wrench_sample_table = {.name = "WrenchSample", .fields = of_sample};

INITIAL(no_knot, gw_hand_knot, (gw_hand_knot){.pose = gw_pose_identity()})

static const wire_field of_knot[] = {{"t", NUMBER, AT(gw_hand_knot, t), REQUIRED, .unit = "s"},
                                     {"p", VEC3, AT(gw_hand_knot, pose.p), REQUIRED, .unit = "m"},
                                     {"q", QUAT, AT(gw_hand_knot, pose.q)},
                                     {0}};
static const wire_table hand_knot_table = {
    .name = "HandKnot", .fields = of_knot, .size = sizeof(gw_hand_knot), .initial = no_knot};

static bool check_time(const wire_path *at, const char *list, int index, double t, double before,
                       gw_error *error)
{
    const wire_path array = {.parent = at, .name = list};
    const wire_path entry = {.parent = &array, .index = (size_t)index};
    return t >= before || wire_refuse(&(wire_path){.parent = &entry, .name = "t"}, error,
                                      "t: is %g s, must be %g s or later", t, before);
}

/* Checks that times begin at 0 or later and do not decrease. */
HOOK(check_samples)
{
    const gw_operator *o = owner;
    for (int i = 0; i < o->count; i++)
        if (!check_time(at, "samples", i, o->samples[i].t, i ? o->samples[i - 1].t : 0, error))
            return false;
    return true;
}

HOOK(check_path)
{
    const gw_operator *o = owner;
    for (int i = 0; i < o->count; i++)
        if (!check_time(at, "path", i, o->path[i].t, i ? o->path[i - 1].t : 0, error))
            return false;
    return true;
}

static const wire_field of_none[] = {{0}};
static const wire_table no_operator = {.fields = of_none};

static const wire_field of_wrench_operator[] = {
    {"samples", LIST, AT(gw_operator, samples), REQUIRED, .table = &wrench_sample_table,
     COUNTED(gw_operator, count, gw_wrench_sample), .most = GW_MAX_SAMPLES},
    {0}};
static const wire_table wrench_operator = {.fields = of_wrench_operator, .after = check_samples};

#define FIGURE(member_, unit_)                                                                     \
    NUMBER, AT(gw_operator, member_), TELLS_VALUE, LOW(0), .must = "must be 0 (default) or more",  \
                                                           .unit = unit_

static const wire_field of_hand[] = {
    {"mass", FIGURE(mass, "kg")},
    {"stiffness", FIGURE(stiffness, "N/m")},
    {"damping", FIGURE(damping, "N s/m")},
    {"stiffness_angular", FIGURE(stiffness_angular, "N m/rad")},
    {"damping_angular", FIGURE(damping_angular, "N m s/rad")},
    {"path", LIST, AT(gw_operator, path), REQUIRED, .table = &hand_knot_table,
     COUNTED(gw_operator, count, gw_hand_knot), .most = GW_MAX_SAMPLES},
    {0}};
static const wire_table hand_operator = {.fields = of_hand, .after = check_path};

INITIAL(nobody, gw_operator, (gw_operator){0})
FINISH(finish_operator, gw_operator, gw_operator_finish(it))

static const char *const operator_types[] = {"none", "wrench", "hand", NULL};
static const wire_field of_operator[] = {
    {"type", CHOICE, AT(gw_operator, kind), REQUIRED, .choices = operator_types}, {0}};
static const wire_table *const operators[] = {
    [GW_OPERATOR_NONE] = &no_operator,
    [GW_OPERATOR_WRENCH] = &wrench_operator,
    [GW_OPERATOR_HAND] = &hand_operator,
};
static const wire_table wire_table_operator = {
    .name = "Operator",
    .about = "Who operates a simulated device: nobody, a script of wrenches held from their t to "
             "the next, or a hand that follows a path. 0 for a hand's figures: the default.",
    .patch = {"OperatorPatch", "Members of the operator; another type takes the place of all."},
    .fields = of_operator,
    .size = sizeof(gw_operator),
    .initial = nobody,
    .finish = finish_operator,
    .of_kind = operators};

CODEC(operator, gw_operator)

/* ---- settings: rows of the drivers' own tables --------------------------------------------- */

/* Numbers by name, and "profile"; checked against the driver's table with the whole scene. */
DECODE(decode_settings)
{
    gw_device *d = owner;
    const char *name;
    json_t *setting;
    if (!json_is_object(value))
        return wire_refuse(at, error, "must be an object");
    json_object_foreach((json_t *)value, name, setting)
    {
        const wire_path here = {.parent = at, .name = name};
        const wire_field profile = {.name = "profile", AT(gw_device, profile)};
        if (strcmp(name, "profile") == 0) {
            if (!STRING->decode(&profile, setting, &here, d, error))
                return false;
            continue;
        }
        if (d->setting_count == GW_MAX_SETTINGS || strlen(name) >= sizeof d->settings[0].name) {
            char where[WIRE_POINTER];
            wire_path_text(at, where);
            return gw_fail(error, GW_TOO_LARGE, where,
                           "at most %d settings with names below %zu characters", GW_MAX_SETTINGS,
                           sizeof d->settings[0].name);
        }
        gw_setting *s = &d->settings[d->setting_count++];
        strcpy(s->name, name);
        const wire_field number = {.name = name, AT(gw_setting, value)};
        if (!NUMBER->decode(&number, setting, &here, s, error))
            return false;
    }
    return true;
}

ENCODE(encode_settings)
{
    const gw_device *d = owner;
    json_t *settings = json_object();
    if (d->profile[0])
        json_object_set_new(settings, "profile", json_string(d->profile));
    for (int i = 0; i < d->setting_count; i++)
        json_object_set_new(settings, d->settings[i].name, json_real(d->settings[i].value));
    return settings;
}

SCHEMA(schema_settings)
{
    return wire_schema_ref("Settings");
}

static const wire_type settings = {decode_settings, encode_settings, schema_settings};
static const wire_table patched_settings = {.patch = {"SettingsPatch", NULL}};

/* Adds the driver's profiles that are not in the list. */
static void add_profiles(json_t *list, const gw_driver *driver)
{
    for (const char *const *profile = driver->profiles; *profile; profile++) {
        bool there = false;
        for (size_t i = 0; i < json_array_size(list); i++)
            there = there || strcmp(json_string_value(json_array_get(list, i)), *profile) == 0;
        if (!there)
            json_array_append_new(list, json_string(*profile));
    }
}

/* The settings of all drivers, each with its meaning and range; in a merge patch null removes
 * one. */
json_t *wire_settings_schema(bool patch)
{
    json_t *members = json_object(), *profiles = json_array();
    for (const gw_driver *const *driver = gw_drivers; *driver; driver++) {
        add_profiles(profiles, *driver);
        for (int i = 0; i < (*driver)->setting_count; i++) {
            const gw_driver_setting *s = &(*driver)->settings[i];
            json_object_set_new(members, s->name,
                                json_pack("{ss so}", "type", "number", "description",
                                          json_sprintf("%s (%s)", s->meaning, s->unit)));
        }
    }
    json_object_set_new(members, "profile",
                        json_pack("{ss so}", "type", "string", "enum", profiles));
    const char *name;
    json_t *member;
    json_t *properties = json_object();
    json_object_foreach(members, name, member)
    {
        json_t *schema = json_incref(member);
        json_object_set_new(properties, name,
                            patch ? json_pack("{s[o{ss}]}", "anyOf", schema, "type", "null")
                                  : schema);
    }
    json_decref(members);
    return json_pack("{ss ss so sb}", "type", "object", "description",
                     patch ? "Members of the settings."
                           : "Of the simulated devices, SI; 0: ideal. Which a driver takes: GET "
                             "/drivers.",
                     "properties", properties, "additionalProperties", 0);
}

/* ---- devices ------------------------------------------------------------------------------- */

static const char *device_class(int kind)
{
    return kind <= GW_DEVICE_IMPEDANCE ? gw_device_class_name((gw_device_class)kind) : NULL;
}

static const wire_field of_info[] = {
    {"class", CHOICE, AT(gw_device_info, class), .name_of = device_class},
    {"measures_wrench", BOOLEAN, AT(gw_device_info, measures_wrench)},
    {"workspace_radius", NUMBER, AT(gw_device_info, workspace_radius), .unit = "m"},
    {"force_max", NUMBER, AT(gw_device_info, force_max), .unit = "N"},
    {"torque_max", NUMBER, AT(gw_device_info, torque_max), .unit = "N m"},
    {"speed_max", NUMBER, AT(gw_device_info, speed_max), .unit = "m/s"},
    {"spin_max", NUMBER, AT(gw_device_info, spin_max), .unit = "rad/s"},
    {"quantum", NUMBER, AT(gw_device_info, quantum), .unit = "m"},
    {"quantum_angular", NUMBER, AT(gw_device_info, quantum_angular), .unit = "rad"},
    {"stiffness", NUMBER, AT(gw_device_info, stiffness), .unit = "N/m"},
    {"stiffness_angular", NUMBER, AT(gw_device_info, stiffness_angular), .unit = "N m/rad"},
    {"bandwidth", NUMBER, AT(gw_device_info, bandwidth), .unit = "Hz"},
    {"mass", NUMBER, AT(gw_device_info, mass), .unit = "kg",
     .about = "of what moves with the hand, impedance devices"},
    {"inertia", NUMBER, AT(gw_device_info, inertia), .unit = "kg m2, about any axis"},
    {"damping", NUMBER, AT(gw_device_info, damping), .about = "viscous", .unit = "N s/m"},
    {"damping_angular", NUMBER, AT(gw_device_info, damping_angular), .unit = "N m s/rad"},
    {"delay", NUMBER, AT(gw_device_info, delay), .unit = "s",
     .about = "from a command to its force, beyond the tick"},
    {"velocity_delay", NUMBER, AT(gw_device_info, velocity_delay), .unit = "s",
     .about = "by which the velocity that it tells is old"},
    {"planar", BOOLEAN, AT(gw_device_info, planar),
     .about = "moves in x, y and turns about z only"},
    {0}};
static const wire_table wire_table_device_info = {
    .name = "DeviceInfo",
    .about = "What the driver tells of the device, SI; 0: unlimited, exact or unknown.",
    .fields = of_info,
    .answered = true};

INITIAL(no_device, gw_device, (gw_device){0})
FINISH(finish_device, gw_device, gw_operator_finish(&it->operator))

/* The names of the two values; where neither is stated the driver's default applies. */
static const char *const safeties[] = {"latched", "lenient", NULL};
static const wire_field safety_word = {.name = "safety", .choices = safeties, .size = sizeof(int)};

DECODE(decode_safety)
{
    int word = 0;
    if (!CHOICE->decode(&safety_word, value, at, &word, error))
        return false;
    ((gw_device *)owner)->safety = word == 0 ? GW_SAFETY_LATCHED : GW_SAFETY_LENIENT;
    return true;
}

ENCODE(encode_safety)
{
    return wire_safety(owner);
}

json_t *wire_safety(const gw_device *device)
{
    return json_string(safeties[gw_device_latched(device) ? 0 : 1]);
}

SCHEMA(schema_safety)
{
    return wire_schema_choice(&safety_word);
}

WHEN(states_safety, gw_device, it->safety != GW_SAFETY_BY_DRIVER)

static const wire_type safety = {decode_safety, encode_safety, schema_safety};

static const wire_field of_device[] = {
    {"id", ID, AT(gw_device, id), REQUIRED},
    {"driver", STRING, AT(gw_device, driver), REQUIRED},
    {"profile", STRING, AT(gw_device, profile), WRITE_ONLY}, /* read among the settings */
    {"settings", &settings, .table = &patched_settings},
    {"operator", OBJECT, AT(gw_device, operator), .table = &wire_table_operator},
    {"safety", &safety, .when = states_safety,
     .about = "latched: once the loop stalls or the device falls silent it is off until armed; "
              "lenient: that is reported, and it goes on. Without a word latched where the device "
              "moves, lenient where it is simulated; answers of /devices tell which"},
    {"info", OBJECT, .flags = READ_ONLY | SENT_BACK | SOMETIMES, .table = &wire_table_device_info},
    {0}};
const wire_table wire_table_device = {.name = "Device",
                                      .read = {"DeviceRead", NULL},
                                      .patch = {"DevicePatch", "Merge patch of a device."},
                                      .fields = of_device,
                                      .size = sizeof(gw_device),
                                      .initial = no_device,
                                      .finish = finish_device};

CODEC(device, gw_device)

ENCODER(device_info, gw_device_info)

/* ---- drivers ------------------------------------------------------------------------------- */

static const wire_field of_setting[] = {
    {"name", TEXT, AT(gw_driver_setting, name)},
    {"unit", TEXT, AT(gw_driver_setting, unit)},
    {"meaning", TEXT, AT(gw_driver_setting, meaning)},
    {"ideal", NUMBER, AT(gw_driver_setting, ideal), .about = "the value without a profile"},
    {"low", NUMBER, AT(gw_driver_setting, low)},
    {"high", NUMBER, AT(gw_driver_setting, high)},
    {0}};
static const wire_table setting = {.fields = of_setting, .answered = true};

ENCODE(encode_profiles)
{
    json_t *list = json_array();
    add_profiles(list, owner);
    return list;
}

static const wire_field a_text = {"text", TEXT};
static const wire_type profiles = {NULL, encode_profiles, wire_schema_list};

static const wire_field of_driver[] = {
    {"name", TEXT, AT(gw_driver, name)},
    {"class", CHOICE, AT(gw_driver, class), .name_of = device_class},
    {"profiles", &profiles, .item = &a_text},
    {"settings", LIST, AT(gw_driver, settings), .table = &setting,
     COUNTED(gw_driver, setting_count, gw_driver_setting)},
    {0}};
const wire_table wire_table_driver = {.name = "Driver", .fields = of_driver, .answered = true};

ENCODER(driver, gw_driver)
