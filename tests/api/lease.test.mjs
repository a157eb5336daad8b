// Force at a latched device has one operator, who renews a lease: without it everything there is off.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client, sleep, start, stream, until } from './server.mjs';

let server, expect, live;
const PULL = { op: 'drag', tool: 0, point: [0, 0, 0], target: [0.1, 0, 0.4] };

before(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  ({ expect } = await client(server));
  live = stream(server);
  await live.wait('hello');
});
after(async () => {
  await live?.close();
  await server?.stop();
});

const now = async () => (await expect(200, 'GET', '/simulation')).json;
const operators = (of = live) =>
  of.messages.filter((m) => m.op === 'event' && m.event.kind === 'lease').map((m) => m.event.message);

async function run(safety) {
  await expect(200, 'POST', '/simulation/arm');
  await expect(200, 'PATCH', '/devices/sim', { safety });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
}

// Sends it every 40 ms; nothing is known of the lease where a busy machine stretched that.
async function renewing(of, message, ms) {
  let last = performance.now();
  for (const end = last + ms; performance.now() < end; await sleep(40)) {
    of.send(message);
    if (performance.now() - last > 220) throw stalled;
    last = performance.now();
  }
}

// Runs a test of a latched device until the machine did not stall: a stall turns the device off too.
const stalled = new Error('the machine stalled every time');
async function latched(act) {
  for (let tries = 0; tries < 15; tries++) {
    await free();
    await run('latched');
    try {
      return await act();
    } catch (error) {
      const { halt } = await now();
      const late = operators().some((m) => m.includes('not renewed'));
      if (error !== stalled && !late && !['overrun', 'watchdog'].includes(halt?.cause)) throw error;
      live.messages.length = 0;
      live.send({ op: 'release', tool: 0 });
    }
  }
  throw stalled;
}

async function haltedBy(cause) {
  const s = await until('a halt', async () => {
    const s = await now();
    return s.halted && s;
  });
  assert.deepEqual([s.halt.cause, s.state], [cause, 'paused']);
  return s;
}

const free = () => until('nobody operates', async () => (await now()).operator === undefined);

test('a lenient device asks for no lease: a drag holds as long as nobody lets go', async () => {
  await run('lenient');
  live.send(PULL);
  await until('the drag', async () => (await now()).tools[0].dragging);
  await sleep(600);
  const s = await now();
  assert.deepEqual([s.halted, s.tools[0].dragging, s.operator], [false, true, undefined]);
  live.send({ op: 'release', tool: 0 });
  await until('its end', async () => !(await now()).tools[0].dragging);
  assert.deepEqual(operators(), []);
});

test('who drags at a latched device operates it, everyone is told, and no second one may', { timeout: 120000 }, () =>
  latched(async () => {
    const other = stream(server);
    await other.wait('hello');
    const held = renewing(live, PULL, 1200);
    const { operator } = await until('an operator', async () => (await now()).operator && now());
    assert.match(operator.by, /^stream 127\.0\.0\.1:\d+$/);
    assert.ok(Math.abs(Date.parse(operator.since) - Date.now()) < 5000, operator.since);
    await other.wait('event', (m) => m.event.kind === 'lease' && m.event.message === `${operator.by} operates.`);
    other.send({ op: 'push', tool: 0, force: [1, 0, 0], id: 'push' });
    other.send({ op: 'lease', id: 'lease' });
    for (const id of ['push', 'lease']) {
      const refused = await other.wait('error', (m) => m.id === id);
      assert.ok(refused.detail.includes(operator.by), refused.detail);
    }
    await held;
    assert.equal((await now()).halted, false, 'renewed for longer than a lease lasts');
    live.send({ op: 'release', tool: 0 });
    await free();
    await sleep(400);
    assert.equal((await now()).halted, false, 'given back in order');
    await other.close();
  }),
);

test('a drag that is not renewed is the dead man: off, told, latched, and let go of', { timeout: 120000 }, async () => {
  await latched(async () => {
    live.send(PULL);
    const s = await haltedBy('dead-man');
    const told = await live.wait('event', (m) => m.event.kind === 'halted' && m.event.cause === 'dead-man');
    assert.match(told.event.by, /^stream 127/);
    assert.equal(s.halt.by, told.event.by);
    await free();
    await expect(409, 'PUT', '/simulation', { state: 'running' });
  });
  await latched(async () => {
    await sleep(300);
    const then = await now();
    assert.deepEqual([then.halted, then.tools[0].dragging], [false, false]);
  });
});

