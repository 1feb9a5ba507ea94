/**
 * The sweep of a softmax by lanes of a subgroup: the maximum and the sum of a row are known after
 * reading it once. For adapters that load element by element, where reading again costs more than
 * an exponential. Called by rows.ts. Text only; owns nothing.
 */
import { at } from "../base/access.ts";
import {
  type Places,
  type SoftmaxPass,
  type Sweep,
  guarded,
  shuffled,
  unitElements,
} from "./sweeps.ts";
import { indent } from "./wgsl.ts";

/** How many units a lane takes at a turn of the sweep of a softmax, before it rescales its sum. */
const softmaxUnits = 4;

/**
 * A turn of the sweep of a softmax: units `j`, `j + lanes`, …. The sum is of differences from the
 * largest element so far, and is rescaled where a larger one comes. `w` is NaN where an element
 * is: the differences are never above zero, so that infinities do not meet.
 */
function softmaxTurn(units: number, sweep: Sweep, places: Places): string[] {
  const { tile } = sweep;
  const lines: string[] = [];
  const differences: string[] = [];
  const values: string[] = [];
  for (let u = 0; u < units; u++) {
    const unit = unitElements(0, u === 0 ? "j" : `(j + ${u * tile.lanes}u)`, sweep, places);
    lines.push(...unit.lines);
    unit.values.forEach((value, k) => {
      lines.push(`let e${u}_${k} = ${value};`);
      values.push(`e${u}_${k}`);
      differences.push(`d${u}_${k}`);
    });
  }
  const sum = (terms: readonly string[]): string => balanced(terms, (a, b) => `(${a} + ${b})`);
  return [
    ...lines,
    `let top = max(m, ${balanced(values, (a, b) => `max(${a}, ${b})`)});`,
    ...values.map((value, i) => `let ${at(differences, i)} = ${value} - top;`),
    `w += ${sum(differences)};`,
    `z = z * exp(max(m - top, -110.0)) + ${sum(differences.map((d) => `exp(max(${d}, -110.0))`))};`,
    "m = top;",
  ];
}

/** Terms joined in pairs, and the pairs in pairs. */
function balanced(terms: readonly string[], join: (a: string, b: string) => string): string {
  if (terms.length === 1) return at(terms, 0);
  const half = Math.ceil(terms.length / 2);
  return join(balanced(terms.slice(0, half), join), balanced(terms.slice(half), join));
}

/** The sweep of a softmax by lanes of a subgroup. */
export function softmaxLines(pass: SoftmaxPass, sweep: Sweep, places: Places): string[] {
  const { tile, names, vector, length, params } = sweep;
  const turn = softmaxUnits * tile.lanes;
  const loop = (head: string, units: number): string[] => [
    `for (${head}) {`,
    indent(softmaxTurn(units, sweep, places).join("\n")),
    "}",
  ];
  const exact = (vector ? length / 4 : length) % turn === 0;
  const last = (softmaxUnits - 1) * tile.lanes;
  return [
    // finite, so that it can be subtracted from −infinity
    `var m = bitcast<f32>(${params.u32("lowest", 0xff7fffff)});`,
    "var z = 0.0;",
    "var w = 0.0;",
    ...guarded(sweep, [
      "var j = ly;",
      ...loop(`; j + ${last}u < ${names.units}; j += ${turn}u`, softmaxUnits),
      ...(exact ? [] : loop(`; j < ${names.units}; j += ${tile.lanes}u`, 1)),
    ]),
    "let own = m;",
    ...shuffled("m", (a, b) => `max(${a}, ${b})`, tile),
    "z = z * exp(max(own - m, -110.0));",
    ...shuffled("z", (a, b) => `${a} + ${b}`, tile),
    ...shuffled("w", (a, b) => `${a} + ${b}`, tile),
    "if (isNan(w) || z < 0.5) { m = bitcast<f32>(p.nan); z = m; }",
    ...(pass.after === undefined ? [] : [pass.after]),
  ];
}
