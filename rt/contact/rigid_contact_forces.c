/*
 * Forces of rigid contacts, called loads here: unknowns of a complementarity problem (non-negative
 * least squares, nnls.c). They replace penalty springs, which yield too much between light and
 * heavy bodies and at unilateral constraints. After a trial of a substep without loads, they are
 * the forces that close the gaps at its end. RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/contact/impact.h"

static void add_loaded_rows(gw_impact *x)
{
    gw_world *w = x->world;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        c->expected_rate = NAN;
        if (!gw_contact_is_rigid(c))
            c->load = 0;
        if (c->continuous && c->loaded && !c->spurious)
            gw_impact_add_row(x, w->active.contacts[i], true, true);
    }
}

#define SETTLING      0.05 /* of bodies that were just loaded (s) */
#define TOUCHING      1e-7 /* gap up to which a redundant contact shares a load (m) */
#define LOAD_FEEDBACK 0.1  /* of what a contact is too deep, taken away in a step */
#define CLOSING       0.34 /* of a gap that a load left, closed in a step: critically damped */
#define ARRIVED       0.01 /* of the loaded depth: what a load may leave to close in a substep */

/* Largest rate at which the row's gap may close, from its gap at the start of the substep of h s
 * (m/s); negative: the rate at which a penetration is to be corrected. */
static double aim_of(const gw_world *w, const gw_contact *c, double h)
{
    double gap = c->start.gap + c->rest_penetration;
    if (gap > 0)
        return gw_contact_is_rigid(c) && !gw_contact_is_driven(w, c) ? CLOSING * gap / w->dt
                                                                     : gap / h;
    return c->stored > 0 ? LOAD_FEEDBACK * gap / w->dt : 0;
}

/* Gap rate of a contact that holds after a trial of h s (m/s): of its mean and the one at the end
 * the larger, where they may differ. */
static double rate_left(const gw_world *w, const gw_contact *c, double h)
{
    double mean = (c->now.gap - c->start.gap) / h;
    return gw_contact_moves_within(w, c) && fabs(mean) > fabs(c->gap_rate) ? mean : c->gap_rate;
}

/* v += D^-1 J_i^T p for row i; returns J_i D^-1 J_i^T. */
static double add_answer(const gw_impact *x, int i, double p, double *v)
{
    const gw_contact_jacobian_row *row = &x->world->rows[i];
    double answer[GW_MODEL_MAX_DOF], sum = 0;
    for (int k = 0; k < 2; k++) {
        if (row->system[k] < 0)
            continue;
        int block = x->of[i][k], from = x->from[block];
        gw_impact_apply_inverse(x, block, row->entry[k], answer);
        for (int n = from; n < x->from[block + 1]; n++) {
            v[n] += p * answer[n - from];
            sum += row->entry[k][n - from] * answer[n - from];
        }
    }
    return sum;
}

/* f += J_i^T p of row i. */
static void add_impulse(const gw_impact *x, int i, double p, double *f)
{
    const gw_contact_jacobian_row *row = &x->world->rows[i];
    for (int k = 0; k < 2; k++) {
        if (row->system[k] < 0)
            continue;
        int block = x->of[i][k], from = x->from[block];
        for (int n = from; n < x->from[block + 1]; n++)
            f[n] += p * row->entry[k][n - from];
    }
}

/* Subtracts from v the velocity changes by the loads of the trial. */
static void subtract_answers(const gw_impact *x)
{
    const gw_world *w = x->world;
    for (int i = 0; i < x->rows; i++) {
        const gw_contact *c = &w->contacts[x->contact[i]];
        if (gw_contact_is_rigid(c) && c->tried > 0)
            add_answer(x, i, -c->tried, w->v);
    }
    for (int k = 0; k < x->block_count; k++) {
        const double *answer = w->load_answer + (size_t)x->systems[k] * GW_MODEL_MAX_DOF;
        for (int i = x->from[k]; w->loaded[x->systems[k]] && i < x->from[k + 1]; i++)
            w->v[i] -= answer[i - x->from[k]];
    }
}

/* J, v without the loads of the trial, and the desired gap rates as offsets. */
static void take_aims(gw_impact *x, double h)
{
    gw_world *w = x->world;
    gw_impact_fill(x);
    for (int i = 0; i < x->rows; i++) {
        const gw_contact *c = &w->contacts[x->contact[i]];
        x->offset[i] += aim_of(w, c, h);
        x->e[i] = 0;
        if (gw_contact_is_rigid(c))
            x->offset[i] += rate_left(w, c, h) - c->gap_rate;
    }
    subtract_answers(x);
}

/* True if all contacts were loaded for SETTLING or longer and none holds: then redundant contacts
 * share loads, which are the least ones: for free rows (open by up to 0.1 um) min |P| over P >= 0;
 * for faces held as a whole min |force|^2 + |couple / radius|^2, then for the contacts of each face
 * the least P >= 0 with that sum and centre. The motion does not depend on this choice, but
 * friction limits and reported forces do. */
