/**
 * Tables of promises: what a rejected promise holds, which is nothing, what a promise gives that
 * may not be there, and what is left when all have settled. Each is a program of which the marked
 * lines are reported; beside it one that loses what a promise gives.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("promised values");
const finds = marked(test);

/** A class with a table of promises, and what it does with one that it makes, or at its end. */
const cache = (load: string, members = ""): string => `
async function make(device: GPUDevice, url: string): Promise<GPUTexture> {
  await fetch(url);
  return device.createTexture({});
}
export class Cache {
  private readonly all = new Map<string, Promise<GPUTexture>>();
  constructor(private readonly device: GPUDevice) {}
  load(url: string, other: string, show: (t: GPUTexture) => void): Promise<GPUTexture> {
    let p = this.all.get(url);
    if (!p) {
      ${load}
    }
    console.log(other, show);
    return p;
  }
  ${members}
  dispose(): void {
    for (const p of this.all.values()) void p.then((t) => t.destroy(), () => {});
  }
}
`;
const puts = "p = make(this.device, url);\n      this.all.set(url, p);\n      ";
const rejected: Record<string, string> = {
  "forgotten in `catch`": `${puts}p.catch(() => this.all.delete(url));`,
  "forgotten in `then`": `${puts}p.then(show, () => { this.all.delete(url); });`,
  "forgotten where it is made":
    "p = make(this.device, url).catch((e: Error) => { this.all.delete(url); throw e; });\n" +
    "this.all.set(url, p);",
  "asked of the table": `${puts}this.all.get(url)?.catch(() => this.all.delete(url));`,
};
for (const [name, load] of Object.entries(rejected))
  finds(`a rejected one, ${name}`, cache(load), "webgpu");

const others: Record<string, string> = {
  "one that is there": "void p.then(() => this.all.delete(url)); // !",
  "one either way": "void p.finally(() => this.all.delete(url)); // !",
  "one under another key": "p.catch(() => this.all.delete(other)); // !",
  "all of them": "p.catch(() => this.all.clear()); // !",
  "one whose use may fail": "p.then(show).catch(() => this.all.delete(url)); // !",
  "one for another promise": "fetch(url).catch(() => this.all.delete(url)); // !",
};
for (const [name, forgets] of Object.entries(others))
  finds(`${name}, forgotten`, cache(puts + forgets), "webgpu");

const takes = (end: string, mark = "", lost = ""): string =>
  cache(
    puts,
    `async evict(url: string, now: boolean): Promise<void> {
    const p = this.all.get(url);${mark}
    this.all.delete(url);${lost}
    ${end}
    console.log(now);
  }`,
  );
finds("one that may not be there, ended", takes("(await p)?.destroy();"), "webgpu");
finds("in a test", takes("if (await p) (await p)!.destroy();"), "webgpu");
finds("one ended on one way", takes("if (now) (await p)?.destroy();", " // !"), "webgpu");
finds("one looked at", takes("console.log((await p)?.width);", "", " // !"), "webgpu");

const settles = (rest: string, mark = ""): string =>
  cache(
    puts,
    `async clear(): Promise<void> {
    const all = [...this.all.values()];
    this.all.clear();${mark}
    ${rest}
  }`,
  );
const results = "await Promise.allSettled(all)";
const ends = "if (r.status === 'fulfilled') r.value.destroy();";
const shows = "if (r.status === 'fulfilled') console.log(r.value.width);";
const ways: Record<string, (use: string) => string> = {
  "in a loop": (use) => `for (const r of ${results}) ${use}`,
  "by a name": (use) => `const done = ${results};\nfor (const r of done) ${use}`,
  "in a callback": (use) => `(${results}).forEach((r) => { ${use} });`,
  "where they come": (use) =>
    `await Promise.allSettled(all).then((done) => { for (const r of done) ${use} });`,
  filtered: (use) => `(${results}).filter((r) => r.status).forEach((r) => { ${use} });`,
};
for (const [name, way] of Object.entries(ways)) {
  finds(`settled ones, ended ${name}`, settles(way(ends)), "webgpu");
  finds(`settled ones, looked at ${name}`, settles(way(shows), " // !"), "webgpu");
}
finds("settled ones that nobody asks for", settles(`${results};`, " // !"), "webgpu");
finds(
  "values taken from settled ones",
  settles(
    `for (const r of ${results}) {\nif (r.status !== 'fulfilled') continue;\n` +
      "const { value } = r;\nvalue.destroy();\n}",
  ),
  "webgpu",
);

test.run();
