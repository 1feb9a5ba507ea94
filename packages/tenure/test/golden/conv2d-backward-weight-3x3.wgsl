struct Params { x: u32, x0: u32, x1: u32, x2: u32, x3: u32, g: u32, g0: u32, g1: u32, g2: u32, g3: u32, H: u32, W: u32, P: u32, Q: u32, N: u32, channelsIn: u32, channelsOut: u32, channelTiles: u32, total: u32, resultRows: u32, resultColumns: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@compute @workgroup_size(4, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (wg.y * grid.x + wg.x) * 4u + lane;
  if (id >= p.total) { return; }
  const s0 = 0u;
  var rest = id;
  let r = rest % 3u;
  rest /= 3u;
  let c = rest % p.channelsIn;
  rest /= p.channelsIn;
  let o0 = (rest % p.channelTiles) * 4u;
  let group = rest / p.channelTiles;
  let image = p.x + (group * p.channelsIn + c) * p.x1;
  let plane0 = p.g + (group * p.channelsOut + min(o0 + 0u, p.channelsOut - 1u)) * p.g1;
  let plane1 = p.g + (group * p.channelsOut + min(o0 + 1u, p.channelsOut - 1u)) * p.g1;
  let plane2 = p.g + (group * p.channelsOut + min(o0 + 2u, p.channelsOut - 1u)) * p.g1;
  let plane3 = p.g + (group * p.channelsOut + min(o0 + 3u, p.channelsOut - 1u)) * p.g1;
  var t0_0 = 0.0;
  var t0_1 = 0.0;
  var t0_2 = 0.0;
  var t1_0 = 0.0;
  var t1_1 = 0.0;
  var t1_2 = 0.0;
  var t2_0 = 0.0;
  var t2_1 = 0.0;
  var t2_2 = 0.0;
  var t3_0 = 0.0;
  var t3_1 = 0.0;
  var t3_2 = 0.0;
  for (var n = 0u; n < p.N; n++) {
    var d0_0 = 0.0;
    var d0_1 = 0.0;
    var d0_2 = 0.0;
    var d1_0 = 0.0;
    var d1_1 = 0.0;
    var d1_2 = 0.0;
    var d2_0 = 0.0;
    var d2_1 = 0.0;
    var d2_2 = 0.0;
    var d3_0 = 0.0;
    var d3_1 = 0.0;
    var d3_2 = 0.0;
    for (var p0 = 0u; p0 < p.P; p0++) {
      let y = p0 * 1u + r * 1u - 1u;
      if (y >= p.H) { continue; }
      let row = image + n * p.x0 + y * p.x2;
      let grow0 = plane0 + n * p.g0 + p0 * p.g2;
      let grow1 = plane1 + n * p.g0 + p0 * p.g2;
      let grow2 = plane2 + n * p.g0 + p0 * p.g2;
      let grow3 = plane3 + n * p.g0 + p0 * p.g2;
      for (var q0 = 0u; q0 < p.Q; q0 += 7u) {
        let left = q0 * 1u + s0 * 1u - 1u;
        let x0 = select(0.0, b0[row + min(left + 0u, p.W - 1u) * p.x3], left + 0u < p.W);
        let x1 = select(0.0, b0[row + min(left + 1u, p.W - 1u) * p.x3], left + 1u < p.W);
        let x2 = select(0.0, b0[row + min(left + 2u, p.W - 1u) * p.x3], left + 2u < p.W);
        let x3 = select(0.0, b0[row + min(left + 3u, p.W - 1u) * p.x3], left + 3u < p.W);
        let x4 = select(0.0, b0[row + min(left + 4u, p.W - 1u) * p.x3], left + 4u < p.W);
        let x5 = select(0.0, b0[row + min(left + 5u, p.W - 1u) * p.x3], left + 5u < p.W);
        let x6 = select(0.0, b0[row + min(left + 6u, p.W - 1u) * p.x3], left + 6u < p.W);
        let x7 = select(0.0, b0[row + min(left + 7u, p.W - 1u) * p.x3], left + 7u < p.W);
        let x8 = select(0.0, b0[row + min(left + 8u, p.W - 1u) * p.x3], left + 8u < p.W);
        let g0_0 = b1[grow0 + (q0 + 0u) * p.g3];
        let g0_1 = b1[grow0 + (q0 + 1u) * p.g3];
        let g0_2 = b1[grow0 + (q0 + 2u) * p.g3];
        let g0_3 = b1[grow0 + (q0 + 3u) * p.g3];
        let g0_4 = b1[grow0 + (q0 + 4u) * p.g3];
        let g0_5 = b1[grow0 + (q0 + 5u) * p.g3];
        let g0_6 = b1[grow0 + (q0 + 6u) * p.g3];
        d0_0 += g0_0 * x0 + g0_1 * x1 + g0_2 * x2 + g0_3 * x3 + g0_4 * x4 + g0_5 * x5 + g0_6 * x6;
        d0_1 += g0_0 * x1 + g0_1 * x2 + g0_2 * x3 + g0_3 * x4 + g0_4 * x5 + g0_5 * x6 + g0_6 * x7;
        d0_2 += g0_0 * x2 + g0_1 * x3 + g0_2 * x4 + g0_3 * x5 + g0_4 * x6 + g0_5 * x7 + g0_6 * x8;
        let g1_0 = b1[grow1 + (q0 + 0u) * p.g3];
        let g1_1 = b1[grow1 + (q0 + 1u) * p.g3];
        let g1_2 = b1[grow1 + (q0 + 2u) * p.g3];
        let g1_3 = b1[grow1 + (q0 + 3u) * p.g3];
        let g1_4 = b1[grow1 + (q0 + 4u) * p.g3];
        let g1_5 = b1[grow1 + (q0 + 5u) * p.g3];
        let g1_6 = b1[grow1 + (q0 + 6u) * p.g3];
        d1_0 += g1_0 * x0 + g1_1 * x1 + g1_2 * x2 + g1_3 * x3 + g1_4 * x4 + g1_5 * x5 + g1_6 * x6;
        d1_1 += g1_0 * x1 + g1_1 * x2 + g1_2 * x3 + g1_3 * x4 + g1_4 * x5 + g1_5 * x6 + g1_6 * x7;
        d1_2 += g1_0 * x2 + g1_1 * x3 + g1_2 * x4 + g1_3 * x5 + g1_4 * x6 + g1_5 * x7 + g1_6 * x8;
        let g2_0 = b1[grow2 + (q0 + 0u) * p.g3];
        let g2_1 = b1[grow2 + (q0 + 1u) * p.g3];
        let g2_2 = b1[grow2 + (q0 + 2u) * p.g3];
        let g2_3 = b1[grow2 + (q0 + 3u) * p.g3];
        let g2_4 = b1[grow2 + (q0 + 4u) * p.g3];
        let g2_5 = b1[grow2 + (q0 + 5u) * p.g3];
        let g2_6 = b1[grow2 + (q0 + 6u) * p.g3];
        d2_0 += g2_0 * x0 + g2_1 * x1 + g2_2 * x2 + g2_3 * x3 + g2_4 * x4 + g2_5 * x5 + g2_6 * x6;
        d2_1 += g2_0 * x1 + g2_1 * x2 + g2_2 * x3 + g2_3 * x4 + g2_4 * x5 + g2_5 * x6 + g2_6 * x7;
        d2_2 += g2_0 * x2 + g2_1 * x3 + g2_2 * x4 + g2_3 * x5 + g2_4 * x6 + g2_5 * x7 + g2_6 * x8;
        let g3_0 = b1[grow3 + (q0 + 0u) * p.g3];
        let g3_1 = b1[grow3 + (q0 + 1u) * p.g3];
        let g3_2 = b1[grow3 + (q0 + 2u) * p.g3];
        let g3_3 = b1[grow3 + (q0 + 3u) * p.g3];
        let g3_4 = b1[grow3 + (q0 + 4u) * p.g3];
        let g3_5 = b1[grow3 + (q0 + 5u) * p.g3];
        let g3_6 = b1[grow3 + (q0 + 6u) * p.g3];
        d3_0 += g3_0 * x0 + g3_1 * x1 + g3_2 * x2 + g3_3 * x3 + g3_4 * x4 + g3_5 * x5 + g3_6 * x6;
        d3_1 += g3_0 * x1 + g3_1 * x2 + g3_2 * x3 + g3_3 * x4 + g3_4 * x5 + g3_5 * x6 + g3_6 * x7;
        d3_2 += g3_0 * x2 + g3_1 * x3 + g3_2 * x4 + g3_3 * x5 + g3_4 * x6 + g3_5 * x7 + g3_6 * x8;
      }
    }
    t0_0 += d0_0;
    t0_1 += d0_1;
    t0_2 += d0_2;
    t1_0 += d1_0;
    t1_1 += d1_1;
    t1_2 += d1_2;
    t2_0 += d2_0;
    t2_1 += d2_1;
    t2_2 += d2_2;
    t3_0 += d3_0;
    t3_1 += d3_1;
    t3_2 += d3_2;
  }
  for (var i = 0u; i < p.resultRows; i += 1u) {
    let row_0 = select(select(select(t0_0, t1_0, i == 1u), t2_0, i == 2u), t3_0, i == 3u);
    let row_1 = select(select(select(t0_1, t1_1, i == 1u), t2_1, i == 2u), t3_1, i == 3u);
    let row_2 = select(select(select(t0_2, t1_2, i == 1u), t2_2, i == 2u), t3_2, i == 3u);
    if (o0 + i >= p.channelsOut) { break; }
    for (var j = 0u; j < p.resultColumns; j += 1u) {
      let result = select(select(row_0, row_1, j == 1u), row_2, j == 2u);
      b2[(((group * p.channelsOut + o0 + i) * p.channelsIn + c) * 3u + r) * 3u + s0 + j] = result;
    }
  }
}
