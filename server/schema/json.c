/*
 * JSON text: parsing within limits, writing, merge patches, and the detection of memory shortage.
 *
 * Where memory is short jansson silently drops a member, and half a document would look complete.
 * So its allocations go through functions here, which record a failure for the thread.
 */
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/field.h"

/* ---- memory -------------------------------------------------------------------------------- */

static _Thread_local bool missed;

static void *allocate_bounded(size_t size)
{
    void *block = malloc(size);
    missed = missed || !block;
    return block;
}

void wire_watch_memory(void)
{
    json_set_alloc_funcs(allocate_bounded, free);
}

void wire_memory_missed(void)
{
    missed = true;
}

bool wire_memory_short(void)
{
    return missed;
}

void wire_memory_clear(void)
{
    missed = false;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* The first bracket outside strings that is nested too deep for the parser's recursion; `size`
 * where there is none. */
static size_t too_deep(const char *text, size_t size)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > GW_MAX_JSON_DEPTH)
                return i;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return size;
}

static bool refuse_depth(const char *text, size_t at, gw_error *error)
{
    int line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    return gw_fail(error, GW_BAD_INPUT, "", "line %d column %d: nested deeper than %d levels", line,
                   column, GW_MAX_JSON_DEPTH);
}

/* The parser's error for a text that is not JSON; its message ends in "near '...'". */
static bool refuse_text(const json_error_t *bad, gw_error *error)
{
    const char *number = strstr(bad->text, "near '");
    if (json_error_code(bad) != json_error_numeric_overflow || !number)
        return gw_fail(error, GW_BAD_INPUT, "", "not JSON, line %d column %d: %s", bad->line,
                       bad->column, bad->text);
    number += strlen("near '");
    return gw_fail(error, GW_BAD_INPUT, "",
                   "line %d column %d: the number %.*s is out of range: +-%" JSON_INTEGER_FORMAT
                   " as a whole one, +-%.3g with a point or an exponent",
                   bad->line, bad->column, (int)strcspn(number, "'"), number, (json_int_t)INT64_MAX,
                   DBL_MAX);
}

static json_t *parse_bounded(const char *text, size_t size, size_t most, gw_error *error)
{
    wire_errors_clear();
    if (size > most) {
        gw_fail(error, GW_TOO_LARGE, "", "%zu bytes of JSON, at most %zu are taken", size, most);
        return NULL;
    }
    size_t deep = too_deep(text, size);
    if (deep < size) {
        refuse_depth(text, deep, error);
        return NULL;
    }
    json_error_t bad;
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &bad);
    if (wire_memory_short()) {
        json_decref(value);
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    if (!value)
        refuse_text(&bad, error);
    return value;
}

json_t *wire_parse(const char *text, size_t size, gw_error *error)
{
    return parse_bounded(text, size, GW_MAX_BODY_BYTES, error);
}

json_t *wire_parse_document(const char *text, size_t size, gw_error *error)
{
    return parse_bounded(text, size, GW_MAX_DOCUMENT_BYTES, error);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Finds value = n / 10^k with n and 10^k exact as doubles: their quotient is rounded correctly, so
 * the decimal n * 10^-k is read back as the same value. True with the least such k. */
static bool as_decimal(double value, uint64_t *n, int *k)
{
    static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    for (*k = 0; *k < 10 && value * tens[*k] < 1e15; ++*k) {
        double whole = rint(value * tens[*k]);
        *n = (uint64_t)whole;
        if (whole / tens[*k] == value)
            return true;
    }
    return false;
}

/* Digits d of an integer, without a sign; returns their number. */
static int put_digits(uint64_t d, char out[20])
{
    char reversed[20];
    int count = 0;
    do
        reversed[count++] = (char)('0' + d % 10);
    while (d /= 10);
    for (int i = 0; i < count; i++)
        out[i] = reversed[count - 1 - i];
    return count;
}

/* Writes n / 10^k, with at least one digit after the point, so that it is read back as a real. */
static int put_decimal(uint64_t n, int k, char *out)
{
    char digits[20];
    int count = put_digits(n, digits), size = 0;
    for (int place = count > k ? count - 1 : k; place >= 0; place--) {
        if (place == k - 1)
            out[size++] = '.';
        out[size++] = place < count ? digits[count - 1 - place] : '0';
    }
    if (k == 0) {
        out[size++] = '.';
        out[size++] = '0';
    }
    return size;
}

__extension__ typedef unsigned __int128 wide;

/*
 * The first of 15, 16, 17 digits, correctly rounded, that is read back as the value: n / 10^*k. In
 * integers, exactly: with value = m 2^e, q such that value 10^q has 17 digits before the point, and
 * a = m 5^q,
 *
 *   value 10^q = a 2^-t,   t = -(e + q),   half of the spacing of doubles = 5^q / 2 2^-t
 *
 * False where 5^q or t is out of range: below 1e-11, above 1e15.
 */
static bool as_digits(double value, uint64_t *n, int *k)
{
    static const uint64_t most = 100000000000000000; /* 18 digits */
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(value, &e), 53), five = 1;
    int q = 16 - (int)floor((e - 1) * 0.30102999566398120), t = 53 - e - q;
    if (q < 1 || q > 27 || t < 1)
        return false;
    for (int i = 0; i < q; i++)
        five *= 5;
    if ((uint64_t)((wide)m * five >> t) >= most) {
        five /= 5;
        q--;
        t++;
    }
    wide a = (wide)m * five;
    uint64_t whole = (uint64_t)(a >> t), unit = 100;
    for (*k = q - 2; *k <= q; ++*k, unit /= 10) {
        wide left = a - ((wide)(whole - whole % unit) << t), step = (wide)unit << t;
        *n = whole / unit;
        bool up = 2 * left > step || (2 * left == step && *n % 2 == 1);
        wide off = up ? step - left : left;
        *n += up;
        /* doubles below a power of two are half as far apart */
        if ((!up && m == (uint64_t)1 << 52 ? 4 : 2) * off < five || *k == q)
            break;
    }
    for (; *n % 10 == 0; --*k)
        *n /= 10;
    return true;
}

