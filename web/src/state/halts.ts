// Causes of halts and names of clients, in words.
import type { Halt } from '../protocol';
import * as store from './store';

export type Cause = Halt['cause'];

export const causeWords: Readonly<Record<Cause, string>> = {
  software: 'asked for',
  button: 'the device\u2019s own button',
  velocity: 'a device moved too fast',
  watchdog: 'the loop\u2019s heart stopped',
  overrun: 'the loop stood still for too long',
  disconnect: 'a device fell silent or told garbage',
  'dead-man': 'the operator\u2019s lease was not renewed',
  fault: 'a step or a command was not finite',
};

// The name of a client as the server gives it, "page 127.0.0.1:4711", in words.
export const nameOf = (by: string): string =>
  by === store.client.value ? 'you' : by === 'loop' ? 'the loop itself' : by;

// The time of day, with the date where that is not today's.
export const clock = (utc: string): string => {
  const time = new Date(utc);
  return time.toDateString() === new Date().toDateString() ? time.toLocaleTimeString() : time.toLocaleString();
};
