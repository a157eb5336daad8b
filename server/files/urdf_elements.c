/*
 * What the elements of a robot description say, put into its tree: links, joints, solids. Any
 * server thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/files/urdf_xml.h"

/* One more, zeroed, at the end of an array; NULL with an error. */
static void *one_more(urdf_xml *xml, void **array, int *count, int most, size_t size,
                      const char *what)
{
    if (*count >= most) {
        urdf_xml_refuse(xml, GW_TOO_LARGE, "there are more than %d %s", most, what);
        return NULL;
    }
    if ((*count & (*count - 1)) == 0) { /* full at powers of two */
        void *grown = realloc(*array, size * (size_t)(*count > 0 ? 2 * *count : 1));
        if (!grown) {
            urdf_xml_refuse(xml, GW_FAILED, "no memory");
            return NULL;
        }
        *array = grown;
    }
    char *place = (char *)*array + size * (size_t)(*count)++;
    memset(place, 0, size);
    return place;
}

static void begin_link(urdf_xml *xml)
{
    urdf_tree *t = xml->tree;
    urdf_link *link =
        one_more(xml, (void **)&t->links, &t->link_count, URDF_MAX_LINKS, sizeof *link, "links");
    if (!link || !urdf_name(xml, "name", link->name))
        return;
    link->inertial = gw_pose_identity();
    link->parent_joint = -1;
    link->line = urdf_xml_line(xml);
}

static void begin_joint(urdf_xml *xml)
{
    static const char *const types[] = {"revolute", "continuous", "prismatic", "fixed"};
    urdf_tree *t = xml->tree;
    urdf_joint *joint = one_more(xml, (void **)&t->joints, &t->joint_count, URDF_MAX_LINKS,
                                 sizeof *joint, "joints");
    char type[URDF_NAME];
    if (!joint || !urdf_name(xml, "name", joint->name) || !urdf_name(xml, "type", type))
        return;
    snprintf(joint->type_name, sizeof joint->type_name, "%.31s", type);
    joint->type = URDF_OTHER_JOINT;
    for (int i = 0; i < 4; i++)
        if (strcmp(type, types[i]) == 0)
            joint->type = (urdf_joint_type)i;
    joint->origin = gw_pose_identity();
    joint->axis = gw_v3(1, 0, 0);
    joint->line = urdf_xml_line(xml);
}

static void begin_solid(urdf_xml *xml)
{
    urdf_tree *t = xml->tree;
    urdf_solid *solid = one_more(xml, (void **)&t->solids, &t->solid_count, URDF_MAX_SOLIDS,
                                 sizeof *solid, "visual and collision elements");
    if (!solid)
        return;
    solid->link = t->link_count - 1;
    solid->collision = strcmp(xml->name, "collision") == 0;
    solid->pose = gw_pose_identity();
}

static void read_shape(urdf_xml *xml, urdf_element what, urdf_solid *solid)
{
    double size[3] = {0};
    gw_shape *shape = &solid->shape;
    const char *mesh = urdf_attribute(xml, "filename");
    if (what == ELEMENT_MESH) {
        if (!mesh || strlen(mesh) >= URDF_NAME)
            urdf_xml_refuse(xml, GW_BAD_INPUT,
                            "<mesh> needs the attribute filename, of at most %d characters",
                            URDF_NAME - 1);
        else
            strcpy(solid->mesh, mesh);
        return;
    }
    solid->has_shape = true;
    if (what == ELEMENT_BOX) {
        shape->kind = GW_SHAPE_BOX;
        if (urdf_numbers(xml, "size", 3, size) && !(size[0] > 0 && size[1] > 0 && size[2] > 0))
            urdf_xml_refuse(xml, GW_BAD_INPUT,
                            "<box> needs the attribute size, three lengths above 0 (m)");
        shape->size = gw_v3(size[0], size[1], size[2]);
        return;
    }
    shape->kind = what == ELEMENT_SPHERE     ? GW_SHAPE_SPHERE
                  : what == ELEMENT_CYLINDER ? GW_SHAPE_CYLINDER
                                             : GW_SHAPE_CAPSULE;
    if (urdf_length(xml, "radius", &shape->radius) && what != ELEMENT_SPHERE)
        urdf_length(xml, "length", &shape->height);
}

static void read_inertia(urdf_xml *xml, urdf_link *link)
{
    static const char *const names[] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    link->has_inertia = true;
    for (int i = 0; i < 6 && !xml->failed; i++)
        urdf_number(xml, names[i], i < 3, &link->inertia[i]);
}

static void read_axis(urdf_xml *xml, urdf_joint *joint)
{
    double a[3] = {1, 0, 0};
    if (!urdf_numbers(xml, "xyz", 3, a))
        return;
    joint->axis = gw_unit(gw_v3(a[0], a[1], a[2]));
    if (!(gw_norm(joint->axis) > 0.5))
        urdf_xml_refuse(xml, GW_BAD_INPUT, "<axis xyz=\"%.60s\"> of joint \"%s\": must not be zero",
                        urdf_attribute(xml, "xyz"), joint->name);
}

static bool read_size(urdf_xml *xml, const char *name, const urdf_joint *joint, double *out)
{
    if (!urdf_number(xml, name, false, out))
        return false;
    return *out >= 0 ||
           urdf_xml_refuse(xml, GW_BAD_INPUT, "<%s %s=\"%g\"> of joint \"%s\": must be 0 or more",
                           xml->name, name, *out, joint->name);
}

static void read_limit(urdf_xml *xml, urdf_joint *joint)
{
    joint->has_limit = true;
    if (urdf_number(xml, "lower", false, &joint->lower) &&
        urdf_number(xml, "upper", false, &joint->upper) &&
        read_size(xml, "effort", joint, &joint->effort))
        read_size(xml, "velocity", joint, &joint->speed);
}

/* What stands inside a link, a joint or a solid belongs to the last one that was begun. */
void urdf_element_begin(urdf_xml *xml, urdf_element what)
{
    urdf_tree *t = xml->tree;
    urdf_link *link = t->link_count > 0 ? &t->links[t->link_count - 1] : NULL;
    urdf_joint *joint = t->joint_count > 0 ? &t->joints[t->joint_count - 1] : NULL;
    urdf_solid *solid = t->solid_count > 0 ? &t->solids[t->solid_count - 1] : NULL;
    switch (what) {
    case ELEMENT_ROBOT:
        if (urdf_attribute(xml, "name"))
            urdf_name(xml, "name", t->name);
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
        urdf_origin(xml, &link->inertial);
        break;
    case ELEMENT_MASS:
        urdf_number(xml, "value", true, &link->mass);
        break;
    case ELEMENT_INERTIA:
        read_inertia(xml, link);
        break;
    case ELEMENT_SOLID_ORIGIN:
        urdf_origin(xml, &solid->pose);
        break;
    case ELEMENT_BOX:
    case ELEMENT_CYLINDER:
    case ELEMENT_CAPSULE:
    case ELEMENT_SPHERE:
    case ELEMENT_MESH:
        read_shape(xml, what, solid);
        break;
    case ELEMENT_JOINT_ORIGIN:
        urdf_origin(xml, &joint->origin);
        break;
    case ELEMENT_PARENT:
        urdf_name(xml, "link", joint->parent);
        break;
    case ELEMENT_CHILD:
        urdf_name(xml, "link", joint->child);
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
        joint->mimics = true;
        break;
    default:
        break;
    }
}
