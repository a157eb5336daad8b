/*
 * The facade (rt/guideway.h) with all that lies behind it, for benchmarks and tests.
 */
#ifndef GW_RT_H
#define GW_RT_H

#include "rt/collision/detector.h"
#include "rt/contact/world.h"
#include "rt/dynamics/guided.h"
#include "rt/dynamics/link.h"
#include "rt/dynamics/local_model.h"
#include "rt/geometry/shape.h"
#include "rt/geometry/submanifold.h"
#include "rt/guideway.h"
#include "rt/sim/detection.h"

#endif
