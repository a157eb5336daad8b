/*
 * Tools: the held body, the device, and the control.
 */
#include "server/schema/field.h"

/* ---- control of impedance devices ---------------------------------------------------------- */

static const char *const jdots[] = {[GW_JDOT_FULL] = "full", [GW_JDOT_PAPER] = "paper", NULL};
static const char *const hands[] = {[GW_HAND_MEASURED] = "measured",
                                    [GW_HAND_ESTIMATED] = "estimated",
                                    [GW_HAND_UNKNOWN] = "unknown",
                                    NULL};
static const char *const weights[] = {
    [GW_WEIGHTS_SMOOTH] = "smooth", [GW_WEIGHTS_ON_OFF] = "on-off", NULL};

static const wire_field of_spring[] = {
    {"linear", NUMBER, AT(gw_spring_damper, linear), LOW(0), .unit = "N/m"},
    {"angular", NUMBER, AT(gw_spring_damper, angular), LOW(0), .unit = "N m/rad"},
    {"linear_damping", NUMBER, AT(gw_spring_damper, linear_damping), LOW(0), .unit = "N s/m"},
    {"angular_damping", NUMBER, AT(gw_spring_damper, angular_damping), LOW(0), .unit = "N m s/rad"},
    {0}};
static const wire_table rendering_spring_table = {.name = "Spring", .fields = of_spring};

#define RENDERING(member) AT(gw_impedance_def, member)

static const wire_field of_penalty[] = {
    {"stiffness", NUMBER, RENDERING(penalty), LOW(0), .unit = "1/s2"},
    {"damping", NUMBER, RENDERING(penalty_damping), LOW(0), .unit = "1/s"},
    {"by_mass", BOOLEAN, RENDERING(penalty_by_mass)},
    {0}};
static const wire_table penalty = {.fields = of_penalty};

INITIAL(default_rendering, gw_impedance_def, gw_tool_default().rendering)

static const wire_field of_rendering[] = {
    {"jdot", CHOICE, RENDERING(jdot), .choices = jdots},
    {"hand", CHOICE, RENDERING(hand), .choices = hands},
    {"length", NUMBER, RENDERING(resisted.length), LOW(0), .about = "L", .unit = "m"},
    {"threshold", NUMBER, RENDERING(resisted.threshold), RANGE(0, 1),
     .about = "of a singular value over the largest"},
    {"fade", NUMBER, RENDERING(resisted.fade), LOW(0), .about = "free from so many thresholds on"},
    {"weights", CHOICE, RENDERING(resisted.weighting), .choices = weights},
    {"coordination", OBJECT, RENDERING(coordination), .table = &rendering_spring_table,
     .about = "0: what the control needs; under four-channel it alone holds the device along "
              "resisted directions, where a push F leaves them F/linear apart, 1 cm a newton"},
    {"coupling", OBJECT, RENDERING(coupling), .table = &rendering_spring_table,
     .about = "0: as stiff as the bound allows"},
    {"penalty", OBJECT, .table = &penalty},
    {"passivity", BOOLEAN, RENDERING(passivity),
     .about = "no second brings energy out of the device's port; true unless stated"},
    {"mass_known", NUMBER, RENDERING(mass_known), RANGE(0, 10),
     .about = "what control takes the device's mass for, as a part of it"},
    {"slew", NUMBER, RENDERING(slew), LOW(0), .about = "of the command after a switch",
     .unit = "N/s; 0: 100"},
    {"impulse_budget", NUMBER, RENDERING(impulse_budget), LOW(0), .unit = "N s in a second; 0: 20"},
    {0}};
static const wire_table rendering_table = {.name = "Rendering",
                                           .about = "Control of an impedance device.",
                                           .fields = of_rendering,
                                           .size = sizeof(gw_impedance_def),
                                           .initial = default_rendering};

/* ---- the desired impedance ------------------------------------------------------------------- */

#define SIX(member) NUMBERS, AT(gw_desired_def, member), .least = 6, .most = 6

INITIAL(no_desired, gw_desired_def, (gw_desired_def){.has_mass = false})

