extension DHCPMessage: CustomStringConvertible {
    /// One line: the kind, the given address, and the options by number. Safe to print: text of a server has no
    /// control characters.
    public var description: String {
        let address = yourAddress == .unspecified ? "" : " \(yourAddress)"
        let list = options.entries.map { "\($0.option.rawValue)=\(Self.text(of: $0.option, $0.value))" }
        return "\(kind)".uppercased() + address + (list.isEmpty ? "" : "  " + list.joined(separator: " "))
    }

    private static func text(of option: DHCPOption, _ value: [UInt8]) -> String {
        switch option {
        case .subnetMask, .routers, .nameServers, .timeServers, .requestedAddress, .serverIdentifier:
            guard !value.isEmpty, value.count.isMultiple(of: 4) else { break }
            return stride(from: 0, to: value.count, by: 4).compactMap { IPv4Address(bytes: value[$0..<($0 + 4)]) }
                .map(\.description).joined(separator: ",")
        case .leaseTime, .renewalTime, .rebindingTime, .mtu, .longestMessage:
            guard value.count <= 4 else { break }
            return "\(value.reduce(0) { $0 << 8 | UInt32($1) })"
        case .parameterList: return value.map(String.init).joined(separator: ",")
        case .hostName, .domainName, .text, .captivePortal: return "\"\(String(printable: value))\""
        default: break
        }
        return value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
