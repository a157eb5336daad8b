/*
 * The ticks before a fault: the list of recorded faults, and one of them as CSV.
 */
#include <assert.h>
#include <string.h>

#include "server/schema/field.h"

#define TOOL_CELLS 35 /* numbers of a tool in a row, and three switches */

static const wire_field of_fault[] = {
    {"number", WHOLE, AT(wire_fault, number)},
    {"cause", CHOICE, AT(wire_fault, why.cause), .choices = gw_halt_cause_names},
    {"by", STRING, AT(wire_fault, why.by), .about = "who halted: a client, or the loop itself"},
    {"since", UTC, AT(wire_fault, why.since_ns), .about = "UTC, ISO 8601"},
    {"ticks", WHOLE, AT(wire_fault, ticks), .about = "that are kept: GET /loop/faults/{id}"},
    {0}};
const wire_table wire_table_fault = {.name = "Fault",
                                     .about = "A halt or a force-off, with the ticks before it.",
                                     .fields = of_fault,
                                     .answered = true};

json_t *wire_fault_json(const wire_fault *fault)
{
    return wire_encode(&wire_table_fault, fault, NULL);
}

/* ---- CSV ---------------------------------------------------------------------------------------
 */

/* Column names, "p0x" of tool 0; SI units. */
static const char *const tool_columns[TOOL_CELLS] = {
    "px", "py", "pz", "qw", "qx",  "qy",  "qz",  "vx",  "vy",  "vz",  "wx", "wy",
    "wz", "dx", "dy", "dz", "dqw", "dqx", "dqy", "dqz", "fx",  "fy",  "fz", "tx",
    "ty", "tz", "lx", "ly", "lz",  "ux",  "uy",  "uz",  "utx", "uty", "utz"};

/* The same members in a tick's record: vectors, quaternions w first. */
#define PART(member)                                                                               \
    {                                                                                              \
        offsetof(gw_fault_tool, member), sizeof(((gw_fault_tool *)0)->member)                      \
    }
static const struct tool_part {
    size_t offset, size;
} tool_parts[] = {PART(tool),     PART(twist),        PART(device),
                  PART(operator), PART(constraint.f), PART(command)};

static void put_header(text_builder *s, int tools)
{
    text_put_format(s, "tick,t,state,moving,halted,missed");
    for (int i = 0; i < GW_STAGE_COUNT; i++)
        text_put_format(s, ",%s_us", gw_stage_names[i]);
    for (int t = 0; t < tools; t++) {
        for (int i = 0; i < TOOL_CELLS; i++)
            text_put_format(s, ",tool%d.%s", t, tool_columns[i]);
        text_put_format(s, ",tool%d.limited,tool%d.clutched,tool%d.dragging", t, t, t);
    }
    text_put_format(s, "\n");
}

static void put_tool(text_builder *s, const gw_fault_tool *t)
{
    double cells[TOOL_CELLS], *to = cells;
    for (size_t i = 0; i < sizeof tool_parts / sizeof *tool_parts; i++) {
        memcpy(to, (const char *)t + tool_parts[i].offset, tool_parts[i].size);
        to += tool_parts[i].size / sizeof *to;
    }
    assert(to == cells + TOOL_CELLS);
    for (int i = 0; i < TOOL_CELLS; i++)
        text_put_format(s, ",%.9g", cells[i]);
    text_put_format(s, ",%d,%d,%d", t->limited, t->clutched, t->dragging);
}

gw_text *wire_fault_csv(const gw_fault_tick *ticks, int count)
{
    int tools = 0;
    for (int i = 0; i < count; i++)
        tools = ticks[i].tool_count > tools ? ticks[i].tool_count : tools;
    text_builder s = {0};
    put_header(&s, tools);
    int64_t end = count ? ticks[count - 1].at_ns : 0;
    for (int i = 0; i < count; i++) {
        const gw_fault_tick *t = &ticks[i];
        text_put_format(&s, "%llu,%.6f,%s,%d,%d,%llu", (unsigned long long)t->tick,
                        1e-9 * (double)(t->at_ns - end), wire_run_states[t->state], t->moving,
                        t->halted, (unsigned long long)t->missed);
        for (int k = 0; k < GW_STAGE_COUNT; k++)
            text_put_format(&s, ",%.3f", t->stage_us[k]);
        for (int k = 0; k < tools; k++)
            put_tool(&s, &t->tools[k]);
        text_put_format(&s, "\n");
    }
    return text_take(&s);
}
