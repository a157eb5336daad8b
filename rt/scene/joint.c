/*
 * Joints and springs of the document: the bodies that they connect, the coordinates that a gear
 * couples, their checks. Not for use inside a tick.
 */
#include "rt/scene/joint.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rt/scene/scene.h"

/* ---- ends ----------------------------------------------------------------------------------- */

static bool is_fixed(const gw_scene *s, const gw_body_ref *body)
{
    return body->object >= 0 ? s->objects[body->object].fixed : body->mechanism < 0;
}

/* The object, the link or the world that a name refers to. */
static bool check_body(const gw_scene *s, const char *name, const char *collection, int index,
                       const char *member, gw_body_ref *body, gw_error *error)
{
    if (gw_scene_body(s, name, body))
        return true;
    gw_scene_invalid(error, collection, index, member,
                     "there is no object \"%s\", nor a link of that name", name);
    return gw_error_names(error, s->objects, s->object_count, sizeof *s->objects);
}

/* The two ends must be able to move relative to each other. */
static bool check_apart(const gw_scene *s, const char *a, const char *b,
                        const gw_body_ref bodies[2], const char *collection, int index,
                        gw_error *error)
{
    if (strcmp(a, b) == 0)
        return gw_scene_invalid(error, collection, index, "/b",
                                "a and b are both \"%s\": they must be two", a);
    if (is_fixed(s, &bodies[0]) && is_fixed(s, &bodies[1]))
        return gw_scene_invalid(error, collection, index, "/a",
                                "\"%s\" and \"%s\" are both fixed: one must move", a, b);
    return true;
}

static bool check_joint_end(const gw_scene *s, const gw_joint_end *end, int index, bool second,
                            gw_body_ref *body, gw_error *error)
{
    gw_element element;
    const char *member = second ? "/b" : "/a";
    if (!end->feature[0])
        return check_body(s, end->object, "joints", index, second ? "/b/object" : "/a/object", body,
                          error) &&
               (gw_finite_pose(&end->at) ||
                gw_scene_invalid(error, "joints", index, second ? "/b/at" : "/a/at",
                                 "a pose must be finite"));
    if (!check_body(s, end->object, "joints", index, member, body, error))
        return false;
    gw_feature_ref ref = {0};
    snprintf(ref.object, sizeof ref.object, "%s", end->object);
    snprintf(ref.feature, sizeof ref.feature, "%s", end->feature);
    return gw_scene_element(s, &ref, &element) ||
           gw_scene_no_feature(s, &ref, "joints", index, member, error);
}

/* ---- coordinates ---------------------------------------------------------------------------- */

static bool check_limits(const gw_scene_joint *j, int index, int i, gw_error *error)
{
    char at[32];
    snprintf(at, sizeof at, "/limits/%d", i);
    if (!j->limited[i])
        return true;
    if (!isfinite(j->lower[i]) || !isfinite(j->upper[i]))
        return gw_scene_invalid(error, "joints", index, at, "limits must be finite (rad, m)");
    if (j->lower[i] > j->upper[i])
        return gw_scene_invalid(error, "joints", index, at,
                                "lower is %g, must be at most upper, %g", j->lower[i], j->upper[i]);
    snprintf(at, sizeof at, "/position/%d", i);
    return !j->has_position || j->type == GW_MOBILIZER_SPHERICAL ||
           (j->position[i] >= j->lower[i] && j->position[i] <= j->upper[i]) ||
           gw_scene_invalid(error, "joints", index, at,
                            "is %g, must be within the limits, %g to %g", j->position[i],
                            j->lower[i], j->upper[i]);
}

bool gw_scene_only_first_motor(const gw_scene_joint *j)
{
    assert(j);
    bool others = false;
    for (int i = 1; i < 6; i++)
        others = others || j->has_motor[i];
    return j->has_motor[0] && !others;
}

