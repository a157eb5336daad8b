// Joints and springs on the page: made from two picked features in one step, changed, switched off, deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { sleep, until } from './harness.mjs';
import { changed } from './png.mjs';

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

// `act` is done before the first answer is here.
async function late(path, act) {
  const answers = [];
  await page.route(path, async (route) => {
    if (route.request().method() === 'PATCH') await new Promise((go) => answers.push(go));
    await route.continue();
  });
  await act();
  for (let quiet = 0; quiet < 5; quiet = answers.length ? 0 : quiet + 1) {
    for (const go of answers.splice(0)) go();
    await sleep(40);
  }
  await page.unroute(path);
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
    await type('Lower limit of the turn of j1', '120');
    const crossed = 'The lower limit of the turn of j1 would be 120\u00b0, above the upper one, 90\u00b0.';
    await until(async () => (await person.text('.notice.error p')) === crossed, crossed);
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

  test('a joint is tried before it is made, by a ghost and in words', async () => {
    await visit(scene);
    await appliance.api('PATCH', '/objects/door', { pose: { p: [0.2, 0, 0.1], q: [1, 0, 0, 0] } });
    await pick('post/+z', 'door/center');
    const there = await person.at([0, 0, 0.09]);
    const before = await person.screenshot();
    await page.getByRole('button', { name: 'Revolute' }).hover();
    const words = () => person.text('[aria-labelledby=title-newjoint] .outcome');
    await until(async () => /1 freedom: turns about its axis \(1\)/.test(await words()), 'in words');
    await until(async () => changed(before, await person.screenshot(), there, 30) > 200, 'the ghost');
    assert.deepEqual(await joints(), [], 'nothing is made');
    await page.mouse.move(640, 300);
    await until(async () => !/freedom/.test(await words()), 'it is dropped');
    await page.getByRole('button', { name: 'Revolute' }).click();
    await until(async () => (await joints()).length === 1, 'it is made');
    await page.click('[data-key="door"]');
    await until(async () => /1 freedom: turns about its axis \(1\)/.test(await person.words()), 'what is left');
    await page.keyboard.press('Control+z');
    await until(async () => (await joints()).length === 0, 'one step back');
    assert.equal((await appliance.get('/objects/door')).free, undefined, 'and it is as it was');
  });

  test('joined faces meet, however the bodies lie, and axes go the nearer way', async () => {
    await visit(scene);
    await appliance.api('PATCH', '/objects/door', { pose: { p: [0.2, 0.1, 0.2], q: [0.96, 0, 0, 0.28] } });
    await pick('post/+z', 'door/-z');
    await page.getByRole('button', { name: 'Planar' }).click();
    await until(async () => (await joints()).length === 1, 'it is made');
    await appliance.api('POST', '/assemble', { commit: true });
    const door = (await appliance.get('/objects/door')).pose;
    assert.ok(Math.abs(door.p[2] - 0.1) < 1e-9 && Math.abs(door.p[0] - 0.2) < 1e-6, JSON.stringify(door));
    assert.ok(Math.abs(Math.abs(door.q[3]) - 0.28) < 1e-6, 'it is not turned over');
    await page.getByLabel('Delete j1').click();
    await until(async () => (await joints()).length === 0, 'it is gone');
    await appliance.api('PATCH', '/objects/door', { pose: { p: [0.2, 0, 0.1], q: [0, 1, 0, 0] } }); // upside down
    await pick('post/axis-z', 'door/axis-z');
    await page.getByRole('button', { name: 'Cylindrical' }).click();
    await until(async () => (await joints()).length === 1, 'it is made');
    await appliance.api('POST', '/assemble', { commit: true });
    const now = (await appliance.get('/objects/door')).pose;
    assert.ok(Math.abs(now.p[0]) < 1e-9 && Math.abs(Math.abs(now.q[1]) - 1) < 1e-9, JSON.stringify(now));
  });

  for (const [type_, words] of [
    ['cylindrical', ['slide', 'turn']],
    ['universal', ['first turn', 'second turn']],
    ['planar', ['x', 'y', 'turn']],
    ['spherical', ['turn about x', 'turn about y', 'turn about z']],
  ])
    test(`every coordinate has its numbers: ${type_}`, async () => {
      await visit({
        ...scene,
        joints: [{ id: 'j1', type: type_, a: 'door/axis-z', b: 'post/axis-z' }],
      });
      const one = () => appliance.get('/joints/j1');
      const ball = type_ === 'spherical'; // its friction is one torque
      await page.getByText('Limits, damping, motor').click();
      const limited = ball ? ['swing', 'rotation'] : words;
      for (const [i, word] of limited.entries()) {
        await page.getByLabel(`Limit the ${word} of j1`, { exact: true }).check();
        await until(async () => (await one()).limits?.[i], `the ${word} is limited`);
        await type(`Upper limit of the ${word} of j1`, '50');
        const per = type_ !== 'universal' && ['slide', 'x', 'y'].includes(word) ? 1e-3 : Math.PI / 180;
        await until(async () => Math.abs((await one()).limits[i][1] - 50 * per) < 1e-12, 'at 50');
      }
      for (const [i, word] of words.entries())
        for (const [label, of, size] of [
          ['Damping', (j) => j.damping, 0.25],
          ...(ball ? [] : [['Friction', (j) => j.friction, 0.5]]),
          ['Spring stiffness', (j) => j.spring?.stiffness, 3],
        ]) {
          const { width } = await page.getByLabel(`${label} of the ${word} of j1`).boundingBox();
          assert.ok(width >= 30, `a number is seen beside its unit: ${label}, ${width}`);
          await type(`${label} of the ${word} of j1`, `${size + i}`);
          await until(async () => of(await one())?.[i] === size + i, `${label} of the ${word}`);
        }
      await type('Restitution at the limits of j1', '0.75');
      if (ball) {
        await type('Friction of j1', '0.5');
        await until(async () => (await one()).friction?.join() === '0.5,0.5,0.5', 'friction about any axis');
      }
      const last = words.at(-1);
      await type(`Motor no faster than of j1, ${words[0]}`, '90');
      await type(`Motor at most of j1, ${last}`, '4'); // at once: none is lost
      const full = await until(async () => {
        const j = await one();
        return j.restitution === 0.75 && j.motor?.[0]?.speed && j.motor.at(-1)?.max === 4 && j;
      }, 'rebounds, and is driven');
      const speed = ['slide', 'x'].includes(words[0]) ? 0.09 : Math.PI / 2;
      assert.ok(Math.abs(full.motor[0].speed - speed) < 1e-12, JSON.stringify(full.motor));
      for (const [members, size] of [
        [full.damping, 0.25],
        ...(ball ? [] : [[full.friction, 0.5]]),
        [full.spring.stiffness, 3],
      ])
        assert.deepEqual(
          members,
          words.map((_, i) => size + i),
        );
      await page.getByRole('button', { name: `No motor of j1, ${last}` }).click();
      await until(async () => (await one()).motor?.speed, 'one motor');
      await page.getByRole('button', { name: `No motor of j1, ${words[0]}` }).click();
      await until(async () => !(await one()).motor, 'no motor');
      await page.getByLabel('What j1 joins may collide').check();
      await until(async () => (await one()).collide === true, 'they may collide');
    });

  test('where a joint starts and how fast is typed, one coordinate right after the other', async () => {
    await visit({
      name: 'Piston',
      objects: [scene.objects[0], box('door', [0, 0, 0.1], { free: true })],
      joints: [{ id: 'j1', type: 'cylindrical', a: 'door/axis-z', b: 'post/axis-z' }],
    });
    const one = () => appliance.get('/joints/j1');
    await page.getByText('Limits, damping, motor').click();
    await page.getByLabel('Start position of the slide of j1').waitFor();
    await late('**/joints/j1', async () => {
      await type('Start position of the slide of j1', '30');
      await type('Start position of the turn of j1', '45');
      await type('Start velocity of the turn of j1', '90');
      await type('Damping of the slide of j1', '2');
      await type('Damping of the turn of j1', '3');
    });
    const near = (list, other) => list?.every((x, i) => Math.abs(x - other[i]) < 1e-9);
    const starts = (j) => near(j.position, [0.03, Math.PI / 4]) && near(j.velocity, [0, Math.PI / 2]);
    await until(async () => {
      const j = await one();
      return starts(j) && near(j.damping, [2, 3]) && starts(j.state);
    }, 'all of it is there, and it begins so');
    assert.equal(await page.getByLabel('Start position of the slide of j1').inputValue(), '30');
    await appliance.api('PUT', '/simulation', { state: 'running' });
    await until(() => page.getByLabel('Start position of the slide of j1').isDisabled(), 'it is for the start');
    await appliance.api('PUT', '/simulation', { state: 'stopped' });
    await page.getByRole('button', { name: 'Start where the objects are' }).click();
    await until(async () => (await one()).position === undefined, 'nothing is stated');
  });

  test('values typed before the echo of the one before are all kept', async () => {
    await visit({ ...scene, objects: [scene.objects[0], box('door', [0, 0, 0.3])] });
    await page.click('[data-key="door"]');
    await late('**/objects/door', async () => {
      await type('Position x', '10');
      await type('Position y', '20');
      await type('Orientation yaw', '30');
      await type('Size along x', '50');
      await type('Size along z', '70');
    });
    const door = await until(async () => {
      const o = await appliance.get('/objects/door');
      return o.geometry.size[2] === 0.07 && o.pose.q[3] !== 0 && o;
    }, 'the last ones are there');
    assert.deepEqual(door.geometry.size, [0.05, 0.1, 0.07]);
    assert.deepEqual(
      door.pose.p.map((x) => Math.round(x * 1e6)),
      [10000, 20000, 300000],
    );
    assert.ok(Math.abs(2 * Math.asin(door.pose.q[3]) - Math.PI / 6) < 1e-6, JSON.stringify(door.pose));
    await page.keyboard.press('Escape');
    await late('**/scene', async () => {
      await type('Gravity x', '1');
      await type('Gravity z', '-9');
    });
    await until(async () => (await appliance.get('/scene')).gravity.join() === '1,0,-9', 'both');
  });

  test('wheels on two axles are geared, and the ratio is changed', async () => {
    const wheel = (id, x) => ({
      ...box(id, [x, 0, 0.1]),
      geometry: { type: 'cylinder', radius: 0.05, height: 0.02 },
      free: true,
    });
    const axle = (id, x) => ({
      id,
      type: 'revolute',
      a: { object: id },
      b: { object: 'world', at: { p: [x, 0, 0.1], q: [1, 0, 0, 0] } },
    });
    await visit({
      name: 'Two wheels',
      objects: [wheel('big', 0), wheel('small', 0.1)],
      joints: [axle('big', 0), axle('small', 0.1)],
    });
    assert.match(await page.getByLabel('Objects and their features').innerText(), /big[\s\S]*1 dof/);
    await page.getByText('Add a gear').click();
    await page.selectOption('[aria-label="First joint of the gear"]', 'small');
    await type('Ratio of the new gear', '-2');
    await page.getByRole('button', { name: 'Join them by a gear' }).click();
    const gear = await until(async () => (await joints()).find((j) => j.type === 'gear'), 'it is made');
    assert.deepEqual([gear.joints, gear.ratio], [['small', 'big'], -2]);
    await type(`Ratio of ${gear.id}`, '-3');
    await until(async () => (await appliance.get(`/joints/${gear.id}`)).ratio === -3, 'it is changed');
    await page.click('[data-key="big"]');
    await until(async () => /linkage of 2 bodies has 1 freedom/.test(await person.words()), 'they move as one');
  });

  test('what a fixed joint bears is told, and a screw advances by its pitch', async () => {
    await visit({ ...scene, gravity: [0, 0, -10] });
    await pick('post/axis-z', 'door/axis-z');
    await page.getByRole('button', { name: 'Fixed', exact: true }).click();
    await until(async () => (await joints()).length === 1, 'it is fixed');
    await page.getByText('Force and torque').click();
    await appliance.api('PUT', '/simulation', { state: 'running' });
    const force = page.getByLabel('Force of j1', { exact: true });
    await until(async () => /^10(\.\d+)? N$/.test(await force.innerText()), 'the door weighs 10 N');
    await appliance.api('PUT', '/simulation', { state: 'stopped' });
    await page.getByLabel('Delete j1').click();
    await until(async () => (await joints()).length === 0, 'it is off');
    await pick('post/axis-z', 'door/axis-z');
    await page.getByRole('button', { name: 'Screw' }).click();
    await until(async () => (await joints())[0]?.type === 'screw', 'it is made');
    await page.getByText('Limits, damping, motor').click();
    await type('Pitch of j1', '2');
    await until(
      async () => Math.abs((await appliance.get('/joints/j1')).pitch - 1e-3 / Math.PI) < 1e-15,
      '2 mm a turn',
    );
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

  test('what others refer to is deleted with them by a click, all of it one step for undo', async () => {
    const ids = async (of) => (await appliance.get(`/${of}`)).map((x) => x.id);
    const tools = async () => (await appliance.get('/tools')).length;
    const back = async () => {
      await page.locator('#canvas').focus();
      await page.keyboard.press('Control+z');
    };

    await visit('gear-train');
    await page.click('button[aria-label="Delete a"]');
    await page.click('.notice.error button:has-text("Delete a with")');
    await until(async () => (await ids('joints')).join() === 'b,c,b-c', 'a joint, and the gear on it');
    await back();
    await until(async () => (await ids('joints')).length === 5, 'one step back');

    await page.click('.tree [data-key="driver"]');
    await page.click('.right button[aria-label="Delete driver"]');
    await page.click('.notice.error button:has-text("Delete driver with")');
    await until(async () => !(await ids('objects')).includes('driver'), 'the wheel is gone');
    assert.deepEqual([await ids('joints'), await tools()], [['b', 'c', 'b-c'], 0]);
    await back();
    await until(async () => (await ids('objects')).includes('driver'), 'and back');
    assert.deepEqual([(await ids('joints')).length, await tools()], [5, 1]);

    await visit('ur5-load');
    await page.click('.tree [data-key="ur5"]');
    await page.click('.right button[aria-label="Delete ur5"]');
    await page.waitForSelector('.notice.error button:has-text("Delete ur5 with")');
    assert.equal(await tools(), 1, 'a refusal changes nothing: it is still held');
    await page.click('.notice.error button:has-text("Delete ur5 with")');
    await until(async () => (await ids('mechanisms')).length === 0, 'the arm is gone');
    await back();
    await until(async () => (await ids('mechanisms')).length === 1, 'and back');
    assert.deepEqual([await ids('joints'), await tools()], [['grip'], 1]);
  });
});
