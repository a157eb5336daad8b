// Harness of the page's tests: a real server on a free port with a folder of its own, a real
// Chromium, and a mouse that knows where points of the scene are on the canvas.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const need = createRequire(join(root, 'web/package.json'));
export const { chromium } = need('playwright-core');
const axePath = need.resolve('axe-core/axe.min.js');
const binary = process.env.GUIDEWAY ?? join(root, 'build/guideway');

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Waits until `check` answers something true; fails with `what` after `ms`.
export async function until(check, what, ms = 10000) {
  const end = Date.now() + ms;
  let last;
  for (;;) {
    try {
      last = await check();
      if (last) return last;
    } catch (e) {
      last = e;
    }
    if (Date.now() > end)
      throw new Error(
        `gave up waiting until ${what}; last: ${last instanceof Error ? last.message : JSON.stringify(last)}`,
      );
    await sleep(40);
  }
}

function freePort() {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.on('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

// ---- the appliance ----------------------------------------------------------------------------------

export class Appliance {
  static async start(args = [], address = '127.0.0.1') {
    const a = new Appliance();
    a.port = await freePort();
    a.data = await mkdtemp(join(tmpdir(), 'guideway-web-'));
    a.address = address;
    a.url = `http://${address}:${a.port}`;
    a.args = args;
    await a.up();
    return a;
  }

  async up() {
    this.process = spawn(
      binary,
      ['serve', '--listen', `${this.address}:${this.port}`, '--data', this.data, ...this.args],
      { cwd: this.data, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.log = '';
    for (const pipe of [this.process.stdout, this.process.stderr]) pipe.on('data', (d) => (this.log += d));
    await until(async () => (await fetch(`${this.url}/healthz`)).ok, `the server answers: ${this.log}`);
  }

  async down() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = new Promise((done) => this.process.once('exit', done));
    this.process.kill('SIGTERM');
    const timer = setTimeout(() => this.process.kill('SIGKILL'), 4000);
    await gone;
    clearTimeout(timer);
  }

  async stop() {
    await this.down();
    await rm(this.data, { recursive: true, force: true });
  }

  async api(method, path, body) {
    const reply = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  get(path) {
    return this.api('GET', path);
  }

  open(scene) {
    return this.api('POST', '/scene/open', { scene });
  }

  async tool() {
    return (await this.get('/simulation')).tools[0];
  }
}

// ---- the browser --------------------------------------------------------------------------------------

// WebGL is drawn by the processor here: without smoothed edges, and put together with the page without WebGL, that
// takes a third less of it.
export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--headless=new',
      '--no-sandbox',
      '--use-gl=angle',
      '--use-angle=swiftshader',
      '--enable-unsafe-swiftshader',
      '--ignore-gpu-blocklist',
      '--webgl-antialiasing-mode=none',
      '--disable-gpu-compositing',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-quic',
      '--no-first-run',
      '--disable-dev-shm-usage',
    ],
  });

// Messages that the browser itself writes about its own state, not our code.
const notOurs =
  /WebSocket connection to|Failed to load resource|net::ERR_CONNECTION|GPU stall due to ReadPixels|status of 4\d\d/;

export const usualSize = { width: 1280, height: 720 };

export class Person {
  constructor(page, appliance) {
    this.page = page;
    this.appliance = appliance;
    this.messages = [];
    page.on('console', (m) => {
      if (!notOurs.test(m.text())) this.messages.push(`${m.type()}: ${m.text()}`);
    });
    page.on('pageerror', (e) => this.messages.push(`error: ${e.message}`));
  }

  static async arrive(browser, appliance, options = {}) {
    const context = await browser.newContext({ viewport: usualSize, ...options });
    const person = new Person(await context.newPage(), appliance);
    await person.page.goto(appliance.url);
    await person.ready();
    return person;
  }

  leave() {
    return this.page.context().close();
  }

  async ready() {
    await this.page.waitForSelector('#canvas[data-ready="yes"]', { timeout: 60000 });
  }

  text(selector) {
    return this.page.locator(selector).first().innerText();
  }

  words() {
    return this.text('[data-words]');
  }

  // Two frames were drawn: the picture and the published camera are those of what the page knows.
  drawn() {
    return this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  // Where a point of the world is, in pixels of the page.
  async at(p) {
    await this.drawn();
    const canvas = this.page.locator('#canvas');
    const { width, height, clip: m } = JSON.parse(await canvas.getAttribute('data-camera'));
    const box = await canvas.boundingBox();
    const row = (i) => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
    const w = row(3);
    const x = box.x + ((row(0) / w + 1) / 2) * width;
    const y = box.y + ((1 - row(1) / w) / 2) * height;
    const inside = w > 0 && x > box.x && x < box.x + width && y > box.y && y < box.y + height;
    return { x, y, inside };
  }

  // The camera is still once the published one no longer changes: two frames later it is the same.
  settled() {
    return this.page.evaluate(async () => {
      const canvas = document.querySelector('#canvas');
      const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const end = performance.now() + 10000;
      await drawn();
      for (let last = ''; last !== canvas.dataset.camera; await drawn()) {
        if (performance.now() > end) throw new Error('the camera does not rest');
        last = canvas.dataset.camera;
      }
    });
  }

  async moveTo(p) {
    const { x, y } = await this.at(p);
    await this.page.mouse.move(x - 2, y - 2);
    await this.page.mouse.move(x, y);
  }

  hovered() {
    return this.text('.status-hover');
  }

  // Hovers until what is under the cursor reads like that, or starts with it. `p` is a point of the world, or a
  // function that tells where it is now. Answers with where it was.
  async point(like, p) {
    const where = typeof p === 'function' ? p : () => p;
    let at;
    await until(async () => {
      await this.moveTo((at = await where()));
      await sleep(120);
      const now = await this.hovered();
      return typeof like === 'string' ? now.startsWith(like) : like.test(now);
    }, `${like} is under the cursor`);
    return at;
  }

  // Points at a feature until it is the one under the cursor, then clicks.
  async pick(ref, p) {
    const { x, y } = await this.at(await this.point(ref, p));
    await this.page.mouse.click(x, y);
    await until(async () => (await this.text('.picked')).includes(ref), `${ref} is picked`, 5000);
  }

  async screenshot() {
    await this.drawn();
    const { decode } = await import('./png.mjs');
    return decode(await this.page.screenshot());
  }
}

// A check by axe, to be called in every state that matters: nothing serious, in light and in dark colours (of the
// rules only those about colours see a difference).
export async function audit(page) {
  await page.evaluate(await readFile(axePath, 'utf8')); // by the debugger, which the page's policy does not bind
  const serious = async (where, rules) => {
    const found = await page.evaluate(async (only) => {
      await Promise.all(document.getAnimations().map((a) => a.finished));
      const { violations } = await window.axe.run(document, { resultTypes: ['violations'], ...only });
      return violations;
    }, rules);
    const bad = found.filter((v) => ['serious', 'critical'].includes(v.impact));
    assert.deepEqual(
      bad.map((v) => `${where}: ${v.id} ${v.nodes.map((n) => `${n.target} ${n.any[0]?.message ?? ''}`).join(' | ')}`),
      [],
    );
  };
  return async (where) => {
    await serious(where);
    await page.emulateMedia({ colorScheme: 'dark' });
    await serious(`${where}, dark`, { runOnly: ['color-contrast', 'link-in-text-block'] });
    await page.emulateMedia({ colorScheme: 'light' });
  };
}

// ---- geometry ---------------------------------------------------------------------------------------------

export const rotate = ([w, x, y, z], v) => {
  const t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])];
  return [
    v[0] + w * t[0] + y * t[2] - z * t[1],
    v[1] + w * t[1] + z * t[0] - x * t[2],
    v[2] + w * t[2] + x * t[1] - y * t[0],
  ];
};

export const place = (pose, v) => rotate(pose.q, v).map((x, i) => x + pose.p[i]);
