// Panels that are seldom shown, bundled apart (ui/lazy.tsx).

export { Gallery } from './panels/gallery';
export { MechanismPanel } from './panels/mechanism';
export { MechanismDialog } from './panels/newmechanism';
export { ShapeDialog } from './panels/newshape';
export { TaskPanel } from './panels/taskeditor';
