// Tasks on the page: made out of what is there, changed, started, followed, stopped.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { sleep, until } from './harness.mjs';

const tasks = () => appliance.get('/tasks');
const task = async () => (await tasks())[0];

// A cone upright over a cylinder, free to slide down its axis until its base meets a wall at the top.
const scene = {
  format: 'guideway-scene/1',
  name: 'Down to the top',
  objects: [
    { id: 'cylinder', geometry: { type: 'cylinder', radius: 0.1, height: 0.2 }, fixed: true },
    {
      id: 'cone',
      geometry: { type: 'cone', radius: 0.04, height: 0.1 },
      pose: { p: [0, 0, 0.15], q: [1, 0, 0, 0] },
      body: { mass: 2, damping: { linear: 4, angular: 0.02 } },
    },
  ],
  features: [{ id: 'cone/foot', point: [0, 0, 0] }],
  constraints: [
    { id: 'c1', type: 'coincident', a: 'cone/axis', b: 'cylinder/axis', sense: 'same' },
    { id: 'floor', type: 'distance', a: 'cone/foot', b: 'cylinder/top', value: 0.01, bound: 'at-least' },
  ],
  tool: { object: 'cone', device: 'sim' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

const add = async () => {
  await page.getByRole('button', { name: 'Add a task for cone' }).click();
  await until(async () => (await tasks()).length === 1, 'a task');
};

suite('tasks', () => {
  beforeEach(() => visit(scene));

  test('parameters of a surface are plain numbers', async () => {
    const knots = [0, 0, 1, 1];
    const points = [-0.1, 0.1].map((x) => [-0.1, 0.1].map((y) => [x, y, 0]));
    await visit({
      name: 'On a sheet',
      objects: [
        {
          id: 'sheet',
          geometry: { type: 'nurbs-surface', degree: [1, 1], knots: [knots, knots], points },
          fixed: true,
        },
        { id: 'cone', geometry: { type: 'cone', radius: 0.02, height: 0.05 } },
      ],
      constraints: [{ id: 'on', type: 'coincident', a: 'cone/apex', b: 'sheet/surface' }],
      tool: { object: 'cone', device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim' }],
    });
    await add();
    const to = page.getByRole('textbox', { name: 'Step 1, u, number', exact: true });
    await to.fill('0.725');
    await to.press('Enter');
    await until(async () => (await task()).steps[0].to.u === 0.725, 'u');
    await until(
      async () => /slide u to 0\.725 and slide v to 0\.\d{1,3}$/m.test(await person.text('.steps')),
      'in words',
    );
  });

  test('a task begins with the present pose; steps are added, told in words and changed', async () => {
    await add();
    const { parameters, branches } = await appliance.get('/solutions/cone');
    const [first] = (await task()).steps;
    assert.equal(first.type, 'move');
    branches[0].parameters.forEach((p, i) => assert.ok(Math.abs(first.to[p.name] - parameters[i]) < 1e-12));
    await page.getByRole('button', { name: 'Add a wait' }).click();
    await until(async () => (await task()).steps.length === 2, 'a wait');
    const seconds = page.getByRole('textbox', { name: 'Step 2, seconds' });
    await seconds.fill('0.5');
    await seconds.press('Enter');
    await until(async () => (await task()).steps[1].seconds === 0.5, 'half a second');
    await page.getByRole('button', { name: 'Add the present constraints' }).click();
    await until(async () => (await task()).steps.length === 3, 'a set of constraints');
    assert.deepEqual((await task()).steps[2].enable, ['c1', 'floor']);
    const force = page.getByRole('textbox', { name: 'Step 1, until force' });
    await force.fill('5');
    await force.press('Enter');
    await until(async () => (await task()).steps[0].until?.reaction === 5, 'a guard');
    await until(
      async () => /until 5 N[\s\S]*wait 0.5 s[\s\S]*enable c1 and floor/.test(await person.text('.steps')),
      'in words',
    );
    await page.getByRole('button', { name: 'Delete step 3' }).click();
    await until(async () => (await task()).steps.length === 2, 'one less');
  });

  test('a task runs down to the wall; its steps and its end are told', async () => {
    await add();
    const steps = [
      { type: 'wait', seconds: 0.3 },
      { type: 'move', by: { s: -0.2 }, until: { contact: true } },
    ];
    await appliance.api('PATCH', '/tasks/task1', { steps });
    await until(
      async () => /wait 0.3 s[\s\S]*lower by 200 mm until contact/.test(await person.text('.steps')),
      'in words',
    );
    await page.getByRole('button', { name: /^Start Task 1/ }).click();
    await page.getByRole('button', { name: /^Stop Task 1/ }).waitFor();
    await until(async () => /Running step 2/.test(await person.text('.task-result')), 'how far it is', 8000);
    await until(
      async () => /^Done: all 2 steps in \d/.test(await person.text('.task-result')),
      'the end, in a sentence',
      15000,
    );
    const { p } = (await appliance.tool()).pose;
    assert.ok(Math.abs(p[2] - 0.11) < 2e-3, `at the wall: ${p[2]}`);
  });

  test('what never comes fails with its reason, and Stop stops', async () => {
    await add();
    await appliance.api('PATCH', '/tasks/task1', {
      steps: [{ type: 'move', by: { s: 0.02 }, until: { contact: true } }],
    });
    await until(async () => /raise by 20 mm until contact/.test(await person.text('.steps')), 'in words');
    await page.getByRole('button', { name: /^Start Task 1/ }).click();
    await until(
      async () => /^Failed at step 1, .*: .{8,}/.test(await person.text('.task-result')),
      'failed, and why',
      15000,
    );
    await appliance.api('PATCH', '/tasks/task1', { steps: [{ type: 'wait', seconds: 60 }] });
    await sleep(300);
    await page.getByRole('button', { name: /^Start Task 1/ }).click();
    await page.getByRole('button', { name: /^Stop Task 1/ }).click();
    await until(async () => /^Stopped at step 1/.test(await person.text('.task-result')), 'stopped');
    await page.getByRole('button', { name: 'Delete Task 1' }).click();
    await until(async () => (await tasks()).length === 0, 'deleted');
  });
});
