extension Target {
    /// Reads the setting of all targets: `NAME=[SCHEME://]HOST:PORT`, separated by spaces.
    public static func all(_ setting: String) throws(TargetError) -> [Target] {
        var targets: [Target] = []
        for word in setting.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\n" }) {
            let target = try Target(setting: String(word))
            guard !targets.contains(where: { $0.name == target.name }) else { throw .duplicateName(target.name) }
            targets.append(target)
        }
        guard targets.count <= largestCount else { throw .tooMany(targets.count) }
        return targets
    }

    /// - Parameter setting: `broker=mqtts://mqtt.example.com:8883`, `app=tls://app.example.com:443`, `box=[fd00::1]:22`;
    ///   without a scheme it is `tcp`.
    public init(setting: String) throws(TargetError) {
        guard let equals = setting.firstIndex(of: "=") else { throw .malformed(setting) }
        let name = String(setting[..<equals])
        guard (1...Self.longestName).contains(name.utf8.count), name.utf8.allSatisfy(\.isNameCharacter) else {
            throw .badName(name)
        }
        var rest = setting[setting.index(after: equals)...]
        var scheme = Scheme.tcp
        if let parts = rest.split(atFirst: "://") {
            guard let known = Scheme(rawValue: String(parts.before)) else { throw .badScheme(String(parts.before)) }
            scheme = known
            rest = parts.after
        }
        guard let colon = rest.lastIndex(of: ":") else { throw .malformed(setting) }
        let (host, port) = (rest[..<colon], rest[rest.index(after: colon)...])
        guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy(\.isDigit), let number = Int(port),
            (1...65_535).contains(number)
        else { throw .badPort(String(port)) }
        self.init(
            name: name, host: try Self.checked(host: host), port: number, service: scheme.service, isTLS: scheme.isTLS)
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// A letter, a digit, `-` or `_`.
    fileprivate var isNameCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: isDigit
        }
    }
}

extension Substring {
    /// What is before the first `separator` and what is behind it; nil without one.
    fileprivate func split(atFirst separator: String) -> (before: Substring, after: Substring)? {
        for index in indices where self[index...].hasPrefix(separator) {
            return (self[..<index], self[self.index(index, offsetBy: separator.count)...])
        }
        return nil
    }
}
