// Panels that are seldom shown, in bundles of their own (ui/lazy.tsx).

export { AssemblyPanel } from './panels/assembly';
export { ContactRules } from './panels/contactrules';
export { ControlPanel } from './panels/control';
export { Gallery } from './panels/gallery';
export { LoopPanel } from './panels/loop';
export { MechanismPanel } from './panels/mechanism';
export { MechanismDialog } from './panels/newmechanism';
export { ShapeDialog } from './panels/newshape';
export { Relations } from './panels/relations';
export { ShapePanel } from './panels/shape';
export { TaskPanel } from './panels/taskeditor';
