/*
 * A reader of meshes. Every count is checked against the file's size before memory is allocated.
 */
#include "server/files/mesh_file.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STL_HEADER = 84, STL_TRIANGLE = 50 };

typedef struct reading {
    const char *name;
    int vertex_count, vertex_room, triangle_count, triangle_room;
    gw_vec3 *vertices;
    int (*triangles)[3];
    int line;
    gw_error *error;
} reading;

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);
    return size > tail && strcasecmp(name + size - tail, end) == 0;
}

bool mesh_file_known(const char *name)
{
    return ends_with(name, ".stl") || ends_with(name, ".obj");
}

/* ---- points and triangles ------------------------------------------------------------------ */

static bool grow_array(reading *r, void **items, int count, int *room, int most, size_t size)
{
    if (count < *room)
        return true;
    if (count >= most)
        return gw_fail(r->error, GW_TOO_LARGE, "", "%s has more than %d vertices or triangles",
                       r->name, most);
    int wanted = *room ? 2 * *room : 1024;
    void *more = realloc(*items, (size_t)wanted * size);
    if (!more)
        return gw_fail(r->error, GW_FAILED, "", "no memory for %s", r->name);
    *items = more;
    *room = wanted;
    return true;
}

static bool add_vertex(reading *r, const double p[3])
{
    void *items = r->vertices;
    bool room = grow_array(r, &items, r->vertex_count, &r->vertex_room, GW_MAX_MESH_VERTICES,
                           sizeof *r->vertices);
    r->vertices = items;
    if (room)
        r->vertices[r->vertex_count++] = gw_v3(p[0], p[1], p[2]);
    return room;
}

static bool add_triangle(reading *r, int a, int b, int c)
{
    void *items = r->triangles;
    bool room = grow_array(r, &items, r->triangle_count, &r->triangle_room, GW_MAX_MESH_TRIANGLES,
                           sizeof *r->triangles);
    r->triangles = items;
    if (!room)
        return false;
    int *t = r->triangles[r->triangle_count++];
    t[0] = a, t[1] = b, t[2] = c;
    return true;
}

/* Reads three numbers of a line; false with an error. */
static bool take_point(reading *r, const char **at, double p[3])
{
    for (int k = 0; k < 3; k++) {
        const char *from = *at;
        while (*from == ' ' || *from == '\t')
            from++;
        char *end = (char *)from;
        p[k] = *from == '\n' || *from == '\r' ? 0 : strtod(from, &end);
        if (end == from)
            return gw_fail(r->error, GW_BAD_INPUT, "", "%s, line %d: three numbers are wanted",
                           r->name, r->line);
        *at = end;
    }
    return true;
}

