/**
 * The transfer table: for each construct the effect it must have, on real code, and that every row
 * of both tables carries an example and can be reached in order.
 */
import { Linter } from "eslint";
import ts from "typescript";
import { suite } from "uvu";
import { Workspace } from "../src/analysis/open.ts";
import { calls, mentions } from "../src/analysis/transfer/transfer.ts";
import { resolveSettings } from "../src/settings.ts";
import { assert, filename, languageOptions } from "./tester.ts";

const test = suite("transfer");
const settings = resolveSettings(undefined);

/** The effects of every mention of `t`, in the order of the text. */
function effectsIn(statements: string): string[] {
  const code = `import { Tensor, concat, newDisposeScope } from "tenure";
const held: Tensor[] = []; class Box { w: Tensor | null = null; }
/** @takes x */ declare function eat(x: Tensor): void;
declare function unknownTo(x: Tensor): void;
function look(x: Tensor): number { return x.size; }
function end(x: Tensor): void { x.dispose(); }
function hold(x: Tensor): void { held.push(x); }
function hand(x: Tensor): Tensor { return x; }
export function* f(t: Tensor, ts: Tensor[], box: Box, n: number): unknown { ${statements} }
export { eat, unknownTo, look, end, hold, hand, concat, newDisposeScope };
`;
  const linter = new Linter({ cwd: filename.replace(/[^/]*$/, "") });
  const config = { files: ["**/*.ts"], languageOptions: languageOptions() };
  linter.verify(code, [config] as never, { filename });
  const services = linter.getSourceCode().parserServices as unknown as { program: ts.Program };
  const session = new Workspace().open(services.program, settings);
  const file = services.program.getSourceFile(filename);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isMention = ts.isIdentifier(node) && (node.text === "t" || node.text === "ts");
    if (isMention && !ts.isParameter(node.parent)) found.push(session.transfer(node).effect);
    ts.forEachChild(node, visit);
  };
  if (file) visit(file);
  return found;
}

const expected: [code: string, ...effects: string[]][] = [
  ["t.dispose();", "disposes"],
  ["t[Symbol.dispose]();", "disposes"],
  ["t.moveToOuter();", "moves"],
  ["t.neg();", "borrows"],
  ["console.log(t.shape);", "nothing"],
  ["if (t === box.w) console.log(n);", "nothing"],
  ["return t;", "returns"],
  ["yield t;", "returns"],
  ["throw t;", "takes"],
  ["const other = t; console.log(other.size);", "aliases"],
  ["box.w = t;", "stores"],
  ["held[0] = t;", "stores"],
  ["t = box.w ?? t;", "nothing", "aliases"],
  ["eat(t);", "takes"],
  ["look(t);", "borrows"],
  ["end(t);", "disposes"],
  ["hold(t);", "takes"],
  ["hand(t);", "passes"],
  ["unknownTo(t);", "unknown"],
  ["const x = t.neg(); unknownTo(x); x.dispose();", "borrows"],
  ["concat([t, t]);", "borrows", "borrows"],
  ["held.push(t);", "takes"],
  ["t;", "drops"],
  ["ts.push(box.w!);", "receives"],
  ["ts.forEach((x) => { x.dispose(); });", "visits"],
  ["console.log(ts.includes(box.w!));", "nothing"],
  ["console.log(ts.some((x) => x.rank > 1));", "borrows"],
  ["console.log(ts.at(-1)!.rank);", "enters"],
  ["if (ts.length > 3) ts.shift()!.dispose();", "nothing", "borrows"],
  ["ts.pop();", "unknown"],
  ["console.log(ts[0]);", "enters"],
  ["for (const x of ts) console.log(x.size);", "visits"],
  ["for (using row of t) console.log(row.size);", "borrows"],
  ["console.log(ts.length);", "nothing"],
];
for (const [code, ...effects] of expected)
  test(code, () => {
    assert.equal(effectsIn(code), effects);
  });

test("rows carry examples, and no row hides a later one of its kind", () => {
  for (const row of [...mentions, ...calls]) assert.ok(row.example.length > 0);
  assert.equal(new Set(mentions.map((r) => r.example)).size, mentions.length);
  const closed = new Set<string>();
  for (const row of mentions) {
    assert.not(closed.has(row.kind), `${row.example} comes after a row that fits everything`);
    if (!row.when) closed.add(row.kind);
  }
});
test.run();
