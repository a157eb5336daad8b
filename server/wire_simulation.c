/*
 * The running simulation as JSON, and its per-tick columns. Any server thread; no state.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "server/wire_base.h"

/* JSON has no infinity: a figure beyond all numbers, of bodies that were put absurdly far away, is
 * shown as the largest one, and what is no number as 0, so that the rest can still be told. */
static double shown(double x)
{
    return isnan(x) ? 0 : fmax(-DBL_MAX, fmin(DBL_MAX, x));
}

static json_t *vector(gw_vec3 v)
{
    return wire_vec3(gw_v3(shown(v.x), shown(v.y), shown(v.z)));
}

static json_t *pose_json(const gw_pose *p)
{
    gw_quat q = {shown(p->q.w), shown(p->q.x), shown(p->q.y), shown(p->q.z)};
    return json_pack("{so so}", "p", vector(p->p), "q", wire_quat(q));
}

static json_t *twist_json(const gw_twist *t)
{
    return json_pack("{so so}", "v", vector(t->v), "w", vector(t->w));
}

static json_t *wrench_json(const gw_wrench *w)
{
    return json_pack("{so so}", "force", vector(w->f), "torque", vector(w->t));
}

/* The ids of the walls that touch. */
static json_t *walls_json(const gw_scene *scene, const gw_tool_state *t)
{
    json_t *walls = json_array();
    for (int i = 0; i < GW_MAX_WALLS && t->object < scene->object_count; i++) {
        int constraint = t->walls >> i & 1 ? gw_scene_wall(scene, t->object, i) : -1;
        if (constraint >= 0)
            json_array_append_new(walls, json_string(scene->constraints[constraint].id));
    }
    return walls;
}

static json_t *tool_json(const gw_scene *scene, const gw_tool_state *t)
{
    const char *object = t->object < scene->object_count ? scene->objects[t->object].id : "";
    json_t *tool =
        json_pack("{ss so so so so so}", "object", object, "pose", pose_json(&t->world_from_tool),
                  "twist", twist_json(&t->twist), "device", pose_json(&t->device), "operator",
                  wrench_json(&t->operator), "constraint", wrench_json(&t->constraint));
    json_t *figures = json_pack(
        "{sf sf sf sf sf sb sb sb sb}", "force_normal", shown(t->force_normal), "force_tangential",
        shown(t->force_tangential), "error_p", shown(t->error_p), "error_r", shown(t->error_r),
        "residual", shown(t->residual), "travelling", t->travelling, "clutched", t->clutched,
        "limited", t->limited, "dragging", t->dragging);
    json_object_update(tool, figures);
    json_decref(figures);
    json_object_set_new(tool, "contact", wrench_json(&t->contact));
    json_object_set_new(tool, "walls", walls_json(scene, t));
    json_object_set_new(tool, "penetration", json_real(shown(t->depth)));
    json_object_set_new(tool, "guided", json_boolean(t->guide.active));
    return tool;
}

static json_t *loop_json(const gw_snapshot *s, int rate)
{
    return json_pack("{si s{sf sf sf} s{sf sf sf} sI sI sb}", "rate", rate, "tick_us", "p50",
                     s->tick_us_p50, "p99", s->tick_us_p99, "max", s->tick_us_max, "late_us", "p50",
                     s->late_us_p50, "p99", s->late_us_p99, "max", s->late_us_max, "overruns",
                     (json_int_t)s->overruns, "limited_ticks", (json_int_t)s->limited_ticks,
                     "real_time", s->real_time);
}

json_t *wire_simulation(const gw_scene *scene, const gw_snapshot *s, int rate)
{
    static const char *const states[] = {"stopped", "running", "paused"};
    json_t *tools = json_array();
    for (int i = 0; i < s->tool_count; i++)
        json_array_append_new(tools, tool_json(scene, &s->tools[i]));
    return json_pack("{ss sb sI sf sI so s{sf sf sf sf} so}", "state", states[s->state], "halted",
                     s->halted, "tick", (json_int_t)s->tick, "time", s->time, "revision",
                     (json_int_t)s->revision, "loop", loop_json(s, rate), "energy", "kinetic",
                     shown(s->energy.kinetic), "potential", shown(s->energy.potential), "work_in",
                     shown(s->energy.work_in), "dissipated", shown(s->energy.dissipated), "tools",
                     tools);
}

const char *const wire_columns[] = {
    "t",        "px",       "py",      "pz",        "qw",      "qx",      "qy",  "qz",  "vx",
    "vy",       "vz",       "wx",      "wy",        "wz",      "mpx",     "mpy", "mpz", "mqw",
    "mqx",      "mqy",      "mqz",     "fx",        "fy",      "fz",      "tx",  "ty",  "tz",
    "lambda_f", "lambda_t", "kinetic", "potential", "error_p", "error_r",
};
const int wire_column_count = sizeof wire_columns / sizeof *wire_columns;

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

void wire_row(const gw_snapshot *s, double *row)
{
    memset(row, 0, (size_t)wire_column_count * sizeof *row);
    double *tail = row + wire_column_count - 6;
    row[0] = s->time;
    tail[2] = s->energy.kinetic;
    tail[3] = s->energy.potential;
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
