/**
 * A tile server for satellite scenes. Scenes come in as bands and are cut into a pyramid; clients
 * ask for `/style/z/x/y`. Newer scenes lie on top, where no cloud hides the ground. Tiles that were
 * rendered stay on the device until the cache needs their place.
 */
import { EventEmitter } from "node:events";
import { type Tensor, manualSeed, newDisposeScope, noGrad, rand, scoped } from "tenure";
import { concat, ones, tensor, where, zeros } from "tenure";
import { Conv2d, Module, functional as F } from "tenure/nn";

const TILE = 8;
const MOST_SCENES = 3;
const BANDS = ["blue", "green", "red", "nir"] as const;
type Band = (typeof BANDS)[number];

type Address = Readonly<{ style: string; z: number; x: number; y: number }>;

class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Tiles by key, the least recently used first. What falls out of it ends. */
class TileCache implements Disposable {
  readonly #tiles = new Map<string, Tensor>();
  readonly #capacity = 5;

  /** A handle of the caller's own, so that an eviction in the meantime does no harm. */
  get(key: string): Tensor | undefined {
    const tile = this.#tiles.get(key);
    if (tile === undefined) return undefined;
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
    return tile.alias();
  }

  /** Takes the tile over. */
  put(key: string, tile: Tensor): void {
    this.#tiles.get(key)?.dispose();
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
    for (const [oldest, evicted] of this.#tiles) {
      if (this.#tiles.size <= this.#capacity) break;
      this.#tiles.delete(oldest);
      evicted.dispose();
    }
  }

  invalidate(prefix: string): void {
    for (const [key, tile] of this.#tiles) {
      if (!key.startsWith(prefix)) continue;
      this.#tiles.delete(key);
      tile.dispose();
    }
  }

  [Symbol.dispose](): void {
    this.invalidate("");
  }
}

function halve(image: Tensor): Tensor {
  using batch = image.unsqueeze(0);
  using smaller = F.avgPool2d(batch, 2);
  return smaller.squeeze(0);
}

/** One acquisition. `levels[z]` has all bands at zoom z: [4, TILE·2^z, TILE·2^z]. */
class Scene implements Disposable {
  readonly id: string;
  readonly acquired: number;
  readonly levels: Tensor[];

  constructor(id: string, acquired: number, pixels: Tensor) {
    this.id = id;
    this.acquired = acquired;
    this.levels = [pixels];
    while (this.levels[0]!.shape[1]! > TILE) this.levels.unshift(halve(this.levels[0]!));
  }

  window(z: number, x: number, y: number): Tensor {
    const level = this.levels[z];
    if (level === undefined || Math.max(x, y) >= 2 ** z) throw new HttpError(404, "out of range");
    using rows = level.slice(1, y * TILE, (y + 1) * TILE);
    return rows.slice(2, x * TILE, (x + 1) * TILE);
  }

  [Symbol.dispose](): void {
    for (const level of this.levels) level.dispose();
  }
}

/** Says for each pixel of [4, T, T] whether a cloud hides the ground: bool [1, T, T]. */
class CloudMask extends Module<[pixels: Tensor]> {
  readonly spread = new Conv2d(BANDS.length, 6, 3, { padding: 1 });
  readonly score = new Conv2d(6, 1, 1);
  readonly mean = this.buffer("mean", rand([BANDS.length, 1, 1]));

