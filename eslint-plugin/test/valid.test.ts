/**
 * The valid programs: real code over the real library that every rule of `recommended` must leave
 * clean, and that must leave no tensor behind when it runs. A sample of mutants shows that both
 * halves can fail.
 */
import { suite } from "uvu";
import { leftBehind, lintValid, mutantsOf, readValid, validPrograms } from "../bench/mutation.ts";
import { applied, assert, lint } from "./tester.ts";

const test = suite("valid programs");
for (const file of validPrograms()) {
  test(`${file} is clean`, () => {
    assert.equal(lintValid(file, readValid(file)), []);
  });
  test(`${file} leaves nothing behind`, async () => {
    assert.is(await leftBehind(readValid(file)), 0);
  });
  test(`${file} with one using less is reported and leaks`, async () => {
    const mutants = mutantsOf(file, readValid(file)).filter((m) => m.what === "using");
    const mutant = mutants[mutants.length - 1];
    assert.ok(mutant);
    assert.ok(lintValid(file, mutant.text).length > 0);
    assert.ok((await leftBehind(mutant.text)) > 0);
  });
}

const names = ["scoped", "scopedAsync", "newDisposeScope", "zeros"];
const taken = {
  "out of a namespace": `import * as tenure from "tenure"; const { ${names.join()} } = tenure;`,
  "one by one": `import * as tenure from "tenure";
    ${names.map((name) => `const ${name} = tenure.${name};`).join(" ")}`,
  "out of a dynamic import": `const { ${names.join()} } = await import("tenure");`,
};
for (const [how, head] of Object.entries(taken))
  test(`functions of the library in constants, ${how}`, () => {
    const program = `import type { Tensor } from "tenure";
${head}
export const twice = (x: Tensor): Tensor => scoped(() => x.mul(2).add(1));
export const later = (x: Tensor): Promise<number> => scopedAsync(async () => x.sum().item());
export function size(): number {
  using s = newDisposeScope();
  const a = zeros([2]);
  return a.size + s.tensors().length;
}
`;
    assert.equal(lint(program), []);
    const leaking = program.replace("using s = newDisposeScope();", "const s = newDisposeScope();");
    assert.ok(lint(leaking).length > 0);
  });

test("the seed's example leaks as written and not after the first two suggestions", async () => {
  const program = `import { newDisposeScope, tensor, type Tensor } from "tenure";
export async function evaluate(predicted: Tensor, labels: Tensor): Promise<number> {
  let total = 0;
  total += await predicted.argMax(1).eq(labels).sum().item();
  return total;
}
`;
  const [message] = lint(program).filter((m) => m.ruleId === "tenure/no-leaked-temporary");
  const runner =
    "export function run(): void { using p = tensor([[1, 2], [3, 4]]); using l = " +
    `tensor([1, 0], { dtype: "int32" }); void evaluate(p, l).catch(() => undefined); }\n`;
  assert.is(await leftBehind(program + runner), 3);
  for (const suggestion of message!.suggestions!.slice(0, 1))
    assert.ok(applied(program, suggestion).includes("using am"));
  // a scope closes before the wait, so nothing is left at once; `using` in an async function is
  // freed when it ends
  assert.is(await leftBehind(applied(program, message!.suggestions![1]!) + runner), 0);
  const ended =
    "export let done: Promise<unknown> = Promise.resolve();\nexport function run(): void { " +
    `{ using p = tensor([[1, 2], [3, 4]]); using l = tensor([1, 0], { dtype: "int32" }); ` +
    "evaluateSync(p, l); } }\n";
  const sync = applied(program, message!.suggestions![0]!)
    .replace("async function evaluate", "function evaluateSync")
    .replace("Promise<number>", "number")
    .replace("await sum.item()", "sum.size");
  assert.is(await leftBehind(sync + ended), 0);
});
test.run();
