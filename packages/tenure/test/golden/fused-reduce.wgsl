// sub+square+sum+sqrt+mul
struct Params { outputs: u32, outer: u32, inner: u32, o0: u32, t0k0: u32, o1: u32, t1k0: u32, zero: u32, chains0: f32, chainzero: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
fn hold(x: f32, zero: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ zero); }
fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn isInf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
var<private> nanBits: u32 = 0x7fc00000u;
fn nan() -> f32 { return bitcast<f32>(nanBits); }
fn sqrtOf(x: f32) -> f32 {
  if (x < 0.0) { return nan(); }
  return select(sqrt(x), x, isNan(x) || isInf(x));
}
fn op_sub(a0: f32, a1: f32) -> f32 {
  var r0: f32;
  let x = a0;
  let y = a1;
  r0 = (x - y);
  return r0;
}
fn op_square(a0: f32) -> f32 {
  var r0: f32;
  let x = a0;
  r0 = (x * x);
  return r0;
}
fn op_sqrt(a0: f32) -> f32 {
  var r0: f32;
  let x = a0;
  r0 = sqrtOf(x);
  return r0;
}
fn op_mul(a0: f32, s0: f32) -> f32 {
  var r0: f32;
  let x = a0;
  let y = s0;
  let w = (x * y);
  r0 = w;
  return r0;
}
fn body(a0: f32, a1: f32) -> f32 {
  let zero = p.zero;
  var r0: f32;
  let v0 = op_sub(a0, a1);
  let v1 = op_square(hold(v0, zero));
  r0 = hold(v1, zero);
  return r0;
}
fn acc0() -> f32 { return f32(0); }
fn chain(a0: f32) -> f32 {
  let s0 = p.chains0;
  let zero = p.chainzero;
  var r0: f32;
  let v0 = op_sqrt(hold(a0, zero));
  let v1 = op_mul(hold(v0, zero), s0);
  r0 = v1;
  return r0;
}
fn finish(a0: f32, at: u32) {
  let y = chain(a0);
  b2[at] = y;
}
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
    let base1 = p.o1 + k0 * p.t1k0;
    for (var u = 0u; u < p.outer; u += 1u) {
      let row0 = base0;
      let row1 = base1;
      for (var c = ly; c < p.inner; c += 512u) {
        var part = acc0();
        let end = min(c + 512u, p.inner);
        for (var j = c; j < end; j += 8u) {
          let x0 = b0[row0 + j];
          let x1 = b1[row1 + j];
          part += (body(x0.x, x1.x) + body(x0.y, x1.y)) + (body(x0.z, x1.z) + body(x0.w, x1.w));
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
  if (ly == 0u && o < p.outputs) { finish(total, o); }
}
