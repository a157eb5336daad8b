/*
 * What control sees of a model. On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/haptics/impedance.h"

/* J a of generalised accelerations, added. */
static void at_hand(int dof, const double (*jacobian)[6], const double *a, double out[6])
{
    for (int k = 0; k < dof; k++)
        for (int i = 0; i < 6; i++)
            out[i] += jacobian[k][i] * a[k];
}

void gw_operational_state_of(const gw_model *model, double (*jacobian)[6],
                             gw_operational_state *out)
{
    double free[GW_MODEL_MAX_DOF];
    const double(*columns)[6] = (const double(*)[6])jacobian;
    memset(out, 0, sizeof *out);
    out->dof = gw_model_dof(model);
    out->jacobian = columns;
    gw_model_held(model, &out->pose, &out->twist);
    gw_model_jacobian(model, jacobian, out->drift);
    gw_operational_inverse_inertia(model, out->dof, columns, out->inverse_inertia);
    gw_model_free_acceleration(model, free);
    at_hand(out->dof, columns, free, out->free);
}

void gw_operational_step_of(const gw_model *model, const double *impulse, gw_operational_step *out)
{
    double columns[GW_MODEL_MAX_DOF][6], gone[GW_MODEL_MAX_DOF];
    memset(out, 0, sizeof *out);
    gw_model_held(model, &out->pose, &out->twist);
    gw_model_jacobian(model, columns, out->drift);
    if (!impulse)
        return;
    gw_model_apply_inverse(model, impulse, gone);
    at_hand(gw_model_dof(model), (const double(*)[6])columns, gone, out->hit);
}
