/**
 * Records that objects made by functions are lent: their methods stand for members of an interface
 * by a shorthand or a name, and a getter that is never asked gives nothing out.
 */
import { suite } from "uvu";
import { lastingOf } from "./webgpu-cases.ts";

const test = suite("factory methods");
const D = "require-disposal";
const lasting = lastingOf(test);

const fields =
  "interface Fields { n: number; vel: GPUBuffer }\n" +
  "function createFields(d: GPUDevice, n: number): Fields {\n" +
  "const vel = d.createBuffer({ size: n, usage: 1 });\nreturn { n, vel }; }\n" +
  "interface Sim { setFields: (f: Fields) => void; getFields: () => Fields; step: () => void }\n";
const sim = (members: string, body = ""): string =>
  `async function createSim(d: GPUDevice, fields: Fields): Promise<Sim> {\n${body}\n` +
  `const sim: Sim = { ${members}, step() { d.queue.writeBuffer(fields.vel, 0, one); } };\n` +
  "return sim; }\nconst one = new Float32Array(1);\n";
const main = (rebuild: string): string =>
  "export async function main(d: GPUDevice, n: number) {\n" +
  "let fields = createFields(d, n);\nconst sim = await createSim(d, fields);\n" +
  `addEventListener("resize", () => { ${rebuild} fields = createFields(d, n * 2);\n` +
  "sim.setFields(fields); });\nsetInterval(() => sim.step(), 10); }";

const takes = "function setFields(f: Fields) { fields = f; }";
const ends = "function setFields(f: Fields) { fields.vel.destroy(); fields = f; }";
const getter = "getFields: () => fields";

lasting(
  "a shorthand that keeps what it is lent",
  fields + sim(`${getter}, setFields`, takes) + main(""),
  [D],
);
lasting(
  "a shorthand that ends the last one",
  fields + sim(`${getter}, setFields`, ends) + main(""),
  [],
);
lasting(
  "a function under another name",
  fields + sim(`${getter}, setFields: swap`, takes.replace("setFields", "swap")) + main(""),
  [D],
);
lasting(
  "a getter whose value is ended",
  fields + sim(`${getter}, setFields`, takes) + main("sim.getFields().vel.destroy();"),
  [],
);
lasting(
  "a getter whose value is only looked at",
  fields + sim(`${getter}, setFields`, takes) + main("console.log(sim.getFields().n);"),
  [D],
);
lasting(
  "a getter that is taken for its value",
  fields +
    sim(`${getter}, setFields`, takes) +
    main("use(sim.getFields);") +
    "\ndeclare function use(f: () => Fields): void;",
  [],
);

test.run();
