// The view: all of a scene in the picture, the way to what has left it, nothing out of reach.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance, page, person, resize, show, suite, visit } from './fixture.mjs';
import { until } from './harness.mjs';
import { apart, changed } from './png.mjs';

const box = (id, p, more = {}) => ({
  id,
  geometry: { type: 'box', size: [0.05, 0.05, 0.05] },
  pose: { p, q: [1, 0, 0, 0] },
  ...more,
});
const canvas = () => page.locator('#canvas').boundingBox();

async function nothingUnderHalt() {
  const halt = await page.locator('.halt').boundingBox();
  for (const each of await page.locator('.header :is(button, select)').all()) {
    const b = await each.boundingBox();
    const clear = !b || b.x + b.width <= halt.x || b.y >= halt.y + halt.height || b.x >= halt.x + halt.width;
    assert.ok(clear, `${(await each.getAttribute('aria-label')) ?? (await each.innerText())} lies under HALT`);
  }
}

suite('the view', () => {
  test('joints are framed with what hangs on them, and what hangs is seen to hang', async () => {
    await visit('cradle');
    const [, m] = await appliance.get('/mechanisms'); // the first is pulled aside
    const top = await person.at(m.base.p),
      area = await canvas();
    assert.ok(top.y > area.y + 20 && top.y < area.y + area.height, 'in the picture');
    const { p } = m.links[0].geometry_at;
    const ball = await person.at(m.base.p.map((x, k) => x + m.links[0].joint.origin.p[k] + p[k]));
    const middle = { x: (top.x + ball.x) / 2, y: (top.y + ball.y) / 2 };
    const image = await person.screenshot();
    assert.ok(apart(image.pixel(middle.x, middle.y), image.pixel(middle.x + 25, middle.y)) > 60, 'a rod between them');
  });

  for (const [file, ids] of [
    ['car', ['chassis', 'wheel-fl', 'wheel-rr']],
    ['sleigh', ['sleigh']],
    ['rolling-disc', ['disc']],
  ])
    test(`a wide floor does not make what moves small: ${file}`, async () => {
      await visit('cone-on-cylinder');
      await visit(file);
      const area = await canvas();
      const { objects } = await appliance.get('/scene');
      let low = [Infinity, Infinity],
        high = [-Infinity, -Infinity];
      for (const id of ids) {
        const { pose, geometry: g } = objects.find((o) => o.id === id);
        const half = g.size ? g.size[0] / 2 : g.radius;
        for (const by of [-half, half]) {
          const { x, y } = await person.at([pose.p[0] + by, pose.p[1], pose.p[2]]);
          low = [Math.min(low[0], x), Math.min(low[1], y)];
          high = [Math.max(high[0], x), Math.max(high[1], y)];
        }
      }
      assert.ok(low[0] > area.x && high[0] < area.x + area.width, 'in the picture');
      assert.ok(Math.hypot(high[0] - low[0], high[1] - low[1]) > area.width / 10, `${low} to ${high}`);
    });

  test('a wide floor has lines, against which motion over it is seen', async () => {
    await visit('car');
    const area = await canvas();
    const image = await person.screenshot();
    const column = Array.from({ length: 200 }, (_, i) => image.pixel(area.x + 80, area.y + 200 + i));
    const lines = column.filter((c, i) => i > 0 && apart(c, column[0]) > 20 && apart(column[i - 1], column[0]) <= 20);
    assert.ok(lines.length >= 3, `${lines.length} lines in 200 pixels`);
  });

  test('a name too long for the bar ends in an ellipsis, and is told whole', async () => {
    await visit('paper-mechanism-desired');
    const { name } = await appliance.get('/scene');
    assert.equal(await page.getAttribute('.scene-menu', 'title'), name);
    const shown = await page.locator('.scene-menu .scene-name').evaluate((span) => {
      const { right, height } = span.getBoundingClientRect();
      const { textOverflow, whiteSpace } = getComputedStyle(span);
      const room = span.closest('select').getBoundingClientRect();
      const cut = span.scrollWidth > span.clientWidth;
      return { text: span.textContent, textOverflow, whiteSpace, cut, inside: right < room.right && height < 24 };
    });
    const style = { textOverflow: 'ellipsis', whiteSpace: 'nowrap' };
    assert.deepEqual(shown, { text: name, ...style, cut: true, inside: true });
  });

  test('what is held is pointed to where it has left the picture, and framed by a key', async () => {
    await visit({
      name: 'Runaway',
      objects: [box('ground', [0, 0, 0], { fixed: true }), box('plate', [0, 0, 0.1])],
      devices: [{ id: 'sim', driver: 'sim' }],
      tool: { object: 'plate', device: 'sim' },
    });
    const here = await person.screenshot();
    await appliance.api('PATCH', '/objects/plate', { pose: { p: [3, 0, 0.1], q: [1, 0, 0, 0] } });
    const area = await canvas();
    const edge = { x: area.x + area.width - 30, y: 0 };
    const rows = Array.from({ length: 8 }, (_, i) => area.y + 130 + 40 * i);
    await until(async () => {
      const now = await person.screenshot();
      return rows.some((y) => changed(here, now, { ...edge, y }, 20) > 30);
    }, 'a mark at the right border');
    await page.locator('#canvas').focus();
    await page.keyboard.press('f');
    await until(async () => (await person.at([3, 0, 0.1])).inside, 'it is in the picture');
  });

  test('where nothing that moves is left in the picture, the first body that does is pointed to', async () => {
    const gone = { p: [3, 0, 0.1], q: [1, 0, 0, 0] };
    await visit({
      name: 'Gone',
      objects: [
        box('ground', [0, 0, 0], { fixed: true }),
        box('one', [0, 0, 0.1], { free: true }),
        box('two', [0, 0.1, 0.1], { free: true }),
      ],
    });
    await appliance.api('PATCH', '/objects/one', { pose: gone });
    await until(async () => await page.locator('.overlay').evaluate((c) => c.hidden), 'two is in sight');
    await appliance.api('PATCH', '/objects/two', { pose: gone });
    await until(async () => !(await page.locator('.overlay').evaluate((c) => c.hidden)), 'a mark');
    const area = await canvas();
    const image = await person.screenshot();
    const column = Array.from({ length: area.height - 100 }, (_, i) =>
      image.pixel(area.x + area.width - 16, area.y + 60 + i),
    );
    assert.ok(
      column.some((c) => apart(c, column[0]) > 60),
      'at the right border',
    );
  });

  test('round bodies that move show how they are turned', async () => {
    const wheel = (more) => ({ id: 'wheel', geometry: { type: 'cylinder', radius: 0.05, height: 0.02 }, ...more });
    await visit({ name: 'Wheel', objects: [wheel({ free: true })] });
    const before = await person.screenshot();
    const spot = await person.at([0.035, 0, 0.01]);
    await appliance.api('PATCH', '/objects/wheel', { pose: { p: [0, 0, 0], q: [Math.SQRT1_2, 0, 0, Math.SQRT1_2] } });
    await until(async () => changed(before, await person.screenshot(), spot, 4) > 3, 'the line is elsewhere');
  });

  test('the view goes along with what is held, or selected, until a key or a press ends it', async () => {
    const still = { linear: 0, angular: 0 };
    const thrown = (id, p, v, more) =>
      box(id, p, { body: { mass: 1, damping: still, velocity: { v, w: [0, 0, 0] } }, ...more });
    await visit({
      name: 'Thrown',
      objects: [
        box('ground', [0, 0, 0], { fixed: true }),
        thrown('plate', [0, 0, 0.1], [2, 0, 0]),
        thrown('other', [0, 0.1, 0.1], [-2, 0, 0], { free: true }),
      ],
      devices: [{ id: 'sim', driver: 'sim' }],
      tool: { object: 'plate', device: 'sim' },
    });
    const where = async (id) => {
      const { tools, bodies } = await appliance.get('/simulation');
      return person.at([...tools, ...bodies].find((b) => b.object === id).pose.p);
    };
    const start = { plate: await where('plate'), other: await where('other') };
    // The page draws the pose that the server tells a little later.
    const stands = (id) =>
      until(async () => {
        const at = await where(id);
        const off = Math.hypot(at.x - start[id].x, at.y - start[id].y);
        if (off >= 2) throw new Error(`it is at ${at.x}, ${at.y}, ${off} px off`);
        return true;
      }, `${id} stands in the picture`);
    const leaves = (id) => until(async () => !(await where(id)).inside, `${id} is out of the picture`);
    const tracked = (id) =>
      until(async () => (await page.locator('.tracking').innerText()).includes(id), `${id} is tracked`);
    const untracked = () => until(async () => (await page.locator('.tracking').count()) === 0, 'nothing is tracked');
    const rode = async (seconds) => {
      const end = (await appliance.get('/simulation')).time + seconds;
      await appliance.api('PUT', '/simulation', { state: 'running' });
      await until(async () => (await appliance.get('/simulation')).time > end, `${seconds} s more`, 20000);
      await appliance.api('PUT', '/simulation', { state: 'paused' });
      await person.settled();
    };
    await page.locator('#canvas').focus();
    await page.keyboard.press('t');
    await tracked('plate');
    await rode(1.5);
    await stands('plate'); // 3 m away
    await leaves('other');
    await page.keyboard.press('t');
    await untracked();
    await page.locator('[role=treeitem]', { hasText: 'other' }).first().click();
    await appliance.api('PUT', '/simulation', { state: 'stopped' });
    await until(async () => (await person.text('.loop dd')) === '0.0 s', 'the page is back at the start');
    await page.locator('#canvas').focus();
    await page.keyboard.press('0'); // all of it, as at the start
    await person.settled();
    start.other = await where('other');
    await page.keyboard.press('t');
    await tracked('other');
    await rode(1);
    await stands('other');
    await page.locator('.tracking').click();
    await untracked();
    await rode(1.5);
    await leaves('other');
    await show('sphere');
  });

  for (const [name, size, far] of [
    ['a millimetre', 1e-3, 0],
    ['a hundred metres, far from the origin', 100, 1e4],
  ])
    test(`a scene of ${name} is framed, with a grid under it`, async () => {
      await visit({
        name: `Scene of ${name}`,
        objects: [
          {
            id: 'block',
            fixed: true,
            geometry: { type: 'box', size: [size, size, size] },
            pose: { p: [far, 0, 0], q: [1, 0, 0, 0] },
          },
        ],
      });
      const left = await person.at([far - size / 2, -size / 2, -size / 2]),
        right = await person.at([far + size / 2, size / 2, -size / 2]);
      assert.ok(right.x - left.x > 150 && right.x - left.x < 900, `${right.x - left.x} px wide`);
      const image = await person.screenshot();
      const area = await canvas();
      const y = area.y + area.height - 40; // in front of the block, where there is nothing but the ground
      let lines = 0;
      for (let x = area.x + 300; x < area.x + area.width - 300; x++)
        if (apart(image.pixel(x, y), image.pixel(x + 1, y)) > 8) lines++;
      assert.ok(lines >= 2, `${lines} edges of lines`);
    });

  test('a scene nobody holds begins with its energy, one with a hand with its force', async () => {
    await visit('bouncing-ball');
    await page.waitForSelector('.plot-tabs [aria-pressed="true"]:has-text("Energy")');
    await show('paper-plane');
    await page.waitForSelector('.plot-tabs [aria-pressed="true"]:has-text("Force")');
  });

  test('a scene at rest costs no drawing, stopped or running, and one that moves is drawn', async () => {
    await visit('cone-on-cylinder');
    await page.mouse.move(20, 500);
    await page.evaluate(() => {
      const gl = WebGL2RenderingContext.prototype;
      const clear = gl.clear; // begins a picture
      globalThis.drawn = 0;
      gl.clear = function (buffers) {
        globalThis.drawn++;
        clear.call(this, buffers);
      };
    });
    const pictures = async () => {
      const before = await page.evaluate(() => globalThis.drawn);
      await page.waitForTimeout(1000);
      return (await page.evaluate(() => globalThis.drawn)) - before;
    };
    const rests = () => until(async () => (await pictures()) === 0, 'a second passes in which nothing is drawn', 8000);
    await rests();
    await appliance.api('PUT', '/simulation', { state: 'running' });
    await rests();
    const push = { type: 'wrench', samples: [{ t: 0, force: [0.02, 0, 0], torque: [0, 0, 0.0005] }] };
    await appliance.api('PUT', '/devices/sim/operator', push);
    assert.ok((await pictures()) > 8, 'what moves is drawn');
  });

  for (const [width, height] of [
    [390, 844],
    [640, 360],
    [900, 700],
  ])
    test(`at ${width} x ${height} the first hint hides nothing, and HALT takes no line of its own`, async () => {
      await visit('cone-on-cylinder', { viewport: { width, height } });
      const hint = await page.locator('.hints').boundingBox();
      const apex = await person.at([0.05, -0.04 + 0.1 * Math.sin(Math.PI / 3), 0.2 + 0.1 * Math.cos(Math.PI / 3)]);
      const cone = { left: apex.x - 30, right: apex.x + 30, top: apex.y };
      assert.ok(
        hint.y + hint.height < cone.top || hint.x + hint.width < cone.left || hint.x > cone.right,
        `hint ${JSON.stringify(hint)}, apex ${JSON.stringify(apex)}`,
      );
      const header = await page.locator('.header').boundingBox();
      assert.ok(header.height <= 90, `${header.height} px high`);
      await nothingUnderHalt();
    });

  for (const width of [821, 1000, 1280])
    test(`halted, the way to arm again is clear of HALT, ${width} pixels wide`, async () => {
      await visit('cone-on-cylinder');
      await resize(width, 720);
      await page.keyboard.press('Control+.');
      await page.waitForSelector('.header .arm');
      await nothingUnderHalt();
      await appliance.api('POST', '/simulation/arm');
    });

  for (const width of [821, 900, 1060, 1280])
    test(`every button of the list is within reach, ${width} pixels wide`, async () => {
      await visit('cone-on-cylinder');
      await resize(width, 700);
      const panel = await page.locator('.left').boundingBox();
      for (const button of await page.locator('.left .section-head button').all()) {
        const b = await button.boundingBox();
        assert.ok(
          b.x >= panel.x && b.x + b.width <= panel.x + panel.width,
          (await button.getAttribute('aria-label')) ?? '',
        );
      }
    });
});
