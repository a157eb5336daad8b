/*
 * Kinematics of each kind of joint. RT safe.
 */
#include "rt/dynamics/mobilizer.h"

#include <assert.h>
#include <string.h>

static const gw_vec3 zero = {0, 0, 0}, ex = {1, 0, 0}, ey = {0, 1, 0}, ez = {0, 0, 1};

const gw_mobilizer_info gw_mobilizers[GW_MOBILIZER_COUNT + 1] = {
    [GW_MOBILIZER_FIXED] = {"fixed", 0, 0, NULL, {true, true, true}, true, true},
    [GW_MOBILIZER_REVOLUTE] =
        {"revolute", 1, 1, "turns about its axis (1)", {true, true, true}, .holds_axis = true},
    [GW_MOBILIZER_PRISMATIC] = {"prismatic",
                                1,
                                0,
                                "slides along its axis (1)",
                                {true, true, false},
                                .holds_axis = true,
                                .holds_turn = true},
    [GW_MOBILIZER_CYLINDRICAL] = {"cylindrical",
                                  2,
                                  2,
                                  "slides along its axis (1), turns about it (1)",
                                  {true, true, false},
                                  .holds_axis = true},
    [GW_MOBILIZER_SCREW] = {"screw",
                            1,
                            1,
                            "turns about its axis and advances with it (1)",
                            {true, true, false},
                            .holds_axis = true},
    [GW_MOBILIZER_UNIVERSAL] = {"universal",
                                2,
                                3,
                                "turns about two crossing axes (2)",
                                {true, true, true},
                                .holds_turn = true,
                                .second_turns = true},
    [GW_MOBILIZER_PLANAR] = {"planar",
                             3,
                             4,
                             "slides in the plane (2), turns about its normal (1)",
                             {false, false, true},
                             .holds_axis = true},
    [GW_MOBILIZER_SPHERICAL] = {"spherical", 3, 7, "turns about a point (3)", {true, true, true}},
    [GW_MOBILIZER_FREE] = {"free", 6, 0x38},
    [GW_MOBILIZER_SUBMANIFOLD] = {"submanifold"},
};

int gw_mobilizer_rotation(gw_mobilizer type)
{
    return type == GW_MOBILIZER_SPHERICAL ? 0 : type == GW_MOBILIZER_FREE ? 3 : 6;
}

gw_pose gw_mobilizer_pose(gw_mobilizer type, double pitch, const gw_mobilizer_state *s,
                          gw_vec3 v[6], gw_vec3 w[6])
{
    const double *z = s->z;
    for (int i = 0; i < gw_mobilizers[type].dof; i++)
        v[i] = w[i] = zero;
    switch (type) {
    case GW_MOBILIZER_FIXED:
    case GW_MOBILIZER_COUNT:
        break;
    case GW_MOBILIZER_REVOLUTE:
        w[0] = ez;
        return (gw_pose){zero, gw_quat_axis(ez, z[0])};
    case GW_MOBILIZER_PRISMATIC:
        v[0] = ez;
        return (gw_pose){gw_v3(0, 0, z[0]), gw_quat_identity()};
    case GW_MOBILIZER_CYLINDRICAL:
        v[0] = ez, w[1] = ez;
        return (gw_pose){gw_v3(0, 0, z[0]), gw_quat_axis(ez, z[1])};
    case GW_MOBILIZER_SCREW:
        v[0] = gw_v3(0, 0, pitch), w[0] = ez;
        return (gw_pose){gw_v3(0, 0, pitch * z[0]), gw_quat_axis(ez, z[0])};
    case GW_MOBILIZER_UNIVERSAL: {
        gw_quat first = gw_quat_axis(ey, z[0]);
        w[0] = ey, w[1] = gw_rotate(first, ex);
        return (gw_pose){zero, gw_quat_mul(first, gw_quat_axis(ex, z[1]))};
    }
    case GW_MOBILIZER_PLANAR:
        v[0] = ex, v[1] = ey, w[2] = ez;
        return (gw_pose){gw_v3(z[0], z[1], 0), gw_quat_axis(ez, z[2])};
    case GW_MOBILIZER_SPHERICAL:
        w[0] = ex, w[1] = ey, w[2] = ez;
        return (gw_pose){zero, s->turn};
    case GW_MOBILIZER_FREE:
        v[0] = ex, v[1] = ey, v[2] = ez, w[3] = ex, w[4] = ey, w[5] = ez;
        return (gw_pose){gw_v3(z[0], z[1], z[2]), s->turn};
    }
    return gw_pose_identity();
}

void gw_mobilizer_move(gw_mobilizer type, const gw_mobilizer_state *from, const double *by,
                       gw_mobilizer_state *to)
{
    assert(from && by && to);
    int at = gw_mobilizer_rotation(type);
    for (int i = 0; i < gw_mobilizers[type].dof; i++)
        to->z[i] = from->z[i] + by[i];
    if (at < 6)
        to->turn = gw_quat_unit(
            gw_quat_mul(gw_quat_exp(gw_v3(by[at], by[at + 1], by[at + 2])), from->turn));
}

