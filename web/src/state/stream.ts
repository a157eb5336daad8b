// The stream: keeps the store and the pose table up to date with the server, and reconnects by itself.
import { batch, effect } from '@preact/signals';
import type {
  ClientMessage,
  Device,
  DeviceInfo,
  Driver,
  Feature,
  LogEvent,
  Scene,
  SceneDocument,
  SceneEntry,
  ServerMessage,
  Simulation,
  Solution,
  TaskProgress,
  TaskRead,
} from '../protocol';
import { isFreeForm } from './freedoms';
import { heldId } from './mechanisms';
import { refreshMeshes } from './meshes';
import { poseFrame, poses } from './poses';
import { call, callWithRevision, currentToken, enc, mayBeOurs } from './rest';
import * as store from './store';
import { currentView } from './viewer';

const BACKOFF_S = [0.5, 1, 2, 4, 5];
const SILENT_MS = 700;
const MAX_EVENTS = 200;

let socket: WebSocket | null = null;
let tries = 0;
let onPoses: () => void = () => undefined;
let onColumns: (names: readonly string[]) => void = () => undefined;
let onSamples: (buffer: ArrayBuffer) => void = () => undefined;

export function whenPosesCome(run: () => void): void {
  onPoses = run;
}

// To be called after other code has written into the pose table.
export const posesChanged = (): void => onPoses();

export function whenSamplesCome(columns: typeof onColumns, rows: typeof onSamples): void {
  onColumns = columns;
  onSamples = rows;
}

export function send(message: ClientMessage): boolean {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify(message));
  return true;
}

let lostAt = 0; // time at which the connection was lost; 0: it is open

// ---- documents ----------------------------------------------------------------------------------

// Announces changed freedoms of held bodies to screen readers.
function announceChanges(before: ReadonlyMap<string, Solution>, after: ReadonlyMap<string, Solution>): void {
  for (const [id, solution] of after) {
    const words = solution.words;
    if (words && before.has(id) && before.get(id)!.words !== words) store.announce(`${id}: ${words}`);
  }
}

function dropStale(ofOthers: boolean): void {
  const ids = new Set(store.scene.value.objects.map((o) => o.id));
  const joints = new Set((store.scene.value.constraints ?? []).map((c) => c.id));
  store.picked.value = store.picked.value.filter((r) => ids.has(store.splitRef(r)[0]));
  const isThere = (id: string): boolean => ids.has(id) || !!store.mechanismOf(id) || !!store.linkRef(id);
  const chosen = store.selectedObject.value;
  const left = [chosen, store.selectedConstraint.value].find((id) => id && !isThere(id) && !joints.has(id));
  if (left && ofOthers) store.inform(`${left} is gone: somebody else deleted or renamed it.`);
  store.hovered.value = store.hovered.value.filter((r) => isThere(store.splitRef(r)[0]));
  if (!isThere(store.hoverObject.value)) store.hoverObject.value = '';
  if (!isThere(chosen)) store.selectedObject.value = '';
  const tracked = store.tracked.value;
  if (!ids.has(tracked) && !store.linkRef(tracked)) store.tracked.value = '';
  if (!joints.has(store.selectedConstraint.value)) store.selectedConstraint.value = '';
  if (!store.tasks.value.some((t) => t.id === store.selectedTask.value)) store.selectedTask.value = '';
  store.culprits.value = store.culprits.value.filter((id) => joints.has(id));
  const listed = new Set([...joints, ...[...store.joints.value, ...store.springs.value].map((r) => r.id)]);
  store.highlighted.value = store.highlighted.value.filter((id) => listed.has(id)); // a removed line gets no leave
}

// Keeps the strands of a solution until new ones arrive.
function keepPaths(now: Solution): Solution {
  const was = store.solutions.peek().get(now.object);
  return was?.strands && was.branch === now.branch && was.dof === now.dof ? { ...now, strands: was.strands } : now;
}

const isRenamed = (was: Scene, now: Scene): boolean =>
  JSON.stringify({ ...was, name: '' }) === JSON.stringify({ ...now, name: '' });

