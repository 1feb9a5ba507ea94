/**
 * Two copies of the library in one process, as a package manager may leave them: neither takes the
 * other's tensors, and each has its own scopes and counts. Runs on the device that computes
 * nothing.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { pack, Project } from "../packed.ts";

type Tenure = typeof import("tenure");

const test = suite("two copies of the library");
const copies: Tenure[] = [];
const nns: (typeof import("tenure/nn"))[] = [];
const optims: (typeof import("tenure/optim"))[] = [];
const projects: Project[] = [];
test.before(async () => {
  const packed = await pack("tenure");
  for (let i = 0; i < 2; i++) {
    const project = new Project().install("tenure", packed);
    projects.push(project);
    const file = join(project.folder, "node_modules/tenure/dist/index.js");
    const copy = (await import(pathToFileURL(file).href)) as Tenure;
    await copy.init({ device: "null" });
    copies.push(copy);
    const part = (name: string): Promise<unknown> =>
      import(pathToFileURL(join(file, "..", name, "index.js")).href);
    nns.push((await part("nn")) as (typeof nns)[number]);
    optims.push((await part("optim")) as (typeof optims)[number]);
  }
});
test.after(async () => {
  for (const copy of copies) await copy.shutdown();
  for (const project of projects) project[Symbol.dispose]();
});

function both(): readonly [Tenure, Tenure] {
  return pair(copies);
}
function pair<T>([first, second]: readonly T[]): readonly [T, T] {
  if (first === undefined || second === undefined) throw new Error("expected two copies");
  return [first, second];
}

test("they are two: neither's tensors are the other's", () => {
  const [first, second] = both();
  assert.is.not(first.Tensor, second.Tensor);
  using x = second.ones([2]);
  assert.not(x instanceof first.Tensor);
});

test("import and require, as of a library that is published both ways, give one copy", async () => {
  const [project] = pair(projects);
  project.write(
    "both.mjs",
    `import { createRequire } from "node:module";
     import * as imported from "tenure";
     import { Linear } from "tenure/nn";
     const require = createRequire(import.meta.url);
     const same = [imported.Tensor === require("tenure").Tensor,
       Linear === require("tenure/nn").Linear];
     console.log(same.join());`,
  );
  assert.is((await project.run(process.execPath, ["both.mjs"])).trim(), "true,true");
});

test("each refuses the other's tensors with an error that says what to do", () => {
  for (const [mine, other] of [both(), [...both()].reverse() as [Tenure, Tenure]]) {
    using x = mine.ones([2]);
    using y = other.ones([2]);
    for (const use of [() => x.add(y), () => x.matmul(y), () => mine.concat([x, y])])
      assert.throws(
        use,
        (error: unknown) =>
          error instanceof mine.ArgumentError &&
          /expected a tensor of this copy of tenure, got one that another copy made; load/.test(
            error.message,
          ),
      );
    assert.equal([x.isDisposed, y.isDisposed], [false, false]);
  }
});

test("modules, optimizers and state of the other are refused by name, not left out", () => {
  const [{ ArgumentError, grad, newDisposeScope, ones, tensor }, second] = both();
  const [{ Linear, Module, Sequential }, other] = pair(nns);
  const [{ SGD }] = pair(optims);
  using layer = new other.Linear(2, 2);
  using x = second.ones([2, 2]);
  using y = ones([2, 2]);
  class Holder extends Module {
    readonly inner = [layer as never];
    forward(input: typeof y): typeof y {
      return input;
    }
  }
  using holder = new Holder();
  using own = new Linear(2, 2);

  using _scope = newDisposeScope();
  for (const use of [
    () => new Sequential(layer),
    () => holder.parameters(),
    () => holder.call(y),
    () => {
      using state = layer.stateDict();
      own.loadStateDict(state);
    },
    () => new SGD(layer.parameters() as never, { lr: 1 }),
    () => grad((input: typeof y) => input)(x),
    () => tensor(x as never),
  ])
    assert.throws(
      use,
      (error: unknown) => error instanceof ArgumentError && /another copy/.test(error.message),
      String(use),
    );
});

test("a scope of one owns nothing that the other makes", () => {
  const [first, second] = both();
  using outer = first.newDisposeScope("first");
  using x = second.ones([2]);
  assert.is(second.currentDisposeScope(), null);
  assert.equal([outer.count, outer.contains(x)], [0, false]);
  using inner = second.newDisposeScope("second");
  assert.is(inner.outer, null);
  assert.is(first.currentDisposeScope(), outer);
  first.ones([2]);
  assert.equal([outer.count, inner.count], [1, 0]);
});

test("statistics count the tensors of one copy only", () => {
  const [first, second] = both();
  const before = [first.memory.stats(), second.memory.stats()].map((s) => s.threadTotalLiveCount);
  using x = first.ones([256]);
  const after = [first.memory.stats(), second.memory.stats()].map((s) => s.threadTotalLiveCount);
  assert.equal(
    after.map((n, i) => n - (before[i] ?? 0)),
    [1, 0],
  );
  assert.equal([x.size, second.memory.stats().liveBytes], [256, 0]);
  first.memory.verify();
  second.memory.verify();
});

test("under source maps the line of a tensor is the caller's, not one of the package", () => {
  const [{ memory, ones }] = both();
  memory.track("full");
  using _t = ones([7]);
  const found = memory.live().find(({ example }) => example.includes("[7]"));
  memory.track("sampled");
  assert.match(String(found?.key), /copies\.test\.ts:\d+:\d+$/);
});

test.run();
