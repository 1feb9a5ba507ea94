/**
 * Flags beside a field or variable that say whether what it holds is alive: what is made where such
 * a flag says that it is not takes the place of nothing. Each is a program of which the marked
 * lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("live flags");
const finds = marked(test);

/** A texture that is ended while it is not shown. */
const layer = (hide: string, show = "this.on = true;", start = "true", mark = ""): string => `
export class Layer {
  private texture: GPUTexture;
  private on = ${start};
  constructor(private device: GPUDevice, readonly size: number) { this.texture = this.make(); }
  private make() {
    return this.device.createTexture({ size: [this.size], format: "rgba8unorm", usage: 4 });
  }
  show() {
    if (!this.on) {
      this.texture = this.make();${mark}
      ${show}
    }
    return this.texture.createView();
  }
  hide(on = false) { ${hide} }
  free() { this.texture.destroy(); }
}`;
const lost = " // !";
const again = "this.on = true;";
const end = "this.texture.destroy(); this.on = false;";
finds("a flag taken back beside the end", layer(`if (this.on) { ${end} }`), "webgpu");
finds("a flag that is asked first", layer(`if (!this.on) return; ${end}`), "webgpu");
finds("a flag taken back without an end", layer("this.on = false;", again, "true", lost), "webgpu");
finds("a flag that is computed", layer(`${end} this.on = on;`, again, "true", lost), "webgpu");
finds("a flag that is never set again", layer(end, "", "true", lost), "webgpu");
finds("a flag that is not set at first", layer(end, again, "false", lost), "webgpu");
finds(
  "an end on some ways",
  layer("if (this.size > 9) this.texture.destroy(); this.on = false;", again, "true", lost),
  "webgpu",
);
finds(
  "another one in between",
  layer(`${end} if (on) this.texture = this.make();`, again, "true", lost),
  "webgpu",
);
finds(
  "another in its place",
  layer(`if (on) { this.texture.destroy(); this.texture = this.make(); }`).replace(
    "free() {",
    `leave() { ${end} }\n  free() {`,
  ),
  "webgpu",
);
finds(
  "the other value of the flag",
  layer(end, again, "true", lost).replace("if (!this.on)", "if (this.on)"),
  "webgpu",
);

/** The same with a flag that says that it is gone. */
const gone = (free: string, mark = ""): string => `
export class Checked {
  private b: GPUBuffer;
  private gone = false;
  constructor(private device: GPUDevice, size: number) {
    this.b = device.createBuffer({ size, usage: 9 });
  }
  revive() {
    if (!this.gone) return;
    this.b = this.device.createBuffer({ size: this.b.size, usage: 9 });${mark}
    this.gone = false;
  }
  free() { if (this.gone) return; ${free} }
  end() { this.b.destroy(); }
}`;
finds("a flag that says it is gone", gone("this.b.destroy(); this.gone = true;"), "webgpu");
finds("one that says so too early", gone("this.gone = true;", lost), "webgpu");

/** The same in a closure. */
const closure = (hide: string, mark = ""): string => `
export function createLayer(device: GPUDevice, size: number) {
  const make = () => device.createTexture({ size: [size], format: "rgba8unorm", usage: 4 });
  let texture = make();
  let on = true;
  return {
    show() {
      if (!on) {
        texture = make();${mark}
        on = true;
      }
      return texture.createView();
    },
    hide() { ${hide} },
    free() { texture.destroy(); },
  };
}`;
finds("a variable", closure("if (!on) return; on = false; texture.destroy();"), "webgpu");
finds("a variable that is not ended", closure("on = false;", lost), "webgpu");

test.run();
