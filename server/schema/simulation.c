/*
 * The running simulation, its tools, bodies, contacts and joints.
 *
 * JSON has no infinity: infinite figures, of bodies that were put absurdly far away, are written as
 * the largest number, NaN as 0 (wire_context.clamp).
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/schema/field.h"

/* ---- names --------------------------------------------------------------------------------- */

/* The ids of an object's one-sided distances that are in contact: bit i stands for the i-th one. */
static json_t *walls_json(const gw_scene *scene, int object, uint64_t touching)
{
    json_t *walls = json_array();
    bool known = object >= 0 && object < scene->object_count;
    for (int i = 0; i < GW_MAX_UNILATERALS && known; i++) {
        int constraint = touching >> i & 1 ? gw_scene_unilateral(scene, object, i) : -1;
        if (constraint >= 0)
            json_array_append_new(walls, json_string(scene->constraints[constraint].id));
    }
    return walls;
}

/* The name of a body: an object's id or a link's name. */
ENCODE(encode_toucher)
{
    const gw_scene *scene = context->scene;
    gw_contact_body who = *(const gw_contact_body *)(const void *)((const char *)owner + f->offset);
    char name[GW_MAX_LINK_NAME + 1] = "";
    int joint = -1 - who;
    if (who >= 0)
        return json_string(who < scene->object_count ? scene->objects[who].id : "");
    for (int i = 0; i < scene->mechanism_count; i++) {
        const gw_mechanism *m = &scene->mechanisms[i];
        if (joint < m->link_count) {
            gw_link_name(m, joint, name);
            break;
        }
        joint -= m->link_count;
    }
    return json_string(name);
}

static const wire_type toucher = {NULL, encode_toucher, wire_schema_string};
static const wire_field an_id = {"id", ID}, a_number = {"number", NUMBER};

/* ---- tools --------------------------------------------------------------------------------- */

/* The resisted directions, as unit vectors of scaled coordinates. */
ENCODE(encode_directions)
{
    const gw_resisted_directions *r = owner;
    const wire_field weight = {.name = f->name};
    json_t *list = json_array();
    for (int i = 0; list && i < r->count && i < 6; i++)
        list = wire_append(list,
                           json_pack("{so so so}", "v", wire_numbers(r->direction[i], 3, context),
                                     "w", wire_numbers(r->direction[i] + 3, 3, context), "weight",
                                     NUMBER->encode(&weight, &r->weight[i], context)));
    return list;
}

static const wire_type directions = {NULL, encode_directions, wire_schema_list};
static const wire_field of_direction[] = {
    {"v", VEC3}, {"w", VEC3}, {"weight", NUMBER, RANGE(0, 1)}, {0}};
static const wire_table direction = {.fields = of_direction, .answered = true};

static const wire_field of_resisted[] = {
    {"length", NUMBER, AT(gw_resisted_directions, length), .about = "L", .unit = "m"},
    {"singular", NUMBERS, AT(gw_resisted_directions, singular), .most = 6},
    {"directions", &directions, .table = &direction, .most = 6,
     .about = "unit vectors, lengths divided by L"},
    {0}};
static const wire_table resisted_table = {.name = "Resisted",
                                          .about =
                                              "Directions in which the model holds the hand back.",
                                          .fields = of_resisted,
                                          .answered = true};

SCHEMA(schema_whole)
{
    return json_pack("{ss}", "type", "integer");
}

ENCODE(encode_held)
{
    if (strcmp(f->name, "link") == 0)
        return json_integer(context->tool->link);
    return json_string(f->name[0] == 'm' ? context->tool->mechanism : context->tool->object);
}

ENCODE(encode_tool_walls)
{
    const gw_tool_state *t = owner;
    return walls_json(context->scene, t->object, t->walls);
}

WHEN(holds_link, void, context->tool->mechanism[0] != 0)
WHEN(holds_object, void, !holds_link(owner, context))
WHEN(has_desired_mass, void, context->tool->desired.has_mass)
WHEN(is_impedance, void, context->tool->control != GW_CONTROL_ADMITTANCE)

static const wire_type held_id = {NULL, encode_held, wire_schema_id};
static const wire_type held_link = {NULL, encode_held, schema_whole};
static const wire_type tool_walls = {NULL, encode_tool_walls, wire_schema_list};

#define TOOL(member) AT(gw_tool_state, member)

static const wire_field of_map[] = {
    {"scale", NUMBER, TOOL(map_scale), .about = "device metres per metre of the task"},
    {"centre", VEC3, TOOL(map_centre), .about = "task point at the device's origin", .unit = "m"},
    {0}};
