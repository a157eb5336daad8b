/*
 * The running simulation as JSON, and its per-tick columns. Any server thread; no state.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/schema/wire_base.h"

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

/* The ids of the walls of an object that touch: bit i, wall i. */
static json_t *walls_json(const gw_scene *scene, int object, uint64_t touching)
{
    json_t *walls = json_array();
    bool known = object >= 0 && object < scene->object_count;
    for (int i = 0; i < GW_MAX_UNILATERALS && known; i++) {
        int constraint = touching >> i & 1 ? gw_scene_unilateral(scene, object, i) : -1;
        if (constraint >= 0)
            json_array_append_new(walls, json_string(scene->constraints[constraint].id));
    }
    return walls;
}

/* Directions that the model holds back, as unit vectors of scaled coordinates. */
static json_t *resisted_json(const gw_resisted_directions *r)
{
    json_t *directions = json_array(), *singular = json_array();
    for (int i = 0; i < r->count && i < 6; i++) {
        const double *n = r->direction[i];
        json_array_append_new(
            directions, json_pack("{so so sf}", "v", vector(gw_v3(n[0], n[1], n[2])), "w",
                                  vector(gw_v3(n[3], n[4], n[5])), "weight", shown(r->weight[i])));
    }
    for (int i = 0; i < 6; i++)
        json_array_append_new(singular, json_real(shown(r->singular[i])));
    return json_pack("{sf so so}", "length", shown(r->length), "singular", singular, "directions",
                     directions);
}

/* What only impedance devices have. */
static void add_rendering(json_t *tool, const gw_tool_state *t)
{
    wire_add(tool, "command", wrench_json(&t->command));
    wire_add(tool, "hand", wrench_json(&t->hand));
    wire_add(tool, "impulse", wrench_json(&t->impulse));
    wire_add(tool, "resisted", resisted_json(&t->resisted));
    wire_add(tool, "port", json_real(shown(t->port)));
    wire_add(tool, "damped", json_real(shown(t->damped)));
    wire_add(tool, "withheld", json_real(shown(t->withheld)));
}

json_t *wire_tool_state(const gw_scene *scene, int index, const gw_tool_state *t)
{
    static const gw_tool none;
    const gw_tool *tool_of = index < scene->tool_count ? &scene->tools[index] : &none;
    json_t *tool = json_pack("{so so so so so}", "pose", pose_json(&t->world_from_tool), "twist",
                             twist_json(&t->twist), "device", pose_json(&t->device), "operator",
                             wrench_json(&t->operator), "constraint", wrench_json(&t->constraint));
    json_t *figures = json_pack(
        "{sf sf sf sf sf sb sb sb sb}", "force_normal", shown(t->force_normal), "force_tangential",
        shown(t->force_tangential), "error_p", shown(t->error_p), "error_r", shown(t->error_r),
        "residual", shown(t->residual), "travelling", t->travelling, "clutched", t->clutched,
        "limited", t->limited, "dragging", t->dragging);
    json_object_update(tool, figures);
    json_decref(figures);
    if (tool_of->mechanism[0]) {
        wire_add(tool, "mechanism", json_string(tool_of->mechanism));
        wire_add(tool, "link", json_integer(tool_of->link));
    } else {
        wire_add(tool, "object", json_string(tool_of->object));
    }
    wire_add(tool, "contact", wrench_json(&t->contact));
    wire_add(tool, "walls", walls_json(scene, t->object, t->walls));
    wire_add(tool, "penetration", json_real(shown(t->depth)));
    wire_add(tool, "guided", json_boolean(t->guide.active));
    if (tool_of->control != GW_CONTROL_ADMITTANCE)
        add_rendering(tool, t);
    return tool;
}

/* ---- contacts and joints ------------------------------------------------------------------- */

/* An object's id, or a link's name. */
static json_t *toucher_json(const gw_scene *scene, gw_contact_body who)
{
    char name[GW_MAX_LINK_NAME + 1] = "";
    int joint = -1 - who;
    if (who >= 0)
        return json_string(who < scene->object_count ? scene->objects[who].id : "");
    for (int i = 0; i < scene->mechanism_count; i++) {
        const gw_mechanism *m = &scene->mechanisms[i];
        if (joint < m->link_count) {
            gw_link_name(m, joint, name);
            break;
        }
        joint -= m->link_count;
    }
    return json_string(name);
}

static json_t *contact_json(const gw_scene *scene, const gw_snapshot_contact *c)
{
    static const char *const states[] = {"none", "colliding", "continuous", "jammed"};
    const gw_contact_point *at = &c->at;
    return json_pack("{so so ss so so so sf sf}", "a", toucher_json(scene, c->a), "b",
                     toucher_json(scene, c->b), "state", states[at->state & 3], "point",
                     vector(at->point), "normal", vector(at->normal), "force", vector(at->force),
                     "impulse", shown(at->impulse), "gap", shown(at->gap));
}