/* Checks the parameters of coordinate `i`. */
static bool check_coordinate(const gw_scene_joint *j, int index, int i, gw_error *error)
{
    const struct {
        const char *name;
        double value;
        bool any; /* of any sign */
    } all[] = {{"position", j->has_position ? j->position[i] : 0, true},
               {"velocity", j->has_velocity ? j->velocity[i] : 0, true},
               {"damping", j->damping[i], false},
               {"friction", j->friction[i], false},
               {"spring/stiffness", j->stiffness[i], false},
               {"spring/rest", j->rest[i], true}};
    char at[48];
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        snprintf(at, sizeof at, "/%s/%d", all[k].name, i);
        if (!isfinite(all[k].value))
            return gw_scene_invalid(error, "joints", index, at, "must be finite");
        if (!all[k].any && all[k].value < 0)
            return gw_scene_invalid(error, "joints", index, at, "is %g, must be 0 or more",
                                    all[k].value);
    }
    snprintf(at, sizeof at, "/motor/%d", i);
    return check_limits(j, index, i, error) &&
           (!j->has_motor[i] ||
            gw_scene_check_motor(error, "joints", index,
                                 gw_scene_only_first_motor(j) ? "/motor" : at, &j->motor[i]));
}

void gw_scene_ball_angles(const double r[3], double angles[2])
{
    double whole = gw_norm(gw_v3(r[0], r[1], r[2])), across = hypot(r[0], r[1]);
    double sine = whole > 0 ? across / whole * sin(whole / 2) : 0; /* of half the swing */
    angles[0] = 2 * asin(fmin(1, fabs(sine)));
    angles[1] = whole;
}

/* Parameters of a spherical joint that must be equal for all axes, and angles that have limits. */
static bool check_ball(const gw_scene_joint *j, int index, gw_error *error)
{
    char where[48];
    if (j->type != GW_MOBILIZER_SPHERICAL)
        return true;
    if (j->friction[1] != j->friction[0] || j->friction[2] != j->friction[0])
        return gw_scene_invalid(error, "joints", index, "/friction",
                                "friction of a spherical joint is one torque about any axis: all "
                                "three must be the same");
    for (int i = 0; i < 3; i++) {
        snprintf(where, sizeof where, "/limits/%d", i);
        if (j->limited[i] && (i == 2 || j->lower[i] != 0 || !(j->upper[i] > 0)))
            return gw_scene_invalid(error, "joints", index, where,
                                    "limits of a spherical joint are [0, swing of the z axes], "
                                    "[0, whole rotation], null");
    }
    double angles[2];
    gw_scene_ball_angles(j->position, angles);
    for (int i = 0; i < 2 && j->has_position; i++)
        if (j->limited[i] && angles[i] > j->upper[i])
            return gw_scene_invalid(error, "joints", index, "/position",
                                    "%s by %g rad, must be within the limit, %g",
                                    i == 0 ? "swings z" : "rotates", angles[i], j->upper[i]);
    return true;
}

static bool check_pitch(const gw_scene_joint *j, int index, gw_error *error)
{
    bool screw = j->type == GW_MOBILIZER_SCREW;
    if (screw ? isfinite(j->pitch) && j->pitch != 0 : j->pitch == 0)
        return true;
    return gw_scene_invalid(error, "joints", index, "/pitch",
                            screw ? "pitch is %g, must not be 0 (m/rad)"
                                  : "pitch is %g, but only a screw has one",
                            j->pitch);
}

static bool check_joint_ends(const gw_scene *s, int index, gw_error *error)
{
    const gw_scene_joint *j = &s->joints[index];
    gw_body_ref bodies[2];
    return check_joint_end(s, &j->a, index, false, &bodies[0], error) &&
           check_joint_end(s, &j->b, index, true, &bodies[1], error) &&
           check_apart(s, j->a.object, j->b.object, bodies, "joints", index, error);
}

