/// How a firewall turns something away.
public enum Blockage: String, Hashable, Sendable {
    /// In silence: whoever sends it never hears of it.
    case drop
    /// With an answer: a reset for TCP, "prohibited" (ICMP) for all else.
    case reject
}

/// What a firewall does in one network namespace, as nftables has it.
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
    /// The interface whose clients have to sign in first: nothing of theirs goes through before that but questions to name
    /// servers, and what they ask a web server for comes to the machine itself.
    var portal: String?

    static let table = "inet lab"
    /// The addresses of the clients that have signed in.
    static let signedIn = "signed_in"

    /// Puts these rules in the place of all that were there, at once.
    ///
    /// - Parameter file: where to write them.
    func apply(in namespace: NetworkNamespace, file: String) throws(LabError) {
        try Lab.write(text, to: file)
        try namespace.enter { () throws(LabError) in try Program.run("nft", ["-f", file], log: "\(file).log") }
    }

    private var text: String {
        var lines = ["flush ruleset", "table \(Self.table) {"]
        lines += ["set \(Self.signedIn) { type ipv4_addr; }"]
        lines += chain("input", inputs.flatMap(\.statements))
        let stranger = portal.map { "iifname \"\($0)\" ip saddr != @\(Self.signedIn)" }
        lines += chain(
            "forward",
            forwards.flatMap(\.statements)
                + (stranger.map { ["\($0) udp dport != 53 reject with icmpx admin-prohibited"] } ?? [])
                + (stranger.map { ["\($0) meta l4proto != udp reject with icmpx admin-prohibited"] } ?? []))
        if let stranger {
            lines += ["chain prerouting { type nat hook prerouting priority dstnat;"]
            lines += ["\(stranger) tcp dport 80 redirect to :80", "}"]
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
