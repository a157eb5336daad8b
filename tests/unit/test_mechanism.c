/* Mechanisms, materials and contacts of the document: ownership, names, checks, where links are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/scene_building.h"

/* Links of one kilogram, half a metre apart, turning about z. */
static gw_mechanism *add_arm(gw_scene *s, const char *id, int links)
{
    gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
    assert_non_null(m);
    snprintf(m->id, sizeof m->id, "%s", id);
    assert_true(gw_mechanism_resize(m, links));
    for (int i = 0; i < links; i++) {
        m->links[i].mass = (gw_mass){1, {0.25, 0, 0}, {{{0.01, 0, 0}, {0, 0.02, 0}, {0, 0, 0.02}}}};
        m->links[i].parent_from_joint.p.x = i ? 0.5 : 0;
    }
    return m;
}

static gw_material *add_material(gw_scene *s, const char *id)
{
    gw_material *m = gw_scene_add_material(s, NULL);
    assert_non_null(m);
    snprintf(m->id, sizeof m->id, "%s", id);
    return m;
}

static void ignore(gw_scene *s, const char *a, const char *b)
{
    size_t count = (size_t)s->contact.ignore_count++;
    s->contact.ignore = realloc(s->contact.ignore, (count + 1) * sizeof *s->contact.ignore);
    assert_non_null(s->contact.ignore);
    gw_pair_name *pair = &s->contact.ignore[count];
    snprintf(pair->a, sizeof pair->a, "%s", a);
    snprintf(pair->b, sizeof pair->b, "%s", b);
}

/* A floor, a free ball, an arm of three links of rubber that a hand holds at the last one. */
static gw_scene *workshop(void)
{
    gw_scene *s = new_scene();
    add_box(s, "floor", gw_v3(0, 0, -1), true);
    add_box(s, "ball", gw_v3(0, 0, 1), false)->free = true;
    add_material(s, "rubber")->surface.friction = 0.9;
    gw_mechanism *arm = add_arm(s, "arm", 3);
    strcpy(arm->geometries[2].material, "rubber");
    arm->geometries[2].has_geometry = true;
    arm->geometries[2].shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.05};
    ignore(s, "floor", "arm.0");
    gw_device *d = gw_scene_add_device(s, NULL);
    strcpy(d->id, "sim");
    strcpy(d->driver, "sim");
    gw_tool *t = gw_scene_add_tool(s, NULL);
    strcpy(t->mechanism, "arm");
    strcpy(t->device, "sim");
    t->link = 2;
    return s;
}

static void a_copy_shares_no_links(void **state)
{
    (void)state;
    gw_scene *s = workshop();
    gw_scene *copy = gw_scene_copy(s);
    assert_non_null(copy);
    gw_scene_destroy(s);
    assert_true(gw_scene_check(copy, NULL));
    assert_int_equal(copy->mechanisms[0].link_count, 3);
    assert_true(copy->mechanisms[0].links[2].parent_from_joint.p.x == 0.5);
    assert_string_equal(copy->contact.ignore[0].b, "arm.0");
    gw_scene_remove_tool(copy, 0);
    gw_scene_remove_mechanism(copy, 0);
    gw_scene_remove_material(copy, 0);
    assert_int_equal(copy->mechanism_count + copy->material_count, 0);
    gw_scene_destroy(copy);
}