static bool check_joint(const gw_scene *s, int index, gw_error *error)
{
    const gw_scene_joint *j = &s->joints[index];
    if (j->type < 0 || j->type >= GW_MOBILIZER_FREE)
        return gw_scene_invalid(error, "joints", index, "/type",
                                "must be the type of a joint that holds something");
    if (!check_pitch(j, index, error))
        return false;
    if (!(j->restitution >= 0 && j->restitution <= 1))
        return gw_scene_invalid(error, "joints", index, "/restitution", "is %g, must be 0 to 1",
                                j->restitution);
    int dof = gw_mobilizers[j->type].dof;
    for (int i = 0; i < dof; i++)
        if (!check_coordinate(j, index, i, error))
            return false;
    if (!check_ball(j, index, error))
        return false;
    if (j->has_motor[0] && dof == 0)
        return gw_scene_invalid(error, "joints", index, "/motor",
                                "a %s joint has no coordinate that a motor could drive",
                                gw_mobilizers[j->type].name);
    return true;
}

/* ---- gears ---------------------------------------------------------------------------------- */

/* The type of the joint that a gear names; NULL with an error if there is none. */
static const gw_mobilizer_info *find_geared(const gw_scene *s, int index, int side, gw_geared *g,
                                            gw_error *error)
{
    const char *name = s->joints[index].joints[side];
    char at[32];
    *g = (gw_geared){.joint = gw_scene_joint_index(s, name), .mechanism = -1, .link = -1};
    snprintf(at, sizeof at, "/joints/%d", side);
    if (g->joint >= 0 && s->joints[g->joint].gear) {
        gw_scene_invalid(error, "joints", index, at, "\"%s\" is a gear: name two other joints",
                         name);
        return NULL;
    }
    if (g->joint >= 0)
        return &gw_mobilizers[s->joints[g->joint].type];
    g->mechanism = gw_scene_link(s, name, &g->link);
    if (g->mechanism < 0) {
        gw_scene_invalid(error, "joints", index, at,
                         "there is no joint \"%s\", nor a link of that name", name);
        gw_error_names(error, s->joints, s->joint_count, sizeof *s->joints);
        return NULL;
    }
    bool slides = s->mechanisms[g->mechanism].links[g->link].kind == GW_JOINT_PRISMATIC;
    return &gw_mobilizers[slides ? GW_MOBILIZER_PRISMATIC : GW_MOBILIZER_REVOLUTE];
}

/* The only coordinate, or the only rotation; -1 if there is neither. */
static int natural_coordinate(const gw_mobilizer_info *kind)
{
    if (kind->dof == 1)
        return 0;
    return __builtin_popcount(kind->turns) == 1 ? __builtin_ctz(kind->turns) : -1;
}

bool gw_scene_geared(const gw_scene *s, int index, int side, gw_geared *g, gw_error *error)
{
    assert(index >= 0 && index < s->joint_count && s->joints[index].gear &&
           (side == 0 || side == 1));
    const gw_scene_joint *gear = &s->joints[index];
    const char *name = gear->joints[side];
    int stated = gear->coordinates[side];
    char at[32];
    const gw_mobilizer_info *kind = find_geared(s, index, side, g, error);
    if (!kind)
        return false;
    snprintf(at, sizeof at, "/joints/%d", side);
    if (kind->dof == 0)
        return gw_scene_invalid(error, "joints", index, at, "\"%s\" is %s: it has no coordinate",
                                name, kind->name);
    if (g->joint >= 0 && gw_mobilizer_rotation(s->joints[g->joint].type) < 6)
        return gw_scene_invalid(error, "joints", index, at,
                                "\"%s\" is %s: its turns are about no fixed axes", name,
                                kind->name);
    g->coordinate = stated < 0 ? natural_coordinate(kind) : stated;
    if (g->coordinate < 0)
        return gw_scene_invalid(error, "joints", index, "/coordinates",
                                "\"%s\" is %s: say which of its coordinates, 0 to %d", name,
                                kind->name, kind->dof - 1);
    snprintf(at, sizeof at, "/coordinates/%d", side);
    return g->coordinate < kind->dof ||
           gw_scene_invalid(error, "joints", index, at, "is %d, \"%s\" is %s and has 0 to %d",
                            g->coordinate, name, kind->name, kind->dof - 1);
}

