/**
 * Which compilers take the declarations: each TypeScript, with and without `dom`, by both ways of
 * finding modules, checks a program that imports every entry point with `skipLibCheck: false`.
 * Called by main.ts, which installs compilers from the npm registry into a project that is removed,
 * and by the declarations test with the repository's own compiler.
 */
import { pack, Project } from "./packed.ts";

const versions = ["5.2.2", "5.5.4", "5.9.3", "6.0.3", "7.0.2"];
const modules = { nodenext: "nodenext", bundler: "esnext" } as const;

/** Imports every entry point. */
export const program = `
  import { Tensor, init, memory, tensor } from "tenure";
  import { Linear, Module, functional } from "tenure/nn";
  import { Adam } from "tenure/optim";
  import { DataLoader } from "tenure/data";
  import { Scheduler, plan } from "tenure/scheduler";
  import { assertClose } from "tenure/testing";
  export const all = { init, memory, functional, DataLoader, Scheduler, plan, assertClose };
  export class Twice extends Module<[x: Tensor]> {
    readonly layer = this.registerModule("layer", new Linear(2, 2));
    forward(x: Tensor): Tensor {
      return this.layer.call(this.layer.call(x));
    }
  }
  export async function step(model: Twice): Promise<number> {
    const loss: Tensor = functional.mseLoss(model.call(tensor([[1, 2]])), tensor([[1, 2]]));
    new Adam(model.parameters(), { lr: 0.1 }).zeroGrad();
    return loss.item();
  }
`;

/** Compiles with every compiler. @returns a table, and what was wrong */
export async function runCompilers(): Promise<{ table: string; wrong: string[] }> {
  using project = new Project();
  project.install("tenure", await pack("tenure"));
  project.write("program.ts", program);
  const names = versions.map((version) => `ts-${version}@npm:typescript@${version}`);
  await project.run("npm", ["install", "--no-audit", "--no-fund", "--no-save", ...names]);
  project.install("tenure", await pack("tenure")); // npm removes what no manifest names
  const lines = ["| TypeScript | module resolution | lib | errors |", "| --- | --- | --- | --- |"];
  const wrong: string[] = [];
  for (const version of versions)
    for (const [resolution, module] of Object.entries(modules))
      for (const dom of [true, false]) {
        const compiler = `node_modules/ts-${version}/bin/tsc`;
        const errors = await compile(project, compiler, { resolution, module, dom });
        const lib = dom ? "es2022, esnext.disposable, dom" : "es2022, esnext.disposable";
        lines.push(`| ${version} | ${resolution} | ${lib} | ${errors.length} |`);
        wrong.push(...errors.map((e) => `${version}, ${resolution}, ${lib}: ${e}`));
      }
  return { table: lines.join("\n"), wrong };
}

/** How a program is compiled. */
export interface Setting {
  /** `moduleResolution` and the `module` that goes with it. */
  readonly resolution: string;
  readonly module: string;
  /** Whether the library `dom`, which declares WebGPU from TypeScript 6.0 on, is there. */
  readonly dom: boolean;
}

/**
 * What a compiler has against the project's `program.ts` or the declarations that it uses.
 * @param compiler path of `tsc`
 */
export async function compile(
  project: Project,
  compiler: string,
  setting: Setting,
): Promise<string[]> {
  const { resolution: moduleResolution, module, dom } = setting;
  const options = {
    target: "es2022",
    lib: ["es2022", "esnext.disposable", ...(dom ? ["dom"] : [])],
    module,
    moduleResolution,
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    types: [],
  };
  project.write(
    "tsconfig.json",
    JSON.stringify({ compilerOptions: options, files: ["program.ts"] }),
  );
  try {
    await project.run(process.execPath, [compiler, "-p", "."]);
    return [];
  } catch (error) {
    const lines = String(error).split(/\n|tsc -p \.: /);
    const errors = lines.filter((line) => line.includes("error TS"));
    return errors.length > 0 ? errors : [String(error)];
  }
}
