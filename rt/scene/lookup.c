/*
 * Look-up and renaming in the document. Not for use inside a tick.
 */
#include "rt/scene/scene.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- look-up -------------------------------------------------------------------------------- */

int gw_scene_object(const gw_scene *s, const char *id)
{
    assert(s && id);
    for (int i = 0; i < s->object_count; i++)
        if (strcmp(s->objects[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_constraint_index(const gw_scene *s, const char *id)
{
    assert(s && id);
    for (int i = 0; i < s->constraint_count; i++)
        if (strcmp(s->constraints[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_device(const gw_scene *s, const char *id)
{
    assert(s && id);
    for (int i = 0; i < s->device_count; i++)
        if (strcmp(s->devices[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_task(const gw_scene *s, const char *id)
{
    assert(s && id);
    for (int i = 0; i < s->task_count; i++)
        if (strcmp(s->tasks[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_mechanism(const gw_scene *s, const char *id)
{
    assert(s && id);
    for (int i = 0; i < s->mechanism_count; i++)
        if (strcmp(s->mechanisms[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_material(const gw_scene *s, const char *id)
{
    assert(s && id);
    for (int i = 0; i < s->material_count; i++)
        if (strcmp(s->materials[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_joint_index(const gw_scene *s, const char *id)
{
    assert(s && id);
    for (int i = 0; i < s->joint_count; i++)
        if (strcmp(s->joints[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_spring_index(const gw_scene *s, const char *id)
{
    assert(s && id);
    for (int i = 0; i < s->spring_count; i++)
        if (strcmp(s->springs[i].id, id) == 0)
            return i;
    return -1;
}

/* A link's number, without sign, spaces or leading zeros; -1 if the text is not one. */
static int link_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits > 2 || text[digits] || (digits > 1 && text[0] == '0'))
        return -1;
    return atoi(text);
}

int gw_scene_link(const gw_scene *s, const char *name, int *link)
{
    const char *dot = strrchr(name, '.');
    int number = dot ? link_number(dot + 1) : -1;
    for (int i = 0; number >= 0 && i < s->mechanism_count; i++) {
        const gw_mechanism *m = &s->mechanisms[i];
        size_t length = strlen(m->id);
        if (number >= m->link_count || length != (size_t)(dot - name) ||
            memcmp(m->id, name, length) != 0)
            continue;
        *link = number;
        return i;
    }
    return -1;
}

void gw_link_name(const gw_mechanism *m, int link, char name[GW_MAX_LINK_NAME + 1])
{
    assert(link >= 0 && link < m->link_count);
    snprintf(name, GW_MAX_LINK_NAME + 1, "%s.%d", m->id, link);
}

bool gw_scene_body(const gw_scene *s, const char *name, gw_body_ref *body)
{
    assert(s && name && body);
    *body = (gw_body_ref){.object = gw_scene_object(s, name), .mechanism = -1, .link = -1};
    if (body->object < 0)
        body->mechanism = gw_scene_link(s, name, &body->link);
    return body->object >= 0 || body->mechanism >= 0 || strcmp(name, GW_WORLD_FRAME) == 0;
}

int gw_scene_first_joint(const gw_scene *s, int index)
{
    assert(index >= 0 && index <= s->mechanism_count);
    int joints = 0;
    for (int i = 0; i < index; i++)
        joints += s->mechanisms[i].link_count;
    return joints;
}

int gw_scene_joints(const gw_scene *s)
{
    return gw_scene_first_joint(s, s->mechanism_count);
}

int gw_scene_body_count(const gw_scene *s)
{
    return s->object_count + gw_scene_joints(s);
}

int gw_scene_body_number(const gw_scene *s, const char *name)
{
    assert(s && name);
    gw_body_ref ref;
    if (!gw_scene_body(s, name, &ref))
        return GW_NO_BODY;
    if (ref.object >= 0)
        return ref.object;
    if (ref.mechanism < 0)
        return GW_WORLD_BODY;
    return s->object_count + gw_scene_first_joint(s, ref.mechanism) + ref.link;
}

int gw_scene_link_of_body(const gw_scene *s, int body, int *link)
{
    assert(s && body >= 0 && link);
    int at = body - s->object_count;
    for (int i = 0; at >= 0 && i < s->mechanism_count; at -= s->mechanisms[i].link_count, i++)
        if (at < s->mechanisms[i].link_count) {
            *link = at;
            return i;
        }
    return -1;
}

int gw_scene_first_coordinate(const gw_scene *s, int index)
{
    int sum = 0;
    assert(index >= 0 && index <= s->joint_count);
    for (int i = 0; i < index; i++)
        sum += s->joints[i].gear ? 0 : gw_mobilizers[s->joints[i].type].dof;
    return sum;
}

gw_contact_material gw_scene_contact_material(const gw_scene *s, const char *material)
{
    int index = gw_scene_material(s, material);
    return index >= 0 ? s->materials[index].surface : gw_contact_material_default();
}

const char *gw_scene_material_of(const gw_scene *s, const gw_feature_ref *ref)
{
    int link, object = gw_scene_object(s, ref->object);
    int mechanism = object >= 0 ? -1 : gw_scene_link(s, ref->object, &link);
    assert(object >= 0 || mechanism >= 0);
    return mechanism >= 0 ? s->mechanisms[mechanism].geometries[link].material
                          : s->objects[object].material;
}

/* FNV-1a */
uint64_t gw_name_hash(const char *name, uint64_t of)
{
    uint64_t hash = 14695981039346656037u + of;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return hash;
}

int gw_scene_feature(const gw_scene *s, const char *object, const char *name)
{
    for (int i = 0; i < s->feature_count; i++)
        if (strcmp(s->features[i].object, object) == 0 && strcmp(s->features[i].name, name) == 0)
            return i;
    return -1;
}

int gw_scene_unilateral(const gw_scene *s, int object, int n)
{
    assert(object >= 0 && object < s->object_count);
    const char *id = s->objects[object].id;
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i];
        if (!gw_scene_constraint_is_unilateral(c) ||
            (strcmp(c->a.object, id) != 0 && strcmp(c->b.object, id) != 0))
            continue;
        if (n-- == 0)
            return i;
    }
    return -1;
}

bool gw_scene_element(const gw_scene *s, const gw_feature_ref *ref, gw_element *element)
{
    assert(s && ref && element);
    int stated = gw_scene_feature(s, ref->object, ref->feature);
    if (stated >= 0) {
        *element = s->features[stated].element;
        return true;
    }
    int object = gw_scene_object(s, ref->object), link;
    if (object >= 0)
        return gw_feature_find(&s->objects[object].shape, ref->feature, element);
    int mechanism = gw_scene_link(s, ref->object, &link);
    const gw_link_geometry *g = mechanism < 0 ? NULL : &s->mechanisms[mechanism].geometries[link];
    if (!g || !g->has_geometry || !gw_feature_find(&g->shape, ref->feature, element))
        return false;
    *element = gw_element_moved(&g->pose, element);
    return true;
}

bool gw_scene_make_surfaces(gw_scene *s, gw_error *error)
{
    assert(s);
    for (int i = 0; i < 2 * s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i / 2];
        const gw_feature_ref *ref = i % 2 ? &c->b : &c->a;
        int object = gw_scene_object(s, ref->object), link;
        int mechanism = object >= 0 ? -1 : gw_scene_link(s, ref->object, &link);
        gw_shape *shape = object >= 0      ? &s->objects[object].shape
                          : mechanism >= 0 ? &s->mechanisms[mechanism].geometries[link].shape
                                           : NULL;
        if (gw_constraint_is_positional(c->kind) && shape &&
            gw_scene_feature(s, ref->object, ref->feature) < 0 &&
            !gw_feature_make_surface(shape, ref->feature, error))
            return false;
    }
    return true;
}

void gw_scene_name_held_link(const gw_scene *s, gw_tool *tool)
{
    int link, mechanism = gw_scene_mechanism(s, tool->mechanism);
    if (mechanism >= 0 && tool->link == GW_LINK_TIP) {
        if (s->mechanisms[mechanism].has_tip)
            tool->link = s->mechanisms[mechanism].tip;
        return;
    }
    mechanism = gw_scene_link(s, tool->object, &link);
    if (mechanism < 0)
        return;
    memcpy(tool->mechanism, s->mechanisms[mechanism].id, sizeof tool->mechanism);
    tool->link = link;
    tool->object[0] = '\0';
}

/* ---- names of objects and links -------------------------------------------------------------- */

/* Subtracts the entries of a collection from *n; true if n is one of them. */
static bool skip_collection(int *n, int count)
{
    bool found = *n < count;
    *n -= found ? 0 : count;
    return found;
}

bool gw_scene_name_use(const gw_scene *s, int n, gw_name_use *use)
{
    assert(n >= 0);
    if (skip_collection(&n, s->constraint_count)) {
        gw_scene_constraint *c = &s->constraints[n];
        *use = (gw_name_use){GW_NAMES_BODY, "constraint", c->id, {c->a.object, c->b.object}, false};
    } else if (skip_collection(&n, s->feature_count)) {
        gw_feature *f = &s->features[n];
        *use = (gw_name_use){GW_NAMES_BODY, "feature", f->name, {f->object}, true};
    } else if (skip_collection(&n, s->tool_count)) {
        gw_tool *t = &s->tools[n];
        *use = (gw_name_use){GW_NAMES_OBJECT, "tool", t->device, {t->object}, false};
    } else if (skip_collection(&n, s->task_count)) {
        gw_task *t = &s->tasks[n];
        *use = (gw_name_use){GW_NAMES_OBJECT, "task", t->id, {t->object}, false};
    } else if (skip_collection(&n, s->contact.ignore_count)) {
        gw_pair_name *pair = &s->contact.ignore[n];
        *use = (gw_name_use){GW_NAMES_BODY, "contact ignore", NULL, {pair->a, pair->b}, false};
    } else if (skip_collection(&n, s->joint_count)) {
        gw_scene_joint *j = &s->joints[n];
        *use =
            j->gear
                ? (gw_name_use){GW_NAMES_JOINT, "joint", j->id, {j->joints[0], j->joints[1]}, false}
                : (gw_name_use){GW_NAMES_BODY, "joint", j->id, {j->a.object, j->b.object}, false};
    } else if (skip_collection(&n, s->spring_count)) {
        gw_scene_spring *k = &s->springs[n];
        *use = (gw_name_use){GW_NAMES_BODY, "spring", k->id, {k->a.object, k->b.object}, false};
    } else
        return false;
    return true;
}

/* ---- renaming ------------------------------------------------------------------------------- */

static void put_id(char id[GW_MAX_ID + 1], const char *to)
{
    size_t length = strlen(to) < GW_MAX_ID ? strlen(to) : GW_MAX_ID;
    memcpy(id, to, length);
    id[length] = '\0';
}

static void rename_id(char *id, const char *from, const char *to)
{
    if (strcmp(id, from) == 0)
        put_id(id, to);
}

void gw_scene_rename_object(gw_scene *s, const char *from, const char *to)
{
    assert(s && from && to);
    char old[GW_MAX_ID + 1] = "";
    gw_name_use use;
    strncpy(old, from, GW_MAX_ID); /* `from` may be one of the ids that change */
    for (int i = 0; i < s->object_count; i++)
        rename_id(s->objects[i].id, old, to);
    for (int n = 0; gw_scene_name_use(s, n, &use); n++)
        for (int k = 0; k < 2 && use.named != GW_NAMES_JOINT; k++)
            if (use.names[k])
                rename_id(use.names[k], old, to);
}

void gw_scene_rename_constraint(gw_scene *s, const char *from, const char *to)
{
    assert(s && from && to);
    for (int i = 0; i < s->task_count; i++)
        for (int k = 0; k < s->tasks[i].step_count; k++) {
            gw_task_step *step = &s->tasks[i].steps[k];
            for (int j = 0; j < step->enable_count; j++)
                rename_id(step->enable[j], from, to);
            for (int j = 0; j < step->disable_count; j++)
                rename_id(step->disable[j], from, to);
        }
}

/* "from.2" becomes "to.2". */
static void rename_link(char name[GW_MAX_LINK_NAME + 1], const char *from, const char *to)
{
    size_t length = strlen(from);
    int number = strncmp(name, from, length) == 0 && name[length] == '.'
                     ? link_number(name + length + 1)
                     : -1;
    if (number >= 0)
        snprintf(name, GW_MAX_LINK_NAME + 1, "%.*s.%d", GW_MAX_ID, to, number);
}

void gw_scene_rename_mechanism(gw_scene *s, const char *from, const char *to)
{
    assert(s && from && to);
    char old[GW_MAX_ID + 1] = "";
    gw_name_use use;
    strncpy(old, from, GW_MAX_ID);
    for (int i = 0; i < s->mechanism_count; i++)
        rename_id(s->mechanisms[i].id, old, to);
    for (int i = 0; i < s->tool_count; i++)
        rename_id(s->tools[i].mechanism, old, to);
    for (int n = 0; gw_scene_name_use(s, n, &use); n++)
        for (int k = 0; k < 2 && use.named != GW_NAMES_OBJECT; k++)
            if (use.names[k])
                rename_link(use.names[k], old, to);
}

void gw_scene_rename_joint(gw_scene *s, const char *from, const char *to)
{
    assert(s && from && to);
    char old[GW_MAX_ID + 1] = "";
    strncpy(old, from, GW_MAX_ID);
    for (int i = 0; i < s->joint_count; i++) {
        rename_id(s->joints[i].id, old, to);
        rename_id(s->joints[i].joints[0], old, to);
        rename_id(s->joints[i].joints[1], old, to);
    }
}

void gw_scene_rename_material(gw_scene *s, const char *from, const char *to)
{
    assert(s && from && to);
    char old[GW_MAX_ID + 1] = "";
    strncpy(old, from, GW_MAX_ID);
    for (int i = 0; i < s->material_count; i++)
        rename_id(s->materials[i].id, old, to);
    for (int i = 0; i < s->object_count; i++)
        rename_id(s->objects[i].material, old, to);
    for (int i = 0; i < s->mechanism_count; i++)
        for (int k = 0; k < s->mechanisms[i].link_count; k++)
            rename_id(s->mechanisms[i].geometries[k].material, old, to);
}
