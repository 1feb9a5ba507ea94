enable subgroups;
struct Params { M: u32, N: u32, K: u32, tilesN: u32, tiles: u32, total: u32, am: u32, bk: u32, offsetA: u32, offsetB: u32, resultRows: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@compute @workgroup_size(16, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_invocation_id) sub: u32) {
  let id = wg.y * grid.x + wg.x;
  if (id >= p.total) { return; }
  let batch = id / p.tiles;
  let tile = id % p.tiles;
  let m0 = (tile / p.tilesN) * 16u;
  let n0 = ((tile % p.tilesN) * 16u + lane) * 4u;
  const q0 = 0u;
  let baseA = p.offsetA;
  let baseB = p.offsetB;
  let rowA0 = baseA + min(m0 + 0u + (sub & 7u), p.M - 1u) * p.am;
  let rowA1 = baseA + min(m0 + 8u + (sub & 7u), p.M - 1u) * p.am;
  let colB0 = baseB + min(n0 + 0u, p.N - 4u) / 4u;
  var c0_0 = vec4<f32>();
  var c1_0 = vec4<f32>();
  var c2_0 = vec4<f32>();
  var c3_0 = vec4<f32>();
  var c4_0 = vec4<f32>();
  var c5_0 = vec4<f32>();
  var c6_0 = vec4<f32>();
  var c7_0 = vec4<f32>();
  var c8_0 = vec4<f32>();
  var c9_0 = vec4<f32>();
  var c10_0 = vec4<f32>();
  var c11_0 = vec4<f32>();
  var c12_0 = vec4<f32>();
  var c13_0 = vec4<f32>();
  var c14_0 = vec4<f32>();
  var c15_0 = vec4<f32>();
  for (var k = 0u; k < p.K; k += 4u) {
    let f0 = b0[rowA0 + k / 4u];
    let f1 = b0[rowA1 + k / 4u];
    let a0 = subgroupBroadcast(f0, 0u);
    let a1 = subgroupBroadcast(f0, 1u);
    let a2 = subgroupBroadcast(f0, 2u);
    let a3 = subgroupBroadcast(f0, 3u);
    let a4 = subgroupBroadcast(f0, 4u);
    let a5 = subgroupBroadcast(f0, 5u);
    let a6 = subgroupBroadcast(f0, 6u);
    let a7 = subgroupBroadcast(f0, 7u);
    let a8 = subgroupBroadcast(f1, 0u);
    let a9 = subgroupBroadcast(f1, 1u);
    let a10 = subgroupBroadcast(f1, 2u);
    let a11 = subgroupBroadcast(f1, 3u);
    let a12 = subgroupBroadcast(f1, 4u);
    let a13 = subgroupBroadcast(f1, 5u);
    let a14 = subgroupBroadcast(f1, 6u);
    let a15 = subgroupBroadcast(f1, 7u);
    let v0_0 = b1[colB0 + (k + 0u) * p.bk];
    let v1_0 = b1[colB0 + (k + 1u) * p.bk];
    let v2_0 = b1[colB0 + (k + 2u) * p.bk];
    let v3_0 = b1[colB0 + (k + 3u) * p.bk];
    c0_0 += a0.x * v0_0 + a0.y * v1_0 + a0.z * v2_0 + a0.w * v3_0;
    c1_0 += a1.x * v0_0 + a1.y * v1_0 + a1.z * v2_0 + a1.w * v3_0;
    c2_0 += a2.x * v0_0 + a2.y * v1_0 + a2.z * v2_0 + a2.w * v3_0;
    c3_0 += a3.x * v0_0 + a3.y * v1_0 + a3.z * v2_0 + a3.w * v3_0;
    c4_0 += a4.x * v0_0 + a4.y * v1_0 + a4.z * v2_0 + a4.w * v3_0;
    c5_0 += a5.x * v0_0 + a5.y * v1_0 + a5.z * v2_0 + a5.w * v3_0;
    c6_0 += a6.x * v0_0 + a6.y * v1_0 + a6.z * v2_0 + a6.w * v3_0;
    c7_0 += a7.x * v0_0 + a7.y * v1_0 + a7.z * v2_0 + a7.w * v3_0;
    c8_0 += a8.x * v0_0 + a8.y * v1_0 + a8.z * v2_0 + a8.w * v3_0;
    c9_0 += a9.x * v0_0 + a9.y * v1_0 + a9.z * v2_0 + a9.w * v3_0;
    c10_0 += a10.x * v0_0 + a10.y * v1_0 + a10.z * v2_0 + a10.w * v3_0;
    c11_0 += a11.x * v0_0 + a11.y * v1_0 + a11.z * v2_0 + a11.w * v3_0;
    c12_0 += a12.x * v0_0 + a12.y * v1_0 + a12.z * v2_0 + a12.w * v3_0;
    c13_0 += a13.x * v0_0 + a13.y * v1_0 + a13.z * v2_0 + a13.w * v3_0;
    c14_0 += a14.x * v0_0 + a14.y * v1_0 + a14.z * v2_0 + a14.w * v3_0;
    c15_0 += a15.x * v0_0 + a15.y * v1_0 + a15.z * v2_0 + a15.w * v3_0;
  }
  for (var i = 0u; i < p.resultRows; i += 1u) {
    let row_0 = select(select(select(select(select(select(select(select(select(select(select(select(select(select(select(c0_0, c1_0, i == 1u), c2_0, i == 2u), c3_0, i == 3u), c4_0, i == 4u), c5_0, i == 5u), c6_0, i == 6u), c7_0, i == 7u), c8_0, i == 8u), c9_0, i == 9u), c10_0, i == 10u), c11_0, i == 11u), c12_0, i == 12u), c13_0, i == 13u), c14_0, i == 14u), c15_0, i == 15u);
    if (m0 + i >= p.M) { break; }
    let at = (batch * p.M + m0 + i) * p.N;
    if (n0 + 0u < p.N) { b2[(at + min(n0 + 0u, p.N - 4u)) / 4u] = row_0; }
  }
}
