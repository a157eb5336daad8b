/*
 * Rows as forms in the 17 coordinates of a pose (pose_forms.h). Any thread, RT safe.
 *
 *   plane          n . (R m + t - f) - v
 *   body's plane   f . R n - n . m - n . s - v
 *   sphere         r + 2 m . s - 2 f . t - 2 f . R m + |m|^2 + |f|^2 - v^2
 *   cylinder       the sphere's less the square of the plane's of normal n, v = 0
 *   angle          n . R m - v
 */
#include <assert.h>
#include <string.h>

#include "rt/positioning/polynomial/pose_forms.h"

#define SAME_FORM 1e-18 /* squared normal part of a unit form that depends on the others */

/* Generic rotations of the scaled frames. */
static const gw_quat generic_world = {0.5233, 0.3391, -0.6082, 0.4910};
static const gw_quat generic_body = {0.4127, -0.5570, 0.3046, 0.6533};

static void put_vector(double *h, int at, double k, gw_vec3 v)
{
    h[at] += k * v.x, h[at + 1] += k * v.y, h[at + 2] += k * v.z;
}

/* k f . R m */
static void put_turned(double *h, double k, gw_vec3 f, gw_vec3 m)
{
    put_vector(h, GW_Y_R, k * f.x, m);
    put_vector(h, GW_Y_R + 3, k * f.y, m);
    put_vector(h, GW_Y_R + 6, k * f.z, m);
}

static void put_plane(double *h, const gw_row *row)
{
    if (row->kind == GW_ROW_PLANE_BODY || row->kind == GW_ROW_CYLINDER_BODY) {
        put_turned(h, 1, row->f, row->n);
        put_vector(h, GW_Y_S, -1, row->n);
        h[GW_Y_ONE] -= gw_dot(row->n, row->m);
        return;
    }
    put_turned(h, 1, row->n, row->m);
    put_vector(h, GW_Y_T, 1, row->n);
    h[GW_Y_ONE] -= gw_dot(row->n, row->f);
}

static void put_sphere(double *h, const gw_row *row)
{
    h[GW_Y_TT] += 1;
    put_vector(h, GW_Y_S, 2, row->m);
    put_vector(h, GW_Y_T, -2, row->f);
    put_turned(h, -2, row->f, row->m);
    h[GW_Y_ONE] += gw_norm2(row->m) + gw_norm2(row->f) - row->value * row->value;
}

/* The row in scaled and turned frames. */
static gw_row scaled_row(const gw_forms *s, const gw_row *row)
{
    gw_row x = *row;
    bool angle = row->kind == GW_ROW_ANGLE;
    bool body = row->kind == GW_ROW_PLANE_BODY || row->kind == GW_ROW_CYLINDER_BODY;
    x.n = gw_unrotate(body ? s->body.q : s->world.q, row->n);
    if (angle) {
        x.m = gw_unrotate(s->body.q, row->m);
        return x;
    }
    x.m = gw_scale(1 / s->size, gw_unrotate(s->body.q, gw_sub(row->m, s->body.p)));
    x.f = gw_scale(1 / s->size, gw_unrotate(s->world.q, gw_sub(row->f, s->world.p)));
    x.value = row->value / s->size;
    return x;
}

static double scale_to_one(double *h)
{
    double ss = 0;
    for (int i = 0; i < GW_Y; i++)
        ss += h[i] * h[i];
    double k = ss > 0 ? 1 / sqrt(ss) : 0;
    for (int i = 0; i < GW_Y; i++)
        h[i] *= k;
    return k;
}

/* Reduces a form of unit size to its part that is normal to the hyperplanes; returns the square of
 * that part. */
static double normal_part(const gw_forms *s, double *h)
{
    double rest = 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < s->linear; k++) {
            double dot = 0;
            for (int i = 0; i < GW_Y; i++)
                dot += h[i] * s->h[k][i];
            for (int i = 0; i < GW_Y; i++)
                h[i] -= dot * s->h[k][i];
        }
        rest = 0;
        for (int i = 0; i < GW_Y; i++)
            rest += h[i] * h[i];
    }
    return rest;
}

static void add_linear(gw_forms *s, double *h)
{
    if (normal_part(s, h) < SAME_FORM || s->linear == GW_Y)
        return;
    scale_to_one(h);
    memcpy(s->h[s->linear++], h, GW_Y * sizeof *h);
}

static void add_cylinder(gw_forms *s, const gw_row *row)
{
    gw_cylinder_form *q = &s->cylinder[s->cylinders];
    if (s->cylinders == GW_MAX_CYLINDER_FORMS)
        return;
    memset(q, 0, sizeof *q);
    put_sphere(q->h, row);
    put_plane(q->l, row);
    double k = scale_to_one(q->h);
    for (int i = 0; i < GW_Y; i++)
        q->l[i] *= sqrt(k);
    s->cylinders++;
}

