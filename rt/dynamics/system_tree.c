/*
 * Trees of a system: kinematics, and the articulated-body algorithm. RT safe.
 *
 * Everything is in world axes, each body about its own origin, spatial vectors ordered [v; w] and
 * [f; t]. With r from the parent's origin to the body's:
 *
 *   v = v_p + w_p x r + S_v u,   w = w_p + S_w u
 *   a = a_p + alpha_p x r + c_v + S_v u-dot,     c_v = w_p x (w_p x r) + 2 w_p x S_v u + S_v-dot u
 *   alpha = alpha_p + c_w + S_w u-dot,           c_w = w_p x S_w u + S_w-dot u
 *
 * S-dot u is what the columns change by as the joint itself moves.
 */
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_private.h"

/* ---- kinematics ------------------------------------------------------------------------------ */

/* Poses, columns and inertias about the centres of mass, from the joints' positions. */
void gw_tree_update_positions(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        const gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        gw_vec3 v[6], w[6];
        gw_pose on_parent = p ? gw_pose_mul(&p->pose, &k->def.parent_from_f) : k->def.parent_from_f;
        gw_pose f_from_m = gw_mobilizer_pose(k->def.joint, k->def.pitch, &k->joint, v, w);
        gw_pose moved = k->def.reversed ? gw_pose_inverse(&f_from_m) : f_from_m;
        gw_pose joint_from_body = gw_pose_mul(&moved, &k->m_from_body);
        k->pose = gw_pose_mul(&on_parent, &joint_from_body);
        k->pose.q = gw_quat_unit(k->pose.q);
        k->r = p ? gw_sub(k->pose.p, p->pose.p) : k->pose.p;
        /* F's axes in the world; from M's origin to the body's, where the columns are of */
        gw_quat f = k->def.reversed ? gw_quat_mul(on_parent.q, moved.q) : on_parent.q;
        gw_vec3 m_at = k->def.reversed ? on_parent.p : gw_pose_point(&on_parent, f_from_m.p);
        k->arm = gw_sub(k->pose.p, m_at);
        double sign = k->def.reversed ? -1 : 1;
        for (int j = 0; j < k->dof; j++) {
            gw_vec3 cw = gw_scale(sign, gw_rotate(f, w[j]));
            gw_vec3 cv = gw_scale(sign, gw_rotate(f, v[j]));
            gw_spatial_set(k->columns[j], gw_add(cv, gw_cross(cw, k->arm)), cw);
        }
        const gw_mass *m = &k->def.mass;
        gw_mat3 turn = gw_quat_to_mat3(k->pose.q);
        k->com = gw_mat3_mul(&turn, m->com);
        double t[3][3];
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                t[a][b] = turn.m[a][0] * m->inertia.m[0][b] + turn.m[a][1] * m->inertia.m[1][b] +
                          turn.m[a][2] * m->inertia.m[2][b];
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                k->inertia_com.m[a][b] =
                    t[a][0] * turn.m[b][0] + t[a][1] * turn.m[b][1] + t[a][2] * turn.m[b][2];
    }
}

/*
 * Twists, bias accelerations and p, from the joints' velocities; positions are up to date:
 *
 *   f = m (a - c x alpha + w x (w x c)),   t = I_c alpha + w x I_c w + c x f
 */
