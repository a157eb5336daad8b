// Shows the OpenAPI document of this appliance: operations with their parameters, answers, schemas and
// an example each, made from the schemas. Everything comes from this origin.

const DEPTH = 6; // of examples
const base = '/api/v1';

function element(name, text, children = []) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

const follow = (spec, value) =>
  value?.$ref
    ? value.$ref
        .slice(2)
        .split('/')
        .reduce((at, name) => at?.[name], spec)
    : value;

// A value that the schema takes: stated examples and defaults first, then the simplest one.
function example(spec, given, depth = 0) {
  const schema = follow(spec, given);
  if (!schema || depth > DEPTH) return null;
  if (schema.examples?.length) return schema.examples[0];
  for (const name of ['const', 'default']) if (schema[name] !== undefined) return schema[name];
  if (schema.enum) return schema.enum[0];
  const choice = schema.oneOf ?? schema.anyOf;
  if (choice) return { ...example(spec, { ...schema, oneOf: undefined, anyOf: undefined }, depth), ...example(spec, choice[0], depth) };
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'array') return Array.from({ length: schema.minItems ?? 1 }, () => example(spec, schema.items, depth + 1));
  if (type === 'string') return schema.pattern?.includes('/') ? 'cone/axis' : 'cone';
  if (type === 'boolean') return true;
  if (type === 'number' || type === 'integer') return schema.minimum ?? schema.exclusiveMinimum ?? 1;
  const object = {};
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    if (schema.required?.includes(name)) object[name] = example(spec, member, depth + 1);
  return object;
}

const json = (content) => content?.['application/json'] ?? Object.values(content ?? {})[0];

function parameters(spec, operation) {
  const rows = (operation.parameters ?? []).map((each) => {
    const p = follow(spec, each);
    return element('tr', '', [element('td', '', [element('code', p.name)]), element('td', p.in), element('td', p.description)]);
  });
  return rows.length ? [element('h4', 'Parameters'), element('table', '', rows)] : [];
}

function request(spec, method, path, operation) {
  const body = json(operation.requestBody?.content);
  const at = `${location.origin}${path.replaceAll(/\{(\w+)\}/g, 'cone')}`;
  const words = [`curl -X ${method.toUpperCase()}`];
  if (body) words.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body.example ?? example(spec, body.schema))}'`);
  return [element('h4', 'Example'), element('pre', [...words, at].join(' \\\n  '))];
}

function answers(spec, operation) {
  return Object.entries(operation.responses).flatMap(([status, each]) => {
    const answer = follow(spec, each);
    const body = json(answer.content);
    const shown = body && status.startsWith('2') ? [element('pre', JSON.stringify(example(spec, body.schema), null, 2))] : [];
    return [element('p', '', [element('code', status), ` ${answer.description}`]), ...shown];
  });
}

function show(spec, method, path, operation) {
  const head = element('summary', '', [element('code', `${method.toUpperCase()} ${path}`), ` ${operation.summary}`]);
  const made = element('details', '', [head]);
  made.id = operation.operationId;
  made.addEventListener('toggle', () => {
    if (made.children.length > 1) return;
    made.append(...parameters(spec, operation), ...request(spec, method, path, operation));
    made.append(element('h4', 'Answers'), ...answers(spec, operation));
  });
  return made;
}

function choose(text) {
  for (const each of document.querySelectorAll('details')) each.hidden = !each.querySelector('summary').textContent.includes(text);
}

const answered = await fetch(`${base}/openapi.json`);
const spec = await answered.json();
if (answered.ok) {
  document.querySelector('#about').append(` ${spec.info.description}`);
  for (const [path, methods] of Object.entries(spec.paths))
    for (const [method, operation] of Object.entries(methods)) document.querySelector('#operations').append(show(spec, method, path, operation));
  document.querySelector('#filter').addEventListener('input', (event) => choose(event.target.value));
} else document.querySelector('#about').textContent = `${spec.title}: ${spec.detail}`;
