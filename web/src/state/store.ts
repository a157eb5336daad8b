// The store: the newest state from the server, and the person's selection. Panels and the view subscribe to it.
import { computed, signal } from '@preact/signals';
import type {
  Constraint,
  ContactPoint,
  ContactSettings,
  Device,
  DeviceInfo,
  Driver,
  Feature,
  LogEvent,
  Material,
  Mechanism,
  Scene,
  SceneEntry,
  SceneJoint,
  SceneObject,
  SceneSpring,
  Simulation,
  Solution,
  SolutionState,
  Task,
  TaskProgress,
  Tool,
  ToolState,
  Vec3,
} from '../protocol';
import { heldId, type LinkRef, linkOf } from './mechanisms';

// ---- from the server --------------------------------------------------------------------------

export type Connection = 'connecting' | 'open' | 'lost' | 'token';

export const connection = signal<Connection>('connecting');
export const retryIn = signal(0); // seconds until the next try
export const version = signal('');
export const client = signal(''); // this page's name at the server
export const scene = signal<Scene>({ format: '', name: '', objects: [] });
export const solutions = signal<ReadonlyMap<string, Solution>>(new Map());
export const revision = signal(0);
export const canUndo = signal(false);
export const canRedo = signal(false);
export const saved = signal(true); // the document is as it was saved or opened last
export const simulation = signal<Simulation | null>(null);
export const figures = signal<Simulation | null>(null); // the same a few times a second, for numbers to read
export const events = signal<readonly LogEvent[]>([]);
export const scenes = signal<readonly SceneEntry[]>([]);
export const sceneEpoch = signal(0); // raised when another scene is opened: the view then frames it

export const objects = computed<readonly SceneObject[]>(() => scene.value.objects);
export const constraints = computed<readonly Constraint[]>(() => scene.value.constraints ?? []);
export const joints = computed<readonly SceneJoint[]>(() => scene.value.joints ?? []);
export const springs = computed<readonly SceneSpring[]>(() => scene.value.springs ?? []);
export const devices = computed<readonly Device[]>(() => scene.value.devices ?? []);
export const tools = computed<readonly Tool[]>(() => scene.value.tools ?? (scene.value.tool ? [scene.value.tool] : []));

export const mechanisms = computed<readonly Mechanism[]>(() => scene.value.mechanisms ?? []);
export const materials = computed<readonly Material[]>(() => scene.value.materials ?? []);
export const contactSettings = computed<ContactSettings>(() => scene.value.contact ?? {});
export const contacts = computed<readonly ContactPoint[]>(() => simulation.value?.contacts ?? []);

// The state that the picture shows, as a string that changes only when there is something new to draw.
export const drawnState = computed(() => {
  const now = simulation.value;
  return now ? JSON.stringify([now.state, now.halted, now.tools, now.bodies, now.contacts, now.hits]) : '';
});

export const tasks = computed<readonly Task[]>(() => scene.value.tasks ?? []);
export const taskProgress = signal<ReadonlyMap<string, TaskProgress>>(new Map()); // the newest of each task

export const runState = computed(() => simulation.value?.state ?? 'stopped');
export const halted = computed(() => simulation.value?.halted ?? false);
export const halting = signal(false); // requested, and not answered
export const running = computed(() => runState.value === 'running' && !halted.value);

export function objectOf(id: string): SceneObject | undefined {
  return scene.peek().objects.find((o) => o.id === id);
}

// The link with a name as in pose frames, "arm.1"; the mechanism with an id.
export const linkRef = (id: string): LinkRef | undefined => linkOf(mechanisms.value, id);
export const mechanismOf = (id: string): Mechanism | undefined => mechanisms.value.find((m) => m.id === id);

// True where the tool's device is latched: as stated in the scene, else where it is not simulated.
export function latched(tool: number): boolean {
  const device = scene.value.devices?.find((d) => d.id === tools.value[tool]?.device);
  return !!device && (device.safety ?? (device.driver.startsWith('sim') ? 'lenient' : 'latched')) === 'latched';
}

// The client that operates latched devices, unless it is this page; '' where a drag may take the lease.
export const otherOperator = computed(() => {
  const by = figures.value?.operator?.by ?? '';
  return by === client.value ? '' : by;
});

// True where this page operates them.
export const operating = computed(() => !!client.value && simulation.value?.operator?.by === client.value);

// The scripted operator of a tool, in words, with its device where several hold one body; '' where there is none.
export function scriptOf(tool: number): string {
  const device = scene.value.devices?.find((d) => d.id === tools.value[tool]?.device);
  const type = device?.operator?.type ?? 'none';
  const task = simulation.value?.task;
  if (simulation.value?.tools[tool]?.dragging) return '';
  if (
    task?.progress.state === 'running' &&
    tasks.value.find((t) => t.id === task.id)?.object === tools.value[tool]?.object
  )
    return 'robot of the task';
  if (!device || type === 'none') return '';
  const words = type === 'wrench' ? 'scripted wrench' : 'scripted hand';
  return holdersOf(tool) > 1 ? `${words} "${device.id}"` : words;
}

