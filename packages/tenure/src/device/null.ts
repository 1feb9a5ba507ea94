/**
 * The null device: accepts every command, counts bytes, computes nothing; read-backs are zeros. For
 * planners, shapes and ownership tests on machines without any driver. It implements the part of
 * WebGPU that Tenure uses, so everything above it is the same code. Owns host memory only while a
 * buffer is mapped.
 */
function buffer({ size, label, mappedAtCreation }: GPUBufferDescriptor): GPUBuffer {
  let mapped = mappedAtCreation === true;
  const made = {
    size,
    label: label ?? "",
    usage: 0,
    get mapState() {
      return mapped ? "mapped" : "unmapped";
    },
    mapAsync() {
      mapped = true;
      return Promise.resolve(undefined);
    },
    getMappedRange(offset = 0, bytes = size - offset) {
      return new ArrayBuffer(bytes);
    },
    unmap() {
      mapped = false;
    },
    destroy() {
      mapped = false;
    },
  };
  return made as unknown as GPUBuffer;
}

function pass(): GPUComputePassEncoder {
  return {
    setPipeline() {
      return undefined;
    },
    setBindGroup() {
      return undefined;
    },
    dispatchWorkgroups() {
      return undefined;
    },
    end() {
      return undefined;
    },
  } as unknown as GPUComputePassEncoder;
}

function device(): GPUDevice {
  const events = new EventTarget();
  let lose: (info: GPUDeviceLostInfo) => void = () => undefined;
  const lost = new Promise<GPUDeviceLostInfo>((resolve) => {
    lose = resolve;
  });
  const object = (): object => ({});
  const made = {
    label: "null",
    lost,
    features,
    limits,
    queue: {
      submit() {
        return undefined;
      },
      writeBuffer() {
        return undefined;
      },
      onSubmittedWorkDone: () => Promise.resolve(undefined),
    },
    createBuffer: buffer,
    createShaderModule: object,
    createComputePipeline: object,
    createBindGroupLayout: object,
    createPipelineLayout: object,
    createBindGroup: object,
    createCommandEncoder: () => ({
      beginComputePass: pass,
      copyBufferToBuffer() {
        return undefined;
      },
      finish: object,
    }),
    pushErrorScope() {
      return undefined;
    },
    popErrorScope: () => Promise.resolve(null),
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
    destroy() {
      lose({ reason: "destroyed", message: "shut down" } as GPUDeviceLostInfo);
    },
  };
  return made as unknown as GPUDevice;
}

/** What is not computed works in every precision. */
const features: ReadonlySet<string> = new Set(["shader-f16"]);

const limits = {
  maxBufferSize: 2 ** 40,
  maxStorageBufferBindingSize: 2 ** 40,
  maxStorageBuffersPerShaderStage: 10,
  maxComputeWorkgroupStorageSize: 16384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256,
  maxComputeWorkgroupSizeZ: 64,
  maxComputeWorkgroupsPerDimension: 65535,
};

/** A `GPU` whose only adapter is the null one. */
export function nullGPU(): GPU {
  for (const [name, value] of Object.entries(flags))
    if (!(name in globalThis))
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  const info = {
    vendor: "tenure",
    architecture: "null",
    device: "null",
    description: "null device",
    isFallbackAdapter: false,
  };
  const adapter = { info, features, limits, requestDevice: () => Promise.resolve(device()) };
  return { requestAdapter: () => Promise.resolve(adapter) } as unknown as GPU;
}

// The flag constants of the WebGPU specification, for hosts without WebGPU.
const flags = {
  GPUBufferUsage: {
    MAP_READ: 1,
    MAP_WRITE: 2,
    COPY_SRC: 4,
    COPY_DST: 8,
    INDEX: 16,
    VERTEX: 32,
    UNIFORM: 64,
    STORAGE: 128,
    INDIRECT: 256,
    QUERY_RESOLVE: 512,
  },
  GPUMapMode: { READ: 1, WRITE: 2 },
  GPUShaderStage: { VERTEX: 1, FRAGMENT: 2, COMPUTE: 4 },
};
