// Assembly on the page: scattered parts are assembled, drawn at each iteration; stopped in the middle, resumed,
// applied, undone; relations that cannot hold are listed by name.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { until } from './harness.mjs';

const bar = (id, length, p, q = [1, 0, 0, 0]) => ({
  id,
  geometry: { type: 'box', size: [length, 0.03, 0.02] },
  pose: { p, q },
  body: { mass: 1 },
});
const at = (object, p) => ({ object, at: { p, q: [1, 0, 0, 0] } });
const hinge = (id, a, b) => ({ id, type: 'revolute', a, b });

// Crank, coupler and rocker beside the ground that two of them are hinged to.
const scattered = {
  format: 'guideway-scene/1',
  name: 'Scattered four-bar',
  objects: [
    { ...bar('ground', 0.4, [0.15, 0, -0.03]), fixed: true },
    bar('crank', 0.1, [0.3, 0.25, 0.1], [0.5, 0.5, -0.5, 0.5]),
    bar('coupler', 0.3, [-0.2, 0.2, 0.25], [0.6, 0, 0.8, 0]),
    bar('rocker', 0.2, [0.1, -0.3, 0.2], [0, 0.6, 0, 0.8]),
  ],
  joints: [
    hinge('j1', at('crank', [-0.05, 0, 0]), at('ground', [-0.15, 0, 0.03])),
    hinge('j2', at('coupler', [-0.15, 0, 0]), at('crank', [0.05, 0, 0.02])),
    hinge('j3', at('rocker', [-0.1, 0, 0]), at('ground', [0.15, 0, 0.03])),
    hinge('j4', at('coupler', [0.15, 0, 0]), at('rocker', [0.1, 0, 0.02])),
  ],
};
const torn = {
  ...scattered,
  name: 'Torn four-bar',
  joints: scattered.joints.map((j) => (j.id === 'j3' ? { ...j, b: at('ground', [2, 0, 0.03]) } : j)),
};

const button = (name) => page.getByRole('button', { name, exact: true });
const words = () => person.text('.assembly-words');
const poses = async () => Object.fromEntries((await appliance.get('/objects')).map((o) => [o.id, o.pose]));
const away = (a, b) => Math.hypot(...a.p.map((c, i) => c - b.p[i]));

const open = async () => {
  const title = button('Assembly');
  if ((await title.getAttribute('aria-expanded')) === 'false') await title.click();
};

// Pixels of the chart that are of the curve's colour.
const drawn = () =>
  page.evaluate(() => {
    const canvas = document.querySelector('canvas.convergence');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 200 && data[i] > data[i + 1] + 60 && data[i] > data[i + 2] + 40) count++;
    return count;
  });

suite('assembly', () => {
  beforeEach(() => visit(scattered));

  test('parts come together, are applied as one edit, and undo takes it back', async () => {
    const before = await poses();
    await button('Assemble the parts').click();
    await until(async () => /^All relations hold after \d+ iterations/.test(await words()), 'they hold');
    await until(async () => (await drawn()) > 50, 'a curve');
    assert.deepEqual(await poses(), before, 'nothing is changed yet');
    await button('Apply').click();
    await until(async () => away((await poses()).crank, before.crank) > 0.1, 'the parts are there');
    assert.equal((await appliance.api('POST', '/assemble', { iterations: 0 })).ended, 'held');
    await until(async () => (await page.locator('.assembly-words').count()) === 0, 'the panel is as it was');
    await page.keyboard.press('Control+z');
    await until(async () => away((await poses()).crank, before.crank) < 1e-12, 'taken back');
    assert.deepEqual(await poses(), before);
  });

  test('it is stopped in the middle, goes on, is stopped again and applied', async () => {
    const before = await poses();
    await open();
    await page.getByRole('combobox', { name: 'Method of assembly' }).selectOption('gradient');
    await button('Assemble the parts').click();
    await until(async () => /^(\d\d+) iterations, [\d.]+ mm open/.test(await words()), 'it works');
    await button('Stop assembling').click();
    await until(async () => /^Stopped after \d+ iterations, .* open\./.test(await words()), 'stopped');
    const made = Number((await words()).match(/\d+/)[0]);
    await until(async () => (await drawn()) > 5, 'a curve');
    const remaining = await until(async () => {
      const lines = await page.locator('[aria-label="What remains"] li').allInnerTexts();
      return lines.length === 4 && lines;
    }, 'all four are told');
    assert.match(remaining[0], /j1\s+turns about[\s\S]*crank . ground/);
    await page.locator('[aria-label="What remains"] button').first().click();
    await until(async () => /crank/.test(await person.text('.right')), 'the part is selected');
    await button('Go on').click();
    await until(async () => Number((await words()).match(/\d+/)[0]) > made + 25, 'more of them');
    await button('Stop assembling').click();
    await button('Apply').click();
    await until(async () => away((await poses()).crank, before.crank) > 1e-3, 'nearer');
    assert.equal((await appliance.api('POST', '/assemble', { iterations: 0 })).ended, 'stopped');
    await page.getByRole('button', { name: /^Undo/ }).click();
    await until(async () => away((await poses()).crank, before.crank) < 1e-12, 'taken back');
    await page.getByRole('combobox', { name: 'Method of assembly' }).selectOption('lm');
  });

  test('other ground, and letting go', async () => {
    const before = await poses();
    await open();
    await page.locator('.ground summary').click();
    await page.getByRole('checkbox', { name: 'coupler stands' }).check();
    await page.getByRole('checkbox', { name: 'ground stands' }).uncheck();
    await button('Assemble the parts').click();
    await until(async () => /^All relations hold/.test(await words()), 'they hold');
    await button('Discard').click();
    await until(async () => (await page.locator('.assembly-words').count()) === 0, 'let go');
    assert.deepEqual(await poses(), before);
    await button('Assemble the parts').click();
    await until(async () => /^All relations hold/.test(await words()), 'they hold');
    await button('Apply').click();
    await until(async () => away((await poses()).ground, before.ground) > 0.01, 'the ground has come');
    assert.deepEqual((await poses()).coupler, before.coupler);
  });

  test('what cannot hold is named; a run refuses it in words', async () => {
    await visit(torn);
    await button('Assemble the parts').click();
    await until(async () => /^Not found in \d+ iterations from 64 starts/.test(await words()), 'the end', 40000);
    const remaining = async () =>
      (await page.locator('[aria-label="What remains"] .entry-id').allInnerTexts()).map((t) => t.trim()).join(' ');
    await until(async () => (await remaining()) === 'j1 j2 j3 j4', 'all that do not hold');
    await appliance.api('PUT', '/simulation', { state: 'running' });
    await until(async () => /Stop the simulation to assemble/.test(await person.text('.left')), 'the words');
    await until(() => button('Assemble the parts').isDisabled(), 'nothing to press');
    await until(async () => (await page.locator('.assembly-words').count()) === 0, 'the result is gone');
    await appliance.api('PUT', '/simulation', { state: 'stopped' });
  });
});
