#!/usr/bin/env node
/**
 * `npx tenure-lint-report`: prints what the recommended rules find in a project, by file and by
 * function, and writes a baseline file when asked to. Run from a shell; changes no source file.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { baselineText } from "../baseline.ts";
import { resolveSettings } from "../settings.ts";
import type { TenureSettings } from "../owner.ts";
import { countsOf, reportLeaks, reportText } from "./leak-report.ts";

const usage = `usage: tenure-lint-report [options] [files or folders]
Counts what the recommended rules find, by file and function, and changes no source file.
  --project FILE         the tsconfig.json of the code (tsconfig.json); scripts need none
  --preset NAME          tenure, tfjs, disposable, webgpu or onnxruntime; may be given
                         again (tenure)
  --list                 also print each report with its line
  --tests                look at test files too
  --write-baseline FILE  also write a baseline file, to lie beside the tsconfig.json
Exits with 0 whatever it finds, and with 2 where it cannot look.
`;

/** Runs the command; gives its exit code. */
function main(): number {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      project: { type: "string", default: "tsconfig.json" },
      preset: { type: "string", multiple: true, default: ["tenure"] },
      list: { type: "boolean", default: false },
      tests: { type: "boolean", default: false },
      "write-baseline": { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const settings = { presets: values.preset } as TenureSettings;
  resolveSettings(settings);
  const report = reportLeaks(values.project, settings, positionals, values.tests);
  process.stdout.write(reportText(report, values.list));
  const baseline = values["write-baseline"];
  if (baseline !== undefined) writeFileSync(baseline, baselineText(countsOf(report)));
  return 0;
}

try {
  process.exitCode = main();
} catch (error) {
  const { message, code = "" } = error as NodeJS.ErrnoException;
  const misread = code.startsWith("ERR_PARSE_ARGS");
  const plain = message.replace(/^settings\.tenure\.presets\[\d+\]/, "--preset");
  process.stderr.write(`${plain}\n${misread ? usage : ""}`);
  process.exitCode = 2;
}
