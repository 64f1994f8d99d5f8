import NIOCore

extension Target {
    /// - Parameter text: a name, an IPv4 address, or an IPv6 address in brackets.
    /// - Returns: the same, without the brackets.
    static func checked(host text: Substring) throws(TargetError) -> String {
        let host = String(text)
        if text.first == "[", text.last == "]" {
            let address = String(text.dropFirst().dropLast())
            // The zone of a link-local address is that of the interface; to be asked for is only the address.
            guard address.utf8.count <= 45, !address.contains("%"), address.contains(":"), isAddress(address) else {
                throw .badHost(host)
            }
            return address
        }
        guard isAddress(host) && !host.contains(":") || isHostName(host) else { throw .badHost(host) }
        return host
    }

    var isAddress: Bool { Self.isAddress(host) }

    private static func isAddress(_ text: String) -> Bool {
        (try? SocketAddress(ipAddress: text, port: 0)) != nil
    }

    /// RFC 1123, 2.1, with the lengths of RFC 1035, 2.3.4; one dot at the end is allowed. A name of which the last label
    /// is a number is a mistaken address (as the URL standard has it).
    private static func isHostName(_ text: String) -> Bool {
        let name = text.last == "." ? text.dropLast() : text[...]
        guard (1...253).contains(name.utf8.count) else { return false }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        return labels.allSatisfy(isLabel) && labels.last?.utf8.allSatisfy(\.isDigit) == false
    }

    /// An underscore is no letter of a host's name, and yet there are resolvers and servers that have one.
    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
            && label.utf8.allSatisfy(\.isNameCharacter)
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// A letter, a digit, `-` or `_`.
    var isNameCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: isDigit
        }
    }
}

extension Substring {
    /// What is before the first `separator` and what is behind it; nil without one.
    func split(atFirst separator: String) -> (before: Substring, after: Substring)? {
        for index in indices where self[index...].hasPrefix(separator) {
            return (self[..<index], self[self.index(index, offsetBy: separator.count)...])
        }
        return nil
    }
}
