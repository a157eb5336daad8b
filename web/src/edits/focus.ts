// The keyboard focus: a key moves it from one part of the page to the next; when the focused control is removed (a
// draft committed, a line deleted, an object renamed), it goes to a control nearby. The browser would move it to the
// top of the page.

import * as store from '../state/store';

// The elements that can have the focus, in the order of the page.
const TAKES = 'button, input, select, textarea, summary, a[href], [tabindex="0"]';

const canTake = (e: HTMLElement): boolean =>
  !e.matches(':disabled, [tabindex="-1"]') && !e.closest('[inert]') && e.getClientRects().length > 0;

const firstIn = (root: Element): HTMLElement | undefined =>
  [...root.querySelectorAll<HTMLElement>(TAKES)].find(canTake);

// ---- from part to part ---------------------------------------------------------------------------------

// The first control to focus in each part: the current line of the list, the kinds that fit the picked features, the
// selection.
const PARTS: { part: string; begin: () => string }[] = [
  { part: '.header', begin: () => '.scene-menu' },
  { part: '.left', begin: () => '.tree [tabindex="0"]' },
  { part: '.stage', begin: () => '#canvas' },
  {
    part: '.right',
    begin: () => (store.picked.peek().length > 1 ? '.offer-main:not([aria-disabled])' : '#title-selection .fold'),
  },
  { part: '.bottom', begin: () => 'button' },
];

// Parts that are hidden on a narrow page are skipped.
export function goToPart(by: 1 | -1): void {
  const here = PARTS.findIndex(({ part }) => document.activeElement?.closest(part));
  for (let i = 1; i <= PARTS.length; i++) {
    const from = here < 0 && by < 0 ? PARTS.length : here;
    const { part, begin } = PARTS[(from + by * i + 2 * PARTS.length) % PARTS.length]!;
    const root = document.querySelector(part);
    const wanted = root?.querySelector<HTMLElement>(begin());
    const to = wanted && canTake(wanted) ? wanted : root && firstIn(root);
    if (!to) continue;
    to.focus();
    return;
  }
}

// ---- when the focused control is removed -----------------------------------------------------------------

interface Step {
  parent: Element;
  at: number; // index among the parent's children
}

let had: Element | null = null;
let way: Step[] = []; // ancestors of the focused control
let awaited = ''; // selector of the control that shall get the focus once it exists
let substitute: Element | null = null; // has the focus until then

// Sets which control gets the focus after the focused one is removed.
export function goOnAt(selector: string): void {
  awaited = selector;
}

function wayUp(from: Element): Step[] {
  const steps: Step[] = [];
  for (let e = from; e.parentElement; e = e.parentElement)
    steps.push({ parent: e.parentElement, at: [...e.parentElement.children].indexOf(e) });
  return steps;
}

// The control at the same place, else one beside it, else the same one level up.
function nearest(): HTMLElement | undefined {
  for (const { parent, at } of way) {
    if (!parent.isConnected || parent === document.body) continue;
    const children = [...parent.children];
    for (const child of [...children.slice(at), ...children.slice(0, at).reverse()]) {
      const found = child.matches(TAKES) && canTake(child as HTMLElement) ? (child as HTMLElement) : firstIn(child);
      if (found) return found;
    }
  }
  return undefined;
}

function keep(isClicked: (e: Element) => boolean): void {
  const now = document.activeElement;
  const gone = now === document.body && !!had && !had.isConnected && !had.closest('dialog');
  if (gone && isClicked(had!))
    had = null; // after a click keys are shortcuts, as on the canvas
  else if (gone || (awaited && now === substitute)) {
    const wanted = awaited && document.querySelector<HTMLElement>(awaited);
    if (wanted) wanted.focus();
    else if (gone) {
      substitute = nearest() ?? null;
      (substitute as HTMLElement | null)?.focus();
    }
  }
}

export function keepFocus(isClicked: (e: Element) => boolean): void {
  document.addEventListener('focusin', (e) => {
    had = e.target as Element;
    way = wayUp(had);
    if (had !== substitute) awaited = '';
  });
  new MutationObserver(() => keep(isClicked)).observe(document.body, { childList: true, subtree: true });
}
