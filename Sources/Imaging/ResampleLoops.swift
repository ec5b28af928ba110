import CResample

/// The two inner loops of resizing, in the form that suits this CPU; all forms give the same bytes.
enum ResampleLoops: CaseIterable {
  case plain
  case avx2

  static let best: ResampleLoops = tw_has_avx2() ? .avx2 : .plain

  var isPossible: Bool { self == .plain || tw_has_avx2() }

  /// Elements behind the last that `rows` and `out` of `columns` must have room for.
  static let blockSlack = 32
  /// Elements behind the last of a window that `row` of `row` must have room for.
  static let windowSlack = 8

  /// Sums down the columns of `count` bytes.
  ///
  /// - Parameter out: 64 times the values.
  func columns(
    _ rows: UnsafePointer<UnsafePointer<UInt8>?>, weights: UnsafePointer<Int16>, taps: Int,
    count: Int, out: UnsafeMutablePointer<Int16>
  ) {
    switch self {
    case .plain: tw_resample_columns_plain(rows, weights, Int32(taps), Int32(count), out)
    case .avx2: tw_resample_columns_avx2(rows, weights, Int32(taps), Int32(count), out)
    }
  }

  /// Sums along a row that `columns` made, one for each band of each of the axis' positions.
  func row(
    _ row: UnsafePointer<Int16>, axis: LanczosAxis, bands: Int, out: UnsafeMutablePointer<UInt8>
  ) {
    let (taps, width) = (Int32(axis.taps), Int32(axis.starts.count))
    switch self {
    case .plain:
      tw_resample_row_plain(row, axis.starts, axis.weights, taps, width, Int32(bands), out)
    case .avx2:
      tw_resample_row_avx2(row, axis.starts, axis.weights, taps, width, Int32(bands), out)
    }
  }
}
