// The REST calls, with the token where the server asks for one.
import type { Problem } from '../protocol';

// An error answered by the server, in words.
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(Refused.words(problem));
  }
  static words(problem: Problem): string {
    const first = problem.errors?.[0]?.detail;
    const conflict = problem.conflict ?? problem.solution?.conflict;
    return conflict?.message || problem.detail || first || problem.title || 'The server refused.';
  }
}

let token = recall();

function recall(): string {
  try {
    return sessionStorage.getItem('guideway.token') ?? '';
  } catch {
    return '';
  }
}

export function setToken(text: string): void {
  token = text;
  try {
    sessionStorage.setItem('guideway.token', text);
  } catch {
    // where storage is refused, the token is asked for again after a reload
  }
}

export const currentToken = (): string => token;

async function problemOf(reply: Response): Promise<Problem> {
  try {
    return { ...(await reply.json()), status: reply.status } as Problem;
  } catch {
    return { status: reply.status, title: `The server answered ${reply.status}.` };
  }
}

async function send(method: string, path: string, body?: unknown, key?: string): Promise<Response> {
  const headers: Record<string, string> = {};
  const file = body instanceof ArrayBuffer;
  if (body !== undefined) headers['Content-Type'] = file ? 'application/octet-stream' : 'application/json';
  if (token) headers.Authorization = `Bearer ${token}`;
  if (key) headers['Idempotency-Key'] = key;
  let reply: Response;
  try {
    reply = await fetch(`/api/v1${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : file ? body : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, { status: 0, title: 'The appliance does not answer.' });
  }
  if (!reply.ok) throw new Refused(reply.status, await problemOf(reply));
  if (isQueued(method, path, body) && !/^\/scene(s|\/save)/.test(path)) own = Math.max(own, revisionOf(reply) || 0);
  return reply;
}

// Requests that change the scene are sent in order, one at a time: a browser uses several connections, and Undo must
// take back the last edit. Requests that only read, and HALT, do not wait.
let queue: Promise<unknown> = Promise.resolve();
let waiting = 0;

const isQuestion = (path: string, body: unknown): boolean =>
  path.includes('dryRun') || (path === '/assemble' && !(body as { commit?: boolean }).commit);

const ECHO_MS = 500; // the echo has arrived by then
let changing = 0; // requests waiting or under way
let changed = -ECHO_MS; // when the last one ended
let own = 0; // the newest revision made by this page

const revisionOf = (reply: Response): number => Number.parseInt(reply.headers.get('ETag')?.slice(1) ?? '', 10);

// True where a change that arrives by the stream may be this page's own.
export const mayBeOurs = (revision: number): boolean =>
  changing > 0 || revision === own || performance.now() < changed + ECHO_MS;

const isQueued = (method: string, path: string, body: unknown): boolean =>
  method !== 'GET' && path !== '/simulation/halt' && !isQuestion(path, body);

// Runs `work`, which may send several requests by `direct`, in its turn among them; later requests wait.
export function inTurn<T>(work: () => Promise<T>): Promise<T> {
  waiting++;
  changing++;
  const turn = queue.then(() => {
    waiting--;
    return work();
  });
  queue = turn
    .catch(() => undefined)
    .then(() => {
      changing--;
      changed = performance.now();
    });
  return turn;
}

// True where a request waits for the one under way.
export const isAwaited = (): boolean => waiting > 0;

function request(method: string, path: string, body?: unknown, key?: string): Promise<Response> {
  return isQueued(method, path, body) ? inTurn(() => send(method, path, body)) : send(method, path, body, key);
}

// Sends at once: for `work` in its turn.
export async function direct<T>(method: string, path: string, body: unknown): Promise<T> {
  return (await (await send(method, path, body)).json()) as T;
}

// `key`: the Idempotency-Key of a halt.
export async function call<T>(method: string, path: string, body?: unknown, key?: string): Promise<T> {
  const reply = await request(method, path, body, key);
  return (reply.status === 204 ? undefined : await reply.json()) as T;
}

// Returns the Location of what a POST made.
export const callForPlace = async (path: string, body: unknown): Promise<string> =>
  (await request('POST', path, body)).headers.get('Location') ?? '';

export const file = async (path: string): Promise<Blob> => (await request('GET', path)).blob();

// Offers a file to the person for download.
export function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Returns the revision that an edit made.
export const callForRevision = async (method: string, path: string, body: unknown): Promise<number> =>
  revisionOf(await request(method, path, body));

// Returns a part of the document and its revision.
export async function callWithRevision<T>(
  path: string,
  method = 'GET',
  body?: unknown,
): Promise<{ value: T; revision: number }> {
  const reply = await request(method, path, body);
  return { value: (await reply.json()) as T, revision: revisionOf(reply) };
}

export const enc = encodeURIComponent;
export const featurePath = (ref: string): string => ref.split('/').map(enc).join('/');
