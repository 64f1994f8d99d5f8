import FoundationEssentials
import Glibc

/// Faults of address assignment, and the times of associations.
extension AccessPoint {
    /// Drops the next packets of each kind between radio and network. Each call replaces the previous one.
    /// - Parameters:
    ///   - questions: number of packets to drop that are addressed to DHCP servers.
    ///   - answers: number of packets to drop from the access point's DHCP server.
    ///   - resolutions: number of ARP requests to drop.
    public func lose(questions: Int = 0, answers: Int = 0, resolutions: Int = 0) throws {
        func chain(_ hook: String, _ rules: [(what: String, count: Int)]) -> [String] {
            // The bucket holds this many packets and is not refilled during a scenario.
            ["chain \(hook) { type filter hook \(hook) device \"\(radio.interface)\" priority filter;"]
                + rules.filter { $0.count > 0 }.map {
                    "\($0.what) limit rate 1/day burst \($0.count) packets counter drop"
                }
                + ["}"]
        }
        let lines =
            ["table \(Self.losses)", "delete table \(Self.losses)", "table \(Self.losses) {"]
            + chain("ingress", [("udp dport 67", questions), ("arp operation request", resolutions)])
            + chain("egress", [("udp sport 67", answers)]) + ["}"]
        let file = "\(directory)/losses\(number).nft"
        try Lab.write(lines.map { $0 + "\n" }.joined(), to: file)
        try namespace.enter { () throws(LabError) in try Program.run("nft", ["-f", file], log: "\(file).log") }
    }

    /// Number of packets dropped since the last call of `lose`.
    public var lost: Int {
        get throws {
            let log = "\(directory)/losses\(number).log"
            unlink(log)
            try namespace.enter { () throws(LabError) in
                try Program.run(
                    "nft", ["list", "table"] + Self.losses.split(separator: " ").map(String.init), log: log)
            }
            let words = try String(contentsOfFile: log, encoding: .utf8).split(whereSeparator: \.isWhitespace)
            return zip(words, words.dropFirst(2)).filter { $0.0 == "counter" }.compactMap { Int($0.1) }.reduce(0, +)
        }
    }

    private static let losses = "netdev losses"

    /// Adds a host with this address to the access point's network. The host has a separate hardware address and
    /// answers ARP and pings.
    public func addHost(at address: IPv4Address) throws {
        try namespace.enter { () throws(LabError) in
            // Without this setting, the access point's interface also answers ARP for the host's address.
            try Lab.write("1\n", to: "/proc/sys/net/ipv4/conf/\(radio.interface)/arp_ignore")
        }
        try Lab.batch(
            [
                "link add link \(radio.interface) name host\(number) address 02:00:5e:00:53:\(number + 10) type macvlan mode bridge",
                "address add \(address)/32 dev host\(number)", "link set host\(number) up",
            ], in: namespace, directory: directory)
    }

    /// Times of associations in order. hostapd logs each when it has sent its answer (IEEE 802.11, 11.3.5.3), before
    /// the key handshake.
    public var associations: [ContinuousClock.Instant] {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = ContinuousClock.now
        let clock = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        return hostapdLog.split(separator: "\n").filter { $0.contains(" IEEE 802.11: associated") }.compactMap { line in
            Double(line.prefix { $0 != ":" }).map { now - .seconds(clock - $0) }
        }
    }
}
