/*
 * Poses and twists of all bodies and the coordinates of all joints as CSV, one row for each tick.
 */
#include "server/cli/bodies_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bodies_csv {
    FILE *file;
    const gw_scene *scene;
    int object_count;
    int *objects;    /* those that can move */
    gw_pose *before; /* of all objects, in the row before */
    gw_twist *twists;
    bool *known;                 /* objects whose twist the snapshot has */
    bool any;                    /* a row was written */
    double turns[GW_MAX_JOINTS]; /* rotation of links' planar joints (rad), in the row before */
};

static void frame_columns(FILE *file, const char *id)
{
    static const char *const names[] = {"px", "py", "pz", "qw", "qx", "qy", "qz",
                                        "vx", "vy", "vz", "wx", "wy", "wz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(file, ",%s.%s", id, names[i]);
}

static void joint_columns(FILE *file, const char *id, int dof)
{
    for (int i = 0; i < 2 * dof; i++)
        fprintf(file, ",%s.%c%d", id, i < dof ? 'q' : 'v', i % dof);
}

static void write_header(const bodies_csv *csv)
{
    const gw_scene *s = csv->scene;
    char name[GW_MAX_LINK_NAME + 1];
    fputc('t', csv->file);
    for (int i = 0; i < csv->object_count; i++)
        frame_columns(csv->file, s->objects[csv->objects[i]].id);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->mechanism_count; i++)
            for (int k = 0; k < s->mechanisms[i].link_count; k++) {
                gw_link_name(&s->mechanisms[i], k, name);
                if (pass == 0)
                    frame_columns(csv->file, name);
                else
                    joint_columns(csv->file, name,
                                  gw_mobilizers[gw_mechanism_joint(&s->mechanisms[i], k)].dof);
            }
    for (int i = 0; i < s->joint_count; i++)
        if (!s->joints[i].gear)
            joint_columns(csv->file, s->joints[i].id, gw_mobilizers[s->joints[i].type].dof);
    fputc('\n', csv->file);
}

bodies_csv *bodies_csv_create(FILE *file, const gw_scene *scene, const gw_layout *layout)
{
    bodies_csv *csv = calloc(1, sizeof *csv);
    size_t n = (size_t)scene->object_count + 1;
    if (!csv)
        return NULL;
    csv->file = file;
    csv->scene = scene;
    csv->objects = calloc(n, sizeof *csv->objects);
    csv->before = calloc(n, sizeof *csv->before);
    csv->twists = calloc(n, sizeof *csv->twists);
    csv->known = calloc(n, sizeof *csv->known);
    if (!csv->objects || !csv->before || !csv->twists || !csv->known) {
        bodies_csv_destroy(csv);
        return NULL;
    }
    for (int i = 0; i < scene->object_count; i++) {
        const gw_placement *p = gw_layout_placement(layout, i);
        if (p && p->follow != GW_OBJECT_STATIC)
            csv->objects[csv->object_count++] = i;
    }
    write_header(csv);
    return csv;
}

void bodies_csv_destroy(bodies_csv *csv)
{
    if (!csv)
        return;
    free(csv->objects);
    free(csv->before);
    free(csv->twists);
    free(csv->known);
    free(csv);
}

static void put_frame(FILE *file, const gw_pose *p, const gw_twist *t)
{
    fprintf(file, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", p->p.x, p->p.y, p->p.z, p->q.w,
            p->q.x, p->q.y, p->q.z);
    fprintf(file, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", t->v.x, t->v.y, t->v.z, t->w.x, t->w.y,
            t->w.z);
}

/* The twists of the objects' origins (world axes): the snapshot's for free and held objects; for
 * the others from the difference of two poses, over a tick. */
static void find_twists(bodies_csv *csv, const gw_snapshot *s, const gw_pose *poses)
{
    size_t n = (size_t)csv->scene->object_count;
    double dt = 1.0 / (csv->scene->rate > 0 ? csv->scene->rate : 1000);
    memset(csv->known, 0, n * sizeof *csv->known);
    for (int i = 0; i < s->free_count; i++) {
        csv->twists[s->free[i].object] = s->free[i].twist;
        csv->known[s->free[i].object] = true;
    }
    for (int i = 0; i < s->tool_count; i++) {
        const gw_tool_state *t = &s->tools[i];
        if (t->object < 0 || csv->known[t->object])
            continue;
        gw_vec3 arm = gw_sub(poses[t->object].p, t->world_from_tool.p);
        csv->twists[t->object] =
            (gw_twist){gw_add(t->twist.v, gw_cross(t->twist.w, arm)), t->twist.w};
        csv->known[t->object] = true;
    }
    for (size_t i = 0; i < n; i++) {
        gw_twist way = gw_pose_sub(&poses[i], csv->any ? &csv->before[i] : &poses[i]);
        if (!csv->known[i])
            csv->twists[i] = (gw_twist){gw_scale(1 / dt, way.v), gw_scale(1 / dt, way.w)};
        csv->before[i] = poses[i];
    }
    csv->any = true;
}

static void put_numbers(FILE *file, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(file, ",%.17g", values[i]);
}

/* The coordinates of the mechanisms' joints: the snapshot's for joints of one coordinate, for
 * others computed from the links' poses and twists. */
static void put_links(bodies_csv *csv, const gw_snapshot *s)
{
    int first = 0;
    for (int i = 0; i < csv->scene->mechanism_count; i++) {
        const gw_mechanism *m = &csv->scene->mechanisms[i];
        for (int k = 0; k < m->link_count; k++) {
            const gw_mobilizer type = gw_mechanism_joint(m, k);
            const int dof = gw_mobilizers[type].dof;
            double q[6] = {s->q[first + k]}, v[6] = {s->v[first + k]};
            if (dof > 1)
                gw_mechanism_coordinates(m, k, s->links + first, s->link_twists + first, q, v);
            if (type == GW_MOBILIZER_PLANAR) { /* rotations are counted beyond pi */
                double *turn = &csv->turns[first + k];
                *turn += remainder(q[2] - *turn, 2 * GW_PI);
                q[2] = *turn;
            }
            put_numbers(csv->file, q, dof);
            put_numbers(csv->file, v, dof);
        }
        first += m->link_count;
    }
}

void bodies_csv_row(bodies_csv *csv, const gw_snapshot *s, const gw_pose *poses)
{
    const gw_scene *scene = csv->scene;
    find_twists(csv, s, poses);
    fprintf(csv->file, "%.17g", s->time);
    for (int i = 0; i < csv->object_count; i++)
        put_frame(csv->file, &poses[csv->objects[i]], &csv->twists[csv->objects[i]]);
    for (int i = 0; i < s->joint_count; i++)
        put_frame(csv->file, &s->links[i], &s->link_twists[i]);
    put_links(csv, s);
    for (int i = 0, first = 0; i < scene->joint_count; i++) {
        int dof = scene->joints[i].gear ? 0 : gw_mobilizers[scene->joints[i].type].dof;
        put_numbers(csv->file, s->coordinates + first, dof);
        put_numbers(csv->file, s->rates + first, dof);
        first += dof;
    }
    fputc('\n', csv->file);
}