static const wire_table map = {.fields = of_map, .answered = true};

static const wire_field of_tool_state[] = {
    {"pose", OBJECT, TOOL(world_from_tool), .table = &wire_table_pose_read,
     .about = "of the virtual tool"},
    {"twist", OBJECT, TOOL(twist), .table = &wire_table_twist},
    {"device", OBJECT, TOOL(device), .table = &wire_table_pose_read,
     .about = "as measured, in task space"},
    {"workspace", OBJECT, .table = &map,
     .about = "the map between task and device as it is: stated, fitted to the set, centred anew"},
    {"operator", OBJECT, TOOL(operator), .table = &wire_table_wrench},
    {"constraint", OBJECT, TOOL(constraint), .table = &wire_table_wrench,
     .about =
         "lambda at the tool frame, world axes: the rate of momentum of what is held, the body "
         "or the link alone, less the weight, the hand and contacts; of a body what its "
         "constraints do to it, of a link what its neighbours do, their motors, damping, "
         "friction and limits with them"},
    {"force_normal", NUMBER, TOOL(force_normal), .unit = "N"},
    {"force_tangential", NUMBER, TOOL(force_tangential), .unit = "N"},
    {"error_p", NUMBER, TOOL(error_p), .unit = "m"},
    {"error_r", NUMBER, TOOL(error_r), .unit = "rad"},
    {"residual", NUMBER, TOOL(residual), .unit = "m"},
    {"travelling", BOOLEAN, TOOL(travelling)},
    {"clutched", BOOLEAN, TOOL(clutched)},
    {"limited", BOOLEAN, TOOL(limited)},
    {"dragging", BOOLEAN, TOOL(dragging)},
    {"mechanism", &held_id, .when = holds_link, .about = "instead of an object"},
    {"link", &held_link, .when = holds_link},
    {"object", &held_id, .when = holds_object},
    {"contact", OBJECT, TOOL(contact), .table = &wire_table_wrench,
     .about = "of the walls, at the tool frame"},
    {"walls", &tool_walls, .item = &an_id, .about = "that touch"},
    {"penetration", NUMBER, TOOL(depth), .unit = "m",
     .about = "of the wall that is passed most, 0: none is"},
    {"guided", BOOLEAN, TOOL(guide.active), .about = "the simulated robot holds the object"},
    {"too_light", WHOLE, TOOL(too_light), RANGE(0, 6), .when = has_desired_mass,
     .about = "in how many directions the desired mass is less than a hundredth of what moves "
              "there; a hundredth is felt"},
    {"command", OBJECT, TOOL(command), .when = is_impedance, .table = &wire_table_wrench,
     .about = "that the device exerts"},
    {"hand", OBJECT, TOOL(hand), .when = is_impedance, .table = &wire_table_wrench,
     .about = "as control took it"},
    {"impulse", OBJECT, TOOL(impulse), .when = is_impedance, .table = &wire_table_wrench,
     .about = "the impulsive part of the command"},
    {"resisted", OBJECT, TOOL(resisted), .when = is_impedance, .table = &resisted_table},
    {"port", NUMBER, TOOL(port), .when = is_impedance, .unit = "J",
     .about = "energy that came out of the device's port so far"},
    {"damped", NUMBER, TOOL(damped), .when = is_impedance, .unit = "J",
     .about = "of it by the passivity controller"},
    {"withheld", NUMBER, TOOL(withheld), .when = is_impedance, .unit = "N s",
     .about = "impulse that the device's limits dropped so far"},
    {0}};
const wire_table wire_table_tool_state = {.name = "ToolState",
                                          .about = "From command on: at impedance devices.",
                                          .fields = of_tool_state,
                                          .answered = true};

json_t *wire_tool_state(const gw_scene *scene, int index, const gw_tool_state *t)
{
    static const gw_tool none;
    const gw_tool *tool = index < scene->tool_count ? &scene->tools[index] : &none;
    const wire_context context = {.scene = scene, .tool = tool, .clamp = true};
    return wire_encode(&wire_table_tool_state, t, &context);
}

/* ---- contacts ------------------------------------------------------------------------------ */

static const char *const contact_states[] = {[GW_CONTACT_NONE] = "none",
                                             [GW_CONTACT_COLLIDING] = "colliding",
                                             [GW_CONTACT_CONTINUOUS] = "continuous",
                                             [GW_CONTACT_IMMOVABLE] = "jammed",
                                             NULL};

