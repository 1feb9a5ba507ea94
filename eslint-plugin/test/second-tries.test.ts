/**
 * Second tries: what is made where the making of a first value threw takes the place of nothing, in
 * a `catch` and by a flag. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("second tries");
const finds = marked(test);

const tried = (before: string, tries: string, after: string, mark = ""): string => `
async function load(url) {
  return tf.tensor1d(await (await fetch(url)).json());
}
async function decode(url) {
  let t;
  ${before}
  try {
    ${tries}
  ${after}${mark}
  const found = t.dataSync();
  t.dispose();
  return found;
}
exports.decode = decode;
`;
const first = `t = await load(url);`;
const again = `t = await load("other");`;
const lost = " // !";
const ok = "let ok = false;";
const failed = "let failed = false;";
const fine = "let fine = true;";
finds("a catch", tried("", first, `} catch { ${again} }`), "tfjs");
finds("a catch, with a flag", tried(ok, `${first} ok = true;`, `} catch { ${again} }`), "tfjs");
finds(
  "a catch, after more",
  tried("", `${first} url = t.arraySync();`, `} catch { ${again} }`, lost),
  "tfjs",
);
finds(
  "a flag of the try",
  tried(ok, `${first} ok = true;`, `} catch {} if (!ok) ${again}`),
  "tfjs",
);
finds(
  "its other arm",
  tried(ok, `${first} ok = true;`, `} catch {} if (ok) {} else ${again}`),
  "tfjs",
);
finds(
  "a flag of the catch",
  tried(failed, first, `} catch { failed = true; } if (failed) ${again}`),
  "tfjs",
);
finds(
  "compared",
  tried(fine, first, `} catch { fine = false; } if (fine === false) ${again}`),
  "tfjs",
);
finds(
  "a wrong flag",
  tried(ok, `${first} ok = true;`, `} catch {} if (ok) ${again}`, lost),
  "tfjs",
);
finds(
  "a flag taken back",
  tried(ok, `${first} ok = true;`, `} catch {} if (url) ok = false; if (!ok) ${again}`, lost),
  "tfjs",
);
finds(
  "a flag under a test",
  tried(ok, `${first} if (t.size > 1) ok = true;`, `} catch {} if (!ok) ${again}`, lost),
  "tfjs",
);
finds(
  "a flag set before",
  tried(
    failed,
    first,
    `} catch { failed = true; } if (url) failed = true; if (failed) ${again}`,
    lost,
  ),
  "tfjs",
);

test.run();
