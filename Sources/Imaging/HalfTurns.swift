/// Sine and cosine of half turns, made with nothing but the four operations, which every CPU rounds
/// alike; a library's are free to differ in their last bit.
enum HalfTurns {
  /// sin(πx) for x ≥ 0, by its series after reduction to a quarter turn.
  static func sine(_ x: Double) -> Double {
    let turns = x.rounded(.down)
    let fraction = x - turns
    let angle = Double.pi * min(fraction, 1 - fraction)
    var term = angle
    var sum = angle
    for power in stride(from: 2.0, to: 24, by: 2) {
      term = -term * angle * angle / (power * (power + 1))
      sum += term
    }
    return Int(turns) % 2 == 0 ? sum : -sum
  }

  /// cos(πx) for x ≥ 0.
  static func cosine(_ x: Double) -> Double { sine(x + 0.5) }
}