// The number of tools that hold the body that this one holds.
function holdersOf(tool: number): number {
  const own = tools.value[tool];
  return own ? tools.value.filter((t) => heldId(t) === heldId(own)).length : 0;
}

// The index of the (first) tool that holds the object or link.
export const toolIndex = (held: string): number => tools.value.findIndex((t) => heldId(t) === held);

export function toolState(held: string): ToolState | undefined {
  return simulation.value?.tools.find((t) => heldId(t) === held);
}

// The state of a tool, of which several may hold one body.
export function stateOfTool(tool: Tool | undefined, told = simulation.value): ToolState | undefined {
  const state = told?.tools[tools.value.findIndex((t) => t.device === tool?.device)];
  return tool && state && heldId(state) === heldId(tool) ? state : undefined;
}

// True where a client drags the body; not reported for links without a tool.
export const isDragged = (id: string): boolean =>
  !!(toolState(id) ?? simulation.value?.bodies?.find((b) => b.object === id))?.dragging;

// The force of a person on a held body or a free object.
export const handForce = (id: string): Vec3 | undefined =>
  (toolState(id) ?? simulation.value?.bodies?.find((b) => b.object === id))?.operator.force;

// True for impedance devices, whose control can be chosen.
export const impedanceDevice = (id: string): boolean =>
  driverClass(devices.value.find((d) => d.id === id)?.driver ?? '') === 'impedance';

export const driverClass = (driver: string): string | undefined => drivers.value.find((d) => d.name === driver)?.class;

// ---- features by object, as the server lists them ---------------------------------------------

export const features = signal<ReadonlyMap<string, readonly Feature[]>>(new Map());

export const splitRef = (ref: string): [string, string] => {
  const at = ref.indexOf('/');
  return at < 0 ? [ref, ''] : [ref.slice(0, at), ref.slice(at + 1)];
};

export function featureOf(ref: string): Feature | undefined {
  return features.value.get(splitRef(ref)[0])?.find((f) => f.id === ref);
}

// ---- selection and pointer ----------------------------------------------------------------------

export const picked = signal<readonly string[]>([]); // up to two features, in the order picked
export const selectedObject = signal(''); // the id of an object, a mechanism, or a link, "arm.1"
export const tracked = signal(''); // the object or link that the camera tracks
export const selectedConstraint = signal('');
export const selectedTask = signal('');
export const clickedPoint = signal<{ id: string; at: Vec3 } | null>(null); // on a link that was clicked, in its frame
export const hovered = signal<readonly string[]>([]); // features under the cursor, best first
export const hoverIndex = signal(0); // Tab steps through them
export const hoverObject = signal('');
export const highlighted = signal<readonly string[]>([]); // relations highlighted in the view
export const hoverBranch = signal(-1); // the branch of the shown object that is pointed at
export const culprits = signal<readonly string[]>([]); // constraints in a conflict
export const selectedFreedom = signal(0); // the selected freedom of the selected object
export const hoverFreedom = signal(-1); // the freedom of the shown object that is pointed at: a ghost moves along it

export const shaping = signal(''); // the object whose control point is being dragged

export const hoverRef = computed(() => hovered.value[hoverIndex.value] ?? '');

// The object whose freedoms are shown: the selected one, else one that is picked or constrained, else the held one.
export const shownObject = computed(() => {
  const s = selectedObject.value;
  if (s && solutions.value.has(s)) return s;
  const c = constraints.value.find(({ id }) => id === selectedConstraint.value);
  for (const ref of c ? [c.a, c.b] : picked.value) if (solutions.value.has(splitRef(ref)[0])) return splitRef(ref)[0];
  return tools.value[0] ? heldId(tools.value[0]) : '';
});

// The body that the camera could track: the selected object or link if it moves, else the held one.
export const trackable = computed(() => {
  const s = selectedObject.value;
  if (linkRef(s) || (objectOf(s) && !objectOf(s)?.fixed)) return s;
  return tools.value[0] ? heldId(tools.value[0]) : '';
});

// The state of an object: in conflict while its constraints are, else as its solution says.
export function stateOf(id: string): SolutionState | undefined {
  const clash = culprits.value.some((c) => {
    const k = constraints.value.find((x) => x.id === c);
    return !!k && [k.a, k.b].some((ref) => splitRef(ref)[0] === id);
  });
  return clash ? 'conflict' : summaries.value.get(id)?.state;
}

// True where an object has all the freedoms that its own constraints leave; joints and joined bodies may remove some.
export const movesOnItsOwn = (s: Solution): boolean => !s.system || s.dof <= s.system.freedoms;

// The present joint positions; the initial ones while stopped.
export const positionsOf = (m: Mechanism): number[] =>
  (runState.peek() !== 'stopped' && simulation.peek()?.mechanisms?.find((x) => x.id === m.id)?.positions) ||
  m.links.map((l) => l.joint.position ?? 0);