void gw_tree_update_velocities(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        const gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        gw_vec3 rel_v = {0, 0, 0}, rel_w = {0, 0, 0}, c_w = {0, 0, 0};
        for (int j = 0; j < k->dof; j++) {
            rel_v = gw_mul_add(rel_v, k->joint.u[j], gw_linear_part(k->columns[j]));
            rel_w = gw_mul_add(rel_w, k->joint.u[j], gw_angular_part(k->columns[j]));
        }
        /* the second axis of a universal joint turns with the first */
        if (k->def.joint == GW_MOBILIZER_UNIVERSAL)
            c_w =
                gw_scale((k->def.reversed ? -1 : 1) * k->joint.u[0] * k->joint.u[1],
                         gw_cross(gw_angular_part(k->columns[0]), gw_angular_part(k->columns[1])));
        gw_vec3 c_v = gw_cross(c_w, k->arm), turning = gw_cross(rel_w, gw_cross(rel_w, k->arm));
        c_v = gw_add(c_v, turning);
        /* columns are at rest in F: where that is the body's own frame they turn with it */
        if (k->def.reversed)
            c_v = gw_add(c_v, gw_scale(2, gw_cross(rel_w, gw_sub(rel_v, gw_cross(rel_w, k->arm)))));
        k->twist = (gw_twist){rel_v, rel_w};
        if (p) {
            gw_vec3 w_p = p->twist.w, carried = gw_cross(w_p, k->r);
            k->twist.v = gw_add(rel_v, gw_add(p->twist.v, carried));
            k->twist.w = gw_add(rel_w, w_p);
            c_v = gw_add(c_v, gw_add(gw_cross(w_p, carried), gw_scale(2, gw_cross(w_p, rel_v))));
            c_w = gw_add(c_w, gw_cross(w_p, rel_w));
        }
        gw_spatial_set(k->bias, c_v, c_w);
        gw_vec3 w = k->twist.w;
        gw_vec3 f = gw_scale(k->def.mass.mass, gw_cross(w, gw_cross(w, k->com)));
        gw_spatial_set(k->gyroscopic, f,
                       gw_add(gw_cross(w, gw_mat3_mul(&k->inertia_com, w)), gw_cross(k->com, f)));
    }
}

/* [f; t] = inertia [a; alpha] of the body alone, about its origin, and h times its damping. */
static void rigid_inertia(gw_system_body *k, double h)
{
    double m = k->def.mass.mass, c[3] = {k->com.x, k->com.y, k->com.z}, c2 = gw_norm2(k->com);
    double cross[3][3] = {{0, -c[2], c[1]}, {c[2], 0, -c[0]}, {-c[1], c[0], 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            k->inertia[i][j] = i == j ? m : 0;
            k->inertia[i][3 + j] = -m * cross[i][j];
            k->inertia[3 + i][j] = m * cross[i][j];
            k->inertia[3 + i][3 + j] =
                k->inertia_com.m[i][j] + m * ((i == j ? c2 : 0) - c[i] * c[j]);
        }
    for (int i = 0; i < 3; i++) {
        k->inertia[i][i] += h * k->def.damping_linear;
        k->inertia[3 + i][3 + i] += h * k->def.damping_angular;
    }
}

/* ---- the articulated-body algorithm --------------------------------------------------------- */

/* to += T^T m T with T = [1, -[r]; 0, 1]: what a body's inertia is at its parent's origin. */
static void add_shifted(double m[6][6], gw_vec3 r, double to[6][6])
{
    double t[6][6];
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 3; j++)
            t[i][j] = m[i][j];
        t[i][3] = m[i][3] - (m[i][1] * r.z - m[i][2] * r.y);
        t[i][4] = m[i][4] - (m[i][2] * r.x - m[i][0] * r.z);
        t[i][5] = m[i][5] - (m[i][0] * r.y - m[i][1] * r.x);
    }
    for (int j = 0; j < 6; j++) {
        for (int i = 0; i < 3; i++)
            to[i][j] += t[i][j];
        to[3][j] += t[3][j] - (t[1][j] * r.z - t[2][j] * r.y);
        to[4][j] += t[4][j] - (t[2][j] * r.x - t[0][j] * r.z);
        to[5][j] += t[5][j] - (t[0][j] * r.y - t[1][j] * r.x);
    }
}

/* L of D = S^T I^A S + added; a coordinate that moves no inertia gets none and stands still. */
static void factor_joint(gw_system_body *k, const double *added)
{
    double largest = 0;
    for (int i = 0; i < k->dof; i++) {
        for (int j = 0; j < 6; j++)
            k->pulled[i][j] = gw_dot6(k->inertia[j], k->columns[i]);
        largest = fmax(largest, gw_dot6(k->columns[i], k->pulled[i]) + (added ? added[i] : 0));
    }
    for (int i = 0; i < k->dof; i++)
        for (int j = 0; j <= i; j++) {
            double sum = gw_dot6(k->columns[i], k->pulled[j]);
            if (i == j && added)
                sum += added[i];
            for (int l = 0; l < j; l++)
                sum -= k->chol[i][l] * k->chol[j][l];
            if (i > j)
                k->chol[i][j] = k->chol[j][j] > 0 ? sum / k->chol[j][j] : 0;
            else
                k->chol[i][i] = sum > 1e-14 * largest ? sqrt(sum) : 0;
        }
}