static const wire_field of_desired[] = {
    {"mass", SIX(mass), HAS(gw_desired_def, has_mass),
     .about = "x, y, z, then about x, y, z of the tool frame, each more than 0; instead of the "
              "inertia of what is held. Where that is more than 100 times as heavy, a hundredth "
              "of it is felt; what is held by constraints or joints stays so",
     .unit = "kg, kg m2"},
    {"damping", SIX(damping), .flags = OMITTED, .about = "along and about the tool frame's axes",
     .unit = "N s/m, N m s/rad"},
    {"stiffness", SIX(stiffness), .flags = OMITTED,
     .about = "from the pose in which the tool took hold, tick 0 or the edit that stated it",
     .unit = "N/m, N m/rad"},
    {0}};
static const wire_table desired_table = {
    .name = "Desired",
    .about = "The impedance that the hand feels in place of the body's own: mass x'' + damping x' "
             "+ stiffness x = F of the hand + F of the environment.",
    .fields = of_desired,
    .size = sizeof(gw_desired_def),
    .initial = no_desired};

/* ---- members of a tool --------------------------------------------------------------------- */

static const wire_field of_gains[] = {{"p", NUMBER, AT(gw_gains, p), REQUIRED},
                                      {"i", NUMBER, AT(gw_gains, i), REQUIRED},
                                      {"d", NUMBER, AT(gw_gains, d), REQUIRED},
                                      {0}};
static const wire_table gains_table = {
    .name = "Gains", .about = "Of the PID in device coordinates.", .fields = of_gains};

static const wire_field of_workspace[] = {
    {"scale", NUMBER, AT(gw_workspace, scale), EXCLUSIVE, HAS(gw_workspace, has_scale), LOW(0),
     .must = "must be greater than 0", .about = "device metres per metre of the task"},
    {"centre", VEC3, AT(gw_workspace, centre), HAS(gw_workspace, has_centre), .unit = "m"},
    {0}};
static const wire_table workspace_table = {
    .name = "Workspace", .about = "Map between task and device.", .fields = of_workspace};

#define LIMIT(member, unit_)                                                                       \
    NUMBER, AT(gw_tool, member), LOW(0), .must = "must be 0 (no limit) or more", .unit = unit_

/* A limit, left out of answers where it is 0. */
#define SELDOM(member, unit_)                                                                      \
    NUMBER, AT(gw_tool, member), OMITTED, LOW(0), .must = "must be 0 (no limit) or more",          \
                                                  .unit = unit_

static const wire_field of_limits[] = {
    {"force", LIMIT(force_max, "N")},
    {"torque", LIMIT(torque_max, "N m")},
    {"speed", LIMIT(speed_max, "m/s")},
    {"spin", LIMIT(spin_max, "rad/s")},
    {"force_rate", SELDOM(force_rate_max, "N/s")},
    {"torque_rate", SELDOM(torque_rate_max, "N m/s")},
    {"acceleration", SELDOM(acceleration_max, "m/s2")},
    {"spin_acceleration", SELDOM(spin_acceleration_max, "rad/s2")},
    {"reach", SELDOM(reach_max, "m from the middle of the device's workspace")},
    {0}};
static const wire_table limits_table = {.name = "Limits", .about = "0: none.", .fields = of_limits};

/* ---- tools --------------------------------------------------------------------------------- */

INITIAL(default_tool, gw_tool, gw_tool_default())

/* Checks that the tool has "object", or "mechanism" with "link". */
HOOK(check_held)
{
    bool chain = json_object_get(value, "mechanism"), object = json_object_get(value, "object");
    const wire_path mechanism = {.parent = at, .name = "mechanism"};
    if (chain && object)
        return wire_refuse(&mechanism, error,
                           "takes \"object\" or \"mechanism\" with \"link\", not both");
    if (!chain && json_object_get(value, "link"))
        return wire_refuse(&(wire_path){.parent = at, .name = "link"}, error,
                           "a link is a mechanism's: give \"mechanism\"");
    if (!chain && !object)
        return wire_refuse(&(wire_path){.parent = at, .name = "object"}, error,
                           "object: is missing");
    if (chain && !json_object_get(value, "link"))
        ((gw_tool *)owner)->link = GW_LINK_TIP;
    return true;
}

HOOK(set_rendering)
{
    gw_tool *t = owner;
    if (t->control != GW_CONTROL_ADMITTANCE)
        t->rendering.kind = (gw_control_law)(t->control - GW_CONTROL_IMPEDANCE);
    return true;
}