test('a push of nothing ends in order, a push that stays out is the dead man', { timeout: 120000 }, async () => {
  await latched(async () => {
    await renewing(live, { op: 'push', tool: 0, force: [1, 0, 0] }, 500);
    live.send({ op: 'push', tool: 0, force: [0, 0, 0] });
    await free();
    await sleep(400);
    assert.equal((await now()).halted, false);
  });
  await latched(async () => {
    live.send({ op: 'push', tool: 0, force: [1, 0, 0] });
    await haltedBy('dead-man');
  });
});

test('a lease that was asked for is kept by its message alone, and ends in order or by going away', {
  timeout: 120000,
}, async () => {
  for (const goes of [false, true])
    await latched(async () => {
      const other = stream(server);
      await other.wait('hello');
      other.send(PULL);
      await renewing(other, { op: 'lease' }, 700);
      let s = await now();
      assert.deepEqual([s.halted, s.tools[0].dragging], [false, true]);
      other.send({ op: 'release', tool: 0 });
      await renewing(other, { op: 'lease' }, 400);
      s = await now();
      assert.ok(s.operator && !s.halted, 'kept without a drag');
      if (goes) {
        await other.close();
        await haltedBy('dead-man');
        return;
      }
      other.send({ op: 'lease', on: false });
      await free();
      await sleep(400);
      assert.equal((await now()).halted, false);
      await other.close();
    });
});

test('a latched device that a scene moves by itself runs without an operator', () =>
  latched(async () => {
    await sleep(500);
    const s = await now();
    assert.deepEqual([s.halted, s.operator], [false, undefined]);
  }));

// The double pendulum hangs on the tool's handle: its bodies are dragged by name, and move the device all the same.
const opened = async (scene) => {
  await expect(200, 'POST', '/simulation/arm');
  await expect(200, 'POST', '/scene/open', { scene });
};
const PULL_JOINED = { op: 'drag', object: 'upper', point: [0, 0, 0], target: [0.2, 0, 0.3] };
const dragged = async () => (await now()).bodies.find((b) => b.object === 'upper').dragging;

test('what is joined to a latched device is dragged and pushed by its operator alone', {
  timeout: 120000,
}, async () => {
  const other = stream(server);
  await other.wait('hello');
  await opened('double-pendulum');
  await latched(async () => {
    const held = renewing(live, { op: 'lease' }, 800);
    const { operator } = await until('an operator', async () => (await now()).operator && now());
    other.messages.length = 0;
    other.send({ ...PULL_JOINED, id: 'drag' });
    other.send({ ...PULL_JOINED, object: 'grip', id: 'held' });
    other.send({ op: 'push', object: 'lower', force: [1, 0, 0], id: 'push' });
    other.send({ op: 'clutch', tool: 0, on: true, id: 'clutch' });
    for (const id of ['drag', 'held', 'push', 'clutch']) {
      const refused = await other.wait('error', (m) => m.id === id);
      assert.ok(refused.detail.includes(operator.by), refused.detail);
    }
    await held;
    const s = await now();
    assert.deepEqual([s.tools[0].clutched, s.bodies.some((b) => b.dragging)], [false, false]);
    live.send({ op: 'lease', on: false });
    await free();
  });
  await other.close();
});

test('a drag of what is joined to a latched device takes the lease, and not renewed is the dead man', {
  timeout: 120000,
}, async () => {
  await latched(async () => {
    await renewing(live, PULL_JOINED, 600);
    const s = await now();
    assert.ok(s.operator && !s.halted && (await dragged()), 'renewed for longer than a lease lasts');
    live.send({ op: 'release', object: 'upper' });
    await free();
    await sleep(400);
    assert.equal((await now()).halted, false, 'given back in order');
  });
  await latched(async () => {
    live.send(PULL_JOINED);
    await haltedBy('dead-man');
  });
  await latched(async () => {
    await sleep(100);
    assert.equal(await dragged(), false, 'let go of');
  });
  await opened('cone-on-cylinder');
});
