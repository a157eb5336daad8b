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

/* What a conflict's value is to a person; the names are those of README.md. */
static const struct {
    const char *name, *meaning;
    bool angle;
    int asked; /* by the first, the second or another one; 0: not asked for */
} meanings[] = {
    {"d_a", "between the points", false, 0},
    {"d_b", "between what they must meet", false, 0},
    {"p", "asked by", false, 1},
    {"q", "asked by", false, 2},
    {"alpha", "asked by", true, 1},
    {"beta", "asked by", true, 2},
    {"gamma", "asked by", true, 3},
    {"sigma_a", "between the directions on one side", true, 0},
    {"sigma_b", "between those on the other", true, 0},
    {"angle", "between the directions as they must stand", true, 0},
};

/* Text that grows, and what tells its constraints' names. */
typedef struct telling {
    char *text;
    size_t size, n;
    const gw_conflict *conflict;
    const char *const *names;
} telling;

__attribute__((format(printf, 2, 3))) static void append(telling *t, const char *format, ...)
{
    if (t->n >= t->size)
        return;
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(t->text + t->n, t->size - t->n, format, arguments);
    va_end(arguments);
    t->n += more > 0 ? (size_t)more : 0;
}

static void append_name(telling *t, int i)
{
    if (t->names)
        append(t, "%s", t->names[i]);
    else
        append(t, "%d", i);
}

/* "c1", where the value stems from one constraint; else "the first". */
static void append_asker(telling *t, int asked)
{
    static const char *const others[] = {"", "the first", "the second", "the third"};
    const gw_conflict *c = t->conflict;
    unsigned long third = c->constraints & ~(c->first | c->second);
    unsigned long from = asked == 1 ? c->first : asked == 2 ? c->second : third;
    if (from && !(from & (from - 1)))
        append_name(t, __builtin_ctzl(from));
    else
        append(t, "%s", others[asked]);
}

static size_t meaning_of(const char *name)
{
    size_t i = 0;
    while (i + 1 < sizeof meanings / sizeof *meanings && strcmp(meanings[i].name, name) != 0)
        i++;
    return i;
}

/* "20 mm between the points" */
static void append_value(telling *t, int i)
{
    size_t m = meaning_of(t->conflict->values[i].name);
    double shown = fabs(t->conflict->values[i].value) * (meanings[m].angle ? 180 / GW_PI : 1e3);
    append(t, "%.6g %s %s", shown < 1e-9 ? 0 : shown, meanings[m].angle ? "degrees" : "mm",
           meanings[m].meaning);
    if (meanings[m].asked) {
        append(t, " ");
        append_asker(t, meanings[m].asked);
    }
}

/* The value that is more than all others together, where that is what the condition forbids; or
 * -1. */
static int most_of(const gw_conflict *c)
{
    int most = 0;
    double others = 0;
    if (!strstr(c->condition, "<=") && !strstr(c->condition, ">="))
        return -1;
    for (int i = 1; i < c->value_count; i++)
        most = fabs(c->values[i].value) > fabs(c->values[most].value) ? i : most;
    for (int i = 0; i < c->value_count; i++)
        others += i == most ? 0 : fabs(c->values[i].value);
    return c->value_count > 1 && fabs(c->values[most].value) > others ? most : -1;
}

/* All values; or all but one, those that are 0 left out where others are not. */
static void append_values(telling *t, int but)
{
    const gw_conflict *c = t->conflict;
    int told = 0, worth = 0, first = but == 0;
    for (int i = 0; i < c->value_count; i++)
        worth += i != but && (but < 0 || c->values[i].value != 0);
    for (int i = 0; i < c->value_count; i++) {
        if (i == but || (worth ? but >= 0 && c->values[i].value == 0 : i != first))
            continue;
        append(t, "%s", told++ == 0 ? "" : told == (worth ? worth : 1) ? " and " : ", ");
        append_value(t, i);
    }
    if (but >= 0 && told > 1)
        append(t, " together");
}

void gw_conflict_words(const gw_conflict *conflict, const char *const *names, char *text,
                       size_t size)
{
    if (size == 0)
        return;
    telling t = {text, size, 0, conflict, names};
    text[0] = 0;
    for (int i = 0; i < GW_MAX_PROBLEM; i++) {
        if (!(conflict->constraints >> i & 1))
            continue;
        append(&t, "%s", t.n > 0 ? ", " : "");
        append_name(&t, i);
    }
    append(&t, ": %s Here ", conflict->sentence);
    int most = most_of(conflict);
    if (most >= 0) {
        append_value(&t, most);
        append(&t, " is more than ");
    }
    append_values(&t, most);
    append(&t, ".");
}
