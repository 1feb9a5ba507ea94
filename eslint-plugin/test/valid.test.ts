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
