// Deletion of entries to which others refer. The server refuses it and names these; the offered fix deletes them too,
// as one edit.
import type { Step } from '../protocol';
import { heldId } from '../state/mechanisms';
import { call, enc, featurePath } from '../state/rest';
import * as store from '../state/store';
import { attempt } from './request';

interface Edit {
  method: 'DELETE' | 'PATCH';
  path: string;
  body?: object;
}

// The deleted entry: a body by its name, or the bodies of a mechanism; a feature, a constraint or a joint by its id.
export interface Going {
  body?: (name: string) => boolean;
  links?: boolean; // the bodies are links, which gears name as joints
  feature?: string;
  constraint?: string;
  joint?: string;
}

type End = string | { object: string };

const drop = (path: string): Edit => ({ method: 'DELETE', path });
const bodyOf = (end: End): string => (typeof end === 'string' ? end.split('/')[0]! : end.object);

const switches = (s: Step, lost: ReadonlySet<string | undefined>): boolean =>
  s.type === 'constrain' && [...(s.enable ?? []), ...(s.disable ?? [])].some((id) => lost.has(id));

// Edits by which tools release the body.
function release(isBody: (name: string) => boolean): Edit[] {
  const tools = store.tools.peek();
  const kept = tools.filter((t) => !isBody(heldId(t)));
  if (kept.length === tools.length) return [];
  return tools.length === 1 ? [drop('/tool')] : [{ method: 'PATCH', path: '/scene', body: { tools: kept } }];
}

// Edits that delete the entries that refer to it, in an order in which each is possible.
function users(of: Going): Edit[] {
  const isBody = of.body ?? (() => false);
  const at = (end: End): boolean => isBody(bodyOf(end)) || (!!of.feature && end === of.feature);
  const joins = ({ a, b }: { a: End; b: End }): boolean => at(a) || at(b);
  const constraints = store.constraints.peek().filter(joins);
  const lost = new Set([of.constraint, ...constraints.map((c) => c.id)]);
  const tasks = store.tasks.peek().filter((t) => isBody(t.object) || t.steps.some((s) => switches(s, lost)));
  const joints = store.joints.peek().filter((j) => j.type !== 'gear' && joins(j));
  const shafts = new Set([of.joint, ...joints.map((j) => j.id)]);
  const gears = store.joints
    .peek()
    .filter((j) => j.type === 'gear' && j.joints.some((id) => shafts.has(id) || (of.links && isBody(id))));
  const springs = (store.scene.peek().springs ?? []).filter(joins);
  const features = (store.scene.peek().features ?? []).filter((f) => isBody(bodyOf(f.id)));
  const ignored = store.contactSettings.peek().ignore ?? [];
  const ignore = ignored.filter((pair) => !pair.some(isBody));
  return [
    ...tasks.map((t) => drop(`/tasks/${enc(t.id)}`)),
    ...constraints.map((c) => drop(`/constraints/${enc(c.id)}`)),
    ...[...gears, ...joints].map((j) => drop(`/joints/${enc(j.id)}`)),
    ...springs.map((s) => drop(`/springs/${enc(s.id)}`)),
    ...release(isBody),
    ...(ignore.length < ignored.length ? [{ method: 'PATCH' as const, path: '/contact', body: { ignore } }] : []),
    ...features.map((f) => drop(`/features/${featurePath(f.id)}`)),
  ];
}

const send = (edits: Edit[]): Promise<unknown> =>
  edits.length === 1 ? call('DELETE', edits[0]!.path) : call('POST', '/scene/edits', edits);

// The tool of a mechanism is released without a question.
export const deleteWithUsers = (path: string, name: string, of: Going): Promise<boolean> =>
  attempt(
    () => send([...(of.links ? release(of.body!) : []), drop(path)]),
    () => {
      const others = users(of);
      const run = (): void => void attempt(() => send([...others, drop(path)]));
      return others.length ? [{ label: `Delete ${name} with what refers to it`, run }] : [];
    },
  );
