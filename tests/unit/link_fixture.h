/*
 * Serial mechanisms as systems of bodies, that tests share: the chains of chain_fixture.h by their
 * links, with positions, velocities and energies at hand.
 */
#ifndef GW_TESTS_UNIT_LINK_FIXTURE_H
#define GW_TESTS_UNIT_LINK_FIXTURE_H

#include "rt/dynamics/local_model.h"
#include "rt/dynamics/system_private.h"
#include "tests/unit/chain_checks.h"

typedef struct serial {
    const serial_def *def;
    gw_system *system;
    gw_model *model;
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], kinetic, potential; /* after the last step */
} serial;

static inline void serial_read(serial *s)
{
    for (int i = 0; i < s->def->count; i++)
        gw_system_joint(s->system, i, &s->q[i], &s->v[i]);
    gw_model_energy(s->model, &s->kinetic, &s->potential);
}

/* Those that no test closes: they go when the program ends. */
static gw_system *serials[20000];
static int serial_count;

static inline void serial_close_all(void)
{
    while (serial_count > 0)
        gw_system_destroy(serials[--serial_count]);
}

static inline void serial_close(serial *s)
{
    for (int i = 0; i < serial_count; i++)
        if (serials[i] == s->system)
            serials[i] = serials[--serial_count];
    gw_system_destroy(s->system);
}

static inline void serial_open(serial *s, const serial_def *def, const double *q, const double *v)
{
    gw_system_body_def bodies[GW_MAX_LINKS];
    for (int i = 0; i < def->count; i++) {
        bodies[i] = gw_link_body(&def->links[i], i - 1);
        bodies[i].position[0] = q ? q[i] : 0;
        bodies[i].velocity[0] = v ? v[i] : 0;
    }
    bodies[0].parent_from_f = gw_pose_mul(&def->world_from_base, &bodies[0].parent_from_f);
    const gw_system_def system = {
        .body_count = def->count, .bodies = bodies, .gravity = def->gravity, .dt = def->dt};
    *s = (serial){.def = def, .system = gw_system_create(&system, NULL)};
    assert_non_null(s->system);
    assert_true(serial_count < (int)(sizeof serials / sizeof *serials));
    if (serial_count == 0)
        atexit(serial_close_all);
    serials[serial_count++] = s->system;
    s->model = gw_system_model(s->system);
    const gw_pose at = gw_pose_identity();
    gw_system_hold(s->system, def->held < 0 ? def->count - 1 : def->held,
                   def->held < 0 ? &at : &def->link_from_held);
    serial_read(s);
}

static inline void serial_put(serial *s, const double *q, const double *v)
{
    gw_system_set_joints(s->system, q, v);
    serial_read(s);
}

static inline void serial_step(serial *s, const gw_forces *forces, double dt, gw_step *step)
{
    gw_model_step(s->model, forces, dt, step);
    serial_read(s);
}

static inline double serial_energy(const serial *s)
{
    return s->kinetic + s->potential;
}

/* From now on no body counts as moving in a plane. */
static inline void serial_in_space(serial *s)
{
    for (int i = 0; i < s->def->count; i++)
        s->system->bodies[i].flat.plane = NULL;
    s->system->all_planar = false;
    gw_system_update(s->system);
}

#endif
