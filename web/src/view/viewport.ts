// The view of the scene: camera, lights, order of drawing. A frame is drawn only after a change, and frames that only
// follow poses allocate nothing.
import { effect, untracked } from '@preact/signals';
import {
  Box3,
  DirectionalLight,
  HemisphereLight,
  MOUSE,
  PerspectiveCamera,
  Scene as Stage,
  Vector3,
  WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { run as assembly } from '../edits/assembly';
import { draft, preview } from '../edits/draft';
import { trial } from '../edits/relations';
import { chosenPoint, shownMesh } from '../edits/shapes';
import type { Branch, Pose, Strand, Vec3 } from '../protocol';
import { placedContacts } from '../state/contactframes';
import { swing } from '../state/freedoms';
import { arrivals, meshFiles } from '../state/meshes';
import { isolines, wayFor } from '../state/nurbs';
import { poses } from '../state/poses';
import * as store from '../state/store';
import { whenPosesCome } from '../state/stream';
import type { Viewer, ViewName } from '../state/viewer';
import { Bodies, type Look } from './bodies';
import { BoundSurfaces } from './bounds';
import { ContactMotions } from './contactmotions';
import { ViewCube } from './cube';
import { currentBranch, Drag } from './drag';
import { Ghosts } from './ghosts';
import { Grid } from './grid';
import { Overlay } from './overlay';
import { Palette } from './palette';
import { Picker } from './picking';
import { Pointer } from './pointer';
import { ResistedMarks } from './resisted';
import { type Guide, SubmanifoldView } from './submanifold';
import { Swing } from './swing';
import { TrackingCamera } from './tracking';

const FOV = 40;
const FILL = 0.66; // part of the picture that the framed box fills
const THIN = 12; // a floor is this many times wider than thick
const WIDE = 4; // a floor up to this many times the size of the bodies on it is framed whole
const DIRECTIONS: Record<ViewName, [number, number, number]> = {
  top: [0, -1e-4, 1],
  bottom: [0, -1e-4, -1],
  front: [0, -1, 0],
  back: [0, 1, 0],
  left: [-1, 0, 0],
  right: [1, 0, 0],
  home: [0.8, -1.25, 0.8],
};

export interface Bits {
  canvas: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
  cube: HTMLElement;
  host: HTMLElement;
}

export class Viewport implements Viewer {
  readonly camera = new PerspectiveCamera(FOV, 1, 0.01, 100);
  readonly controls: OrbitControls;
  private readonly renderer: WebGLRenderer;
  private readonly stage = new Stage();
  private readonly palette = new Palette();
  private readonly bodies = new Bodies(this.palette);
  private readonly grid = new Grid(this.palette);
  private readonly locus: SubmanifoldView;
  private readonly ghosts: Ghosts;
  private readonly swing: Swing;
  private readonly walls: BoundSurfaces;
  private readonly resisted: ResistedMarks;
  private readonly allowed: ContactMotions;
  private readonly overlay: Overlay;
  private readonly picker: Picker;
  private readonly cube: ViewCube;
  private readonly tracking: TrackingCamera;
  private readonly pointer: Pointer;
  private readonly box = new Box3();
  private extent = 0.2;
  private nothing = true;
  private awaited = ''; // id of a body to be revealed once it exists
  private dirty = false;
  private cameraMoved = true;
  private shownVersion = -1;
  private shownEpoch = -1;

  constructor(private readonly bits: Bits) {
    this.renderer = new WebGLRenderer({ canvas: bits.canvas, antialias: true, powerPreference: 'high-performance' });
    this.camera.up.set(0, 0, 1);
    this.controls = this.makeControls(bits.canvas);
    this.locus = new SubmanifoldView(this.palette.colour('motion'), this.palette.colour('hover'));
    this.ghosts = new Ghosts(this.palette, this.bodies);
    this.swing = new Swing(this.palette, this.bodies);
    this.walls = new BoundSurfaces(this.palette, this.bodies);
    this.resisted = new ResistedMarks(this.palette.colour('reaction'));
    this.allowed = new ContactMotions(this.palette);
    this.picker = new Picker(this.camera, this.bodies);
    this.overlay = new Overlay(bits.overlay, this.camera, this.bodies, this.palette);
    this.tracking = new TrackingCamera(this.camera, this.controls.target, this.bodies);
    this.cube = new ViewCube(bits.cube, this.camera, (view) => this.look(view));
    const drag = new Drag(this.camera, this.picker, this.overlay);
    this.pointer = new Pointer(bits.canvas, this.picker, drag, this.controls, this.locus.marks, this.overlay, () =>
      this.invalidate(),
    );
    this.light();
    this.stage.add(
      this.grid.lines,
      this.bodies.drawn.root,
      this.locus.root,
      this.ghosts.root,
      this.swing.root,
      this.walls.root,
      this.resisted.root,
      this.allowed.root,
      this.camera,
    );
    new ResizeObserver(() => this.resize()).observe(bits.host);
    this.resize();
    this.subscribe();
    whenPosesCome(() => this.invalidate());
  }

  private makeControls(canvas: HTMLCanvasElement): OrbitControls {
    const controls = new OrbitControls(this.camera, canvas);
    controls.mouseButtons = { LEFT: MOUSE.ROTATE, MIDDLE: MOUSE.PAN, RIGHT: MOUSE.PAN };
    controls.zoomToCursor = true;
    controls.zoomSpeed = 0.9;
    controls.addEventListener('change', () => {
      this.clip();
      this.cameraMoved = true;
      this.invalidate();
    });
    return controls;
  }

  private light(): void {
    this.stage.add(new HemisphereLight(0xffffff, 0x9aa0aa, 2.3));
    const key = new DirectionalLight(0xffffff, 1.7);
    key.position.set(-0.6, 0.9, 0.8);
    this.camera.add(key, key.target);
    key.target.position.set(0, 0, -1);
  }

  // ---- changes of the picture -----------------------------------------------------------------------

  private subscribe(): void {
    effect(() => {
      arrivals.value; // subscribes to arriving triangles
      meshFiles.value;
      this.bodies.sync(store.scene.value);
      this.extent = this.measure();
      this.dressAll();
      this.invalidate();
      const first = this.nothing && this.bodies.list.length > 0; // the first body of an empty scene is framed
      this.nothing = this.bodies.list.length === 0;
      if (this.shownEpoch === store.sceneEpoch.value && !first) {
        this.show();
        return;
      }
      this.shownEpoch = store.sceneEpoch.value;
      this.frameScene();
    });
    effect(() => {
      store.features.value; // subscribes, since a locus may depend on a feature
      this.showFreedoms();
    });
    effect(() => this.showSwing());
    effect(() => this.tracking.track(store.tracked.value));
    effect(() => {
      this.ghosts.showParts(assembly.value?.now.poses ?? trial.value?.placed ?? []);
      this.invalidate();
    });
    effect(() => {
      store.features.value;
      const d = draft.value;
      this.walls.show(store.constraints.value, d && { ...d });
      this.walls.place();
      this.invalidate();
    });
    effect(() => {
      const tools = store.tools.value;
      store.drawnState.value;
      untracked(() => {
        this.ghosts.showDevice();
        this.resisted.show(tools[0], store.simulation.value?.tools[0]);
        this.overlay.touching.take(performance.now());
        this.invalidate();
      });
    });
    effect(() => {
      store.hoverRef.value;
      store.hoverObject.value;
      store.picked.value;
      store.selectedConstraint.value;
      store.highlighted.value;
      store.features.value;
      store.connection.value;
      shownMesh();
      chosenPoint.value;
      this.dressAll();
      this.invalidate();
    });
    effect(() => this.showContact());
    effect(() => {
      store.features.value;
      this.pointer.stir();
    });
    effect(() => {
      store.theme.value;
      this.retheme();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.retheme());
  }

  private retheme(): void {
    this.palette.read();
    this.stage.background = this.palette.colour('canvas');
    this.bodies.recolour(this.palette);
    this.resisted.recolour(this.palette.colour('reaction'));
    this.locus.marks.recolour();
    this.allowed.marks.recolour();
    this.grid.rebuild();
    this.invalidate();
  }

  private dressAll(): void {
    const selected = store.selectedObject.value;
    const bad = new Set(
      store.culprits.value.flatMap((id) => {
        const c = store.constraints.value.find((k) => k.id === id);
        return c ? [store.splitRef(c.a)[0], store.splitRef(c.b)[0]] : [];
      }),
    );
    for (const body of this.bodies.list) {
      const base: Look = body.moving ? 'mobile' : 'fixed';
      const look: Look =
        body.pins.length && body.id === store.hoverObject.value && body.id !== selected
          ? 'mobile-hover'
          : body.id === selected || (body.pins.length && body.id.startsWith(`${selected}.`))
            ? `${base}-selected`
            : bad.has(body.id) && body.moving
              ? 'conflict'
              : base;
      this.bodies.dress(body, look);
    }
  }

  // Shows the freedoms of the selected object, or of a draft's solution.
  private showFreedoms(): void {
    const trial = preview.value;
    const drafted = draft.value;
    const object = trial?.solution?.object ?? store.shownObject.value;
    if (drafted && trial?.solution) {
      const branch = trial.solution.branches[trial.branch] ?? null;
      const strands = branch?.id === trial.solution.branch ? trial.solution.strands : undefined;
      this.showLocus(
        object,
        store.movesOnItsOwn(trial.solution) ? branch : null,
        branch?.nearest.pose ?? null,
        strands,
      );
      this.ghosts.show(object, trial.solution.branches, trial.branch);
    } else {
      const solution = store.solutions.value.get(object);
      const branch = currentBranch(solution) ?? null;
      const own = !!solution && solution.state !== 'free' && store.movesOnItsOwn(solution);
      this.showLocus(object, own ? branch : null, null, solution?.strands);
      const pointed = store.hoverBranch.value;
      this.ghosts.show(pointed >= 0 ? object : '', solution?.branches ?? [], pointed);
    }
    this.overlay.labels = this.ghosts.labels;
    this.invalidate();
  }

  // Shows the contact of the constraint that is pointed at in the list, else of the selected one.
  private showContact(): void {
    const ids = [...store.highlighted.value, store.selectedConstraint.value].filter(Boolean);
    const all = ids.length ? placedContacts.value : [];
    const shown = ids.map((id) => all.find((c) => c.constraint === id)).find(Boolean);
    this.allowed.show(shown);
    this.bits.canvas.dataset.contact = shown ? JSON.stringify(shown) : '';
    this.invalidate();
  }

  private showLocus(
    object: string,
    branch: Branch | null,
    ghost: Pose | null,
    strands: readonly Strand[] | undefined,
  ): void {
    const body = this.bodies.get(object);
    const middle: Vec3 = body
      ? ([0, 1, 2].map((k) => (body.bounds.low[k]! + body.bounds.high[k]!) / 2) as Vec3)
      : [0, 0, 0];
    this.locus.show(
      branch && {
        branch,
        object,
        size: body?.size ?? 0.1,
        most: 1.6 * this.extent,
        middle,
        ghost,
        strands,
        guide: this.guideOf(object, branch),
      },
    );
  }

  // The feature that defines a free-form locus, from the constraint or the draft that keeps the object on it.
  private guideOf(object: string, branch: Branch): Guide | null {
    const { kind } = branch.translation;
    if (kind !== 'surface' && kind !== 'curve') return null;
    const drafted = draft.value;
    const list = [...store.constraints.value.filter((c) => c.enabled !== false), ...(drafted ? [drafted] : [])];
    for (const c of list.reverse()) {
      if (![c.a, c.b].some((ref) => store.splitRef(ref)[0] === object)) continue;
      for (const ref of [c.a, c.b]) {
        const f = store.featureOf(ref);
        const [owner] = store.splitRef(ref);
        if (kind === 'surface' && f?.surface) return { object: owner, lines: isolines(f.surface) };
        if (kind === 'curve' && f?.curve) return { object: owner, lines: [wayFor(f.curve)] };
      }
    }
    return null;
  }

  // Shows the ghost that moves along a freedom.
  private showSwing(): void {
    const freedom = store.hoverFreedom.value;
    const object = store.shownObject.value;
    const solution = store.solutions.value.get(object);
    const branch = currentBranch(solution);
    const body = this.bodies.get(object);
    const wanted = freedom >= 0 && !draft.value && solution && branch && body;
    this.swing.show(object, freedom, wanted ? swing(solution, branch, freedom, poses.pose(object), body.size) : []);
    this.locus.marks.light(freedom);
    this.invalidate();
  }

  // ---- the camera -----------------------------------------------------------------------------------------

  private bounds(id: string): Box3 {
    this.box.makeEmpty();
    for (const body of this.bodies.list) {
      if (id && body.id !== id) continue;
      body.node.updateMatrixWorld(true);
      for (const mesh of body.meshes) this.box.expandByObject(mesh);
      for (const pin of body.pins) this.box.expandByObject(pin);
    }
    return this.box;
  }

  // The box that is framed first: moving bodies and the bodies around them. Of a wide floor (a fixed thin body) only
  // the part within half a size of them, so that they do not look lost on it.
  private heart(): Box3 {
    const whole = new Map<string, Box3>();
    for (const { id } of this.bodies.list) whole.set(id, this.bounds(id).clone());
    const heart = new Box3();
    const floors: Box3[] = [];
    for (const body of this.bodies.list) {
      const box = whole.get(body.id)!;
      const { x, y, z } = box.getSize(new Vector3());
      if (!body.moving && z * THIN < Math.max(x, y)) floors.push(box);
      else heart.union(box);
    }
    if (heart.isEmpty()) return this.bounds('');
    const size = heart.getSize(new Vector3()).length();
    const room = heart.clone().expandByScalar(size / 2);
    for (const floor of floors) {
      const { x, y } = floor.getSize(new Vector3());
      if (Math.max(x, y) < WIDE * size) heart.union(floor);
      else if (floor.intersectsBox(room)) heart.union(floor.intersect(room));
    }
    return this.box.copy(heart);
  }

  // The distance at which every corner of the box is in the picture.
  private reach(box: Box3, centre: Vector3, direction: Vector3): number {
    const right = new Vector3().crossVectors(this.camera.up, direction).normalize();
    const up = new Vector3().crossVectors(direction, right);
    const tall = Math.tan((FOV * Math.PI) / 360) * FILL;
    const wide = tall * this.camera.aspect;
    let distance = 1e-3;
    for (let i = 0; i < 8; i++) {
      const c = new Vector3(
        i & 1 ? box.max.x : box.min.x,
        i & 2 ? box.max.y : box.min.y,
        i & 4 ? box.max.z : box.min.z,
      ).sub(centre);
      const depth = c.dot(direction);
      distance = Math.max(distance, depth + Math.abs(c.dot(right)) / wide, depth + Math.abs(c.dot(up)) / tall);
    }
    return distance;
  }

  private aim(direction: Vector3, id: string, box = this.bounds(id)): void {
    if (box.isEmpty()) box.set(new Vector3(-0.12, -0.12, 0), new Vector3(0.12, 0.12, 0.12));
    const centre = box.getCenter(new Vector3());
    direction.normalize();
    const distance = this.reach(box, centre, direction);
    this.camera.position.copy(centre).addScaledVector(direction, distance);
    this.controls.target.copy(centre);
    this.clip();
    this.controls.update();
    this.cameraMoved = true;
    this.invalidate();
  }

  // Sets the clipping planes: near for close bodies, far enough for the whole scene.
  private clip(): void {
    const distance = this.camera.position.distanceTo(this.controls.target);
    this.camera.near = distance / 200;
    this.camera.far = 60 * Math.max(distance, this.extent);
    this.camera.updateProjectionMatrix();
  }

  look(view: ViewName): void {
    this.aim(new Vector3(...DIRECTIONS[view]), '');
  }

  frameScene(): void {
    const box = this.heart();
    const middle = box.isEmpty() ? new Vector3() : box.getCenter(new Vector3());
    this.grid.fit(
      box.isEmpty() ? 0.4 : Math.max(box.getSize(new Vector3()).length(), 1e-3),
      middle,
      box.isEmpty() ? 0 : Math.min(0, box.min.z),
    );
    this.aim(new Vector3(...DIRECTIONS.home), '', box);
  }

  // The camera has tracked a body: moves the ground with it.
  private goAlong(): void {
    this.grid.reach(this.controls.target);
    this.camera.lookAt(this.controls.target);
    this.cameraMoved = true;
  }

  // Frames the selection, or all.
  frame(): void {
    this.aim(this.direction(), store.selectedObject.peek());
  }

  // The present view direction.
  private direction(): Vector3 {
    return this.camera.position.clone().sub(this.controls.target);
  }

  private measure(): number {
    const box = this.bounds('');
    return box.isEmpty() ? 0.2 : box.getSize(new Vector3()).length();
  }

  // The size of the scene after the last edit; it does not change while bodies move.
  sceneSize(): number {
    return this.extent;
  }

  partSize(): number {
    const sizes = this.bodies.list.map((body) => {
      const { x, y, z } = this.bounds(body.id).getSize(new Vector3());
      return Math.max(x, y, z);
    });
    return sizes.sort((a, b) => a - b)[sizes.length >> 1] || 0.05;
  }

  // A free place beside everything, on the ground, in steps of a fifth of the size.
  freePlace(size: number): [number, number, number] {
    const box = this.bounds('');
    if (box.isEmpty()) return [0, 0, size / 2];
    const stepped = (x: number): number => Number(((Math.round((5 * x) / size) * size) / 5).toPrecision(6));
    const low = stepped(Math.max(0, box.min.z));
    return [stepped(box.max.x + size), stepped((box.min.y + box.max.y) / 2), low + size / 2];
  }

  // Frames the body at once, or as soon as the scene has it.
  reveal(id: string): void {
    this.awaited = id;
    this.show();
  }

  private show(): void {
    if (!this.bodies.get(this.awaited)) return;
    const box = this.bounds(this.awaited);
    this.awaited = '';
    if (!this.inPicture(box)) this.aim(this.direction(), '', this.heart());
  }

  private inPicture(box: Box3): boolean {
    const corner = new Vector3();
    for (let i = 0; i < 8; i++) {
      corner.set(i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z);
      const { x, y, z } = corner.project(this.camera);
      if (Math.max(Math.abs(x), Math.abs(y)) > 1 || z > 1) return false;
    }
    return true;
  }

  // The screen's right and up directions in world coordinates, for keys.
  axes(): { right: Vector3; up: Vector3 } {
    const e = this.camera.matrixWorld.elements;
    return { right: new Vector3(e[0], e[1], e[2]), up: new Vector3(e[4], e[5], e[6]) };
  }

  cycle(by: number): boolean {
    return this.pointer.cycle(by);
  }

  cancel(): boolean {
    return this.pointer.cancel();
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.bits.host;
    if (!width || !height) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.overlay.resize(width, height, ratio);
    this.picker.resize(width, height);
    this.cameraMoved = true;
    this.render();
  }

  // ---- drawing --------------------------------------------------------------------------------------------------

  invalidate(): void {
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(this.onFrame);
  }

  private readonly onFrame = (): void => {
    this.dirty = false;
    this.render();
  };

  private render(): void {
    if (this.shownVersion !== poses.version) {
      this.bodies.place(false);
      this.walls.place();
      this.shownVersion = poses.version;
      this.pointer.stir();
      if (this.tracking.frame()) this.goAlong();
    }
    if (this.cameraMoved) {
      this.camera.updateMatrixWorld(); // the rays of the pointer need the present camera
      this.pointer.stir();
    }
    this.pointer.frame();
    this.locus.update(this.camera);
    this.resisted.place(this.camera);
    this.allowed.place(this.camera);
    this.swing.frame(performance.now());
    this.bodies.lay();
    this.renderer.render(this.stage, this.camera);
    this.overlay.draw();
    if (this.cameraMoved) this.publishCamera();
    if (this.swing.moving || this.overlay.touching.flashing) this.invalidate();
  }

  // For tests: publishes the world-to-clip matrix and the canvas size in CSS pixels.
  private publishCamera(): void {
    this.cameraMoved = false;
    this.cube.update();
    const m = this.camera.projectionMatrix.clone().multiply(this.camera.matrixWorldInverse);
    const { clientWidth: width, clientHeight: height } = this.bits.host;
    this.bits.canvas.dataset.camera = JSON.stringify({ width, height, clip: m.elements });
    this.bits.canvas.dataset.ready = store.scene.peek().format ? 'yes' : 'no';
  }
}
