/*
 * Answers in words for people. Any thread; formats text.
 */
#include <stdarg.h>
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
/* What a conflict's value is to a person; the names are those of README.md. */
static const struct {
    const char *name, *meaning;
    bool angle;
} meanings[] = {
    {"d_a", "between the points", false},
    {"d_b", "between what they must meet", false},
    {"p", "asked by the first", false},
    {"q", "asked by the second", false},
    {"alpha", "asked by the first", true},
    {"beta", "asked by the second", true},
    {"sigma_a", "between the directions on one side", true},
    {"sigma_b", "between those on the other", true},
    {"angle", "between the directions as they must stand", true},
};

/* Appends to the text of `size` bytes, `n` of them used; the new n. */
__attribute__((format(printf, 4, 5))) static size_t append(char *text, size_t size, size_t n,
                                                           const char *format, ...)
{
    if (n >= size)
        return n;
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(text + n, size - n, format, arguments);
    va_end(arguments);
    return n + (more > 0 ? (size_t)more : 0);
}

/* "20 mm between the points"; a coincidence's 0 goes without saying. */
static size_t append_value(char *text, size_t size, size_t n, const char **between,
                           const char *name, double value)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (strcmp(meanings[i].name, name) != 0)
            continue;
        bool asked = name[0] == 'p' || name[0] == 'q';
        if (asked && value == 0)
            return n;
        double shown = value * (meanings[i].angle ? 180 / GW_PI : 1e3);
        n = append(text, size, n, "%s%.6g %s %s", *between, fabs(shown) < 1e-9 ? 0 : shown,
                   meanings[i].angle ? "degrees" : "mm", meanings[i].meaning);
        *between = ", ";
        return n;
    }
    return n;
}

void gw_conflict_words(const gw_conflict *conflict, const char *const *names, char *text,
                       size_t size)
{
    if (size == 0)
        return;
    size_t n = 0;
    const char *between = "";
    text[0] = 0;
    for (int i = 0; i < GW_MAX_PROBLEM; i++) {
        if (!(conflict->constraints >> i & 1))
            continue;
        n = names ? append(text, size, n, "%s%s", between, names[i])
                  : append(text, size, n, "%s%d", between, i);
        between = ", ";
    }
    n = append(text, size, n, ": %s Here: ", conflict->sentence);
    between = "";
    for (int i = 0; i < conflict->value_count; i++)
        n = append_value(text, size, n, &between, conflict->values[i].name,
                         conflict->values[i].value);
    append(text, size, n, ".");
}
