/**
 * A child of the tests: one example run three times on one device, which saves its start and its
 * shaders. To the end; interrupted by a real signal when a cue is printed; and resumed as it says.
 * Arguments: `main.ts`, the cue, where the first leg saves, where the last, options of the run.
 */
import { pathToFileURL } from "node:url";

const [node = "", , main = "", cue = "", whole = "", parts = "", ...options] = process.argv;
const write = process.stdout.write.bind(process.stdout);

/** What a leg prints; its exit code follows in a line of its own. */
async function leg(name: string, args: readonly string[], interrupt?: string): Promise<string> {
  let out = "",
    pressed = false;
  process.stdout.write = (text: string | Uint8Array): boolean => {
    out += String(text);
    if (interrupt !== undefined && !pressed && out.includes(interrupt)) {
      pressed = true;
      process.kill(process.pid, "SIGINT");
    }
    return write(text);
  };
  process.argv = [node, main, ...args];
  process.exitCode = undefined;
  await import(`${pathToFileURL(main).href}?${name}`);
  process.stdout.write = write;
  console.log(`${name}: exit code ${process.exitCode ?? 0}`);
  process.exitCode = undefined;
  return out;
}

await leg("whole", [...options, "--save", whole]);
const said = await leg("stopped", options, cue);
const [, again = ""] = /; to go on: .* -- (.+)$/m.exec(said) ?? [];
await leg("resumed", [...again.split(" "), "--save", parts]);
