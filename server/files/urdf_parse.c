/*
 * Parses a robot description from XML into the tree of its links: the grammar, the elements'
 * contents, and links and joints joined by name into one tree. Unknown elements are skipped with
 * their contents. Document types and entities are refused, since their expansion can be of any
 * size. Any server thread.
 */
#include "server/files/urdf_tree.h"

#include <assert.h>
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements, by their meaning here. */
typedef enum urdf_element {
    ELEMENT_OUTSIDE,
    ELEMENT_ROBOT,
    ELEMENT_LINK,
    ELEMENT_INERTIAL,
    ELEMENT_INERTIAL_ORIGIN,
    ELEMENT_MASS,
    ELEMENT_INERTIA,
    ELEMENT_SOLID,
    ELEMENT_SOLID_ORIGIN,
    ELEMENT_GEOMETRY,
    ELEMENT_BOX,
    ELEMENT_CYLINDER,
    ELEMENT_CAPSULE,
    ELEMENT_SPHERE,
    ELEMENT_MESH,
    ELEMENT_JOINT,
    ELEMENT_JOINT_ORIGIN,
    ELEMENT_PARENT,
    ELEMENT_CHILD,
    ELEMENT_AXIS,
    ELEMENT_LIMIT,
    ELEMENT_DYNAMICS,
    ELEMENT_MIMIC,
    ELEMENT_PASSED_OVER
} urdf_element;

typedef struct reading {
    XML_Parser parser;
    urdf_tree *tree;
    urdf_element stack[URDF_MAX_DEPTH];
    int depth;
    gw_error *error;
    bool failed;
    const char *name; /* of the current element */
    const char **attributes;
} reading;

/* ---- refusals -------------------------------------------------------------------------------- */

static unsigned line_of(const reading *xml)
{
    return (unsigned)XML_GetCurrentLineNumber(xml->parser);
}

