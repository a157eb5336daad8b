// What crosses the wire: the shapes of the REST resources and stream messages, in SI units.

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number]; // w x y z
export interface Pose {
  p: Vec3;
  q: Quat;
}

export type Geometry =
  | { type: 'box'; size: Vec3 }
  | { type: 'cylinder' | 'cone'; radius: number; height: number }
  | { type: 'sphere'; radius: number }
  | { type: 'capsule'; radius: number; height: number } // round ends stand out beyond the height
  | { type: 'mesh'; file: string; convex?: boolean }
  | { type: 'compound'; parts: { geometry: Geometry; pose?: Pose }[] };

export type Primitive = 'box' | 'cylinder' | 'cone' | 'sphere' | 'capsule';

export interface Element {
  point?: Vec3;
  line?: { point: Vec3; direction: Vec3 };
  plane?: { point: Vec3; normal: Vec3 };
}

export interface Feature extends Element {
  id: string;
  derived?: boolean;
}

export interface Velocity {
  v?: Vec3;
  w?: Vec3;
}

export interface Body {
  mass?: number;
  density?: number;
  com?: Vec3;
  inertia?: number[];
  damping?: { linear?: number; angular?: number };
}

export interface SceneObject {
  id: string;
  geometry: Geometry;
  pose?: Pose;
  fixed?: boolean;
  free?: boolean; // moves by its weight and by what hits it, along what its constraints to fixed objects leave
  material?: string;
  body?: Body;
  velocity?: Velocity;
}

// ---- mechanisms: serial chains, links counted from 0, a link's frame is its joint's ---------------

export interface Motor {
  torque?: number;
  target?: number;
  stiffness?: number;
  rate?: number;
  damping?: number;
  max?: number;
  speed?: number;
}

export interface Joint {
  type: 'revolute' | 'prismatic';
  origin?: Partial<Pose>; // in the parent link's frame
  axis?: Vec3;
  position?: number;
  velocity?: number;
  damping?: number;
  friction?: number; // N m, N: holding and sliding alike
  limits?: { lower: number; upper: number };
  motor?: Motor;
}

export interface ChainLink {
  id?: string;
  joint: Joint;
  mass?: number;
  com?: Vec3;
  inertia?: [number, number, number, number, number, number];
  geometry?: Geometry;
  geometry_at?: Partial<Pose>;
  mesh?: string;
  material?: string;
}

export interface Mechanism {
  id: string;
  base?: Partial<Pose>;
  links: ChainLink[];
}

// ---- contacts -----------------------------------------------------------------------------------------

export interface Material {
  id: string;
  restitution: number;
  friction: number;
  stiffness: number;
  damping: number;
}

export interface ContactSettings {
  enabled?: boolean;
  model?: 'exact' | 'local';
  rate?: number;
  impulse?: 'pseudo-inverse' | 'non-adhesive';
  colliding?: 'touching' | 'approaching';
  friction?: 'creep' | 'stick';
  impact_friction?: 'none' | 'coulomb';
  self?: 'relative' | 'each-link';
  slip_speed?: number;
  rest_speed?: number;
  ignore?: [string, string][];
}

export type ContactState = 'colliding' | 'continuous' | 'jammed';

export interface Contact {
  a: string; // an object, or a link as mechanism.link
  b: string;
  state: ContactState;
  point: Vec3;
  normal: Vec3; // from b to a
  force: Vec3; // on a
  impulse: number;
  gap: number;
}

// A collision of the last half second.
export interface Hit {
  tick: number;
  a: string;
  b: string;
  point: Vec3;
  normal: Vec3;
  impulse: number;
}

// Sums since the start, and the newest numbers.
export interface ContactFigures {
  near: number;
  touching: number;
  collisions: number;
  dissipated: number;
  generated: number;
  spring: number;
  impulse: number;
}

export type ConstraintType = 'coincident' | 'distance' | 'parallel' | 'perpendicular' | 'angle';
export type Bound = 'equal' | 'at-least' | 'at-most'; // but for equal a wall: it pushes back where it would be crossed
export type Sense = 'same' | 'opposite' | 'either';

export interface Constraint {
  id: string;
  type: ConstraintType;
  a: string;
  b: string;
  value?: number;
  sense?: Sense;
  bound?: Bound;
  enabled?: boolean;
  state?: 'ok' | 'redundant' | 'disabled';
}

