/**
 * What the words after `tenure-lint-report` mean, and the sentences for those that mean nothing.
 * Used by `report/cli.ts`; owns nothing.
 */
import { parseArgs } from "node:util";
import { presets } from "../settings.ts";
import type { PresetName } from "./seen-libraries.ts";

/** What `--help` prints. */
export const usage = `usage: tenure-lint-report [options] [files or folders]
Tells which tensors, buffers and sessions leak, by file and function. Changes no source file and
needs no configuration: it looks at every script below this folder that is not ignored by git,
installed, built or minified.
  --preset NAME          ${Object.keys(presets).join(", ")};
                         may be given again (what the code is seen to use)
  --project FILE         only the files of this tsconfig.json
  --eslint               what the project's own ESLint configuration reports, without
                         what its baseline keeps, unless that is written anew
  --tests                look at test files too
  --list                 also print each report with its message
  --json                 print the reports as JSON
  --write-baseline FILE  also write what was found into a baseline file; what it says of
                         files that are not looked at, or cannot be read, stays
  --exit-code            exit with 1 where anything is found, with 2 where a file
                         cannot be read
  --help                 print this
Exits with 0 whatever it finds, and with 2 where it cannot look.
`;

const options = {
  project: { type: "string" },
  preset: { type: "string", multiple: true },
  eslint: { type: "boolean" },
  list: { type: "boolean" },
  tests: { type: "boolean" },
  json: { type: "boolean" },
  "write-baseline": { type: "string" },
  "exit-code": { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** What was asked for. */
export type Command = ReturnType<typeof parse>["values"] & { paths: string[] };

const parse = (words: string[]) => parseArgs({ args: words, allowPositionals: true, options });

/**
 * Reads a command line.
 *
 * @throws Error whose message is one sentence for the user
 */
export function readCommand(words: string[]): Command {
  const { values, positionals } = parsed(words);
  for (const name of values.preset ?? [])
    if (!Object.hasOwn(presets, name))
      throw wrong(`unknown preset ${name}; known presets: ${Object.keys(presets).join(", ")}`);
  const own = (["preset", "project", "tests"] as const).find((name) => values[name] !== undefined);
  if (values.eslint && own)
    throw wrong(`--eslint does as the ESLint configuration says; leave out --${own}`);
  return { ...values, paths: positionals };
}

/** The presets of a command; `readCommand` has seen to their names. */
export const presetsOf = ({ preset = [] }: Command): PresetName[] => preset as PresetName[];

function parsed(words: string[]): ReturnType<typeof parse> {
  try {
    return parse(words);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [, name = ""] = /'(-[^'\s,]*)/.exec(message) ?? [];
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION")
      throw wrong(`unknown option ${name}${near(name)}`);
    throw wrong(message.split("\n")[0] ?? message);
  }
}

/** An option that begins alike. */
function near(name: string): string {
  const word = name.replace(/^-+/, "");
  const known = Object.keys(options).find((o) => word.length > 1 && o.startsWith(word.slice(0, 3)));
  return known === undefined ? "; see --help" : `; did you mean --${known}? See --help`;
}

const wrong = (what: string): Error => new Error(`tenure-lint-report: ${what}`);
