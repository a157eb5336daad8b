// Shows the OpenAPI document of this appliance: operations with their parameters, answers, schemas and
// an example each, made from the schemas. Everything comes from this origin.
import { example, follow } from './example.js';

const base = '/api/v1';

function element(name, text, children = []) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
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
