// The editor of the selected task: its name, its steps with their values, new steps made from the present state.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { editSteps, patchTask, presentConstraints, presentPose, stepWords, turnsOnly, unitOf } from '../edits/tasks';
import type { MoveStep, Step, Task } from '../protocol';
import * as store from '../state/store';
import { DEG, DISPLAY, MM } from '../state/words';
import { Icon } from '../ui/icons';
import { NameField, NumberField, Section } from '../ui/widgets';

type Put = (edit: (step: MoveStep) => MoveStep) => void;

// A target value or an amount (`to`, `by`) for each parameter that the move names.
function Targets({ object, n, step, put }: { object: string; n: number; step: MoveStep; put: Put }): JSX.Element {
  return (
    <>
      {(['to', 'by'] as const).flatMap((way) =>
        Object.entries(step[way] ?? {}).map(([name, value]) => {
          const { scale, unit } = DISPLAY[unitOf(object, name)];
          return (
            <div key={`${way} ${name}`} class="target">
              <span>{name}</span>
              <select
                aria-label={`Step ${n}, ${name}: to or by`}
                value={way}
                onChange={({ currentTarget: { value: chosen } }) =>
                  put((now) => turned(object, now, name, way, chosen as 'to' | 'by'))
                }
              >
                <option value="to">to</option>
                <option value="by">by</option>
              </select>
              <NumberField
                label={`Step ${n}, ${name}`}
                unit={unit}
                digits={unit ? 2 : 3}
                value={value * scale}
                onCommit={(v) => put((now) => ({ ...now, [way]: { ...now[way], [name]: v / scale } }))}
              />
              <button
                type="button"
                class="tool tiny"
                aria-label={`Step ${n}: leave ${name} as it is`}
                title="Leave it as it is"
                onClick={() => put((now) => without(now, way, name))}
              >
                <Icon name="close" />
              </button>
            </div>
          );
        }),
      )}
    </>
  );
}

function without(step: MoveStep, way: 'to' | 'by', name: string): MoveStep {
  const { [name]: _gone, ...rest } = step[way] ?? {};
  const { [way]: _all, ...others } = step;
  return Object.keys(rest).length ? { ...others, [way]: rest } : others;
}

// Changes a parameter between a target value and an amount: an amount begins at zero, a target at the present value.
function turned(object: string, step: MoveStep, name: string, from: 'to' | 'by', way: 'to' | 'by'): MoveStep {
  if (from === way) return step;
  return {
    ...without(step, from, name),
    [way]: { ...step[way], [name]: way === 'to' ? (presentPose(object, undefined).to?.[name] ?? 0) : 0 },
  };
}

function guard(step: MoveStep, change: NonNullable<MoveStep['until']>): MoveStep {
  const until = { ...step.until, ...change };
  if (!until.reaction) delete until.reaction;
  if (!until.contact) delete until.contact;
  const { until: _old, required, ...rest } = step;
  return Object.keys(until).length ? { ...rest, until, ...(required === undefined ? {} : { required }) } : rest;
}

function Move({ object, n, step, put }: { object: string; n: number; step: MoveStep; put: Put }): JSX.Element {
  return (
    <>
      <Targets object={object} n={n} step={step} put={put} />
      <div class="triple">
        <NumberField
          shown="speed"
          label={`Step ${n}, speed`}
          unit="mm/s"
          value={(step.speed ?? 0.05) * MM}
          onCommit={(v) => put((now) => ({ ...now, speed: v / MM }))}
        />
        <NumberField
          shown="spin"
          label={`Step ${n}, spin`}
          unit={'\u00b0/s'}
          value={(step.spin ?? 0.5) * DEG}
          onCommit={(v) => put((now) => ({ ...now, spin: v / DEG }))}
        />
        <NumberField
          shown="until"
          label={`Step ${n}, until force`}
          unit={turnsOnly(step) ? 'N m' : 'N'}
          step={turnsOnly(step) ? 0.1 : 1}
          value={step.until?.reaction ?? 0}
          onCommit={(v) => put((now) => guard(now, { reaction: v }))}
        />
      </div>
      <div class="checks">
        <label class="check">
          <input
            type="checkbox"
            checked={step.until?.contact ?? false}
            onChange={({ currentTarget: { checked } }) => put((now) => guard(now, { contact: checked }))}
          />
          until contact
        </label>
        {step.until && (
          <label class="check">
            <input
              type="checkbox"
              checked={step.required ?? true}
              onChange={({ currentTarget: { checked } }) => put((now) => ({ ...now, required: checked }))}
            />
            it must come
          </label>
        )}
      </div>
    </>
  );
}

