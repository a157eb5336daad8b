/*
 * Mass properties of a scene's objects. Not for use inside a tick.
 */
#include <assert.h>
#include <lapacke.h>

#include "rt/scene/scene.h"

gw_mass gw_object_mass(const gw_object *o)
{
    assert(o);
    const gw_body *b = &o->body;
    gw_mass m = gw_shape_mass(&o->shape, b->source == GW_MASS_BY_DENSITY ? b->density : 1000);
    if (b->source == GW_MASS_GIVEN) {
        double ratio = b->mass / m.mass; /* same solid, other density */
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                m.inertia.m[i][j] *= ratio;
        m.mass = b->mass;
    }
    if (b->has_com)
        m.com = b->com;
    if (b->has_inertia) {
        const double *i = b->inertia;
        m.inertia = (gw_mat3){{{i[0], i[3], i[4]}, {i[3], i[1], i[5]}, {i[4], i[5], i[2]}}};
    }
    return m;
}

gw_mass gw_scene_body_mass(const gw_scene *s, int body)
{
    assert(s && body >= 0);
    int link, mechanism = gw_scene_link_of_body(s, body, &link);
    return mechanism < 0 ? gw_object_mass(&s->objects[body])
                         : s->mechanisms[mechanism].links[link].mass;
}

gw_vec3 gw_scene_held_point(const gw_scene *s, int body)
{
    for (int i = 0; i < s->tool_count; i++)
        if (gw_scene_object(s, s->tools[i].object) == body)
            return s->tools[i].at.p;
    return gw_v3(0, 0, 0);
}

int gw_scene_tools_at(const gw_scene *s, int body)
{
    assert(s && body >= 0);
    int link = 0, mechanism = gw_scene_link_of_body(s, body, &link), count = 0;
    for (int i = 0; i < s->tool_count; i++) {
        const gw_tool *t = &s->tools[i];
        count += mechanism < 0
                     ? gw_scene_object(s, t->object) == body
                     : gw_scene_mechanism(s, t->mechanism) == mechanism && t->link == link;
    }
    return count;
}

gw_mass gw_placed_mass(const gw_shape *shape, const gw_pose *pose, double density)
{
    assert(shape && pose && density >= 0);
    gw_mass m = gw_shape_mass(shape, density);
    gw_mat3 r = gw_quat_to_mat3(pose->q), i = m.inertia;
    m.com = gw_pose_point(pose, m.com);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double sum = 0; /* R I R^T */
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++)
                    sum += r.m[a][k] * i.m[k][l] * r.m[b][l];
            m.inertia.m[a][b] = sum;
        }
    return m;
}

/* sqrt(tr I / 2m): the root mean square distance of the body's mass from its centre. */
double gw_object_length(const gw_object *o)
{
    gw_mass m = gw_object_mass(o);
    return sqrt((m.inertia.m[0][0] + m.inertia.m[1][1] + m.inertia.m[2][2]) / (2 * m.mass));
}

double gw_scene_body_length(const gw_scene *s, int body)
{
    gw_mass m = gw_scene_body_mass(s, body);
    return sqrt((m.inertia.m[0][0] + m.inertia.m[1][1] + m.inertia.m[2][2]) / (2 * m.mass));
}

int gw_scene_step_rate(const gw_scene *scene)
{
    int most = 1;
    for (int i = 0; i < scene->tool_count; i++)
        most = scene->tools[i].substeps > most ? scene->tools[i].substeps : most;
    return most * (scene->rate > 0 ? scene->rate : 1000);
}

/* All principal minors at least `least` times the trace's power. */
static bool minors_at_least(const gw_mat3 *t, double trace, double least)
{
    const double(*m)[3] = t->m;
    double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                 m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                 m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3;
        if (!(m[a][a] >= least * trace) ||
            !(m[a][a] * m[b][b] - m[a][b] * m[b][a] >= least * trace * trace))
            return false;
    }
    return det >= least * trace * trace * trace;
}

void gw_inertia_principal_moments(const gw_mat3 *inertia, double moments[3])
{
    double a[9], work[8];
    assert(inertia && moments);
    for (int i = 0; i < 9; i++)
        a[i] = inertia->m[i / 3][i % 3];
    LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', 3, a, 3, moments, work, 8);
}

/* No principal moment below zero, or above the sum of the other two: I and tr(I) E - 2 I are
 * positive semidefinite, and singular for a point and a rod. */
bool gw_inertia_is_possible(const double i[6])
{
    const double slack = -1e-9;
    double trace = i[0] + i[1] + i[2];
    gw_mat3 t = {{{i[0], i[3], i[4]}, {i[3], i[1], i[5]}, {i[4], i[5], i[2]}}};
    if (!(trace >= 0) || !minors_at_least(&t, trace, slack))
        return false;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            t.m[r][c] = (r == c ? trace : 0) - 2 * t.m[r][c];
    return minors_at_least(&t, trace, slack);
}

/* The same of a body that rotates freely: no principal moment may be zero. */
bool gw_inertia_is_real(const double i[6])
{
    const gw_mat3 t = {{{i[0], i[3], i[4]}, {i[3], i[1], i[5]}, {i[4], i[5], i[2]}}};
    double trace = i[0] + i[1] + i[2];
    return trace > 0 && gw_inertia_is_possible(i) && minors_at_least(&t, trace, 1e-15);
}
