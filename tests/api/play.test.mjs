// A script that edits whatever there is: bases, features, constraints, mechanisms, motors, tools, control, materials,
// contacts, gravity, devices, undo and redo, hands that push and let go. Whatever it does, every answer is one of the
// specification, revisions count, a refused edit changes nothing, energy is balanced, nothing jumps. Between edits it steps, so
// that a seed plays the same on every machine; GUIDEWAY_PLAY_RUNNING plays while it runs. GUIDEWAY_PLAY_EDITS and
// GUIDEWAY_PLAY_SEED play longer, or another way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generator } from './random.mjs';
import { client, sanitized, sleep, start, stream, until } from './server.mjs';

const EDITS = Number(process.env.GUIDEWAY_PLAY_EDITS ?? (sanitized ? 60 : 500)),
  seed = Number(process.env.GUIDEWAY_PLAY_SEED ?? 1);
const RUNNING = Boolean(process.env.GUIDEWAY_PLAY_RUNNING);
const SCENES = ['door-and-drawer', 'ur5', 'tray', 'four-bar', 'cover-and-base', 'paper-circle', 'sphere'];

const { random, pick, chance } = generator(seed);
const spread = (r) => r * (2 * random() - 1),
  vec = (r) => [spread(r), spread(r), spread(r)];
const turned = () => {
  const a = vec(0.3),
    n = Math.hypot(1, ...a);
  return [1 / n, ...a.map((x) => x / n)];
};
const nudged = ({ p, q }) => ({ p: p.map((x) => x + spread(0.03)), q: chance(0.6) ? q : turned() });
const link = () => ({
  joint: { type: pick(['revolute', 'prismatic']), damping: 0.05, origin: { p: vec(0.1), q: turned() } },
  geometry: { type: 'box', size: [0.05, 0.02, 0.02] },
});

