// Safety on the page: HALT from any state, who operates, why devices
// are off, how the loop does.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { appliance, browser, page, person, suite, visit } from './fixture.mjs';
import { need, Person, place, until } from './harness.mjs';

const { WebSocket } = need('ws');

const simulation = () => appliance.get('/simulation');
// The page halts by stream and by REST: what comes second makes an arming lose.
const armed = () => until(() => appliance.api('POST', '/simulation/arm'), 'armed');
// Starts something that a halt refuses: where the second word of the last halt came late, after arming again.
const started = (start) =>
  until(async () => {
    if ((await simulation()).halted) await armed();
    return (await start()) ?? true;
  }, 'it is started');
const run = () => started(() => appliance.api('PUT', '/simulation', { state: 'running' }));
const stop = () => appliance.api('PUT', '/simulation', { state: 'stopped' });

// The same numbers in every run.
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

// Where on the page what is held is, at its start.
const held = async (of = person) => of.at(place((await appliance.tool()).pose, [0, 0, 0]));

// A hand on it, the button down.
async function grab({ x, y }, of = page) {
  await of.mouse.move(x, y);
  await of.mouse.down();
  await of.mouse.move(x + 30, y + 20, { steps: 2 });
}

// Ways into a state of the page and out of it. `moves`: it needs devices that are armed.
const shut = async () => {
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
};
const dialog = (name) => ({
  name: `a dialog, ${name}`,
  enter: async () => {
    await page.locator('#canvas').focus();
    await page.keyboard.press(name);
    await page.waitForSelector('dialog[open]');
  },
  leave: shut,
});
const release = async () => {
  await page.mouse.up();
  await stop();
};
let start;
const states = [
  dialog('g'),
  dialog('Control+s'),
  dialog('?'),
  dialog('Control+k'),
  {
    name: 'a dialog of many fields',
    enter: async () => {
      await page.click('button[aria-label="Add a mechanism"]');
      await page.waitForSelector('dialog[open]');
    },
    leave: shut,
  },
  {
    name: 'asked about arming, armed by another',
    moves: true,
    enter: async () => {
      await halt(1);
      await page.click('.arm');
      await page.waitForSelector('dialog[open]');
      await armed();
    },
    leave: shut,
  },
  {
    name: 'a drag while running',
    moves: true,
    hands: true,
    enter: async () => {
      await run();
      await grab(start);
    },
    leave: release,
  },
  { name: 'a drag while stopped', moves: true, hands: true, enter: () => grab(start), leave: release },
  {
    name: 'the view being turned',
    hands: true,
    enter: async () => {
      await page.mouse.move(420, 180);
      await page.mouse.down();
      await page.mouse.move(440, 190);
    },
    leave: () => page.mouse.up(),
  },
  { name: 'a field half typed', enter: () => page.fill('.left input[aria-label^="Gravity"]', '-1') },
  { name: 'a list of choices', enter: () => page.click('select[aria-label="Rate of the loop"]') },
  {
    name: 'a task',
    moves: true,
    enter: async () => {
      const [task] = await appliance.get('/tasks');
      await started(() => appliance.api('POST', `/tasks/${task.id}/start`));
    },
    leave: stop,
  },
  { name: 'running', moves: true, enter: run, leave: stop },
  { name: 'a constraint chosen', enter: () => page.locator('.entry-main').first().click() },
  {
    name: 'pushing by the arrows',
    moves: true,
    enter: async () => {
      await run();
      await page.locator('#canvas').focus();
      await page.keyboard.down('ArrowUp');
    },
    leave: async () => {
      await page.keyboard.up('ArrowUp');
      await stop();
    },
  },
  {
    name: 'a small window',
    enter: () => page.setViewportSize({ width: 640, height: 360 }),
    leave: () => page.setViewportSize(SIZE),
  },
  { name: 'disconnected and back', away: true, enter: () => page.context().setOffline(true) },
];
const SIZE = { width: 860, height: 480 }; // little to draw

// By a click, Ctrl+. or Pause; answers what the appliance said to the page.
async function halt(way, away) {
  const answered = page.waitForResponse((r) => r.url().endsWith('/simulation/halt'));
  if (way === 0) await page.mouse.click(page.viewportSize().width - 50, 20);
  else await page.keyboard.press(way === 1 ? 'Control+.' : 'Pause');
  if (away) await page.context().setOffline(false);
  return (await answered).json();
}

