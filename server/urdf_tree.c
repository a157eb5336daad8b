/*
 * Reads a robot description's XML with expat. Elements that nobody asked for are passed over,
 * whatever they hold. Any server thread.
 */
#include "server/urdf_tree.h"

#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements by the element that they stand in. */
typedef enum element {
    OUTSIDE,
    ROBOT,
    LINK,
    INERTIAL,
    INERTIAL_ORIGIN,
    MASS,
    INERTIA,
    SOLID,
    SOLID_ORIGIN,
    GEOMETRY,
    BOX,
    CYLINDER,
    CAPSULE,
    SPHERE,
    MESH,
    JOINT,
    JOINT_ORIGIN,
    PARENT,
    CHILD,
    AXIS,
    LIMIT,
    DYNAMICS,
    MIMIC,
    PASSED_OVER
} element;

static const struct {
    element in;
    const char *name;
    element is;
} grammar[] = {{OUTSIDE, "robot", ROBOT},
               {ROBOT, "link", LINK},
               {ROBOT, "joint", JOINT},
               {LINK, "inertial", INERTIAL},
               {LINK, "visual", SOLID},
               {LINK, "collision", SOLID},
               {INERTIAL, "origin", INERTIAL_ORIGIN},
               {INERTIAL, "mass", MASS},
               {INERTIAL, "inertia", INERTIA},
               {SOLID, "origin", SOLID_ORIGIN},
               {SOLID, "geometry", GEOMETRY},
               {GEOMETRY, "box", BOX},
               {GEOMETRY, "cylinder", CYLINDER},
               {GEOMETRY, "capsule", CAPSULE},
               {GEOMETRY, "sphere", SPHERE},
               {GEOMETRY, "mesh", MESH},
               {JOINT, "origin", JOINT_ORIGIN},
               {JOINT, "parent", PARENT},
               {JOINT, "child", CHILD},
               {JOINT, "axis", AXIS},
               {JOINT, "limit", LIMIT},
               {JOINT, "dynamics", DYNAMICS},
               {JOINT, "mimic", MIMIC}};

typedef struct reader {
    XML_Parser parser;
    urdf_tree *tree;
    element stack[URDF_MAX_DEPTH];
    int depth;
    gw_error *error;
    bool failed;
    const char *name; /* of the element at hand */
    const char **attributes;
} reader;

static unsigned line_of(const reader *r)
{
    return (unsigned)XML_GetCurrentLineNumber(r->parser);
}

