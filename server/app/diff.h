/*
 * The difference of two scenes, as far as the loop is concerned: a list of values, each sent as a
 * small command, or the need of a new scenario. Pure comparison; any thread.
 */
#ifndef GW_SERVER_APP_DIFF_H
#define GW_SERVER_APP_DIFF_H

#include "rt/guideway.h"

#define DIFF_GEOMETRY 16 /* moved features and fixed objects of one edit; more need a scenario */

#define DIFF_MOTORS 16 /* motors of joints of one edit; more need a scenario */

typedef struct app_diff {
    bool restart;  /* the rate changed: another loop */
    bool scenario; /* something changed that no command carries: a new scenario */
    bool solids;   /* collision pairs or materials changed: another detector */
    bool names;    /* ids or references changed, and with them texts of other entries */
    bool text;     /* the scene's name or description */
    bool tasks, operators;
    int geometry_count;
    gw_moved_geometry geometry[DIFF_GEOMETRY];
    int control_count;
    int control[GW_MAX_TOOLS]; /* of these tools, at impedance devices */
    int motor_count;
    struct {
        int mechanism, joint; /* of a mechanism; mechanism -1: of the scene, */
        int coordinate;       /* and of its motors the one of this coordinate */
    } motor[GW_MAX_JOINTS + DIFF_MOTORS];
} app_diff;

app_diff app_diff_of(const gw_scene *base, const gw_scene *scene);

/* The index of the tool that holds the object; -1: none does. */
int app_tool_of(const gw_scene *scene, const char *object);

/* True where the objects are equal, apart from ids and references (app_diff.names). */
bool app_same_object(const gw_object *a, const gw_object *b);

/* True where the devices are equal, apart from their operators. */
bool app_same_device(const gw_device *a, const gw_device *b);
bool app_same_operator(const gw_operator *a, const gw_operator *b);

/* True where both tools are at an impedance device and differ in control and its values only. */
bool app_only_control(const gw_tool *a, const gw_tool *b);

/* True where every held or free object is on the same branch, and all objects are solved in the
 * same order and by the same carriers. */
bool app_same_branches(const gw_layout *a, const gw_layout *b);

#endif