static bool has_form(const gw_row *row)
{
    return !row->nurbs;
}

bool gw_is_polynomial(const gw_pose_system *system)
{
    for (int i = 0; i < system->row_count; i++)
        if (!has_form(&system->rows[i]))
            return false;
    return true;
}

/* The row's hyperplane, of unit size; false for cylinders. */
static bool linear_form(const gw_row *row, double *h)
{
    memset(h, 0, GW_Y * sizeof *h);
    if (row->kind == GW_ROW_CYLINDER || row->kind == GW_ROW_CYLINDER_BODY)
        return false;
    if (row->kind == GW_ROW_SPHERE) {
        put_sphere(h, row);
    } else if (row->kind == GW_ROW_ANGLE) {
        put_turned(h, 1, row->n, row->m);
        h[GW_Y_ONE] -= row->value;
    } else {
        put_plane(h, row);
        h[GW_Y_ONE] -= row->value;
    }
    scale_to_one(h);
    return true;
}

static void add_row(gw_forms *s, const gw_row *from)
{
    gw_row row = scaled_row(s, from);
    double h[GW_Y];
    if (linear_form(&row, h))
        add_linear(s, h);
    else
        add_cylinder(s, &row);
}

static void add_sense(gw_forms *s, gw_vec3 m, gw_vec3 f)
{
    if (s->senses == GW_MAX_SENSES)
        return;
    s->along_m[s->senses] = gw_unrotate(s->body.q, m);
    s->along_f[s->senses++] = gw_unrotate(s->world.q, f);
}

static void add_senses(const gw_pose_system *c, gw_forms *s)
{
    gw_vec3 x = {1, 0, 0}, y = {0, 1, 0};
    if (c->any_sense)
        return;
    if (c->rotation_known) {
        add_sense(s, x, gw_rotate(c->rotation, x));
        add_sense(s, y, gw_rotate(c->rotation, y));
    }
    for (int i = 0; i < c->angle_count; i++)
        if (c->angles[i].angle == 0)
            add_sense(s, c->angles[i].u, c->angles[i].f);
}

void gw_forms_of(const gw_pose_system *c, gw_forms *s)
{
    s->world = (gw_pose){c->middle_f, gw_quat_unit(generic_world)};
    s->body = (gw_pose){c->middle_m, gw_quat_unit(generic_body)};
    s->mirrored = false;
    s->linear = s->cylinders = s->senses = 0;
    s->size = 0;
    for (int i = 0; i < c->row_count; i++) {
        const gw_row *row = &c->rows[i];
        if (row->kind == GW_ROW_ANGLE)
            continue;
        s->size = fmax(s->size, gw_distance(row->m, c->middle_m));
        s->size = fmax(s->size, gw_distance(row->f, c->middle_f));
        s->size = fmax(s->size, fabs(row->value));
    }
    if (!(s->size > 1e-6 * c->size))
        s->size = c->size;
    for (int i = 0; i < c->row_count; i++)
        if (has_form(&c->rows[i]))
            add_row(s, &c->rows[i]);
    add_senses(c, s);
}

/* ---- linear dependence ----------------------------------------------------------------------- */

/* True if a row is a linear combination of the hyperplanes. */
static bool is_implied_by_forms(const gw_forms *s, const gw_row *from)
{
    if (!has_form(from))
        return false;
    gw_row row = scaled_row(s, from);
    double h[GW_Y];
    return linear_form(&row, h) && normal_part(s, h) < SAME_FORM;
}

unsigned long gw_linearly_dependent(const gw_pose_system *system, const gw_row *rows,
                                    const unsigned char *constraint, int count)
{
    gw_forms forms;
    unsigned long asked = 0, independent = 0;
    gw_forms_of(system, &forms);
    for (int i = 0; i < count; i++) {
        unsigned long bit = 1ul << constraint[i];
        assert(constraint[i] < 64);
        asked |= bit;
        if (!(independent & bit) && !is_implied_by_forms(&forms, &rows[i]))
            independent |= bit;
    }
    return asked & ~independent;
}

/* ---- poses and their mirror images ----------------------------------------------------------- */

/* y of the inverse pose: (R^T, -s, -t, r, 1). */
static void mirror_form(double *h)
{
    double g[GW_Y];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            g[GW_Y_R + 3 * i + k] = h[GW_Y_R + 3 * k + i];
        g[GW_Y_T + i] = -h[GW_Y_S + i];
        g[GW_Y_S + i] = -h[GW_Y_T + i];
    }
    g[GW_Y_TT] = h[GW_Y_TT];
    g[GW_Y_ONE] = h[GW_Y_ONE];
    memcpy(h, g, sizeof g);
}

