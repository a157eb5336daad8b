/*
 * A simulation from another C program: a ball that falls onto a plate, told ten times a second.
 *
 *     make install PREFIX=$HOME/.local
 *     cc -o steps examples/steps.c $(pkg-config --cflags --libs guideway)
 */
#include <stdio.h>
#include <string.h>

#include "rt/guideway.h"

/* Adds an object to the scene; NULL where there is no memory. */
static gw_object *add(gw_scene *scene, const char *id, gw_shape shape, gw_vec3 at)
{
    gw_object *object = gw_scene_add_object(scene, NULL);
    if (!object)
        return NULL;
    strcpy(object->id, id);
    object->shape = shape;
    object->pose.p = at;
    return object;
}

static gw_scene *make_scene(void)
{
    const gw_scene empty = gw_scene_default();
    gw_scene *scene = gw_scene_copy(&empty);
    if (!scene)
        return NULL;
    strcpy(scene->name, "a ball falls");
    scene->gravity = (gw_vec3){0, 0, -9.81};
    scene->contact.enabled = true;
    gw_object *plate = add(scene, "plate", (gw_shape){.kind = GW_SHAPE_BOX, .size = {1, 1, 0.1}},
                           (gw_vec3){0, 0, -0.05});
    if (plate)
        plate->fixed = true;
    gw_object *ball = add(scene, "ball", (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.05},
                          (gw_vec3){0, 0, 0.5});
    if (ball)
        ball->free = true;
    if (plate && ball)
        return scene;
    gw_scene_destroy(scene);
    return NULL;
}

int main(void)
{
    gw_error error = {0};
    gw_scene *scene = make_scene();
    gw_sim *sim = scene && gw_scene_check(scene, &error) ? gw_sim_create(scene, &error) : NULL;
    if (!sim) {
        fprintf(stderr, "%s: %s\n", error.where, error.message);
        gw_scene_destroy(scene);
        return 1;
    }
    int ball = gw_scene_object(scene, "ball");
    gw_sim_set_state(sim, GW_RUNNING);
    for (int tenth = 0; tenth <= 10; tenth++) {
        const gw_pose *poses = gw_sim_poses(sim);
        printf("t = %.1f s  z = %.4f m\n", gw_sim_snapshot(sim)->time, poses[ball].p.z);
        gw_sim_step(sim, 100);
    }
    gw_sim_destroy(sim);
    gw_scene_destroy(scene);
    return 0;
}
