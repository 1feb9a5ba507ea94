/**
 * How long an editor waits: the real ESLint language server has a file of 1,500 lines open, a leak
 * is typed or taken back, and the reports are asked for. Two files: a program of Tenure's, made of
 * the valid programs of the tests, and one of the corpus. Used by `main.ts` (`--keystroke`). Owns
 * the server's process and the folder it works in.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { declarations, layDeclarations } from "../test/declarations.ts";
import { LanguageServer, rangeOf } from "../test/language-server.ts";
import { corpusDir, root, tfjsTypes, writeProject } from "./corpus.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const edits = 40;
const warmUps = 15;

/** A file to type in. */
interface Subject {
  name: string;
  preset: string;
  file: string;
  /** What stands at the place, and the leak typed before it. */
  before: string;
  leak: string;
  text: string;
  /** Where the declarations of `@tensorflow/tfjs` are, for files that need them. */
  modules?: string;
  /** Puts the project's other files into a folder. */
  lay(folder: string): void;
}

/** Both files, or why there is only one. */
export async function keystrokes(): Promise<string> {
  const rows: string[] = [];
  for (const subject of [longProgram(), corpusFile()])
    rows.push(typeof subject === "string" ? `| ${subject} | | | | |` : await typed(subject));
  return (
    `## From keystroke to reports\n\nThe ESLint language server, warm, ${String(edits)} edits, ` +
    "from the change sent to the reports received: median and quartiles, beside the server's " +
    "processor time for an edit with the rules of `recommended` and with none (target 200 ms on " +
    "a quiet machine).\n\n| file | waited | processor | without rules | load |\n" +
    `| --- | --: | --: | --: | --: |\n${rows.join("\n")}`
  );
}

/** The valid programs, each in a namespace, again and again for 1,500 lines. */
function longProgram(): Subject {
  const bodies = ["loops", "metrics", "state"].map((name) =>
    readFileSync(at(`../test/fixtures/valid/${name}.ts`), "utf8").replace(/^import .*$/gm, ""),
  );
  let text =
    'import { concat, newDisposeScope, scoped, tensor, zeros, type Tensor } from "tenure";\n';
  for (let i = 0; text.split("\n").length < 1500; i++)
    text += `export namespace Part${String(i)} {\n${bodies[i % bodies.length] ?? ""}}\n`;
  return {
    ...{ name: "valid programs of Tenure", preset: "tenure", file: "long.ts", text },
    ...{ before: "using mean = x.mean", leak: "x.neg();\n  " },
    lay: layDeclarations,
  };
}

/** The longest file of speech-commands, where the corpus has it. */
function corpusFile(): Subject | string {
  const sources = join(corpusDir, "heads/tensorflow+tfjs-models/speech-commands/src");
  const file = "browser_fft_recognizer.ts";
  const types = tfjsTypes("4.22.0");
  if ("missing" in types) return types.missing;
  if (!existsSync(join(sources, file))) return `skipped: no ${file}; run --time first`;
  return {
    ...{ name: "speech-commands of tfjs-models", preset: "tfjs", file },
    ...{ before: "tf.tidy(() => {\n      const x", leak: "tf.ones([1]);\n    " },
    ...{ text: readFileSync(join(sources, file), "utf8"), modules: types.modules },
    lay: (folder) => {
      cpSync(sources, folder, { recursive: true });
    },
  };
}

// ---- a session ----

const config = (preset: string, isOn: boolean): string =>
  'import tenure from "eslint-plugin-tenure";\nexport default [{ ...tenure.configs.recommended, ' +
  "languageOptions: { parser: tenure.parser, parserOptions: { projectService: true, " +
  `tsconfigRootDir: import.meta.dirname } }, settings: { tenure: { presets: ["${preset}"] } }, ` +
  `${isOn ? "" : "rules: {}, "}linterOptions: { reportUnusedDisableDirectives: "off" } }];\n`;

/** A folder with the subject as a project, which ESLint and the plugin can be loaded from. */
function laidOut(subject: Subject, isOn: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), "tenure-keystroke-"));
  subject.lay(folder);
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  const ours = join(root, "node_modules");
  for (const name of readdirSync(ours))
    if (name !== "@tensorflow")
      symlinkSync(name === "tenure" ? declarations : join(ours, name), join(modules, name));
  const tfjs = join(subject.modules ?? ours, "@tensorflow");
  symlinkSync(tfjs, join(modules, "@tensorflow"));
  const written = writeProject(folder, subject.modules ?? ours, ["*.ts"]);
  cpSync(written, join(folder, "tsconfig.json"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "eslint.config.js"), config(subject.preset, isOn));
  writeFileSync(join(folder, subject.file), subject.text);
  return folder;
}

interface Waits {
  waited: number[];
  processor: number[];
}

/** Milliseconds from each edit to its reports. */
async function session(subject: Subject, isOn: boolean): Promise<Waits> {
  const folder = laidOut(subject, isOn);
  const nodeArguments = ["--import", import.meta.resolve("tsx"), "--conditions=tenure:source"];
  const server = new LanguageServer(folder, join(folder, subject.file), nodeArguments);
  const found: Waits = { waited: [], processor: [] };
  try {
    await server.open(subject.text);
    const known = (await server.diagnostics()).length;
    for (let i = 0; i < warmUps + edits; i++) {
      const isLeak = i % 2 === 0;
      const place = rangeOf(server.text, isLeak ? subject.before : subject.leak);
      const started = performance.now(),
        spent = server.processorTime();
      server.type(
        isLeak ? { start: place.start, end: place.start } : place,
        isLeak ? subject.leak : "",
      );
      const reports = (await server.diagnostics()).length - known;
      if (isOn && reports !== (isLeak ? 1 : 0))
        throw new Error(`keystroke: expected the typed leak alone, got ${String(reports)} reports`);
      if (i < warmUps) continue;
      found.waited.push(performance.now() - started);
      found.processor.push(server.processorTime() - spent);
    }
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return found;
}

const quantile = (list: readonly number[], part: number): number =>
  [...list].sort((a, b) => a - b)[Math.floor(list.length * part)] ?? 0;

async function typed(subject: Subject): Promise<string> {
  const load = loadavg()[0] ?? 0;
  const ours = await session(subject, true);
  const bare = await session(subject, false);
  const ms = (list: readonly number[], part = 0.5): string =>
    Math.round(quantile(list, part)).toString();
  const waited = `${ms(ours.waited)} ms (${ms(ours.waited, 0.25)}–${ms(ours.waited, 0.75)})`;
  return (
    `| ${subject.name}, ${String(subject.text.split("\n").length)} lines | ${waited} | ` +
    `${ms(ours.processor)} ms | ${ms(bare.processor)} ms | ${load.toFixed(1)} |`
  );
}
