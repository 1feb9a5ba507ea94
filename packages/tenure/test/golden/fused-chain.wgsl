// mul+add+tanh+neg
struct Params { count: u32, d1: u32, s0: f32, zero: u32, o0: u32, t0_0: u32, o1: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
fn hold(x: f32, zero: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ zero); }
fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn tanhOf(x: f32) -> f32 {
  let z = x * x;
  if (z < 0.09) {
    return x + x * z * (((0.021869 * z - 0.0539683) * z + 0.1333333) * z - 0.33333334);
  }
  return select(tanh(clamp(x, -15.0, 15.0)), x, isNan(x));
}
fn op_mul(a0: f32, s0: f32) -> f32 {
  var r0: f32;
  let x = a0;
  let y = s0;
  let w = (x * y);
  r0 = w;
  return r0;
}
fn op_add(a0: f32, a1: f32) -> f32 {
  var r0: f32;
  let x = a0;
  let y = a1;
  r0 = (x + y);
  return r0;
}
fn op_tanh(a0: f32) -> f32 {
  var r0: f32;
  let x = a0;
  r0 = tanhOf(x);
  return r0;
}
fn op_neg(a0: f32) -> f32 {
  var r0: f32;
  let x = a0;
  r0 = -x;
  return r0;
}
fn body(a0: f32, a1: f32) -> f32 {
  let s0 = p.s0;
  let zero = p.zero;
  var r0: f32;
  let v0 = op_mul(a0, s0);
  let v1 = op_add(hold(v0, zero), a1);
  let v2 = op_tanh(hold(v1, zero));
  let v3 = op_neg(hold(v2, zero));
  r0 = v3;
  return r0;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let step = grid.x * grid.y * 64u;
  let first = (wg.y * grid.x + wg.x) * 64u + lane;
  for (var i = first; i < p.count; i += step) {
    var rest = i;
    let c1 = rest % p.d1;
    let c0 = rest / p.d1;
    let x0 = b0[p.o0 + c0 * p.t0_0 + c1];
    let x1 = b1[p.o1 + c1];
    let y0 = body(x0.x, x1.x);
    let y1 = body(x0.y, x1.y);
    let y2 = body(x0.z, x1.z);
    let y3 = body(x0.w, x1.w);
    b2[i] = vec4<f32>(y0, y1, y2, y3);
  }
}
