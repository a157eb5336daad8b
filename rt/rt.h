/*
 * The library: everything of rt/ that another program may use.
 */
#ifndef GW_RT_H
#define GW_RT_H

#include "rt/base/error.h"
#include "rt/base/limits.h"
#include "rt/base/space.h"
#include "rt/collision/detector.h"
#include "rt/contact/world.h"
#include "rt/geometry/element.h"
#include "rt/geometry/feature.h"
#include "rt/geometry/mesh.h"
#include "rt/geometry/shape.h"
#include "rt/geometry/freedom_path.h"
#include "rt/geometry/submanifold.h"
#include "rt/sim/detection.h"
#include "rt/sim/loop.h"
#include "rt/sim/scenario.h"
#include "rt/sim/simulation.h"
#include "rt/dynamics/chain.h"
#include "rt/dynamics/chain_local_model.h"
#include "rt/dynamics/guided.h"
#include "rt/scene/layout.h"
#include "rt/scene/scene.h"
#include "rt/positioning/solve.h"
#include "rt/sim/task_runner.h"

#endif
