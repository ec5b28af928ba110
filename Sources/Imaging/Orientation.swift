import CVips

extension Picture {
  /// Turned upright, the one place where EXIF's orientation is applied.
  ///
  /// - Parameter orientation: EXIF's number: 1 is upright; 2 to 8 are mirrored or turned.
  func upright(_ orientation: Int) throws(VipsFailure) -> Picture {
    switch orientation {
    case 2: try flipped(VIPS_DIRECTION_HORIZONTAL)
    case 3: try turned(VIPS_ANGLE_D180)
    case 4: try flipped(VIPS_DIRECTION_VERTICAL)
    case 5: try turned(VIPS_ANGLE_D90).flipped(VIPS_DIRECTION_HORIZONTAL)
    case 6: try turned(VIPS_ANGLE_D90)
    case 7: try turned(VIPS_ANGLE_D90).flipped(VIPS_DIRECTION_VERTICAL)
    case 8: try turned(VIPS_ANGLE_D270)
    default: self
    }
  }

  private func turned(_ angle: VipsAngle) throws(VipsFailure) -> Picture {
    try vips("rot", ["in": .picture(self), "angle": .int(Int(angle.rawValue))])
  }

  private func flipped(_ direction: VipsDirection) throws(VipsFailure) -> Picture {
    try vips("flip", ["in": .picture(self), "direction": .int(Int(direction.rawValue))])
  }
}
