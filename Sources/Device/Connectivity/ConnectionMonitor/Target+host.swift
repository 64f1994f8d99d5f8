import AgentModel

extension Target {
    /// - Parameter text: a name, an IPv4 address, or an IPv6 address in brackets.
    /// - Returns: the same, without the brackets.
    static func checked(host text: Substring) throws(TargetError) -> String {
        // The zone of a link-local address is that of the interface; to be asked for is only the address.
        if text.first == "[", text.last == "]", !text.contains("%") {
            let address = text.dropFirst().dropLast()
            guard address.contains(":"), IPAddress(address) != nil else { throw .badHost(String(text)) }
            return String(address)
        }
        guard !text.contains(":"), (try? Host(String(text))) != nil else { throw .badHost(String(text)) }
        return String(text)
    }

    var isAddress: Bool { IPAddress(host) != nil }
}
