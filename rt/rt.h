/*
 * The library: everything of rt/ that another program may use.
 */
#ifndef GW_RT_H
#define GW_RT_H

#include "rt/base/error.h"
#include "rt/base/limits.h"
#include "rt/base/space.h"
#include "rt/contact/detector.h"
#include "rt/contact/world.h"
#include "rt/geom/element.h"
#include "rt/geom/feature.h"
#include "rt/geom/mesh.h"
#include "rt/geom/shape.h"
#include "rt/geom/strand.h"
#include "rt/geom/submanifold.h"
#include "rt/loop/detection.h"
#include "rt/loop/loop.h"
#include "rt/loop/scenario.h"
#include "rt/loop/simulation.h"
#include "rt/model/chain.h"
#include "rt/model/chain_local.h"
#include "rt/model/guided.h"
#include "rt/scene/layout.h"
#include "rt/scene/scene.h"
#include "rt/solve/solve.h"
#include "rt/task/task.h"

#endif