static const char *next_line(reading *r, const char *at)
{
    const char *end = strchr(at, '\n');
    r->line++;
    return end ? end + 1 : NULL;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* ---- STL ----------------------------------------------------------------------------------- */

static uint32_t u32_at(const char *data)
{
    const unsigned char *b = (const unsigned char *)data;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static double f32_at(const char *data)
{
    uint32_t bits = u32_at(data);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Binary STL: a header of any 80 bytes, the number of triangles, then 50 bytes for each. */
static bool is_binary(const char *data, size_t size)
{
    return size >= STL_HEADER &&
           (size - STL_HEADER) == (size_t)STL_TRIANGLE * u32_at(data + STL_HEADER - 4);
}

static bool read_binary(reading *r, const char *data)
{
    uint32_t count = u32_at(data + STL_HEADER - 4);
    for (uint32_t i = 0; i < count; i++) {
        const char *corners = data + STL_HEADER + (size_t)i * STL_TRIANGLE + 12;
        int first = r->vertex_count;
        for (int k = 0; k < 3; k++) {
            double p[3];
            for (int j = 0; j < 3; j++)
                p[j] = f32_at(corners + 12 * k + 4 * j);
            if (!add_vertex(r, p))
                return false;
        }
        if (!add_triangle(r, first, first + 1, first + 2))
            return false;
    }
    return true;
}

/* Reads the vertices only: three of them are a triangle. */
static bool read_ascii(reading *r, const char *data)
{
    for (const char *line = data; line; line = next_line(r, line)) {
        const char *at = skip_blanks(line);
        double p[3];
        if (strncasecmp(at, "vertex", 6) != 0)
            continue;
        at += 6;
        if (!take_point(r, &at, p) || !add_vertex(r, p))
            return false;
        int n = r->vertex_count;
        if (n % 3 == 0 && !add_triangle(r, n - 3, n - 2, n - 1))
            return false;
    }
    return r->vertex_count % 3 == 0 ||
           gw_fail(r->error, GW_BAD_INPUT, "", "%s ends within a triangle", r->name);
}

static bool read_stl(reading *r, const char *data, size_t size)
{
    if (is_binary(data, size))
        return read_binary(r, data);
    if (strncasecmp(skip_blanks(data), "solid", 5) == 0)
        return read_ascii(r, data);
    return gw_fail(r->error, GW_BAD_INPUT, "",
                   "%s is no STL: it does not begin with \"solid\", and a binary one of its %zu "
                   "bytes has another number of triangles",
                   r->name, size);
}

/* ---- OBJ ----------------------------------------------------------------------------------- */

/* The next corner of a face: "7", "7/1", "7//3", or counted from the end, "-1"; 0: there is
 * none. */
static long next_corner(const char **at)
{
    const char *from = skip_blanks(*at);
    char *end = (char *)from;
    long index = isspace((unsigned char)*from) || !*from ? 0 : strtol(from, &end, 10);
    while (*end && !isspace((unsigned char)*end))
        end++;
    *at = end;
    return index;
}

static bool read_face(reading *r, const char *at)
{
    int first = -1, last = -1;
    for (long index; (index = next_corner(&at)) != 0;) {
        long vertex = index > 0 ? index - 1 : r->vertex_count + index;
        if (vertex < 0 || vertex >= r->vertex_count)
            return gw_fail(r->error, GW_BAD_INPUT, "",
                           "%s, line %d: vertex %ld of %d that come before it", r->name, r->line,
                           index, r->vertex_count);
        if (first >= 0 && last >= 0 && !add_triangle(r, first, last, (int)vertex))
            return false;
        if (first < 0)
            first = (int)vertex;
        else
            last = (int)vertex;
    }
    return last >= 0 || gw_fail(r->error, GW_BAD_INPUT, "",
                                "%s, line %d: a face has three corners or more", r->name, r->line);
}

static bool read_obj(reading *r, const char *data)
{
    for (const char *line = data; line; line = next_line(r, line)) {
        const char *at = skip_blanks(line);
        double p[3];
        bool blank = at[0] && (at[1] == ' ' || at[1] == '\t');
        if (!blank || (at[0] != 'v' && at[0] != 'f'))
            continue;
        char what = *at++;
        if (what == 'f' ? !read_face(r, at) : !(take_point(r, &at, p) && add_vertex(r, p)))
            return false;
    }
    return true;
}

/* ---- either -------------------------------------------------------------------------------- */

gw_mesh *mesh_file_parse(const char *name, const char *data, size_t size, gw_error *error)
{
    assert(name && data && data[size] == 0);
    reading r = {.name = name, .line = 1, .error = error};
    bool stl = ends_with(name, ".stl");
    bool read = stl ? read_stl(&r, data, size) : read_obj(&r, data);
    gw_mesh *mesh = NULL;
    if (read)
        mesh = gw_mesh_create(&(gw_mesh_def){.file = name,
                                             .vertex_count = r.vertex_count,
                                             .triangle_count = r.triangle_count,
                                             .vertices = r.vertices,
                                             .triangles = (const int(*)[3])r.triangles},
                              error);
    free(r.vertices);
    free(r.triangles);
    return mesh;
}