static bool may_share(const gw_impact *x)
{
    bool all = true;
    for (int i = 0; i < x->rows; i++) {
        const gw_contact *c = &x->world->contacts[x->contact[i]];
        all = all && c->loaded_for >= SETTLING && !gw_contact_is_rigid(c);
    }
    return all;
}

/* Normal impulses, given the velocity change by friction. */
static void solve_normal_loads(gw_impact *x, const double *friction, double h)
{
    gw_world *w = x->world;
    take_aims(x, h);
    for (int i = 0; i < x->from[x->block_count]; i++)
        w->v[i] += friction[i];
    gw_impulse_problem problem = gw_impact_problem(x, x->rows, x->of, x->offset);
    problem.e = x->e;
    problem.only_push = true;
    problem.share = may_share(x);
    problem.slack = TOUCHING / h;
    gw_impulse_solve(&problem, &w->impulse_workspace, w->dv, w->generalised, x->p);
    for (int i = 0; i < x->from[x->block_count]; i++)
        w->v[i] -= friction[i];
}

/*
 * Contacts that stick. Their tangential rows T are equations, T (v + dv) + offset = 0, solved
 * together with the normal impulses by the inverse inertia restricted to the null space of T,
 *
 *   D_T^-1 = D^-1 - D^-1 T^T (T D^-1 T^T)^+ T D^-1
 *
 * with the rows of T orthonormal in the metric of D^-1. Alternating between normal and friction
 * impulses would leave an error that rotates a light body under a heavy one.
 */
#define MAX_STUCK (2 * GW_MAX_SIMULTANEOUS_CONTACTS)

typedef struct sticking {
    const gw_impact *of;
    int rank;
    double *rows, *images; /* `rank` of dof entries each, and D^-1 of them */
    double offset[MAX_STUCK];
    int asked;      /* rows of T that were asked for, */
    double *parts;  /* what each has of the orthonormal ones, MAX_STUCK numbers */
    double *normal; /* room for as many of them, squared */
    int face_count, face_row[GW_MAX_SIMULTANEOUS_CONTACTS],
        face_asked[GW_MAX_SIMULTANEOUS_CONTACTS]; /* held as a whole: a row of x, its first of T */
    struct sliding *slides;                       /* by row of x, of the first row of a face */
    double *pushed, *push; /* the change of velocity by their friction, and its impulses */
} sticking;

/* Sliding of a face that is held as a whole otherwise: friction acts on a in direction `along`. */
typedef struct sliding {
    bool slides;
    gw_vec3 along;
    double push; /* N s */
} sliding;

#define SETTLING_SPEED 0.05 /* m/s: what slides faster is not stopped at once */
#define SLIDING_MASS   0.7  /* of the heaviest body */
#define PUSH_PASSES    12   /* until friction of what slides is that of what presses, within */
#define SAME_PUSH      1e-9
#define WITHIN         0.98 /* of half a turn */
#define NEW_ROW        1e-3 /* a row whose entries are all smaller than this part follows from others */

static double dot_rows(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(int n, double factor, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += factor * x[i];
}

/* D_T^-1 */
static void apply_sticking_inverse(const void *context, int block, const double *force,
                                   double *answer)
{
    const sticking *t = context;
    const gw_impact *x = t->of;
    int n = x->from[x->block_count];
    (void)block;
    for (int k = 0; k < x->block_count; k++)
        gw_impact_apply_inverse(x, k, force + x->from[k], answer + x->from[k]);
    for (int j = 0; j < t->rank; j++)
        add_scaled(n, -dot_rows(n, t->rows + j * n, answer), t->images + j * n, answer);
}

static double largest_entry(int n, const double *row)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(row[i]));
    return most;
}

static void add_sticking_row(sticking *t, const gw_contact *c, gw_vec3 direction)
{
    const gw_impact *x = t->of;
    int n = x->from[x->block_count], of[2];
    double *row = t->rows + t->rank * n, *image = t->images + t->rank * n, offset;
    double *parts = t->parts + t->asked++ * MAX_STUCK;
    gw_contact_jacobian_row sparse;
    memset(parts, 0, MAX_STUCK * sizeof *parts);
    memset(row, 0, (size_t)n * sizeof *row);
    memset(image, 0, (size_t)n * sizeof *image);
    gw_contact_jacobian(x->world, c, direction, true, true, &sparse);
    gw_impact_put_row(x, &sparse, row, of, &offset);
    for (int k = 0; k < x->block_count; k++)
        if (of[0] == k || of[1] == k)
            gw_impact_apply_inverse(x, k, row + x->from[k], image + x->from[k]);
    double whole = largest_entry(n, row);
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < t->rank; j++) {
            double share = dot_rows(n, t->rows + j * n, image);
            add_scaled(n, -share, t->rows + j * n, row);
            add_scaled(n, -share, t->images + j * n, image);
            parts[j] += share;
            offset -= share * t->offset[j];
        }
    double left = dot_rows(n, row, image);
    if (t->rank >= n || !(largest_entry(n, row) > NEW_ROW * whole) || !(left > 0))
        return;
    parts[t->rank] = sqrt(left);
    for (int i = 0; i < n; i++) {
        row[i] /= sqrt(left);
        image[i] /= sqrt(left);
    }
    t->offset[t->rank++] = offset / sqrt(left);
}

