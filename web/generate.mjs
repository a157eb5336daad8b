// Writes src/openapi.ts: TypeScript types of all component schemas of the OpenAPI document. The document is $OPENAPI,
// else the one that the build made, else the one of the sources. Types only: nothing of it is in the bundle.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const OUT = join(here, 'src/openapi.ts');

// Names of schemas that mean something else in TypeScript.
const RENAMED = { Object: 'SceneObject', Event: 'LogEvent' };

const nameOf = (schema) => RENAMED[schema] ?? schema;
const isObject = (s) => s.type === 'object' && s.properties !== undefined;
const comment = (text, indent) => (text ? `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n` : '');
const key = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));

function arrayType(s, indent) {
  const item = typeOf(s.items ?? {}, indent);
  if (s.minItems !== undefined && s.minItems === s.maxItems) return `[${Array(s.minItems).fill(item).join(', ')}]`;
  return /[ |&]/.test(item) ? `(${item})[]` : `${item}[]`;
}

// `absent`: members of other alternatives, so that a union can be asked for any of them.
function objectType(s, indent, absent = []) {
  const inner = `${indent}  `;
  const required = new Set(s.required ?? []);
  const members = Object.entries(s.properties ?? {}).map(([name, member]) => {
    const mark = required.has(name) ? '' : '?';
    return `${comment(member.description, inner)}${inner}${key(name)}${mark}: ${typeOf(member, inner)};\n`;
  });
  const others = absent.map((name) => `${inner}${key(name)}?: undefined;\n`);
  const rest = s.additionalProperties;
  if (!members.length) return `{ [name: string]: ${typeof rest === 'object' ? typeOf(rest, indent) : 'unknown'} }`;
  return `{\n${members.join('')}${others.join('')}${indent}}`;
}

// Alternatives that no constant tells apart are told apart by which members they have.
function unionType(list, indent) {
  const all = list.every(isObject) ? [...new Set(list.flatMap((s) => Object.keys(s.properties)))] : [];
  const shared = all.some((name) => list.every((s) => s.properties[name]?.const ?? s.properties[name]?.enum));
  const types = list.map((s) => {
    const absent = shared ? [] : all.filter((name) => !(name in s.properties));
    return all.length ? objectType(s, indent, absent) : typeOf(s, indent);
  });
  return [...new Set(types)].join(' | ');
}

const PLAIN = { integer: 'number', number: 'number', string: 'string', boolean: 'boolean', null: 'null' };

function typeOf(s, indent) {
  if (s.$ref) return nameOf(s.$ref.split('/').pop());
  if (s.const !== undefined) return JSON.stringify(s.const);
  if (s.enum) return s.enum.map((v) => JSON.stringify(v)).join(' | ');
  if (s.oneOf ?? s.anyOf) return unionType(s.oneOf ?? s.anyOf, indent);
  if (s.allOf) return s.allOf.map((part) => `(${typeOf(part, indent)})`).join(' & ');
  if (Array.isArray(s.type)) return s.type.map((type) => typeOf({ ...s, type }, indent)).join(' | ');
  if (s.type === 'array') return arrayType(s, indent);
  if (s.type === 'object') return objectType(s, indent);
  return PLAIN[s.type] ?? 'unknown';
}

function declaration(name, schema) {
  const head = comment(schema.description, '');
  const type = typeOf(schema, '');
  return isObject(schema)
    ? `${head}export interface ${nameOf(name)} ${type}\n`
    : `${head}export type ${nameOf(name)} = ${type};\n`;
}

const document = () =>
  [process.env.OPENAPI ?? '', join(here, '../build/openapi.json'), join(here, '../server/schema/openapi.json')].find(
    existsSync,
  );

// False where there is no document.
export function generate() {
  const path = document();
  if (!path) return false;
  const { schemas } = JSON.parse(readFileSync(path, 'utf8')).components;
  const types = Object.entries(schemas).map(([name, schema]) => declaration(name, schema));
  const text = `// Made by generate.mjs out of the OpenAPI document.\n\n${types.join('\n')}`;
  if (!existsSync(OUT) || readFileSync(OUT, 'utf8') !== text) writeFileSync(OUT, text);
  return true;
}
