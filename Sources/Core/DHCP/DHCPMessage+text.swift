import AgentModel

extension DHCPMessage: CustomStringConvertible {
    /// One line: the kind, the given address, and the options by number. Safe to print: text of a server has no
    /// control characters.
    public var description: String {
        let address = yourAddress == .unspecified ? "" : " \(yourAddress)"
        let list = options.entries.map { "\($0.option.rawValue)=\(text(of: $0.option, $0.value))" }
        return "\(kind)".uppercased() + address + (list.isEmpty ? "" : "  " + list.joined(separator: " "))
    }

    private func text(of option: DHCPOption, _ value: [UInt8]) -> String {
        switch option {
        case .subnetMask, .routers, .nameServers, .timeServers, .requestedAddress, .serverIdentifier:
            guard case .success(let addresses?) = options.addresses(option) else { break }
            return addresses.map(\.description).joined(separator: ",")
        case .leaseTime, .renewalTime, .rebindingTime, .mtu, .longestMessage:
            guard value.count <= 4 else { break }
            return "\(value.reduce(0) { $0 << 8 | UInt32($1) })"
        case .parameterList: return value.map(String.init).joined(separator: ",")
        case .hostName, .domainName, .text, .captivePortal: return "\"\(String(printable: value))\""
        default: break
        }
        return Hex.string(value)
    }
}
