/**
 * The command line of all examples, from one table each: reads it, writes `--help`, and says in one
 * line what is wrong before a device starts. Called by their `main.ts`. Text only.
 */
import { parseArgs } from "node:util";
import { ArgumentError } from "tenure";

/** An option: what it takes, what it is when left out, and what `--help` says. */
export type Option = { readonly help: string } & (
  | { readonly kind: "whole"; readonly least: number; readonly usual: number }
  | { readonly kind: "positive"; readonly usual: number }
  | { readonly kind: "choice"; readonly of: readonly string[]; readonly usual?: string }
  /** A file: read, or written. */
  | { readonly kind: "input" }
  | { readonly kind: "output" }
);
/** Options by name. */
export type OptionTable = Readonly<Record<string, Option>>;

type Value<O extends Option> = O extends { kind: "input" | "output" }
  ? string | undefined
  : O extends { kind: "choice"; of: readonly (infer C)[] }
    ? C | (O extends { usual: string } ? never : undefined)
    : number;
/** What the command line says, by option. */
export type Values<T extends OptionTable> = { readonly [K in keyof T]: Value<T[K]> };

/** What an example is, for its help and its files. */
export interface Command<T extends OptionTable = OptionTable> {
  /** Its folder. */
  readonly name: string;
  /** How it is started: `npm start`. */
  readonly script: string;
  /** What it does, in a sentence. */
  readonly about: string;
  readonly options: T;
}

/** Options that every example has. They say where things are, and decide no number. */
export const sharedOptions = {
  device: { kind: "choice", of: ["auto", "gpu", "software"], help: "where to compute (auto)" },
  save: { kind: "output", help: "write the trained weights as safetensors" },
  checkpoint: { kind: "output", help: "what Ctrl-C writes" },
  resume: { kind: "input", help: "go on from what Ctrl-C wrote, as it was" },
} as const satisfies OptionTable;

/** What `--help` prints. */
export function usage({ name, script, about, options }: Command): string {
  const all: OptionTable = { ...options, ...sharedOptions };
  const rows = Object.entries(all).map(([option, o]) => {
    if (o.kind === "input" || o.kind === "output") return [`--${option} FILE`, o.help];
    const usual = o.usual === undefined ? "" : ` (${o.usual})`;
    if (o.kind === "choice") return [`--${option} ${o.of.join("|")}`, o.help + usual];
    return [`--${option} ${o.kind === "whole" ? "N" : "X"}`, o.help + usual];
  });
  rows.push(["--help", "this text"]);
  const width = Math.max(...rows.map(([left = ""]) => left.length));
  return [
    `${about}\n\n  ${script} -- [options]\n`,
    ...rows.map(([left = "", help = ""]) => `  ${left.padEnd(width)}  ${help}`),
    `\nCtrl-C saves all to ${checkpointName(name)}, or --checkpoint,`,
    "and says how to go on.",
  ].join("\n");
}

/** Where Ctrl-C writes by default. */
export function checkpointName(name: string): string {
  return `${name}.checkpoint.safetensors`;
}

/** Options as text, as the command line gives them. @throws ArgumentError for unknown ones */
export function readArguments(
  args: readonly string[],
  options: OptionTable,
): Readonly<Record<string, string | undefined>> & { readonly help?: string } {
  const known = Object.keys(options);
  try {
    const { values } = parseArgs({
      // `--batch -1` is a value to check, not another option.
      args: args.reduce<string[]>((list, arg) => {
        const last = list.at(-1);
        if (/^-\d/.test(arg) && last !== undefined && known.includes(last.slice(2)))
          list[list.length - 1] = `${last}=${arg}`;
        else list.push(arg);
        return list;
      }, []),
      options: {
        ...Object.fromEntries(known.map((name) => [name, { type: "string" } as const])),
        help: { type: "boolean" },
      },
    });
    const { help, ...texts } = values;
    return {
      ...(texts as Readonly<Record<string, string | undefined>>),
      ...(help === true ? { help: "" } : {}),
    };
  } catch (error) {
    const [said = ""] = (error as Error).message.split(/\. |\n/);
    throw new ArgumentError("options", "what --help lists", lowered(said), "try --help");
  }
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** The values of `texts`, and what was left out. @throws ArgumentError that names the option */
export function readValues<T extends OptionTable>(
  texts: Readonly<Record<string, string | undefined>>,
  options: T,
): Values<T> {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, readValue(name, texts[name], option)]),
  ) as Values<T>;
}

function readValue(name: string, text: string | undefined, option: Option): unknown {
  const refuse = (expected: string, remedy: string): never => {
    throw new ArgumentError(`--${name}`, expected, text === "" ? "nothing" : `${text}`, remedy);
  };
  if (option.kind === "input" || option.kind === "output")
    return text === "" ? refuse("a file", "name one") : text;
  if (text === undefined) return option.usual;
  if (option.kind === "choice")
    return option.of.includes(text) ? text : refuse(option.of.join(" or "), "choose one of them");
  const value = text.trim() === "" ? NaN : Number(text),
    remedy = `leave it out for ${option.usual}`;
  if (option.kind === "positive")
    return value > 0 && value < Infinity ? value : refuse("a positive number", remedy);
  return Number.isSafeInteger(value) && value >= option.least
    ? value
    : refuse(`a whole number of ${option.least} or more`, remedy);
}