#define CONTACT(member) AT(gw_snapshot_contact, member)

WHEN(is_of_constraint, gw_snapshot_contact,
     it->constraint > 0 && it->constraint <= context->scene->constraint_count)

ENCODE(encode_constraint_id)
{
    const gw_snapshot_contact *c = owner;
    return json_string(context->scene->constraints[c->constraint - 1].id);
}

static const wire_type constraint_id = {NULL, encode_constraint_id, wire_schema_string};

static const wire_field of_contact_point[] = {
    {"a", &toucher, CONTACT(a)},
    {"b", &toucher, CONTACT(b)},
    {"constraint", &constraint_id, .flags = SOMETIMES, .when = is_of_constraint,
     .about = "that keeps them in touch, or from going through one another"},
    {"state", CHOICE, CONTACT(at.state), .choices = contact_states},
    {"point", VEC3, CONTACT(at.point), .unit = "m"},
    {"normal", VEC3, CONTACT(at.normal), .about = "from b towards a"},
    {"force", VEC3, CONTACT(at.force), .about = "on a: penalty and friction, or the constraint's",
     .unit = "N"},
    {"impulse", NUMBER, CONTACT(at.impulse), .about = "along the normal in the last tick",
     .unit = "N s"},
    {"gap", NUMBER, CONTACT(at.gap), .unit = "m; below zero a penetration"},
    {0}};
const wire_table wire_table_contact_point = {.name = "ContactPoint",
                                             .about =
                                                 "A contact that touches, or hit in the last tick; "
                                                 "or where surfaces touch that a two-sided "
                                                 "constraint keeps in touch.",
                                             .fields = of_contact_point,
                                             .answered = true};

json_t *wire_contacts(const gw_scene *scene, const gw_snapshot *s)
{
    const wire_context context = {.scene = scene, .clamp = true};
    json_t *list = json_array();
    for (int i = 0; list && i < s->contact_count && i < GW_MAX_SHOWN_CONTACTS; i++)
        list = wire_append(list, wire_encode(&wire_table_contact_point, &s->contacts[i], &context));
    return list;
}

#define HIT(member) AT(gw_snapshot_collision, member)

static const wire_field of_hit[] = {
    {"tick", WHOLE, HIT(tick)},
    {"a", &toucher, HIT(contact.a)},
    {"b", &toucher, HIT(contact.b)},
    {"point", VEC3, HIT(contact.at.point), .unit = "m"},
    {"normal", VEC3, HIT(contact.at.normal), .about = "from b towards a"},
    {"impulse", NUMBER, HIT(contact.at.impulse), .about = "along the normal", .unit = "N s"},
    {0}};
static const wire_table hit_table = {.name = "Hit",
                                     .about = "A collision of the last half second.",
                                     .fields = of_hit,
                                     .answered = true};

/* The collisions of the last half second, oldest first. */
ENCODE(encode_hits)
{
    const gw_snapshot *s = owner;
    json_t *list = json_array();
    uint64_t first =
        s->hit_count > GW_MAX_SHOWN_COLLISIONS ? s->hit_count - GW_MAX_SHOWN_COLLISIONS : 0;
    for (uint64_t i = first; list && i < s->hit_count; i++) {
        const gw_snapshot_collision *hit = &s->hits[i % GW_MAX_SHOWN_COLLISIONS];
        if (hit->tick + (uint64_t)context->rate / 2 >= s->tick)
            list = wire_append(list, wire_encode(&hit_table, hit, context));
    }
    return list;
}

#define COLLISION(member) AT(gw_snapshot_collision_state, member)

static const wire_field of_collision[] = {
    {"tick", WHOLE, COLLISION(tick)},
    {"contacts", WHOLE, COLLISION(of.contacts), .about = "that collided at once"},
    {"kinetic_before", NUMBER, COLLISION(of.kinetic_before),
     .about = "energy of the bodies that take part", .unit = "J"},
    {"kinetic_after", NUMBER, COLLISION(of.kinetic_after), .unit = "J"},
    {"impulse", NUMBER, COLLISION(of.impulse), .about = "sum along the normals", .unit = "N s"},
    {0}};
static const wire_table collision = {.name = "Collision",
                                     .about = "Contacts of the last half second that collided at "
                                              "once, resolved together.",
                                     .fields = of_collision,
                                     .answered = true};

