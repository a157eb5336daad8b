// A value for a schema of the OpenAPI document: what the page of the specification shows, checked against the schemas
// by the tests.

const DEPTH = 20; // required members alone do not contain themselves
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

export const follow = (spec, value) =>
  value?.$ref
    ? value.$ref
        .slice(2)
        .split('/')
        .reduce((at, name) => at?.[name], spec)
    : value;

// A value that the schema takes: stated examples and defaults first, then the simplest one.
export function example(spec, given, depth = 0) {
  const schema = follow(spec, given);
  if (!schema || depth > DEPTH) return null;
  if (schema.examples?.length) return schema.examples[0];
  for (const name of ['const', 'default']) if (schema[name] !== undefined) return schema[name];
  if (schema.enum) return schema.enum[0];
  const choice = schema.oneOf ?? schema.anyOf;
  if (choice) {
    const chosen = example(spec, choice[0], depth);
    if (!isObject(chosen)) return chosen;
    return { ...example(spec, { ...schema, oneOf: undefined, anyOf: undefined }, depth), ...chosen };
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'array') return Array.from({ length: schema.minItems ?? 1 }, () => example(spec, schema.items, depth + 1));
  if (type === 'string') return schema.pattern?.includes('/') ? 'cone/axis' : 'cone';
  if (type === 'boolean') return true;
  if (type === 'number' || type === 'integer') return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1;
  const object = {};
  for (const name of schema.required ?? []) object[name] = example(spec, schema.properties?.[name] ?? {}, depth + 1);
  return object;
}