suite('trust', () => {
  // each state by each way in random order, again and again; HALTS: how many
  test('HALT acts at the first click or key in 200 random states', async () => {
    await visit('cover-and-base', { viewport: SIZE });
    await page
      .locator('.hints button')
      .click({ timeout: 500 })
      .catch(() => undefined);
    start = await held();
    const next = random(20081);
    const all = states.flatMap((state) => (state.hands ? [1, 2] : [0, 1, 2]).map((way) => ({ state, way })));
    let arming;
    for (let i = 0, left = []; i < Number(process.env.HALTS ?? 200); i++) {
      if (!left.length) left = [...all];
      const [{ state, way }] = left.splice(next(left.length), 1);
      const what = `${state.name}, by ${['a click', 'Ctrl+.', 'Pause'][way]}`;
      if (state.moves) await arming;
      await Promise.all([arming, state.enter()]);
      while ((await simulation()).halted) await armed(); // the second word of the last halt came late
      const { halted } = await halt(way, state.away).catch((error) => assert.fail(`${i}, ${what}: ${error.message}`));
      assert.equal(halted, true, `${i}, ${what}`);
      arming = armed();
      await state.leave?.();
    }
    await arming;
  });

  test('Space runs and pauses whatever was clicked last, and types where text is', async () => {
    await visit('cone-on-cylinder');
    const state = async (is) => {
      await until(async () => (await simulation()).state === is, `it is ${is}`);
      const button = is === 'running' ? 'Run' : 'Pause'; // and the page knows
      await page.waitForSelector(`.transport button[aria-label="${button}"][aria-pressed="true"]`);
    };
    await page.click('.tree [data-key="cylinder"]');
    await page.keyboard.press('Space');
    await state('running');
    await until(
      async () => (await page.locator('.tree-line.chosen').getAttribute('data-key')) === 'cylinder',
      'it stays chosen',
    );
    await page.click('button[aria-label="Redo"]', { force: true }); // greyed: there is nothing to redo
    await page.click('.section .fold'); // shuts a section
    await page.keyboard.press('Space');
    await state('paused');
    await page.click('.section .fold');
    await page.keyboard.press('Space');
    await state('running');
    await page.click('.tree [data-key="cone"]');
    const name = page.locator('.right input.name');
    await name.click();
    await page.keyboard.press('Space');
    await until(async () => / /.test(await name.inputValue()), 'a space is typed');
    await page.keyboard.press('Escape');
    await page.locator('.section .fold').first().focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab'); // by the keyboard: Space is the button's
    const expanded = () => page.locator('.section .fold').first().getAttribute('aria-expanded');
    const before = await expanded();
    await page.keyboard.press('Space');
    await until(async () => (await expanded()) !== before, 'it folds');
    await page.keyboard.press('Space');
    await state('running');
  });

  test('what is joined to a latched device is dragged for as long as the pointer rests on it', async () => {
    const box = (id, x) => ({
      id,
      geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
      pose: { p: [x, 0, 0], q: [1, 0, 0, 0] },
    });
    await visit({
      name: 'Hinged',
      objects: [box('block', 0), box('flap', 0.3)],
      joints: [
        {
          id: 'hinge',
          type: 'revolute',
          a: { object: 'flap', at: { p: [-0.15, 0, 0] } },
          b: { object: 'block', at: { p: [0.15, 0, 0] } },
        },
      ],
      devices: [{ id: 'sim', driver: 'sim', safety: 'latched' }],
      tool: { object: 'block', device: 'sim' },
    });
    const flap = async () => (await simulation()).bodies.find((b) => b.object === 'flap');
    const operated = async () => {
      const { operator, halted } = await simulation();
      return !!operator && !halted && (await flap()).dragging;
    };
    await until(
      async () => {
        await stop();
        await run();
        await grab(await person.at(place((await flap()).pose, [0, 0, 0])));
        await new Promise((rested) => setTimeout(rested, 1000));
        const rests = await operated();
        await page.mouse.up();
        return rests;
      },
      'it rests and is not let go of',
      30000,
    );
    await until(async () => !(await simulation()).operator, 'it ends in order');
    const { halted, halt } = await simulation();
    assert.ok(!halted || /overrun|watchdog/.test(halt.cause), JSON.stringify(halt)); // by a machine that stalled
    await stop();
  });

  test('who operates a latched device is seen by all, and nobody else drags it', async () => {
    await visit({
      name: 'Latched',
      objects: [{ id: 'block', geometry: { type: 'box', size: [0.1, 0.1, 0.1] } }],
      devices: [{ id: 'sim', driver: 'sim', safety: 'latched' }],
      tool: { object: 'block', device: 'sim' },
    });
    await until(async () => /nobody/.test(await person.text('[data-operator]')), 'nobody yet');
    const other = new WebSocket(`ws://127.0.0.1:${appliance.port}/ws`, 'guideway.v1');
    const lease = (on) => other.readyState === 1 && other.send(JSON.stringify({ op: 'lease', on }));
    const renewing = setInterval(() => lease(true), 50);
    try {
      await page.waitForSelector('.hand:has-text("operates the device: nobody else can")');
      await until(
        async () => /stream 127.0.0.1:\d+, since/.test(await person.text('[data-operator]')),
        'who, since when',
      );
      await until(
        async () => {
          if ((await simulation()).halted) await armed(); // on a machine that stood still for too long
          await run();
          await page.waitForSelector('.hand');
          await grab(await held());
          assert.ok(!(await page.locator('#canvas.dragging').count()), 'no drag, no spring');
          await page.mouse.up();
          return page.locator('.notice.error:has-text("one operator at a time")').count();
        },
        'it is told why',
        30000,
      );
      assert.ok(!(await appliance.tool()).dragging);
      clearInterval(renewing);
      lease(false);
      await page.waitForSelector('.hand', { state: 'detached' });
    } finally {
      clearInterval(renewing);
      other.close();
    }
  });

  test('a drag that the appliance refuses ends, and draws no spring', async () => {
    await visit('cone-on-cylinder');
    const other = await Person.arrive(browser, appliance);
    try {
      await run();
      await page.bringToFront(); // a page behind another draws nothing
      await grab(await held());
      await until(async () => (await appliance.tool()).dragging, 'dragged here');
      await other.page.bringToFront();
      await grab(await held(other), other.page);
      await other.page.waitForSelector('.notice.error:has-text("another operator holds")');
      await other.page.waitForSelector('#canvas:not(.dragging)');
      await other.page.mouse.up();
      assert.ok((await appliance.tool()).dragging);
      await page.mouse.up();
    } finally {
      await other.leave();
    }
  });

  test('a name that is markup is shown as it was given, and does nothing', async () => {
    const name = '<img src=x onerror="document.body.id=1"><b>bold</b>';
    await visit({
      name,
      objects: [{ id: 'block', geometry: { type: 'box', size: [0.1, 0.1, 0.1] } }],
      devices: [{ id: 'sim', driver: 'sim' }],
      tool: { object: 'block', device: 'sim' },
      tasks: [{ id: 'rest', name, object: 'block', steps: [{ type: 'wait', seconds: 1 }] }],
    });
    await until(
      () => page.evaluate((n) => document.body.innerText.includes(n), name),
      'the name of the document, or of its task',
    );
    assert.equal(await page.locator('img[src="x"]').count(), 0);
    assert.notEqual(await page.evaluate(() => document.body.id), '1');
  });

  test('what pushes by itself is named', async () => {
    await visit('ur5');
    await run();
    await page.waitForSelector('.hand:has-text("scripted hand at ur5")');
    await until(async () => /scripted hand/.test(await person.text('.right')), 'and at its device');
    await stop();
    await page.waitForSelector('.hand', { state: 'detached' });
  });

  test('a force-off tells its cause, who and when, and its last ticks can be taken away', async () => {
    await visit('cone-on-cylinder');
    await run();
    await until(async () => (await simulation()).tick > 50, 'some ticks');
    await page.keyboard.press('Control+.');
    const cause = /^Halted at .+ by (you|page 127\.0\.0\.1:\d+)\. Nothing moves/;
    await until(async () => cause.test(await person.text('.banner.halted')), 'cause, who and when');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('.fault button').first().click(),
    ]);
    const rows = (await readFile(await download.path(), 'utf8')).trim().split('\n');
    assert.match(rows[0], /^tick,t,state/);
    assert.ok(rows.length > 50, `${rows.length} rows`);
    await armed();
    await page.waitForSelector('.row:has-text("armed"):has-text("rest 127.0.0.1")');
  });

  test('the loop panel tells of its stages, who was to blame, and its worst ticks', async () => {
    await visit('cone-on-cylinder');
    const fold = page.locator('.fold:has-text("Loop")');
    await fold.click();
    const ticks = async () => Number(await person.text('[data-ticks]'));
    const first = await until(ticks, 'its ticks');
    await until(async () => (await ticks()) > first, 'brought up to date');
    const stages = async () =>
      (await page.locator('table[aria-label="Time by stage"] tbody th').allInnerTexts()).join(', ');
    const all = 'waking, commands, device, geometry, dynamics, control, publish, whole tick';
    await until(async () => (await stages()) === all, 'all stages');
    await page.click('summary:has-text("Histogram")');
    const counted = async () =>
      (await page.locator('table[aria-label="Histogram"] td:last-child').allInnerTexts()).reduce((n, x) => n + +x, 0);
    await until(async () => (await counted()) > first, 'every tick is in the histogram');
    await page.click('summary:has-text("Histogram")');
    await page.click('summary:has-text("Worst ticks")');
    await page.locator('.group-of[open] .numbers tbody tr').first().waitFor();
    await fold.click();
  });

  test('what pushes by a script is named with its force, or with its torque alone', async () => {
    const push = (force, torque) => ({ type: 'wrench', samples: [{ t: 0, force, torque }] });
    await visit({
      name: 'Pushed by a script',
      objects: [{ id: 'box', geometry: { type: 'box', size: [0.1, 0.1, 0.1] } }],
      tool: { object: 'box', device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim', operator: push([0, 0, 0], [0, 0, 0.02]) }],
    });
    await page.click('header button:has-text("Run")');
    const told = (words) => until(async () => (await person.text('.hands')).includes(words), words);
    await told('scripted wrench at box: 0.02 N m');
    await appliance.api('PUT', '/devices/sim/operator', push([0.3, 0, 0.4], [0, 0, 0]));
    await told('scripted wrench at box: 0.5 N');
  });

  test('the mark of the document tells whether it is saved; undo leads back to that', async () => {
    await visit('cone-on-cylinder');
    const saved = (is) => page.waitForSelector(`.saved[data-saved=${is}]`);
    await saved(true);
    await page.click('button[aria-label="Add a box"]');
    await saved(false);
    await until(async () => /^\u2022 /.test(await page.title()), 'in the title');
    await page.click('button[aria-label="Undo"]');
    await saved(true);
    await page.click('button[aria-label="Redo"]');
    await saved(false);
    await appliance.down();
    await page.waitForSelector('.banner.lost');
    await appliance.up();
    const notice = page.locator('.notice.info', { hasText: /started anew and brought .+ back as it was/ });
    await notice.waitFor({ timeout: 20000 });
    await saved(false);
    await appliance.api('POST', '/scene/save', { name: 'marked' });
    await saved(true);
    await page.click('button[aria-label="New scene"]');
    await saved(false);
    await page.click('button[aria-label="Undo"]');
    await saved(true);
    await appliance.api('DELETE', '/scenes/marked');
  });

  test('Stop keeps all plots alike, and the next run begins them anew', async () => {
    await visit('ur5');
    const traced = () =>
      page.locator('.plot canvas').evaluateAll((list) =>
        list.map((c) => {
          const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', { willReadFrequently: true });
          copy.drawImage(c, 0, 0);
          const { data } = copy.getImageData(0, 0, c.width, c.height);
          let drawn = 0;
          for (let i = 3; i < data.length; i += 4) drawn += data[i] > 200;
          return drawn;
        }),
      );
    const [bare] = await traced();
    await run();
    await until(async () => (await simulation()).time > 1.5, 'it ran');
    await until(async () => (await traced())[0] > bare + 100, 'a trace is drawn');
    await stop();
    await page.waitForSelector('.transport button[aria-label^="Stop"][aria-pressed="true"]');
    await person.drawn();
    assert.ok((await traced())[0] > bare + 100, 'the force stays');
    await page.click('.plot-tabs button:has-text("Energy")');
    await until(async () => (await traced())[0] > bare + 100, 'and so does the energy');
  });

  test('what was saved over or deleted is brought back by a click', async () => {
    await visit('cone-on-cylinder');
    const objects = async () => (await appliance.get('/scenes/kept')).objects.length;
    const save = async () => {
      await page.keyboard.press('Control+s');
      await page.fill('dialog input', 'kept');
      await page.keyboard.press('Enter');
    };
    await save();
    await page.waitForSelector('.notice:has-text("Saved as")');
    const first = await objects();
    await page.click('button[aria-label="Add a box"]');
    await until(async () => (await appliance.get('/objects')).length === first + 1, 'a box more');
    await save();
    await page.click('button:has-text("Take the version before back")');
    await page.waitForSelector('.notice:has-text("is saved again")'); // else it would come over the next one
    await until(async () => (await objects()) === first, 'the version before');
    await page.click('button[aria-label="Gallery of scenes"]');
    await page.click('.card:has(.card-file:text-is("kept")) button[aria-label^="Delete"]');
    await page.keyboard.press('Escape');
    await page.click('button:has-text("Bring it back")');
    await until(async () => (await objects()) === first, 'it is back');
    await appliance.api('DELETE', '/scenes/kept');
  });
});
