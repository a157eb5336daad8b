// A scene of 1000 boxes with contacts on, and edits of one value of it.
const BOXES = 1000;
const at = (p) => ({ p, q: [1, 0, 0, 0] });
const box = (id, p, more = {}) => ({ id, geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, pose: at(p), ...more });
const place = (i) => [0.3 * (i % 32), 0.3 * Math.floor(i / 32), 0.05];
const raised = (i, z) => at([...place(i).slice(0, 2), z]);
const objects = [{ id: 'floor', geometry: { type: 'box', size: [20, 20, 0.1] }, pose: at([5, 5, -0.05]), fixed: true }];
for (let i = 1; i < BOXES; i++)
  objects.push(box(`b${i}`, place(i), i < 40 ? { free: true, material: 'wood' } : i < 900 ? { fixed: true } : {}));

export const manyBoxes = {
  format: 'guideway-scene/1',
  name: 'many boxes',
  gravity: [0, 0, -9.81],
  objects,
  materials: [{ id: 'wood', friction: 0.4 }],
  contact: { enabled: true },
  tool: { object: 'b999', device: 'sim', control: 'admittance' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

// Address and body of a patch; each gives another value for another k.
export const valuesOfMany = {
  'pose of a fixed object': (k) => ['/objects/b500', { pose: raised(500, 0.05 + 1e-3 * k) }],
  'pose of a free object': (k) => ['/objects/b20', { pose: raised(20, 0.06 + 1e-3 * k) }],
  'pose of an object that stays': (k) => ['/objects/b950', { pose: raised(950, 0.06 + 1e-3 * k) }],
  'pose of the held object': (k) => ['/objects/b999', { pose: raised(999, 0.2 + 1e-3 * k) }],
  'friction of a material': (k) => ['/materials/wood', { friction: 0.3 + 1e-3 * k }],
  'setting of a device': (k) => ['/devices/sim', { settings: { bandwidth: 20 + 0.1 * k } }],
  'limit of a tool': (k) => ['/tool', { limits: { force: 20 + k } }],
};
