import AgentModel

@testable import Connectivity

extension FuzzTarget {
    /// The notes of our hook, of systemd-networkd and of the whole machine, with the words of the network in them.
    static let leaseNotes = FuzzTarget(
        "lease-notes", "what a DHCP client notes of a network", longest: 1024,
        seeds: {
            bytes([
                "NAME_SERVERS=192.0.2.1 [2001:db8::1]:53\nCAPTIVE_PORTAL=https://a.example/\n",
                "OPER_STATE=routable\nDNS=192.0.2.1\nCAPTIVE_PORTAL=https://a.example/\n",
                "search example\nnameserver 192.0.2.1\nnameserver fe80::1%wlan0\n",
            ])
        }
    ) { bytes in
        let text = bytes
        let lease = NetworkNotes(assignments: text, servers: "NAME_SERVERS")
        let link = NetworkNotes(link: text)
        let machine = NetworkNotes(resolverConfiguration: text)
        for notes in [lease, link, machine] { check(notes) }
        let assigned = NetworkNotes(assignments: text, servers: "DNS")
        precondition(link == assigned || link == NetworkNotes(), "a link has all that is noted, or nothing")
        precondition(machine.captivePortalAPI == nil)
    }
}

/// It keeps to the limits, and reads the same once it is written.
private func check(_ notes: NetworkNotes) {
    precondition(notes.nameServers.count <= NetworkNotes.maximumServers)
    precondition(Set(notes.nameServers).count == notes.nameServers.count)
    precondition(notes.nameServers.allSatisfy { (1...65_535).contains($0.port) })
    if let url = notes.captivePortalAPI {
        precondition((1...NetworkNotes.longestURL).contains(url.utf8.count))
        precondition(url.utf8.allSatisfy { (0x21...0x7e).contains($0) })
    }
    let servers = notes.nameServers.map { server in
        (server.address.isIPv4 ? "\(server.address)" : "[\(server.address)]") + ":\(server.port)"
    }
    let written = """
        NAME_SERVERS=\(servers.joined(separator: " "))
        CAPTIVE_PORTAL=\(notes.captivePortalAPI ?? "")
        """
    precondition(NetworkNotes(assignments: Array(written.utf8), servers: "NAME_SERVERS") == notes)
}