/* Stops parsing with an error; returns false. */
static __attribute__((format(printf, 3, 4))) bool refuse(reading *xml, gw_error_code code,
                                                         const char *format, ...)
{
    char message[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!xml->failed)
        gw_fail(xml->error, code, "", "line %u: %s", line_of(xml), message);
    xml->failed = true;
    XML_StopParser(xml->parser, XML_FALSE);
    return false;
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* An attribute of the current element; NULL where it is missing. */
static const char *attribute_of(const reading *xml, const char *name)
{
    for (const char **a = xml->attributes; *a; a += 2)
        if (strcmp(a[0], name) == 0)
            return a[1];
    return NULL;
}

static bool read_name(reading *xml, const char *name, char out[URDF_NAME])
{
    const char *text = attribute_of(xml, name);
    if (!text || !*text)
        return refuse(xml, GW_BAD_INPUT, "<%s> needs the attribute %s, a name", xml->name, name);
    if (strlen(text) >= URDF_NAME)
        return refuse(xml, GW_TOO_LARGE, "<%s %s=\"%.40s...\">: a name has at most %d characters",
                      xml->name, name, text, URDF_NAME - 1);
    strcpy(out, text);
    return true;
}

/* Reads `count` numbers, at most 6, separated by white space; `out` is unchanged where the
 * attribute is missing. */
static bool read_numbers(reading *xml, const char *name, int count, double *out)
{
    const char *text = attribute_of(xml, name), *at = text;
    double values[6];
    int found = 0;
    assert(count >= 1 && count <= 6);
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
        return refuse(xml, GW_BAD_INPUT, "<%s %s=\"%.60s\">: %d finite number%s expected",
                      xml->name, name, text, count, count > 1 ? "s are" : " is");
    memcpy(out, values, (size_t)count * sizeof *out);
    return true;
}

static bool read_number(reading *xml, const char *name, bool required, double *out)
{
    if (required && !attribute_of(xml, name))
        return refuse(xml, GW_BAD_INPUT, "<%s> needs the attribute %s, a number", xml->name, name);
    return read_numbers(xml, name, 1, out);
}

/* A length in m, required; sets `sizeless` where it is not above 0. */
static bool read_length(reading *xml, const char *name, bool *sizeless, double *out)
{
    if (!read_number(xml, name, true, out))
        return false;
    *sizeless = *sizeless || !(*out > 0);
    return true;
}

/* Reads xyz and rpy: rotations about the fixed axes x, y, z, in this order. */
static bool read_origin(reading *xml, gw_pose *pose)
{
    double p[3] = {0}, a[3] = {0};
    if (!read_numbers(xml, "xyz", 3, p) || !read_numbers(xml, "rpy", 3, a))
        return false;
    gw_quat q = gw_quat_mul(
        gw_quat_axis(gw_v3(0, 0, 1), a[2]),
        gw_quat_mul(gw_quat_axis(gw_v3(0, 1, 0), a[1]), gw_quat_axis(gw_v3(1, 0, 0), a[0])));
    *pose = (gw_pose){gw_v3(p[0], p[1], p[2]), q};
    return true;
}

/* ---- contents of elements -------------------------------------------------------------------- */

/* Appends a zeroed element to an array; NULL with an error. */
static void *append_element(reading *xml, void **array, int *count, int most, size_t size,
                            const char *what)
{
    if (*count >= most) {
        refuse(xml, GW_TOO_LARGE, "there are more than %d %s", most, what);
        return NULL;
    }
    if ((*count & (*count - 1)) == 0) { /* full: its room is a power of two */
        void *grown = realloc(*array, size * (size_t)(*count > 0 ? 2 * *count : 1));
        if (!grown) {
            refuse(xml, GW_FAILED, "no memory");
            return NULL;
        }
        *array = grown;
    }
    char *added = (char *)*array + size * (size_t)(*count)++;
    memset(added, 0, size);
    return added;
}

static void begin_link(reading *xml)
{
    urdf_tree *t = xml->tree;
    urdf_link *link = append_element(xml, (void **)&t->links, &t->link_count, URDF_MAX_LINKS,
                                     sizeof *link, "links");
    if (!link || !read_name(xml, "name", link->name))
        return;
    link->inertial = gw_pose_identity();
    link->parent_joint = -1;
    link->line = line_of(xml);
}

static void begin_joint(reading *xml)
{
    static const char *const types[] = {"revolute", "continuous", "prismatic",
                                        "fixed",    "planar",     "floating"};
    urdf_tree *t = xml->tree;
    urdf_joint *joint = append_element(xml, (void **)&t->joints, &t->joint_count, URDF_MAX_LINKS,
                                       sizeof *joint, "joints");
    char type[URDF_NAME];
    if (!joint || !read_name(xml, "name", joint->name) || !read_name(xml, "type", type))
        return;
    snprintf(joint->type_name, sizeof joint->type_name, "%.31s", type);
    joint->type = URDF_OTHER_JOINT;
    for (int i = 0; i < URDF_OTHER_JOINT; i++)
        if (strcmp(type, types[i]) == 0)
            joint->type = (urdf_joint_type)i;
    joint->origin = gw_pose_identity();
    joint->axis = gw_v3(1, 0, 0);
    joint->line = line_of(xml);
}

static void begin_solid(reading *xml)
{
    urdf_tree *t = xml->tree;
    urdf_solid *solid = append_element(xml, (void **)&t->solids, &t->solid_count, URDF_MAX_SOLIDS,
                                       sizeof *solid, "visual and collision elements");
    if (!solid)
        return;
    solid->link = t->link_count - 1;
    solid->collision = strcmp(xml->name, "collision") == 0;
    solid->pose = gw_pose_identity();
}

static void read_shape(reading *xml, urdf_element what, urdf_solid *solid)
{
    double size[3] = {0};
    gw_shape *shape = &solid->shape;
    const char *mesh = attribute_of(xml, "filename");
    if (what == ELEMENT_MESH) {
        if (!mesh || strlen(mesh) >= URDF_NAME)
            refuse(xml, GW_BAD_INPUT,
                   "<mesh> needs the attribute filename, of at most %d characters", URDF_NAME - 1);
        else
            strcpy(solid->mesh, mesh);
        return;
    }
    shape->kind = what == ELEMENT_BOX        ? GW_SHAPE_BOX
                  : what == ELEMENT_SPHERE   ? GW_SHAPE_SPHERE
                  : what == ELEMENT_CYLINDER ? GW_SHAPE_CYLINDER
                                             : GW_SHAPE_CAPSULE;
    if (what == ELEMENT_BOX) {
        if (!attribute_of(xml, "size"))
            refuse(xml, GW_BAD_INPUT, "<box> needs the attribute size, three lengths (m)");
        else if (read_numbers(xml, "size", 3, size))
            solid->sizeless = !(size[0] > 0 && size[1] > 0 && size[2] > 0);
        shape->size = gw_v3(size[0], size[1], size[2]);
    } else if (read_length(xml, "radius", &solid->sizeless, &shape->radius) &&
               what != ELEMENT_SPHERE) {
        read_length(xml, "length", &solid->sizeless, &shape->height);
    }
    solid->has_shape = !solid->sizeless;
}

static void read_inertia(reading *xml, urdf_link *link)
{
    static const char *const names[] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    link->has_inertia = true;
    for (int i = 0; i < 6 && !xml->failed; i++)
        read_number(xml, names[i], i < 3, &link->inertia[i]);
}

static void read_axis(reading *xml, urdf_joint *joint)
{
    double a[3] = {1, 0, 0};
    if (!read_numbers(xml, "xyz", 3, a))
        return;
    joint->axis = gw_unit(gw_v3(a[0], a[1], a[2]));
    if (!(gw_norm(joint->axis) > 0.5))
        refuse(xml, GW_BAD_INPUT, "<axis xyz=\"%.60s\"> of joint \"%s\": must not be zero",
               attribute_of(xml, "xyz"), joint->name);
}

static void read_mimic(reading *xml, urdf_joint *joint)
{
    joint->mimics = true;
    joint->multiplier = 1;
    if (read_name(xml, "joint", joint->mimicked) &&
        read_number(xml, "multiplier", false, &joint->multiplier))
        read_number(xml, "offset", false, &joint->offset);
}

/* True where the element applies to the joint's type: a fixed joint has no coordinates, and a
 * floating one no axis; its damping is read for a note. */
static bool is_element_read(const urdf_joint *joint, urdf_element what)
{
    bool coordinates = what == ELEMENT_AXIS || what == ELEMENT_LIMIT || what == ELEMENT_DYNAMICS ||
                       what == ELEMENT_MIMIC;
    bool floats = joint->type == URDF_FLOATING && what != ELEMENT_DYNAMICS;
    return !coordinates || (joint->type != URDF_FIXED && !floats);
}

static bool read_size(reading *xml, const char *name, const urdf_joint *joint, double *out)
{
    if (!read_number(xml, name, false, out))
        return false;
    return *out >= 0 ||
           refuse(xml, GW_BAD_INPUT, "<%s %s=\"%g\"> of joint \"%s\": must be 0 or more", xml->name,
                  name, *out, joint->name);
}

static void read_mass(reading *xml, urdf_link *link)
{
    if (read_number(xml, "value", true, &link->mass) && !(link->mass >= 0))
        refuse(xml, GW_BAD_INPUT, "<mass value=\"%g\"> of link \"%s\": must be 0 or more (kg)",
               link->mass, link->name);
}

static void read_limit(reading *xml, urdf_joint *joint)
{
    joint->has_limit = true;
    if (read_number(xml, "lower", false, &joint->lower) &&
        read_number(xml, "upper", false, &joint->upper) &&
        read_number(xml, "effort", false, &joint->effort))
        read_number(xml, "velocity", false, &joint->speed);
}

/* Handles the start of an element; inside a link, joint or solid it belongs to the last one
 * begun. */
static void begin_element(reading *xml, urdf_element what)
{
    urdf_tree *t = xml->tree;
    urdf_link *link = t->link_count > 0 ? &t->links[t->link_count - 1] : NULL;
    urdf_joint *joint = t->joint_count > 0 ? &t->joints[t->joint_count - 1] : NULL;
    urdf_solid *solid = t->solid_count > 0 ? &t->solids[t->solid_count - 1] : NULL;
    if (joint && !is_element_read(joint, what))
        return;
    switch (what) {
    case ELEMENT_ROBOT:
        if (attribute_of(xml, "name"))
            read_name(xml, "name", t->name);
        break;
    case ELEMENT_LINK:
        begin_link(xml);
        break;
    case ELEMENT_JOINT:
        begin_joint(xml);
        break;
    case ELEMENT_SOLID:
        begin_solid(xml);
        break;
    case ELEMENT_INERTIAL:
        link->has_inertial = true;
        break;
    case ELEMENT_INERTIAL_ORIGIN:
        read_origin(xml, &link->inertial);
        break;
    case ELEMENT_MASS:
        read_mass(xml, link);
        break;
    case ELEMENT_INERTIA:
        read_inertia(xml, link);
        break;
    case ELEMENT_SOLID_ORIGIN:
        read_origin(xml, &solid->pose);
        break;
    case ELEMENT_BOX:
    case ELEMENT_CYLINDER:
    case ELEMENT_CAPSULE:
    case ELEMENT_SPHERE:
    case ELEMENT_MESH:
        read_shape(xml, what, solid);
        break;
    case ELEMENT_JOINT_ORIGIN:
        read_origin(xml, &joint->origin);
        break;
    case ELEMENT_PARENT:
        read_name(xml, "link", joint->parent);
        break;
    case ELEMENT_CHILD:
        read_name(xml, "link", joint->child);
        break;
    case ELEMENT_AXIS:
        read_axis(xml, joint);
        break;
    case ELEMENT_LIMIT:
        read_limit(xml, joint);
        break;
    case ELEMENT_DYNAMICS:
        if (read_size(xml, "damping", joint, &joint->damping))
            read_size(xml, "friction", joint, &joint->friction);
        break;
    case ELEMENT_MIMIC:
        read_mimic(xml, joint);
        break;
    case ELEMENT_OUTSIDE:
    case ELEMENT_GEOMETRY:
    case ELEMENT_PASSED_OVER:
        break;
    }
}

/* ---- the grammar ----------------------------------------------------------------------------- */

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

/* ---- expat ---------------------------------------------------------------------------------- */

static void XMLCALL on_start(void *user, const char *name, const char **attributes)
{
    reading *xml = user;
    urdf_element in = xml->depth > 0 ? xml->stack[xml->depth - 1] : ELEMENT_OUTSIDE,
                 is = ELEMENT_PASSED_OVER;
    if (xml->failed)
        return;
    xml->name = name;
    xml->attributes = attributes;
    if (xml->depth == URDF_MAX_DEPTH) {
        refuse(xml, GW_TOO_LARGE, "<%.40s> stands more than %d elements deep", name,
               URDF_MAX_DEPTH);
        return;
    }
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++)
        if (grammar[i].in == in && strcmp(grammar[i].name, name) == 0)
            is = grammar[i].is;
    if (in == ELEMENT_OUTSIDE && is != ELEMENT_ROBOT) {
        refuse(xml, GW_BAD_INPUT, "<%.40s> is not a robot description: <robot> is expected", name);
        return;
    }
    if (strncmp(name, "xacro:", 6) == 0) {
        refuse(xml, GW_BAD_INPUT, "<%.40s>: macros must be expanded before (xacro FILE)", name);
        return;
    }
    xml->stack[xml->depth++] = is;
    begin_element(xml, is);
}

