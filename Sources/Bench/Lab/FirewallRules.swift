public enum Blockage: String, Hashable, Sendable {
    /// Drops packets without an answer.
    case drop
    /// Rejects packets with an answer: reset for TCP, "administratively prohibited" (ICMP) for others.
    case reject
}

/// nftables firewall rules of one network namespace.
struct FirewallRules {
    enum Rule {
        case everything(Blockage)
        /// DNS over UDP and TCP.
        case names(Blockage)
        case port(UInt16, Blockage)
    }

    var inputs: [Rule] = []
    /// Rules for forwarded packets, in both directions.
    var forwards: [Rule] = []
    /// Captive portal; nil for none. Before a client signs in, only DNS passes, and this machine answers its HTTP
    /// requests.
    var portal: Gate?
    /// Interface whose clients' DNS queries this machine answers; nil for none.
    var ownNames: String?

    struct Gate {
        var interface: String
        /// Whether this machine answers for all servers in the internet: TLS on TCP port 443, HTTP on all other TCP
        /// ports.
        var answersForEverybody = false
    }

    /// Name of the table. Each set of rules in a namespace needs a different name.
    var table = Self.routers
    static let routers = "inet lab"
    static let signedIn = "signed_in"

    /// Replaces the table's rules atomically.
    func apply(in namespace: NetworkNamespace, file: String) throws(LabError) {
        try Lab.write(text, to: file)
        try namespace.enter { () throws(LabError) in try Program.run("nft", ["-f", file], log: "\(file).log") }
    }

    private var text: String {
        var lines = ["table \(table)", "delete table \(table)", "table \(table) {"]
        lines += ["set \(Self.signedIn) { type ipv4_addr; }"]
        lines += chain("input", inputs.flatMap(\.statements))
        var redirections = ownNames.map { ["iifname \"\($0)\" udp dport 53 redirect to :53"] } ?? []
        let stranger = portal.map { "iifname \"\($0.interface)\" ip saddr != @\(Self.signedIn)" }
        lines += chain(
            "forward",
            forwards.flatMap(\.statements)
                + (stranger.map { ["\($0) udp dport != 53 reject with icmpx admin-prohibited"] } ?? [])
                + (stranger.map { ["\($0) meta l4proto != udp reject with icmpx admin-prohibited"] } ?? []))
        if let stranger {
            // Addresses outside the lab's networks (10.0.0.0/8) count as the internet.
            let everybody = portal?.answersForEverybody == true ? "ip daddr != 10.0.0.0/8" : nil
            redirections += everybody.map { ["\(stranger) \($0) tcp dport 443 redirect to :443"] } ?? []
            redirections += [
                "\(stranger) \(everybody.map { "\($0) tcp dport != 53" } ?? "tcp dport 80") redirect to :80"
            ]
        }
        if !redirections.isEmpty {
            lines += ["chain prerouting { type nat hook prerouting priority dstnat;"] + redirections + ["}"]
        }
        return (lines + ["}"]).map { $0 + "\n" }.joined()
    }

    private func chain(_ hook: String, _ statements: [String]) -> [String] {
        guard !statements.isEmpty else { return [] }
        return ["chain \(hook) { type filter hook \(hook) priority filter;"] + statements + ["}"]
    }
}

extension FirewallRules.Rule {
    fileprivate var statements: [String] {
        switch self {
        case .everything(.drop): ["drop"]
        case .everything(.reject): ["reject with icmpx admin-prohibited"]
        case .names(let blockage): ["udp dport 53 \(blockage)", "tcp dport 53 \(blockage)"]
        case .port(let port, .drop): ["tcp dport \(port) drop"]
        case .port(let port, .reject): ["tcp dport \(port) reject with tcp reset"]
        }
    }
}