static void links_are_named_by_number(void **state)
{
    (void)state;
    gw_scene *s = workshop();
    add_arm(s, "arm.x", 12);
    int link = -1;
    char name[GW_MAX_LINK_NAME + 1];
    assert_int_equal(gw_scene_link(s, "arm.2", &link), 0);
    assert_int_equal(link, 2);
    assert_int_equal(gw_scene_link(s, "arm.x.11", &link), 1);
    assert_int_equal(link, 11);
    const char *const none[] = {"arm", "arm.3", "arm.02", "arm.-1", "arm.x", "arm.", "leg.0", ".0"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(gw_scene_link(s, none[i], &link), -1);
    gw_link_name(&s->mechanisms[1], 11, name);
    assert_string_equal(name, "arm.x.11");
    assert_int_equal(gw_scene_joints(s), 15);
    assert_int_equal(gw_scene_first_joint(s, 1), 3);
    gw_scene_destroy(s);
}

static void renaming_reaches_tools_and_pairs(void **state)
{
    (void)state;
    gw_scene *s = workshop();
    gw_scene_rename_mechanism(s, s->mechanisms[0].id, "robot");
    assert_string_equal(s->tools[0].mechanism, "robot");
    assert_string_equal(s->contact.ignore[0].b, "robot.0");
    gw_scene_rename_object(s, "floor", "ground");
    assert_string_equal(s->contact.ignore[0].a, "ground");
    gw_scene_rename_material(s, "rubber", "cork");
    assert_string_equal(s->mechanisms[0].geometries[2].material, "cork");
    assert_true(gw_scene_check(s, NULL));
    assert_true(gw_scene_contact_material(s, "cork").friction == 0.9);
    assert_true(gw_scene_contact_material(s, "").friction ==
                gw_contact_material_default().friction);
    gw_scene_destroy(s);
}

static void links_are_where_the_joints_put_them(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    gw_mechanism *m = add_arm(s, "arm", 3);
    m->base.p = gw_v3(0, 0, 1);
    m->links[2].kind = GW_JOINT_PRISMATIC;
    m->links[2].axis = gw_v3(1, 0, 0);
    m->position[0] = GW_PI / 2; /* the first one along y, the second along -x, 0.2 m out */
    m->position[1] = GW_PI / 2;
    m->position[2] = 0.2;
    gw_pose at[3];
    gw_mechanism_poses(m, NULL, at);
    assert_true(gw_distance(at[0].p, gw_v3(0, 0, 1)) < 1e-15);
    assert_true(gw_distance(at[1].p, gw_v3(0, 0.5, 1)) < 1e-15);
    assert_true(gw_distance(at[2].p, gw_v3(-0.7, 0.5, 1)) < 1e-15);
    assert_true(gw_distance(gw_rotate(at[2].q, gw_v3(1, 0, 0)), gw_v3(-1, 0, 0)) < 1e-15);
    const double straight[3] = {0, 0, 0};
    gw_mechanism_poses(m, straight, at);
    assert_true(gw_distance(at[2].p, gw_v3(1, 0, 1)) < 1e-15);
    gw_scene_destroy(s);
}

/* A rod turned by 90 degrees about z and shifted along y. */
static void a_placed_mass_turns_with_its_shape(void **state)
{
    (void)state;
    gw_shape rod = {.kind = GW_SHAPE_BOX, .size = {1, 0.1, 0.2}};
    gw_pose pose = {gw_v3(0, 2, 0), gw_quat_axis(gw_v3(0, 0, 1), GW_PI / 2)};
    gw_mass plain = gw_shape_mass(&rod, 1000), m = gw_placed_mass(&rod, &pose, 1000);
    assert_true(fabs(m.mass - plain.mass) < 1e-12);
    assert_true(gw_distance(m.com, gw_v3(0, 2, 0)) < 1e-15);
    assert_true(fabs(m.inertia.m[0][0] - plain.inertia.m[1][1]) < 1e-12);
    assert_true(fabs(m.inertia.m[1][1] - plain.inertia.m[0][0]) < 1e-12);
    assert_true(fabs(m.inertia.m[0][1]) < 1e-12);
}

/* ---- checks -------------------------------------------------------------------------------- */

static void assert_refused(gw_scene *s, const char *where, const char *word)
{
    gw_error error = {0};
    assert_false(gw_scene_check(s, &error));
    assert_string_equal(error.where, where);
    assert_non_null(strstr(error.message, word));
    gw_scene_destroy(s);
}

/* Each change of the workshop with the pointer and a word of its refusal. */
#define REFUSED(change, where, word)                                                               \
    do {                                                                                           \
        gw_scene *s = workshop();                                                                  \
        gw_mechanism *arm = &s->mechanisms[0];                                                     \
        gw_tool *tool = &s->tools[0];                                                              \
        (void)arm;                                                                                 \
        (void)tool;                                                                                \
        change;                                                                                    \
        assert_refused(s, where, word);                                                            \
    } while (0)

static void checks_name_the_links_member(void **state)
{
    (void)state;
    REFUSED(arm->links[1].mass.mass = 0, "/mechanisms/0/links/1/mass", "greater than 0");
    REFUSED(arm->links[1].mass.com.x = NAN, "/mechanisms/0/links/1/com", "finite");
    REFUSED(arm->links[1].mass.inertia.m[0][0] = 0.5, "/mechanisms/0/links/1/inertia", "sum of");
    REFUSED(arm->links[2].axis = gw_v3(0, 0, 0), "/mechanisms/0/links/2/joint/axis", "zero");
    REFUSED(arm->links[0].damping = -1, "/mechanisms/0/links/0/joint/damping", "0 or more");
    REFUSED(arm->velocity[0] = INFINITY, "/mechanisms/0/links/0/joint/velocity", "finite");
    REFUSED((arm->links[0].limited = true, arm->links[0].lower = 1),
            "/mechanisms/0/links/0/joint/limits", "less than");
    REFUSED((arm->links[0].limited = true, arm->links[0].upper = 1, arm->position[0] = 2),
            "/mechanisms/0/links/0/joint/position", "within");
    REFUSED(arm->links[0].motor.max = -1, "/mechanisms/0/links/0/joint/motor/max", "unlimited");
    REFUSED(strcpy(arm->geometries[0].material, "glass"), "/mechanisms/0/links/0/material",
            "glass");
    REFUSED(arm->geometries[2].shape.radius = -1, "/mechanisms/0/links/2/geometry/radius", "-1");
    REFUSED((strcpy(arm->geometries[0].id, "x"), strcpy(arm->geometries[1].id, "x")),
            "/mechanisms/0/links/1/id", "link 0");
    REFUSED(gw_mechanism_resize(arm, 0), "/mechanisms/0/links", "1 to 256");
    REFUSED((add_arm(s, "b", 128), add_arm(s, "c", 126)), "/mechanisms/2/links", "256");
}

static void checks_know_trees(void **state)
{
    (void)state;
    REFUSED(arm->parent[1] = 1, "/mechanisms/0/links/1/parent", "link before");
    REFUSED(arm->parent[0] = -2, "/mechanisms/0/links/0/parent", "the base");
    REFUSED((arm->has_tip = true, arm->tip = 3), "/mechanisms/0/tip", "0 to 2");
    REFUSED((arm->several[2] = GW_MOBILIZER_SPHERICAL, arm->links[2].damping = 1),
            "/mechanisms/0/links/2/joint/damping", "only a revolute");
    REFUSED(arm->several[2] = GW_MOBILIZER_SCREW, "/mechanisms/0/links/2/joint/type", "floating");
    REFUSED((arm->parent[2] = 0, arm->links[2].mass.com = gw_v3(0, 0, 1),
             arm->links[2].mass.inertia = (gw_mat3){{{0.01, 0, 0}, {0, 0.01, 0}, {0, 0, 0}}}),
            "/mechanisms/0/links/2/inertia", "moves nothing");
    REFUSED((arm->several[2] = GW_MOBILIZER_FREE, arm->links[2].mass.inertia = (gw_mat3){{{0}}}),
            "/mechanisms/0/links/2/inertia", "moves nothing");
    /* a point on its own axis is idle, not the floating or coaxial link that hangs on it */
    REFUSED((arm->several[2] = GW_MOBILIZER_FREE, arm->links[1].mass.com = gw_v3(0, 0, 0),
             arm->links[1].mass.inertia = (gw_mat3){{{0}}}),
            "/mechanisms/0/links/1/inertia", "moves nothing");
    REFUSED((arm->links[2].mass.com = gw_v3(1, 0, 0), arm->links[2].axis = arm->links[1].axis,
             arm->links[2].parent_from_joint = gw_pose_identity(),
             arm->links[1].mass.com = gw_v3(0, 0, 0),
             arm->links[2].mass.inertia = arm->links[1].mass.inertia = (gw_mat3){{{0}}}),
            "/mechanisms/0/links/1/inertia", "moves nothing");
    REFUSED(strcpy(tool->mechanism, "arm"); tool->link = GW_LINK_TIP, "/tools/0/link", "missing");
}

/* The base, two links side by side on the first one, the second of which floats. */
static void links_stand_on_their_parents(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    gw_mechanism *m = add_arm(s, "tree", 3);
    gw_pose poses[3];
    const double quarter = 0.5 * GW_PI, q[3] = {quarter, quarter, 1};
    m->base.p = gw_v3(0, 0, 1);
    m->parent[2] = 0;
    m->links[2].parent_from_joint.p.z = 2;
    m->several[2] = GW_MOBILIZER_FREE;
    assert_int_equal(gw_mechanism_joint(m, 1), GW_MOBILIZER_REVOLUTE);
    assert_int_equal(gw_mechanism_joint(m, 2), GW_MOBILIZER_FREE);
    gw_mechanism_poses(m, q, poses);
    assert_true(gw_distance(poses[1].p, gw_v3(0, 0.5, 1)) < 1e-15);
    assert_true(gw_distance(poses[2].p, gw_v3(0, 0.5, 3)) < 1e-15);
    assert_true(gw_distance(gw_rotate(poses[1].q, gw_v3(1, 0, 0)), gw_v3(-1, 0, 0)) < 1e-15);
    assert_true(gw_distance(gw_rotate(poses[2].q, gw_v3(1, 0, 0)), gw_v3(0, 1, 0)) < 1e-15);
    gw_scene *copy = gw_scene_copy(s);
    assert_int_equal(copy->mechanisms[0].parent[2], 0);
    assert_int_equal(copy->mechanisms[0].several[2], GW_MOBILIZER_FREE);
    gw_scene_destroy(copy);
    gw_scene_destroy(s);
}

static void checks_keep_names_apart(void **state)
{
    (void)state;
    REFUSED(strcpy(arm->id, "ball"), "/mechanisms/0/id", "/objects/1");
    REFUSED(add_arm(s, "arm", 1), "/mechanisms/1/id", "/mechanisms/0");
    REFUSED(strcpy(s->objects[0].id, "arm.1"), "/objects/0/id", "link 1");
    REFUSED(add_arm(s, "arm.1", 1), "/mechanisms/1/id", "link 1");
    REFUSED(add_material(s, "rubber"), "/materials/1/id", "taken");
    REFUSED(strcpy(s->contact.ignore[0].a, "wall"), "/contact/ignore/0/0", "wall");
    REFUSED(strcpy(s->contact.ignore[0].b, "arm.3"), "/contact/ignore/0/1", "arm.3");
    REFUSED(strcpy(s->contact.ignore[0].b, "floor"), "/contact/ignore/0/1", "itself");
    REFUSED(join(s, "c", GW_COINCIDENT, "floor", "+z", "arm", "axis"), "/constraints/0/b",
            "\"arm.0\" to \"arm.2\"");
}

static void checks_keep_free_objects_free(void **state)
{
    (void)state;
    REFUSED(s->objects[1].fixed = true, "/objects/1/free", "fixed");
    REFUSED(s->objects[1].massless = true, "/objects/1/massless", "moves by its mass");
    REFUSED(strcpy(s->objects[1].material, "glass"), "/objects/1/material", "glass");
    REFUSED(
        for (int i = 0; i < GW_MAX_SYSTEM_BODIES; i++) {
            char id[16];
            snprintf(id, sizeof id, "b%d", i);
            add_box(s, id, gw_v3(i, 0, 9), false)->free = true;
        },
        "/objects/513/free", "512");
}

static void checks_name_the_tools_member(void **state)
{
    (void)state;
    REFUSED(tool->link = 3, "/tools/0/link", "0 to 2");
    REFUSED(strcpy(tool->mechanism, "leg"), "/tools/0/mechanism", "leg");
    REFUSED(strcpy(tool->object, "floor"), "/tools/0/mechanism", "not both");
    REFUSED(strcpy(tool->branch, "b0"), "/tools/0/branch", "mechanism");
    REFUSED(tool->control = GW_CONTROL_IMPEDANCE, "/tools/0/control", "admittance device");
    REFUSED(tool->rendering.penalty = -1, "/tools/0/rendering/penalty/stiffness", "-1");
    REFUSED(tool->rendering.resisted.fade = 0.5, "/tools/0/rendering/fade", "1 or more");
    REFUSED(tool->rendering.mass_known = NAN, "/tools/0/rendering/mass_known", "0 to 10");
    REFUSED(tool->substeps = 33, "/tools/0/substeps", "1 to 32");
}

static void checks_bound_materials_and_contacts(void **state)
{
    (void)state;
    REFUSED(s->materials[0].surface.restitution = 1.01, "/materials/0/restitution", "0 to 1");
    REFUSED(s->materials[0].surface.friction = -0.1, "/materials/0/friction", "0 or more");
    REFUSED(s->materials[0].surface.stiffness = 0, "/materials/0/stiffness", "greater than 0");
    REFUSED(s->materials[0].surface.damping = NAN, "/materials/0/damping", "0 or more");
    REFUSED(s->contact.rate = 5, "/contact/rate", "10 to 1000");
    REFUSED(s->contact.rules.slip_speed = -1, "/contact/slip_speed", "0 to 1");
    REFUSED(s->contact.rules.rest_speed = 2, "/contact/rest_speed", "0 to 1");
}

/* The ball takes along the box that is joined to it: a system that floats. */
static void what_is_joined_to_a_free_object_is_its_system(void **state)
{
    (void)state;
    gw_scene *s = workshop();
    add_box(s, "box", gw_v3(0, 0, 1.1), false);
    join(s, "c", GW_COINCIDENT, "box", "-z", "ball", "+z")->sense = GW_OPPOSITE;
    gw_error error = {0};
    assert_true(gw_scene_check(s, &error));
    gw_layout *l = gw_layout_create(s, NULL, &error);
    assert_non_null(l);
    assert_null(gw_layout_unsolved(l));
    assert_int_equal(l->system_count, 2); /* the arm is the other one */
    assert_int_equal(l->system_of[1], 0);
    assert_int_equal(l->system_of[2], 0);
    assert_int_equal(l->system_of[3], 1);
    assert_int_equal(l->systems[0]->mobility, 9); /* flies, and one slides and turns on the other */
    assert_int_equal(gw_layout_mobility(s, l), 12); /* and the arm's three joints */
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* Neither a held mechanism nor a free object is the layout's to place. */
static void a_layout_leaves_mechanisms_and_free_objects_alone(void **state)
{
    (void)state;
    gw_scene *s = workshop();
    gw_layout *l = gw_layout_create(s, NULL, NULL);
    assert_non_null(l);
    assert_null(gw_layout_unsolved(l));
    assert_true(gw_distance(l->poses[1].p, gw_v3(0, 0, 1)) == 0);
    assert_int_equal(gw_layout_placement(l, 1)->tool, -1);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_shares_no_links),
        cmocka_unit_test(links_are_named_by_number),
        cmocka_unit_test(renaming_reaches_tools_and_pairs),
        cmocka_unit_test(links_are_where_the_joints_put_them),
        cmocka_unit_test(a_placed_mass_turns_with_its_shape),
        cmocka_unit_test(checks_name_the_links_member),
        cmocka_unit_test(checks_know_trees),
        cmocka_unit_test(links_stand_on_their_parents),
        cmocka_unit_test(checks_keep_names_apart),
        cmocka_unit_test(checks_keep_free_objects_free),
        cmocka_unit_test(checks_name_the_tools_member),
        cmocka_unit_test(checks_bound_materials_and_contacts),
        cmocka_unit_test(what_is_joined_to_a_free_object_is_its_system),
        cmocka_unit_test(a_layout_leaves_mechanisms_and_free_objects_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
