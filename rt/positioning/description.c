/*
 * Descriptions of solutions and conflicts for people. Any thread; formats text.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rt/positioning/solver.h"

static const char *describe_translation(gw_locus_kind kind)
{
    static const char *const words[] = {"moves anywhere (3)",
                                        "slides in the plane (2)",
                                        "moves on the sphere (2)",
                                        "moves on the cylinder (2)",
                                        "slides along the line (1)",
                                        "moves along the circle (1)",
                                        "moves along the ellipse (1)",
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};
    return words[kind];
}

/* The locus that the body slides along or on, a free-form shape by the name of its object; NULL:
 * nothing. The result is `text` or a constant. */
static const char *describe_slide(const gw_submanifold *set, const char *shape, char *text,
                                  size_t size)
{
    gw_locus_kind kind = set->translation.locus.kind;
    if (kind == GW_LOCUS_CURVE)
        snprintf(text, size, "slides along the %.*s (1)", GW_MAX_ID, shape ? shape : "curve");
    else if (kind == GW_LOCUS_SURFACE)
        snprintf(text, size, "slides on the %.*s (2)", GW_MAX_ID, shape ? shape : "surface");
    else
        return describe_translation(kind);
    return text;
}

static const char *describe_rotation(const gw_submanifold *set)
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
    case GW_ROTATION_NORMAL:
        return "turns about its normal (1)";
    case GW_ROTATION_TANGENT:
        return "turns about its tangent (1)";
    case GW_ROTATION_TWO_ANGLES:
        return "turns at two fixed angles (1)";
    case GW_ROTATION_FIXED:
    case GW_ROTATION_GENERAL:
        break;
    }
    return NULL;
}

static void join_texts(char *text, size_t size, const char *a, const char *b)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s%s", a ? a : "", a && b ? ", " : "", b ? b : "");
}

/* True where all distances are of one point of the body, or of the world: it moves on its locus
 * whatever the rotation. */
static bool is_of_one_point(const gw_submanifold *set)
{
    const gw_row *first = NULL;
    for (int i = 0; i < set->row_count; i++) {
        const gw_row *row = &set->rows[i];
        if (row->kind == GW_ROW_ANGLE)
            continue;
        if (gw_row_of_direction(row->kind))
            return false;
        first = first ? first : row;
        bool of_body = !gw_row_owned_by_body(row->kind);
        if (of_body == gw_row_owned_by_body(first->kind) ||
            (of_body ? gw_distance(row->m, first->m) : gw_distance(row->f, first->f)) > 0)
            return false;
    }
    return first != NULL;
}

/* For a general set: the number of freedoms alone. */
static void describe_general(const gw_submanifold *set, char *text, size_t size)
{
    char slides[48], turns[48];
    snprintf(slides, sizeof slides, "slides (%d)", set->translation.dof);
    snprintf(turns, sizeof turns, set->rotation.dof == 3 ? "turns freely (3)" : "turns (%d)",
             set->rotation.dof);
    join_texts(text, size, set->translation.dof > 0 ? slides : NULL,
               set->rotation.dof > 0 ? turns : NULL);
    if (set->translation.dof < 3 && set->rotation.dof > 0 && !is_of_one_point(set))
        join_texts(text, size, NULL, ", shifting as it turns");
}

static void describe_factors(const gw_submanifold *set, const char *shape, char *text, size_t size)
{
    char slide[48 + GW_MAX_ID];
    join_texts(text, size, describe_slide(set, shape, slide, sizeof slide), describe_rotation(set));
    if (set->translation.shift_count > 0)
        join_texts(text, size, NULL, ", shifting as it turns");
}

void gw_submanifold_description(const gw_submanifold *set, const char *shape, char *text,
                                size_t size)
{
    assert(set && text && size > 0);
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
        describe_general(set, text, size);
    else
        describe_factors(set, shape, text, size);
}

/* The meaning of a conflict's value to a person; the names are those of fundamental.h. */
static const struct {
    const char *name, *meaning;
    bool angle;
    int asked; /* by the first, the second or another one; 0: not asked for */
} meanings[] = {
    {"d_a", "between the points", false, 0},
    {"d_b", "between what they are to be at", false, 0},
    {"p", "of", false, 1},
    {"q", "of", false, 2},
    {"alpha", "of", true, 1},
    {"beta", "of", true, 2},
    {"gamma", "of", true, 3},
    {"sigma_a", "between the directions on one side", true, 0},
    {"sigma_b", "between the directions on the other side", true, 0},
    {"angle", "between the directions as the others hold them", true, 0},
};

/* The text so far, and what it describes. */
typedef struct sentence {
    char *text;
    size_t size, n;
    const gw_conflict *conflict;
    const char *const *names;
    int digits;
} sentence;

__attribute__((format(printf, 2, 3))) static void append(sentence *t, const char *format, ...)
{
    if (t->n >= t->size)
        return;
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(t->text + t->n, t->size - t->n, format, arguments);
    va_end(arguments);
    t->n += more > 0 ? (size_t)more : 0;
}

/* The text between item i of so many and the one before. */
static const char *list_separator(int i, int count)
{
    return i == 0 ? "" : i + 1 == count ? " and " : ", ";
}

/* "c1 and c2" */
static void append_names(sentence *t, unsigned long bits, bool list)
{
    int count = __builtin_popcountl(bits), written = 0;
    for (int i = 0; i < GW_MAX_PROBLEM; i++) {
        if (!(bits >> i & 1))
            continue;
        append(t, "%s", list && written > 0 ? ", " : list_separator(written, count));
        written++;
        if (t->names)
            append(t, "%s", t->names[i]);
        else
            append(t, "%d", i);
    }
}

