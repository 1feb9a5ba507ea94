/**
 * The programs of `planted/` and the leaks planted in them. Each program has beside it a text file
 * of edits, a paragraph each: the first line names the kind; `-` lines stand in the program, one
 * after the other, and the `+` lines after them take their place; `@` lines say, by a part of the
 * line, where in the edited program a report may rightly stand. Used by `planted.ts`, which lints
 * them, and `planted-run.ts`, which runs them.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Where the programs are. */
export const folder = fileURLToPath(new URL("./planted/", import.meta.url));

/** The programs by lot, as drawn (seed 20261124): the plugin was mended after the first lot. */
export const lots: readonly (readonly string[])[] = [
  [
    ...["gan", "diffusion", "numerics", "worker", "plain", "averaging"],
    ...["early-stopping", "autoencoder", "search", "dqn", "events", "component"],
  ],
  ["helpers", "modules", "pipeline", "hierarchy", "server", "decoder"],
  ["augment", "replay", "finetune", "filters", "metrics", "mixture", "chat"],
  ["variational", "tagger", "toolbox", "dashboard", "federated", "particles", "factors"],
  ["river", "shelf", "citations", "sentinel", "sweep", "patches", "rollback"],
  ["rollouts", "spectrogram", "captioner", "retrieval", "codec", "sessions", "curriculum"],
  ["tracker", "editor", "spikes", "kriging", "router", "evolution"],
  ["plate", "atelier", "market", "exposures", "homework", "minimizer"],
  ["concierge", "mosaic", "listener", "pulse", "folds", "granules"],
  ["hushline", "cohorts", "sketchpad", "parley", "labeller", "foothills"],
  ["valence", "scribe", "downlink"],
  ["lichen", "tidegauge", "synth", "kiln", "qubits", "beehive"],
  ["tiles", "selfplay", "dayahead"],
  ["beamline", "nowcast", "glide"],
  ["wayfinder", "loom", "limelight"],
  ["tremor", "lens", "registers"],
];

/** A planted leak. */
export interface Edit {
  readonly kind: string;
  /** The program with the leak. */
  readonly text: string;
  /** The lines of `text` where a report may stand, from 1. */
  readonly lines: ReadonlySet<number>;
}

/** A program without leaks, and the edits that make one each. */
export interface Program {
  readonly name: string;
  /** `gan.ts` */
  readonly file: string;
  readonly text: string;
  readonly edits: readonly Edit[];
}

/** @throws Error for an edit that does not fit the program */
export function readProgram(name: string): Program {
  const file = existsSync(`${folder}${name}.ts`) ? `${name}.ts` : `${name}.js`;
  const text = readFileSync(folder + file, "utf8");
  const paragraphs = readFileSync(`${folder}${name}.txt`, "utf8").trim().split(/\n\n+/);
  return { name, file, text, edits: paragraphs.map((p) => readEdit(name, text, p.split("\n"))) };
}

function readEdit(name: string, text: string, [kind = "", ...rows]: readonly string[]): Edit {
  const hunks: { old: string[]; put: string[] }[] = [],
    places: string[] = [];
  let side = "";
  for (const row of rows) {
    const value = row.slice(1).trim();
    if (row.startsWith("-") && side !== "-") hunks.push({ old: [], put: [] });
    side = row.charAt(0);
    if (side === "@") places.push(value);
    else hunks.at(-1)?.[side === "-" ? "old" : "put"].push(value);
  }
  const lines = text.split("\n");
  for (const { old, put } of hunks) {
    const [at = -1, ...more] = [...lines.keys()].filter((i) => startsAt(lines, i, old));
    if (at < 0 || more.length > 0)
      throw new Error(`lint: expected one place in ${name} for "${old.join(" / ")}" (${kind})`);
    lines.splice(at, old.length, ...put);
  }
  const marked = places.flatMap((place) => {
    const found = [...lines.keys()].filter((i) => lines[i]!.includes(place));
    if (found.length === 0)
      throw new Error(`lint: expected a line with "${place}" in ${name} (${kind})`);
    return found.map((i) => i + 1);
  });
  return { kind, text: lines.join("\n"), lines: new Set(marked) };
}

function startsAt(lines: readonly string[], at: number, wanted: readonly string[]): boolean {
  return wanted.every((row, i) => lines[at + i]?.trim() === row);
}