/* x := D^-1 x */
static void solve_joint(const gw_system_body *k, double *x)
{
    for (int i = 0; i < k->dof; i++) {
        for (int l = 0; l < i; l++)
            x[i] -= k->chol[i][l] * x[l];
        x[i] = k->chol[i][i] > 0 ? x[i] / k->chol[i][i] : 0;
    }
    for (int i = k->dof - 1; i >= 0; i--) {
        for (int l = i + 1; l < k->dof; l++)
            x[i] -= k->chol[l][i] * x[l];
        x[i] = k->chol[i][i] > 0 ? x[i] / k->chol[i][i] : 0;
    }
}

/* Articulated inertias of all bodies, from the tips to the roots:
 * I^a = I^A - U D^-1 U^T, shifted to the parent and added there. */
void gw_tree_articulate(gw_system *s, double h, const double *added)
{
    for (int k = 0; k < s->body_count; k++)
        rigid_inertia(&s->bodies[k], h);
    for (int k = s->body_count - 1; k >= 0; k--) {
        gw_system_body *b = &s->bodies[k];
        factor_joint(b, added ? added + b->first : NULL);
        if (b->def.parent < 0)
            continue;
        double reduced[6][6], x[6];
        memcpy(reduced, b->inertia, sizeof reduced);
        for (int j = 0; j < 6; j++) {
            for (int i = 0; i < b->dof; i++)
                x[i] = b->pulled[i][j];
            solve_joint(b, x);
            for (int l = 0; l < 6; l++)
                for (int i = 0; i < b->dof; i++)
                    reduced[l][j] -= b->pulled[i][l] * x[i];
        }
        add_shifted(reduced, b->r, s->bodies[b->def.parent].inertia);
    }
}

/*
 * The tree's answer to `force` (of each body: what acts on it, less what its motion asks) and the
 * joints' generalised `rest` forces, with the bias accelerations or without:
 *
 *   D u-dot = rest + S^T f - U^T (a' + c)       a' the parent's acceleration, shifted
 */
void gw_tree_accelerations(gw_system *s, bool biased)
{
    for (int i = s->body_count - 1; i >= 0; i--) {
        gw_system_body *k = &s->bodies[i];
        double on_parent[6];
        memcpy(on_parent, k->force, sizeof on_parent);
        for (int j = 0; j < k->dof; j++)
            k->rest[j] +=
                gw_dot6(k->columns[j], k->force) - (biased ? gw_dot6(k->pulled[j], k->bias) : 0);
        if (k->def.parent < 0)
            continue;
        if (biased)
            for (int j = 0; j < 6; j++)
                on_parent[j] -= gw_dot6(k->inertia[j], k->bias);
        double x[6];
        memcpy(x, k->rest, (size_t)k->dof * sizeof *x);
        solve_joint(k, x);
        for (int j = 0; j < k->dof; j++)
            for (int l = 0; l < 6; l++)
                on_parent[l] -= k->pulled[j][l] * x[j];
        gw_system_body *p = &s->bodies[k->def.parent];
        gw_vec3 f = gw_linear_part(on_parent),
                t = gw_add(gw_angular_part(on_parent), gw_cross(k->r, f));
        p->force[0] += f.x, p->force[1] += f.y, p->force[2] += f.z;
        p->force[3] += t.x, p->force[4] += t.y, p->force[5] += t.z;
    }
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        double *a = k->acceleration;
        if (k->def.parent >= 0) {
            const double *p = s->bodies[k->def.parent].acceleration;
            gw_spatial_set(a, gw_add(gw_linear_part(p), gw_cross(gw_angular_part(p), k->r)),
                           gw_angular_part(p));
        } else {
            memset(a, 0, 6 * sizeof *a);
        }
        for (int j = 0; j < k->dof; j++)
            k->rest[j] -= gw_dot6(k->pulled[j], a);
        solve_joint(k, k->rest);
        for (int l = 0; l < 6; l++) {
            a[l] += biased ? k->bias[l] : 0;
            for (int j = 0; j < k->dof; j++)
                a[l] += k->columns[j][l] * k->rest[j];
        }
    }
}

void gw_tree_clear_forces(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        memset(s->bodies[i].force, 0, sizeof s->bodies[i].force);
        memset(s->bodies[i].rest, 0, sizeof s->bodies[i].rest);
    }
}
