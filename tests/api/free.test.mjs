// Free objects that constraints to fixed ones guide: made, edited and moved while they run, over REST.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { box, events, expect, live, near, now, run, serve } from './running.mjs';
import { until } from './server.mjs';

serve();

const line = (point) => ({ line: { point, direction: [0, 0, 1] } });
const scene = {
  format: 'guideway-scene/1',
  name: 'loose things',
  gravity: [0, -9.81, 0],
  objects: [box('wall', [0, 0, 0], { fixed: true }), box('door', [0.1, 0, 0.1], { free: true, body: { mass: 1 } })],
  features: [
    { id: 'wall/pin', ...line([0, 0, 0]) },
    { id: 'door/pin', ...line([-0.1, 0, 0]) },
  ],
  constraints: [],
};
const hinge = { id: 'hinge', type: 'coincident', a: 'door/pin', b: 'wall/pin', sense: 'same' };
const level = { id: 'level', type: 'coincident', a: 'door/-z', b: 'wall/+z', sense: 'opposite' };
// where clients see an object, once there is a frame that is newer
async function place(id) {
  const from = live.frames.length,
    index = (await expect(200, 'GET', '/objects')).json.filter((o) => !o.fixed).findIndex((o) => o.id === id);
  await until('a newer frame', () => live.frames.length > from + 2);
  return live.frames.at(-1).poses[index].p;
}

test('a falling box becomes a door while it runs, swings, and keeps to its hinge', async () => {
  await expect(200, 'PUT', '/scene', scene);
  await run('running');
  await until('it falls', async () => (await place('door'))[1] < -0.01);
  await expect(201, 'POST', '/constraints', hinge);
  await expect(201, 'POST', '/constraints', level);
  const solution = (await expect(200, 'GET', '/solutions/door')).json;
  assert.equal(solution.dof, 1);
  assert.match(solution.words, /^1 freedom: turns about/);
  assert.equal(solution.state, 'under');
  await until(
    'it is brought there',
    async () => {
      const [b] = (await now()).bodies;
      return b && !b.travelling;
    },
    60000,
  );
  const arrived = await until('that is told', async () => (await events('settled')).at(-1));
  assert.equal(arrived.message, 'door has arrived on its constraints.');
  const [body] = await until('it swings on its hinge, which carries it', async () => {
    const b = (await now()).bodies;
    return b.length && Math.abs(b[0].twist.w[2]) > 1 && Math.hypot(...b[0].constraint.force) > 1 && b;
  });
  assert.equal(body.object, 'door');
  near(body.twist.v[2], 0, 1e-12);
  for (let i = 0; i < 20; i++) near(Math.hypot(...(await place('door')).slice(0, 2)), 0.1, 1e-6);
});

test('what is redundant or contradicts is told, a constraint that is switched off lets it fall', async () => {
  await expect(201, 'POST', '/constraints', { id: 'again', type: 'parallel', a: 'door/pin', b: 'wall/pin' });
  assert.deepEqual(
    (await expect(200, 'GET', '/solutions/door')).json.redundant.map((r) => r.id),
    ['again'],
  );
  await expect(204, 'DELETE', '/constraints/again');
  const clash = (
    await expect(422, 'POST', '/constraints', {
      id: 'clash',
      type: 'distance',
      a: 'door/-z',
      b: 'wall/+z',
      value: 0.1,
      sense: 'opposite',
    })
  ).json;
  assert.equal(clash.status, 'incompatible');
  assert.equal(clash.object, 'door');
  assert.equal((await expect(200, 'GET', '/solutions/door')).json.dof, 1);
  await expect(200, 'PATCH', '/constraints/hinge', { enabled: false });
  await until('it leaves its hinge', async () => {
    const [x, y] = await place('door');
    return Math.hypot(x, y) > 0.2;
  });
  near((await place('door'))[2], 0.1, 1e-6); // still level
});

test('it goes along with geometry that moves, and where an edit says', async () => {
  await run('stopped');
  await run('running');
  await expect(200, 'PATCH', '/constraints/hinge', { enabled: true });
  await expect(200, 'PATCH', '/features/wall/pin', line([0.05, 0, 0]));
  await until('its pin has moved', async () => {
    const [x, y] = await place('door');
    return Math.abs(Math.hypot(x - 0.05, y) - 0.1) < 1e-6;
  });
  assert.equal((await events('left-behind')).length, 0);
  await expect(200, 'PATCH', '/objects/door', { pose: { p: [0.15, 0.01, 0.1] }, body: { damping: { angular: 0.2 } } });
  await until('it hangs still', async () => {
    const [x, y] = await place('door');
    return Math.abs(x - 0.05) < 1e-3 && y < -0.09;
  });
});

test('a wall that is pushed aside sets its door swinging, by inertia', async () => {
  await expect(200, 'PATCH', '/objects/door', { body: { damping: { angular: 0.01 } } });
  const still = await until('it hangs still', async () => {
    const [b] = (await now()).bodies;
    return Math.abs(b.twist.w[2]) < 0.02 && b;
  });
  near(still.twist.v[0], 0, 0.01);
  await expect(200, 'PATCH', '/objects/wall', { pose: { p: [0.2, 0, 0], q: [1, 0, 0, 0] } });
  await until('it stays behind', async () => (await now()).bodies[0].twist.w[2] < -0.3);
  await until('it goes along', async () => {
    const [x, y] = await place('door');
    return Math.abs(Math.hypot(x - 0.25, y) - 0.1) < 1e-6;
  });
  assert.equal((await events('left-behind')).length, 0);
});

