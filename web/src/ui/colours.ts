// The style sheet's colours in the present theme, for drawing on a canvas.

// Read once for each theme, since a query of the style sheet forces a layout.
const colours = new Map<string, string>();

// A colour that depends on the theme is resolved only on an element that uses it.
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
