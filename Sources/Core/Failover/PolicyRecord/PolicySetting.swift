import AgentModel

/// One setting of the policy, by the name it has in `PolicySettings`: `margin`, `five.weak`, `look.first`. Records,
/// scenarios and `altnet-lab replay --set` have the same names and values.
public struct PolicySetting: Sendable {
    public typealias Path<Value> = WritableKeyPath<PolicySettings, Value> & Sendable

    public let name: String
    private let access: Access

    private enum Access: Sendable {
        case isOn(Path<Bool>)
        case number(Quantity, Path<Int>)
        case duration(Path<Duration>)
        /// Parts of `validation`, which is on as soon as one of them is set.
        case proofNumber(Path<Int>)
        case proofDuration(Path<Duration>)
    }

    enum Quantity: Sendable {
        case signal, decibels, count
    }

    private init(_ name: String, _ access: Access) {
        self.name = name
        self.access = access
    }

    static func isOn(_ name: String, _ path: Path<Bool>) -> Self { Self(name, .isOn(path)) }

    static func number(_ name: String, _ quantity: Quantity, _ path: Path<Int>) -> Self {
        Self(name, .number(quantity, path))
    }

    static func duration(_ name: String, _ path: Path<Duration>) -> Self { Self(name, .duration(path)) }

    static func proofNumber(_ name: String, _ path: Path<Int>) -> Self { Self(name, .proofNumber(path)) }

    static func proofDuration(_ name: String, _ path: Path<Duration>) -> Self { Self(name, .proofDuration(path)) }

    /// Whether records of earlier versions have a setting of this name, which means nothing any more.
    static func isRetired(_ name: some StringProtocol) -> Bool { name == "provenAfter" }

    public static func named(_ name: some StringProtocol) -> PolicySetting? { all.first { $0.name == name } }
}

// MARK: Values

extension PolicySetting {
    /// What a value is, as the end of "expected ...".
    public var form: String {
        switch access {
        case .isOn: "on or off"
        case .number(let quantity, _): quantity.form
        case .duration: "a time with its unit, such as 30s or 1h30m"
        case .proofNumber: Quantity.count.form
        case .proofDuration: "a time of at least 1ms, such as 30s"
        }
    }

    /// The value as `set` reads it; nil for a part of `validation` where that is off.
    public func value(in settings: PolicySettings) -> String? {
        switch access {
        case .isOn(let path): settings[keyPath: path] ? "on" : "off"
        case .number(_, let path): settings[keyPath: path].word
        case .duration(let path): settings[keyPath: path].word
        case .proofNumber(let path): settings.isValidating ? settings[keyPath: path].word : nil
        case .proofDuration(let path): settings.isValidating ? settings[keyPath: path].word : nil
        }
    }

    /// Whether the values of several settings agree is for `PolicySettings.contradiction` to say.
    /// - Parameter text: `10`, `10dB`, `-70`, `-70dBm`, `90s`, `1h30m`, `on`.
    /// - Returns: false where `text` is no such value, and nothing is set then.
    public func set(_ text: some StringProtocol, in settings: inout PolicySettings) -> Bool {
        switch access {
        case .isOn(let path): assign(["on": true, "off": false][String(text)], to: path, in: &settings)
        case .number(let quantity, let path): assign(quantity.number(text), to: path, in: &settings)
        case .duration(let path): assign(Duration(inUnits: text), to: path, in: &settings)
        case .proofNumber(let path): assign(Quantity.count.number(text), to: path, in: &settings)
        case .proofDuration(let path):
            assign(Duration(inUnits: text).flatMap { $0 > .zero ? $0 : nil }, to: path, in: &settings)
        }
    }

    private func assign<Value>(_ value: Value?, to path: Path<Value>, in settings: inout PolicySettings) -> Bool {
        guard let value else { return false }
        settings[keyPath: path] = value
        return true
    }
}

extension PolicySetting.Quantity {
    fileprivate var form: String {
        switch self {
        case .signal: "a signal in dBm such as -70"
        case .decibels: "decibels from 0 to 60"
        case .count: "a number from 0 to 1000"
        }
    }

    /// The unit may be left out.
    fileprivate func number(_ text: some StringProtocol) -> Int? {
        let (unit, range) =
            switch self {
            case .signal: ("dBm", -110 ... -1)
            case .decibels: ("dB", 0...60)
            case .count: ("", 0...1000)
            }
        let digits = text.hasSuffix(unit) ? text.dropLast(unit.count) : text[...]
        guard !digits.hasPrefix("+"), let number = Int(digits), range.contains(number) else { return nil }
        return number
    }
}
