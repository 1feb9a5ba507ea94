/**
 * A tiny point renderer with a scene graph: nodes have transforms, meshes share materials, and
 * passes work on the image before it is shown.
 */
import * as tn from "tenure";
import type { Tensor } from "tenure";

const WIDTH = 4;

/** Shared by meshes: the last one to release ends it. */
class Material {
  private users = 1;
  private color: Tensor;
  private readonly texture: Tensor;

  constructor(r: number, g: number, b: number, texture: Tensor) {
    this.color = tn.tensor([r, g, b]);
    this.texture = texture.alias();
  }

  setColor(r: number, g: number, b: number): void {
    this.color.dispose();
    this.color = tn.tensor([r, g, b]);
  }

  /** Colors for depths [n]: a new tensor [n, 3]. */
  shade(depth: Tensor): Tensor {
    using near = depth.neg();
    using fog = near.exp();
    using lit = fog.unsqueeze(1);
    using tinted = this.texture.mul(this.color);
    return lit.mul(tinted);
  }

  retain(): this {
    this.users += 1;
    return this;
  }

  release(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.color.dispose();
    this.texture.dispose();
  }
}

class SceneNode {
  private parent: SceneNode | null = null;
  private readonly children: SceneNode[] = [];
  private local: Tensor = tn.eye(4);
  private world: Tensor | null = null;

  add<N extends SceneNode>(child: N): N {
    child.parent = this;
    this.children.push(child);
    return child;
  }

  /** Takes a child out of the scene for good. */
  remove(child: SceneNode): void {
    const index = this.children.indexOf(child);
    if (index === -1) return;
    this.children.splice(index, 1);
    child.destroy();
  }

  translate(x: number, y: number, z: number): void {
    const offset = tn.tensor([[0], [0], [0], [1]].map(([on]) => [x * on!, y * on!, z * on!, 0]));
    const moved = this.local.add(offset);
    offset.dispose();
    this.local.dispose();
    this.local = moved;
    this.invalidate();
  }

  /** The matrix from here to the world. It belongs to the node. */
  worldMatrix(): Tensor {
    this.world ??= this.parent ? this.local.matmul(this.parent.worldMatrix()) : this.local.clone();
    return this.world;
  }

  *visible(): Generator<Mesh> {
    if (this instanceof Mesh) yield this;
    for (const child of this.children) yield* child.visible();
  }

  destroy(): void {
    for (const child of this.children) child.destroy();
    this.local.dispose();
    this.world?.dispose();
  }

  private invalidate(): void {
    this.world?.dispose();
    this.world = null;
    for (const child of this.children) child.invalidate();
  }
}

class Mesh extends SceneNode {
  private readonly vertices: Tensor;
  private readonly material: Material;

  constructor(vertices: Tensor, material: Material) {
    super();
    this.vertices = vertices;
    this.material = material.retain();
  }

  /** Draws itself onto colors [pixels, 3]; the result is a new tensor. */
  draw(onto: Tensor, projection: Tensor): Tensor {
    const world = this.worldMatrix();
    const { splat, depth } = tn.scoped(() => {
      const clip = this.vertices
        .matmul(world)
        .matmul(projection)
        .clamp(0, WIDTH - 1);
      const [x, y, z] = clip.unbind(1);
      const cells = y!.floor().mul(WIDTH).add(x!.floor()).int();
      return { splat: tn.oneHot(cells, WIDTH * WIDTH).float(), depth: z! };
    });
    using shades = this.material.shade(depth);
    depth.dispose();
    using painted = tn.einsum("np,nc->pc", splat, shades);
    splat.dispose();
    return onto.add(painted);
  }

  override destroy(): void {
    super.destroy();
    this.vertices.dispose();
    this.material.release();
  }
}

abstract class Pass {
  abstract apply(source: Tensor): Tensor;

  dispose(): void {} // most passes own nothing
}

class Invert extends Pass {
  apply(source: Tensor): Tensor {
    using negative = source.neg();
    return negative.add(1);
  }
}

class ToneMap extends Pass {
  private readonly exposure = tn.full([1], 1.5);

  apply(source: Tensor): Tensor {
    const exposed = source.mul(this.exposure);
    const mapped = exposed.tanh();
    exposed.dispose();
    return mapped;
  }

  override dispose(): void {
    this.exposure.dispose();
  }
}

class Renderer implements Disposable {
  private readonly passes: readonly Pass[] = [new ToneMap(), new Invert()];
  private projection = tn.eye(4);
  private frame: Tensor | null = null;

  render(scene: SceneNode): void {
    let image: Tensor = tn.zeros([WIDTH * WIDTH, 3]);
    for (const mesh of scene.visible()) {
      const drawn = mesh.draw(image, this.projection);
      image.dispose();
      image = drawn;
    }
    for (const pass of this.passes) {
      const before = image;
      image = pass.apply(before);
      before.dispose();
    }
    this.present(image);
  }

  /** Keeps what it is given. */
  private present(frame: Tensor): void {
    this.frame?.dispose();
    this.frame = frame;
  }

  async brightness(): Promise<number> {
    const mean = this.frame?.mean();
    const value = await mean?.item();
    mean?.dispose();
    return value ?? 0;
  }

  [Symbol.dispose](): void {
    for (const pass of this.passes) pass.dispose();
    this.projection.dispose();
    this.frame?.dispose();
  }
}

/** Shows a few frames of a scene with two stars and a comet. */
export async function run(frames = 3): Promise<number> {
  const scene = new SceneNode();
  const paper = tn.rand([5, 3]);
  const gold = new Material(1, 0.8, 0.2, paper);
  const ice = new Material(0.7, 0.8, 1, paper);
  paper.dispose();
  const stars = scene.add(new SceneNode());
  for (const x of [1, 2]) stars.add(new Mesh(tn.rand([5, 4]), gold)).translate(x, 1, 0);
  const comet = scene.add(new Mesh(tn.rand([5, 4]), ice));
  gold.release();
  ice.release();
  using renderer = new Renderer();
  let total = 0;
  for (let frame = 0; frame < frames; frame++) {
    stars.translate(0, 0.5, 0);
    gold.setColor(1, 0.8, 1 / (1 + frame));
    renderer.render(scene);
    total += 1 + (await renderer.brightness());
    if (frame === 1) scene.remove(comet);
  }
  scene.destroy();
  return total;
}