  forward(pixels: Tensor): Tensor {
    using scope = newDisposeScope("clouds");
    const batch = pixels.sub(this.mean).unsqueeze(0);
    const logits = this.score.call(this.spread.call(batch).relu());
    return scope.moveToOuter(logits.squeeze(0).gt(0));
  }
}

/** Makes colours, [3, T, T] from 0 to 1, of bands. */
interface Style extends Disposable {
  render(pixels: Tensor): Tensor;
}

function natural(gain: number): Style {
  const order = tensor([2, 1, 0], { dtype: "int32" });
  return {
    render: (pixels) => scoped(() => pixels.indexSelect(0, order).mul(gain).clamp(0, 1)),
    [Symbol.dispose]: () => order.dispose(),
  };
}

/** A normalised difference of two bands, along a ramp of colours. */
function difference(a: Band, b: Band, ramp: readonly (readonly number[])[]): Style {
  const colours = tensor(ramp.flat(), { shape: [ramp.length, 3] });
  return {
    render(pixels) {
      using scope = newDisposeScope("difference");
      const [first, second] = [a, b].map((band) => pixels.select(0, BANDS.indexOf(band)));
      const index = first!.sub(second!).div(first!.add(second!).add(1e-6));
      const step = index.add(1).mul(ramp.length / 2);
      const slot = step.floor().clamp(0, ramp.length - 1);
      return scope.moveToOuter(colours.index(slot.to("int32")).permute(2, 0, 1));
    },
    [Symbol.dispose]: () => colours.dispose(),
  };
}

class TileServer extends EventEmitter<{ tile: [key: string, tile: Tensor] }> {
  readonly #scenes: Scene[] = []; // the newest last
  readonly #styles = new Map<string, Style>();
  readonly #cache = new TileCache();
  readonly #clouds = new CloudMask();
  readonly #pinned = new Map<string, Tensor>();
  readonly #underWay = new Map<string, Promise<Uint8ClampedArray>>();

  addStyle(name: string, style: Style): void {
    this.#styles.get(name)?.[Symbol.dispose]();
    this.#styles.set(name, style);
    this.#cache.invalidate(`${name}/`);
  }

  /** Takes the scene over. A scene of the same name is replaced, the oldest give way. */
  ingest(scene: Scene): void {
    const known = this.#scenes.findIndex(({ id }) => id === scene.id);
    if (known >= 0) {
      const [outdated] = this.#scenes.splice(known, 1);
      outdated![Symbol.dispose]();
    }
    this.#scenes.push(scene);
    this.#scenes.sort((a, b) => a.acquired - b.acquired);
    while (this.#scenes.length > MOST_SCENES) this.#scenes.shift()![Symbol.dispose]();
    this.#cache.invalidate("");
  }

  async get(path: string): Promise<{ status: number; body: string | Uint8ClampedArray }> {
    try {
      const address = parse(path);
      const key = keyOf(address);
      let body = this.#underWay.get(key);
      if (body === undefined) {
        body = this.#serve(key, address).finally(() => this.#underWay.delete(key));
        this.#underWay.set(key, body);
      }
      return { status: 200, body: await body };
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return { status: error.status, body: error.message };
    }
  }

  async #serve(key: string, address: Address): Promise<Uint8ClampedArray> {
    using tile = this.#tile(key, address);
    this.emit("tile", key, tile);
    using bytes = tile.mul(255);
    const values = await bytes.data();
    return Uint8ClampedArray.from(values);
  }

  /** The caller's. */
  #tile(key: string, { style, z, x, y }: Address): Tensor {
    const pinned = this.#pinned.get(key);
    if (pinned !== undefined) return pinned.alias();
    const found = this.#cache.get(key);
    if (found !== undefined) return found;
    const painter = this.#styles.get(style);
    if (painter === undefined) throw new HttpError(404, `no style ${style}`);
    using mosaic = noGrad(() => this.#mosaic(z, x, y));
    const tile = painter.render(mosaic);
    this.#cache.put(key, tile);
    return tile.alias();
  }

  #mosaic(z: number, x: number, y: number): Tensor {
    using scope = newDisposeScope("mosaic");
    let ground = zeros([BANDS.length, TILE, TILE]);
    for (const scene of this.#scenes) {
      const pixels = scene.window(z, x, y);
      ground = where(this.#clouds.call(pixels), ground, pixels);
    }
    return scope.moveToOuter(ground);
  }

  /** Renders what a client that zooms in asks for next. */
  warm(path: string): void {
    const { style, z, x, y } = parse(path);
    for (let i = 0; i < 4; i++) {
      const child = { style, z: z + 1, x: 2 * x + (i & 1), y: 2 * y + (i >> 1) };
      this.#tile(keyOf(child), child).dispose();
    }
  }

