/* Scenes built by hand, for tests: boxes with stated features, joined, held. */
#ifndef GW_TESTS_UNIT_SCENE_BUILDING_H
#define GW_TESTS_UNIT_SCENE_BUILDING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/scene/layout.h"

/* A copy that the test may change, destroyed with gw_scene_destroy(). */
static inline gw_scene *new_scene(void)
{
    gw_scene *s = malloc(sizeof *s);
    assert_non_null(s);
    *s = gw_scene_default();
    return s;
}

static inline gw_object *add_box(gw_scene *s, const char *id, gw_vec3 at, bool fixed)
{
    gw_object *o = gw_scene_add_object(s, NULL);
    assert_non_null(o);
    snprintf(o->id, sizeof o->id, "%s", id);
    o->shape = (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.1, 0.1, 0.1}};
    o->pose.p = at;
    o->fixed = fixed;
    return o;
}

static inline gw_scene_constraint *join(gw_scene *s, const char *id, gw_constraint_kind kind,
                                        const char *a, const char *fa, const char *b,
                                        const char *fb)
{
    gw_scene_constraint *c = gw_scene_add_constraint(s, NULL);
    assert_non_null(c);
    c->kind = kind;
    c->enabled = true;
    snprintf(c->id, sizeof c->id, "%s", id);
    snprintf(c->a.object, sizeof c->a.object, "%s", a);
    snprintf(c->a.feature, sizeof c->a.feature, "%s", fa);
    snprintf(c->b.object, sizeof c->b.object, "%s", b);
    snprintf(c->b.feature, sizeof c->b.feature, "%s", fb);
    return c;
}

static inline void hold(gw_scene *s, const char *object)
{
    gw_device *d = gw_scene_add_device(s, NULL);
    gw_tool *t = gw_scene_add_tool(s, NULL);
    assert_true(d && t);
    snprintf(d->id, sizeof d->id, "d%d", s->device_count);
    strcpy(d->driver, "sim");
    snprintf(t->object, sizeof t->object, "%s", object);
    memcpy(t->device, d->id, sizeof t->device);
}

/* All that neither is fixed nor free nor held has no mass: it only follows. */
static inline void let_others_follow(gw_scene *s)
{
    for (int i = 0; i < s->object_count; i++) {
        gw_object *o = &s->objects[i];
        o->massless = !o->fixed && !o->free;
        for (int k = 0; k < s->tool_count; k++)
            o->massless = o->massless && strcmp(s->tools[k].object, o->id) != 0;
    }
}

/* A stated feature of an object, in its frame. */
static inline gw_feature *state_feature(gw_scene *s, const char *object, const char *name,
                                        gw_element element)
{
    gw_feature *f = gw_scene_add_feature(s, NULL);
    assert_non_null(f);
    snprintf(f->object, sizeof f->object, "%s", object);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->element = element;
    return f;
}

/* A bar of length `l` along x from its frame, pins along z at both ends. */
static inline gw_object *add_bar(gw_scene *s, const char *id, gw_vec3 at, double angle, double l)
{
    gw_object *o = add_box(s, id, at, false);
    o->pose.q = gw_quat_axis(gw_v3(0, 0, 1), angle);
    o->shape.size = gw_v3(2 * l, 0.02, 0.02);
    state_feature(s, id, "near", (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {0, 0, 1}});
    state_feature(s, id, "far", (gw_element){.kind = GW_LINE, .p = {l, 0, 0}, .d = {0, 0, 1}});
    state_feature(s, id, "face", (gw_element){.kind = GW_PLANE, .p = {0, 0, 0}, .d = {0, 0, 1}});
    return o;
}

/* A hinge about z: two pins along one another, and faces that keep the height. */
static inline void hinge(gw_scene *s, const char *id, const char *a, const char *pin_a,
                         const char *b, const char *pin_b)
{
    char name[GW_MAX_ID + 1];
    join(s, id, GW_COINCIDENT, a, pin_a, b, pin_b)->sense = GW_SAME;
    snprintf(name, sizeof name, "%s-level", id);
    join(s, name, GW_COINCIDENT, a, "face", b, "face")->sense = GW_SAME;
}

/* The ground: fixed, pins along z at the origin and at (d, 0, 0). */
static inline void add_ground(gw_scene *s, double d)
{
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    state_feature(s, "ground", "left",
                  (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {0, 0, 1}});
    state_feature(s, "ground", "right",
                  (gw_element){.kind = GW_LINE, .p = {d, 0, 0}, .d = {0, 0, 1}});
    state_feature(s, "ground", "rail",
                  (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {1, 0, 0}});
    state_feature(s, "ground", "face",
                  (gw_element){.kind = GW_PLANE, .p = {0, 0, 0}, .d = {0, 0, 1}});
}

/* Crank of 0.1 m on the ground's left pin, coupler of 0.3 m, rocker of 0.2 m on the right pin at
 * 0.3 m; drawn roughly, to be assembled. The crank is held. */
static inline gw_scene *four_bar(void)
{
    gw_scene *s = new_scene();
    add_ground(s, 0.3);
    add_bar(s, "crank", gw_v3(0, 0, 0), 1, 0.1);
    add_bar(s, "coupler", gw_v3(0.05, 0.08, 0), 0.3, 0.3);
    add_bar(s, "rocker", gw_v3(0.3, 0, 0), 1.5, 0.2);
    hinge(s, "h1", "crank", "near", "ground", "left");
    hinge(s, "h2", "coupler", "near", "crank", "far");
    hinge(s, "h3", "rocker", "near", "ground", "right");
    hinge(s, "h4", "coupler", "far", "rocker", "far");
    hold(s, "crank");
    return s;
}

/* Crank of 0.1 m, held, and a rod of 0.3 m whose far end runs along the ground's rail. */
static inline gw_scene *slider_crank(void)
{
    gw_scene *s = new_scene();
    add_ground(s, 0.3);
    add_bar(s, "crank", gw_v3(0, 0, 0), 1, 0.1);
    add_bar(s, "rod", gw_v3(0.05, 0.08, 0), -0.3, 0.3);
    state_feature(s, "rod", "tip",
                  (gw_element){.kind = GW_POINT, .p = {0.3, 0, 0}, .d = {0, 0, 0}});
    hinge(s, "h1", "crank", "near", "ground", "left");
    hinge(s, "h2", "rod", "near", "crank", "far");
    join(s, "slide", GW_COINCIDENT, "rod", "tip", "ground", "rail");
    hold(s, "crank");
    return s;
}

#endif
