/**
 * Which presets a code base needs, by what its scripts and package.json files name: who looks
 * before installing does not know them yet. Used by `report/leak-report.ts`; owns nothing.
 */
import type { TenureSettings } from "../owner.ts";

/** The name of a preset. */
export type PresetName = NonNullable<TenureSettings["presets"]>[number];

const signs: readonly (readonly [PresetName, RegExp])[] = [
  ["tenure", /["'`]tenure(\/\w+)?["'`]/],
  [
    "tfjs",
    /@tensorflow\/tfjs|\btf\.(tidy|tensor\d?d?|loadLayersModel|loadGraphModel|sequential)\b/,
  ],
  ["webgpu", /\bnavigator\.gpu\b|\bGPU(Device|Buffer|Texture|QuerySet)\b/],
  ["onnxruntime", /["'`]onnxruntime-(web|node|common|react-native)\b|\bort\.InferenceSession\b/],
];

/** The presets of the libraries that some texts name. */
export function presetsFor(texts: Iterable<string>): PresetName[] {
  const seen = new Set<PresetName>();
  for (const text of texts) {
    for (const [name, sign] of signs) if (!seen.has(name) && sign.test(text)) seen.add(name);
    if (seen.size === signs.length) break;
  }
  return signs.map(([name]) => name).filter((name) => seen.has(name));
}
