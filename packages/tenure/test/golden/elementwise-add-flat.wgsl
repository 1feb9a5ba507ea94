struct Params { block: u32, count: u32, o0: u32, o1: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
fn body(a0: f32, a1: f32) -> f32 {
  var r0: f32;
  r0 = a0 + a1;
  return r0;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (wg.y * grid.x + wg.x) * p.block + lane;
  let end = min(p.count, (wg.y * grid.x + wg.x) * p.block + p.block);
  for (var i = first; i < end; i += 64u) {
    let x0 = b0[p.o0 + i];
    let x1 = b1[p.o1 + i];
    let y0 = body(x0.x, x1.x);
    let y1 = body(x0.y, x1.y);
    let y2 = body(x0.z, x1.z);
    let y3 = body(x0.w, x1.w);
    b2[i] = vec4<f32>(y0, y1, y2, y3);
  }
}
