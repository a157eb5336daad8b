// The controls of an impedance device, in words, and the tool that has one.
import type { Control, Tool } from '../protocol';
import * as store from './store';

export const controlWords: Record<Control, [string, string]> = {
  admittance: ['admittance', 'the hand\u2019s force moves the model, the device follows it'],
  impedance: [
    'impedance alone',
    'the device\u2019s acceleration follows the model\u2019s; what the joints resist is not held back',
  ],
  penalty: ['impedance with penalties', 'the same, and springs along the directions that the joints resist'],
  coupling: ['virtual coupling', 'a spring and damper between device and model'],
  'four-channel': ['four-channel', 'forces fed forward and back, coordination of both'],
};

export const CONTROLS: Control[] = ['impedance', 'penalty', 'coupling', 'four-channel'];

// The tool at an impedance device, if any.
export const impedanceTool = (): Tool | undefined =>
  store.tools.value.find((t) => t.control !== undefined && t.control !== 'admittance');