json_t *wire_contacts(const gw_scene *scene, const gw_snapshot *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->contact_count && i < GW_MAX_SHOWN_CONTACTS; i++)
        json_array_append_new(list, contact_json(scene, &s->contacts[i]));
    return list;
}

/* Collisions of the last moment, the oldest first. */
static json_t *hits_json(const gw_scene *scene, const gw_snapshot *s, int rate)
{
    json_t *list = json_array();
    uint64_t first =
        s->hit_count > GW_MAX_SHOWN_COLLISIONS ? s->hit_count - GW_MAX_SHOWN_COLLISIONS : 0;
    for (uint64_t i = first; i < s->hit_count; i++) {
        const gw_snapshot_collision *hit = &s->hits[i % GW_MAX_SHOWN_COLLISIONS];
        const gw_contact_point *at = &hit->contact.at;
        if (hit->tick + (uint64_t)rate / 2 < s->tick)
            continue;
        json_array_append_new(list, json_pack("{sI so so so so sf}", "tick", (json_int_t)hit->tick,
                                              "a", toucher_json(scene, hit->contact.a), "b",
                                              toucher_json(scene, hit->contact.b), "point",
                                              vector(at->point), "normal", vector(at->normal),
                                              "impulse", shown(at->impulse)));
    }
    return list;
}

json_t *wire_contact_figures(const gw_contact_statistics *f)
{
    return json_pack("{si si sI sf sf sf sf}", "near", f->near, "touching", f->touching,
                     "collisions", (json_int_t)f->collisions, "dissipated", shown(f->dissipated),
                     "generated", shown(f->generated), "spring", shown(f->spring), "impulse",
                     shown(f->impulse));
}

json_t *wire_joints(const gw_scene *scene, int index, const gw_snapshot *s)
{
    const gw_mechanism *m = &scene->mechanisms[index];
    bool live = s->joint_count == gw_scene_joints(scene);
    int first = gw_scene_first_joint(scene, index);
    json_t *positions = json_array(), *velocities = json_array();
    for (int i = 0; i < m->link_count; i++) {
        json_array_append_new(positions, json_real(shown(live ? s->q[first + i] : m->position[i])));
        json_array_append_new(velocities,
                              json_real(shown(live ? s->v[first + i] : m->velocity[i])));
    }
    return json_pack("{so so}", "positions", positions, "velocities", velocities);
}

/* Free objects, where they are. */
static json_t *bodies_json(const gw_scene *scene, const gw_snapshot *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->free_count; i++) {
        const gw_free_body *b = &s->free[i];
        if (b->object >= scene->object_count)
            continue;
        json_array_append_new(
            list, json_pack("{ss so so so so sb sb so}", "object", scene->objects[b->object].id,
                            "pose", pose_json(&b->pose), "twist", twist_json(&b->twist),
                            "constraint", wrench_json(&b->constraint), "operator",
                            wrench_json(&b->operator), "dragging", b->dragging, "travelling",
                            b->travelling, "walls", walls_json(scene, b->object, b->walls)));
    }
    return list;
}

static void add_mechanisms(json_t *simulation, const gw_scene *scene, const gw_snapshot *s,
                           int rate)
{
    json_t *list = json_array();
    for (int i = 0; i < scene->mechanism_count; i++) {
        json_t *mechanism = wire_joints(scene, i, s);
        wire_add(mechanism, "id", json_string(scene->mechanisms[i].id));
        json_array_append_new(list, mechanism);
    }
    wire_add(simulation, "mechanisms", list);
    wire_add(simulation, "bodies", bodies_json(scene, s));
    wire_add(simulation, "contacts", wire_contacts(scene, s));
    wire_add(simulation, "contact", wire_contact_figures(&s->contact));
    wire_add(simulation, "hits", hits_json(scene, s, rate));
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
        json_array_append_new(tools, wire_tool_state(scene, i, &s->tools[i]));
    json_t *simulation =
        json_pack("{ss sb sI sf sI so s{sf sf sf sf sf sf sf} so}", "state", states[s->state],
                  "halted", s->halted, "tick", (json_int_t)s->tick, "time", s->time, "revision",
                  (json_int_t)s->revision, "loop", loop_json(s, rate), "energy", "kinetic",
                  shown(s->energy.kinetic), "potential", shown(s->energy.potential), "work_in",
                  shown(s->energy.work_in), "dissipated", shown(s->energy.dissipated), "motors",
                  shown(s->energy.motors), "edits", shown(s->energy.edits), "initial",
                  shown(s->energy.initial), "tools", tools);
    add_mechanisms(simulation, scene, s, rate);
    return simulation;
}

/* ---- columns ------------------------------------------------------------------------------- */

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

void wire_sample_column(int index, int columns, char name[WIRE_COLUMN_NAME])
{
    if (index == columns - 1)
        snprintf(name, WIRE_COLUMN_NAME, "contact_impulse");
    else
        wire_column(index, columns - 1, name);
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
