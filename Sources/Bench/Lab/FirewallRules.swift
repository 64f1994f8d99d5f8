/// How a firewall turns something away.
public enum Blockage: String, Hashable, Sendable {
    /// In silence: the sender never hears of it.
    case drop
    /// With an answer: a reset for TCP, "prohibited" (ICMP) for all else.
    case reject
}

/// The rules of a firewall in one network namespace, as nftables has them.
struct FirewallRules {
    enum Rule {
        /// Everything.
        case everything(Blockage)
        /// Name servers, UDP and TCP.
        case names(Blockage)
        /// A TCP port.
        case port(UInt16, Blockage)
    }

    /// About what is for the machine itself.
    var inputs: [Rule] = []
    /// About what goes through it, both ways.
    var forwards: [Rule] = []
    /// Clients that have to sign in first: nothing of theirs goes through before that but questions to name servers,
    /// and what they ask a web server for comes to the machine itself.
    var portal: Gate?
    /// The interface whose clients' questions to name servers, whichever they ask, come to the machine itself.
    var ownNames: String?

    struct Gate {
        /// The interface of the clients.
        var interface: String
        /// Whether the machine itself answers for every server in the internet, on every TCP port: TLS on 443, else
        /// HTTP.
        var answersForEverybody = false
    }

    /// Each of its own in one namespace.
    var table = Self.routers
    static let routers = "inet lab"
    /// The addresses of the clients that have signed in.
    static let signedIn = "signed_in"

    /// Puts these rules in the place of all that were in the table, at once.
    ///
    /// - Parameter file: where to write them.
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
            // Every address outside the lab's own networks (10.0.0.0/8) is in the internet.
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
