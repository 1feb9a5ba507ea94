/**
 * Every way in which a program loses GPU objects that it holds, in the places that hold them, with
 * types and in plain JavaScript, and beside each its nearest valid form, which must be silent. What
 * is known not to be reported is listed in `fixtures/gpu-gaps.txt` and must be silent, so that the
 * list can only shrink: UPDATE_GAPS=1 writes it anew.
 */
import { readFileSync, writeFileSync } from "node:fs";
import ts from "typescript";
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { gpuHead, gpuKinds } from "./matrix/gpu-losses.ts";
import { gpuPlaces, type GpuPlace } from "./matrix/gpu-places.ts";
import { gpuSingles } from "./matrix/gpu-singles.ts";
import { assert, lint, projectDir } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

/** A program that loses, the same mended, and the line of the list. */
interface Pair {
  line: string;
  lost: string;
  mended: string;
}

const languages = ["typed", "untyped"] as const;
type Language = (typeof languages)[number];

const erased = (code: string): string =>
  ts.transpileModule(code, { compilerOptions: { target: ts.ScriptTarget.ESNext } }).outputText;

/** All losses in the thorough places; elsewhere what is forgotten, and every few others in turn. */
function pairsOf(place: GpuPlace, language: Language): Pair[] {
  const at = gpuPlaces.indexOf(place);
  const all = gpuKinds.flatMap((kind) => kind.losses.map((loss) => ({ kind, loss })));
  const every = language === "typed" ? 3 : 4;
  const chosen = place.thorough ? all : all.filter((_, i) => i % every === at % every);
  return chosen.map(({ kind, loss }) => {
    const code = (i: 0 | 1): string =>
      place.code({
        ...kind,
        feed: loss.feed?.[i] ?? kind.feed,
        end: loss.end?.[i] ?? kind.end,
        helper: loss.helper?.[i] ?? kind.helper,
      });
    const line = `${language}, ${place.name} | ${kind.name} | ${loss.name}`;
    return { line, lost: code(0), mended: code(1) };
  });
}

/** The reports in each of some programs that form one file, each with names of its own. */
function lintAll(pieces: readonly string[], language: Language): string[][] {
  const starts: number[] = [];
  let text = language === "typed" ? `export {};\n${gpuTypes}${gpuHead}` : erased(gpuHead);
  pieces.forEach((piece, i) => {
    starts.push(text.split("\n").length);
    const named = piece.replaceAll("$", String(i));
    text += `${language === "typed" ? named : erased(named)}\n`;
  });
  const messages = lint(text, {
    settings: { presets: ["webgpu"] },
    rules: plugin.configs.recommended.rules,
    ...(language === "typed" ? {} : { file: `${projectDir}script.js` }),
  });
  return starts.map((start, i) =>
    messages
      .filter((m) => m.line >= start && m.line < (starts[i + 1] ?? Infinity))
      .map((m) => `${String(m.line - start)}: ${m.message}`),
  );
}

const gapsFile = new URL("fixtures/gpu-gaps.txt", import.meta.url);
const gaps = new Set(readFileSync(gapsFile, "utf8").split("\n"));
const found = new Set<string>();

const test = suite("GPU objects that are held");
const update = process.env["UPDATE_GAPS"] !== undefined;

function addPairs(pairs: readonly Pair[], language: Language): void {
  let reports: string[][] | undefined;
  const told = (i: number): string[] =>
    (reports ??= lintAll(
      pairs.flatMap((p) => [p.lost, p.mended]),
      language,
    ))[i] ?? [];
  pairs.forEach(({ line, lost, mended }, i) => {
    test(line, () => {
      const isReported = told(2 * i).length > 0;
      if (!isReported) found.add(line);
      assert.equal(told(2 * i + 1), [], `the valid form is silent:\n${mended}`);
      if (update) return;
      if (gaps.has(line))
        assert.not(isReported, `now reported, UPDATE_GAPS=1 takes it from the list:\n${lost}`);
      else assert.ok(isReported, `the loss is reported:\n${lost}`);
    });
  });
}

for (const language of languages) {
  for (const place of gpuPlaces) addPairs(pairsOf(place, language), language);
  addPairs(
    gpuSingles.map(({ name, code: [lost, mended] }) => ({
      line: `${language} | ${name}`,
      lost,
      mended,
    })),
    language,
  );
}
test.after(() => {
  if (update) writeFileSync(gapsFile, `${[...found].join("\n")}\n`);
});
test.run();
