/**
 * What every page of the documents takes for granted, so that examples need not begin with Adam: a
 * small model that is trained, and tensors. Each snippet that uses one of these names gets a copy
 * of this module. Whoever imports it owns what it makes; the process that runs snippets ends soon.
 */
import { randn, tensor } from "tenure";
import { ArrayDataset, DataLoader } from "tenure/data";
import { CrossEntropyLoss, Linear, ReLU, Sequential } from "tenure/nn";
import { Adam, StepLR } from "tenure/optim";

/** Eight samples of four features. */
export const x = randn([8, 4]);
/** As many targets. */
export const y = randn([8, 4]);
/** A batch that `model` takes. */
export const images = x.alias();
/** Its classes. */
export const labels = tensor([0, 1, 2, 0, 1, 2, 0, 1], { dtype: "int32" });
/** The batch as a loader names it. */
export const image = images.alias();
/** Its classes. */
export const label = labels.alias();
/** An epoch. */
export const batches = [{ images, labels }];
/** Four features, three classes. */
export const model = new Sequential(new Linear(4, 16), new ReLU(), new Linear(16, 3));
/** Of the model. */
export const optimizer = new Adam(model.parameters());
/** Of the optimizer. */
export const schedule = new StepLR(optimizer, { stepSize: 10 });
/** A loss for classes. */
export const criterion = new CrossEntropyLoss();
/** Two batches an epoch. */
export const loader = new DataLoader(
  new ArrayDataset({
    image: { data: new Float32Array(64), shape: [4] },
    label: { data: new Int32Array(16), shape: [], dtype: "int32" },
  }),
  { batchSize: 8, shuffle: true },
);
/** How far training is. */
export const epoch = 1;
/** The best accuracy so far. */
export const best = 0.5;