__attribute__((format(printf, 3, 4))) static bool refuse(reader *r, gw_error_code code,
                                                         const char *format, ...)
{
    char message[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!r->failed)
        gw_fail(r->error, code, "", "line %u: %s", line_of(r), message);
    r->failed = true;
    XML_StopParser(r->parser, XML_FALSE);
    return false;
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* NULL where there is none. */
static const char *attribute(const reader *r, const char *name)
{
    for (const char **a = r->attributes; *a; a += 2)
        if (strcmp(a[0], name) == 0)
            return a[1];
    return NULL;
}

static bool read_name(reader *r, const char *name, char out[URDF_NAME])
{
    const char *text = attribute(r, name);
    if (!text || !*text)
        return refuse(r, GW_BAD_INPUT, "<%s> needs the attribute %s, a name", r->name, name);
    if (strlen(text) >= URDF_NAME)
        return refuse(r, GW_TOO_LARGE, "<%s %s=\"%.40s...\">: a name has at most %d characters",
                      r->name, name, text, URDF_NAME - 1);
    strcpy(out, text);
    return true;
}

/* `count` numbers with white space between them; what is absent stays as it is. */
static bool read_numbers(reader *r, const char *name, int count, double *out)
{
    const char *text = attribute(r, name), *at = text;
    double values[6];
    int found = 0;
    if (!text)
        return true;
    for (char *end; found < count; found++, at = end) {
        values[found] = strtod(at, &end);
        if (end == at || !isfinite(values[found]))
            break;
    }
    while (at && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    if (found < count || *at)
        return refuse(r, GW_BAD_INPUT, "<%s %s=\"%.60s\">: %d finite number%s expected", r->name,
                      name, text, count, count > 1 ? "s are" : " is");
    memcpy(out, values, (size_t)count * sizeof *out);
    return true;
}

static bool read_number(reader *r, const char *name, bool required, double *out)
{
    if (required && !attribute(r, name))
        return refuse(r, GW_BAD_INPUT, "<%s> needs the attribute %s, a number", r->name, name);
    return read_numbers(r, name, 1, out);
}

static bool read_length(reader *r, const char *name, double *out)
{
    if (!read_number(r, name, true, out))
        return false;
    return *out > 0 || refuse(r, GW_BAD_INPUT, "<%s %s=\"%s\">: must be greater than 0 (m)",
                              r->name, name, attribute(r, name));
}

/* rpy: about the fixed axes x, y, z, in this order. */
static bool read_origin(reader *r, gw_pose *pose)
{
    double p[3] = {0}, a[3] = {0};
    if (!read_numbers(r, "xyz", 3, p) || !read_numbers(r, "rpy", 3, a))
        return false;
    gw_quat q = gw_quat_mul(
        gw_quat_axis(gw_v3(0, 0, 1), a[2]),
        gw_quat_mul(gw_quat_axis(gw_v3(0, 1, 0), a[1]), gw_quat_axis(gw_v3(1, 0, 0), a[0])));
    *pose = (gw_pose){gw_v3(p[0], p[1], p[2]), q};
    return true;
}

/* ---- elements ------------------------------------------------------------------------------- */

/* One more, zeroed, at the end of an array; NULL with an error. */
static void *one_more(reader *r, void **array, int *count, int most, size_t size, const char *what)
{
    if (*count >= most) {
        refuse(r, GW_TOO_LARGE, "there are more than %d %s", most, what);
        return NULL;
    }
    if ((*count & (*count - 1)) == 0) { /* full at powers of two */
        void *grown = realloc(*array, size * (size_t)(*count > 0 ? 2 * *count : 1));
        if (!grown) {
            refuse(r, GW_FAILED, "no memory");
            return NULL;
        }
        *array = grown;
    }
    char *place = (char *)*array + size * (size_t)(*count)++;
    memset(place, 0, size);
    return place;
}

static void begin_link(reader *r)
{
    urdf_tree *t = r->tree;
    urdf_link *link =
        one_more(r, (void **)&t->links, &t->link_count, URDF_MAX_LINKS, sizeof *link, "links");
    if (!link || !read_name(r, "name", link->name))
        return;
    link->inertial = gw_pose_identity();
    link->parent_joint = -1;
    link->line = line_of(r);
}

static void begin_joint(reader *r)
{
    static const char *const types[] = {"revolute", "continuous", "prismatic", "fixed"};
    urdf_tree *t = r->tree;
    urdf_joint *joint =
        one_more(r, (void **)&t->joints, &t->joint_count, URDF_MAX_LINKS, sizeof *joint, "joints");
    char type[URDF_NAME];
    if (!joint || !read_name(r, "name", joint->name) || !read_name(r, "type", type))
        return;
    snprintf(joint->type_name, sizeof joint->type_name, "%.31s", type);
    joint->type = URDF_OTHER_JOINT;
    for (int i = 0; i < 4; i++)
        if (strcmp(type, types[i]) == 0)
            joint->type = (urdf_joint_type)i;
    joint->origin = gw_pose_identity();
    joint->axis = gw_v3(1, 0, 0);
    joint->line = line_of(r);
}

static void begin_solid(reader *r)
{
    urdf_tree *t = r->tree;
    urdf_solid *solid = one_more(r, (void **)&t->solids, &t->solid_count, URDF_MAX_SOLIDS,
                                 sizeof *solid, "visual and collision elements");
    if (!solid)
        return;
    solid->link = t->link_count - 1;
    solid->collision = strcmp(r->name, "collision") == 0;
    solid->pose = gw_pose_identity();
}

static void read_shape(reader *r, element what, urdf_solid *solid)
{
    double size[3] = {0};
    gw_shape *shape = &solid->shape;
    const char *mesh = attribute(r, "filename");
    if (what == MESH) {
        if (!mesh || strlen(mesh) >= URDF_NAME)
            refuse(r, GW_BAD_INPUT, "<mesh> needs the attribute filename, of at most %d characters",
                   URDF_NAME - 1);
        else
            strcpy(solid->mesh, mesh);
        return;
    }
    solid->has_shape = true;
    if (what == BOX) {
        shape->kind = GW_SHAPE_BOX;
        if (read_numbers(r, "size", 3, size) && !(size[0] > 0 && size[1] > 0 && size[2] > 0))
            refuse(r, GW_BAD_INPUT, "<box> needs the attribute size, three lengths above 0 (m)");
        shape->size = gw_v3(size[0], size[1], size[2]);
        return;
    }
    shape->kind = what == SPHERE     ? GW_SHAPE_SPHERE
                  : what == CYLINDER ? GW_SHAPE_CYLINDER
                                     : GW_SHAPE_CAPSULE;
    if (read_length(r, "radius", &shape->radius) && what != SPHERE)
        read_length(r, "length", &shape->height);
}

static void read_inertia(reader *r, urdf_link *link)
{
    static const char *const names[] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    link->has_inertia = true;
    for (int i = 0; i < 6 && !r->failed; i++)
        read_number(r, names[i], i < 3, &link->inertia[i]);
}

static void read_axis(reader *r, urdf_joint *joint)
{
    double a[3] = {1, 0, 0};
    if (!read_numbers(r, "xyz", 3, a))
        return;
    joint->axis = gw_unit(gw_v3(a[0], a[1], a[2]));
    if (!(gw_norm(joint->axis) > 0.5))
        refuse(r, GW_BAD_INPUT, "<axis xyz=\"%.60s\"> of joint \"%s\": must not be zero",
               attribute(r, "xyz"), joint->name);
}

static bool read_size(reader *r, const char *name, const urdf_joint *joint, double *out)
{
    if (!read_number(r, name, false, out))
        return false;
    return *out >= 0 || refuse(r, GW_BAD_INPUT, "<%s %s=\"%g\"> of joint \"%s\": must be 0 or more",
                               r->name, name, *out, joint->name);
}

static void read_limit(reader *r, urdf_joint *joint)
{
    joint->has_limit = true;
    if (read_number(r, "lower", false, &joint->lower) &&
        read_number(r, "upper", false, &joint->upper) &&
        read_size(r, "effort", joint, &joint->effort))
        read_size(r, "velocity", joint, &joint->speed);
}

/* What stands inside a link, a joint or a solid belongs to the last one that was begun. */
static void begin(reader *r, element what)
{
    urdf_tree *t = r->tree;
    urdf_link *link = t->link_count > 0 ? &t->links[t->link_count - 1] : NULL;
    urdf_joint *joint = t->joint_count > 0 ? &t->joints[t->joint_count - 1] : NULL;
    urdf_solid *solid = t->solid_count > 0 ? &t->solids[t->solid_count - 1] : NULL;
    switch (what) {
    case ROBOT:
        if (attribute(r, "name"))
            read_name(r, "name", t->name);
        break;
    case LINK:
        begin_link(r);
        break;
    case JOINT:
        begin_joint(r);
        break;
    case SOLID:
        begin_solid(r);
        break;
    case INERTIAL:
        link->has_inertial = true;
        break;
    case INERTIAL_ORIGIN:
        read_origin(r, &link->inertial);
        break;
    case MASS:
        read_number(r, "value", true, &link->mass);
        break;
    case INERTIA:
        read_inertia(r, link);
        break;
    case SOLID_ORIGIN:
        read_origin(r, &solid->pose);
        break;
    case BOX:
    case CYLINDER:
    case CAPSULE:
    case SPHERE:
    case MESH:
        read_shape(r, what, solid);
        break;
    case JOINT_ORIGIN:
        read_origin(r, &joint->origin);
        break;
    case PARENT:
        read_name(r, "link", joint->parent);
        break;
    case CHILD:
        read_name(r, "link", joint->child);
        break;
    case AXIS:
        read_axis(r, joint);
        break;
    case LIMIT:
        read_limit(r, joint);
        break;
    case DYNAMICS:
        if (read_size(r, "damping", joint, &joint->damping))
            read_size(r, "friction", joint, &joint->friction);
        break;
    case MIMIC:
        joint->mimics = true;
        break;
    default:
        break;
    }
}

/* ---- expat ---------------------------------------------------------------------------------- */

static void XMLCALL on_start(void *user, const char *name, const char **attributes)
{
    reader *r = user;
    element in = r->depth > 0 ? r->stack[r->depth - 1] : OUTSIDE, is = PASSED_OVER;
    if (r->failed)
        return;
    r->name = name;
    r->attributes = attributes;
    if (r->depth == URDF_MAX_DEPTH) {
        refuse(r, GW_TOO_LARGE, "<%.40s> stands more than %d elements deep", name, URDF_MAX_DEPTH);
        return;
    }
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++)
        if (grammar[i].in == in && strcmp(grammar[i].name, name) == 0)
            is = grammar[i].is;
    if (in == OUTSIDE && is != ROBOT) {
        refuse(r, GW_BAD_INPUT, "<%.40s> is not a robot description: <robot> is expected", name);
        return;
    }
    if (strncmp(name, "xacro:", 6) == 0) {
        refuse(r, GW_BAD_INPUT, "<%.40s>: macros must be expanded before (xacro FILE)", name);
        return;
    }
    r->stack[r->depth++] = is;
    begin(r, is);
}

static void XMLCALL on_end(void *user, const char *name)
{
    reader *r = user;
    (void)name;
    if (!r->failed)
        r->depth--;
}

/* Entities are how a kilobyte becomes a gigabyte. */
static void XMLCALL on_doctype(void *user, const char *name, const char *system, const char *public,
                               int internal)
{
    (void)name, (void)system, (void)public, (void)internal;
    refuse(user, GW_BAD_INPUT, "<!DOCTYPE ...>: document types and entities are not accepted");
}

static bool parse(reader *r, const char *text, size_t length)
{
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
    if (XML_Parse(r->parser, text, (int)length, 1) == XML_STATUS_OK && !r->failed)
        return true;
    if (!r->failed)
        refuse(r, GW_BAD_INPUT, "this is not well-formed XML: %s",
               XML_ErrorString(XML_GetErrorCode(r->parser)));
    return false;
}

/* ---- the tree ------------------------------------------------------------------------------- */

static int link_named(const urdf_tree *t, const char *name)
{
    for (int i = 0; i < t->link_count; i++)
        if (strcmp(t->links[i].name, name) == 0)
            return i;
    return -1;
}

static bool join(urdf_tree *t, int index, gw_error *error)
{
    urdf_joint *j = &t->joints[index];
    const char *ends[] = {j->parent, j->child};
    j->from = link_named(t, j->parent);
    j->to = link_named(t, j->child);
    for (int i = 0; i < 2; i++)
        if ((i == 0 ? j->from : j->to) < 0)
            return gw_fail(error, GW_NOT_FOUND, "",
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

/* A link's way up ends at a root, within as many joints as there are. */
static bool rooted(const urdf_tree *t, int link)
{
    int steps = 0;
    for (; t->links[link].parent_joint >= 0; steps++) {
        if (steps > t->joint_count)
            return false;
        link = t->joints[t->links[link].parent_joint].from;
    }
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
        if (!join(t, i, error))
            return false;
    for (int i = 0; i < t->link_count; i++) {
        if (!rooted(t, i))
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
    reader r = {
        .parser = XML_ParserCreate(NULL), .tree = calloc(1, sizeof *r.tree), .error = error};
    bool ok = r.parser && r.tree;
    if (!ok)
        gw_fail(error, GW_FAILED, "", "no memory for a robot description");
    ok = ok && parse(&r, text, length) && join_all(r.tree, error);
    if (r.parser)
        XML_ParserFree(r.parser);
    if (ok)
        return r.tree;
    urdf_tree_destroy(r.tree);
    return NULL;
}
