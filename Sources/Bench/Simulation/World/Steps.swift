/// A value that changes at moments, from the beginning of a pass on. Moments are milliseconds since then.
struct Steps<Value: Sendable>: Sendable {
    private var starts: [Int64] = [0]
    private var values: [Value]

    init(_ first: Value) { values = [first] }

    var last: Value { values[values.count - 1] }

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
