/*
 * Answers in words for people. Any thread; formats text.
 */
#include <stdio.h>
#include <string.h>

#include "rt/solve/solve_internal.h"

static const char *slide_words(gw_locus_kind kind)
{
    static const char *const words[] = {"moves anywhere (3)",
                                        "slides in the plane (2)",
                                        "moves on the sphere (2)",
                                        "moves on the cylinder (2)",
                                        "slides along the line (1)",
                                        "moves along the circle (1)",
                                        "moves along the ellipse (1)",
                                        NULL,
                                        NULL};
    return words[kind];
}

static const char *turn_words(const gw_submanifold *set)
{
    const gw_locus *l = &set->translation.locus;
    gw_vec3 axis = set->translation.in_mobile ? set->rotation.axis_body : set->rotation.axis;
    switch (set->rotation.kind) {
    case GW_ROTATION_FREE:
        return "turns freely (3)";
    case GW_ROTATION_ANGLE:
        return "turns about two axes at a fixed angle (2)";
    case GW_ROTATION_AXIS:
        if (l->kind == GW_LOCUS_PLANE && fabs(gw_dot(l->e3, axis)) > 1 - 1e-9)
            return "turns about its normal (1)";
        if (l->kind == GW_LOCUS_LINE && fabs(gw_dot(l->e3, axis)) > 1 - 1e-9)
            return "turns about it (1)";
        return "turns about its axis (1)";
    default:
        return NULL;
    }
}

static void join(char *text, size_t size, const char *a, const char *b)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s%s", a ? a : "", a && b ? ", " : "", b ? b : "");
}

/* What a general set is known to do. */
static void general_words(const gw_submanifold *set, char *text, size_t size)
{
    char slides[48], turns[48];
    snprintf(slides, sizeof slides, "slides (%d)", set->translation.dof);
    snprintf(turns, sizeof turns, "turns (%d)", set->rotation.dof);
    join(text, size, set->translation.dof > 0 ? slides : NULL,
         set->rotation.dof > 0 ? turns : NULL);
    if (set->translation.dof < 3 && set->rotation.dof > 0)
        join(text, size, NULL, ", shifting as it turns");
}

void gw_submanifold_words(const gw_submanifold *set, char *text, size_t size)
{
    if (size == 0)
        return;
    if (set->dof == 0) {
        snprintf(text, size, "no freedom: fully fixed");
        return;
    }
    if (set->dof == 6) {
        snprintf(text, size, "6 freedoms: free");
        return;
    }
    snprintf(text, size, "%d freedom%s: ", set->dof, set->dof == 1 ? "" : "s");
    if (set->general)
        general_words(set, text, size);
    else
        join(text, size, slide_words(set->translation.locus.kind), turn_words(set));
}

/* True where the value is an angle by its name. */
static bool is_angle(const char *name)
{
    return strcmp(name, "alpha") == 0 || strcmp(name, "beta") == 0 || strcmp(name, "angle") == 0 ||
           strncmp(name, "sigma", 5) == 0;
}

void gw_conflict_words(const gw_conflict *conflict, const char *const *names, char *text,
                       size_t size)
{
    if (size == 0)
        return;
    size_t n = 0;
    const char *between = "";
    text[0] = 0;
    for (int i = 0; i < GW_MAX_PROBLEM && n < size; i++) {
        if (!(conflict->constraints >> i & 1))
            continue;
        int more = names ? snprintf(text + n, size - n, "%s%s", between, names[i])
                         : snprintf(text + n, size - n, "%s%d", between, i);
        n += more > 0 ? (size_t)more : 0;
        between = ", ";
    }
    if (n < size) {
        int more = snprintf(text + n, size - n, ": %s Needed: %s; here", conflict->sentence,
                            conflict->condition);
        n += more > 0 ? (size_t)more : 0;
    }
    for (int i = 0; i < conflict->value_count && n < size; i++) {
        bool angle = is_angle(conflict->values[i].name);
        double value = conflict->values[i].value * (angle ? 180 / GW_PI : 1e3);
        int more = snprintf(text + n, size - n, "%s %s = %.6g %s", i > 0 ? "," : "",
                            conflict->values[i].name, value, angle ? "deg" : "mm");
        n += more > 0 ? (size_t)more : 0;
    }
    if (n < size)
        snprintf(text + n, size - n, ".");
}
