struct Params { outputs: u32, outer: u32, inner: u32, o0: u32, t0k0: u32 }
@group(0) @binding(2) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
fn acc0() -> f32 { return f32(0); }
var<workgroup> shared_: array<f32, 256>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let o = (wg.y * grid.x + wg.x) * 32u + lane / 8u;
  let ly = lane % 8u;
  var total = acc0();
  var level1 = acc0();
  var parts = 0u;
  if (o < p.outputs) {
    let k0 = o;
    let base0 = p.o0 + k0 * p.t0k0;
    for (var u = 0u; u < p.outer; u += 1u) {
      let row0 = base0;
      for (var c = ly; c < p.inner; c += 512u) {
        var part = acc0();
        let end = min(c + 512u, p.inner);
        for (var j = c; j < end; j += 8u) {
          let x0 = b0[row0 + j];
          part += (x0.x + x0.y) + (x0.z + x0.w);
        }
        level1 += part;
        parts += 1u;
        if (parts == 64u) { total += level1; level1 = acc0(); parts = 0u; }
      }
    }
    total += level1;
  }
  let slot = ly * 32u + (lane / 8u);
  shared_[slot] = total;
  for (var reach = 4u; reach > 0u; reach >>= 1u) {
    workgroupBarrier();
    if (ly < reach) { shared_[slot] = shared_[slot] + shared_[slot + reach * 32u]; }
  }
  total = shared_[slot];
  if (ly == 0u && o < p.outputs) { b1[o] = total; }
}
