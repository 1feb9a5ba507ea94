/**
 * What `--fix` may do unasked: only what is surely right. A value from a function whose body nobody
 * sees may be kept by somebody else, and freeing it would break working code.
 */
import { suite } from "uvu";
import { applied, assert, fixed, lint } from "./tester.ts";

const test = suite("autofix");
const rules = { "tenure/require-disposal": "error" };
const imports = `import { zeros, type Tensor } from "tenure";\n`;

const unsure: Record<string, string> = {
  "a method of an interface": `interface Masters { of(p: Tensor): Tensor }
export function step(masters: Masters, p: Tensor) { const made = masters.of(p); made.size; }`,
  "an abstract method": `export abstract class Masters { abstract of(p: Tensor): Tensor;
  step(p: Tensor) { const made = this.of(p); made.size; } }`,
  "a callback": `export function step(of: (p: Tensor) => Tensor, p: Tensor) {
  const made = of(p); made.size; }`,
  "a function that hands on what such a method gives": `interface Masters { of(p: Tensor): Tensor }
function masterOf(masters: Masters, p: Tensor) { const found = masters.of(p); return found; }
export function step(masters: Masters, p: Tensor) {
  const made = masterOf(masters, p); made.size; }`,
};
for (const [name, code] of Object.entries(unsure))
  test(`${name}: a suggestion, no fix`, () => {
    const text = imports + code;
    const [message] = lint(text, { rules });
    assert.is(message?.ruleId, "tenure/require-disposal");
    assert.ok(message?.suggestions?.some((s) => s.messageId === "useUsing"));
    assert.is(fixed(text, { rules }), text);
  });

const sure: Record<string, string> = {
  "an operation": "const made = p.neg(); made.size;",
  "a creator": "const made = zeros([2]); made.size;",
  "a function with a body": "const made = make(); made.size;",
  "an interface method tagged @fresh": "const made = source.next(p); made.size;",
};
for (const [name, code] of Object.entries(sure))
  test(`${name}: fixed`, () => {
    const text = `${imports}function make() { return zeros([2]); }
interface Source {
  /** @fresh */
  next(p: Tensor): Tensor;
}
export function step(source: Source, p: Tensor) { ${code} }
export { make };
`;
    assert.is(fixed(text, { rules }), text.replace("const made", "using made"));
  });

const places: Record<string, { field: string; ends: string }> = {
  "a field that may be empty": {
    field: "#last: Tensor | null = null",
    ends: "previous?.dispose();",
  },
  "a field that is said to be filled": { field: "#last!: Tensor", ends: "previous?.dispose();" },
  "a field that is filled at first": {
    field: "#last: Tensor = zeros([1])",
    ends: "previous.dispose();",
  },
};
for (const [name, { field, ends }] of Object.entries(places))
  test(`${name}, overwritten by one function and ended by another: a suggestion`, () => {
    const mark = field.includes("null") ? "?" : "";
    const code = `${imports}class Ring {
  ${field};
  put(t: Tensor): void {
    const size = this.#last${mark}.size;
    this.#last = size === 1 ? t.neg() : t.exp();
  }
  close(): void { this.#last${mark}.dispose(); }
}
export function turn(t: Tensor): void {
  const ring = new Ring();
  for (const x of [t, t]) ring.put(x);
  ring.close();
}
`;
    const [message, ...others] = lint(code, { rules: { "tenure/no-overwritten-tensor": "error" } });
    assert.equal([message?.line, others.length], [6, 0]);
    const suggestion = message?.suggestions?.[0];
    assert.ok(suggestion);
    assert.match(
      applied(code, suggestion),
      `      this.#last = size === 1 ? t.neg() : t.exp();\n      ${ends}\n`,
    );
  });
test.run();
