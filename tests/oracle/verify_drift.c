/*
 * verify_drift MINUTES [SCENE ..]: scenes with loops or velocity constraints, as their scripts
 * operate them, for so many simulated minutes: the largest residual of their rows, error of the
 * energy balance, and slip of velocity rows. SCENE is the name of a bundled scene or a path;
 * without any, all scenes with closures are run. Exit code 1 if a scene exceeds
 *
 *   residual   1e-12 of the scene's size (its largest distance from the origin, or 1 m)
 *   slip       1e-10 m/s
 *   energy     1e-8 of the largest kinetic energy
 *
 * the last limit also for the energy errors that steps report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rt/sim/scenario_private.h"
#include "rt/sim/scene_dynamics_private.h"
#include "rt/sim/simulation_private.h"
#include "tests/unit/bundled.h"

#define RESIDUAL 1e-12
#define SLIP     1e-10
#define ENERGY   1e-8

typedef struct drift {
    double size, largest;            /* m, J */
    double residual, slip, energy;   /* m, m/s, J: the largest of all ticks */
    double energy_error;             /* sum of the errors that steps report (J) */
    int reports;                     /* number of such steps */
    uint64_t residual_at, energy_at; /* ticks */
    bool edge;                       /* a closure reached the edge of a surface */
} drift;

static gw_scene *scene_at(const char *path)
{
    gw_error error = {0};
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    gw_scene *scene = json ? wire_get_scene(json, &error) : NULL;
    json_decref(json);
    if (!scene)
        fprintf(stderr, "%s: %s %s\n", path, error.where, error.message);
    return scene;
}

static bool is_closed(const gw_layout *layout)
{
    for (int i = 0; i < layout->system_count; i++)
        if (layout->systems[i] && layout->systems[i]->closure_count > 0)
            return true;
    return false;
}

static void watch_rows(drift *d, const gw_scene_dynamics *m, uint64_t tick)
{
    for (int i = 0; i < m->system_count; i++) {
        gw_system *s = m->systems[i].system;
        double residual = gw_system_residual(s);
        if (residual > d->residual) {
            d->residual = residual;
            d->residual_at = tick;
        }
        d->slip = fmax(d->slip, gw_system_slip_velocity(s));
        d->edge = d->edge || gw_system_closure_at_edge(s) >= 0;
    }
}

static void watch(drift *d, running *r)
{
    const gw_snapshot *s = running_tick(r);
    const gw_energy *e = &s->energy;
    gw_event events[GW_EVENTS_KEPT];
    double off =
        e->kinetic + e->potential + e->dissipated - e->initial - e->work_in - e->motors - e->edits;
    if (fabs(off) > d->energy) {
        d->energy = fabs(off);
        d->energy_at = s->tick;
    }
    d->largest = fmax(d->largest, e->kinetic);
    for (int i = 0; i < s->free_count; i++)
        d->size = fmax(d->size, gw_norm(s->free[i].pose.p));
    watch_rows(d, r->simulation->scenario->dynamics, s->tick);
    int count = gw_simulation_events(r->simulation, events, GW_EVENTS_KEPT);
    for (int i = 0; i < count; i++)
        if (events[i].kind == GW_EVENT_UNBOOKED) {
            d->energy_error += events[i].value;
            d->reports++;
        }
}

/* Runs a scene and prints a row of the table; true if it is within the limits. */
static bool verify(const char *name, gw_scene *scene, uint64_t ticks)
{
    running r;
    drift d = {.size = 1};
    running_open(&r, scene);
    const double rate = scene->rate;
    bool closed = is_closed(r.layout);
    for (uint64_t k = 0; closed && k < ticks; k++)
        watch(&d, &r);
    bool apart = d.residual > RESIDUAL * d.size, slips = d.slip > SLIP;
    bool lost = fmax(d.energy, d.energy_error) > ENERGY * d.largest;
    if (!closed)
        printf("%-18s has no closures\n", name);
    else
        printf("%-18s residual %7.1e m of %4.2g m%s slip %7.1e m/s%s energy %7.1e J of %7.1e J%s "
               "reported %7.1e J by %d steps%s (worst at %.3f s, %.3f s)\n",
               name, d.residual, d.size, apart ? " !" : "  ", d.slip, slips ? " !" : "  ", d.energy,
               d.largest, lost ? " !" : "  ", d.energy_error, d.reports,
               d.edge ? ", at an edge" : "", (double)d.residual_at / rate,
               (double)d.energy_at / rate);
    fflush(stdout);
    running_close(&r);
    return !(apart || slips || lost);
}

int main(int count, char **words)
{
    static const char *const bundled[] = {"ball-on-turntable",
                                          "belt-drive",
                                          "bendy-pieces",
                                          "bicycle",
                                          "cam-and-follower",
                                          "car",
                                          "contact-freedoms",
                                          "curve-on-curve",
                                          "digger-arm",
                                          "elliptic-wheels",
                                          "four-bar",
                                          "gear-train",
                                          "rattleback",
                                          "rolling-disc",
                                          "rolling-on-saddle",
                                          "scissor-lift",
                                          "sleigh",
                                          "spatial-four-bar",
                                          "stewart-platform",
                                          "two-links",
                                          "tests/oracle/bendy-pieces.json",
                                          "tests/oracle/bricard.json"};
    double minutes = count > 1 ? strtod(words[1], NULL) : 10;
    int scenes = count > 2 ? count - 2 : (int)(sizeof bundled / sizeof *bundled), beyond = 0;
    for (int i = 0; i < scenes; i++) {
        const char *name = count > 2 ? words[2 + i] : bundled[i];
        gw_scene *scene = strchr(name, '/') ? scene_at(name) : bundled_scene(name);
        if (!scene)
            return 2;
        beyond += !verify(name, scene, (uint64_t)(minutes * 60 * scene->rate));
    }
    printf("%d of %d scenes are beyond the figures\n", beyond, scenes);
    return beyond > 0;
}
