/**
 * Scripts inside of other files, as the parsers of Vue, Svelte and Astro hand them over: TypeScript
 * gets the script alone, with a line of the parser's own before and after, and the syntax tree is
 * moved to where the script stands, below a node that TypeScript does not know.
 */
import { simpleTraverse } from "@typescript-eslint/typescript-estree";
import parser from "@typescript-eslint/parser";
import { suite } from "uvu";
import { applied, assert, languageOf, lint, typeErrors } from "./tester.ts";

const test = suite("embedded scripts");

const before = "let made = 0;\n";
const after = "\nfunction template() { zeros([1]).neg().size; }\n";

interface Options {
  [name: string]: unknown;
}
/** A parser of pages with one script. */
const pages = {
  parseForESLint(text: string, options: Options) {
    const start = text.indexOf("<script>") + "<script>".length;
    const script = text.slice(start, text.indexOf("</script>"));
    const result = parser.parseForESLint(before + script + after, options);
    const shift = start - before.length;
    const lines = text.slice(0, start).split("\n").length - before.split("\n").length;
    const { ast } = result;
    const move = (node: { range: [number, number]; loc: { start: Spot; end: Spot } }): void => {
      node.range = [node.range[0] + shift, node.range[1] + shift];
      const { start: first, end: last } = node.loc;
      node.loc = { start: moved(first, lines), end: moved(last, lines) };
    };
    simpleTraverse(ast, { enter: (node) => move(node) });
    ast.tokens?.forEach(move);
    ast.comments?.forEach(move);
    const own = (node: { range: [number, number] }): boolean =>
      node.range[0] >= start && node.range[1] <= start + script.length;
    const program = { ...ast, range: [0, text.length], body: ast.body.filter(own) };
    return { ...result, ast: { ...program, tokens: ast.tokens?.filter(own) }, scopeManager: null };
  },
};
interface Spot {
  line: number;
  column: number;
}
const moved = ({ line, column }: Spot, by: number): Spot => ({ line: line + by, column });

const script = `
import { zeros, type Tensor } from "tenure";
export function show(x: Tensor): void {
  const y = x.neg();
  console.log(y.size);
}
export function twice(x: Tensor): void {
  const z = x.neg();
  z.dispose();
  z.dispose();
}
export function chained(): number {
  return zeros([2]).exp().size;
}
`;
const page = `<h1>A page</h1>\n<p>text</p>\n<script>${script}</script>\n<p>end</p>\n`;
const options = { languageOptions: languageOf(pages) };

test("reports stand in the file, and speak of its lines", () => {
  const found = lint(page, options).filter((m) => m.ruleId !== "tenure/prefer-using");
  const lines = page.split("\n");
  const marked = found.map((m) => {
    const text = lines[m.line - 1]?.slice(m.column - 1, (m.endColumn ?? m.column) - 1);
    return `${String(m.line)} ${m.ruleId?.replace("tenure/", "") ?? ""} ${text ?? ""}`;
  });
  assert.equal(marked, [
    "6 require-disposal neg()",
    "12 no-double-dispose z",
    "15 no-leaked-temporary zeros([2])",
  ]);
  assert.match(found[1]?.message ?? "", /line 11\b/);
});

test("fixes change the script and nothing else", () => {
  const counted = (text: string, rule: string | null): number =>
    lint(text, options).filter(({ ruleId }) => ruleId === rule).length;
  for (const message of lint(page, options)) {
    const { fix, suggestions = [] } = message;
    for (const edit of [...(fix ? [{ fix }] : []), ...suggestions]) {
      const text = applied(page, edit);
      assert.ok(text.startsWith("<h1>A page</h1>\n<p>text</p>\n<script>\nimport"), text);
      assert.ok(text.endsWith("}\n</script>\n<p>end</p>\n"), text);
      const inner = text.slice(text.indexOf("<script>") + 8, text.indexOf("</script>"));
      assert.equal(typeErrors(inner), [], inner);
      assert.ok(counted(text, message.ruleId) < counted(page, message.ruleId), message.message);
    }
  }
});

test("a page without a script has no reports", () => {
  assert.equal(lint("<script></script>", options), []);
});
test.run();
