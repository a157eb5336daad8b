/*
 * What the files of the document's check share. Not for use inside a tick.
 */
#ifndef GW_SCENE_CHECK_WORK_H
#define GW_SCENE_CHECK_WORK_H

#include "rt/scene/scene.h"

/* False with GW_BAD_INPUT at /collection/index/member; `member` begins with a slash or is empty. */
bool gw_scene_invalid(gw_error *error, const char *collection, int index, const char *member,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* No more walls at one object than a tick looks at. */
bool gw_scene_check_unilaterals(const gw_scene *scene, const char *object, gw_error *error);

#endif