/* The same as collision states, each with all its contacts. */
ENCODE(encode_collisions)
{
    const gw_snapshot *s = owner;
    const uint64_t room = GW_MAX_SHOWN_COLLISION_STATES;
    json_t *list = json_array();
    uint64_t first = s->collision_count > room ? s->collision_count - room : 0;
    for (uint64_t i = first; list && i < s->collision_count; i++) {
        const gw_snapshot_collision_state *state = &s->collisions[i % room];
        if (state->tick + (uint64_t)context->rate / 2 >= s->tick)
            list = wire_append(list, wire_encode(&collision, state, context));
    }
    return list;
}

static const wire_field of_contact_figures[] = {
    {"near", WHOLE, AT(gw_contact_statistics, near)},
    {"touching", WHOLE, AT(gw_contact_statistics, touching)},
    {"collisions", WHOLE, AT(gw_contact_statistics, collisions)},
    {"dissipated", NUMBER, AT(gw_contact_statistics, dissipated), .unit = "J"},
    {"generated", NUMBER, AT(gw_contact_statistics, generated),
     .unit = "J, numerically, before it was taken out again"},
    {"spring", NUMBER, AT(gw_contact_statistics, spring), .unit = "J, now"},
    {"impulse", NUMBER, AT(gw_contact_statistics, impulse),
     .about = "of all that hit in the last tick", .unit = "N s"},
    {0}};
static const wire_table contact_figures_table = {.name = "ContactFigures",
                                                 .about = "Sums since tick 0 and newest numbers.",
                                                 .fields = of_contact_figures,
                                                 .answered = true};

json_t *wire_contact_figures(const gw_contact_statistics *figures)
{
    return wire_encode(&contact_figures_table, figures, &(wire_context){.clamp = true});
}

/* ---- joints and bodies --------------------------------------------------------------------- */

json_t *wire_joints(const gw_scene *scene, int index, const gw_snapshot *s)
{
    assert(scene && s && index >= 0 && index < scene->mechanism_count);
    const gw_mechanism *m = &scene->mechanisms[index];
    const wire_context context = {.clamp = true};
    bool live = s->joint_count == gw_scene_joints(scene);
    int first = gw_scene_first_joint(scene, index);
    return json_pack("{so so}", "positions",
                     wire_numbers(live ? s->q + first : m->position, m->link_count, &context),
                     "velocities",
                     wire_numbers(live ? s->v + first : m->velocity, m->link_count, &context));
}

ENCODE(encode_mechanisms)
{
    const gw_scene *scene = context->scene;
    json_t *list = json_array();
    for (int i = 0; list && i < scene->mechanism_count; i++) {
        json_t *mechanism = wire_joints(scene, i, owner);
        json_object_set_new(mechanism, "id", json_string(scene->mechanisms[i].id));
        list = wire_append(list, mechanism);
    }
    return list;
}

static const wire_field of_moving[] = {
    {"id", ID},
    {"positions", LIST, .item = &a_number, .most = GW_MAX_LINKS, .unit = "rad or m"},
    {"velocities", LIST, .item = &a_number, .most = GW_MAX_LINKS, .unit = "rad/s or m/s"},
    {0}};
static const wire_table moving_mechanism = {.fields = of_moving, .answered = true};

ENCODE(encode_body_id)
{
    return json_string(context->scene->objects[((const gw_free_body *)owner)->object].id);
}

ENCODE(encode_body_walls)
{
    const gw_free_body *b = owner;
    return walls_json(context->scene, b->object, b->walls);
}

static const wire_type body_id = {NULL, encode_body_id, wire_schema_id};
static const wire_type body_walls = {NULL, encode_body_walls, wire_schema_list};

#define BODY(member) AT(gw_free_body, member)

static const wire_field of_free_body[] = {
    {"object", &body_id},
    {"pose", OBJECT, BODY(pose), .table = &wire_table_pose_read, .about = "of its frame"},
    {"twist", OBJECT, BODY(twist), .table = &wire_table_twist, .about = "v of its frame's origin"},
    {"constraint", OBJECT, BODY(constraint), .table = &wire_table_wrench},
    {"operator", OBJECT, BODY(operator), .table = &wire_table_wrench},
    {"dragging", BOOLEAN, BODY(dragging)},
    {"travelling", BOOLEAN, BODY(travelling),
     .about = "on its way onto the set that an edit gave it"},
    {"walls", &body_walls, .item = &an_id, .most = GW_MAX_UNILATERALS,
     .about = "one-sided distances that touch"},
    {0}};
static const wire_table free_body = {.fields = of_free_body, .answered = true};

