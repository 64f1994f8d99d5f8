/// Numbers that stand for passwords, for fast comparison. Open networks have the number 0.
struct Keys {
    private var numbers: [String: AccessPointState.Key] = [:]

    static let open: AccessPointState.Key = 0

    mutating func key(for password: String?) -> AccessPointState.Key {
        guard let password else { return Self.open }
        if let number = numbers[password] { return number }
        let number = numbers.count + 1
        numbers[password] = number
        return number
    }
}

/// States of an access point over a pass, built in order of time.
struct StateHistory {
    private(set) var steps: Steps<AccessPointState>
    /// Current passwords of the device for networks with this SSID.
    private var known: [AccessPointState.Key]
    /// Current and earlier passwords of the device for these networks.
    private var provided: Set<AccessPointState.Key>

    init(_ accessPoint: Scenario.AccessPoint, known: [AccessPointState.Key], keys: inout Keys) {
        self.known = known
        provided = Set(known)
        var first = AccessPointState(
            isOn: accessPoint.isOn, internet: accessPoint.internet, addressTime: accessPoint.addressTime,
            isFull: accessPoint.isFull, admission: .notKnown, key: keys.key(for: accessPoint.password),
            hasToldKey: false)
        Self.judge(&first, known: known, provided: provided)
        steps = Steps(first)
    }

    mutating func change(at moment: Int64, _ change: (inout AccessPointState) -> Void) {
        var state = steps.last
        change(&state)
        Self.judge(&state, known: known, provided: provided)
        steps.set(state, from: moment)
    }

    mutating func provide(_ key: AccessPointState.Key, at moment: Int64) {
        guard !known.isEmpty else { return }
        known[0] = key
        provided.insert(key)
        change(at: moment) { _ in }
    }

    private static func judge(
        _ state: inout AccessPointState, known: [AccessPointState.Key], provided: Set<AccessPointState.Key>
    ) {
        let key = state.key
        state.hasToldKey = provided.contains(key)
        state.admission =
            if known.contains(key) {
                .admitted
            } else if key != Keys.open, known.contains(where: { $0 != Keys.open }) {
                .wrongPassword
            } else {
                .notKnown
            }
    }
}