  pin(path: string): void {
    const address = parse(path);
    const key = keyOf(address);
    if (this.#pinned.has(key)) return;
    this.#pinned.set(key, this.#tile(key, address));
  }

  /** A whole zoom level as one picture, by rows of tiles. */
  async poster(style: string, z: number): Promise<ArrayLike<number>> {
    const rows: Tensor[] = [];
    try {
      for (let y = 0; y < 2 ** z; y++) {
        const addresses = Array.from({ length: 2 ** z }, (_, x) => ({ style, z, x, y }));
        const tiles = addresses.map((address) => this.#tile(keyOf(address), address));
        rows.push(concat(tiles, 2));
        for (const tile of tiles) tile.dispose();
      }
      using poster = concat(rows, 1);
      return await poster.data();
    } finally {
      for (const row of rows) row.dispose();
    }
  }

  close(): void {
    this.removeAllListeners();
    this.#cache[Symbol.dispose]();
    for (const tile of this.#pinned.values()) tile.dispose();
    this.#pinned.clear();
    for (const owned of [...this.#scenes, ...this.#styles.values()]) owned[Symbol.dispose]();
    this.#clouds.dispose();
  }
}

/** Follows how bright the tiles are that go out, channel by channel. */
class Brightness implements Disposable {
  readonly #server: TileServer;
  #sum = zeros([3]);
  #brightest: { key: string; tile: Tensor } | null = null;
  #count = 0;

  readonly #onTile = (key: string, tile: Tensor): void => {
    using scope = newDisposeScope("brightness");
    this.#sum = scope.carry(this.#sum, this.#sum.add(tile.mean([1, 2])));
    if (++this.#count % 3 !== 1) return;
    this.#brightest?.tile.dispose();
    this.#brightest = { key, tile: scope.detach(tile.alias()) };
  };

  constructor(server: TileServer) {
    this.#server = server;
    server.on("tile", this.#onTile);
  }

  async report(): Promise<{ sample: string; mean: ArrayLike<number> }> {
    using mean = this.#sum.div(Math.max(1, this.#count));
    return { sample: this.#brightest?.key ?? "none", mean: await mean.data() };
  }

  [Symbol.dispose](): void {
    this.#server.off("tile", this.#onTile);
    this.#brightest?.tile.dispose();
    this.#sum.dispose();
  }
}

function parse(path: string): Address {
  const [, style, z, x, y] = /^\/(\w+)\/(\d+)\/(\d+)\/(\d+)$/.exec(path) ?? [];
  if (style === undefined) throw new HttpError(400, `cannot read ${path}`);
  return { style, z: Number(z), x: Number(x), y: Number(y) };
}

function keyOf({ style, z, x, y }: Address): string {
  return [style, z, x, y].join("/");
}

/** A scene with noise for ground; the first columns are outside of the swath. */
function acquire(id: string, acquired: number): Scene {
  using noise = rand([BANDS.length, 4 * TILE, 4 * TILE]);
  using inside = ones([1, 1, 3 * TILE]);
  using swath = F.pad(inside, [TILE, 0]);
  return new Scene(id, acquired, noise.mul(swath));
}

export async function run(): Promise<number> {
  manualSeed(17);
  const server = new TileServer();
  using brightness = new Brightness(server);
  let answered = 0;
  try {
    server.addStyle("natural", natural(1.4));
    server.addStyle(
      "plants",
      difference("nir", "red", [
        [0.6, 0.4, 0.2],
        [1, 1, 0.6],
        [0, 0.4, 0],
      ]),
    );
    for (const year of [2021, 2022, 2023]) server.ingest(acquire(`S2-${String(year)}`, year));
    server.pin("/plants/0/0/0");
    server.pin("/plants/0/0/0");
    const first = ["/natural/0/0/0", "/natural/0/0/0", "/plants/1/0/1", "/plants/0/0/0"];
    const failing = ["/natural/1/7/0", "/contours/0/0/0", "/favicon.ico", "/natural/9/0/0"];
    const replies = await Promise.all([...first, ...failing].map((path) => server.get(path)));
    answered += replies.filter(({ status }) => status === 200).length;
    server.warm("/natural/1/1/1");
    server.ingest(acquire("S2-2023", 2023));
    server.ingest(acquire("S2-2024", 2024));
    server.addStyle("natural", natural(1.1));
    for (const path of [...first, "/natural/2/3/3"]) await server.get(path);
    for (const z of [0, 1]) answered += (await server.poster("plants", z)).length;
    server.pin("/natural/1/0/0");
    answered += (await brightness.report()).mean.length;
  } finally {
    server.close();
  }
  return answered;
}
