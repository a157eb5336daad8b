/*
 * Links and joints of a robot description, joined by name into a tree with one root. Any server
 * thread.
 */
#include "server/files/urdf_xml.h"

#include <stdlib.h>
#include <string.h>

static int link_named(const urdf_tree *t, const char *name)
{
    for (int i = 0; i < t->link_count; i++)
        if (strcmp(t->links[i].name, name) == 0)
            return i;
    return -1;
}

static bool join(urdf_tree *t, int index, gw_error *error)
{
    urdf_joint *j = &t->joints[index];
    const char *ends[] = {j->parent, j->child};
    j->from = link_named(t, j->parent);
    j->to = link_named(t, j->child);
    for (int i = 0; i < 2; i++)
        if ((i == 0 ? j->from : j->to) < 0)
            return gw_fail(error, GW_NOT_FOUND, "",
                           "line %u: <%s link=\"%s\"> of joint \"%s\": there is no such link",
                           j->line, i == 0 ? "parent" : "child", ends[i], j->name);
    if (t->links[j->to].parent_joint >= 0)
        return gw_fail(error, GW_BAD_INPUT, "",
                       "line %u: link \"%s\" is the child of joint \"%s\" and of \"%s\": closed "
                       "loops are no chains",
                       j->line, j->child, t->joints[t->links[j->to].parent_joint].name, j->name);
    t->links[j->to].parent_joint = index;
    return true;
}

/* A link's way up ends at a root, within as many joints as there are. */
static bool rooted(const urdf_tree *t, int link)
{
    int steps = 0;
    for (; t->links[link].parent_joint >= 0; steps++) {
        if (steps > t->joint_count)
            return false;
        link = t->joints[t->links[link].parent_joint].from;
    }
    return true;
}

static bool named_once(const urdf_tree *t, int joint, gw_error *error)
{
    for (int i = 0; i < joint; i++)
        if (strcmp(t->joints[i].name, t->joints[joint].name) == 0)
            return gw_fail(error, GW_CONFLICT, "", "line %u: there are two joints \"%s\"",
                           t->joints[joint].line, t->joints[joint].name);
    return true;
}

static bool join_all(urdf_tree *t, gw_error *error)
{
    int root = -1;
    for (int i = 0; i < t->link_count; i++)
        if (link_named(t, t->links[i].name) != i)
            return gw_fail(error, GW_CONFLICT, "", "line %u: there are two links \"%s\"",
                           t->links[i].line, t->links[i].name);
    for (int i = 0; i < t->joint_count; i++)
        if (!named_once(t, i, error) || !join(t, i, error))
            return false;
    for (int i = 0; i < t->link_count; i++) {
        if (!rooted(t, i))
            return gw_fail(error, GW_BAD_INPUT, "",
                           "line %u: link \"%s\" is its own ancestor: joints must form a tree",
                           t->links[i].line, t->links[i].name);
        if (t->links[i].parent_joint >= 0)
            continue;
        if (root >= 0)
            return gw_fail(error, GW_BAD_INPUT, "",
                           "links \"%s\" and \"%s\" both hang on no joint: one root is expected",
                           t->links[root].name, t->links[i].name);
        root = i;
    }
    return root >= 0 || gw_fail(error, GW_BAD_INPUT, "", "<robot> has no <link>");
}

void urdf_tree_destroy(urdf_tree *t)
{
    if (!t)
        return;
    free(t->links);
    free(t->joints);
    free(t->solids);
    free(t);
}

urdf_tree *urdf_tree_read(const char *text, size_t length, gw_error *error)
{
    if (length > GW_MAX_BODY_BYTES) {
        gw_fail(error, GW_TOO_LARGE, "", "is larger than %u bytes", GW_MAX_BODY_BYTES);
        return NULL;
    }
    urdf_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        gw_fail(error, GW_FAILED, "", "no memory for a robot description");
    else if (urdf_xml_read(tree, text, length, error) && join_all(tree, error))
        return tree;
    urdf_tree_destroy(tree);
    return NULL;
}
