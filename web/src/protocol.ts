// Types of all data exchanged with the server, in SI units. Types of resources come from the OpenAPI document
// (openapi.ts, written by generate.mjs). This file has the page's names for parts of them, members that the server
// always sends although a request may leave them out, and the messages of the stream.
import type * as api from './openapi';

export type {
  Assembly,
  Body,
  Branch,
  Conflict,
  ConstrainStep,
  ContactFigures,
  ContactPoint,
  Device,
  DeviceInfo,
  Driver,
  Element,
  Fault,
  Halt,
  Hit,
  Joint,
  Limits,
  Link,
  LogEvent,
  LoopFigures,
  Mechanism,
  Mesh,
  MeshAbout,
  Motor,
  MoveStep,
  Operator,
  Parameter,
  Pose,
  PoseGiven,
  Quantiles,
  Quat,
  Rendered,
  RenderedValue,
  Rendering,
  Resisted,
  SceneEntry,
  Solution,
  Spring,
  Step,
  StepProgress,
  Strand,
  Task,
  TaskProgress,
  TaskRead,
  Tool,
  ToolState,
  Translation,
  Vec3,
  Wrench,
} from './openapi';

// ---- parts of resources ---------------------------------------------------------------------------

// One of the element members is present; `touches` names a surface or rim of a primitive, which has no element.
export interface Feature {
  id: string;
  derived?: boolean;
  point?: api.Vec3;
  line?: api.Line;
  plane?: api.Plane;
  curve?: CurveShape;
  surface?: SurfaceShape;
  touches?: 'sphere' | 'cylinder' | 'rim';
  axis?: api.Vec3; // of the surface that `touches` names; unused for a sphere
}

// Free-form shapes without their type, as in features and geometries.
export type CurveShape = api.Curve;
export type SurfaceShape = api.Surface;

export type Primitive = Exclude<api.Geometry['type'], 'mesh' | 'compound' | 'nurbs-curve' | 'nurbs-surface'>;
export type ConstraintType = api.Constraint['type'];
export type Bound = NonNullable<api.Constraint['bound']>; // one-sided, but for equal
export type Contact = NonNullable<api.Constraint['contact']>;
export type Sense = NonNullable<api.Constraint['sense']>;
export type JointType = api.Joint['type'];
export type Control = NonNullable<api.Tool['control']>;
export type DriverSetting = api.Driver['settings'][number];
export type ContactSettings = api.Contact;
export type SolutionState = api.Solution['state'];
export type RunState = api.Simulation['state'];

// The drawing of a link: a compound whose parts may be compounds.
export type Geometry =
  | Exclude<api.Geometry, { type: 'compound' }>
  | { type: 'compound'; parts: { geometry: Geometry; pose?: api.PoseGiven }[] };

export type SceneObject = Omit<api.SceneObject, 'geometry'> & { geometry: Geometry };

// ---- members that the server always sends ---------------------------------------------------------

export type Constraint = api.Constraint & { id: string };
export type SceneSpring = api.SceneSpring & { id: string };
export type SceneJoint = api.SceneJoint & { id: string };
export type SceneJointState = api.SceneJointState;
export type Material = Required<api.Material>;

export type Scene = Omit<api.Scene, 'format' | 'objects' | 'constraints' | 'materials' | 'joints' | 'springs'> & {
  format: string; // '' before the first scene has arrived
  name: string;
  objects: SceneObject[];
  constraints?: Constraint[];
  materials?: Material[];
  joints?: SceneJoint[];
  springs?: SceneSpring[];
};

export type Halted = api.Halted;
export type Simulation = api.Simulation & { task?: api.TaskNow | null };

// A problem of a request, or a refusal by the solver.
export type Problem = Partial<Omit<api.Problem, 'status'> & Omit<api.Refusal, 'status'>> & { status: number };

// ---- messages of the stream -----------------------------------------------------------------------

export type { ClientMessage, TaskNow } from './openapi';

type Told<Message> = Omit<Message, 'scene'> & { scene: Scene };

export type SceneDocument = Pick<
  Told<api.SceneMessage>,
  'revision' | 'scene' | 'solutions' | 'index' | 'undo' | 'redo' | 'simulation'
>;

export type ServerMessage =
  | Told<api.HelloMessage>
  | Told<api.SceneMessage>
  | (Omit<api.ErrorMessage, 'id'> & { id?: string }) // the page uses strings, or no id
  | Exclude<api.ServerMessage, { op: 'hello' | 'scene' | 'error' }>;

// The target of a hand on the page: a tool's held body, or a free object.
export type HandTarget = { tool: number } | { object: string };