export interface MoveStep {
  type: 'move';
  to?: Record<string, number>; // by the names of the branch's parameters
  by?: Record<string, number>;
  speed?: number;
  spin?: number;
  until?: { reaction?: number; contact?: boolean };
  required?: boolean;
}
export interface ConstrainStep {
  type: 'constrain';
  enable?: string[];
  disable?: string[];
  branch?: string;
}
export interface WaitStep {
  type: 'wait';
  seconds: number;
}
export type Step = MoveStep | ConstrainStep | WaitStep;

export interface StepResult {
  state: string;
  reason?: string;
  parameters?: Record<string, number>;
  reaction?: number;
  seconds?: number;
}

export interface TaskProgress {
  state: 'idle' | 'running' | 'done' | 'failed' | 'stopped';
  step: number;
  steps: StepResult[];
  message?: string;
}

export interface Task {
  id: string;
  name?: string;
  object: string;
  steps: Step[];
  progress?: TaskProgress;
}

export type Control = 'admittance' | 'impedance' | 'penalty' | 'coupling' | 'four-channel';

export interface Springs {
  linear?: number;
  angular?: number;
  linear_damping?: number;
  angular_damping?: number;
}

// How an impedance device is made to feel like the held frame.
export interface Rendering {
  jdot?: 'full' | 'paper';
  hand?: 'measured' | 'estimated' | 'unknown';
  length?: number;
  threshold?: number;
  fade?: number;
  weights?: 'smooth' | 'on-off';
  coordination?: Springs;
  coupling?: Springs;
  penalty?: { stiffness?: number; damping?: number; by_mass?: boolean };
  passivity?: boolean;
  mass_known?: number;
  slew?: number; // of the command after a switch (N/s)
  impulse_budget?: number; // N s in a second
}

export interface Gains {
  p?: number;
  i?: number;
  d?: number;
}
export interface Limits {
  force?: number;
  torque?: number;
  speed?: number;
  spin?: number;
}

export interface Tool {
  object?: string;
  mechanism?: string; // instead of an object, with `link`
  link?: number;
  at?: Pose;
  device: string;
  control?: Control;
  rendering?: Rendering;
  gains?: Gains;
  workspace?: { scale?: number; centre?: Vec3 };
  limits?: Limits;
  start?: Pose;
  substeps?: number;
}

export interface Operator {
  type: 'wrench' | 'hand' | 'none';
  samples?: { t: number; force: Vec3; torque: Vec3 }[];
  mass?: number;
  stiffness?: number;
  damping?: number;
  path?: { t: number; p: Vec3; q: Quat }[];
}

export interface Device {
  id: string;
  driver: string;
  settings?: Record<string, number | string>;
  operator?: Operator;
  info?: Record<string, unknown>;
}

export interface DriverSetting {
  name: string;
  unit: string;
  meaning: string;
  ideal: number;
  low: number;
  high: number;
}
export interface Driver {
  name: string;
  class: 'admittance' | 'impedance';
  profiles: string[];
  settings: DriverSetting[];
}

export interface Scene {
  format: string;
  name: string;
  description?: string;
  gravity?: Vec3;
  rate?: number;
  objects: SceneObject[];
  features?: Feature[];
  constraints?: Constraint[];
  tool?: Tool;
  tools?: Tool[];
  devices?: Device[];
  tasks?: Task[];
  mechanisms?: Mechanism[];
  materials?: Material[];
  contact?: ContactSettings;
}

export interface Rotation {
  kind: string;
  dof: number;
  axis?: Vec3;
  axis_body?: Vec3;
  angle?: number;
}

export interface Translation {
  kind: string;
  dof: number;
  of?: Vec3;
  in?: 'world' | 'mobile';
  point?: Vec3;
  direction?: Vec3;
  normal?: Vec3;
  axes?: Vec3[];
  radii?: number[];
  radius?: number;
}

export interface Parameter {
  name: string;
  part: string;
  unit: 'm' | 'rad';
  range?: [number | null, number | null] | null;
  periodic?: boolean;
}

export interface Branch {
  id: string;
  dof: number;
  kind?: 'separable' | 'general'; // general: its factors do not separate, its parameters are local
  words?: string;
  rotation: Rotation;
  translation: Translation;
  parameters: Parameter[];
  nearest: { pose: Pose; parameters: number[]; distance: number };
}

// The way along one freedom: poses in order, `here` the one where the object is.
export interface Strand {
  parameter: string;
  here: number;
  closed: boolean;
  poses: Pose[];
}

