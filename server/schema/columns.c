/*
 * Per-tick columns: the rows of `run`'s CSV, of the sample stream and of the stream of wrenches.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "server/schema/wire.h"

static const char *const columns_of_tool[] = {
    "t",        "px",       "py",      "pz",        "qw",      "qx",      "qy",  "qz",  "vx",
    "vy",       "vz",       "wx",      "wy",        "wz",      "mpx",     "mpy", "mpz", "mqw",
    "mqx",      "mqy",      "mqz",     "fx",        "fy",      "fz",      "tx",  "ty",  "tz",
    "lambda_f", "lambda_t", "kinetic", "potential", "error_p", "error_r",
};
enum { OF_TOOL = sizeof columns_of_tool / sizeof *columns_of_tool };

_Static_assert(OF_TOOL + 1 + 2 * GW_MAX_JOINTS <= WIRE_MOST_COLUMNS, "room for a row");

int wire_columns(int joints)
{
    return OF_TOOL + 2 * joints;
}

void wire_column(int index, int columns, char name[WIRE_COLUMN_NAME])
{
    int joints = (columns - OF_TOOL) / 2, joint = index - OF_TOOL;
    if (joint < 0)
        snprintf(name, WIRE_COLUMN_NAME, "%s", columns_of_tool[index]);
    else
        snprintf(name, WIRE_COLUMN_NAME, "%c%d", joint < joints ? 'q' : 'v', joint % joints + 1);
}

int wire_sample_columns(int joints)
{
    return wire_columns(joints) + 1;
}

static void sample_column(int index, int columns, char name[WIRE_COLUMN_NAME])
{
    if (index == columns - 1)
        snprintf(name, WIRE_COLUMN_NAME, "contact_impulse");
    else
        wire_column(index, columns - 1, name);
}

json_t *wire_sample_names(int columns)
{
    char name[WIRE_COLUMN_NAME];
    json_t *names = json_array();
    for (int i = 0; i < columns; i++) {
        sample_column(i, columns, name);
        json_array_append_new(names, json_string(name));
    }
    return names;
}

static double *put3(double *row, gw_vec3 v)
{
    row[0] = v.x;
    row[1] = v.y;
    row[2] = v.z;
    return row + 3;
}

static double *put_pose(double *row, const gw_pose *p)
{
    row = put3(row, p->p);
    row[0] = p->q.w;
    return put3(row + 1, gw_v3(p->q.x, p->q.y, p->q.z));
}

void wire_row(const gw_snapshot *s, int joints, double *row)
{
    memset(row, 0, (size_t)wire_columns(joints) * sizeof *row);
    double *tail = row + OF_TOOL - 6, *joint = row + OF_TOOL;
    row[0] = s->time;
    tail[2] = s->energy.kinetic;
    tail[3] = s->energy.potential;
    for (int i = 0; i < joints && i < s->joint_count; i++) {
        joint[i] = s->q[i];
        joint[joints + i] = s->v[i];
    }
    if (s->tool_count == 0)
        return;
    const gw_tool_state *t = &s->tools[0];
    double *at = put_pose(row + 1, &t->world_from_tool);
    at = put3(put3(at, t->twist.v), t->twist.w);
    at = put_pose(at, &t->device);
    put3(put3(at, t->operator.f), t->operator.t);
    tail[0] = gw_norm(t->constraint.f);
    tail[1] = gw_norm(t->constraint.t);
    tail[4] = t->error_p;
    tail[5] = t->error_r;
}

void wire_sample_row(const gw_snapshot *s, double *row)
{
    wire_row(s, s->joint_count, row);
    row[wire_columns(s->joint_count)] = s->contact.impulse;
}

/* ---- wrenches of joints ---------------------------------------------------------------------- */

enum { OF_WRENCH = 6 };

json_t *wire_wrench_names(const gw_scene *scene)
{
    static const char *const components[OF_WRENCH] = {"fx", "fy", "fz", "tx", "ty", "tz"};
    json_t *names = json_array();
    for (int i = 0; i < scene->joint_count; i++)
        for (int k = 0; k < OF_WRENCH && !scene->joints[i].gear; k++)
            json_array_append_new(names, json_sprintf("%s.%s", scene->joints[i].id, components[k]));
    for (int i = 0; i < scene->mechanism_count; i++)
        for (int link = 0; link < scene->mechanisms[i].link_count; link++) {
            char name[GW_MAX_LINK_NAME + 1];
            gw_link_name(&scene->mechanisms[i], link, name);
            for (int k = 0; k < OF_WRENCH; k++)
                json_array_append_new(names, json_sprintf("%s.%s", name, components[k]));
        }
    return names;
}

int wire_wrench_columns(const gw_scene *scene)
{
    int joints = 0;
    for (int i = 0; i < scene->joint_count; i++)
        joints += !scene->joints[i].gear;
    for (int i = 0; i < scene->mechanism_count; i++)
        joints += scene->mechanisms[i].link_count;
    return OF_WRENCH * joints;
}

void wire_wrench_row(const gw_scene *scene, const gw_snapshot *s, double *row)
{
    bool known = s->scene_joint_count == scene->joint_count;
    for (int i = 0; i < scene->joint_count; i++) {
        gw_wrench w = {{0, 0, 0}, {0, 0, 0}};
        if (scene->joints[i].gear)
            continue;
        if (known && scene->joints[i].enabled)
            w = s->joint_wrenches[i];
        row = put3(put3(row, w.f), w.t);
    }
    int links = 0;
    for (int i = 0; i < scene->mechanism_count; i++)
        links += scene->mechanisms[i].link_count;
    for (int i = 0; i < links; i++) {
        gw_wrench w = {{0, 0, 0}, {0, 0, 0}};
        if (s->joint_count == links)
            w = s->link_wrenches[i];
        row = put3(put3(row, w.f), w.t);
    }
}
