import Randomness

/// Random numbers as a pure function of seed, subject and time. They do not depend on the order of calls, so all
/// policies meet the same signals and losses.
struct Noise: Sendable {
    private let key: UInt64

    /// - Parameter pass: number of the pass. Each pass of a scenario has different noise.
    init(seed: UInt64, pass: Int64) {
        key = SeededRandom.mixed(seed &+ SeededRandom.mixed(UInt64(bitPattern: pass) &+ SeededRandom.step))
    }

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

    /// Returns a uniformly distributed number in 0 ..< 1.
    func share(_ subject: Subject, of accessPoint: Int, _ index: Int64) -> Double {
        Double(bits(subject, of: accessPoint, index) >> 11) * 0x1p-53
    }

    func number(_ subject: Subject, of accessPoint: Int, _ index: Int64, in range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(share(subject, of: accessPoint, index) * Double(range.count))
    }

    /// Returns a nearly normal number with mean 0 and standard deviation 1, within ±`deviationLimit`. It is a scaled
    /// sum of four uniform numbers (Irwin-Hall distribution).
    func deviation(_ subject: Subject, of accessPoint: Int, _ index: Int64) -> Double {
        let bits = bits(subject, of: accessPoint, index)
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + bits >> 48
        return (Double(sum) / 65535 - 2) * 3.0.squareRoot()
    }

    /// Maximum of `deviation`, in standard deviations.
    static let deviationLimit = 2 * 3.0.squareRoot()
}

/// A value that changes in steps over a pass. Times are milliseconds since the start of the pass.
struct Steps<Value: Sendable>: Sendable {
    private var starts: [Int64] = [0]
    private var values: [Value]

    init(_ first: Value) { values = [first] }

    var last: Value { values[values.count - 1] }

    var all: [Value] { values }

    /// Sets the value from `start` on, and drops later values.
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

    /// Returns the value at a time, and the start and end of its step.
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

/// A number that changes linearly. Times are milliseconds since the start of the run or of a pass.
struct Ramp: Sendable {
    let origin: Int64
    let value: Double
    /// Slope per millisecond.
    let slope: Double

    func value(at moment: Int64) -> Double { value + slope * Double(moment - origin) }
}

struct Motion: Sendable {
    let origin: Int64
    let start: Scenario.Point
    /// Velocity in metres per millisecond.
    let velocity: Scenario.Point

    var isStill: Bool { velocity.x == 0 && velocity.y == 0 }

    func position(at moment: Int64) -> Scenario.Point {
        let time = Double(moment - origin)
        return Scenario.Point(x: start.x + velocity.x * time, y: start.y + velocity.y * time)
    }
}
