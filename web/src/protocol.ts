// Types of all that crosses the wire, in SI units. Shapes of resources come from the OpenAPI document (openapi.ts, made
// by generate.mjs). Here are the names that the page has for parts of them, members that the server always sends though
// a request may leave them out, and the messages of the stream.
import type * as api from './openapi';

export type {
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

export type Feature = api.Feature & { derived?: boolean };
export type Primitive = Exclude<api.Geometry['type'], 'mesh' | 'compound' | 'nurbs-curve' | 'nurbs-surface'>;
export type ConstraintType = api.Constraint['type'];
export type Bound = NonNullable<api.Constraint['bound']>; // one-sided, but for equal
export type Sense = NonNullable<api.Constraint['sense']>;
export type JointType = api.Joint['type'];
export type Control = NonNullable<api.Tool['control']>;
export type DriverSetting = api.Driver['settings'][number];
export type ContactSettings = api.Contact;
export type SolutionState = api.Solution['state'];
export type RunState = api.Simulation['state'];

// What is drawn of a link is a compound of what may be one itself.
export type Geometry =
  | Exclude<api.Geometry, { type: 'compound' }>
  | { type: 'compound'; parts: { geometry: Geometry; pose?: api.PoseGiven }[] };

export type SceneObject = Omit<api.SceneObject, 'geometry'> & { geometry: Geometry };

// ---- members that the server always sends ---------------------------------------------------------

export type Constraint = api.Constraint & { id: string };
export type SceneSpring = api.SceneSpring & { id: string };
export type SceneJoint = api.SceneJoint & { id: string };
export type Material = Required<api.Material>;

export type Scene = Omit<api.Scene, 'format' | 'objects' | 'constraints' | 'materials' | 'joints' | 'springs'> & {
  format: string; // '' before the first scene is here
  name: string;
  objects: SceneObject[];
  constraints?: Constraint[];
  materials?: Material[];
  joints?: SceneJoint[];
  springs?: SceneSpring[];
};

export type Halted = api.Halted;
export type Simulation = api.Simulation & { task?: TaskNow | null };

// A problem, or a refusal by the solver.
export type Problem = Partial<Omit<api.Problem, 'status'> & Omit<api.Refusal, 'status'>> & { status: number };

// ---- messages of the stream -----------------------------------------------------------------------

// The task that runs, or ran last.
export interface TaskNow {
  id: string;
  progress: api.TaskProgress;
}

export interface SceneDocument {
  revision: number;
  scene: Scene;
  solutions: api.Solution[];
  index: string[]; // ids of what moves, in the order of pose frames
  undo: boolean;
  redo: boolean;
  simulation: api.Simulation;
}

export type ServerMessage =
  | ({ op: 'hello'; protocol: string; version: string; client: string } & SceneDocument)
  | ({ op: 'scene' } & SceneDocument)
  | { op: 'state'; simulation: api.Simulation; task?: TaskNow | null; saved?: boolean }
  | { op: 'event'; event: api.LogEvent }
  | { op: 'error'; detail: string; pointer?: string; id?: string }
  | { op: 'subscribed'; stream: string; columns?: string[] };

// What a hand on the page holds: what a tool holds, or a free object.
export type HandTarget = { tool: number } | { object: string };

export type ClientMessage =
  | { op: 'auth'; token: string }
  | { op: 'subscribe'; stream: 'poses'; hz: number }
  | { op: 'subscribe' | 'unsubscribe'; stream: 'samples' }
  | ({ op: 'drag'; id: string; point: api.Vec3; target: api.Vec3; turn: boolean } & HandTarget)
  | ({ op: 'release' } & HandTarget)
  | { op: 'lease'; on: boolean }
  | ({ op: 'push'; force: api.Vec3; torque: api.Vec3 } & HandTarget)
  | { op: 'clutch'; tool: number; on: boolean }
  | { op: 'halt' };
