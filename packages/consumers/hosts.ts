/**
 * Where the packed packages run: one project, installed from the npm registry, in which each host
 * trains a small model on `device: "software"` and on `auto`. Called by main.ts. What a host says
 * of its device must be true: only SwiftShader is called packaged, and the loss must fall. A host
 * that has no such device must refuse with `DeviceLostError`.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pack, Project } from "./packed.ts";

/** The training, as a user of the package writes it, and how it is started everywhere. */
export const files = {
  "train.mjs": `
    import { writeFileSync } from "node:fs";
    import { deviceInfo, init, manualSeed, randn, shutdown } from "tenure";
    import { Linear, Sequential, Tanh, functional } from "tenure/nn";
    import { Adam } from "tenure/optim";
    export async function main() {
      let told;
      try {
        told = await train(process.env.HOST_DEVICE);
      } catch (error) {
        told = { error: error.name, message: error.message };
      }
      writeFileSync(process.env.HOST_RESULT, JSON.stringify(told));
      return told;
    }
    async function train(device) {
      await init({ device });
      manualSeed(1);
      const x = randn([64, 2]);
      const y = x.sum(1, true);
      const model = new Sequential(new Linear(2, 16), new Tanh(), new Linear(16, 1));
      const optimizer = new Adam(model.parameters(), { lr: 0.05 });
      let first, last;
      for (let step = 0; step < 40; step++) {
        const loss = functional.mseLoss(model.call(x), y);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        last = await loss.item();
        first ??= last;
      }
      const { kind, name, source } = deviceInfo();
      await shutdown();
      return { kind, name, source, first, last };
    }`,
  "run.mjs": `import { main } from "./train.mjs"; await main();`,
  "run.cjs": `require("./train.mjs").main();`,
  "worker.mjs": `import { Worker } from "node:worker_threads"; new Worker("./run.mjs");`,
  "shared.mjs": `import { SHARE_ENV, Worker } from "node:worker_threads";
    new Worker("./run.mjs", { env: SHARE_ENV });`,
  "train.test.mjs": `import { main } from "./train.mjs";
    test("trains", async () => { await main(); }, 120000);`,
  "jest.config.json": `{ "transform": {}, "testMatch": ["**/*.test.mjs"] }`,
  "jest-clock.test.mjs": `import { jest } from "@jest/globals";
    import { main } from "./train.mjs";
    test("trains", async () => { jest.useFakeTimers(); await main(); }, 120000);`,
  "typed.jest.ts": `import { type DeviceInfo } from "tenure";
    import { main } from "./train.mjs";
    test("trains", async () => { const info: DeviceInfo | undefined = await main(); }, 120000);`,
  "train.d.mts": `export function main(): Promise<any>;`,
  "tsconfig.json": `{ "compilerOptions": { "module": "nodenext", "target": "es2022",
    "strict": true, "isolatedModules": true, "types": ["jest"] } }`,
  "ts-jest.config.json": `{ "extensionsToTreatAsEsm": [".ts"], "testMatch": ["**/*.jest.ts"],
    "transform": { "\\\\.ts$": ["ts-jest", { "useESM": true }] } }`,
  "equal.setup.mjs": `import { Tensor } from "tenure";
    expect.addEqualityTesters([
      (a, b) => (a instanceof Tensor && b instanceof Tensor ? a === b : undefined),
    ]);`,
  "equal.test.mjs": `import { memory, ones } from "tenure";
    import "./equal.setup.mjs";
    import { main } from "./train.mjs";
    const mock = import.meta.jest?.fn ?? globalThis.vi?.fn;
    test("tensors are equal to themselves, and trains", async () => {
      const x = ones([20, 30]), y = ones([20, 30]), called = mock();
      const before = memory.stats().threadTotalLiveCount;
      called(x, { deep: [x] });
      expect(called).toHaveBeenCalledWith(x, { deep: [x] });
      expect(called).not.toHaveBeenCalledWith(y, { deep: [x] });
      expect({ x }).not.toEqual({ x: y });
      expect({ x, z: 1 }).toMatchObject({ x });
      expect({ x, z: 1 }).not.toMatchObject({ x: y });
      expect(() => expect(x).toBe(y)).toThrow();
      expect(memory.stats().threadTotalLiveCount).toBe(before);
      x.dispose();
      y.dispose();
      await main();
    }, 120000);`,
  "vitest-clock.test.mjs": `import { main } from "./train.mjs";
    test("trains", async () => { vi.useFakeTimers(); await main(); }, 120000);`,
};