/* Loaded contacts of one pair. */
typedef struct loaded_face {
    int count, rows[GW_MAX_SIMULTANEOUS_CONTACTS];
    gw_vec3 centre; /* of what they press with */
    double radius;  /* of their polygon about it (m) */
} loaded_face;

/* Row i and the later rows of the same face. A general row (of an edge), whose normal is not of
 * unit length, is a face of its own. */
static void gather_face(const gw_impact *x, int i, loaded_face *face)
{
    const gw_world *w = x->world;
    const gw_contact *first = &w->contacts[x->contact[i]];
    double pressed = 0;
    face->count = 0;
    face->centre = gw_v3(0, 0, 0);
    for (int k = i; k < x->rows; k++) {
        const gw_contact *c = &w->contacts[x->contact[k]];
        if (k != i && (c->pair != first->pair ||
                       !(gw_dot(c->now.normal, first->now.normal) > GW_FACE_NORMAL)))
            continue;
        face->rows[face->count++] = k;
        face->centre = gw_mul_add(face->centre, x->p[k], c->now.at_a);
        pressed += x->p[k];
    }
    if (pressed > 0)
        face->centre = gw_scale(1 / pressed, face->centre);
    face->radius = 0;
    for (int k = 0; k < face->count; k++) {
        gw_vec3 at = w->contacts[x->contact[face->rows[k]]].now.at_a;
        face->radius = fmax(face->radius, gw_distance(at, face->centre));
    }
}

/* True if the centre of pressure is within the polygon of the face's contacts: seen from it,
 * neighbouring contacts are less than half a turn apart. */
static bool presses_within(const gw_impact *x, const loaded_face *face)
{
    const gw_world *w = x->world;
    assert(face->count > 0);
    gw_vec3 n = w->contacts[x->contact[face->rows[0]]].now.normal;
    gw_vec3 e1 = gw_any_normal(n), e2 = gw_cross(n, e1);
    for (int i = 0; i < face->count; i++) {
        gw_vec3 at = gw_sub(w->contacts[x->contact[face->rows[i]]].now.at_a, face->centre);
        double angle = atan2(gw_dot(e2, at), gw_dot(e1, at)), least = 2 * GW_PI;
        for (int k = 0; k < face->count; k++) {
            gw_vec3 to = gw_sub(w->contacts[x->contact[face->rows[k]]].now.at_a, face->centre);
            double turn = atan2(gw_dot(e2, to), gw_dot(e1, to)) - angle;
            turn -= 2 * GW_PI * floor(turn / (2 * GW_PI));
            if (k != i && turn > 0)
                least = fmin(least, turn);
        }
        if (!(least < WITHIN * GW_PI))
            return false;
    }
    return face->count >= 3;
}

/* Adds the friction impulse of a face that slides, and the velocity change by it. */
static void add_push(const sticking *t, const gw_contact *c, const sliding *f)
{
    const gw_impact *x = t->of;
    double row[GW_WORLD_MAX_DOF] = {0}, image[GW_WORLD_MAX_DOF] = {0}, offset;
    gw_contact_jacobian_row sparse;
    int of[2];
    gw_contact_jacobian(x->world, c, f->along, true, true, &sparse);
    gw_impact_put_row(x, &sparse, row, of, &offset);
    for (int k = 0; k < x->block_count; k++)
        if (of[0] == k || of[1] == k)
            gw_impact_apply_inverse(x, k, row + x->from[k], image + x->from[k]);
    add_scaled(x->from[x->block_count], f->push, image, t->pushed);
    add_scaled(x->from[x->block_count], f->push, row, t->push);
}

/* Rows of T for the contacts of a face. A face whose pressure is within its polygon is held as a
 * whole, by six equations, because any rocking would turn a light body over within the step. Of
 * other faces the pressed contact points with friction do not slip. `held`: by row of x, true if
 * its normal is held by the six equations. */
