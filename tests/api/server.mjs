// Starts real servers for the tests, talks to them, holds every reply against the OpenAPI document.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
export const WebSocket = require('ws');
const Ajv = require('ajv/dist/2020').default;

export const root = new URL('../../', import.meta.url).pathname;
export const guideway = process.env.GUIDEWAY ?? join(root, 'build/guideway');
// Sanitizers slow everything down and bring their own malloc.
export const sanitized = Boolean(process.env.GUIDEWAY_SANITIZED) || /asan|tsan/.test(guideway);

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, condition, ms = 60000) {
  for (const end = performance.now() + ms; ; await sleep(2)) {
    const value = await condition();
    if (value) return value;
    assert.ok(performance.now() < end, `waited ${ms} ms for ${what}`);
  }
}

// Servers that a failed test left running would keep its file from ending: hooks that stop them come first.
const running = new Set();
after(() => void setTimeout(() => running.forEach((child) => child.kill('SIGKILL')), 20000).unref());

// A running appliance with a data folder of its own; stop() ends it and tells how it ended.
export async function start({ args = [], env = {}, data, listen = '127.0.0.1:0', program = guideway } = {}) {
  const folder = data ?? mkdtempSync(join(tmpdir(), 'guideway-api-'));
  const child = spawn(program, ['serve', '--listen', listen, '--data', folder, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '',
    err = '';
  running.add(child);
  child.stderr.on('data', (text) => (err += text));
  const ended = new Promise((done) =>
    child.on('exit', (code, signal) => {
      running.delete(child);
      done({ code, signal });
    }),
  );
  const address = await new Promise((done, failed) => {
    child.stdout.on('data', (text) => {
      out += text;
      const found = /http:\/\/(\S+?:\d+)\//.exec(out);
      if (found) done(found[1]);
    });
    child.on('error', failed);
    ended.then((how) => failed(new Error(`serve ended: ${JSON.stringify(how)} ${err}`)));
  });
  const stop = async (signal = 'SIGTERM') => {
    child.kill(signal);
    const how = await ended;
    if (!data) rmSync(folder, { recursive: true, force: true });
    if (signal !== 'SIGKILL') assert.equal(how.code, 0, `serve ended with ${JSON.stringify(how)}: ${err}`);
    return { ...how, err };
  };
  return { address, folder, pid: child.pid, stop, ended, log: () => err };
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

// One request; the body is JSON text, or bytes as they are where it is a string or a buffer.
export function request(server, method, path, body, headers = {}) {
  const [host, port] = server.address.split(/:(?=\d+$)/);
  const data = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const all = { host: server.address, ...headers };
  if (data !== undefined && all['content-type'] === undefined) all['content-type'] = 'application/json';
  if (all['content-type'] === null) delete all['content-type'];
  return new Promise((done, failed) => {
    const sent = http.request({ host, port, method, path, headers: all, agent }, (reply) => {
      const parts = [];
      reply.on('data', (part) => parts.push(part));
      reply.on('error', failed); // the server was killed in the midst of it
      reply.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const type = reply.headers['content-type'] ?? '';
        const json = type.includes('json') && text ? JSON.parse(text) : undefined;
        done({ status: reply.statusCode, headers: reply.headers, type, text, json });
      });
    });
    // a kept connection that the server closed while this process was busy elsewhere
    sent.on('error', (error) =>
      sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
        ? done(request(server, method, path, body, headers))
        : failed(error),
    );
    sent.end(data);
  });
}

// A bare connection to a server.
export function connect(server, options = {}) {
  const [host, port] = server.address.split(/:(?=\d+$)/);
  return net.connect({ host, port: Number(port), ...options }).on('error', () => {});
}

// A bare connection that sends a text: what it got so far, and whether it ended.
export function raw(server, text = '') {
  const state = { socket: connect(server), got: '', ended: false };
  state.socket.on('data', (data) => (state.got += data.toString('latin1')));
  state.socket.on('close', () => (state.ended = true));
  if (text) state.socket.write(text);
  return state;
}

export class Contract {
  constructor(document) {
    this.document = document;
    this.ajv = new Ajv({ strict: false, allErrors: true });
    this.ajv.addSchema(document, 'openapi');
    this.seen = new Set();
    this.validators = new Map();
    this.paths = Object.keys(document.paths).map((path) => ({
      path,
      pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    }));
  }

  // The document's path for an address; exact ones go before those with parameters.
  pathOf(address) {
    const plain = address.split('?')[0];
    return this.document.paths[plain] ? plain : this.paths.find((p) => p.pattern.test(plain))?.path;
  }

  follow(part) {
    return part.$ref
      ? part.$ref
          .slice(2)
          .split('/')
          .reduce((at, name) => at[name], this.document)
      : part;
  }

  validator(schema) {
    const key = JSON.stringify(schema);
    if (!this.validators.has(key)) {
      const absolute = JSON.parse(key.replaceAll('"#/', '"openapi#/'));
      this.validators.set(key, this.ajv.compile(absolute));
    }
    return this.validators.get(key);
  }

  validate(schema, value, what) {
    const check = this.validator(schema);
    assert.ok(
      check(value),
      `${what}: ${JSON.stringify(check.errors?.slice(0, 4))}\n${JSON.stringify(value)?.slice(0, 600)}`,
    );
  }

  // The reply is one that the document declares for this operation, to the letter.
  check(method, address, body, reply) {
    const path = this.pathOf(address);
    const operation = this.document.paths[path]?.[method.toLowerCase()];
    assert.ok(operation, `${method} ${address} is not in the document`);
    const what = `${method} ${path} ${reply.status}`;
    // what the server itself fails at is declared once, as any other status
    const declared =
      operation.responses[reply.status] ?? (reply.status >= 500 ? operation.responses.default : undefined);
    assert.ok(declared, `${what} is not declared: ${reply.text.slice(0, 300)}`);
    const response = this.follow(declared);
    const [type, media] = Object.entries(response.content ?? {})[0] ?? ['', null];
    assert.equal(reply.type.split(';')[0], type, `${what}: content type`);
    if (media) this.validate(media.schema, type.includes('json') ? reply.json : reply.text, what);
    else assert.equal(reply.text, '', `${what} has no body`);
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      const { schema, required } = this.follow(header);
      const value = reply.headers[name.toLowerCase()];
      if (required !== false || value !== undefined) this.validate(schema, value, `${what}: header ${name}`);
    }
    if (reply.status < 300 && operation.requestBody?.required === false && body === undefined)
      assert.equal(method, 'POST');
    else if (reply.status < 300 && operation.requestBody?.content['application/json'])
      this.validate(operation.requestBody.content['application/json'].schema, body, `${what}: what was sent`);
    this.seen.add(what);
  }
}

