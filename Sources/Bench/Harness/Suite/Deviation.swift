/// What a check found wrong: what the protocol promises, and what the device did instead.
struct Deviation: Error, Equatable {
    let expected: String
    let got: String

    init(_ expected: String, got: String) {
        self.expected = expected
        self.got = got
    }
}

/// Why a check could not be made.
struct Obstacle: Error, Equatable {
    let why: String

    init(_ why: String) { self.why = why }
}

/// - Parameter got: what is reported where `isAsPromised` is false.
func expect(_ expected: String, _ isAsPromised: Bool, got: @autoclosure () -> String) throws(Deviation) {
    guard isAsPromised else { throw Deviation(expected, got: got()) }
}

func expect<Value: Equatable>(_ what: String, _ got: Value, is wanted: Value) throws(Deviation) {
    guard got == wanted else { throw Deviation("\(what): \(wanted)", got: "\(got)") }
}

/// Lets time pass, shorter where the task is cancelled.
func pause(_ time: Duration) async { try? await Task.sleep(for: time) }
