// A server of a test file's own, with a stream of everything where the tests watch it run; what they
// ask of a running simulation, and the boxes that scenes are made of.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { client, start, stream } from './server.mjs';

export let server, call, expect, contract, live;

// Once, at the head of a file: set up before its tests, taken down after them.
export function serve({ watched = true } = {}) {
  before(async () => {
    server = await start();
    ({ call, expect, contract } = await client(server));
    live = watched ? stream(server) : undefined;
    await live?.opened;
  });
  after(async () => {
    await live?.close();
    await server?.stop();
  });
}

export const run = (state) => expect(200, 'PUT', '/simulation', { state });
export const now = async () => (await expect(200, 'GET', '/simulation')).json;
export const tool = async () => (await now()).tools[0];
export const events = async (kind) => (await expect(200, 'GET', '/events')).json.filter((e) => e.kind === kind);
export const box = (id, p, more = {}) => ({
  id,
  geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
  pose: { p, q: [1, 0, 0, 0] },
  ...more,
});
export const near = (a, b, tolerance) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);
