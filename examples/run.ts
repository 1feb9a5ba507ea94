/**
 * One run of an example, from its command line to its exit code. Ctrl-C between two steps writes a
 * checkpoint and says how to go on from it; `--resume` does. Files are tried before the first step.
 * Called by each `main.ts`. Borrows the model and its company; owns nothing.
 */
import { ArgumentError, init } from "tenure";
import {
  type CheckpointParts,
  type LoaderState,
  saveCheckpoint,
  unpackCheckpoint,
} from "tenure/data";
import {
  type Command,
  type OptionTable,
  type Values,
  checkpointName,
  readArguments,
  readValues,
  sharedOptions,
  usage,
} from "./command.ts";
import { Means } from "./progress.ts";
import { checkWritable, freeName, readInput } from "./files.ts";

type Texts = Readonly<Record<string, string | undefined>>;
/** What an example loads into, and saves from. */
type Parts = Required<Pick<CheckpointParts, "model" | "optimizer" | "loader">> &
  Pick<CheckpointParts, "schedule">;

/** npm passes on a Ctrl-C that the terminal has sent already: milliseconds in which two are one. */
const sameKey = 1000;

/** The epoch that comes next, from 1, and how many of its steps are done. */
export function standing(loader: { stateDict(): LoaderState }): { epoch: number; step: number } {
  const { epoch, position = 0 } = loader.stateDict();
  return position > 0 ? { epoch, step: position } : { epoch: epoch + 1, step: 0 };
}

/** A run under way. */
export class Run {
  readonly #command: Command;
  readonly #texts: Texts;
  readonly #inputs: ReadonlyMap<string, Uint8Array>;
  /** When Ctrl-C was pressed. */
  #pressed: number | undefined;
  /** What the progress line shows of an epoch so far. Saved by Ctrl-C, restored by `begin`. */
  readonly means = new Means();
  /** Whether it ended by Ctrl-C. */
  stopped = false;
  readonly #listen = (): void => {
    this.#pressed ??= performance.now();
    if (performance.now() - this.#pressed > sameKey) process.exit(130);
  };

  constructor(command: Command, texts: Texts, inputs: ReadonlyMap<string, Uint8Array>) {
    this.#command = command;
    this.#texts = texts;
    this.#inputs = inputs;
  }

  /** The bytes of the file that an option names. */
  input(option: string): Uint8Array | undefined {
    return this.#inputs.get(option);
  }

