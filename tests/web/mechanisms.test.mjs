// Mechanisms by mouse and keys: a chain is built, its joints are set, a link is held where it was
// clicked; the control of an impedance device is switched while it runs and compared side by side.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { audit, place, sleep, until } from './harness.mjs';
import { changed } from './png.mjs';

const type = async (label, value) => {
  const field = page.locator(`input[aria-label^="${label}"]`);
  await field.fill(String(value));
  await field.press('Enter');
};
// A binary STL file of a wedge with one corner at the origin.
function wedge(x, y, z) {
  const p = [
    [0, 0, 0],
    [x, 0, 0],
    [x, y, 0],
    [0, y, 0],
    [0, 0, z],
    [x, 0, z],
  ];
  const triangles = [
    [0, 2, 1],
    [0, 3, 2],
    [0, 1, 5],
    [0, 5, 4],
    [0, 4, 3],
    [1, 2, 5],
    [4, 5, 2],
    [4, 2, 3],
  ];
  const out = Buffer.alloc(84 + 50 * triangles.length);
  out.writeUInt32LE(triangles.length, 80);
  triangles.forEach((t, i) =>
    t.forEach((v, k) => p[v].forEach((c, j) => out.writeFloatLE(c, 84 + 50 * i + 12 + 12 * k + 4 * j))),
  );
  return out;
}
const arm = () => appliance.get('/mechanisms/arm');
const close = (a, b, by = 1e-9) => Math.abs(a - b) < by;

