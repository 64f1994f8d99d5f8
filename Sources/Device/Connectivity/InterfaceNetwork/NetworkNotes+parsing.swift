import AgentModel

extension NetworkNotes {
    /// More are not asked: a network has two or three.
    static let maximumServers = 6
    static let longestURL = 2048
    /// What a network says that has no captive portal (RFC 8910, 2).
    private static let unrestricted = "urn:ietf:params:capport:unrestricted"

    /// Reads lines of `KEY=value`, such as our hook for dhcpcd writes and systemd-networkd; what is not understood is
    /// stepped over, and of a key that comes twice the last counts, as in a shell.
    /// - Parameter servers: the key of the name servers.
    init(assignments text: some Collection<UInt8>, servers: String) {
        self.init()
        for (key, value) in Self.assignments(text) {
            switch key {
            case servers: nameServers = Self.servers(Self.words(value))
            case "CAPTIVE_PORTAL": captivePortalAPI = Self.url(value)
            default: break
            }
        }
    }

    /// Reads what systemd-networkd notes of a link. While the link leads nowhere that is nothing: what it had before it may
    /// keep for some seconds (`IgnoreCarrierLoss=`), and writes it anew with each change.
    init(link text: some Collection<UInt8>) {
        self.init(assignments: text, servers: "DNS")
        let states = Self.assignments(text).filter { $0.key == "OPER_STATE" }
        if let state = states.last, !state.value.elementsEqual("routable".utf8) { self.init() }
    }

    private static func assignments<Text: Collection<UInt8>>(
        _ text: Text
    ) -> [(key: String, value: Text.SubSequence)] {
        lines(text).compactMap { line in
            line.firstIndex(of: UInt8(ascii: "=")).map { equals in
                (String(decoding: line[..<equals], as: UTF8.self), line[line.index(after: equals)...])
            }
        }
    }

    /// Reads what resolv.conf(5) describes.
    init(resolverConfiguration text: some Collection<UInt8>) {
        let servers = Self.lines(text).compactMap { line -> String? in
            let words = Self.words(line)
            return words.first == "nameserver" ? words.dropFirst().first : nil
        }
        self.init(nameServers: Self.servers(servers))
    }

    private static func lines<Text: Collection<UInt8>>(_ text: Text) -> [Text.SubSequence] {
        text.split(separator: UInt8(ascii: "\n"))
    }

    private static func words(_ line: some Collection<UInt8>) -> [String] {
        line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func servers(_ words: [String]) -> [NameServer] {
        var servers: [NameServer] = []
        for word in words {
            guard servers.count < maximumServers, let server = NameServer(word), !servers.contains(server) else {
                continue
            }
            servers.append(server)
        }
        return servers
    }

    private static func url(_ value: some Collection<UInt8>) -> String? {
        let text = String(decoding: value, as: UTF8.self)
        guard (1...longestURL).contains(value.count), value.allSatisfy({ (0x21...0x7e).contains($0) }),
            text.lowercased() != unrestricted
        else { return nil }
        return text
    }
}

extension NameServer {
    /// Reads `ADDRESS`, or as resolved.conf(5) has it `ADDRESS:PORT%INTERFACE#NAME`, IPv6 addresses before a port in
    /// brackets. Interface and name are left out.
    init?(_ text: String) {
        let text = text.prefix { $0 != "#" }
        if let address = IPAddress(text) {
            self.init(address)
            return
        }
        let place = text.prefix { $0 != "%" }
        guard let colon = place.lastIndex(of: ":"), let port = UInt16(place[place.index(after: colon)...]), port > 0
        else { return nil }
        let host = place[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard let address = IPAddress(isBracketed ? host.dropFirst().dropLast() : host),
            (address.family == .ipv4) != isBracketed
        else { return nil }
        self.init(address, port: Int(port))
    }
}