// Edits of a scene as it is now; undefined where there is nothing to edit.
const edits = [
  (s) => {
    const o = pick(s.fixed);
    return o && ['PATCH', `/objects/${o.id}`, { pose: nudged(o.pose) }];
  },
  (s) => {
    const o = pick(s.loose);
    return (
      o && [
        'PATCH',
        `/objects/${o.id}`,
        pick([
          { body: { mass: 0.2 + 3 * random() } },
          { body: { damping: { linear: 3 * random(), angular: 0.05 * random() } } },
        ]),
      ]
    );
  },
  (s) => {
    const { id, ...element } = structuredClone(pick(s.features) ?? {}),
      [kind] = Object.keys(element);
    if (!id) return undefined;
    const at = element[kind].point ?? element[kind],
      moved = at.map((x) => x + spread(0.02));
    return [
      'PATCH',
      `/features/${id}`,
      { [kind]: Array.isArray(element[kind]) ? moved : { ...element[kind], point: moved } },
    ];
  },
  (s) => {
    const c = pick(s.constraints);
    return c && ['PATCH', `/constraints/${c.id}`, { enabled: chance(0.7) }];
  },
  (s) => {
    const c = pick(s.constraints.filter((k) => k.value !== undefined));
    return c && ['PATCH', `/constraints/${c.id}`, { value: c.value + spread(0.02) }];
  },
  () => [
    'POST',
    '/objects',
    {
      id: pick(['n1', 'n2']),
      geometry: pick([
        { type: 'box', size: [0.03, 0.04, 0.05] },
        { type: 'sphere', radius: 0.02 },
      ]),
      pose: { p: vec(0.3), q: turned() },
      ...pick([{ fixed: true }, { free: true }]),
    },
  ],
  () => ['DELETE', `/objects/${pick(['n1', 'n2'])}`],
  () => [
    'POST',
    '/mechanisms',
    { id: pick(['m1', 'm2']), base: { p: vec(0.4), q: turned() }, links: [link(), link()] },
  ],
  (s) => {
    const m = pick(s.mechanisms);
    return m && ['PATCH', `/mechanisms/${m.id}`, { base: nudged(m.base) }];
  },
  (s) => {
    const m = pick(s.mechanisms);
    return m && ['POST', `/mechanisms/${m.id}/links`, link()];
  },
  (s) => {
    const m = pick(s.mechanisms);
    return m && ['DELETE', `/mechanisms/${m.id}/links/${m.links.length - 1}`];
  },
  (s) => {
    const m = pick(s.mechanisms);
    return (
      m && [
        'PUT',
        `/mechanisms/${m.id}/joints/0/motor`,
        { torque: spread(0.3), target: spread(1), stiffness: 5 * random(), damping: random(), max: 3 },
      ]
    );
  },
  (s) => {
    const m = pick(s.mechanisms);
    return (
      m && [
        'PATCH',
        `/mechanisms/${m.id}/links/0`,
        { joint: pick([{ damping: random() }, { friction: 0.1 * random() }]) },
      ]
    );
  },
  (s) => {
    const m = pick(s.mechanisms);
    return (
      m &&
      s.tool && [
        'PUT',
        '/tool',
        { ...s.tool, object: undefined, mechanism: m.id, link: Math.floor(random() * m.links.length) },
      ]
    );
  },
  () => [
    'PATCH',
    '/tool',
    pick([
      { control: pick(['impedance', 'penalty', 'coupling', 'four-channel']) },
      { at: { p: vec(0.03), q: [1, 0, 0, 0] } },
      { limits: { force: 5 + 20 * random() } },
      { limits: null },
    ]),
  ],
  () => [
    'POST',
    '/materials',
    { id: 'rubber', restitution: random(), friction: random(), stiffness: 1e4, damping: 10 },
  ],
  () => [
    'PATCH',
    '/contact',
    pick([
      { friction: pick(['creep', 'stick']) },
      { impulse: pick(['pseudo-inverse', 'non-adhesive']) },
      { model: pick(['exact', 'local']) },
      { rate: pick([100, 200]) },
    ]),
  ],
  () => ['PATCH', '/scene', { gravity: pick([[0, 0, 0], [0, 0, -9.81], vec(5)]) }],
  () => ['POST', `/scene/${pick(['undo', 'undo', 'redo'])}`],
  (s) => {
    const d = pick(s.devices);
    return (
      d && [
        'PUT',
        `/devices/${d.id}/operator`,
        pick([{ type: 'none' }, { type: 'wrench', samples: [{ t: 0, force: vec(2), torque: vec(0.01) }, { t: 0.5 }] }]),
      ]
    );
  },
  (s) => {
    const d = pick(s.devices);
    return (
      d && ['PATCH', `/devices/${d.id}`, { settings: pick([{ profile: 'ideal' }, { force_noise: 0.01 * random() }]) }]
    );
  },
  () => ['POST', '/simulation/halt'],
];
const says = [
  () => ({ op: 'push', tool: 0, force: vec(5), torque: vec(0.01) }),
  () => ({ op: 'drag', tool: 0, point: [0, 0, 0], target: vec(0.2) }),
  () => ({ op: 'release', tool: 0 }),
  () => ({ op: 'clutch', tool: 0, on: chance(0.3) }),
];

const shaped = (scene) => ({
  ...scene,
  fixed: scene.objects.filter((o) => o.fixed),
  loose: scene.objects.filter((o) => !o.fixed),
  mechanisms: scene.mechanisms ?? [],
  devices: scene.devices ?? [],
  tool: scene.tool,
});
const number = (tag) => Number(tag.replaceAll('"', ''));
const off = (e) => Math.abs(e.kinetic + e.potential - e.initial - e.work_in - e.motors - e.edits + e.dissipated);
const scale = (e) => Math.max(...Object.values(e).map(Math.abs), 1);

