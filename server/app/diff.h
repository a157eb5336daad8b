/*
 * The difference of two scenes, as far as the loop is concerned: values, each of which is a
 * small command, or more than values, which is a new scenario. Pure comparison; any thread.
 */
#ifndef GW_SERVER_APP_DIFF_H
#define GW_SERVER_APP_DIFF_H

#include "rt/guideway.h"

#define DIFF_GEOMETRY 16 /* moved features and fixed objects of one edit; more are no values */

typedef struct app_diff {
    bool restart;  /* the rate changed: another loop */
    bool scenario; /* something changed that no command carries: a new scenario */
    bool solids;   /* who may touch whom with which surfaces' numbers: another detector */
    bool names;    /* ids or what refers to what: texts of other entries change with them */
    bool text;     /* the scene's name or description */
    bool tasks, operators;
    int geometry_count;
    gw_moved_geometry geometry[DIFF_GEOMETRY];
    int control_count;
    int control[GW_MAX_TOOLS]; /* of these tools, at impedance devices */
    int motor_count;
    struct {
        int mechanism, joint;
    } motor[GW_MAX_JOINTS];
} app_diff;

app_diff app_diff_of(const gw_scene *base, const gw_scene *scene);

/* The tool that holds the object; -1: none does. */
int app_tool_of(const gw_scene *scene, const char *object);

/* The objects are the same but for what the diff of their scenes calls names. */
bool app_same_object(const gw_object *a, const gw_object *b);

/* The devices are the same but for who operates them. */
bool app_same_device(const gw_device *a, const gw_device *b);
bool app_same_operator(const gw_operator *a, const gw_operator *b);

/* The tools differ in control and its values alone, at an impedance device both. */
bool app_only_control(const gw_tool *a, const gw_tool *b);

/* Every held or free object on the same branch, every other one solved in the same order. */
bool app_same_branches(const gw_layout *a, const gw_layout *b);

#endif
