/*
 * A collision or a load as a problem of rows over the systems that take part: assembled by
 * collision_response.c, which finds impulses of collisions, by rigid_contact_forces.c and by
 * initial_forces.c. RT safe.
 */
#ifndef GW_CONTACT_IMPACT_H
#define GW_CONTACT_IMPACT_H

#include "rt/contact/world_private.h"

#define GW_ROWS_PER_EFFORT 160 /* rows squared of a problem that cost a step of a body */

/* The problem that is assembled: its systems are blocks of the generalised velocity. */
typedef struct gw_impact {
    gw_world *world;
    gw_collision_kind kind;
    double over;   /* a step of so long that the systems answer in (s); 0: at once */
    bool explicit; /* those that make it explicitly, too */
    int rows, max_rows, block_count;
    int systems[GW_MAX_MODELS];  /* of each block */
    int from[GW_MAX_MODELS + 1]; /* its first entry, and the end */
    int block[GW_MAX_MODELS];    /* by system; -1: takes no part */
    int contact[GW_MAX_SIMULTANEOUS_CONTACTS], of[GW_MAX_SIMULTANEOUS_CONTACTS][2]; /* by row */
    double e[GW_MAX_SIMULTANEOUS_CONTACTS], offset[GW_MAX_SIMULTANEOUS_CONTACTS],
        p[GW_MAX_SIMULTANEOUS_CONTACTS];
} gw_impact;

/* D^-1 of a block, as gw_impulse_problem asks for it. */
void gw_impact_apply_inverse(const void *impact, int block, const double *force, double *answer);

/* Adds the row of a contact along its normal, for a, b or both, unless it moves nothing or there is
 * no room. */
void gw_impact_add_row(gw_impact *impact, int contact, bool a, bool b);

/* Writes a row's blocks into a dense row, whose other entries are zero; *offset and the row's
 * blocks are given back. */
void gw_impact_put_row(const gw_impact *impact, const gw_contact_jacobian_row *row, double *entries,
                       int of[2], double *offset);

/* J, v and offsets over the blocks. */
void gw_impact_fill(gw_impact *impact);

/* Two unit vectors across the normal of a contact, as it is now, and one another. */
void gw_contact_tangents(const gw_contact *contact, gw_vec3 tangents[2]);

/* Writes rows 2 i and 2 i + 1 of J, along a contact's tangents; of and offset by row. */
void gw_impact_put_tangential_rows(const gw_impact *impact, const gw_contact *contact, int i,
                                   int (*of)[2], double *offset);

/* The problem of the first rows of J, what its solver is asked for left out; it refers to `impact`,
 * of and offset. */
gw_impulse_problem gw_impact_problem(const gw_impact *impact, int rows, int (*of)[2],
                                     const double *offset);

/* Tangential impulses of contacts that push, within mu p_n, added to the world's dv: Coulomb's law
 * of impulses. */
void gw_impact_add_friction(const gw_impact *impact);

#endif
