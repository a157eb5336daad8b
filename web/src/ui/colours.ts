// The style sheet's colours as the page shows them now, for what is drawn on a canvas.

// Read once for each look of the page: asking the style sheet has everything laid out.
const colours = new Map<string, string>();

// A colour that depends on light and dark is only settled on an element that wears it.
const probe = document.createElement('span');
probe.hidden = true;

// `name`: a custom property of the style sheet.
export function colour(name: string): string {
  let found = colours.get(name);
  if (found !== undefined) return found;
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${name}, #888888)`;
  colours.set(name, (found = getComputedStyle(probe).color));
  return found;
}

export const forgetColours = (): void => colours.clear();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', forgetColours);