WHEN(holds_link, gw_tool, it->mechanism[0] != 0)
WHEN(holds_object, void, !holds_link(owner, context))
WHEN(is_impedance, gw_tool, it->control != GW_CONTROL_ADMITTANCE)

static const char *const controls[] = {
    [GW_CONTROL_ADMITTANCE] = "admittance",     [GW_CONTROL_IMPEDANCE] = "impedance",
    [GW_CONTROL_PENALTY] = "penalty",           [GW_CONTROL_COUPLING] = "coupling",
    [GW_CONTROL_FOUR_CHANNEL] = "four-channel", NULL};

static const char *const grasps[] = {[GW_GRASP_RIGID] = "rigid", [GW_GRASP_POINT] = "point", NULL};

static const wire_field of_tool[] = {
    {"object", ID, AT(gw_tool, object), .when = holds_object},
    {"mechanism", ID, AT(gw_tool, mechanism), .when = holds_link, .about = "instead of an object",
     .must = "there is no mechanism \"\""},
    {"link", WHOLE, AT(gw_tool, link), RANGE(0, GW_MAX_LINKS - 1), .when = holds_link,
     .about = "number; may be left out where the mechanism states a tip"},
    {"at", OBJECT, AT(gw_tool, at), .table = &wire_table_pose},
    {"device", ID, AT(gw_tool, device), REQUIRED | IN_ADDRESS,
     .about = "a device of its own for each tool; several tools may hold one body"},
    {"grasp", CHOICE, AT(gw_tool, grasp), .flags = OMITTED, .choices = grasps,
     .about = "point: three components of force act and are felt at the tool frame's origin, the "
              "hand turns freely; rigid unless stated"},
    {"control", CHOICE, AT(gw_tool, control), .choices = controls,
     .about = "the last four at impedance devices"},
    {"rendering", OBJECT, AT(gw_tool, rendering), OMITTED, .when = is_impedance,
     .table = &rendering_table},
    {"desired", OBJECT, AT(gw_tool, desired), OMITTED, .table = &desired_table,
     .about = "left out: what is held is felt as it is. A body that two tools hold takes damping "
              "and stiffness, no mass"},
    {"start", OBJECT, AT(gw_tool, start), OMITTED, .when = is_impedance, .table = &wire_table_pose,
     .about = "of the device relative to the tool at tick 0, world axes"},
    {"substeps", WHOLE, AT(gw_tool, substeps), OMITTED, RANGE(1, GW_MAX_SUBSTEPS),
     .when = is_impedance, .about = "of control within a tick"},
    {"gains", OBJECT, AT(gw_tool, gains), HAS(gw_tool, has_gains), .table = &gains_table},
    {"workspace", OBJECT, AT(gw_tool, workspace), OMITTED, .table = &workspace_table},
    {"force_scale", NUMBER, AT(gw_tool, force_scale), .flags = OMITTED | EXCLUSIVE, LOW(0),
     .must = "must be greater than 0",
     .about = "the hand's force enters so many times and what the hand feels goes out divided by "
              "it: at 10 the hand feels a tenth of all masses and forces; 1 unless stated"},
    {"branch", STRING, AT(gw_tool, branch), OMITTED},
    {"limits", OBJECT, .flags = OMITTED, .table = &limits_table},
    {"rendered", OBJECT, .flags = READ_ONLY | SENT_BACK | SOMETIMES, .table = &wire_table_rendered},
    {"state", OBJECT, .flags = READ_ONLY | SENT_BACK | SOMETIMES, .table = &wire_table_tool_state},
    {0}};
const wire_table wire_table_tool = {
    .name = "Tool",
    .about = "Which object, or link of a mechanism, a hand holds, where, and with which device.",
    .read = {"ToolRead", "The tool; at an impedance device with its state."},
    .given = {"ToolGiven", "A tool; the device is a simulated one unless given. Its state is not "
                           "looked at."},
    .patch = {"ToolPatch", "Merge patch of the tool."},
    .fields = of_tool,
    .size = sizeof(gw_tool),
    .initial = default_tool,
    .before = check_held,
    .after = set_rendering};

CODEC(tool, gw_tool)
