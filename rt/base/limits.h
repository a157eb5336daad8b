/*
 * Every capacity limit of the appliance, with its unit and reason. A request beyond a limit is
 * refused by name.
 */
#ifndef GW_BASE_LIMITS_H
#define GW_BASE_LIMITS_H

/* Documents */
#define GW_MAX_ID          64   /* characters of an id, without the terminating zero */
#define GW_MAX_OBJECTS     4096 /* objects of a scene: one u16 index would do, one page fits */
#define GW_MAX_CONSTRAINTS 1024 /* constraints of a scene */
#define GW_MAX_FEATURES    8192 /* features of a scene that are not derived from a geometry */
#define GW_MAX_PARTS       64   /* parts of a compound, nested ones included */
#define GW_MAX_MESH_VERTICES                                                                       \
    (1 << 20) /* of a mesh: corners that a file of GW_MAX_MESH_BYTES holds */
#define GW_MAX_MESH_TRIANGLES (1 << 19)
#define GW_MAX_MESH_BYTES     (16u << 20) /* of a file: a finely scanned part; a route of its own */
#define GW_MAX_MESH_FILES     64          /* of the data folder: a gigabyte at most */
#define GW_MAX_HULL           512   /* corners of a convex hull: support functions search them */
#define GW_MAX_NURBS_DEGREE   9     /* of curves and surfaces: what STEP files of surfaces have */
#define GW_MAX_NURBS_POINTS   16384 /* control points of a curve or surface: a document's size */
#define GW_MAX_TOOLS          2     /* held objects: two hands */
#define GW_MAX_DEVICES        8     /* devices of a scene */
#define GW_REHEARSED_BODIES                                                                        \
    64                          /* objects and links of a scene whose ticks are rehearsed: it is   \
                                   built twice, and ticks of larger ones take too long */
#define GW_MAX_SAMPLES     4096 /* samples of a scripted wrench, or knots of a hand's path */
#define GW_MAX_UNILATERALS 64   /* unilateral constraints of one object: a bit each in u64 */
#define GW_MAX_TASKS       32   /* tasks of a scene */
#define GW_MAX_STEPS       64   /* steps of a task */
#define GW_MAX_STEP_IDS    16 /* constraints that one step enables, and as many that it disables */

/* Mechanisms, contacts */
#define GW_MAX_MECHANISMS         8   /* serial chains of a scene */
#define GW_MAX_LINKS              256 /* links of a mechanism: humanoids with hands have a hundred */
#define GW_MAX_LOCAL_LINKS        64 /* of one that runs by a local model: its factor has n^2 numbers */
#define GW_MAX_JOINTS             256 /* joints of a scene's mechanisms: every snapshot carries them */
#define GW_MAX_SCENE_JOINTS       1024                      /* joints between objects of a scene */
#define GW_MAX_COORDINATES        (3 * GW_MAX_SCENE_JOINTS) /* of them; a snapshot carries them */
#define GW_MAX_SCENE_SPRINGS      1024                      /* springs of a scene */
#define GW_MAX_MATERIALS          64                        /* materials of a scene */
#define GW_MAX_IGNORED            1024 /* pairs of a scene without collisions */
#define GW_MAX_FREE               64   /* free bodies of a scene: each is stepped in every tick */
#define GW_MAX_SYSTEMS            64 /* systems of bodies of a scene: each is stepped in every tick */
#define GW_MAX_SYSTEM_BODIES      512 /* of all of them: a snapshot carries them */
#define GW_MAX_SYSTEM_DOF         384 /* coordinates of one that is held or collides: rows are so long */
#define GW_MAX_MOVING             (GW_MAX_FREE + GW_MAX_SYSTEM_BODIES)
#define GW_MAX_MODELS             (GW_MAX_TOOLS + GW_MAX_MECHANISMS + GW_MAX_FREE + GW_MAX_SYSTEMS)
#define GW_MAX_CONTACT_CANDIDATES 512 /* contact candidates: a heap of 64 bodies has up to 350 */
#define GW_MAX_WORLD_UNILATERALS                                                                   \
    768 /* unilateral constraints of a scene: 28 cylinders on free forms, 85 free forms on others  \
         */
#define GW_MAX_SIMULTANEOUS_CONTACTS                                                               \
    64                             /* contacts resolved by one impulse: a 64 x 64 matrix at most */
#define GW_MAX_SUBSTEPS         32 /* of control within a tick: 8 kHz of them at 250 Hz */
#define GW_MAX_SHOWN_COLLISIONS 16 /* collisions in a snapshot: the newest ones */
#define GW_MAX_SHOWN_CONTACTS   64 /* contacts in a snapshot */
#define GW_MAX_SHOWN_COLLISION_STATES                                                              \
    32 /* collision states in a snapshot: all of a tick's, or the newest ones */

/* Solver */
#define GW_MAX_PROBLEM  64  /* constraints between one mobile object and its surroundings */
#define GW_MAX_BRANCHES 64  /* branches of one answer */
#define GW_MAX_ROWS     24  /* scalar rows of a submanifold's algebraic side */
#define GW_MAX_SAMPLED  256 /* sampled or evaluated poses of one branch of an answer */
#define GW_MAX_TRACE    256 /* steps of one answer's trace */
#define GW_MAX_CLUSTER  16  /* objects of a loop that are solved together */
#define GW_MAX_MOTION   12  /* freedoms of all hands together: two free bodies */

#define GW_MAX_COORDINATE   1e75 /* m, of points and distances: products of four are numbers yet */
#define GW_MAX_SHAPE_EXTENT 1e6  /* m from the origin, of control points and vertices of meshes */
#define GW_DESIRED_MASS_MIN 1e-6 /* of a desired mass or inertia (kg, kg m^2) */
#define GW_MAX_NUMBER       GW_MAX_COORDINATE /* any number that comes in, in SI units: the same */

/* Loop */
#define GW_MAX_FOLLOWERS GW_MAX_CONSTRAINTS /* objects that follow: each has a constraint */
#define GW_RATE_MIN_HZ   250                /* slower and a hand feels the steps */
#define GW_RATE_MAX_HZ   8000 /* faster and the wake-up jitter is a good part of the period */
#define GW_COMMAND_RING  1024 /* commands in flight to the loop; a power of two */
#define GW_RECORD_RING   4096 /* ticks: half a second at the fastest rate; a power of two */
#define GW_EVENT_RING    256  /* events in flight from the loop; a power of two */

/* Server */
#define GW_MAX_BODY_BYTES (1u << 20) /* a request's body, before it is parsed */
#define GW_MAX_DOCUMENT_BYTES                                                                      \
    (32u << 20) /* of a scene as text: 4096 plain objects have 2 MiB, full operators 5 MiB */
#define GW_MAX_DISCARD_BYTES                                                                       \
    (32u << 20) /* read and thrown away before a 413, for the client's sake */
#define GW_MAX_BODIES_BYTES  (32u << 20) /* of all requests that are being read or answered */
#define GW_MAX_JSON_DEPTH    32
#define GW_MAX_HTTP          512
#define GW_MAX_STREAMS       2048
#define GW_HEADER_TIMEOUT_MS 10000 /* absolute, from the connection's start */
#define GW_BODY_TIMEOUT_MS   30000 /* absolute, from the end of the headers */

#endif
