enable subgroups;
struct Params { M: u32, N: u32, K: u32, tilesN: u32, tiles: u32, total: u32, am: u32, bk: u32, offsetA: u32, offsetB: u32, resultRows: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@compute @workgroup_size(16, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_invocation_id) sub: u32) {
  let id = wg.y * grid.x + wg.x;
  if (id >= p.total) { return; }
  let batch = id / p.tiles;
  let tile = id % p.tiles;
  let m0 = (tile / p.tilesN) * 8u;
  let n0 = ((tile % p.tilesN) * 16u + lane) * 8u;
  const q0 = 0u;
  let baseA = p.offsetA;
  let baseB = p.offsetB;
  let rowA0 = baseA + min(m0 + 0u, p.M - 1u) * p.am;
  let rowA1 = baseA + min(m0 + 1u, p.M - 1u) * p.am;
  let rowA2 = baseA + min(m0 + 2u, p.M - 1u) * p.am;
  let rowA3 = baseA + min(m0 + 3u, p.M - 1u) * p.am;
  let rowA4 = baseA + min(m0 + 4u, p.M - 1u) * p.am;
  let rowA5 = baseA + min(m0 + 5u, p.M - 1u) * p.am;
  let rowA6 = baseA + min(m0 + 6u, p.M - 1u) * p.am;
  let rowA7 = baseA + min(m0 + 7u, p.M - 1u) * p.am;
  let colB0 = baseB + min(n0 + 0u, p.N - 4u) / 4u;
  let colB1 = baseB + min(n0 + 4u, p.N - 4u) / 4u;
  var c0_0 = vec4<f32>();
  var c0_1 = vec4<f32>();
  var c1_0 = vec4<f32>();
  var c1_1 = vec4<f32>();
  var c2_0 = vec4<f32>();
  var c2_1 = vec4<f32>();
  var c3_0 = vec4<f32>();
  var c3_1 = vec4<f32>();
  var c4_0 = vec4<f32>();
  var c4_1 = vec4<f32>();
  var c5_0 = vec4<f32>();
  var c5_1 = vec4<f32>();
  var c6_0 = vec4<f32>();
  var c6_1 = vec4<f32>();
  var c7_0 = vec4<f32>();
  var c7_1 = vec4<f32>();
  for (var k = 0u; k < p.K; k += 4u) {
    let part = (k + (sub & 3u));
    let a0 = b0[rowA0 + part];
    let a1 = b0[rowA1 + part];
    let a2 = b0[rowA2 + part];
    let a3 = b0[rowA3 + part];
    let a4 = b0[rowA4 + part];
    let a5 = b0[rowA5 + part];
    let a6 = b0[rowA6 + part];
    let a7 = b0[rowA7 + part];
    let a0_0 = subgroupBroadcast(a0, 0u);
    let a1_0 = subgroupBroadcast(a1, 0u);
    let a2_0 = subgroupBroadcast(a2, 0u);
    let a3_0 = subgroupBroadcast(a3, 0u);
    let a4_0 = subgroupBroadcast(a4, 0u);
    let a5_0 = subgroupBroadcast(a5, 0u);
    let a6_0 = subgroupBroadcast(a6, 0u);
    let a7_0 = subgroupBroadcast(a7, 0u);
    let a0_1 = subgroupBroadcast(a0, 1u);
    let a1_1 = subgroupBroadcast(a1, 1u);
    let a2_1 = subgroupBroadcast(a2, 1u);
    let a3_1 = subgroupBroadcast(a3, 1u);
    let a4_1 = subgroupBroadcast(a4, 1u);
    let a5_1 = subgroupBroadcast(a5, 1u);
    let a6_1 = subgroupBroadcast(a6, 1u);
    let a7_1 = subgroupBroadcast(a7, 1u);
    let a0_2 = subgroupBroadcast(a0, 2u);
    let a1_2 = subgroupBroadcast(a1, 2u);
    let a2_2 = subgroupBroadcast(a2, 2u);
    let a3_2 = subgroupBroadcast(a3, 2u);
    let a4_2 = subgroupBroadcast(a4, 2u);
    let a5_2 = subgroupBroadcast(a5, 2u);
    let a6_2 = subgroupBroadcast(a6, 2u);
    let a7_2 = subgroupBroadcast(a7, 2u);
    let a0_3 = subgroupBroadcast(a0, 3u);
    let a1_3 = subgroupBroadcast(a1, 3u);
    let a2_3 = subgroupBroadcast(a2, 3u);
    let a3_3 = subgroupBroadcast(a3, 3u);
    let a4_3 = subgroupBroadcast(a4, 3u);
    let a5_3 = subgroupBroadcast(a5, 3u);
    let a6_3 = subgroupBroadcast(a6, 3u);
    let a7_3 = subgroupBroadcast(a7, 3u);
    let v0_0 = b1[colB0 + (k + 0u) * p.bk];
    let v0_1 = b1[colB1 + (k + 0u) * p.bk];
    let v1_0 = b1[colB0 + (k + 1u) * p.bk];
    let v1_1 = b1[colB1 + (k + 1u) * p.bk];
    let v2_0 = b1[colB0 + (k + 2u) * p.bk];
    let v2_1 = b1[colB1 + (k + 2u) * p.bk];
    let v3_0 = b1[colB0 + (k + 3u) * p.bk];
    let v3_1 = b1[colB1 + (k + 3u) * p.bk];
    c0_0 += a0_0 * v0_0 + a0_1 * v1_0 + a0_2 * v2_0 + a0_3 * v3_0;
    c0_1 += a0_0 * v0_1 + a0_1 * v1_1 + a0_2 * v2_1 + a0_3 * v3_1;
    c1_0 += a1_0 * v0_0 + a1_1 * v1_0 + a1_2 * v2_0 + a1_3 * v3_0;
    c1_1 += a1_0 * v0_1 + a1_1 * v1_1 + a1_2 * v2_1 + a1_3 * v3_1;
    c2_0 += a2_0 * v0_0 + a2_1 * v1_0 + a2_2 * v2_0 + a2_3 * v3_0;
    c2_1 += a2_0 * v0_1 + a2_1 * v1_1 + a2_2 * v2_1 + a2_3 * v3_1;
    c3_0 += a3_0 * v0_0 + a3_1 * v1_0 + a3_2 * v2_0 + a3_3 * v3_0;
    c3_1 += a3_0 * v0_1 + a3_1 * v1_1 + a3_2 * v2_1 + a3_3 * v3_1;
    c4_0 += a4_0 * v0_0 + a4_1 * v1_0 + a4_2 * v2_0 + a4_3 * v3_0;
    c4_1 += a4_0 * v0_1 + a4_1 * v1_1 + a4_2 * v2_1 + a4_3 * v3_1;
    c5_0 += a5_0 * v0_0 + a5_1 * v1_0 + a5_2 * v2_0 + a5_3 * v3_0;
    c5_1 += a5_0 * v0_1 + a5_1 * v1_1 + a5_2 * v2_1 + a5_3 * v3_1;
    c6_0 += a6_0 * v0_0 + a6_1 * v1_0 + a6_2 * v2_0 + a6_3 * v3_0;
    c6_1 += a6_0 * v0_1 + a6_1 * v1_1 + a6_2 * v2_1 + a6_3 * v3_1;
    c7_0 += a7_0 * v0_0 + a7_1 * v1_0 + a7_2 * v2_0 + a7_3 * v3_0;
    c7_1 += a7_0 * v0_1 + a7_1 * v1_1 + a7_2 * v2_1 + a7_3 * v3_1;
  }
  for (var i = 0u; i < p.resultRows; i += 1u) {
    let row_0 = select(select(select(select(select(select(select(c0_0, c1_0, i == 1u), c2_0, i == 2u), c3_0, i == 3u), c4_0, i == 4u), c5_0, i == 5u), c6_0, i == 6u), c7_0, i == 7u);
    let row_1 = select(select(select(select(select(select(select(c0_1, c1_1, i == 1u), c2_1, i == 2u), c3_1, i == 3u), c4_1, i == 4u), c5_1, i == 5u), c6_1, i == 6u), c7_1, i == 7u);
    if (m0 + i >= p.M) { break; }
    let at = (batch * p.M + m0 + i) * p.N;
    if (n0 + 0u < p.N) { b2[(at + min(n0 + 0u, p.N - 4u)) / 4u] = row_0; }
    if (n0 + 4u < p.N) { b2[(at + min(n0 + 4u, p.N - 4u)) / 4u] = row_1; }
  }
}
