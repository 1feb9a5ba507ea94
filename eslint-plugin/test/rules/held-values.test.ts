/**
 * Every way a held value is lost, in the places that hold it, and beside each its nearest valid
 * form, which must be silent. What is known not to be reported is listed in
 * `fixtures/held-gaps.txt` and must be silent, so that the list can only shrink: UPDATE_GAPS=1
 * writes it anew.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { suite } from "uvu";
import plugin from "../../src/index.ts";
import { holders, sources, type Holder, type Source } from "../matrix/holders.ts";
import { lists } from "../matrix/list-losses.ts";
import { singles, type Kind, type Loss } from "../matrix/losses.ts";
import { assert, lint } from "../tester.ts";

const head = `import { Tensor, concat, zeros } from "tenure";
import { Linear } from "tenure/nn";
`;

const kinds = [...singles, ...lists];

/** A way to lose what a place holds, and how its values are made. */
interface Combination {
  holder: Holder;
  source: Source;
  kind: Kind;
  loss: Loss;
}

/** The program that loses, or the one that is mended. */
function codeOf({ holder, source, kind, loss }: Combination, mended: 0 | 1): string {
  const { type, init, head: declared } = kind;
  const feed = loss.feed?.[mended] ?? kind.feed;
  const end = loss.end?.[mended] ?? kind.end;
  const code = holder.code({ type, init, feed, end }, source);
  return declared === undefined ? code : `${declared}\n${code}`;
}

/** A value that is given is held on every way, not ended at once. */
const canBeGiven = ({ kind, loss }: Combination): boolean => {
  const feed = loss.feed?.[1] ?? kind.feed;
  return feed.includes("VALUE") && !/return|made\.dispose/.test(feed);
};

/** All losses in the thorough places; elsewhere what is forgotten, and every few others in turn. */
function chosen(holder: Holder, source: Source): Combination[] {
  const at = holders.indexOf(holder);
  const all = kinds.flatMap((kind) =>
    kind.losses.map((loss): Combination => ({ holder, source, kind, loss })),
  );
  if (source !== sources[0])
    return holder === holders[0] ? all.filter(canBeGiven).filter((_, i) => i % 3 === 0) : [];
  if (holder.thorough) return all;
  return all.filter(({ kind, loss }, i) => loss === kind.losses[0] || i % 9 === at % 9);
}

/** The reports in each of some programs that form one file, each with names of its own. */
function lintAll(pieces: readonly string[]): string[][] {
  const starts: number[] = [];
  let text = head;
  pieces.forEach((piece, i) => {
    starts.push(text.split("\n").length);
    text += `${piece.replaceAll("$", String(i))}\n`;
  });
  const messages = lint(text, { rules: plugin.configs.recommended.rules });
  return starts.map((start, i) =>
    messages
      .filter((m) => m.line >= start && m.line < (starts[i + 1] ?? Infinity))
      .map((m) => `${String(m.line - start)}: ${m.message}`),
  );
}

const gapsFile = new URL("../fixtures/held-gaps.txt", import.meta.url);
const lineOf = ({ holder, source, kind, loss }: Combination): string =>
  `${holder.name}, ${source.name} | ${kind.name} | ${loss.name}`;
const gaps = new Set(readFileSync(gapsFile, "utf8").split("\n"));
const found = new Set<string>();

const test = suite("held values");
for (const source of sources)
  for (const holder of holders) {
    const all = chosen(holder, source);
    if (all.length === 0) continue;
    let reports: string[][] | undefined;
    const told = (i: number): string[] =>
      (reports ??= lintAll(all.flatMap((c) => [codeOf(c, 0), codeOf(c, 1)])))[i] ?? [];
    all.forEach((combination, i) => {
      const line = lineOf(combination);
      test(line, () => {
        const isReported = told(2 * i).length > 0;
        if (!isReported) found.add(line);
        assert.equal(told(2 * i + 1), [], `the valid form is silent:\n${codeOf(combination, 1)}`);
        if (process.env["UPDATE_GAPS"]) return;
        const code = codeOf(combination, 0);
        if (gaps.has(line))
          assert.not(isReported, `now reported, UPDATE_GAPS=1 takes it from the list:\n${code}`);
        else assert.ok(isReported, `the loss is reported:\n${code}`);
      });
    });
  }
test.after(() => {
  if (process.env["UPDATE_GAPS"]) writeFileSync(gapsFile, `${[...found].join("\n")}\n`);
});
test.run();
