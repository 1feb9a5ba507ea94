/**
 * Half-typed files: programs cut off, with tokens and lines taken out, put twice or moved, by a
 * draw with a fixed seed. Whatever still parses no rule may throw on; every message stays short,
 * every fix gives text that parses, and a change in one function leaves the reports on others be.
 */
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import ts from "typescript";
import { suite } from "uvu";
import { applied, assert, everyRule, lint, type LintOptions } from "./tester.ts";

const test = suite("half-typed files");

const imports =
  "import { concat, newDisposeScope, noGrad, ones, scoped, stack, tensor, zeros, " +
  'type Tensor } from "tenure";\n';
const cases = new URL("./fixtures/cases/", import.meta.url);
/** The cases of all rules, each a small program. */
const programs = readdirSync(cases).flatMap((name) =>
  readFileSync(new URL(name, cases), "utf8")
    .split(/^\/\/\/\/.*$/m)
    .filter((code) => code.trim() !== ""),
);

// ---- changes ----

const tokensOf = (text: string): [number, number][] => {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, ts.LanguageVariant.Standard, text);
  const found: [number, number][] = [];
  while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken)
    found.push([scanner.getTokenStart(), scanner.getTokenEnd()]);
  return found;
};

/** A text with the brackets closed that are open at its end, as editors do. */
function closed(text: string): string {
  const open: string[] = [];
  for (const char of text)
    if ("([{".includes(char)) open.push(")]}"["([{".indexOf(char)] ?? "");
    else if (")]}".includes(char)) open.pop();
  return `${text}\n${open.reverse().join("\n")}`;
}

/** What happens to a text; `at` and `to` are parts of its length, from 0 to 1. */
interface Change {
  how: "cut" | "delete" | "delete many" | "put instead" | "line out" | "line moved";
  at: number;
  to: number;
}
const changes: fc.Arbitrary<Change> = fc.record({
  how: fc.constantFrom("cut", "delete", "delete many", "put instead", "line out", "line moved"),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  to: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
});

function changed(text: string, { how, at, to }: Change): string {
  const lines = text.split("\n");
  const line = Math.floor(at * lines.length);
  if (how === "line out") return lines.toSpliced(line, 1).join("\n");
  if (how === "line moved") {
    const rest = lines.toSpliced(line, 1);
    return rest.toSpliced(Math.floor(to * lines.length), 0, lines[line] ?? "").join("\n");
  }
  const tokens = tokensOf(text);
  const first = Math.floor(at * tokens.length);
  const [start, end] = tokens[first] ?? [0, 0];
  if (how === "cut") return closed(text.slice(0, start));
  if (how === "delete") return text.slice(0, start) + text.slice(end);
  const other = tokens[Math.floor(to * tokens.length)] ?? [0, 0];
  if (how === "put instead") return text.slice(0, start) + text.slice(...other) + text.slice(end);
  const last = tokens[Math.min(first + Math.floor(to * 8), tokens.length - 1)] ?? [0, 0];
  return text.slice(0, start) + text.slice(last[1]);
}

// ---- laws ----

const parses = (text: string): boolean =>
  ts.transpileModule(text, {
    reportDiagnostics: true,
    compilerOptions: { target: ts.ScriptTarget.ESNext },
  }).diagnostics?.length === 0;

const families: LintOptions["settings"][] = [
  { presets: ["tenure"] },
  { presets: ["tenure", "tfjs", "disposable", "webgpu", "onnxruntime"] },
];
const anyProgram = fc.record({
  program: fc.constantFrom(...programs),
  change: fc.array(changes, { minLength: 1, maxLength: 2 }),
  settings: fc.constantFrom(...families),
});
const seeded = (runs: number): fc.Parameters<unknown> => ({ numRuns: runs, seed: 20 });

test("no rule throws, messages are short, fixes parse", () => {
  let linted = 0;
  const law = fc.property(anyProgram, ({ program, change, settings }) => {
    const text = imports + change.reduce(changed, program);
    if (!parses(text)) return;
    linted++;
    for (const message of lint(text, settings ? { settings } : {})) {
      if (message.fatal) return; // the parser refuses more than TypeScript does
      assert.is.not(message.messageId, "setup", message.message);
      assert.ok(message.message.length <= 140, message.message);
      assert.not.match(message.message, /undefined|\{\{|``/);
      const { fix, suggestions = [] } = message;
      for (const edit of [...(fix ? [{ fix }] : []), ...suggestions])
        assert.ok(parses(applied(text, edit)), `${message.message}\n${applied(text, edit)}`);
    }
  });
  fc.assert(law, seeded(300));
  assert.ok(linted > 80, `only ${String(linted)} programs parsed`);
});

const steady = `
export function other(x: Tensor, loud: boolean): number {
  const y = x.neg();
  if (loud) return 0;
  const n = y.exp().size;
  y.dispose();
  return n;
}
class Keeps {
  private readonly held = zeros([2]);
  look(): number { return this.held.add(1).size; }
}
export const kept = new Keeps();
`;

test("what is typed in one function leaves the reports on others be", () => {
  const reports = (text: string): string[] | null => {
    const from = text.indexOf(steady);
    const line = text.slice(0, from).split("\n").length;
    const found = lint(text, { rules: everyRule });
    if (found.some((m) => m.fatal)) return null;
    return found
      .filter((m) => m.line >= line)
      .map((m) => `${m.line - line} ${m.column} ${m.message.replace(/line \d+/, "line")}`);
  };
  const alone = reports(imports + steady);
  assert.is(alone?.length, 3, alone?.join("\n") ?? "");
  const law = fc.property(anyProgram, ({ program, change }) => {
    const half = change.reduce(changed, program);
    if (!parses(imports + half) || /\b(other|Keeps|kept|held|look)\b/.test(half)) return;
    const found = reports(`${imports}namespace Half {${half}\n}${steady}`);
    if (found) assert.equal(found, alone, half);
  });
  fc.assert(law, seeded(120));
});
test.run();
