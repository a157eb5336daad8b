// One value of a large scene changed by REST: how long it takes from the request to the event that
// says the edit is in effect, on a scene of 1000 boxes with contacts on. One CSV row a kind of value
// and run state; `detectors` is how many collision detectors the edits built (metric
// guideway_detectors_built_total, empty where the binary does not tell it).
//
//   GUIDEWAY=build/guideway node tests/bench/edit.mjs [EDITS]
import { request, sleep, start, stream } from '../api/server.mjs';

const EDITS = Number(process.argv[2] ?? 40),
  BOXES = 1000,
  PAUSE_MS = 60;
const at = (p) => ({ p, q: [1, 0, 0, 0] });
const box = (id, p, more = {}) => ({ id, geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, pose: at(p), ...more });
const place = (i) => [0.3 * (i % 32), 0.3 * Math.floor(i / 32), 0.05];
const objects = [{ id: 'floor', geometry: { type: 'box', size: [20, 20, 0.1] }, pose: at([5, 5, -0.05]), fixed: true }];
for (let i = 1; i < BOXES; i++)
  objects.push(box(`b${i}`, place(i), i < 40 ? { free: true, material: 'wood' } : i < 900 ? { fixed: true } : {}));
const scene = {
  format: 'guideway-scene/1',
  name: 'many boxes',
  gravity: [0, 0, -9.81],
  objects,
  materials: [{ id: 'wood', friction: 0.4 }],
  contact: { enabled: true },
  tool: { object: 'b999', device: 'sim', control: 'admittance' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

// each gives another value every time; `run` says in which state it is a value at all
const edits = {
  'pose of a fixed object': (k) => ['/objects/b500', { pose: at([...place(500).slice(0, 2), 0.05 + 1e-3 * k]) }],
  'pose of a free object': (k) => ['/objects/b20', { pose: at([...place(20).slice(0, 2), 0.06 + 1e-3 * k]) }],
  'pose of an object that stays': (k) => ['/objects/b950', { pose: at([...place(950).slice(0, 2), 0.06 + 1e-3 * k]) }],
  'pose of the held object': (k) => ['/objects/b999', { pose: at([...place(999).slice(0, 2), 0.2 + 1e-3 * k]) }],
  'friction of a material': (k) => ['/materials/wood', { friction: 0.3 + 1e-3 * k }],
  'setting of a device': (k) => ['/devices/sim', { settings: { bandwidth: 20 + 0.1 * k } }],
  'limit of a tool': (k) => ['/tool', { limits: { force: 20 + k } }],
};

const server = await start();
const ask = async (method, path, body) => {
  const reply = await request(server, method, path.startsWith('/metrics') ? path : `/api/v1${path}`, body);
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 300)}`);
  return reply;
};
const built = async () =>
  Number(/^guideway_detectors_built_total (\S+)$/m.exec((await ask('GET', '/metrics')).text)?.[1]);
const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
const live = stream(server);
await live.opened;
await ask('PUT', '/scene', scene);

async function measure(state, name, edit) {
  const event_ms = [],
    reply_ms = [],
    before = await built();
  for (let k = 1; k <= EDITS; k++) {
    const [path, body] = edit(k);
    await sleep(PAUSE_MS);
    const from = performance.now();
    const reply = await ask('PATCH', path, body);
    reply_ms.push(performance.now() - from);
    const revision = Number(/\d+/.exec(reply.headers.etag)[0]);
    const event = await live.wait('event', (m) => m.event.kind === 'active' && m.event.revision === revision);
    event_ms.push(event.at - from);
    live.messages.length = live.frames.length = 0;
  }
  for (const list of [event_ms, reply_ms]) list.sort((a, b) => a - b);
  const ms = (list, q) => quantile(list, q).toFixed(2);
  const detectors = (await built()) - before;
  console.log(
    [
      name,
      state,
      EDITS,
      ms(event_ms, 0.5),
      ms(event_ms, 0.99),
      ms(reply_ms, 0.5),
      ms(reply_ms, 0.99),
      Number.isNaN(detectors) ? '' : detectors,
    ].join(','),
  );
}

console.log('value,state,edits,event_ms_p50,event_ms_p99,reply_ms_p50,reply_ms_p99,detectors');
for (const state of ['stopped', 'running']) {
  await ask('PUT', '/simulation', { state });
  for (const [name, edit] of Object.entries(edits)) await measure(state, name, edit);
}
await live.close();
await server.stop();
process.exit(0);