suite('mechanisms', () => {
  test('a chain is built link by link, bent by typing, lengthened, and undone', async () => {
    await visit({ name: 'Empty', objects: [] });
    await page.click('button[aria-label="Add a mechanism"]');
    await type('Length of link 0', 120);
    await type('Offset x of link 1', 120);
    await page.selectOption('select[aria-label="Axis of link 1"]', 'y');
    await page.click('button:has-text("Add link 2")');
    await page.selectOption('select[aria-label="Joint of link 2"]', 'prismatic');
    await page.click('button:has-text("Make it")');
    const made = await until(arm, 'it is made');
    assert.deepEqual(
      made.links.map((l) => l.joint.type),
      ['revolute', 'revolute', 'prismatic'],
    );
    assert.ok(close(made.links[1].joint.origin.p[0], 0.12) && close(made.links[2].joint.origin.p[0], 0.2));
    assert.deepEqual(made.links[1].joint.axis, [0, 1, 0]);
    await page.waitForSelector('[data-key="arm.2"]');
    await until(async () => (await page.locator('[data-key^="arm."]').count()) === 3, 'three links in the tree');
    await type('Position of link 1', 30);
    await until(async () => close((await arm()).links[1].joint.position, Math.PI / 6), 'in degrees');
    await type('Position of link 2', 15);
    await until(async () => close((await arm()).links[2].joint.position, 0.015), 'in millimetres');
    await page.click('button:has-text("Add a link")');
    await until(async () => (await arm()).links.length === 4, 'one more');
    for (let i = 0; i < 4; i++) await page.click('button[aria-label="Undo"]');
    await until(async () => (await appliance.get('/mechanisms')).length === 0, 'all undone');
  });

  test('without a mouse: a chain is made, a link of it held, run and pushed', async () => {
    await visit({ name: 'Empty', objects: [] });
    const tabTo = async (name) => {
      for (let i = 0; i < 60; i++) {
        if (
          await page.evaluate(
            (n) =>
              (document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '')
                .trim()
                .startsWith(n),
            name,
          )
        )
          return;
        await page.keyboard.press('Tab');
      }
      assert.fail(`Tab does not come to ${name}`);
    };
    await page.locator('#canvas').focus();
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.palette-input:focus');
    await page.keyboard.type('add a mech');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog h2:has-text("Add a mechanism")');
    await tabTo('Length of link 0');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('150');
    await page.keyboard.press('Enter');
    await tabTo('Axis of link 1');
    await page.keyboard.press('ArrowUp'); // opens the list
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await tabTo('Make it');
    await page.keyboard.press('Enter');
    const made = await until(arm, 'it is made');
    assert.ok(close(made.links[0].geometry.size[0], 0.15));
    assert.deepEqual(made.links[1].joint.axis, [0, 1, 0]);
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.locator('.tree [tabindex="0"]').focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[data-key="arm.1"].chosen');
    await tabTo('Joint position');
    await page.keyboard.press('ArrowUp');
    await until(async () => close((await arm()).links[1].joint.position, Math.PI / 180), 'a degree by an arrow');
    await page.locator('input[aria-label^="Held point z"]').focus();
    await tabTo('Hold here');
    await page.keyboard.press('Enter');
    await until(async () => (await appliance.get('/tool')).link === 1, 'it is held');
    await page.locator('#canvas').focus();
    await page.keyboard.press('Space');
    await page.waitForSelector('.transport button[aria-label="Run"][aria-pressed="true"]');
    await page.keyboard.down('PageUp');
    await until(async () => Math.hypot(...(await appliance.tool()).operator.force) > 1, 'it is pushed');
    await page.keyboard.up('PageUp');
    await until(async () => Math.hypot(...(await appliance.tool()).operator.force) === 0, 'and let go');
    await page.keyboard.press('Space');
    await until(async () => (await appliance.get('/simulation')).state === 'paused', 'it pauses');
  });

  test('a link is drawn where its joints put it, taken by a click, and held at that place', async () => {
    await visit('paper-mechanism-middle');
    await appliance.api('DELETE', '/tool');
    await page.locator('#canvas').hover({ position: { x: 10, y: 10 } });
    const base = await person.screenshot();
    // link 2 begins where two turned bars of 42 mm end; 20 mm along it
    const bend = (q) => [Math.cos(q), Math.sin(q), 0];
    const at = (q0, q1, q2) =>
      [0, 1, 2].map((k) => 0.042 * bend(q0)[k] + 0.042 * bend(q0 + q1)[k] + 0.02 * bend(q0 + q1 + q2)[k]);
    const p = at(-Math.PI / 4, Math.PI / 6, -Math.PI / 6);
    const { x, y } = await person.at([p[0], p[1], 0.004]);
    await page.mouse.move(x - 1, y);
    await page.mouse.move(x, y);
    await until(async () => /^arm: link 2/.test(await person.hovered()), 'it is under the cursor');
    await page.mouse.click(x, y);
    await page.waitForSelector('[data-key="arm.2"].chosen');
    await until(
      async () => Math.abs(Number(await page.inputValue('input[aria-label^="Held point x"]')) - 20) < 2,
      'where it was clicked',
    );
    await page.click('button:has-text("Hold here")');
    const tool = await until(() => appliance.get('/tool'), 'it is held');
    assert.deepEqual([tool.mechanism, tool.link], ['arm', 2]);
    assert.ok(close(tool.at.p[0], 0.02, 2e-3) && close(tool.at.p[2], 0.004, 1e-3));
    assert.equal((await appliance.get(`/devices/${tool.device}`)).driver, 'sim-impedance');
    await page.waitForSelector('[data-key="arm.2"] [aria-label="held by the device"]');
    // bent by the keyboard: the link goes with its joint on the screen
    await page.click('[data-key="arm"]');
    await page.locator('input[aria-label="Joint of link 1"]').focus();
    for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowRight');
    await until(async () => (await arm()).links[1].joint.position > 1, 'bent');
    await page.mouse.move(20, 400);
    await sleep(400);
    const area = await person.at([p[0], p[1], 0]);
    await until(async () => changed(base, await person.screenshot(), area, 30, 10) > 200, 'it is drawn elsewhere');
  });

  test('a crank that is held at its hinge is told to turn there, and not to have a mass', async () => {
    await visit('four-bar');
    await until(async () => /point does not move/.test(await person.text('[data-applied]')), 'the hinge is told');
    assert.match(await person.text('[data-applied]'), /inertia\s+0\.\d+ kg m²: as asked/);
  });

  test('what the hand feels is set on its panel: impedance, scale of forces, grasp', async () => {
    await visit('paper-mechanism-desired');
    await type('Desired stiffness along x', 80);
    await until(async () => (await appliance.get('/tool')).desired.stiffness[0] === 80, 'a stiffer spring');
    await until(async () => /80 N\/m: /.test(await person.text('[data-applied]')), 'what is applied of it, and why');
    assert.deepEqual((await appliance.get('/tool')).desired.stiffness.slice(1), [40, 40, 0.2, 0.2, 0.2]);
    await type('Force scale', 5);
    await until(async () => (await appliance.get('/tool')).force_scale === 5, 'forces count five times');
    await page.selectOption('select[aria-label="Grasp"]', 'point');
    await until(async () => (await appliance.get('/tool')).grasp === 'point', 'a point is held');
    await page.click('label:has-text("a mass other than its own")');
    await until(async () => !(await appliance.get('/tool')).desired.mass, 'its own mass');
    await page.click('button:has-text("Feel it as it is")');
    await until(async () => !(await appliance.get('/tool')).desired, 'as it is');
  });

  test('controls are switched while it runs and compared: drift alone, none with penalties', async () => {
    await visit('paper-mechanism-middle');
    await type('Seconds of each run', 2);
    await page.click('button:has-text("Run all four")');
    await until(async () => (await page.locator('.wide-plot .key button').count()) === 4, 'four runs are kept', 60000);
    const told = await page.locator('.wide-plot .key').allInnerTexts();
    const error = (name) => Number(/([\d.]+) mm,/.exec(told.find((t) => t.startsWith(name)))[1]);
    assert.ok(error('impedance alone') > 10 * error('impedance with penalties'), told.join('; '));
    assert.ok(error('virtual coupling') > 10 * error('impedance with penalties'), told.join('; '));
    await until(async () => (await appliance.get('/simulation')).state === 'stopped', 'it stands again');
    await until(async () => (await appliance.get('/tool')).control === 'penalty', 'as it was');
    // by hand, while it runs
    await page.click('.transport button[aria-label="Run"]');
    await until(async () => (await appliance.get('/simulation')).time > 0.3, 'it runs');
    await page.click('[data-control="impedance"]');
    await until(async () => (await appliance.get('/tool')).control === 'impedance', 'switched');
    assert.equal((await appliance.get('/simulation')).state, 'running');
    assert.ok((await appliance.get('/simulation')).time > 0.3, 'without a restart');
    await until(async () => /impedance alone/.test(await page.locator('[data-said]').innerText()), 'it is read out');
    await page.selectOption('select[aria-label="acceleration"]', 'full');
    await until(async () => (await appliance.get('/tool')).rendering.jdot === 'full', 'its settings, too');
  });

  test('directions that the joints hold back are drawn at the held point, and told', async () => {
    await visit('paper-mechanism-middle');
    await appliance.api('PUT', '/devices/sim/operator', {
      type: 'wrench',
      samples: [{ t: 0, force: [0, 0, 0], torque: [0, 0, 0] }],
    });
    await sleep(300);
    const before_ = await person.screenshot();
    await page.click('.transport button[aria-label="Run"]');
    const tool = await until(async () => {
      const t = await appliance.tool();
      return t.resisted.directions.length === 4 && t;
    }, 'the joints hold back four');
    await until(async () => /4 of 6/.test(await page.locator('.row:has-text("resisted")').first().innerText()), 'told');
    await sleep(300);
    const above = place(tool.pose, [0, 0, 0.012]); // along the arrow out of the plane
    await until(async () => changed(before_, await person.screenshot(), await person.at(above), 14, 10) > 20, 'drawn');
  });

  test('a motor moves its joint while it runs; the numbers follow', async () => {
    await visit('paper-mechanism-middle');
    await appliance.api('DELETE', '/tool');
    await page.click('[data-key="arm.2"]');
    await page.click('.transport button[aria-label="Run"]');
    await page.click('summary:has-text("Motor")');
    await type('Motor damping', 0.05);
    await type('Motor stiffness', 0.2);
    await type('Motor target', 40);
    await until(async () => close((await arm()).links[2].joint.motor.target, (40 * Math.PI) / 180, 1e-6), 'it is set');
    await until(
      async () => Number(await page.inputValue('input[aria-label^="Joint position"]')) > 30,
      'it goes there',
      15000,
    );
  });

  test('limits of a joint let it rebound', async () => {
    await visit('paper-mechanism-middle');
    await page.click('[data-key="arm.2"]');
    await page.getByLabel('limits', { exact: true }).click();
    await until(async () => (await arm()).links[2].joint.limits, 'limited');
    await type('Restitution at the limits', 0.75);
    await until(async () => (await arm()).links[2].joint.restitution === 0.75, 'it is set');
  });

  test('Delete takes the last link; of one that carries others it asks', async () => {
    await visit('paper-mechanism-middle');
    const key = async (link) => {
      await page.click(`[data-key="${link}"]`);
      await page.locator('#canvas').focus();
      await page.keyboard.press('Delete');
    };
    await key('arm.0');
    await page.waitForSelector('.notice.error:has-text("carries the rest")');
    assert.equal((await arm()).links.length, 3);
    await key('arm.2');
    await until(async () => (await arm()).links.length === 2, 'the last one goes');
  });

  test('a robot comes from a URDF file; what is no URDF is refused in words', async () => {
    await visit({ name: 'Empty', objects: [] });
    await page.click('button[aria-label="Add a mechanism"]');
    const urdf = `<robot name="crane"><link name="base"/>
      <link name="boom"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="hook"><inertial><mass value="1"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="swing" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 0 1"/></joint>
      <joint name="lift" type="prismatic"><parent link="boom"/><child link="hook"/>
        <origin xyz="0.2 0 0"/><axis xyz="0 0 1"/>
        <limit lower="-0.1" upper="0.1" effort="1" velocity="1"/></joint></robot>`;
    const file = (name, text) => ({ name, mimeType: 'text/xml', buffer: Buffer.from(text) });
    await page.setInputFiles('input[aria-label="URDF file and meshes"]', file('letter.xml', '<letter/>'));
    await until(async () => /no URDF/.test(await page.locator('[data-said]').innerText()), 'refused');
    await page.setInputFiles('input[aria-label="URDF file and meshes"]', file('crane.urdf', urdf));
    const crane = await until(() => appliance.get('/mechanisms/crane'), 'it is there');
    assert.deepEqual(
      crane.links.map((l) => l.joint.type),
      ['revolute', 'prismatic'],
    );
    await page.waitForSelector('[data-key="crane.1"]');
    await page.waitForSelector('dialog', { state: 'detached' });
  });

  test('a robot comes with its meshes: scaled as it says, drawn, taken as shapes to touch', async () => {
    await visit({ name: 'Empty', objects: [] });
    const link = (name, mesh) => `<link name="${name}"><inertial><mass value="1"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry>
        <mesh filename="package://hoist/meshes/${mesh}" scale="0.001 0.001 0.001"/></geometry></visual></link>`;
    const urdf = `<robot name="hoist"><link name="base"/>${link('boom', 'boom.dae')}${link('hook', 'hook.stl')}
      <joint name="swing" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
      <joint name="lift" type="prismatic"><parent link="boom"/><child link="hook"/>
        <origin xyz="0.2 0 0"/><axis xyz="0 0 1"/>
        <limit lower="-0.1" upper="0.1" effort="1" velocity="1"/></joint></robot>`;
    await page.setInputFiles('#scene-file', [
      { name: 'hoist.urdf', mimeType: 'text/xml', buffer: Buffer.from(urdf) },
      { name: 'boom.stl', mimeType: 'model/stl', buffer: wedge(200, 40, 40) },
    ]);
    const hoist = await until(() => appliance.get('/mechanisms/hoist'), 'it is there');
    assert.equal(hoist.links[0].mesh, 'hoist-boom.stl', 'an STL stands in for what a browser page cannot read');
    await page.waitForSelector('.notice.info:has-text("hook.stl")');
    const mesh = await appliance.get('/meshes/hoist-boom.stl');
    assert.ok(close(Math.max(...mesh.vertices), 0.2, 1e-6), 'in metres');
    // here nothing is drawn but the mesh
    await page.keyboard.press('Escape');
    await page.mouse.move(20, 500);
    const tip = () => person.at([0.05, 0, 0.025]);
    const with_ = await person.screenshot();
    const where = await tip();
    await page.click('[data-key="hoist.0"]');
    const shape = page.locator('select[aria-label="Shape of the link"]');
    await shape.selectOption('sphere');
    await until(
      async () => (await appliance.get('/mechanisms/hoist')).links[0].geometry?.type === 'sphere',
      'a ball instead',
    );
    await page.mouse.move(20, 500);
    await until(async () => changed(with_, await person.screenshot(), where, 4, 10) > 20, 'it was drawn there');
    await type('Radius', 30);
    await until(async () => close((await appliance.get('/mechanisms/hoist')).links[0].geometry.radius, 0.03), 'typed');
    await type('Shape x', 50);
    await until(async () => close((await appliance.get('/mechanisms/hoist')).links[0].geometry_at.p[0], 0.05), 'moved');
    await page.click('button:has-text("As its shape has them")');
    await until(
      async () => close((await appliance.get('/mechanisms/hoist')).links[0].inertia[0], 0.4 * 0.03 ** 2),
      'its inertia',
    );
    await shape.selectOption('hull hoist-boom.stl');
    await until(
      async () => (await appliance.get('/mechanisms/hoist')).links[0].geometry.convex,
      'the hull of its mesh',
    );
  });

  test('a mesh in millimetres becomes an object of its size', async () => {
    await visit({ name: 'Empty', objects: [] });
    await page.setInputFiles('#scene-file', {
      name: 'wedge no 1.stl',
      mimeType: 'model/stl',
      buffer: wedge(80, 30, 20),
    });
    const o = await until(
      async () => (await appliance.get('/objects')).find((x) => x.id === 'wedge-no-1'),
      'it is there',
    );
    assert.equal(o.geometry.file, 'wedge-no-1.stl');
    await page.waitForSelector('.notice.info:has-text("80 mm")');
    assert.ok(close(Math.max(...(await appliance.get('/meshes/wedge-no-1.stl')).vertices), 0.08, 1e-6));
  });

  test('an object is held by an impedance device as well: its driver is chosen, its settings typed', async () => {
    await visit('cone-on-cylinder');
    await page.selectOption('select[aria-label="Driver of sim"]', 'sim-impedance');
    await until(async () => (await appliance.get('/tool')).control === 'penalty', 'with a control that fits');
    assert.equal((await appliance.get('/devices/sim')).driver, 'sim-impedance');
    await page.waitForSelector('[data-control="penalty"][aria-pressed="true"]');
    await page.click('summary:has-text("Settings")');
    await type('sim, viscous,', 2);
    await until(async () => (await appliance.get('/devices/sim')).settings?.viscous === 2, 'a setting');
  });

  for (const [name, options] of [
    ['on a screen', undefined],
    ['on a phone', { viewport: { width: 390, height: 844 }, hasTouch: true }],
  ])
    test(`axe finds nothing serious among mechanisms, ${name}`, async () => {
      await visit('paper-mechanism-middle', options);
      const serious = await audit(page);
      await serious('control');
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        'nothing is wider than the screen',
      );
      if (name !== 'on a phone') {
        await page.click('[data-key="arm.1"]');
        await page.click('button[aria-label="Contacts are off"]');
        await page.click('.left summary:has-text("Rules")');
        await page.click('.plot-tabs button:has-text("Compare")');
        await serious('a link, contacts');
        await page.click('button[aria-label="Add a mechanism"]');
        await serious('building');
      }
    });

  test('a link that is taken close to its hinge turns less than once, however far it is drawn', async () => {
    await visit('paper-enclosure-elastic');
    await person.settled();
    const position = async () => (await appliance.get('/mechanisms/arm')).links[0].joint.position;
    const before = await position();
    const { base } = await appliance.get('/mechanisms/arm');
    const near = [base.p[0] + 0.002 * Math.cos(before), base.p[1] + 0.002 * Math.sin(before), base.p[2] + 0.008];
    const { x, y } = await person.at(near);
    await until(async () => {
      await page.mouse.move(x - 2, y);
      await page.mouse.move(x, y);
      return /link 0/.test(await person.hovered());
    }, 'the first link is under the cursor');
    await page.mouse.down();
    for (const [dx, dy] of [
      [50, 30],
      [20, -70],
      [-60, -10],
      [3, -25],
    ])
      await page.mouse.move(x + dx, y + dy, { steps: 8 });
    await sleep(300);
    await page.mouse.up();
    const after = await until(async () => {
      const now = await position();
      return now !== before && now;
    }, 'it turned');
    assert.ok(Math.abs(after - before) < 2 * Math.PI, `from ${before} to ${after}`);
  });
});
