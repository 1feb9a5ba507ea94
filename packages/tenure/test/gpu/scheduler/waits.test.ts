/**
 * A step that awaits what waits for the step: once nothing else is left to run, it is told, and
 * goes on. Needs a process of its own, in which nothing else runs.
 */
import { spawn } from "node:child_process";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { setWarnSink } from "tenure";
import { rejects } from "../../helpers.ts";
import { Steps } from "../../../src/runtime/step-turns.ts";

const test = suite("waiting for what waits");

function lines(): Promise<unknown[][]> {
  const file = new URL("waits.ts", import.meta.url).pathname;
  const child = spawn(
    process.execPath,
    ["--import", import.meta.resolve("tsx"), "--conditions=tenure:source", file],
    { stdio: ["ignore", "pipe", "inherit"], timeout: 60_000 },
  );
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      const parse = (line: string): unknown[] => JSON.parse(line) as unknown[];
      if (code === 0) resolve(text.trim().split("\n").map(parse));
      else reject(new Error(`the process ended with ${code} after\n${text}`));
    });
  });
}

test("the step is told, and leaves everything as it was; nobody else is", async () => {
  const theirs = { read: 4, step: 14, sync: 14 };
  const who = { read: "data\\(\\)", step: "another step", sync: "sync\\(\\)" };
  const found = await lines();
  for (const name of ["read", "step", "sync"] as const) {
    const of = (how: string): unknown[] =>
      found.find(([task, way]) => task === name && way === how)?.slice(2) ?? [];
    const [step, task, weight] = of("awaited");
    const told = `step: expected its function .*got a wait for ${who[name]}.*waits for this step`;
    assert.match(String(step), new RegExp(told));
    assert.is(task, step);
    assert.is(weight, 1);
    assert.equal(of("raced"), ["late", theirs[name], 4]);
    assert.equal(of("ignored"), ["late", theirs[name], 4]);
  }
});

test("nobody is told after the step's end", async () => {
  const steps = new Steps();
  const before = process.listenerCount("beforeExit");
  steps.begin();
  const waiting = steps.ended("a test");
  const refused = steps.ended("a second test");
  steps.wait("a third one", () => {
    throw new Error("told");
  });
  assert.is(process.listenerCount("beforeExit"), before + 1);
  steps.end();
  await Promise.all([waiting, refused]);
  assert.is(process.listenerCount("beforeExit"), before);
  await steps.ended("nothing");
});

test("who has waited longest is told first", async () => {
  const steps = new Steps();
  steps.begin();
  const first = steps.ended("one");
  const second = steps.ended("two");
  process.listeners("beforeExit").at(-1)?.(0); // the runner hears the event, too
  await rejects(() => first, Error, /got a wait for one, which waits for this step/);
  steps.end();
  await second;
});

test("whoever waits for 10 s is told that both may wait for ever, where nothing ends", async () => {
  const { setTimeout: real } = globalThis;
  const due: (() => void)[] = [];
  const said: string[] = [];
  const sink = setWarnSink((text) => said.push(text));
  globalThis.setTimeout = ((fn: () => void, ms?: number) => {
    if (ms === 10_000) due.push(fn);
    return real(fn, ms);
  }) as typeof setTimeout;
  try {
    const steps = new Steps();
    steps.begin();
    const waiting = [steps.ended("sync()"), steps.ended("another step")];
    assert.is(due.length, 1, "one timer for all who wait");
    for (const fn of due) fn();
    steps.end();
    await Promise.all(waiting);
  } finally {
    globalThis.setTimeout = real;
    setWarnSink(sink);
  }
  assert.is(said.length, 1);
  assert.match(said[0] ?? "", /^sync\(\) has waited for a step for 10 seconds; .*await it after/);
});

test.run();
