import AgentModel
import FoundationEssentials
import JSONValues

/// Required form of the device's JSON. A shape permits unknown members, because the protocol may add some. It rejects
/// members that a device must never send.
indirect enum Shape: Sendable {
    case bool
    case integer(ClosedRange<Int>)
    /// Nonempty text.
    case text
    /// Text with a length in bytes of UTF-8.
    case textOf(ClosedRange<Int>)
    case oneOf([String])
    /// Standard Base64 with padding, for this number of bytes.
    case base64(Int)
    /// Time in UTC with milliseconds (RFC 3339).
    case time
    case bssid
    case list(Shape)
    /// A list with a number of entries in this range.
    case listOf(ClosedRange<Int>, Shape)
    case object(naming: Naming = .none, [Member])

    /// Whether an object names a network, by exactly one of `ssid` and `ssidHex`.
    enum Naming { case none, optional, required }

    struct Member: Sendable {
        let name: String
        let shape: Shape
        let isRequired: Bool
    }

    /// Returns the errors in `value` with their paths; empty if the value is valid.
    func complaints(about value: JSONValue, at path: String = "") -> [String] {
        let isRight: Bool
        switch self {
        case .bool: if case .bool = value { isRight = true } else { isRight = false }
        case .integer(let range): isRight = value.integer.map(range.contains) ?? false
        case .text: isRight = value.text?.isEmpty == false
        case .textOf(let length): isRight = value.text.map { length.contains($0.utf8.count) } ?? false
        case .oneOf(let words): isRight = value.text.map(words.contains) ?? false
        case .base64(let count): isRight = value.text.map { Self.isBase64($0, of: count) } ?? false
        case .time:
            isRight =
                value.text?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil
        case .bssid: isRight = value.text?.wholeMatch(of: /[0-9a-f]{2}(:[0-9a-f]{2}){5}/) != nil
        case .list(let entry):
            guard let entries = value.array else { return ["\(place(path)) is not a list"] }
            return entries.enumerated().flatMap { entry.complaints(about: $1, at: "\(path)[\($0)]") }
        case .listOf(let count, let entry):
            if let entries = value.array, !count.contains(entries.count) { return ["\(place(path)) is not \(self)"] }
            return Shape.list(entry).complaints(about: value, at: path)
        case .object(let naming, let members):
            guard value.object != nil else { return ["\(place(path)) is not an object"] }
            return Self.complaints(about: value, naming, members, at: path)
        }
        return isRight ? [] : ["\(place(path)) is not \(self)"]
    }

    private static func complaints(
        about object: JSONValue, _ naming: Naming, _ members: [Member], at path: String
    ) -> [String] {
        let prefix = path.isEmpty ? "" : path + "."
        var complaints: [String] = []
        for member in members {
            if let value = object[member.name] {
                complaints += member.shape.complaints(about: value, at: prefix + member.name)
            } else if member.isRequired {
                complaints.append("\(prefix)\(member.name) is missing")
            }
        }
        for name in ["password", "psk", "localKey"] where object[name] != nil {
            complaints.append("\(prefix)\(name) must never leave the device")
        }
        switch (naming, object["ssid"], object["ssidHex"]) {
        case (.none, _, _), (.optional, nil, nil): break
        case (.required, nil, nil): complaints.append("\(prefix)ssid or ssidHex is missing")
        case (_, let text?, nil):
            if !(1...32).contains(text.text?.utf8.count ?? 0) { complaints.append("\(prefix)ssid is not an SSID") }
        case (_, nil, let hex?):
            if !isHexOfWhatIsNoText(hex.text ?? "") {
                complaints.append("\(prefix)ssidHex is not the hexadecimal form of an SSID that is not UTF-8")
            }
        case (_, _?, _?): complaints.append("\(prefix)ssid and ssidHex exclude each other")
        }
        return complaints
    }

    private static func isHexOfWhatIsNoText(_ text: String) -> Bool {
        guard let bytes = Hex.bytes(text), (1...32).contains(bytes.count) else { return false }
        return String(validating: bytes, as: UTF8.self) == nil
    }

    private static func isBase64(_ text: String, of count: Int) -> Bool {
        guard let bytes = Data(base64Encoded: text) else { return false }
        return bytes.count == count && bytes.base64EncodedString() == text
    }

    private func place(_ path: String) -> String { path.isEmpty ? "the body" : path }
}

extension Shape: CustomStringConvertible {
    var description: String {
        switch self {
        case .bool: "true or false"
        case .integer(let range) where range.upperBound == .max: "a whole number from \(range.lowerBound)"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .text: "text"
        case .textOf(let length): "text of \(length.lowerBound) to \(length.upperBound) bytes"
        case .oneOf(let words): "one of \(words.joined(separator: ", "))"
        case .base64(let count): "the Base64 of \(count) bytes"
        case .time: "a time such as 2026-02-03T04:05:06.789Z"
        case .bssid: "a BSSID such as 02:00:00:00:01:00"
        case .list: "a list"
        case .listOf(let count, _): "a list of \(count.lowerBound) to \(count.upperBound)"
        case .object: "an object"
        }
    }
}

extension Shape.Member {
    static func required(_ name: String, _ shape: Shape) -> Self { Self(name: name, shape: shape, isRequired: true) }
    static func optional(_ name: String, _ shape: Shape) -> Self { Self(name: name, shape: shape, isRequired: false) }
}
