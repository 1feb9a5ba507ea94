/**
 * The command line of the example: `npm start -- --model cnn --epochs 2 …`. Node's own parser reads
 * it, this file checks the values.
 */
import { parseArgs } from "node:util";

/** What the command line says. */
export interface Options {
  readonly model: "mlp" | "cnn";
  readonly epochs: number;
  readonly batch: number;
  readonly seed: number;
  readonly lr: number;
  /** Training images used. */
  readonly limit: number;
  readonly device: "auto" | "gpu" | "software" | undefined;
  /** File to write the weights to, and to start from. */
  readonly save: string | undefined;
  readonly load: string | undefined;
}

/** What `--help` prints. */
export const usage = `Trains a network on MNIST.

  npm start -- [options]

  --model mlp|cnn      which network (mlp)
  --epochs N           passes over the training images (2)
  --batch N            images per step (128)
  --lr X               learning rate (0.002)
  --limit N            use only the first N training images (60000)
  --seed N             initial weights and order of images (1)
  --device auto|gpu|software   where to compute (auto)
  --save FILE          write the weights as safetensors
  --load FILE          start from such a file; with --epochs 0 only test it
  --help               this text`;

/** @throws Error with the usage line that helps */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    // `--batch -1` is a value to check, not another option.
    args: args.reduce<string[]>((list, arg) => {
      const last = list.at(-1);
      if (/^-\d/.test(arg) && last !== undefined && /^--[a-z]+$/.test(last))
        list[list.length - 1] = `${last}=${arg}`;
      else list.push(arg);
      return list;
    }, []),
    allowPositionals: false,
    options: {
      model: { type: "string", default: "mlp" },
      epochs: { type: "string", default: "2" },
      batch: { type: "string", default: "128" },
      lr: { type: "string", default: "0.002" },
      limit: { type: "string", default: "60000" },
      seed: { type: "string", default: "1" },
      device: { type: "string" },
      save: { type: "string" },
      load: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const whole = (name: "epochs" | "batch" | "limit" | "seed", least: number): number => {
    const value = Number(values[name]);
    if (!Number.isSafeInteger(value) || value < least)
      throw new Error(
        `--${name}: expected a whole number of ${least} or more, got ${values[name]}`,
      );
    return value;
  };
  const oneOf = <const T extends string>(name: string, value: string, choices: readonly T[]): T => {
    const found = choices.find((c) => c === value);
    if (found === undefined)
      throw new Error(`--${name}: expected ${choices.join(" or ")}, got ${value}`);
    return found;
  };
  const lr = Number(values.lr);
  if (!(lr > 0)) throw new Error(`--lr: expected a positive number, got ${values.lr}`);
  return {
    model: oneOf("model", values.model, ["mlp", "cnn"]),
    epochs: whole("epochs", 0),
    batch: whole("batch", 1),
    limit: whole("limit", 1),
    seed: whole("seed", 0),
    lr,
    device:
      values.device === undefined
        ? undefined
        : oneOf<NonNullable<Options["device"]>>("device", values.device, [
            "auto",
            "gpu",
            "software",
          ]),
    save: values.save,
    load: values.load,
  };
}
