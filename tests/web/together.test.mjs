// Two people at one scene: what one does the other sees at once, keeps what is selected, and hears why something that
// was in hand is gone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { appliance, browser, page, person, suite, visit } from './fixture.mjs';
import { Person, place, until } from './harness.mjs';

suite(
  'two people',
  () => {
    let other; // the second one
    const reads = (of, selector, like, what) => until(async () => like.test(await of.text(selector)), what);
    const held = async (of) => of.at(place((await appliance.tool()).pose, [0, 0, 0.045]));
    const chosen = (of) => of.page.evaluate(() => document.querySelector('.tree-line.chosen')?.dataset.key);
    const shows = (of, name) =>
      until(
        async () => (await of.page.locator('.scene-menu option:checked').first().textContent()) === name,
        `${name} is shown`,
      );

    before(async () => {
      await visit('paper-circle', {});
      await appliance.api('DELETE', '/devices/sim/operator'); // nobody else pushes
      other = await Person.arrive(browser, appliance);
      for (const p of [person, other])
        await p.page
          .locator('.hints button')
          .click({ timeout: 500 })
          .catch(() => {});
    });
    after(() => other?.leave());

    test('an edit of one is seen by the other within some frames, who keeps what is selected', async () => {
      await other.page.click('.tree [data-key="cone"]');
      await other.page.evaluate(() => {
        const look = () => {
          if (/70 mm/.test(document.querySelector('.entries').innerText)) window.seenAt ??= Date.now();
        };
        new MutationObserver(look).observe(document.querySelector('.left'), {
          subtree: true,
          childList: true,
          characterData: true,
        });
      });
      const at = Date.now();
      await appliance.api('PATCH', '/constraints/c2', { value: 0.07 });
      const seen = await until(() => other.page.evaluate(() => window.seenAt), 'it is seen');
      assert.ok(seen - at < 500, `${seen - at} ms`);
      assert.equal(await chosen(other), 'cone');
    });

    test('a drag of what the other pulls is refused by the name of the body', async () => {
      await appliance.api('PUT', '/simulation', { state: 'running' });
      await page.waitForSelector('.transport button[aria-label="Run"][aria-pressed="true"]');
      const mine = await held(person);
      await page.mouse.move(mine.x, mine.y);
      await page.mouse.down();
      await page.mouse.move(mine.x + 30, mine.y, { steps: 3 });
      await until(async () => (await appliance.tool()).dragging, 'the first has it');
      const theirs = await held(other);
      await other.page.mouse.move(theirs.x, theirs.y);
      await other.page.mouse.down();
      await other.page.mouse.move(theirs.x - 30, theirs.y, { steps: 3 });
      await reads(other, '.notice', /another operator holds cone/, 'the refusal');
      await other.page.mouse.up();
      assert.equal((await appliance.tool()).dragging, true, 'the first has it still');
      await page.mouse.up();
      await appliance.api('PUT', '/simulation', { state: 'stopped' });
    });

    test('what one deletes while the other changes it is told, and comes back by undo of either', async () => {
      await page.keyboard.press('Escape');
      await page.click('[data-constraint="c2"]');
      await page.locator('.right input[aria-label^="Value"]').fill('8');
      await other.page.locator('button[aria-label="Delete c2"]').click();
      await reads(person, '.notice', /c2 is gone: somebody else/, 'it is told');
      assert.equal(await other.page.locator('.notice:has-text("gone")').count(), 0, 'not to who deleted it');
      await page.locator('#canvas').focus();
      await page.keyboard.press('Control+z');
      await other.page.waitForSelector('[data-constraint="c2"]');
      assert.equal((await appliance.get('/constraints'))[1].value, 0.07);
    });

    test('an object that goes while it is dragged is named no longer', async () => {
      const { x, y } = await person.at(
        await person.point('cone', async () => place((await appliance.tool()).pose, [0, 0, 0.045])),
      );
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x + 20, y, { steps: 3 });
      const gone = ['/constraints/c1', '/constraints/c2', '/tool', '/objects/cone'];
      await appliance.api(
        'POST',
        '/scene/edits',
        gone.map((path) => ({ method: 'DELETE', path })),
      );
      await until(async () => !/cone/.test(await person.hovered()), 'nothing is named');
      await page.mouse.up();
      await appliance.api('POST', '/scene/undo');
      await page.waitForSelector('.tree [data-key="cone"]');
    });

    test('halted by one, armed by the other: the question that the first was asked goes', async () => {
      await page.keyboard.press('Control+.');
      await other.page.waitForSelector('.banner.halted');
      await page.click('.arm');
      await page.waitForSelector('dialog[open]');
      await other.page.click('.arm');
      await other.page.click('dialog[open] .primary');
      await page.waitForSelector('dialog', { state: 'detached' });
      await until(async () => !(await appliance.get('/simulation')).halted, 'armed');
    });

    test('saving under another name moves no camera and keeps what is selected', async () => {
      await other.page.click('.tree [data-key="cone"]');
      await other.page.mouse.move(420, 200);
      await other.page.mouse.down();
      await other.page.mouse.move(460, 220, { steps: 3 });
      await other.page.mouse.up();
      await other.settled();
      const camera = () => other.page.getAttribute('#canvas', 'data-camera');
      await other.page.click('.tree [data-key="cone"]');
      const before = await camera();
      await other.page.keyboard.press('Control+s');
      await other.page.fill('dialog input[type=text]', 'A circle of ours');
      await other.page.keyboard.press('Enter');
      await shows(person, 'A circle of ours');
      await other.settled();
      assert.equal(await camera(), before);
      assert.equal(await chosen(other), 'cone');
    });

    test('a scene that one opens is told to the other', async () => {
      const told = reads(other, '.notice', /Somebody else opened .A corner on a sphere/, 'it is told'); // for 5 s
      await page.keyboard.press('g');
      await page.click('dialog .card-main:has-text("A corner on a sphere")');
      await shows(other, 'A corner on a sphere');
      await told;
      assert.equal(await page.locator('.notice:has-text("Somebody else opened")').count(), 0);
    });
  },
  { together: true },
);
