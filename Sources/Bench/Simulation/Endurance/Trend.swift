/// Straight line through values of equal distance, by least squares.
public struct Trend: Sendable {
    public let slope: Double
    /// Half of the slope's 95 % confidence interval; infinite for fewer than three values.
    public let error: Double

    public init(_ values: [Double]) {
        let count = Double(values.count)
        guard values.count > 2 else {
            (slope, error) = (0, .infinity)
            return
        }
        let (middle, mean) = ((count - 1) / 2, values.reduce(0, +) / count)
        let places = values.indices.map { Double($0) - middle }
        let squares = places.reduce(0) { $0 + $1 * $1 }
        let slope = zip(places, values).reduce(0) { $0 + $1.0 * ($1.1 - mean) } / squares
        let rest = zip(places, values).reduce(0) { sum, point in
            let distance = point.1 - mean - slope * point.0
            return sum + distance * distance
        }
        self.slope = slope
        error = SeedSample.student(values.count - 2) * (rest / (count - 2) / squares).squareRoot()
    }

    /// Whether growth by more than `tolerance` per value is excluded, or no growth is shown.
    public func isFlat(tolerance: Double) -> Bool { slope - error <= 0 || slope + error <= tolerance }
}
