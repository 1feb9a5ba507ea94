/**
 * Labels a stream of images: batches are fetched ahead, augmented by stages that compose, seen by
 * an ensemble that votes; sure labels train the members, unsure images wait for somebody to look.
 */
import { newDisposeScope, noGrad, rand, scoped, scopedAsync, stack, tensor } from "tenure";
import type { Tensor } from "tenure";
import { AvgPool2d, Conv2d, Flatten, Linear, ReLU, Sequential, functional } from "tenure/nn";
import { Adam, type Optimizer } from "tenure/optim";

const SIDE = 8;
const ENOUGH = 18;
const CLASSES = ["cat", "dog", "fox"] as const;
type Label = (typeof CLASSES)[number];

// Stages

type Stage = (images: Tensor) => Tensor;
type Ends = { readonly end: () => void };

const pipe =
  (...stages: readonly Stage[]): Stage =>
  (images) =>
    scoped(() => stages.reduce((x, stage) => stage(x), images.alias()));

const flip: Stage = (images) => images.flip(3);

const sometimes = (share: number, stage: Stage): Stage => {
  let seen = 0;
  return (images) => (seen++ % Math.round(1 / share) === 0 ? stage(images) : images.alias());
};

const jitter =
  (strength: number): Stage =>
  (images) =>
    scoped(() => rand([images.shape[0]!, 1, 1, 1]).mul(strength).add(1).mul(images));

const crop =
  (border: number): Stage =>
  (images) => {
    using wide = functional.pad(images, [border, border, border, border], "reflect");
    using rows = wide.slice(2, border - 1, border - 1 + SIDE);
    return rows.slice(3, 1, 1 + SIDE);
  };

function normalize(mean: readonly number[], deviation: readonly number[]): Stage & Ends {
  const shape = [1, mean.length, 1, 1];
  const shift = tensor(mean, { shape });
  const scale = tensor(deviation, { shape });
  const stage: Stage = (images) => scoped(() => images.sub(shift).div(scale));
  const end = () => [shift, scale].forEach((t) => t.dispose());
  return Object.assign(stage, { end });
}

/** Blends each batch with the one before. */
function ghosts(share: number): Stage & Ends {
  let last: Tensor | null = null;
  const stage: Stage = (images) =>
    scoped((scope) => {
      const blended = last === null ? images.alias() : images.lerp(last, share);
      last?.dispose();
      last = scope.detach(images.clone());
      return blended;
    });
  const end = () => last?.dispose();
  return Object.assign(stage, { end });
}

// Batches

interface Shot {
  readonly ids: readonly string[];
  readonly images: Tensor;
}

async function fetchShot(index: number, size: number): Promise<Shot> {
  await new Promise((resolve) => setTimeout(resolve, 1));
  const ids = Array.from({ length: size }, (_, i) => `img-${String(index * size + i)}`);
  return { ids, images: rand([size, 3, SIDE, SIDE]) };
}

async function* prefetch(count: number, size: number, depth = 2): AsyncGenerator<Shot> {
  const pending: Promise<Shot>[] = [];
  let next = 0;
  try {
    while (next < count || pending.length > 0) {
      while (next < count && pending.length < depth) pending.push(fetchShot(next++, size));
      const shot = await pending.shift();
      if (shot) yield shot;
    }
  } finally {
    for (const rest of await Promise.all(pending)) rest.images.dispose();
  }
}

// The ensemble

interface Member {
  readonly net: Sequential;
  readonly optimizer: Optimizer;
}

function makeMember(width: number): Member {
  const net = new Sequential(
    new Conv2d(3, width, 3, { padding: 1 }),
    new ReLU(),
    new AvgPool2d(2),
    new Flatten(),
    new Linear((width * SIDE * SIDE) / 4, CLASSES.length),
  );
  return { net, optimizer: new Adam(net.parameters(), { lr: 0.01 }) };
}

interface Votes {
  readonly shares: Tensor;
  readonly spread: Tensor;
}

const vote = (members: readonly Member[], views: readonly Stage[], images: Tensor): Votes =>
  scoped(() => {
    const seen = views.map((view) => view(images));
    const opinions = noGrad(() =>
      members.flatMap(({ net }) => seen.map((view) => net.call(view).softmax(-1))),
    );
    const all = stack(opinions);
    return { shares: all.mean(0), spread: all.std(0).mean(-1) };
  });