// Requests of one server below /api/v1, every reply checked.
export async function client(server) {
  const reply = await request(server, 'GET', '/api/v1/openapi.json');
  assert.equal(reply.status, 200);
  const contract = new Contract(reply.json);
  const call = async (method, path, body, headers) => {
    const answered = await request(server, method, `/api/v1${path}`, body, headers);
    contract.check(method, `/api/v1${path}`, body, answered);
    return answered;
  };
  const expect = async (status, method, path, body, headers) => {
    const answered = await call(method, path, body, headers);
    assert.equal(answered.status, status, `${method} ${path}: ${answered.text.slice(0, 400)}`);
    return answered;
  };
  return { contract, call, expect };
}

// A stream with everything that came, in order, each message with the time of its arrival.
export function stream(server, { headers = {}, protocols = 'guideway.v1', path = '/ws' } = {}) {
  const socket = new WebSocket(`ws://${server.address}${path}`, protocols, { headers });
  const messages = [],
    frames = [];
  socket.binaryType = 'nodebuffer';
  socket.on('message', (data, binary) => {
    if (binary) frames.push({ at: performance.now(), ...frame(data) });
    else messages.push({ at: performance.now(), ...JSON.parse(data) });
  });
  const closed = new Promise((done) => socket.on('close', (code, reason) => done({ code, reason: String(reason) })));
  const opened = new Promise((done, failed) => {
    socket.on('open', done);
    socket.on('error', failed);
  });
  opened.catch(() => {});
  const find = (op, matches = () => true) => messages.find((m) => m.op === op && matches(m));
  return {
    socket,
    messages,
    frames,
    closed,
    opened,
    find,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    wait: (op, matches, ms) => until(`${op} on the stream`, () => find(op, matches), ms),
    close: async () => {
      socket.close();
      return closed;
    },
  };
}

export function frame(data) {
  const type = data.readUInt32LE(0),
    count = data.readUInt32LE(4);
  const first = Number(data.readBigUInt64LE(8));
  if (type === 1) {
    const poses = [];
    for (let at = 24; poses.length < count; at += 32) {
      const f = (n) => data.readFloatLE(at + 4 + 4 * n);
      poses.push({ index: data.readUInt32LE(at), p: [f(0), f(1), f(2)], q: [f(3), f(4), f(5), f(6)] });
    }
    return { type, count, tick: first, t: data.readDoubleLE(16), poses, size: data.length };
  }
  if (type === 3) {
    const values = Array.from({ length: count }, (_, k) => data.readDoubleLE(24 + 8 * k));
    return { type, tick: first, t: data.readDoubleLE(16), values, size: data.length };
  }
  const columns = data.readUInt32LE(16),
    rows = [];
  for (let row = 0; row < count; row++)
    rows.push(Array.from({ length: columns }, (_, k) => data.readDoubleLE(20 + 8 * (row * columns + k))));
  return { type, count, first, columns, rows, size: data.length };
}