// True where a force moves the body while the simulation runs, so that it can be dragged.
export const movesByForce = (id: string): boolean =>
  toolIndex(id) >= 0 || !!objectOf(id)?.free || !!linkRef(id) || !!solutions.value.get(id)?.system?.freedoms;

// True where there are objects and no force moves any of them.
export const nothingMoves = (): boolean =>
  objects.value.length > 0 && !mechanisms.value.length && !objects.value.some(({ id }) => movesByForce(id));

// The part of the solutions that lists show. It stays the same object while bodies move, although poses and parameters
// arrive several times a second, so that lists are not drawn again.
export type SolutionSummary = Pick<
  Solution,
  'object' | 'state' | 'dof' | 'follows' | 'cluster' | 'cluster_dof' | 'redundant'
>;

let told: ReadonlyMap<string, SolutionSummary> = new Map();
let toldAs = '';

export const summaries = computed<ReadonlyMap<string, SolutionSummary>>(() => {
  const now = [...solutions.value].map(([id, s]): [string, SolutionSummary] => [
    id,
    {
      object: s.object,
      state: s.state,
      dof: s.system?.freedoms ?? s.dof,
      follows: s.follows,
      ...(s.system?.freedoms ? {} : { cluster: s.cluster, cluster_dof: s.cluster_dof }), // not of systems
      redundant: s.redundant,
    },
  ]);
  const text = JSON.stringify(now);
  if (text !== toldAs) told = new Map(now);
  toldAs = text;
  return told;
});

// The constraints from which a redundant one follows; undefined where it is not redundant.
export function redundancyOf(id: string): { because: string[]; rule: string } | undefined {
  for (const s of summaries.value.values()) {
    const found = s.redundant?.find((r) => r.id === id);
    if (found) return found;
  }
  return undefined;
}

// ---- the page itself ------------------------------------------------------------------------------

export type Dialog = '' | 'gallery' | 'save' | 'keys' | 'palette' | 'arm' | 'token' | 'mechanism' | 'shape';
export type Theme = 'auto' | 'light' | 'dark';

export const dialog = signal<Dialog>('');
export const theme = signal<Theme>('auto');
export const announced = signal(''); // read out by screen readers
export const narrowTab = signal<'view' | 'scene' | 'inspect' | 'plots'>('inspect');
export const plotShown = signal<'force' | 'energy' | 'compare'>('force');
export const folded = signal<Readonly<Record<string, boolean>>>({});

export interface Notice {
  tone: 'error' | 'info';
  text: string;
  fixes: { label: string; run: () => void }[];
  passing?: boolean;
} // passing: disappears after a while
export const notice = signal<Notice | null>(null);

export function announce(text: string): void {
  announced.value = announced.value === text ? `${text}\u00a0` : text;
}

export function refuse(text: string, fixes: Notice['fixes'] = []): void {
  notice.value = { tone: 'error', text, fixes };
  announce(text);
}

export function inform(text: string): void {
  notice.value = { tone: 'info', text, fixes: [], passing: true };
  announce(text);
}

// Storage may be refused; settings are then lost with the page.
export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(`guideway.${key}`, value);
  } catch {
    // nothing to do
  }
}

export function recall(key: string): string {
  try {
    return localStorage.getItem(`guideway.${key}`) ?? '';
  } catch {
    return '';
  }
}

// ---- selecting --------------------------------------------------------------------------------------

export function pick(ref: string): void {
  const now = picked.value;
  selectedObject.value = '';
  selectedConstraint.value = '';
  if (now.includes(ref)) picked.value = now.filter((r) => r !== ref);
  else picked.value = now.length >= 2 ? [ref] : [...now, ref];
  announce(picked.value.length ? `Picked: ${picked.value.join(' and ')}.` : 'Nothing is picked.');
}

export function selectObject(id: string): void {
  picked.value = [];
  selectedConstraint.value = '';
  selectedTask.value = '';
  selectedObject.value = id;
  selectedFreedom.value = 0;
  clickedPoint.value = null;
}

// Selects a clicked link, and the point at which it would be held.
export function selectLink(id: string, at: Vec3): void {
  selectObject(id);
  clickedPoint.value = { id, at };
}

export function selectTask(id: string): void {
  picked.value = [];
  selectedObject.value = '';
  selectedConstraint.value = '';
  selectedTask.value = id;
}

export function selectConstraint(id: string): void {
  picked.value = [];
  selectedObject.value = '';
  selectedTask.value = '';
  selectedConstraint.value = id;
}

export function clearSelection(): void {
  picked.value = [];
  selectedObject.value = '';
  selectedConstraint.value = '';
  selectedTask.value = '';
  culprits.value = [];
}

export const drivers = signal<readonly Driver[]>([]); // the available drivers

// Properties of the devices, as their drivers state them; not part of the scene.
export const deviceDetails = signal<ReadonlyMap<string, DeviceInfo>>(new Map());
