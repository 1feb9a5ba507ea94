/**
 * Every way a fresh tensor is used, tried in every kind of place it can stand in: functions,
 * methods, callbacks, loops, scopes opened by block, callback or caller. What must be reported
 * follows from two facts only, written down per way and per place; the analysis is not asked.
 */
import { suite } from "uvu";
import plugin from "../../src/index.ts";
import { places, type Place } from "../matrix/places.ts";
import { ways, type Way } from "../matrix/ways.ts";
import { assert, lint } from "../tester.ts";

const head = `import {
  Tensor, concat, newDisposeScope, NewDisposeScope, noGrad, ones, scoped, scopedAsync, sync, where,
  zeros,
} from "tenure";
import { Scheduler } from "tenure/scheduler";
declare function unknownSink(x: unknown): void; declare function unknownHost(x: () => void): void;
const kept: Tensor[] = []; function adopt(t: Tensor) { kept.push(t); }
const table: Tensor[] = []; const index = new Map<number, Tensor>();
declare const slot: { value?: Tensor };
`;

/**
 * All ways in one place form one file, each with names of its own; a file has one default export,
 * so that place is linted way by way.
 */
function lintPlace(place: Place, chosen: Way[]): string[][] {
  const names = /\b(f|h|g|M|B|twice|inScope)\b/g;
  const pieces = chosen.map((way, i) =>
    place
      .code("BODY")
      .replace(names, (n) => `${n}${String(i)}`)
      .replace("BODY", () => way.code),
  );
  const groups = place.name === "default export" ? pieces.map((p) => [p]) : [pieces];
  return groups.flatMap((group) => {
    const starts: number[] = [];
    let text = head;
    for (const piece of group) {
      starts.push(text.split("\n").length);
      text += `${piece}\n`;
    }
    const messages = lint(text, { rules: plugin.configs.recommended.rules });
    return starts.map((start, i) =>
      messages
        .filter((m) => m.line >= start && m.line < (starts[i + 1] ?? Infinity))
        .map((m) => (m.ruleId ?? m.message).replace("tenure/", "")),
    );
  });
}

/** Rules that report; where callers are divided, one stands for what only some of them own. */
function wanted({ state }: Place, { out, scoped }: Way): readonly string[] {
  if (state === "out") return out;
  if (state === "in") return scoped;
  const either = scoped.filter((rule) => rule !== "no-escape-from-scope");
  const isLost = state === "divided" && out.some((rule) => !scoped.includes(rule));
  return isLost ? [...either, "require-caller-scope"] : either;
}

const test = suite("matrix of ways and places");
for (const place of places) {
  const chosen = ways.filter(
    (way) => !(way.waits && place.sync) && !(way.leaves && place.noReturn),
  );
  let results: string[][] | undefined;
  chosen.forEach((way, i) => {
    test(`${way.name} in ${place.name}`, () => {
      results ??= lintPlace(place, chosen);
      assert.equal([...new Set(results[i])].sort(), [...wanted(place, way)].sort());
    });
  });
}
test.run();
