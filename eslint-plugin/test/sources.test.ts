/**
 * What something of the library makes when it is asked, in plain JavaScript.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("sources");

addScripts(test, {
  "what a camera of the library captures": `
let webcam;
async function app(net, video) {
  webcam = await tf.data.webcam(video);
  while (true) {
    const image = await webcam.capture(); // ~ require-disposal
    console.log(await net.classify(image));
    await tf.nextFrame();
  }
}
class Camera {
  async open(video) { this.cam = await tf.data.webcam(video); }
  async look(net) {
    const image = await this.cam.capture(); // ~ require-disposal
    return net.classify(image);
  }
  async ended(net) {
    const image = await this.cam.capture();
    try { return await net.classify(image); } finally { image.dispose(); }
  }
}
const other = openCamera();
export async function shown() {
  const image = await other.capture();
  console.log(image.size);
}
app(load(), document.querySelector("video"));`,
});
test.run();