  /** Puts `parts` where the run stood that is resumed, if one is. From here Ctrl-C is heard. */
  begin(parts: Parts): void {
    const { resume } = this.#texts,
      start = this.input("resume");
    if (start !== undefined) {
      const { extra } = unpackCheckpoint(start, parts, resume),
        { means } = (extra ?? {}) as { means?: Record<string, number> };
      this.means.restart(means);
    }
    process.on("SIGINT", this.#listen);
  }

  /**
   * To be asked after each step: true when Ctrl-C was pressed, and all is saved. What cannot be
   * saved goes on training.
   */
  async paused(parts: Parts): Promise<boolean> {
    if (this.#pressed === undefined) return false;
    const { script, name } = this.#command,
      { resume, device, save } = this.#texts;
    const file = this.#texts["checkpoint"] ?? resume ?? freeName(checkpointName(name)),
      { epoch, step } = standing(parts.loader as { stateDict(): LoaderState }),
      extra = {
        example: name,
        settings: settings(this.#command, this.#texts),
        means: this.means.state(),
      };
    if (process.stdout.isTTY) process.stdout.write("\n");
    try {
      await saveCheckpoint(file, parts, { extra });
    } catch (error) {
      process.off("SIGINT", this.#listen);
      this.#pressed = undefined;
      console.error(`${(error as Error).message}: not saved, and going on; Ctrl-C again stops`);
      return false;
    }
    const again = Object.entries({ resume: file, device, save }).flatMap(([option, text]) =>
      text === undefined ? [] : [`--${option} ${/^[\w./@:+-]+$/.test(text) ? text : quote(text)}`],
    );
    console.log(
      `stopped in epoch ${epoch}, ${step} steps done; to go on: ${script} -- ${again.join(" ")}`,
    );
    this.end();
    this.stopped = true;
    return true;
  }

  /** Training is done: Ctrl-C ends the program again. Writes the weights, if `--save` says so. */
  async finish(model: Parts["model"]): Promise<void> {
    this.end();
    const { save } = this.#texts;
    if (save === undefined) return;
    await saveCheckpoint(save, { model });
    console.log(`weights written to ${save}`);
  }

  /** Hears no Ctrl-C any more. */
  end(): void {
    process.off("SIGINT", this.#listen);
  }
}

function quote(text: string): string {
  return process.platform === "win32" ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Every option that decides what is computed. Files and the device do not. */
function settings({ options }: Command, texts: Texts): Record<string, string> {
  return Object.fromEntries(
    Object.entries(readValues(texts, options)).flatMap(([name, value]) =>
      options[name]?.kind === "input" ? [] : [[name, String(value)]],
    ),
  );
}

/** The settings of the run that wrote `bytes`, with what `texts` may add. @throws ArgumentError */
export function resumedTexts(
  command: Command,
  texts: Texts,
  file: string,
  bytes: Uint8Array,
): Texts {
  const { extra } = unpackCheckpoint(bytes, { random: false }, file);
  const { example, settings: saved } = (extra ?? {}) as { example?: unknown; settings?: unknown };
  if (example !== command.name || typeof saved !== "object" || saved === null)
    throw new ArgumentError(
      "--resume",
      `what Ctrl-C wrote in ${command.name}`,
      typeof example === "string" ? `${file} of ${example}` : `${file}, which it did not write`,
      "name another file",
    );
  const known = Object.entries(saved).filter(([name]) => name in command.options),
    merged: Record<string, string | undefined> = Object.fromEntries(
      known.map(([name, value]) => [name, String(value)]),
    );
  for (const [name, text] of Object.entries(texts)) {
    const before = merged[name];
    if (name in command.options && before !== text && Number(before) !== Number(text))
      throw new ArgumentError(
        `--${name}`,
        before === undefined ? "none beside --resume" : `${before}, as in ${file}`,
        `${text}`,
        "leave it out",
      );
    merged[name] ??= text;
  }
  return merged;
}

/**
 * Runs an example: its command line, the device, `work`, and what goes wrong in one line. `work`
 * resolves to false when something leaked. Exit codes: 0, 1 for errors and leaks, 130 after Ctrl-C.
 */
export async function runExample<T extends OptionTable>(
  command: Command<T>,
  work: (options: Values<T>, run: Run) => Promise<boolean>,
): Promise<void> {
  // A reader that has gone, as `head` does, ends the run as it ends any program.
  process.stdout.on("error", ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === "EPIPE" ? 0 : 1),
  );
  try {
    let texts: Texts = readArguments(process.argv.slice(2), {
      ...command.options,
      ...sharedOptions,
    });
    if (texts["help"] !== undefined) {
      console.log(usage(command));
      return;
    }
    const { device, resume } = readValues(texts, sharedOptions),
      inputs = new Map<string, Uint8Array>();
    for (const [option, { kind }] of Object.entries({ ...sharedOptions, ...command.options })) {
      const file = texts[option];
      if (file === undefined) continue;
      if (kind === "input") inputs.set(option, await readInput(option, file));
      if (kind === "output") await checkWritable(option, file);
    }
    const start = inputs.get("resume");
    if (resume !== undefined && start !== undefined)
      texts = resumedTexts(command, texts, resume, start);
    const options = readValues(texts, command.options);
    await init(device === undefined ? {} : { device });
    const run = new Run(command, texts, inputs),
      fine = await work(options, run);
    if (run.stopped) process.exitCode = 130;
    else if (!fine) process.exitCode = 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