/* The free objects with their states. */
ENCODE(encode_bodies)
{
    const gw_snapshot *s = owner;
    json_t *list = json_array();
    for (int i = 0; list && i < s->free_count; i++)
        if (s->free[i].object < context->scene->object_count)
            list = wire_append(list, wire_encode(&free_body, &s->free[i], context));
    return list;
}

/* ---- the simulation ------------------------------------------------------------------------ */

#define SNAPSHOT(member) AT(gw_snapshot, member)

static const wire_field of_tick_time[] = {{"p50", NUMBER, SNAPSHOT(tick_us_p50)},
                                          {"p99", NUMBER, SNAPSHOT(tick_us_p99)},
                                          {"max", NUMBER, SNAPSHOT(tick_us_max)},
                                          {0}};
static const wire_field of_lateness[] = {{"p50", NUMBER, SNAPSHOT(late_us_p50)},
                                         {"p99", NUMBER, SNAPSHOT(late_us_p99)},
                                         {"max", NUMBER, SNAPSHOT(late_us_max)},
                                         {0}};
static const wire_table spread_table = {.name = "Spread", .fields = of_tick_time, .answered = true};
static const wire_table lateness = {.name = "Spread", .fields = of_lateness, .answered = true};

ENCODE(encode_rate)
{
    return json_integer(context->rate);
}

static const wire_type loop_rate = {NULL, encode_rate, schema_whole};

static const wire_field of_loop[] = {
    {"rate", &loop_rate, .unit = "Hz"},
    {"tick_us", OBJECT, .table = &spread_table, .about = "cost of a tick", .unit = "us"},
    {"late_us", OBJECT, .table = &lateness, .about = "lateness of waking", .unit = "us"},
    {"overruns", WHOLE, SNAPSHOT(overruns)},
    {"limited_ticks", WHOLE, SNAPSHOT(limited_ticks)},
    {"real_time", BOOLEAN, SNAPSHOT(real_time)},
    {0}};
static const wire_table loop_table = {.name = "Loop", .fields = of_loop, .answered = true};

static const wire_field of_energy[] = {
    {"kinetic", NUMBER, SNAPSHOT(energy.kinetic)},
    {"potential", NUMBER, SNAPSHOT(energy.potential)},
    {"work_in", NUMBER, SNAPSHOT(energy.work_in)},
    {"dissipated", NUMBER, SNAPSHOT(energy.dissipated)},
    {"motors", NUMBER, SNAPSHOT(energy.motors), .about = "of mechanisms' motors"},
    {"edits", NUMBER, SNAPSHOT(energy.edits),
     .about = "what edits, geometry that moves and other control brought or took"},
    {"initial", NUMBER, SNAPSHOT(energy.initial),
     .about = "at tick 0: kinetic + potential = initial + work_in + motors + edits - dissipated"},
    {0}};
static const wire_table energy_table = {
    .name = "Energy", .about = "J", .fields = of_energy, .answered = true};

ENCODE(encode_tools)
{
    const gw_snapshot *s = owner;
    json_t *list = json_array();
    for (int i = 0; list && i < s->tool_count; i++)
        list = wire_append(list, wire_tool_state(context->scene, i, &s->tools[i]));
    return list;
}

ENCODE(encode_contacts)
{
    return wire_contacts(context->scene, owner);
}

static const wire_type tools = {NULL, encode_tools, wire_schema_list};
static const wire_type mechanisms = {NULL, encode_mechanisms, wire_schema_list};
static const wire_type bodies = {NULL, encode_bodies, wire_schema_list};
static const wire_type contacts = {NULL, encode_contacts, wire_schema_list};
static const wire_type hits = {NULL, encode_hits, wire_schema_list};
static const wire_type collisions = {NULL, encode_collisions, wire_schema_list};

const char *const wire_run_states[] = {
    [GW_STOPPED] = "stopped", [GW_RUNNING] = "running", [GW_PAUSED] = "paused", NULL};

static const wire_field of_halt[] = {
    {"cause", CHOICE, AT(gw_halt_record, cause), .choices = gw_halt_cause_names},
    {"by", STRING, AT(gw_halt_record, by), .about = "who halted: a client, or the loop itself"},
    {"since", UTC, AT(gw_halt_record, since_ns), .about = "UTC, ISO 8601"},
    {0}};
static const wire_table halt_table = {
    .name = "Halt", .about = "Why nothing moves until armed.", .fields = of_halt, .answered = true};