const node = (version: number): string => `node_modules/node${version}/bin/node`;
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--globals"];
const jest = ["--experimental-vm-modules", "node_modules/jest/bin/jest.js"];
/** Commands by what they show. */
const hosts: Readonly<Record<string, readonly [string, ...string[]]>> = {
  "Node 20, import": [process.execPath, "run.mjs"],
  "Node 20, require": [process.execPath, "run.cjs"],
  "Node 22, import": [node(22), "run.mjs"],
  "Node 22, require": [node(22), "run.cjs"],
  "Node 24, import": [node(24), "run.mjs"],
  "Node 24, require": [node(24), "run.cjs"],
  "Node 20, worker thread": [process.execPath, "worker.mjs"],
  "Node 20, worker thread with SHARE_ENV": [process.execPath, "shared.mjs"],
  "Jest 30, ES modules": [process.execPath, ...jest, "/train.test"],
  "Jest 30, fake timers": [process.execPath, ...jest, "/jest-clock"],
  "Jest 30, tensors compared": [process.execPath, ...jest, "/equal.test"],
  "ts-jest 29, ES modules": [process.execPath, ...jest, "--config=ts-jest.config.json"],
  "Vitest 3, tensors compared": [process.execPath, ...vitest, "equal.test"],
  "Vitest 3, forks": [process.execPath, ...vitest, "--pool=forks", "train.test"],
  "Vitest 3, threads": [process.execPath, ...vitest, "--pool=threads", "train.test"],
  "Vitest 3, fake timers": [process.execPath, ...vitest, "vitest-clock"],
  "Deno 2.9": ["node_modules/.bin/deno", "run", "-A", "run.mjs"],
  "Bun 1.4": ["node_modules/.bin/bun", "run.mjs"],
};

/** What is installed beside the packages. */
const installed = [
  "webgpu@0.6.2",
  `node22@npm:node-${process.platform}-${process.arch}@22.22.0`,
  `node24@npm:node-${process.platform}-${process.arch}@24.14.0`,
  "deno@2.9.6",
  "bun@1.4.5",
  "jest@30.5.2",
  "ts-jest@29.4.15",
  "typescript@5.9.3",
  "@types/jest@30.0.0",
  "vitest@3.2.4",
];

/** What a host told. */
export interface Told {
  readonly kind?: string;
  readonly name?: string;
  readonly source?: string;
  readonly first?: number;
  readonly last?: number;
  readonly error?: string;
  readonly message?: string;
}

/** Runs every host. @returns a table, and what was wrong */
export async function runHosts(): Promise<{ table: string; wrong: string[] }> {
  using project = new Project();
  const tarballs = [await pack("tenure"), await pack("tenure-software-gpu")].map((p) => p.tarball);
  await project.run("npm", ["install", "--no-audit", "--no-fund", ...tarballs, ...installed]);
  for (const [path, text] of Object.entries(files)) project.write(path, text);
  const lines = ["| host | asked for | got | loss |", "| --- | --- | --- | --- |"];
  const wrong: string[] = [];
  for (const [host, command] of Object.entries(hosts))
    for (const device of ["software", "auto"]) {
      const told = await tell(project, command, device);
      const fault = faultOf(told);
      if (fault !== undefined) wrong.push(`${host}, ${device}: ${fault}`);
      lines.push(`| ${host} | ${device} | ${got(told)} | ${losses(told)} |`);
      console.error(lines.at(-1));
    }
  return { table: lines.join("\n"), wrong };
}

/** Trains in a project with {@link files} in it. @returns what the host told */
export async function tell(
  project: Project,
  [command, ...args]: readonly [string, ...string[]],
  device: string,
): Promise<Told> {
  const result = join(project.folder, "result.json");
  rmSync(result, { force: true });
  try {
    const program = command.startsWith("node_modules") ? join(project.folder, command) : command;
    await project.run(program, args, { HOST_DEVICE: device, HOST_RESULT: result });
  } catch (error) {
    if (!existsSync(result)) return { error: "Error", message: String(error) };
  }
  if (!existsSync(result)) return { error: "Error", message: "it ended without a result" };
  return JSON.parse(readFileSync(result, "utf8")) as Told;
}

const got = ({ error, message, kind, name, source }: Told): string =>
  error === undefined
    ? `${kind}: ${name}, ${source}`
    : `${error}: ${(message ?? "").split(/\n|; /)[0]}`.replaceAll("|", "\\|");

const losses = ({ first, last }: Told): string =>
  first === undefined || last === undefined ? "" : `${first.toFixed(3)} → ${last.toFixed(3)}`;

/** What is not as it should be; undefined when all is. */
export function faultOf(told: Told): string | undefined {
  const { error, message, kind, name = "", source, first = 0, last = Infinity } = told;
  if (error === "DeviceLostError") return undefined;
  if (error !== undefined) return `${error}: ${message}`;
  if (!(last < first / 10)) return `the loss went from ${first} to ${last}`;
  if ((source === "packaged SwiftShader") !== /swiftshader/i.test(name))
    return `${name} is said to be from ${source}`;
  const software = /swiftshader|llvmpipe/i.test(name);
  return (kind === "software") === software ? undefined : `${name} is said to be ${kind}`;
}