static void add_sticking_face(sticking *t, const loaded_face *face, bool *held)
{
    const gw_impact *x = t->of;
    gw_contact at = x->world->contacts[x->contact[face->rows[0]]];
    bool whole = presses_within(x, face);
    for (int i = 0; i < face->count; i++) {
        const gw_contact *c = &x->world->contacts[x->contact[face->rows[i]]];
        held[face->rows[i]] = whole;
        if (whole || x->p[face->rows[i]] == 0 || !(c->candidate.surface.friction > 0))
            continue;
        add_sticking_row(t, c, gw_any_normal(c->now.normal));
        add_sticking_row(t, c, gw_cross(c->now.normal, gw_any_normal(c->now.normal)));
    }
    at.now.at_a = at.now.at_b = face->centre;
    if (whole) {
        t->face_row[t->face_count] = face->rows[0];
        t->face_asked[t->face_count++] = t->asked;
    }
    const sliding *slides = &t->slides[face->rows[0]];
    for (int turns = 0; turns < 2 && whole; turns++) {
        at.now.lever = turns * face->radius;
        if (slides->slides && !turns) {
            add_push(t, &at, slides);
            memset(t->parts + t->asked++ * MAX_STUCK, 0, MAX_STUCK * sizeof *t->parts);
            add_sticking_row(t, &at, at.now.normal);
            add_sticking_row(t, &at, gw_cross(at.now.normal, slides->along));
            continue;
        }
        add_sticking_row(t, &at, gw_v3(1, 0, 0));
        add_sticking_row(t, &at, gw_v3(0, 1, 0));
        add_sticking_row(t, &at, gw_v3(0, 0, 1));
    }
}

/* Solves the rows that are not held, with D_T^-1 for the inverse inertia; their impulses into x->p.
 */
static void solve_free_rows(gw_impact *x, const sticking *t, const bool *held, double h)
{
    gw_world *w = x->world;
    size_t n = (size_t)x->from[x->block_count];
    double p[GW_MAX_SIMULTANEOUS_CONTACTS], offset[GW_MAX_SIMULTANEOUS_CONTACTS];
    int count = 0, of[GW_MAX_SIMULTANEOUS_CONTACTS];
    for (int i = 0; i < x->rows; i++) {
        if (held[i])
            continue;
        memmove(w->jacobian + (size_t)count * n, w->jacobian + (size_t)i * n, n * sizeof(double));
        offset[count] = x->offset[i];
        of[count++] = i;
    }
    memset(w->dv, 0, n * sizeof *w->dv);
    memset(w->generalised, 0, n * sizeof *w->generalised);
    if (count == 0)
        return;
    gw_impulse_problem problem = {.rows = count,
                                  .dof = (int)n,
                                  .j = w->jacobian,
                                  .v = w->v,
                                  .e = x->e,
                                  .offset = offset,
                                  .only_push = true,
                                  .share = may_share(x),
                                  .slack = TOUCHING / h,
                                  .inverse = apply_sticking_inverse,
                                  .context = t};
    gw_impulse_solve(&problem, &w->impulse_workspace, w->dv, w->generalised, p);
    for (int i = 0; i < count; i++)
        x->p[of[i]] = p[i];
}

/* Least impulses lambda of the rows of T, redundant ones included (`v`: velocity without them),
 * also added to the generalised impulses. False if none are found. */
static bool stuck_impulses(const sticking *t, const double *v, double lambda[MAX_STUCK])
{
    const gw_impact *x = t->of;
    gw_world *w = x->world;
    int n = x->from[x->block_count];
    double by_others[GW_WORLD_MAX_DOF], along[MAX_STUCK];
    for (int k = 0; k < x->block_count; k++)
        gw_impact_apply_inverse(x, k, w->generalised + x->from[k], by_others + x->from[k]);
    for (int j = 0; j < t->rank; j++) {
        const double *row = t->rows + j * n;
        along[j] = -(t->offset[j] + dot_rows(n, row, v) + dot_rows(n, row, by_others));
    }
    for (int j = 0; j < t->rank; j++)
        add_scaled(n, along[j], t->rows + j * n, w->generalised);
    return gw_least_shares(t->asked, t->rank, MAX_STUCK, t->parts, along, t->normal, lambda);
}

/* Tangential speed between the bodies at point `at` at the start of the substep (m/s). */
static double slip_before(const gw_world *w, const gw_contact *c, gw_vec3 at)
{
    const gw_body_state *a = &w->bodies[c->candidate.a], *b = &w->bodies[c->candidate.b];
    gw_vec3 v = gw_sub(gw_velocity_at(&a->start_pose, &a->start_twist, at),
                       gw_velocity_at(&b->start_pose, &b->start_twist, at));
    return gw_norm(gw_reject(v, c->now.normal));
}

/* Largest effective mass of one body along its contact's normal (kg). */
static double heaviest_of(const gw_impact *x)
{
    gw_contact_jacobian_row row;
    double most = 0;
    for (int i = 0; i < x->rows; i++)
        for (int side = 0; side < 2; side++) {
            const gw_contact *c = &x->world->contacts[x->contact[i]];
            gw_contact_jacobian(x->world, c, c->now.normal, side == 0, side == 1, &row);
            double inverse = gw_jacobian_row_inverse_mass(x->world, &row);
            most = inverse > 0 ? fmax(most, 1 / inverse) : most;
        }
    return most;
}

/* True if the tangential impulse `across` (N s) would stop a heavy sliding body at once. */
static bool stops_what_slides(const gw_impact *x, const gw_contact *c, gw_vec3 at, double across)
{
    double slip = slip_before(x->world, c, at);
    return slip > SETTLING_SPEED && across > SLIDING_MASS * heaviest_of(x) * slip;
}