bool gw_scene_joint_is_geared(const gw_scene *s, int joint)
{
    gw_geared side;
    for (int i = 0; i < s->joint_count; i++)
        for (int k = 0; k < 2 && s->joints[i].gear && s->joints[i].enabled; k++)
            if (gw_scene_geared(s, i, k, &side, NULL) && side.joint == joint)
                return true;
    return false;
}

static bool check_gear(const gw_scene *s, int index, gw_error *error)
{
    const gw_scene_joint *j = &s->joints[index];
    gw_geared sides[2];
    if (!gw_scene_geared(s, index, 0, &sides[0], error) ||
        !gw_scene_geared(s, index, 1, &sides[1], error))
        return false;
    if (strcmp(j->joints[0], j->joints[1]) == 0)
        return gw_scene_invalid(error, "joints", index, "/joints/1",
                                "both are \"%s\": a gear joins two joints", j->joints[0]);
    return (isfinite(j->ratio) && j->ratio != 0) ||
           gw_scene_invalid(error, "joints", index, "/ratio", "ratio is %g, must not be 0",
                            j->ratio);
}

/* ---- springs -------------------------------------------------------------------------------- */

static bool check_spring_ends(const gw_scene *s, int index, gw_error *error)
{
    const gw_scene_spring *k = &s->springs[index];
    gw_body_ref bodies[2];
    return check_body(s, k->a.object, "springs", index, "/a/object", &bodies[0], error) &&
           check_body(s, k->b.object, "springs", index, "/b/object", &bodies[1], error) &&
           check_apart(s, k->a.object, k->b.object, bodies, "springs", index, error);
}

static bool check_spring(const gw_scene *s, int index, gw_error *error)
{
    const gw_scene_spring *k = &s->springs[index];
    if (!gw_finite3(k->a.p) || !gw_finite3(k->b.p))
        return gw_scene_invalid(error, "springs", index, gw_finite3(k->a.p) ? "/b/p" : "/a/p",
                                "a point must be finite (m)");
    return gw_scene_not_negative(error, "springs", index, "/stiffness", k->stiffness, "N/m") &&
           gw_scene_not_negative(error, "springs", index, "/damping", k->damping, "N s/m") &&
           gw_scene_not_negative(error, "springs", index, "/length", k->length, "m");
}

/* Adds the error of each check of an entry; true once the list is full. */
static bool list_entry(const gw_scene *s, int index,
                       bool (*const checks[2])(const gw_scene *, int, gw_error *),
                       gw_error_list *list)
{
    return gw_count_error(list, checks[0](s, index, gw_next_error(list))) ||
           gw_count_error(list, checks[1](s, index, gw_next_error(list)));
}

void gw_scene_check_joints(const gw_scene *s, gw_error_list *list)
{
    static bool (*const of_joint[2])(
        const gw_scene *, int, gw_error *) = {check_joint_ends, check_joint},
                                        (*const of_spring[2])(const gw_scene *, int, gw_error *) = {
                                            check_spring_ends, check_spring};
    int before = list->count;
    for (int i = 0; i < s->joint_count; i++)
        if (!s->joints[i].gear && list_entry(s, i, of_joint, list))
            return;
    bool joints = list->count == before; /* that gears refer to */
    for (int i = 0; i < s->joint_count && joints; i++)
        if (s->joints[i].gear && gw_count_error(list, check_gear(s, i, gw_next_error(list))))
            return;
    for (int i = 0; i < s->spring_count; i++)
        if (list_entry(s, i, of_spring, list))
            return;
}
