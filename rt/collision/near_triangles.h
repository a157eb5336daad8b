/*
 * Triangles of two free-form surfaces that are near one another: where contact points of the two
 * may be. A list that was found serves later queries of the pair, at other poses, while the
 * surfaces have moved less against one another than it looked ahead.
 *
 * A list belongs to one thread at a time; queries are RT safe.
 */
#ifndef GW_COLLISION_NEAR_TRIANGLES_H
#define GW_COLLISION_NEAR_TRIANGLES_H

#include "rt/collision/free_form_private.h"

enum {
    GW_NEAR_MAX = 512,       /* triangles, of the surface with smaller ones */
    GW_NEAR_LISTS = 16,      /* pairs of surfaces that are queried within ticks */
    GW_NEAR_STARTS_MAX = 8,  /* local minima */
    GW_NEAR_SLOTS_MAX = 2048 /* of hash tables: more than three corners of each */
};

_Static_assert(GW_NEAR_SLOTS_MAX > 3 * GW_NEAR_MAX,
               "a hash table has free slots when all corners are in it");

/* A smaller triangle and the larger one of the other surface that is nearest to its middle. */
typedef struct gw_near_triangle {
    int a, b;
    double height;      /* of a's over b's when found, positive on the side of b's normal (m) */
    double x[2], of[2]; /* parameters of b and of a there */
    gw_vec3 at;         /* and the point of a, in its frame */
    int corner[3];      /* numbers of the smaller one's corners among those in the list */
} gw_near_triangle;

struct gw_near_list {
    int geom_a, geom_b; /* of a detector, in the query's order */
    uint64_t used;      /* number of the query that used it last; 0: none */
    bool found;         /* for this pose: */
    gw_vec3 origin;     /* of a's frame in that of b */
    gw_mat3 rotation;
    double reach;    /* within which all are in the list (m) */
    int plain_ahead; /* queries that do not look ahead, as the list was full */
    double mean;     /* height of a over b (m) */
    int count, corners;
    gw_near_triangle near[GW_NEAR_MAX];
    int edge_count[2]; /* triangles of a and b at edges and kinks: */
    int edges[2][GW_FREE_FORM_EDGED];
};

/* Two surfaces at a pose. */
typedef struct gw_near_query {
    const gw_free_form *a, *b;
    gw_vec3 origin; /* of a's frame in that of b */
    gw_mat3 rotation;
    double reach;   /* m */
    double ahead;   /* motion that a list which is made anew serves (m) */
    double *effort; /* as gw_pair_query has it */
} gw_near_query;

/* Fills the list unless what it has serves this query, too; `height`: of each of its triangles at
 * the query's pose, to first order (m). RT safe. */
void gw_near_find(const gw_near_query *query, gw_near_list *list, double height[GW_NEAR_MAX]);

/* The triangles that are no higher (times `side`) than any that shares a corner with them, the
 * lowest first; returns how many. RT safe. */
int gw_near_minima(const gw_near_list *list, const double *height, double side,
                   int starts[GW_NEAR_STARTS_MAX]);

/* The list of a pair of geoms, or one that was used least lately. RT safe. */
gw_near_list *gw_near_list_of(gw_near_lists *lists, int geom_a, int geom_b);

#endif
