// The layout: header, scene on the left, the view, inspector on the right, plots below.
import type { JSX } from 'preact';
import { canAssemble } from './edits/assembly';
import { importFiles } from './edits/imports';
import { freeFormOf } from './edits/shapes';
import { Constraints } from './panels/constraints';
import { Contacts } from './panels/contacts';
import { DevicePanel } from './panels/device';
import { Dialogs } from './panels/dialogs';
import { Events } from './panels/events';
import { FaultsPanel } from './panels/faults';
import { FeaturesPanel } from './panels/features';
import { Halt } from './panels/halt';
import { Header } from './panels/header';
import { ImpedancePanel } from './panels/impedance';
import { Inspector } from './panels/inspector';
import { NewConstraint } from './panels/newconstraint';
import { NewJoint } from './panels/newjoint';
import { Plots } from './panels/plots';
import { SceneSettings } from './panels/scene';
import { SolutionPanel } from './panels/solution';
import { Stage } from './panels/stage';
import { Tasks } from './panels/tasks';
import { Tree } from './panels/tree';
import { impedanceTool } from './state/control';
import * as store from './state/store';
import { lazyDialog, lazyPanel } from './ui/lazy';
import { Section } from './ui/widgets';

const seldom = () => import('./seldom');
const Gallery = lazyDialog('gallery', async () => (await seldom()).Gallery);
const NewMechanism = lazyDialog('mechanism', async () => (await seldom()).MechanismDialog);
const NewShape = lazyDialog('shape', async () => (await seldom()).ShapeDialog);
const MechanismPanel = lazyPanel(
  () => Boolean(store.mechanismOf(store.selectedObject.value) ?? store.linkRef(store.selectedObject.value)),
  async () => (await seldom()).MechanismPanel,
);
const TaskPanel = lazyPanel(
  () => store.selectedTask.value !== '',
  async () => (await seldom()).TaskPanel,
);

const AssemblyPanel = lazyPanel(
  () => canAssemble.value,
  async () => (await seldom()).AssemblyPanel,
);
const ContactRules = lazyPanel(
  () => (store.contactSettings.value.enabled ?? false) || store.materials.value.length > 0,
  async () => (await seldom()).ContactRules,
);
const Relations = lazyPanel(
  () => store.joints.value.length + store.springs.value.length > 0,
  async () => (await seldom()).Relations,
);
const ShapePanel = lazyPanel(
  () => freeFormOf(store.selectedObject.value) !== undefined,
  async () => (await seldom()).ShapePanel,
);
const ControlPanel = lazyPanel(
  () => impedanceTool() !== undefined,
  async () => (await seldom()).ControlPanel,
);

const LoopPanel = lazyPanel(
  () => true,
  async () => (await seldom()).LoopPanel,
);

const TABS = [
  ['scene', 'Scene'],
  ['inspect', 'Inspector'],
  ['plots', 'Plots'],
] as const;

// On narrow screens the panels share one place below the view.
function Tabs(): JSX.Element {
  return (
    <div class="tabs" role="group" aria-label="Panels">
      {TABS.map(([id, name]) => (
        <button
          key={id}
          type="button"
          aria-pressed={store.narrowTab.value === id}
          onClick={() => (store.narrowTab.value = id)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

// Files dropped anywhere on the page are opened.
const dropped = (e: DragEvent): void => {
  if (!e.dataTransfer?.files.length) return;
  e.preventDefault();
  void importFiles([...e.dataTransfer.files]);
};

export function App(): JSX.Element {
  const epoch = store.sceneEpoch.value; // the panels are created anew for another scene
  return (
    <div class={`app tab-${store.narrowTab.value}`} onDragOver={(e) => e.preventDefault()} onDrop={dropped}>
      <div class="page" inert={store.dialog.value !== ''}>
        <Header />
        <nav key={`left ${epoch}`} class="left" aria-label="Scene">
          <Tree />
          <Constraints />
          <Relations />
          <AssemblyPanel />
          <Contacts rules={<ContactRules />} />
          <Tasks />
          <SceneSettings />
        </nav>
        <Stage />
        <Tabs />
        <aside key={`right ${epoch}`} class="right" aria-label="Inspector">
          <NewConstraint />
          <NewJoint />
          <Inspector />
          <ShapePanel />
          <MechanismPanel />
          <FeaturesPanel />
          <TaskPanel />
          <SolutionPanel />
          <ControlPanel />
          <ImpedancePanel />
          <DevicePanel />
          <FaultsPanel />
          <Section id="loop" title="Loop" shut>
            <LoopPanel />
          </Section>
        </aside>
        <section class="bottom" aria-label="Plots and events">
          <Plots />
          <Events />
        </section>
      </div>
      <Dialogs />
      <Gallery />
      <NewMechanism />
      <NewShape />
      <Halt />
      <div class="away" role="status" aria-live="polite" data-said>
        {store.announced.value}
      </div>
    </div>
  );
}