/* Impulse of a face that is held as a whole, without the friction of sliding (N s, world axes). */
static gw_vec3 face_force(gw_vec3 n, const double *lambda, const sliding *f)
{
    if (f->slides)
        return gw_add(gw_scale(lambda[1], n), gw_scale(lambda[2], gw_cross(n, f->along)));
    return gw_v3(lambda[0], lambda[1], lambda[2]);
}

/* Centre of pressure of the face relative to the point about which it is held (m, world axes). */
static gw_vec3 pressed_beside(const loaded_face *face, gw_vec3 n, const double *lambda,
                              double pressed)
{
    gw_vec3 couple = gw_scale(face->radius, gw_v3(lambda[3], lambda[4], lambda[5]));
    return gw_scale(1 / pressed, gw_cross(n, couple));
}

/* Normal impulses of the face's contacts, the least ones with the face's sum and centre:
 *
 *   sum p_i = pressed,   sum p_i (x_i - centre) = 0 across n,   p >= 0
 *
 * During SETTLING they remain as solved without sticking, because the centre may be outside the
 * polygon of the contacts. */
static void share_pressure(gw_impact *x, int row, const double *lambda, const sliding *f)
{
    gw_world *w = x->world;
    gw_impulse_work *work = &w->impulse_workspace;
    gw_vec3 n = w->contacts[x->contact[row]].now.normal;
    gw_vec3 e1 = gw_any_normal(n), e2 = gw_cross(n, e1);
    double p[GW_MAX_SIMULTANEOUS_CONTACTS], sum[3];
    double pressed = gw_dot(face_force(n, lambda, f), n), wanted[3] = {-pressed, 0, 0};
    loaded_face face;
    if (w->contacts[x->contact[row]].loaded_for < SETTLING)
        return;
    gather_face(x, row, &face);
    gw_vec3 centre = gw_add(face.centre, pressed_beside(&face, n, lambda, pressed));
    for (int k = 0; k < face.count; k++) {
        gw_vec3 at = gw_sub(w->contacts[x->contact[face.rows[k]]].now.at_a, centre);
        work->l[k][0] = 1;
        work->l[k][1] = gw_dot(e1, at) / face.radius;
        work->l[k][2] = gw_dot(e2, at) / face.radius;
    }
    const double(*l)[GW_MAX_SIMULTANEOUS_CONTACTS] =
        (const double(*)[GW_MAX_SIMULTANEOUS_CONTACTS])work->l;
    gw_nnls_solve(face.count, 3, l, wanted, &work->nnls, p, sum);
    gw_nnls_share(face.count, 3, l, wanted, sum, 0, &work->nnls, p);
    for (int k = 0; k < face.count; k++)
        x->p[face.rows[k]] = p[k];
}

typedef enum face_status { FACE_STICKS, FACE_INVALID, FACE_SLIDES } face_status;

/* Checks a face that is held as a whole. FACE_STICKS: the centre of pressure is within the polygon
 * and the tangential force within mu times the normal one (during SETTLING it may be larger).
 * FACE_SLIDES: the face should slide as *wanted, *excess: the ratio of the tangential force to
 * the limit; or the friction *f of a sliding face changed. FACE_INVALID: neither. */
static face_status judge_face(const gw_impact *x, int row, const double *lambda, sliding *f,
                              sliding *wanted, double *excess)
{
    const gw_contact *c = &x->world->contacts[x->contact[row]];
    gw_vec3 n = c->now.normal, force = face_force(n, lambda, f);
    double friction = c->candidate.surface.friction;
    double pressed = gw_dot(force, n), across = gw_norm(gw_reject(force, n));
    loaded_face face;
    if (!(pressed > 0))
        return FACE_INVALID;
    gather_face(x, row, &face);
    if (f->slides && fabs(f->push - friction * pressed) > SAME_PUSH * f->push) {
        f->push = friction * pressed;
        return FACE_SLIDES;
    }
    if (!f->slides && c->loaded_for < SETTLING && !stops_what_slides(x, c, face.centre, across))
        return FACE_STICKS;
    if (!f->slides && !(across < friction * pressed)) {
        *excess = across / (friction * pressed);
        *wanted = (sliding){true, gw_scale(1 / across, gw_reject(force, n)), friction * pressed};
        return FACE_SLIDES;
    }
    face.centre = gw_add(face.centre, pressed_beside(&face, n, lambda, pressed));
    return presses_within(x, &face) ? FACE_STICKS : FACE_INVALID;
}

/* Impulses of all rows with pressed contacts sticking, or sliding as `slides` says, and the
 * velocity change in w->dv. FACE_INVALID if no face is held as a whole, or one would have to pull
 * or to press outside its polygon. */