export interface Conflict {
  constraints: string[];
  condition: string;
  values: Record<string, number>;
  message: string;
}

export interface Solution {
  object: string;
  tool?: boolean;
  status: 'solved' | 'incompatible' | 'unhandled';
  method?: 'closed-form' | 'numeric';
  state?: 'free' | 'under' | 'well' | 'over' | 'conflict';
  dof: number;
  words?: string;
  branch?: string;
  branches: Branch[];
  parameters?: number[];
  strands?: Strand[]; // where they were asked for
  follows?: string[]; // objects that this one goes with
  cluster?: string[]; // objects that were solved as a whole, in a cycle
  cluster_dof?: number;
  redundant?: { id: string; because: string[]; rule: string }[];
  roots?: { complex: number; real: number }; // of the completion
  trace?: string[]; // the rewriting, step by step
  conflict?: Conflict;
  left?: string[];
  reason?: string;
}

export interface Spread {
  p50: number;
  p99: number;
  max: number;
}

export interface Wrench {
  force: Vec3;
  torque: Vec3;
}

// Directions that the joints hold back: unit vectors [v; w], lengths divided by `length`.
export interface Resisted {
  length: number;
  singular: number[];
  directions: { v: Vec3; w: Vec3; weight: number }[];
}

export interface ToolState {
  object?: string;
  mechanism?: string;
  link?: number;
  command?: Wrench; // what an impedance device exerts
  hand?: Wrench; // as its control took it
  impulse?: Wrench; // the impulsive part of the command
  resisted?: Resisted;
  port?: number; // energy that came out of the device's port (J)
  damped?: number; // of it by the passivity controller (J)
  withheld?: number; // impulse that the device's limits dropped (N s)
  pose: Pose;
  device: Pose;
  operator: { force: Vec3; torque: Vec3 };
  constraint: { force: Vec3; torque: Vec3 };
  force_normal: number;
  force_tangential: number;
  error_p: number;
  error_r: number;
  residual: number;
  travelling: boolean;
  clutched: boolean;
  limited: boolean;
  dragging: boolean;
  walls?: string[]; // that touch
}

// A free object that constraints to fixed ones guide, or a hand has.
export interface BodyState {
  object: string;
  twist: { v: Vec3; w: Vec3 };
  constraint: Wrench;
  operator: Wrench;
  dragging: boolean;
  travelling: boolean;
  walls: string[];
}

export type RunState = 'running' | 'paused' | 'stopped';

export interface Simulation {
  state: RunState;
  halted: boolean;
  tick: number;
  time: number;
  revision?: number;
  loop: {
    rate: number;
    tick_us: Spread;
    late_us: Spread;
    overruns: number;
    limited_ticks: number;
    real_time: boolean;
  };
  energy?: { kinetic: number; potential: number; work_in: number; dissipated: number; motors?: number };
  tools: ToolState[];
  mechanisms?: { id: string; positions: number[]; velocities: number[] }[];
  bodies?: BodyState[];
  contact?: ContactFigures;
  contacts?: Contact[];
  hits?: Hit[];
  task?: { id: string; progress: TaskProgress } | null;
}

export interface LogEvent {
  seq: number;
  time: string | number;
  tick: number;
  kind: string;
  severity: string;
  message: string;
  count?: number; // how many of these happened since the one before
}

export interface SceneEntry {
  file: string;
  name: string;
  description: string;
  saved: boolean;
}

export interface Document_ {
  revision: number;
  scene: Scene;
  solutions: Solution[];
  index: string[];
  undo: boolean;
  redo: boolean;
  simulation: Simulation;
}

export type ServerMessage =
  | ({ op: 'hello'; protocol: string; version: string } & Document_)
  | ({ op: 'scene' } & Document_)
  | { op: 'state'; simulation: Simulation; task?: Simulation['task'] }
  | { op: 'event'; event: LogEvent }
  | { op: 'error'; detail: string; pointer?: string; id?: string }
  | { op: 'subscribed'; stream: string; columns?: string[] };

export interface Problem {
  title?: string;
  status: number;
  detail?: string;
  errors?: { pointer: string; detail: string }[];
  solution?: Solution;
  conflict?: Conflict;
}

// A request that the server refused, with its reasons in words.
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(Refusal.words(problem));
  }
  static words(problem: Problem): string {
    const first = problem.errors?.[0]?.detail;
    const conflict = problem.conflict ?? problem.solution?.conflict;
    return conflict?.message || problem.detail || first || problem.title || 'The server refused.';
  }
}
