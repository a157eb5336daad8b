// The tasks of the scene: their steps in words, Start and Stop, progress and result.
import type { JSX } from 'preact';
import { addTask, deleteTask, resultWords, startTask, stepNote, stepWords, stopTask } from '../edits/tasks';
import type { Task, TaskProgress } from '../protocol';
import * as store from '../state/store';
import { Icon } from '../ui/icons';
import { Section, Tool } from '../ui/widgets';

const marks: Record<string, { icon: string; word: string; tone: string }> = {
  done: { icon: 'ok', word: 'done', tone: 'well' },
  reached: { icon: 'ok', word: 'reached', tone: 'well' },
  running: { icon: 'run', word: 'running', tone: 'under' },
  failed: { icon: 'conflict', word: 'failed', tone: 'conflict' },
  stopped: { icon: 'stop', word: 'stopped', tone: 'over' },
};

function Steps({ task, progress }: { task: Task; progress: TaskProgress | undefined }): JSX.Element {
  return (
    <ol class="steps">
      {task.steps.map((step, i) => {
        const state = progress && progress.state !== 'idle' ? progress.steps[i]?.state : undefined;
        const mark = state ? marks[state] : undefined;
        return (
          <li
            key={i}
            class={progress?.state === 'running' && progress.step === i ? 'now' : ''}
            aria-current={progress?.state === 'running' && progress.step === i ? 'step' : undefined}
          >
            <span class={`step-mark tone-${mark?.tone ?? 'off'}`}>
              {mark ? <Icon name={mark.icon} title={mark.word} /> : i + 1}
            </span>
            <span>
              {stepWords(task.object, step)}
              {state && <span class="quiet">{stepNote(step, progress!.steps[i])}</span>}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function Item({ task }: { task: Task }): JSX.Element {
  const progress = store.taskProgress.value.get(task.id);
  const runs = progress?.state === 'running';
  const chosen = store.selectedTask.value === task.id;
  const another = [...store.taskProgress.value].some(([id, p]) => id !== task.id && p.state === 'running');
  return (
    <li class={`entry task ${chosen ? 'chosen' : ''}`} data-task={task.id}>
      <button
        type="button"
        class="entry-main"
        aria-pressed={chosen}
        onClick={() => store.selectTask(chosen ? '' : task.id)}
      >
        <span class="entry-top">{task.name || task.id}</span>
        <span class="entry-refs">
          {task.object}, {task.steps.length} {task.steps.length === 1 ? 'step' : 'steps'}
        </span>
      </button>
      {runs ? (
        <Tool icon="stop" label={`Stop ${task.name || task.id}`} text="Stop" onClick={() => void stopTask(task.id)} />
      ) : (
        <Tool
          icon="run"
          label={`Start ${task.name || task.id}`}
          text="Start"
          disabled={another || store.halted.value}
          onClick={() => void startTask(task.id)}
        />
      )}
      <button
        type="button"
        class="tool"
        title="Delete"
        aria-label={`Delete ${task.name || task.id}`}
        onClick={() => void deleteTask(task.id)}
      >
        <Icon name="trash" />
      </button>
      <Steps task={task} progress={progress} />
      {progress && progress.state !== 'idle' && (
        <p class={`task-result ${progress.state === 'failed' ? 'tone-conflict' : ''}`} role="status">
          {resultWords(task, progress)}
        </p>
      )}
    </li>
  );
}

export function Tasks(): JSX.Element | null {
  const list = store.tasks.value;
  const selected = store.objectOf(store.selectedObject.value)?.id ?? '';
  const object = selected && store.toolIndex(selected) >= 0 ? selected : store.tools.value[0]?.object;
  if (!list.length && !object) return null;
  const add = object && <Tool icon="plus" label={`Add a task for ${object}`} onClick={() => void addTask(object)} />;
  return (
    <Section id="tasks" title="Tasks" extra={add}>
      {list.length === 0 ? (
        <p class="quiet">None. A task moves the held object along its freedoms by itself, step by step.</p>
      ) : (
        <ul class="entries">
          {list.map((t) => (
            <Item key={t.id} task={t} />
          ))}
        </ul>
      )}
    </Section>
  );
}
