import Randomness

/// Randomness that is a pure function of what it is for: the same seed, subject and moment always give the same number,
/// in whatever order policies ask. So every policy meets the same air.
struct Noise: Sendable {
    private let key: UInt64

    /// - Parameter pass: every pass of a scenario has noise of its own.
    init(seed: UInt64, pass: Int64) {
        key = SeededRandom.mixed(seed &+ SeededRandom.mixed(UInt64(bitPattern: pass) &+ SeededRandom.step))
    }

    /// What the randomness is for.
    enum Subject: UInt64 {
        case shadowing = 1
        case fading
        case averagedFading
        case sighting
        case frame
        case lossDetection
        case thresholdReport
        case association
        case beacon
        case reconnection
    }

    private func bits(_ subject: Subject, of accessPoint: Int, _ index: Int64) -> UInt64 {
        let place = UInt64(truncatingIfNeeded: accessPoint) << 8 | subject.rawValue
        return SeededRandom.mixed(SeededRandom.mixed(key ^ place &* 0xd6e8_feb8_6659_fd93) &+ UInt64(bitPattern: index))
    }

    /// Evenly distributed in 0 ..< 1.
    func share(_ subject: Subject, of accessPoint: Int, _ index: Int64) -> Double {
        Double(bits(subject, of: accessPoint, index) >> 11) * 0x1p-53
    }

    /// Evenly distributed between the bounds.
    func number(_ subject: Subject, of accessPoint: Int, _ index: Int64, in range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(share(subject, of: accessPoint, index) * Double(range.count))
    }

    /// Nearly normal with mean 0 and standard deviation 1: the sum of four even distributions (Irwin and Hall), which
    /// never leaves ±`deviationLimit`.
    func deviation(_ subject: Subject, of accessPoint: Int, _ index: Int64) -> Double {
        let bits = bits(subject, of: accessPoint, index)
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + bits >> 48
        return (Double(sum) / 65535 - 2) * 3.0.squareRoot()
    }

    /// No deviation is greater than this many standard deviations.
    static let deviationLimit = 2 * 3.0.squareRoot()
}

/// A value that changes at moments, from the beginning of a pass on. Moments are milliseconds since then.
struct Steps<Value: Sendable>: Sendable {
    private var starts: [Int64] = [0]
    private var values: [Value]

    init(_ first: Value) { values = [first] }

    var last: Value { values[values.count - 1] }

    /// In the order of time.
    var all: [Value] { values }

    /// From `start` on it is `value`, whatever was set for later.
    mutating func set(_ value: Value, from start: Int64) {
        while starts.count > 1, starts[starts.count - 1] >= start { dropLast() }
        if starts[starts.count - 1] >= start {
            values[values.count - 1] = value
        } else {
            starts.append(start)
            values.append(value)
        }
    }

    private mutating func dropLast() {
        starts.removeLast()
        values.removeLast()
    }

    /// The value at a moment, and from when until when it is that one.
    func step(at moment: Int64) -> (value: Value, start: Int64, end: Int64) {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= moment { low = middle } else { high = middle }
        }
        return (values[low], starts[low], high < starts.count ? starts[high] : .max)
    }
}

/// A number that changes at an even pace. Moments are milliseconds since the beginning of the run or of a pass.
struct Line: Sendable {
    let origin: Int64
    let value: Double
    /// Per millisecond.
    let slope: Double

    func value(at moment: Int64) -> Double { value + slope * Double(moment - origin) }
}

/// How something moves.
struct Motion: Sendable {
    let origin: Int64
    let start: Scenario.Point
    /// In metres per millisecond.
    let velocity: Scenario.Point

    var isStill: Bool { velocity.x == 0 && velocity.y == 0 }

    func position(at moment: Int64) -> Scenario.Point {
        let time = Double(moment - origin)
        return Scenario.Point(x: start.x + velocity.x * time, y: start.y + velocity.y * time)
    }
}