function StepCard({ task, i }: { task: Task; i: number }): JSX.Element {
  const step = task.steps[i]!;
  const put = (edit: (step: Step) => Step): void =>
    editSteps(task.id, (all) => all.map((s, k) => (k === i ? edit(s) : s)));
  const putMove: Put = (edit) => put((s) => (s.type === 'move' ? edit(s) : s));
  const swap = (): void =>
    editSteps(task.id, (all) => all.map((s, k) => (k === i ? all[i - 1]! : k === i - 1 ? all[i]! : s)));
  return (
    <li class="stated step-card">
      <div class="title-row">
        <span class="name">
          {i + 1}. {stepWords(task.object, step)}
        </span>
        {i > 0 && (
          <button type="button" class="tool tiny" aria-label={`Step ${i + 1}: earlier`} title="Earlier" onClick={swap}>
            <Icon name="up" />
          </button>
        )}
        {task.steps.length > 1 && (
          <button
            type="button"
            class="tool tiny"
            aria-label={`Delete step ${i + 1}`}
            title="Delete"
            onClick={() => editSteps(task.id, (all) => all.filter((_s, k) => k !== i))}
          >
            <Icon name="trash" />
          </button>
        )}
      </div>
      {step.type === 'move' && <Move object={task.object} n={i + 1} step={step} put={putMove} />}
      {step.type === 'wait' && (
        <NumberField
          label={`Step ${i + 1}, seconds`}
          unit="s"
          step={0.5}
          value={step.seconds}
          onCommit={(seconds) => put(() => ({ type: 'wait', seconds }))}
        />
      )}
      {step.type === 'constrain' && (
        <button type="button" class="chip" onClick={() => put(() => presentConstraints(task.object))}>
          Take the present set
        </button>
      )}
    </li>
  );
}

// Adds steps made from the present state.
function Add({ task }: { task: Task }): JSX.Element {
  const [contact, setContact] = useState(false);
  const [force, setForce] = useState(0);
  const add = (step: Step): void => editSteps(task.id, (all) => [...all, step]);
  const until = { ...(contact ? { contact } : {}), ...(force > 0 ? { reaction: force } : {}) };
  return (
    <div class="add-steps" role="group" aria-label="Add a step">
      <div class="checks">
        <label class="check">
          <input type="checkbox" checked={contact} onChange={(e) => setContact(e.currentTarget.checked)} />
          until contact
        </label>
        <NumberField label="Until a force of" unit="N" value={force} onCommit={setForce} />
      </div>
      <div class="kinds">
        <button
          type="button"
          class="chip"
          onClick={() => add(presentPose(task.object, Object.keys(until).length ? until : undefined))}
        >
          Add the present pose as a step
        </button>
        <button type="button" class="chip" onClick={() => add(presentConstraints(task.object))}>
          Add the present constraints
        </button>
        <button type="button" class="chip" onClick={() => add({ type: 'wait', seconds: 1 })}>
          Add a wait
        </button>
      </div>
    </div>
  );
}

export function TaskPanel(): JSX.Element | null {
  const task = store.tasks.value.find((t) => t.id === store.selectedTask.value);
  if (!task) return null;
  return (
    <Section id="task" title="Task">
      <div class="title-row">
        <Icon name="task" />
        <NameField
          value={task.name || task.id}
          label="Name of the task"
          onCommit={(name) => void patchTask(task.id, { name })}
        />
      </div>
      <ol class="stated-list" aria-label="Steps">
        {task.steps.map((_s, i) => (
          <StepCard key={i} task={task} i={i} />
        ))}
      </ol>
      <Add task={task} />
    </Section>
  );
}