test(`edits at random (seed ${seed})`, { timeout: 1000 * (EDITS + 60) }, async () => {
  const server = await start();
  const { call, expect } = await client(server);
  const live = stream(server);
  await live.wait('hello');
  const counts = {},
    trail = [];
  let scene,
    tag,
    done = 0,
    told = 0,
    seq = 0,
    last,
    worst = 0;
  const what = () => `${JSON.stringify(trail.slice(-5))}`;
  const go = () => expect(200, 'PUT', '/simulation', { state: RUNNING ? 'running' : 'paused' });
  const load = async () => {
    await expect(200, 'POST', '/scene/open', { scene: pick(SCENES) });
    await go();
    const reply = await expect(200, 'GET', '/scene');
    scene = reply.json;
    tag = reply.headers.etag;
    last = undefined;
    trail.push(`open ${scene.name}`);
  };
  // taken before what comes next: the answer to a subscription tells
  const say = async (message) => {
    live.send(message);
    live.send({ op: 'subscribe', stream: 'poses', hz: 60 });
    told++;
    await until('an answer on the stream', () => live.messages.filter((m) => m.op === 'subscribed').length >= told);
  };
  await load();
  while (done < EDITS) {
    if (done % 60 === 59) await load();
    const edit = pick(edits)(shaped(scene));
    if (!edit) continue;
    if (chance(0.3)) await say(pick(says)());
    const [method, path, body] = edit,
      changes = !path.startsWith('/simulation');
    const reply = await call(method, path, body && JSON.parse(JSON.stringify(body)));
    trail.push(`${method} ${path} ${JSON.stringify(body)} ${reply.status}`);
    counts[reply.status] = (counts[reply.status] ?? 0) + 1;
    done++;
    assert.ok(reply.status < 500, `${what()}: ${reply.text}`);
    const now = await expect(200, 'GET', '/scene');
    const made = changes && reply.status < 300 ? 1 : 0;
    assert.equal(number(now.headers.etag), number(tag) + made, `revision after ${what()}`);
    if (!made) assert.deepEqual(now.json, scene, `a refused edit changed the scene: ${what()}`);
    scene = now.json;
    tag = now.headers.etag;
    const pause = Math.floor(chance(0.7) ? 60 * random() : 1);
    if (RUNNING) await sleep(pause);
    else if (pause > 0) await call('POST', '/simulation/step', { ticks: pause });
    const { energy, halted, mechanisms } = (await expect(200, 'GET', '/simulation')).json;
    worst = Math.max(worst, off(energy) / scale(energy));
    assert.ok(
      off(energy) <= 1e-6 * scale(energy),
      `energy off by ${off(energy)} J: ${JSON.stringify(energy)} after ${what()}`,
    );
    // an edit of a mechanism's links, base, motors leaves the joints that stay where they are
    const joints = new Map((mechanisms ?? []).map((m) => [m.id, m]));
    if (last && /links$|links\/\d+$|motor$|^\/mechanisms\/\w+$/.test(path) && method !== 'POST')
      for (const [id, m] of joints)
        last.get(id)?.positions.forEach((q, i) => {
          const speed = Math.max(Math.abs(m.velocities[i] ?? 0), Math.abs(last.get(id).velocities[i]), 5);
          assert.ok(
            m.positions[i] === undefined || Math.abs(m.positions[i] - q) < 0.3 * speed,
            `joint ${i} of ${id} leapt: ${what()}`,
          );
        });
    last = joints;
    for (const event of (await expect(200, 'GET', `/events?since=${seq}`)).json) {
      seq = Math.max(seq, event.seq);
      assert.ok(
        event.kind !== 'not-finite' && event.kind !== 'device-lost' && event.severity !== 'error',
        `${event.message} after ${what()}`,
      );
    }
    if (halted) {
      await expect(200, 'POST', '/simulation/arm');
      await go();
    }
  }
  for (const message of live.messages) assert.ok(message.op !== 'error' || message.detail, 'an error says what');
  for (const frame of live.frames)
    for (const pose of frame.poses ?? [])
      assert.ok([...pose.p, ...pose.q].every(Number.isFinite), `a pose at tick ${frame.tick}`);
  console.log(
    `# ${done} edits: ${JSON.stringify(counts)}; energy off by ${worst.toExponential(1)} of the largest energy at most`,
  );
  await live.close();
  await server.stop();
});