static void XMLCALL on_end(void *user, const char *name)
{
    reading *xml = user;
    (void)name;
    if (!xml->failed)
        xml->depth--;
}

static void XMLCALL on_doctype(void *user, const char *name, const char *system, const char *public,
                               int internal)
{
    (void)name, (void)system, (void)public;
    if (internal) /* external subsets are never read */
        refuse(user, GW_BAD_INPUT,
               "<!DOCTYPE ..[..]>: document types with entities are not accepted");
}

static bool parse_xml(reading *xml, const char *text, size_t length)
{
    XML_SetUserData(xml->parser, xml);
    XML_SetElementHandler(xml->parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(xml->parser, on_doctype);
    if (XML_Parse(xml->parser, text, (int)length, 1) == XML_STATUS_OK && !xml->failed)
        return true;
    if (!xml->failed)
        refuse(xml, GW_BAD_INPUT, "this is not well-formed XML: %s",
               XML_ErrorString(XML_GetErrorCode(xml->parser)));
    return false;
}

static bool read_xml(urdf_tree *tree, const char *text, size_t length, gw_error *error)
{
    reading xml = {.parser = XML_ParserCreate(NULL), .tree = tree, .error = error};
    if (!xml.parser)
        return gw_fail(error, GW_FAILED, "", "no memory for a robot description");
    bool ok = parse_xml(&xml, text, length);
    XML_ParserFree(xml.parser);
    return ok;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static int link_named(const urdf_tree *t, const char *name)
{
    for (int i = 0; i < t->link_count; i++)
        if (strcmp(t->links[i].name, name) == 0)
            return i;
    return -1;
}

static bool join_links(urdf_tree *t, int index, gw_error *error)
{
    urdf_joint *j = &t->joints[index];
    const char *ends[] = {j->parent, j->child};
    j->from = link_named(t, j->parent);
    j->to = link_named(t, j->child);
    for (int i = 0; i < 2; i++)
        if ((i == 0 ? j->from : j->to) < 0)
            return gw_fail(error, GW_BAD_INPUT, "",
                           "line %u: <%s link=\"%s\"> of joint \"%s\": there is no such link",
                           j->line, i == 0 ? "parent" : "child", ends[i], j->name);
    if (t->links[j->to].parent_joint >= 0)
        return gw_fail(error, GW_BAD_INPUT, "",
                       "line %u: link \"%s\" is the child of joint \"%s\" and of \"%s\": closed "
                       "loops are no chains",
                       j->line, j->child, t->joints[t->links[j->to].parent_joint].name, j->name);
    t->links[j->to].parent_joint = index;
    return true;
}

/* True where the chain of parents from a link ends at a root within as many steps as there are
 * joints. */
static bool reaches_root(const urdf_tree *t, int link)
{
    int steps = 0;
    for (; t->links[link].parent_joint >= 0; steps++) {
        if (steps > t->joint_count)
            return false;
        link = t->joints[t->links[link].parent_joint].from;
    }
    return true;
}

static bool named_once(const urdf_tree *t, int joint, gw_error *error)
{
    for (int i = 0; i < joint; i++)
        if (strcmp(t->joints[i].name, t->joints[joint].name) == 0)
            return gw_fail(error, GW_CONFLICT, "", "line %u: there are two joints \"%s\"",
                           t->joints[joint].line, t->joints[joint].name);
    return true;
}

static bool join_all(urdf_tree *t, gw_error *error)
{
    int root = -1;
    for (int i = 0; i < t->link_count; i++)
        if (link_named(t, t->links[i].name) != i)
            return gw_fail(error, GW_CONFLICT, "", "line %u: there are two links \"%s\"",
                           t->links[i].line, t->links[i].name);
    for (int i = 0; i < t->joint_count; i++)
        if (!named_once(t, i, error) || !join_links(t, i, error))
            return false;
    for (int i = 0; i < t->link_count; i++) {
        if (!reaches_root(t, i))
            return gw_fail(error, GW_BAD_INPUT, "",
                           "line %u: link \"%s\" is its own ancestor: joints must form a tree",
                           t->links[i].line, t->links[i].name);
        if (t->links[i].parent_joint >= 0)
            continue;
        if (root >= 0)
            return gw_fail(error, GW_BAD_INPUT, "",
                           "links \"%s\" and \"%s\" both hang on no joint: one root is expected",
                           t->links[root].name, t->links[i].name);
        root = i;
    }
    return root >= 0 || gw_fail(error, GW_BAD_INPUT, "", "<robot> has no <link>");
}

void urdf_tree_destroy(urdf_tree *t)
{
    if (!t)
        return;
    free(t->links);
    free(t->joints);
    free(t->solids);
    free(t);
}

urdf_tree *urdf_tree_read(const char *text, size_t length, gw_error *error)
{
    if (length > GW_MAX_BODY_BYTES) {
        gw_fail(error, GW_TOO_LARGE, "", "is larger than %u bytes", GW_MAX_BODY_BYTES);
        return NULL;
    }
    urdf_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        gw_fail(error, GW_FAILED, "", "no memory for a robot description");
    else if (read_xml(tree, text, length, error) && join_all(tree, error))
        return tree;
    urdf_tree_destroy(tree);
    return NULL;
}
