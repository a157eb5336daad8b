// Joints and springs on the page: made from two picked features in one step, changed, switched off, deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance, page, suite, visit } from './fixture.mjs';
import { until } from './harness.mjs';

const box = (id, p, more = {}) => ({
  id,
  geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
  pose: { p, q: [1, 0, 0, 0] },
  ...more,
});
const scene = { name: 'Hinge', objects: [box('post', [0, 0, 0], { fixed: true }), box('door', [0, 0, 0.1])] };
const joints = () => appliance.get('/joints');

async function pick(...refs) {
  for (const ref of refs) {
    const [object] = ref.split('/');
    if (!(await page.locator(`[data-key="${ref}"]`).count())) await page.click(`[data-key="${object}"] .twist`);
    await page.click(`[data-key="${ref}"]`);
  }
}

async function type(label, text) {
  const field = page.getByLabel(label);
  await field.fill(text);
  await field.press('Enter');
}

suite('joints and springs', () => {
  test('a hinge between two picked features: limited, damped, driven, off and away', async () => {
    await visit(scene);
    await pick('post/axis-z', 'door/axis-z');
    await page.getByRole('button', { name: 'Revolute' }).click();
    const [{ state: _, ...made }] = await until(async () => (await joints()).length === 1 && joints(), 'it is made');
    assert.deepEqual(made, { id: 'j1', type: 'revolute', a: 'door/axis-z', b: 'post/axis-z', enabled: true });
    await page.getByText('Limits, damping, motor').click();
    await page.getByLabel('Limit the turn of j1').check();
    await type('Upper limit of the turn of j1', '90');
    await type('Damping of the turn of j1', '0.5');
    await type('Motor torque of j1', '2');
    const one = () => appliance.get('/joints/j1');
    const full = await until(async () => (await one()).motor?.torque === 2 && one(), 'it is driven');
    assert.ok(Math.abs(full.limits[0][1] - Math.PI / 2) < 1e-12 && full.limits[0][0] === -1, JSON.stringify(full));
    assert.deepEqual(full.damping, [0.5]);
    await page.getByLabel('Force of j1', { exact: true }).waitFor();
    await page.getByLabel('j1 enabled').uncheck();
    await until(async () => (await one()).enabled === false, 'it is off');
    await page.getByLabel('Delete j1').click();
    await until(async () => (await joints()).length === 0, 'it is gone');
  });

  test('a robot of which nothing moves is opened as one body', async () => {
    await visit(scene);
    const inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>';
    const urdf = `<robot name="b"><link name="a"><inertial><mass value="2"/>${inertia}</inertial></link></robot>`;
    await page.setInputFiles('header input[type=file]', {
      name: 'block.urdf',
      mimeType: 'text/xml',
      buffer: Buffer.from(urdf),
    });
    const one = await until(async () => (await appliance.get('/objects')).find((o) => o.body.mass === 2), 'it is here');
    assert.equal(one.geometry.type, 'sphere');
  });

  test('a spring between points of two features', async () => {
    await visit(scene);
    await pick('post/+z', 'door/center');
    await page.getByRole('button', { name: 'Spring', exact: true }).click();
    await type('stiffness of s1', '250');
    const one = await until(async () => {
      const [s] = await appliance.get('/springs');
      return s?.stiffness === 250 && s;
    }, 'it is stiff');
    assert.deepEqual(
      [one.a, one.b],
      [
        { object: 'door', p: [0, 0, 0] },
        { object: 'post', p: [0, 0, 0.05] },
      ],
    );
  });
});
