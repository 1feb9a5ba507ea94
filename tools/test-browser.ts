/**
 * `npm run test:browser -- [part of a path …]`: the library's GPU tests in a headless Chromium from
 * npm, each file in a page of its own. Files that need Node are left out and named, and so are the
 * tests that differ there. Ends by printing `N passed, N failed`.
 */
import { launchChromium, servePages, type PageRoute } from "tenure-software-gpu/chromium";
import type { Page } from "playwright-core";
import { asyncContext, bundleForPage } from "./browser/bundle.ts";
import { FOLDER, leftOut } from "./browser/left-out.ts";
import { REPOSITORY, filesBelow } from "./files.ts";

/** What uvu gives for a suite: its errors or true, and how many tests passed, were skipped, are. */
type Result = readonly [errors: string | true, passed: number, skipped: number, total: number];

/** Tests that fail in a page as they must, and why. */
const differences = new Map([
  ["the first op with NaN or infinity is named, with its line", "lines are those of the bundle"],
  ["modes refuse asynchronous functions", "async functions were lowered for the test"],
  [
    "headers of a million entries do not hold up the thread",
    "there is no setImmediate to watch it",
  ],
  ["TENURE_DEBUG=plan prints it", "there is no environment"],
  ["TENURE_DEBUG=wgsl prints it", "there is no environment"],
  ["TENURE_DEBUG=cache prints it", "there is no environment"],
  ["TENURE_DEBUG=passes prints it", "there is no environment"],
  ["TENURE_DEBUG=ops prints ops as they are recorded", "there is no environment"],
  ["options of saveCheckpoint", "there are no files"],
  ["the text of a chain, a tree, a reduction, a product and a convolution", "there are no files"],
]);

/** Milliseconds that a file may take: a software adapter on a busy machine compiles slowly. */
const patience = 1_200_000;

const wanted = process.argv.slice(2);
const paths = filesBelow(REPOSITORY, FOLDER, /\.test\.ts$/).filter(
  (path) => wanted.length === 0 || wanted.some((part) => path.includes(part)),
);
const shell = `<!doctype html><title>tests</title><script>
  globalThis.UVU_DEFER = 1; globalThis.UVU_QUEUE = [[]];
  { ${asyncContext} }
</script><script type="module" src="/test.js"></script>`;

let passed = 0,
  failed = 0,
  differed = 0;
const routes: Record<string, PageRoute> = { "/": { type: "text/html", body: Buffer.from(shell) } };
await using chromium = await launchChromium();
const pages = await servePages(routes);
for (const path of paths) {
  const reason = leftOut.get(path.slice(FOLDER.length + 1));
  if (reason !== undefined) {
    console.log(`- ${path}: left out, ${reason}`);
    continue;
  }
  routes["/test.js"] = { type: "text/javascript", body: Buffer.from(await bundleForPage(path)) };
  const page = await chromium.browser.newPage();
  const [good, bad, told] = await outcome(page);
  await page.close();
  passed += good;
  failed += bad;
  console.log(`${bad === 0 ? "✓" : "✗"} ${path}: ${good} passed, ${bad} failed`);
  for (const text of told) console.log(text.replace(/^/gm, "    "));
}
await pages.close();
console.log(`${differed} tests differ in a page`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

/** What uvu says of a suite's failed tests, one text for each, without colours. */
function failures(told: string): string[] {
  const plain = told.replace(/\x1b\[\d+m/g, "");
  return plain.split(/^(?= *FAIL )/m).filter((text) => text.trim() !== "");
}

/** Whether a failed test is one that has to fail in a page. */
function isDifference(told: string): boolean {
  const name = /^ *FAIL .*? "(.*)"$/m.exec(told)?.[1] ?? "";
  const absent = /^ *(process|setImmediate|SharedArrayBuffer) is not defined/m.exec(told)?.[1];
  const reason = differences.get(name) ?? (absent && `there is no ${absent}`);
  if (reason === undefined) return false;
  console.log(`- "${name}" differs: ${reason}`);
  return true;
}

/** Runs what a page loads: passed, failed, and what there is to say. */
async function outcome(page: Page): Promise<[passed: number, failed: number, told: string[]]> {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.stack ?? String(error)));
  await page.goto(`${pages.url}/`);
  try {
    await page.waitForFunction("globalThis.done === true", undefined, { timeout: patience });
  } catch (error) {
    return [0, 1, [...errors, String(error)]];
  }
  const results = await page.evaluate<Result[]>("globalThis.results ?? []");
  const checks = await page.evaluate<string[]>(
    `Promise.all((globalThis.__tenureTestHooks ?? []).map((check) => check()))
      .then((lists) => lists.flat())`,
  );
  const told = results.flatMap(([told]) => (told === true ? [] : failures(told)));
  const unexpected = told.filter((text) => !isDifference(text));
  differed += told.length - unexpected.length;
  const good = results.reduce((sum, [, count]) => sum + count, 0);
  const all = results.reduce((sum, [, , , total]) => sum + total, 0);
  const bad = unexpected.length + checks.length + errors.length + (all === 0 ? 1 : 0);
  return [good, bad, [...unexpected, ...checks, ...errors]];
}
