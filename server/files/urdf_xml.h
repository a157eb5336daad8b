/*
 * A robot description's XML while it is read. For urdf_xml.c, urdf_elements.c and urdf_tree.c.
 */
#ifndef GW_SERVER_FILES_URDF_XML_H
#define GW_SERVER_FILES_URDF_XML_H

#include <expat.h>

#include "server/files/urdf_tree.h"

/* Elements by what they say. */
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

typedef struct urdf_xml {
    XML_Parser parser;
    urdf_tree *tree;
    urdf_element stack[URDF_MAX_DEPTH];
    int depth;
    gw_error *error;
    bool failed;
    const char *name; /* of the element at hand */
    const char **attributes;
} urdf_xml;

/* Reads the text into `tree`; false with an error. */
bool urdf_xml_read(urdf_tree *tree, const char *text, size_t length, gw_error *error);

/* What the element at hand says goes into the tree (urdf_elements.c). */
void urdf_element_begin(urdf_xml *xml, urdf_element what);

unsigned urdf_xml_line(const urdf_xml *xml);

/* Ends the reading with an error; returns false. */
__attribute__((format(printf, 3, 4))) bool urdf_xml_refuse(urdf_xml *xml, gw_error_code code,
                                                           const char *format, ...);

/* ---- attributes of the element at hand; false: refused ------------------------ */

/* NULL where there is none. */
const char *urdf_attribute(const urdf_xml *xml, const char *name);
bool urdf_name(urdf_xml *xml, const char *name, char out[URDF_NAME]);
/* `count` numbers, 6 at most, with white space between them; what is absent stays as it is. */
bool urdf_numbers(urdf_xml *xml, const char *name, int count, double *out);
bool urdf_number(urdf_xml *xml, const char *name, bool required, double *out);
/* Above 0 (m), required. */
bool urdf_length(urdf_xml *xml, const char *name, double *out);
/* xyz and rpy: about the fixed axes x, y, z, in this order. */
bool urdf_origin(urdf_xml *xml, gw_pose *pose);

#endif
