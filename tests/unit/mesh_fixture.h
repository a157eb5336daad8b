/* Meshes for tests: a box in triangles, cut into squares; an L; points of a ball. */
#ifndef GW_TESTS_UNIT_MESH_FIXTURE_H
#define GW_TESTS_UNIT_MESH_FIXTURE_H

#include "rt/geometry/mesh.h"

enum { SOUP = 8192 };

/* Triangles as a file has them: corners are not shared. */
typedef struct soup {
    int vertex_count, triangle_count;
    gw_vec3 vertices[SOUP];
    int triangles[SOUP][3];
} soup;

static inline void add_triangle(soup *s, gw_vec3 a, gw_vec3 b, gw_vec3 c)
{
    gw_vec3 v[3] = {a, b, c};
    for (int k = 0; k < 3; k++) {
        s->triangles[s->triangle_count][k] = s->vertex_count;
        s->vertices[s->vertex_count++] = v[k];
    }
    s->triangle_count++;
}

/* A parallelogram from p along u and v, u x v outward, in n by n squares of two triangles. */
static inline void add_square(soup *s, gw_vec3 p, gw_vec3 u, gw_vec3 v, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            gw_vec3 c[4];
            for (int k = 0; k < 4; k++)
                c[k] = gw_mul_add(gw_mul_add(p, (double)(i + (k == 1 || k == 2)) / n, u),
                                  (double)(j + (k >= 2)) / n, v);
            add_triangle(s, c[0], c[1], c[2]);
            add_triangle(s, c[0], c[2], c[3]);
        }
    }
}

static inline void add_block(soup *s, gw_vec3 low, gw_vec3 high, int n)
{
    gw_vec3 x = {high.x - low.x, 0, 0}, y = {0, high.y - low.y, 0}, z = {0, 0, high.z - low.z};
    add_square(s, low, y, x, n);
    add_square(s, low, z, y, n);
    add_square(s, low, x, z, n);
    add_square(s, gw_add(low, z), x, y, n);
    add_square(s, gw_add(low, x), y, z, n);
    add_square(s, gw_add(low, y), z, x, n);
}

/* A prism over an outline of six points p (x, z) with its inner corner at p[3], y from 0 to y. */
static inline void add_prism(soup *s, const gw_vec3 p[6], gw_vec3 y)
{
    for (int i = 0; i < 6; i++) {
        gw_vec3 next = p[(i + 1) % 6];
        add_triangle(s, p[i], gw_add(p[i], y), gw_add(next, y));
        add_triangle(s, p[i], gw_add(next, y), next);
    }
    static const int front[4][3] = {{0, 1, 3}, {1, 2, 3}, {0, 3, 5}, {3, 4, 5}};
    for (int i = 0; i < 4; i++) {
        gw_vec3 a = p[front[i][0]], b = p[front[i][1]], c = p[front[i][2]];
        add_triangle(s, a, b, c);
        add_triangle(s, gw_add(a, y), gw_add(c, y), gw_add(b, y));
    }
}

/* A floor 0.4 x 0.2 x 0.1 and a wall 0.1 x 0.2 x 0.3 at its end, x from 0 to 0.4: one solid. */
static inline void add_corner(soup *s)
{
    const double outline[6][2] = {{0, 0}, {0.4, 0}, {0.4, 0.1}, {0.1, 0.1}, {0.1, 0.3}, {0, 0.3}};
    gw_vec3 p[6];
    for (int i = 0; i < 6; i++)
        p[i] = gw_v3(outline[i][0], 0, outline[i][1]);
    add_prism(s, p, gw_v3(0, 0.2, 0));
}

static inline gw_mesh *mesh_of(const soup *s, gw_error *error)
{
    return gw_mesh_create(&(gw_mesh_def){.file = "m.stl",
                                         .vertex_count = s->vertex_count,
                                         .triangle_count = s->triangle_count,
                                         .vertices = s->vertices,
                                         .triangles = (const int(*)[3])s->triangles},
                          error);
}

#endif
