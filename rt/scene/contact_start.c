/*
 * Keys by which contacts are found again after an edit. Not for use inside a tick.
 */
#include "rt/scene/contact_start.h"

#include <assert.h>

#include "rt/geometry/nurbs.h"

#define PAST 0.01 /* of the domain: edges press back what is not farther past them */

/* FNV-1a, as gw_name_hash() */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

static uint64_t add_number(uint64_t hash, double x)
{
    return add_bytes(hash, &x, sizeof x);
}

static uint64_t add_surface(uint64_t hash, const gw_surface *s)
{
    hash = add_number(hash, s->kind);
    for (int k = 0; s->nurbs && k < s->nurbs->dimension; k++) {
        const gw_nurbs_direction *d = &s->nurbs->direction[k];
        hash = add_number(add_number(hash, d->degree), d->count);
        hash = add_bytes(hash, d->knots, (size_t)(d->count + d->degree + 1) * sizeof *d->knots);
    }
    return hash;
}

uint64_t gw_contact_key(const gw_scene_constraint *c, const gw_closure_contact *contact)
{
    assert(c && contact);
    uint64_t hash = gw_name_hash(c->id, c->inside);
    hash = gw_name_hash(c->a.feature, gw_name_hash(c->a.object, hash));
    hash = gw_name_hash(c->b.feature, gw_name_hash(c->b.object, hash));
    return add_surface(add_surface(hash, &contact->on_a), &contact->on_b);
}

/* Not trimmed off. */
static bool is_within(const gw_surface *s, const double *z)
{
    bool within = true;
    for (int k = 0; s->nurbs && k < s->nurbs->dimension; k++) {
        const gw_nurbs_direction *d = &s->nurbs->direction[k];
        double past = PAST * (d->high - d->low);
        within = within && (d->closed || (z[k] >= d->low - past && z[k] <= d->high + past));
    }
    return within;
}

const gw_contact_point *gw_contact_start_find(const gw_contact_starts *starts, uint64_t key,
                                              const gw_closure_contact *contact)
{
    for (int i = 0; starts && i < starts->count; i++) {
        const gw_contact_point *point = &starts->of[i].point;
        if (starts->of[i].key == key && point->known && is_within(&contact->on_a, point->a) &&
            is_within(&contact->on_b, point->b))
            return point;
    }
    return NULL;
}
