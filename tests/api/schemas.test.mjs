// Requests made out of the OpenAPI document: every operation with bodies that its schema takes, mostly.
// Each is answered as the document says, none with a 5xx. GUIDEWAY_FUZZ_SEED tries others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generator } from './random.mjs';
import { client, request, start, stream } from './server.mjs';

const SECONDS = Number(process.env.GUIDEWAY_FUZZ_SECONDS ?? 6);
const seed = Number(process.env.GUIDEWAY_FUZZ_SEED ?? 1);
const { random, pick, chance } = generator(seed);

const SCENES = ['cone-on-cylinder', 'four-bar', 'paper-mechanism-middle', 'ur5', 'tray', 'cradle', 'cover-and-base'];
const URDF = ['<robot name="r"><link name="a"/></robot>', '<robot', ''];
const ODD = [null, true, 0, -1, 1e300, '', [], {}, 'é\u0000', 'a'.repeat(200)];
const READ = ['state', 'info', 'progress', 'derived', 'rendered']; // may be sent back, and is not looked at then
const NUMBERS = [0, 1, 0.1, 0.05, 2, 1000, 1e-9, 1e9, -1];

// Values of schemas; `names` has ids and features that there are.
function maker(contract, names) {
  const object = (schema, depth) => {
    const made = {};
    for (const [name, part] of Object.entries(schema.properties ?? {})) {
      const required = schema.required?.includes(name);
      if (depth === 0 && !required && READ.includes(name)) continue;
      if (chance(required ? 0.995 : depth > 5 ? 0.05 : 0.3)) made[name] = value(part, depth + 1, name);
    }
    if (chance(0.005)) made.colour = 1;
    return made;
  };
  const number = ({ minimum, exclusiveMinimum, maximum, type }) => {
    const low = minimum ?? exclusiveMinimum;
    const bounded = low !== undefined && maximum - low < 1e6;
    let n = bounded ? pick([low, maximum, low + random() * (maximum - low)]) : pick([...NUMBERS, random(), -random()]);
    if (n < low && chance(0.9)) n = low + random();
    return type === 'integer' ? Math.round(n) : n;
  };
  const text = (schema, name) => {
    if (schema.pattern?.includes('/')) return pick(names.features);
    if (schema.pattern) return pick(names.ids);
    if (name === 'urdf') return pick(URDF);
    if (name === 'scene') return pick(SCENES);
    if (name === 'path') return pick(['/objects/cone', '/objects', '/constraints', '/tool', '/joints', '/springs']);
    return pick([...names.ids, ...names.features, 'é']);
  };
  const list = (schema, depth, name) => {
    if (name === 'q')
      return pick([
        [1, 0, 0, 0],
        [0, 1, 0, 0],
      ]);
    const least = schema.minItems ?? 0;
    const most = depth > 8 ? least : Math.min(schema.maxItems ?? 3, least + 3);
    return Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, () =>
      value(schema.items, depth + 1, name),
    );
  };
  const value = (given, depth = 0, name = '') => {
    const schema = given?.$ref ? contract.follow(given) : given;
    if (!schema || chance(0.004)) return pick(ODD);
    if ('const' in schema) return schema.const;
    if (schema.enum) return pick(schema.enum);
    const choice = schema.oneOf ?? schema.anyOf;
    if (choice) return value(pick(choice), depth, name);
    const type = Array.isArray(schema.type) ? pick(schema.type) : schema.type;
    if (type === 'null') return null;
    if (type === 'boolean') return chance(0.5);
    if (type === 'number' || type === 'integer') return number({ ...schema, type });
    if (type === 'string') return text(schema, name);
    return type === 'array' ? list(schema, depth, name) : object(schema, depth);
  };
  return value;
}

async function named(server) {
  const ids = ['cone', 'sim', 'world', 'x'];
  const list = async (path) => (await request(server, 'GET', `/api/v1${path}`)).json;
  for (const path of ['/objects', '/constraints', '/joints', '/springs', '/mechanisms', '/tasks'])
    ids.push(...(await list(`${path}?limit=8`)).map(({ id }) => id));
  return { ids, features: ['x/y', ...(await list('/features?limit=60')).map(({ id }) => id)] };
}

test(`requests made out of the document (seed ${seed})`, { timeout: 240000 }, async () => {
  const server = await start();
  const { contract } = await client(server);
  const live = stream(server); // the loop is watched, too
  await live.opened;
  const operations = Object.entries(contract.document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const statuses = {};
  let names, make;
  for (let n = 0, end = performance.now() + 1000 * SECONDS; performance.now() < end; n++) {
    if (n % 200 === 0) {
      await request(server, 'POST', '/api/v1/scene/open', { scene: pick(SCENES) });
      names = await named(server);
      make = maker(contract, names);
    }
    if (n % 40 === 0) {
      await request(server, 'POST', '/api/v1/simulation/arm');
      await request(server, 'PUT', '/api/v1/simulation', { state: pick(['running', 'paused', 'stopped']) });
    }
    const { path, method, operation } = pick(operations);
    const feature = pick(names.features).split('/');
    const address = path.replace(/\{(\w+)\}/g, (_, part) =>
      encodeURIComponent(
        { object: feature[0], feature: feature[1], link: pick([0, 1, 9]), file: pick(SCENES) }[part] ?? pick(names.ids),
      ),
    );
    const query = (operation.parameters ?? [])
      .map((parameter) => contract.follow(parameter))
      .filter((p) => p.in === 'query' && p.name !== 'members' && chance(0.2))
      .map((p) => `${p.name}=${encodeURIComponent(make(p.schema))}`);
    const media = operation.requestBody?.content['application/json'];
    if (operation.requestBody && !media) continue; // a file
    const body = media && make(media.schema);
    if (body?.ticks > 2000) body.ticks %= 2000;
    const what = `${method} ${address}?${query.join('&')} ${JSON.stringify(body)}`;
    const reply = await request(server, method, query.length ? `${address}?${query.join('&')}` : address, body);
    assert.ok(reply.status < 500 || reply.status === 501, `${what}: ${reply.text}`);
    assert.match(reply.headers['x-request-id'], /^[0-9a-f]{16}$/, what);
    contract.check(method, address, body, reply);
    statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
  }
  console.log(`# ${JSON.stringify(statuses)}`);
  await live.close();
  await server.stop();
});
