/* Measures for tests of assemblies: openings of joints, and derivatives of rows. */
#ifndef GW_TESTS_UNIT_ASSEMBLY_CHECKS_H
#define GW_TESTS_UNIT_ASSEMBLY_CHECKS_H

#include "rt/scene/assembly_private.h"
#include "rt/scene/joint_frame.h"
#include "tests/unit/assembly_fixture.h"

static inline gw_pose pose_of(const gw_scene *s, const char *name)
{
    int object = gw_scene_object(s, name);
    return object >= 0 ? s->objects[object].pose : gw_pose_identity();
}

/* M in F of a joint, from the scene's poses. */
static inline gw_pose relative(const gw_scene *s, int index)
{
    gw_pose m, f, a = pose_of(s, s->joints[index].a.object),
                  b = pose_of(s, s->joints[index].b.object);
    gw_scene_joint_frames(s, &s->joints[index], &m, &f);
    m = gw_pose_mul(&a, &m), f = gw_pose_mul(&b, &f);
    gw_pose back = gw_pose_inverse(&f);
    return gw_pose_mul(&back, &m);
}

/* By how much a joint is open (m, rad), from what its type means; shares nothing with the rows. */
static inline double opening(const gw_scene *s, int index)
{
    gw_pose x = relative(s, index);
    gw_vec3 z = gw_rotate(x.q, gw_v3(0, 0, 1)), along = gw_rotate(x.q, gw_v3(1, 0, 0));
    double tilt = hypot(z.x, z.y) + (z.z < 0 ? 2 : 0), off = hypot(x.p.x, x.p.y);
    double apart = gw_norm(x.p);
    switch (s->joints[index].type) {
    case GW_MOBILIZER_REVOLUTE:
        return fmax(apart, tilt);
    case GW_MOBILIZER_PRISMATIC:
        return fmax(off, fmax(tilt, fabs(along.y)));
    case GW_MOBILIZER_CYLINDRICAL:
        return fmax(off, tilt);
    case GW_MOBILIZER_UNIVERSAL:
        return fmax(apart, fabs(along.y));
    case GW_MOBILIZER_PLANAR:
        return fmax(fabs(x.p.z), tilt);
    case GW_MOBILIZER_SPHERICAL:
        return apart;
    case GW_MOBILIZER_FIXED:
        return fmax(apart, 2 * hypot(x.q.x, hypot(x.q.y, x.q.z)));
    case GW_MOBILIZER_SCREW: {
        double turn = x.p.z / s->joints[index].pitch - atan2(along.y, along.x);
        return fmax(off, fmax(tilt, fabs(remainder(turn, 2 * GW_PI))));
    }
    case GW_MOBILIZER_FREE:
    case GW_MOBILIZER_COUNT:
        break;
    }
    return 0;
}

/* A term's derivatives against central differences of the exponential map. */
static inline void check_derivatives(gw_assembly *w, int t)
{
    const double h = 1e-5;
    const gw_term *term = &w->terms[t];
    gw_pair_row now[3], less[3], more[3];
    int count = gw_assembly_rows(w, term, now);
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < 6; k++) {
            int body = side == 0 ? term->a : term->b;
            gw_pose before = w->poses[body];
            double d[6] = {0};
            d[k] = k < 3 ? h * w->size : h;
            gw_twist step = {{d[0], d[1], d[2]}, {d[3], d[4], d[5]}};
            gw_twist back = {gw_neg(step.v), gw_neg(step.w)};
            w->poses[body] = gw_pose_add(&before, &step);
            gw_assembly_rows(w, term, more);
            w->poses[body] = gw_pose_add(&before, &back);
            gw_assembly_rows(w, term, less);
            w->poses[body] = before;
            for (int i = 0; i < count; i++) {
                gw_vec3 v = side == 0 ? now[i].u : gw_neg(now[i].u);
                gw_vec3 turn = side == 0 ? now[i].on_a : now[i].on_b;
                const double told[6] = {v.x, v.y, v.z, turn.x, turn.y, turn.z};
                double seen = (more[i].h - less[i].h) / (2 * h);
                if (fabs(told[k] - seen) > 1e-7)
                    print_message("term %d of kind %d row %d side %d entry %d: %g, not %g\n", t,
                                  (int)term->kind, i, side, k, told[k], seen);
                assert_true(fabs(told[k] - seen) < 1e-7);
            }
        }
}

#endif
