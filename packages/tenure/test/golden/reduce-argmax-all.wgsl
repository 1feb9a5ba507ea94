struct Params { outputs: u32, outer: u32, inner: u32, o0: u32 }
@group(0) @binding(2) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<i32>;
fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
const none = 0xffffffffu;
fn better(v: f32, i: u32, bv: f32, bi: u32) -> bool {
  if (i == none || bi == none) { return bi == none && i != none; }
  return select(v > bv, !isNan(bv), isNan(v)) || ((v == bv || (isNan(v) && isNan(bv))) && i < bi);
}
var<workgroup> sharedValue: array<f32, 16>;
var<workgroup> sharedAt: array<u32, 16>;
@compute @workgroup_size(16, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let o = (wg.y * grid.x + wg.x) * 2u + lane / 8u;
  let ly = lane % 8u;
  var best: f32; var bestAt = none;
  if (o < p.outputs) {
    let k0 = o;
    let base0 = p.o0;
    for (var u = 0u; u < p.outer; u += 1u) {
      let row0 = base0;
      for (var j = ly; j < p.inner; j += 8u) {
        let x0 = b0[row0 + j];
        { let v = x0.x; let i = j * 4u + 0u; if (better(v, i, best, bestAt)) { best = v; bestAt = i; } }
        { let v = x0.y; let i = j * 4u + 1u; if (better(v, i, best, bestAt)) { best = v; bestAt = i; } }
        { let v = x0.z; let i = j * 4u + 2u; if (better(v, i, best, bestAt)) { best = v; bestAt = i; } }
        { let v = x0.w; let i = j * 4u + 3u; if (better(v, i, best, bestAt)) { best = v; bestAt = i; } }
      }
    }
  }
  let slot = ly * 2u + (lane / 8u);
  sharedValue[slot] = best; sharedAt[slot] = bestAt;
  for (var reach = 4u; reach > 0u; reach >>= 1u) {
    workgroupBarrier();
    if (ly < reach) {
      let other = slot + reach * 2u;
      if (better(sharedValue[other], sharedAt[other], sharedValue[slot], sharedAt[slot])) { sharedValue[slot] = sharedValue[other]; sharedAt[slot] = sharedAt[other]; }
    }
  }
  bestAt = sharedAt[slot];
  if (ly == 0u && o < p.outputs) { b1[o] = i32(bestAt); }
}
