/*
 * Checks that the tests of chains share.
 */
#ifndef GW_TESTS_UNIT_CHAIN_CHECKS_H
#define GW_TESTS_UNIT_CHAIN_CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/chain_fixture.h"

static inline void near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        print_error("%.15g is %g from %.15g\n", a, fabs(a - b), b);
    assert_true(fabs(a - b) <= tolerance);
}

static inline void near3(gw_vec3 a, gw_vec3 b, double tolerance)
{
    near(a.x, b.x, tolerance);
    near(a.y, b.y, tolerance);
    near(a.z, b.z, tolerance);
}

/* gw_forces: a wrench that stays as it is. */
static inline gw_wrench constant(const void *context, double t, const gw_pose *held,
                                 const gw_twist *twist)
{
    (void)t, (void)held, (void)twist;
    return *(const gw_wrench *)context;
}

#endif