test('a body that nothing holds is told as well, exactly', async () => {
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'a throw',
    gravity: [0, 0, -10],
    contact: {},
    objects: [
      { id: 'ball', geometry: { type: 'sphere', radius: 0.05 }, free: true, velocity: { v: [1, 0, 2], w: [0, 0, 3] } },
    ],
  });
  await run('paused');
  await expect(200, 'POST', '/simulation/step', { ticks: 500 });
  const [ball] = (await now()).bodies;
  assert.equal(ball.object, 'ball');
  [0.5, 0, -0.25].forEach((x, i) => near(ball.pose.p[i], x, 1e-12));
  near(ball.pose.q[3], Math.sin(0.75), 1e-12);
  [1, 0, -3].forEach((x, i) => near(ball.twist.v[i], x, 1e-12));
  near(ball.twist.w[2], 3, 1e-12);
});

test('a free object takes another of its branches', async () => {
  await expect(200, 'PUT', '/scene', {
    ...scene,
    gravity: [0, 0, 0],
    features: [
      { id: 'wall/near', point: [0, 0, 0] },
      { id: 'wall/far', point: [0.3, 0, 0] },
      { id: 'door/mark', point: [0, 0, 0] },
    ],
    constraints: [
      { id: 'line', type: 'coincident', a: 'door/mark', b: 'wall/axis-y' },
      { id: 'apart', type: 'distance', a: 'door/mark', b: 'wall/near', value: 0.2 },
    ],
  });
  await run('running');
  const { branches, branch } = (await expect(200, 'GET', '/solutions/door')).json;
  assert.equal(branches.length, 2);
  const before = await place('door'),
    other = branches.find((b) => b.id !== branch);
  await expect(200, 'PATCH', '/solutions/door', { branch: other.id });
  await until('the other side', async () => Math.abs((await place('door'))[1] + before[1]) < 1e-6);
});

test('a free box that a tool takes hold of is held, and falls on when it is let go', async () => {
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'Taken',
    gravity: [0, 0, -10],
    objects: [box('crate', [0, 0, 1], { free: true, body: { mass: 1 } })],
    devices: [{ id: 'sim', driver: 'sim' }],
  });
  await expect(200, 'PUT', '/simulation', { state: 'paused' });
  const step = (ticks) => expect(200, 'POST', '/simulation/step', { ticks });
  await step(100);
  await expect(201, 'PUT', '/tool', { object: 'crate', device: 'sim' });
  await step(1);
  assert.equal((await now()).tools[0].object, 'crate');
  assert.equal((await now()).bodies.length, 0);
  await step(99);
  const before = (await now()).tools[0];
  await expect(204, 'DELETE', '/tool');
  await step(1);
  const {
    bodies: [crate],
    energy,
  } = await now();
  near(crate.twist.v[2], before.twist.v[2] - 0.01, 1e-9);
  near(
    energy.kinetic + energy.potential,
    energy.initial + energy.work_in + energy.motors + energy.edits - energy.dissipated,
    1e-9,
  );
});

test('what is joined to a free object goes along with its mass, free or not', async () => {
  const door = (more) => ({ ...scene, constraints: [hinge, level], ...more });
  const wing = (more) =>
    door({
      objects: [...scene.objects, box('wing', [0.2, 0, 0.1], { body: { mass: 3 }, ...more })],
      constraints: [
        hinge,
        level,
        { id: 'x', type: 'coincident', a: 'wing/-x', b: 'door/+x', sense: 'opposite' },
        { id: 'y', type: 'coincident', a: 'wing/-y', b: 'door/-y', sense: 'same' },
        { id: 'z', type: 'coincident', a: 'wing/-z', b: 'door/-z', sense: 'same' },
      ],
    });
  // what falls through the angle a about the pin: I w^2 / 2 = m g r sin a
  const inertia = (mass, r) => mass * (0.01 / 6 + r * r);
  const fall = async (given) => {
    await expect(200, 'PUT', '/scene', given);
    await run('paused');
    await expect(200, 'POST', '/simulation/step', { ticks: 200 });
    const { pose, twist } = (await now()).bodies.find((b) => b.object === 'door');
    return twist.w[2] ** 2 / 2 / 9.81 / (-pose.p[1] / 0.1); // m r / I
  };
  const alone = 0.1 / inertia(1, 0.1),
    both = (0.1 + 3 * 0.2) / (inertia(1, 0.1) + inertia(3, 0.2));
  near((await fall(door({}))) / alone, 1, 1e-9);
  for (const more of [{}, { free: true }]) near((await fall(wing(more))) / both, 1, 1e-9);
  near((await fall(wing({ massless: true }))) / alone, 1, 1e-9);
  await expect(200, 'PUT', '/scene', { ...scene, constraints: [hinge, level] });
  await expect(201, 'POST', '/objects', box('wing', [0.3, 0, 0.1], { free: true }));
  await expect(201, 'POST', '/constraints', { id: 'c', type: 'coincident', a: 'wing/-x', b: 'door/+x' });
  assert.match((await expect(400, 'PATCH', '/objects/wing', { massless: true })).json.errors[0].detail, /is free/);
});