// True where the document is another scene, not an edit of the same: another name and other contents, or no object in
// common. A rename alone is an edit.
function isAnother(was: Scene, now: Scene): boolean {
  const ids = (s: Scene): string[] => [...s.objects, ...(s.mechanisms ?? [])].map((x) => x.id);
  const before = new Set(ids(was));
  const kept = ids(now).some((id) => before.has(id));
  if (was.format === '' || (was.name !== now.name && !isRenamed(was, now))) return true;
  return before.size > 0 && ids(now).length > 0 && !kept;
}

function receiveDocument(document: SceneDocument): void {
  const solutions = new Map(document.solutions.map((s) => [s.object, keepPaths(s)]));
  const another = isAnother(store.scene.value, document.scene);
  const ofOthers = !mayBeOurs(document.revision) && !lostAt && store.scene.value.format !== '';
  batch(() => {
    announceChanges(store.solutions.value, solutions);
    poses.layout(document.scene, document.index, document.simulation?.state !== 'stopped');
    store.scene.value = document.scene;
    store.solutions.value = solutions;
    store.revision.value = document.revision;
    store.canUndo.value = document.undo;
    store.canRedo.value = document.redo;
    if (document.simulation) receiveState(document.simulation);
    if (another) {
      store.sceneEpoch.value++;
      store.tracked.value = '';
      if (store.notice.peek()?.tone === 'error') store.notice.value = null; // it was about the former scene
      store.taskProgress.value = new Map();
      store.plotShown.value = store.tools.value.length ? 'force' : 'energy';
      if (ofOthers) store.inform(`Somebody else opened \u201c${store.scene.value.name}\u201d.`);
    }
    dropStale(ofOthers && !another);
  });
  onPoses();
}

const FIGURES_MS = 250;
let figuresAt = 0;

// Updates the figures a few times a second: faster changes cannot be read, and each causes a layout.
function receiveState(now: Simulation): void {
  const shown = store.figures.peek();
  if (now.task) store.taskProgress.value = new Map(store.taskProgress.peek()).set(now.task.id, now.task.progress);
  store.simulation.value = now;
  const due = performance.now() - figuresAt > FIGURES_MS;
  const same = shown?.state === now.state && shown.halted === now.halted && shown.operator?.by === now.operator?.by;
  if (!due && same) return;
  figuresAt = performance.now();
  store.figures.value = now;
}

function receiveEvent(event: LogEvent): void {
  if (event.kind === 'task') void refreshTasks();
  const known = store.events.value;
  if (known.some((e) => e.seq === event.seq)) return;
  store.events.value = [...known, event].slice(-MAX_EVENTS);
}

export const HAND = 'hand'; // id of the messages of a drag

// A refused drag causes many errors a second.
function receiveError(told: string, id?: string): void {
  if (id === HAND) currentView()?.cancel(); // cancels the drag, and with it the drawn spring
  const detail = told.replace(/\btool (\d+)$/, (number, i: string) => {
    const tool = store.tools.peek()[Number(i)];
    return tool ? heldId(tool) : number;
  });
  if (store.notice.peek()?.text !== detail) store.announce(detail);
  store.notice.value = { tone: 'error', text: detail, fixes: [], passing: true };
}

function receiveMessage(message: ServerMessage): void {
  if (message.op === 'hello') {
    store.version.value = message.version;
    store.client.value = message.client;
    receiveDocument(message);
    opened();
  } else if (message.op === 'scene') receiveDocument(message);
  else if (message.op === 'state') {
    receiveState({ ...message.simulation, task: message.task });
    store.saved.value = message.saved ?? true;
  } else if (message.op === 'event') receiveEvent(message.event);
  else if (message.op === 'subscribed' && message.columns) onColumns(message.columns);
  else if (message.op === 'error') receiveError(message.detail, message.id);
}

let lostWith = { name: '', revision: 0 }; // the document when the connection was lost

function opened(): void {
  tries = 0;
  store.connection.value = 'open';
  send({ op: 'subscribe', stream: 'poses', hz: 60 });
  const away = lostAt && (performance.now() - lostAt) / 1000;
  const heard = store.events.peek();
  lostAt = 0;
  void refreshAfterLoss().then(() => away && announceMissed(away, heard));
}

