// Settings of the scene as a whole: gravity, the rate of the loop, its description.

import type { JSX } from 'preact';
import { latestScene, patchScene } from '../edits/scene';
import type { Vec3 } from '../protocol';
import * as store from '../state/store';
import { Triple, XYZ } from '../ui/triple';
import { Row, Section } from '../ui/widgets';

const EARTH: Vec3 = [0, 0, -9.81];
const NONE: Vec3 = [0, 0, 0];
const RATES = [250, 500, 1000, 2000, 4000, 8000];

const same = (a: Vec3, b: Vec3): boolean => a.every((x, i) => x === b[i]);

function Gravity(): JSX.Element {
  const g = store.scene.value.gravity ?? NONE;
  const put = (gravity: Vec3): void => void patchScene({ gravity });
  return (
    <>
      <div class="kinds" role="group" aria-label="Gravity">
        {(
          [
            ['none', NONE],
            ['as on Earth', EARTH],
          ] as const
        ).map(([word, v]) => (
          <button key={word} type="button" class="chip" aria-pressed={same(g, v)} onClick={() => put(v)}>
            {word}
          </button>
        ))}
      </div>
      <Triple
        label="Gravity"
        shown="gravity"
        names={XYZ}
        unit={'m/s\u00b2'}
        step={0.1}
        digits={4}
        value={g}
        scale={1}
        onPut={(to) => put(to(latestScene().gravity ?? NONE))}
      />
    </>
  );
}

export function SceneSettings(): JSX.Element {
  const { rate = 1000, description } = store.scene.value;
  const rates = RATES.includes(rate) ? RATES : [...RATES, rate].sort((a, b) => a - b);
  return (
    <Section id="scene" title="Scene">
      {description && <p class="quiet">{description}</p>}
      <Gravity />
      <Row label="loop">
        <select
          aria-label="Rate of the loop"
          value={rate}
          disabled={store.runState.value !== 'stopped'}
          title="Changed while stopped"
          onChange={(e) => void patchScene({ rate: Number(e.currentTarget.value) })}
        >
          {rates.map((r) => (
            <option key={r} value={r}>
              {r} Hz
            </option>
          ))}
        </select>
      </Row>
    </Section>
  );
}
