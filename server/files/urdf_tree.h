/*
 * A parsed robot description, before a mechanism is built from it: urdf_parse.c reads it, urdf.c
 * builds the mechanism.
 */
#ifndef GW_SERVER_FILES_URDF_TREE_H
#define GW_SERVER_FILES_URDF_TREE_H

#include "server/files/urdf.h"

#define URDF_MAX_LINKS  1024
#define URDF_MAX_SOLIDS 4096
#define URDF_MAX_DEPTH  32
#define URDF_NAME       128

typedef enum urdf_joint_type {
    URDF_REVOLUTE,
    URDF_CONTINUOUS,
    URDF_PRISMATIC,
    URDF_FIXED,
    URDF_PLANAR,
    URDF_FLOATING,
    URDF_OTHER_JOINT
} urdf_joint_type;

/* A visual or collision element. */
typedef struct urdf_solid {
    int link;
    bool collision, has_shape;
    bool sizeless; /* its shape has a size that is not above 0 */
    gw_pose pose;  /* link_from_solid */
    gw_shape shape;
    char mesh[URDF_NAME]; /* empty: none */
} urdf_solid;

typedef struct urdf_link {
    char name[URDF_NAME];
    bool has_inertial, has_inertia;
    gw_pose inertial;
    double mass, inertia[6]; /* ixx iyy izz ixy ixz iyz, in the axes of `inertial` */
    int parent_joint;        /* -1: root */
    unsigned line;
} urdf_link;

typedef struct urdf_joint {
    char name[URDF_NAME], parent[URDF_NAME], child[URDF_NAME], type_name[32];
    urdf_joint_type type;
    gw_pose origin;
    gw_vec3 axis;
    double lower, upper, effort, speed, damping, friction;
    bool has_limit, mimics;
    char mimicked[URDF_NAME]; /* position = multiplier times the mimicked position + offset */
    double multiplier, offset;
    int from, to; /* links */
    unsigned line;
} urdf_joint;

typedef struct urdf_tree {
    char name[URDF_NAME];
    int link_count, joint_count, solid_count;
    urdf_link *links;
    urdf_joint *joints;
    urdf_solid *solids;
} urdf_tree;

/* Parses the text; links and joints are joined by name into a tree with one root. NULL with an
 * error. urdf_tree_destroy() frees it. */
urdf_tree *urdf_tree_read(const char *text, size_t length, gw_error *error);
void urdf_tree_destroy(urdf_tree *tree); /* NULL is fine */

#endif
