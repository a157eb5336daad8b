/*
 * A four-bar with the mass of all its bars, from another C program: crank, rocker, and a coupler
 * that hangs on the crank and closes the loop at the rocker.
 *
 *     make install PREFIX=$HOME/.local
 *     cc -o four_bar examples/four_bar.c $(pkg-config --cflags --libs guideway)
 *
 * Prints the crank's angle and the energy ten times a second.
 */
#include <stdio.h>

#include "rt/guideway.h"

/* A uniform bar of 1 m along x that turns about z at `parent_from_f`. */
static gw_system_body_def bar(int parent, gw_pose parent_from_f, double mass, double angle)
{
    double i = mass / 12;
    return (gw_system_body_def){.mass = {mass, {0.5, 0, 0}, {{{0, 0, 0}, {0, i, 0}, {0, 0, i}}}},
                                .parent = parent,
                                .joint = GW_MOBILIZER_REVOLUTE,
                                .parent_from_f = parent_from_f,
                                .body_from_m = gw_pose_identity(),
                                .position = {angle}};
}

int main(void)
{
    gw_pose origin = gw_pose_identity(), across = {{1, 0, 0}, {1, 0, 0, 0}}, tip = across;
    gw_system_body_def bodies[3] = {bar(GW_GROUND, origin, 1, GW_PI / 2), /* crank */
                                    bar(GW_GROUND, across, 1, GW_PI / 2), /* rocker */
                                    bar(0, tip, 5, -GW_PI / 2)};          /* coupler */
    bodies[0].velocity[0] = bodies[1].velocity[0] = -1;
    bodies[2].velocity[0] = 1;
    gw_closure_def hinge = {.a = 2, .b = 1};
    hinge.row_count = gw_mobilizer_rows(GW_MOBILIZER_REVOLUTE, &tip, &tip, hinge.rows);
    gw_system_def def = {.body_count = 3,
                         .closure_count = 1,
                         .bodies = bodies,
                         .closures = &hinge,
                         .gravity = {0, -9.81, 0}};
    gw_error error = {0};
    gw_system *system = gw_system_create(&def, &error);
    if (!system) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("mobility %d\n", gw_system_mobility(system));
    for (int tick = 0; tick <= 1000; tick++) {
        double position[6], velocity[6], kinetic, potential;
        gw_step step;
        gw_system_joint(system, 0, position, velocity);
        gw_model_energy(gw_system_model(system), &kinetic, &potential);
        if (tick % 100 == 0)
            printf("%.1f s: crank %8.4f rad, energy %.9f J, loop open by %.1e m\n", 1e-3 * tick,
                   position[0], kinetic + potential, gw_system_residual(system));
        gw_model_step(gw_system_model(system), NULL, 1e-3, &step);
    }
    gw_system_destroy(system);
    return 0;
}