static face_status try_sticking_loads(gw_impact *x, double h, sliding *slides)
{
    gw_world *w = x->world;
    int n = x->from[x->block_count];
    double stuck[GW_WORLD_MAX_DOF] = {0}, lambda[MAX_STUCK];
    double pushed[GW_WORLD_MAX_DOF] = {0}, push[GW_WORLD_MAX_DOF] = {0};
    sticking t = {.of = x,
                  .rows = w->sticking,
                  .images = w->sticking + w->sticking_numbers,
                  .parts = w->sticking + 2 * w->sticking_numbers,
                  .normal = w->sticking + 2 * w->sticking_numbers + MAX_STUCK * MAX_STUCK,
                  .slides = slides,
                  .pushed = pushed,
                  .push = push};
    bool held[GW_MAX_SIMULTANEOUS_CONTACTS], seen[GW_MAX_SIMULTANEOUS_CONTACTS] = {false};
    for (int i = 0; i < x->rows; i++) {
        loaded_face face;
        if (seen[i])
            continue;
        gather_face(x, i, &face);
        for (int k = 0; k < face.count; k++)
            seen[face.rows[k]] = true;
        add_sticking_face(&t, &face, held);
    }
    if (t.face_count == 0)
        return FACE_INVALID;
    take_aims(x, h);
    add_scaled(n, 1, pushed, w->v);
    for (int j = 0; j < t.rank; j++) {
        double speed = dot_rows(n, t.rows + j * n, w->v) + t.offset[j];
        add_scaled(n, -speed, t.images + j * n, stuck);
    }
    add_scaled(n, 1, stuck, w->v);
    solve_free_rows(x, &t, held, h);
    add_scaled(n, -1, stuck, w->v);
    bool found = stuck_impulses(&t, w->v, lambda);
    add_scaled(n, -1, pushed, w->v);
    add_scaled(n, 1, stuck, w->dv);
    add_scaled(n, 1, pushed, w->dv);
    add_scaled(n, 1, push, w->generalised);
    face_status all = found ? FACE_STICKS : FACE_INVALID;
    sliding first = {.push = 0};
    int slides_first = -1;
    double most = 0;
    for (int i = 0; i < t.face_count && all != FACE_INVALID; i++) {
        int row = t.face_row[i];
        sliding wanted = {.push = 0};
        double excess = 0;
        face_status one =
            judge_face(x, row, lambda + t.face_asked[i], &slides[row], &wanted, &excess);
        all = one == FACE_STICKS ? all : one;
        if (excess > most)
            most = excess, first = wanted, slides_first = row;
    }
    if (slides_first >= 0) /* others may hold once that one slides */
        slides[slides_first] = first;
    for (int i = 0; i < t.face_count && all == FACE_STICKS; i++)
        share_pressure(x, t.face_row[i], lambda + t.face_asked[i], &slides[t.face_row[i]]);
    return all;
}

/* Repeats this until the friction of sliding faces matches their pressure; false: FACE_INVALID. */
static bool solve_sticking_loads(gw_impact *x, double h)
{
    sliding slides[GW_MAX_SIMULTANEOUS_CONTACTS] = {{.push = 0}};
    face_status found = FACE_SLIDES;
    for (int i = 0; i < PUSH_PASSES && found == FACE_SLIDES; i++)
        found = try_sticking_loads(x, h, slides);
    return found == FACE_STICKS;
}

#define SLOPE_SWEEPS 30
#define STEEPEST     4     /* times the slope of a force that begins or ends with zero */
#define FREE_TRIALS  3     /* of a substep, before loads are kept within what was tried */
#define HELD_RATE    1e-11 /* at which a contact that holds may move (m/s), */
#define HELD_SHARE   1e-9  /* and as a part of the rate that its load holds back */
#define HELD_PLACE   1e-13 /* what a slope may leave of a gap (m) */
#define HELD_GAP     1e-10 /* change in a substep that no load avoids: a lock must (m) */

/* Records a trial of a single contact's load: the right one is between a load under which the gap
 * closes and one under which it opens, however nonlinear the response of saturated motors. */
static void note_trial(gw_contact *c, double rate)
{
    gw_load_bracket *b = &c->bracket;
    if (b->trials++ == 0 || fabs(rate) < b->least)
        b->least = fabs(rate), b->best = c->load;
    if (rate < 0 && c->load >= b->low)
        b->low = c->load, b->closing = rate;
    if (rate > 0 && c->load > 0 && !(c->load > b->high))
        b->high = c->load, b->opening = rate;
}

static double within_tried(const gw_contact *c, double load)
{
    const gw_load_bracket *b = &c->bracket;
    if (b->trials < FREE_TRIALS || !isfinite(b->high) || !(b->low < b->high) ||
        (load > b->low && load < b->high && b->trials % 2))
        return load;
    double share = b->trials % 3 ? 0.5 : b->closing / (b->closing - b->opening);
    return b->low + share * (b->high - b->low);
}

static bool has_slope(const gw_world *w, const gw_contact *c)
{
    return gw_contact_has_linear_load(w, c) && c->load > 0;
}

/* Part of the gap left by a trial of h s that is due to the slope (m): all but the part of the mean
 * load, which the gap's rate at the end gives. */