void gw_mobilizer_rates(gw_mobilizer type, const double *by, const double *u, double *rates)
{
    int at = gw_mobilizer_rotation(type);
    memcpy(rates, u, (size_t)gw_mobilizers[type].dof * sizeof *u);
    if (at == 6)
        return;
    gw_vec3 r = gw_so3_left_jacobian_inverse(gw_v3(by[at], by[at + 1], by[at + 2]),
                                             gw_v3(u[at], u[at + 1], u[at + 2]));
    rates[at] = r.x, rates[at + 1] = r.y, rates[at + 2] = r.z;
}

static void store3(double *x, gw_vec3 a)
{
    x[0] = a.x, x[1] = a.y, x[2] = a.z;
}

static double turn_about_z(gw_quat q)
{
    return remainder(2 * atan2(q.z, q.w), 2 * GW_PI);
}

bool gw_mobilizer_is_periodic(gw_mobilizer type, int coordinate)
{
    assert(coordinate >= 0 && coordinate < 6);
    return type != GW_MOBILIZER_SCREW && gw_mobilizer_rotation(type) == 6 &&
           (gw_mobilizers[type].turns >> coordinate & 1);
}

void gw_mobilizer_position(gw_mobilizer type, double pitch, const gw_pose *x, double position[6])
{
    assert(x && position);
    gw_mat3 r = gw_quat_to_mat3(x->q);
    memset(position, 0, 6 * sizeof *position);
    switch (type) {
    case GW_MOBILIZER_REVOLUTE:
        position[0] = turn_about_z(x->q);
        break;
    case GW_MOBILIZER_SCREW:
        position[0] = turn_about_z(x->q);
        position[0] += 2 * GW_PI * round((x->p.z / pitch - position[0]) / (2 * GW_PI));
        break;
    case GW_MOBILIZER_PRISMATIC:
        position[0] = x->p.z;
        break;
    case GW_MOBILIZER_CYLINDRICAL:
        position[0] = x->p.z, position[1] = turn_about_z(x->q);
        break;
    case GW_MOBILIZER_UNIVERSAL:
        /* R = R_y(first) R_x(second) */
        position[0] = atan2(-r.m[2][0], r.m[0][0]);
        position[1] = atan2(-r.m[1][2], r.m[1][1]);
        break;
    case GW_MOBILIZER_PLANAR:
        position[0] = x->p.x, position[1] = x->p.y, position[2] = turn_about_z(x->q);
        break;
    case GW_MOBILIZER_SPHERICAL:
        store3(position, gw_quat_log(x->q));
        break;
    case GW_MOBILIZER_FREE:
        store3(position, x->p);
        store3(position + 3, gw_quat_log(x->q));
        break;
    case GW_MOBILIZER_FIXED:
    case GW_MOBILIZER_COUNT:
        break;
    }
}

void gw_mobilizer_velocity(gw_mobilizer type, const gw_pose *x, const gw_twist *t,
                           double velocity[6])
{
    assert(x && t && velocity);
    memset(velocity, 0, 6 * sizeof *velocity);
    switch (type) {
    case GW_MOBILIZER_REVOLUTE:
    case GW_MOBILIZER_SCREW:
        velocity[0] = t->w.z;
        break;
    case GW_MOBILIZER_PRISMATIC:
        velocity[0] = t->v.z;
        break;
    case GW_MOBILIZER_CYLINDRICAL:
        velocity[0] = t->v.z, velocity[1] = t->w.z;
        break;
    case GW_MOBILIZER_UNIVERSAL:
        velocity[0] = t->w.y, velocity[1] = gw_dot(t->w, gw_rotate(x->q, ex));
        break;
    case GW_MOBILIZER_PLANAR:
        velocity[0] = t->v.x, velocity[1] = t->v.y, velocity[2] = t->w.z;
        break;
    case GW_MOBILIZER_SPHERICAL:
        store3(velocity, t->w);
        break;
    case GW_MOBILIZER_FREE:
        store3(velocity, t->v);
        store3(velocity + 3, t->w);
        break;
    case GW_MOBILIZER_FIXED:
    case GW_MOBILIZER_COUNT:
        break;
    }
}

int gw_mobilizer_rows(gw_mobilizer type, const gw_pose *f, const gw_pose *m, gw_row rows[6])
{
    assert(f && m && rows);
    const gw_mobilizer_info *info = &gw_mobilizers[type];
    const gw_vec3 axis[3] = {gw_rotate(f->q, ex), gw_rotate(f->q, ey), gw_rotate(f->q, ez)};
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (info->holds_along[i])
            rows[n++] = (gw_row){.kind = GW_ROW_PLANE, .m = m->p, .f = f->p, .n = axis[i]};
    for (int i = 0; i < 2 && info->holds_axis; i++)
        rows[n++] = (gw_row){.kind = GW_ROW_ANGLE, .m = gw_rotate(m->q, ez), .n = axis[i]};
    if (info->holds_turn)
        rows[n++] = (gw_row){.kind = GW_ROW_ANGLE, .m = gw_rotate(m->q, ex), .n = axis[1]};
    return n;
}