// The document of a restarted server in words: unchanged, edited since, or another one.
function broughtBack(): string {
  const { name } = store.scene.peek();
  const later = store.revision.peek() - lostWith.revision;
  if (name !== lostWith.name || later < 0)
    return `shows \u201c${name}\u201d in place of \u201c${lostWith.name}\u201d. Undo leads back where it can.`;
  return `brought \u201c${name}\u201d back${later ? `, ${later} edited states later` : ' as it was'}.`;
}

// Reports events missed while disconnected. Where earlier events are missing, the server was restarted.
function announceMissed(away: number, heard: readonly LogEvent[]): void {
  const now = store.events.peek();
  const same = (a: LogEvent, b: LogEvent): boolean => a.seq === b.seq && a.tick === b.tick && a.message === b.message;
  const anew = heard.some((e) => !(e.seq < (now[0]?.seq ?? 0)) && !now.some((n) => same(n, e)));
  const missed = now.filter((n) => !heard.some((e) => same(n, e))).length;
  const what = anew
    ? `It was started anew and ${broughtBack()}`
    : missed
      ? `${missed} ${missed === 1 ? 'event' : 'events'} meanwhile, in the list below.`
      : 'Nothing happened meanwhile.';
  store.inform(`The appliance answers again after ${away.toFixed(away < 10 ? 1 : 0)} s. ${what}`);
}

// Fetches events and lists after a connection.
async function refreshAfterLoss(): Promise<void> {
  try {
    const list = await call<LogEvent[]>('GET', '/events');
    store.events.value = list.slice(-MAX_EVENTS);
    store.scenes.value = await call<SceneEntry[]>('GET', '/scenes');
    store.drivers.value = await call<Driver[]>('GET', '/drivers');
    await refreshMeshes();
    void refreshTasks();
  } catch {
    // the stream reports that the server is away
  }
}

// Fetches the progress of all tasks; the stream reports only the one that runs.
async function refreshTasks(): Promise<void> {
  if (!store.tasks.peek().length) return;
  try {
    const list = await call<TaskRead[]>('GET', '/tasks');
    const known = store.taskProgress.peek();
    // the server knows the last task that ran; the known progress of others is kept
    store.taskProgress.value = new Map(
      list.flatMap((t): [string, TaskProgress][] => {
        const now = t.progress?.state === 'idle' ? (known.get(t.id) ?? t.progress) : t.progress;
        return now ? [[t.id, now]] : [];
      }),
    );
  } catch {
    // the stream reports that the server is away
  }
}

export async function refreshScenes(): Promise<void> {
  store.scenes.value = await call<SceneEntry[]>('GET', '/scenes');
}

// ---- the connection -------------------------------------------------------------------------------

export function connect(): void {
  store.retryIn.value = 0;
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const here = new WebSocket(`${scheme}://${location.host}/ws`, 'guideway.v1');
  here.binaryType = 'arraybuffer';
  socket = here;
  here.onopen = () => {
    if (currentToken()) send({ op: 'auth', token: currentToken() });
    setTimeout(() => void askIfSilent(here), SILENT_MS);
  };
  here.onmessage = (e: MessageEvent<ArrayBuffer | string>) => {
    if (typeof e.data !== 'string') {
      const frame = poseFrame(e.data);
      if (!frame) onSamples(e.data);
      else if (poses.apply(frame)) onPoses();
    } else receiveMessage(JSON.parse(e.data) as ServerMessage);
  };
  here.onclose = () => void lost();
}

async function lost(): Promise<void> {
  socket = null;
  if (store.connection.peek() === 'open') {
    lostAt = performance.now();
    lostWith = { name: store.scene.peek().name, revision: store.revision.peek() };
  }
  store.connection.value = 'lost';
  if (tries % 4 === 0 && (await tokenWanted())) askForToken();
  else waitThenConnect(BACKOFF_S[Math.min(tries++, BACKOFF_S.length - 1)]!);
}

// A server with a token sends nothing before it receives one.
async function askIfSilent(here: WebSocket): Promise<void> {
  if (socket !== here || store.connection.value === 'open' || !(await tokenWanted())) return;
  here.onclose = null;
  here.close();
  askForToken();
}

