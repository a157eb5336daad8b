// One appliance, one browser and one page for all tests of a process (`all.mjs`). A test says which scene it wants to
// see; what the test before it left on the page is put away as a person would: let go, back to the first plot, another
// scene.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe } from 'node:test';
import { Appliance, launch, Person, until, usualSize } from './harness.mjs';

export let appliance;
export let browser;
export let person;
export let page;

const nowhere = 'about:blank'; // the page of who stays, while somebody else looks
let usual; // the person who stays from test to test; others leave after theirs

async function start() {
  appliance ??= await Appliance.start();
  browser ??= await launch();
}

after(async () => {
  await browser?.close();
  await appliance?.stop();
});

async function quiet() {
  const messages = person?.messages.splice(0) ?? [];
  if (person && person !== usual) await person.leave();
  if (usual) await usual.page.setViewportSize(usualSize);
  person = undefined;
  assert.deepEqual(messages, [], 'nothing of ours in the console');
}

// Tests that belong together. Those that go on from one another (`together`) keep their page.
export function suite(name, tests, { together = false } = {}) {
  describe(name, () => {
    before(start);
    if (together) after(quiet);
    else afterEach(quiet);
    tests();
  });
}

async function stop() {
  await appliance.api('POST', '/simulation/arm').catch(() => undefined);
  await appliance.api('PUT', '/simulation', { state: 'stopped' });
}

// Stops what runs, and shows a scene: a bundled one by its file, or a document.
export async function show(scene) {
  await stop();
  if (typeof scene === 'string') await appliance.open(scene);
  else await appliance.api('PUT', '/scene', { format: 'guideway-scene/1', ...scene });
  return (await appliance.get('/scene')).name;
}

// Somebody looks at the scene. With `options` (of a browser's context, {} for none) it is somebody who
// comes for the first time; else the one who was there before, or one who knows the hints.
export async function visit(scene, options) {
  if (options || !usual) await show(scene);
  if (options) {
    await usual?.page.goto(nowhere); // else it would draw all that the newcomer sees, too
    person = await Person.arrive(browser, appliance, options);
  } else if (usual) person = await back(scene);
  else {
    person = usual = await Person.arrive(browser, appliance);
    await person.page
      .locator('.hints button')
      .click({ timeout: 2000 })
      .catch(() => undefined);
  }
  page = person.page;
}

// The window of who looks becomes that large; after the test it is as it was.
export async function resize(width, height) {
  await page.setViewportSize({ width, height });
  await person.settled();
}

async function back(scene) {
  const { page: there } = usual;
  if (there.url() === nowhere) {
    await show(scene);
    await there.goto(appliance.url);
    await usual.ready();
    await usual.settled();
    return usual;
  }
  await stop(); // a page that draws all the time answers late
  await there.mouse.move(20, 500);
  await there.keyboard.press('Escape'); // a dialog
  await there.locator('#canvas').focus();
  for (let i = 0; i < 3; i++) await there.keyboard.press('Escape'); // a draft, a kind, what is selected
  await there
    .locator('.plot-tabs button:first-child:not([aria-pressed=true])')
    .click({ timeout: 1 })
    .catch(() => undefined);
  const reads = (name) =>
    until(
      () => there.evaluate((n) => document.querySelector('.scene-menu').selectedOptions[0]?.textContent === n, name),
      `the page shows ${name}`,
    );
  await reads(await show({ name: 'Between two tests', objects: [] }));
  await reads(await show(scene));
  await usual.settled();
  return usual;
}
