/**
 * The same sources in a browser: bundled untouched (native `using`), a network trains in headless
 * Chromium on `navigator.gpu`, and nothing leaks.
 */
import { build } from "esbuild";
import { launchChromium, servePages } from "tenure-software-gpu/chromium";
import { suite } from "uvu";
import * as assert from "uvu/assert";

const program = `
import { init, manualSeed, memory, newDisposeScope, tensor } from "tenure";
import { CrossEntropyLoss, Linear, ReLU, Sequential } from "tenure/nn";
import { SGD } from "tenure/optim";

window.run = async () => {
  const info = await init();
  manualSeed(1);
  const losses = [];
  {
    using model = new Sequential(new Linear(2, 16), new ReLU(), new Linear(16, 2));
    using optimizer = new SGD(model.parameters(), { lr: 0.5, momentum: 0.9 });
    using criterion = new CrossEntropyLoss();
    using x = tensor([[0, 0], [0, 1], [1, 0], [1, 1]]);
    using y = tensor([0, 1, 1, 0], { dtype: "int32" });
    for (let step = 0; step < 60; step++) {
      let read;
      {
        using scope = newDisposeScope();
        optimizer.zeroGrad();
        const loss = criterion.call(model.call(x), y);
        loss.backward();
        optimizer.step();
        read = loss.item();
      }
      losses.push(await read);
    }
  }
  const { threadTotalLiveCount, finalized } = memory.stats();
  const { planHits, planMisses } = memory.debug();
  const { kind, source } = info;
  return { kind, source, losses, threadTotalLiveCount, finalized, planHits, planMisses };
};`;

const test = suite("in a browser");

test("xor is learnt on navigator.gpu, all steps but one hit the plan cache", async () => {
  const bundle = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    target: "esnext",
    platform: "browser",
    conditions: ["tenure:source"],
    external: ["webgpu", "tenure-software-gpu"],
  });
  await using pages = await servePages({
    "/": {
      type: "text/html",
      body: '<!doctype html><script type="module" src="/main.js"></script>',
    },
    "/main.js": { type: "text/javascript", body: bundle.outputFiles[0]!.text },
  });
  await using chromium = await launchChromium();
  const page = await chromium.browser.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(pages.url);
  await page.waitForFunction("window.run !== undefined");
  const result = await page.evaluate<{
    kind: string;
    source: string;
    losses: number[];
    threadTotalLiveCount: number;
    finalized: number;
    planHits: number;
    planMisses: number;
  }>("window.run()");
  assert.equal(problems, []);
  assert.is(result.source, "navigator.gpu");
  assert.ok(result.losses.at(-1)! < 0.05, `loss ${result.losses.at(-1)}`);
  assert.is(result.threadTotalLiveCount, 0);
  assert.is(result.finalized, 0);
  assert.ok(result.planMisses <= 3 && result.planHits >= 57, JSON.stringify(result));
});

test.run();