function askForToken(): void {
  store.connection.value = 'token';
  store.dialog.value = 'token';
}

async function tokenWanted(): Promise<boolean> {
  try {
    await call('GET', '/simulation');
    return false;
  } catch (e) {
    return (e as { status?: number }).status === 401;
  }
}

function waitThenConnect(seconds: number): void {
  store.retryIn.value = Math.ceil(seconds);
  setTimeout(connect, seconds * 1000);
}

// ---- solutions: sent with every edit, and requested at intervals for moving bodies -----------------------

const REFRESH_MS = 400;
const STRANDS = 14;

// True where freedoms do not separate or follow a free form: they are drawn as strands, which the server computes.
function needsPaths(object: string): boolean {
  const solution = store.solutions.peek().get(object);
  const branch = solution?.branches.find((b) => b.id === solution.branch);
  return !!branch && (branch.kind !== 'separable' || isFreeForm(branch));
}

async function refreshSolution(object: string): Promise<void> {
  const known = store.solutions.peek().get(object);
  if (!known) return;
  try {
    const query = needsPaths(object) ? `?strands=${STRANDS}` : '';
    const { value, revision } = await callWithRevision<Solution>(`/solutions/${enc(object)}${query}`);
    // an answer of another revision does not fit the store; the stream will bring a newer one
    if (revision !== store.revision.peek() || JSON.stringify(value) === JSON.stringify(known)) return;
    store.solutions.value = new Map(store.solutions.peek()).set(object, value);
  } catch {
    // the object may have been deleted
  }
}

export function keepSolutions(): void {
  let timer = 0;
  effect(() => {
    const object = store.shownObject.value;
    const running = store.runState.value === 'running';
    clearInterval(timer);
    if (!object || store.connection.value !== 'open') return;
    void refreshSolution(object);
    if (running) timer = window.setInterval(() => void refreshSolution(object), REFRESH_MS);
  });
  effect(() => {
    store.revision.value;
    if (needsPaths(store.shownObject.value)) void refreshSolution(store.shownObject.peek());
  });
}

// ---- features: fetched per object, again when its geometry or stated features change --------------

const keys = new Map<string, string>();

function keyOf(id: string): string {
  const scene = store.scene.peek();
  const stated = (scene.features ?? []).filter((f) => f.id.startsWith(`${id}/`));
  return JSON.stringify([store.objectOf(id)?.geometry, stated]);
}

// Fetches the features of an object, unless they are in the store or requested.
export async function needFeatures(id: string): Promise<void> {
  if (!id || !store.objectOf(id)) return;
  const key = keyOf(id);
  if (keys.get(id) === key || (store.shaping.value === id && store.features.peek().has(id))) return;
  keys.set(id, key);
  try {
    const list = await call<Feature[]>('GET', `/features?object=${enc(id)}`);
    store.features.value = new Map(store.features.peek()).set(id, list);
  } catch {
    keys.delete(id);
  }
}

const PREFETCH = 24;

export function keepFeatures(): void {
  effect(() => {
    const now = store.scene.value;
    const known = store.features.peek();
    for (const id of known.keys()) if (!now.objects.some((o) => o.id === id)) forget(id);
    now.objects.forEach((o, i) => {
      if (i < PREFETCH || known.has(o.id)) void needFeatures(o.id);
    });
    for (const c of now.constraints ?? []) for (const ref of [c.a, c.b]) void needFeatures(store.splitRef(ref)[0]);
  });
}

function forget(id: string): void {
  keys.delete(id);
  const left = new Map(store.features.peek());
  left.delete(id);
  store.features.value = left;
}

// Fetches the devices' properties, which are not in the scene, when the devices change.
export function keepDevices(): void {
  let known = '';
  effect(() => {
    const key = JSON.stringify(store.devices.value.map((d) => [d.id, d.driver, d.settings]));
    if (key === known || store.connection.value !== 'open') return;
    known = key;
    void call<(Device & { info: DeviceInfo })[]>('GET', '/devices').then(
      (list) => {
        store.deviceDetails.value = new Map(list.map((d) => [d.id, d.info]));
      },
      () => undefined,
    );
  });
}
