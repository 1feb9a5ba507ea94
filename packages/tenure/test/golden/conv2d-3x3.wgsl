struct Params { total: u32, columnTiles: u32, rows: u32, columns: u32, channelTiles: u32, groups: u32, channelsIn: u32, channelsOut: u32, H: u32, W: u32, source: u32, weight: u32, xs0: u32, xs1: u32, xs2: u32, xs3: u32, ws0: u32, ws1: u32, ws2: u32, ws3: u32, wgroup: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (wg.y * grid.x + wg.x) * 64u + lane;
  if (id >= p.total) { return; }
  let q0 = (id % p.columnTiles) * 4u;
  var rest = id / p.columnTiles;
  let p0 = rest % p.rows;
  rest /= p.rows;
  let o0 = (rest % p.channelTiles) * 8u;
  rest /= p.channelTiles;
  let group = rest % p.groups;
  let n = rest / p.groups;
  let top = p0 * 1u - 1u;
  let left = q0 * 1u - 1u;
  let image = p.source + n * p.xs0 + group * p.channelsIn * p.xs1;
  let filter0 = p.weight + group * p.wgroup + min(o0 + 0u, p.channelsOut - 1u) * p.ws0;
  let filter1 = p.weight + group * p.wgroup + min(o0 + 1u, p.channelsOut - 1u) * p.ws0;
  let filter2 = p.weight + group * p.wgroup + min(o0 + 2u, p.channelsOut - 1u) * p.ws0;
  let filter3 = p.weight + group * p.wgroup + min(o0 + 3u, p.channelsOut - 1u) * p.ws0;
  let filter4 = p.weight + group * p.wgroup + min(o0 + 4u, p.channelsOut - 1u) * p.ws0;
  let filter5 = p.weight + group * p.wgroup + min(o0 + 5u, p.channelsOut - 1u) * p.ws0;
  let filter6 = p.weight + group * p.wgroup + min(o0 + 6u, p.channelsOut - 1u) * p.ws0;
  let filter7 = p.weight + group * p.wgroup + min(o0 + 7u, p.channelsOut - 1u) * p.ws0;
  var c0 = vec4<f32>();
  var c1 = vec4<f32>();
  var c2 = vec4<f32>();
  var c3 = vec4<f32>();
  var c4 = vec4<f32>();
  var c5 = vec4<f32>();
  var c6 = vec4<f32>();
  var c7 = vec4<f32>();
  for (var c = 0u; c < p.channelsIn; c++) {
    for (var r = 0u; r < 3u; r++) {
      let y = top + r * 1u;
      if (y >= p.H) { continue; }
      let row = image + c * p.xs1 + y * p.xs2;
      let wrow0 = filter0 + c * p.ws1 + r * p.ws2;
      let wrow1 = filter1 + c * p.ws1 + r * p.ws2;
      let wrow2 = filter2 + c * p.ws1 + r * p.ws2;
      let wrow3 = filter3 + c * p.ws1 + r * p.ws2;
      let wrow4 = filter4 + c * p.ws1 + r * p.ws2;
      let wrow5 = filter5 + c * p.ws1 + r * p.ws2;
      let wrow6 = filter6 + c * p.ws1 + r * p.ws2;
      let wrow7 = filter7 + c * p.ws1 + r * p.ws2;
      let x0 = select(0.0, b0[row + min(left + 0u, p.W - 1u) * p.xs3], left + 0u < p.W);
      let x1 = select(0.0, b0[row + min(left + 1u, p.W - 1u) * p.xs3], left + 1u < p.W);
      let x2 = select(0.0, b0[row + min(left + 2u, p.W - 1u) * p.xs3], left + 2u < p.W);
      let x3 = select(0.0, b0[row + min(left + 3u, p.W - 1u) * p.xs3], left + 3u < p.W);
      let x4 = select(0.0, b0[row + min(left + 4u, p.W - 1u) * p.xs3], left + 4u < p.W);
      let x5 = select(0.0, b0[row + min(left + 5u, p.W - 1u) * p.xs3], left + 5u < p.W);
      let w0_0 = b1[wrow0 + 0u];
      let w1_0 = b1[wrow1 + 0u];
      let w2_0 = b1[wrow2 + 0u];
      let w3_0 = b1[wrow3 + 0u];
      let w4_0 = b1[wrow4 + 0u];
      let w5_0 = b1[wrow5 + 0u];
      let w6_0 = b1[wrow6 + 0u];
      let w7_0 = b1[wrow7 + 0u];
      let w0_1 = b1[wrow0 + 1u * p.ws3];
      let w1_1 = b1[wrow1 + 1u * p.ws3];
      let w2_1 = b1[wrow2 + 1u * p.ws3];
      let w3_1 = b1[wrow3 + 1u * p.ws3];
      let w4_1 = b1[wrow4 + 1u * p.ws3];
      let w5_1 = b1[wrow5 + 1u * p.ws3];
      let w6_1 = b1[wrow6 + 1u * p.ws3];
      let w7_1 = b1[wrow7 + 1u * p.ws3];
      let w0_2 = b1[wrow0 + 2u * p.ws3];
      let w1_2 = b1[wrow1 + 2u * p.ws3];
      let w2_2 = b1[wrow2 + 2u * p.ws3];
      let w3_2 = b1[wrow3 + 2u * p.ws3];
      let w4_2 = b1[wrow4 + 2u * p.ws3];
      let w5_2 = b1[wrow5 + 2u * p.ws3];
      let w6_2 = b1[wrow6 + 2u * p.ws3];
      let w7_2 = b1[wrow7 + 2u * p.ws3];
      let v0 = vec4<f32>(x0, x1, x2, x3);
      let v1 = vec4<f32>(x1, x2, x3, x4);
      let v2 = vec4<f32>(x2, x3, x4, x5);
      c0 += v0 * w0_0 + v1 * w0_1 + v2 * w0_2;
      c1 += v0 * w1_0 + v1 * w1_1 + v2 * w1_2;
      c2 += v0 * w2_0 + v1 * w2_1 + v2 * w2_2;
      c3 += v0 * w3_0 + v1 * w3_1 + v2 * w3_2;
      c4 += v0 * w4_0 + v1 * w4_1 + v2 * w4_2;
      c5 += v0 * w5_0 + v1 * w5_1 + v2 * w5_2;
      c6 += v0 * w6_0 + v1 * w6_1 + v2 * w6_2;
      c7 += v0 * w7_0 + v1 * w7_1 + v2 * w7_2;
    }
  }
  if (o0 + 0u < p.channelsOut) {
    let at = (((n * p.groups + group) * p.channelsOut + o0 + 0u) * p.rows + p0) * p.columns + q0;
    if (q0 + 0u < p.columns) { b2[at + 0u] = c0.x; }
    if (q0 + 1u < p.columns) { b2[at + 1u] = c0.y; }
    if (q0 + 2u < p.columns) { b2[at + 2u] = c0.z; }
    if (q0 + 3u < p.columns) { b2[at + 3u] = c0.w; }
  }
  if (o0 + 1u < p.channelsOut) {
    let at = (((n * p.groups + group) * p.channelsOut + o0 + 1u) * p.rows + p0) * p.columns + q0;
    if (q0 + 0u < p.columns) { b2[at + 0u] = c1.x; }
    if (q0 + 1u < p.columns) { b2[at + 1u] = c1.y; }
    if (q0 + 2u < p.columns) { b2[at + 2u] = c1.z; }
    if (q0 + 3u < p.columns) { b2[at + 3u] = c1.w; }
  }
  if (o0 + 2u < p.channelsOut) {
    let at = (((n * p.groups + group) * p.channelsOut + o0 + 2u) * p.rows + p0) * p.columns + q0;
    if (q0 + 0u < p.columns) { b2[at + 0u] = c2.x; }
    if (q0 + 1u < p.columns) { b2[at + 1u] = c2.y; }
    if (q0 + 2u < p.columns) { b2[at + 2u] = c2.z; }
    if (q0 + 3u < p.columns) { b2[at + 3u] = c2.w; }
  }
  if (o0 + 3u < p.channelsOut) {
    let at = (((n * p.groups + group) * p.channelsOut + o0 + 3u) * p.rows + p0) * p.columns + q0;
    if (q0 + 0u < p.columns) { b2[at + 0u] = c3.x; }
    if (q0 + 1u < p.columns) { b2[at + 1u] = c3.y; }
    if (q0 + 2u < p.columns) { b2[at + 2u] = c3.z; }
    if (q0 + 3u < p.columns) { b2[at + 3u] = c3.w; }
  }
  if (o0 + 4u < p.channelsOut) {
    let at = (((n * p.groups + group) * p.channelsOut + o0 + 4u) * p.rows + p0) * p.columns + q0;
    if (q0 + 0u < p.columns) { b2[at + 0u] = c4.x; }
    if (q0 + 1u < p.columns) { b2[at + 1u] = c4.y; }
    if (q0 + 2u < p.columns) { b2[at + 2u] = c4.z; }
    if (q0 + 3u < p.columns) { b2[at + 3u] = c4.w; }
  }
  if (o0 + 5u < p.channelsOut) {
    let at = (((n * p.groups + group) * p.channelsOut + o0 + 5u) * p.rows + p0) * p.columns + q0;
    if (q0 + 0u < p.columns) { b2[at + 0u] = c5.x; }
    if (q0 + 1u < p.columns) { b2[at + 1u] = c5.y; }
    if (q0 + 2u < p.columns) { b2[at + 2u] = c5.z; }
    if (q0 + 3u < p.columns) { b2[at + 3u] = c5.w; }
  }
  if (o0 + 6u < p.channelsOut) {
    let at = (((n * p.groups + group) * p.channelsOut + o0 + 6u) * p.rows + p0) * p.columns + q0;
    if (q0 + 0u < p.columns) { b2[at + 0u] = c6.x; }
    if (q0 + 1u < p.columns) { b2[at + 1u] = c6.y; }
    if (q0 + 2u < p.columns) { b2[at + 2u] = c6.z; }
    if (q0 + 3u < p.columns) { b2[at + 3u] = c6.w; }
  }
  if (o0 + 7u < p.channelsOut) {
    let at = (((n * p.groups + group) * p.channelsOut + o0 + 7u) * p.rows + p0) * p.columns + q0;
    if (q0 + 0u < p.columns) { b2[at + 0u] = c7.x; }
    if (q0 + 1u < p.columns) { b2[at + 1u] = c7.y; }
    if (q0 + 2u < p.columns) { b2[at + 2u] = c7.z; }
    if (q0 + 3u < p.columns) { b2[at + 3u] = c7.w; }
  }
}