static double gap_left(const gw_world *w, const gw_contact *c, double h)
{
    double aim = aim_of(w, c, h);
    return c->now.gap - c->start.gap + aim * h - 0.5 * h * (c->gap_rate + aim);
}

/* Changes the slopes s to close these gaps, A s h^3 / 12 = gap_left, by Gauss-Seidel iteration. */
static void solve_slopes(const gw_impact *x, double h)
{
    gw_world *w = x->world;
    double v[GW_WORLD_MAX_DOF] = {0}, to_gap = h * h * h / 12, left = INFINITY;
    int n = x->from[x->block_count];
    for (int sweep = 0; sweep < SLOPE_SWEEPS && left > 0.1 * HELD_PLACE; sweep++) {
        left = 0;
        for (int i = 0; i < x->rows; i++) {
            gw_contact *c = &w->contacts[x->contact[i]];
            if (!has_slope(w, c))
                continue;
            double own = add_answer(x, i, 0, v);
            double open = gap_left(w, c, h) - to_gap * dot_rows(n, w->jacobian + i * n, v);
            double by = own > 0 ? open / (to_gap * own) : 0;
            add_answer(x, i, by, v);
            c->load_slope += by;
            left = fmax(left, fabs(open));
        }
    }
    for (int i = 0; i < x->rows; i++) {
        gw_contact *c = &w->contacts[x->contact[i]];
        double most = STEEPEST * c->load / c->load_middle;
        if (has_slope(w, c))
            c->load_slope = fmin(fmax(c->load_slope, -most), most);
    }
}

/* Evaluates the trial for contacts that hold; true if all their gaps and gap
 * rates are within tolerance. */
static bool loads_hold(gw_impact *x, double h)
{
    gw_world *w = x->world;
    bool hold = true;
    double excess = 0;
    for (int i = 0; i < x->rows; i++) {
        gw_contact *c = &w->contacts[x->contact[i]];
        if (!gw_contact_is_rigid(c))
            continue;
        c->tried = c->load * h;
        double rate = rate_left(w, c, h) + aim_of(w, c, h);
        double most = HELD_RATE + HELD_SHARE * add_answer(x, i, 0, w->v) * c->tried;
        if (x->rows == 1 && gw_contact_moves_within(w, c))
            note_trial(c, rate);
        hold = hold && (c->tried > 0 ? fabs(rate) <= most : rate >= -most);
        excess = fmax(excess, (c->tried > 0 ? fabs(rate) : -rate) / most);
        if (!has_slope(w, c))
            continue;
        double left = fabs(gap_left(w, c, h)) / HELD_PLACE;
        hold = hold && left <= 1;
        excess = fmax(excess, left);
    }
    memmove(w->load_excess + 1, w->load_excess, 2 * sizeof *w->load_excess);
    w->load_excess[0] = excess;
    return hold;
}

/* True if two trials halved the residual; the response of joints whose friction begins to slip
 * jumps, and trials may alternate. A single load is bracketed instead. */
static bool loads_improve(const gw_world *w)
{
    return gw_rigid_forces_are_bracketed(w) || !(w->load_excess[0] > 0.5 * w->load_excess[2]);
}

/* Stores the effect of the loads on each system: velocity changes for the start and end of the
 * substep, or generalised forces all through it. Loads that hold are excluded: they act as contact
 * forces. True if there are any. */
static bool keep_kicks(gw_impact *x, double h)
{
    gw_world *w = x->world;
    int n = x->from[x->block_count];
    bool any = false;
    gw_impact_fill(x);
    subtract_answers(x);
    for (int i = 0; i < x->rows; i++) {
        const double *row = w->jacobian + (size_t)i * (size_t)n;
        w->contacts[x->contact[i]].expected_rate =
            w->rows[i].offset + dot_rows(n, row, w->v) + dot_rows(n, row, w->dv);
    }
    for (int i = 0; i < x->rows; i++) {
        gw_contact *c = &w->contacts[x->contact[i]];
        c->load = fmax(0, x->p[i]) / h;
        if (gw_contact_is_rigid(c)) {
            add_answer(x, i, -x->p[i], w->dv);
            add_impulse(x, i, -x->p[i], w->generalised);
            c->load = within_tried(c, c->load);
            c->load_slope = c->load > 0 ? c->load_slope : 0;
        } else
            any = true;
    }
    for (int k = 0; k < x->block_count && any; k++) {
        int m = x->systems[k];
        const double *p = w->generalised + x->from[k];
        bool through = gw_model_takes_load(gw_world_model(w, m));
        w->loaded[m] = true;
        for (int i = 0; i < x->from[k + 1] - x->from[k]; i++) {
            size_t at = (size_t)m * GW_MODEL_MAX_DOF + (size_t)i;
            w->load_answer[at] = w->dv[x->from[k] + i];
            w->load_rate[at] = (through ? p[i] : w->load_answer[at]) / h;
        }
    }
    return any;
}

void gw_rigid_forces_end(gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (c->bracket.trials > FREE_TRIALS && gw_contact_is_rigid(c))
            c->load = c->bracket.best, c->load_slope = 0;
    }
}

