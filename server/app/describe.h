/*
 * Documents in the words of the protocol: solutions of objects, refusals of edits, events.
 * Any thread; pure functions of their arguments, but for describe_task().
 */
#ifndef GW_SERVER_APP_DESCRIBE_H
#define GW_SERVER_APP_DESCRIBE_H

#include "server/app/app.h"

/* The solution of one placement; `pose` is where its object is now. New reference. */
json_t *describe_solution(const gw_scene *scene, const gw_layout *layout,
                          const gw_placement *placement, const gw_pose *pose);

/* Adds `strands` to a placement's solution: for each freedom of its chosen branch the poses along
 * it from `pose`, at most `most` to each side. */
void describe_strands(json_t *solution, const gw_placement *placement, const gw_pose *pose,
                      int most);

/* The solutions of all placements, an array; `poses` has one pose for each object. */
json_t *describe_solutions(const gw_scene *scene, const gw_layout *layout, const gw_pose *poses);

/* Constraint `index` with its state in this layout: ok, redundant, disabled. */
json_t *describe_constraint(const gw_scene *scene, const gw_layout *layout, int index);

/* Adds to a problem the members of an unsolved placement: status (incompatible or unhandled, in
 * place of the number), conflict or left, and reason; and the same once more as its member
 * `solution`. */
void describe_refusal(json_t *problem, const gw_scene *scene, const gw_placement *placement);

/* The same for a system of bodies whose assembly failed: GW_UNHANDLED with a relation's pointer.
 * `edited` is the pointer of the entry that was edited, NULL where there is none: a relation that
 * was edited is the first in `left`, since without the edit the others hold together. */
void describe_open_system(json_t *problem, const gw_scene *scene, const char *edited,
                          const gw_error *error);

/* The member `simulation` of the protocol, of a document and its snapshot. */
json_t *describe_simulation(const app_document *document, const gw_snapshot *snapshot);

/* The member `task` of the stream's state: id and progress of the task that runs or ran last, null
 * where there is none in this document. */
json_t *describe_task(gw_app *app, const app_document *document);

/* A JSON string of text for people; bytes that are not UTF-8 (text cut in the middle of a
 * character, or sent by a client) become question marks. */
json_t *describe_text(const char *text);

#endif
