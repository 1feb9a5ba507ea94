/**
 * Every snippet of the article the protocol comes from, good and bad, written in Tenure's API: the
 * bad ones are reported, the good ones are clean, and the article's own rewrite of its example is
 * the first suggestion, a dispose scope the second.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { applied, assert, lines, lint, typeErrors } from "./tester.ts";

const test = suite("seed snippets");
const head =
  `import { newDisposeScope, tensor, zeros, type Tensor } from "tenure";\nimport { Linear, ` +
  `Module, Sequential } from "tenure/nn";\n`;
const recommended = plugin.configs.recommended.rules;
const report = (code: string): string[] =>
  lint(head + code, { rules: recommended }).map((m) =>
    (m.ruleId ?? m.message).replace("tenure/", ""),
  );

const signature =
  "export async function evaluate(predicted: Tensor, labels: Tensor): Promise<number> {";
const example = `${signature}
  let total = 0;
  total += await predicted.argMax(1).eq(labels).sum().to("float32").item();
  return total;
}
`;

test("the example: first suggestion is the author's rewrite, second a scope", () => {
  const found = lint(head + example, { rules: recommended });
  assert.is(found.length, 1, lines(found).join("\n"));
  const message = found[0]!;
  const line = (head + example).split("\n")[message.line - 1] ?? "";
  assert.is(
    line.slice(message.column - 1, (message.endColumn ?? 1) - 1),
    "argMax(1)",
    "the mark is on the method, not on the chain",
  );
  assert.is(
    message.message,
    '`argMax(1)`, `eq(labels)`, `sum()`, `to("float32")` are never disposed; hoist them ' +
      "into `using`, or open a scope.",
  );
  assert.equal(message.suggestions?.map((s) => s.desc).slice(0, 2), [
    "Hoist into `using` variables.",
    "Wrap in a dispose scope.",
  ]);
  const hand = applied(head + example, message.suggestions![0]!);
  assert.is(
    hand.slice(head.length),
    `${signature}
  let total = 0;
  using am = predicted.argMax(1);
  using eq = am.eq(labels);
  using sum = eq.sum();
  using moved = sum.to("float32");
  total += await moved.item();
  return total;
}
`,
  );
  const scope = applied(head + example, message.suggestions![1]!);
  assert.is(
    scope.slice(head.length),
    `${signature}
  let total = 0;
  let item;
  {
    using scope = newDisposeScope();
    item = predicted.argMax(1).eq(labels).sum().to("float32").item();
  }
  total += await item;
  return total;
}
`,
  );
  for (const text of [hand, scope]) {
    assert.equal(typeErrors(text), []);
    assert.equal(lines(lint(text, { rules: recommended })), []);
  }
});

test("without await the scope is a block, as in the article", () => {
  const code =
    "export function f(predicted: Tensor, labels: Tensor): void {\n  " +
    "console.log(predicted.argMax(1).eq(labels).sum().size);\n}\n";
  const [message] = lint(head + code, { rules: recommended });
  assert.is(
    applied(head + code, message!.suggestions![1]!).slice(head.length),
    "export function f(predicted: Tensor, labels: Tensor): void {\n  {\n    using scope " +
      "= newDisposeScope();\n    console.log(predicted.argMax(1).eq(labels).sum().size);\n " +
      " }\n}\n",
  );
});

const snippets: [name: string, code: string, expected: string[]][] = [
  [
    "flatten returning an alias",
    "export function flatten(input: Tensor): Tensor { if (input.shape.length === 1) " +
      "return input.alias(); else return input.reshape([input.size]); }",
    [],
  ],
  [
    "flatten returning its input",
    "export function flatten(input: Tensor): Tensor { if (input.shape.length === 1) " +
      "return input; else return input.reshape([input.size]); }",
    ["no-return-input"],
  ],
  [
    "function 0: alias of the input",
    `export function f0(input: Tensor): Tensor { return input.alias(); }`,
    [],
  ],
  [
    "function 1: alias of a table element",
    "const table: Tensor[] = []; export function f1(today: boolean): Tensor { return " +
      "today ? table[4]!.alias() : table[5]!.alias(); }",
    [],
  ],
  [
    "function 1 without alias, one arm fresh",
    "const table: Tensor[] = []; export function f1(today: boolean): Tensor { return " +
      "today ? table[4]! : zeros([1]); }",
    ["no-return-input"],
  ],
  [
    "function 2: a temporary operand",
    `export function f2(input: Tensor): Tensor { return input.add(tensor(1)); }`,
    ["no-leaked-temporary"],
  ],
  [
    "function 2 with the operand held",
    `export function f2(input: Tensor): Tensor { using one = tensor(1); return input.add(one); }`,
    [],
  ],
  [
    "function 3: use",
    "export function f3(input: Tensor): Tensor { using one = tensor(1); using tmp = " +
      "input.add(one); return tmp.add(one); }",
    [],
  ],
  [
    "function 3 without use",
    `export function f3(input: Tensor): Tensor { const tmp = input.add(1); return tmp.add(1); }`,
    ["require-disposal"],
  ],
  [
    "function 4: two uses",
    "export function f4(input: Tensor): Tensor { using tmp1 = input.add(1); using tmp2 = " +
      "input.add(1); return tmp2.add(tmp1); }",
    [],
  ],
  [
    "function 5: branches",
    "export function f5(go: boolean, input: Tensor): Tensor { if (go) { using t1 = " +
      "input.add(1); using t2 = t1.add(1); return t2.add(1); } else return input.alias(); }",
    [],
  ],
  [
    "function 5 in place",
    "export function f5(go: boolean, input: Tensor): Tensor { if (go) { using t1 = " +
      "input.add_(1); using t2 = input.add_(1); return t2.add(t1); } else return " +
      "input.alias(); }",
    [],
  ],
  [
    "function 5 in place, results forgotten",
    "export function f5(go: boolean, input: Tensor): Tensor { if (go) { input.add_(1); " +
      "input.add_(1); return input.add(1); } else return input.alias(); }",
    ["no-dropped-result", "no-dropped-result"],
  ],
  [
    "rule 3: disposing an input",
    `export function f(input: Tensor): void { input.dispose(); }`,
    ["no-dispose-parameter"],
  ],
  [
    "technique 3: a scope around it",
    "export async function f(p: Tensor, l: Tensor) { let item; { using d = " +
      "newDisposeScope(); item = p.argMax(1).eq(l).sum().item(); } return await item; }",
    [],
  ],
  [
    "scopes are dynamic: a helper called in one",
    "function helper(x: Tensor): Tensor { return x.neg().exp(); }\nexport function f(x: " +
      "Tensor) { using d = newDisposeScope(); console.log(helper(x).size); }",
    [],
  ],
  [
    "scopes are dynamic: the same helper called without",
    "function helper(x: Tensor): Tensor { return x.neg().exp(); }\nexport function f(x: " +
      "Tensor) { using y = helper(x); console.log(y.size); }",
    ["no-leaked-temporary"],
  ],
  [
    "overwriting without scopes",
    "export function f(xs: Tensor[]): Tensor { let t = zeros([1]); for (const x of xs) { " +
      "using l = x.log(); t = t.add(l); } return t; }",
    ["no-overwritten-tensor"],
  ],
  [
    "overwriting in an inner scope",
    "export function f(xs: Tensor[]) { using d0 = newDisposeScope(); let t = zeros([1]); " +
      "for (const x of xs) { using d1 = newDisposeScope(); t = t.add(x.log()); } " +
      "console.log(t.size); }",
    ["no-escape-from-scope"],
  ],
  [
    "overwriting, moved to the outer scope",
    "export function f(xs: Tensor[]) { using d0 = newDisposeScope(); let t = zeros([1]); " +
      "for (const x of xs) { using d1 = newDisposeScope(); t = " +
      "t.add(x.log()).moveToOuter(); } console.log(t.size); }",
    [],
  ],
  [
    "overwriting with fewer scopes",
    "export function f(xs: Tensor[]) { using d0 = newDisposeScope(); let t = zeros([1]); " +
      "for (const x of xs) t = t.add(x.log()); console.log(t.size); }",
    [],
  ],
  [
    "returned from a scope",
    "export function foo(xs: Tensor[]): Tensor { using d0 = newDisposeScope(); let t = " +
      "zeros([1]); for (const x of xs) t = t.add(x.log()); return t.moveToOuter(); }",
    [],
  ],
  [
    "returned from a scope, not moved",
    "export function foo(): Tensor { using d0 = newDisposeScope(); const t = zeros([1]); " +
      "return t; }",
    ["no-escape-from-scope"],
  ],
  [
    "detached from a scope",
    "export function foo(): Tensor { using d0 = newDisposeScope(); const t = zeros([1]); " +
      "return t.detachFromScope(); }",
    [],
  ],
  [
    "Sequential",
    "export const net = new Sequential(new Linear(1, 2), new Linear(2, 3)); export " +
      "function run(x: Tensor): Tensor { return net.forward(x); }",
    [],
  ],
  [
    "a library function without a scope",
    "export class Net extends Module { private readonly a = new Linear(1, 2); forward(x: " +
      "Tensor): Tensor { return this.a.forward(x.neg()); } }\nexport function run(n: Net, " +
      "x: Tensor): Tensor { return n.forward(x); }",
    ["no-leaked-temporary"],
  ],
];
for (const [name, code, expected] of snippets) {
  test(name, () => {
    assert.equal(typeErrors(head + code), []);
    assert.equal(
      report(code),
      expected,
      lines(lint(head + code, { rules: recommended })).join("\n"),
    );
  });
}
test.run();
