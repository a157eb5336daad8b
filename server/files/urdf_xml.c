/*
 * Reads a robot description's XML with expat: its grammar, its attributes, and what is refused
 * whatever it says. Elements that nobody asked for are passed over, whatever they hold. Any server
 * thread.
 */
#include "server/files/urdf_xml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    urdf_element in;
    const char *name;
    urdf_element is;
} grammar[] = {{ELEMENT_OUTSIDE, "robot", ELEMENT_ROBOT},
               {ELEMENT_ROBOT, "link", ELEMENT_LINK},
               {ELEMENT_ROBOT, "joint", ELEMENT_JOINT},
               {ELEMENT_LINK, "inertial", ELEMENT_INERTIAL},
               {ELEMENT_LINK, "visual", ELEMENT_SOLID},
               {ELEMENT_LINK, "collision", ELEMENT_SOLID},
               {ELEMENT_INERTIAL, "origin", ELEMENT_INERTIAL_ORIGIN},
               {ELEMENT_INERTIAL, "mass", ELEMENT_MASS},
               {ELEMENT_INERTIAL, "inertia", ELEMENT_INERTIA},
               {ELEMENT_SOLID, "origin", ELEMENT_SOLID_ORIGIN},
               {ELEMENT_SOLID, "geometry", ELEMENT_GEOMETRY},
               {ELEMENT_GEOMETRY, "box", ELEMENT_BOX},
               {ELEMENT_GEOMETRY, "cylinder", ELEMENT_CYLINDER},
               {ELEMENT_GEOMETRY, "capsule", ELEMENT_CAPSULE},
               {ELEMENT_GEOMETRY, "sphere", ELEMENT_SPHERE},
               {ELEMENT_GEOMETRY, "mesh", ELEMENT_MESH},
               {ELEMENT_JOINT, "origin", ELEMENT_JOINT_ORIGIN},
               {ELEMENT_JOINT, "parent", ELEMENT_PARENT},
               {ELEMENT_JOINT, "child", ELEMENT_CHILD},
               {ELEMENT_JOINT, "axis", ELEMENT_AXIS},
               {ELEMENT_JOINT, "limit", ELEMENT_LIMIT},
               {ELEMENT_JOINT, "dynamics", ELEMENT_DYNAMICS},
               {ELEMENT_JOINT, "mimic", ELEMENT_MIMIC}};

unsigned urdf_xml_line(const urdf_xml *xml)
{
    return (unsigned)XML_GetCurrentLineNumber(xml->parser);
}

bool urdf_xml_refuse(urdf_xml *xml, gw_error_code code, const char *format, ...)
{
    char message[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!xml->failed)
        gw_fail(xml->error, code, "", "line %u: %s", urdf_xml_line(xml), message);
    xml->failed = true;
    XML_StopParser(xml->parser, XML_FALSE);
    return false;
}

/* ---- attributes ----------------------------------------------------------------------------- */

const char *urdf_attribute(const urdf_xml *xml, const char *name)
{
    for (const char **a = xml->attributes; *a; a += 2)
        if (strcmp(a[0], name) == 0)
            return a[1];
    return NULL;
}

bool urdf_name(urdf_xml *xml, const char *name, char out[URDF_NAME])
{
    const char *text = urdf_attribute(xml, name);
    if (!text || !*text)
        return urdf_xml_refuse(xml, GW_BAD_INPUT, "<%s> needs the attribute %s, a name", xml->name,
                               name);
    if (strlen(text) >= URDF_NAME)
        return urdf_xml_refuse(xml, GW_TOO_LARGE,
                               "<%s %s=\"%.40s...\">: a name has at most %d characters", xml->name,
                               name, text, URDF_NAME - 1);
    strcpy(out, text);
    return true;
}

