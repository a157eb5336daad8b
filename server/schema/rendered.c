/*
 * The rendered stiffness and mass beside those that a tool requests.
 */
#include <math.h>

#include "server/schema/field.h"

WHEN(has_bound, gw_rendered_value, isfinite(it->bound))

static const wire_field of_value[] = {
    {"requested", NUMBER, AT(gw_rendered_value, requested), .about = "0: nothing was"},
    {"applied", NUMBER, AT(gw_rendered_value, applied)},
    {"bound", NUMBER, AT(gw_rendered_value, bound), .flags = SOMETIMES, .when = has_bound,
     .about = "of stiffness the most that sampling bears or the device's structure has, of mass "
              "the least that is calm; missing where there is none"},
    {"why", CHOICE, AT(gw_rendered_value, why), .choices = gw_renderable_reason_names,
     .about =
         "as-asked: within every bound; default: nothing was asked for; passivity: beyond "
         "the sampling bound, the passivity controller takes what comes out; sampling-bound: "
         "the same, and it is off; device-mass: this control leaves the device its own mass; "
         "smallest-mass: a stiff hand may ring with so little; device-stiffness: the device's own "
         "structure gives way as well"},
    {0}};
static const wire_table rendered_value_table = {
    .name = "RenderedValue", .fields = of_value, .answered = true};

#define VALUE(member, unit_)                                                                       \
    OBJECT, AT(gw_rendered, member), .table = &rendered_value_table, .unit = unit_

WHEN(has_springs, gw_rendered, it->impedance)
WHEN(has_penalty, gw_rendered, it->impedance && it->law == GW_LAW_PENALTY)
WHEN(has_desired, gw_rendered, it->desired.requested > 0)
WHEN(has_desired_angular, gw_rendered, it->desired_angular.requested > 0)
WHEN(has_reach, gw_rendered, it->reach > 0)

static const wire_field of_rendered[] = {
    {"mass", VALUE(mass, "kg"), .about = "1e6 where the tool can be moved nowhere"},
    {"inertia", VALUE(inertia, "kg m2"), .about = "1e6 where it can be turned about no axis"},
    {"stiffness", VALUE(stiffness, "N/m"), .flags = SOMETIMES, .when = has_springs,
     .about = "of coordination or coupling"},
    {"stiffness_angular", VALUE(stiffness_angular, "N m/rad"), .flags = SOMETIMES,
     .when = has_springs},
    {"desired_stiffness", VALUE(desired, "N/m"), .flags = SOMETIMES, .when = has_desired,
     .about = "the stiffest axis of the tool's desired impedance"},
    {"desired_stiffness_angular", VALUE(desired_angular, "N m/rad"), .flags = SOMETIMES,
     .when = has_desired_angular},
    {"penalty", VALUE(penalty, "N/m"), .flags = SOMETIMES, .when = has_penalty,
     .about = "along resisted directions"},
    {"limited_beyond", NUMBER, AT(gw_rendered, reach), .flags = SOMETIMES, .when = has_reach,
     .unit = "m", .about = "of stretch: the device's force limit is met there"},
    {0}};
const wire_table wire_table_rendered = {
    .name = "Rendered",
    .about = "What is applied of the stiffness and mass that is asked for, and why. Sampling: "
             "b > K (T/2 + delay) + |B|, b the device's friction, T a step of control.",
    .fields = of_rendered,
    .answered = true};

json_t *wire_rendered(const gw_rendered *rendered)
{
    return wire_encode(&wire_table_rendered, rendered, &(wire_context){.clamp = true});
}
