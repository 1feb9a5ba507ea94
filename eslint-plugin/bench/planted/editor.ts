/**
 * An image editor: layers in a stack, commands that can be undone and done again, a clipboard, and
 * a preview that follows. Closures and object literals, no classes.
 */
import { EventEmitter } from "node:events";
import { type Tensor, full, manualSeed, ones, rand, scoped, zeros } from "tenure";
import { functional as F } from "tenure/nn";

const SIDE = 8;

/** Pixels [1, 3, SIDE, SIDE], and where they count, [SIDE, SIDE]. */
interface Layer {
  readonly name: string;
  pixels: Tensor;
  mask?: Tensor;
}

type Command = Readonly<Record<"apply" | "revert" | "dispose", () => void>>;

type Filter = (pixels: Tensor) => Tensor;
type Layers = ReturnType<typeof createLayers>;

function endLayer({ pixels, mask }: Layer): void {
  pixels.dispose();
  mask?.dispose();
}

function createLayers() {
  let stack: Layer[] = [];
  const thumbnails = new Map<string, Tensor>();
  const forget = (name: string): void => {
    thumbnails.get(name)?.dispose();
    thumbnails.delete(name);
  };
  const find = (name: string): Layer => stack.find((each) => each.name === name)!;
  return {
    find,
    /** Takes a layer over. */
    add: (layer: Layer, at = stack.length): void => void stack.splice(at, 0, layer),
    /** Takes a layer out; it is the caller's. */
    take(name: string): Layer {
      const layer = find(name);
      stack = stack.filter((each) => each !== layer);
      forget(name);
      return layer;
    },
    /** Gives a layer other pixels; those before are the caller's. */
    exchange(name: string, pixels: Tensor): Tensor {
      const layer = find(name),
        before = layer.pixels;
      layer.pixels = pixels;
      forget(name);
      return before;
    },
    setMask(name: string, mask: Tensor): void {
      const layer = find(name);
      layer.mask?.dispose();
      layer.mask = mask.clone();
      forget(name);
    },
    /** A small picture of a layer, which stays the stack's. */
    thumbnail(name: string): Tensor {
      const small = thumbnails.get(name) ?? F.avgPool2d(find(name).pixels, SIDE / 2);
      thumbnails.set(name, small);
      return small;
    },
    /** All layers over each other; the caller's. */
    flatten(ground?: Tensor): Tensor {
      let picture = ground?.clone() ?? zeros([1, 3, SIDE, SIDE]);
      for (const { pixels, mask } of stack) {
        const next = scoped(() => picture.lerp(pixels, mask ?? full([SIDE, SIDE], 0.5)));
        picture.dispose();
        picture = next;
      }
      return picture;
    },
    dispose(): void {
      for (const layer of stack) endLayer(layer);
      for (const small of thumbnails.values()) small.dispose();
      stack = [];
      thumbnails.clear();
    },
  };
}

/** Runs a filter over a layer. Keeps the pixels that the layer does not have now. */
function filtering(layers: Layers, name: string, filter: Filter): Command {
  let other: Tensor | undefined;
  const swap = (): void => {
    other = layers.exchange(name, other ?? filter(layers.find(name).pixels));
  };
  return {
    apply: swap,
    revert: swap,
    dispose: () => other?.dispose(),
  };
}

function removing(layers: Layers, name: string): Command {
  let gone: Layer | null = null;
  return {
    apply() {
      gone = layers.take(name);
    },
    revert() {
      if (gone !== null) layers.add(gone, 0);
      gone = null;
    },
    dispose() {
      if (gone !== null) endLayer(gone);
      gone = null;
    },
  };
}

/** What was done, and what was undone since. Owns the commands. */
function createHistory(limit: number) {
  const done: Command[] = [],
    undone: Command[] = [];
  const events = new EventEmitter<{ change: [] }>();
  const step = (from: Command[], to: Command[], how: "apply" | "revert"): void => {
    const command = from.pop();
    if (command === undefined) return;
    command[how]();
    to.push(command);
    events.emit("change");
  };
  return {
    events,
    run(command: Command): void {
      command.apply();
      done.push(command);
      for (const stale of undone.splice(0)) stale.dispose();
      while (done.length > limit) done.shift()?.dispose();
      events.emit("change");
    },
    undo: () => step(done, undone, "revert"),
    redo: () => step(undone, done, "apply"),
    dispose(): void {
      events.removeAllListeners();
      for (const command of [...done.splice(0), ...undone.splice(0)]) command.dispose();
    },
  };
}

/** A filter with a kernel of its own; `dispose` ends that. */
function blur(radius = 1): Filter & { dispose(): void } {
  const width = 2 * radius + 1;
  const kernel = scoped(() => ones([1, 1, width, width]).div(width ** 2));
  const filter = (pixels: Tensor): Tensor =>
    scoped(() => {
      const planes = pixels.reshape(3, 1, SIDE, SIDE);
      return F.conv2d(planes, kernel, null, { padding: radius }).reshape(pixels.shape);
    });
  return Object.assign(filter, { dispose: () => kernel.dispose() });
}

/** A preview that is made again at every change, and the regions somebody has copied of it. */
function createPreview(layers: Layers, events: EventEmitter<{ change: [] }>) {
  let shown = layers.flatten();
  const clips: { at: number; region: Tensor }[] = [];
  const refresh = (): void => {
    shown.dispose();
    shown = layers.flatten();
  };
  events.on("change", refresh);
  return {
    copy(at: number, width = 2): void {
      using rows = shown.slice(2, at, at + width);
      using square = rows.slice(3, at, at + width);
      clips.push({ at, region: square.clone() });
      if (clips.length > 2) clips.splice(0, 1)[0]?.region.dispose();
    },
    async brightness(): Promise<number> {
      using mean = shown.mean();
      return await mean.item();
    },
    dispose(): void {
      events.off("change", refresh);
      shown.dispose();
      for (const { region } of clips) region.dispose();
    },
  };
}

/** Edits a picture for a while, and leaves no tensor. */
export async function run(): Promise<number> {
  manualSeed(21);
  const layers = createLayers(),
    history = createHistory(3),
    soft = blur();
  for (const name of ["sky", "trees", "text"])
    layers.add({ name, pixels: rand([1, 3, SIDE, SIDE]) });
  const preview = createPreview(layers, history.events);
  const darken: Filter = (pixels) => pixels.mul(0.8);
  let seen = 0;
  try {
    using mask = rand([SIDE, SIDE]);
    for (const name of ["sky", "trees", "sky"]) layers.setMask(name, mask);
    for (const [i, name] of ["sky", "trees", "text", "sky"].entries()) {
      history.run(filtering(layers, name, i % 2 === 0 ? soft : darken));
      seen += layers.thumbnail(name).size + (await preview.brightness());
      preview.copy(i);
    }
    history.undo();
    history.undo();
    history.redo();
    history.run(removing(layers, "trees"));
    history.undo();
    history.run(filtering(layers, "text", soft));
    history.run(removing(layers, "sky"));
    seen += layers.thumbnail("trees").size;
  } finally {
    preview.dispose();
    history.dispose();
    layers.dispose();
    soft.dispose();
  }
  return seen;
}
