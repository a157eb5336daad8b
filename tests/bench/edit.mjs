// The time from a REST request that changes one value to the event that says the edit is in effect,
// on a scene of 1000 boxes with contacts on. One CSV row per kind of value and run state;
// `detectors` is the number of collision detectors that the edits built (metric
// guideway_detectors_built_total, empty if the binary does not have it). Fails if a median time to
// the event is above 10 ms, or if a detector was built.
//
//   GUIDEWAY=build/guideway node tests/bench/edit.mjs [EDITS]
import { manyBoxes, valuesOfMany } from '../api/many.mjs';
import { request, sleep, start, stream } from '../api/server.mjs';

const EDITS = Number(process.argv[2] ?? 40),
  LIMIT_MS = 10,
  PAUSE_MS = 60;

const server = await start();
const ask = async (method, path, body) => {
  const reply = await request(server, method, path.startsWith('/metrics') ? path : `/api/v1${path}`, body);
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 300)}`);
  return reply;
};
const built = async () =>
  Number(/^guideway_detectors_built_total (\S+)$/m.exec((await ask('GET', '/metrics')).text)?.[1]);
const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
const missed = [];
const live = stream(server);
await live.opened;
await ask('PUT', '/scene', manyBoxes);

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
  if (quantile(event_ms, 0.5) > LIMIT_MS || detectors > 0) missed.push(`${name}, ${state}`);
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
  for (const [name, edit] of Object.entries(valuesOfMany)) await measure(state, name, edit);
}
await live.close();
await server.stop();
for (const row of missed) console.error(`${row}: more than ${LIMIT_MS} ms in the median, or a detector built`);
process.exit(missed.length > 0 ? 1 : 0);
