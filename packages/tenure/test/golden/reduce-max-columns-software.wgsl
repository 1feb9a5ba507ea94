struct Params { identity: u32, outputs: u32, outer: u32, inner: u32, o0: u32, s0inner: u32 }
@group(0) @binding(2) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn nanMax(a: f32, b: f32) -> f32 { return select(select(max(a, b), b, isNan(b)), a, isNan(a)); }
@compute @workgroup_size(4, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let o = (wg.y * grid.x + wg.x) * 4u + lane;
  const ly = 0u;
  var total: f32 = bitcast<f32>(p.identity);
  if (o < p.outputs) {
    let k0 = o;
    let base0 = p.o0 + k0;
    for (var u = 0u; u < p.outer; u += 1u) {
      let row0 = base0;
      var j = ly;
      for (; j + 3u < p.inner; j += 4u) {
        total = nanMax(total, (nanMax((nanMax(b0[row0 + j * p.s0inner], b0[row0 + (j + 1u) * p.s0inner])), (nanMax(b0[row0 + (j + 2u) * p.s0inner], b0[row0 + (j + 3u) * p.s0inner])))));
      }
      for (; j < p.inner; j += 1u) {
        total = nanMax(total, b0[row0 + j * p.s0inner]);
      }
    }
  }
  if (o < p.outputs) { b1[o] = total; }
}
