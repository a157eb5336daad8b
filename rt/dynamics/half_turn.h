/*
 * Half the angle of a joint that turns, through the stages of a substep: its cosine and sine by a
 * series of the rotation since the substep began. Pure functions, RT safe.
 */
#ifndef GW_DYNAMICS_HALF_TURN_H
#define GW_DYNAMICS_HALF_TURN_H

#include <math.h>
#include <stdbool.h>

/* Where an explicit substep began: an angle, and cosine and sine of half of it. */
typedef struct gw_half_turn {
    double angle, cosine, sine;
} gw_half_turn;

/* half := cosine and sine of half the angle. In a stage, within 0.1 rad of the start, by a series
 * in x, half the rotation since the substep began; elsewhere directly. Not in a stage: also sets
 * `begin`. */
static inline void gw_turn_half(gw_half_turn *begin, double angle, bool in_stage, double half[2])
{
    double x = 0.5 * (angle - begin->angle), x2 = x * x;
    if (!in_stage || x2 > 2.5e-3) {
        half[0] = cos(0.5 * angle), half[1] = sin(0.5 * angle);
        if (!in_stage)
            *begin = (gw_half_turn){angle, half[0], half[1]};
        return;
    }
    double s = x * (1 - x2 * (1. / 6) *
                            (1 - x2 * (1. / 20) * (1 - x2 * (1. / 42) * (1 - x2 * (1. / 72)))));
    double c = 0.5 * x2 * (1 - x2 * (1. / 12) * (1 - x2 * (1. / 30) * (1 - x2 * (1. / 56))));
    half[0] = begin->cosine - (begin->cosine * c + begin->sine * s);
    half[1] = begin->sine - (begin->sine * c - begin->cosine * s);
}

#endif
