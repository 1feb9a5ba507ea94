/**
 * The digits that ship with the example: fetches the compressed idx files and parses them. Runs in
 * the worker. Host memory only; the result belongs to the caller.
 */
import { parseIdx, type Idx } from "tenure/data";

const files = {
  train: {
    images: new URL("data/train-images.idx.gz", import.meta.url),
    labels: new URL("data/train-labels.idx.gz", import.meta.url),
  },
  test: {
    images: new URL("data/test-images.idx.gz", import.meta.url),
    labels: new URL("data/test-labels.idx.gz", import.meta.url),
  },
};

/** Images [count, 28, 28] and labels [count], as bytes. */
export interface Digits {
  readonly images: Uint8Array;
  readonly labels: Uint8Array;
}

/** One of the two sets. @throws Error when a file is missing, ArgumentError when one is damaged */
export async function digits(set: "train" | "test"): Promise<Digits> {
  const [images, labels] = await Promise.all([
    readIdx(files[set].images),
    readIdx(files[set].labels),
  ]);
  return { images: Uint8Array.from(images.data), labels: Uint8Array.from(labels.data) };
}

async function readIdx(url: URL): Promise<Idx> {
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(
      `digits: expected ${url.pathname} to be served, got status ${response.status}; ` +
        "run `npm run digits -w example-browser` and build again",
    );
  const bytes = new Uint8Array(await response.arrayBuffer());
  // Some servers say that a .gz file is a compressed transfer; the browser has unpacked it then.
  const packed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return parseIdx(packed ? await unpack(bytes) : bytes, url.pathname);
}

async function unpack(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