void gw_rigid_forces_begin(gw_world *w, double h)
{
    w->load_excess[0] = w->load_excess[1] = w->load_excess[2] = INFINITY;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        c->bracket = (gw_load_bracket){.high = INFINITY};
        if (gw_contact_has_linear_load(w, c))
            gw_contact_predict_load(w, c, h);
    }
}

bool gw_no_load_holds(const gw_world *w, double h)
{
    assert(h > 0);
    for (int i = 0; i < w->active.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!c->continuous || !gw_contact_is_rigid(c) || !gw_contact_moves_within(w, c))
            continue;
        double aim = aim_of(w, c, h), mean = (c->now.gap - c->start.gap) / h + aim;
        double end = c->gap_rate + aim;
        if (mean * end < 0 && h * fmin(fabs(mean), fabs(end)) > HELD_GAP)
            return true;
    }
    return false;
}

bool gw_rigid_forces_are_bracketed(const gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++)
        if (w->contacts[w->active.contacts[i]].bracket.trials > 0)
            return true;
    return false;
}

/*
 * After a trial of the substep without loads, with u the gap rates at its end and g the gaps at
 * its start over the rest penetrations (of negative ones LOAD_FEEDBACK, while the energy that the
 * contact stored as it sank lasts),
 *
 *   min 1/2 P^T A P + P^T (u + g / h)   over P >= 0
 *
 * (Moreau's time stepping; A: the Delassus operator of all loaded contacts of the group), then
 * friction within mu P, and P again, because friction changes the gap rates; or, where faces stick
 * or slide as a whole, P together with their forces. Each system gets half of J^T P at the start of
 * the substep and half at its end. A system with damping or springs of its own, which would
 * dissipate part of such an impulse, gets J^T P / h all through the substep, corrected by further
 * trials. A contact that holds acts with a force of the mean P / h, found by trials
 * (loaded_contacts.c). A is that of the whole step: (D + h C + h^2
 * K)^-1 in place of D^-1 where a system steps implicitly.
 */
gw_rigid_forces_result gw_rigid_forces_solve(gw_world *w, double h)
{
    gw_impact x = {
        .world = w, .kind = GW_COLLISION_LOAD, .over = h, .max_rows = GW_MAX_SIMULTANEOUS_CONTACTS};
    double friction[GW_WORLD_MAX_DOF] = {0}, across[GW_WORLD_MAX_DOF];
    double pressed[GW_MAX_SIMULTANEOUS_CONTACTS];
    assert(h > 0);
    for (int i = 0; i < w->system_count; i++)
        x.block[i] = -1;
    add_loaded_rows(&x);
    if (x.rows == 0)
        return GW_RIGID_FORCES_RIGHT;
    for (int i = 0; i < x.rows; i++)
        x.explicit = x.explicit || !gw_contact_is_rigid(&w->contacts[x.contact[i]]);
    gw_impact_fill(&x);
    bool hold = loads_hold(&x, h);
    if (!hold)
        solve_slopes(&x, h);
    size_t n = (size_t)x.from[x.block_count];
    solve_normal_loads(&x, friction, h);
    memcpy(friction, w->dv, n * sizeof *friction);
    memcpy(across, w->generalised, n * sizeof *across);
    gw_impact_add_friction(&x);
    for (size_t i = 0; i < n; i++) {
        friction[i] = w->dv[i] - friction[i];
        across[i] = w->generalised[i] - across[i];
    }
    for (int i = 0; i < x.rows && !w->loaded[x.systems[0]]; i++)
        w->contacts[x.contact[i]].loaded_for += h;
    memcpy(pressed, x.p, (size_t)x.rows * sizeof *pressed);
    if (!solve_sticking_loads(&x, h)) {
        memcpy(x.p, pressed, (size_t)x.rows * sizeof *pressed);
        solve_normal_loads(&x, friction, h);
        for (size_t i = 0; i < n; i++) {
            w->dv[i] += friction[i];
            w->generalised[i] += across[i];
        }
    }
    w->effort += 2 * (1 + x.rows * x.rows / GW_ROWS_PER_EFFORT);
    bool kicks = keep_kicks(&x, h);
    return !hold && loads_improve(w) ? GW_RIGID_FORCES_BETTER
           : kicks || !hold          ? GW_RIGID_FORCES_NEW
                                     : GW_RIGID_FORCES_RIGHT;
}

bool gw_rigid_forces_reach_rates(const gw_world *w, double h)
{
    assert(w && h >= 0);
    bool answers = false;
    for (int i = 0; i < w->active.system_count; i++)
        answers = answers || gw_model_takes_load(gw_world_model(w, w->active.systems[i]));
    for (int i = 0; answers && i < w->active.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (c->continuous && c->loaded && !gw_contact_is_rigid(c) &&
            fabs(c->gap_rate - c->expected_rate) > ARRIVED * GW_CONTACT_LOADED_DEPTH / h)
            return false;
    }
    return true;
}
