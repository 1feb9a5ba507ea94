/**
 * Methods that scripts call on what has no type, known by their name where only one method of the
 * program has it: with what comes of a package, and names that others have, too.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("methods by name");

/** A class that gives tensors, and a function that asks one for it. */
const asked = (body: string, more = ""): string => `
const tf = require("@tensorflow/tfjs-core");
class World {
  perceive() {
    return tf.tensor1d([1, 2]);
  }
}
${more}exports.World = World;
exports.look = function (world, app) {
${body}
};`;
const leaks = "  const seen = world.perceive(); // ~ require-disposal\n  console.log(seen.shape);";
const silent = leaks.replace(" // ~ require-disposal", "");

addScripts(test, {
  "of a parameter": asked(leaks),
  "ended by who asks": asked(silent.replace("console.log(seen.shape)", "seen.dispose()")),
  "of a state that starts empty": asked(
    `  const [kept] = app.useState(null);\n${leaks.replace("world.", "kept.")}`,
  ),
  "of a package": asked(
    silent.replace("world.", "chart."),
    'const { Chart } = require("chart.js");\nconst chart = new Chart();\n',
  ),
  "of a field that takes the place of itself": asked(
    leaks,
    "class Walk {\n  step() {\n    this.node = this.node.next();\n" +
      "    this.node.perceive().dispose();\n  }\n}\n",
  ),
  "that two classes have": asked(silent, "class Eye {\n  perceive() {\n    return 1;\n  }\n}\n"),
  "that a field may hold": asked(silent, "exports.set = (o, f) => {\n  o.perceive = f;\n};\n"),
  "that the platform has": asked(silent.replace("perceive", "normalize")).replace(
    "perceive()",
    "normalize()",
  ),
});

test.run();