void gw_forms_mirror(gw_forms *s)
{
    s->mirrored = !s->mirrored;
    for (int i = 0; i < s->linear; i++)
        mirror_form(s->h[i]);
    for (int i = 0; i < s->cylinders; i++) {
        mirror_form(s->cylinder[i].h);
        mirror_form(s->cylinder[i].l);
    }
    for (int i = 0; i < s->senses; i++) {
        gw_vec3 m = s->along_m[i];
        s->along_m[i] = s->along_f[i], s->along_f[i] = m;
    }
}

gw_quat gw_forms_rotation(const gw_forms *s, gw_quat q)
{
    return gw_quat_mul(gw_quat_mul(gw_quat_conj(s->world.q), q), s->body.q);
}

gw_pose gw_forms_pose(const gw_forms *s, const gw_complex_pose *x)
{
    int most = 0;
    for (int i = 1; i < 4; i++)
        most = cabs(x->e[i]) > cabs(x->e[most]) ? i : most;
    gw_complex k = 1 / x->e[most];
    gw_quat q = {creal(k * x->e[0]), creal(k * x->e[1]), creal(k * x->e[2]), creal(k * x->e[3])};
    gw_pose pose = {{creal(x->t[0]), creal(x->t[1]), creal(x->t[2])}, gw_quat_unit(q)};
    if (s->mirrored)
        pose = gw_pose_inverse(&pose);
    pose.p = gw_scale(s->size, pose.p);
    gw_pose back = gw_pose_inverse(&s->body);
    gw_pose out = gw_pose_mul(&s->world, &pose);
    return gw_pose_mul(&out, &back);
}

void gw_rotation_coordinates(const gw_complex e[4], gw_complex y[GW_Y])
{
    gw_complex ww = e[0] * e[0], xx = e[1] * e[1], yy = e[2] * e[2], zz = e[3] * e[3];
    gw_complex wx = e[0] * e[1], wy = e[0] * e[2], wz = e[0] * e[3];
    gw_complex xy = e[1] * e[2], xz = e[1] * e[3], yz = e[2] * e[3];
    y[0] = ww + xx - yy - zz;
    y[1] = 2 * (xy - wz);
    y[2] = 2 * (xz + wy);
    y[3] = 2 * (xy + wz);
    y[4] = ww - xx + yy - zz;
    y[5] = 2 * (yz - wx);
    y[6] = 2 * (xz - wy);
    y[7] = 2 * (yz + wx);
    y[8] = ww - xx - yy + zz;
    y[GW_Y_ONE] = ww + xx + yy + zz;
}

void gw_forms_coordinates(const gw_complex_pose *x, gw_complex y[GW_Y])
{
    const gw_complex *t = x->t;
    gw_rotation_coordinates(x->e, y);
    gw_complex n = y[GW_Y_ONE];
    for (int i = 0; i < 3; i++) {
        y[GW_Y_T + i] = n * t[i];
        y[GW_Y_S + i] = y[i] * t[0] + y[3 + i] * t[1] + y[6 + i] * t[2];
    }
    y[GW_Y_TT] = n * (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
}

bool gw_forms_same_sense(const gw_forms *s, const gw_complex_pose *x)
{
    gw_complex y[GW_Y];
    gw_forms_coordinates(x, y);
    for (int n = 0; n < s->senses; n++) {
        double m[3] = {s->along_m[n].x, s->along_m[n].y, s->along_m[n].z};
        double f[3] = {s->along_f[n].x, s->along_f[n].y, s->along_f[n].z};
        gw_complex dot = 0;
        for (int i = 0; i < 9; i++)
            dot += f[i / 3] * m[i % 3] * y[i];
        if (creal(dot / y[GW_Y_ONE]) < 0)
            return false;
    }
    return true;
}

static gw_complex dot_of(const double *h, const gw_complex *y, double *terms)
{
    gw_complex sum = 0;
    for (int i = 0; i < GW_Y; i++) {
        sum += h[i] * y[i];
        *terms = fmax(*terms, fabs(h[i]) * cabs(y[i]));
    }
    return sum;
}

double gw_forms_residual(const gw_forms *s, const gw_complex_pose *x)
{
    gw_complex y[GW_Y];
    double worst = 0;
    gw_forms_coordinates(x, y);
    for (int i = 0; i < s->linear; i++) {
        double terms = 0, value = cabs(dot_of(s->h[i], y, &terms));
        worst = fmax(worst, value / terms);
    }
    for (int i = 0; i < s->cylinders; i++) {
        double terms = 0, part = 0;
        gw_complex h = dot_of(s->cylinder[i].h, y, &terms), l = dot_of(s->cylinder[i].l, y, &part);
        terms = fmax(terms * cabs(y[GW_Y_ONE]), part * part);
        worst = fmax(worst, cabs(h * y[GW_Y_ONE] - l * l) / terms);
    }
    return worst;
}