/* Writes n / 10^k as d.ddd and a power of ten. */
static int put_scientific(uint64_t n, int k, char *out)
{
    char digits[20];
    int count = put_digits(n, digits), size = 0;
    out[size++] = digits[0];
    if (count > 1)
        out[size++] = '.';
    memcpy(out + size, digits + 1, (size_t)(count - 1));
    size += count - 1;
    return size + snprintf(out + size, 8, "e%+03d", count - 1 - k);
}

static void put_real(text_builder *out, double value)
{
    char text[40];
    int size = 0, k;
    uint64_t n;
    double magnitude = fabs(value);
    if (signbit(value))
        text[size++] = '-';
    if (as_decimal(magnitude, &n, &k)) {
        size += put_decimal(n, k, text + size);
    } else if (as_digits(magnitude, &n, &k)) {
        bool plain = magnitude >= 1e-4 && k >= 0;
        size += (plain ? put_decimal : put_scientific)(n, k, text + size);
    } else {
        int precision = 15;
        do
            size = snprintf(text, sizeof text, "%.*g", precision, value);
        while (strtod(text, NULL) != value && ++precision <= 17);
        if (!strpbrk(text, ".e"))
            size += snprintf(text + size, sizeof text - (size_t)size, ".0");
    }
    text_put(out, text, (size_t)size);
}

static void put_string(text_builder *out, const char *text, size_t size)
{
    static const char shorts[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    size_t from = 0;
    text_put(out, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        const char *known = c ? strchr(shorts, c) : NULL;
        text_put(out, text + from, i - from);
        if (known)
            text_put_format(out, "\\%c", letters[known - shorts]);
        else
            text_put_format(out, "\\u%04X", c);
        from = i + 1;
    }
    text_put(out, text + from, size - from);
    text_put(out, "\"", 1);
}

static void put_value(text_builder *out, const json_t *value);

static void put_members(text_builder *out, const json_t *object)
{
    const char *name, *comma = "{";
    json_t *value;
    json_object_foreach((json_t *)(size_t)object, name, value)
    {
        text_put(out, comma, 1);
        put_string(out, name, strlen(name));
        text_put(out, ":", 1);
        put_value(out, value);
        comma = ",";
    }
    text_put(out, "{}", *comma == '{' ? 2 : 0);
    text_put(out, "}", *comma == ',');
}

static void put_value(text_builder *out, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        put_members(out, value);
        return;
    case JSON_ARRAY:
        text_put(out, "[", 1);
        for (size_t i = 0; i < json_array_size(value); i++) {
            text_put(out, ",", i > 0);
            put_value(out, json_array_get(value, i));
        }
        text_put(out, "]", 1);
        return;
    case JSON_STRING:
        put_string(out, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        text_put_format(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return;
    case JSON_REAL:
        put_real(out, json_real_value(value));
        return;
    case JSON_TRUE:
        text_put(out, "true", 4);
        return;
    case JSON_FALSE:
        text_put(out, "false", 5);
        return;
    case JSON_NULL:
        text_put(out, "null", 4);
        return;
    }
}

gw_text *wire_text(json_t *value)
{
    text_builder out = {0};
    bool whole = value && !wire_memory_short();
    if (whole)
        put_value(&out, value);
    json_decref(value);
    wire_memory_clear();
    return whole ? text_take(&out) : NULL;
}

json_t *wire_merge(const json_t *target, json_t *patch)
{
    if (!json_is_object(patch))
        return json_incref(patch);
    json_t *merged = json_is_object(target) ? json_copy((json_t *)target) : json_object();
    const char *name;
    json_t *value;
    json_object_foreach(patch, name, value)
    {
        if (json_is_null(value))
            json_object_del(merged, name);
        else
            json_object_set_new(merged, name, wire_merge(json_object_get(merged, name), value));
    }
    return merged;
}

void wire_add(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}
