/*
 * The impulse problem of a collision or of rigid contact forces: rows of the contact Jacobian over
 * the generalised velocities of the systems that take part. Assembled by collision_response.c,
 * rigid_contact_forces.c and initial_forces.c. RT safe.
 */
#ifndef GW_CONTACT_IMPACT_H
#define GW_CONTACT_IMPACT_H

#include "rt/contact/world_private.h"

#define GW_ROWS_PER_EFFORT 160 /* n rows cost n^2 / 160 steps of a free body */

/* The problem under assembly: each system is a block of the generalised velocity. */
typedef struct gw_impact {
    gw_world *world;
    gw_collision_kind kind;
    double over;   /* step h of the implicit inverse, gw_model_apply_inverse_over() (s); 0: D^-1 */
    bool explicit; /* its argument: also for systems that step explicitly */
    int rows, max_rows, block_count;
    int systems[GW_MAX_MODELS];  /* the system of each block */
    int from[GW_MAX_MODELS + 1]; /* the first entry of each block; from[block_count]: the end */
    int block[GW_MAX_MODELS];    /* the block of each system; -1: it takes no part */
    int contact[GW_MAX_SIMULTANEOUS_CONTACTS], of[GW_MAX_SIMULTANEOUS_CONTACTS][2]; /* by row */
    double e[GW_MAX_SIMULTANEOUS_CONTACTS], offset[GW_MAX_SIMULTANEOUS_CONTACTS],
        p[GW_MAX_SIMULTANEOUS_CONTACTS];
} gw_impact;

/* answer = D^-1 force of one block: the `inverse` of gw_impulse_problem. */
void gw_impact_apply_inverse(const void *impact, int block, const double *force, double *answer);

/* Adds the row of a contact along its normal, for body a, b or both. It is left out where no system
 * moves along it or the problem is full. */
void gw_impact_add_row(gw_impact *impact, int contact, bool a, bool b);

/* Writes a row's blocks into `entries`, a dense row that is zero elsewhere. Sets of to the blocks
 * (-1: none) and *offset to the row's offset (m/s). */
void gw_impact_put_row(const gw_impact *impact, const gw_contact_jacobian_row *row, double *entries,
                       int of[2], double *offset);

/* Fills the world's J and v, and the offsets, over the blocks. */
void gw_impact_fill(gw_impact *impact);

/* Two unit vectors orthogonal to the contact's present normal and to each other (world). */
void gw_contact_tangents(const gw_contact *contact, gw_vec3 tangents[2]);

/* Writes rows 2 i and 2 i + 1 of J, along a contact's tangents; of and offset by row. */
void gw_impact_put_tangential_rows(const gw_impact *impact, const gw_contact *contact, int i,
                                   int (*of)[2], double *offset);

/* The impulse problem of the first `rows` rows of J. It refers to `impact`, of and offset; the
 * caller sets e, only_push, share and slack. */
gw_impulse_problem gw_impact_problem(const gw_impact *impact, int rows, int (*of)[2],
                                     const double *offset);

/* Tangential impulses of contacts that push, within mu p_n, added to the world's dv: Coulomb's law
 * of impulses. */
void gw_impact_add_friction(const gw_impact *impact);

#endif