static const wire_field of_halted[] = {{"halted", BOOLEAN, .about = "true, until armed"},
                                       {"state", CHOICE, .choices = wire_run_states},
                                       {"tick", WHOLE},
                                       {"halt", OBJECT, .table = &halt_table},
                                       {"ignored", STRING, .flags = SOMETIMES,
                                        .about = "of the request: a halt takes no body or query"},
                                       {0}};
const wire_table wire_table_halted = {
    .name = "Halted",
    .about = "Answered before everything else, so no more than this: the rest is at /simulation.",
    .fields = of_halted,
    .answered = true};

bool wire_is_empty_object(const char *text)
{
    char first[2] = "", second[2] = "", more[2] = "";
    return sscanf(text, " %1[{] %1[}] %1s", first, second, more) == 2;
}

void wire_halted_text(const gw_halt_state *state, bool body, bool query,
                      char out[WIRE_HALTED_BYTES])
{
    static const char *const ignored[] = {"", ",\"ignored\":\"query\"", ",\"ignored\":\"body\"",
                                          ",\"ignored\":\"body and query\""};
    char since[WIRE_UTC];
    int run_state = state->run_state == GW_RUNNING ? GW_PAUSED : state->run_state; /* halted */
    wire_utc_text(state->record.since_ns, since);
    snprintf(out, WIRE_HALTED_BYTES,
             "{\"halted\":%s,\"state\":\"%s\",\"tick\":%llu,"
             "\"halt\":{\"cause\":\"%s\",\"by\":\"%s\",\"since\":\"%s\"}%s}",
             state->halted ? "true" : "false", wire_run_states[run_state],
             (unsigned long long)state->tick, gw_halt_cause_names[state->record.cause],
             state->record.by, since, ignored[2 * body + query]);
}

WHEN(is_halted, gw_snapshot, it->halted)
WHEN(is_operated, gw_snapshot, it->operated)

static const wire_field of_holder[] = {
    {"by", STRING, AT(gw_lease_holder, by), .about = "a client of the stream"},
    {"since", UTC, AT(gw_lease_holder, since_ns), .about = "UTC, ISO 8601"},
    {0}};
static const wire_table holder_table = {
    .name = "LeaseHolder",
    .about = "Who operates the devices that are latched: one client at a time, which renews its "
             "lease every 100 ms or is the dead man.",
    .fields = of_holder,
    .answered = true};

static const wire_field of_simulation[] = {
    {"state", CHOICE, SNAPSHOT(state), .choices = wire_run_states},
    {"halted", BOOLEAN, SNAPSHOT(halted),
     .about = "from a halt or a force-off until armed, whatever is loaded, edited or undone"},
    {"halt", OBJECT, SNAPSHOT(halt), .flags = SOMETIMES, .table = &halt_table, .when = is_halted},
    {"operator", OBJECT, SNAPSHOT(holder), .flags = SOMETIMES, .table = &holder_table,
     .when = is_operated},
    {"tick", WHOLE, SNAPSHOT(tick)},
    {"time", NUMBER, SNAPSHOT(time), .unit = "s"},
    {"revision", WHOLE, SNAPSHOT(revision)},
    {"missed", WHOLE, SNAPSHOT(missed),
     .about = "ticks that were due and not made, since the loop began"},
    {"loop", OBJECT, .table = &loop_table},
    {"energy", OBJECT, .table = &energy_table},
    {"tools", &tools, .table = &wire_table_tool_state, .most = GW_MAX_TOOLS},
    {"mechanisms", &mechanisms, .table = &moving_mechanism, .most = GW_MAX_MECHANISMS},
    {"bodies", &bodies, .table = &free_body, .most = GW_MAX_MOVING,
     .about = "free objects; what constraints to fixed ones and a hand do to them"},
    {"contacts", &contacts, .table = &wire_table_contact_point, .most = GW_MAX_SHOWN_CONTACTS},
    {"contact", OBJECT, SNAPSHOT(contact), .table = &contact_figures_table},
    {"hits", &hits, .table = &hit_table, .most = GW_MAX_SHOWN_COLLISIONS},
    {"collisions", &collisions, .table = &collision, .most = GW_MAX_SHOWN_COLLISION_STATES},
    {0}};
const wire_table wire_table_simulation = {
    .name = "Simulation", .fields = of_simulation, .answered = true};

json_t *wire_simulation(const gw_scene *scene, const gw_snapshot *s, int rate)
{
    return wire_encode(&wire_table_simulation, s,
                       &(wire_context){.scene = scene, .rate = rate, .clamp = true});
}