static size_t meaning_of(const char *name)
{
    size_t i = 0;
    while (i + 1 < sizeof meanings / sizeof *meanings && strcmp(meanings[i].name, name) != 0)
        i++;
    return i;
}

static void append_signed(sentence *t, double value, bool angle)
{
    double shown = value * (angle ? 180 / GW_PI : 1e3);
    append(t, "%.*g %s", t->digits, fabs(shown) < 1e-9 ? 0 : shown, angle ? "degrees" : "mm");
}

static void append_amount(sentence *t, double value, bool angle)
{
    append_signed(t, fabs(value), angle);
}

/* "20 mm between the points", "300 mm of c1" */
static void append_value(sentence *t, int i)
{
    const gw_conflict *c = t->conflict;
    size_t m = meaning_of(c->values[i].name);
    unsigned long third = c->constraints & ~(c->first | c->second);
    const unsigned long asked[] = {0, c->first, c->second, third};
    const char *apart = m < 2 ? c->apart[m] : NULL;
    append_amount(t, c->values[i].value, meanings[m].angle);
    append(t, " %s", apart ? apart : meanings[m].meaning);
    if (!meanings[m].asked)
        return;
    append(t, " ");
    append_names(t, asked[meanings[m].asked], false);
}

/* The sum of the values other than one. */
static double sum_without(const gw_conflict *c, int but)
{
    double sum = 0;
    for (int i = 0; i < c->value_count; i++)
        sum += i == but ? 0 : fabs(c->values[i].value);
    return sum;
}

/* Index of the value that would have to be less: the one that exceeds the sum of all others, if the
 * condition forbids that, or the one that has to equal another; -1: none. */
static int excessive_value(const gw_conflict *c)
{
    int most = 0;
    if (strcmp(c->condition, "angle = alpha") == 0)
        return 1;
    if (!strstr(c->condition, "<=") && !strstr(c->condition, ">="))
        return -1;
    for (int i = 1; i < c->value_count; i++)
        most = fabs(c->values[i].value) > fabs(c->values[most].value) ? i : most;
    return c->value_count > 1 && fabs(c->values[most].value) > sum_without(c, most) ? most : -1;
}

/* True where only the same value would do: each has to be at most the sum of the others, and there
 * is one other. */
static bool must_be_equal(const gw_conflict *c, int others)
{
    return others == 1 && (strstr(c->condition, "the sum of the other three") != NULL ||
                           strcmp(c->condition, "angle = alpha") == 0);
}

/* "The 80 mm between the planes would have to be at most the 50 mm between the points." */
static void append_bound(sentence *t, int most)
{
    const gw_conflict *c = t->conflict;
    bool angle = meanings[meaning_of(c->values[most].name)].angle;
    double sum = sum_without(c, most);
    int others = 0, written = 0;
    for (int i = 0; i < c->value_count; i++)
        others += i != most && c->values[i].value != 0;
    append(t, "The ");
    append_value(t, most);
    append(t, " would have to %s ",
           must_be_equal(c, others) ? "equal"
           : others                 ? "be at most"
                                    : "be");
    if (others != 1)
        append_amount(t, sum, angle);
    for (int i = 0; i < c->value_count && others > 0; i++) {
        if (i == most || c->values[i].value == 0)
            continue;
        append(t, "%sthe ", written == 0 && others > 1 ? ", " : list_separator(written, others));
        append_value(t, i);
        written++;
    }
    append(t, others > 1 ? " together." : ".");
}

/* "Wherever c1 holds, the distance of c2 is at least 12 mm; 5 mm are asked." */
static void append_miss(sentence *t)
{
    const gw_conflict *c = t->conflict;
    bool angle = strncmp(c->condition, "angle", 5) == 0;
    unsigned long held = c->constraints & ~c->second;
    bool alone = c->first == held;
    double nearest = c->values[1].value, asked = c->values[0].value;
    append(t, alone ? "Wherever " : "At the best place for ");
    append_names(t, alone ? held : c->constraints, false);
    append(t, !alone ? "" : __builtin_popcountl(held) == 1 ? " holds" : " hold");
    append(t, ", the %s of ", angle ? "angle" : "distance");
    append_names(t, c->second, false);
    append(t, " is %s", !alone ? "" : nearest > asked ? "at least " : "at most ");
    append_signed(t, nearest, angle);
    append(t, "; ");
    append_signed(t, asked, angle);
    append(t, " are asked.");
}

void gw_conflict_description(const gw_conflict *conflict, const char *const *names, char *text,
                             size_t size)
{
    assert(conflict && text && size > 0);
    if (size == 0)
        return;
    sentence t = {text, size, 0, conflict, names, 6};
    text[0] = 0;
    append_names(&t, conflict->constraints, true);
    append(&t, ": %s ", conflict->sentence);
    if (strcmp(conflict->values[0].name, "asked") == 0) {
        append_miss(&t);
        return;
    }
    int most = excessive_value(conflict);
    if (most >= 0) {
        double value = fabs(conflict->values[most].value);
        t.digits = fabs(value - sum_without(conflict, most)) > 1e-4 * value ? 6 : 12;
        append_bound(&t, most);
        return;
    }
    append(&t, "There are ");
    for (int i = 0; i < conflict->value_count; i++) {
        append(&t, "%s", list_separator(i, conflict->value_count));
        append_value(&t, i);
    }
    append(&t, ".");
}