function teach({ net, optimizer }: Member, images: Tensor, targets: Tensor): Promise<number> {
  using _step = newDisposeScope("teach");
  const loss = functional.crossEntropy(net.call(images), targets);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
  return loss.item();
}

/** The weights as they are, to go back to. */
function snapshot({ net }: Member) {
  using state = net.stateDict();
  const weights = new Map([...state].map(([name, t]) => [name, t.clone()]));
  const restore = () => net.loadStateDict(weights);
  const end = () => weights.forEach((t) => t.dispose());
  return { restore, end };
}

// What is remembered

/** A mean image per label, for the page that shows what the labels look like. */
function gallery() {
  const means = new Map<Label, Tensor>();
  const add = (label: Label, image: Tensor) => {
    const known = means.get(label);
    const mean = known ? known.lerp(image, 0.1) : image.clone();
    known?.dispose();
    means.set(label, mean);
  };
  const sheet = () => (means.size === 0 ? null : stack([...means.values()]));
  const end = () => means.forEach((mean) => mean.dispose());
  return { add, sheet, end };
}

/** Images that nobody is sure of, the newest few. */
function reviews(size: number, ask: (id: string, image: Tensor) => Promise<Label>) {
  const waiting: { id: string; image: Tensor }[] = [];
  return {
    put(id: string, image: Tensor) {
      waiting.push({ id, image });
      if (waiting.length > size) waiting.shift()?.image.dispose();
    },
    async resolve(found: Map<string, Label>) {
      for (const { id, image } of waiting.splice(0)) {
        found.set(id, await ask(id, image));
        image.dispose();
      }
    },
  };
}

async function main(): Promise<ReadonlyMap<string, Label>> {
  const members = [4, 6, 8].map(makeMember);
  const scaled = normalize([0.5, 0.5, 0.5], [0.2, 0.2, 0.2]);
  const haunted = ghosts(0.2);
  const augment = pipe(sometimes(0.5, flip), crop(2), jitter(0.1), haunted, scaled);
  const views = [scaled, pipe(flip, scaled)];
  const shown = gallery();
  const found = new Map<string, Label>();
  const queue = reviews(4, async (_, image) => {
    using brightness = image.mean();
    return (await brightness.item()) > 0.5 ? "dog" : "fox";
  });

  const handle = async ({ ids, images }: Shot) => {
    const { shares, spread } = vote(members, views, images);
    using targets = shares.argMax(-1);
    const [best, doubts] = await Promise.all([targets.data(), spread.data()]);
    shares.dispose();
    spread.dispose();
    for (const [i, id] of ids.entries()) {
      using image = images.select(0, i);
      if (i % 3 === 2 || doubts[i]! > 0.1) queue.put(id, image.clone());
      else shown.add(CLASSES[best[i]!]!, image);
      found.set(id, CLASSES[best[i]!]!);
    }
    using augmented = augment(images);
    return await Promise.all(members.map((member) => teach(member, augmented, targets)));
  };

  let saved = members.map(snapshot);
  let lowest = Infinity;
  for await (const shot of prefetch(6, 6)) {
    const loss = Math.max(...(await handle(shot)));
    shot.images.dispose();
    if (loss > lowest * 2) saved.forEach((weights) => weights.restore());
    else {
      saved.forEach((weights) => weights.end());
      saved = members.map(snapshot);
      lowest = loss;
    }
    if (found.size >= ENOUGH) break;
  }
  saved.forEach((weights) => weights.end());
  await queue.resolve(found);
  const contrast = await scopedAsync(async (scope) => {
    const sheet = scope.use(shown.sheet());
    return sheet === null ? 0 : sheet.sub(sheet.mean()).abs().max().item();
  });
  for (const { net, optimizer } of members) {
    optimizer[Symbol.dispose]();
    net.dispose();
  }
  for (const owner of [scaled, haunted, shown]) owner.end();
  return contrast > 1e6 ? new Map() : found;
}

const labels = await main();
export const run = () => Promise.resolve(labels);
