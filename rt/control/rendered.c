/*
 * What control sees of a model. On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/control/rendering.h"

/* J a of generalised accelerations, added. */
static void at_hand(int dof, const double (*jacobian)[6], const double *a, double out[6])
{
    for (int k = 0; k < dof; k++)
        for (int i = 0; i < 6; i++)
            out[i] += jacobian[k][i] * a[k];
}

/* J D^-1 (factor Q), added. */
static void driven(const gw_model *model, int dof, const double (*jacobian)[6], const double *force,
                   double factor, double out[6])
{
    double scaled[GW_MODEL_MAX_DOF], a[GW_MODEL_MAX_DOF];
    if (!force)
        return;
    for (int k = 0; k < dof; k++)
        scaled[k] = factor * force[k];
    gw_model_apply_inverse(model, scaled, a);
    at_hand(dof, jacobian, a, out);
}

void gw_rendered_at(const gw_model *model, const double *load, const double *impulse, double dt,
                    double (*jacobian)[6], gw_rendered *out)
{
    double free[GW_MODEL_MAX_DOF];
    const double(*columns)[6] = (const double(*)[6])jacobian;
    memset(out, 0, sizeof *out);
    out->dof = gw_model_dof(model);
    out->jacobian = columns;
    gw_model_held(model, &out->pose, &out->twist);
    gw_model_jacobian(model, jacobian, out->drift);
    gw_inverse_inertia(model, out->dof, columns, out->inverse_inertia);
    gw_model_free_acceleration(model, free);
    at_hand(out->dof, columns, free, out->free);
    driven(model, out->dof, columns, load, 1, out->free);
    driven(model, out->dof, columns, impulse, 1 / dt, out->hit);
}