bool urdf_numbers(urdf_xml *xml, const char *name, int count, double *out)
{
    const char *text = urdf_attribute(xml, name), *at = text;
    double values[6];
    int found = 0;
    if (!text)
        return true;
    for (char *end; found < count; found++, at = end) {
        values[found] = strtod(at, &end);
        if (end == at || !(fabs(values[found]) <= GW_MAX_COORDINATE) ||
            memchr(at, 'x', (size_t)(end - at)))
            break;
    }
    while (at && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    if (found < count || *at)
        return urdf_xml_refuse(xml, GW_BAD_INPUT, "<%s %s=\"%.60s\">: %d finite number%s expected",
                               xml->name, name, text, count, count > 1 ? "s are" : " is");
    memcpy(out, values, (size_t)count * sizeof *out);
    return true;
}

bool urdf_number(urdf_xml *xml, const char *name, bool required, double *out)
{
    if (required && !urdf_attribute(xml, name))
        return urdf_xml_refuse(xml, GW_BAD_INPUT, "<%s> needs the attribute %s, a number",
                               xml->name, name);
    return urdf_numbers(xml, name, 1, out);
}

bool urdf_length(urdf_xml *xml, const char *name, double *out)
{
    if (!urdf_number(xml, name, true, out))
        return false;
    return *out > 0 ||
           urdf_xml_refuse(xml, GW_BAD_INPUT, "<%s %s=\"%s\">: must be greater than 0 (m)",
                           xml->name, name, urdf_attribute(xml, name));
}

bool urdf_origin(urdf_xml *xml, gw_pose *pose)
{
    double p[3] = {0}, a[3] = {0};
    if (!urdf_numbers(xml, "xyz", 3, p) || !urdf_numbers(xml, "rpy", 3, a))
        return false;
    gw_quat q = gw_quat_mul(
        gw_quat_axis(gw_v3(0, 0, 1), a[2]),
        gw_quat_mul(gw_quat_axis(gw_v3(0, 1, 0), a[1]), gw_quat_axis(gw_v3(1, 0, 0), a[0])));
    *pose = (gw_pose){gw_v3(p[0], p[1], p[2]), q};
    return true;
}

/* ---- expat ---------------------------------------------------------------------------------- */

static void XMLCALL on_start(void *user, const char *name, const char **attributes)
{
    urdf_xml *xml = user;
    urdf_element in = xml->depth > 0 ? xml->stack[xml->depth - 1] : ELEMENT_OUTSIDE,
                 is = ELEMENT_PASSED_OVER;
    if (xml->failed)
        return;
    xml->name = name;
    xml->attributes = attributes;
    if (xml->depth == URDF_MAX_DEPTH) {
        urdf_xml_refuse(xml, GW_TOO_LARGE, "<%.40s> stands more than %d elements deep", name,
                        URDF_MAX_DEPTH);
        return;
    }
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++)
        if (grammar[i].in == in && strcmp(grammar[i].name, name) == 0)
            is = grammar[i].is;
    if (in == ELEMENT_OUTSIDE && is != ELEMENT_ROBOT) {
        urdf_xml_refuse(xml, GW_BAD_INPUT,
                        "<%.40s> is not a robot description: <robot> is expected", name);
        return;
    }
    if (strncmp(name, "xacro:", 6) == 0) {
        urdf_xml_refuse(xml, GW_BAD_INPUT, "<%.40s>: macros must be expanded before (xacro FILE)",
                        name);
        return;
    }
    xml->stack[xml->depth++] = is;
    urdf_element_begin(xml, is);
}

static void XMLCALL on_end(void *user, const char *name)
{
    urdf_xml *xml = user;
    (void)name;
    if (!xml->failed)
        xml->depth--;
}

/* Entities are how a kilobyte becomes a gigabyte. */
static void XMLCALL on_doctype(void *user, const char *name, const char *system, const char *public,
                               int internal)
{
    (void)name, (void)system, (void)public, (void)internal;
    urdf_xml_refuse(user, GW_BAD_INPUT,
                    "<!DOCTYPE ...>: document types and entities are not accepted");
}

static bool parse(urdf_xml *xml, const char *text, size_t length)
{
    XML_SetUserData(xml->parser, xml);
    XML_SetElementHandler(xml->parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(xml->parser, on_doctype);
    if (XML_Parse(xml->parser, text, (int)length, 1) == XML_STATUS_OK && !xml->failed)
        return true;
    if (!xml->failed)
        urdf_xml_refuse(xml, GW_BAD_INPUT, "this is not well-formed XML: %s",
                        XML_ErrorString(XML_GetErrorCode(xml->parser)));
    return false;
}

bool urdf_xml_read(urdf_tree *tree, const char *text, size_t length, gw_error *error)
{
    urdf_xml xml = {.parser = XML_ParserCreate(NULL), .tree = tree, .error = error};
    if (!xml.parser)
        return gw_fail(error, GW_FAILED, "", "no memory for a robot description");
    bool ok = parse(&xml, text, length);
    XML_ParserFree(xml.parser);
    return ok;
}
